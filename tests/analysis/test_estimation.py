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
from scipy.special import stdtrit

import bedside
from bedside.analysis.agreement import agree
from bedside.analysis.checked_units import checked_units
from bedside.analysis.choices import EstimateMethod
from bedside.analysis.estimation import Estimate, estimate
from bedside.analysis.judge_accuracy import level_accuracy
from bedside.analysis.rater_effects import rater_severities
from bedside.analysis.ratings_view import PEOPLE, RatingsView, open_ratings_view
from bedside.analysis.validation import validate
from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.plan_file import sealed
from bedside.annotation.proposals import Proposals, RatingProposal, follow_up_plan
from bedside.core.errors import DataError
from bedside.ratings.learnt_units import LearntUnits, unit_digests, with_learnt
from bedside.ratings.rubric_metrics import adjudicated_metric, final_labels, is_final
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale
from bedside.ratings.table import frame_of
from bedside.reports.build import build_tables
from bedside.reports.estimation import estimate_table
from bedside.reports.explanation import explain
from bedside.reports.renderers.markdown import markdown
from bedside.reports.tables.agreement import agreement_table
from bedside.scoring.score import score
from bedside.stats import prediction_powered
from bedside.stats.confidence_sequences import any_estimate, error_with_unseen
from bedside.stats.stratified_means import judged_units, mean
from bedside.tuning.label_split import labelled_units
from tests.analysis.builders import definite, ends, has_note, rating
from tests.analysis.ratings_rows import Row, view
from tests.analysis.test_validation import Study
from tests.annotation.study import EMPATHY, JUDGE, rating_plan
from tests.soak import budget


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study(tmp_path_factory.mktemp("study"))


def by_name(estimates: tuple[Estimate, ...]) -> dict[tuple[str, str], Estimate]:
    return {(each.metric, each.quantity): each for each in estimates}


def from_lines(folder: Path, header: str, lines: Sequence[str]) -> RatingsView:
    (folder / "ratings.csv").write_text("\n".join([header, *lines]) + "\n")
    return open_ratings_view(folder / "ratings.csv")


def test_estimates_take_the_right_values(study: Study) -> None:
    estimates = by_name(estimate(study.view, judge="judge:*"))
    rest = np.setdiff1d(np.arange(60), study.rated)
    human = {s: study.people[s][:, study.rated].mean(axis=0) for s in "AB"}
    judge = {s: study.judge[s].mean(axis=0) for s in "AB"}
    for s in "AB":
        mine = estimates["empathy", s]
        assert (mine.labelled, mine.labelled_cases, mine.judged) == (20, 20, 60)
        assert (mine.naive.estimate, mine.human.estimate) == pytest.approx((judge[s].mean(), human[s].mean()))
        expected = prediction_powered.mean(human[s], judge[s][study.rated], judge[s][rest], interval="t")
        assert mine.corrected.estimate == pytest.approx(expected.estimate)
        mean = float(expected.estimate or 0.0)
        error, freedom = expected.standard_error or 0.0, expected.details["degrees of freedom"] or 0.0
        for end in ends(mine.corrected.interval):
            # Wilson's on the scale: as far from the mean as t allows with the spread of a mean at the end.
            spread = error * np.sqrt((end - 1) * (5 - end) / ((mean - 1) * (5 - mean)))
            assert abs(end - mean) == pytest.approx(stdtrit(freedom, 0.975) * spread)
        assert mine.corrected.interval != mine.naive.interval
        assert mine.corrected.method != mine.naive.method
        assert estimates["safe", s].naive.estimate == pytest.approx(study.unsafe_judge[s].mean())
    both = estimates["empathy", "A − B"]
    assert both.naive.estimate == pytest.approx((judge["A"] - judge["B"]).mean())
    assert both.labelled_pairs == 20


@pytest.mark.parametrize("method", ["prediction-powered", "rogan-gladen"])
def test_a_difference_is_that_of_the_means(study: Study, method: EstimateMethod) -> None:
    """Of numbers and of zeros and ones, by whichever ratings; before, two methods contradicted each other."""
    estimates = by_name(estimate(study.view, judge="judge:m", method=method))
    for metric in ("empathy", "safe"):
        for kind in ("naive", "human", "corrected"):
            a, b, both = (getattr(estimates[metric, name], kind) for name in ("A", "B", "A − B"))
            if both.estimate is None:
                assert method == "rogan-gladen"
                assert "zeros and ones" in both.missing
            else:
                assert both.estimate == pytest.approx(a.estimate - b.estimate, abs=1e-12)


