"""Notes become cases: the history before treatment, its findings, and the aspects that each is about.

A model does the three steps; what it cuts off is checked against the note, character by character, and what it can't
answer is kept as not known. Each part is a generator of calls like a simulator's controller, without input or output.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import Field

from bedside.core.errors import InputError
from bedside.core.records import PathOrPaths, records
from bedside.metrics.protocols.label_files import Strict, Text
from bedside.metrics.protocols.note2chat.labels import Category
from bedside.simulation.simulators.asking import text_of, texts_of
from bedside.simulation.simulators.calls import Exchange, together
from bedside.simulation.simulators.case import Case, ClinicalNote, Hidden, Name, NoteFinding
from bedside.simulation.simulators.contract import UnusableConversationError
from bedside.simulation.simulators.note2chat.vignette import ask_evaluator, shared_start

# -- Notes become cases ---------------------------------------------------------------------------------

#: The questions on a finding.
ASPECTS: tuple[Category, ...] = get_args(Category)


class DischargeNote(Strict):
    """What a case is made of, as a file of notes holds it.

    Attributes:
        id: its name, which no other note of the file has.
        language: the language of the note.
        chief_complaint: what the patient came for.
        licence: under which the note may be used.
    """

    id: Name
    language: Literal["en", "zh"] = "en"
    chief_complaint: Text
    history: Text = Field(description="The history of the present illness.")
    diagnosis: Text = Field(description="The final diagnosis.")
    origin: str = Field(default="", description="Where the note comes from, e.g. invented.")
    licence: str = ""


def prepared_case(note: DischargeNote) -> Exchange[Case]:
    """The case of a note.

    Raises:
        UnusableConversationError: it has no history before treatment, no findings, or a step's replies can't be used.
    """
    vignette = yield from history_before_treatment(note.history, note.language)
    texts = yield from findings_of(vignette, note.language)
    categories = yield from together(
        *(aspects_of(text, number, note.language) for number, text in enumerate(texts, start=1))
    )
    return Case(
        id=note.id,
        language=note.language,
        origin=note.origin,
        licence=note.licence,
        hidden=Hidden(diagnosis=note.diagnosis),
        note=ClinicalNote(
            chief_complaint=note.chief_complaint,
            text=note.history,
            vignette=vignette,
            findings=tuple(
                NoteFinding(
                    text=text,
                    categories=tuple(aspect for aspect in ASPECTS if answers[aspect]),
                    unanswered=tuple(aspect for aspect in ASPECTS if answers[aspect] is None),
                )
                for text, answers in zip(texts, categories, strict=True)
            ),
        ),
    )


def history_before_treatment(history: str, language: str) -> Exchange[str]:
    """The beginning of a history up to the clinic's own work, in the note's own characters.

    Raises:
        UnusableConversationError: it begins with the clinic's work; or what was cut off is not how it begins, three
            times.
    """

    def read(value: Any) -> str:
        before = text_of(value, "before", blank=True)
        if not before.strip():
            return ""
        start = shared_start(history, before)
        if start is None:
            raise ValueError("the text is not, word for word, how the history begins")
        return start

    before = (yield from ask_evaluator("split", 1, language, read, variables={"history": history})).strip()
    if not before:
        detail = "the history begins with the clinic's own work"
        raise UnusableConversationError("material", "no history before treatment", detail)
    return before


def findings_of(vignette: str, language: str) -> Exchange[tuple[str, ...]]:
    """The findings of a vignette, a sentence each, in its order.

    Raises:
        UnusableConversationError: no list of sentences was replied.
    """

    def read(value: Any) -> tuple[str, ...]:
        texts = texts_of(value, "findings", "sentences")
        if not texts:
            raise ValueError("there is no finding in the list")
        return tuple(text.strip() for text in texts)

    return (yield from ask_evaluator("findings", 1, language, read, variables={"vignette": vignette}))


def aspects_of(finding: str, number: int, language: str) -> Exchange[dict[Category, bool | None]]:
    """Whether a finding is about each aspect of the history; None where that wasn't answered.

    Args:
        finding: the sentence.
        number: of the finding, from 1.
        language: code of its language.
    """

    def read(value: Any) -> dict[Category, bool | None]:
        if not isinstance(value, dict):
            raise ValueError("the reply must be an object")
        return {aspect: answer if isinstance(answer := value.get(aspect), bool) else None for aspect in ASPECTS}

    try:
        return (yield from ask_evaluator("aspects", number, language, read, variables={"finding": finding}))
    except UnusableConversationError:
        return dict.fromkeys(ASPECTS)


# -- Files of notes -------------------------------------------------------------------------------------

_SEE = "see docs/note2chat-training.md"


def read_notes(paths: PathOrPaths) -> tuple[DischargeNote, ...]:
    """The notes of files or folders, in order.

    Raises:
        InputError: a file can't be read, a note is wrong or there twice, or there are none; file and line are named.
    """
    notes: dict[str, DischargeNote] = {}
    for record in records(paths, "file of notes"):
        note = record.to_model(DischargeNote, _SEE)
        if note.id in notes:
            raise InputError(f"the note {note.id!r} is there twice", where=record.place(("id",)), todo=_SEE)
        notes[note.id] = note
    if not notes:
        raise InputError("there are no notes", todo=_SEE)
    return tuple(notes.values())
