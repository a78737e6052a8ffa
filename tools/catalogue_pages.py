"""The pages of the catalogues: an index and one page an entry, for metrics, rubrics, forms and the tables of reports.

All that they say is what the registries' entries state of themselves. What stands in these folders and is no entry any
more is stale; ``make_docs.py`` removes it.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from forms_page import forms_page

import bedside
from bedside.judges.rubrics.description import describe
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.metrics import FAMILIES
from bedside.metrics.contract import Family, Metric
from bedside.metrics.description import describe_family, describe_metric
from bedside.ratings.suites.suite import SUITES, Entry, Suite
from bedside.reports.renderers.markdown import markdown
from bedside.reports.table import Table
from bedside.reports.table_kind import TABLES, Options, TableKind
from bedside.transcripts.contract import FACTS, READERS, Reader

DOCS = Path(__file__).parents[1] / "docs"
MARK = "<!-- made by tools/make_docs.py: "
#: The folders that hold made pages only.
FOLDERS = tuple(DOCS / name for name in ("metrics", "rubrics", "forms", "report-tables"))
_METRICS, _RUBRICS, _FORMS, _TABLES = FOLDERS
#: Rows of a table that its page shows as an example.
_ROWS = 12


def catalogue_pages() -> dict[Path, str]:
    """Every page of the catalogues, with its text."""
    return {**_metric_pages(), **_rubric_pages(), **_reader_pages(), **_table_pages()}


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
    parts = [
        f"# {title}",
        f"{MARK}edit the {kind}'s own file instead -->",
        f"[All {kind}s]({index})",
        _a_folder_down(rest.strip()),
        *more,
    ]
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
    index = DOCS / "metrics.md"
    families = FAMILIES.all()
    asked = {name: set(suite.metrics) for name, suite in SUITES.all().items()}
    lines = [
        "# Metrics",
        f"{MARK}edit the metrics' own files instead -->",
        "Each metric has a page; `bedside show NAME` prints the same. Where a metric is computed for each\n"
        "role, the ratings name the role after a dot: `smog.clinician`, `smog.patient`. What can't be computed is\n"
        "missing, with its reason.",
    ]
    pages = {}
    for family in families.values():
        rows = [
            f"| {link(index, metric.name, _METRICS)} | {cell(metric.title)} | {cell(metric.source)} |"
            for metric in family.metrics
        ]
        lines += [
            f"## {_family_heading(family)}",
            _first_sentence(family.description),
            "\n".join(["| metric | what it measures | source |", "| --- | --- | --- |", *rows]),
        ]
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
    return {index: "\n\n".join(lines) + "\n", **pages}


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


def _reader_pages() -> dict[Path, str]:
    index = DOCS / "forms.md"
    sections = _sections_on_readers()
    pages = {_FORMS / f"{name}.md": _reader_page(reader, sections.get(name)) for name, reader in READERS.all().items()}
    return {index: forms_page(MARK), **pages}


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
    index = DOCS / "report-tables.md"
    shown = {name: {entry.kind for entry in _entries(suite)} for name, suite in SUITES.all().items()}
    examples = {table.name: table for table in bedside.tables(str(bedside.EXAMPLES / "study.csv"))}
    rows, pages = [], {}
    for name, kind in sorted(TABLES.all().items(), key=lambda item: (item[1].order, item[0])):
        page = _TABLES / f"{name}.md"
        when = "where the run has something to show in it" if kind.general else "where a suite names it"
        rows.append(f"| {link(index, name, _TABLES)} | {cell(kind.title)} | {when} |")
        more = [f"A report has this table {when}.", *_suites_with([name], shown, page), *_options(kind)]
        if name in examples:
            more += ["## An example", "The first rows, of the bundled study, which is invented:", _rows(examples[name])]
        pages[page] = _entry("table", "../report-tables.md", f"{kind.title} (`{name}`)\n{_about(kind)}", more)
    text = [
        "# Tables of a report",
        f"{MARK}edit the tables' own files instead -->",
        "What `bedside report` writes, one page a kind of table. A suite chooses and lays out its own:\n"
        "[Your own suite](suites/your-own.md). Figures stand in the [gallery](gallery.md).",
        "\n".join(["| table | what it shows | when a report has it |", "| --- | --- | --- |", *rows]),
    ]
    return {index: "\n\n".join(text) + "\n", **pages}


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
