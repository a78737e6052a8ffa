"""What the shell offers after Tab, asked through the real bash, and fish where it is installed."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import bedside
from bedside.judges.deepeval_raters.catalogue import KINDS
from bedside.metrics import FAMILIES
from bedside.ratings.suites import SUITES
from bedside.simulation.simulators.contract import SIMULATORS
from tests.conftest import exit_code
from tests.forked import CONTEXT, preload

preload("bedside.cli", "tests.conftest")

BIN = Path(sys.executable).parent
#: A script that offers what the words given to it are completed to: each on a line.
_ASK = r"""
eval "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_bedside_completion bedside
(( ${#COMPREPLY[@]} )) && printf '%s\n' "${COMPREPLY[@]}" || true
"""


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COMP_")}
    path = os.pathsep.join((str(BIN), os.environ["PATH"]))
    # The shell is named, not found by looking at what started the tests.
    return {**kept, "PATH": path, "HOME": str(home), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", **more}


def called(home: Path, *arguments: str, **more: str) -> str:
    done = subprocess.run(
        arguments, cwd=home, env=environment(home, **more), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    return called(tmp_path_factory.mktemp("home"), str(BIN / "bedside"), "--show-completion", "bash")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run in it."""
    folder = tmp_path_factory.mktemp("place")
    made = bedside.score([bedside.EXAMPLES / "transcripts.jsonl"], folder / "run", metrics=["behaviour"])
    bedside.import_ratings(made.run, bedside.EXAMPLES / "ratings.csv", scales="1-5")
    return folder


def offered(script: str, place: Path, *words: str) -> list[str]:
    return called(place, "bash", "-c", _ASK, "ask", script, "bedside", *words).splitlines()


OFFERS = [
    (["agr"], ["agree"]),
    (["annotate", "pu"], ["push", "pull"]),
    (["score", "--suite", "=", "cal"], ["calm-it"]),
    (["score", "--metrics", "smog,percent_ope"], ["smog,percent_open_questions"]),
    # What is rated in the run that the line names, and who rated.
    (["agree", "run", "--metrics", "goal"], ["goal_alignment"]),
    # Nothing is offered where a file is wanted: the shell offers files itself.
    (["agree", ""], []),
]
#: bash takes a colon for a word of its own, and sets in what comes after; it offers no empty line.
BASH_OFFERS = [
    (["agree", "'open quotation"], []),
    (["agree", "run", "--raters", "human"], [r"human:\*", "human:anna", "human:ben"]),
    (["agree", "run", "--raters", "human", ":", "a"], ["anna"]),
    (["agree", "run", "--raters", "human", ":", "anna,human", ":", "b"], ["ben"]),
    (["simulate", "--protocol", "medconceal", "--clinician", "script", ":", "g"], ["good", "good-and-patient"]),
]
#: What bash makes of these is seen above: they are put to the program alone.
MORE_OFFERS = [
    (["compare", "--corr"], ["--correction"]),
    (["score", "--suite", "cal"], ["calm-it"]),
    (["score", "--metrics", "percent_ope"], ["percent_open_questions"]),
    (["show", "empa"], ["empathy"]),
    (["list", "pro"], ["protocols", "probes"]),
    (["show", "--kind", "suites", "me"], ["medconceal"]),
    (["show", "--schema", "rub"], ["rubric"]),
    (["score", "--format", "js"], ["jsonl"]),
    (["score", "--engine", ""], ["dask", "local", "ray"]),
    (["score", "--judge", "ope"], ["openai/", "openrouter/"]),
    (["report", "run", "--table", "res"], ["results"]),
    (["report", "run", "--format", "md,la"], ["md,latex"]),
    (["compare", "run", "--test", "m"], ["mcnemar", "mcnemar-mid-p", "mannwhitney"]),
    (["simulate", "--protocol", "note"], ["note2chat"]),
    (["simulate", "--protocol", "note2chat", "--setting", "26-messages,"], ["26-messages,40-messages"]),
    (["simulate", "--protocol", "medconceal", "--clinician", "ru"], ["rules"]),
    (["simulate", "--protocol", "medconceal", "--set", "medconceal.cu"], ["medconceal.cues="]),
    (["simulate", "che"], ["check"]),
    (["simulate", "--protocol", "medconceal", "--clin"], ["--clinician"]),
    (["benchmark", "me"], ["medconceal"]),
    (["benchmark", "ad"], ["add"]),
    (["judge", "answers", "im"], ["import"]),
    (["compare", "run", "--over", ""], ["length", "messages"]),
    (["show", "--kind", "coders", "ru"], ["rules", "rules_zh"]),
]


@pytest.mark.parametrize(
    ("words", "offers"), [*OFFERS, *(pytest.param(*each, marks=pytest.mark.slow) for each in BASH_OFFERS)]
)
def test_bash_offers(script: str, place: Path, words: list[str], offers: list[str]) -> None:
    assert offered(script, place, *words) == offers


def _complete(place: Path, words: list[str], answered: Connection) -> None:
    os.chdir(place)
    os.environ.update(_BEDSIDE_COMPLETE="complete_bash", COMP_WORDS="\n".join(("bedside", *words)))
    os.environ["COMP_CWORD"] = str(len(words))
    with redirect_stdout(io.StringIO()) as printed:
        code = exit_code()
    answered.send((code, printed.getvalue().splitlines()))


@pytest.mark.parametrize(("words", "offers"), MORE_OFFERS)
def test_the_program_offers(place: Path, words: list[str], offers: list[str]) -> None:
    # In a process of its own, as completing makes commands that can't be run.
    answers, answered = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_complete, args=(place, words, answered))
    process.start()
    assert answers.poll(60)
    assert answers.recv() == (0, offers)
    process.join()


def test_all_suites_are_offered(script: str, place: Path) -> None:
    assert offered(script, place, "score", "--suite", "") == list(SUITES.names())


def test_all_simulators_are_offered(script: str, place: Path) -> None:
    assert offered(script, place, "simulate", "--protocol", "") == list(SIMULATORS.names())


def test_all_metrics_are_offered(script: str, place: Path) -> None:
    metrics = [metric.name for family in FAMILIES.all().values() for metric in family.metrics]
    metrics += [*FAMILIES.names(), *(kind.metric for kind in KINDS.values())]
    assert sorted(offered(script, place, "show", "--kind", "metrics", "")) == sorted(metrics)


def test_a_folder_of_ones_own_rubrics(script: str, place: Path) -> None:
    (place / "mine").mkdir()
    (place / "mine" / "warmth.yaml").write_text("title: Warmth\n")
    words = ("score", "x", "--rubric-folder", "mine", "--rubrics", "warm")
    assert offered(script, place, *words) == ["warmth"]


@pytest.mark.parametrize(
    "words", [("score", "--metrics", "a"), ("agree", "run", "--raters", ""), ("simulate", "--setting", "")]
)
def test_nothing_heavy_is_loaded(place: Path, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "bedside"],
        cwd=place, capture_output=True, text=True, check=True,
        env=environment(place, _BEDSIDE_COMPLETE="complete_bash", COMP_WORDS="\n".join(("bedside", *words)),
                        COMP_CWORD=str(len(words))),
    )  # fmt: skip
    loaded = set(re.findall(r"\| +([\w.]+)$", done.stderr, flags=re.MULTILINE))
    assert "typer" in loaded
    assert not loaded & {"matplotlib", "numpy", "orjson", "polars", "pydantic", "rich", "scipy", "yaml"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "files"),
    [
        ("bash", [".bash_completions/bedside.sh", ".bashrc"]),
        ("zsh", [".zfunc/_bedside", ".zshrc"]),
        ("fish", [".config/fish/completions/bedside.fish"]),
    ],
)
def test_installing_writes_the_users_own_files_only(tmp_path: Path, shell: str, files: list[str]) -> None:
    called(tmp_path, str(BIN / "bedside"), "--install-completion", shell)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == files


def test_fish_offers(place: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    called(place, str(BIN / "bedside"), "--install-completion", "fish")
    text = (
        'source .config/fish/completions/bedside.fish; complete -C "bedside agree run --raters human:a"; '
        'complete -C "bedside score --suite cal"'
    )
    assert called(place, "fish", "--no-config", "-c", text).splitlines() == [
        "human:anna",
        "calm-it\tCALM-IT, long motivational-interviewing sessions",
    ]


@pytest.mark.slow
def test_zsh_offers(place: Path) -> None:
    """What zsh is given to evaluate, with its own marks for a colon."""
    out = called(
        place, str(BIN / "bedside"), _BEDSIDE_COMPLETE="complete_zsh",
        _TYPER_COMPLETE_ARGS="bedside agree run --raters human:a",
    )  # fmt: skip
    assert out.strip() == r"""_arguments '*: :(("human\\:anna"))'"""
