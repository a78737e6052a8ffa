"""Raters with known agreement: how often the intervals of ``bedside agree`` hold it, and what is found of a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from operator import itemgetter
from typing import Any

import numpy as np
import polars as pl

import bedside
from bedside.analysis.choices import AlphaMetric
from bedside.stats.many_raters import fleiss_kappa, gwet_ac, mean_pairwise_kappa
from bedside.stats.reliability import krippendorff_alpha
from tests.coverage.drawn_ratings import JUDGE, PEOPLE, Values, levels, rated, table_of
from tests.coverage.estimate_designs import CRISES, ROUTINE, planned_run
from tests.coverage.replicates import COVERS, Check, Design, Question, Study, covers

#: Items on which the truth of a coefficient is computed.
MANY = 30_000
#: Draws what raters say of so many items: items × raters.
Draw = Callable[[np.random.Generator, int], Values]


def of_levels(rng: np.random.Generator, items: int, *, raters: int, reliable: float) -> Values:
    """Levels 1 to 5, of a latent value that so much of the variance is shared of."""
    shared = np.sqrt(reliable) * rng.normal(size=(items, 1))
    return levels(shared + np.sqrt(1 - reliable) * rng.normal(size=(items, raters)))


def yes_in_ten(rng: np.random.Generator, items: int, *, raters: int) -> Values:
    """Yes in a tenth, which each rater misses in a quarter; each flags 3 % of the rest."""
    truth = rng.random((items, 1)) < 0.1
    return (rng.random((items, raters)) < np.where(truth, 0.75, 0.03)).astype(float)


def of_kinds(rng: np.random.Generator, items: int, *, raters: int) -> Values:
    """One of three kinds, each given as it is in seven of ten."""
    truth = rng.choice(3, size=(items, 1), p=(0.5, 0.3, 0.2))
    guess = rng.choice(3, size=(items, raters), p=(0.5, 0.3, 0.2))
    return np.where(rng.random((items, raters)) < 0.7, truth, guess).astype(float)


@cache
def truths(draw: Draw, scale: tuple[float, ...], weights: str, metric: AlphaMetric) -> Mapping[str, float]:
    """Each coefficient of very many items."""
    many = draw(np.random.default_rng(99), MANY)[:, :3]
    few: Mapping[str, Any] = {"interval": "percentile", "resamples": 1}
    found = {
        "kappa": mean_pairwise_kappa(many, scale=scale, weights=weights, **few),
        "ac": gwet_ac(many, scale=scale, weights=weights),
        "fleiss": fleiss_kappa(many, scale=scale, weights=weights, **few),
        "alpha": krippendorff_alpha(many, metric=metric, scale=scale, **few),
    }
    return {name: result.estimate or 0.0 for name, result in found.items()}


def study(
    rng: np.random.Generator, draw: Draw, items: int, *, scale: tuple[float, ...] = (1, 2, 3, 4, 5),
    weights: str = "quadratic", metric: AlphaMetric = "ordinal", gaps: float = 0.0, name: str = "stars",
) -> Study:  # fmt: skip
    """Independent items, of which a share of ratings is missing."""
    values = draw(rng, items)
    values[rng.random(values.shape) < gaps] = np.nan
    frame = rated(values[None, :, None, :], raters=PEOPLE[: values.shape[1]], metric=name)
    return Study(frame, truths(draw, scale, weights, metric))


def in_words(rng: np.random.Generator, draw: Draw, items: int) -> Study:
    """Labels without an order."""
    numbers = draw(rng, items)
    item, rater = (axis.ravel() for axis in np.indices(numbers.shape))
    labels = np.array(["open", "closed", "none"])[numbers.astype(int).ravel()]
    names = np.char.mod("c%03d", item)
    frame = table_of(
        names, "A", names, np.array(PEOPLE)[rater], np.full(labels.size, np.nan), label=labels, metric="question",
    )  # fmt: skip
    return Study(frame, truths(draw, (0.0, 1.0, 2.0), "unweighted", "nominal"))


def clustered(rng: np.random.Generator, cases: int, each: int, raters: int, turns: bool) -> Study:
    """Several transcripts of a case, or turns of a transcript, half of whose variance is shared."""
    shared = np.sqrt(0.5) * (rng.normal(size=(cases, 1, 1)) + rng.normal(size=(cases, each, 1)))
    values = levels(np.sqrt(0.7) * shared + np.sqrt(0.3) * rng.normal(size=(cases, each, raters)))
    frame = rated(values[None], raters=PEOPLE[:raters], metric="stars")
    if turns:
        number = pl.col("transcript_id").str.split(".").list.last()
        frame = frame.with_columns(unit="turn:" + number, transcript_id="case_id")
    return Study(frame, truths(MODERATE[3], (1, 2, 3, 4, 5), "quadratic", "ordinal"))


def by_raters_at_hand(rng: np.random.Generator, items: int, raters: int) -> Study:
    """Numbers by raters like whom others could have rated, some of them more severe."""
    values = rng.normal(size=(items, 1)) + np.sqrt(0.2) * rng.normal(size=raters)
    frame = rated(
        (50 + 10 * (values + rng.normal(size=(items, raters))))[None, :, None, :],
        raters=PEOPLE[:raters],
        metric="seconds",
    )
    return Study(frame, {"icc": 1 / 2.2})


def mostly_low(rng: np.random.Generator, severity: Values) -> Values:
    """Levels 1 to 5 by raters of some severity (items × raters): three quarters at the lowest, few at any other."""
    latent = rng.normal(size=(len(severity), 1)) + severity + 0.6 * rng.normal(size=severity.shape)
    return np.digitize(latent, [0.8, 1.3, 1.8, 2.3]) + 1.0


@cache
def true_generality() -> Mapping[str, float]:
    """Φ and G of one rater: what two raters of a unit have in common of the variance; for G of what is left of it
    without what one rater's ratings of two units have in common."""
    rng = np.random.default_rng(99)
    severity = 0.3 * rng.normal(size=(1_000_000, 2))
    first, second = mostly_low(rng, severity).T
    (of_units, of_raters), whole = (
        np.cov(first, other)[0, 1] for other in (second, mostly_low(rng, severity[:, :1])[:, 0])
    ), first.var()  # fmt: skip
    return {"phi": float(of_units / whole), "g": float(of_units / (whole - of_raters))}


