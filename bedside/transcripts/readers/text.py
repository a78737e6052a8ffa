"""Plain text and Markdown whose lines begin with who speaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.labelled_text import Line, dialogues, labelled_lines, labelled_speech, names_two_speakers
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.timed_speech import talk, text_lines, whole_text
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.transcript_fields import FIELDS

_PROSE = (".txt", ".md")
#: Names of columns by which a first line is told to be a table's header.
_COLUMNS = {
    *(name for names in FIELDS.values() for name in names),
    "speaker", "role", "interlocutor", "participant", "text", "utterance", "utterance_text", "message", "content",
    "dialogue", "dialog", "conversation", "transcript", "turn",
}  # fmt: skip


def _claims(head: Head) -> Claim | None:
    # To look for speakers takes longest.
    if isinstance(head.first, dict | list | str) or head.text.startswith(("PK", "PAR1")) or _is_table(head):
        return None
    speaks = names_two_speakers(head.text, head.source.options.roles)
    return "transcripts" if speaks else "aside" if head.ending in _PROSE else None


def _is_table(head: Head) -> bool:
    """Whether the lines are rows of a table: as many cells in each, below names that tables have."""
    columns = head.columns
    if columns is None:
        return False
    header, rows = columns
    if not rows or any(len(row) != len(header) for row in rows):
        return False
    named = {*_COLUMNS, *(name.casefold() for name in head.source.options.columns.values())}
    roles = head.source.options.roles
    lines = head.text.splitlines()
    return (
        any(name.casefold() in named for name in header)
        or any(names_two_speakers(cell, roles) for row in rows for cell in row)
        or (
            len(rows) > 1
            and max(lines[0].count("\t"), lines[0].count(";")) == len(header) - 1
            and labelled_lines(lines, roles).labels[0] is None
        )
    )


def _read(source: SourceFile) -> Iterator[Transcript]:
    lines = [(f"{source.name}:{number}", line) for number, line in enumerate(text_lines(whole_text(source)), 1)]

    def dialogue(name: str | None, part: Sequence[Line]) -> Transcript:
        speech, reference = labelled_speech(source, part)
        where = source.name if name is None else part[0][0]
        return talk(source, speech, where, joined=False, id=name, reference=reference)

    for name, part in dialogues(lines, source.options.roles):
        transcript = source.attempt(dialogue, name, part)
        if transcript is not None:
            yield transcript


READER = Reader(
    name="text",
    title="plain text or Markdown, speakers before their turns",
    description=(
        "One transcript a file, or one below each heading `id=…`. A turn begins with who speaks, in one of these ways "
        "throughout: `Doctor: …`, `**Doctor:** …`, `[00:12] Anna: …`, `1. T: …`, `[doctor] …`, `(Doctor) …`, "
        "`T<tab>…`, `Anna  0:15` or `Speaker 1 (00:01):` on a line of its own, `12/05/2024, 10:09 - Anna: …` "
        "(WhatsApp), `Doctor - …`, `咨询师：…`, or a known name alone on a line. Lines without a label go on with the "
        "turn before. A speaker is whose name is known, or says a third person; else those whose names begin most "
        "lines; or the two whose names in lower case take turns from the first line on (`user: …`, `agent: …`). Where "
        "something else begins a line as a name does (`First: …`), reading stops: `--roles First=text` "
        "says that it is no speaker. What so begins once or twice is text where `--roles` names two who speak. `T` and "
        "`C` (or `P`), `D` and `P`, `Dr` and `Pt` are understood beside each other. Times become `start` and `stop` of "
        "the turn's `meta`, with a date `time`. Left out and counted: lines above the first speaker (a sentence there "
        "stops), headings, rules and numbers of pages; what stands below `Description` goes to the reference."
    ),
    example="Session of 12 May\n\nTherapist: What brings you here?\nClient: I sleep badly.\nSince May, I think.\n",
    example_name="session.txt",
    facts={
        "family": "recordings",
        "known_by": "two speakers' names before their lines",
        "turns": "labelled lines, with those that follow",
        "kept": "times with turns; what stands below `Description` in the reference",
        "left": "lines above the first speaker, headings, rules, numbers of pages",
        "decided_by": '`--roles First=text`, `--leave-out "headings"`',
    },
    endings=(".txt", ".md"),
    claims=_claims,
    read=_read,
    priority=70,
)