def test_zeros_and_ones_are_corrected_as_other_metrics_unless_asked(study: Study) -> None:
    for each in estimate(study.view, judge="judge:m", metrics=["safe"]):
        assert "prediction-powered" in each.corrected.method
    estimates = by_name(estimate(study.view, judge="judge:m", method="rogan-gladen"))
    share = estimates["safe", "A"].corrected
    judge = study.unsafe_judge["A"]
    expected = prediction_powered.rogan_gladen(study.safe["A"][study.rated], judge[study.rated], judge)
    assert (share.estimate, share.interval) == (expected.estimate, expected.interval)
    assert "zeros and ones" in str(estimates["empathy", "A"].corrected.missing)


def test_the_estimand_is_named_and_chosen(study: Study) -> None:
    cases = estimate(study.view, judge="judge:m", metrics=["empathy"])
    run = estimate(study.view, judge="judge:m", metrics=["empathy"], about="run")
    assert has_note(estimate_table(cases), "cases like these")
    assert has_note(estimate_table(run), "this run's transcripts alone")
    titles = [column.title for column in estimate_table(cases).columns]
    assert titles[2:5] == ["Judge alone (naive)", "People alone", "Corrected"]
    for wide, narrow in zip(cases, run, strict=True):
        assert wide.corrected.estimate == pytest.approx(narrow.corrected.estimate)
        assert definite(narrow.corrected.interval).high < definite(wide.corrected.interval).high
        assert narrow.naive.interval is None
        assert "every unit was rated" in str(narrow.naive.missing)


def test_where_people_rated_everything_the_corrected_mean_is_theirs(tmp_path: Path) -> None:
    view = from_lines(tmp_path, "item,system,anna,judge:m", [f"i{n},A,{n % 5},{n % 4}" for n in range(20)])
    (cases,) = estimate(view, judge="judge:m")
    assert (cases.corrected.estimate, cases.corrected.interval) == (cases.human.estimate, cases.human.interval)
    (known,) = estimate(view, judge="judge:m", about="run")
    assert (known.corrected.estimate, known.corrected.interval) == (2, None)
    assert known.corrected.missing


@pytest.mark.parametrize(
    ("units", "labelled", "cases"), [(40, 9, 40), (80, 30, 8)], ids=["transcripts", "of few cases"]
)
def test_a_handful_of_labels_corrects_nothing(units: int, labelled: int, cases: int, tmp_path: Path) -> None:
    lines = [f"i{n},A,c{n % cases},{n % 5 if n < labelled else 'NA'},{(n * 7) % 5}" for n in range(units)]
    (few,) = estimate(from_lines(tmp_path, "item,system,case,anna,judge:m", lines), judge="judge:m")
    number = min(labelled, cases)
    assert (few.labelled, few.labelled_cases, few.corrected.estimate) == (labelled, number, None)
    assert few.corrected.missing == f"people rated {number} cases, and a judge is corrected by 10 or more"


TURNS = [{"role": "clinician", "text": "How was your week?"}, {"role": "patient", "text": "Hard."}]


def judged_run(folder: Path, talks: Sequence[tuple[str, str, str, dict[str, str], float]]) -> Run:
    """A run of (name, system, case, factors, the judge's level of empathy)."""
    lines = [
        json.dumps({"id": name, "system": system, "case_id": case, "turns": TURNS, "factors": factors})
        for name, system, case, factors, _ in talks
    ]
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    run = score([folder / "in.jsonl"], folder / "run", metrics=["structure"]).run
    rows = [rating(name, system, case, "empathy", JUDGE, float(level)) for name, system, case, _, level in talks]
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    return run


