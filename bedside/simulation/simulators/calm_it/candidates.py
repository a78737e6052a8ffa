"""Candidates for a message: asked for side by side, checked, ranked, the best one taken.

Three calls for three candidates, and no list of three in one reply: any actor that talks can give them, each is a draw
of its own from the same prompt, and no system gains by being good at lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bedside.simulation.simulators.asking import (
    ATTEMPTS,
    CLINICIAN_ATTEMPTS,
    Fault,
    Spoken,
    ask_for_data,
    part_of,
    words_and_fields,
)
from bedside.simulation.simulators.calls import Call, Exchange, Line
from bedside.simulation.simulators.calm_it.state_calls import Side, prompt_text, similarity
from bedside.simulation.simulators.contract import UnusableConversationError
from bedside.simulation.simulators.prompt_files import numbered, prompted

#: What CALM-IT calls the sides.
SPEAKERS: Mapping[Side, str] = {"clinician": "therapist", "patient": "client"}


@dataclass(frozen=True, slots=True)
class MessageCandidate:
    """One candidate.

    Attributes:
        text: its words.
        place: its number among those that were asked for, from 0.
        ends: whether its speaker leaves with it.
        thought: what its model thought aloud.
        flags: reasons of the faults that it has.
    """

    text: str
    place: int
    ends: bool = False
    thought: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedChoice:
    """The candidate that was taken.

    Attributes:
        candidate: it.
        candidates: those that were ranked, in their order.
        scores: theirs; empty where nobody was asked to rank.
        refused: what was replied and not taken, with the reasons.
        bland: whether, of several, it is the one most similar to what its speaker said before.
    """

    candidate: MessageCandidate
    candidates: tuple[MessageCandidate, ...]
    scores: tuple[float, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    bland: bool = False

    def spoken(self) -> Spoken:
        """The candidate as a message."""
        taken = self.candidate
        return Spoken(taken.text, taken.thought, flags=taken.flags, refused=self.refused)

    def note(self) -> dict[str, Any]:
        """As the states keep it: winner, losers, scores."""
        return {
            "chosen": self.candidate.place,
            "candidates": [
                {"place": candidate.place, "text": candidate.text, "flags": list(candidate.flags)}
                for candidate in self.candidates
            ],
            "scores": list(self.scores),
            "refused": self.refused,
        }


def patient_candidates(
    calls: Sequence[Call], check: Callable[[str], Fault | None]
) -> Exchange[tuple[list[MessageCandidate], list[tuple[str, str]]]]:
    """The patient's candidates that can be used, and what can't; asked for three times in all until there is one.

    Raises:
        UnusableConversationError: none can, and none has a fault that is kept.
    """
    asked, refused = tuple(calls), []
    while True:
        replies = yield asked
        good: list[MessageCandidate] = []
        kept: list[MessageCandidate] = []
        faults: list[Fault] = []
        for place, (call, reply) in enumerate(zip(asked, replies, strict=True)):
            thought, text, fields, fault = words_and_fields(reply, call)
            fault = fault or check(text)
            fault = fault and fault.of(reply)
            candidate = MessageCandidate(
                text, place, ends_with(fields), thought, () if fault is None else (fault.reason,)
            )
            if fault is None:
                good.append(candidate)
                continue
            faults.append(fault)
            refused.append((text, fault.reason))
            if fault.kept and text:
                kept.append(candidate)
        if good:
            return good, refused
        if asked[0].attempt == ATTEMPTS:
            break
        asked = tuple(call.again(fault.objection) for call, fault in zip(asked, faults, strict=True))
    if kept:
        return kept, [each for each in refused if each[0] not in {one.text for one in kept}]
    first = faults[0].reason
    raise UnusableConversationError(
        "patient", first, f"{calls[0].purpose} {calls[0].ordinal}: no candidate can be used, {ATTEMPTS} times"
    )


def clinician_candidates(
    calls: Sequence[Call], watch: Callable[[str], tuple[str, ...]]
) -> Exchange[tuple[list[MessageCandidate], list[tuple[str, str]]]]:
    """The clinician's candidates, those without faults before all others; none where nothing was said, twice.

    Faults other than empty and cut-off messages are results: where every candidate has one, they are taken as they are.
    """
    asked, refused = tuple(calls), []
    while True:
        replies = yield asked
        whole: list[MessageCandidate] = []
        cut: list[MessageCandidate] = []
        for place, (call, reply) in enumerate(zip(asked, replies, strict=True)):
            thought, text, fields, fault = words_and_fields(reply, call)
            flags = watch(text) if text else ()
            if fault is None:
                whole.append(MessageCandidate(text, place, ends_with(fields), thought, flags))
                continue
            refused.append((text, fault.reason))
            if text and not reply.declined:
                cut.append(MessageCandidate(text, place, ends_with(fields), thought, (fault.reason, *flags)))
        clean = [candidate for candidate in whole if not candidate.flags]
        if clean:
            refused += [(each.text, each.flags[0]) for each in whole if each.flags]
        if whole:
            return clean or whole, refused
        if asked[0].attempt == CLINICIAN_ATTEMPTS:
            return cut, refused
        asked = tuple(call.again("Your last reply was empty or cut off. Write a shorter message.") for call in asked)


def ends_with(fields: Mapping[str, Any] | None) -> bool:
    """Whether a speaker leaves with a message that has such fields beside its words."""
    return fields is not None and fields.get("end") is True


@dataclass(frozen=True, slots=True)
class Ranking:
    """How candidates are ranked.

    Attributes:
        wanted: whether they are; else the first is taken.
        rank: whether a likelihood is a mean by token, or a sum.
        messages: how many messages before them they are weighed after.
        language: of the conversation.
    """

    wanted: bool
    rank: str
    messages: int
    language: str

    def best(
        self,
        side: Side,
        number: int,
        lines: Sequence[Line],
        candidates: Sequence[MessageCandidate],
        refused: Sequence[tuple[str, str]] = (),
    ) -> Exchange[RankedChoice]:
        """The candidate with the highest score; of equal ones the first. Equal texts are one candidate.

        Args:
            side: whose candidates they are.
            number: of the side's turn, from 1.
            lines: what was said before.
            candidates: one at least.
            refused: what can't be used.
        """
        by_text: dict[str, MessageCandidate] = {}
        for candidate in candidates:
            by_text.setdefault(candidate.text, candidate)
        several = tuple(by_text.values())
        if len(several) == 1 or not self.wanted:
            return RankedChoice(several[0], several, refused=tuple(refused))
        scores = yield from self._scores(side, number, lines, several)
        winner = max(range(len(several)), key=lambda place: (scores[place], -place))
        own = [line.text for line in lines if line.role == side]
        alike = [max((similarity(each.text, text) for text in own), default=0.0) for each in several]
        bland = alike[winner] > max(value for place, value in enumerate(alike) if place != winner)
        return RankedChoice(several[winner], several, scores, tuple(refused), bland)

    def _scores(
        self, side: Side, number: int, lines: Sequence[Line], candidates: Sequence[MessageCandidate]
    ) -> Exchange[tuple[float, ...]]:
        speaker = SPEAKERS[side]
        texts = [candidate.text for candidate in candidates]
        prompt = prompt_text("ranking", self.language, speaker=speaker, candidates=numbered(texts))
        size = len(candidates)
        schema: dict[str, Any] = dict(prompt.schema or {})
        properties = schema["properties"]
        schema["properties"] = {"scores": {**properties["scores"], "minItems": size, "maxItems": size}}

        def read(value: Any) -> tuple[float, ...]:
            scores = part_of(value, "scores")
            if not isinstance(scores, list) or len(scores) != size:
                raise ValueError(f'"scores" must be a list of {size} numbers')
            if not all(type(score) in (int, float) and abs(score) < float("inf") for score in scores):
                raise ValueError('"scores" must hold numbers only')
            return tuple(map(float, scores))

        call = prompted(
            "ranker",
            f"{speaker} ranking",
            number,
            prompt,
            history=tuple(lines[-self.messages :]),
            schema=schema,
            material={"candidates": texts, "speaker": side, "rank": self.rank},
        )
        decided = yield from ask_for_data(call, read)
        scores: tuple[float, ...] = decided.value
        return scores
