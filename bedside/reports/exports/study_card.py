"""The page that lies beside an export: what it holds, how it was made, what is personal in it, how it is cited."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

import bedside
from bedside.core.words import counted
from bedside.reports.checklist import FACTS, ReportedStudy
from bedside.reports.exports.exported_study import ORIGIN_WORDS, ORIGINS, ExportedStudy
from bedside.reports.exports.study_tables import StudyTable, rater_kind
from bedside.reports.methods import methods
from bedside.reports.renderers.markdown import escape_markdown
from bedside.reports.tables.rubrics import rated_rubrics

#: The card's file.
CARD = "README.md"


def study_card(study: ExportedStudy, reading: str, tables: Sequence[StudyTable]) -> str:
    """The card as Markdown.

    Args:
        study: the study.
        reading: Markdown that says how the files are read.
        tables: what the files hold.
    """
    sections = {
        "": _beginning(study),
        "How to read it": reading,
        "What is in the tables": "\n\n".join(map(_columns, tables)),
        "Where the conversations come from": _origins(study),
        "How the ratings were made": _ratings(study),
        "What was left out": _left_out(study),
        "Licence": _licence(study),
        "Citation": _citation(study),
    }
    parts = [f"# {escape_markdown(study.title)}"]
    parts += [f"## {title}\n\n{text}" if title else text for title, text in sections.items() if text]
    return "\n\n".join(parts) + "\n"


def _beginning(study: ExportedStudy) -> str:
    source = study.run.manifest["transcripts"]
    systems = study.run.index["system"].drop_nulls().unique().sort().to_list()
    of = f" of {counted(len(systems), 'system')} ({escape_markdown(', '.join(systems))})" if systems else ""
    ratings = counted(study.run.ratings.height, "rating")
    metrics = counted(study.run.ratings["metric"].n_unique(), "metric")
    return "\n\n".join((
        f"{counted(source['count'], 'conversation')}{of} with {counted(source['turns'], 'turn')}, and {ratings} on "
        f"{metrics}. Written by bedside {bedside.__version__}; nothing was uploaded by it.",
        _warning(study),
    ))  # fmt: skip


def _warning(study: ExportedStudy) -> str:
    """What is personal in it."""
    recorded = study.origins.filter(pl.col("origin") == "recorded").height
    unknown = study.origins["origin"].null_count()
    with_people = [
        f"{counted(count, 'conversation')} {words} with real people"
        for count, words in ((recorded, "is" if recorded == 1 else "are"), (unknown, "may be"))
        if count
    ]
    if not study.text:
        said = (
            "What was said is not in it, nor what people and judges wrote. Ids, systems, cases and factors are as they "
            "were in the source, and may still point to people."
        )
    elif with_people:
        said = (
            f"What was said is in it, as it was read: bedside removed no name, date, place or record number. "
            f"{', and '.join(with_people)}: such conversations are health data. See that "
            "you may give them away, and to whom, before anybody else sees this folder."
        )
    else:
        said = (
            "What was said is in it, as it was read: bedside removed no name, date, place or record number. All "
            "conversations are stated to be simulated or written, so that nobody in them is meant to be real; what was "
            "copied into a prompt or case may yet be about somebody."
        )
    people = study.run.ratings["rater"].unique().to_list()
    names = ""
    if study.names:
        names = (
            " People who rated are called rater-1, rater-2 and so on; other texts, such as reasons, may still name "
            "them."
        )
    elif any(rater_kind(rater) == "human" for rater in people):
        names = " People who rated are called as in the run: see that they agree."
    return f"> **Personal data.** {said}{names}"


def _columns(table: StudyTable) -> str:
    lines = [
        f"### {table.name}",
        "",
        f"{counted(table.count(), 'row')}; a row is {table.holds}.",
        "",
        "| column | type | what it holds |",
        "| --- | --- | --- |",
    ]
    kinds = table.rows.collect_schema()
    lines += [
        f"| {escape_markdown(name)} | {str(kinds[name]).lower()} | {_one_line(holds)} |"
        for name, holds in table.columns.items()
    ]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    """Our own words in a cell: their backquotes mean what they mean."""
    return text.replace("|", "\\|").replace("\n", " ")


def _origins(study: ExportedStudy) -> str:
    counts = dict(study.origins["origin"].value_counts().iter_rows())
    lines = [
        f"- {counts[origin]:,} {origin or 'of unknown origin'}: {ORIGIN_WORDS[origin]}."
        for origin in (*ORIGINS, None)
        if counts.get(origin)
    ]
    languages = study.run.index["language"].value_counts().sort("count", "language", descending=[True, False])
    spoken = [f"{escape_markdown(language or 'not stated')} ({count:,})" for language, count in languages.iter_rows()]
    return "\n".join(lines) + f"\n\nLanguages: {', '.join(spoken)}."


def _ratings(study: ExportedStudy) -> str:
    paragraphs = [_paragraph(study, text) for text in methods(study.run, study.view)]
    return "\n\n".join((*paragraphs, _raters(study), _rubrics(study), _sampling(study))).replace("\n\n\n", "\n").strip()


def _paragraph(study: ExportedStudy, text: str) -> str:
    """A paragraph of the methods; names of files that people were asked for are nobody's business."""
    for entry in study.run.manifest["imports"]:
        text = text.replace(f"imported from {Path(entry['file']).name}", "imported from a file")
    return escape_markdown(study.renamed(text))


