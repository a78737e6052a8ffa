"""Spellings of one name in a file, of metrics and of raters: taken together where nothing speaks against it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from bedside.core.errors import InputError, nearest
from bedside.ratings.names import has_kind, human_rater, is_human, person_name
from bedside.ratings.rated_cells import RatedCell, by_metric
from bedside.ratings.rating_reading import KnownMetric, RatingReading
from bedside.ratings.spellings import commonest, folded, metric_key, summed, without_ends

#: Ends of a metric's name that say what is done with a rubric.
_ENDS = (".preference", ".adjudicated")
#: Whether ratings of a metric are all on a scale that another brings.
Fits = Callable[[KnownMetric, Sequence[RatedCell]], bool]


@dataclass(slots=True)
class JoinedNames:
    """Which names of a file stand for which others.

    Attributes:
        metrics: the file's name of a metric → the one in the table, where they differ.
        raters: the file's name of a rater → the one in the table, with its kind, where they differ.
        labels: metric → label as it is written → the one in the table, where they differ.
        renamed: the file's names that the user replaced.
        apart: whole sentences on metrics that look alike and stay apart.
        apart_raters: the same on raters.
    """

    metrics: dict[str, str] = field(default_factory=dict)
    raters: dict[str, str] = field(default_factory=dict)
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    renamed: set[str] = field(default_factory=set)
    apart: list[str] = field(default_factory=list)
    apart_raters: list[str] = field(default_factory=list)

    def metric(self, name: str) -> str:
        """The metric that the file's name of one stands for."""
        return self.metrics.get(name, name)

    def rater(self, name: str) -> str:
        """The rater, with their kind, that the file's name of one stands for; none for no name."""
        return self.raters.get(name) or (name and rater_name(name))

    def line(self) -> str:
        """What was renamed and what was joined, in a sentence each; empty where nothing was."""
        people = {name: person_name(now) for name, now in self.raters.items()}
        stands = [*self.metrics.items(), *people.items()]
        renamed = [f"{name!r} is {now}" for name, now in stands if name in self.renamed]
        parts = [f"{name!r} is {now}" for name, now in stands if name not in self.renamed]
        for metric, labels in self.labels.items():
            several = defaultdict(list)
            for label, now in labels.items():
                several[now].append(repr(label))
            of_metric = [
                f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} {now!r}" for now, names in several.items()
            ]
            parts.append(f"of {metric}, {', '.join(of_metric)}")
        sentences = [f"Renamed: {'; '.join(renamed)}."] if renamed else []
        if parts:
            sentences.append(f"Joined: {'; '.join(parts)}. `exact` keeps them apart.")
        return " ".join(sentences)

    def to_json(self) -> dict[str, Any]:
        """For a manifest: of raters only how many, since people are named in the ratings alone."""
        return {"metrics": self.metrics, "raters": len(self.raters), "labels": self.labels, "apart": self.apart}


def rater_name(name: str) -> str:
    """A rater with their kind: a person, where nothing else is said."""
    kind, colon, rest = name.partition(":")
    if colon and kind.strip().casefold() == "human":
        return human_rater(rest.strip())
    return name if has_kind(name) else human_rater(name)


def join_names(cells: Sequence[RatedCell], reading: RatingReading, fits: Fits) -> JoinedNames:
    """What the names of a file stand for.

    Args:
        cells: all that hold an answer, with a metric.
        reading: what the user said, and what is known.
        fits: whether ratings are on the scale of a metric that nobody rated yet.

    Raises:
        InputError: a name that is to be replaced is neither a metric nor a rater of the file.
    """
    joined = JoinedNames()
    _check_renamed(cells, reading)
    raters = _raters(cells, reading, joined.apart_raters)
    joined.raters = {name: now for name, now in raters.items() if rater_name(name) != now}
    rated = [cell._replace(rater=joined.rater(cell.rater)) for cell in cells]
    metrics = _Metrics(rated, reading, joined.apart, fits).standing()
    joined.metrics = {name: now for name, now in metrics.items() if name != now}
    joined.renamed = {name for name in (*raters, *metrics) if _new_name(name, reading) is not None}
    return joined


def _check_renamed(cells: Sequence[RatedCell], reading: RatingReading) -> None:
    names = {cell.metric for cell in cells} | {cell.rater for cell in cells}
    for name in reading.rename:
        if name not in names and not any(reading.is_among(name, (other,)) for other in names):
            raise InputError(
                f"no metric and no rater of the file is called {name!r}", where="`rename`", todo=nearest(name, names)
            )


def _new_name(name: str, reading: RatingReading) -> str | None:
    """What the user renamed a name to."""
    exact = reading.rename.get(name)
    if exact is not None:
        return exact
    return next((now for typed, now in reading.rename.items() if reading.is_among(name, (typed,))), None)


def _collide(rated: Mapping[str, set[Hashable]], names: Iterable[str]) -> tuple[str, str] | None:
    """Two names that both have a rating of the same thing."""
    return next((pair for pair in combinations(names, 2) if rated[pair[0]] & rated[pair[1]]), None)


