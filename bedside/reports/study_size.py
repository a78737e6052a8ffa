"""Tables of what a study needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from bedside.analysis.study_size import DifferenceSizes, KappaSizes, PairedTestSize, PlannedRaters, RaterPlan
from bedside.core.words import counted
from bedside.reports.columns import bounded, recorded, table_of
from bedside.reports.number_text import decimal, number, rater_words, share_words
from bedside.reports.table import Table
from bedside.reports.table_content import DASH, Column
from bedside.stats.crossed_raters import FEWEST_RATERS
from bedside.stats.generalisability import MOST_RATERS, raters_for
from bedside.stats.sample_size import FEW_RATERS, MOST_CASES, SMALL_PILOT, SampleSize

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


def _by_estimates(design: PlannedRaters) -> str:
    """The cases by the pilot's estimates alone, and how many its draws ask for."""
    if design.cases is None:
        return DASH
    numbers = (design.cases.single, design.cases.low, design.cases.high)
    single, *ends = (_whole(n) if n <= MOST_CASES else f">{MOST_CASES:,}" for n in numbers)
    return f"{single} [{', '.join(ends)}]"


RATER_COLUMNS = (
    Column("Raters", field="raters"),
    Column("Passes", field="passes"),
    Column("Cases", field="cases", value=lambda design: design.cases and design.cases.n, form=_whole, optional=True),
    Column("Ratings", field="ratings", form=_whole),
    Column("Coefficient [95 % CI]", text=lambda design: share_words(design.coefficient), optional=True),
    bounded(coefficient="coefficient"),
    Column("Chance", field="chance", form=decimal),
    Column("By the estimates [95 % CI]", text=_by_estimates, optional=True,
           note="By the estimates: cases if the pilot's variances were the truth; in brackets what 95 % of their draws "
           "ask."),
    recorded("reaches", "missing", lambda design: {} if design.cases is None else {
        "cases_by_estimates": design.cases.single, "cases_low": design.cases.low, "cases_high": design.cases.high,
    }),
)  # fmt: skip


def rater_plan_table(plan: RaterPlan) -> Table:
    """Raters, passes and cases that a study needs after its pilot: the answer, and designs, the cheapest that will do
    first."""
    missing: dict[str, list[str]] = {}
    for design in plan.designs:
        if design.missing:
            missing.setdefault(design.missing, []).append(f"{design.raters} × {design.passes}")
    reasons = (f"{DASH}: {why} (raters × passes: {', '.join(which)})." for why, which in missing.items())
    notes = (*_untold(plan), *_assumed(plan), *reasons)
    return table_of("plan", _needed(plan), plan.designs, RATER_COLUMNS, notes=notes)


def _needed(plan: RaterPlan) -> str:
    """The answer in a sentence, two where it isn't known."""
    best, title = plan.designs[0], plan.facts.title
    of = f" ({' − '.join(plan.systems)})" if plan.systems else ""
    verb, aim = "reach", f"{plan.goal} {decimal(plan.target)} on {title}{of}"
    if plan.goal == "half-width":
        verb, aim = "put", f"the mean of {title}{of} within ± {number(plan.target)}"
    elif plan.goal == "difference":
        verb, aim = "show", f"a difference of {number(plan.target)} in {title}{of}"
    if best.reaches:
        often = "" if best.passes == 1 else f", {best.passes} times each,"
        raters, chance = counted(best.raters, "rater") + often, decimal(best.chance)
        if best.cases is None:
            verb += "es" if best.raters == 1 else ""
            return f"{raters} {verb} {aim} with a chance of {chance}: {share_words(best.coefficient)}"
        return f"{counted(best.cases.n or 0, 'case')} with {raters} {verb} {aim} with a chance of {chance}"
    return _unreached(plan, verb, aim)


def _unreached(plan: RaterPlan, verb: str, aim: str) -> str:
    """What is known where no design reaches it: that more raters are needed, or nothing for want of a larger pilot."""
    is_coefficient, missing = plan.goal in ("Φ", "G"), {design.missing for design in plan.designs}
    most = max(design.raters for design in plan.designs)
    unknown = f"How many {'raters' if is_coefficient else 'cases'} {verb} {aim} is not known"
    if plan.larger is not None:
        larger = "{1} cases and {0} raters".format(*plan.larger)
        return f"{unknown}: {SMALL_PILOT}. A pilot of {larger} with the same variances would tell"
    if SMALL_PILOT not in missing:
        if FEW_RATERS in missing:
            return f"No number of cases {verb}s {aim} with {most} raters or fewer, by the pilot's estimates"
        if "" not in missing:
            return f"{unknown}: {plan.designs[0].missing}"
        passes = max(design.passes for design in plan.designs if design.coefficient)
        single = plan.study.coefficient("absolute" if plan.goal == "Φ" else "relative", raters=1, repeats=passes)
        needed = raters_for(single.estimate or 0.0, plan.target)
        if needed is None or needed > most:
            least = f"more than {MOST_RATERS:,} raters" if needed is None else f"{needed} raters or more"
            often = f", {passes} times each," if passes > 1 else ""
            return f"{aim} needs {least}{often} by the pilot's estimates, and the plans have at most {most}"
    return f"{unknown}: {SMALL_PILOT}, and so are the larger ones that were tried"


def _untold(plan: RaterPlan) -> Iterator[str]:
    """What the pilot can't tell apart, with the consequence."""
    if plan.study.of_repeats is None:
        yield "Nobody rated anything twice: what a second pass of the same rater brings is not known."
    if plan.goal not in ("Φ", "G") and not plan.several:
        yield "Each case had one transcript: what a second transcript of a case brings is not known."
    if plan.pooled > 1:
        yield f"{plan.pooled} systems stand together: what they differ by counts as differences of units."
    if plan.study.raters < FEWEST_RATERS:
        yield "The pilot had two raters: how much raters differ is hardly known."


def _assumed(plan: RaterPlan) -> Iterator[str]:
    """What the pilot was, and how the numbers came to be."""
    study, is_coefficient, levels = plan.study, plan.goal in ("Φ", "G"), plan.levels
    names: tuple[str, ...] = ("units" if is_coefficient else "cases", "raters", "the rest")
    shares = 100 * study.parts / max(study.parts.sum(), 1e-300)
    names = (*names, "passes")[: 3 + (study.of_repeats is not None)]
    parts = ", ".join(f"{name} {share:.0f} %" for name, share in zip(names, shares, strict=False))
    yield (
        f"The pilot: {counted(plan.cases, 'case')}, {study.raters} raters, {counted(study.ratings, 'value')}. "
        f"Variance{' of differences' if len(plan.systems) == 2 else ''}: {parts}."
    )
    yield "Raters are drawn from many like these, and each rates all units or cases of the study."
    drawn = "drawn from what the pilot leaves open (fiducial)"
    if is_coefficient:
        yield f"Ratings: of each unit; more units don't raise {plan.goal}. Chance: share of the variances {drawn}."
        return
    success = "95 % intervals are as narrow" if plan.goal == "half-width" else "tests (5 %) find the difference"
    yield f"Chance: share of simulated studies whose {success} (quasi-F, seed {plan.seed}), with variances {drawn}."
    if levels is not None:
        ends = f"{levels.levels[0]:g} to {levels.levels[-1]:g}"
        yield f"Ratings are rounded to the scale's levels, {ends}, around the pilot's mean of {number(levels.mean)}."
