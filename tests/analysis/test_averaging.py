"""Systems are held against each other in the same settings, and what is averaged over is named."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bedside
from bedside.analysis.averaging import interactions, matched_rows, settled_ratings
from bedside.analysis.comparison import compare
from bedside.analysis.deviation import deviation
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.core.errors import DataError
from bedside.metrics.protocols.medconceal import labels as medconceal_labels
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES
from bedside.ratings.table import frame_of
from bedside.reports.contents import make_parts, make_tables
from bedside.reports.results_layout import ResultsOptions
from bedside.reports.table_notes import divided_by, with_averaging_notes
from bedside.reports.tables.results import TABLE as RESULTS
from bedside.scoring.score import score
from bedside.stats.confidence_sequences import bounded_mean
from tests.analysis.builders import definite, has_note, rating
from tests.analysis.ratings_rows import Row, view
from tests.conftest import conversation

CASES = 20


def study(
    effects: dict[tuple[str, str], float], spread: float = 0.05, metric: str = "concern_f1", seed: int = 0
) -> RatingsView:
    """Cases of systems in settings, with the mean of each."""
    draw = random.Random(seed)
    rows, factors = [], []
    for (system, setting), mean in effects.items():
        for case in range(CASES):
            name = f"{system}-{setting}-{case}"
            value = mean + draw.gauss(0, spread)
            rows.append(rating(name, system, f"c{case}", metric, "judge:m", value))
            factors.append({"transcript_id": name, "setting": setting})
    return RatingsView(frame_of(rows), {}, pl.DataFrame(factors), "study")


LEVELS = ("8", "16")


def both_levels(**means: tuple[float, float]) -> dict[tuple[str, str], float]:
    """The means of systems at 8 and at 16."""
    return {(system, level): mean for system, own in means.items() for level, mean in zip(LEVELS, own, strict=True)}


GPT = {("gpt", "8"): 0.40, ("gpt", "16"): 0.56, ("human", "8"): 0.64}


GROWS = both_levels(a=(0.5, 0.5), b=(0.6, 0.9))


def test_a_system_in_one_setting_is_compared_within_it() -> None:
    """gpt − human came out −.160, where the 8-turn setting alone gives −.240."""
    view = study(GPT, spread=0.0)
    (pair,) = compare(view, reference="human").pairs
    alone = compare(view.where({"setting": ["8"]}), reference="human").pairs[0]
    assert pair.difference.estimate == pytest.approx(-0.24)
    assert pair.differences == alone.differences
    assert (pair.unmatched_a, pair.unmatched_b) == (CASES, 0)
    (row,) = deviation(view, "human")
    assert row.deviation == pytest.approx(0.24)
    assert (row.n, row.transcripts, row.reference_n) == (CASES, CASES, CASES)


def test_a_case_is_compared_at_the_levels_that_both_have_there() -> None:
    view = study(both_levels(a=(0.1, 0.1), bb=(0.2, 0.2)), 0.0)
    # A value far off at a level that the other system lacks on this case would tell.
    given = {"bb-16-3": None, "a-8-4": None, "a-16-3": 9.0, "bb-8-4": 9.0}
    name = pl.col("transcript_id")
    value = pl.when(name.is_in(list(given))).then(name.replace_strict(given, default=None)).otherwise("value")
    odd = replace(view, ratings=view.ratings.with_columns(value.cast(pl.Float64()).alias("value")))
    (pair,) = compare(odd).pairs
    assert pair.cases_a == CASES
    assert pair.differences == pytest.approx([-0.1] * CASES)
    assert (pair.unmatched_a, pair.unmatched_b) == (1, 1)


def test_a_transcript_without_a_case_is_of_no_case_that_is_called_like_it() -> None:
    """Its setting weighed in with those of the case."""
    places = [
        ("c1", "a", None, "8"), ("a-2", "a", "c1", "16"), ("a-3", "a", "c1", "16"), ("a-4", "a", "c1", "8"),
        ("b-1", "b", "c1", "8"), ("b-2", "b", "c1", "16"),
    ]  # fmt: skip
    rows = [rating(name, system, case, "empathy", "judge:m", 2.0) for name, system, case, _ in places]
    factors = pl.DataFrame({"transcript_id": [p[0] for p in places], "setting": [p[3] for p in places]})
    view = RatingsView(frame_of(rows), {}, factors, "study")
    matched = matched_rows(view, view.transcript_values(["empathy"]), "a", "b").rows
    values = dict(matched.select("transcript_id", "value").iter_rows())
    # Of the case, 16 counts as much as 8, though it has two transcripts; the transcript without one is as it was.
    assert values == pytest.approx({"c1": 2, "a-2": 1.5, "a-3": 1.5, "a-4": 3, "b-1": 2, "b-2": 2})


def test_levels_weigh_alike_however_often_each_was_run() -> None:
    """Two runs at 8 and one at 16, against one of each."""
    view = study(both_levels(a=(0.2, 0.8), b=(0.2, 0.8)), 0.0)
    of_a = view.ratings.filter(pl.col("transcript_id").str.starts_with("a-8-"))
    again = of_a.with_columns(pl.col("transcript_id") + "-again")
    place = again.select("transcript_id", pl.lit("8").alias("setting"))
    more = replace(view, ratings=pl.concat([view.ratings, again]), factors=pl.concat([definite(view.factors), place]))
    (pair,) = compare(more).pairs
    assert pair.differences == pytest.approx([0.0] * CASES)


def test_nothing_is_matched_where_nothing_varies_within_a_case_or_no_level_is_shared() -> None:
    constant = study({("a", "8"): 0.2, ("b", "16"): 0.4})
    values = constant.transcript_values(["concern_f1"])
    assert matched_rows(constant, values, "a", "b").rows.equals(values)
    apart = study({("a", "8"): 0.2, ("a", "16"): 0.3, ("b", "32"): 0.4}, 0.0)
    values = apart.transcript_values(["concern_f1"])
    assert matched_rows(apart, values, "a", "b").left_out == (0, 0)
    assert compare(apart).pairs[0].difference.estimate == pytest.approx(-0.15)


def test_all_systems_at_once_are_matched_too() -> None:
    (overall,) = compare(study({**both_levels(a=(0.4, 0.9), b=(0.4, 0.9)), ("c", "8"): 0.4}, 0.0)).overall
    assert overall.test.statistic is None or overall.test.statistic == pytest.approx(0.0)


def test_a_test_of_interaction_decides_whether_the_note_is_a_warning() -> None:
    # The sign of the difference flips by chance only: no warning. It grows fourfold without a flip: a warning.
    (same,) = make_tables(study(both_levels(a=(0.5, 0.5), b=(0.501, 0.499))), ["comparison"])
    assert has_note(same, "Averaged over setting (8, 16)", "No interaction of system and setting is shown")
    assert not has_note(same, "Warning")
    grows = study(GROWS)
    (table,) = make_tables(grows, ["comparison"])
    assert has_note(table, "Warning: how systems compare depends on setting: interaction on")
    (factor,) = grows.averaged_factors()
    (tested,) = interactions(grows, factor, ["concern_f1"], [("a", "b")])
    assert (tested.a, tested.b, tested.factor, tested.test.n) == ("a", "b", "setting", CASES)
    assert (tested.test.p_adjusted or 1) < 0.001


@pytest.mark.slow
def test_chance_alone_seldom_warns() -> None:
    """Three systems of one mean in two settings: three interactions a run, corrected by Holm."""
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    warned = 0
    for seed in range(60):
        view = study({(system, setting): 0.5 for system in "abc" for setting in ("8", "16")}, seed=seed)
        (factor,) = view.averaged_factors()
        tested = interactions(view, factor, ["concern_f1"], pairs)
        warned += any((interaction.test.p_adjusted or 0) < 0.05 for interaction in tested)
    assert warned <= 8  # of 60 at 5 % or less, 8 or more come in one of 100


def test_transcripts_without_cases_are_units_themselves() -> None:
    view = study(GROWS)
    nameless = view.ratings.with_columns(pl.lit(None, dtype=pl.String()).alias("case_id"))
    caseless = replace(view, ratings=nameless)
    (factor,) = caseless.averaged_factors()
    (tested,) = interactions(caseless, factor, ["concern_f1"], [("a", "b")])
    assert "Welch–James" in tested.test.method
    assert (tested.test.p_adjusted or 1) < 0.001


# -- sets of labels --------------------------------------------------------------------------------------


def labelled_run(folder: Path, raters: tuple[str, ...]) -> Run:
    """One dialogue of each of four cases with two concerns; each set of labels has findings of its own."""
    talks = []
    for case in range(4):
        labels: dict[str, Any] = {}
        for place, rater in enumerate(raters):
            matched = [{"finding": 0, "concern": "c0", "quote": "I am afraid of the tablets"}]
            findings = [{"category": medconceal_labels.CATEGORIES[0], "text": "x"}] * (1 + 2 * place)
            labels[rater] = {"findings": findings, "matches": matched}
        concerns = [{"id": f"c{i}", "category": medconceal_labels.CATEGORIES[0], "text": "Tablets"} for i in range(2)]
        talks.append(
            conversation(
                ("clinician", "Go on?"), ("patient", "I am afraid of the tablets"), id=f"t{case}", system="gpt",
                case_id=f"case{case}", language="en", reference={"concerns": concerns, "medconceal": labels},
            )
        )  # fmt: skip
    folder.mkdir(exist_ok=True)
    (folder / "talks.jsonl").write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))
    return score([folder / "talks.jsonl"], folder / "run", metrics=["hidden_concerns"]).run


def precision(view: RatingsView) -> dict[str, float]:
    (table,) = make_tables(view, ["concerns"], suite=SUITES.load("medconceal"))
    return {
        f"{record['raters']} {record['level']}": record["value"]
        for record in table.records
        if record["metric"] == "concern_precision"
    }


def test_two_sets_of_labels_on_one_dialogue_stand_apart(tmp_path: Path) -> None:
    """Of one finding one matched, of three one: .75 as sums of means stood where 1 and .333 belong."""
    one = open_ratings_view(labelled_run(tmp_path / "one", ("human:anna",)))
    assert precision(one) == {"people micro": 1.0, "people mean": 1.0}
    two = open_ratings_view(labelled_run(tmp_path / "two", ("human:anna", "human:ben")))
    assert precision(two) == pytest.approx(
        {"human:anna micro": 1.0, "human:ben micro": 1 / 3, "human:anna mean": 1.0, "human:ben mean": 1 / 3}
    )
    table = bedside.tables(two.run or "", "results")["results"]
    assert has_note(table, "Labels of several people lie over one transcript (anna, ben)")


def test_people_who_share_the_labelling_are_one_group(tmp_path: Path) -> None:
    """Where no dialogue has two sets, each person's labels count for their own dialogues."""
    run = labelled_run(tmp_path / "run", ("human:anna", "human:ben"))
    first = pl.col("transcript_id").is_in(["t0", "t1"])
    shared = run.ratings.filter(
        (first & (pl.col("rater") == "human:anna")) | (~first & (pl.col("rater") == "human:ben"))
    )
    view = RatingsView(shared, {}, run.factors, "run")
    assert view.label_sets() == []
    assert precision(view)["people micro"] == pytest.approx(4 / 8)


