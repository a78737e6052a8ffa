"""Keys and libraries are seen to before anything is done: scoring, simulating, comparing."""

from __future__ import annotations

import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

import bedside
from bedside.api.installation import install_line
from bedside.judges.llm import contract
from bedside.judges.llm.contract import check_models
from bedside.judges.llm.endpoints import named_models
from bedside.judges.llm.protocol import LanguageModelError
from tests.judges.llm.providers.command import JudgeCommand

CLAUDE, GEMINI = "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"
KEYS = ("ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS, "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> JudgeCommand:
    return JudgeCommand(tmp_path, capsys)


@pytest.mark.parametrize(
    ("judge", "says"),
    [
        (CLAUDE, "ANTHROPIC_API_KEY is not set; export it, or name another model"),
        (GEMINI, "GOOGLE_API_KEY or GEMINI_API_KEY is not set"),
        ("openai/gpt-5-mini", "OPENAI_API_KEY is not set"),
        ("openrouter/a/b", "OPENROUTER_API_KEY is not set"),
    ],
)
def test_a_key_that_is_missing_is_told_before_anything_is_written(judge: str, says: str, command: JudgeCommand) -> None:
    ended = command(judge)
    assert ended.code == 2
    assert says in ended.line
    assert ended.out == ""
    assert not ended.folder.exists()


def test_several_judges_are_all_seen_to_first(command: JudgeCommand) -> None:
    ended = command(CLAUDE, "--judge", GEMINI, "--judge", "openai/m")
    assert ended.code == 2
    assert "3 things keep models from being asked" in ended.line
    for name in (CLAUDE, "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"):
        assert name in ended.line
    assert ended.line.count("export it, or name another model") == 1
    assert not ended.folder.exists()


def test_one_key_for_two_models_is_one_problem() -> None:
    with pytest.raises(LanguageModelError) as raised:
        check_models(named_models(["anthropic/a", "anthropic/b", "openai/c"]))
    assert "2 things" in raised.value.what
    assert "anthropic/a and anthropic/b: ANTHROPIC_API_KEY is not set" in raised.value.what


@pytest.mark.parametrize(
    ("judge", "library", "extra"),
    [
        ("bedrock/amazon.nova-lite-v1:0", "aiobotocore", "bedrock"),
        ("litellm/mistral/mistral-small", "litellm", "litellm"),
        ("portkey/gpt-x", "deepeval", "judge"),
        ("local", "torch", "local"),
    ],
)
@pytest.mark.slow
def test_a_library_that_is_missing_is_told_with_its_extra(
    judge: str, library: str, extra: str, command: JudgeCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    ended = command(judge)
    assert ended.code == 2
    assert f"needs {library}, which isn't installed; {install_line(extra)}" in ended.line
    assert not ended.folder.exists()


def test_every_extra_that_an_error_names_exists() -> None:
    extras = set(metadata("bedside").get_all("Provides-Extra") or [])
    assert {kind.extra for kind in contract.CLIENTS.all().values()} <= extras


def test_nothing_is_asked_for_where_nothing_is_sent(command: JudgeCommand) -> None:
    """What a judge would be asked can be seen without its key."""
    assert command(CLAUDE, "--dry-run").code == 0


def test_from_python(tmp_path: Path) -> None:
    talks = list(bedside.read_transcripts(bedside.EXAMPLES / "transcripts.jsonl"))[:1]
    with pytest.raises(LanguageModelError, match="ANTHROPIC_API_KEY is not set"):
        bedside.judge(talks, CLAUDE, out=tmp_path / "run", rubrics=["empathy"])
    assert not (tmp_path / "run").exists()


def test_actors_are_seen_to_before_a_simulation_begins(command: JudgeCommand, tmp_path: Path) -> None:
    talks = tmp_path / "talks"
    ended = command.run(
        "simulate", "--protocol", "mdd5k", "--clinician", CLAUDE,
        "--patient", GEMINI, "--sample", 1, "--out", talks,
    )  # fmt: skip
    assert ended.code == 2
    assert "2 things keep models from being asked" in ended.line
    assert not talks.exists()