class Planned:
    """A run of two kinds of transcripts, a judge's ratings of all, and the level of each that people would give."""

    def __init__(self, folder: Path, routine: int, crisis: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.kinds = ["routine"] * routine + ["crisis"] * crisis
        self.names = [f"t{n:03}" for n in range(len(self.kinds))]
        self.crisis = np.array(self.kinds) == "crisis"
        centre = np.where(self.crisis, 1.8, 3.4)
        self.truth = np.clip(np.round(centre + rng.normal(0, 0.8, centre.size)), 1, 5)
        # The judge is far too kind where it matters.
        errors = rng.integers(-1, 2, centre.size) + np.where(self.crisis, 2, 0)
        self.judge = np.clip(self.truth + errors, 1, 5)
        talks = zip(self.names, self.kinds, self.judge.tolist(), strict=True)
        self.run = judged_run(folder, [(n, "A", f"c{n}", {"kind": kind}, level) for n, kind, level in talks])
        self.level = dict(zip(self.names, self.truth, strict=True))

    def rated(self, plan: AnnotationPlan) -> AnnotationPlan:
        """The plan, once all its raters have said what they think of every item."""
        answers = [
            RaterAnswer(item.id, rater, "submitted", {"empathy": (f"{self.level[item.transcript]:.0f}",)})
            for item in plan.items
            for rater in plan.raters_of[item.id]
        ]
        keep_answers(self.run, plan, answers)
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
    (result,) = estimate(study.view(), judge=JUDGE)
    means = [study.truth[seen & kind].mean() for kind in (study.crisis, ~study.crisis)]
    assert result.human.estimate == pytest.approx(0.1 * means[0] + 0.9 * means[1])
    direct = mean(judged_units(study.judge, np.where(seen, study.truth, np.nan), cells=study.crisis), scale=(1, 5))
    assert result.corrected.estimate == pytest.approx(direct.estimate)
    low, high = ends(result.corrected.interval)
    assert low == pytest.approx(definite(direct.interval).low)
    assert low < study.truth.mean() < high
    judge, truth = study.judge, study.truth
    unweighted = prediction_powered.mean(truth[seen], judge[seen], judge[~seen], interval="t")
    assert definite(unweighted.interval).high < study.truth.mean(), "the weights matter here"
    assert result.samples[0].by == ("kind",)
    table = estimate_table((result,))
    assert has_note(table, "drawn by kind")
    assert has_note(table, "mix of kind")
    assert not has_note(table, "not known")


def test_a_cell_with_one_label_is_joined_and_that_is_said(tmp_path: Path) -> None:
    study = Planned(tmp_path, routine=60, crisis=12)
    study.rated(study.plan(by=("kind",), per=12))
    thin = [name for name, kind in zip(study.names, study.kinds, strict=True) if kind == "crisis"][1:]
    view = study.view()
    view = replace(
        view,
        ratings=view.ratings.filter(~(pl.col("transcript_id").is_in(thin) & pl.col("rater").str.starts_with("human:"))),
    )
    (found,) = estimate(view, judge=JUDGE)
    assert found.samples[0].joined == ((("crisis",), ("routine",)),)
    assert has_note(estimate_table((found,)), "fewer than two cases of a cell")
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
    assert (found.human.estimate, found.corrected.estimate) == (alone.human.estimate, alone.corrected.estimate)
    (note,) = [note for note in estimate_table((found,)).notes if "picked" in note]
    assert "10 transcripts" in note


def _worst(study: Planned, plan: AnnotationPlan) -> list[RatingProposal]:
    """The ten transcripts of nobody's on which the judge is furthest from the truth."""
    free = [n for n, seen in enumerate(study.seen(plan)) if not seen]
    worst = sorted(free, key=lambda n: -abs(study.truth[n] - study.judge[n]))[:10]
    return [RatingProposal(study.names[n], "transcript", "A", 0, 1, "disputed") for n in worst]


def test_what_the_judge_did_not_rate_and_unknown_chances_are_counted(tmp_path: Path) -> None:
    lines = [f"i{n},A,{n % 5},{'NA' if n in (3, 4) else n % 4}" for n in range(20)]
    lines += [f"j{n},A,NA,{n % 4}" for n in range(20)]
    (result,) = estimate(from_lines(tmp_path, "item,system,anna,judge:m", lines), judge="judge:m")
    assert (result.labelled, result.samples[0].unjudged, result.samples[0].assumed) == (18, 2, 18)
    table = estimate_table((result,))
    assert has_note(table, "2 transcripts that people rated and the judge gave no value")
    assert has_note(table, "18 transcripts that people rated came to be drawn is not known")


def test_several_transcripts_of_a_case_widen_the_interval(tmp_path: Path) -> None:
    """Ten copies of each case say no more than one: before, the interval was as narrow as of ten times the cases."""
    rng = np.random.default_rng(3)
    people, judge = rng.integers(1, 6, 30), rng.integers(1, 6, 30)

    def of_copies(copies: int) -> Estimate:
        lines = [
            f"i{n}-{copy},c{n},A,{people[n] if n < 15 else 'NA'},{judge[n]}" for n in range(30)
            for copy in range(copies)
        ]  # fmt: skip
        return estimate(from_lines(tmp_path, "item,case,system,anna,judge:m", lines), judge="judge:m")[0]

    single, ten = of_copies(1), of_copies(10)
    assert (ten.labelled, ten.labelled_cases) == (150, 15)
    for narrow, wide in ((single.naive, ten.naive), (single.human, ten.human)):
        assert wide.estimate == pytest.approx(narrow.estimate)
        assert ends(wide.interval) == pytest.approx(ends(narrow.interval))
    assert has_note(estimate_table((ten,)), "summed by case")
    assert not has_note(estimate_table((single,)), "summed by case")


def test_people_who_labelled_other_things_are_not_averaged(tmp_path: Path) -> None:
    lines = [
        f"i{n},{rater},{metric},{1 + (n + len(rater)) % 3}" for n in range(20)
        for metric in ("concern_precision", "empathy") for rater in ("anna", "ben", "judge:m")
    ]  # fmt: skip
    view = from_lines(tmp_path, "item,rater,metric,value", lines)
    assert view.label_sets() == ["concern_precision"]
    with pytest.raises(DataError, match="`people=human:anna`"):
        estimate(view, judge="judge:m")
    of_anna = by_name(estimate(view, judge="judge:m", people=["human:anna"]))
    assert of_anna["concern_precision", "all"].labelled == 20
    # What the judge didn't rate is no matter.
    judged = (pl.col("metric") == "concern_precision") & (pl.col("rater") == "judge:m")
    others = replace(view, ratings=view.ratings.filter(~judged))
    assert {each.metric for each in estimate(others, judge="judge:m")} == {"empathy"}


class Uneven:
    """Cases of one system and of three; a judge's ratings of all, and the level that people would give each."""

    def __init__(self, folder: Path, systems_by_case: Sequence[str]) -> None:
        rng = np.random.default_rng(4)
        talks: list[tuple[str, str, str, dict[str, str], float]] = []
        self.level = {}
        for case, systems in enumerate(systems_by_case):
            for system in systems:
                name = f"{system}{case:03}"
                # Cases of many systems are the hard ones.
                self.level[name] = int(np.clip(rng.normal(4 if len(systems) == 1 else 2, 0.7), 1, 5))
                judged = float(np.clip(self.level[name] + rng.integers(-1, 2), 1, 5))
                talks.append((name, system, f"c{case}", {}, judged))
        self.run = judged_run(folder, talks)

    def rated(self, **options: Any) -> AnnotationPlan:
        """A plan of half of all, as plans of format 1 were, once it is answered."""
        options = {"per": 60, **options}
        made = rating_plan(self.run, rubrics=(EMPATHY,), raters=("anna",), overlap=1, **options)
        plan = sealed(made.model_copy(update={"format": 1}))
        answers = [
            RaterAnswer(item.id, "anna", "submitted", {"empathy": (f"{self.level[item.transcript]}",)})
            for item in plan.items
        ]
        keep_answers(self.run, plan, answers)
        return plan


@pytest.mark.parametrize(
    ("systems_by_case", "options", "right"),
    [
        (["A"] * 30 + ["ABC"] * 30, {}, False),
        (["AB"] * 60, {}, True),
        (["A"] * 30 + ["ABC"] * 30, {"by": ("system",), "per": 20}, True),
        (["A"] * 120, {}, True),
    ],
    ids=["whole cases of unequal size", "equally many transcripts a case", "systems are strata", "one system"],
)
def test_plans_of_format_1_correct_only_where_their_chances_are_right(
    systems_by_case: list[str], options: dict[str, Any], right: bool, tmp_path: Path
) -> None:
    """They drew whole cases: transcripts of large cases came more rarely than stated."""
    study = Uneven(tmp_path, systems_by_case)
    plan = study.rated(**options)
    assert plan.format == 1
    view = open_ratings_view(study.run.path)
    for result in estimate(view, judge=JUDGE):
        assert result.naive.estimate is not None
        assert (result.corrected.estimate is not None, result.human.estimate is not None) == (right, right)
        for own in (result.human, result.corrected):
            assert right or f"plan {plan_hash(plan)} drew the transcripts of a case together" in str(own.missing)
    drawn = view.ratings.filter(pl.col("rater") == "human:anna")["drawn"]
    assert drawn.null_count() == (0 if right else len(drawn))


# -- final labels by adjudication ------------------------------------------------------------------------


INVENTED = "judge:invented/model"


def adjudicated_view(rows: list[Row], levels: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0)) -> RatingsView:
    whole = view(rows)
    final = final_labels(whole.ratings, whole.name)
    kept = whole.ratings.filter(~is_final())
    return replace(whole, ratings=kept, final=final, scales={"empathy": Scale(levels, True)})


