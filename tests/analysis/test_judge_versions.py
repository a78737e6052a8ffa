"""Versions of a judge: kept with each judgement, said where a question mixes them, taken apart when asked."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.analysis.judge_versions import NOT_KNOWN, by_version, mixed_versions, unversioned
from bedside.analysis.ratings_view import open_ratings_view
from bedside.judges.llm.protocol import Served, served_by
from bedside.judges.store import read_judgements
from bedside.ratings.run import Run
from bedside.reports.table import Table
from tests.conftest import Call, works
from tests.judges.llm.server import Action, JudgeServer, Received

pytestmark = pytest.mark.server
OLD, NEW = {"model": "tiny-2026-01-01", "system_fingerprint": "fp_1", "provider": "Azure"}, {"model": "tiny-2026-06-01"}
OLD_RATER, NEW_RATER = "judge:tiny@2026-01-01 fp_1 by Azure", "judge:tiny@2026-06-01"


@dataclass
class _Server:
    """What the server says of itself from now on."""

    facts: dict[str, Any] = field(default_factory=lambda: dict(OLD))

    def __call__(self, request: Received, number: int) -> Action:
        return Action(extra=self.facts)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 40 conversations: a judge rated 30 of them by empathy in one version, and the rest in another."""
    return judged_run(tmp_path_factory.mktemp("versions"), OLD)


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, but that the version of the first 30 isn't known."""
    return judged_run(tmp_path_factory.mktemp("older"), {"model": None})


def judged_run(folder: Path, first: dict[str, Any]) -> Path:
    script = _Server(dict(first))
    talks = [
        {"id": f"{system}-{case}", "system": system, "case_id": f"c{case}", "factors": {"site": f"s{case % 2}"},
         "turns": [{"role": "patient" if at % 2 else "clinician", "text": f"{system} {case} {at}"} for at in range(4)]}
        for case in range(20) for system in ("new", "old")
    ]  # fmt: skip
    (folder / "talks.jsonl").write_text("\n".join(map(json.dumps, talks)), "utf-8")
    run = bedside.score(folder / "talks.jsonl", folder / "run", metrics="turns").run
    with JudgeServer(script) as server:
        bedside.judge(run, server.judge, rubrics="empathy", max_calls=30)
        script.facts = dict(NEW)
        bedside.judge(run, server.judge, rubrics=["empathy", "partnership"])
    values = run.ratings.filter(pl.col("metric") == "empathy").select("transcript_id", "metric", "value")
    levels = values["value"].to_list()
    people = [
        values.with_columns(pl.Series("value", levels[shift:] + levels[:shift]), rater=pl.lit(f"human:{name}"))
        for shift, name in enumerate(("anna", "ben"))
    ]
    pl.concat(people).write_csv(folder / "people.csv")
    bedside.import_ratings(run, folder / "people.csv")
    return run.path


def test_what_each_provider_says() -> None:
    assert served_by({"model": "a", "system_fingerprint": "f", "provider": "P"}, str) == Served("a", "f", "P")
    assert served_by({"modelVersion": "gemini-2.5-pro-002"}, str) == Served("gemini-2.5-pro-002")
    assert served_by({"model": 3, "provider": {"order": []}, "choices": []}, str) is None
    assert served_by([], str) is None
    # A rater's name is chosen by patterns, between commas.
    assert served_by({"model": "a,b*[c]" + "x" * 500}, str) == Served("a_b_c_" + "x" * 114)


def test_each_judgement_keeps_its_version(path: Path) -> None:
    kept = [judgement.served for judgement in read_judgements(path / "judgements.sqlite")]
    assert kept.count(Served("tiny-2026-01-01", "fp_1", "Azure")) == 30
    assert kept.count(Served("tiny-2026-06-01")) == 50
    entry = json.loads((path / "manifest.json").read_text())["scorings"][-1]["judges"]["judge:tiny"]
    assert {count["rubric"]: count["served"] for count in entry["rubrics"]} == {
        "empathy": {"tiny-2026-01-01 fp_1 by Azure": 30, "tiny-2026-06-01": 10},
        "partnership": {"tiny-2026-06-01": 40},
    }


def test_mixed_versions_are_counted_by_metric(path: Path) -> None:
    view = open_ratings_view(path)
    both = {"judge:tiny": {"tiny-2026-01-01 fp_1 by Azure": 30, "tiny-2026-06-01": 10}}
    assert mixed_versions(view, ["empathy"]) == both
    assert mixed_versions(view, ["partnership"]) == {}
    assert mixed_versions(by_version(view)) == {}


QUESTIONS: dict[str, Callable[..., Any]] = {
    "agree": bedside.agree, "validate": bedside.validate, "estimate": bedside.estimate,
    "compare": lambda source, **chosen: bedside.compare(source, metrics="empathy", **chosen),
    "deviation": lambda source, **chosen: bedside.deviation(source, reference="old", metrics="empathy", **chosen),
    "gate": lambda source, **chosen: bedside.gate(
        source, baseline="old", margin={"empathy": 1}, raters="judge:*", **chosen
    ),
}  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_says_that_versions_are_mixed(path: Path, question: str) -> None:
    warnings = [note for table in QUESTIONS[question](path) for note in table.notes if "versions" in note]
    assert warnings
    said = "tiny answered in 2 versions: 2026-01-01 fp_1 by Azure (30 ratings), 2026-06-01 (10 ratings)."
    assert {note.removesuffix(" Apart: --by-version.") for note in warnings} == {said}
    assert all(getattr(note, "warns", False) for note in warnings)
    if question != "gate":
        apart = QUESTIONS[question](path, by_version=True, **({"judge": NEW_RATER} if question == "estimate" else {}))
        assert not [note for table in apart for note in table.notes if "answered in" in note]


