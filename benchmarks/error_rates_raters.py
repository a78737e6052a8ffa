"""How often people as raters make a difference of systems where there is none.

Null data: systems that people like them would rate alike, in means of many. Each person has a taste: what this person
makes of each system beside others (rater × system), in points of a scale of 1 to 5. A test over cases, raters averaged
first, takes the taste of few people for a difference of systems; the quasi-F of cases × raters, which ``bedside
compare`` takes from three people on, does not. Of three systems, the test of all at once is the smallest p of the
pairs, corrected. Run it with ``--runs 5000`` for the tables in the docs.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from itertools import chain, combinations, product

import numpy as np
import polars as pl
import scipy.stats

from bedside.analysis.rater_effects import rater_design
from bedside.analysis.ratings_view import open_ratings_view
from bedside.stats import crossed_raters

Table = np.ndarray

RATERS = (2, 3, 5, 8)
TASTES = (0.0, 0.15, 0.3)
CASES = (10, 20, 40)
#: Standard deviations in points: of cases, of what a system makes of a case, of people, of a single rating.
CASE, CASE_BY_SYSTEM, PERSON, SINGLE = 0.6, 0.3, 0.4, 0.62


def ratings(
    rng: np.random.Generator, cases: int, raters: int, taste: float, *, paired: bool, binary: bool = False
) -> tuple[Table, Table]:
    """Two systems' ratings, cases × raters: levels 1 to 5, or 1 where the latent rating is above a fifth's."""
    person = rng.normal(0, PERSON, raters)
    own = rng.normal(0, CASE, (2, cases, 1))
    if paired:
        own[1] = own[0]
    own = own + rng.normal(0, CASE_BY_SYSTEM, (2, cases, 1))
    latent = own + person + rng.normal(0, taste, (2, 1, raters)) + rng.normal(0, SINGLE, (2, cases, raters))
    values = (latent > 0.85).astype(float) if binary else np.clip(np.round(3 + latent), 1, 5)
    return values[0], values[1]


def designs() -> Iterator[tuple[bool, bool, int, int, float]]:
    """Whether cases pair, whether ratings are 0 or 1, cases, people, taste."""
    yield from product((True,), (False,), CASES, RATERS, TASTES)
    for paired, binary in ((False, False), (True, True)):
        yield from product((paired,), (binary,), CASES, (3, 8), (0.0, 0.3))


def lines(runs: int, seed: int) -> Iterator[str]:
    """A row for each design: in how many of the studies each test rejects at 5 %."""
    yield "| ratings | cases | people | taste | quasi-F | over cases |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for paired, binary, cases, raters, taste in designs():
        rng = np.random.default_rng((seed, cases, raters, int(100 * taste), paired, binary))
        test = crossed_raters.paired_difference if paired else crossed_raters.unpaired_difference
        quasi = 0
        means = np.empty((2, runs, cases))
        for run in range(runs):
            x, y = ratings(rng, cases, raters, taste, paired=paired, binary=binary)
            p = test(x, y).p
            quasi += p is not None and p <= 0.05
            means[:, run] = x.mean(axis=1), y.mean(axis=1)
        over_cases = 100 * np.mean(_over_cases(*means, paired=paired) <= 0.05)
        few = raters < crossed_raters.FEWEST_RATERS
        shown = "these raters only" if few else f"{100 * quasi / runs:.1f} %"
        words = f"{'0 or 1' if binary else '1 to 5'}, {'paired' if paired else 'own cases'}"
        yield f"| {words} | {cases} | {raters} | {taste:g} | {shown} | {over_cases:.1f} % |"


def _over_cases(x: Table, y: Table, *, paired: bool) -> Table:
    """p of a t test over cases, for each study; 1 where no case differs."""
    with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tested = scipy.stats.ttest_rel(x, y, axis=1) if paired else scipy.stats.ttest_ind(x, y, axis=1, equal_var=False)
    return np.nan_to_num(tested.pvalue, nan=1.0)


def three_systems(runs: int, seed: int) -> Iterator[str]:
    """Three systems that the same people rate: all at once, one pair of them, and Friedman's test of case means."""
    yield "| three systems | cases | people | taste | all at once | a pair | Friedman over cases |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    designs = (
        (True, (0.0, 0.0, 0.0)), (True, (0.3, 0.3, 0.3)), (True, (0.4, 0.0, 0.0)),
        (False, (0.0, 0.0, 0.0)), (False, (0.3, 0.3, 0.3)),
    )  # fmt: skip
    for (paired, tastes), cases, raters in product(designs, CASES, (3, 8)):
        rng = np.random.default_rng((seed, cases, raters, int(100 * tastes[0]), int(100 * tastes[1]), paired))
        tables = three_tables(rng, (runs, cases, raters), tastes, paired=paired)
        pairs = [(tables[:, first], tables[:, second]) for first, second in combinations(range(3), 2)]
        of_pair = rejections(*pairs[0], paired=paired, level=0.05)
        some = np.any([rejections(*pair, paired=paired, level=0.05 / 3) for pair in pairs], axis=0)
        for run in range(min(runs, 20)):
            check(tables[run], bool(of_pair[run]), bool(some[run]), paired=paired)
        taste = f"{tastes[0]:g}" if tastes[1] == tastes[0] else f"{tastes[0]:g} of one system"
        over_cases = ""
        if paired:
            means = tables.mean(axis=3)
            p = scipy.stats.friedmanchisquare(means[:, 0], means[:, 1], means[:, 2], axis=1).pvalue
            over_cases = f"{100 * np.mean(p <= 0.05):.1f} %"
        yield (
            f"| {'paired' if paired else 'own cases'} | {cases} | {raters} | {taste} | {100 * some.mean():.1f} % | "
            f"{100 * of_pair.mean():.1f} % | {over_cases} |"
        )


