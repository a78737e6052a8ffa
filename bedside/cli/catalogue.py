"""``bedside list`` and ``bedside show``: what there is, of every kind."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from bedside.cli import completion as complete
from bedside.cli.output import is_json, note, say, say_entries, say_or_show, show_records, show_tables
from bedside.cli.parsing import check_choice, either
from bedside.core.errors import InputError, one_of
from bedside.core.registry import Registry
from bedside.core.words import counted

Entries = Iterable[tuple[str, str]]


def _metrics() -> Entries:
    from bedside.judges.deepeval_raters.catalogue import KINDS
    from bedside.judges.deepeval_raters.chosen_metrics import library_words
    from bedside.metrics import FAMILIES

    for family in FAMILIES.all().values():
        yield family.name, f"family: {family.title.lower()} ({family.rater()})"
        yield from ((f"  {metric.name}", metric.title) for metric in family.metrics)
    yield "deepeval", f"deepeval's own, which ask a judge ({library_words()})"
    yield from ((f"  {kind.metric}", kind.title) for kind in KINDS.values())


def _show_metric(name: str) -> None:
    from bedside.judges.deepeval_raters.catalogue import is_deepeval
    from bedside.judges.deepeval_raters.chosen_metrics import describe_deepeval, describe_metric_of_deepeval
    from bedside.metrics import FAMILIES
    from bedside.metrics.description import describe_family, describe_metric
    from bedside.scoring.plan import families_by_metric

    if name == "deepeval":
        description = describe_deepeval()
    elif is_deepeval(name):
        description = describe_metric_of_deepeval(name)
    elif name in FAMILIES:
        description = describe_family(FAMILIES.load(name))
    else:
        description = describe_metric(FAMILIES.load(families_by_metric()[name]), name)
    say_or_show(description, "metric", f"What {name} is", [{"name": name, "description": description}])


def _show_rubric(name: str, rubric_folder: Path | None = None, language: str | None = None) -> None:
    from bedside.judges.rubrics.description import describe
    from bedside.judges.rubrics.rubric import as_data
    from bedside.judges.rubrics.rubric_files import find_rubric

    rubric = find_rubric(name, rubric_folder, language)
    say_or_show(describe(rubric), "rubric", rubric.title, [{**as_data(rubric), "version": rubric.version}])


def _check_rubric(file: str) -> None:
    from bedside.judges.rubrics.rubric_files import check_file, place_of

    rubric, remarks = check_file(Path(file))
    for remark in remarks:
        note(f"{place_of(Path(file), remark.key)}: {remark}")
    show_records("remarks", f"What is wrong with {file}, or doubtful", map(asdict, remarks))
    if rubric is None or any(remark.severity == "error" for remark in remarks):
        raise InputError("the file is not a rubric yet", where=file, todo="mend the errors above")
    say(f"{file}: good; version {rubric.version}" + (f", {counted(len(remarks), 'warning')}" if remarks else ""))


def _show_suite(name: str) -> None:
    from bedside.ratings.suites import SUITES

    suite = SUITES.find(name)
    lines = [f"{suite.name}: {suite.title}", "", suite.description, f"Source: {suite.source}", "", "Metrics:"]
    lines += [f"  {metric}" for metric in suite.metrics]
    if suite.rubrics:
        lines += ["", "Rubrics, for a judge:", *(f"  {rubric}" for rubric in suite.rubrics)]
    for what, entries in (("Tables", suite.tables), ("Figures", suite.figures)):
        if entries:
            lines += ["", f"{what} of its report:"]
        lines += [f"  {entry.id}: {entry.title or entry.kind}" for entry in entries]
    record = suite.model_dump(mode="json", exclude_defaults=True)
    say_or_show("\n".join(lines), "suite", suite.title, [record])


def _check_suite(file: str) -> None:
    from bedside.reports.contents import checked_suite
    from bedside.scoring.plan import make_plan

    suite, remarks = checked_suite(file)
    for remark in remarks:
        note(f"{file}: {remark}")
    counts = [counted(len(make_plan(suite.metrics, suite.parameters).metrics), "metric")]
    if suite.tables or suite.figures:
        counts += [counted(len(suite.tables), "table"), counted(len(suite.figures), "figure")]
    say(f"{file}: good; {', '.join(counts)}")
    show_records("remarks", f"What is doubtful in {file}", [{"text": str(remark)} for remark in remarks])


def _show_reader(name: str) -> None:
    from bedside.transcripts.contract import FACTS, READERS

    reader = READERS.load(name)
    stated = "".join(f"- {FACTS[key]}: {reader.facts[key]}\n" for key in FACTS if key in reader.facts)
    text = (
        f"{reader.name}: {reader.title}\n\n{reader.description}\n\n{stated and stated + chr(10)}"
        f"{reader.example_name}:\n{reader.example}"
    )
    facts = ("name", "title", "description", "facts", "example_name", "example")
    record = {fact: getattr(reader, fact) for fact in facts}
    say_or_show(text.removesuffix("\n"), "reader", reader.title, [record])


def _show_protocol(name: str, case: str | None = None) -> None:
    from bedside.simulation.simulation_plan import options_of
    from bedside.simulation.simulators.description import describe, describe_file
    from bedside.simulation.simulators.file_talk import find_simulator

    protocol = find_simulator(name)
    source = protocol.made_of
    text = describe(protocol, options_of(protocol), case) if source is None else describe_file(protocol, source, case)
    record = {
        fact: getattr(protocol, fact) for fact in ("name", "title", "source", "languages", "lengths", "parameters")
    }
    parts = {part: [asdict(each) for each in getattr(protocol, part)] for part in ("settings", "options")}
    say_or_show(text, "simulator", protocol.title, [{**record, **parts, "text": text}])


def _show_coder(name: str) -> None:
    from bedside.metrics.coders.finder import find_coder
    from bedside.metrics.coders.learned.trained_coder import load_card
    from bedside.reports.coder_test import card_tables

    if name.endswith(".npz"):
        card, rater = load_card(name)
        if is_json():
            show_records("card", f"The card of {rater}", [{"rater": rater, **card}])
        else:
            show_tables(card_tables(card, rater))
        return
    coder = find_coder(name)
    lines = [
        f"{coder.name}: {coder.title}",
        "",
        coder.description,
        "",
        f"Name in ratings: {coder.rater}",
        f"Codes: {', '.join(coder.codes)}",
        f"Languages: {', '.join(coder.languages) or 'not stated'}",
        f"Source: {coder.source}",
    ]
    facts = ("name", "title", "description", "version", "rater", "codes", "languages", "source")
    say_or_show("\n".join(lines), "coder", coder.title, [{fact: getattr(coder, fact) for fact in facts}])


def _show_probe(name: str) -> None:
    from bedside.tuning.probes import PROBES

    probe = PROBES.load(name)
    expected = {"stays": "should stay", "moves": "must move"}[probe.expects]
    width = max(len(variant.name) for variant in probe.variants)
    lines = [f"{probe.name}: {probe.title}", "", probe.description, ""]
    lines += [f"Changes, with which a level {expected}:"]
    lines += [f"  {variant.name:<{width}}  {variant.title}" for variant in probe.variants]
    variants = [{"name": variant.name, "title": variant.title} for variant in probe.variants]
    facts = {fact: getattr(probe, fact) for fact in ("name", "title", "description", "expects")}
    say_or_show("\n".join(lines), "probe", probe.title, [{**facts, "variants": variants}])


def _show_table(name: str) -> None:
    from bedside.reports.table_kind import TABLES

    kind = TABLES.load(name)
    when = "where the run has something to show in it" if kind.general else "where a suite names it"
    about = (sys.modules[kind.build.__module__].__doc__ or "").strip()
    text = f"{name}: {kind.title}\n\n{about}\n\nA report has this table {when}."
    say_or_show(text, "table", kind.title, [{"name": name, "title": kind.title, "description": about, "when": when}])


def _show_schema(name: str) -> None:
    from bedside.cli.schemas import schema_text

    text = schema_text(name)
    records = [{"name": name, "schema": json.loads(text)}]
    say_or_show(text.removesuffix("\n"), "schema", f"The JSON Schema of {name}", records)


def _schemas() -> Entries:
    from bedside.cli.schemas import schema_names, schema_text

    return ((name, json.loads(schema_text(name))["title"]) for name in schema_names())


def _rubrics(folder: Path | None) -> Registry[Any]:
    from bedside.judges.rubrics.rubric_files import rubrics_with

    return rubrics_with(folder)


def _of(module: str, name: str) -> Callable[[Path | None], Registry[Any]]:
    """Gives a registry; its module is loaded when it is asked for."""
    return lambda folder: getattr(import_module(module), name)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of entries.

    Attributes:
        title: what they are.
        example: the name of one.
        show: prints one, by its name and those of its options that have values.
        registry: of them, with those of the user's folder; None where ``entries`` are given.
        entries: names and titles; a name after spaces is of the group above it.
        takes: the options of ``show``, as the command calls them.
        ending: that of names of the user's own files.
        check: checks such a file.
    """

    title: str
    example: str
    show: Callable[..., None]
    registry: Callable[[Path | None], Registry[Any]] | None = None
    entries: Callable[[], Entries] = tuple
    takes: tuple[str, ...] = ()
    ending: str | None = None
    check: Callable[[str], None] | None = None

    def names(self, folder: Path | None) -> tuple[str, ...]:
        """All names."""
        if self.registry is not None:
            return self.registry(folder).names()
        return tuple(name.strip() for name, _ in self.entries())

    def titles(self, folder: Path | None) -> Entries:
        """All names, with their titles."""
        if self.registry is not None:
            return ((name, entry.title) for name, entry in self.registry(folder).all().items())
        return self.entries()


