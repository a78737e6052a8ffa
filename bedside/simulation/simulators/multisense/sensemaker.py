"""The agents under test: the sensemaker's scaffold (facts, stage, message), and one that is asked plainly.

The model under test decides on the stage and writes three candidates; the evaluator extracts and matches facts and
labels what was said before in other words. Neither sees anything of the patient but its messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from bedside.core.errors import InputError
from bedside.metrics.protocols.medconceal.policy import content
from bedside.simulation.simulators.asking import (
    Decided,
    Spoken,
    ask_clinician,
    ask_for_data,
    choice_of,
    part_of,
    silent_stop,
    texts_of,
)
from bedside.simulation.simulators.calls import ActorRole, Exchange, Line
from bedside.simulation.simulators.contract import Draws
from bedside.simulation.simulators.faults import clinician_flags, clinician_watch
from bedside.simulation.simulators.ledger import Ledger
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
from bedside.simulation.simulators.prompt_files import FilledPrompt, listed, numbered, prompted

# -- An agent that is asked plainly ---------------------------------------------------------------------
# The patient needs a stage to answer by. The moderator is the evaluator; it is offered the last stage and those after
# it, so that none is gone back in.


class PlainAgent:
    """The agent in one conversation.

    Args:
        language: code of its language.
        observations: what is known from the start.
    """

    def __init__(self, language: str, observations: Sequence[str]) -> None:
        self.language = language
        self.observations: tuple[str, ...] = tuple(observations)
        self.stage: int = FOSTERING

    def brief(self) -> FilledPrompt:
        """What it is told."""
        slots: dict[str, Any] = {"observations": listed(self.observations), "most": MOST_MESSAGES}
        return prompt_text("clinician_free", self.language, **slots)

    def message(self, lines: Sequence[Line], number: int, state: dict[str, Any]) -> Exchange[StagedMessage]:
        """What it says next.

        Args:
            lines: what was said so far.
            number: of its message, from 1.
            state: where it is written down how the message came about, also where it can't be gone on with.

        Raises:
            UnusableConversationError: the moderator's reply can't be read.
        """
        material = {"number": number, "chart": "\n".join(self.observations)}
        call = prompted("clinician", "message", number, self.brief(), history=tuple(lines), material=material)
        spoken = yield from ask_clinician(call, clinician_watch(lines, self.language))
        state |= {"before": self.stage, "message": spoken.text, "refused": spoken.refused}
        if spoken.text:
            state["moderations_refused"] = yield from self._moderated(spoken.text, lines, number)
            state["stage"] = self.stage
        return StagedMessage(spoken, self.stage)

    def _moderated(self, message: str, lines: Sequence[Line], number: int) -> Exchange[tuple[tuple[str, str], ...]]:
        """Takes the message's stage from the moderator; what it replied before that couldn't be read."""
        offered = {NAMES[stage]: stage for stage in NAMES if stage >= self.stage}
        own = guides(self.language)
        filled = prompt_text(
            "moderation",
            self.language,
            stages=listed(f"{name}: {own.stage(stage).goal}" for name, stage in offered.items()),
            earlier="\n".join(f"{_SPEAKERS[line.role]}: {' '.join(line.text.split())}" for line in lines),
            message=message,
        )
        call = prompted(
            "evaluator",
            "moderation",
            number,
            filled,
            schema={**(filled.schema or {}), "properties": {"stage": {"type": "string", "enum": list(offered)}}},
            material={"stage": self.stage, "number": number, "message": message},
            sources=[guides_reference(self.language)],
        )
        decided = yield from ask_for_data(call, lambda value: offered[choice_of(value, "stage", offered)])
        self.stage = decided.value
        return decided.refused


_SPEAKERS = {"patient": "Person", "clinician": "Assistant"}


# -- The sensemaker's scaffold --------------------------------------------------------------------------

#: Messages that are written for one to be said.
CANDIDATES = 3
#: Rounds of writing for one message: a stage, the next one, and once more where information is provided.
ROUNDS = 3
#: Purposes of the calls by which the model under test is asked for objects.
OBJECTS = ("stage", "candidates")
#: A message of the sensemaker without the sentence that is fixed for its stage.
NO_SENTENCE = "fixed sentence missing"


class Sensemaker:
    """The scaffold in one conversation.

    Args:
        language: code of its language.
        observations: what is known from the start.
        draws: chance in this conversation.
        ledger: of the conversation: what can't be read, and stages that are cut short, are counted in it.
        risk_line: whether the stage in which information is provided asks for severity and risks, too.
    """

    def __init__(
        self,
        language: str,
        observations: Sequence[str],
        draws: Draws,
        ledger: Ledger,
        *,
        risk_line: bool = False,
    ) -> None:
        self.language = language
        self.observations: tuple[str, ...] = tuple(observations)
        self.draws = draws
        self.risk_line = risk_line
        self.at: StageState = StageState()
        self.facts: list[str] = []
        self.said: list[str] = []
        self.ledger = ledger
        self._rounds = 0

    def message(self, lines: Sequence[Line], number: int, state: dict[str, Any]) -> Exchange[StagedMessage]:
        """What it says to a message of the patient.

        Args:
            lines: what was said so far; the last is the patient's message.
            number: of the sensemaker's message, from 1.
            state: where it is written down how the message came about, also where it can't be gone on with.

        Raises:
            UnusableConversationError: the evaluator's reply can't be read.
            InputError: the clinician can't reply with objects at all.
        """
        heard = lines[-1].text
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
            self.said.append(text)
        return StagedMessage(Spoken(text, flags=flags), self.at.stage, stop)

    # -- what the patient said -------------------------------------------------------------------

    def _learned(self, heard: str, number: int) -> Exchange[dict[str, Any]]:
        """The facts of a message; those that weren't known are from now on."""
        extraction = yield from self._asked_evaluator("extraction", number, _facts, message=heard)
        stated = [text for text in extraction.value if not self._knows(text)]
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

    def _knows(self, text: str) -> bool:
        return text.casefold() in {fact.casefold() for fact in self.facts}

    # -- the stage ------------------------------------------------------------------------------

    def _decided(self, heard: str, number: int) -> Exchange[dict[str, Any]]:
        """Whether the next stage is entered; what can't be read is a decision to stay."""
        if not self.at.is_decided_on:
            self.at = self.at.decided(move=True)
            return {"decision": "always moves"}
        filled = prompt_text(
            "stage",
            self.language,
            **self._known(),
            current=NAMES[self.at.stage],
            following=NAMES[self.at.stage + 1],
            moves=guides(self.language).stage(self.at.stage).moves,
        )
        decided = yield from self._asked_clinician(
            "stage", number, heard, filled, _decision, neutral={"decision": "stay"}
        )
        if not decided.readable:
            if number == 1:
                _refuse_words(decided.refused)
            self.ledger.count_unreadable("stage")
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
            written = yield from self._written(heard, refused)
            state: dict[str, Any] = {"round": self._rounds, "stage": self.at.stage, "forced": False}
            state["candidates_refused"] = written.refused
            rounds.append(state)
            if not written.readable:
                self.ledger.count_unreadable("candidates")
                return "", silent_stop([written.silence]) if written.silence else "no candidates"
            reasoning, candidates = written.value
            state |= {"reasoning": reasoning, "candidates": list(candidates)}
            fresh = list(candidates)
            if self.at.stage != EXIT:
                labels = yield from self._labelled(candidates)
                state["redundant"] = list(labels)
                fresh = [text for text, redundant in zip(candidates, labels, strict=True) if not redundant]
            if fresh:
                return self.draws.stream("candidate", self._rounds).choice(fresh), ""
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

    def candidates_prompt(self, refused: Sequence[str]) -> FilledPrompt:
        """What is asked of the model under test for three messages of the present stage."""
        own = guides(self.language)
        guide = own.stage(self.at.stage)
        writing = [guide.writing]
        if self.at.stage == PROVIDING:
            if self.risk_line:
                writing.append(own.risk_line)
            writing.append(f'Each ends with this sentence, word for word: "{own.fixed_sentence}"')
        shown = f"\nThese were refused, as they serve what was said before:\n{listed(refused)}"
        return prompt_text(
            "candidates",
            self.language,
            **self._known(),
            stage=NAMES[self.at.stage],
            goal=guide.goal,
            writing=" ".join(writing),
            examples=listed(guide.examples),
            refused=shown if refused else "",
        )

    def _written(self, heard: str, refused: Sequence[str]) -> Exchange[Decided]:
        filled = self.candidates_prompt(refused)
        return (yield from self._asked_clinician("candidates", self._rounds, heard, filled, _candidates))

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

        return folded(guides(self.language).fixed_sentence) in folded(text)

    # -- asking ---------------------------------------------------------------------------------

    def _asked_evaluator(
        self, purpose: str, ordinal: int, read: Any, *, most: int | None = None, **slots: str
    ) -> Exchange[Decided]:
        filled = prompt_text(purpose, self.language, **slots)
        schema = dict(filled.schema or {})
        if most is not None:
            number = {"type": "integer", "minimum": 1, "maximum": most}
            schema["properties"] = {"known": {"type": "array", "maxItems": most, "items": number}}
        return (yield from self._asked("evaluator", purpose, ordinal, filled, read, schema=schema, material=slots))

    def _known(self) -> dict[str, str]:
        """What the model under test is told beside the patient's message."""
        return {
            "observations": listed(self.observations),
            "facts": listed(self.facts),
            "said": listed(self.said),
        }

    def _asked_clinician(
        self, purpose: str, ordinal: int, heard: str, filled: FilledPrompt, read: Any, *, neutral: Any = None
    ) -> Exchange[Decided]:
        material = {
            "stage": self.at.stage,
            "stays": self.at.stays,
            "facts": tuple(self.facts),
            "said": tuple(self.said),
        }
        more = {"history": (Line("patient", heard),), "kind": "data", "material": material}
        return (yield from self._asked("clinician", purpose, ordinal, filled, read, neutral=neutral, **more))

    def _asked(
        self,
        actor: ActorRole,
        purpose: str,
        ordinal: int,
        filled: FilledPrompt,
        read: Any,
        *,
        neutral: Any = None,
        **more: Any,
    ) -> Exchange[Decided]:
        call = prompted(actor, purpose, ordinal, filled, sources=[guides_reference(self.language)], **more)
        return (yield from ask_for_data(call, read, neutral=neutral))


def scaffold_brief(language: str, observations: Sequence[str]) -> str:
    """What the model under test is told for its first message, where the first stage is stayed in."""
    sensemaker = Sensemaker(language, observations, Draws(0, ""), Ledger())
    filled = sensemaker.candidates_prompt(())
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


def read_numbers(value: Any, key: str, most: int) -> tuple[int, ...]:
    """The numbers under a key of an object, each once; a ValueError where they are none from 1 to ``most``."""
    places = part_of(value, key)
    if not isinstance(places, list) or any(
        isinstance(place, bool) or not isinstance(place, int) or not 1 <= place <= most for place in places
    ):
        raise ValueError(f'"{key}" must be a list of numbers from 1 to {most}')
    return tuple(dict.fromkeys(places))


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