def test_what_stands_behind_a_number_and_a_jury_say_it_too(path: Path, tmp_path: Path) -> None:
    said = "tiny answered in 2 versions: 2026-01-01 fp_1 by Azure (30 ratings), 2026-06-01 (10 ratings). Apart: "

    def notes(tables: Iterable[Table]) -> set[str]:
        return {note for table in tables for note in table.notes if "answered in" in note}

    behind = bedside.explain(path, "empathy/judge:tiny/new")
    assert notes(behind.tables[:1]) == notes(behind.tables) == {f"{said}--by-version."}
    assert not notes(bedside.explain(path, "empathy/people/new").tables)
    run = Run(shutil.copytree(path, tmp_path / "run"))
    with_other = run.ratings.filter(pl.col("rater") == "judge:tiny").with_columns(rater=pl.lit("judge:other"))
    with run.locked():
        run.add(with_other.lazy(), run.manifest)
    jury = bedside.jury(run, "panel", ["tiny", "other"], metrics="empathy")
    assert notes(jury) == {f"{said}bedside agree --by-version."}


@pytest.mark.parametrize(
    ("command", "apart"),
    [
        (("explain", "RUN", "--cell", "empathy/new"), "--by-version"),
        (("explain", "RUN", "--cell", "empathy/new", "--all"), "--by-version"),
        (("explain", "RUN", "--cell", "empathy/new", "--within", "site"), "--by-version"),
        (("report", "RUN", "--format", "csv"), "bedside agree --by-version"),
        (("judge", "drift", "RUN", "--rubrics", "empathy", "--dry-run"), "bedside agree --by-version"),
        (("score", "TALKS", "--out", "RUN", "--metrics", "words", "--judge", "JUDGE", "--rubrics", "empathy"),
         "bedside agree --by-version"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)  # fmt: skip
def test_every_screen_says_it(path: Path, tmp_path: Path, call: Call, command: tuple[str, ...], apart: str) -> None:
    run = bedside.read_run(shutil.copytree(path, tmp_path / "run"))
    model = run.manifest["scorings"][-1]["judges"]["judge:tiny"]["model"]
    given = {"RUN": run.path, "TALKS": path.parent / "talks.jsonl", "JUDGE": model}
    said, _ = works(call, *(given.get(word, word) for word in command))
    found = re.findall(r"tiny answered in 2 versions: .*? Apart: ([^.]*)", " ".join(said.split()))
    assert set(found) == {apart}


def test_who_is_not_shown_is_not_said(path: Path) -> None:
    for tables in (bedside.agree(path, raters="human:*"), bedside.compare(path, metrics="partnership")):
        assert not [note for table in tables for note in table.notes if "versions" in note]


def test_each_version_is_a_rater(path: Path) -> None:
    ratings = bedside.View(path, by_version=True).ratings.filter(pl.col("rater").str.starts_with("judge:"))
    counts = dict(ratings.group_by("metric", "rater").len().select(pl.concat_str("metric", "rater"), "len").iter_rows())
    assert counts == {f"empathy{OLD_RATER}": 30, f"empathy{NEW_RATER}": 10, f"partnership{NEW_RATER}": 40}
    assert unversioned(bedside.read_run(path), NEW_RATER) == "judge:tiny"


def test_ratings_of_no_known_version_are_said_and_stay_apart(older: Path) -> None:
    known = "tiny-2026-06-01"
    view = open_ratings_view(older)
    assert mixed_versions(view) == {"judge:tiny": {known: 50, NOT_KNOWN: 30}}
    assert mixed_versions(view, ["empathy"]) == {"judge:tiny": {NOT_KNOWN: 30, known: 10}}
    assert mixed_versions(view, ["partnership"]) == mixed_versions(by_version(view)) == {}
    ratings = bedside.View(older, by_version=True).ratings.filter(pl.col("rater").str.starts_with("judge:"))
    counts = dict(ratings.group_by("metric", "rater").len().select(pl.concat_str("metric", "rater"), "len").iter_rows())
    assert counts == {"empathyjudge:tiny": 30, f"empathy{NEW_RATER}": 10, f"partnership{NEW_RATER}": 40}
    unknown = ratings.filter(pl.col("rater") == "judge:tiny")["transcript_id"]
    stored = {judgement.transcript: judgement.served for judgement in read_judgements(older / "judgements.sqlite")
              if judgement.rubric == "empathy"}  # fmt: skip
    assert set(unknown) == {name for name, served in stored.items() if served is None}
    said = "Not all versions of tiny are known: not known (30 ratings), 2026-06-01 (10 ratings). Apart: --by-version."
    warnings = [note for table in bedside.agree(older) for note in table.notes if "versions" in note]
    assert set(warnings) == {said}
    (card,) = bedside.validate(older).results
    assert dict(card.facts)["Versions that answered"] == "not known (30 ratings), 2026-06-01 (10 ratings)"


def test_the_card_says_which_versions_answered(path: Path) -> None:
    def versions(**chosen: Any) -> dict[str, str]:
        return {card.rater: dict(card.facts)["Versions that answered"]
                for card in bedside.validate(path, **chosen).results}  # fmt: skip

    assert versions() == {"judge:tiny": "2026-01-01 fp_1 by Azure (30 ratings), 2026-06-01 (10 ratings)"}
    assert versions(by_version=True) == {
        OLD_RATER: "tiny-2026-01-01 fp_1 by Azure (30 ratings)", NEW_RATER: "tiny-2026-06-01 (10 ratings)",
    }  # fmt: skip