def skewed(rng: np.random.Generator, items: int, raters: int) -> Study:
    """Most items at one level, by raters of whom some are more severe."""
    values = mostly_low(rng, np.broadcast_to(0.3 * rng.normal(size=raters), (items, raters)))
    return Study(rated(values[None, :, None, :], raters=PEOPLE[:raters], metric="stars"), true_generality())


def drawn_by_strata(rng: np.random.Generator) -> Study:
    """As many of few crises, of which raters agree less, as of many routine cases."""
    drawn = planned_run()
    people = drawn.view.ratings.filter(pl.col("rater").str.starts_with("human:"), pl.col("metric") == "empathy")
    names = sorted(set(people["transcript_id"]))
    kinds = dict(drawn.run.factors.select("transcript_id", "kind").iter_rows())
    values = _crises(rng, np.array([kinds[name] == "crisis" for name in names]))
    place = {name: number for number, name in enumerate(names)}
    column = {rater: number for number, rater in enumerate(sorted(set(people["rater"])))}
    level = [values[place[name], column[rater]] for name, rater in people.select("transcript_id", "rater").iter_rows()]
    return drawn.study(people.with_columns(value=pl.Series(level)), _mixed())


def _crises(rng: np.random.Generator, crisis: Values) -> Values:
    shared = np.where(crisis[:, None], -1.0, 0.3) + 0.8 * rng.normal(size=(crisis.size, 1))
    return levels(shared + np.where(crisis[:, None], 0.9, 0.5) * rng.normal(size=(crisis.size, 2)))


@cache
def _mixed() -> Mapping[str, float]:
    share = CRISES / (CRISES + ROUTINE)

    def draw(rng: np.random.Generator, items: int) -> Values:
        return _crises(rng, rng.random(items) < share)

    return truths(draw, (1.0, 2.0, 3.0, 4.0, 5.0), "quadratic", "ordinal")


def beside_people(rng: np.random.Generator, items: int) -> Study:
    """A judge that is one more rater like the three people."""
    values = MODERATE[4](rng, items)
    frame = rated(values[None, :, None, :], raters=(JUDGE, *PEOPLE[:3]), metric="stars")
    return Study(frame, truths(MODERATE[3], (1, 2, 3, 4, 5), "quadratic", "ordinal"))


def rated_twice(rng: np.random.Generator, units: int) -> Study:
    """A person rates a second time .3 lower, in units of 1."""
    first = 50 + 5 * rng.normal(size=units)
    second = first - 3 + 6 * rng.normal(size=units)
    frame = rated(
        np.stack([first, second], axis=1)[None, :, None, :], raters=[(PEOPLE[0], 0), (PEOPLE[0], 1)], metric="seconds"
    )
    return Study(frame, -3.0)


