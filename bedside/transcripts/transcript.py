"""What a conversation is: transcripts, turns and roles."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import count, repeat
from typing import Any, Literal, cast, get_args

import orjson

Role = Literal["clinician", "patient", "other"]
ROLES: tuple[Role, ...] = get_args(Role)
#: What ``roles`` says of a word before a colon that is no speaker but belongs to the turn it stands in.
NO_SPEAKER_BUT_TEXT = "text"

#: What was behind a conversation: ``system`` instructions (of developers too), or ``tools`` that were called and what
#: they gave.
ProvenanceKind = Literal["system", "tools"]
PROVENANCE_KINDS: tuple[ProvenanceKind, ...] = get_args(ProvenanceKind)

#: People's behaviour codes of a turn and their labels, in the order they are printed.
CODES: Mapping[str, tuple[str, ...]] = {
    "question": ("none", "open", "closed"),
    "reflection": ("none", "simple", "complex"),
    "therapist_input": ("none", "information", "advice", "options", "negotiation"),
    "main_behaviour": ("question", "reflection", "therapist_input", "other"),
    "client_talk": ("change", "sustain", "neutral"),
}

#: Whose turns a code is given to.
CODE_ROLES: Mapping[str, Role] = {
    "question": "clinician",
    "reflection": "clinician",
    "therapist_input": "clinician",
    "main_behaviour": "clinician",
    "client_talk": "patient",
}

#: Speaker names understood without a mapping, in lower case.
ROLE_ALIASES: Mapping[str, Role] = {
    **dict.fromkeys(
        (
            "clinician", "therapist", "counselor", "counsellor", "doctor", "physician", "psychiatrist",
            "psychologist", "provider", "interviewer", "supporter", "listener", "sensemaker", "sense_maker",
            "assistant", "医生", "咨询师", "心理咨询师",
        ),
        "clinician",
    ),
    **dict.fromkeys(
        ("patient", "client", "user", "seeker", "help-seeker", "interviewee", "患者", "来访者", "求助者"), "patient"
    ),
    **dict.fromkeys(("other", "system", "developer", "tool"), "other"),
}  # fmt: skip

#: Names of speakers, in lower case, who take no part in a conversation, and what their text is.
PROVENANCE_SPEAKERS: Mapping[str, ProvenanceKind] = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(
        (
            "tool", "function", "function_call", "function_call_output", "function_response", "observation",
            "tool_call", "tool_calls", "tool_response", "tool_result", "tool_use", "ipython",
        ),
        "tools",
    ),
}  # fmt: skip

#: Speaker names, in lower case, that say a role only by who else speaks in the transcript, and which it may be. A
#: nurse is the clinician where no other is, beside a doctor a third.
PARTNER_WORDS: Mapping[str, frozenset[Role]] = {
    "participant": frozenset({"clinician", "patient"}),
    "speaker": frozenset({"clinician", "patient"}),
    "nurse": frozenset({"clinician"}),
}


def plain_name(speaker: str) -> str:
    """A speaker's name as roles are looked up by it: case, surrounding space and a final colon don't count."""
    return speaker.strip().rstrip(":：").strip().casefold()


def is_no_speaker(name: str, mapping: Mapping[str, str]) -> bool:
    """Whether the user says that a word before a colon is text; ``*`` stands for any letters."""
    plain = plain_name(name)
    return any(
        role == NO_SPEAKER_BUT_TEXT and fnmatchcase(plain, key.strip().casefold())
        for key, role in mapping.items()
    )


def role_of(
    speaker: str, mapping: Mapping[str, str] | None = None, partners: Iterable[Role] = ()
) -> Role | None:
    """The role of a speaker: the user's ``mapping`` first, then the known aliases; None if unknown.

    Args:
        speaker: the name as written; case, surrounding space and a final colon are ignored.
        mapping: role by speaker, from the user.
        partners: roles of the others who speak in the transcript: a word that says a role only beside them
            (:data:`PARTNER_WORDS`) is of the side they lack.
    """
    name = plain_name(speaker)
    if mapping:
        for key, role in mapping.items():
            if key.strip().casefold() == name:
                return None if role == NO_SPEAKER_BUT_TEXT else cast(Role, role)
    if name in PARTNER_WORDS:
        sides: set[Role] = {"clinician", "patient"}
        lacking = sides.difference(partners)
        return lacking.pop() if len(lacking) == 1 and lacking <= PARTNER_WORDS[name] else None
    return ROLE_ALIASES.get(name)


def provenance_kind(speaker: str, role: Role) -> ProvenanceKind | None:
    """What a message is that is no turn, by who speaks where that is no party; None for a turn."""
    return PROVENANCE_SPEAKERS.get(plain_name(speaker)) if role == "other" else None


def is_speaker_word(name: str, mapping: Mapping[str, str] | None = None) -> bool:
    """Whether a word names a speaker, if only beside a partner."""
    if mapping and is_no_speaker(name, mapping):
        return False
    return role_of(name, mapping) is not None or plain_name(name) in PARTNER_WORDS


@dataclass(frozen=True, slots=True)
class Turn:
    """One message.

    Attributes:
        index: 0-based position in the transcript.
        role: ``clinician``, ``patient`` or ``other``.
        speaker: the speaker's name as written in the source.
        text: what was said.
        meta: anything else known of the turn. ``meta["stage"]`` names the stage of the conversation,
            ``meta["time"]`` the time as written, ``meta["start"]`` and ``meta["stop"]`` the seconds at which the turn
            begins and ends, and ``meta["codes"]`` holds people's behaviour codes as ``{coder: {code: label}}``,
            e.g. ``{"anna": {"question": "open"}}``.
    """

    index: int
    role: Role
    speaker: str
    text: str
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Text of a conversation's making that neither party said to the other: no turn, not counted, not rated.

    Raters and judges are shown it only where a rubric or an option asks for its kind by name.

    Attributes:
        kind: ``system`` or ``tools``.
        before: index of the turn it stands before; the number of turns, where it stands after the last.
        text: as written; what a tool was called with is JSON.
        speaker: the name as written in the source, such as ``developer``.
        meta: anything else known of it, such as the tool's name.
    """

    kind: ProvenanceKind
    before: int
    text: str
    speaker: str
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What a source says in order, told apart.

    Attributes:
        turns: what the parties said.
        provenance: the rest, in order.
    """

    turns: Sequence[Turn]
    provenance: Sequence[Provenance] = ()


def by_place(provenance: Iterable[Provenance]) -> tuple[Provenance, ...]:
    """Provenance by its place; what stands before one turn keeps its order."""
    return tuple(sorted(provenance, key=lambda item: item.before))


@dataclass(slots=True)
class _Draft:
    index: int
    role: Role
    speaker: str
    text: str
    meta: Mapping[str, Any]


def new_turns(
    roles: Iterable[Role],
    speakers: Sequence[str],
    texts: Sequence[str],
    metas: Sequence[Mapping[str, Any]] | None = None,
) -> list[Turn]:
    """Turns numbered from 0, made three times as fast as by calling :class:`Turn`.

    A frozen dataclass sets each field through ``object.__setattr__``, which would be most of what reading
    a corpus costs; a plain one of the same layout is filled and then becomes a turn.
    """
    turns: list[Any] = list(map(object.__new__, repeat(_Draft, len(texts))))
    for index, turn, role, speaker, text in zip(count(), turns, roles, speakers, texts):
        turn.index = index
        turn.role = role
        turn.speaker = speaker
        turn.text = text
        turn.meta = {} if metas is None else metas[index]
        turn.__class__ = Turn
    return turns


def _sorted(values: Mapping[str, Any]) -> orjson.Fragment:
    return orjson.Fragment(orjson.dumps(values, option=orjson.OPT_SORT_KEYS) if values else b"{}")


def provenance_data(item: Provenance) -> dict[str, Any]:
    """Provenance as it stands in JSON."""
    meta = {"meta": dict(item.meta)} if item.meta else {}
    return {"before": item.before, "kind": item.kind, **meta, "speaker": item.speaker, "text": item.text}


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation.

    Attributes:
        id: unique within a run.
        turns: the messages in order.
        system: what produced the conversation (a model, a framework, ``human``), where known.
        case_id: the patient case; transcripts of different systems on one case are paired.
        language: BCP 47 tag such as ``en`` or ``zh``; None where the source doesn't say.
        factors: flat dict of experimental factors (target length, setting, persona, …).
        reference: what is known outside the dialogue (background, goal, hidden concerns, diagnosis, …).
        source: file and position the transcript was read from, for messages.
        provenance: system messages and calls of tools, in order; they are no turns.
    """

    id: str
    turns: tuple[Turn, ...]
    system: str | None = None
    case_id: str | None = None
    language: str | None = None
    factors: Mapping[str, Any] = field(default_factory=dict)
    reference: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    provenance: tuple[Provenance, ...] = ()

    def __str__(self) -> str:
        """The conversation, a turn a line, numbered as everywhere."""
        return "\n".join(f"{turn.index} {turn.speaker}: {turn.text}" for turn in self.turns)

    def _repr_html_(self) -> str:
        from bedside.transcripts.conversation_html import conversation_html

        facts = [fact for fact in (self.system, self.case_id, self.language) if fact is not None]
        return conversation_html(
            self.id, facts, [(turn.role, turn.speaker, turn.text) for turn in self.turns]
        )

    def of(self, role: Role) -> Iterator[Turn]:
        """The turns of one role, in order."""
        return (turn for turn in self.turns if turn.role == role)

    def to_json(self) -> bytes:
        """The normalised transcript as one line of JSON: all but ``source``, keys sorted, no empty ``meta``, and
        ``provenance`` where there is some.

        This is what a run keeps, what the content hash is taken of, and one line of bedside's own
        JSONL format.
        """
        fields = {
            "case_id": self.case_id,
            "factors": _sorted(self.factors),
            "id": self.id,
            "language": self.language,
            **({"provenance": list(map(provenance_data, self.provenance))} if self.provenance else {}),
            "reference": _sorted(self.reference),
            "system": self.system,
            # Written out in order: sorting the keys of every turn would cost more than all the rest.
            "turns": [
                {"meta": _sorted(turn.meta), "role": turn.role, "speaker": turn.speaker, "text": turn.text}
                if turn.meta
                else {"role": turn.role, "speaker": turn.speaker, "text": turn.text}
                for turn in self.turns
            ],
        }
        return orjson.dumps(fields)

    def content_hash(self) -> str:
        """SHA-256 (hex) of :meth:`to_json`; equal for equal content wherever it was read from."""
        return hashlib.sha256(self.to_json()).hexdigest()
