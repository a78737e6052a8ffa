"""Who CALM-IT's client is, under ``extra`` as ``calm-it``; the labels of states; what each side has for itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, ValidationError

from bedside.core.files import file_digest
from bedside.core.model_errors import complaints, key_name
from bedside.core.yaml_files import keys_and_values
from bedside.metrics.protocols.label_files import Strict, Text
from bedside.simulation.simulators.calls import Line
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.prompt_files import HASH_DIGITS

# -- The closed sets of labels of states ----------------------------------------------------------------

_FILE = Path(__file__).parent / "labels.yaml"

#: Appraisals from the worst to the best: 1 to 5, where a prompt wants a number.
APPRAISALS: tuple[str, ...] = ("VERY BAD", "BAD", "NEUTRAL", "GOOD", "VERY GOOD")
NEUTRAL = "NEUTRAL"
#: After these a client may step back.
UNHELPFUL = frozenset(APPRAISALS[:2])
#: What a therapist's picture of the client can have entries under; bedside's spelling of the published 18.
BACKGROUND_KEYS: tuple[str, ...] = (
    "hobbies", "interests", "preferences", "dislikes", "family", "relationships", "living_situation", "occupation",
    "education", "routines", "languages", "cultural_background", "pets", "location", "communication_style",
    "media_diet", "goals", "therapy_preferences",
)  # fmt: skip


@cache
def labels(kind: str) -> Mapping[str, str]:
    """The labels of a kind in their order, each with what it means.

    Args:
        kind: ``stages``, ``emotions``, ``appraisals``, ``processes``, ``strategies``, ``pivots`` or ``actions``.
    """
    sets = keys_and_values(_FILE, "file of labels", "the docs on simulating CALM-IT")
    return MappingProxyType({str(name): str(meaning) for name, meaning in sets[kind].items()})


@cache
def labels_reference() -> str:
    """``labels@`` and the first digits of the file's SHA-256."""
    return f"labels@{file_digest(_FILE)[:HASH_DIGITS]}"


def listed(kind: str, allowed: Iterable[str]) -> str:
    """The labels that can be chosen, a line each with what they mean, in the order of the file."""
    chosen = set(allowed)
    return "\n".join(f"- {name}: {meaning}" for name, meaning in labels(kind).items() if name in chosen)


# -- What a case holds for CALM-IT, under ``extra`` as ``calm-it``: who the client is -------------------

#: The protocol's name, under which its fields stand.
PROTOCOL = "calm-it"
#: Answers of the DASS-42, and of the ten items on personality.
DASS_ITEMS, TIPI_ITEMS = 42, 10

Topic = Literal["substance addiction", "behavioural addiction", "health behaviour", "mental wellbeing", "relationships"]
Stage = Literal["precontemplation", "contemplation", "preparation", "action", "maintenance", "termination"]


class ClientProfile(Strict):
    """Eleven facts of the client: no story."""

    name: Text
    age: Annotated[int, Field(ge=0, le=120, strict=True)]
    gender: Text
    ethnicity: Text
    occupation: Text
    relationship_status: Text
    living_situation: Text
    education: Text
    religion: Text
    socioeconomic_status: Text
    reason_for_attending: Text = Field(description="In the client's words.")

    def demographics(self) -> dict[str, Any]:
        """All but the reason: what the therapist is told."""
        return self.model_dump(exclude={"reason_for_attending"})


class ClientBackground(Strict):
    """Eleven sections of plain facts; a section without facts is left out."""

    hobbies_and_interests: tuple[Text, ...] = ()
    preferences_and_dislikes: tuple[Text, ...] = ()
    family: tuple[Text, ...] = ()
    relationships: tuple[Text, ...] = ()
    living_situation: tuple[Text, ...] = ()
    occupation: tuple[Text, ...] = ()
    education: tuple[Text, ...] = ()
    languages: tuple[Text, ...] = ()
    cultural_background: tuple[Text, ...] = ()
    pets: tuple[Text, ...] = ()
    location: tuple[Text, ...] = ()

    def facts(self) -> tuple[str, ...]:
        """All facts, in the sections' order."""
        return tuple(fact for section in self.model_dump().values() for fact in section)


