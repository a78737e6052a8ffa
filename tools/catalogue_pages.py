"""The catalogues of the site: a page an entry, for metrics, rubrics, forms and the tables of reports, and the lists.

All that they say is what the registries' entries state of themselves, so that none of it is kept in the repository: it
is made where the site is built. The lists take the place of marks in the pages that are kept.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from forms_page import forms_list
from sample_pages import SAMPLE

import bedside
from bedside.api.simulating import simulate
from bedside.judges.rubrics.description import answer_in_words, describe, unit_in_words
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.metrics import FAMILIES
from bedside.metrics.contract import Family, Metric
from bedside.metrics.description import describe_family, describe_metric
from bedside.ratings.suites.suite import SUITES, Entry, Suite
from bedside.reports.renderers.markdown import markdown
from bedside.reports.table import Table
from bedside.reports.table_kind import TABLES, Options, TableKind
from bedside.simulation.simulators.case_files import read_cases
from bedside.simulation.simulators.contract import SIMULATORS
from bedside.transcripts.contract import FACTS, READERS, Reader

DOCS = Path(__file__).parents[1] / "docs"
#: Where a kept page has a list that the site makes.
_MARK = re.compile(r"^<!-- on the site: (?P<list>[\w ]+) -->$", flags=re.MULTILINE)
#: The folders of the site that hold made pages only; the index of each is kept.
FOLDERS = tuple(DOCS / name for name in ("metrics", "rubrics", "forms", "report-tables"))
_METRICS, _RUBRICS, _FORMS, _TABLES = FOLDERS
#: Rows of a table that its page shows as an example, and messages of a simulated conversation.
_ROWS, _MESSAGES = 12, 8
_ENTRY_LINK = re.compile(r"\[`(?P<name>[\w.-]+)`\]\((?P<index>[./\w-]+)\.md\)")


@cache
def catalogue_pages() -> dict[Path, str]:
    """The page of every entry, with its text, by the file of docs/ that it would be."""
    return {**_metric_pages(), **_rubric_pages(), **_reader_pages(), **_table_pages()}


def with_lists(text: str) -> str:
    """A kept page with the lists that its marks ask for."""
    return _MARK.sub(lambda mark: _LISTS[mark["list"]](), text)


def with_entry_links(text: str, folder: Path) -> str:
    """A page of a folder whose links from an entry's name to the index of its kind lead to the entry's own page."""

    def link(match: re.Match[str]) -> str:
        page = Path(os.path.normpath(folder / match["index"])) / f"{match['name']}.md"
        return f"[`{match['name']}`]({match['index']}/{match['name']}.md)" if page in catalogue_pages() else match[0]

    return _ENTRY_LINK.sub(link, text)


def heading_anchor(heading: str) -> str:
    """The part of an address that leads to a heading, by the rule of code hosts, which the site follows."""
    kept = (character for character in heading.lower() if character.isalnum() or character in "-_ ")
    return "".join(kept).replace(" ", "-")


def cell(text: str) -> str:
    """A text as it stands in a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def link(page: Path, name: str, folder: Path) -> str:
    """A link from a page to that of an entry."""
    return f"[`{name}`]({os.path.relpath(folder / f'{name}.md', page.parent).replace(os.sep, '/')})"


def _entry(kind: str, index: str, body: str, more: Iterable[str] = ()) -> str:
    """The page of an entry: where it stands, what it states of itself, and what else leads on from it."""
    head, _, rest = body.partition("\n")
    title = head.lstrip("# ")
    parts = [f"# {title}", f"[All {kind}s]({index})", _a_folder_down(rest.strip()), *more]
    return "\n\n".join(part for part in parts if part) + "\n"


def _a_folder_down(text: str) -> str:
    """A text whose links are written from docs/, as it stands in a folder of it."""
    return re.sub(r"\]\((?=[\w/-]+\.md)", "](../", text)


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s+(?=[A-Z])", " ".join(text.split()), maxsplit=1)[0]


def _suites_with(names: Iterable[str], asked: Mapping[str, set[str]], page: Path) -> list[str]:
    """A line on the suites that ask for any of these names; none where no suite does."""
    wanted = set(names)
    links = [_suite_link(suite, page) for suite, asked_names in asked.items() if wanted & asked_names]
    return [f"In the suites {', '.join(links)}."] if links else []


def _suite_link(suite: str, page: Path) -> str:
    """A suite's name, which leads to its page where it has one: those of published protocols have."""
    folder = DOCS / "suites"
    return link(page, suite, folder) if (folder / f"{suite}.md").exists() else f"`{suite}`"


