"""How far a judge's levels move with each change, beside how far they move when nothing is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bedside.stats.arrays import Array
from bedside.stats.result import Result
from bedside.tuning.probes.contract import BASE_LINE
from bedside.tuning.probes.probe_record import ProbeObservation, ProbeRecord

#: What is seen of a change: levels moved (or, where they must not, stayed within the margin), or neither can be said.
Reading = Literal["moved", "stayed", "unclear", "base line"]
#: Of each test, of an interval's tails together, and of each one-sided test of equivalence.
ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeEffect:
    """What a change does to a judge's levels by one rubric.

    Attributes:
        rubric: its name.
        probe, variant, title: the change.
        expects: what levels should do: ``stays`` or ``moves``.
        transcripts, cases: how many were compared; a transcript without a case counts as one.
        shift: mean of the changed level minus the original, over cases, in the rubric's levels, with its 95 % interval.
        unrest: by how much more levels move, whatever the direction, than when nothing is changed: the mean of
            ``|changed − original| − |asked again − original|``, over cases; None for the base line.
        tested: the shift, or where levels must move the unrest, with p before and after Holm's correction over all
            changes of the judge's probing; without p for the base line.
        equivalence: the shift with a 90 % interval to hold against the margin, not corrected; its details say how many
            cases might show that it stays.
        margin: by how much a level may move and still stay, in levels.
        span: the highest level minus the lowest.
        deviation: standard deviation of the original levels; None with fewer than two.
        moved: share of transcripts whose level moved; moved_again: of the same transcripts when nothing was changed.
        largest: the largest movement: the transcript, its original level and the changed one; None where none moved.
        added: words that were added, the mean over transcripts.
        missing: reasons why a transcript is not compared, with how many.
        reading: what is seen.
    """

    rubric: str
    probe: str
    variant: str
    title: str
    expects: str
    transcripts: int
    cases: int
    shift: Result
    unrest: Result | None
    tested: Result
    equivalence: Result
    margin: float
    span: float
    deviation: float | None
    moved: float | None
    moved_again: float | None
    largest: tuple[str, float, float] | None
    added: float
    missing: Mapping[str, int]
    reading: Reading

    @property
    def standardised(self) -> float | None:
        """The shift in standard deviations of the original levels; None where these don't vary."""
        if self.shift.estimate is None or not self.deviation:
            return None
        return self.shift.estimate / self.deviation

    @property
    def within_margin(self) -> bool:
        """Whether the shift's 90 % interval lies within the margin."""
        bounds = self.equivalence.interval
        return bounds is not None and -self.margin < bounds.low and bounds.high < self.margin

    @property
    def share_of_scale(self) -> float | None:
        """The shift as a share of the scale, −1 … 1."""
        return None if self.shift.estimate is None else self.shift.estimate / self.span


def probe_effects(record: ProbeRecord) -> tuple[ProbeEffect, ...]:
    """What each change does to a judge's levels, rubric by rubric, the base line first.

    Cases are what effects are known by: of a case the mean over its transcripts. p values are corrected by Holm over
    all changes of the record.
    """
    from bedside.stats.families import family

    by_change: dict[tuple[str, str, str], list[ProbeObservation]] = {}
    for observation in record.observations:
        by_change.setdefault((observation.rubric, observation.probe, observation.variant), []).append(observation)
    again = {
        rubric: {
            observation.transcript: observation.after - observation.before
            for observation in observations
            if observation.before is not None and observation.after is not None
        }
        for (rubric, probe, _), observations in by_change.items()
        if probe == BASE_LINE
    }
    effects = [
        _effect(record, observations, again.get(rubric, {})) for (rubric, _, _), observations in by_change.items()
    ]
    corrected = family([effect.tested for effect in effects], f"all probes of {record.rater}")
    return tuple(
        replace(effect, tested=tested, reading=_reading(effect, tested))
        for effect, tested in zip(effects, corrected, strict=True)
    )


