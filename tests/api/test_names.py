"""A lone string is one name, wherever names or paths are listed; what is no name is told in one line."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bedside
from tests.judges.llm.server import JudgeServer

TALKS = bedside.EXAMPLES / "transcripts.jsonl"
STUDY = bedside.EXAMPLES / "study.csv"
SCALES = ("empathy=1-5", "safe=0,1")
FUNCTIONS = {name: getattr(bedside, name) for name in bedside.__all__ if inspect.isfunction(getattr(bedside, name))}
#: Arguments that take several things, by function, with one that is there.
SEVERAL: dict[str, dict[str, Any]] = {
    "agree": {"missing": "99", "rounds": "all", "metrics": "empathy", "raters": "human:*", "scales": "empathy=1-5"},
    "compare": {
        "missing": "99", "systems": "steady", "metrics": "empathy", "raters": "human:*", "scales": "empathy=1-5",
        "rounds": "all", "match": "none",
    },
    "preferences": {
        "missing": "99", "rubrics": "empathy", "raters": "human:*", "systems": "steady", "scales": "empathy=1-5",
        "rounds": "all",
    },
    "gate": {"missing": "99", "match": "none", "rounds": "all", "raters": "human:*", "scales": "empathy=1-5"},
    "validate": {"missing": "99", "rounds": "all", "judges": "judge:*", "metrics": "empathy", "scales": "empathy=1-5"},
    "estimate": {
        "missing": "99", "people": "human:*", "systems": "steady", "metrics": "empathy", "scales": "empathy=1-5",
        "rounds": "all", "match": "none",
    },
    "tables": {"missing": "99", "rounds": "all", "match": "none", "names": "agreement", "scales": "empathy=1-5"},
    "figure": {"missing": "99", "rounds": "all", "scales": "empathy=1-5"},
    "explain": {"missing": "99", "rounds": "all", "match": "none", "scales": "empathy=1-5"},
    "deviation": {
        "missing": "99", "systems": "steady", "metrics": "empathy", "raters": "human:*", "scales": "empathy=1-5",
        "rounds": "all", "match": "none",
    },
    "drift": {
        "missing": "99", "systems": "steady", "metrics": "empathy", "raters": "human:*", "scales": "empathy=1-5",
        "rounds": "all",
    },
    "trend": {
        "missing": "99", "systems": "steady", "metrics": "empathy", "raters": "human:*", "scales": "empathy=1-5",
        "rounds": "all",
    },
    "import_ratings": {"scales": "1-5", "metrics": "empathy", "without": "partnership", "missing": "99"},
    "read_ratings": {"scales": "1-5", "missing": "99"},
    "score": {"transcripts": str(TALKS), "metrics": "turns", "waiting": "turns"},
    "judge": {
        "show": "tools", "source": str(TALKS), "judges": "", "rubrics": "empathy", "codes": "question",
        "metrics": "turns",
    },
    "judge_pairs": {"show": "tools", "judges": "", "rubrics": "empathy", "systems": "steady"},
    "preview_pairs": {"show": "tools", "judges": "", "rubrics": "empathy", "systems": "steady"},
    "probe": {"judges": "", "probes": "length", "rubrics": "empathy", "translations": str(TALKS)},
    "preview_probe": {"judges": "", "probes": "length", "rubrics": "empathy", "translations": str(TALKS)},
    "preview_judging": {
        "show": "tools", "source": str(TALKS), "judges": "", "rubrics": "empathy", "codes": "question",
        "metrics": "turns",
    },
    "simulate": {"settings": "26-messages", "lengths": "30", "batch_in": "answers.jsonl"},
    "preview_simulation": {"settings": "26-messages", "lengths": "30"},
    "benchmark": {"judges": "", "settings": "26-messages", "lengths": "30"},
    "preview_benchmark": {"judges": "", "settings": "26-messages", "lengths": "30"},
    "tune_judge": {"rounds": "all", "show": "tools"},
    "preview_tuning": {"rounds": "all", "show": "tools"},
    "judge_drift": {"rubrics": "empathy"},
    "preview_drift": {"rubrics": "empathy"},
    "jury": {"judges": "judge:a", "metrics": "empathy", "rounds": "all", "scales": "empathy=1-5"},
    "cascade": {"judges": "judge:a", "metrics": "empathy", "rounds": "all", "scales": "empathy=1-5"},
    "learn_rater": {"rounds": "all", "scales": "empathy=1-5"},
    "rate": {"transcripts": str(TALKS)},
    "merge": {"runs": str(TALKS), "systems": "steady"},
    "simulation_quality": {"judges": "", "reference": str(TALKS)},
    "read_account": {"paths": str(TALKS)},
    "sample": {"raters": "anna", "rubrics": "empathy", "show": "tools", "by": "system", "systems": "steady"},
    "adjudicate": {"adjudicators": "dora", "rubrics": "empathy"},
    "import_answers": {"files": "anna.xlsx"},
    "import_judgements": {"files": "answers.jsonl"},
    "merge_judgements": {"others": "part"},
    "train_coder": {"files": str(TALKS), "codes": "question"},
    "evaluate_coder": {"files": str(TALKS), "codes": "question"},
    "fit_redirection": {"files": str(TALKS)},
    "plan_difference": {
        "missing": "99", "rounds": "all", "match": "none", "systems": "steady", "scales": "empathy=1-5",
    },
    "plan_raters": {
        "missing": "99", "rounds": "all", "match": "none", "systems": "steady", "scales": "empathy=1-5",
        "raters": "3", "passes": "1",
    },
    "doctor": {"judges": ""},
    "view": {"systems": "steady"},
    "rating_page": {"adjudicators": "dora", "rubrics": "empathy"},
    "reassign": {"to": "dora"},
    "serve_label_studio": {"raters": "anna"},
    "scrub": {"paths": str(TALKS)},
    "verify": {"paths": str(TALKS)},
    "forget": {"plan": "plan.json"},
    "read_transcripts": {"paths": str(TALKS)},
}  # fmt: skip
#: Arguments that take several numbers.
NUMBERS = {
    ("drift", "lengths"),
    ("trend", "edges"),
    ("plan_kappa", "shares"),
    ("plan_kappa", "raters"),
    ("plan_judge", "raters"),
}
#: Whose arguments are transcripts or a corpus, never names.
NO_NAMES = {"to_convokit", "from_convokit", "read_run", "report"}


def test_every_argument_of_several_is_tried_below() -> None:
    kinds = re.compile(r"\b(Names|Paths|TranscriptInput|RubricNames|Iterable|Sequence|Collection|list|tuple)\b")
    for name, function in FUNCTIONS.items():
        several = {
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if kinds.search(str(parameter.annotation))
            and parameter.name not in ("price", "prices", "where")
            and (name, parameter.name) not in NUMBERS
        }
        assert several == SEVERAL.get(name, {}).keys() or name in NO_NAMES, name


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> bedside.Run:
    return bedside.score(str(TALKS), tmp_path_factory.mktemp("names") / "run", metrics="turns").run


@pytest.mark.parametrize(
    ("name", "argument"),
    [(name, argument) for name in ("agree", "validate", "estimate", "tables") for argument in SEVERAL[name]],
)
def test_questions_take_a_lone_name(name: str, argument: str) -> None:
    ask: Callable[..., Any] = FUNCTIONS[name]
    value = SEVERAL[name][argument]
    others: dict[str, Any] = {} if argument == "scales" else {"scales": SCALES}
    assert ask(STUDY, **{argument: value}, **others) == ask(STUDY, **{argument: [value]}, **others)
    with pytest.raises(bedside.BedsideError, match=f"`{argument}`: names are text, and 3 is not"):
        ask(STUDY, **{argument: 3}, **others)


def test_comparisons_take_a_lone_name() -> None:
    for argument, value in SEVERAL["compare"].items():
        if argument == "systems":
            with pytest.raises(bedside.BedsideError, match="there is only 'steady'"):
                bedside.compare(STUDY, systems=value, scales=SCALES)
            continue
        one: dict[str, Any] = {"scales": SCALES, argument: value}
        several: dict[str, Any] = {"scales": SCALES, argument: [value]}
        assert bedside.compare(STUDY, **one) == bedside.compare(STUDY, **several)
    # A set has no order of its own.
    assert bedside.compare(STUDY, systems={"steady", "brisk"}, scales=SCALES) == bedside.compare(
        STUDY, systems=["brisk", "steady"], scales=SCALES
    )


@pytest.mark.slow
def test_transcripts_take_a_lone_path(tmp_path: Path) -> None:
    """Its letters were files: ``/`` among them, so that the whole disk was read."""
    lone = bedside.score(str(TALKS), tmp_path / "lone", metrics="turns", waiting="turns")
    listed = bedside.score([TALKS], tmp_path / "listed", metrics=["turns"], waiting=["turns"])
    assert lone.run.ratings.equals(listed.run.ratings)
    assert list(bedside.read_transcripts(str(TALKS))) == list(bedside.read_transcripts([TALKS]))
    for wrong, words in (
        ("", "'' is no path"),
        ([], "no files were given"),
        ([3], "of type int is neither a path nor a transcript"),
        (3, "transcripts can't be read from what is of type int"),
        (str(tmp_path / "nowhere.jsonl"), "there is no such file"),
    ):
        with pytest.raises(bedside.BedsideError, match=words):
            bedside.score(wrong, tmp_path / "none")  # type: ignore[arg-type]
    assert not (tmp_path / "none").exists()


@pytest.mark.server
def test_judges_take_a_lone_name(run: bedside.Run) -> None:
    with JudgeServer() as server:
        preview: Callable[..., Any] = bedside.preview_judging
        for argument in ("rubrics", "codes"):
            value = SEVERAL["judge"][argument]
            lone = preview(run, server.judge, **{argument: value})
            assert lone == preview(run, [server.judge], **{argument: [value]})
            with pytest.raises(bedside.BedsideError, match=f"`{argument}`: names are text, and 3 is not"):
                preview(run, server.judge, **{argument: 3})
        both = ["brisk", "steady"]
        lone = bedside.preview_pairs(run, server.judge, rubrics="empathy", systems=both)
        assert lone == bedside.preview_pairs(run, [server.judge], rubrics=["empathy"], systems=both)
        with pytest.raises(
            bedside.BedsideError, match="conversations of two systems are compared, and there is steady"
        ):
            bedside.judge_pairs(run, server.judge, rubrics="empathy", systems="steady")
        for argument in ("systems", "rubrics", "judges"):
            wrong: dict[str, Any] = {"rubrics": "empathy", "judges": server.judge, argument: 3}
            with pytest.raises(bedside.BedsideError, match=f"`{argument}`: names are text, and 3 is not"):
                bedside.judge_pairs(run, **wrong)
        assert not server.received


def test_simulations_take_a_lone_name() -> None:
    lone = bedside.preview_simulation(None, "note2chat", clinician="rules", settings="26-messages")
    assert lone == bedside.preview_simulation(None, "note2chat", clinician=["rules"], settings=["26-messages"])
    with pytest.raises(bedside.BedsideError, match="`settings`: names are text, and 3 is not"):
        bedside.preview_simulation(None, "note2chat", clinician="rules", settings=3)  # type: ignore[arg-type]
    for lengths in (30, [30]):
        with pytest.raises(bedside.BedsideError, match=r"`lengths`: leave them out|has no target lengths"):
            bedside.preview_simulation(None, "note2chat", clinician="rules", lengths=lengths)


@pytest.mark.slow
def test_checks_of_patients_take_a_lone_name(tmp_path: Path) -> None:
    bedside.simulate(None, "note2chat", tmp_path / "talks", clinician="script:brisk", sample=1)
    for number, sessions in enumerate((str(TALKS), [str(TALKS)])):
        checked = bedside.simulation_quality(tmp_path / "talks", tmp_path / f"q{number}", reference=sessions)
        assert any(measure.reference is not None for measure in checked.results)
    with pytest.raises(bedside.BedsideError, match="`judges`: names are text, and 3 is not"):
        bedside.simulation_quality(tmp_path / "talks", tmp_path / "none", judges=3)  # type: ignore[arg-type]
    assert not (tmp_path / "none").exists()


def test_a_lone_file_of_answers_is_one_file(tmp_path: Path) -> None:
    for files in (str(tmp_path / "none.jsonl"), [tmp_path / "none.jsonl"]):
        with pytest.raises(bedside.BedsideError, match=r"none\.jsonl"):
            bedside.simulate(
                None, "note2chat", tmp_path / "talks", clinician="openai/gpt-5-mini", sample=1, batch_in=files
            )


def test_benchmarks_take_a_lone_name(tmp_path: Path) -> None:
    lone = bedside.preview_benchmark("note2chat", clinician="rules", settings="26-messages", sample=1)
    assert lone == bedside.preview_benchmark("note2chat", clinician=["rules"], settings=["26-messages"], sample=1)
    for argument in ("judges", "settings"):
        with pytest.raises(bedside.BedsideError, match=f"`{argument}`: names are text, and 3 is not"):
            bedside.benchmark("note2chat", tmp_path / "none", clinician="rules", **{argument: 3})  # type: ignore[arg-type]
    assert not (tmp_path / "none").exists()


def test_columns_are_a_mapping() -> None:
    with pytest.raises(bedside.BedsideError, match="`columns`: 'item=Session' says no names of columns"):
        bedside.agree(STUDY, columns="item=Session", scales=SCALES)  # type: ignore[arg-type]


def test_levels_stand_under_their_factor(run: bedside.Run) -> None:
    with pytest.raises(bedside.BedsideError, match="`where`: 'setting' doesn't say what its names stand under"):
        bedside.agree(STUDY, where="setting", scales=SCALES)  # type: ignore[arg-type]
    with pytest.raises(bedside.BedsideError, match="`where`: names are text, and 8 is not"):
        bedside.tables(run, where={"setting": [8]})  # type: ignore[list-item]


def test_the_statistics_open_by_themselves() -> None:
    """A module for each file of the folder, as type checkers see them, too."""
    folder = Path(bedside.__file__).parent / "stats"
    assert dir(bedside.stats) == sorted(file.stem for file in folder.glob("*.py") if not file.stem.startswith("_"))
    assert bedside.stats.two_raters.kappa([1, 2, 3], [1, 3, 3]).estimate == pytest.approx(0.5)
    assert set(re.findall(r"^        (\w+),$", (folder / "__init__.py").read_text("utf-8"), re.M)) == set(
        dir(bedside.stats)
    )
    assert "stats" in dir(bedside)
    with pytest.raises(AttributeError, match=r"bedside\.stats' has no attribute 'cohen'"):
        bedside.stats.cohen  # type: ignore[attr-defined]  # noqa: B018
