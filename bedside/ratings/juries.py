"""Juries: several raters that rate as one. What they are stands in a run's manifest, their ratings follow from it.

A jury's ratings are never given by anybody: whenever ratings of a run change, all rows of juries are made anew from the
members' (:func:`with_juries`), so that none is older than what it rests on.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from math import prod
from statistics import fmean
from typing import Any

import polars as pl

from bedside.core.words import counted
from bedside.ratings.names import TRANSCRIPT, Combination, jury_rater, rated_by_juries
from bedside.ratings.table import frame_of

#: The manifest's key.
JURIES_KEY = "juries"
#: Added to a metric's name: the mean of the members' levels before it is brought to a level of the scale.
_EXPECTED = ".expected"
#: Nearer than this to the middle between two levels, or two sums of votes to each other, is a tie.
_TIE = 1e-9
#: How errors begin of what the same command asks the next time.
_TO_ASK = re.compile(r"not (asked|answered|judged)\b")


@dataclass(frozen=True, slots=True)
class JuryMetric:
    """How a jury rates by one metric.

    Attributes:
        levels: the numbers of the scale, ascending; empty where the metric is on no scale of numbers.
        weights: each member's share in the rating, 0 … 1, with sum 1.
        model: where members' errors were learnt from how they agree, the levels, the share of each (``prior``), the
            shares of the parts that units are divided into, and the chances that a member reports a level of a true
            one (part × member × true × reported). Of a cascade the ``thresholds``, by member the least that it must be
            sure, None where it settles nothing. Empty else.
    """

    levels: tuple[float, ...]
    weights: tuple[float, ...]
    model: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Jury:
    """Several raters that rate as one.

    Attributes:
        name: by which its rater is called.
        members: their names in the ratings table, two or more.
        rule: how members' numbers become one.
        quorum: how many members must have rated a unit.
        metrics: what it rates, by the metric's name.
        learning: where weights were learnt, how: the split, and what came of it.
    """

    name: str
    members: tuple[str, ...]
    rule: Combination
    quorum: int
    metrics: Mapping[str, JuryMetric]
    learning: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rater(self) -> str:
        """Its name in the ratings table: it says how members are combined, and changes with what changes ratings."""
        parts: list[Any] = [sorted(self.members), self.rule, self.quorum]
        if self.rule == "weights":
            parts.append(
                sorted(
                    (metric, [[member, f"{weight:.9f}"] for member, weight in self.shares(metric)])
                    for metric in self.metrics
                )
            )
        models = {metric: own.model for metric, own in self.metrics.items() if own.model}
        if models:
            parts.append(json.dumps(models, sort_keys=True))
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:6]
        return jury_rater(self.name, f"{self.rule}-{digest}")

    def shares(self, metric: str) -> list[tuple[str, float]]:
        """Each member's weight on a metric, by the members' names in order."""
        return sorted(zip(self.members, self.metrics[metric].weights, strict=True))

    def to_json(self) -> dict[str, Any]:
        """What a manifest keeps of it; :func:`juries_in` is the way back."""
        entry = asdict(self)
        del entry["name"]
        return {"rater": self.rater, **entry}


def juries_in(manifest: Mapping[str, Any]) -> tuple[Jury, ...]:
    """The juries of a run."""
    return tuple(
        Jury(
            name=name,
            members=tuple(entry["members"]),
            rule=entry["rule"],
            quorum=entry["quorum"],
            metrics={
                metric: JuryMetric(
                    tuple(map(float, how["levels"])), tuple(map(float, how["weights"])), how.get("model") or {}
                )
                for metric, how in entry["metrics"].items()
            },
            learning=entry["learning"],
        )
        for name, entry in (manifest.get(JURIES_KEY) or {}).items()
    )


def jury_named(manifest: Mapping[str, Any], rater: str) -> Jury | None:
    """The jury of a run that has this name in the ratings table; None where there is none."""
    return next((jury for jury in juries_in(manifest) if jury.rater == rater), None)


def with_juries(ratings: pl.LazyFrame, manifest: Mapping[str, Any]) -> pl.LazyFrame:
    """A run's ratings with those of its juries, all made anew from the members' ratings.

    Args:
        ratings: a ratings table; rows of juries in it are left out.
        manifest: says which juries there are.
    """
    juries = juries_in(manifest)
    if not juries:
        return ratings
    ratings = ratings.filter(~rated_by_juries())
    return pl.concat([ratings, *(jury_ratings(ratings, jury).lazy() for jury in juries)])


def jury_ratings(ratings: pl.LazyFrame, jury: Jury) -> pl.DataFrame:
    """A jury's ratings of every unit that one of its members was asked about.

    A member's passes are taken together first: their mean where the rule takes means, else the most frequent value.
    Where fewer members than the quorum gave a rating, and where they are tied, the jury's is missing and says so.

    Args:
        ratings: the members' among others.
        jury: the jury.

    Returns:
        A ratings table; where the rule takes means of levels, the mean itself stands in ``<metric>.expected``.
    """
    if jury.rule == "cascade":
        return frame_of(_cascade_rows(ratings, jury))
    rows = (
        ratings.filter(pl.col("rater").is_in(jury.members), pl.col("metric").is_in(list(jury.metrics)))
        .select("transcript_id", "system", "case_id", "unit", "metric", "rater", "replicate", "value", "label")
        .sort("metric", "transcript_id", "unit", "replicate", maintain_order=True)
        .collect()
    )
    units: dict[tuple[Any, ...], dict[str, list[Any]]] = {}
    for transcript, system, case, unit, metric, rater, _, value, label in rows.iter_rows():
        answers = units.setdefault((transcript, system, case, unit, metric), {})
        answer = label if label is not None else value
        if answer is not None:
            answers.setdefault(rater, []).append(answer)
    return frame_of(
        (*of_unit, metric + suffix, jury.rater, 0, value, label, reason, error)
        for (*of_unit, metric), answers in units.items()
        for suffix, value, label, reason, error in _verdicts(jury, jury.metrics[metric], answers)
    )


# -- Judges asked in turn: the next where one is not sure enough, and people last -----------------------

#: A transcript, and the unit of it.
UnitKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SureAnswer:
    """What a rater says of a unit, of its passes together, and how sure it is.

    Attributes:
        rater: the rater.
        answer: its level or label; None where none of its passes gave one.
        sureness: 0 … 1: where it rated the expected level, 1 minus the distance from it to the answer, in steps of the
            scale (of two levels, the chance it gave to its answer), times the share of passes that came; else the share
            of all passes asked for that gave the answer. None where it was asked once without an expected level.
        waits: whether a pass is still to be asked.
    """

    rater: str
    answer: float | str | None
    sureness: float | None
    waits: bool


def sure_answers(
    ratings: pl.LazyFrame, metric: str, raters: Sequence[str], levels: Sequence[float]
) -> list[dict[UnitKey, SureAnswer]]:
    """What each rater says of each unit that it was asked about by one metric, and how sure it is.

    Args:
        ratings: a ratings table.
        metric: the metric's name.
        raters: the raters'.
        levels: of the metric's scale, ascending; empty where it has no numbers.
    """
    rows = (
        ratings.filter(pl.col("rater").is_in(raters), pl.col("metric").is_in([metric, metric + _EXPECTED]))
        .sort("transcript_id", "unit", "replicate")
        .select("rater", "transcript_id", "unit", pl.col("metric") == metric, "replicate", "value", "label", "error")
        .collect()
    )
    units: dict[str, dict[str, bool]] = defaultdict(dict)
    passes: dict[tuple[str, str], set[int]] = defaultdict(set)
    waiting = set()
    answers: dict[tuple[str, str, str, bool], list[Any]] = defaultdict(list)
    for rater, transcript, unit, of_metric, number, value, label, error in rows.iter_rows():
        answer = label if label is not None else value
        if answer is not None:
            answers[rater, transcript, unit, of_metric].append(answer)
        if of_metric:
            passes[rater, transcript].add(number)
            units[transcript][unit] = units[transcript].get(unit, False) or answer is not None
            if error is not None and _TO_ASK.match(error):
                waiting.add((rater, transcript))
    step = min((high - low for low, high in pairwise(levels)), default=0.0)

    def answered(rater: str, transcript: str, unit: str) -> SureAnswer:
        came, expected = (answers.get((rater, transcript, unit, own), []) for own in (True, False))
        asked, sureness = len(passes[rater, transcript]), None
        answer: Any = taken_together(came) if came else None
        if came and expected and step:
            sureness = max(0.0, 1 - abs(fmean(expected) - answer) / step) * len(came) / asked
        elif came and asked > 1:
            sureness = came.count(answer) / asked
        return SureAnswer(rater, answer, sureness, (rater, transcript) in waiting)

    # What couldn't be said of turns is missing of the transcript: it is no unit where turns are rated.
    keys = [
        (name, unit)
        for name, own in units.items()
        for unit, rated in own.items()
        if rated or unit != TRANSCRIPT or len(own) == 1
    ]
    return [{key: answered(rater, *key) for key in keys if (rater, key[0]) in passes} for rater in raters]


@dataclass(frozen=True, slots=True)
class Route:
    """Where a unit ends in a cascade.

    Attributes:
        place: of the member that settles it, or that it waits for; the number of members where it is left to people.
        answer: that of the member, or where it is left to people of the last that gave one; None without any.
        waits: whether it waits for the member's answer.
    """

    place: int
    answer: SureAnswer | None
    waits: bool = False


def cascade_routes(ratings: pl.LazyFrame, jury: Jury, metric: str) -> dict[UnitKey, Route]:
    """Where each unit that a member was asked about ends in a cascade; what a member doesn't answer goes on."""
    how = jury.metrics[metric]
    by_member = sure_answers(ratings, metric, jury.members, how.levels)
    routes: dict[UnitKey, Route] = {}
    for key in dict.fromkeys(key for answers in by_member for key in answers):
        last = None
        for place, threshold in enumerate(how.model["thresholds"]):
            if threshold is None:  # it can't be left alone, and isn't asked
                continue
            own = by_member[place].get(key)
            if own is not None and own.sureness is not None and own.sureness >= threshold:
                routes[key] = Route(place, own)
                break
            if own is None or own.waits:
                routes[key] = Route(place, None, waits=True)
                break
            last = last if own.answer is None else own
        else:
            routes[key] = Route(len(jury.members), last)
    return routes