_PROTOCOLS = _of("bedside.simulation.simulators.contract", "SIMULATORS")
_SUITES = _of("bedside.ratings.suites", "SUITES")
_KINDS = {
    "metrics": _Kind("The metrics, by family", "percent_open_questions", _show_metric, entries=_metrics),
    "rubrics": _Kind("The rubrics", "empathy", _show_rubric, _rubrics, tuple,
                     ("rubric_folder", "language", "check"), ".yaml", _check_rubric),
    "suites": _Kind("The suites", "default", _show_suite, _SUITES, tuple, ("check",), ".yaml", _check_suite),
    "readers": _Kind("The file formats", "rows", _show_reader, _of("bedside.transcripts.contract", "READERS")),
    "protocols": _Kind("The protocols of simulated conversations", "medconceal", _show_protocol, _PROTOCOLS, tuple,
                       ("case",), ".yaml"),
    "coders": _Kind("The coders of behaviour", "rules", _show_coder, _of("bedside.metrics.coders.contract", "CODERS"),
                    tuple, (), ".npz"),
    "probes": _Kind("The probes of judges", "wording", _show_probe, _of("bedside.tuning.probes", "PROBES")),
    "tables": _Kind("The tables of reports", "results", _show_table, _of("bedside.reports.table_kind", "TABLES")),
    "schemas": _Kind("The kinds of files that there are schemas of", "rubric", _show_schema, None, _schemas,
                     ("schema",)),
}  # fmt: skip


