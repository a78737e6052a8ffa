"""``bedside simulators``: the protocols that conversations can be simulated by, and cases of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli import completion as complete
from bedside.cli.help import App
from bedside.cli.output import list_entries, note, say
from bedside.support.errors import InputError
from bedside.support.plurals import counted

simulators_app = App(
    """List the protocols to simulate conversations by; check and convert cases of your own.

    Examples:
        $ bedside simulators
        $ bedside simulators show medconceal
        $ bedside simulators check cases/ --protocol medconceal
    """,
    lists=True,
)

#: What several commands ask for.
ProtocolArgument = Annotated[
    str,
    typer.Argument(metavar="PROTOCOL", help="Name of the protocol.", autocompletion=complete.simulators),
]


@simulators_app.callback()
def simulators(context: typer.Context) -> None:
    """List the protocols."""
    from bedside.simulators.contract import SIMULATORS

    list_entries(context, lambda: [(name, entry.title) for name, entry in SIMULATORS.all().items()])


@simulators_app.command("show")
def simulators_show(
    name: ProtocolArgument,
    case: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Bundled case for which the clinician's brief is shown. Without it, the first."
        ),
    ] = None,
) -> None:
    """Print a protocol's settings, options and cases, and what a clinician under test is told.

    Examples:
        $ bedside simulators show medconceal
        $ bedside simulators show note2chat --case cough-smoker
    """
    from bedside.simulation.role_sampling import options_of
    from bedside.simulators.contract import SIMULATORS
    from bedside.simulators.description import describe

    simulator = SIMULATORS.load(name)
    say(describe(simulator, options_of(simulator), case))


@simulators_app.command("check")
def simulators_check(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILES", help="Cases: JSON, JSON lines or YAML files, or folders of them."),
    ],
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Check for this protocol too what it needs of a case. Without it, only the form and what leaks.",
            autocompletion=complete.simulators,
        ),
    ] = None,
) -> None:
    """Check case files of your own.

    It checks their form, whether what is hidden stands in the open, and what a protocol needs. Problems come with the
    file and line; docs/cases.md shows the form.

    Examples:
        $ bedside simulators check my-cases.yaml --protocol medconceal
    """
    from bedside.simulators.case_files import check_cases, read_cases
    from bedside.simulators.contract import SIMULATORS

    simulator = None if protocol is None else SIMULATORS.load(protocol)
    errors = warnings = 0
    for where, remark in check_cases(files, None if simulator is None else simulator.check_case):
        note(f"{where}: {remark}")
        errors += remark.severity == "error"
        warnings += remark.severity != "error"
    if errors:
        raise InputError(
            f"{counted(errors, 'error')} in the cases",
            where=_several(files),
            todo="mend what is listed above",
        )
    cases = counted(len(list(read_cases(files))), "case")
    say(f"{_several(files)}: good ({cases})" + (f"; {counted(warnings, 'warning')}" if warnings else ""))


@simulators_app.command("convert")
def simulators_convert(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES", help="Cases of bedside's, AgentClinic's or CRAFT-MD's form, or folders of them."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="YAML file that the cases are written to.")
    ],
) -> None:
    """Write cases of other projects in bedside's own form, to be completed by hand.

    AgentClinic's agentclinic_medqa.jsonl and CRAFT-MD's tables are read; docs/cases.md says what becomes of each part.

    Examples:
        $ bedside simulators convert agentclinic_medqa.jsonl --out my-cases.yaml
    """
    from bedside.simulators.case_files import case_text, read_cases
    from bedside.support.files import write_text

    if out.exists():
        raise InputError("the file is already there", where=str(out), todo="name another with --out")
    cases = [case for _, case in read_cases(files)]
    write_text(out, case_text(cases))
    say(f"Wrote {counted(len(cases), 'case')} to {out}.")
    note(f"Next: bedside simulators check {out}")


def _several(files: list[str]) -> str:
    return files[0] if len(files) == 1 else counted(len(files), "file")
