"""What mkdocs.yml asks beside what stands in docs/: pages that are made while the site is built.

The README is the first page. Other files of the project to which pages lead, such as CONTRIBUTING.md, are pages too.
The notebook is a page. The Python reference has one page a public name, one for each contract that other packages
fill in, and one on the statistics, all from docstrings. Each metric, rubric, form and table of a report has a page,
under the index of its kind in the navigation. The home page leads to a sample. Nothing of it is written to docs/.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from nbconvert import MarkdownExporter

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from catalogue_pages import DOCS, FOLDERS, catalogue_pages, with_entry_links, with_lists  # noqa: E402
from reference_pages import reference_pages  # noqa: E402
from sample_pages import sample_files  # noqa: E402

import bedside  # noqa: E402
from bedside.metrics import FAMILIES  # noqa: E402
from bedside.metrics.contract import Family  # noqa: E402

#: Files outside docs/ that are pages of the site under names of their own.
_RENAMED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "docs/tutorial.ipynb": "tutorial.md"}
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)((?:#[^)\s]*)?)(?=\))")
_FENCE = re.compile(r"(^```.*?^```)", flags=re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of entries under their index, and what nobody placed and the reference at the end."""
    placed = set(_pages_in(config.nav))
    others = [page.name for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in placed]
    config.nav = [_with_entries(item) for item in config.nav]
    if others:
        config.nav.append({"More": others})
    reference = reference_pages()
    config.nav.append({"Python reference": [_named(page) for page in reference if "/stats/" not in page]})
    config.nav.append({"Statistics on arrays": [page for page in reference if "/stats/" in page]})
    config.extra["reference_pages"] = reference
    return config


def _pages_in(item: Any) -> Iterator[str]:
    """The pages that a part of the navigation names."""
    if isinstance(item, str):
        yield item
    else:
        for child in item.values() if isinstance(item, dict) else item:
            yield from _pages_in(child)


def _with_entries(item: Any) -> Any:
    """An item of the navigation, where it is the index of a folder of entries with them below it."""
    if isinstance(item, dict):
        return {
            title: [_with_entries(child) for child in children] if isinstance(children, list) else children
            for title, children in item.items()
        }
    folder = next((folder for folder in FOLDERS if item == f"{folder.name}.md"), None)
    if folder is None:
        return item
    title = (ROOT / "docs" / item).read_text("utf-8").partition("\n")[0].removeprefix("# ")
    # It names the browser's tab as well, so it says what is listed.
    index = f"All {title[0].lower()}{title[1:]}"
    if folder.name == "metrics":
        families = FAMILIES.all().values()
        return {title: [{index: item}, *({family.title: _pages_of(family)} for family in families)]}
    entries = sorted(page.name for page in catalogue_pages() if page.parent == folder)
    return {title: [{index: item}, *(f"{folder.name}/{name}" for name in entries)]}


def _named(page: str) -> Any:
    """A page of the reference; that of a public name, which has no title of its own, under the name."""
    name = PurePosixPath(page).stem
    return {name: page} if name in bedside.__all__ else page


def _pages_of(family: Family) -> list[str]:
    return [f"metrics/{metric.name}.md" for metric in family.metrics]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made for the site alone."""
    made = {page.relative_to(DOCS).as_posix(): text for page, text in catalogue_pages().items()}
    for name, text in {**made, **config.extra.pop("reference_pages")}.items():
        files.append(File.generated(config, name, content=text))
    for name, content in sample_files().items():
        files.append(File.generated(config, name, content=content))
    for name, page in _RENAMED.items():
        if name.endswith(".md"):
            files.append(_page(config, name, page))
    for file in _notebook(config):
        files.append(file)
    for name in sorted(_outside(files)):
        if (ROOT / name).is_file():
            files.append(_page(config, name, _site_name(name)))
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:
    """Keep what programs read in place of the site: an index of its pages, and the text of those that were written."""
    places: dict[str, list[str]] = {}
    texts = []
    for page in nav.pages:
        text = page.file.content_string
        heading, _, body = text.partition("\n")
        above = page.ancestors[-1].title if page.ancestors else "Begin"
        places.setdefault(above, []).append(f"- [{heading.lstrip('# ')}]({page.url or 'index.html'})")
        if page.file.generated_by is None or page.file.src_uri in _RENAMED.values():
            texts.append(f"<!-- {page.file.src_uri} -->\n{heading}\n{body.rstrip()}\n")
    sections = "\n\n".join(f"## {title}\n\n" + "\n".join(lines) for title, lines in places.items())
    config.extra["for_programs"] = {
        "llms.txt": f"# {config.site_name}\n\n> {config.site_description}\n\n{sections}\n",
        "llms-full.txt": "\n".join(texts),
    }


def on_post_build(config: MkDocsConfig) -> None:
    """Write what programs read."""
    for name, text in config.extra["for_programs"].items():
        (Path(config.site_dir) / name).write_text(text, encoding="utf-8")


def _page(config: MkDocsConfig, name: str, page: str) -> File:
    """A file of the project as a page: Markdown as it is, anything else as it reads."""
    text = (ROOT / name).read_text("utf-8")
    shown = _relinked(with_lists(text), name, page) if name.endswith(".md") else _as_it_reads(name, text)
    file = File.generated(config, page, content=shown)
    file.inclusion = file.inclusion.NOT_IN_NAV
    return file


def _as_it_reads(name: str, text: str) -> str:
    return f"# {name}\n\n````text\n{text.rstrip()}\n````\n"


def _site_name(name: str) -> str:
    """Where a file of the project stands in the site, as a path from docs/."""
    if name in _RENAMED:
        return _RENAMED[name]
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    return "project/" + (name if name.endswith(".md") else f"{name}.md").replace("README.md", "about.md")


def _outside(files: Files) -> set[str]:
    """Files of the project, outside docs/, to which pages lead."""
    places = [(f"docs/{file.src_uri}", file.content_string) for file in files if file.is_documentation_page()]
    places += [(name, (ROOT / name).read_text("utf-8")) for name in _RENAMED if name.endswith(".md")]
    targets = {
        posixpath.normpath(posixpath.join(posixpath.dirname(name), match[1]))
        for name, text in places
        for match in _LINK.finditer(text)
    }
    return {name for name in targets if not name.startswith(("docs/", "..")) and name not in _RENAMED}


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Put in the lists of a kept page, and have its links lead to what the site alone has."""
    if page.file.generated_by is not None:
        return markdown
    return _relinked(with_lists(markdown), f"docs/{page.file.src_uri}", page.file.src_uri)


def _relinked(markdown: str, name: str, page: str) -> str:
    """A text of the project's file ``name`` with links as they are from the site's ``page``; code is left alone."""

    def target(match: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[1]))
        return posixpath.relpath(_site_name(place), posixpath.dirname(page) or ".") + match[2]

    folder = (ROOT / name).parent
    return "".join(
        part if part.startswith("```") else _LINK.sub(target, with_entry_links(part, folder))
        for part in _FENCE.split(markdown)
    )


def _notebook(config: MkDocsConfig) -> list[File]:
    """The notebook as a page, and the figures that it shows."""
    notebook = nbformat.read(ROOT / "docs" / "tutorial.ipynb", as_version=4)
    body, resources = MarkdownExporter().from_notebook_node(notebook)
    figures = {name: figure for name, figure in resources["outputs"].items() if name in body}
    page = body + "\n[This page as a notebook](tutorial.ipynb)\n"
    return [
        File.generated(config, "tutorial.md", content=page),
        *(File.generated(config, name, content=figure) for name, figure in figures.items()),
    ]