def row(name: str, rater: str, value: float | None, metric: str = "empathy") -> Row:
    return name, "a", name, metric, rater, value


def drawn_study(rng: np.random.Generator, adjudicated: bool) -> RatingsView:
    """200 transcripts of one system that a judge rated, 60 of them two people, who are milder than the truth."""
    rows = []
    truths = rng.normal(3, 1, 200)
    rated = set(rng.permutation(200)[:60].tolist())
    for number, truth in enumerate(truths):
        name = f"t{number:03}"
        rows.append(row(name, INVENTED, level(truth + rng.normal(0.5, 0.7))))
        if number in rated:
            both = [level(truth + 0.4 + rng.normal(0, 0.6)) for _ in range(2)]
            rows += [row(name, f"human:{who}", said) for who, said in zip("xy", both, strict=True)]
            if adjudicated and both[0] != both[1]:
                rows.append(row(name, "human:z", level(truth), adjudicated_metric("empathy")))
    return adjudicated_view(rows)


def level(latent: float) -> float:
    return float(np.clip(np.round(latent), 1, 5))


def settled_mean() -> float:
    """What people say of a transcript in the long run, where what they differ on is settled by the truth."""
    rng = np.random.default_rng(0)
    truths = rng.normal(3, 1, 400_000)
    first, second = (np.clip(np.round(truths + 0.4 + rng.normal(0, 0.6, truths.size)), 1, 5) for _ in range(2))
    return float(np.where(first == second, first, np.clip(np.round(truths), 1, 5)).mean())


