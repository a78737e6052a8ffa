"""May a judge stand in for one of the people: yes, not shown, or can't be said; and why."""

from __future__ import annotations

from dataclasses import dataclass

from bedside.analysis.checked_units import CheckedUnits
from bedside.analysis.judge_accuracy import FEWEST_OF_LEVEL
from bedside.core.words import counted
from bedside.stats.alternative_annotator import (
    FEWEST_CLUSTERS,
    FEWEST_CLUSTERS_OF_TWO,
    AlternativeAnnotator,
)
from bedside.stats.result import Result

#: With fewer units rated by people, or units of fewer cases, no verdict is given.
FEWEST_UNITS, FEWEST_CASES = 30, FEWEST_CLUSTERS


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a judge may stand in for one of the people.

    Attributes:
        stands_in: True where it may, False where that is not shown, None where it can't be said.
        words: the same in words, with the reasons.
    """

    stands_in: bool | None
    words: str


def verdict_on(
    units: CheckedUnits,
    alternative: AlternativeAnnotator | None,
    agreement: Result | None,
    levels: tuple[float | str, ...],
) -> Verdict:
    """The verdict on a judge.

    A judge that never flags what is rare agrees with people nearly always, so the alternative annotator test alone says
    yes to it. It must also vary, agree with people beyond chance, and give every level that people give to five units
    or more.

    Args:
        units: what it and people rated.
        alternative: the alternative annotator test; None where fewer than two people rated.
        agreement: a coefficient of agreement with people that corrects for chance, such as kappa.
        levels: of the scale; empty where there is none.
    """
    unknown = _unknown(units, alternative)
    if unknown is not None or alternative is None:
        return Verdict(None, f"can't be said: {unknown}")
    reasons = _reasons(units, agreement, levels)
    if not alternative.replaceable:
        reasons.insert(0, "not shown to be as good as one of these people")
    elif reasons:
        reasons[0] = f"not shown: {reasons[0]}"
    return Verdict(not reasons, "; ".join(reasons) or "may stand in for one of these people")


def _unknown(units: CheckedUnits, alternative: AlternativeAnnotator | None) -> str | None:
    """Why nothing can be said; None where something can."""
    if alternative is None:
        return "fewer than two people rated"
    if units.size < FEWEST_UNITS:
        return f"{counted(units.size, 'unit')}, fewer than {FEWEST_UNITS}"
    if units.case_count < FEWEST_CASES:
        return f"{counted(units.size, 'unit')} of {counted(units.case_count, 'case')}, fewer than {FEWEST_CASES} cases"
    if units.people.shape[1] == 2 and units.case_count < min(units.size, FEWEST_CLUSTERS_OF_TWO):
        return (
            f"{counted(units.size, 'unit')} of {counted(units.case_count, 'case')}, rated by two people, who need "
            f"{FEWEST_CLUSTERS_OF_TWO} cases"
        )
    if units.chances == "none":
        return "every unit that people rated was picked for what it is, none was drawn at random"
    if alternative.replaceable is None:
        return alternative.missing
    if len({cell for cell in units.people.ravel() if cell is not None}) == 1:
        return "people gave every unit the same"
    return None


def _reasons(units: CheckedUnits, agreement: Result | None, levels: tuple[float | str, ...]) -> list[str]:
    """What speaks against a judge that loses to no one."""
    values = set(units.judge.tolist())
    if len(values) == 1:
        return [f"it gives every unit the same, {_level_words(values.pop())}"]
    reasons = [
        f"it never gives {_level_words(level)}, which people gave to {counted(units.units_given(level), 'unit')}"
        for level in levels
        if level not in values and units.units_given(level) >= FEWEST_OF_LEVEL
    ]
    if agreement is None or agreement.estimate is None:
        reasons.append("whether it agrees with people beyond chance can't be computed")
    elif agreement.interval is None:
        if agreement.estimate < 1 - 1e-12:
            reasons.append("its agreement with people has no interval, so that it may be chance")
    elif agreement.interval.low <= 0:
        reasons.append("its agreement with people may be no more than chance: the interval includes 0")
    return reasons


def _level_words(level: object) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)
