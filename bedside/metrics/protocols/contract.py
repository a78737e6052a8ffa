"""The contract of protocols: each is one folder, and says which metric family computes on which labels, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bedside.core.registry import Registry

if TYPE_CHECKING:
    from bedside.metrics.protocols.label_files import LabelForm


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