@pytest.mark.soak
@pytest.mark.slow
def test_corrected_means_cover_what_people_say_when_it_is_settled() -> None:
    truth, studies = settled_mean(), budget(60, 1000)
    rng = np.random.default_rng(5)
    covered, of_originals = 0, 0
    for _ in range(studies):
        both = []
        state = rng.bit_generator.state
        for adjudicated in (True, False):
            rng.bit_generator.state = state
            (result,) = estimate(drawn_study(rng, adjudicated), judge=INVENTED)
            interval = definite(result.corrected.interval)
            both.append(interval.low <= truth <= interval.high)
        covered += both[0]
        of_originals += both[1]
    assert covered / studies >= 0.95 - 3.1 * np.sqrt(0.05 * 0.95 / studies)
    # The raters' own mean is about something else, as they are mild.
    assert of_originals / studies < 0.9


def small_view() -> RatingsView:
    rows = []
    levels = {"p": (1, 1, 2), "q": (2, 4, 4), "r": (3, 3, 3), "s": (5, 1, 1), "t": (4, 4, 5)}
    for name, (x, y, judged) in levels.items():
        rows += [row(name, "human:x", x), row(name, "human:y", y), row(name, INVENTED, judged)]
    rows += [
        row("q", "human:z", 4.0, "empathy.adjudicated"),
        row("s", "human:z", 2.0, "empathy.adjudicated"),
        row("t", "human:z", None, "empathy.adjudicated"),
    ]
    return adjudicated_view(rows)


