"""A judge rates everything, people a sample: how often the intervals of ``bedside estimate`` hold the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

import bedside
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.answers import RaterAnswer
from bedside.ratings.juries import with_juries
from bedside.ratings.learnt_units import LearntUnits, unit_digests, with_learnt
from bedside.ratings.run import Run
from tests.annotation.study import EMPATHY, rating_plan
from tests.coverage.drawn_ratings import CUTS, JUDGE, PEOPLE, DrawnRun, Values, levels, new_run, opened, rated, table_of
from tests.coverage.replicates import Design, Question, Study, covers

MEAN = covers("the corrected mean's interval holds it", table="estimate", name="corrected")
DIFFERENCE = covers(
    "the corrected difference's interval holds it", table="estimate", name="corrected", quantity="A − B"
)
ALONE = covers("people's own interval holds it", table="estimate", name="human")


def mean_level(shift: float) -> float:
    """The mean level of a latent value with standard deviation 1."""
    return 1.0 + float(sum(1 - ndtr(cut - shift) for cut in CUTS))


def estimates(**options: Any) -> Question:
    """``bedside estimate``."""
    return Question(("estimate",), bedside.estimate, {"metrics": "empathy", **options})


def of_run(draw: Callable[..., Study], rng: np.random.Generator, **of: Any) -> Study:
    """A study whose truth is the mean of its own transcripts, as people would rate them."""
    return replace(draw(rng, run=True, **of), asked={"about": "run"})


def sampled(
    rng: np.random.Generator, transcripts: int, labels: int, people: int = 1, judges: int = 1, run: bool = False
) -> Study:
    """One system, one transcript a case; judges are kind, and people differ a little."""
    latent = rng.normal(size=transcripts)
    judge = levels(latent[:, None] + 0.5 + 0.6 * rng.normal(size=(transcripts, judges)))
    human = levels((latent[:, None] + 0.3 * rng.normal(size=(transcripts, people))) / np.sqrt(1.09))
    truth = float(human.mean()) if run else mean_level(0.0)
    human[rng.permutation(transcripts) >= labels] = np.nan
    values = np.concatenate([judge, human], axis=1)[None, :, None, :]
    names = (JUDGE, "judge:other")[:judges] + PEOPLE[:people]
    return Study(rated(values, raters=names), truth)


def two_systems(rng: np.random.Generator, cases: int, labels: int, together: bool) -> Study:
    """The same cases by two systems, of which people rate the same cases or others."""
    case = rng.normal(size=cases)
    values = np.full((2, cases, 1, 2), np.nan)
    both = rng.permutation(cases) < labels
    for system, shift in enumerate((0.3, 0.0)):
        latent = 0.8 * case + 0.6 * rng.normal(size=cases)
        values[system, :, 0, 0] = levels(latent + 2 * shift + 0.3 + 0.5 * rng.normal(size=cases))
        seen = both if together else rng.permutation(cases) < labels
        values[system, seen, 0, 1] = levels(latent + shift)[seen]
    return Study(rated(values, raters=(JUDGE, PEOPLE[0])), mean_level(0.3) - mean_level(0.0))


def shares(rng: np.random.Generator, transcripts: int, labels: int, prevalence: float) -> Study:
    """Zeros and ones; the judge misses 15 % and flags 10 % of the rest."""
    truth = rng.random(transcripts) < prevalence
    judge = rng.random(transcripts) < np.where(truth, 0.85, 0.1)
    human = np.where(rng.permutation(transcripts) < labels, truth, np.nan)
    values = np.stack([judge.astype(float), human], axis=1)[None, :, None, :]
    return Study(rated(values, raters=(JUDGE, PEOPLE[0]), metric="danger"), prevalence)


def share_difference(rng: np.random.Generator, cases: int, labels: int) -> Study:
    """Zeros and ones of two systems, .3 and .2."""
    case = rng.normal(size=cases)
    values = np.full((2, cases, 1, 2), np.nan)
    for system, (share, error) in enumerate(((0.3, 0.2), (0.2, 0.1))):
        truth = (0.8 * case + 0.6 * rng.normal(size=cases) > ndtri(1 - share)).astype(float)
        values[system, :, 0, 0] = np.where(rng.random(cases) < error, 1 - truth, truth)
        seen = rng.permutation(cases) < labels
        values[system, seen, 0, 1] = truth[seen]
    return Study(rated(values, raters=(JUDGE, PEOPLE[0]), metric="danger"), 0.1)


def of_cases(rng: np.random.Generator, cases: int, each: int, labels: int, run: bool = False) -> Study:
    """Several transcripts a case, half of whose variance is the case's; the judge's errors are the case's in part."""
    latent = np.sqrt(0.5) * (rng.normal(size=(cases, 1)) + rng.normal(size=(cases, each)))
    judge = levels(latent + 0.4 + 0.4 * rng.normal(size=(cases, 1)) + 0.4 * rng.normal(size=(cases, each)))
    seen = (rng.permutation(cases * each) < labels).reshape(cases, each)
    values = np.stack([judge, np.where(seen, levels(latent), np.nan)], axis=2)[None]
    return Study(rated(values, raters=(JUDGE, PEOPLE[0])), float(levels(latent).mean()) if run else mean_level(0.0))


