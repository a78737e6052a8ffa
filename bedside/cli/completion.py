"""What the shell offers after Tab: names of what there is, and of what is rated in the run that the line names.

A shell waits for this: no heavy library is imported, a registry's folder is listed instead of loaded, and of a run only
the manifest is read.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

from bedside.ratings.names import ALGORITHMS, HUMANS, JUDGES, JURIES, human_rater
from bedside.ratings.run_folder import MANIFEST

_PACKAGE = Path(__file__).parents[1]
#: A name and what it is, as a shell shows it.
Offer = tuple[str, str]
Completion = Callable[[typer.Context, str], list[Offer]]


def choices(*names: str) -> Completion:
    """Offers these names."""
    return single(lambda ctx: [(name, "") for name in names])


def single(offers: Callable[[typer.Context], Iterable[Offer]]) -> Completion:
    """Offers names, whatever is typed."""
    return lambda ctx, incomplete: list(offers(ctx))


def several(offers: Callable[[typer.Context], Iterable[Offer]]) -> Completion:
    """Offers names for a list with commas: each after those that stand there."""

    def complete(ctx: typer.Context, incomplete: str) -> list[Offer]:
        before, comma, _ = incomplete.rpartition(",")
        typed = before.split(",")
        return [(before + comma + name, about) for name, about in offers(ctx) if name not in typed]

    return complete


def _words() -> list[str]:
    """What is typed so far, whatever the shell. A line that ends in an option without its value is not parsed."""
    import shlex

    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    try:
        return shlex.split(line)
    except ValueError:  # an open quotation mark
        return line.split()


def _value(option: str) -> str | None:
    """What is typed for an option."""
    words = _words()
    for word, after in itertools.pairwise(words):
        if word == option:
            return after
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None


def _added(group: str) -> Iterator[Offer]:
    """The names that other packages add."""
    from bedside.core.registry import entry_points

    yield from ((point.name, "") for point in entry_points(group=group))


def _entries(folder: Path, ending: str, group: str | None = None) -> Iterator[Path]:
    """The entries of a registry's folder by their files; a name that another package adds comes as a bare path."""
    yield from (path for path in sorted(folder.glob(f"*{ending}")) if not path.stem.startswith("_"))
    if group is not None:
        yield from (Path(name) for name, _ in _added(group))


def _titled(folder: Path, group: str | None = None) -> Iterator[Offer]:
    """The data files of a folder, each with its title, and what other packages add."""
    for path in _entries(folder, ".yaml", group):
        text = path.read_text("utf-8") if path.suffix else ""
        title = re.search(r"^title: *(.+)$", text, flags=re.MULTILINE)
        yield path.stem, title[1].strip("\"'") if title else ""


suites: Completion = single(lambda ctx: _titled(_PACKAGE / "ratings" / "suites" / "shipped", "bedside.suites"))


def _rubrics(ctx: typer.Context) -> Iterator[Offer]:
    yield from _titled(_PACKAGE / "judges" / "rubrics" / "shipped", "bedside.rubrics")
    own_folder = _value("--rubric-folder")
    if own_folder:
        yield from _titled(Path(own_folder))


rubric, rubrics = single(_rubrics), several(_rubrics)


def _modules(folder: str, group: str) -> Completion:
    """Offers the modules of a registry's folder, and what other packages add."""
    return single(lambda ctx: ((path.stem, "") for path in _entries(_PACKAGE / folder, ".py", group)))


readers: Completion = _modules("transcripts/readers", "bedside.readers")
rating_forms: Completion = _modules("ratings/forms", "bedside.rating_forms")
coders: Completion = _modules("metrics/coders/shipped", "bedside.coders")


def engine_names() -> list[str]:
    """The engines that share work."""
    return sorted(path.stem for path in _entries(_PACKAGE / "core" / "engines" / "shipped", ".py", "bedside.engines"))


def probe_names() -> list[str]:
    """The probes of judges."""
    return sorted(path.stem for path in _entries(_PACKAGE / "tuning" / "probes" / "shipped", ".py", "bedside.probes"))


def protocol_names() -> list[str]:
    """The protocols that have labels of their own."""
    from bedside.metrics.protocols.contract import PROTOCOLS

    return list(PROTOCOLS.names())