def _cascade_rows(ratings: pl.LazyFrame, jury: Jury) -> Iterator[tuple[Any, ...]]:
    """The rows of a cascade in the ratings table.

    What is left to people has the last judge's answer, as their ratings correct it: without one, a mean would be of
    the units that are easy to judge.
    """
    places = ratings.filter(pl.col("rater").is_in(jury.members)).select("transcript_id", "system", "case_id")
    known = {name: rest for name, *rest in places.unique("transcript_id").collect().iter_rows()}
    for metric in jury.metrics:
        for (transcript, unit), route in cascade_routes(ratings, jury, metric).items():
            answer = route.answer
            of_unit = transcript, *known[transcript], unit, metric, jury.rater, 0
            if answer is None:
                before = ", and nobody before it is sure enough" if route.place else ""
                waits = route.waits and f"not rated by {jury.members[route.place]}{before}"
                yield *of_unit, None, None, None, waits or "left to people: no judge gave a rating"
                continue
            own = answer.answer
            how_sure = "" if answer.sureness is None else f", {answer.sureness:.2f} sure"
            ended = "settled by" if route.place < len(jury.members) else "left to people:"
            value, label = (None, own) if isinstance(own, str) else (own, None)
            yield *of_unit, value, label, f"{ended} {_shown(own)} ({answer.rater}{how_sure})", None


