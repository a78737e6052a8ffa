"""Juries: how members are combined, that no rating outlives what it rests on, and what a jury is worth."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

import bedside
from bedside.analysis.jury_agreement import jury_agreement
from bedside.analysis.ratings_view import open_ratings_view
from bedside.core.errors import BedsideError
from bedside.ratings.juries import juries_in
from bedside.ratings.learnt_units import learnt_in
from bedside.ratings.run import Run
from bedside.reports.methods import methods
from bedside.stats.reliability import krippendorff_alpha
from tests.conftest import Call, works
from tests.soak import budget
from tests.tuning.rated_run import LEVELS, add_ratings, levels, noisy, of_rater, rated_run

JUDGES = ("judge:a", "judge:b", "judge:c")


PEOPLE = ("human:anna", "human:ben")


def values(run: Run, metric: str = "empathy") -> list[Any]:
    rows = of_rater(run, "jury:", metric).select("value", "label").iter_rows()
    return [value if label is None else label for value, label in rows]


def alike(folder: Path, *levels: float) -> Run:
    """A run whose judges all give these levels."""
    return rated_run(folder / "run", len(levels), dict.fromkeys(JUDGES, levels))


def test_the_median_of_three_is_the_middle_one(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    by_judge = {judge: random.integers(1, 6, 30).astype(float) for judge in JUDGES}
    run = rated_run(tmp_path / "run", 30, by_judge)
    bedside.jury(run, "panel", JUDGES)
    assert values(run) == [median(row) for row in zip(*by_judge.values(), strict=True)]
    (rater,) = set(of_rater(run, "jury:")["rater"])
    assert rater.startswith("jury:panel@median-")
    reason = of_rater(run, "jury:")["reason"][0]
    assert all(f"{by_judge[judge][0]:g} ({judge})" in reason for judge in JUDGES)


PAIR = ([2, 3, 4], [2, 4, 2])
MEANS = ([1, 3, 5], [2, 4, 5], [2, [3, 4], 1])
LABELS = (["open", "open", "none"], ["open", "none", "open"], ["none", "closed", "none"])
PASSES = ([[5, 1, 1]], [[4]], [[4]])
ABSENT = ([3, 3], [3, None], [4, 3])


@pytest.mark.parametrize(
    ("ratings", "how", "combined", "expected", "errors"),
    [
        (PAIR, {}, [2, None, None], None, {1: "median lies between 3 and 4", 2: "median lies between 2 and 4"}),
        (MEANS, {"by": "mean"}, [2, None, 4], [5 / 3, 3.5, 11 / 3], {1: "mean lies halfway between 3 and 4"}),
        *((LABELS, {"by": rule}, ["open", None, "none"], None, {1: "tied between closed and none and open"})
          for rule in ("median", "mean", "majority")),
        # The passes of a judge are taken together first.
        (PASSES, {"by": "mean"}, [3], [(7 / 3 + 4 + 4) / 3], {}),
        (PASSES, {"by": "median"}, [4], None, {}),
        (PASSES, {"by": "majority"}, [4], None, {}),
        (ABSENT, {}, [3, None], None, {1: "1 of 3 judges gave no rating (judge:b)"}),
        (ABSENT, {"quorum": 2}, [3, 3], None, {}),
    ],
)  # fmt: skip
def test_members_are_combined_or_the_rating_is_missing_and_says_why(
    ratings: Any, how: dict[str, Any], combined: list[Any], expected: list[float] | None, errors: dict[int, str],
    tmp_path: Path,
) -> None:  # fmt: skip
    by_judge = dict(zip(JUDGES, ratings, strict=False))
    metric = "kind" if ratings is LABELS else "empathy"
    run = rated_run(tmp_path / "run", len(combined), by_judge, metric=metric)
    bedside.jury(run, "panel", list(by_judge), **how)
    assert values(run, metric) == combined
    if expected is not None:
        assert values(run, "empathy.expected") == pytest.approx(expected)
    rows = of_rater(run, "jury:", metric)
    assert {place for place, error in enumerate(rows["error"]) if error is not None} == errors.keys()
    assert all(rows["error"][place].endswith(words) for place, words in errors.items())
    if how.get("quorum"):
        assert rows["reason"][1].endswith("1 judge gave none (judge:b)")


def test_without_labels_a_jury_tells_who_errs_and_what_people_say_of_it(tmp_path: Path) -> None:
    pytest.importorskip("crowdkit")
    random = np.random.default_rng(3)
    truth = random.integers(1, 4, 240).astype(float)
    judges = ("judge:openai/gpt-5-mini", "judge:azure/gpt-4o", "judge:anthropic/claude-haiku-4-5")
    shares = (0.9, 0.7, 0.8)
    other = truth % 3 + 1
    by_judge = {name: np.where(random.random(240) < share, truth, other) for name, share in zip(judges, shares,
                strict=True)}  # fmt: skip
    # People say that the second judge is right less often than it seems.
    people = [float(level) if place < 80 else None for place, level in enumerate(truth)]
    by_judge[judges[1]][:80] = np.where(random.random(80) < 0.3, truth[:80], other[:80])
    run = rated_run(tmp_path / "run", 240, {**by_judge, "human:anna": people}, per_case=2)
    answer = bedside.jury(run, "panel", judges, by="dawid-skene", scales="empathy=1-3")
    told = {row["member"]: row for row in answer["jury_errors"].records}
    assert told[judges[0]]["reliability"] == pytest.approx(0.9, abs=0.06)
    assert told[judges[0]]["reliability_low"] < told[judges[0]]["reliability"] < 0.98
    assert told[judges[1]]["with_people"] == pytest.approx(0.3, abs=0.12)
    assert np.mean(np.array(values(Run(run.path))) == truth) > 0.85
    first, second = answer.sentences()
    assert "openai/gpt-5-mini is right most often" in first
    assert "azure/gpt-4o is right less often" in second
    assert any("models of one family" in text for text in answer["jury_errors"].notes)
    # Made anew from what was learnt, the ratings are the same; no person's rating was learnt from.
    add_ratings(run, {judges[0]: [1.0]})
    assert len(values(Run(run.path))) == 240
    assert not learnt_in(Run(run.path).manifest)


@pytest.mark.slow
def test_no_rating_of_a_jury_outlives_what_it_rests_on(tmp_path: Path) -> None:
    run = rated_run(tmp_path / "run", 2, {"judge:a": [1, 1], "judge:b": [1, 1], "judge:c": [5, 5]})
    bedside.jury(run, "panel", JUDGES)
    assert values(run) == [1, 1]
    # A judge is asked again, as after a change of its rubric.
    add_ratings(run, {"judge:a": [5, 5]})
    assert values(Run(run.path)) == [5, 5]
    # A judge rates in more passes.
    add_ratings(run, {"judge:a": [[1, 1, 1], [5]]})
    assert values(Run(run.path)) == [1, 5]
    # A judge that failed comes back, and one fails.
    add_ratings(run, {"judge:b": [None, 1]})
    assert values(Run(run.path)) == [None, 5]
    # Ratings are imported.
    file = tmp_path / "more.csv"
    file.write_text("item,rater,metric,value\nt000,judge:b,empathy,2\nt000,human:anna,empathy,2\n")
    bedside.import_ratings(run.path, file, scales="empathy=1-5", round="")
    assert values(Run(run.path)) == [2, 5]
    assert of_rater(Run(run.path), "jury:").height == 2


def test_a_jury_of_other_members_is_another_rater_and_replaces_the_old(tmp_path: Path) -> None:
    run = alike(tmp_path, 1, 2, 3, 4)
    first = bedside.jury(run, "panel", JUDGES).results[0].jury.rater
    second = bedside.jury(run, "panel", JUDGES[:2]).results[0].jury.rater
    other = bedside.jury(run, "board", JUDGES).results[0].jury.rater
    assert first.partition("@")[2] == other.partition("@")[2] != second.partition("@")[2]
    assert set(of_rater(run, "jury:")["rater"]) == {second, other}
    assert [jury.members for jury in juries_in(Run(run.path).manifest)] == [JUDGES[:2], JUDGES]


def test_a_lone_name_is_one(tmp_path: Path) -> None:
    run = alike(tmp_path, 1, 2, 3, 4)
    lone = bedside.jury(run, "panel", JUDGES, metrics="empathy", rounds="all", scales="empathy=1-5")
    listed = bedside.jury(run, "panel", list(JUDGES), metrics=["empathy"], rounds=["all"], scales=["empathy=1-5"])
    assert lone == listed


def test_ratings_of_a_jury_are_not_imported(tmp_path: Path) -> None:
    run = alike(tmp_path, 1, 2)
    file = tmp_path / "more.csv"
    file.write_text("item,rater,metric,value\nt000,jury:panel@median-abc,empathy,2\n")
    with pytest.raises(BedsideError, match="jury"):
        bedside.import_ratings(run.path, file, scales="empathy=1-5")


@pytest.mark.parametrize(
    ("members", "quorum", "named"),
    [
        (["judge:a"], None, "`jury`"),
        ("judge:a", None, "`jury`"),
        (["judge:a", "human:anna"], None, "human:anna"),
        (["judge:a", "judge:x"], None, "'judge:x'"),
        (["judge:a", "judge:b"], 3, "`quorum`"),
    ],
)
def test_what_is_no_jury_is_refused(tmp_path: Path, members: Any, quorum: int | None, named: str) -> None:
    run = rated_run(tmp_path / "run", 2, {"judge:a": [1, 2], "judge:b": [1, 2], "human:anna": [1, 2]})
    with pytest.raises(BedsideError, match=named):
        bedside.jury(run, "panel", members, quorum=quorum)
    assert of_rater(run, "jury:").is_empty()


def test_members_agreement_is_the_house_s(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    by_judge = noisy(random, random.normal(3, 1, 60), dict.fromkeys(JUDGES, 0.8))
    run = rated_run(tmp_path / "run", 60, by_judge)
    (answer,) = bedside.jury(run, "panel", JUDGES).results
    alpha = krippendorff_alpha(np.array(list(by_judge.values())).T, metric="ordinal", scale=LEVELS)
    assert answer.statistics["alpha"].estimate == pytest.approx(alpha.estimate)
    assert (answer.units, answer.cases) == (60, 60)


@pytest.mark.slow
def test_a_jury_is_a_rater_like_others(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    raters = noisy(random, random.normal(3, 1.2, 60), {**dict.fromkeys(JUDGES, 0.7), **dict.fromkeys(PEOPLE, 0.5)})
    run = rated_run(tmp_path / "run", 60, raters)
    tables = bedside.jury(run, "panel", JUDGES)
    rater = tables.results[0].jury.rater
    assert tables.names == ("jury", "jury_gain")
    (card,) = bedside.validate(run, judges=rater).results
    assert dict(card.facts)["Kind"] == "jury of 3: judge:a, judge:b, judge:c, combined by median"
    assert card.validations[0].with_people == 60
    assert any(row.rater == rater for row in bedside.agree(run).results)
    assert bedside.estimate(run, judge=rater).results
    explanation = str(bedside.explain(run, f"empathy/{rater}"))
    assert all(words in explanation for words in (rater, "judge:a", "so it seems"))
    assert f"{rater} is a jury of judge:a, judge:b, judge:c" in " ".join(methods(run, open_ratings_view(run)))
    (gain, *_) = tables.results[0].gains
    own: Any = next(v for v in bedside.validate(run, judges=[rater]).results[0].validations)
    assert gain.own == pytest.approx(own.mean.statistics["kappa"].estimate)


@pytest.mark.slow
def test_learnt_weights_find_the_better_judges_and_what_they_learnt_from_is_no_evidence(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    spreads = {**dict(zip(JUDGES, (0.4, 1.2, 2.5), strict=True)), **dict.fromkeys(PEOPLE, 0.4)}
    raters = noisy(random, random.normal(3, 1.2, 120), spreads)
    run = rated_run(tmp_path / "run", 120, raters, per_case=2)
    tables = bedside.jury(run, "panel", JUDGES, by="weights", metrics="empathy")
    (answer,) = tables.results
    weights = [answer.weights[judge] for judge in JUDGES]
    assert weights[0] > 0.6 > 0.3 > weights[1] > weights[2]
    assert sum(weights) == pytest.approx(1)
    # Half of the cases were learnt from.
    (learnt,) = [entry for entry in learnt_in(Run(run.path).manifest) if entry.rater == answer.jury.rater]
    assert answer.learnt == 60
    assert all(gain.units <= 60 for gain in answer.gains)
    (card,) = bedside.validate(run, judges=answer.jury.rater).results
    assert card.validations[0].with_people == answer.gains[0].units
    assert answer.beats_best is not None
    assert learnt.digests == frozenset(answer.jury.learning["empathy"]["learnt_from"])
    # Doing it again is the same rater, of the same weights.
    assert bedside.jury(run, "panel", JUDGES, by="weights", metrics="empathy").results[0].jury == answer.jury


@pytest.mark.slow
def test_votes_weigh_by_how_often_a_judge_is_right(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    labels = np.array(["none", "open", "closed"])
    truth = random.integers(0, 3, 200)

    def judged(right: float) -> list[str]:
        wrong = (truth + random.integers(1, 3, 200)) % 3
        return [str(label) for label in labels[np.where(random.random(200) < right, truth, wrong)]]

    raters: dict[str, Any] = {judge: judged(p) for judge, p in zip(JUDGES, (0.9, 0.6, 0.33), strict=True)}
    raters |= {f"human:{name}": [str(label) for label in labels[truth]] for name in ("anna", "ben", "cleo")}
    run = rated_run(tmp_path / "run", 200, raters, metric="kind")
    (answer,) = bedside.jury(run, "panel", JUDGES, by="weights").results
    weights = [answer.weights[judge] for judge in JUDGES]
    odds = np.log(np.array([0.9, 0.6, 0.334]) * 2 / (1 - np.array([0.9, 0.6, 0.334])))
    # After twenty answers at the mean of all judges, they are somewhat nearer to equal than the log odds.
    np.testing.assert_allclose(weights, odds / odds.sum(), atol=0.12)
    assert weights[0] > weights[1] > weights[2]


def test_the_command_makes_a_jury(call: Call, tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    truth = random.normal(3, 1.2, 40)
    raters = noisy(random, truth, dict.fromkeys(JUDGES, 0.7))
    rated_run(tmp_path / "run", 40, {**raters, "human:anna": levels(truth)})
    out, err = works(call, "judge", "jury", "run", "--jury", "panel=judge:a,b,judge:c", "--jury-by", "mean")
    assert "jury:panel@mean-" in out
    assert "its best member" in out
    code, _, err = call("judge", "jury", "run", "--jury", "panel=judge:a")
    assert code == 2
    assert "--jury" in err


def test_the_mean_of_parallel_judges_is_as_valid_as_spearman_and_brown_say(tmp_path: Path) -> None:
    """Of k parallel judges of reliability r, whose validity is v, the mean has validity v √k / √(1 + (k − 1) r)."""
    random = np.random.default_rng(8)
    size, k = 4000, 5
    truth = random.normal(0, 1, size)
    ratings = {f"judge:{n}": truth + random.normal(0, 1.5, size) for n in range(k)}
    from bedside.ratings.juries import Jury, JuryMetric, jury_ratings
    from bedside.ratings.table import frame_of

    rows = [
        (f"t{i}", "s", None, "transcript", "score", rater, 0, float(value), None, None, None)
        for rater, of_rater_ in ratings.items()
        for i, value in enumerate(of_rater_)
    ]
    jury = Jury("panel", tuple(ratings), "mean", k, {"score": JuryMetric((), (1 / k,) * k)})
    frame = jury_ratings(frame_of(rows).lazy(), jury)
    made = dict(frame.select("transcript_id", "value").iter_rows())
    reached = np.corrcoef([made[f"t{i}"] for i in range(size)], truth)[0, 1]
    reliability = 1 / (1 + 1.5**2)
    assert reached == pytest.approx(np.sqrt(reliability) * np.sqrt(k) / np.sqrt(1 + (k - 1) * reliability), abs=0.015)


@pytest.mark.slow
@pytest.mark.soak
def test_a_jury_of_noise_beats_its_best_member_in_no_more_than_one_of_twenty() -> None:
    """Judges and people who know nothing: learnt weights report a gain over every member on the other half seldom."""
    from bedside.analysis.jury_agreement import AgreementGain, beats_all
    from bedside.analysis.metric_facts import MetricFacts
    from bedside.stats.kappa_gain import kappa_gain
    from bedside.tuning.jury_making import level_weights

    random = np.random.default_rng(9)
    runs, won = budget(60, 1000), 0
    for _ in range(runs):
        judges, people = (random.integers(1, 6, (60, raters)).astype(float) for raters in (3, 2))
        cases = [str(unit // 2) for unit in range(60)]
        weights = level_weights(judges[:30], people[:30].mean(axis=1), cases[:30], np.ones(30)).weights
        jury = levels(judges[30:] @ np.array(weights))
        gains = [
            kappa_gain(list(jury), list(judges[30:, k]), people[30:], scale=LEVELS, clusters=np.array(cases[30:]))
            for k in range(3)
        ]
        facts = MetricFacts("x", "X", "Ratings")
        rows = [
            AgreementGain(facts=facts, rater="jury", other="judge", units=30, cases=15, people=2, own=None,
                          others=None, gain=gain, by_kappa=True)
            for gain in gains
        ]  # fmt: skip
        won += bool(beats_all(rows))
    assert won / runs <= 0.05


@pytest.mark.soak
def test_the_difference_of_kappas_covers_what_is_true() -> None:
    """Two judges of different noise, cases of three units: 93 to 97 of 100 intervals hold the true difference."""
    from bedside.stats.kappa_gain import kappa_gain

    random = np.random.default_rng(10)

    def study(cases: int) -> tuple[Any, ...]:
        truth = np.repeat(random.normal(3, 0.9, cases), 3) + random.normal(0, 0.6, 3 * cases)
        people = np.stack([levels(truth + random.normal(0, 0.6, truth.size)) for _ in range(2)], axis=1)
        first, second = (levels(truth + random.normal(0, spread, truth.size)) for spread in (0.7, 1.1))
        return first, second, people, np.repeat(np.arange(cases), 3)

    def gain(cases: int) -> Any:
        first, second, people, clusters = study(cases)
        return kappa_gain(first, second, people, scale=LEVELS, clusters=clusters)

    truth = np.mean([gain(3000).estimate for _ in range(5)])
    runs = budget(150, 2000)
    intervals = [gain(30).interval for _ in range(runs)]
    covered = np.mean([interval.low <= truth <= interval.high for interval in intervals])
    error = 2.6 * np.sqrt(0.95 * 0.05 / runs)
    assert 0.93 - error <= covered <= 0.97 + error


def test_a_jury_named_wrongly_is_told(tmp_path: Path) -> None:
    run = alike(tmp_path, 1, 2)
    with pytest.raises(BedsideError, match="'panel'"):
        jury_agreement(open_ratings_view(run), "panel")
    assert of_rater(run, "judge:").height == 6


@pytest.mark.server
def test_judges_that_are_asked_make_a_jury_that_follows_more_passes(call: Call, tmp_path: Path) -> None:
    from tests.judges.llm.server import JudgeServer

    talk = tmp_path / "talk.jsonl"
    talk.write_text('{"id": "a", "turns": [{"role": "clinician", "text": "Hello."}]}\n')
    with JudgeServer() as server:
        judges = [f"{server.url}#{name}" for name in ("one", "two", "three")]
        named = [part for judge in judges for part in ("--judge", judge)]
        scoring = ("score", talk, "--metrics", "turns", "--rubrics", "empathy")
        command = (*scoring, *named, "--out", "run")
        jury = ("--jury", f"panel={judges[0]},judge:two,three")
        out, err = works(call, *command, *jury, "--jury-by", "median")
        assert "jury:panel@median-" in out
        run = Run(tmp_path / "run")
        assert run.contents.line().endswith("by 3 judges, 1 jury, 1 algorithm")
        assert of_rater(run, "jury:").height == 1
        # More passes of one of them, without a word of the jury: its rating is made anew.
        _, err = works(call, *scoring, "--judge", judges[0], "--passes", "3", "--out", "run")
        run = Run(tmp_path / "run")
        assert (of_rater(run, "judge:one").height, of_rater(run, "jury:").height) == (3, 1)
        asked = len(server.received)
        for wrong, words in (
            ((*command, "--jury", "panel=one,tow,three"), "--jury: 'tow' is none of the judges that are asked"),
            ((*command[:-1], "new", "--max-cost", "1"), "--max-cost: what one costs isn't known"),
            ((*command, "--jury", "panel=one"), "--jury"),
            ((*command, *jury, "--jury-by", "weights"), "judge jury RUN"),
        ):
            code, _, err = call(*wrong)
            assert code == 2
            assert words in err
        assert not (tmp_path / "new").exists()
        assert len(server.received) == asked
