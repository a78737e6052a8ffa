"""Names that are known before a file of ratings is read: metrics, and in a run its raters and labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from bedside.ratings.scales import Scale
from bedside.ratings.spellings import metric_key


@dataclass(frozen=True, slots=True)
class KnownMetric:
    """A metric that a file's may be.

    Attributes:
        name: in the ratings table.
        called: its title and its declared aliases.
        units: what it rates: ``transcript``, ``turn`` or ``pair``.
        scale: its scale; None where it has none.
    """

    name: str
    called: tuple[str, ...]
    units: frozenset[str]
    scale: Scale | None = None

    def is_called(self, key: str) -> bool:
        """Whether its name, title or an alias has this :func:`~bedside.ratings.spellings.metric_key`."""
        return any(metric_key(name) == key for name in (self.name, *self.called))


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What a file's names may stand for.

    Attributes:
        scale: the scale that a metric brings with it; None where none is known.
        others: metrics that have a key (:func:`~bedside.ratings.spellings.metric_key`), besides those of the run.
        rated: the metrics of the run.
        raters: the people who rated in the run.
        labels: the labels that the run's ratings of a metric have.
    """

    scale: Callable[[str], Scale | None] = lambda name: None
    others: Callable[[str], Sequence[KnownMetric]] = lambda key: ()
    rated: Sequence[KnownMetric] = ()
    raters: Collection[str] = ()
    labels: Mapping[str, Collection[str]] = field(default_factory=dict)

    def rated_as(self, key: str) -> list[KnownMetric]:
        """The metrics of the run that have this key."""
        return [metric for metric in self.rated if metric.is_called(key)]


#: Where nothing is known.
NO_NAMES = KnownNames()
