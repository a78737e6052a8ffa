"""Tables of published sets, known by the names of their columns: what they mean, as a user would say it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bedside.transcripts.transcript import Role


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A published set.

    Attributes:
        name: of the set.
        signature: columns that it has, upper and lower case alike.
        columns: bedside's name → column; an empty one says that there is none, though a name looks like one.
        roles: of its speakers, or of its columns of those who speak.
        holds: what cells of a column hold, as a regular expression, where the names are those of many other tables.
        instead: what to do with a table that holds no talks, as a sentence's end; empty for one that does.
    """

    name: str
    signature: tuple[str, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)
    holds: Mapping[str, str] = field(default_factory=dict)
    instead: str = ""

    def fits(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """Whether a table is of the set."""
        plain = [name.strip().casefold() for name in header]
        if not set(plain).issuperset(self.signature) or (self.holds and not rows):
            return False
        return all(
            re.search(pattern, row[at], re.IGNORECASE)
            for name, pattern in self.holds.items()
            for row in rows
            if (at := plain.index(name)) < len(row)
        )

    def named(self, header: Sequence[str]) -> dict[str, str]:
        """Bedside's name → column as the table writes it."""
        written = {name.strip().casefold(): name for name in header}
        return {
            name: "+".join(written.get(part, part) for part in column.split("+"))
            for name, column in self.columns.items()
        }


PUBLISHED: tuple[PublishedTable, ...] = (
    PublishedTable(
        "HOPE",
        # The column of acts is called Dialog_Act in some files and Dialogue_Act in others.
        ("id", "type", "utterance"),
        # Its ids number the utterances of a file.
        {"id": "", "speaker": "type", "text": "utterance"},
        {"T": "clinician", "P": "patient"},
        {"type": r"^\s*[TP]?\s*$"},
    ),
    PublishedTable(
        "DAIC-WOZ",
        ("start_time", "stop_time", "speaker", "value"),
        {"text": "value", "start": "start_time", "stop": "stop_time"},
        {"Ellie": "clinician", "Participant": "patient"},
    ),
    PublishedTable(
        "Psych8k",
        ("instruction", "input", "output"),
        {"question": "input", "answer": "output", "id": "row"},
        {"input": "patient", "output": "clinician"},
        {"instruction": "psycholog|counsel|therap", "input": r"\w"},
    ),
    PublishedTable("CACTUS", ("dialogue", "intake_form", "cbt_technique", "cbt_plan"), {"dialogue": "dialogue"}),
    PublishedTable(
        "FED",
        ("context", "response", "system", "annotations"),
        {"dialogue": "context+response"},
        {"User": "patient", "System": "clinician"},
    ),
    PublishedTable(
        "MedDialog",
        ("utterances",),
        {"dialogue": "utterances"},
        holds={"utterances": r"^\s*\[\s*\"(?:patient|doctor|病人|医生)\s*[:：]"},
    ),
    PublishedTable(
        # As datasets write both before they are processed: who speaks is a number.
        "MedDialog or COVID-Dialogue",
        ("dialogue_id", "dialogue_url", "dialogue_turns"),
        {"dialogue": "dialogue_turns"},
        {"0": "patient", "1": "clinician"},
    ),
    PublishedTable(
        # Those of its test have no acts.
        "IMCS-21",
        ("sentence_id", "speaker", "sentence"),
        {"turn": "sentence_id", "text": "sentence"},
    ),
    PublishedTable(
        "AugESC",
        ("text",),
        {"dialogue": "text"},
        {"usr": "patient", "sys": "clinician"},
        {"text": r"^\s*\[\s*\[\s*\"(?:usr|sys)\""},
    ),
    PublishedTable(
        "MT-bench",
        ("question_id", "model_1", "model_2", "judge"),
        instead="these are judges' preferences: read them as ratings",
    ),
)  # fmt: skip
