"""Judges beside people, and corrected estimates: wiring against values taken straight from the numbers."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import polars as pl
import pytest
import scipy.stats
from scipy import stats
from sklearn.metrics import roc_auc_score

import bedside
from bedside.analysis.checked_units import CheckedUnits
from bedside.analysis.judge_accuracy import LevelAccuracy, decisions
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.validation import Validation, validate, verdict_on
from bedside.ratings.scales import Scale, parse_scales
from bedside.ratings.table import frame_of
from bedside.reports.validation import validation_tables
from bedside.scoring.score import score
from bedside.stats.alternative_annotator import alternative_annotator
from bedside.stats.reliability import krippendorff_alpha
from bedside.stats.stand_in import cases_needed
from tests.analysis.builders import definite, ends, has_note, rating
from tests.annotation.study import JUDGE, new_study
from tests.conftest import conversation

Array = np.ndarray[Any, Any]
EXAMPLES = Path(bedside.__file__).parent / "examples"


class Study:
    """Two systems, sixty cases each; a judge with three passes on all, three people on every third case."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(5)
        self.truth = {
            s: np.clip(np.round(3 + shift + rng.normal(0, 1, 60)), 1, 5) for s, shift in (("A", 0), ("B", 0.7))
        }

        def noisy(values: Array, sd: float, bias: float = 0.0) -> Array:
            return np.clip(np.round(values + bias + rng.normal(0, sd, values.shape)), 1, 5)

        self.judge = {s: np.stack([noisy(t, 0.6, 0.4) for _ in range(3)]) for s, t in self.truth.items()}
        self.people = {s: np.stack([noisy(t, 0.5) for _ in range(3)]) for s, t in self.truth.items()}
        self.safe = {s: (t > 3).astype(float) for s, t in self.truth.items()}
        self.unsafe_judge = {s: np.where(rng.random(60) < 0.9, v, 1 - v) for s, v in self.safe.items()}
        self.rated = np.arange(0, 60, 3)
        rows: list[tuple[Any, ...]] = []
        for s in "AB":
            for i in range(60):
                rows += [(f"{s}{i}", s, i, "judge:m", "empathy", self.judge[s][p, i], p) for p in range(3)]
                rows.append((f"{s}{i}", s, i, "judge:m", "safe", self.unsafe_judge[s][i], 0))
            for i in self.rated.tolist():
                for k, who in enumerate(("anna", "ben", "cleo")):
                    rows.append((f"{s}{i}", s, i, who, "empathy", self.people[s][k, i], 0))
                rows.append((f"{s}{i}", s, i, "anna", "safe", self.safe[s][i], 0))
        names = ["item", "system", "case", "rater", "metric", "value", "replicate"]
        frame = pl.DataFrame([tuple(map(str, row)) for row in rows], schema=names, orient="row")
        frame.write_parquet(folder / "study.parquet")
        scales = parse_scales(["empathy=1-5", "safe=0,1"])
        self.view = open_ratings_view(folder / "study.parquet", scales=scales)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study(tmp_path_factory.mktemp("study"))


def mode(passes: Array) -> Array:
    """Most frequent of each column's passes, of several the one nearest their mean, then the first given."""
    modes = []
    for column in passes.T:
        values, counts = np.unique(column, return_counts=True)
        top = values[counts == counts.max()]
        near = top[np.isclose(abs(top - column.mean()), abs(top - column.mean()).min())]
        modes.append(next(value for value in column if value in near))
    return np.array(modes)


def test_a_judge_is_checked_as_the_numbers_say(study: Study) -> None:
    checked = validate(study.view, metrics=["empathy"])[0].validations[0]
    people = np.concatenate([study.people[s][:, study.rated] for s in "AB"], axis=1)
    judge = np.concatenate([mode(study.judge[s])[study.rated] for s in "AB"])
    assert (checked.rated, checked.with_people, checked.passes, checked.failures) == (120, 40, 3, 0)
    # Both systems have the same cases.
    assert (checked.cases, checked.chances, checked.picked) == (20, "unknown", 0)
    expected = alternative_annotator(judge, people.T, epsilon=0.2, score="distance", clusters=np.tile(study.rated, 2))
    alternative = definite(checked.alternative)
    assert alternative.winning_rate == expected.winning_rate
    assert alternative.advantage == pytest.approx(expected.advantage)
    by_rater, theirs = ({rater.method: rater.p for rater in test.raters} for test in (alternative, expected))
    assert by_rater == pytest.approx(theirs)
    difference = judge - people.mean(axis=0)
    assert definite(checked.bias).estimate == pytest.approx(difference.mean())
    upper = difference.mean() + 1.96 * difference.std(ddof=1)
    assert definite(checked.limits).details["upper limit"] == pytest.approx(upper)
    passes = np.concatenate([study.judge[s] for s in "AB"], axis=1)
    alpha = krippendorff.alpha(passes, level_of_measurement="ordinal", value_domain=[1, 2, 3, 4, 5])
    assert definite(checked.self_agreement).estimate == pytest.approx(alpha, abs=1e-12)
    assert checked.length is None, "a plain file has no lengths"


