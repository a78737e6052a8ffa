"""``bedside plan``."""

from __future__ import annotations

from bedside.api.rating_questions import DifferencePlanSettings, KappaPlanSettings, plan_difference, plan_kappa
from bedside.cli.help import App
from bedside.cli.output import show_tables
from bedside.cli.question_commands import files_told
from bedside.cli.settings_options import takes_settings

plan_app: App = App(
    """Say how many transcripts and raters a study needs.

    Examples:
        $ bedside plan kappa --half-width .1 --kappa .6 --raters 2,3
        $ bedside plan difference --difference .5 --sd 1
    """
)


@plan_app.command("kappa")
@takes_settings
def kappa(settings: KappaPlanSettings) -> None:
    show_tables(plan_kappa.with_settings(settings))


@plan_app.command("difference")
@takes_settings
def difference(settings: DifferencePlanSettings) -> None:
    with files_told():
        tables = plan_difference.with_settings(settings)
    show_tables(tables)
