"""The contract of protocols: each is one folder, and says which metric family computes on which labels, and how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bedside.core.registry import Registry

if TYPE_CHECKING:
    from bedside.metrics.protocols.label_files import LabelForm


# -- A number -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """A value, or the reason why it is missing.

    Attributes:
        value: the number; None where missing.
        missing: why there is none.
        n: over several cases: number of cases the value rests on.
        dropped: over several cases: number left out because they have no value.
    """

    value: float | None = None
    missing: str | None = None
    n: int = 1
    dropped: int = 0


def ratio(numerator: float, denominator: float, empty: str, *, n: int = 1, dropped: int = 0) -> Measured:
    """``numerator / denominator``; missing because of ``empty`` where the denominator is 0."""
    if denominator == 0:
        return Measured(missing=empty, n=n, dropped=dropped)
    return Measured(numerator / denominator, n=n, dropped=dropped)


def mean(values: Iterable[Measured], empty: str) -> Measured:
    """The mean of the values that are there; missing because of ``empty`` where there is none."""
    measured = list(values)
    numbers = [case.value for case in measured if case.value is not None]
    return ratio(sum(numbers), len(numbers), empty, n=len(numbers), dropped=len(measured) - len(numbers))


# -- The contract of protocols --------------------------------------------------------------------------

__all__ = ["PROTOCOLS", "Protocol"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """A published evaluation protocol.

    Attributes:
        title: what it is called.
        family: name of the metric family that computes its measures.
        labels: the labels that they are computed from, and how a file of them is laid over transcripts.
    """

    title: str
    family: str
    labels: LabelForm[Any]

    @property
    def name(self) -> str:
        """The entry's name, which is also the key of its labels in transcripts and the name of its suite."""
        return self.labels.protocol


#: Protocols by name.
PROTOCOLS: Registry[Protocol] = Registry(
    "bedside.metrics.protocols", "PROTOCOL", "protocol", Protocol, group="bedside.protocols", folders=True
)
