"""The list of forms: what each reader states of its form, and what reading one talk in many shapes keeps and leaves."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from bedside.transcripts.contract import FACTS, READERS, Reader
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading

ROOT = Path(__file__).parents[1]
#: The parts of the page, and the page that says more of each.
_FAMILIES: Mapping[str, tuple[str, str]] = {
    "own": ("bedside's own, and corpora", "transcripts.md"),
    "tables": ("Tables", "tables.md"),
    "recordings": ("Recordings and documents", "recordings.md"),
    "logs": ("Logs of language models", "model-logs.md"),
}


def forms_list() -> str:
    """The forms, family by family, and one talk in each shape."""
    readers = READERS.all()
    parts = []
    for family, (title, page) in _FAMILIES.items():
        rows = [_row(name, reader) for name, reader in readers.items() if reader.facts.get("family") == family]
        parts += [
            f"## {title}",
            _table(["form", *FACTS.values()], rows),
            f"More: [{page.removesuffix('.md').replace('-', ' ').capitalize()}]({page}).",
        ]
    parts += [
        "## One talk in each shape",
        "One talk of six turns is read whole from each of these shapes.",
        _table(["shape", "form", FACTS["kept"], FACTS["left"]], _shapes()),
    ]
    return "\n\n".join(parts)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _row(name: str, reader: Reader) -> list[str]:
    return [f"[`{name}`](forms/{name}.md): {reader.title}", *(reader.facts[key].replace("|", "\\|") for key in FACTS)]


def _shapes() -> list[list[str]]:
    """Shapes of one outcome, their form, and what reading them kept and left."""
    # The tests write the talk; where this is run from needn't be where they are.
    sys.path.insert(0, str(ROOT))  # before libraries' packages of this name
    from tests.transcripts import talk_forms as forms

    shapes: list[forms.TableForm | forms.TextForm | forms.JsonForm] = [
        *forms.TABLE_FORMS, *forms.TEXT_FORMS, *forms.JSON_FORMS,
    ]  # fmt: skip
    found: dict[tuple[str, str, str], list[str]] = {}
    for shape in shapes:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / shape.file
            file.write_bytes(shape.content)
            reading = Reading(file, ReadOptions(**shape.options))
            transcripts = list(reading)
        account = reading.account
        if account.turns != len(forms.TALK):
            raise SystemExit(f"{shape.name} is not read whole: {account.turns} turns")
        fields = [name for name in ("system", "case_id", "language") if getattr(transcripts[0], name)]
        kept = [
            ", ".join(fields),
            _named("factors", transcripts[0].factors),
            _named("reference", transcripts[0].reference),
            _named("with turns", sorted(account.with_turns)),
            _named("no turns", account.provenance),
        ]
        left = [*account.left_out, *account.lost]
        outcome = (reading.inputs[0].format, "; ".join(filter(None, kept)) or "–", ", ".join(left) or "–")
        found.setdefault(outcome, []).append(shape.name)
    return [[_joined(names), f"`{form}`", kept, left] for (form, kept, left), names in found.items()]


def _named(what: str, names: Iterable[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names)
    return f"{what} {shown}" if shown else ""


def _joined(names: Iterable[str]) -> str:
    """Names of shapes; those that differ by what is behind the comma are told once."""
    ways: dict[str, list[str]] = {}
    for name in names:
        shape, _, way = name.partition(", ")
        ways.setdefault(shape, []).append(way)
    return ", ".join(f"{shape} ({', '.join(filter(None, how))})" if any(how) else shape for shape, how in ways.items())