#: Draws by the number of raters, of whose latent variance two thirds are shared.
MODERATE: dict[int, Draw] = {count: partial(of_levels, raters=count, reliable=0.7) for count in (2, 3, 4, 5, 8, 20)}
WORDS = {"kappa": "κ", "ac": "AC", "fleiss": "Fleiss' κ", "alpha": "α", "icc": "ICC"}


def coefficient(name: str, kind: str = "people", limits: tuple[float, float] = COVERS, why: str = "") -> Check:
    """Whether the interval of a coefficient holds it."""
    whose = "a judge's " if kind == "mean" else ""
    return covers(
        f"{whose}{WORDS[name]}'s interval holds it", table="agreement", ends=("low", "high"), limits=limits, why=why,
        truth=lambda truth: float(truth[name]), statistic=name, kind=kind,
    )  # fmt: skip


def agrees(**options: Any) -> Question:
    """``bedside agree``."""
    return Question(("agree",), bedside.agree, options)


def agreement_designs() -> Iterator[Design]:
    """By ``bedside agree``."""
    three = (coefficient("kappa"), coefficient("ac"), coefficient("alpha"))
    steps = "two raters disagree on so few of 15 items that its interval goes in steps"
    few_steps = (coefficient("kappa"), coefficient("ac", limits=(0.9, 0.97), why=steps), coefficient("alpha"))
    stars = agrees(scales="1-5")
    sizes = {
        "2 raters, 50 items, levels": (2, 50, 0.0), "2 raters, 15 items, levels": (2, 15, 0.0),
        "3 raters, 20 items, levels": (3, 20, 0.0), "5 raters, 40 items, two in five ratings missing": (5, 40, 0.4),
        "8 raters, 15 items, levels": (8, 15, 0.0), "20 raters, 10 items, levels": (20, 10, 0.0),
        "20 raters, 20 items, levels": (20, 20, 0.0), "20 raters, 30 items, half of ratings missing": (20, 30, 0.5),
    }  # fmt: skip
    for name, (raters, items, gaps) in sizes.items():
        of_stars = partial(study, draw=MODERATE[raters], items=items, gaps=gaps)
        # With gaps, pairs share too few items for an interval of κ, and Fleiss' has only items that all rated.
        checks = three[1:] if gaps else (*(few_steps if raters * items == 30 else three), coefficient("fleiss"))
        yield Design(name, stars, of_stars, checks, few=5 if raters < 20 else 2)
    rare: Mapping[str, Any] = {"scale": (0.0, 1.0), "weights": "unweighted", "metric": "nominal", "name": "danger"}
    others: dict[str, tuple[Question, Callable[[np.random.Generator], Study]]] = {
        "2 raters, 60 items, three kinds": (agrees(), partial(in_words, draw=partial(of_kinds, raters=2), items=60)),
        "3 raters, 120 items, yes in 10 %":
            (agrees(scales="0,1"), partial(study, draw=partial(yes_in_ten, raters=3), items=120, **rare)),
        "3 raters, 25 cases of 4 transcripts": (stars, partial(clustered, cases=25, each=4, raters=3, turns=False)),
        "2 raters, 12 transcripts of 15 turns": (stars, partial(clustered, cases=12, each=15, raters=2, turns=True)),
        "2 raters, strata of 20 + 20 cases": (agrees(metrics="empathy"), drawn_by_strata),
    }  # fmt: skip
    for name, (question, draw) in others.items():
        yield Design(name, question, draw, three)
    for raters, items in ((3, 30), (10, 20)):
        at_hand = partial(by_raters_at_hand, items=items, raters=raters)
        yield Design(f"{raters} raters, {items} items, raters like them", agrees(), at_hand, (coefficient("icc"),))
    generality = tuple(
        covers(f"{words} of one rater's interval holds it", table="generalisability", name=field,
               truth=itemgetter(field))
        for field, words in (("phi", "Φ"), ("g", "G"))
    )  # fmt: skip
    for raters, items in ((3, 60), (5, 100)):
        name = f"{raters} raters, {items} items, most at one level"
        yield Design(name, stars, partial(skewed, items=items, raters=raters), generality)
    both = (coefficient("kappa", "mean"), coefficient("kappa"))
    yield Design("a judge beside 3 people, 40 items", stars, partial(beside_people, items=40), both)
    retest = Question((), bedside.tables, {"names": "retest"})
    shift = covers("the shift's interval holds it", table="retest", name="shift")
    name = "25 units rated twice, the second time more severely"
    yield Design(name, retest, partial(rated_twice, units=25), (shift,))
