"""``bedside schema``, ``readers``, ``metrics``, ``suites``, ``rubrics`` and ``probes``: what there is."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bedside.cli import completion as complete
from bedside.cli.help import App, titles
from bedside.cli.output import list_entries, note, say, say_or_show, show_records
from bedside.core.errors import DataError, InputError, one_of
from bedside.core.words import counted

readers_app: App = App(
    """List the file formats that bedside reads; show one.

    Examples:
        $ bedside readers
        $ bedside readers show rows
    """,
    lists=True,
)

metrics_app: App = App(
    """List the metrics; show one's definition, source and examples.

    Examples:
        $ bedside metrics
        $ bedside metrics show percent_open_questions
    """,
    lists=True,
)

suites_app: App = App(
    """List the suites, which are sets of metrics and rubrics; show or check one.

    Examples:
        $ bedside suites
        $ bedside suites show calm-it
        $ bedside suites check mine.yaml
    """,
    lists=True,
)

rubrics_app: App = App(
    """List the rubrics that judges and people rate by; show or check one.

    Examples:
        $ bedside rubrics
        $ bedside rubrics show empathy
        $ bedside rubrics check my-rubrics/warmth.yaml
    """,
    lists=True,
)

probes_app: App = App(
    """List the probes of judges; show what one changes and expects.

    Examples:
        $ bedside probes
        $ bedside probes show length
    """,
    lists=True,
)
readers_app.lists_entries("readers", "The file formats", titles("bedside.transcripts.contract", "READERS"))


@readers_app.command("show")
def readers_show(
    name: Annotated[str, typer.Argument(metavar="READER", help="Name of the format.", autocompletion=complete.readers)],
) -> None:
    """Print what a format is, with a minimal example.

    Examples:
        $ bedside readers show rows
    """
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


@metrics_app.callback()
def metrics(context: typer.Context) -> None:
    """List the metrics, by family."""
    from bedside.judges.deepeval_raters.catalogue import KINDS
    from bedside.judges.deepeval_raters.chosen_metrics import library_words
    from bedside.metrics import FAMILIES

    def rows() -> list[tuple[str, str]]:
        entries = []
        for family in FAMILIES.all().values():
            entries.append((family.name, f"family: {family.title.lower()} ({family.rater()})"))
            entries += [(f"  {metric.name}", metric.title) for metric in family.metrics]
        entries.append(("deepeval", f"deepeval's own, which ask a judge ({library_words()})"))
        return [*entries, *((f"  {kind.metric}", kind.title) for kind in KINDS.values())]

    list_entries(context, "metrics", rows, title="The metrics, by family")


@metrics_app.command("show")
def metrics_show(
    name: Annotated[
        str, typer.Argument(metavar="METRIC", help="Name of a metric or a family.", autocompletion=complete.metric)
    ],
) -> None:
    """Print a metric's or family's definition, source and examples.

    Examples:
        $ bedside metrics show percent_open_questions
        $ bedside metrics show readability
    """
    from bedside.judges.deepeval_raters.catalogue import is_deepeval
    from bedside.judges.deepeval_raters.chosen_metrics import describe_deepeval, describe_metric_of_deepeval
    from bedside.metrics import FAMILIES
    from bedside.metrics.description import describe_family, describe_metric
    from bedside.scoring.plan import families_by_metric

    if name == "deepeval" or is_deepeval(name):
        _say_metric(name, describe_deepeval() if name == "deepeval" else describe_metric_of_deepeval(name))
        return
    if name in FAMILIES:
        _say_metric(name, describe_family(FAMILIES.load(name)))
        return
    owners = families_by_metric()
    one_of(name, [*owners, *FAMILIES.names()], "metric", DataError)
    _say_metric(name, describe_metric(FAMILIES.load(owners[name]), name))


def _say_metric(name: str, description: str) -> None:
    say_or_show(description, "metric", f"What {name} is", [{"name": name, "description": description}])


suites_app.lists_entries("suites", "The suites", titles("bedside.ratings.suites", "SUITES"))


@suites_app.command("show")
def suites_show(
    name: Annotated[
        str, typer.Argument(metavar="SUITE", help="Name of the suite, or a suite file.", autocompletion=complete.suites)
    ],
) -> None:
    """Print a suite's metrics and source.

    Examples:
        $ bedside suites show calm-it
        $ bedside suites show mine.yaml
    """
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


@suites_app.command("check")
def suites_check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The suite file; its name ends in .yaml.")],
) -> None:
    """Check a suite file of your own.

    It checks the form, and that the metrics, parameters, tables and figures exist.

    Examples:
        $ bedside suites check mine.yaml
    """
    from bedside.ratings.suites import SUITES
    from bedside.reports.contents import check_suite
    from bedside.scoring.plan import make_plan

    if not file.endswith(".yaml"):
        raise InputError("a suite file's name ends in .yaml", where=file, todo="rename it")
    suite = SUITES.find(file)
    plan = make_plan(suite.metrics, suite.parameters)
    remarks = list(check_suite(suite))
    for remark in remarks:
        note(f"{file}: {remark}")
    counts = [counted(len(plan.metrics), "metric")]
    if suite.tables or suite.figures:
        counts += [counted(len(suite.tables), "table"), counted(len(suite.figures), "figure")]
    say(f"{file}: good; {', '.join(counts)}")
    show_records("remarks", f"What is doubtful in {file}", [{"text": str(remark)} for remark in remarks])


FolderOption = Annotated[
    Path | None, typer.Option("--rubric-folder", "--folder", metavar="FOLDER", help="Folder of your own rubrics.")
]


LanguageOption = Annotated[
    str | None, typer.Option("--language", metavar="LANGUAGE", help="Show its texts in this language: en, de or zh.")
]


@rubrics_app.callback()
def rubrics(context: typer.Context, rubric_folder: FolderOption = None) -> None:
    """List the rubrics."""
    from bedside.judges.rubrics.rubric_files import rubrics_with

    registry = rubrics_with(rubric_folder)
    list_entries(
        context,
        "rubrics",
        lambda: [(name, rubric.title) for name, rubric in registry.all().items()],
        title="The rubrics",
    )


@rubrics_app.command("show")
def rubrics_show(
    name: Annotated[str, typer.Argument(metavar="RUBRIC", help="Name of the rubric.", autocompletion=complete.rubric)],
    rubric_folder: FolderOption = None,
    language: LanguageOption = None,
) -> None:
    """Print a rubric: what it rates, its levels, what it needs, its source.

    Examples:
        $ bedside rubrics show empathy
        $ bedside rubrics show empathy --language de
        $ bedside rubrics show warmth --rubric-folder my-rubrics
    """
    from bedside.judges.rubrics.description import describe
    from bedside.judges.rubrics.rubric import as_data
    from bedside.judges.rubrics.rubric_files import find_rubric

    rubric = find_rubric(name, rubric_folder, language)
    say_or_show(describe(rubric), "rubric", rubric.title, [{**as_data(rubric), "version": rubric.version}])


@rubrics_app.command("check")
def rubrics_check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The rubric file; its name ends in .yaml.")],
) -> None:
    """Check a rubric file of your own: its form, its levels and its words.

    Examples:
        $ bedside rubrics check my-rubrics/warmth.yaml
    """
    from bedside.judges.rubrics.rubric_files import check_file

    rubric, remarks = check_file(file)
    for remark in remarks:
        note(f"{file}: {remark}")
    rows = [asdict(remark) for remark in remarks]
    show_records("remarks", f"What is wrong with {file}, or doubtful", rows)
    if rubric is None:
        raise InputError("the file is not a rubric yet", where=str(file), todo="mend the errors above")
    say(f"{file}: good; version {rubric.version}" + (f", {counted(len(remarks), 'warning')}" if remarks else ""))


probes_app.lists_entries("probes", "The probes of judges", titles("bedside.tuning.probes", "PROBES"))


@probes_app.command("show")
def probes_show(
    name: Annotated[str, typer.Argument(metavar="PROBE", help="Name of the probe.", autocompletion=complete.probe)],
) -> None:
    """Print what a probe changes, and what a judge's levels should do then.

    Examples:
        $ bedside probes show length
    """
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


def schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="The kind of file, such as rubric. Without one, the kinds are listed.",
            autocompletion=complete.schemas,
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of a kind of file, for editors to check while you type.

    The schema called output describes what the commands print with --json. docs/editors.md says how an editor is
    told to use a schema.

    Examples:
        $ bedside schema
        $ bedside schema rubric > rubric.schema.json
    """
    from bedside.cli.schemas import schema_names, schema_text

    if name is not None:
        text = schema_text(name)
        about = f"The JSON Schema of {name}"
        say_or_show(text.removesuffix("\n"), "schema", about, [{"name": name, "schema": json.loads(text)}])
        return
    rows = [{"name": known, "title": json.loads(schema_text(known))["title"]} for known in schema_names()]
    width = max(len(row["name"]) for row in rows)
    text = "\n".join(f"{row['name']:<{width}}  {row['title']}" for row in rows)
    say_or_show(text, "schemas", "The kinds of files that there are schemas of", rows)
