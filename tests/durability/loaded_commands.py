"""The command line and all entries of the registries, loaded: who imports this finds them made."""

from __future__ import annotations

from bedside.cli import command_line
from bedside.coders.contract import CODERS
from bedside.engines.contract import ENGINES
from bedside.llm.contract import CLIENTS
from bedside.metrics import FAMILIES
from bedside.protocols.contract import PROTOCOLS
from bedside.ratings.form_contract import RATING_FORMS
from bedside.reports.figure_kind import FIGURES
from bedside.reports.table_kind import TABLES
from bedside.rubrics.rubric_files import RUBRICS
from bedside.scoring.pipeline import PIPELINES
from bedside.suites import SUITES
from bedside.transcripts import READERS

command_line()
for registry in (
    CLIENTS, CODERS, ENGINES, FAMILIES, FIGURES, PIPELINES, PROTOCOLS, RATING_FORMS, READERS, RUBRICS, SUITES, TABLES
):  # fmt: skip
    registry.all()
