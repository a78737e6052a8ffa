"""A figure somebody published, and the same one by bedside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        what: what it is of.
        published: as printed, a number or a word.
        ours: the number or word that bedside gives.
        why: where they differ, the reason.
    """

    what: str
    published: str
    ours: float | str | None
    why: str = ""

    @property
    def shown(self) -> str:
        """Ours, to as many decimals as the published figure has."""
        if self.ours is None or isinstance(self.ours, str):
            return str(self.ours)
        decimals = len(self.published.partition(".")[2])
        text = f"{self.ours:.{decimals}f}"
        return text.replace("0.", ".", 1) if self.published.lstrip("-")[:1] == "." else text

    @property
    def agrees(self) -> bool:
        """Whether ours, rounded as the published figure is, is the published one."""
        return self.shown == self.published


def table(figures: Sequence[Figure]) -> str:
    """Figures as a Markdown table."""
    lines = ["| figure | published | bedside |", "| --- | ---: | ---: |"]
    lines += [f"| {one.what} | {one.published} | {one.shown} |" for one in figures]
    if not all(one.agrees for one in figures):
        reasons = ["where they differ", "---", *("" if one.agrees else one.why for one in figures)]
        lines = [f"{line} {reason} |" for line, reason in zip(lines, reasons, strict=True)]
    return "\n".join(lines)
