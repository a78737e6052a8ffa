"""The pages of the Python reference, as they are made for the site: which there are, and what each one holds.

They say nothing themselves but where a docstring stands: mkdocstrings puts it there. Which pages there are is asked of
the package: its public names, what their functions return, and the registries that other packages add to.
"""

from __future__ import annotations

import importlib
import inspect
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
from sphinx_roles import as_markdown

import bedside
from bedside.core.registry import Registry

PACKAGE = Path(bedside.__file__).parent
_FOLDER = "reference"
#: Where a module defines a registry.
_REGISTRY = re.compile(r"^[A-Z_]+(?:: (?:Data)?Registry\[\w+\])? = \w*Registry\(", flags=re.MULTILINE)


def reference_pages() -> dict[str, str]:
    """Each page's text by its path from docs/, in the order of the navigation."""
    public = [name for name in bedside.__all__ if name != "stats" and not name.startswith("__")]
    registries = sorted(_registries(), key=lambda registry: (len(registry.group), registry.group))
    pages = {f"{_FOLDER}/index.md": _index(public, registries)}
    for name in public:
        pages[f"{_FOLDER}/{name}.md"] = f"::: bedside.{name}\n    options:\n      heading_level: 1\n{_inspected(name)}"
    pages[f"{_FOLDER}/results.md"] = _results(public)
    pages |= _statistics()
    pages[f"{_FOLDER}/pytest-plugin.md"] = _page("The fixtures of pytest", "bedside.pytest_plugin")
    # Registries of one kind of entry, such as rubrics and codes, have one contract.
    contracts = {registry.kind.__module__: registry for registry in reversed(registries)}
    pages |= {_contract_page(registry): _contract(registry) for registry in reversed(contracts.values())}
    return {name: _behind_guides(name) + text for name, text in pages.items()}


def _inspected(name: str) -> str:
    """An option of the page: a function made of settings has its arguments only once it is made."""
    return "      force_inspection: true\n" if hasattr(getattr(bedside, name), "settings") else ""


def _behind_guides(name: str) -> str:
    """What has the search show the pages that explain before one of these, which name things more often."""
    return f"---\nsearch:\n  boost: {0.001 if '/stats/' in name else 0.3}\n---\n\n"


def _page(title: str, *places: str) -> str:
    return "\n\n".join([f"# {title}", *(f"::: {place}" for place in places)]) + "\n"


def _written_at(thing: Any, name: str) -> str:
    """Where the docstring of a public name stands."""
    if inspect.isclass(thing) or inspect.isfunction(thing):
        return f"{thing.__module__}.{thing.__qualname__}"
    return f"bedside.{name}"


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")


def _index(public: list[str], registries: list[Registry[Any]]) -> str:
    named = {name: getattr(bedside, name) for name in public}
    functions = [name for name, thing in named.items() if inspect.isfunction(thing)]
    classes = [name for name, thing in named.items() if inspect.isclass(thing)]
    others = [name for name in public if name not in {*functions, *classes}]
    groups = [("Functions", functions), ("Classes", classes), ("Other names", others)]
    lines = [
        "# Python reference",
        "What `import bedside` offers, from its docstrings. [From Python](../python.md) shows it at work.",
    ]
    for title, names in groups:
        rows = [
            f"| [`{name}`]({name}.md) | {_cell(_first_line(named[name]) if name not in others else '')} |"
            for name in names
        ]
        lines += [f"## {title}", "\n".join(["| name | what it does |", "| --- | --- |", *rows])]
    rows = []
    for registry in registries:
        same = next(other for other in registries if other.kind.__module__ == registry.kind.__module__)
        page = posixpath.relpath(_contract_page(same), _FOLDER)
        rows.append(f"| `{registry.group}` | {registry.noun} | [`{registry.kind.__name__}`]({page}) |")
    lines += [
        "## More",
        "- [What the functions return](results.md)\n- [`bedside.stats`](stats/index.md): statistics on arrays\n"
        "- [The fixtures of pytest](pytest-plugin.md)",
        "## What other packages can add",
        "Entries of other packages are found by the entry-point group; each is an object of the class, or the path of\n"
        "the file that holds it. [Contributing](../contributing.md) says how an entry is written.",
        "\n".join(["| entry-point group | what an entry is | its contract |", "| --- | --- | --- |", *rows]),
    ]
    return "\n\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return as_markdown(text).replace("|", "\\|")


def _results(public: list[str]) -> str:
    """The classes of bedside's own that public functions return, and that are no public name themselves."""
    package = griffe.load("bedside", search_paths=[PACKAGE.parent])
    known = {_written_at(getattr(bedside, name), name) for name in public}
    places = {
        place
        for name in public
        if package[name].is_alias and package[name].is_function
        for place in _places_in(package[name].final_target.returns)
        # The statistics have pages of their own.
        if place.startswith("bedside.") and place not in known and not place.startswith("bedside.stats.")
    }
    return _page("What the functions return", *sorted(places, key=lambda place: place.rpartition(".")[2]))


def _places_in(annotation: griffe.Expr | str | None) -> Iterator[str]:
    """The names in an annotation, each as the place it was imported from."""
    parts = annotation.iterate(flat=True) if isinstance(annotation, griffe.Expr) else ()
    return (part.canonical_path for part in parts if isinstance(part, griffe.ExprName))


def _statistics() -> dict[str, str]:
    """The statistics: one page a module, and an index."""
    modules = {name: importlib.import_module(f"bedside.stats.{name}") for name in bedside.stats.__all__}
    rows = [f"| [`{name}`]({name}.md) | {_cell(_first_line(module))} |" for name, module in modules.items()]
    index = [
        "# Statistics on arrays",
        "Arrays in, a frozen result out: `bedside.stats.two_raters.kappa([1, 2, 3], [1, 3, 3])`.\n"
        "[Statistics](../../statistics.md) says which is used where.",
        "\n".join(["| module | what it answers |", "| --- | --- |", *rows]),
    ]
    folder = f"{_FOLDER}/stats"
    pages = {f"{folder}/{name}.md": _page(f"`stats.{name}`", f"bedside.stats.{name}") for name in modules}
    return {f"{folder}/index.md": "\n\n".join(index) + "\n", **pages}


def _registries() -> Iterator[Registry[Any]]:
    """The registries that entry points add to: all that the package's modules define."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if _REGISTRY.search(path.read_text("utf-8")):
            module = importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
            yield from (thing for thing in vars(module).values() if isinstance(thing, Registry))


def _contract_page(registry: Registry[Any]) -> str:
    return f"{_FOLDER}/{registry.group.removeprefix('bedside.').replace('.', '-')}-contract.md"


def _contract(registry: Registry[Any]) -> str:
    """The page of what an entry of a registry is: the module that says it."""
    about = (
        f"What {_article(registry.noun)} states. Other packages add theirs by the entry-point group `{registry.group}`."
    )
    return f"# The contract of {_article(registry.noun)}\n\n{about}\n\n::: {registry.kind.__module__}\n"


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