def test_people_s_value_is_the_final_label_where_there_is_one() -> None:
    study = small_view()
    for part, expected in (
        (study, {"p": 1, "q": 4, "r": 3, "s": 2, "t": 4}),
        (replace(study, final=study.final.clear()), {"p": 1, "q": 3, "r": 3, "s": 3, "t": 4}),
    ):
        values = part.transcript_values(["empathy"]).filter(pl.col("group") == PEOPLE)
        assert dict(values.select("transcript_id", "value").iter_rows()) == expected


def test_the_reference_is_one_vote_and_the_people_stay() -> None:
    study = small_view()
    units = checked_units(study.ratings, INVENTED, 0, study.final_labels("empathy"))
    assert units.adjudicated == 2
    assert units.people.tolist() == [[1, 1], [2, 4], [3, 3], [5, 1], [4, 4]]
    assert units.reference.tolist() == [[1, 1], [4, None], [3, 3], [2, None], [4, 4]]
    assert units.people_numbers().tolist() == [1, 4, 3, 2, 4]
    # Of the units that are 4 (the final label of q, and t), the judge says so of q alone.
    accuracy = level_accuracy(units, 4.0)
    assert accuracy.judge.sensitivity.estimate == pytest.approx(1 / 2)
    assert accuracy.judge.specificity.estimate == pytest.approx(1)
    without = level_accuracy(checked_units(study.ratings, INVENTED, 0), 4.0)
    # Two votes of t, one of the two of q.
    assert without.judge.sensitivity.estimate == pytest.approx(0.5 / 1.5)
    assert accuracy.people == without.people


def test_what_is_learnt_from_is_the_final_label_and_severity_is_of_the_originals() -> None:
    study = small_view()
    units, _, _ = labelled_units(study, "empathy")
    assert {unit.transcript: unit.consensus for unit in units} == {"p": 1, "q": 4, "r": 3, "s": 2, "t": 4}
    assert all(set(unit.ratings) == {"human:x", "human:y"} for unit in units)
    raters = {severity.rater for severity in rater_severities(study, ["empathy"])}
    assert raters == {"human:x", "human:y"}


def test_tables_say_how_many_units_were_adjudicated() -> None:
    study = small_view()
    words = markdown(agreement_table(agree(study)))
    assert "final label of an adjudicator where there is one (Empathy 2 units)" in words
    (table,) = build_tables(study, ["results"])
    (cell,) = {str(record["cell"]) for record in table.records if record.get("raters") == PEOPLE}
    assert "Empathy: 2 units were adjudicated" in markdown(table)
    explained = explain(study, table, cell)
    text = "\n".join(map(markdown, explained.tables))
    assert "Empathy: 2 units were adjudicated" in text
    assert "empathy.adjudicated" in text