def _raters(study: ExportedStudy) -> str:
    counts = study.run.ratings.group_by("rater").agg(pl.len(), pl.col("error").count())
    rows = sorted((study.names.get(rater, rater), count, missing) for rater, count, missing in counts.iter_rows())
    return "\n".join([
        "| rater | kind | ratings | of them missing |",
        "| --- | --- | ---: | ---: |",
        *(
            f"| {escape_markdown(rater)} | {rater_kind(rater)} | {count:,} | {missing:,} |"
            for rater, count, missing in rows
        ),
    ])  # fmt: skip


def _rubrics(study: ExportedStudy) -> str:
    rated = rated_rubrics(study.view)
    if not rated:
        return ""
    lines = ["Rubrics, with the version of the wording that people and judges are shown:", ""]
    for entry in rated:
        rubric = entry.rubric
        asked = f"; judges were asked by version {', '.join(entry.versions)}" if entry.versions else ""
        words = f"{rubric.title} ({rubric.name}, version {rubric.version}{asked}): {rubric.construct}. "
        lines.append(f"- {escape_markdown(words + 'Source: ' + rubric.source)}")
    return "\n".join(lines)


def _sampling(study: ExportedStudy) -> str:
    """How what people rated was drawn, plan by plan."""
    if not any(rater_kind(rater) == "human" for rater in study.run.ratings["rater"].unique()):
        return ""
    reported = ReportedStudy(study.run, study.view, {})
    words = [FACTS[name](reported) for name in ("planned", "sampling", "process")]
    designs = [word for word in words if word]
    if not designs:
        return (
            "What people rated was drawn by no plan that the run knows: nothing is known of the chance with which a "
            "conversation came to be rated."
        )
    return "What people rated was drawn by a plan: " + escape_markdown(study.renamed("; ".join(designs))) + "."


def _left_out(study: ExportedStudy) -> str:
    items = ["paths of the files that were read"]
    if study.names:
        items.append("real names of the people who rated, and the key to them")
    if not study.text:
        items.append("what was said, references, and the words of people's and judges' reasons")
    if not study.judgements:
        items.append("what judges were asked and replied, but for the ratings made of it")
    skipped = len(study.run.manifest["transcripts"]["skipped"])
    if skipped:
        items.append(f"{counted(skipped, 'transcript')} that couldn't be read")
    return "\n".join(f"- {item}" for item in items)


def _licence(study: ExportedStudy) -> str:
    if study.licence is None:
        return "None is named: ask whoever gave you this before you give it on."
    return f"{escape_markdown(study.licence)}, as stated by whoever made this export."


def _citation(study: ExportedStudy) -> str:
    own = (
        f"bedside {bedside.__version__}: scores for clinical and counselling conversations, and how far they can be "
        "believed."
    )
    if study.citation is None:
        return f"Whoever made this export names no citation of the data. The software: {own}"
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", study.citation)), default=0))
    return f"{fence}bibtex\n{study.citation.strip()}\n{fence}\n\nThe software: {own}"
