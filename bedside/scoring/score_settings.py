"""What is scored, and how: the settings of :func:`bedside.score`; light to import."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bedside.core.question_settings import OPTIONS, READING, option, settings_class
from bedside.core.words import Names

if TYPE_CHECKING:
    from bedside.core.engines.contract import Engine
    from bedside.ratings.suites import Suite
    from bedside.transcripts.read_options import ReadOptions


@settings_class
class ScoreSettings:
    """Score transcripts into a run."""

    out: str | os.PathLike[str] = option(
        "Folder of the run; a run that is there is added to.",
        "--out", "-o", heading=OPTIONS, metavar="RUN", form="path", kw_only=False,
    )  # fmt: skip
    suite: str | Suite = option(
        "What is scored: the name of a suite (bedside list suites lists them), or your own suite file. Without it, the "
        "suite default; of the folder of a simulation, its protocol's.",
        default="default", heading=OPTIONS, metavar="SUITE", form="word", offers="suites",
    )  # fmt: skip
    metrics: Names | None = option(
        "Metrics or families to score in place of the suite's; bedside list metrics lists them. Those that begin with "
        "deepeval: ask the judge.",
        default=None, heading=OPTIONS, metavar="A,B", form="names", offers="metrics",
    )  # fmt: skip
    parameters: Mapping[str, Mapping[str, Any]] | None = option(
        "A parameter of a family; bedside show FAMILY lists them.",
        "--set", default=None, heading=OPTIONS, metavar="FAMILY.NAME=VALUE", form="parameters",
    )  # fmt: skip
    options: ReadOptions | None = option("How the files are read.", default=None, heading=None)
    text: bool = option(
        "Keep ids, factors and hashes in the run, but no text.",
        "--no-text", default=True, heading=READING, form="unless",
    )  # fmt: skip
    labels: str | os.PathLike[str] | None = option(
        "Labels to score a protocol's suite ({protocols}) from, in place of a judge's answers; the suite's page in the "
        "documentation shows their form.",
        default=None, heading=READING, metavar="FILE", form="path",
    )  # fmt: skip
    waiting: Names = option(
        "Metrics that follow from a judge's answers later: what no labels are there for is not rated as missing.",
        default=(), heading=None,
    )  # fmt: skip
    seed: int = option("Kept in the manifest, for metrics that draw at random.", default=0, heading=None)
    engine: Engine | None = option(
        "Whose workers share the work (bedside.core.engines.contract.open_engine); the run is the same. What is done "
        "is kept beside the run's folder until all is, so that the same call goes on after a stop.",
        default=None, heading=None,
    )  # fmt: skip
    progress: Callable[[int, int], None] | None = option(
        "Called with the number of transcripts and of files done.", default=None, heading=None
    )
