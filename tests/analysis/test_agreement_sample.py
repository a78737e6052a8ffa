"""Agreement where units were drawn with unequal chances, or belong together by case: against tables of everything."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from bedside.analysis.agreement import Agreement, agree
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.sampling import make_plan
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale
from bedside.ratings.table import frame_of
from bedside.reports.tables.agreement import agreement_table
from bedside.scoring.score import score
from tests.annotation.study import EMPATHY, RATERS, USERS, exported

SCALE = Scale((1.0, 2.0, 3.0, 4.0, 5.0), True)
#: Statistics that rest on sums over units, and so are those of units that stand there as often as they weigh.
OF_SUMS = ("kappa", "percent agreement", "ac", "fleiss", "spearman", "bias")


def ratings(units: int, seed: int, raters: int = 3) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(units, 1)) + 0.2 * rng.normal(size=(1, raters))
    return np.clip(np.round(3 + 1.2 * (latent + 0.6 * rng.normal(size=(units, raters)))), 1, 5)


def view_of(
    cells: np.ndarray[Any, Any],
    drawn: list[float | None],
    cases: list[str | None] | None = None,
    names: tuple[str, ...] = ("human:a", "human:b", "human:c", "judge:m"),
) -> RatingsView:
    rows, chances = [], []
    for unit, row in enumerate(cells):
        for name, value in zip(names, row, strict=False):
            case = f"c{unit}" if cases is None else cases[unit]
            rows.append(
                (f"t{unit}", "s", case, "transcript", "warmth", name, 0, float(value), None, None, None)
            )
            chances.append(drawn[unit] if name.startswith("human:") else None)
    return RatingsView(frame_of(rows, "main", chances), {"warmth": SCALE}, None, "the run")


def by_kind(agreements: tuple[Agreement, ...]) -> dict[str, Agreement]:
    return {f"{a.kind} {a.between}": a for a in agreements}


@pytest.mark.slow
def test_weighted_statistics_are_those_of_units_that_stand_there_as_often_as_they_weigh() -> None:
    """A unit drawn with chance .2 stands for five, one drawn with chance .5 for two."""
    cells = ratings(40, 1, raters=4)
    chances: list[float | None] = [0.2 if unit < 25 else 0.5 for unit in range(40)]
    weighted = by_kind(agree(view_of(cells, chances)))
    repeated = cells[np.repeat(np.arange(40), [5] * 25 + [2] * 15)]
    everything = by_kind(agree(view_of(repeated, [1.0] * len(repeated))))
    assert weighted.keys() == everything.keys()
    for name, agreement in weighted.items():
        assert agreement.chances == "unequal"
        whole = everything[name]
        for statistic in OF_SUMS:
            if statistic in agreement.statistics:
                assert agreement.statistics[statistic].estimate == pytest.approx(
                    whole.statistics[statistic].estimate, abs=1e-9
                ), (name, statistic)
        # What divides by the number of ratings less one differs in the order of one over it.
        for statistic in ("alpha", "icc", "lower limit", "upper limit"):
            if statistic in agreement.statistics:
                assert agreement.statistics[statistic].estimate == pytest.approx(
                    whole.statistics[statistic].estimate, abs=0.03
                ), (name, statistic)
        assert agreement.prevalence == pytest.approx(whole.prevalence)
        unweighted = by_kind(agree(view_of(cells, [None] * 40)))[name]
        assert (
            agreement.statistics["kappa of rated units"].estimate == unweighted.statistics["kappa"].estimate
        )


def test_the_table_says_that_figures_are_weighted_and_what_they_are_unweighted() -> None:
    table = agreement_table(agree(view_of(ratings(40, 2), [0.2 if unit < 25 else 0.5 for unit in range(40)])))
    (note,) = [note for note in table.notes if "unequal chances" in note]
    assert "each weighted by how many it stands for" in note
    assert "Of the units rated alone, unweighted, κ among people is ." in note


def test_transcripts_of_a_case_are_left_out_together() -> None:
    """Ten cases, each with ten transcripts that are alike: their interval is that of ten cases."""
    rng = np.random.default_rng(3)
    ten = ratings(10, 4)
    cells = np.repeat(ten, 10, axis=0)
    cases: list[str | None] = [f"c{unit // 10}" for unit in range(100)]
    order = rng.permutation(100)
    together = by_kind(agree(view_of(cells[order], [None] * 100, [cases[unit] for unit in order])))
    apart = by_kind(agree(view_of(ten, [None] * 10)))
    people = together["people people"]
    assert (people.units, people.transcripts, people.cases) == (100, 100, 10)
    for statistic in ("kappa", "ac", "fleiss"):
        mine, theirs = (rows["people people"].statistics[statistic] for rows in (together, apart))
        assert mine.interval is not None
        assert theirs.interval is not None
        assert mine.interval.low == pytest.approx(theirs.interval.low, abs=1e-9)
        assert mine.interval.high == pytest.approx(theirs.interval.high, abs=1e-9)
    assert any("jackknife over cases" in note for note in agreement_table((people,)).notes)


def test_units_of_one_case_are_drawn_by_transcript() -> None:
    cells = ratings(30, 5)
    rows = [
        (
            f"t{unit // 3}",
            "s",
            "only",
            f"turn:{unit % 3}",
            "warmth",
            f"human:{name}",
            0,
            float(value),
            None,
            None,
            None,
        )
        for unit, row in enumerate(cells)
        for name, value in zip("abc", row, strict=True)
    ]
    view = RatingsView(frame_of(rows), {"warmth": SCALE}, None, "the run")
    in_one = by_kind(agree(view))["people people"]
    without = replace_case(view)
    assert in_one.cases == 10
    assert in_one.statistics["kappa"] == by_kind(agree(without))["people people"].statistics["kappa"]


def replace_case(view: RatingsView) -> RatingsView:
    table = view.ratings.with_columns(pl.lit(None, pl.String()).alias("case_id"))
    return RatingsView(table, view.scales, None, "the run")


@pytest.fixture(scope="module")
def stratified_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Thirty cases of two systems, six of them crises; people rated six of each, and differ on most crises."""
    folder = tmp_path_factory.mktemp("strata")
    turn = [{"role": role, "text": "Well."} for role in ("clinician", "patient")]
    lines = [
        json.dumps({"id": f"{system}-{case}", "system": system, "case_id": f"c{case}", "turns": turn, "language": "en",
                    "factors": {"kind": "crisis" if case < 6 else "routine"}, "reference": {"goal": "sleep"}})
        for case in range(30) for system in "AB"
    ]  # fmt: skip
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    run = score([folder / "in.jsonl"], folder / "run", metrics=["structure"]).run
    plan = make_plan(
        run,
        mode="rate",
        rubrics=(EMPATHY,),
        raters=("anna", "ben"),
        by=("system", "kind"),
        per=5,
        seed=3,
        round="main",
    )

    def say(item: str, rater: str) -> dict[str, str]:
        name = plan.by_id[item].transcript
        case = int(name[2:])
        apart = rater == "ben" and case % (2 if case < 6 else 7) == 0
        return {"empathy": str(1 + (case + apart) % 5)}

    keep_answers(run, plan, read_export(plan, exported(plan, say, USERS), RATERS, where="export").answers)
    return run