def test_the_verdict_follows_the_test_and_the_number_of_units(study: Study) -> None:
    by_metric = {each.metric: each for each in validate(study.view, epsilon=0.2)[0].validations}
    empathy = by_metric["empathy"]
    assert definite(empathy.alternative).replaceable
    assert (empathy.stands_in, empathy.why) == (None, "it never gives 1, which people gave to 10 units")
    lowest = (pl.col("metric") == "empathy") & (pl.col("value") == 1)
    joined = study.view.ratings.with_columns(pl.when(lowest).then(2.0).otherwise("value").alias("value"))
    rest = validate(replace(study.view, ratings=joined), metrics=["empathy"])[0].validations[0]
    decision, test = definite(rest.because)
    assert (rest.stands_in, rest.why, decision in rest.decisions, test.p) == (None, "", True, None)
    assert "fewer than 20" in definite(test.missing), "twenty cases show nothing of a level"
    assert (by_metric["safe"].stands_in, by_metric["safe"].why) == (None, "fewer than two people rated")
    none = validate(replace(study.view, ratings=joined), metrics=["empathy"], epsilon=0.0)[0].validations[0]
    assert (none.stands_in, "only with a margin" in none.why) == (None, True)


def test_a_coder_in_a_run_has_a_card(tmp_path: Path) -> None:
    score([EXAMPLES / "transcripts.jsonl"], tmp_path / "run", metrics=["question"])
    card = validate(open_ratings_view(tmp_path / "run"))[0]
    facts = dict(card.facts)
    assert facts["Rater"].startswith("algorithm:rules@")
    assert facts["bedside"] == bedside.__version__
    assert facts["Checked against people"] == "132 ratings (100 % of those given)"
    assert card.validations[0].mean is not None


def test_a_judge_asked_one_rubric_a_day_has_each_on_its_card(tmp_path: Path) -> None:
    """Of each rubric the last time counts; what was asked then and rated by no person stands on no card."""
    run = new_study(tmp_path)
    rows = [
        (*cells, "transcript", metric, "human:anna", 0, float(1 + place % 5), None, None, None)
        for place, cells in enumerate(run.index.select("id", "system", "case_id").iter_rows())
        for metric in ("empathy", "goal_alignment")
    ]
    asked = (
        ("2026-01-01", 0.0, {"empathy": "e1", "goal_alignment": "g1"}),
        ("2026-01-02", 0.5, {"goal_alignment": "g2"}),
        ("2026-01-03", 0.5, {"empathy": "e3"}),
        ("2026-01-04", 1.0, {"partnership": "p4"}),
    )
    scorings = [
        {**run.manifest["scorings"][0], "date": date, "raters": [JUDGE],
         "judges": {JUDGE: {"model": "model", "temperature": temperature, "prompts": prompts}}}
        for date, temperature, prompts in asked
    ]  # fmt: skip
    with run.locked():
        run.add(frame_of(rows).lazy(), {**run.manifest, "scorings": [*run.manifest["scorings"], *scorings]})
    facts = dict(validate(open_ratings_view(run.path))[0].facts)
    assert facts["Rubric versions"] == "empathy e3, goal_alignment g2"
    assert facts["Date"] == "2026-01-02, 2026-01-03"
    assert facts["Temperature"] == "0.5"
    assert facts["Model"] == "model"


def test_judges_that_favour_length_are_seen(tmp_path: Path) -> None:
    run = score([EXAMPLES / "transcripts.jsonl"], tmp_path / "run", metrics=["turns"]).run
    turns = dict(run.index.select("id", "turns").iter_rows())
    rows = [f"{name},anna,3\n{name},ben,3\n{name},judge:m,{1 + n / 10:g}" for name, n in turns.items()]
    (tmp_path / "r.csv").write_text("\n".join(["item,rater,value", *rows]) + "\n")
    bedside.import_ratings(run, tmp_path / "r.csv")
    length = definite(validate(open_ratings_view(run.path), metrics=["rating"])[0].validations[0].length)
    expected = scipy.stats.spearmanr(list(turns.values()), [n / 10 for n in turns.values()]).statistic
    assert length.estimate == pytest.approx(expected)


