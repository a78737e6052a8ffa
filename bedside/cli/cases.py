"""``bedside simulate check`` and what else is done with cases of one's own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bedside.cli import completion as complete
from bedside.cli.output import note, say, show_records
from bedside.cli.parsing import check_choice
from bedside.cli.record_requests import made_record
from bedside.core.errors import InputError
from bedside.core.words import counted

#: Forms that cases are written in.
_FORMS = ("bedside", "mdd5k")


def check(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES", help="Cases: JSON, JSON lines or YAML files, or folders of them.")
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
        $ bedside simulate check my-cases.yaml --protocol medconceal
    """
    from bedside.simulation.simulators.case_files import check_cases, read_cases
    from bedside.simulation.simulators.contract import SIMULATORS

    simulator = None if protocol is None else SIMULATORS.load(protocol)
    errors = warnings = 0
    remarks = []
    for where, remark in check_cases(files, None if simulator is None else simulator.check_case):
        note(f"{where}: {remark}")
        remarks.append({"where": where, **asdict(remark)})
        errors += remark.severity == "error"
        warnings += remark.severity != "error"
    show_records("remarks", f"What is wrong with {_several(files)}, or doubtful", remarks)
    if errors:
        raise InputError(
            f"{counted(errors, 'error')} in the cases", where=_several(files), todo="mend what is listed above"
        )
    cases = counted(len(list(read_cases(files))), "case")
    say(f"{_several(files)}: good ({cases})" + (f"; {counted(warnings, 'warning')}" if warnings else ""))


def convert(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="Cases of bedside's, AgentClinic's, CRAFT-MD's, MDD-5k's or MedAgent's form, or folders of them.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File that the cases are written to.")],
    form: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Form that is written: bedside, as YAML, or mdd5k, the JSON with Chinese keys of MDD-5k's authors.",
            autocompletion=complete.choices(*_FORMS),
        ),
    ] = "bedside",
) -> None:
    """Write cases of other projects in bedside's own form, to be completed by hand.

    AgentClinic's agentclinic_medqa.jsonl, CRAFT-MD's tables, the case files of MDD-5k's authors and MedAgent's tables
    of vignettes are read; docs/cases.md says what becomes of each part.

    Examples:
        $ bedside simulate convert agentclinic_medqa.jsonl --out my-cases.yaml
        $ bedside simulate convert my-cases.yaml --form mdd5k --out pa20.json
    """
    from bedside.core.files import write_text
    from bedside.simulation.simulators.case_files import case_text, converted_cases, unused_rows
    from bedside.simulation.simulators.mdd5k_cases import authors_text

    check_choice(form, _FORMS, "--form")
    if out.exists():
        raise InputError("the file is already there", where=str(out), todo="name another with --out")
    placed, left_out = converted_cases(files)
    cases = [case for _, case in placed]
    write_text(out, authors_text(cases) if form == "mdd5k" else case_text(cases))
    say(f"Wrote {counted(len(cases), 'case')} to {out}.")
    show_records(
        "cases", "Cases that were converted", [{"file": str(out), "cases": len(cases), "left_out": len(left_out)}]
    )
    for where, why in left_out:
        note(f"Left out: {where}: {why}.")
    unused = unused_rows(files)
    if unused:
        note(f"Left out: {counted(unused, 'row')} whose `mental_health_classification` is No.")
    if form == "bedside":
        note(f"Next: bedside simulate check {out}")


def match(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILES", help="Cases of calm-it with 42 answers under dass, or folders of them."),
    ],
    respondents: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="The table of the DASS-42 from openpsychometrics.org, unpacked; nothing is fetched."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="YAML file that the cases with a match are written to.")
    ],
) -> None:
    """Match cases of calm-it to adults who answered the DASS-42 most alike.

    A match is kept where the quadratic weighted kappa of the 42 answers is above 0.6, gender and family status are the
    same, and ages differ by ten years at most. docs/simulators/calm-it.md says what is written.

    Examples:
        $ bedside simulate match my-cases.yaml --respondents data.csv --out matched.yaml
    """
    from bedside.core.files import write_text
    from bedside.simulation.simulators.calm_it.client_fields import ClientSketch, problems
    from bedside.simulation.simulators.calm_it.respondents import match_case, read_respondents
    from bedside.simulation.simulators.case_files import case_text, read_cases

    if out.exists():
        raise InputError("the file is already there", where=str(out), todo="name another with --out")
    cases = read_cases(files)
    for where, case in cases:
        for problem in problems(case, ClientSketch):
            raise InputError(f"case {case.id!r} can't be used by calm-it: {problem}", where=where)
    table = read_respondents(respondents)
    left_out = ", ".join(f"{number:,} {reason}" for reason, number in table.left_out.items())
    say(f"{counted(len(table.numbers), 'respondent')}" + (f"; left out: {left_out}" if left_out else ""))
    matches = [match_case(case, table) for _, case in cases]
    for match in matches:
        best = "" if match.kappa is None else f" (respondent {match.respondent}, kappa {match.kappa:.2f})"
        say(f"{match.case.id}: {'kept' if not match.why_not else f'not kept, {match.why_not}'}{best}")
    kept = [match.case for match in matches if not match.why_not]
    if not kept:
        raise InputError("no case has a match that is kept", todo="see above for the reasons")
    write_text(out, case_text(kept))
    say(f"Wrote {counted(len(kept), 'case')} of {len(cases):,} to {out}.")
    show_records(
        "matches",
        "Cases and the respondents who answered most alike",
        [
            {
                "case": match.case.id,
                "kept": not match.why_not,
                "why_not": match.why_not or None,
                "respondent": match.respondent,
                "kappa": match.kappa,
            }
            for match in matches
        ],
    )


def profiles(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES", help="Cases of calm-it that lack background or session goal, or folders of them."
        ),
    ],
    writer: Annotated[
        str,
        typer.Option(
            metavar="ACTOR",
            help="Who writes what is missing: a model, named as judges are; rules is a toy.",
            autocompletion=complete.actors,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="Folder of the cases; the same command goes on where it stopped."
        ),
    ],
    max_calls: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Most requests to send before stopping; the same command goes on."),
    ] = None,
) -> None:
    """Have a model write background and session goal of calm-it's cases, from profiles.

    What a case says already stays as it is.

    Examples:
        $ bedside simulate profiles profiles.yaml --writer openai/gpt-5 --out prepared
    """
    from bedside.api.calm_it_cases import CASES_FILE, cases_from_profiles
    from bedside.simulation.simulate import SimulationSettings

    summary = cases_from_profiles(files, out, writer=writer, settings=SimulationSettings(max_calls=max_calls))
    counts = summary.counts
    say(f"{counted(counts.finished, 'case')} of {counts.planned:,} in {out / CASES_FILE}.")
    for (whose, reason), number in counts.failed.items():
        say(f"{number:,} failed ({whose}: {reason}).")
    if counts.unfinished:
        say(f"{counts.unfinished:,} have not ended: the same command goes on.")
    show_records("cases", "Cases that were made", [made_record(counts, out / CASES_FILE)])
    if counts.finished:
        note(f"Next: bedside simulate check {out / CASES_FILE} --protocol calm-it")


def _several(files: list[str]) -> str:
    return files[0] if len(files) == 1 else counted(len(files), "file")
