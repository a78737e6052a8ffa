"""The agents under test: the sensemaker's scaffold (facts, stage, message), and one that is asked plainly.

The model under test decides on the stage and writes three candidates; the evaluator extracts and matches facts and
labels what was said before in other words. Neither sees anything of the patient but its messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from bedside.core.errors import InputError
from bedside.metrics.protocols.medconceal.policy import content
from bedside.simulation.simulators.asking import (
    ATTEMPTS,
    CLINICIAN_ATTEMPTS,
    Decided,
    Spoken,
    choice_of,
    part_of,
    silent_stop,
    texts_of,
)
from bedside.simulation.simulators.calls import ActorRole, Exchange, Line
from bedside.simulation.simulators.contract import Outcome, Situation
from bedside.simulation.simulators.faults import clinician_flags
from bedside.simulation.simulators.multisense.conversation import SensemakingTalk, read_numbers
from bedside.simulation.simulators.multisense.stages import (
    EXIT,
    FOSTERING,
    MOST_MESSAGES,
    NAMES,
    PROVIDING,
    StagedMessage,
    StageState,
    guides,
    guides_reference,
    prompt_text,
)
from bedside.simulation.simulators.prompt_files import FilledPrompt, listed, numbered

# -- An agent that is asked plainly ---------------------------------------------------------------------
# The patient needs a stage to answer by. The moderator is the evaluator; it is offered the last stage and those after
# it, so that none is gone back in.

_SPEAKERS = {"patient": "Person", "clinician": "Assistant"}


def plain_brief(language: str, observations: Sequence[str]) -> FilledPrompt:
    """What an agent that is asked plainly is told."""
    slots: dict[str, Any] = {"observations": listed(observations), "most": MOST_MESSAGES}
    return prompt_text("clinician_free", language, **slots)


class PlainTalk(SensemakingTalk):
    """A conversation with an agent that is asked for its next message only."""

    repeating_ends = True

    def __init__(self, situation: Situation) -> None:
        super().__init__(situation)
        self.stage: int = FOSTERING

    def message(self, number: int, state: dict[str, Any]) -> Exchange[StagedMessage]:
        """What it says next, and the stage that a moderator takes it for."""
        brief = plain_brief(self.language, self.observations)
        material = {"number": number, "chart": "\n".join(self.observations)}
        spoken = yield from self.ask_clinician(number, brief, material=material)
        state |= {"before": self.stage, "message": spoken.text, "refused": spoken.refused}
        if spoken.text:
            state["moderations_refused"] = yield from self._moderated(spoken.text, number)
            state["stage"] = self.stage
        return StagedMessage(spoken, self.stage)

    def _moderated(self, message: str, number: int) -> Exchange[tuple[tuple[str, str], ...]]:
        """Takes the message's stage from the moderator; what it replied before that couldn't be read."""
        offered = {NAMES[stage]: stage for stage in NAMES if stage >= self.stage}
        filled = self.prompt(
            "moderation",
            stages=listed(f"{name}: {self.guides.stage(stage).goal}" for name, stage in offered.items()),
            earlier="\n".join(f"{_SPEAKERS[line.role]}: {' '.join(line.text.split())}" for line in self.ledger.lines),
            message=message,
        )
        call = self.call(
            "evaluator",
            "moderation",
            number,
            filled,
            schema={**(filled.schema or {}), "properties": {"stage": {"type": "string", "enum": list(offered)}}},
            material={"stage": self.stage, "number": number, "message": message},
            sources=[guides_reference(self.language)],
        )
        decided = yield from self.decide(call, lambda value: offered[choice_of(value, "stage", offered)])
        self.stage = decided.value
        return decided.refused


# -- The sensemaker's scaffold --------------------------------------------------------------------------

#: Messages that are written for one to be said.
CANDIDATES = 3
#: Rounds of writing for one message: a stage, the next one, and once more where information is provided.
ROUNDS = 3
#: A message of the sensemaker without the sentence that is fixed for its stage.
NO_SENTENCE = "fixed sentence missing"


class ScaffoldedTalk(SensemakingTalk):
    """A conversation with a model that talks inside the scaffold.

    Attributes:
        at: where it is.
        facts: what the patient said so far.
    """

    def __init__(self, situation: Situation) -> None:
        super().__init__(situation)
        self.at: StageState = StageState()
        self.facts: list[str] = []
        self._rounds = 0

    @property
    def said(self) -> list[str]:
        """What the model said so far."""
        return self.ledger.texts("clinician")

    def message(self, number: int, state: dict[str, Any]) -> Exchange[StagedMessage]:
        """What it says to a message of the patient.

        Raises:
            UnusableConversationError: the evaluator's reply can't be read.
            InputError: the clinician can't reply with objects at all.
        """
        heard = self.ledger.lines[-1].text
        state |= {"before": self.at.stage, "stays": self.at.stays}
        state |= yield from self._learned(heard, number)
        state |= yield from self._decided(heard, number)
        rounds: list[dict[str, Any]] = []
        state |= {"decided": self.at.stage, "stage": self.at.stage, "rounds": rounds}
        text, stop = yield from self._chosen(heard, rounds)
        state |= {"stage": self.at.stage, "message": text}
        flags = clinician_flags(text, language=self.language, earlier=self.said) if text else ()
        if text:
            if rounds[-1]["forced"]:
                flags = (*flags, "forced")
            if self.at.stage == PROVIDING and not self._has_fixed_sentence(text):
                flags = (*flags, NO_SENTENCE)
        return StagedMessage(Spoken(text, flags=flags), self.at.stage, stop)

    # -- what the patient said -------------------------------------------------------------------

    def _learned(self, heard: str, number: int) -> Exchange[dict[str, Any]]:
        """The facts of a message; those that weren't known are from now on."""
        extraction = yield from self._asked_evaluator("extraction", number, _facts, message=heard)
        facts = {fact.casefold() for fact in self.facts}
        stated = [text for text in extraction.value if text.casefold() not in facts]
        refused = extraction.refused
        known: tuple[int, ...] = ()
        if stated and self.facts:
            matching = yield from self._asked_evaluator(
                "matching",
                number,
                lambda value: read_numbers(value, "known", len(stated)),
                most=len(stated),
                known=listed(self.facts),
                fresh=numbered(stated),
            )
            known = matching.value
            refused += matching.refused
        fresh = [text for place, text in enumerate(stated, 1) if place not in known]
        self.facts += fresh
        return {"extracted": list(extraction.value), "learned": fresh, "evaluations_refused": refused}

    # -- the stage ------------------------------------------------------------------------------

    def _decided(self, heard: str, number: int) -> Exchange[dict[str, Any]]:
        """Whether the next stage is entered; what can't be read is a decision to stay."""
        if not self.at.is_decided_on:
            self.at = self.at.decided(move=True)
            return {"decision": "always moves"}
        filled = self.prompt(
            "stage",
            **self._known(),
            current=NAMES[self.at.stage],
            following=NAMES[self.at.stage + 1],
            moves=self.guides.stage(self.at.stage).moves,
        )
        decided = yield from self._asked_clinician(
            "stage", number, heard, filled, _decision, neutral={"decision": "stay"}
        )
        if not decided.readable and number == 1:
            _refuse_words(decided.refused)
        capped = self.at
        self.at = self.at.decided(move=decided.value["decision"] == "move")
        return {
            **decided.value,
            "readable": decided.readable,
            "capped": decided.value["decision"] == "stay" and self.at.stage != capped.stage,
            "decisions_refused": decided.refused,
        }

    # -- the message ----------------------------------------------------------------------------

    def _chosen(self, heard: str, rounds: list[dict[str, Any]]) -> Exchange[tuple[str, str]]:
        """A message, and why there is none; the rounds that it takes are added to ``rounds``."""
        refused: tuple[str, ...] = ()
        while True:
            self._rounds += 1
            risk_line = bool(self.options["risk_line"])
            filled = candidates_prompt(self.language, self.at.stage, self._known(), refused, risk_line=risk_line)
            written = yield from self._asked_clinician("candidates", self._rounds, heard, filled, _candidates)
            state: dict[str, Any] = {"round": self._rounds, "stage": self.at.stage, "forced": False}
            state["candidates_refused"] = written.refused
            rounds.append(state)
            if not written.readable:
                return "", silent_stop([written.silence]) if written.silence else "no candidates"
            reasoning, candidates = written.value
            state |= {"reasoning": reasoning, "candidates": list(candidates)}
            fresh = list(candidates)
            if self.at.stage != EXIT:
                labels = yield from self._labelled(candidates)
                state["redundant"] = list(labels)
                fresh = [text for text, redundant in zip(candidates, labels, strict=True) if not redundant]
            if fresh:
                return self.situation.draws.stream("candidate", self._rounds).choice(fresh), ""
            bumped = self.at.stage != rounds[0]["stage"]
            if self.at.stage == PROVIDING and not refused:
                refused = candidates
            elif self.at.is_decided_on and not bumped:
                self.at = self.at.moved()
                state["bumped"] = True
                self.ledger.flags["stages cut short by redundancy"] += 1
            else:
                state["forced"] = True
                return least_like(candidates, self.said), ""

    def _labelled(self, candidates: Sequence[str]) -> Exchange[tuple[bool, ...]]:
        """Whether each candidate serves what was said before."""
        if not self.said and not self.observations:
            return (False,) * CANDIDATES
        labelled = yield from self._asked_evaluator(
            "redundancy",
            self._rounds,
            _labels,
            observations=listed(self.observations),
            said=listed(self.said),
            candidates=numbered(candidates),
        )
        labels: tuple[bool, ...] = labelled.value
        return labels

    def _has_fixed_sentence(self, text: str) -> bool:
        def folded(words: str) -> str:
            return " ".join(words.casefold().replace("’", "'").split())

        return folded(self.guides.fixed_sentence) in folded(text)

    # -- asking ---------------------------------------------------------------------------------

    def _asked_evaluator(
        self, purpose: str, ordinal: int, read: Any, *, most: int | None = None, **slots: str
    ) -> Exchange[Decided]:
        filled = self.prompt(purpose, **slots)
        schema = dict(filled.schema or {})
        if most is not None:
            number = {"type": "integer", "minimum": 1, "maximum": most}
            schema["properties"] = {"known": {"type": "array", "maxItems": most, "items": number}}
        sources = [guides_reference(self.language)]
        call = self.call("evaluator", purpose, ordinal, filled, schema=schema, material=slots, sources=sources)
        return (yield from self.decide(call, read))

    def _known(self) -> dict[str, str]:
        """What the model under test is told beside the patient's message."""
        return {"observations": listed(self.observations), "facts": listed(self.facts), "said": listed(self.said)}

    def _asked_clinician(
        self, purpose: str, ordinal: int, heard: str, filled: FilledPrompt, read: Any, *, neutral: Any = None
    ) -> Exchange[Decided]:
        call = self.call(
            "clinician",
            purpose,
            ordinal,
            filled,
            history=(Line("patient", heard),),
            material={
                "stage": self.at.stage,
                "stays": self.at.stays,
                "facts": tuple(self.facts),
                "said": tuple(self.said),
            },
            sources=[guides_reference(self.language)],
        )
        return (yield from self.decide(call, read, neutral=neutral))


