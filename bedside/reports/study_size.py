"""Tables of what a study needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bedside.analysis.study_size import DifferenceSizes, KappaSizes, PairedTestSize
from bedside.reports.columns import recorded, table_of
from bedside.reports.number_text import decimal, number, rater_words
from bedside.reports.table import Table
from bedside.reports.table_content import Column
from bedside.stats.sample_size import SampleSize

_whole = partial(number, digits=0)
_TEST_WORDS = {"t": "paired t", "wilcoxon": "Wilcoxon signed-rank"}


_READINGS = {"near": "Raters who miss by a level or so", "guessing": "Raters who guess where they disagree"}


KAPPA_COLUMNS = (
    recorded("disagreement"),
    Column("Raters", "left", field="raters"),
    Column("By formula", field="items_formula", value=lambda size: size.formula.n if size.formula else None,
           form=_whole),
    Column("By simulation", field="items", value="simulation.n", form=_whole),
    Column("Ratings in all", field="ratings", form=_whole),
    Column("Half-width reached", field="half_width_reached", value="simulation.reached",
           form=partial(decimal, digits=3)),
    recorded(simulations="simulation.simulations", method="simulation.method", missing="simulation.missing"),
)  # fmt: skip


def kappa_table(sizes: KappaSizes) -> Table:
    """Items needed for kappa's interval, for each number of raters, under each way to disagree."""
    how = "unweighted" if sizes.weights == "none" else sizes.weights
    several = len({size.disagreement for size in sizes.by_raters}) > 1
    return table_of(
        "plan",
        f"Transcripts for kappa ± {sizes.half_width:g} where kappa is {sizes.kappa:g}",
        sizes.by_raters,
        KAPPA_COLUMNS,
        group=lambda size: _READINGS[size.disagreement] if several else None,
        notes=(
            f"Kappa {how}, mean over pairs of raters; {len(sizes.shares)} levels with shares "
            f"{', '.join(decimal(share) for share in sizes.shares)}; every rater rates every transcript; "
            "transcripts are independent of each other.",
            *_reading_notes(several),
            "By formula: large-sample variance (Fleiss, Cohen and Everitt 1969). By simulation: mean half-width of the "
            f"interval that bedside agree reports, 200 studies or more, seed {sizes.seed}.",
        ),
    )


def _reading_notes(several: bool) -> tuple[str, ...]:
    guessing = "a rater gives a transcript's own level, or draws a level by the shares, as likely far from it as near"
    if not several:
        return (f"Raters who disagree are taken to guess: {guessing}.",)
    return (
        "Miss by a level or so: each rater sees a transcript's place on a normal scale, with a normal error. The "
        "levels' shares cut the scale. This is how raters of ordered levels mostly disagree.",
        f"Guess: {guessing}. This fits labels without order. Plan for it where raters may mistake the lowest level for "
        "the highest.",
    )


DIFFERENCE_COLUMNS = (
    Column("Test", "left", field="test", value=lambda size: _TEST_WORDS[size.test]),
    Column("Cases", field="pairs", value="cases.n", form=_whole),
    Column("Power", field="power", value="cases.reached", form=decimal),
    Column("Power on the pilot", field="power_on_pilot", value="pilot_power", form=decimal),
    recorded(fewest_pairs="fewest", simulations="cases.simulations", method="cases.method", missing="cases.missing"),
)


def difference_table(sizes: DifferenceSizes) -> Table:
    """Pairs needed to find a mean difference with two tests, checked on the pilot where there is one."""
    pilot = sizes.pilot
    source = (
        f"of a pilot of {len(pilot.differences)} cases rated by {rater_words(pilot.raters)}"
        if pilot is not None
        else "as given"
    )
    family = f" (.05 over {sizes.tests} tests)" if sizes.tests > 1 else ""
    on_pilot = "Power on the pilot: t test on 2000 samples drawn from the pilot, moved to the difference asked for."
    return table_of(
        "plan",
        f"Cases to find a mean difference of {sizes.difference:g} with power {sizes.power:g}",
        sizes.by_test,
        DIFFERENCE_COLUMNS,
        notes=(
            f"Standard deviation of the differences {sizes.sd:.3g}, {source}; two-sided, alpha "
            f"{sizes.alpha:.3g}{family}.",
            "Every case is scored with both systems. A case counts once, by its mean, however many transcripts, passes "
            "and raters it has.",
            *(_signed_rank_note(size, sizes) for size in sizes.by_test if size.test == "wilcoxon"),
            *((on_pilot,) if pilot is not None else ()),
        ),
    )


def _signed_rank_note(size: PairedTestSize, sizes: DifferenceSizes) -> str:
    """How Wilcoxon's number came to be, and from how many cases on that test can be significant."""
    if size.cases.simulations:
        how = (
            f"Wilcoxon: by the exact test on {size.cases.simulations:,} simulated studies, seed {sizes.seed}, with "
            "normal differences."
        )
    else:
        how = "Wilcoxon: the t test's number over 3/π, as if differences were normal."
    return (
        f"{how} Of fewer than {size.fewest} cases its smallest possible p is above {sizes.alpha:.3g}. Ties, as whole "
        "levels have them, cost power: below 20 cases about a tenth of it."
    )


JUDGE_COLUMNS = (
    Column("People", "left", value=lambda row: row[0]),
    Column("Cases", field="cases", value=lambda row: row[1].n, form=_whole),
    Column("Power", field="power", value=lambda row: row[1].reached, form=decimal),
    recorded(method=lambda row: row[1].method, missing=lambda row: row[1].missing,
             simulations=lambda row: row[1].simulations),
)  # fmt: skip


def judge_table(raters: Sequence[int], sizes: Sequence[SampleSize], margin: float) -> Table:
    """Cases that show a judge to be no worse than one person, for each number of people."""
    return table_of(
        "plan",
        f"Cases to show that a judge is no worse than one person, within {decimal(margin)}",
        list(zip(raters, sizes, strict=True)),
        JUDGE_COLUMNS,
        notes=(
            *dict.fromkeys(f"{size.method[0].upper()}{size.method[1:]}." for size in sizes),
            "Every person rates one unit of each case. Units that share a case tell less: more cases are needed then.",
        ),
    )
