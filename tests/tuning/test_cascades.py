"""Cascades: the bound on disagreement, what they save, whom they ask, and estimates from what is left to people."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import bedside
from bedside.core.errors import BedsideError
from bedside.core.files import write_sealed
from bedside.ratings.juries import Jury, JuryMetric, cascade_routes, jury_ratings, sure_answers
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.finding_words import sentences
from bedside.stats import stratified_means, two_raters
from bedside.stats.arrays import Array, Mask
from bedside.stats.selective import escalation, risk_bound
from bedside.tuning.cascade import _is_wrong, cascade_findings, read_cascade, route_run
from bedside.tuning.label_split import LabelledUnit
from tests.conftest import exit_code
from tests.judges.llm.server import JudgeServer
from tests.judges.simulated_judge import SimulatedJudge, simulated_talks, true_qualities
from tests.tuning.rated_run import add_ratings, rated_run

CHEAP, STRONG = "http://127.0.0.1:1/v1#cheap", "http://127.0.0.1:1/v1#strong"


class World:
    """Units of which some are hard; two judges who know how sure they are; units of a case are alike."""

    def __init__(self, random: np.random.Generator, size: int, per_case: int = 1) -> None:
        self.truth = (random.random(size) < 0.4).astype(float)
        self.cases = np.arange(size) // per_case
        hard = random.random(size // per_case)[self.cases] < 0.3
        self.cheap, self.cheap_sure = self._judge(random, np.where(hard, 0.65, 0.975))
        self.strong, self.strong_sure = self._judge(random, np.where(hard, 0.95, 0.98))

    def _judge(self, random: np.random.Generator, right: Array) -> tuple[Array, Array]:
        answer = np.where(random.random(right.size) < right, self.truth, 1 - self.truth)
        return answer, np.clip(right + random.normal(0, 0.02, right.size), 0, 1)

    def settled(self, low: float | None, high: float | None) -> tuple[Mask, Mask]:
        """What each judge settles."""
        first = self.cheap_sure >= (2 if low is None else low)
        return first, ~first & (self.strong_sure >= (2 if high is None else high))


@pytest.mark.parametrize("per_case", [1, 4])
def test_people_disagree_no_more_than_tolerated_and_the_strong_judge_is_spared(per_case: int) -> None:
    everything, random = World(np.random.default_rng(0), 30_000), np.random.default_rng(1)
    violated, saved, kappas = [], [], []
    for _ in range(40):
        labelled = World(random, 400, per_case)
        stages = escalation(
            [labelled.cheap_sure, labelled.strong_sure],
            [labelled.cheap != labelled.truth, labelled.strong != labelled.truth],
            tolerated=0.07,
            confidence=0.9,
            clusters=labelled.cases if per_case > 1 else None,
        )
        first, second = everything.settled(stages[0].threshold, stages[1].threshold)
        off = [(own != everything.truth)[chosen] for own, chosen in
               ((everything.cheap, first), (everything.strong, second))]  # fmt: skip
        violated.append(any(wrong.size and wrong.mean() > 0.07 for wrong in off))
        saved.append(first.mean())
        rated = np.where(first, everything.cheap, np.where(second, everything.strong, everything.truth))
        kappas.append(two_raters.kappa(rated[:4000], everything.truth[:4000]).estimate)
    alone = two_raters.kappa(everything.strong[:4000], everything.truth[:4000]).estimate
    assert np.mean(violated) <= 0.1
    assert np.mean(saved) > 0.5
    assert alone is not None
    assert np.mean(np.array(kappas, dtype=float)) > alone - 0.01


def test_the_bound_is_exact_and_widens_with_clusters_and_weights() -> None:
    wrong = np.r_[np.ones(4), np.zeros(76)]
    share, bound = risk_bound(wrong, confidence=0.9)
    assert share == 0.05
    assert binom.cdf(4, 80, bound) == pytest.approx(0.1)
    together = risk_bound(wrong, clusters=np.arange(80) // 4, confidence=0.9)[1]
    apart = risk_bound(wrong, clusters=np.arange(80) % 20, confidence=0.9)[1]
    assert together > apart > 0.05
    assert risk_bound(np.zeros(10), clusters=[0] * 10) == (0.0, 1.0)


def test_estimates_of_a_cascade_hold_the_truth() -> None:
    """People rate all that is left to them, and a random share of the rest."""
    random, hits = np.random.default_rng(2), []
    truth = 0.4
    for _ in range(250):
        world = World(random, 300)
        first, second = world.settled(0.9, 0.96)
        people = ~first & ~second
        judge = np.where(first, world.cheap, world.strong)
        drawn = people.copy()
        drawn[random.choice(np.flatnonzero(~people), 50, replace=False)] = True
        units = stratified_means.judged_units(judge, np.where(drawn, world.truth, np.nan), cells=people.astype(int))
        interval = stratified_means.mean(units, share=True).interval
        assert interval is not None
        hits.append(interval.low <= truth <= interval.high)
    assert 0.925 <= np.mean(hits) <= 0.98


def labelled_run(folder: Path) -> Run:
    """A run whose judges gave five passes each, and people the true level."""
    random = np.random.default_rng(3)
    truth = random.integers(1, 6, 240).astype(float)
    hard = random.random(240) < 0.3

    def passes(right: Any) -> list[list[float]]:
        return [
            [float(level if random.random() < share else level % 5 + 1) for _ in range(5)]
            for level, share in zip(truth, right, strict=True)
        ]

    by_rater = {
        "judge:cheap": passes(np.where(hard, 0.6, 0.99)),
        "judge:strong": passes(np.where(hard, 0.9, 0.99)),
        "human:anna": list(truth),
    }
    return rated_run(folder, 240, by_rater)


def test_a_cascade_is_fitted_kept_and_asks_the_strong_judge_only_where_the_cheap_one_is_unsure(tmp_path: Path) -> None:
    run, file = labelled_run(tmp_path / "labelled"), tmp_path / "cascade.json"
    answer = bedside.cascade(run, ["cheap", "strong"], metrics="empathy", scales="empathy=1-5", out=file)
    (fit,) = answer.results
    assert fit.stages[0].settled.share > 0.5
    assert (fit.stages[0].settled.bound or 1) <= 0.1
    assert "settles" in answer.sentences()[0]
    asked = 100 * fit.stages[1].asked
    assert answer.sentences()[0].endswith(f" strong is asked about {asked:.0f} % of 240 labelled units.")
    costs = [replace(stage, cost=cost) for stage, cost in zip(fit.stages, (0.5, 1.0), strict=True)]
    dear = [replace(stage, cost=1.0) for stage in fit.stages]
    said = sentences(cascade_findings([replace(fit, stages=tuple(stages)) for stages in (costs, dear)]))
    assert f"all judges together cost {50 - asked:.0f} % less than it alone on all units." in said[0]
    assert f"all judges together cost {asked:.0f} % more than it alone on all units." in said[1]
    assert answer["cascade"].records[0]["asked"] == 1.0
    made = read_cascade(file)
    assert [judge.passes for judge in made.judges] == [5, 5]

    data = json.loads(file.read_text())
    for judge, model in zip(data["judges"], (CHEAP, STRONG), strict=True):
        judge["model"], judge["passes"] = model, 3
    assert [judge["asked"] for judge in data["judges"]] == [{"expected": False}] * 2
    write_sealed(file, data)
    talks = simulated_talks({"s": 0.5}, cases=40, seed=5, talk_spread=0.3)
    seen = true_qualities(talks)
    judges = {CHEAP: SimulatedJudge(seen, noise=0.12).client, STRONG: SimulatedJudge(seen, noise=0.2, seed=1).client}
    other = bedside.score(talks, tmp_path / "new", metrics=["turns"]).run
    (routed,) = route_run(other, read_cascade(file), clients=judges)
    asked = routed.judges[1].asked
    assert 0 < asked < 40
    assert [judge.calls for judge in routed.judges] == [3 * 40, 3 * asked]
    assert routed.waiting == 0
    again = route_run(other, read_cascade(file), clients=judges)[0]
    assert [judge.calls for judge in again.judges] == [0, 0]
    rated = Run(other.path).ratings.filter(pl.col("rater") == routed.jury.rater, pl.col("metric") == "empathy")
    assert rated.height == 40
    assert rated["error"].is_null().all()
    assert rated["reason"].str.starts_with("left to people").sum() == routed.people > 0

    drawn = bedside.sample(
        other.path,
        out=tmp_path / "plan.json",
        raters=["anna"],
        overlap=1,
        rubrics=["empathy"],
        cascade="cascade",
        per=8,
    ).plan
    chances = {stratum.name: [item.chance for item in drawn.items if item.stratum == place]
               for place, stratum in enumerate(drawn.strata)}  # fmt: skip
    assert chances["left to people"] == [1.0] * routed.people
    assert chances["settled by judges"] == [pytest.approx(8 / (40 - routed.people))] * 8

    names = [item.transcript for item in drawn.items]
    rows = [(name, "s", None, "transcript", "empathy", "human:anna", 0, 3.0, None, None, None) for name in names]
    by_name = {item.transcript: item.chance for item in drawn.items}
    with other.locked():
        imported = {
            "file": "answers",
            "ratings": len(rows),
            "scales": {},
            "plan": "p",
            "by": list(drawn.by),
            "rounds": [""],
            "plan_format": 2,
            "mode": "rate",
        }
        other.add(
            frame_of(rows, "", [by_name[name] for name in names]).lazy(),
            {**other.manifest, "imports": [*other.manifest["imports"], imported]},
        )
    (mean,) = bedside.estimate(other.path, judge=routed.jury.rater, metrics=["empathy"]).results
    (people,) = mean.samples
    assert people.by == drawn.by
    assert people.cells == 2
    assert people.undrawn is None
    assert mean.human.estimate == pytest.approx(3.0)


def test_a_judge_that_can_not_be_left_alone_is_not_asked(tmp_path: Path) -> None:
    run, file = labelled_run(tmp_path / "labelled"), tmp_path / "cascade.json"
    bedside.cascade(run, ["cheap", "strong"], metrics="empathy", scales="empathy=1-5", out=file)
    data = json.loads(file.read_text())
    for judge, model in zip(data["judges"], (CHEAP, STRONG), strict=True):
        judge["model"], judge["passes"] = model, 3
    talks = simulated_talks({"s": 0.5}, cases=10, seed=5, talk_spread=0.3)
    sent = {CHEAP: 0, STRONG: 0}

    def client(model: str) -> Any:
        sent[model] += 1
        return SimulatedJudge(true_qualities(talks), noise=0.1).client()

    clients = {model: partial(client, model) for model in sent}
    for number, (thresholds, asked, people) in enumerate((
        ([None, 0.1], [0, 10], 0), ([0.1, None], [10, 0], 0), ([1.1, None], [10, 0], 10),
    )):  # fmt: skip
        data["metrics"]["empathy"]["thresholds"] = thresholds
        write_sealed(file, data)
        other = bedside.score(talks, tmp_path / f"new-{number}", metrics=["turns"]).run
        (routed,) = route_run(other, read_cascade(file), clients=clients)
        assert [judge.asked for judge in routed.judges] == asked
        assert [judge.calls for judge in routed.judges] == [3 * units for units in asked]
        assert (routed.people, routed.waiting) == (people, 0)
    assert sent == {CHEAP: 2, STRONG: 1}

    data["metrics"]["empathy"]["thresholds"] = [None, None]
    write_sealed(file, data)
    with pytest.raises(BedsideError, match="no judge can be left alone on empathy"):
        bedside.route(other, file)


def test_what_a_judge_does_not_answer_goes_on_and_last_to_people() -> None:
    """Passes that are missing count against how sure a judge is: two of five that agree are .4 sure."""
    given: dict[str, tuple[Any, Any]] = {
        "all agree": ([1, 1, 1, 1, 1], None), "two came": ([1, 1, None, None, None], [2] * 5),
        "strong refuses": ([1, 2, 1, 2, 2], ["refused"] * 5), "both refuse": (["refused"] * 5, ["refused"] * 5),
        "strong is waited for": ([1, 2, 1, 2, 2], [2, 2, *["not asked: the limit of 9 calls was reached"] * 3]),
        "strong is next": ([1, 2, 1, 2, 2], None), "enough came": ([1, 2, 1, 2, 2], [2, 2, 2, 2, "not asked: why"]),
    }  # fmt: skip
    rows = [
        (name, "s", None, "transcript", "danger", rater, number, *cells)
        for name, by_judge in given.items()
        for rater, passes in zip(("judge:cheap", "judge:strong"), by_judge, strict=True)
        for number, level in enumerate(passes or ())
        for cells in [(level, None, None, None) if isinstance(level, int) else (None, None, None, level or "refused")]
    ]
    how = JuryMetric((1.0, 2.0), (0.5, 0.5), {"thresholds": [0.8, 0.8]})
    jury = Jury("c", ("judge:cheap", "judge:strong"), "cascade", 1, {"danger": how})
    ratings = frame_of(rows).lazy()
    routes = {name: route for (name, _), route in cascade_routes(ratings, jury, "danger").items()}
    ended = {
        name: (route.place, route.answer and (route.answer.answer, route.answer.sureness)) for name, route in
        routes.items()
    }  # fmt: skip
    assert ended == {
        "all agree": (0, (1, 1.0)), "two came": (1, (2, 1.0)), "strong refuses": (2, (2, 0.6)),
        "both refuse": (2, None), "strong is waited for": (1, None), "strong is next": (1, None),
        "enough came": (1, (2, 0.8)),
    }  # fmt: skip
    assert {name for name, route in routes.items() if route.waits} == {"strong is waited for", "strong is next"}
    rated = {name: (reason, error) for name, *_, reason, error in jury_ratings(ratings, jury).select(
        "transcript_id", "reason", "error").iter_rows()}  # fmt: skip
    assert rated["strong refuses"] == ("left to people: 2 (judge:cheap, 0.60 sure)", None)
    assert rated["both refuse"] == (None, "left to people: no judge gave a rating")


def test_what_is_missing_of_turns_is_no_unit_of_its_own() -> None:
    rows = [
        ("t", "s", None, "transcript", "danger", "judge:cheap", 0, None, None, None, "refused"),
        *(("t", "s", None, "turn:1", "danger", "judge:strong", number, 1.0, None, None, None) for number in range(2)),
        ("t", "s", None, "transcript", "danger", "judge:strong", 2, None, None, None, "refused"),
    ]
    (cheap, strong) = sure_answers(frame_of(rows).lazy(), "danger", ["judge:cheap", "judge:strong"], [1.0, 2.0])
    assert (set(cheap), set(strong)) == ({("t", "turn:1")}, {("t", "turn:1")})
    assert strong["t", "turn:1"].sureness == pytest.approx(2 / 3)


@pytest.mark.server
def test_judges_are_asked_as_they_were_and_can_be_counted_first(tmp_path: Path) -> None:
    """A temperature of 0 would make all passes agree, and each judge sure of everything."""
    talks = simulated_talks({"s": 0.5}, cases=120, seed=5, talk_spread=0.3)
    seen, file = true_qualities(talks), tmp_path / "cascade.json"
    scripts = [SimulatedJudge(seen, noise=noise, seed=seed).script for seed, noise in enumerate((0.08, 0.02))]
    run = bedside.score(talks, tmp_path / "run", metrics=["turns"]).run
    with JudgeServer(scripts[0]) as cheap, JudgeServer(scripts[1]) as strong:
        names = [cheap.judge.replace("#tiny", "#cheap"), strong.judge.replace("#tiny", "#strong")]
        for name in names:
            bedside.judge(run, name, rubrics="empathy", passes=3, temperature=0.7)
        levels = run.ratings.filter(pl.col("rater") == "judge:strong", pl.col("metric") == "empathy")
        people = levels.filter(pl.col("replicate") == 0).select("transcript_id", "metric", "value")
        people.with_columns(rater=pl.lit("human:anna")).write_csv(tmp_path / "people.csv")
        bedside.import_ratings(run, tmp_path / "people.csv")
        bedside.cascade(run, ["cheap", "strong"], metrics="empathy", out=file, disagreement=0.2)
        asked = {"temperature": 0.7, "max_tokens": 4096, "seed": 0, "order": "transcript-first", "expected": False}
        assert [judge.asked for judge in read_cascade(file).judges] == [asked] * 2

        other = bedside.score(talks[:20], tmp_path / "new", metrics=["turns"]).run
        before = [cheap.count, strong.count]
        plans = bedside.preview_route(other, file).results
        assert [(plan.judge, plan.calls) for plan in plans] == [("judge:cheap", 60), ("judge:strong", 60)]
        assert exit_code("judge", "route", other.path, "--cascade", file, "--dry-run") == 0
        assert [cheap.count, strong.count] == before
        assert exit_code("judge", "route", other.path, "--cascade", file, "--max-calls", "61") == 0
        assert [cheap.count, strong.count] == [before[0] + 60, before[1] + 1]
        (routed,) = bedside.route(Run(other.path), file).results
        sure = 20 - routed.judges[1].asked
        assert 0 < sure < 20
        assert strong.count == before[1] + 3 * (20 - sure)
        assert {request.body["temperature"] for request in (*cheap.received, *strong.received)} == {0.7}
        later = bedside.preview_route(other, file).results
        assert [plan.calls for plan in later] == [0, 0]


def test_a_judge_that_does_not_tell_how_sure_it_is_is_refused(tmp_path: Path) -> None:
    run = rated_run(tmp_path / "run", 20, {"judge:a": [1.0] * 20, "judge:b": [1.0] * 20, "human:anna": [1.0, 2.0] * 10})
    with pytest.raises(BedsideError, match="does not tell how sure"):
        bedside.cascade(run, ["a", "b"], scales="empathy=1-5")
    add_ratings(run, {"judge:a": [[1.0, 1.0]] * 20, "judge:b": [[1.0, 2.0]] * 20})
    (fit,) = bedside.cascade(run, ["a", "b"], scales="empathy=1-5").results
    assert [stage.settled.threshold for stage in fit.stages] == [None, None]
    assert fit.to_people == 1.0
    with pytest.raises(BedsideError, match="no judge can be left alone"):
        bedside.cascade(run, ["a", "b"], scales="empathy=1-5", out=tmp_path / "empty.json")
    assert not (tmp_path / "empty.json").exists()
    (tmp_path / "none.json").write_text("{}")
    with pytest.raises(BedsideError, match="the cascade can't be read"):
        bedside.route(run, tmp_path / "none.json")


@pytest.mark.parametrize(
    ("people", "right"), [((2, 3), {2, 3}), ((1, 5), {1, 5}), ((2, 4), {2, 4}), ((1, 3, 5), {3}), ((4, 4), {4})]
)
def test_of_people_who_are_split_either_is_right_and_nothing_between(people: tuple[int, ...], right: set[int]) -> None:
    ratings = {f"human:{number}": float(level) for number, level in enumerate(people)}
    unit = LabelledUnit("t", "transcript", None, "t", ratings, {}, float(np.median(people)), 1.0, 0)
    assert {level for level in range(1, 6) if not _is_wrong(float(level), unit, 0.0)} == right
