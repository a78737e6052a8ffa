"""Writes the parts of kept pages that are made: columns, options, and what commands print; and the names that a shell
offers. What the site makes for itself, such as a page for each metric, is in ``catalogue_pages.py``.

    python tools/make_docs.py [--check] [--console]

``--check`` writes nothing and says whether the pages are current. ``--console`` runs the commands of all pages too, as
``tools/printed_commands.py`` does, and puts in what they print.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from catalogue_pages import DOCS, cell
from printed_commands import outcomes

from bedside.cli import command_line
from bedside.metrics import FAMILIES
from bedside.ratings.table import COLUMNS
from bedside.simulation.simulation_plan import options_of
from bedside.simulation.simulators.contract import SIMULATORS, Simulator

MARK = "<!-- made by tools/make_docs.py: "
#: What is made beside the pages: the names that a shell offers.
NAMES = DOCS.parent / "bedside" / "cli" / "metrics.tsv"
COMMANDS = DOCS.parent / "bedside" / "cli" / "commands.tsv"
SIMULATED_NAMES = DOCS.parent / "bedside" / "cli" / "simulators.tsv"


def metric_names() -> str:
    """The families and metrics with their titles, which a shell offers without loading any."""
    found = []
    for family in FAMILIES.all().values():
        found.append((family.name, f"family: {family.title}"))
        found += [(metric.name, metric.title) for metric in family.metrics]
    return "".join(f"{name}\t{title}\n" for name, title in found)


def commands() -> str:
    """The commands with the first sentence of their help, which ``--help`` shows without loading any."""
    shown = {name: command.get_short_help_str(200) for name, command in command_line().commands.items()}
    return "".join(f"{name}\t{sentence}\n" for name, sentence in shown.items())


def simulator_names() -> str:
    """The simulators, their settings and their options, as a shell offers them: kind, protocol, name, what it is."""
    lines = []
    for name, simulator in SIMULATORS.all().items():
        lines.append(("protocol", name, name, simulator.title))
        lines += [("setting", name, setting.name, setting.title) for setting in simulator.settings]
        lines += [("option", name, option.name, option.description) for option in options_of(simulator)]
    return "".join("\t".join(line) + "\n" for line in lines)


def ratings_table() -> str:
    """The columns of the ratings table, for the page on ratings and runs."""
    rows = [f"| `{name}` | {kind} | {about} |" for name, (kind, about) in COLUMNS.items()]
    return "\n".join(["| column | type | what it holds |", "| --- | --- | --- |", *rows])


def simulator_options(simulator: Simulator) -> str:
    """What can be chosen of a simulation by a protocol, for the page on it."""
    lines = ["## Settings and options", "", "| `--setting` | what it is |", "| --- | --- |"]
    lines += [
        f"| `{setting.name}` | {cell(f'{setting.title}: {setting.description}')} |" for setting in simulator.settings
    ]
    lines += ["", "| `--set` | default | what it does |", "| --- | --- | --- |"]
    for option in simulator.options:
        choices = f" One of {', '.join(f'`{choice}`' for choice in option.choices)}." if option.choices else ""
        default = str(option.default).lower() if isinstance(option.default, bool) else option.default
        lines.append(
            f"| `{simulator.name}.{option.name}` | `{default}` | {cell(option.description)}{choices}"
            f"{' bedside’s own.' if option.own else ''} |"
        )
    more = f"{simulator.name}.ROLE_temperature` and `{simulator.name}.ROLE_max_tokens"
    defaults = f"`bedside show {simulator.name} --kind protocols` prints their defaults"
    lines += ["", f"Each role also has `{more}`; {defaults}."]
    return "\n".join(lines)


def with_parts(page: Path, parts: Mapping[str, str]) -> str:
    """A written page with its made parts, which stand between marks of their names."""
    text = page.read_text("utf-8")
    for name, part in parts.items():
        before, rest = text.split(f"{MARK}{name} -->\n", 1)
        after = rest.split(f"<!-- end {name} -->", 1)[1]
        text = f"{before}{MARK}{name} -->\n\n{part}\n\n<!-- end {name} -->{after}"
    return text


def pages() -> dict[Path, str]:
    """Each page that is made, with its text."""
    parts = {
        DOCS / "ratings-and-runs.md": {"columns": ratings_table()},
        **{
            DOCS / "simulators" / f"{name}.md": {"options": simulator_options(simulator)}
            for name, simulator in SIMULATORS.all().items()
        },
    }
    return {
        **{page: with_parts(page, made) for page, made in parts.items()},
        NAMES: metric_names(),
        COMMANDS: commands(),
        SIMULATED_NAMES: simulator_names(),
    }


def printed_pages() -> dict[Path, str]:
    """The pages of which a command prints something else now, with what it prints.

    Where a page leaves lines out, only who reads it can say which: the test of printed commands names it.
    """
    texts: dict[Path, str] = {}
    for outcome in outcomes():
        printed = outcome.command.printed
        if printed and outcome.code is not None and outcome.said != printed and "…" not in printed.splitlines():
            text = texts.get(outcome.page, outcome.page.read_text("utf-8"))
            texts[outcome.page] = text.replace(printed, outcome.said, 1)
    return texts


def main() -> None:
    made = pages()
    if "--console" in sys.argv:
        made |= printed_pages()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in sys.argv:
        names = ", ".join(str(path.relative_to(DOCS.parent)) for path in stale)
        sys.exit(f"not current: {names}; run make docs" if names else 0)
    for path in stale:
        path.write_text(made[path], "utf-8")
        print(f"wrote {path.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main()
