"""Worked examples of the statistics, for docs/statistics.md: ``python -m replications.textbooks`` prints them."""

from __future__ import annotations

from collections.abc import Mapping

from bedside.stats import (
    alternative_annotator,
    families,
    intervals,
    many_raters,
    paired,
    prediction_powered,
    reliability,
    several,
    two_raters,
    unpaired,
)
from replications._figures import Figure, Number

_FLEISS = (
    "00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031 00501 30012 51000 02040 "
    "10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006"
)
_ALPHA = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def _example(what: str, published: str, ours: Number) -> Figure:
    return Figure("", what, "", "", published, ours)


def figures() -> list[Figure]:
    """The examples."""
    counts = [[int(digit) for digit in row] for row in _FLEISS.split()]
    fleiss = many_raters.fleiss_kappa_from_counts(counts)
    everitt = two_raters.kappa_from_counts([[106, 10, 4], [22, 28, 10], [2, 12, 6]])
    cohen = two_raters.kappa_from_counts([[88, 14, 18], [10, 40, 10], [2, 6, 12]])
    fun = [[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]]
    gwet_pairs = _pairs([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
    gwet = many_raters.gwet_ac(gwet_pairs, scale=[0, 1, 2])
    units = list(zip(*[[None if c == "." else int(c) for c in row] for row in _ALPHA], strict=True))
    alpha = {
        metric: reliability.krippendorff_alpha(units, metric=metric, scale=[1, 2, 3, 4, 5]).estimate
        for metric in ("nominal", "ordinal", "interval", "ratio")
    }
    targets = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    permeability = unpaired.mann_whitney(
        [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46], [1.15, 0.88, 0.90, 0.74, 1.21], method="exact"
    )
    tied = unpaired.mann_whitney([3, 4, 2, 5, 4, 4, 3], [2, 3, 3, 1, 2, 4, 2, 3], method="exact")
    mcnemar = {
        method: paired.mcnemar_from_table([[794, 150], [86, 570]], method=method).p
        for method in ("exact", "mid-p", "chi-squared", "corrected")
    }
    bland = two_raters.bland_altman(
        [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427],
        [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451],
    )
    holm = families.adjusted([0.01, 0.04, 0.03, 0.005], method="holm")
    wilson = intervals.wilson(81, 263).interval
    human, judge = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1], [1, 0, 1, 0, 0, 1, 1, 0, 1, 1]
    rest = [1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1]
    powered = {weight: prediction_powered.mean(human, judge, rest, weight=weight).estimate for weight in (0.0, 1.0)}
    kendall = two_raters.correlation(
        [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1], [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8],
        kind="kendall",
    )  # fmt: skip
    assert wilson is not None
    return [
        _example("Fleiss 1971, κ", ".430", fleiss.estimate),
        _example("Fleiss, Cohen and Everitt 1969, κ", ".4286", everitt.estimate),
        _example("Cohen 1968, κ", ".4915", cohen.estimate),
        _example("sexual fun, κ", ".1293", two_raters.kappa_from_counts(fun).estimate),
        _example("sexual fun, κ with linear weights", ".2374",
               two_raters.kappa_from_counts(fun, weights="linear").estimate),
        _example("sexual fun, κ with quadratic weights", ".3320",
               two_raters.kappa_from_counts(fun, weights="quadratic").estimate),
        _example("Gwet's AC1", ".8493", gwet.estimate),
        _example("Krippendorff C, nominal α", ".743", alpha["nominal"]),
        _example("Krippendorff C, ordinal α", ".815", alpha["ordinal"]),
        _example("Krippendorff C, interval α", ".849", alpha["interval"]),
        _example("Krippendorff C, ratio α", ".797", alpha["ratio"]),
        _example("Shrout and Fleiss, ICC(2,1)", ".29", reliability.icc(targets).estimate),
        _example("Shrout and Fleiss, ICC(2,k)", ".62", reliability.icc(targets, average=True).estimate),
        _example("permeability, Mann–Whitney U", "35", permeability.statistic),
        _example("permeability, exact p", ".2544", permeability.p),
        _example("samples with ties, exact p", ".0873", tied.p),
        _example("McNemar, exact p", ".0000372", mcnemar["exact"]),
        _example("McNemar, mid-p", ".0000289", mcnemar["mid-p"]),
        _example("McNemar, χ² without correction, p", ".0000310", mcnemar["chi-squared"]),
        _example("Friedman, rounding first base, χ²", "11.1429", several.friedman(_rounding()).statistic),
        _example("Kendall's τ (R's example)", ".4444", kendall.estimate),
        _example("Bland and Altman 1986, bias", "-2.1", bland.estimate),
        _example("Bland and Altman 1986, lower limit", "-78.1", bland.details["lower limit"]),
        _example("Bland and Altman 1986, upper limit", "73.9", bland.details["upper limit"]),
        _example("Holm of .01 .04 .03 .005, the second", ".06", float(holm[1])),
        _example("Rogan–Gladen, 23 of 150, .96 and .89", ".0510",
               prediction_powered.rogan_gladen_from_rates(23, 150, sensitivity=0.96, specificity=0.89).estimate),
        _example("Wilson, 81 of 263, low", ".2553", wilson.low),
        _example("Wilson, 81 of 263, high", ".3662", wilson.high),
        _example("prediction-powered mean, full weight", ".65", powered[1.0]),
        _example("prediction-powered mean, no weight", ".60", powered[0.0]),
        *_annotators(),
    ]  # fmt: skip


def _pairs(counts: list[list[int]]) -> list[tuple[int, int]]:
    """The ratings that a square table counts."""
    return [(a, b) for a, row in enumerate(counts) for b, count in enumerate(row) for _ in range(count)]


def _rounding() -> list[list[float]]:
    text = (
        "5.40,5.50,5.55;5.85,5.70,5.75;5.20,5.60,5.50;5.55,5.50,5.40;5.90,5.85,5.70;5.45,5.55,5.60;5.40,5.40,5.35;"
        "5.45,5.50,5.35;5.25,5.15,5.00;5.85,5.80,5.70;5.25,5.20,5.10;5.65,5.55,5.45;5.60,5.35,5.45;5.05,5.00,4.95;"
        "5.50,5.50,5.40;5.45,5.55,5.50;5.55,5.55,5.35;5.45,5.50,5.55;5.50,5.45,5.25;5.65,5.60,5.40;5.70,5.65,5.55;"
        "6.30,6.30,6.25"
    )
    return [[float(value) for value in row.split(",")] for row in text.split(";")]


def _annotators() -> list[Figure]:
    """The alternative annotator test on a made-up set of forty items and three people."""
    truth = [item % 2 for item in range(40)]
    flips: Mapping[str, list[bool]] = {
        "judge": [item % 10 == 7 for item in range(40)],
        "second": [item % 5 == 0 for item in range(40)],
        "third": [item % 4 == 3 for item in range(40)],
    }
    said = {name: ["AB"[value ^ flip] for value, flip in zip(truth, flipped, strict=True)]
            for name, flipped in flips.items()}  # fmt: skip
    people = list(zip(["AB"[value] for value in truth], said["second"], said["third"], strict=True))
    found = {
        epsilon: alternative_annotator.alternative_annotator(said["judge"], people, epsilon=epsilon)
        for epsilon in (0.1, 0.15)
    }
    return [
        _example("alternative annotator test, ρ", ".95", found[0.1].advantage),
        _example("alternative annotator test, ω at ε = .1", ".67", found[0.1].winning_rate),
        _example("alternative annotator test, ω at ε = .15", "1", found[0.15].winning_rate),
    ]


def table() -> str:
    """The examples as a Markdown table."""
    lines = [f"| {one.row} | {one.published} | {one.shown} |" for one in figures()]
    return "\n".join(["| example | published | bedside |", "| --- | ---: | ---: |", *lines])


if __name__ == "__main__":
    print(table())