def candidates_prompt(
    language: str, stage: int, known: Mapping[str, str], refused: Sequence[str], *, risk_line: bool = False
) -> FilledPrompt:
    """What is asked of the model under test for three messages.

    Args:
        language: code of the conversation's language.
        stage: the messages', from 1.
        known: observations, facts and what was said, as the prompt shows them.
        refused: messages that serve what was said before.
        risk_line: whether the stage in which information is provided asks for severity and risks, too.
    """
    own = guides(language)
    guide = own.stage(stage)
    writing = [guide.writing]
    if stage == PROVIDING:
        if risk_line:
            writing.append(own.risk_line)
        writing.append(f'Each ends with this sentence, word for word: "{own.fixed_sentence}"')
    shown = f"\nThese were refused, as they serve what was said before:\n{listed(refused)}"
    return prompt_text(
        "candidates",
        language,
        **known,
        stage=NAMES[stage],
        goal=guide.goal,
        writing=" ".join(writing),
        examples=listed(guide.examples),
        refused=shown if refused else "",
    )


def scaffold_brief(language: str, observations: Sequence[str]) -> str:
    """What the model under test is told for its first message, where the first stage is stayed in."""
    known = {"observations": listed(observations), "facts": listed(()), "said": listed(())}
    filled = candidates_prompt(language, FOSTERING, known, ())
    return f"{filled.brief.strip()}\n\n{filled.instruction.strip()}"


