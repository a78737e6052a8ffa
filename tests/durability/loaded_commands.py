"""All of bedside, its commands, templates and entries of registries, loaded: who imports this finds them made."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import bedside
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
from bedside.reports.renderers.html import templates
from bedside.reports.table_kind import TABLES
from bedside.scoring.pipeline import PIPELINES
from bedside.transcripts.contract import READERS

for module in pkgutil.walk_packages(bedside.__path__, "bedside."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
dict(command_line().commands)
for name in templates().list_templates():
    templates().get_template(name)
for registry in (
    CLIENTS, CODERS, ENGINES, FAMILIES, FIGURES, PIPELINES, PROTOCOLS, RATING_FORMS, READERS, RUBRICS, SUITES, TABLES
):  # fmt: skip
    registry.all()