def rejections(x: Table, y: Table, *, paired: bool, level: float) -> Table:
    """In which studies the quasi-F of cases × raters rejects, all studies at once.

    Args:
        x, y: two systems' ratings, studies × cases × raters.
        paired: whether cases pair.
        level: of the test.
    """
    _, cases, raters = x.shape
    size = cases * raters
    tables = [x - y] if paired else [x, y]
    squares = [mean_squares(table) for table in tables]
    by_rater = squares[0][1] / size if paired else (x - y).mean(axis=1).var(axis=1, ddof=1) / raters
    by_case = sum(square[0] for square in squares) / size
    error = sum(square[2] for square in squares) / size
    variance = np.maximum.reduce([by_case + by_rater - error, by_case, by_rater])
    t = scipy.stats.t.isf(level / 2, [cases - 1, raters - 1])
    critical = (by_case * t[0] + by_rater * t[1]) / (by_case + by_rater)
    return np.abs(x.mean(axis=(1, 2)) - y.mean(axis=(1, 2))) >= critical * np.sqrt(variance)


def mean_squares(tables: Table) -> tuple[Table, Table, Table]:
    """Mean squares of cases, raters and error of each study's cases × raters."""
    _, cases, raters = tables.shape
    rows, columns = tables.mean(axis=2), tables.mean(axis=1)
    rest = tables - rows[:, :, None] - columns[:, None, :] + tables.mean(axis=(1, 2))[:, None, None]
    return (
        raters * rows.var(axis=1, ddof=1),
        cases * columns.var(axis=1, ddof=1),
        (rest**2).sum(axis=(1, 2)) / ((cases - 1) * (raters - 1)),
    )


def check(tables: Table, of_pair: bool, some: bool, *, paired: bool) -> None:
    """See that bedside's tests of a study reject as :func:`rejections` says."""
    test = crossed_raters.paired_difference if paired else crossed_raters.unpaired_difference
    pairs = [test(x, y) for x, y in combinations(tables, 2)]
    assert ((pairs[0].p or 0.0) <= 0.05) == of_pair
    assert ((crossed_raters.some_difference(pairs).p or 0.0) <= 0.05) == some


def three_tables(
    rng: np.random.Generator, shape: tuple[int, int, int], tastes: tuple[float, ...], *, paired: bool
) -> Table:
    """Levels 1 to 5 of three systems: studies × systems × cases × raters.

    Args:
        rng: what draws.
        shape: studies, cases, raters.
        tastes: standard deviation of what raters make of each system.
        paired: whether systems share cases.
    """
    runs, cases, raters = shape
    own = rng.normal(0, CASE, (runs, 1 if paired else 3, cases, 1))
    own = own + rng.normal(0, CASE_BY_SYSTEM, (runs, 3, cases, 1))
    taste = np.array(tastes)[:, None, None] * rng.normal(size=(runs, 3, 1, raters))
    person = rng.normal(0, PERSON, (runs, 1, 1, raters))
    latent = own + person + taste + rng.normal(0, SINGLE, (runs, 3, cases, raters))
    return np.clip(np.round(3 + latent), 1, 5)