def least_like(candidates: Sequence[str], said: Sequence[str]) -> str:
    """The candidate with the smallest share of its words in common with any message that was said; the first of several
    that are alike."""
    spoken = [content(text) for text in said]

    def likeness(text: str) -> float:
        words = content(text)
        return max((len(words & own) / len(words | own) for own in spoken if words | own), default=0.0)

    return min(candidates, key=likeness)


def _refuse_words(refused: Sequence[tuple[str, str]]) -> None:
    """Stop where the first that was asked for as an object came as a message each time.

    Raises:
        InputError: all replies were objects with nothing but a message, which is how agents give words.
    """
    for text, _ in refused:
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return
        if not isinstance(value, dict) or set(value) != {"message"}:
            return
    raise InputError(
        "the clinician replies with messages where the scaffold asks it for objects",
        where="`clinician`",
        todo="choose `settings` free, in which it is asked for messages only; or let it reply with objects, and "
        "simulate into another folder",
    )


def _facts(value: Any) -> tuple[str, ...]:
    own: dict[str, str] = {}
    for text in texts_of(value, "facts", "sentences", blank=True):
        plain = " ".join(text.split())
        if plain:
            own.setdefault(plain.casefold(), plain)
    return tuple(own.values())


def _decision(value: Any) -> dict[str, Any]:
    decision = part_of(value, "decision")
    if decision not in ("move", "stay"):
        raise ValueError('"decision" must be move or stay')
    confidence = value.get("confidence")
    return {
        "decision": decision,
        "confidence": confidence if isinstance(confidence, int) else None,
        "reasoning": str(value.get("reasoning") or ""),
    }


