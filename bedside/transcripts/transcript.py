"""What a conversation is: transcripts, turns and roles."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from bedside.core.words import counted

if TYPE_CHECKING:
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

# Names of the two sides in English, German, Spanish, French, Arabic, Korean, Japanese and Chinese. A single letter says
# nothing: a Spanish ``P`` is the psychologist or the patient; nor does ``Pat`` without its point, which is a name.
_CLINICIANS = """
    clinician therapist psychotherapist counselor counsellor doctor physician psychiatrist psychologist provider
    interviewer supporter listener sensemaker sense_maker assistant dr dr. th th. ther.
    therapeut therapeutin psychotherapeut psychotherapeutin arzt ärztin arztin aerztin hausarzt hausärztin psychiater
    psychiaterin psychologe psychologin berater beraterin behandler behandlerin interviewerin kliniker klinikerin
    terapeuta psicoterapeuta médico medico médica medica doctora psicólogo psicologo psicóloga psicologa psiquiatra
    consejero consejera entrevistador entrevistadora
    thérapeute therapeute psychothérapeute psychotherapeute médecin medecin docteur docteure psychologue psychiatre
    conseiller conseillère conseillere intervieweur intervieweuse clinicien clinicienne soignant soignante
    معالج معالجة المعالج المعالجة طبيب طبيبة الطبيب الطبيبة دكتور دكتورة الدكتور الدكتورة أخصائي الأخصائي أخصائية
    الأخصائية اخصائي الاخصائي اخصائية الاخصائية المرشد المرشدة
    상담사 상담자 상담원 심리상담사 치료사 치료자 심리치료사 의사 정신과의사 심리학자 면담자
    医師 医者 ドクター カウンセラー セラピスト 治療者 心理士 臨床心理士 公認心理師 面接者 精神科医
    医生 咨询师 心理咨询师 心理医生 治疗师 心理治疗师 精神科医生 医师 大夫 醫生 醫師 諮商師 心理師 治療師
"""
_PATIENTS = """
    patient client user seeker help-seeker interviewee pt pt. pat. patients clients
    patientin klient klientin proband probandin ratsuchende ratsuchender
    paciente cliente consultante entrevistado entrevistada
    patiente cliente
    مريض مريضة المريض المريضة عميل عميلة العميل العميلة المراجع المراجعة
    환자 내담자 클라이언트 피면담자
    患者 クライエント クライアント 相談者 来談者
    来访者 来访 求助者 病人 病患 來訪者 個案