def test_tables_hold_every_figure(study: Study) -> None:
    card, found, bias, decided, accuracy = validation_tables(validate(study.view))
    assert [row.cells[0].text for row in decided.rows] == ["≥ 2", "≥ 3", "≥ 4", "≥ 5"], "safe has one person"
    assert [row.group for row in accuracy.rows] == ["Safe: 1"]
    assert {row.cells[0].text: row.cells[1].text for row in card.rows}["Passes"] == "3"
    assert [row.cells[0].text for row in bias.rows] == ["Empathy", "Safe"]
    assert {record["metric"] for record in found.records} == {"empathy", "safe"}
    record = next(record for record in found.records if record["metric"] == "empathy")
    assert record["kappa_low"] < record["kappa"] < record["kappa_high"]
    assert record["omega"] is not None
    assert record["prevalence"].count(";") == 4


# -- length and passes, by case --------------------------------------------------------------------------


LENGTH_CASES, TRANSCRIPTS = 8, 3


@pytest.fixture(scope="module")
def judged_cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[RatingsView, Array]:
    """Eight cases of three transcripts, all of one length within a case; two passes of a judge and one person."""
    rng = np.random.default_rng(3)
    numbers = rng.integers(1, 6, (LENGTH_CASES, TRANSCRIPTS, 3))
    talks = [
        conversation(
            *[("clinician", "How are you?"), ("patient", "Well, I wake at three.")] * (1 + case),
            id=f"{case}-{number}", system="a", case_id=f"c{case}", language="en",
        )
        for case in range(LENGTH_CASES) for number in range(TRANSCRIPTS)
    ]  # fmt: skip
    rows = [
        (talk.id, "a", talk.case_id, "transcript", "empathy", rater, replicate, float(value), None, None, None)
        for talk, (first, second, person) in zip(talks, numbers.reshape(-1, 3).tolist(), strict=True)
        for rater, replicate, value in (
            ("judge:m", 0, first), ("judge:m", 1, second), ("human:x", 0, person),
        )
    ]  # fmt: skip
    run = score(talks, tmp_path_factory.mktemp("cases") / "run", metrics=["turns"]).run
    run.add(frame_of(rows).lazy(), run.manifest)
    return open_ratings_view(run.path), numbers


def test_the_correlation_with_length_leaves_out_whole_cases(judged_cases: tuple[RatingsView, Array]) -> None:
    view, numbers = judged_cases
    (card,) = validate(view, judges=["judge:m"], metrics=["empathy"])
    length = definite(card.validations[0].length)
    # The first pass counts where two differ: neither is more frequent, nor nearer to their mean.
    differences = (numbers[..., 0] - numbers[..., 2]).astype(float)
    turns = np.repeat(2.0 * (1 + np.arange(LENGTH_CASES))[:, None], TRANSCRIPTS, axis=1)

    def z(kept: Array) -> float:
        return float(np.arctanh(stats.spearmanr(differences[kept].ravel(), turns[kept].ravel()).statistic))

    whole = z(np.arange(LENGTH_CASES))
    without = np.array([z(np.delete(np.arange(LENGTH_CASES), case)) for case in range(LENGTH_CASES)])
    error = np.sqrt((LENGTH_CASES - 1) / LENGTH_CASES * ((without - without.mean()) ** 2).sum())
    half = stats.t.ppf(0.975, LENGTH_CASES - 1) * error
    assert length.estimate == pytest.approx(np.tanh(whole))
    assert ends(length.interval) == pytest.approx(np.tanh([whole - half, whole + half]))


def test_a_judges_agreement_with_itself_is_clustered_by_case(judged_cases: tuple[RatingsView, Array]) -> None:
    view, numbers = judged_cases
    (card,) = validate(view, judges=["judge:m"], metrics=["empathy"])
    cases = np.repeat(np.arange(LENGTH_CASES), TRANSCRIPTS)
    passes = numbers[..., :2].reshape(-1, 2)
    asked: dict[str, Any] = {"metric": "ordinal", "scale": (1, 2, 3, 4, 5)}
    by_case = krippendorff_alpha(passes, clusters=cases, **asked)
    alone = krippendorff_alpha(passes, **asked)
    own = definite(card.validations[0].self_agreement)
    assert (own.estimate, own.interval) == (by_case.estimate, by_case.interval)
    assert own.interval != alone.interval