# -- other questions -------------------------------------------------------------------------------------


def test_a_deviation_counts_each_case_once() -> None:
    """Two transcripts of each case that are the same tell no more than one of each."""
    once = study({("a", "8"): 0.4, ("b", "8"): 0.6})
    twice = study({("a", "8"): 0.4, ("b", "8"): 0.6})
    copies = twice.ratings.with_columns(pl.col("transcript_id") + "-copy")
    twice = RatingsView(pl.concat([twice.ratings, copies]), {}, None, "study")
    (of_one,), (of_two,) = deviation(once, "b"), deviation(twice, "b")
    assert of_one.difference.interval == of_two.difference.interval
    assert (of_two.n, of_two.transcripts) == (CASES, 2 * CASES)


def test_notes_say_which_levels_each_system_has() -> None:
    view = study(GPT)
    (results,) = make_tables(view, ["results"])
    assert has_note(results, "Averaged over setting (8, 16); human has 8 only", "--where setting=LEVEL")
    (comparison,) = make_tables(view, ["comparison"])
    assert has_note(comparison, "the levels of setting that both systems have (gpt − human 8)")
    assert not any(has_note(table, "Averaged") for table in make_tables(view.where({"setting": ["8"]})))


def test_a_table_divided_by_a_factor_averages_nothing_over_it() -> None:
    view = study(both_levels(a=(0.4, 0.4), b=(0.4, 0.4)))
    options = ResultsOptions(rows=("setting", "metric"), columns=("system",))
    table = definite(RESULTS.make(view, 0, options))
    assert with_averaging_notes(table, view, besides=divided_by(options)) == table
    assert with_averaging_notes(table, view) != table
    figures = [drawing for part in make_parts(view) for drawing in part.figures]
    assert any("Averaged over setting (8, 16)" in note for drawing in figures for note in drawing.notes)


