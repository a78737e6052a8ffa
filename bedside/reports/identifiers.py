"""Tables of identifiers that were seen in transcripts: each with its place, and how many of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bedside.core.words import counted
from bedside.reports.columns import Column, Table, recorded, table_of
from bedside.transcripts.identifiers.kinds import KINDS, LANGUAGES, NO_PROMISE
from bedside.transcripts.identifiers.transcript_identifiers import SeenIdentifier


def place_of(seen: SeenIdentifier) -> str:
    """Where in its transcript something was seen."""
    turn = "" if seen.turn is None else f"turn {seen.turn}"
    field = "" if seen.field == "text" else seen.field
    return ", ".join(filter(None, (turn, field, f"characters {seen.start}-{seen.end}")))


def _in_line(text: str) -> str:
    return " ".join(text.split())


def identifiers_table(identifiers: Sequence[SeenIdentifier], *, show: bool) -> Table:
    """Each identifier in a row.

    Args:
        identifiers: in order.
        show: whether what was seen is shown as it stands; else it is covered.
    """
    columns = (
        Column("Transcript", "left", field="transcript", form=_in_line),
        recorded("source", "turn", "field"),
        Column("Place", "left", text=place_of),
        Column("Kind", "left", field="kind"),
        recorded("start", "end"),
        Column("Seen", "left", field="seen", value="text" if show else "masked", form=_in_line),
    )
    return table_of("identifiers", "Identifiers that were seen", identifiers, columns, notes=(NO_PROMISE,))


def counts_table(
    counts: Mapping[str, int], transcripts: Mapping[str, int], *, languages: Mapping[str, int], model: str | None
) -> Table:
    """How many identifiers of each kind were seen, and what could be looked at.

    Args:
        counts: identifiers by kind.
        transcripts: transcripts with such an identifier, by kind.
        languages: transcripts by language.
        model: the model of names; None where there was none.
    """
    columns = (
        Column("Kind", "left", field="kind", value=str),
        Column("Identifiers", field="identifiers", value=counts.__getitem__),
        Column("Transcripts", field="transcripts", value=transcripts.__getitem__),
        Column("What it is", "left", field="what", value=KINDS.__getitem__),
    )
    return table_of("identifiers_by_kind", "Identifiers by kind", [kind for kind in KINDS if counts.get(kind)],
                    columns, notes=(*looked_at(languages, model), NO_PROMISE))  # fmt: skip


def looked_at(languages: Mapping[str, int], model: str | None) -> Iterable[str]:
    """What could be looked at, and what couldn't.

    Args:
        languages: transcripts by language.
        model: the model of names; None where there was none.
    """
    total = counted(sum(languages.values()), "transcript")
    yield f"Looked at {total}: {', '.join(f'{name} ({n:,})' for name, n in sorted(languages.items()))}."
    if model is None:
        yield (
            "There is no model of names: those that nothing introduces are not seen. spaCy's en_core_web_sm "
            "(English) is taken where it is installed; name another with --model."
        )
    else:
        yield f"English names are seen by {model}; German and Chinese ones by patterns alone, so fewer are."
    others = sum(n for name, n in languages.items() if name not in LANGUAGES)
    if others:
        yield (
            f"{counted(others, 'transcript')} in languages that can't be looked at. There only what every language "
            "writes alike is seen, such as e-mail addresses and dates in numbers."
        )