def _refuse(typed: Iterable[str], kind: str, takes: Iterable[str]) -> None:
    """Raise InputError where an option is typed that says nothing of a kind."""
    for option in typed:
        if option not in takes:
            raise InputError(f"it says nothing of {kind}", where=f"--{option.replace('_', '-')}", todo="leave it out")


def _kind_of(name: str, folder: Path | None) -> str:
    """The one kind that has an entry of this name, or that a file is of."""
    if name.endswith(".npz"):
        return "coders"
    if name.endswith(".yaml"):
        content = Path(name).read_bytes() if Path(name).is_file() else b""
        if re.search(rb"^protocol:", content, re.M):
            return "protocols"
        return "suites" if re.search(rb"^(metrics|tables|figures):", content, re.M) else "rubrics"
    named = {kind: entry.names(folder) for kind, entry in _KINDS.items()}
    kinds = [kind for kind, names in named.items() if name in names]
    if len(kinds) > 1:
        raise InputError(f"{either(kinds)} may be meant", where=name, todo=f"add --kind {kinds[0]}")
    one_of(name, [each for names in named.values() for each in names], "entry", InputError)
    return kinds[0]


FolderOption = Annotated[
    Path | None, typer.Option("--rubric-folder", "--folder", metavar="FOLDER", help="Folder of your own rubrics.")
]