def _metric_pages() -> dict[Path, str]:
    asked = {name: set(suite.metrics) for name, suite in SUITES.all().items()}
    pages = {}
    for family in FAMILIES.all().values():
        for metric in family.metrics:
            page = _METRICS / f"{metric.name}.md"
            anchor = heading_anchor(_family_heading(family))
            more = [
                f"## Its family: [{family.title}](../metrics.md#{anchor})",
                _a_folder_down(_family_facts(family)),
                _kin(page, family, metric),
                *_suites_with((metric.name, family.name), asked, page),
            ]
            pages[page] = _entry("metric", "../metrics.md", describe_metric(family, metric.name), more)
    return pages


def _metrics_list() -> str:
    """The metrics, family by family."""
    lines = []
    for family in FAMILIES.all().values():
        rows = [
            f"| {link(DOCS / 'metrics.md', metric.name, _METRICS)} | {cell(metric.title)} | {cell(metric.source)} |"
            for metric in family.metrics
        ]
        lines += [
            f"## {_family_heading(family)}",
            _first_sentence(family.description),
            "\n".join(["| metric | what it measures | source |", "| --- | --- | --- |", *rows]),
        ]
    return "\n\n".join(lines)


def _family_heading(family: Family) -> str:
    return f"{family.title} (`{family.name}`)"


def _family_facts(family: Family) -> str:
    """What a family states of itself, without its metrics."""
    described = describe_family(family).partition("\n\n### ")[0]
    return described.partition("\n")[2].strip()


def _kin(page: Path, family: Family, metric: Metric) -> str:
    others = [link(page, other.name, _METRICS) for other in family.metrics if other.name != metric.name]
    return f"Computed along with it: {', '.join(others)}." if others else ""


def _rubric_pages() -> dict[Path, str]:
    asked = {name: set(suite.rubrics) for name, suite in SUITES.all().items()}
    pages = {}
    for name, rubric in RUBRICS.all().items():
        page = _RUBRICS / f"{name}.md"
        pages[page] = _entry("rubric", "../rubrics.md", describe(rubric), _rubric_more(rubric, asked, page))
    return pages


def _rubric_more(rubric: Rubric, asked: Mapping[str, set[str]], page: Path) -> list[str]:
    command = f"bedside score transcripts.jsonl --rubrics {rubric.name} --judge MODEL --out run"
    return [*_suites_with([rubric.name], asked, page), f"Asked of a judge by `{command}`."]


def _rubrics_list() -> str:
    """The shipped rubrics, by protocol."""
    lines = ["| protocol | rubric | answer | rates | needs |", "| --- | --- | --- | --- | --- |"]
    for rubric in sorted(RUBRICS.all().values(), key=lambda rubric: (_protocol(rubric), rubric.name)):
        needs = ", ".join(f"`{item.name}`" for item in rubric.inputs)
        lines.append(
            f"| {_protocol(rubric)} | [`{rubric.name}`](rubrics/{rubric.name}.md): {rubric.title} "
            f"| {answer_in_words(rubric)} | {unit_in_words(rubric)} | {needs} |"
        )
    return "\n".join(lines)


def _rubric_notes() -> str:
    """The notes of the shipped rubrics, each with the rubrics that have it."""
    having: dict[str, list[str]] = {}
    for name, rubric in RUBRICS.all().items():
        if rubric.notes:
            having.setdefault(rubric.notes, []).append(f"`{name}`")
    return "\n".join(f"- {', '.join(names)}: {notes}" for notes, names in having.items())


def _rubric_deviations() -> str:
    """What the shipped rubrics ask otherwise than their sources, each with the rubrics that do."""
    having: dict[str, list[str]] = {}
    for name, rubric in RUBRICS.all().items():
        for deviation in rubric.deviations:
            having.setdefault(deviation, []).append(f"`{name}`")
    return "\n".join(f"- {', '.join(names)}: {deviation}" for deviation, names in having.items())


def _protocol(rubric: Rubric) -> str:
    return rubric.source.replace(",", " ").split()[0]


def _reader_pages() -> dict[Path, str]:
    sections = _sections_on_readers()
    return {_FORMS / f"{name}.md": _reader_page(reader, sections.get(name)) for name, reader in READERS.all().items()}


def _reader_page(reader: Reader, section: str | None) -> str:
    language = reader.example_name.rpartition(".")[2]
    parts = [
        f"## {reader.title[0].upper()}{reader.title[1:]} (`{reader.name}`)",
        reader.description,
        "".join(f"- {FACTS[key]}: {reader.facts[key]}\n" for key in FACTS if key in reader.facts)
        + "- endings in a folder: " + ", ".join(f"`{ending}`" for ending in reader.endings)
        + f"\n- named itself: `--format {reader.name}`\n- order: {reader.priority} (lowest first)",
        f"The smallest file, `{reader.example_name}`:",
        f"```{ {'jsonl': 'json', 'ndjson': 'json'}.get(language, language)}\n{reader.example.rstrip()}\n```",
    ]  # fmt: skip
    more = [f"More: {section}."] if section else []
    return _entry("form", "../forms.md", "\n\n".join(parts), more)