def _effect(record: ProbeRecord, observations: Sequence[ProbeObservation], again: Mapping[str, float]) -> ProbeEffect:
    first = observations[0]
    levels = record.scales[first.rubric]
    span = max(levels) - min(levels)
    margin = record.margin if record.margin is not None else span / (len(levels) - 1) / 2
    present = [seen for seen in observations if seen.before is not None and seen.after is not None]
    before = np.array([seen.before for seen in present], dtype=np.float64)
    shifts = np.array([seen.after for seen in present], dtype=np.float64) - before
    cases = [_case(seen) for seen in present]
    base_line = first.probe == BASE_LINE
    means = means_by_case(shifts, cases)
    shift = mean_shift(means, span)
    unrest = None
    known = np.array([seen.transcript in again for seen in present], dtype=bool)
    if not base_line:
        noise = np.array([abs(again.get(seen.transcript, 0.0)) for seen in present])
        both = [case for case, kept in zip(cases, known, strict=True) if kept]
        unrest = mean_shift(means_by_case((np.abs(shifts) - noise)[known], both), span)
    change = f"{first.probe}.{first.variant}"
    expects = record.expects[change]
    tested = unrest if expects == "moves" and unrest is not None else shift
    largest = None
    if shifts.any():
        place = int(np.argmax(np.abs(shifts)))
        largest = (present[place].transcript, float(before[place]), float(before[place] + shifts[place]))
    noisy = [again[seen.transcript] != 0 for seen, kept in zip(present, known, strict=True) if kept]
    return ProbeEffect(
        rubric=first.rubric,
        probe=first.probe,
        variant=first.variant,
        title=record.titles[change],
        expects=expects,
        transcripts=len(present),
        cases=len(set(cases)),
        shift=shift,
        unrest=unrest,
        tested=replace(tested, p=None) if base_line else tested,
        equivalence=held_against(means, margin, span),
        margin=margin,
        span=span,
        deviation=float(before.std(ddof=1)) if before.size > 1 else None,
        moved=float(np.mean(shifts != 0)) if shifts.size else None,
        moved_again=float(np.mean(noisy)) if noisy else None,
        largest=largest,
        added=float(np.mean([seen.added for seen in present])) if present else 0.0,
        missing=Counter(seen.missing for seen in observations if seen.missing is not None),
        reading="unclear",
    )


def _case(seen: ProbeObservation) -> tuple[str, str]:
    """The case of a transcript; one without is a case of its own."""
    return ("transcript", seen.transcript) if seen.case is None else ("case", seen.case)


def means_by_case(differences: Array, cases: Sequence[object]) -> Array:
    """The mean of each case's differences, one a transcript; cases in the order in which they come."""
    places: dict[object, int] = {}
    members = np.array([places.setdefault(case, len(places)) for case in cases], dtype=np.intp)
    means: Array = np.bincount(members, differences) / np.bincount(members) if members.size else np.zeros(0)
    return means


def mean_shift(means: Array, span: float) -> Result:
    """The mean over cases with its 95 % interval and p.

    The interval is that of :func:`bedside.stats.skewed_means.bounded_mean`. p is that of the paired t test, or where
    all cases have the same difference other than 0 that of the exact sign-flip test, ``2^(1 − cases)``.

    Args:
        means: of each case, in levels.
        span: the largest difference possible.
    """
    from bedside.stats.paired import t_test
    from bedside.stats.skewed_means import bounded_mean

    p = t_test(means, np.zeros(means.size)).p
    if p is None and means.size > 1:
        p = 1.0 if not means.any() else float(2.0 ** (1 - means.size))
    return replace(bounded_mean(means, span=span, level=1 - ALPHA), p=p)


def held_against(means: Array, margin: float, span: float) -> Result:
    """The mean over cases with a 90 % interval to hold against a margin, and p of the two one-sided t tests.

    Args:
        means: of each case, in levels.
        margin: in levels, above 0.
        span: the largest difference possible.
    """
    from bedside.stats.equivalence import paired_means
    from bedside.stats.skewed_means import bounded_mean

    tested = paired_means(means, np.zeros(means.size), margin=margin, alpha=ALPHA, span=span)
    return replace(tested, interval=bounded_mean(means, span=span, level=1 - 2 * ALPHA).interval)


def _reading(effect: ProbeEffect, tested: Result) -> Reading:
    """What is seen of a change: it is said to move levels by the corrected test, and to let them stay by the margin."""
    if effect.probe == BASE_LINE:
        return "base line"
    estimate, p = tested.estimate, tested.p_adjusted
    if p is not None and p < ALPHA and estimate is not None and (estimate > 0 or effect.expects == "stays"):
        return "moved"
    return "stayed" if effect.expects == "stays" and effect.within_margin else "unclear"