# -- levels told apart, and expected levels --------------------------------------------------------------


YES = Scale((0.0, 1.0), True)
DANGER_JUDGE = "judge:m"


def view_of(
    judge: Array, people: Array, *, scale: Scale = YES, transcripts: Any = None, drawn: Any = None,
    expected: Any = None,
) -> RatingsView:  # fmt: skip
    """Ratings of units × people and of a judge on the metric ``danger``; turns of transcripts where these are named."""
    rows: list[tuple[Any, ...]] = []
    chances: list[float | None] = []

    def add(unit: int, metric: str, rater: str, value: float) -> None:
        turn = "transcript" if transcripts is None else f"turn:{unit}"
        name = f"t{unit}" if transcripts is None else f"t{transcripts[unit]}"
        rows.append(rating(name, "A", None, metric, rater, float(value), unit=turn))
        chances.append(None if drawn is None or not rater.startswith("human") else drawn[unit])

    for unit, value in enumerate(judge):
        add(unit, "danger", DANGER_JUDGE, value)
        if expected is not None:
            add(unit, "danger.expected", DANGER_JUDGE, expected[unit])
        for column, said in enumerate(people[unit]):
            if not np.isnan(said):
                add(unit, "danger", f"human:{'abcde'[column]}", said)
    return RatingsView(frame_of(rows, drawn=chances), {"danger": scale}, None, "ratings")


def validation_of(view: RatingsView, **options: Any) -> Validation:
    (card,) = validate(view, metrics=["danger"], **options)
    return card.validations[0]