def test_strata_of_a_plan_count_as_much_as_they_are_large(stratified_run: Run) -> None:
    view = open_ratings_view(stratified_run.path)
    (people,) = (row for row in agree(view, metrics=["empathy"]) if row.kind == "people")
    assert (people.chances, people.by, people.units) == ("unequal", ("system", "kind"), 20)
    wide = view.ratings.filter(metric="empathy").pivot("rater", index="transcript_id", values="value")
    same = {
        name: float(a == b)
        for name, a, b in wide.select("transcript_id", "human:anna", "human:ben").iter_rows()
    }
    sizes = {True: 6, False: 24}
    cells: dict[tuple[str, bool], list[float]] = {}
    for name, agreed in same.items():
        cells.setdefault((name[0], int(name[2:]) < 6), []).append(agreed)
    expected = sum(sizes[crisis] / 60 * np.mean(values) for (_, crisis), values in cells.items())
    assert {len(values) for values in cells.values()} == {5}
    assert people.statistics["percent agreement"].estimate == pytest.approx(expected)
    assert expected != pytest.approx(np.mean(list(same.values())))


def test_a_level_of_the_factor_is_drawn_with_one_chance(stratified_run: Run) -> None:
    crises = open_ratings_view(stratified_run.path, where={"kind": ("crisis",)})
    (people,) = (row for row in agree(crises, metrics=["empathy"]) if row.kind == "people")
    assert (people.chances, people.units, people.cases) == ("equal", 10, 5)
