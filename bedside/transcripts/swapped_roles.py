"""Signs that in a conversation with a language model the model is not the clinician but plays the patient.

Logs of simulated patients call the patient ``assistant``, for he is played by the model: read as usual, clinician and
patient would be exchanged, and every number would be about the wrong side.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bedside.support.errors import AmbiguousError

#: Least turns of each side before the way they talk tells anything.
_LEAST_TURNS = 3
#: By how much the share of the user's turns that ask must exceed the assistant's, what share of the assistant's words
#: must be of itself, and how many times the user's that must be: the more one side asks, the less of the other.
#: On 100 counselling sessions, 150 psychiatric interviews and 60 consultations with the roles exchanged these find
#: 83, 122 and 60, and none where they stand right.
_SIGNS = ((0.1, 0.05, 2.0), (0.7, 0.025, 1.5))
#: Chinese characters a word, on average.
_CHARACTERS = 1.6

_PATIENT = r"(?:patient|client|help.?seeker|seeker|counsell?ee|service user|来访者|患者|病人|求助者)"
_CLINICIAN = (
    r"(?:doctor|physician|clinician|therapist|psycho\w*|counsell?or|nurse|coach|assistant|chatbot|provider|"
    r"supporter|listener|interviewer|expert|医生|咨询师|治疗师|助手|专家|倾听者)"
)
# What a system message says the model is, as far as the noun that names it.
_TOLD = re.compile(
    r"(?:\byou(?:['’]re| are| will be| act| play)\b|\b(?:act|behave|respond|reply|speak) as\b|\brole.?play\b|"
    r"\b(?:play|take) the (?:role|part) of\b|\b(?:simulate|pretend)\b|你是|您是|扮演|模拟)"
    rf"(?P<between>[^.!?。！？\n]{{0,80}}?)(?:(?P<patient>{_PATIENT})|(?P<clinician>{_CLINICIAN}))(?P<after>['’]s\b|的)?",
    re.IGNORECASE,
)
# What comes before somebody else than the model.
_TOWARDS = re.compile(
    r"\b(?:to|with|for|treat\w*|help|helping|interview\w*|assess\w*|visit\w*|see|seeing|consult\w*|meet\w*|ask\w*)\b|和|与|给|为|向|对",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W\d_\u4e00-\u9fff]+(?:['’][^\W\d_]+)?")
_OWN = re.compile(r"(?:i|i['’]\w+|my|me|myself|mine|我)", re.IGNORECASE)


def check_roles(
    speakers: Sequence[Any], texts: Sequence[Any], mapping: Mapping[str, str], where: str
) -> None:
    """Stop where the model seems to play the patient and the user did not say who is who.

    Args:
        speakers: of the messages, such as ``user``, ``assistant`` and ``system``.
        texts: of the messages.
        mapping: the roles that the user gave.
        where: the transcript's place.

    Raises:
        AmbiguousError: both readings are possible.
    """
    if any(name.strip().casefold() in ("assistant", "user") for name in mapping):
        return
    reason = _sign(speakers, texts)
    if reason:
        raise AmbiguousError(
            f"in this conversation the assistant may be the patient: {reason}",
            where=where,
            todo="say who is who with `roles=assistant=patient,user=clinician`, or with "
            "`roles=assistant=clinician,user=patient`",
        )


def _sign(speakers: Sequence[Any], texts: Sequence[Any]) -> str | None:
    """What speaks for it, as the end of a sentence; None where nothing does."""
    said: dict[str, list[str]] = {"system": [], "user": [], "assistant": []}
    for speaker, text in zip(speakers, texts, strict=True):
        if isinstance(speaker, str) and isinstance(text, str):
            name = "system" if speaker.casefold() == "developer" else speaker.casefold()
            if name in said:
                said[name].append(text)
    for prompt in said["system"]:
        told = _told_role(prompt)
        if told == "patient":
            return "the system message tells it to be one"
        if told == "clinician":
            return None
    user, assistant = said["user"], said["assistant"]
    if min(len(user), len(assistant)) < _LEAST_TURNS:
        return None
    asks = _questions(user) - _questions(assistant)
    if asks < _SIGNS[0][0]:
        return None  # To count words takes longer than all the rest of reading.
    own, users_own = _of_itself(assistant), _of_itself(user)
    if any(asks >= more and own >= least and own >= times * users_own for more, least, times in _SIGNS):
        return "the user asks and the assistant speaks of itself"
    return None


def _told_role(prompt: str) -> str | None:
    for match in _TOLD.finditer(prompt):
        # "You are the patient's doctor" names the doctor later, "you are talking to a patient" the other side.
        if match["after"] or _TOWARDS.search(match["between"]):
            continue
        return "patient" if match["patient"] else "clinician"
    return None


def _questions(texts: Sequence[str]) -> float:
    """Share of the turns that hold a question mark."""
    return sum("?" in text or "？" in text for text in texts) / len(texts)


def _of_itself(texts: Sequence[str]) -> float:
    """Share of the words that are the first person singular."""
    words = [word for text in texts for word in _WORD.findall(text)]
    length = sum(1 / _CHARACTERS if "\u4e00" <= word <= "\u9fff" else 1 for word in words)
    return sum(1 for word in words if _OWN.fullmatch(word)) / max(1, length)
