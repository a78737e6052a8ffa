"""Options ask the library what they may be: their names are the library's, and so are the names of what is shipped."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest

from bedside.analysis.choices import ALTERNATIVES, CORRECTION_FAMILIES, CORRECTIONS, TESTS, WEIGHTS
from bedside.annotation.offline_files import export_forms
from bedside.annotation.plan_choices import AIMS, FOCI, MODES
from bedside.cli import command_line
from bedside.core.engines.contract import ENGINES
from bedside.judges.ask_settings import Order
from bedside.judges.store import State
from bedside.metrics.protocols.note2chat.preferences import Outside, Rule
from bedside.metrics.protocols.note2chat.turn_candidates import TurnReward
from bedside.reports.build import FIGURE_FORMATS
from bedside.reports.exports.contract import EXPORT_FORMS
from bedside.reports.results_layout import Best, Spread
from bedside.reports.table_formats import DOCUMENT_FORMATS, TABLE_FORMATS
from bedside.simulation.simulators.note2chat.training_records import Form, Unit
from bedside.transcripts.contract import READERS
from tests.conftest import exit_code


def parameter(command: str, name: str) -> Any:
    found: Any = command_line()
    for word in command.split():
        found = found.commands[word]
    return next(each for each in found.params if each.name == name)


def offered(option: Any) -> set[str]:
    context: Any = None
    return {
        offer if isinstance(offer, str) else offer[0] if isinstance(offer, tuple) else offer.value
        for offer in option._custom_shell_complete(context, option, "")
    }


@pytest.mark.parametrize(
    ("command", "name", "choices"),
    [
        ("agree", "weights", WEIGHTS),
        ("plan kappa", "weights", WEIGHTS),
        ("compare", "test", TESTS),
        ("compare", "alternative", ALTERNATIVES),
        ("compare", "family", CORRECTION_FAMILIES),
        ("compare", "correction", CORRECTIONS),
        ("score", "order", get_args(Order)),
        ("score", "engine", ENGINES.names()),
        ("score", "format", READERS.names()),
        ("sample", "mode", MODES),
        ("sample", "focus", FOCI),
        ("annotate export", "form", export_forms()),
        ("annotate next", "aim", AIMS),
        ("judge answers list", "state", get_args(State)),
        ("train note2chat preferences", "outside", get_args(Outside)),
        ("train note2chat preferences", "rule", get_args(Rule)),
        ("train note2chat preferences", "unit", get_args(Unit)),
        ("train note2chat candidates", "reward", get_args(TurnReward)),
        ("train note2chat sft", "unit", get_args(Unit)),
        ("train note2chat sft", "form", get_args(Form)),
        ("export", "to", EXPORT_FORMS.names()),
        ("report", "formats", (*TABLE_FORMATS, *DOCUMENT_FORMATS, *FIGURE_FORMATS)),
        ("report", "spread", get_args(Spread)),
        ("report", "best", get_args(Best)),
    ],
)
def test_what_an_option_offers_is_what_the_library_takes(command: str, name: str, choices: tuple[str, ...]) -> None:
    option = parameter(command, name)
    assert offered(option) == set(choices)
    if "bedside" not in option.help and "{" not in option.help:
        named = set(re.findall(r"[\w-]+", option.help))
        assert set(choices) - {"auto"} <= named, option.help


def test_the_help_names_the_engines(capsys: pytest.CaptureFixture[str]) -> None:

    exit_code("score", "--help")
    out = " ".join(capsys.readouterr().out.split())
    assert "{" not in re.sub(r"'[^' ]*{case_id}'", "", out)
    *first, last = ENGINES.names()
    assert f"{', '.join(first)} or {last}" in out