def _candidates(value: Any) -> tuple[str, tuple[str, ...]]:
    texts = part_of(value, "candidates")
    if (
        not isinstance(texts, list)
        or len(texts) != CANDIDATES
        or not all(isinstance(text, str) and text.strip() for text in texts)
    ):
        raise ValueError(f'"candidates" must be a list of {CANDIDATES} messages')
    return str(value.get("reasoning") or ""), tuple(text.strip() for text in texts)


def _labels(value: Any) -> tuple[bool, ...]:
    labels = [part_of(value, str(number)) for number in range(1, 4)]
    if any(label not in ("redundant", "not redundant") for label in labels):
        raise ValueError('each number must have the label "redundant" or "not redundant"')
    return tuple(label == "redundant" for label in labels)


# -- The settings ---------------------------------------------------------------------------------------

SCAFFOLD, FREE = "scaffold", "free"
#: Calls of the preparation, and of the patient's for each answer; of the evaluator's for each message, without rounds.
_PREPARATIONS, _ANSWERING, _LEARNING = 3, 2, 2


def converse(situation: Situation) -> Exchange[Outcome]:
    """The controller; see :mod:`bedside.simulation.simulators.calls`."""
    talk = PlainTalk if situation.setting == FREE else ScaffoldedTalk
    return (yield from talk.converse(situation))


def most_calls(situation: Situation) -> Mapping[ActorRole, int]:
    """The most calls that a conversation can take, by role, attempts included."""
    patient = (_PREPARATIONS + 1 + _ANSWERING * (MOST_MESSAGES - 1)) * ATTEMPTS
    if situation.setting == FREE:
        return {
            "clinician": MOST_MESSAGES * CLINICIAN_ATTEMPTS,
            "patient": patient,
            "evaluator": MOST_MESSAGES * ATTEMPTS,
        }
    return {
        "clinician": MOST_MESSAGES * (1 + ROUNDS) * ATTEMPTS,
        "patient": patient,
        "evaluator": MOST_MESSAGES * (_LEARNING + ROUNDS) * ATTEMPTS,
    }
