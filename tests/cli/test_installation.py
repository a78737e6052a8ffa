"""The doctor finds what is there, what is missing, and what can be reached."""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace

import pytest

from bedside.api import installation
from bedside.cli import main
from tests.conftest import Call, works
from tests.judges.llm.server import JudgeServer


def test_what_is_installed_is_found() -> None:
    found = {one.what: one for one in installation.doctor().results}
    assert found["polars"].good
    assert found["judge"].good
    assert not [one for one in found.values() if one.good is False]


def test_every_extra_of_the_package_is_looked_at() -> None:
    from importlib.metadata import metadata

    extras = set(metadata("bedside").get_all("Provides-Extra") or [])
    assert extras - {"all", "dev"} == set(installation.EXTRAS)


def test_what_is_missing_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:

    def without(name: str) -> str:
        if name in ("deepeval", "polars"):
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr("importlib.metadata.version", without)
    found = {one.what: one for one in installation.doctor().results}
    assert found["judge"].good is None
    assert "deepeval" in found["judge"].finding
    assert installed_from(found["judge"].todo) == "judge"
    assert found["polars"].good is False
    said = " ".join(installation.said_of_installation(list(found.values())))
    assert "these are missing: polars." in said
    assert "judge: language models as judges; needs deepeval" in said


def installed_from(line: str) -> str:
    """The extra of a line that installs from where this bedside came from: a folder, a file or an index."""
    match = re.fullmatch(r'pip install (?:-e )?"(.+)\[([\w-]+)\](?: @ .+)?"', line)
    assert match is not None, line
    assert match[1] == "bedside" or (Path(match[1]) / "pyproject.toml").is_file()
    return match[2]


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        (None, 'pip install "bedside[forms]"'),
        ('{"url": "file:///home/a/b%20c", "dir_info": {"editable": true}}', 'pip install -e "/home/a/b c[forms]"'),
        ('{"url": "file:///home/a/bedside", "dir_info": {}}', 'pip install "/home/a/bedside[forms]"'),
        (
            '{"url": "https://host/bedside", "vcs_info": {"vcs": "git"}}',
            'pip install "bedside[forms] @ git+https://host/bedside"',
        ),
    ],
)
def test_the_line_that_installs_names_where_this_came_from(
    monkeypatch: pytest.MonkeyPatch, origin: str | None, line: str
) -> None:
    installed = SimpleNamespace(read_text={"direct_url.json": origin}.get)
    monkeypatch.setattr("importlib.metadata.distribution", {"bedside": installed}.get)
    assert f"pip install {installation.install_source('forms')}" == line


@pytest.mark.parametrize(
    ("name", "receipt", "line"),
    [
        ("uv-receipt.toml", '[tool]\nrequirements = [{ name = "bedside" }]\n', 'uv tool install "bedside[forms]"'),
        (
            "uv-receipt.toml", '[tool]\nrequirements = [{ name = "bedside", extras = ["figures", "nli"] }]\n',
            'uv tool install "bedside[figures,nli,forms]"',
        ),
        (
            "pipx_metadata.json", '{\n "package_or_url": "/a",\n "pip_args": []\n}',
            'pipx install --force "bedside[forms]"',
        ),
        (
            "pipx_metadata.json", '{\n "package_or_url": "/a[forms,nli]",\n "pip_args": []\n}',
            'pipx install --force "bedside[forms,nli]"',
        ),
    ],
)  # fmt: skip
def test_the_line_that_installs_names_what_keeps_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, receipt: str, line: str
) -> None:
    (tmp_path / name).write_text(receipt, "utf-8")
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setattr(installation, "install_source", '"bedside[{}]"'.format)
    assert installation.install_line("forms") == line
    assert installation.installing('no; pip install "bedside[forms]", or not') == f"no; {line}, or not"


def test_the_doctor_answers_in_a_screen(call: Call) -> None:
    lines = works(call, "doctor")[0].splitlines()
    assert len(lines) <= 24
    assert lines[0].endswith("all that is needed is there.")
    every = works(call, "doctor", "--all")[0]
    assert all(extra in every for extra in installation.EXTRAS)


def test_places_that_do_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--judge", "http://127.0.0.1:9/v1#m", "--label-studio", "http://127.0.0.1:9", "--json"])
    assert ended.value.code == 1
    rows = {row["what"]: row for row in json.loads(capsys.readouterr().out)[0]["rows"]}
    assert rows["http://127.0.0.1:9"]["good"] is False
    assert rows["http://127.0.0.1:9/v1#m"]["good"] is False


def test_a_key_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (found,) = [one for one in installation.doctor("openai/gpt-5-mini").results if one.group == "judge"]
    assert found.good is False
    assert "OPENAI_API_KEY" in found.finding


@pytest.mark.server
def test_what_answers_but_is_no_label_studio() -> None:
    with JudgeServer() as server:
        (found,) = [one for one in installation.doctor(label_studio=server.url).results if one.group == "Label Studio"]
    assert found.good is False


@pytest.mark.server
def test_a_judge_that_answers() -> None:
    with JudgeServer() as server:
        (found,) = [one for one in installation.doctor(server.judge).results if one.group == "judge"]
    assert found.good
    assert found.finding.startswith("rates, after")