#: What is added to the metric's name, value, label, reason and error of a jury's rating.
_Verdict = tuple[str, float | None, str | None, str | None, str | None]


def _verdicts(jury: Jury, metric: JuryMetric, answers: Mapping[str, list[Any]]) -> Iterator[_Verdict]:
    """A jury's rating of one unit, and the mean it comes from."""
    present = [place for place, member in enumerate(jury.members) if member in answers]
    absent = [member for member in jury.members if member not in answers]
    if len(present) < max(jury.quorum, 1):
        lack = f"{len(absent)} of {len(jury.members)} judges gave no rating ({', '.join(absent)})"
        yield "", None, None, None, lack
        return
    labelled = any(isinstance(answer, str) for values in answers.values() for answer in values)
    by_mean = jury.rule in ("mean", "weights") and not labelled
    own = [(fmean if by_mean else taken_together)(answers[jury.members[place]]) for place in present]
    weights = [metric.weights[place] for place in present]
    if not sum(weights):
        yield "", None, None, None, "the judges who gave a rating have no weight in this jury"
        return
    if metric.model:
        yield from _by_errors(jury, metric, dict(zip(present, own, strict=True)), absent)
        return
    reason = _reason(jury, present, own, weights, labelled)
    if absent:
        reason += f"; {counted(len(absent), 'judge')} gave none ({', '.join(absent)})"
    if labelled:
        label, tie = _most_votes([str(answer) for answer in own], weights)
        yield "", None, label, None if tie else reason, tie
    elif by_mean:
        mean = sum(weight * value for weight, value in zip(weights, own, strict=True)) / sum(weights)
        level, tie = _nearest(mean, metric.levels)
        yield "", level, None, None if tie else reason, tie
        if metric.levels:
            yield _EXPECTED, mean, None, reason, None
    else:
        value, tie = _middle(own, metric.levels) if jury.rule == "median" else _most_votes(own, weights)
        yield "", value, None, None if tie else reason, tie