def test_labels_of_a_plain_file_are_final_too(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    lines = ["transcript_id,unit,metric,rater,value"]
    lines += [f"t{number},transcript,empathy,human:x,{1 + number % 5}" for number in range(6)]
    lines += [f"t{number},transcript,empathy,human:y,{1 + (number + 1) % 5}" for number in range(6)]
    lines += ["t0,transcript,empathy.adjudicated,human:z,2"]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    study = open_ratings_view(path)
    assert study.final_labels("empathy") == {("t0", "transcript"): 2.0}
    assert study.raters() == ["human:x", "human:y"]
    assert study.raters(["human:z"]) == ["human:z"]
    assert study.metrics() == ["empathy"]


# -- units that a rater learnt from ----------------------------------------------------------------------


RATER = "judge:m+empathy@1"


@pytest.fixture(scope="module")
def learnt_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """40 transcripts of 40 cases; the rater is perfect on the 20 it learnt from, and a coin on the others."""
    folder = tmp_path_factory.mktemp("fresh")
    talks = folder / "talks.jsonl"
    turns = [{"role": "clinician", "text": "How are you?"}, {"role": "patient", "text": "Well."}]
    talks.write_text(
        "".join(
            json.dumps({"id": f"t{n:02}", "system": "s", "case_id": f"c{n:02}", "turns": turns}) + "\n"
            for n in range(40)
        )
    )
    made = bedside.score(talks, folder / "run", metrics=["structure"]).run
    random = np.random.default_rng(1)
    rows = []
    for number in range(40):
        truth, guess = float(random.integers(1, 6)), float(random.integers(1, 6))
        for rater, value in (
            ("human:a", truth), ("human:b", truth), ("judge:m", guess), (RATER, truth if number < 20 else guess),
        ):  # fmt: skip
            rows.append(rating(f"t{number:02}", "s", f"c{number:02}", "empathy", rater, value))  # fmt: skip
    digests = frozenset(unit_digests((f"t{n:02}", f"c{n:02}") for n in range(20)))
    with made.locked():
        made.add(frame_of(rows).lazy(), with_learnt(made.manifest, LearntUnits(RATER, "empathy", digests)))
    return made


@pytest.mark.slow
def test_agreement_and_validation_count_fresh_units_only(learnt_run: Run) -> None:
    rows = {row.rater: row for row in bedside.agree(learnt_run).results if row.kind == "mean"}
    assert (rows[RATER].units, rows[RATER].learnt) == (20, 20)
    assert (rows["judge:m"].units, rows["judge:m"].learnt) == (40, 0)
    assert abs(rows[RATER].statistics["kappa"].estimate or 0) < 0.5
    cards = {card.rater: card.validations[0] for card in bedside.validate(learnt_run).results}
    assert (cards[RATER].with_people, cards[RATER].learnt) == (20, 20)
    assert (cards["judge:m"].with_people, cards["judge:m"].learnt) == (40, 0)
    for tables in (bedside.agree(learnt_run), bedside.validate(learnt_run, judges=[RATER])):
        notes = " ".join(note for table in tables for note in table.notes)
        assert f"{RATER}: 20 units that people rated are left out" in notes


def test_where_all_was_learnt_from_there_is_no_verdict(learnt_run: Run) -> None:
    view = open_ratings_view(learnt_run)
    learnt = replace(view, ratings=view.ratings.filter(pl.col("transcript_id") < "t20"))
    with pytest.raises(bedside.BedsideError, match=r"judge:m\+empathy@1"):
        validate(learnt, judges=[RATER])


def test_an_estimate_is_of_the_other_cases(learnt_run: Run) -> None:
    tables = bedside.estimate(learnt_run, judge=RATER, metrics=["empathy"])
    (estimate,) = tables.results
    assert (estimate.labelled, estimate.judged, estimate.learnt) == (20, 20, 20)
    notes = " ".join(note for table in tables for note in table.notes)
    assert "20 transcripts that people rated are left out" in notes
    assert "the judge gave no value" not in notes


def test_at_every_look_people_and_both_are_wider_and_the_judge_is_as_it_was(study: Study) -> None:
    """By the same standard error, with what two cases at the ends of the scale would add; p is that of the interval."""
    once, always = (
        by_name(estimate(study.view, judge="judge:m")),
        by_name(estimate(study.view, judge="judge:m", looks=study.view.transcripts()["transcript_id"].to_list())),
    )
    for key, looked_at in always.items():
        assert looked_at.naive == once[key].naive
        for name in ("human", "corrected"):
            own, plain = getattr(looked_at, name), getattr(once[key], name)
            if plain.estimate is None:
                assert own == plain
                continue
            assert own.estimate == plain.estimate
            (low, high), (inner_low, inner_high) = ends(own.interval), ends(plain.interval)
            assert high - low > 1.3 * (inner_high - inner_low) or key[0] == "safe"
            assert (own.p < 0.05) == (low > 0 or high < 0)
            assert "confidence sequence" in own.method
    mine = always["empathy", "A"].corrected
    error = error_with_unseen(once["empathy", "A"].corrected.standard_error, [mine.estimate or 0.0], [20], (1, 5))
    expected = any_estimate(mine.estimate or 0.0, error, cases=20, planned=60, df=19, ends=(1, 5))
    assert ends(mine.interval) == pytest.approx(ends(expected.interval), rel=0.02)


@pytest.mark.parametrize("options", [{"about": "run"}, {"method": "rogan-gladen"}])
def test_what_is_not_about_cases_like_these_is_refused_at_every_look(study: Study, options: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="holds for one look only"):
        estimate(study.view, judge="judge:m", looks=(), **options)