# -- Runs: strata, a jury, a judge that learnt ----------------------------------------------------------

CRISES, ROUTINE = 30, 170
SHIFTS, KINDNESS = {"crisis": -1.0, "routine": 0.3}, {"crisis": 0.8, "routine": -0.2}


@cache
def planned_run() -> DrawnRun:
    """A run in which people rated as many of the few crises as of the many routine cases, by a plan."""
    kinds = ["crisis"] * CRISES + ["routine"] * ROUTINE
    talks = [
        {"id": f"t{n:03}", "system": "A", "case_id": f"c{n:03}", "factors": {"kind": k}} for n, k in enumerate(kinds)
    ]
    run = new_run("planned", talks)
    with run.locked():
        run.add(_of_talks(run, JUDGE, np.full(len(kinds), 3.0)).lazy(), run.manifest)
    plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben"), overlap=2, by=("kind",), per=20)
    answers = [
        RaterAnswer(item.id, rater, "submitted", {"empathy": ("3",)})
        for item in plan.items
        for rater in plan.raters_of[item.id]
    ]
    keep_answers(run, plan, answers)
    return opened(Run(run.path))


def _of_talks(run: Run, rater: str, values: Values) -> pl.DataFrame:
    """A rater's ratings of all transcripts of a run, in the order of their names."""
    index = run.index.sort("id")
    return table_of(index["id"], index["system"], index["case_id"], rater, values)


def by_strata(rng: np.random.Generator, run: bool = False) -> Study:
    """The judge is too kind in crises, and too strict else."""
    drawn = planned_run()
    index = drawn.run.index.sort("id")
    kinds = drawn.run.factors.sort("transcript_id")["kind"].to_list()
    latent = np.array([SHIFTS[kind] for kind in kinds]) + rng.normal(size=len(kinds))
    judge = levels(latent + np.array([KINDNESS[kind] for kind in kinds]) + 0.6 * rng.normal(size=len(kinds)))
    people = drawn.view.ratings.filter(pl.col("rater").str.starts_with("human:"), pl.col("metric") == "empathy")
    place = {name: number for number, name in enumerate(index["id"])}
    level = levels(latent)[[place[name] for name in people["transcript_id"]]]
    ratings = pl.concat([_of_talks(drawn.run, JUDGE, judge), people.with_columns(value=pl.Series(level))])
    truth = (CRISES * mean_level(SHIFTS["crisis"]) + ROUTINE * mean_level(SHIFTS["routine"])) / (CRISES + ROUTINE)
    return drawn.study(ratings, float(levels(latent).mean()) if run else truth)


#: A jury's members, and how many transcripts its run has.
MEMBERS, JUDGED = tuple(f"judge:m{number}" for number in range(3)), 120


@cache
def plain_run(name: str) -> DrawnRun:
    """A run of one system, of which the ratings of a round are said to be drawn with one chance."""
    talks = [{"id": f"t{n:03}", "system": "A", "case_id": f"c{n:03}", "factors": {}} for n in range(JUDGED)]
    run = new_run(name, talks)
    if name == "jury":
        with run.locked():
            ratings = [_of_talks(run, member, np.full(JUDGED, 3.0)) for member in MEMBERS]
            run.add(pl.concat(ratings).lazy(), run.manifest)
        bedside.jury(run, "panel", MEMBERS, metrics="empathy")
    if name == "tuned":
        own = [(f"t{n:03}", f"c{n:03}") for n in range(30)]
        learnt = LearntUnits(JUDGE, "empathy", frozenset(unit_digests(own)))
        with run.locked():
            run.add(_of_talks(run, JUDGE, np.full(JUDGED, 3.0)).lazy(), with_learnt(run.manifest, learnt))
    return opened(Run(run.path))


