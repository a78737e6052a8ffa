"""Corrected means: which ratings they take, by which cells they are weighted, and what is said of the sample."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bedside.analysis.estimation import Estimate, estimate
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.follow_up import follow_up_plan
from bedside.annotation.plan_file import sealed
from bedside.annotation.proposals import Proposals
from bedside.annotation.rating_state import RatingProposal
from bedside.core.errors import DataError
from bedside.ratings.table import frame_of
from bedside.reports.estimation import estimate_table
from bedside.scoring.score import score
from bedside.stats import prediction_powered
from bedside.stats.stratified_means import judged_units, mean
from tests.analysis.builders import definite
from tests.analysis.test_validation import Study
from tests.annotation.study import EMPATHY, JUDGE, rating_plan


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study(tmp_path_factory.mktemp("study"))


def by_name(estimates: tuple[Estimate, ...]) -> dict[tuple[str, str], Estimate]:
    return {(each.metric, each.quantity): each for each in estimates}


def test_estimates_take_the_right_values(study: Study) -> None:
    found = by_name(estimate(study.view, judge="judge:*"))
    rest = np.setdiff1d(np.arange(60), study.rated)
    human = {s: study.people[s][:, study.rated].mean(axis=0) for s in "AB"}
    judge = {s: study.judge[s].mean(axis=0) for s in "AB"}
    for s in "AB":
        mine = found["empathy", s]
        assert (mine.labelled, mine.labelled_cases, mine.judged) == (20, 20, 60)
        assert mine.naive.estimate == pytest.approx(judge[s].mean())
        assert mine.human.estimate == pytest.approx(human[s].mean())
        expected = prediction_powered.mean(human[s], judge[s][study.rated], judge[s][rest], interval="t")
        assert mine.corrected.estimate == pytest.approx(expected.estimate)
        assert definite(mine.corrected.interval).low == pytest.approx(definite(expected.interval).low)
        assert found["safe", s].naive.estimate == pytest.approx(study.unsafe_judge[s].mean())
    both = found["empathy", "A − B"]
    assert both.naive.estimate == pytest.approx((judge["A"] - judge["B"]).mean())
    assert both.labelled_pairs == 20


def test_a_difference_is_that_of_the_means(study: Study) -> None:
    """Of numbers and of zeros and ones, by whichever ratings; before, two methods contradicted each other."""
    for method in ("prediction-powered", "rogan-gladen"):
        found = by_name(estimate(study.view, judge="judge:m", method=method))  # type: ignore[arg-type]
        for metric in ("empathy", "safe"):
            for kind in ("naive", "human", "corrected"):
                a, b, both = (getattr(found[metric, name], kind) for name in ("A", "B", "A − B"))
                if both.estimate is None:
                    assert method == "rogan-gladen"
                    assert "zeros and ones" in both.missing
                else:
                    assert both.estimate == pytest.approx(a.estimate - b.estimate, abs=1e-12)


def test_zeros_and_ones_are_corrected_as_other_metrics_unless_asked(study: Study) -> None:
    for each in estimate(study.view, judge="judge:m", metrics=["safe"]):
        assert "prediction-powered" in each.corrected.method
    found = by_name(estimate(study.view, judge="judge:m", method="rogan-gladen"))
    share = found["safe", "A"].corrected
    expected = prediction_powered.rogan_gladen(
        study.safe["A"][study.rated], study.unsafe_judge["A"][study.rated], study.unsafe_judge["A"]
    )
    assert (share.estimate, share.interval) == (expected.estimate, expected.interval)
    assert found["empathy", "A"].corrected.missing == "Rogan and Gladen's method is for zeros and ones"
    with pytest.raises(DataError, match="cases like these"):
        estimate(study.view, judge="judge:m", method="rogan-gladen", about="run")
    with pytest.raises(DataError, match="unknown"):
        estimate(study.view, judge="judge:m", about="everything")  # type: ignore[arg-type]


def test_the_corrected_interval_is_never_the_naive_one(study: Study) -> None:
    for one in estimate(study.view, judge="judge:m", metrics=["empathy"]):
        assert one.corrected.interval != one.naive.interval
        assert one.corrected.method != one.naive.method
    table = estimate_table(estimate(study.view, judge="judge:m"))
    assert [column.title for column in table.columns][2:5] == [
        "Judge alone (naive)",
        "People alone",
        "Corrected",
    ]


def test_the_estimand_is_named_and_chosen(study: Study) -> None:
    cases = estimate(study.view, judge="judge:m", metrics=["empathy"])
    run = estimate(study.view, judge="judge:m", metrics=["empathy"], about="run")
    assert any("cases like these" in note for note in estimate_table(cases).notes)
    assert any("this run's transcripts alone" in note for note in estimate_table(run).notes)
    for wide, narrow in zip(cases, run, strict=True):
        assert wide.corrected.estimate == pytest.approx(narrow.corrected.estimate)
        assert definite(narrow.corrected.interval).high < definite(wide.corrected.interval).high
        assert narrow.naive.interval is None
        assert narrow.naive.missing == "no interval: every unit was rated, so that its mean is known"


def test_where_people_rated_everything_the_corrected_mean_is_theirs(tmp_path: Path) -> None:
    path = tmp_path / "all.csv"
    path.write_text("item,system,anna,judge:m\n" + "".join(f"i{n},A,{n % 5},{n % 4}\n" for n in range(20)))
    view = open_ratings_view(path)
    (found,) = estimate(view, judge="judge:m")
    assert (found.corrected.estimate, found.corrected.interval) == (
        found.human.estimate,
        found.human.interval,
    )
    (known,) = estimate(view, judge="judge:m", about="run")
    assert known.corrected.estimate == 2
    assert known.corrected.interval is None
    assert known.corrected.missing


def test_a_handful_of_labels_corrects_nothing(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    lines = [f"i{n},A,{n % 5 if n < 9 else 'NA'},{(n + 1) % 5}" for n in range(40)]
    path.write_text("item,system,anna,judge:m\n" + "\n".join(lines) + "\n")
    found = estimate(open_ratings_view(path), judge="judge:m")[0]
    assert found.labelled == 9
    assert found.corrected.estimate is None
    assert found.corrected.missing == "people rated 9 cases, fewer than 10: too few to correct the judge"


def test_transcripts_of_few_cases_are_a_handful_too(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    lines = [f"i{n},A,c{n % 8},{n % 5 if n < 30 else 'NA'},{(n * 7) % 5}" for n in range(80)]
    path.write_text("item,system,case,anna,judge:m\n" + "\n".join(lines) + "\n")
    (found,) = estimate(open_ratings_view(path), judge="judge:m")
    assert (found.labelled, found.labelled_cases) == (30, 8)
    assert found.corrected.missing == "people rated 8 cases, fewer than 10: too few to correct the judge"


def test_what_cannot_be_done_says_so(study: Study) -> None:
    with pytest.raises(DataError, match="no rater matches 'judge:x'"):
        estimate(study.view, judge="judge:x")
    with pytest.raises(DataError, match="raters match"):
        estimate(study.view, judge="*")


class Planned:
    """A run of two kinds of transcripts, a judge's ratings of all, and the level of each that people would give."""

    def __init__(self, folder: Path, routine: int, crisis: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.kinds = ["routine"] * routine + ["crisis"] * crisis
        self.names = [f"t{n:03}" for n in range(len(self.kinds))]
        centre = np.where(np.array(self.kinds) == "crisis", 1.8, 3.4)
        self.truth = np.clip(np.round(centre + rng.normal(0, 0.8, centre.size)), 1, 5)
        # The judge is far too kind where it matters.
        errors = rng.integers(-1, 2, centre.size) + np.where(np.array(self.kinds) == "crisis", 2, 0)
        self.judge = np.clip(self.truth + errors, 1, 5)
        turns = [{"role": "clinician", "text": "How was your week?"}, {"role": "patient", "text": "Hard."}]
        lines = [
            json.dumps(
                {"id": name, "system": "A", "case_id": f"c{name}", "turns": turns, "factors": {"kind": kind}}
            )
            for name, kind in zip(self.names, self.kinds, strict=True)
        ]
        (folder / "in.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        self.run = score([folder / "in.jsonl"], folder / "run", metrics=["structure"]).run
        rows = [
            (name, "A", f"c{name}", "transcript", "empathy", JUDGE, 0, float(level), None, None, None)
            for name, level in zip(self.names, self.judge, strict=True)
        ]
        with self.run.locked():
            self.run.add(frame_of(rows).lazy(), self.run.manifest)
        self.level = dict(zip(self.names, self.truth, strict=True))

    def rated(self, plan: AnnotationPlan) -> AnnotationPlan:
        """The plan, once all its raters have said what they think of every item."""
        keep_answers(
            self.run,
            plan,
            [
                RaterAnswer(item.id, rater, "submitted", {"empathy": (f"{self.level[item.transcript]:.0f}",)})
                for item in plan.items
                for rater in plan.raters_of[item.id]
            ],
        )
        return plan

    def plan(self, **options: Any) -> AnnotationPlan:
        """A plan in which one person rates empathy."""
        return rating_plan(self.run, rubrics=(EMPATHY,), raters=("anna",), overlap=1, **options)

    def seen(self, *plans: AnnotationPlan) -> np.ndarray[Any, Any]:
        """Which transcripts the plans hold."""
        items = {item.transcript for plan in plans for item in plan.items}
        return np.array([name in items for name in self.names])

    def view(self, **options: Any) -> RatingsView:
        """The ratings as they are now."""
        return open_ratings_view(self.run.path, **options)


def test_an_oversampled_stratum_counts_as_large_as_it_is(tmp_path: Path) -> None:
    """25 of 30 crisis and 25 of 270 routine transcripts: before, the crisis ones made up half of the mean."""
    study = Planned(tmp_path, routine=270, crisis=30)
    seen = study.seen(study.rated(study.plan(by=("system", "kind"), per=25)))
    (found,) = estimate(study.view(), judge=JUDGE)
    crisis = np.array(study.kinds) == "crisis"
    means = [study.truth[seen & kind].mean() for kind in (crisis, ~crisis)]
    assert found.human.estimate == pytest.approx(0.1 * means[0] + 0.9 * means[1])
    direct = mean(judged_units(study.judge, np.where(seen, study.truth, np.nan), cells=crisis))
    assert found.corrected.estimate == pytest.approx(direct.estimate)
    assert definite(found.corrected.interval).low == pytest.approx(definite(direct.interval).low)
    assert (
        definite(found.corrected.interval).low < study.truth.mean() < definite(found.corrected.interval).high
    )
    unweighted = prediction_powered.mean(
        study.truth[seen], study.judge[seen], study.judge[~seen], interval="t"
    )
    assert definite(unweighted.interval).high < study.truth.mean(), "the weights matter here"
    assert found.samples[0].by == ("kind",)
    table = estimate_table((found,))
    assert any("drawn by kind" in note for note in table.notes)
    assert any("mix of kind" in note for note in table.notes)
    assert not any("not known" in note for note in table.notes)


def test_a_cell_with_one_label_is_joined_and_that_is_said(tmp_path: Path) -> None:
    study = Planned(tmp_path, routine=60, crisis=12)
    study.rated(study.plan(by=("kind",), per=12))
    thin = [name for name, kind in zip(study.names, study.kinds, strict=True) if kind == "crisis"][1:]
    view = study.view()
    view = replace(
        view,
        ratings=view.ratings.filter(
            ~(pl.col("transcript_id").is_in(thin) & pl.col("rater").str.starts_with("human:"))
        ),
    )
    (found,) = estimate(view, judge=JUDGE)
    assert found.samples[0].joined == ((("crisis",), ("routine",)),)
    assert any("fewer than two cases of a cell" in note for note in estimate_table((found,)).notes)
    assert found.human.estimate == pytest.approx(
        view.ratings.filter(pl.col("rater").str.starts_with("human:"))["value"].mean()
    )


def test_what_was_picked_for_what_it_is_is_left_out(tmp_path: Path) -> None:
    study = Planned(tmp_path, routine=80, crisis=20)
    random = study.rated(study.plan(per=20, round="main"))
    (alone,) = estimate(study.view(), judge=JUDGE)
    proposals = Proposals("disagreement", tuple(_worst(study, random)), (), 0)
    picked = study.rated(follow_up_plan(study.run, random, proposals))
    assert {item.chance for item in picked.items} == {0.0}
    (found,) = estimate(study.view(), judge=JUDGE)
    assert (found.labelled, found.samples[0].picked) == (20, 10)
    assert (found.human.estimate, found.corrected.estimate) == (
        alone.human.estimate,
        alone.corrected.estimate,
    )
    (note,) = [note for note in estimate_table((found,)).notes if "picked" in note]
    assert "10 transcripts" in note


def _worst(study: Planned, plan: AnnotationPlan) -> list[RatingProposal]:
    """The ten transcripts of nobody's on which the judge is furthest from the truth."""
    free = [n for n, seen in enumerate(study.seen(plan)) if not seen]
    worst = sorted(free, key=lambda n: -abs(study.truth[n] - study.judge[n]))[:10]
    return [RatingProposal(study.names[n], "transcript", "A", 0, 1, "disputed") for n in worst]


def test_what_the_judge_did_not_rate_and_unknown_chances_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    lines = [f"i{n},A,{n % 5},{'NA' if n in (3, 4) else n % 4}" for n in range(20)]
    lines += [f"j{n},A,NA,{n % 4}" for n in range(20)]
    path.write_text("item,system,anna,judge:m\n" + "\n".join(lines) + "\n")
    (found,) = estimate(open_ratings_view(path), judge="judge:m")
    assert (found.labelled, found.samples[0].unjudged, found.samples[0].assumed) == (18, 2, 18)
    notes = estimate_table((found,)).notes
    assert any("2 transcripts that people rated and the judge didn't" in note for note in notes)
    assert any("18 transcripts that people rated came to be drawn is not known" in note for note in notes)


def test_several_transcripts_of_a_case_widen_the_interval(tmp_path: Path) -> None:
    """Ten copies of each case say no more than one: before, the interval was as narrow as of ten times the cases."""
    rng = np.random.default_rng(3)
    people, judge = rng.integers(1, 6, 30), rng.integers(1, 6, 30)

    def found(copies: int) -> Estimate:
        path = tmp_path / f"{copies}.csv"
        lines = [
            f"i{n}-{copy},c{n},A,{people[n] if n < 15 else 'NA'},{judge[n]}"
            for n in range(30)
            for copy in range(copies)
        ]
        path.write_text("item,case,system,anna,judge:m\n" + "\n".join(lines) + "\n")
        return estimate(open_ratings_view(path), judge="judge:m")[0]

    one, ten = found(1), found(10)
    assert (ten.labelled, ten.labelled_cases) == (150, 15)
    for kind in ("naive", "human"):
        narrow, wide = getattr(one, kind), getattr(ten, kind)
        assert wide.estimate == pytest.approx(narrow.estimate)
        assert wide.interval.low == pytest.approx(narrow.interval.low)
        assert wide.interval.high == pytest.approx(narrow.interval.high)
    assert any("summed by case" in note for note in estimate_table((ten,)).notes)
    assert not any("summed by case" in note for note in estimate_table((one,)).notes)


def test_people_who_labelled_other_things_are_not_averaged(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    lines = ["item,rater,metric,value"]
    for n in range(20):
        lines += [f"i{n},{rater},{metric},{1 + (n + len(rater)) % 3}" for metric in ("concern_precision", "empathy")
                  for rater in ("anna", "ben", "judge:m")]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    view = open_ratings_view(path)
    assert view.label_sets() == ["concern_precision"]
    with pytest.raises(DataError, match="either one's or the other's"):
        estimate(view, judge="judge:m")
    of_anna = by_name(estimate(view, judge="judge:m", people=["human:anna"]))
    assert of_anna["concern_precision", "all"].labelled == 20
    # What the judge didn't rate is no matter.
    others = replace(
        view,
        ratings=view.ratings.filter(
            ~((pl.col("metric") == "concern_precision") & (pl.col("rater") == "judge:m"))
        ),
    )
    assert {each.metric for each in estimate(others, judge="judge:m")} == {"empathy"}


class Uneven:
    """Cases of one system and of three; a judge's ratings of all, and the level that people would give each."""

    def __init__(self, folder: Path, systems_by_case: Sequence[str]) -> None:
        rng = np.random.default_rng(4)
        turns = [{"role": "clinician", "text": "How was your week?"}, {"role": "patient", "text": "Hard."}]
        lines, rows, self.level = [], [], {}
        for case, systems in enumerate(systems_by_case):
            for system in systems:
                name = f"{system}{case:03}"
                # Cases of many systems are the hard ones.
                self.level[name] = int(np.clip(rng.normal(4 if len(systems) == 1 else 2, 0.7), 1, 5))
                lines.append(
                    json.dumps(
                        {"id": name, "system": system, "case_id": f"c{case}", "turns": turns, "factors": {}}
                    )
                )
                judged = float(np.clip(self.level[name] + rng.integers(-1, 2), 1, 5))
                rows.append(
                    (name, system, f"c{case}", "transcript", "empathy", JUDGE, 0, judged, None, None, None)
                )
        (folder / "in.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        self.run = score([folder / "in.jsonl"], folder / "run", metrics=["structure"]).run
        with self.run.locked():
            self.run.add(frame_of(rows).lazy(), self.run.manifest)

    def rated(self, **options: Any) -> AnnotationPlan:
        """A plan of half of all, as plans of format 1 were, once it is answered."""
        made = rating_plan(
            self.run, rubrics=(EMPATHY,), raters=("anna",), overlap=1, **{"per": 60, **options}
        )
        plan = sealed(made.model_copy(update={"format": 1}))
        answers = [
            RaterAnswer(item.id, "anna", "submitted", {"empathy": (f"{self.level[item.transcript]}",)})
            for item in plan.items
        ]
        keep_answers(self.run, plan, answers)
        return plan


def test_a_plan_that_drew_whole_cases_of_unequal_size_corrects_nothing(tmp_path: Path) -> None:
    """As plans of format 1 did: transcripts of large cases came more rarely than stated."""
    study = Uneven(tmp_path, ["A"] * 30 + ["ABC"] * 30)
    plan = study.rated()
    view = open_ratings_view(study.run.path)
    for found in estimate(view, judge=JUDGE):
        for result in (found.human, found.corrected):
            assert result.estimate is None
            assert f"plan {plan_hash(plan)} drew the transcripts of a case together" in str(result.missing)
        assert found.naive.estimate is not None
    assert view.ratings.filter(pl.col("rater") == "human:anna")["drawn"].unique().to_list() == [None]


@pytest.mark.parametrize(
    ("systems_by_case", "options"),
    [
        (["AB"] * 60, {}),
        (["A"] * 30 + ["ABC"] * 30, {"by": ("system",), "per": 20}),
        (["A"] * 120, {}),
    ],
)
def test_plans_of_before_whose_chances_are_right_still_do(
    systems_by_case: list[str], options: dict[str, Any], tmp_path: Path
) -> None:
    """Where cases have equally many transcripts, systems are strata, or there is one system."""
    study = Uneven(tmp_path, systems_by_case)
    plan = study.rated(**options)
    assert plan.format == 1
    view = open_ratings_view(study.run.path)
    assert all(found.corrected.estimate is not None for found in estimate(view, judge=JUDGE))
    assert view.ratings.filter(pl.col("rater") == "human:anna")["drawn"].null_count() == 0