class InitialState(Strict):
    """How the client begins.

    Attributes:
        stage: the stage of change.
        rapport: how close client and therapist are, from -1 to 1.
    """

    stage: Stage = "contemplation"
    emotion: str | None = Field(default=None, description="One of the ten; asked for where it is left out.")
    rapport: float = Field(default=0.0, ge=-1, le=1)
    goal: str = Field(default="", description="The first short-term goal; the session goal where empty.")


class RespondentMatch(Strict):
    """The respondent of a survey that a case was matched to.

    Attributes:
        file: the name of the survey's file.
        sha256: of the file.
        kappa: agreement of the answers.
        weights: of kappa.
        demographics: what the survey says of the respondent.
        answers: the respondent's 42 answers.
        tipi: the respondent's answers on personality.
    """

    file: str
    sha256: str
    respondent: int = Field(ge=1, description="Row in the file, from 1.")
    kappa: float
    weights: Literal["quadratic"] = "quadratic"
    demographics: Mapping[str, str | int] = {}
    answers: tuple[Annotated[int, Field(ge=1, le=4)], ...] = ()
    tipi: tuple[int, ...] = ()


class DassAnswers(Strict):
    """Answers to the DASS-42, from 1 (did not apply) to 4 (applied very much).

    Attributes:
        answers: the 42 answers, in the order of the questionnaire.
        tipi: the ten answers on personality, from 1 to 7.
        match: whom the case was matched to.
    """

    answers: tuple[Annotated[int, Field(ge=1, le=4, strict=True)], ...] = Field(
        min_length=DASS_ITEMS, max_length=DASS_ITEMS
    )
    tipi: tuple[Annotated[int, Field(ge=1, le=7, strict=True)], ...] = Field(default=(), max_length=TIPI_ITEMS)
    provenance: str = Field(default="", description="Who answered, e.g. a model for an invented person.")
    match: RespondentMatch | None = None


class ClientSketch(Strict):
    """The protocol's own fields of a case of which background and goal may still be missing.

    Attributes:
        profile: eleven facts of the client.
        background: plain facts by section.
        topic: what the sessions are about.
        initial: how the client begins.
        dass: answers to the DASS-42.
    """

    profile: ClientProfile
    background: ClientBackground = ClientBackground()
    cognitive_model: Mapping[str, Any] = Field(
        default={}, description="Beliefs, coping, biases, trust, sensitivity to directive language: any keys."
    )
    session_goal: str = Field(default="", description="One sentence in the client's words.")
    topic: Topic
    initial: InitialState = InitialState()
    dass: DassAnswers | None = None


class CalmItFields(ClientSketch):
    """The protocol's own fields of a case."""

    session_goal: Text = Field(description="One sentence in the client's words.")

    def background_text(self) -> str:
        """Profile and background as one text, for raters."""
        profile = self.profile.model_dump()
        lines = [f"{name.replace('_', ' ').capitalize()}: {value}." for name, value in profile.items()]
        return " ".join((*lines, *self.background.facts())).replace("..", ".")


def fields_of(case: Case) -> CalmItFields:
    """A case's fields; the case was checked before.

    Raises:
        pydantic.ValidationError: they are wrong after all.
    """
    # As JSON, in which a case keeps them: lists there are the tuples of the fields.
    return CalmItFields.model_validate_json(orjson.dumps(dict(case.extra[PROTOCOL])))


def sketch_of(case: Case) -> ClientSketch:
    """A case's fields, of which background and goal may be missing; the case was checked before.

    Raises:
        pydantic.ValidationError: they are wrong after all.
    """
    return ClientSketch.model_validate_json(orjson.dumps(dict(case.extra[PROTOCOL])))