def _sections_on_readers() -> dict[str, str]:
    """Where a written page has a section on a reader, by the reader's name in its heading: a link to it."""
    sections: dict[str, str] = {}
    for page in sorted(DOCS.glob("*.md")):
        for heading in re.findall(r"^## (.+)$", page.read_text("utf-8"), flags=re.MULTILINE):
            for name in re.findall(r"`(\w+)`", heading):
                if name in READERS and page.name != "metrics.md":
                    words = heading.replace("`", "")
                    sections.setdefault(name, f"[{words}](../{page.name}#{heading_anchor(heading)})")
    return sections


def _table_pages() -> dict[Path, str]:
    shown = {name: {entry.kind for entry in _entries(suite)} for name, suite in SUITES.all().items()}
    examples = {table.name: table for table in bedside.tables(str(bedside.EXAMPLES / "study.csv"))}
    pages = {}
    for name, kind in TABLES.all().items():
        page = _TABLES / f"{name}.md"
        more = [f"A report has this table {_when(kind)}.", *_suites_with([name], shown, page), *_options(kind)]
        if name in examples:
            more += ["## An example", "The first rows, of the bundled study, which is invented:", _rows(examples[name])]
        pages[page] = _entry("table", "../report-tables.md", f"{kind.title} (`{name}`)\n{_about(kind)}", more)
    return pages


def _tables_list() -> str:
    """The tables of a report, in their order there."""
    rows = [
        f"| {link(DOCS / 'report-tables.md', name, _TABLES)} | {cell(kind.title)} | {_when(kind)} |"
        for name, kind in sorted(TABLES.all().items(), key=lambda item: (item[1].order, item[0]))
    ]
    return "\n".join(["| table | what it shows | when a report has it |", "| --- | --- | --- |", *rows])


def _when(kind: TableKind) -> str:
    return "where the run has something to show in it" if kind.general else "where a suite names it"


def _entries(suite: Suite) -> Iterator[Entry]:
    """The tables that a suite has, its source's among them."""
    yield from suite.tables
    yield from suite.as_published.tables


def _about(kind: TableKind) -> str:
    """What the module of a table says that it shows."""
    return (sys.modules[kind.build.__module__].__doc__ or "").strip()


def _options(kind: TableKind) -> list[str]:
    """What a suite can say of such a table: its own options, each with its default."""
    if kind.options is None:
        return []
    own = {name: field for name, field in kind.options.model_fields.items() if name not in Options.model_fields}
    if not own:
        return []
    words = _attributes(kind.options)
    rows = []
    for name, field in own.items():
        default = field.get_default(call_default_factory=True)
        shown = "nothing" if default in (None, {}, (), "") else f"`{default}`"
        rows.append(f"| `{name}` | {shown} | {cell(words[name])} |")
    about = "In a suite file, beside `id`, `title`, `where`, `notes` and `paper`, which every table has:"
    return ["## Options", about, "\n".join(["| option | default | what it says |", "| --- | --- | --- |", *rows])]


def _attributes(options: type[Options]) -> dict[str, str]:
    """The words of a class and of those it builds on on their attributes."""
    words: dict[str, str] = {}
    for kind in reversed(options.__mro__):
        section = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
        for names, said in re.findall(r"^    (\w+(?:, \w+)*): (.+(?:\n {8}.+)*)", section, flags=re.MULTILINE):
            words |= dict.fromkeys(names.split(", "), said.replace("``", "`"))
    return words


def _rows(table: Table) -> str:
    """The first rows of a table, with its notes."""
    return markdown(replace(table, rows=table.rows[:_ROWS]))


def _talks() -> str:
    """The beginning of one conversation of each simulator, had between its scripted clinician and its toys."""
    parts = []
    for name, simulator in SIMULATORS.all().items():
        with tempfile.TemporaryDirectory() as folder:
            case = next(case for _, case in read_cases(simulator.cases))
            simulation = simulate(
                [case], name, Path(folder) / "talks", clinician="script:good", lengths=simulator.lengths[:1]
            )
            transcript = next(simulation.transcripts())
        rows = [f"| {turn.role} | {cell(turn.text)} |" for turn in transcript.turns[:_MESSAGES]]
        parts += [
            f"## {simulator.title}",
            f"Case `{case.id}`, suite `{name}`; [its page]({name}.md).",
            "\n".join(["| | |", "| --- | --- |", *rows]),
        ]
        left = len(transcript.turns) - _MESSAGES
        if left > 0:
            parts.append(f"… and {left} more messages. It ended by: {transcript.reference['simulation']['stop']}.")
    return "\n\n".join(parts)


#: What each mark stands for.
_LISTS: Mapping[str, Callable[[], str]] = {
    "metrics": _metrics_list,
    "rubrics": _rubrics_list,
    "rubric deviations": _rubric_deviations,
    "rubric notes": _rubric_notes,
    "forms": forms_list,
    "report tables": _tables_list,
    "simulated talks": _talks,
    "sample": lambda: SAMPLE,
}