def danger(units: int, seed: int, prevalence: float = 0.1) -> tuple[Array, Array]:
    """The truth, and three people who miss or flag a twentieth."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(units) < prevalence).astype(float)
    people = np.where(rng.random((units, 3)) < 0.05, 1 - truth[:, None], truth[:, None])
    return truth, people


def flipped(truth: Array, seed: int, share: float) -> Array:
    """A judge that is wrong of this share."""
    return np.where(np.random.default_rng(seed).random(len(truth)) < share, 1 - truth, truth)


def accuracy_of(view: RatingsView) -> LevelAccuracy:
    return definite(validation_of(view).accuracy)


def test_a_judge_that_never_flags_or_does_at_random_is_not_let_in() -> None:
    """It wins the alternative annotator test: nine in ten units are no danger."""
    checked = validation_of(view_of(np.zeros(200), danger(200, 0)[1]))
    assert definite(checked.alternative).winning_rate == 1
    assert (checked.stands_in, checked.why) == (False, "it gives every unit the same level: 0")
    (decision,) = checked.decisions
    assert (decision.words, decision.is_shown) == ("1", False)
    assert [test.details["judge"] for test in decision.tests] == [0, 1]
    at_random = np.zeros(200)
    at_random[np.random.default_rng(3).choice(200, 6, replace=False)] = 1
    checked = validation_of(view_of(at_random, danger(200, 1)[1]))
    assert definite(checked.alternative).replaceable
    assert (checked.stands_in, "no more than chance" in checked.why) == (None, True)
    at_random = np.zeros(600)
    at_random[np.random.default_rng(3).choice(600, 18, replace=False)] = 1
    checked = validation_of(view_of(at_random, danger(600, 1)[1]))
    assert checked.stands_in is False
    decision, test = definite(checked.because)
    assert (decision.words, test.name) == ("1", "sensitivity, judge minus one person")
    assert ends(test.interval)[1] < -0.2
    rng = np.random.default_rng(4)
    truth = np.repeat([1.0, 2.0, 3.0], [8, 96, 96])
    people = np.where(rng.random((200, 3)) < 0.1, rng.integers(1, 4, (200, 3)), truth[:, None]).astype(float)
    scale = Scale((1.0, 2.0, 3.0, 4.0), True)
    checked = validation_of(view_of(np.maximum(truth, 2), people, scale=scale))
    given = int((people == 1).any(axis=1).sum())
    assert checked.stands_in is not True
    assert "≥ 2" in {decision.words for decision in checked.decisions if not decision.is_shown}
    assert checked.why in ("", f"it never gives 1, which people gave to {given} units")


def test_of_five_levels_the_answer_says_that_the_loss_is_not_asked(tmp_path: Path) -> None:
    """Beside the verdict, where errors were given costs; and of a metric of two levels it is asked."""
    rng = np.random.default_rng(5)
    rows = [
        f"t{unit},{rater},{rng.integers(2)},{rng.integers(1, 6)}"
        for unit in range(60) for rater in ("judge:m", "anna", "ben")
    ]  # fmt: skip
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("\n".join(["item,rater,danger,empathy", *rows]), "utf-8")
    scales = ["danger=0,1", "empathy=1-5"]
    said = "The loss is not asked of Empathy: it takes two levels, or a level that fails."
    for loss, warned in (({"miss": "10"}, [said]), (None, [])):
        tables = {table.name: table for table in bedside.validate(sheet, scales=scales, loss=loss)}
        notes = tables["validation_1"].notes
        assert [note for note in notes if getattr(note, "warns", False) and "loss" in note] == warned


def test_a_judge_as_good_as_a_person_is_let_in() -> None:
    truth, people = danger(300, 5, prevalence=0.3)
    checked = validation_of(view_of(flipped(truth, 6, 0.05), people))
    assert (checked.stands_in, checked.why, checked.because) == (True, "", None)
    assert all(decision.is_shown for decision in checked.decisions)
    assert (checked.with_people, checked.cases) == (300, 300)


def test_too_little_gives_no_verdict() -> None:
    truth, people = danger(120, 7, prevalence=0.4)
    for judge, said, transcripts, words in (
        (np.arange(60) % 2, np.zeros((60, 2)), None, "people gave every unit the same"),
        (truth[:12], people[:12], None, "12 units, fewer than 30"),
        (truth, people, np.repeat(np.arange(3), 40), "120 units of 3 cases, fewer than 10 cases"),
    ):
        checked = validation_of(view_of(judge, said, transcripts=transcripts))
        assert (checked.stands_in, checked.why) == (None, words)
    spread = validation_of(view_of(truth, people, transcripts=np.repeat(np.arange(12), 10)))
    assert (spread.stands_in, "fewer than 20" in definite(definite(spread.because)[1].missing)) == (None, True)
    pairs = validation_of(view_of(truth, people, transcripts=np.repeat(np.arange(60), 2)))
    assert pairs.stands_in is True


def test_sensitivity_is_against_each_person_with_one_vote_a_unit() -> None:
    truth, people = danger(80, 8, prevalence=0.3)
    people[::3, 2] = np.nan
    judge = flipped(truth, 9, 0.15)
    accuracy = accuracy_of(view_of(judge, people))
    share, own = np.nanmean(people, axis=1), accuracy.judge
    assert own.sensitivity.estimate == pytest.approx((share * judge).sum() / share.sum())
    assert own.specificity.estimate == pytest.approx(((1 - share) * (1 - judge)).sum() / (1 - share).sum())
    assert own.positive_predictive_value.estimate == pytest.approx(share[judge == 1].mean())
    assert own.prevalence.estimate == pytest.approx(share.mean())
    # Among people: each against each other one, in each unit with one vote.
    among = definite(accuracy.people)
    both, yes = 0.0, 0.0
    for row in people:
        said = row[~np.isnan(row)]
        pairs = len(said) * (len(said) - 1)
        both += sum(x * y for i, x in enumerate(said) for j, y in enumerate(said) if i != j) / pairs
        yes += said.mean()
    assert among.sensitivity.estimate == pytest.approx(both / yes)
    assert among.sensitivity.estimate == pytest.approx(among.positive_predictive_value.estimate)


def test_of_one_person_and_units_apart_the_interval_is_wilsons() -> None:
    truth, _ = danger(80, 10, prevalence=0.4)
    judge = flipped(truth, 11, 0.2)
    accuracy = accuracy_of(view_of(judge, truth[:, None]))
    wilson = stats.binomtest(int((truth * judge).sum()), int(truth.sum())).proportion_ci(method="wilson")
    assert ends(accuracy.judge.sensitivity.interval) == pytest.approx(tuple(wilson))
    assert accuracy.people is None


@pytest.mark.slow
def test_units_drawn_with_chances_that_differ_weigh_one_over_them(tmp_path: Path) -> None:
    """Half of the flagged were drawn, a tenth of the rest: what the judge misses weighs ten times as much."""
    truth, people = danger(90, 12, prevalence=0.4)
    judge = flipped(truth, 13, 0.2)
    drawn = np.where(judge == 1, 0.5, 0.1)
    share, weights = people.mean(axis=1), 1 / drawn
    view = view_of(judge, people, drawn=drawn)
    # A file's column says with what chance each unit was drawn, too.
    lines = ["item,rater,metric,value,drawn"]
    for unit in range(90):
        lines.append(f"t{unit},judge:m,danger,{judge[unit]:g},")
        lines += [f"t{unit},{'abc'[k]},danger,{people[unit, k]:g},{drawn[unit]}" for k in range(3)]
    (tmp_path / "ratings.csv").write_text("\n".join(lines) + "\n")
    (card,) = bedside.validate(tmp_path / "ratings.csv", scales=["danger=0,1"]).results
    for checked in (validation_of(view), card.validations[0]):
        assert checked.chances == "unequal"
        expected = (weights * share * judge).sum() / (weights * share).sum()
        assert definite(checked.accuracy).judge.sensitivity.estimate == pytest.approx(expected)
        assert definite(checked.bias).estimate == pytest.approx(np.average(judge - share, weights=weights))
        by_test = alternative_annotator(judge, people, epsilon=0.2, score="distance", weights=weights)
        assert definite(checked.alternative).advantage == pytest.approx(by_test.advantage)
    assert has_note(validation_tables(validate(view))[1], "one over its chance")
    alike = validation_of(view_of(judge, people, drawn=np.full(90, 0.3)))
    assert (alike.chances, alike.accuracy) == ("equal", accuracy_of(view_of(judge, people)))
    named = pl.when(pl.col("rater") == "human:a").then(pl.lit("pilot")).otherwise("round").alias("round")
    assert validation_of(replace(view, ratings=view.ratings.with_columns(named))).chances == "unknown"


@pytest.mark.slow
def test_weighted_sensitivity_is_the_populations() -> None:
    """Oversampling what the judge flags makes its sensitivity look better; weights undo that."""
    rng = np.random.default_rng(14)
    weighted: list[float] = []
    plain: list[float] = []
    for _ in range(40):
        truth = (rng.random(1500) < 0.2).astype(float)
        judge = np.where(rng.random(1500) < np.where(truth == 1, 0.4, 0.1), 1 - truth, truth)
        chance = np.where(judge == 1, 0.5, 0.1)
        taken = rng.random(1500) < chance
        for drawn, estimates in ((chance[taken], weighted), (None, plain)):
            accuracy = accuracy_of(view_of(judge[taken], truth[taken, None], drawn=drawn))
            estimates.append(definite(accuracy.judge.sensitivity.estimate))
    assert np.mean(weighted) == pytest.approx(0.6, abs=0.03)
    assert np.mean(plain) > 0.8


def test_what_was_picked_is_left_out_and_counted() -> None:
    truth, people = danger(100, 15, prevalence=0.4)
    judge = truth.copy()
    judge[:20] = 1 - truth[:20]
    drawn = np.where(np.arange(100) < 20, 0.0, 0.5)
    view = view_of(judge, people, drawn=drawn)
    checked = validation_of(view)
    assert (checked.picked, checked.with_people, checked.chances) == (20, 80, "equal")
    own = definite(checked.accuracy).judge
    rest = accuracy_of(view_of(judge[20:], people[20:], drawn=drawn[20:])).judge
    assert own.sensitivity.estimate == pytest.approx(rest.sensitivity.estimate)
    assert own.counts == pytest.approx(rest.counts)
    assert definite(checked.mean).units == 80
    assert has_note(validation_tables(validate(view))[1], "Danger: 20 units that people rated, picked")
    only = validation_of(view_of(judge, people, drawn=np.zeros(100)))
    assert (only.stands_in, only.picked, only.with_people) == (None, 0, 100)
    assert only.why.startswith("every unit that people rated was picked")


def probable(seed: int, expected: Array) -> RatingsView:
    """Two people who say yes as often as a judge expects."""
    people = (np.random.default_rng(seed).random((len(expected), 2)) < expected[:, None]).astype(float)
    return view_of((expected > 0.5).astype(float), people, expected=expected)


def test_probabilities_are_checked_against_people() -> None:
    expected = np.random.default_rng(16).beta(0.6, 1, 150).round(3)
    view = probable(116, expected)
    people = (np.random.default_rng(116).random((150, 2)) < expected[:, None]).astype(float)
    calibration = definite(validation_of(view).calibration)
    assert calibration.units == 150
    by_hand = roc_auc_score(people.ravel(), np.repeat(expected, 2))
    assert definite(calibration.area).estimate == pytest.approx(by_hand)
    assert calibration.curve.surplus.estimate == pytest.approx((expected - people.mean(axis=1)).mean())
    tables = {table.name: table for table in validation_tables(validate(view, metrics=["danger"]))}
    (record,) = tables["calibration_1"].records
    assert record["auc_low"] < record["auc"] < record["auc_high"]
    assert record["points"].count("→") == len(calibration.curve.points)
    assert validation_of(view_of((expected > 0.5).astype(float), people)).calibration is None


def test_expected_levels_of_passes_are_averaged() -> None:
    level = np.random.default_rng(17).integers(1, 6, 60).astype(float)
    view = view_of(level, level[:, None], scale=Scale((1.0, 2.0, 3.0, 4.0, 5.0), True), expected=level - 0.2)
    second = view.ratings.filter(pl.col("metric") == "danger.expected").with_columns(
        pl.lit(1).cast(view.ratings.schema["replicate"]).alias("replicate"), pl.col("value") + 0.6
    )
    calibration = definite(validation_of(replace(view, ratings=pl.concat([view.ratings, second]))).calibration)
    assert calibration.area is None
    assert calibration.curve.surplus.estimate == pytest.approx(0.1)


@pytest.mark.slow
def test_the_figure_of_calibration() -> None:
    view = probable(118, np.random.default_rng(18).random(80).round(3))
    text = bedside.figure(view.ratings, "calibration", scales=["danger=0,1"]).svg()
    assert "expected by m" in text
    assert "n = 80" in text
    without = view.ratings.filter(pl.col("metric") == "danger")
    with pytest.raises(bedside.BedsideError, match="nothing for the figure"):
        bedside.figure(without, "calibration", scales=["danger=0,1"])


def test_units_that_nobody_shares_say_nothing() -> None:
    """People and judge rated different units, on a metric with a scale and on one without."""
    people = np.column_stack([np.arange(40) % 2, np.arange(40) % 2]).astype(float)
    view = view_of(np.arange(40) % 2, people)
    first = pl.col("transcript_id").is_in([f"t{unit}" for unit in range(20)])
    apart = view.ratings.filter(first == (pl.col("rater") == DANGER_JUDGE))
    for scales in ({"danger": YES}, {}):
        checked = validation_of(replace(view, ratings=apart, scales=scales))
        assert (checked.with_people, checked.cases, checked.rated) == (0, 0, 20)
        assert (checked.stands_in, checked.why) == (None, "0 units, fewer than 30")
        assert (checked.accuracy, checked.decisions, checked.bias) == (None, (), None)


def test_numbers_on_no_scale_are_checked_by_alpha() -> None:
    rng = np.random.default_rng(19)
    truth = rng.normal(50, 10, 120)
    people = truth[:, None] + rng.normal(0, 3, (120, 3))
    seen = replace(view_of(truth + rng.normal(0, 3, 120), people), scales={})
    assert validation_of(seen, epsilon=0.5).stands_in is True
    blind = replace(view_of(rng.permutation(truth), people), scales={})
    checked = validation_of(blind, epsilon=0.99)
    assert (checked.stands_in, checked.why) == (
        None, "its agreement with people may be no more than chance: the interval includes 0",
    )  # fmt: skip


def test_few_whole_numbers_on_no_scale_are_levels() -> None:
    """A judge that misses most of a rare top level is let in by none of 12 studies, with a scale and without."""
    rng = np.random.default_rng(23)
    for _ in range(12):
        truth = np.where(rng.random(300) < 0.08, 2.0, rng.integers(0, 2, 300))

        def rated(finds: float, truth: Array = truth) -> Array:
            return np.where((truth == 2) & (rng.random(300) > finds), 1.0, truth)

        view = view_of(rated(0.2), np.column_stack([rated(0.8) for _ in range(3)]))
        on_scale, on_none = (
            validation_of(replace(view, scales=scales)) for scales in ({"danger": Scale((0.0, 1.0, 2.0), True)}, {})
        )
        assert [decision.words for decision in on_none.decisions] == ["≥ 1", "≥ 2"]
        assert on_none.stands_in is not True
        found = [
            [test.estimate for decision in each.decisions for test in decision.tests] for each in (on_none, on_scale)
        ]
        assert found[0] == found[1]


def test_labels_are_checked_by_the_rarer_of_two() -> None:
    truth, people = danger(120, 20, prevalence=0.2)
    view = view_of(truth, people)
    words = pl.when(pl.col("value") == 1).then(pl.lit("open")).otherwise(pl.lit("closed")).alias("label")
    ratings = view.ratings.with_columns(words).with_columns(pl.lit(None, dtype=pl.Float64()).alias("value"))
    checked = validation_of(replace(view, ratings=ratings, scales={}))
    assert (definite(checked.accuracy).level, checked.stands_in, checked.bias) == ("open", True, None)
    assert definite(checked.accuracy).judge == accuracy_of(view).judge


# -- how often a verdict is yes --------------------------------------------------------------------------


BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "validate_error_rates.py"


@pytest.fixture(scope="module")
def rates() -> Any:
    """The benchmark's module."""
    spec = definite(importlib.util.spec_from_file_location("validate_error_rates", BENCHMARK))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    definite(spec.loader).exec_module(module)
    return module