def problems(case: Case, form: type[ClientSketch] = CalmItFields) -> Iterator[str]:
    """What a case lacks or has wrong for this protocol, a sentence each.

    Args:
        case: the case.
        form: :class:`ClientSketch` where background and goal may be missing.
    """
    if PROTOCOL not in case.extra:
        yield f"It has nothing under `extra`, `{PROTOCOL}`: profile, topic and session_goal at least."
        return
    try:
        fields = form.model_validate_json(orjson.dumps(dict(case.extra[PROTOCOL])))
    except ValidationError as error:
        for path, text in complaints(error, form):
            yield f"Under `extra`, `{PROTOCOL}`: {key_name(path) or 'the whole'}: {text}."
        return
    emotion = fields.initial.emotion
    if emotion is not None and emotion not in labels("emotions"):
        yield f"`initial.emotion` can't be {emotion!r}: it is one of {'; '.join(labels('emotions'))}."


def client_facts(case: Case) -> tuple[str, ...]:
    """What is true of the client and may be told by them."""
    fields = fields_of(case)
    profile = fields.profile.model_dump()
    return (
        *(f"{name.replace('_', ' ').capitalize()}: {value}" for name, value in profile.items()),
        *fields.background.facts(),
        fields.session_goal,
    )


# -- What each side has for itself ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionMoment:
    """Where a session stands when a side is about to speak.

    Attributes:
        number: of the side's turn, from 1.
        index: of its message.
        lines: what was said.
        summary: of it.
        closing: whether the message is one of those that are kept for closing.
    """

    number: int
    index: int
    lines: tuple[Line, ...]
    summary: str
    closing: bool


@dataclass(frozen=True, slots=True)
class Feeling:
    """An emotion.

    Attributes:
        primary: the strongest.
        secondary: at most two others.
        intensity: low, medium, high, or empty where nothing is said of it.
    """

    primary: str
    secondary: tuple[str, ...] = ()
    intensity: str = ""

    def content(self) -> dict[str, Any]:
        """As plain values."""
        return {"primary": self.primary, "secondary": list(self.secondary), "intensity": self.intensity}


@dataclass(frozen=True, slots=True)
class ClientColumn:
    """How the client is.

    Attributes:
        stage: of change.
        feeling: None before it is known.
        rapport: from -1 to 1.
        goal: what they want right now, in their own words.
        appraisal: how the therapist's last message was for them.
        reason: why, in their own words; empty where nobody was asked.
        actions: what they did in their messages so far, in order.
    """

    stage: str
    feeling: Feeling | None
    rapport: float
    goal: str
    appraisal: str = NEUTRAL
    reason: str = ""
    actions: tuple[str, ...] = ()

    def content(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "stage": self.stage,
            "emotion": {} if self.feeling is None else self.feeling.content(),
            "rapport": self.rapport,
            "goal": self.goal,
            "appraisal": self.appraisal,
            "appraisal_reason": self.reason,
            "previous_action": self.actions[-1] if self.actions else "",
        }


@dataclass(frozen=True, slots=True)
class TherapistColumn:
    """What the therapist takes the client to be like, inferred from what was said.

    Attributes:
        background: entries by key; they only grow.
        feeling, stage: None before anything was inferred.
        goals: what the client may want, tentatively, in the third person.
        rapport: from -1 to 1.
        process: of motivational interviewing.
        strategies: those of the therapist's messages so far, in order.
        ranking: the strategies that were last chosen, best first.
    """

    background: tuple[tuple[str, tuple[str, ...]], ...] = ()
    feeling: Feeling | None = None
    stage: str = ""
    goals: tuple[str, ...] = ()
    rapport: float = 0.0
    process: str = "engaging"
    strategies: tuple[str, ...] = ()
    ranking: tuple[str, ...] = ()

    def content(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "background": {key: "; ".join(values) for key, values in self.background},
            "emotion": {} if self.feeling is None else self.feeling.content(),
            "stage": self.stage,
            "goals": list(self.goals),
            "rapport": self.rapport,
            "process": self.process,
        }


def grown(
    background: tuple[tuple[str, tuple[str, ...]], ...], updates: tuple[tuple[str, tuple[str, ...]], ...]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """A picture of the client with what is new added; nothing is ever taken away."""
    entries = dict(background)
    for key, values in updates:
        before = entries.get(key, ())
        known = {value.casefold() for value in before}
        new = []
        for value in values:
            if value.casefold() not in known:
                known.add(value.casefold())
                new.append(value)
        if new:
            entries[key] = (*before, *new)
    return tuple(entries.items())
