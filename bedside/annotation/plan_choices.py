"""What people can be asked to do, and what is drawn for them first; light to import."""

from __future__ import annotations

from typing import Literal, get_args

#: What raters are asked to do; ``adjudicate`` is never drawn by a sample.
SampledMode = Literal["rate", "audit", "findings", "codes", "pairs"]
Mode = Literal[SampledMode, "adjudicate"]
MODES: tuple[SampledMode, ...] = get_args(SampledMode)
Focus = Literal["random", "disagreement", "uncertain"]
FOCI: tuple[Focus, ...] = get_args(Focus)
#: To what end a proposal says what is rated next.
Aim = Literal["kappa", "disagreement"]
AIMS: tuple[Aim, ...] = get_args(Aim)