def list(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help="What is listed: metrics, rubrics, suites, readers, protocols, coders, probes, tables or schemas. "
            "Without it, the kinds.",
            autocompletion=complete.choices(*complete.CATALOGUE),
        ),
    ] = None,
    rubric_folder: FolderOption = None,
) -> None:
    """List what there is: metrics, rubrics, suites, formats and more.

    Examples:
        $ bedside list
        $ bedside list metrics
        $ bedside list rubrics --rubric-folder my-rubrics
    """
    if kind is not None:
        check_choice(kind, _KINDS, "KIND")
        _refuse([] if rubric_folder is None else ["rubric_folder"], kind, _KINDS[kind].takes)
        say_entries(kind, _KINDS[kind].titles(rubric_folder), title=_KINDS[kind].title)
        return
    counts = {name: len(each.names(rubric_folder)) for name, each in _KINDS.items()}
    lines = [f"{name:<9}  {counts[name]:>4}  {each.title}, such as {each.example}" for name, each in _KINDS.items()]
    text = "\n".join((*lines, "", "bedside list KIND names them; bedside show NAME shows one."))
    rows = [{"name": name, "title": each.title, "entries": counts[name]} for name, each in _KINDS.items()]
    say_or_show(text, "kinds", "What there is", rows)


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Its name; or a suite, rubric, protocol or trained coder (.npz) file.",
            autocompletion=complete.catalogue,
        ),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="What it is, as bedside list names the kinds; needed where several kinds have the name.",
            autocompletion=complete.choices(*complete.CATALOGUE),
        ),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of a kind of file.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Check a suite or rubric file of your own.")] = False,
    rubric_folder: FolderOption = None,
    language: Annotated[
        str | None, typer.Option(metavar="LANGUAGE", help="Show a rubric's texts in this language: en, de or zh.")
    ] = None,
    case: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Case of a protocol, or person of its file, to show. Without it, the first."),
    ] = None,
) -> None:
    """Show an entry of what there is; check a file of your own.

    Examples:
        $ bedside show percent_open_questions
        $ bedside show empathy --language de
        $ bedside show calm-it --kind suites
        $ bedside show note2chat --kind protocols --case cough-smoker
        $ bedside show my-rubrics/warmth.yaml --check
        $ bedside show rubric --schema > rubric.schema.json
    """
    check_choice(kind, _KINDS, "--kind")
    if check and not name.endswith(".yaml"):
        raise InputError("the name of a suite or rubric file ends in .yaml", where=name, todo="rename it")
    chosen = kind or ("schemas" if schema else _kind_of(name, rubric_folder))
    entry = _KINDS[chosen]
    options = {"rubric_folder": rubric_folder, "language": language, "case": case}
    typed = {option: value for option, value in options.items() if value is not None}
    flags = [option for option, flag in (("schema", schema), ("check", check)) if flag]
    _refuse([*typed, *flags], chosen, entry.takes)
    if check and entry.check is not None:
        _refuse(typed, "a check", ())
        entry.check(name)
        return
    if entry.ending is None or not name.endswith(entry.ending):
        one_of(name, entry.names(rubric_folder), chosen.removesuffix("s"), InputError)
    entry.show(name, **typed)
