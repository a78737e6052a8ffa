"""The notes below the table of agreement: in which forms its statistics are, and on which units they rest."""

from __future__ import annotations

from collections.abc import Sequence

from bedside.analysis.agreement import Agreement
from bedside.analysis.fresh_view import learnt_words
from bedside.core.words import counted
from bedside.reports.number_text import rater_words, share_words
from bedside.stats.reliability import ICC_MODELS

#: Fewer cases than this make a rough interval.
_FEW = 10
#: Metrics that a note names one by one.
_MOST = 6


def form_notes(agreements: Sequence[Agreement]) -> list[str]:
    """In which form the statistics are: weights, alpha's distance, which intraclass correlation."""
    notes = []
    ordered = [a for a in agreements if a.level == "ordinal" and "kappa" in a.statistics]
    alphas = dict.fromkeys(
        (a.level, str(a.statistics["alpha"].options["metric"])) for a in agreements if "alpha" in a.statistics
    )
    kinds = {"nominal": "of labels", "ordinal": "on ordered scales", "interval": "of other numbers"}
    words = [f"{metric} {kinds[level]}" for level, metric in alphas]
    if ordered:
        weights = " and ".join(
            dict.fromkeys(str(a.statistics["kappa"].options["weights"]).replace("unweighted", "no") for a in ordered)
        )
        fleiss = ", Fleiss κ" if any("fleiss" in a.statistics for a in ordered) else ""
        notes.append(f"On ordered scales κ{fleiss} and AC (AC2) have {weights} weights.")
        for title, levels in dict.fromkeys((a.title, a.statistics["kappa"].options["scale"]) for a in ordered):
            if isinstance(levels[0], str) and len(levels) > 2:
                notes.append(
                    f"{title}: labels by their place, from 0 for {levels[0]} to {len(levels) - 1} for {levels[-1]}."
                )
    if words and (ordered or len(words) > 1 or any(level != metric for level, metric in alphas)):
        notes.append(f"α is {', '.join(words)}.")
    forms = dict.fromkeys(
        (r.name, int(r.options["model"]), bool(r.options["average"]))
        for a in agreements
        if (r := a.statistics.get("icc")) is not None
    )
    notes += [
        f"ICC: {name}, {ICC_MODELS[model]}, {'the mean of all raters' if average else 'single ratings'}."
        for name, model, average in forms
    ]
    return notes


def unit_notes(agreements: Sequence[Agreement]) -> list[str]:
    """On which units statistics rest, and what is left out."""
    notes = []
    if any(r.estimate is not None and r.n < a.units for a in agreements for r in a.statistics.values()):
        notes.append("n: the units that a statistic rests on, where they are fewer: ICC and Fleiss κ need all raters.")
    if any(
        a.kind in ("people", "mean") and len(a.raters) > 2 and r.estimate is not None and r.n < a.units
        for a in agreements
        for r in a.statistics.values()
    ):
        notes.append(
            "Agreement is the mean over units of the share of raters who say the same, κ the mean over pairs of "
            "raters: where not everybody rated everything, they are not means of the same."
        )
    people = [a for a in agreements if a.kind == "people" and not a.title.endswith(": any or none")]
    beside = [a for a in agreements if a.kind == "consensus" and not a.title.endswith(": any or none")]
    alone, ties = sum(a.alone for a in people), sum(a.ties for a in beside)
    if alone:
        used = ", but for the shares of levels in AC" if any("ac" in a.statistics for a in people) else ""
        notes.append(f"Left out among people, as only one person rated them{used}: {counted(alone, 'unit')}.")
    if ties:
        notes.append(f"Left out of comparisons with the consensus, as people tie: {counted(ties, 'unit')}.")
    settled = {a.title: max(b.adjudicated for b in beside if b.title == a.title) for a in beside if a.adjudicated}
    if settled:
        counts = ", ".join(f"{title} {counted(count, 'unit')}" for title, count in settled.items())
        notes.append(
            f"The consensus is the final label of an adjudicator where there is one ({counts}). All else, the ceiling "
            "too, is of what the raters said themselves."
        )
    if any(a.ties and is_of_two(a) for a in beside):
        notes.append(
            "The consensus of two people is what both say: units on which anybody agrees more easily. Look at the mean "
            "over persons first."
        )
    return notes