def test_a_judge_is_corrected_by_one_set_of_labels(tmp_path: Path) -> None:
    run = labelled_run(tmp_path / "run", ("human:anna", "human:ben", "judge:m"))
    with pytest.raises(DataError, match="`people=human:anna`"):
        bedside.estimate(run, metrics="concern_precision")
    (estimated,) = bedside.estimate(run, metrics="concern_precision", people="human:ben").results
    assert estimated.human.estimate == pytest.approx(1 / 3)


# -- At a look at a study that runs -----------------------------------------------------------------------


def test_at_every_look_cases_wait_for_their_second_rater() -> None:
    """Three people of different tastes rate two systems on 100 cases, two of them each, one after another. The truth of
    these three stays inside at all looks where whole cases count alone; where all count, it is left out."""
    rng, studies, wrong = np.random.default_rng(95), 20, np.zeros(2)
    for _ in range(studies):
        tastes, cases = rng.normal(0, 0.3, (2, 3)), rng.normal(3, 0.5, (2, 100))
        rows: list[Row] = [
            (f"{system}{case}", "AB"[system], f"c{case}", "empathy", f"human:r{rater}",
             float(np.clip(cases[system, case] + tastes[system, rater] + rng.normal(0, 0.5), 1, 5)))
            for case in range(100) for rater in range(3) if case % 3 != rater for system in (0, 1)
        ]  # fmt: skip
        truth, ever = float((tastes[0] - tastes[1]).mean()), np.zeros(2, bool)
        for done in (1, 2, 3):
            seen = view([row for row in rows if int(str(row[4])[-1]) < done])
            counts = Counter(str(row[0]) for row in rows if int(str(row[4])[-1]) < done)
            is_open = [name for name, count in counts.items() if count < 2]
            for place, unfinished in enumerate((is_open, [])):
                if len(is_open) == len(counts) and unfinished:
                    with pytest.raises(DataError, match="no case has all of its planned answers yet"):
                        settled_ratings(seen, ["empathy"], unfinished)
                    continue
                kept, waiting = settled_ratings(seen, ["empathy"], unfinished)
                assert waiting == len(unfinished)
                values = kept.transcript_values(["empathy"]).sort("case_id").partition_by("system", as_dict=True)
                x, y = (values[system,]["value"].to_numpy() for system in "AB")
                interval = definite(bounded_mean(x - y, low=-4, high=4).interval)
                ever[place] |= not interval.low <= truth <= interval.high
        wrong += ever
    assert wrong[0] <= 0.05 * studies < wrong[1]


def test_without_a_plan_what_fewer_people_rated_is_counted() -> None:
    rows: list[Row] = [
        (f"t{n}", "A", f"c{n}", "empathy", f"human:{r}", 3.0) for n in range(9) for r in "ab"[: 1 + n % 2]
    ]
    seen = view(rows)
    assert settled_ratings(seen, ["empathy"], None) == (seen, 5)