def _raters(cells: Sequence[RatedCell], reading: RatingReading, apart: list[str]) -> dict[str, str]:
    """The file's name of each rater → the one in the table."""
    times = summed((cell.rater, cell.times) for cell in cells if cell.rater)
    names: dict[str, str] = {}
    groups: dict[str, list[str]] = defaultdict(list)
    for name in times:
        new = _new_name(name, reading)
        names[name] = rater_name(name if new is None else new)
        if new is None and not reading.exact and is_human(names[name]):
            groups[folded(person_name(names[name]))].append(name)
    of_run: dict[str, list[str]] = defaultdict(list)
    for rater in reading.known.raters if groups else ():
        of_run[folded(person_name(rater))].append(rater)
    for key, group in groups.items():
        people = sorted({names[name] for name in group})
        rated: dict[str, set[Hashable]] = defaultdict(set)
        for cell in cells if len(people) > 1 else ():
            if cell.rater in group:
                metric = metric_key(cell.metric)
                rated[names[cell.rater]].update((*key, metric) for key in cell.all_rated())
        both = _collide(rated, people)
        new_people = [person for person in people if person not in of_run[key]]
        if both is not None:
            first, second = map(person_name, both)
            apart.append(f"{first!r} and {second!r} rate the same things, and stay two raters.")
        elif len(of_run[key]) < 2:
            chosen = of_run[key] or [commonest((names[name], times[name]) for name in group)]
            names.update(dict.fromkeys(group, chosen[0]))
        elif new_people:
            several = " and ".join(repr(person_name(rater)) for rater in sorted(of_run[key]))
            apart.append(
                f"{person_name(new_people[0])!r} may be {several}, who are two raters of the run: it is a third. "
                "`rename` says who it is."
            )
    return names


class _Metrics:
    """Which metric each name stands for."""

    def __init__(self, cells: Sequence[RatedCell], reading: RatingReading, apart: list[str], fits: Fits) -> None:
        self._reading = reading
        self._apart = apart
        self._fits = fits
        self._cells = by_metric(cells)

    def standing(self) -> dict[str, str]:
        """The file's name of each metric → the one in the table."""
        names = {name: name for name in self._cells}
        groups: dict[tuple[str | None, str], list[str]] = defaultdict(list)
        for name in self._cells:
            new = _new_name(name, self._reading)
            if new is not None:
                names[name] = new
            elif not self._reading.exact:
                known = self._known(name)
                groups[known, metric_key(name) if known is None else ""].append(name)
        for (known, _), group in groups.items():
            names.update(self._joined(known, group))
        return names

    def _joined(self, known: str | None, group: list[str]) -> dict[str, str]:
        """The names of one group under one, where no two of them are something else."""
        both = self._different(group)
        own = commonest((without_ends(name)[0], cell.times) for name in group for cell in self._cells[name])
        if both is None and known is None and own not in group:
            alike = (name for name in self._cells if name not in group and metric_key(name) == metric_key(own))
            both = next(((group[0], name) for name in alike), None)
        if both is not None:
            self._apart.append(f"{both[0]!r} and {both[1]!r} both stand in the file, and stay two metrics.")
            return {}
        return dict.fromkeys(group, known or own)

    def _different(self, group: Sequence[str]) -> tuple[str, str] | None:
        """Two names that are of two metrics: other words, units or scales, or both of one rating."""
        for first, second in combinations(group, 2):
            ends = {without_ends(first)[1], without_ends(second)[1]} - {None}
            if metric_key(first) != metric_key(second) or self._units(first) != self._units(second) or len(ends) > 1:
                return first, second
        if len(group) == 1:
            return None
        rated: dict[str, set[Hashable]] = {
            name: {(*rated, cell.rater) for cell in self._cells[name] for rated in cell.all_rated()} for name in group
        }
        return _collide(rated, group)

    def _units(self, name: str) -> set[str]:
        return {"pair" if cell.second else "turn" if cell.turn else "transcript" for cell in self._cells[name]}

    def _known(self, name: str) -> str | None:
        """The known metric that a name stands for."""
        known = self._reading.known
        bare = without_ends(name)[0]
        end = next((end for end in _ENDS if bare.endswith(end) and bare != end), "")
        base = bare.removesuffix(end)
        rated = known.rated_as(metric_key(base))
        if any(metric.name == base for metric in rated):
            others = sorted({metric.name for metric in rated} - {base})
            if others:
                self._apart.append(f"The run has {base!r} and {others[0]!r}, and ratings of {base!r} stay with it.")
            return bare
        if known.scale(base) is not None and not rated:
            return bare
        metrics = (
            [metric for metric in rated if self._same_units(name, metric)]
            if rated
            else [metric for metric in known.others(metric_key(base)) if self._suits(name, metric)]
        )
        if len(metrics) > 1:
            several = " or ".join(repr(metric.name) for metric in metrics)
            self._apart.append(f"{name!r} may be {several}, and is joined with none. `rename={name}=…` says which.")
            return None
        return f"{metrics[0].name}{end}" if metrics else None

    def _same_units(self, name: str, metric: KnownMetric) -> bool:
        units = self._units(name)
        if "pair" in units or units <= metric.units:
            return True
        rated, other = (" and ".join(f"{unit}s" for unit in sorted(several)) for several in (units, metric.units))
        self._apart.append(f"{name!r} rates {rated}, and {metric.name!r} {other}: they stay two metrics.")
        return False

    def _suits(self, name: str, metric: KnownMetric) -> bool:
        if not self._same_units(name, metric):
            return False
        if self._fits(metric, self._cells[name]):
            return True
        if self._reading.known.rated:  # by itself, a file has nothing that the ratings could be joined with
            self._apart.append(
                f"{name!r} is on another scale than the rubric or code {metric.name!r}, and stays a metric of its own."
            )
        return False