def constant_notes(agreements: Sequence[Agreement]) -> list[str]:
    """Who gives a single level to everything, what that makes of kappa, and what it is without them."""
    notes = []
    for agreement in agreements:
        kappa = agreement.statistics.get("kappa")
        if not agreement.constant or kappa is None or kappa.estimate is None or agreement.kind == "person":
            continue
        who = ", ".join(f"{rater_words(rater)} only {level}" for rater, level in agreement.constant.items())
        without = agreement.statistics.get("kappa without constant raters")
        rest = "no pair is left without."
        if without is not None and without.estimate is not None:
            rest = f"of the other pairs κ is {share_words(without)}."
        notes.append(
            f"{agreement.title}, {agreement.between}: κ with a rater who gives one level to everything ({who}) is 0, "
            f"whatever the others say; {rest}"
        )
    return notes


def interval_notes(agreements: Sequence[Agreement]) -> list[str]:
    """How intervals are made, and which are rough."""
    titles_of: dict[str, dict[str, None]] = {}
    for agreement in agreements:
        for name in ("kappa", "alpha"):
            result = agreement.statistics.get(name)
            if result is not None and result.interval is not None:
                rated = "turns" if agreement.units > agreement.transcripts else "transcripts"
                method = result.interval.method.replace("clusters", _drawn_words(agreement))
                titles_of.setdefault(f"where {rated} are rated: {method}", {})[agreement.title] = None
    several = len(titles_of) > 1
    notes = [
        f"Intervals of κ and α {words}{f' ({_listed(list(titles))})' if several else ''}."
        for words, titles in titles_of.items()
    ]
    few = [a for a in agreements if 1 < a.cases < _FEW and a.units > a.cases]
    if few:
        fewest = min(few, key=lambda agreement: agreement.cases)
        notes.append(f"Some rest on units of only {fewest.cases} {_drawn_words(fewest)}: their intervals are rough.")
    return notes


def _listed(titles: Sequence[str]) -> str:
    """Titles as a note names them; of many the first."""
    more = f" and {len(titles) - _MOST} more" if len(titles) > _MOST else ""
    return ", ".join(titles[:_MOST]) + more


def _drawn_words(agreement: Agreement) -> str:
    """What is drawn as one."""
    return "cases" if agreement.cases < agreement.transcripts else "transcripts"


def sample_notes(agreements: Sequence[Agreement]) -> list[str]:
    """How the units were drawn, where not with one chance, and what that makes of the figures."""
    notes = []
    by_strata: dict[tuple[str, ...], list[str]] = {}
    for agreement in agreements:
        titles = by_strata.setdefault(agreement.by, []) if agreement.chances == "unequal" else []
        if agreement.title not in titles:
            titles.append(agreement.title)
    for by, titles in by_strata.items():
        notes.append(
            f"{', '.join(titles)}: the units that people rated were drawn with unequal chances, by {' and '.join(by)}. "
            "Every figure is of all units that they were drawn from, with each weighted by how many it stands for, "
            f"and intervals are by strata.{_unweighted_words(agreements, titles)}"
        )
    unknown = list(dict.fromkeys(a.title for a in agreements if a.partly_known))
    if unknown:
        notes.append(
            f"{', '.join(unknown)}: with what chance units were drawn is not known of all of them, or they are of "
            "several rounds, so that nothing is weighted. Figures are about the units rated."
        )
    picked = {a.title: a.picked for a in agreements if a.picked}
    if picked:
        listed = ", ".join(f"{title} {count:,}" for title, count in picked.items())
        notes.append(
            f"Units left out because they were picked for what they are, such as disagreement, and not drawn: {listed}."
        )
    notes += dict.fromkeys(
        learnt_words(a.title, str(a.rater), counted(a.learnt, "unit")) for a in agreements if a.learnt
    )
    none = list(dict.fromkeys(a.title for a in agreements if a.chances == "none"))
    if none:
        notes.append(
            f"{', '.join(none)}: the units that people rated were picked for what they are, such as disagreement, and "
            "not drawn. Figures are about these units, and would differ if all had been rated."
        )
    return notes


def _unweighted_words(agreements: Sequence[Agreement], titles: Sequence[str]) -> str:
    """People's kappa of the units rated alone."""
    words = []
    for agreement in agreements:
        kappa = agreement.statistics.get("kappa of rated units")
        if agreement.kind == "people" and agreement.title in titles and kappa is not None:
            title = f"{agreement.title} " if len(titles) > 1 else ""
            words.append(f"{title}{share_words(kappa)}")
    return f" Of the units rated alone, unweighted, κ among people is {', '.join(words)}." if words else ""


def is_of_two(agreement: Agreement) -> bool:
    """Whether a consensus is that of two people."""
    return len(agreement.raters) == 3