def _by_errors(jury: Jury, metric: JuryMetric, own: Mapping[int, Any], absent: Sequence[str]) -> Iterator[_Verdict]:
    """The level with the highest chance given what members said, by how often each errs; and the mean of levels."""
    model = metric.model
    levels = list(model["levels"])
    said = {place: levels.index(answer) for place, answer in own.items() if answer in levels}
    if not said:
        yield "", None, None, None, "the judges gave levels that the model has not seen: make the jury again"
        return
    chances = [
        prior * sum(
            share * prod(part[place][true][level] for place, level in said.items())
            for share, part in zip(model["shares"], model["chances"], strict=True)
        )
        for true, prior in enumerate(model["prior"])
    ]  # fmt: skip
    by_level = {level: chance / sum(chances) for level, chance in zip(levels, chances, strict=True)}
    top, tie = _most_votes(list(by_level), list(by_level.values()))
    gave = ", ".join(f"{_shown(answer)} ({jury.members[place]})" for place, answer in own.items())
    reason = f"most likely of {gave}, with a chance of {by_level[top]:.2f} by {jury.rule}" if tie is None else None
    if reason and absent:
        reason += f"; {counted(len(absent), 'judge')} gave none ({', '.join(absent)})"
    label = isinstance(levels[0], str)
    yield "", None if label else top, top if label else None, reason, tie
    if not label:
        yield _EXPECTED, sum(level * chance for level, chance in by_level.items()), None, reason, None


def _most_votes(answers: Sequence[Any], weights: Sequence[float]) -> tuple[Any, str | None]:
    """The answer with the most votes; None and why where several have as many."""
    votes: dict[Any, float] = defaultdict(float)
    for answer, weight in zip(answers, weights, strict=True):
        votes[answer] += weight
    most = max(votes.values())
    top = [answer for answer, count in votes.items() if most - count <= _TIE]
    if len(top) == 1:
        return top[0], None
    return None, f"the judges are tied between {' and '.join(sorted(map(_shown, top)))}"


def _middle(numbers: Sequence[float], levels: Sequence[float]) -> tuple[float | None, str | None]:
    """The median; of levels none where it lies between two that differ."""
    ordered = sorted(numbers)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    if levels and low != high:
        return None, f"the judges are tied: their median lies between {_shown(low)} and {_shown(high)}"
    return (low + high) / 2, None


def _nearest(mean: float, levels: Sequence[float]) -> tuple[float | None, str | None]:
    """The level nearest a mean, none where it lies in the middle of two; the mean itself where there are no levels."""
    if not levels:
        return mean, None
    by_distance = sorted(levels, key=lambda level: abs(level - mean))
    if len(levels) > 1 and abs(by_distance[1] - mean) - abs(by_distance[0] - mean) <= _TIE:
        low, high = sorted(by_distance[:2])
        return None, f"the judges are tied: their mean lies halfway between {_shown(low)} and {_shown(high)}"
    return by_distance[0], None


def _reason(jury: Jury, present: Sequence[int], own: Sequence[Any], weights: Sequence[float], labelled: bool) -> str:
    """What a rating is of, in words: what each member said, and where weights were learnt what each counts."""
    said = []
    for place, answer, weight in zip(present, own, weights, strict=True):
        share = f" × {weight:.2f}" if jury.rule == "weights" else ""
        said.append(f"{_shown(answer)}{share} ({jury.members[place]})")
    rule = {"majority": "most votes", "weights": "weighted mean"}.get(jury.rule, jury.rule)
    if labelled:
        rule = "most votes by weight" if jury.rule == "weights" else "most votes"
    return f"{rule} of {', '.join(said)}"


def _shown(answer: Any) -> str:
    return answer if isinstance(answer, str) else f"{answer:g}"


def taken_together(values: Sequence[Any]) -> Any:
    """A rater's value from its passes in their order: the most frequent, of several the one nearest their mean.

    Of two that are as near, or labels, the one given first counts: passes are as good as each other, so that no rating
    is shifted to one side, as by the lower of them, and no unit is left out because it is hard to rate.

    Args:
        values: one or more numbers, or labels.
    """
    if len(values) == 1:
        return values[0]
    counts = Counter(values)
    most = max(counts.values())
    top = [value for value, count in counts.items() if count == most]
    if len(top) == 1 or isinstance(top[0], str):
        return top[0]
    mean = sum(values) / len(values)
    return min(top, key=lambda value: abs(value - mean))
