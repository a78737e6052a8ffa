"""Every n is "n of N": which of the cases that are there enter a comparison, and why the others don't, by hand."""

from __future__ import annotations

import csv
import io
import json

import pytest

from bedside.analysis.comparison import Comparison, compare
from bedside.analysis.estimation import estimate
from bedside.analysis.leaderboard import standings
from bedside.analysis.non_inferiority import margins_of, within_margins
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.equivalence import margin_table
from bedside.reports.estimation import estimate_table
from bedside.reports.renderers.records import csv_text, json_text
from bedside.reports.tables.comparison import comparison_table, overall_table
from bedside.reports.tables.results import results_table
from tests.analysis.builders import definite
from tests.analysis.ratings_rows import Row, view

RATER = "algorithm:r@1"


def study(values: dict[str, dict[int, float | None]], *, named: bool = True) -> RatingsView:
    """Transcripts of cases, all of which have a number of turns; a judge rated the empathy of those that aren't −1."""
    rows: list[Row] = []
    for system, cases in values.items():
        for case, value in cases.items():
            transcript, name = f"{system}{case}", str(case) if named else None
            rows.append((transcript, system, name, "turns", RATER, 10.0 + case))
            if value != -1:
                rows.append((transcript, system, name, "empathy", "judge:j", value))
    return view(rows)


#: Not rated: −1; rated in vain: None. Pairs: 1, 3, 4, 5, 6.
A = {1: 3.0, 2: None, 3: 4.0, 4: 2.0, 5: 5.0, 6: 4.0, 7: 3.0, 8: -1}
B = {1: 2.0, 2: 3.0, 3: 3.0, 4: 1.0, 5: 3.0, 6: 4.0, 9: 5.0}


def only(ratings: RatingsView) -> Comparison:
    (pair,) = compare(ratings, metrics=["empathy"]).pairs
    return pair


def test_pairs_of_the_cases_that_are_there() -> None:
    """Of nine cases 2 and 8 have no value of A; B doesn't have 7, and A not 9."""
    pair = only(study({"A": A, "B": B}))
    assert pair.paired
    assert pair.cases_a == 5
    counts = pair.entered
    assert (counts.of, counts.of_a, counts.of_b) == (9, 8, 7)
    assert (counts.no_value, counts.other_settings, counts.no_partner) == (2, 0, 2)
    assert pair.cases_a + counts.no_value + counts.no_partner == counts.of


def test_the_cell_json_and_csv_say_both() -> None:
    table = comparison_table([only(study({"A": A, "B": B}))])
    assert table.rows[0].cells[1].text == "5 of 9 (2 no value, 2 no partner)"
    (record,) = json.loads(json_text(table))["rows"]
    assert (record["n"], record["of"]) == (5, 9)
    (line,) = csv.DictReader(io.StringIO(csv_text(table)))
    assert (line["n"], line["of"], line["no_value"], line["no_partner"]) == ("5", "9", "2", "2")


def test_the_same_n_stands_without_of() -> None:
    whole = {case: value for case, value in A.items() if value not in (None, -1)}
    table = comparison_table([only(study({"A": whole, "B": dict.fromkeys(whole, 2.0)}))])
    assert table.rows[0].cells[1].text == "6"
    assert (table.records[0]["n"], table.records[0]["of"]) == (6, 6)


def test_unpaired_cases_are_counted_by_system() -> None:
    pair = only(study({"A": A, "B": B}, named=False))
    assert not pair.paired
    assert (pair.cases_a, pair.cases_b) == (6, 7)
    assert (pair.entered.of_a, pair.entered.of_b, pair.entered.of) == (8, 7, 15)
    table = comparison_table([pair])
    assert table.rows[0].cells[1].text == "6 of 8, 7"
    assert (table.records[0]["n"], table.records[0]["of"]) == (13, 15)


def test_values_in_other_settings_are_named_as_such() -> None:
    """Case 3 of A is at 16 turns only, of B at 8 only: it has values, but none that match."""
    lengths = {"A": {1: (8, 16), 2: (8, 16), 3: (16,)}, "B": {1: (8, 16), 2: (8, 16), 3: (8,)}}
    rows: list[Row] = []
    factors = {}
    for system, cases in lengths.items():
        for case, turns in cases.items():
            for length in turns:
                name = f"{system}{case}-{length}"
                rows.append((name, system, str(case), "empathy", "judge:j", float(case + length % 5)))
                factors[name] = length
    pair = only(view(rows, factors))
    assert (pair.cases_a, pair.entered.of) == (2, 3)
    assert pair.entered.why_not == "1 other settings"
    assert comparison_table([pair]).rows[0].cells[1].text == "2 of 3 (1 other settings)"


def test_results_say_the_same_whole() -> None:
    """A has 6 values of 8 transcripts, beside a comparison that rests on 5 of 9 cases; each says why."""
    ratings = study({"A": A, "B": B})
    table = definite(results_table(ratings, ["empathy", "turns"]))
    by_cell = {record["cell"]: record for record in table.records if "metric" in record}
    assert {cell: (record["n"], record["of"], record["missing"]) for cell, record in by_cell.items()} == {
        "empathy/A": (6, 8, 1), "empathy/B": (7, 7, 0), "turns/A": (8, 8, 0), "turns/B": (7, 7, 0),
    }  # fmt: skip
    texts = [cell.text for row in table.rows for cell in row.cells]
    assert any(text.endswith(" n=6 of 8") for text in texts)
    assert any("were not rated" in note and "have no value" in note for note in table.notes)


@pytest.mark.parametrize("named", [True, False])
def test_margins_say_the_same_as_comparisons(named: bool) -> None:
    ratings = study({"A": A, "B": B}, named=named)
    (test,) = within_margins(ratings, margins_of({"empathy": 0.5}))
    pair = only(ratings)
    assert test.entered == pair.entered
    table = margin_table([test])
    assert table.rows[0].cells[1].text == comparison_table([pair]).rows[0].cells[1].text
    assert table.records[0]["of"] == pair.entered.of


def test_all_systems_at_once_and_the_leaderboard() -> None:
    """C has every case of A and B with a value: five cases have a value of all three, of the nine that are there."""
    ratings = study({"A": A, "B": B, "C": {case: float(case % 5) for case in range(1, 10)}})
    found = compare(ratings, metrics=["empathy"])
    assert (found.overall[0].test.n, found.overall[0].of) == (5, 9)
    assert overall_table(found.overall).rows[0].cells[2].text == "5 of 9"
    (board,) = standings(ratings, "empathy")
    assert {name: (place.values.n, place.of) for name, place in board.by_system.items()} == {
        "A": (6, 8), "B": (7, 7), "C": (9, 9),
    }  # fmt: skip


def test_estimates_count_the_transcripts_that_the_judge_lacks() -> None:
    """Of twenty transcripts the judge rated eighteen, and people twelve of these."""
    rows: list[Row] = []
    for case in range(20):
        name = f"A{case}"
        rows.append((name, "A", str(case), "turns", RATER, 10.0))
        rows.append((name, "A", str(case), "empathy", "judge:j", float(case % 5) if case < 18 else None))
        if case < 12:
            rows.append((name, "A", str(case), "empathy", "human:anna", float(case % 4)))
    table = estimate_table(estimate(view(rows), judge="judge:j"))
    assert table.rows[0].cells[1].text == "12 of 20, the judge 18 of 20"
    assert {key: table.records[0][key] for key in ("n", "of", "labelled", "judged")} == {
        "n": 12, "of": 20, "labelled": 12, "judged": 18,
    }  # fmt: skip