def checked_units_of(judge: Array, people: Array, cases: Array) -> CheckedUnits:
    return CheckedUnits(
        judge=judge.astype(object), people=people.astype(object), keys=np.arange(len(judge)), transcripts=cases,
        cases=cases, chances="unknown", weights=np.ones(len(judge)), judged=len(judge), picked=0,
        final=np.full(len(judge), None),
    )  # fmt: skip


def share_of_yes(rates: Any, name: str, runs: int) -> tuple[float, float]:
    """Of ``validate``, and of the alternative annotator test alone with items as independent."""
    design = next(design for design in rates.designs() if design.name == name)
    shares: tuple[float, float] = rates.shares(design, runs, 7)
    return shares


@pytest.mark.parametrize(
    "name",
    [
        "always no, danger 10 %, 200 units",
        "flags 3% at random, danger 10 %, 200 units",
        "five levels, skewed, constant, 200 units",
    ],
)
def test_a_judge_that_sees_nothing_is_not_let_in(rates: Any, name: str) -> None:
    yes, alone = share_of_yes(rates, name, 60)
    assert yes <= 0.05
    assert alone >= 0.9, "the alternative annotator test alone lets it in"


@pytest.mark.slow
@pytest.mark.parametrize("people", [2, 3])
@pytest.mark.parametrize("where", ["20 transcripts × 20 turns, ICC 0.3", "15 transcripts × 20 turns, ICC 0.6"])
def test_a_judge_at_the_boundary_is_let_in_in_a_twentieth(rates: Any, people: int, where: str) -> None:
    """Up to 5 %, and two standard errors of 400 runs."""
    yes, alone = share_of_yes(rates, f"at the boundary, {people} people, {where}", 400)
    assert yes <= 0.072
    assert alone >= 0.1


