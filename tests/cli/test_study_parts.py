"""Every command that answers from ratings can be asked about a part of the study, and about each level of a factor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.analysis.ratings_view import RatingsView
from bedside.cli import command_line
from bedside.core.errors import DataError
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.table import Table, Tables
from bedside.scoring.score import score
from tests.analysis.ratings_rows import of_system, view
from tests.conftest import Call, conversation, works

ANSWERING = ("agree", "validate", "estimate", "compare", "gate", "report", "explain")
COMPARING = ("compare run --over length", "compare run --over messages", "compare run --against b --metrics empathy")
#: These answer with one page, or one verdict.
WHOLE = ("report", "gate")


def made(folder: Path) -> Run:
    """Twelve cases of two systems in two settings at two lengths; a judge rated all, two people in two rounds."""
    talks = [
        conversation(
            *[("clinician", "How are you?"), ("patient", "Well, I wake at three.")] * (2 + case % 3),
            id=f"{system}-{case}-{setting}-{length}", system=system, case_id=f"c{case}", language="en",
            factors={"setting": setting, "target_length": length},
        )
        for system in ("a", "b") for case in range(12) for setting in ("open", "guarded") for length in (4, 8)
    ]  # fmt: skip
    (folder / "talks.jsonl").write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))
    run = score([folder / "talks.jsonl"], folder / "run", metrics=["turns", "words"]).run

    def rows(raters: tuple[str, ...], shift: int) -> Any:
        return frame_of(
            [
                (talk.id, talk.system, talk.case_id, "transcript", "empathy", rater, 0,
                 float(1 + (position * 7 + len(rater) + shift) % 5), None, None, None)
                for position, talk in enumerate(talks) for rater in raters
            ],
            f"round {shift}" if raters[0].startswith("human") else "",
        ).lazy()  # fmt: skip

    for raters, shift in ((("judge:m",), 0), (("human:x", "human:yy"), 1), (("human:x", "human:yy"), 2)):
        run.add(rows(raters, shift), run.manifest)
    return Run(run.path)


def options(command: str) -> set[str]:
    found: Any = command_line().commands[command]
    return {name for parameter in found.params for name in parameter.opts}


@pytest.mark.parametrize("command", ANSWERING)
def test_every_command_that_answers_from_ratings_has_the_options(command: str) -> None:
    assert {"--where", "--round"} <= options(command)
    assert ("--within" in options(command)) == (command not in WHOLE)


@pytest.mark.parametrize("command", ["compare", "gate", "estimate", "report", "explain"])
def test_every_command_that_matches_systems_can_be_told_by_what(command: str) -> None:
    assert "--match" in options(command)


def test_what_systems_are_matched_by_is_asked_and_said(call: Call, tmp_path: Path) -> None:
    made(tmp_path)
    asked = ("compare", "run", "--metrics", "empathy", "--round", "round 1")
    for match, said in (
        ((), "Matched by setting and target_length: 96 of 96 transcripts have a counterpart."),
        (("--match", "setting"), "Matched by setting: 96 of 96 transcripts have a counterpart."),
        (("--match", "none"), "Systems are matched by no factor, as was asked for."),
    ):
        out, err = works(call, *asked, *match)
        assert said in " ".join(out.split())
    code, _, err = call(*asked, "--match", "seting")
    assert code == 2
    assert "'seting'; did you mean setting" in " ".join(err.split())


def test_kinds_are_declared_where_talks_are_scored(call: Call, tmp_path: Path) -> None:
    made(tmp_path)
    out, err = works(call, "read", "talks.jsonl", "--outcomes", "setting")
    assert "Kinds: condition target_length · outcome setting" in out
    code, _, err = call("score", "talks.jsonl", "--out", "other", "--conditions", "sitting")
    assert code == 2
    assert "--conditions: no transcript has the factor 'sitting'; did you mean setting" in " ".join(err.split())
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["agree run", "validate run", "estimate run", "compare run", *COMPARING, "explain run --cell empathy/a"]
)
def test_each_level_has_an_answer_of_its_own(command: str, call: Call, tmp_path: Path) -> None:
    made(tmp_path)
    asked = (*command.split(), "--round", "round 1")
    out, _ = works(call, *asked, "--within", "setting", "--json")
    tables = json.loads(out)
    titles = [table["title"] for table in tables]
    for level in ("guarded", "open"):
        assert any(title.endswith(f", setting {level}") for title in titles), titles
    # Each level's answer is the one that --where gives.
    alone, _ = works(call, *asked, "--where", "setting=open", "--json")
    records = [
        {key: value for key, value in record.items() if key != "setting"}
        for table in tables
        if table["title"].endswith("setting open")
        for record in table["rows"]
    ]
    assert records == [
        {key: value for key, value in record.items() if key != "setting"}
        for table in json.loads(alone)
        if table["table"] != "findings"
        for record in table["rows"]
    ]
    # What it comes to is said of each level.
    said = [row for table in tables if table["table"] == "findings" for row in table["rows"]]
    assert {row["within"] for row in said} == {"guarded", "open"}


@pytest.mark.slow
def test_a_screen_has_the_levels_beside_each_other(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    compared, _ = works(call, "compare", "run", "--round", "round 1", "--within", "setting")
    # Said of both levels alike, once.
    assert compared.startswith("setting guarded, open: No difference between a and b is shown on empathy ")
    assert "\nPeople's ratings are those of the round round 1.\n" in compared
    rows = [line.split()[:5] for line in compared.splitlines() if line.startswith(" a − b")]
    assert rows == [["a", "−", "b", level, "12"] for level in ("guarded", "open")] * 2
    assert "table" not in compared.splitlines()[-1]
    agreed, _ = works(call, "agree", "run", "--round", "round 1", "--within", "setting")
    assert [line.split(": ")[0] for line in agreed.splitlines()[:2]] == ["setting guarded", "setting open"]
    assert max(map(len, [*compared.splitlines(), *agreed.splitlines()])) <= 80
    assert max(len(out.splitlines()) for out in (compared, agreed)) < 24


@pytest.mark.slow
def test_a_report_is_of_the_part_that_was_chosen(call: Call, tmp_path: Path) -> None:
    made(tmp_path)
    code, _, err = call("report", "run")
    assert code == 2
    assert "people rated empathy in 2 rounds: round 1, round 2" in err
    assert "choose one with --round round 2" in err
    out, err = works(call, "report", "run", "--round", "round 1", "--where", "setting=open", "--methods")
    assert "Only transcripts with setting open are looked at. People's ratings are those of the round round 1." in out
    _, err = works(
        call, "report", "run", "--round", "round 1", "--where", "setting=open", "--format", "html", "--table", "results"
    )
    page = (tmp_path / "run" / "report" / "report.html").read_text("utf-8")
    assert "Only transcripts with setting open are looked at." in page


def test_wrong_parts_are_told_by_the_options(call: Call, tmp_path: Path) -> None:
    made(tmp_path)
    for arguments, words in (
        (("--where", "setting=opn"), "no setting 'opn'; did you mean open"),
        (("--where", "seting=open"), "'seting'; did you mean setting"),
        (("--where", "open"), "--where: 'open' is not NAME=VALUE"),
        (("--within", "seting"), "'seting'; did you mean setting"),
        (("--round", "round 3"), "there is no round 'round 3'; did you mean round"),
    ):
        chosen = () if "--round" in arguments else ("--round", "round 1")
        code, _, err = call("agree", "run", *chosen, *arguments)
        assert (code, words in err) == (2, True), err


def test_levels_are_had_one_by_one(tmp_path: Path) -> None:
    run = made(tmp_path)
    found = bedside.compare(run, metrics="empathy", rounds="round 1", within="setting")
    assert list(found.levels) == ["guarded", "open"]
    assert found.names == ("comparison-guarded", "comparison-open")
    pairs = found.levels["open"].results.pairs
    alone = bedside.compare(run, metrics="empathy", rounds="round 1", where={"setting": "open"})
    assert [pair.difference for pair in pairs] == [pair.difference for pair in alone.results.pairs]
    assert "p-values are corrected within setting open, not over its levels." in found["comparison-open"].notes
    with pytest.raises(bedside.BedsideError, match="each of the levels guarded, open has results of its own"):
        found.results  # noqa: B018


def test_a_level_without_an_answer_is_named(tmp_path: Path) -> None:
    run = made(tmp_path)
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.core.errors import DataError
    from bedside.reports.levels import by_level

    def answer(view: Any) -> Tables[None]:
        if "open" in view.part.where["setting"]:
            raise DataError("a comparison needs two systems")
        return Tables([Table("t", "T", (), ())], None)

    (table,) = by_level(open_ratings_view(run, rounds=["all"]), "setting", answer)
    assert table.notes == ("No answer within setting open: a comparison needs two systems.",)


def test_transcripts_without_the_factor_are_counted_under_the_last_level() -> None:
    from bedside.reports.levels import by_level

    rows = [row for system in "ab" for row in of_system(system, [1.0, 2.0, 3.0, 4.0, 5.0])]
    lengths = {name: {"0": "8", "1": "16", "2": None}.get(name[1:], "8") for name, *_ in rows}
    del lengths["b4"]
    ratings = view(rows, lengths)

    def answer(part: RatingsView) -> Tables[str]:
        return Tables([Table("t", "T", (), (), (), ())], str(part.ratings.height))

    tables = by_level(ratings, "target_length", answer)
    assert {level: own.results for level, own in tables.levels.items()} == {"8": "5", "16": "2"}
    assert [table.notes for table in tables] == [
        (),
        ("3 rated transcripts without target_length: in none of these answers.",),
    ]
    nowhere = view(rows, dict.fromkeys(lengths))
    with pytest.raises(DataError, match="no transcript that was chosen has target_length; name another factor"):
        by_level(nowhere, "target_length", answer)