"""

#: Speaker names understood without a mapping, in lower case.
ROLE_ALIASES: Mapping[str, Role] = {
    **dict.fromkeys(_CLINICIANS.split(), "clinician"),
    **dict.fromkeys(_PATIENTS.split(), "patient"),
    **dict.fromkeys(("other", "system", "developer", "tool"), "other"),
}

#: Names of third parties, in lower case: ``other`` beside a clinician and a patient. Without one of these, whoever
#: speaks may be that side, as a mother who speaks for her child.
THIRD_PARTIES = frozenset(
    """
    mother mom mum mama father dad papa parent parents wife husband spouse partner son daughter child brother sister
    sibling family relative friend guest guest_family patient_guest carer caregiver interpreter translator observer
    moderator narrator supervisor
    mutter vater eltern ehefrau ehemann partnerin sohn tochter kind bruder schwester familie angehörige angehöriger
    freund freundin dolmetscher dolmetscherin
    madre padre padres esposa esposo marido pareja hijo hija hermano hermana familia familiar amigo amiga intérprete
    interprete
    mère mere père pere femme mari conjoint conjointe partenaire fils fille frère soeur sœur famille ami amie interprète
    الأم الام الأب الاب الزوج الزوجة الابن الابنة المترجم المترجمة
    어머니 엄마 아버지 아빠 부모 남편 아내 배우자 아들 딸 보호자 통역사 가족 친구
    母 母親 父 父親 夫 妻 息子 娘 家族 友人 通訳
    母亲 妈妈 父亲 爸爸 父母 丈夫 妻子 儿子 女儿 家属 家人 家长 朋友 翻译
    """.split()
)

#: Words within a name of somebody else than the two; a nurse may be the clinician where she is all of the name.
THIRD_WORDS = THIRD_PARTIES | {"nurse", "student"}

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
    **dict.fromkeys(
        "nurse krankenschwester krankenpfleger pflegekraft enfermera enfermero infirmière infirmiere infirmier "
        "ممرض ممرضة الممرض الممرضة 간호사 看護師 护士 護士 護理師".split(),
        frozenset[Role]({"clinician"}),
    ),
}


def plain_name(speaker: str) -> str:
    """A speaker's name as roles are looked up by it: case, surrounding space and a final colon don't count."""
    return speaker.strip().rstrip(":：").strip().casefold()


def is_no_speaker(name: str, mapping: Mapping[str, str]) -> bool:
    """Whether the user says that a word before a colon is text; ``*`` stands for any letters."""
    plain = plain_name(name)
    return any(
        role == NO_SPEAKER_BUT_TEXT and fnmatchcase(plain, key.strip().casefold()) for key, role in mapping.items()
    )


def role_of(speaker: str, mapping: Mapping[str, str] | None = None, partners: Iterable[Role] = ()) -> Role | None:
    """The role of a speaker: the user's ``mapping`` first, then the known aliases; None if unknown.

    Args:
        speaker: the name as written; case, surrounding space and a final colon are ignored.
        mapping: role by speaker, from the user.
        partners: roles of the others who speak in the transcript: a word that says a role only beside them
            (:data:`PARTNER_WORDS`) is of the side they lack, and a third party (:data:`THIRD_PARTIES`) is one only
            beside both.
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
    if name in THIRD_PARTIES:
        return "other" if {"clinician", "patient"}.issubset(partners) else None
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
        labels: the names that told the roles of the turns.
    """

    turns: Sequence[Turn]
    provenance: Sequence[Provenance] = ()
    labels: Sequence[str] = ()


def by_place(provenance: Iterable[Provenance]) -> tuple[Provenance, ...]:
    """Provenance by its place; what stands before one turn keeps its order."""
    return tuple(sorted(provenance, key=lambda item: item.before))


class _Draft:
    __slots__ = ("index", "meta", "role", "speaker", "text")


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
    turns: list[Any] = []
    for index, role, speaker, text in zip(count(), roles, speakers, texts):
        turn: Any = _Draft()
        turn.index = index
        turn.role = role
        turn.speaker = speaker
        turn.text = text
        turn.meta = {} if metas is None else metas[index]
        turn.__class__ = Turn
        turns.append(turn)
    return turns


def _sorted(values: Mapping[str, Any]) -> orjson.Fragment:
    import orjson

    return orjson.Fragment(orjson.dumps(values, option=orjson.OPT_SORT_KEYS) if values else b"{}")


def provenance_data(item: Provenance) -> dict[str, Any]:
    """Provenance as it stands in JSON."""
    meta = {"meta": dict(item.meta)} if item.meta else {}
    return {"before": item.before, "kind": item.kind, **meta, "speaker": item.speaker, "text": item.text}


#: Turns that a notebook shows at once, and those that can be folded out; what is beyond them would make it heavy.
SHOWN, FOLDED = 12, 200
#: Characters of a turn that it shows.
LONGEST_TURN = 4000
_TURN_STYLE = "margin: 0.3em 0; padding-inline-start: 0.6em; white-space: pre-wrap; overflow-wrap: anywhere"
#: A side is told by its line, not by a colour: a notebook may be light or dark.
_LINES = {"clinician": "solid", "patient": "dotted"}


def _paragraphs(turns: Iterable[Turn]) -> str:
    shown = []
    for turn in turns:
        text, cut = _escaped(turn.text[:LONGEST_TURN]), len(turn.text) - LONGEST_TURN
        shown.append(
            f'<p dir="auto" style="{_TURN_STYLE}; border-inline-start: 3px {_LINES.get(turn.role, "none")} '
            f'currentColor"><small>{turn.index}</small> <strong><bdi>{_escaped(turn.speaker)}</bdi></strong> '
            f"{text}{f' <em>… {cut:,} more characters</em>' if cut > 0 else ''}</p>"
        )
    return "".join(shown)


def _escaped(text: str) -> str:
    """Text as text, without the control characters that no page may hold."""
    from html import escape

    return escape("".join(letter for letter in text if letter.isprintable() or letter in "\n\t" or ord(letter) > 159))


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
        """A fragment for a notebook, without scripts: the first turns, and others folded; all text is escaped.

        Each turn finds its own direction, so that what runs from right to left turns nothing else round.
        """
        facts = [fact for fact in (self.system, self.case_id, self.language) if fact is not None]
        about = " · ".join(f"<bdi>{_escaped(fact)}</bdi>" for fact in (*facts, counted(len(self.turns), "turn")))
        more, beyond = len(self.turns) - SHOWN, len(self.turns) - SHOWN - FOLDED
        shown = [f"<p><strong><bdi>{_escaped(self.id)}</bdi></strong> {about}</p>", _paragraphs(self.turns[:SHOWN])]
        if more > 0:
            folded = _paragraphs(self.turns[SHOWN : SHOWN + FOLDED])
            if beyond > 0:
                folded += f"<p>{counted(beyond, 'turn')} after these: print the transcript to read all.</p>"
            shown.append(f"<details><summary>{counted(more, 'more turn')}</summary>{folded}</details>")
        return f'<div class="bedside-transcript">{"".join(shown)}</div>'

    def known(self, name: str) -> Any:
        """What is known outside the dialogue under a name: of the reference, else a factor; None where nothing is."""
        value = self.reference.get(name)
        return self.factors.get(name) if value is None else value

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
        import orjson

        return orjson.dumps(fields)

    def content_hash(self) -> str:
        """SHA-256 (hex) of :meth:`to_json`; equal for equal content wherever it was read from."""
        return hashlib.sha256(self.to_json()).hexdigest()


#: What a person is at risk of, and how soon help is due: none, low, high or imminent; factors, or in the reference.
RISK, RISK_GRADE = "risk", "risk_grade"
#: How simulated conversations end that the clinician failed, as their ``stop`` says, and what it did.
CLINICIAN_FAILURES: Mapping[str, str] = {
    "clinician empty": "it said nothing",
    "refused": "it refused to answer",
    "clinician failed": "it failed to answer",
    "no candidates": "it wrote no messages that could be read",
}


#: Where ``reference["simulation"]`` keeps what the suite of a protocol file rates such a conversation with.
FAILED_AS = "failed_as"


def clinician_failure(reference: Mapping[str, Any]) -> str:
    """How the clinician failed a simulated conversation, in words; empty where it didn't, or nobody knows.

    Args:
        reference: the transcript's.
    """
    simulation = reference.get("simulation")
    if not isinstance(simulation, Mapping):
        return ""
    said = simulation.get("failed")
    stop = simulation.get("stop")
    return said if isinstance(said, str) else CLINICIAN_FAILURES.get(stop, "") if isinstance(stop, str) else ""