#: Designs with gaps, by which people rate a case under each system: words, cases paired, and (cases, people).
GAPS: dict[str, tuple[bool, tuple[tuple[int, int], ...]]] = {
    "half of the cases by two": (True, ((60, 3), (40, 10))),
    "each case by two": (True, ((20, 3), (60, 3), (40, 5))),
    "one person all cases": (True, ((40, 5),)),
    "each conversation by two": (True, ((20, 3), (40, 3), (20, 10))),
    "one person one system": (True, ((20, 4), (40, 4))),
    "mostly one system": (True, ((20, 3), (40, 3))),
    "own cases, half by two": (False, ((20, 3), (40, 3), (30, 10))),
}


def who_rated(rng: np.random.Generator, words: str, case: int, people: int) -> tuple[list[int], list[int]]:
    """The people who rated a case under the first system, and under the second."""
    two, all_of_them = rng.choice(people, 2, replace=False).tolist(), list(range(people))
    third = [2] if case % 3 == 0 else []
    match words:
        case "each case by two":
            return two, two
        case "one person all cases":
            return ([0, 1 + case % (people - 1)],) * 2
        case "each conversation by two":
            return two, rng.choice(people, 2, replace=False).tolist()
        case "one person one system":
            return all_of_them, all_of_them[:-1]
        case "mostly one system":
            return [0, *([1] if case % 4 == 0 else []), *third], [1, *([0] if case % 4 == 1 else []), *third]
        case _:
            return (all_of_them if case % 2 else two,) * 2


def with_gaps(runs: int, seed: int) -> Iterator[str]:
    """People who rated some of the cases each: how often the mixed model finds a difference."""
    yield "| who rated | cases | people | taste | mixed model |"
    yield "| --- | --- | --- | --- | --- |"
    for words, (paired, sizes) in GAPS.items():
        for (cases, people), taste in product(sizes, (0.0, 0.3)):
            rng = np.random.default_rng((seed, cases, people, int(10 * taste)))
            found = told = 0
            for _ in range(runs):
                tables = ratings(rng, cases, people, taste, paired=paired, binary=False)
                rows = [
                    (tables[system][number, person], system, number, person)
                    for number in range(cases)
                    for system, raters in enumerate(who_rated(rng, words, number, people))
                    for person in raters
                ]
                values, systems, numbers, raters = map(list, zip(*rows, strict=True))
                p = crossed_raters.difference_with_gaps(values, systems, numbers, raters, paired=paired).p
                told += p is not None
                found += p is not None and p <= 0.05
            yield f"| {words} | {cases} | {people} | {taste:g} | {100 * found / max(told, 1):.1f} % |"


def confounded(runs: int, seed: int) -> Iterator[str]:
    """Two people rate one system and two others the other: how often it looks like a difference, and is warned of."""
    yield "| cases | people differ by (SD) | over cases | warned |"
    yield "| --- | --- | --- | --- |"
    for cases, person in product(CASES, (0.0, 0.2, 0.4)):
        rng = np.random.default_rng((seed, cases, int(100 * person)))
        found = warned = 0
        looked_at = min(runs, 20)
        for run in range(runs):
            own = rng.normal(0, CASE, (cases, 1))
            sides = [
                np.clip(
                    np.round(3 + own + rng.normal(0, person, 2) + rng.normal(0, CASE_BY_SYSTEM, (cases, 1))
                             + rng.normal(0, SINGLE, (cases, 2))), 1, 5,
                )
                for _ in range(2)
            ]  # fmt: skip
            found += scipy.stats.ttest_rel(*(side.mean(axis=1) for side in sides)).pvalue <= 0.05
            if run < looked_at:
                warned += _is_warned(sides)
        yield f"| {cases} | {person:g} | {100 * found / runs:.1f} % | {warned} of {looked_at} |"


def _is_warned(sides: list[Table]) -> bool:
    rows = [
        (f"{system}{case}", system, str(case), f"{system}{person}", "empathy", value)
        for system, side in zip("AB", sides, strict=True)
        for case, values in enumerate(side)
        for person, value in enumerate(values)
    ]
    frame = pl.DataFrame(rows, schema=["item", "system", "case", "rater", "metric", "value"], orient="row")
    design = rater_design(open_ratings_view(frame), "empathy", ("A", "B"))
    return design is not None and design.is_confounded


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    tables = {"pairs": lines, "several": three_systems, "gaps": with_gaps, "confounded": confounded}
    parser.add_argument("--only", choices=tuple(tables), default="", help="one of the tables")
    options = parser.parse_args()
    print(f"{options.runs} studies a row, seed {options.seed}\n")
    parts = [table for name, table in tables.items() if options.only in ("", name)]
    for line in chain.from_iterable(chain(part(options.runs, options.seed), [""]) for part in parts):
        print(line, flush=True)


if __name__ == "__main__":
    main()
