"""What a critic changes in a generated interview: messages rewritten, exchanges added, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field, ValidationError

from bedside.metrics.protocols.label_files import Strict, complaint
from bedside.simulation.simulators.calls import Line


class AddedExchange(Strict):
    """A question and its answer that are put after a message of the patient."""

    add_turn: int = Field(strict=True)
    doctor: str
    patient: str
    comment: str = ""


class RevisedMessage(Strict):
    """A message in other words."""

    revise_turn: int = Field(strict=True)
    content: str
    comment: str = ""


Edit = AddedExchange | RevisedMessage


@dataclass(frozen=True, slots=True)
class EditedDialogue:
    """An interview with its edits.

    Attributes:
        lines: it.
        taken: the edits that were made.
        refused: those that weren't, each with the reason.
    """

    lines: tuple[Line, ...]
    taken: tuple[Edit, ...]
    refused: tuple[tuple[Edit, str], ...]


def read_edits(value: Any) -> tuple[Edit, ...]:
    """The edits of a critic's reply.

    Raises:
        ValueError: it is no list of edits.
    """
    items = value.get("edits") if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise ValueError('"edits" must be a list')
    edits: list[Edit] = []
    for number, item in enumerate(items, start=1):
        form = AddedExchange if isinstance(item, dict) and "add_turn" in item else RevisedMessage
        try:
            edits.append(form.model_validate(item))
        except ValidationError as error:
            raise ValueError(f"edit {number} can't be read ({complaint(error)})") from None
    return tuple(edits)


def edited(lines: Sequence[Line], edits: Sequence[Edit]) -> EditedDialogue:
    """An interview with a critic's edits.

    All numbers are those of the interview before any edit. The opening and the diagnosis stay as they are, and an
    exchange is added only after a message of the patient, so that the roles go on to alternate. What would break that
    is refused; of two exchanges after the same message the first comes first.

    Args:
        lines: the interview, the patient first, the diagnosis last, the roles in turn.
        edits: what is to be changed.
    """
    texts = {}
    added: dict[int, list[AddedExchange]] = {}
    taken: list[Edit] = []
    refused: list[tuple[Edit, str]] = []
    for edit in edits:
        reason = _refusal(lines, edit)
        if reason is None and isinstance(edit, RevisedMessage) and edit.revise_turn in texts:
            reason = "revised before"
        if reason is not None:
            refused.append((edit, reason))
            continue
        taken.append(edit)
        if isinstance(edit, RevisedMessage):
            texts[edit.revise_turn] = edit.content.strip()
        else:
            added.setdefault(edit.add_turn, []).append(edit)
    whole: list[Line] = []
    for index, line in enumerate(lines):
        whole.append(Line(line.role, texts.get(index, line.text)))
        for exchange in added.get(index, ()):
            whole.append(Line("clinician", exchange.doctor.strip()))
            whole.append(Line("patient", exchange.patient.strip()))
    return EditedDialogue(tuple(whole), tuple(taken), tuple(refused))


def _refusal(lines: Sequence[Line], edit: Edit) -> str | None:
    """Why an edit isn't made; None where it is."""
    last = len(lines) - 1
    if isinstance(edit, RevisedMessage):
        index, texts = edit.revise_turn, [edit.content]
    else:
        index, texts = edit.add_turn, [edit.doctor, edit.patient]
    if not 0 <= index <= last:
        return "no such message"
    if not all(text.strip() for text in texts):
        return "no words"
    if isinstance(edit, RevisedMessage) and index == 0:
        return "the opening stays"
    if index == last:
        return "the diagnosis stays last"
    if isinstance(edit, AddedExchange) and lines[index].role != "patient":
        return "not after a message of the patient"
    return None
