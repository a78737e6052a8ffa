"""Signs that in a conversation with a language model the model is not the clinician but plays the patient.

Logs of simulated patients call the patient ``assistant``, for he is played by the model: read as usual, clinician and
patient would be exchanged, and every number would be about the wrong side.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from bedside.support.errors import AmbiguousError
from bedside.transcripts.role_evidence import exchanged

#: Names in such logs, in lower case, of who asks a language model, and of the model.
USERS = frozenset(("user", "human", "prompter"))
MODELS = frozenset(("assistant", "gpt", "chatgpt", "ai", "bot", "model"))

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
# How a message begins that may be such an instruction; to look for it in every one takes long.
_INSTRUCTS = re.compile(
    r"\W*(?:you(?:['’]re| are| will)|from now|your (?:role|task)|你是|您是|请|現在|现在|假|扮演|模拟|"
    r"(?:please |now |can you |i want you to |i['’]d like you to )*"
    r"(?:act|behave|role|play|take|pretend|simulate|imagine))",
    re.IGNORECASE,
)
# What comes before somebody else than the model.
_TOWARDS = re.compile(
    r"\b(?:to|with|for|treat\w*|help|helping|interview\w*|assess\w*|visit\w*|see|seeing|consult\w*|meet\w*|ask\w*)\b|和|与|给|为|向|对",
    re.IGNORECASE,
)


_SIDES = {
    **dict.fromkeys(USERS, "user"),
    **dict.fromkeys(MODELS, "model"),
    **dict.fromkeys(("system", "developer"), "system"),
}


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
    if {*map(type, speakers), *map(type, texts)} != {str}:
        told = [each for each in zip(speakers, texts, strict=True) if {*map(type, each)} == {str}]
        speakers, texts = [speaker for speaker, _ in told], [text for _, text in told]
    sides = {name: _SIDES.get(name) or _SIDES.get(name.casefold()) for name in {*speakers}}
    said: dict[str | None, list[str]] = {"system": [], "user": [], "model": [], None: []}
    for speaker, text in zip(speakers, texts, strict=True):
        said[sides[speaker]].append(text)
    if said["user"] and said["model"] and not any(name.strip().casefold() in _SIDES for name in mapping):
        reason = _sign(said)
        if reason:
            names = {sides[speaker]: speaker for speaker in speakers}
            user, model = names["user"], names["model"]
            raise AmbiguousError(
                f"in this conversation the {model} may be the patient: {reason}",
                where=where,
                todo=f"say who is who with `roles={model}=patient,{user}=clinician`, or with "
                f"`roles={model}=clinician,{user}=patient`",
            )


def _sign(said: Mapping[str | None, Sequence[str]]) -> str | None:
    """What speaks for it, as the end of a sentence; None where nothing does."""
    # Some write the instruction as the first message of the user.
    first = said["user"][0]
    for prompt in (*said["system"], first) if _INSTRUCTS.match(first) else said["system"]:
        told = told_role(prompt)
        if told == "patient":
            return "the instructions tell it to be one"
        if told == "clinician":
            return None
    likely = exchanged(said["model"], said["user"])
    return None if likely is None else f"it talks like one (probability {math.floor(100 * likely)}%)"


def told_role(prompt: str) -> Literal["patient", "clinician"] | None:
    """Which of the two a prompt tells the model to be; None where it says nothing of it."""
    for match in _TOLD.finditer(prompt):
        # "You are the patient's doctor" names the doctor later, "you are talking to a patient" the other side.
        if match["after"] or _TOWARDS.search(match["between"]):
            continue
        return "patient" if match["patient"] else "clinician"
    return None
