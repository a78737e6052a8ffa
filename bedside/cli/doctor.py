"""``bedside doctor``."""

from __future__ import annotations

import typer

from bedside.api.installation import DoctorSettings, doctor as examine
from bedside.cli.output import show_tables
from bedside.cli.settings_options import takes_settings


@takes_settings
def doctor(settings: DoctorSettings) -> None:
    tables = examine.with_settings(settings)
    show_tables(tables)
    if any(fact.good is False for fact in tables.results):
        raise typer.Exit(1)
