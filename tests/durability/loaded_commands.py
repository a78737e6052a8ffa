"""The command line and all entries of the registries, loaded: who imports this finds them made."""

from __future__ import annotations

from bedside.cli import command_line
from bedside.core.engines.contract import ENGINES
from bedside.judges.llm.contract import CLIENTS
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.metrics import FAMILIES
from bedside.metrics.coders.contract import CODERS
from bedside.metrics.protocols.contract import PROTOCOLS
from bedside.ratings.form_contract import RATING_FORMS
from bedside.ratings.suites import SUITES
from bedside.reports.figure_kind import FIGURES
from bedside.reports.table_kind import TABLES
from bedside.scoring.pipeline import PIPELINES
from bedside.transcripts.contract import READERS

command_line()
for registry in (
    CLIENTS, CODERS, ENGINES, FAMILIES, FIGURES, PIPELINES, PROTOCOLS, RATING_FORMS, READERS, RUBRICS, SUITES, TABLES
):  # fmt: skip
    registry.all()