def _by_people(run: Run, values: Values, seen: Values) -> pl.DataFrame:
    """A person's ratings of a random sample, which say so."""
    people = _of_talks(run, PEOPLE[0], np.where(seen, values, np.nan))
    return people.with_columns(drawn=pl.lit(float(seen.mean())), round=pl.lit("sample"))


def by_jury(rng: np.random.Generator) -> Study:
    """Three judges, each with an error of its own and one of all, as one jury."""
    drawn = plain_run("jury")
    latent = rng.normal(size=JUDGED)
    all_err = latent + 0.4 + 0.4 * rng.normal(size=JUDGED)
    members = [_of_talks(drawn.run, member, levels(all_err + 0.5 * rng.normal(size=JUDGED))) for member in MEMBERS]
    people = _by_people(drawn.run, levels(latent), rng.permutation(JUDGED) < 40)
    ratings = with_juries(pl.concat([*members, people]).lazy(), drawn.run.manifest).collect()
    return drawn.study(ratings, mean_level(0.0))


def by_tuned_judge(rng: np.random.Generator) -> Study:
    """The judge gives what people gave to the thirty cases that it learnt from; of the others it errs."""
    drawn = plain_run("tuned")
    latent = rng.normal(size=JUDGED)
    truth, judge = levels(latent), levels(latent + 0.5 + 0.6 * rng.normal(size=JUDGED))
    learnt = np.arange(JUDGED) < 30
    people = _by_people(drawn.run, truth, learnt | (rng.permutation(JUDGED) < 40))
    ratings = pl.concat([_of_talks(drawn.run, JUDGE, np.where(learnt, truth, judge)), people])
    return drawn.study(ratings, mean_level(0.0))


def estimate_designs() -> Iterator[Design]:
    """By ``bedside estimate``."""
    plain, danger = estimates(), estimates(metrics="danger")
    one, two = partial(sampled, transcripts=150, labels=40), partial(two_systems, cases=100, labels=40)
    rare = partial(shares, transcripts=300, labels=50)
    means: dict[str, tuple[Question, Callable[[np.random.Generator], Study]]] = {
        "300 transcripts, 50 labels": (plain, partial(sampled, transcripts=300, labels=50)),
        "150 transcripts, 15 labels": (plain, partial(sampled, transcripts=150, labels=15)),
        "150 transcripts, 40 labels by 2 people": (plain, partial(one, people=2)),
        "150 transcripts, 40 labels, one of two judges": (estimates(judge="judge:other"), partial(one, judges=2)),
        "20 cases of 10 transcripts, 50 labels": (plain, partial(of_cases, cases=20, each=10, labels=50)),
        "strata of 30 + 170, 20 + 20 labels by 2 people": (plain, by_strata),
        "a jury of three judges, 40 labels": (estimates(judge="jury:*"), by_jury),
        "a judge tuned on 30 of 120 cases, 40 labels": (plain, by_tuned_judge),
    }
    for name, (question, draw) in means.items():
        yield Design(name, question, draw, (MEAN, ALONE))
    of_runs: dict[str, Callable[[np.random.Generator], Study]] = {
        "300 transcripts, 50 labels": partial(of_run, partial(sampled, transcripts=300, labels=50)),
        "20 cases of 10 transcripts, 50 labels": partial(of_run, partial(of_cases, cases=20, each=10, labels=50)),
        "strata of 30 + 170, 20 + 20 labels by 2 people": partial(of_run, by_strata),
    }
    for name, draw in of_runs.items():
        yield Design(f"{name}, about the run", plain, draw, (MEAN,))
    wide: dict[str, Any] = {"limits": (0.93, 1.0), "why": "of few labels, intervals of shares are wide"}
    share, apart = replace(MEAN, **wide), replace(DIFFERENCE, **wide)
    by_share = estimates(metrics="danger", method="rogan-gladen")
    name = "300 transcripts, yes in 30 %, 50 labels"
    yield Design("300 transcripts, yes in 10 %, 50 labels", danger, partial(rare, prevalence=0.1), (share,))
    yield Design(name, danger, partial(rare, prevalence=0.3), (share,))
    yield Design(f"{name}, Rogan and Gladen's", by_share, partial(rare, prevalence=0.3), (share,))
    for name, together in {"the same 40 labelled": True, "40 labelled of each": False}.items():
        yield Design(f"2 systems, 100 cases, {name}", plain, partial(two, together=together), (DIFFERENCE,))
    name = "2 systems, yes in 30 and 20 %, 60 of 200 labelled"
    yield Design(name, danger, partial(share_difference, cases=200, labels=60), (apart,))
