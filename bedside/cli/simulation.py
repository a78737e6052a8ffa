"""``bedside simulate`` as a whole: conversations, what became of them, and cases of one's own."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from bedside.api.simulating import QualitySettings, simulation_quality
from bedside.cli import completion as complete
from bedside.cli.help import App
from bedside.cli.output import Shown, is_json, note, say, say_or_show, show_answer, show_records, show_tables
from bedside.cli.parsing import check_choice
from bedside.cli.progress import judging_progress
from bedside.cli.record_requests import made_record
from bedside.cli.settings_options import takes_settings
from bedside.cli.simulate import simulate
from bedside.core.errors import InputError
from bedside.core.words import counted, typed, visible_line

simulate_app: App = App("", runs=True)
simulate_app.command("run", hidden=True)(simulate)

TalksArgument = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder that bedside simulate made, also while it goes on.")
]


@simulate_app.command("status")
def simulation_status(folder: TalksArgument) -> None:
    """Show how many conversations there are by system, how they ended, and what it took.

    Examples:
        $ bedside simulate status talks
    """
    from bedside.reports.simulations import simulation_tables

    show_tables(simulation_tables(folder))


@simulate_app.command("failed")
def simulation_failed(folder: TalksArgument) -> None:
    """List the conversations without a transcript, whose doing it is and why.

    Examples:
        $ bedside simulate failed talks
    """
    from bedside.reports.simulations import lost_table

    table = lost_table(folder)
    if table.rows or is_json():
        show_tables([table])
    else:
        say("Every conversation has a transcript.")


@simulate_app.command("show")
def simulation_show(
    folder: TalksArgument,
    conversation: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The transcript's id. Without one, the ids are listed.")
    ] = None,
) -> None:
    """Show one conversation turn by turn, with hidden states and decisions that no judge sees.

    Examples:
        $ bedside simulate show talks
        $ bedside simulate show talks note2chat/script:good/cough-smoker/26-messages/1
    """
    from bedside.reports.simulations import conversation_ids, conversation_text

    if conversation is not None:
        text = conversation_text(folder, conversation)
        about = f"The conversation {conversation}"
        say_or_show(text, "conversation", about, [{"id": conversation, "text": text}])
        return
    names = list(conversation_ids(folder))
    text = "\n".join(map(visible_line, names))
    say_or_show(text, "conversations", "The conversations", [{"id": name} for name in names])


@simulate_app.command("quality")
@takes_settings
def quality(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that bedside simulate made.")],
    settings: QualitySettings,
    shown: Shown,
) -> None:
    from bedside.reports.table import Tables
    from bedside.reports.tables.simulation_quality import likeness_sentences, quality_screen, quality_sentences

    with judging_progress() as progress:
        tables = simulation_quality.with_settings(folder, replace(settings, progress=progress))
    screen = [] if shown.all or is_json() else [quality_screen(tables.results)]
    sentences = [
        *(text for table in tables[1:] for text in likeness_sentences(table)),
        *quality_sentences(tables.results),
    ]
    show_answer(Tables([*screen, *tables], tables.results), shown, sentences)


@simulate_app.command("turns")
def simulation_turns(
    folder: TalksArgument,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The JSON lines to write.", dir_okay=False)],
    parameters: Annotated[
        str, typer.Option(metavar="NAME", help="The parameters that the patient went by: a set's name, or a file.")
    ] = "default",
) -> None:
    """Write MedConceal's clinician turns as rows to label and to fit a policy to.

    There is a row for each turn and hidden concern. What it says of reveal and address is what the patient did; correct
    it by reading the conversations.

    Examples:
        $ bedside simulate turns talks --out turns.jsonl
    """
    from bedside.core.files import write_text
    from bedside.metrics.protocols.medconceal.policy import find_parameters
    from bedside.metrics.protocols.medconceal.trace import turn_rows
    from bedside.transcripts.reading import read_transcripts

    if out.exists():
        raise InputError("the file is already there", where=str(out), todo="name another with --out")
    policy = find_parameters(parameters)
    rows = [row for transcript in read_transcripts([folder]) for row in turn_rows(transcript, policy)]
    write_text(out, "".join(f"{row.model_dump_json(exclude_none=True)}\n" for row in rows))
    say(
        f"Wrote {counted(len(rows), 'row')} to {out}; fit a policy with bedside train policy {typed(out)} "
        "--out mine.yaml"
    )
    show_records("turns", "Turns to label", [{"file": str(out), "rows": len(rows)}])


@simulate_app.command("dialogues")
def simulation_dialogues(
    folder: TalksArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write; it must not be there yet.")
    ],
) -> None:
    """Write MDD-5k's interviews in the JSON of its authors.

    There is a file for each case in conversations, with its dialogues, and one in labels, with its diagnosis. Each of
    several systems has a folder.

    Examples:
        $ bedside simulate dialogues talks --out mdd5k
    """
    from bedside.core.files import write_text
    from bedside.simulation.simulators.mdd5k.dialogue_files import dialogue_files
    from bedside.transcripts.reading import read_transcripts

    if out.exists():
        raise InputError("the folder is already there", where=str(out), todo="name another with --out")
    transcripts = list(read_transcripts([folder]))
    files = dialogue_files(transcripts)
    for name, text in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(out / name, text)
    say(f"Wrote {counted(len(transcripts), 'dialogue')} to {out}, {counted(len(files), 'file')}.")
    show_records(
        "dialogues",
        "Interviews in the JSON of MDD-5k's authors",
        [{"folder": str(out), "dialogues": len(transcripts), "files": len(files)}],
    )


# -- Cases and protocols of one's own --------------------------------------------------------------------

#: The heading under which they stand.
CASES = "Cases of your own"
#: Forms that cases are written in.
_FORMS = ("bedside", "mdd5k")


@simulate_app.command("new", rich_help_panel=CASES)
def new_protocol_files(
    folder: Annotated[Path, typer.Argument(metavar="NAME", help="Folder to make; the protocol is called so too.")],
    like: Annotated[
        str,
        typer.Option(
            metavar="PROTOCOL",
            help="What it starts from: check-in, a sheet's ratings; risk, a flow of questions; teach-back, points that "
            "stand with each person.",
            autocompletion=complete.choices("check-in", "risk", "teach-back"),
        ),
    ] = "check-in",
) -> None:
    """Start a protocol of your own: a folder of commented files that runs as it is.

    There are a protocol file, people, a prompt for each side and a suite. docs/protocol-files.md says what to change.

    Examples:
        $ bedside simulate new my-study
        $ bedside simulate new my-study --like risk
    """
    from bedside.simulation.simulators.protocol_file import new_protocol

    files = new_protocol(folder, like)
    protocol = typed(folder / "protocol.yaml")
    say(f"Wrote {counted(len(files), 'file')} into {folder}: {', '.join(file.name for file in files)}.")
    say(f"Next: bedside show {protocol}; bedside simulate --protocol {protocol} --clinician rules")
    show_records("files", "Files of a new protocol", [{"file": str(file)} for file in files])


@simulate_app.command("check", rich_help_panel=CASES)
def check_case_files(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="Cases: JSON, JSON lines or YAML files, or folders of them. Or a protocol file, with all it names.",
        ),
    ],
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Check for this protocol too what it needs of a case. Without it, only the form and what leaks. With "
            "a protocol file, its people are checked.",
            autocompletion=complete.simulators,
        ),
    ] = None,
) -> None:
    """Check case files, or a protocol file, of your own.

    It checks their form, whether what is hidden stands in the open, and what a protocol needs. Problems come with the
    file and line; docs/cases.md shows the form.

    Examples:
        $ bedside simulate check my-cases.yaml --protocol medconceal
        $ bedside simulate check my-study/protocol.yaml
    """
    from bedside.judges.rubrics.linter import Remark
    from bedside.reports.contents import checked_suite
    from bedside.simulation.simulators.case_files import check_cases, read_cases
    from bedside.simulation.simulators.file_talk import find_simulator
    from bedside.simulation.simulators.protocol_file import check_people, is_protocol_file

    own = protocol is None and len(files) == 1 and is_protocol_file(files[0])
    simulator = find_simulator(files[0]) if own else None if protocol is None else find_simulator(protocol)
    source = None if simulator is None else simulator.made_of
    if source is None:
        doubtful = check_cases(files, None if simulator is None else simulator.check_case)
    else:
        texts = checked_suite(source.suite)[1] if source.suite else []
        of_suite = [(source.suite, Remark("warning", "tables", text)) for text in texts]
        doubtful = chain(of_suite, check_people(source.content, None if own else files))
    errors = warnings = 0
    remarks = []
    for where, remark in doubtful:
        note(f"{where}: {remark}")
        remarks.append({"where": where, **asdict(remark)})
        errors += remark.severity == "error"
        warnings += remark.severity != "error"
    show_records("remarks", f"What is wrong with {_several(files)}, or doubtful", remarks)
    if errors:
        things = "cases" if source is None else "people"
        raise InputError(
            f"{counted(errors, 'error')} in the {things}", where=_several(files), todo="mend what is listed above"
        )
    read = read_cases(files) if source is None else source.read_people(source.content.people if own else files)
    cases = counted(len(read), "case" if source is None else "person")
    say(f"{_several(files)}: good ({cases})" + (f"; {counted(warnings, 'warning')}" if warnings else ""))


@simulate_app.command("convert", rich_help_panel=CASES)
def convert_cases(
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


@simulate_app.command("match", rich_help_panel=CASES)
def match_cases(
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


@simulate_app.command("profiles", rich_help_panel=CASES)
def write_profiles(
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