def test_two_people_and_few_transcripts_have_no_verdict(rates: Any) -> None:
    """Ten transcripts whose turns are alike let a judge at the boundary in in up to 5.8 %, with two people."""
    design = next(d for d in rates.designs() if d.name.endswith("2 people, 10 transcripts × 20 turns, ICC 0.6"))
    judge, people, cases = design.draw(np.random.default_rng(1))
    units = checked_units_of(judge, people, cases)
    test = alternative_annotator(judge, people, epsilon=0.2, clusters=cases)
    assert test.replaceable is None
    verdict = verdict_on(units, test, None, (0.0, 1.0), ())
    assert (verdict.stands_in, verdict.why) == (None, "200 units of 10 cases, rated by two people, who need 15 cases")


@pytest.mark.parametrize(("epsilon", "words"), [(0.2, "all or none would fail"), (0.0, "a margin (ε) above 0")])
def test_without_a_decision_the_reason_is_its_own(rates: Any, epsilon: float, words: str) -> None:
    """Of five levels that all pass, or fail, nothing is decided; a margin of 0 asks nothing."""
    judge, people, cases = rates.on_levels(200, rates.EVEN, "as good")(np.random.default_rng(0))
    test = alternative_annotator(judge, people, epsilon=epsilon)
    verdict = verdict_on(
        checked_units_of(judge, people, cases), test, krippendorff_alpha(people, metric="ordinal"), rates.FIVE, ()
    )
    assert verdict.stands_in is None
    assert words in verdict.why


@pytest.mark.parametrize(("scale", "units"), [("yes or no", 90), ("five levels", 220)])
def test_a_judge_as_good_as_a_person_is_nearly_always_let_in(rates: Any, scale: str, units: int) -> None:
    """With as many units as a study of 5,000 says are needed to show every decision (86 and 213, rounded up)."""
    draw = rates.as_good if scale == "yes or no" else lambda units: rates.on_levels(units, rates.EVEN, "as good")
    levels = rates.YES_NO if scale == "yes or no" else rates.FIVE
    large = draw(5000)(np.random.default_rng(0))
    decided = decisions(checked_units_of(*large), levels, margin=0.2, ordered=True)
    needed = definite(cases_needed([test for decision in decided for test in decision.tests]))
    assert units - 10 < needed <= units
    yes, _ = rates.shares(rates.Design(scale, levels, draw(units), "≥ 80 %"), 60, 7)
    assert yes >= 0.8
