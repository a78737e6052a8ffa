"""What a question prints: what it comes to, then one table within a screen; the rest where it is asked for."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from bedside.cli.output import print_tables
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Heading, Row
from tests.analysis.preference_study import Chooser, simulated_study
from tests.conftest import Call, works
from tests.reports.builders import made_run, scored, with_rows

#: A terminal, and what of it is left for the line of what to do next and for the prompt.
WIDTH, LINES = 80, 24
#: Stands for the last system of a sheet.
REFERENCE = "the last system"
QUESTIONS = {
    "agree": ("--scale", "1-5"),
    "compare": ("--scale", "1-5"),
    "validate": ("--scale", "1-5"),
    "estimate": ("--scale", "1-5"),
    "compare --over messages": ("--scale", "1-5"),
    "compare --against": (REFERENCE, "--scale", "1-5"),
}
#: Questions within margins, as far as only judges or only people rated.
WITHIN = {
    "compare": ("--scale", "1-5", "--margin", "1", "--raters", "human:*"),
    "gate": ("--scale", "1-5", "--raters", "human:*", "--margin", "warmth0=1:higher", "--baseline"),
}


def sheet(path: Path, *, metrics: int, systems: int, cases: int, long: bool = False, judge: bool = True) -> Path:
    """Ratings of people and a judge who mostly agree; the first system is the better one by two levels."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "system", "case", "rater", "metric", "value"])
        for metric in range(metrics):
            for case in range(cases):
                for number in range(systems):
                    system = f"hosted_vllm/a-family-of-models/system-{number}" if long else f"s{number}"
                    for place, rater in enumerate(("anna", "ben", *(["judge:m"] if judge else []))):
                        value = 1 + (case + (case + place + metric) % 7 // 6) % 3 + (2 if number == 0 else 0)
                        name = f"warmth of the clinician towards the patient {metric}" if long else f"warmth{metric}"
                        writer.writerow([f"{system}-{case}", system, f"c{case}", rater, name, value])
        for case in range(cases):
            for number in range(systems):
                system = f"hosted_vllm/a-family-of-models/system-{number}" if long else f"s{number}"
                writer.writerow([f"{system}-{case}", system, f"c{case}", "algorithm:a", "turns", 1 + case % 5])
    return path


SHEETS = {
    "one measure": {"metrics": 1, "systems": 2, "cases": 12},
    "few cases": {"metrics": 2, "systems": 2, "cases": 3},
    "many measures": {"metrics": 14, "systems": 2, "cases": 12},
    "many systems": {"metrics": 3, "systems": 6, "cases": 8},
    "long names": {"metrics": 3, "systems": 3, "cases": 8, "long": True},
}


@pytest.mark.parametrize("name", SHEETS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_comes_first_and_fits_a_screen(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str, name: str
) -> None:
    fits_a_screen(call, tmp_path, monkeypatch, question, QUESTIONS[question], name)


@pytest.mark.parametrize("name", ["few cases", "many systems"])
@pytest.mark.parametrize("question", WITHIN)
def test_what_is_asked_within_margins_fits_a_screen(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str, name: str
) -> None:
    fits_a_screen(call, tmp_path, monkeypatch, question, WITHIN[question], name)


@pytest.mark.parametrize("question", ["compare --preferences", "compare --over length"])
def test_preferences_and_drift_fit_a_screen(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    if question == "compare --over length":
        run = made_run(tmp_path, "calm-it", cases=6)
    else:
        raters = [Chooser("human:anna"), Chooser("human:ben"), Chooser("judge:m", place=0.8, passes=2)]
        strengths = {f"hosted_vllm/a-family-of-models/system-{name}": 0.5 * name for name in range(4)}
        study = simulated_study(strengths, raters, cases=12)
        run = with_rows(scored(tmp_path, metrics=["turns"]), study.rows)
    command, *asked = question.split()
    is_a_screen(call, [command, run.path, *asked])


def asked(folder: Path, question: str, options: tuple[str, ...], name: str) -> list[object]:
    """What is typed to put a question to a sheet."""
    path = sheet(folder / "ratings.csv", **SHEETS[name])  # type: ignore[arg-type]
    last = f"s{SHEETS[name]['systems'] - 1}"
    if SHEETS[name].get("long"):
        last = f"hosted_vllm/a-family-of-models/system-{SHEETS[name]['systems'] - 1}"
    command, *asked = question.split()
    options = tuple(last if option == REFERENCE else option for option in options)
    typed = [command, path, *asked, *options]
    if question == "gate":
        typed += [last, "--system", last[:-1] + "0"]
    return typed


def fits_a_screen(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str, options: tuple[str, ...], name: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    is_a_screen(call, asked(tmp_path, question, options, name))


def is_a_screen(call: Call, typed: list[object]) -> None:
    _, out, _ = call(*typed)
    lines = out.splitlines()
    answer = json.loads(call(*typed, "--json")[1])
    answer = (answer["tables"] if typed[0] == "gate" else answer)[-1]
    assert answer["table"] == "findings"
    first = answer["rows"][0]["sentence"]
    assert " ".join(out.split()).startswith(" ".join(first.split()))
    assert len(lines) < LINES
    assert max(map(len, lines)) <= WIDTH
    # One table: one head, and no second block of columns.
    assert sum(set(line.strip()) == {"─"} for line in lines) == 1


@pytest.mark.parametrize("name", ["few cases", "many systems", "long names"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_all_of_an_answer_is_split_nowhere_but_at_rows(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    typed = asked(tmp_path, question, QUESTIONS[question], name)
    out, _ = works(call, *typed, "--all")
    lines = out.splitlines()
    assert max(map(len, lines)) <= WIDTH
    tables = json.loads(call(*typed, "--json")[1])[:-1]
    # A table has one title, one head at most, and its rows one after the other.
    titles = ["".join(table["title"].split()) for table in tables]
    assert ["".join(out.split()).count(title) for title in titles] == [1] * len(tables)
    assert sum(set(line.strip()) == {"─"} for line in lines) <= len(tables)


def test_a_table_that_is_too_wide_is_a_paragraph_a_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    columns = (Heading("Metric", "left"), *(Heading(title, group="Patient") for title in ("Mean", "Median")))
    columns += (Heading("Estimate [95 % CI]"),)
    texts = (("Empathy", "3.96", "4.00", "2.00 [1.31, 2.69]"), ("Warmth", "1.50", "–", "–"))
    rows = tuple(Row(tuple(map(Cell, own)), "By people") for own in texts)
    print_tables([Table("wide", "A wide table", columns, rows)])
    assert capsys.readouterr().out.splitlines() == [
        "A wide table", "",
        "By people",
        " Metric: Empathy",
        "   Patient Mean: 3.96",
        "   Patient Median: 4.00",
        "   Estimate [95 % CI]: 2.00 [1.31, 2.69]",
        " Metric: Warmth",
        "   Patient Mean: 1.50",
    ]  # fmt: skip


def test_a_difference_that_is_there_is_the_first_that_is_said(call: Call, tmp_path: Path) -> None:
    path = sheet(tmp_path / "ratings.csv", metrics=1, systems=2, cases=12)
    out, _ = works(call, "compare", path, "--scale", "1-5", "--raters", "human:*")
    assert out.startswith("s0 is above s1 on warmth0; whether higher is better there is not known ")
    assert "(12 cases; for these 2 raters)" in " ".join(out.split())


def test_what_is_left_out_is_counted_and_printed_where_it_is_asked_for(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    path = sheet(tmp_path / "ratings.csv", metrics=14, systems=2, cases=12)
    brief, _ = works(call, "compare", path, "--scale", "1-5")
    assert "rows, " in brief
    assert "more: --all. What the numbers are: --notes." in brief
    assert "Holm" not in brief
    noted, _ = works(call, "compare", path, "--scale", "1-5", "--notes")
    assert "Holm" in noted
    whole, _ = works(call, "compare", path, "--scale", "1-5", "--all")
    assert whole.startswith(brief.splitlines()[0])
    for metric in range(14):
        assert f"warmth{metric}" in whole.lower()
    assert "Holm" not in whole
    assert "Holm" in works(call, "compare", path, "--scale", "1-5", "--all", "--notes")[0]


def test_a_warning_stands_beside_the_answer(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "rater", "metric", "value"])
        for case in range(12):
            writer.writerow([f"t{case}", "anna", "warmth", 1 + case % 5])
            writer.writerow([f"t{case}", "ben", "warmth", 3])
    out, _ = works(call, "agree", path, "--scale", "1-5")
    assert "ben only 3" in " ".join(out.split())


def test_the_measures_that_differ_come_first(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    path = tmp_path / "ratings.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "system", "case", "rater", "metric", "value"])
        for metric in range(14):
            for case in range(20):
                for system in "AB":
                    value = 1 + (case + metric) % 3 + (2 if (system, metric) == ("B", 13) else 0)
                    writer.writerow([f"{system}{case}", system, f"c{case}", "anna", f"warmth{metric:02d}", value])
    out, _ = works(call, "compare", path, "--scale", "1-5")
    assert out.startswith("B is above A on warmth13; ")
    assert next(line for line in out.splitlines() if line.startswith(" Warmth")).strip() == "Warmth13"


def test_a_one_sided_test_says_nothing_of_the_other_side(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "system", "case", "rater", "metric", "value"])
        for case in range(20):
            for metric, better in (("empathy", "A"), ("partnership", "B")):
                for system in "AB":
                    value = 1 + case % 3 + 2 * (system == better)
                    writer.writerow([f"{system}{case}", system, f"c{case}", "anna", metric, value])
    both = " ".join(works(call, "compare", path, "--scale", "1-5")[0].split())
    assert "A is better than B on empathy" in both
    assert "worse on partnership" in both
    one = " ".join(works(call, "compare", path, "--scale", "1-5", "--alternative", "greater")[0].split())
    assert one.startswith("A is better than B on empathy, 1 of 2 tested measures (20 cases;")


def test_what_could_not_be_corrected_is_not_known(call: Call, tmp_path: Path) -> None:
    path = sheet(tmp_path / "ratings.csv", metrics=1, systems=2, cases=6)
    out, _ = works(call, "estimate", path, "--scale", "1-5")
    said = " ".join(out.split())
    assert said.startswith(
        "How s0 and s1 differ once corrected by people is not known on warmth0: people rated 6 cases"
    )


def test_a_table_of_one_judge_says_whose_it_is(call: Call, tmp_path: Path) -> None:
    path = sheet(tmp_path / "ratings.csv", metrics=1, systems=2, cases=12)
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        for case in range(12):
            for number in range(2):
                writer.writerow([f"s{number}-{case}", f"s{number}", f"c{case}", "judge:other", "warmth0", 1 + case % 5])
    out, _ = works(call, "validate", path, "--scale", "1-5")
    assert "\njudge:m beside people\n" in out


def written(path: Path, rows: Iterable[tuple[object, ...]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "system", "case", "rater", "metric", "value"])
        writer.writerows(rows)
    return path


def test_a_measure_on_a_scale_of_its_own_is_no_rubric_that_has_its_name(call: Call, tmp_path: Path) -> None:
    """MDD-5k's safety is 1 for a leak, and lower is better; here it is how safe somebody was, from 1 to 5."""
    rows = [
        (f"{system}{case}", system, case, rater, "safety", min(5, level + case % 2))
        for system, level in (("good", 4), ("bad", 2))
        for case in range(12)
        for rater in ("anna", "ben")
    ]
    out, _ = works(call, "compare", written(tmp_path / "r.csv", rows), "--scale", "1-5")
    assert out.startswith("good is above bad on safety; whether higher is better there is not known")
    # Nor is its level a leak's: nobody fails at 1 of 5.
    gate = ("gate", tmp_path / "r.csv", "--scale", "1-5", "--baseline", "bad", "--margin", "safety=0.3:higher")
    assert "No metric of safety was rated" in works(call, *gate)[0]


def test_a_judge_whose_scale_is_turned_round_is_told(call: Call, tmp_path: Path) -> None:
    rows = [
        (case, "s", case, rater, "empathy", min(5, 6 - level + (case % 7 == 0)) if rater == "judge:m" else level)
        for case in range(40)
        for level in (1 + case % 5,)
        for rater in ("anna", "ben", "judge:m")
    ]
    path = written(tmp_path / "r.csv", rows)
    assert "it says the opposite of people" in " ".join(works(call, "validate", path, "--scale", "1-5")[0].split())
    assert "disagrees with people on empathy" in " ".join(works(call, "agree", path, "--scale", "1-5")[0].split())


def test_of_yes_and_no_yes_is_asked_about_and_labels_have_no_mean(call: Call, tmp_path: Path) -> None:
    """Yes is the commoner answer here; the judge misses half of it."""
    rows = [
        (case, "s", case, rater, "danger", "yes" if case % 4 and (rater != "judge:m" or case % 2) else "no")
        for case in range(60)
        for rater in ("anna", "ben", "judge:m")
    ]
    path = written(tmp_path / "r.csv", rows)
    table = next(
        table for table in json.loads(works(call, "validate", path, "--json")[0])
        if any("sensitivity" in row for row in table["rows"])
    )  # fmt: skip
    assert table["rows"][0]["sensitivity"] == pytest.approx(30 / 45)
    code, _, err = call("estimate", path)
    assert (code, "danger is rated by labels" in err) == (2, True)
    # What the judge didn't rate is no reason why it can't be corrected.
    rows = [(*row[:4], "warmth" if row[3] == "judge:m" else "danger", row[5]) for row in rows]
    code, _, err = call("estimate", written(path, rows))
    assert (code, "no metric was rated by people and by judge:m" in err) == (2, True)


def test_those_whose_ratings_count_are_those_who_are_warned_of(call: Call, tmp_path: Path) -> None:
    """Ben rated one system alone; without him both were rated alike."""
    rows = [
        (f"{system}{case}", system, case, rater, "empathy", level + (rater == "ben"))
        for case in range(24)
        for level in (1 + case % 4,)
        for system in "ab"
        for rater in ("anna", "judge:m", *(["ben"] if system == "a" else []))
    ]
    path = written(tmp_path / "r.csv", rows)
    warned = " ".join(works(call, "estimate", path, "--scale", "1-5")[0].split())
    assert "ben rated only a on empathy; that alone adds 0.50 to a − b." in warned
    alone, _ = works(call, "estimate", path, "--scale", "1-5", "--people", "human:anna")
    assert "rated by ben" not in alone