def export_forms(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The forms that a run is exported in."""
    shipped = sorted((_PACKAGE / "reports" / "exports" / "shipped").glob("*/__init__.py"))
    names = [path.parent.name.replace("_", "-") for path in shipped]
    return [*((name, "") for name in names), *_added("bedside.exports")]


def task_forms(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The forms of files for raters: those to fill in, and those of other annotation tools."""
    tools = _entries(_PACKAGE / "annotation" / "tool_forms", ".py", "bedside.tool_forms")
    return [(name, "") for name in ("xlsx", "csv", "label-studio", *(path.stem for path in tools))]


def schemas(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The kinds of files that there are schemas of."""
    folder = _PACKAGE / "cli" / "schemas" / "shipped"
    return [(name, "") for name in sorted(path.name.partition(".")[0] for path in folder.glob("*.schema.json"))]


engines: Completion = single(lambda ctx: [(name, "") for name in engine_names()])


def _metrics(ctx: typer.Context) -> Iterator[Offer]:
    for line in (_PACKAGE / "cli" / "metrics.tsv").read_text("utf-8").splitlines():
        name, _, title = line.partition("\t")
        yield name, title
    yield from _added("bedside.metrics")
    from bedside.judges.deepeval_raters.catalogue import KINDS

    yield from ((kind.metric, kind.title) for kind in KINDS.values())


metric, metrics = single(_metrics), several(_metrics)


def _codes(ctx: typer.Context) -> list[Offer]:
    from bedside.transcripts.transcript import CODES

    return [(code, "") for code in CODES]


codes: Completion = several(_codes)


def _tables(ctx: typer.Context) -> list[Offer]:
    """The kinds of tables, and those that the run's suites name in their files."""
    kinds = _entries(_PACKAGE / "reports" / "tables", ".py", "bedside.tables")
    names = dict.fromkeys(path.stem for path in kinds)
    suite = _value("--suite")
    for name in [suite] if suite else [scoring.get("suite") for scoring in _manifest().get("scorings", [])]:
        file = _PACKAGE / "ratings" / "suites" / "shipped" / f"{name}.yaml"
        if file.is_file():
            part = re.split(r"^(?:tables|figures):", file.read_text("utf-8"), flags=re.MULTILINE)[1:]
            names.update(dict.fromkeys(re.findall(r"\bid: *([a-z0-9-]+)", part[0] if part else "")))
    return [(name, "") for name in names]


table_names, tables = single(_tables), several(_tables)


def judges(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """What the names of language models begin with, as their clients say."""
    from bedside.judges.llm.contract import CLIENTS

    return [(beginning, client.title) for client in CLIENTS.all().values() for beginning in client.beginnings]


def _simulated(kind: str) -> Iterator[tuple[str, str, str]]:
    """What simulators have of a kind (``protocol``, ``setting`` or ``option``): whose, its name, what it is."""
    for line in (_PACKAGE / "cli" / "simulators.tsv").read_text("utf-8").splitlines():
        of_kind, protocol, name, about = line.split("\t")
        if of_kind == kind:
            yield protocol, name, about


def simulators(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The protocols that conversations are simulated by, and what other packages add."""
    return [*((name, about) for _, name, about in _simulated("protocol")), *_added("bedside.simulators")]


def _settings(ctx: typer.Context) -> Iterator[Offer]:
    chosen = _value("--protocol")
    yield from ((name, about) for protocol, name, about in _simulated("setting") if chosen in (None, protocol))


simulator_settings: Completion = several(_settings)


def simulator_options(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The options of the protocol that the line names, as ``--set`` takes them."""
    chosen = _value("--protocol")
    return [
        (f"{protocol}.{name}=", about) for protocol, name, about in _simulated("option") if chosen in (None, protocol)
    ]


#: What names of actors that are no language models begin with, or are.
_ACTORS = (
    ("rules", "the protocol's own toy, which needs no model"),
    (human_rater(""), "a person at the keyboard"),
    ("script:", "what a file says"),
    ("webhook:", "an address that calls are posted to"),
)


def clinicians(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """Who can be the clinician: the scripts of the protocol that the line names among them."""
    folder = _PACKAGE / "simulation" / "simulators" / (_value("--protocol") or "*") / "scripts"
    scripts = sorted({path.stem for path in _PACKAGE.glob(f"{folder.relative_to(_PACKAGE)}/*.yaml")})
    trivial = ("trivial", "fifteen clinicians that listen to nobody")
    return [*actors(ctx, incomplete), trivial, *((f"script:{name}", "a scripted clinician") for name in scripts)]


def actors(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """Who can take a part in simulated conversations."""
    return [*_ACTORS, *judges(ctx, incomplete)]


def _manifest() -> dict[str, Any]:
    """The manifest of the first run that the line names; of none where there is none."""
    for word in _words():
        try:
            manifest = json.loads(file.read_bytes()) if (file := Path(word) / MANIFEST).is_file() else None
        except (OSError, ValueError):
            continue
        if isinstance(manifest, dict):
            return manifest
    return {}


def _rated(ctx: typer.Context) -> list[Offer]:
    manifest = _manifest()
    names: dict[str, None] = {}
    for entry in manifest.get("scorings", []):
        names.update(dict.fromkeys(entry.get("metrics", [])))
    for entry in manifest.get("imports", []):
        names.update(dict.fromkeys(entry.get("scales", {})))
    return [(name, "") for name in names]


rated: Completion = several(_rated)


def _probes(ctx: typer.Context) -> list[Offer]:
    return [(name, "") for name in probe_names()]


probe, probes = single(_probes), several(_probes)


#: What is offered of each kind that ``bedside list`` lists.
CATALOGUE: dict[str, Completion] = {
    "metrics": metric, "rubrics": rubric, "suites": suites, "readers": readers, "protocols": simulators,
    "coders": coders, "probes": probe, "tables": table_names, "schemas": schemas,
}  # fmt: skip


def catalogue(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """What there is, of every kind or of the one that the line names."""
    chosen = "schemas" if "--schema" in _words() else _value("--kind")
    kinds = CATALOGUE.values() if chosen is None else [CATALOGUE[chosen]] if chosen in CATALOGUE else []
    return [*dict(offer for offers in kinds for offer in offers(ctx, incomplete)).items()]


def _raters(ctx: typer.Context) -> list[Offer]:
    patterns = [(HUMANS, "all people"), (JUDGES, "all judges"), (JURIES, "all juries"), (ALGORITHMS, "all algorithms")]
    names = {name for entry in _manifest().get("scorings", []) for name in entry.get("raters", [])}
    return patterns + [(name, "") for name in sorted(names)]


one_rater, raters = single(_raters), several(_raters)
table_formats: Completion = several(
    lambda ctx: [(name, "") for name in ("md", "latex", "html", "csv", "docx", "xlsx", "svg", "pdf", "png")]
)


def _rounds(ctx: typer.Context) -> list[Offer]:
    names = {name for entry in _manifest().get("imports", []) for name in entry.get("rounds", []) if name}
    return [("all", "every round"), *((name, "") for name in sorted(names))]


rounds: Completion = several(_rounds)


def answer(app: typer.Typer, shell: str) -> None:
    """Print what is offered for the line in the environment, and exit.

    Args:
        app: the command line.
        shell: which asks.
    """
    if shell == "complete_bash":
        _in_bash(lambda: app(prog_name="bedside"))
    app(prog_name="bedside")


def _in_bash(complete: Callable[[], None]) -> None:
    """Complete in bash, which takes ``human:anna`` and ``--suite=calm-it`` for three words each, and sets in the last.

    Args:
        complete: prints what is offered for the words in the environment, and exits.
    """
    words, last = os.environ.get("COMP_WORDS", "").split("\n"), int(os.environ.get("COMP_CWORD", "0"))
    joined: list[str] = []
    whole = False
    for word in words[: last + 1]:
        parts = bool(word) and not word.strip(":=")
        if joined and (parts or whole):
            joined[-1] += word
        else:
            joined.append(word)
        whole = parts
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(joined), str(len(joined) - 1)
    value = joined[-1].partition("=")[2] if joined[-1].startswith("--") else joined[-1]
    typed = value[: value.rfind(":") + 1] if len(joined) < last + 1 else ""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            complete()
    finally:
        # The shell would put files for a star.
        offers = (line.removeprefix(typed).replace("*", "\\*") for line in printed.getvalue().splitlines())
        sys.stdout.write("".join(f"{offer}\n" for offer in offers))
