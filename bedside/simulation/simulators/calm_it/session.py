"""The session: therapist and client in turn, each after the calls about its own side, up to the target length.

The therapist's calls hold the public talk, the client's data without the reason for coming, and what it takes the
client to be like. The client's hold the public talk, its life and way of thinking, and how it is. Neither side's state
is in a call of the other's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bedside.core.errors import InputError
from bedside.simulation.simulators.asking import (
    ATTEMPTS,
    CLINICIAN_ATTEMPTS,
    Fault,
    Spoken,
    ask_for_data,
    part_of,
    words_and_fields,
)
from bedside.simulation.simulators.calls import ActorRole, Call, Exchange, Line
from bedside.simulation.simulators.calm_it.client_fields import (
    APPRAISALS,
    NEUTRAL,
    CalmItFields,
    ClientColumn,
    Feeling,
    SessionMoment,
    TherapistColumn,
    fields_of,
    grown,
    labels,
    listed,
)
from bedside.simulation.simulators.calm_it.state_calls import (
    END_FROM,
    FOLDER,
    MOST_WORDS,
    STRATEGIES_SHOWN,
    Side,
    SideCalls,
    TurnLength,
    allowed_actions,
    allowed_processes,
    allowed_stages,
    allowed_strategies,
    as_json,
    closing_from,
    drawn_length,
    goes_in_circles,
    last_messages,
    plan_from,
    prompt_text,
    read_appraisal,
    read_goals,
    read_repetition,
    read_updates,
    session_length,
    similarity,
    strategies_reader,
)
from bedside.simulation.simulators.contract import Outcome, Situation, UnusableConversationError
from bedside.simulation.simulators.faults import clinician_watch, patient_fault
from bedside.simulation.simulators.ledger import ProtocolTalk
from bedside.simulation.simulators.prompt_files import FilledPrompt, numbered, prompt_call

# -- Candidates for a message ---------------------------------------------------------------------------

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

        call = prompt_call(
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


# -- What is the same in every session ------------------------------------------------------------------

#: Message 0 and message T - 2, which the protocol says for the therapist.
GREETING = "Hello, good to have you here. What brings you in today?"
FAREWELL = (
    "Our time is up for today. Thank you for talking so openly with me. Is there anything that you would like to say "
    "before we stop?"
)

_OPEN = "There is time: nothing needs to be settled now."
_EARLY = "You hardly know each other yet: go gently."
_CLOSING = {
    "clinician": "The session is in its last messages: begin nothing new, gather, and bring it to a good end.",
    "patient": "The session is in its last messages: begin nothing new.",
}
_LAST = "The therapist has said goodbye: this is your last line."


def phase(side: str, index: int, *, closing: bool, last: bool = False) -> str:
    """What a side is told of the time.

    Args:
        side: ``clinician`` or ``patient``.
        index: of the message.
        closing: whether it is one of those that are kept for closing.
        last: whether it is the last.
    """
    if last:
        return _LAST
    if closing:
        return _CLOSING[side]
    return _EARLY if index < EARLY else _OPEN


def counter(index: int, length: int) -> str:
    """Which message of how many one is."""
    return f"{index + 1} of {length}"


#: Messages that count as early.
EARLY = 6


def scaffold_brief(fields: CalmItFields, language: str) -> FilledPrompt:
    """What a clinician is told at the start whose messages are scaffolded."""
    rest = dict.fromkeys(("state", "counter", "words", "phase"), "")
    return prompt_text("therapist_message", language, **_told(fields), **rest)


def free_brief(fields: CalmItFields, language: str) -> FilledPrompt:
    """What a clinician is told at the start that talks as it likes."""
    return prompt_text("therapist_free", language, **_told(fields))


def _told(fields: CalmItFields) -> dict[str, str]:
    return {"profile": as_json(fields.profile.demographics()), "topic": fields.topic}


# -- The session ----------------------------------------------------------------------------------------

#: The setting in which the clinician's messages are made as the protocol makes them; the other is a clinician's own.
SCAFFOLD, FREE = "scaffold", "free"
#: Candidates for a message.
CANDIDATES = 3
#: How often the client appraises a message at all.
APPRAISED = 0.5
#: Calls about a side before its message, at most: summary, state, then strategies or action.
_THERAPIST_CALLS, _CLIENT_CALLS = 9, 7


@dataclass(frozen=True, slots=True)
class TherapistPlan:
    """What the therapist means to do with a message.

    Attributes:
        strategies: the strategy of each candidate.
        pivot: how it changes course; empty where it doesn't.
    """

    strategies: tuple[str, ...]
    pivot: str = ""


class CalmItSession(ProtocolTalk):
    """One session while it is held.

    Attributes:
        client: how the client is.
        therapist: what the therapist takes the client to be like.
    """

    folder = FOLDER

    def __init__(self, situation: Situation) -> None:
        super().__init__(situation)
        options = self.options
        self.length = session_length(situation.length)
        self.free = situation.setting == FREE
        self.fields = fields_of(self.case)
        dynamics = bool(options["dynamics"])
        self.repetition = str(options["repetition"]) if dynamics else "off"
        #: Whether the therapist keeps a picture of the client, and the client changes as it is talked to.
        self.infers = dynamics and bool(options["therapist_state"])
        self.has_state = dynamics and bool(options["client_state"])
        self.candidates = CANDIDATES if options["ranking"] else 1
        self.ranking = Ranking(bool(options["ranking"]), str(options["rank"]), _ranked_after(situation), self.language)
        self.therapist = TherapistColumn()
        start = self.fields.initial
        self.client = ClientColumn(
            start.stage,
            None if start.emotion is None else Feeling(start.emotion),
            start.rapport,
            start.goal or self.fields.session_goal,
        )
        self.about_therapist = SideCalls("therapist", self.language, self.ledger)
        self.about_client = SideCalls("client", self.language, self.ledger)
        self.summary = ""
        #: Messages of each side whose candidates were ranked, and those that the most repetitive candidate won.
        self.ranked: dict[str, Counter[str]] = {"clinician": Counter(), "patient": Counter()}

    def course(self) -> Exchange[str]:
        """Greeting, messages and farewell; why it ended."""
        self._say("clinician", Spoken(GREETING), {"fixed": "greeting"})
        for index in range(1, self.length):
            if index == self.length - 2:
                self._say("clinician", Spoken(FAREWELL), {"fixed": "farewell"})
                continue
            stop = yield from self._patient(index) if index % 2 else self._clinician(index)
            if stop and index < self.length - 1:
                return stop
        return "target"

    def _change_client(self, **news: Any) -> None:
        self.client = replace(self.client, **news)

    def _change_picture(self, **news: Any) -> None:
        self.therapist = replace(self.therapist, **news)

    def _now(self, index: int) -> SessionMoment:
        return SessionMoment(
            (index + 1) // 2, index, tuple(self.ledger.lines), self.summary, index >= closing_from(self.length)
        )

    def _summed_up(self, index: int, calls: SideCalls) -> Exchange[SessionMoment]:
        """Where the session stands, its summary brought up to date."""
        now = self._now(index)
        inputs = {"summary": self.summary, "messages": last_messages(now.lines)}
        self.summary = yield from calls.text("summary", now.number, inputs, "summary")
        return self._now(index)

    # -- the client -----------------------------------------------------------------------------------

    def _patient(self, index: int) -> Exchange[str]:
        """The client's turn; why the session ends with it, or nothing."""
        now = yield from self._summed_up(index, self.about_client)
        if self.has_state:
            yield from self._ask_about_client(now)
        action = yield from self._choose_action(now)
        words = drawn_length("patient", self.situation.draws.stream("client length", now.number))
        calls = tuple(self._client_call(now, place, action, words) for place in range(self.candidates))
        own = self.ledger.texts("patient")

        def check(text: str) -> Fault | None:
            return patient_fault(text, language=self.language, earlier=own, sentences=None, words=MOST_WORDS)

        candidates, refused = yield from patient_candidates(calls, check)
        chosen = yield from self.ranking.best("patient", now.number, now.lines, candidates, refused)
        meta: dict[str, Any] = {"action": action, "words": [words.low, words.high]}
        if self.has_state:
            state = self.client.content()
            meta |= {name: state[name] for name in ("appraisal", "stage", "emotion", "rapport")}
        self._note("patient", chosen, {"action": action, "state": self.client.content()})
        self._say("patient", chosen.spoken(), meta)
        if action == "terminate":
            return "client_terminated"
        return self._left("patient", chosen.candidate.ends, index)

    def _client_inputs(self, now: SessionMoment) -> dict[str, Any]:
        return {
            **self._person(),
            "session_goal": self.fields.session_goal,
            "topic": self.fields.topic,
            "state": self.client.content() if self.has_state else {},
            "summary": now.summary,
            "messages": last_messages(now.lines),
        }

    def _person(self) -> dict[str, Any]:
        return {
            "profile": self.fields.profile.model_dump(),
            "background": {name: list(facts) for name, facts in self.fields.background.model_dump().items() if facts},
            "cognitive_model": dict(self.fields.cognitive_model),
        }

    def _ask_about_client(self, now: SessionMoment) -> Exchange[None]:
        """Appraisal, stage, emotion, rapport and goal of the client, in this order, each with what is new before it."""
        ask, number = self.about_client, now.number
        appraisal, reason = NEUTRAL, ""
        if self._appraises(number):
            names = tuple(labels("appraisals"))
            appraisal, reason = yield from ask.ask(
                "appraisal",
                number,
                self._client_inputs(now),
                read_appraisal,
                choices=listed("appraisals", names),
                enums={"label": names},
            )
        self._change_client(appraisal=appraisal, reason=reason)
        allowed = allowed_stages(self.client.stage, appraisal)
        self._change_client(stage=(yield from ask.label("stage", number, self._client_inputs(now), "stages", allowed)))
        self._change_client(feeling=(yield from ask.feeling(number, self._client_inputs(now))))
        inputs = self._client_inputs(now) | {"appraisal_1_to_5": APPRAISALS.index(appraisal) + 1}
        self._change_client(rapport=(yield from ask.rapport(number, inputs, self.client.rapport)))
        self._change_client(goal=(yield from ask.text("goal", number, self._client_inputs(now), "goal")))

    def _appraises(self, number: int) -> bool:
        """Whether the client appraises the message that it answers: drawn by itself for each of its turns."""
        if self.options["appraisal"] != "drawn":
            return bool(self.options["appraisal"] == "always")
        return self.situation.draws.stream("appraisal", number).random() < APPRAISED

    def _choose_action(self, now: SessionMoment) -> Exchange[str]:
        """What the client does with its message."""
        inputs = self._client_inputs(now) | {"closing": now.closing}
        if not self.has_state:
            inputs["state"] = {"previous_action": self.client.actions[-1] if self.client.actions else ""}
        allowed = allowed_actions(now.index, self.length, self.client.stage)
        action = yield from self.about_client.label("action", now.number, inputs, "actions", allowed)
        self._change_client(actions=(*self.client.actions, action))
        return action

    def _client_call(self, now: SessionMoment, place: int, action: str, words: TurnLength) -> Call:
        state: dict[str, Any] = {"action": f"{action}: {labels('actions')[action]}"}
        if self.has_state:
            state |= {name: part for name, part in self.client.content().items() if name != "previous_action"}
        state |= {"summary": now.summary, "closing": now.closing}
        person = self._person()
        prompt = self.prompt(
            "client_message",
            person=as_json(person),
            goal=self.fields.session_goal,
            state=as_json(state),
            counter=counter(now.index, self.length),
            words=words.text,
            phase=phase("patient", now.index, closing=now.closing, last=now.index == self.length - 1),
        )
        material = {**person, **state, "session_goal": self.fields.session_goal}
        return self._candidate_call("patient", now, place, prompt, words, material)

    def _candidate_call(
        self,
        side: Side,
        now: SessionMoment,
        place: int,
        prompt: FilledPrompt,
        words: TurnLength,
        material: Mapping[str, Any],
    ) -> Call:
        return self.call(
            side,
            f"{SPEAKERS[side]} candidate",
            (now.number - 1) * self.candidates + place + 1,
            prompt,
            material={**material, "words": [words.low, words.high], "number": now.number, "place": place},
        )

    # -- the therapist --------------------------------------------------------------------------------

    def _clinician(self, index: int) -> Exchange[str]:
        """The therapist's turn; why the session ends with it, or nothing."""
        if self.free:
            return (yield from self._freely(index))
        now = yield from self._summed_up(index, self.about_therapist)
        if self.infers:
            yield from self._infer_picture(now)
        plan = yield from self._plan(now)
        words = drawn_length("clinician", self.situation.draws.stream("therapist length", now.number))
        calls = tuple(self._therapist_call(now, place, plan, words) for place in range(self.candidates))
        candidates, refused = yield from clinician_candidates(calls, clinician_watch(now.lines, self.language))
        if not candidates:
            # Nothing was said, twice.
            return self.ledger.silence(tuple(dict.fromkeys(reason for _, reason in refused[-len(calls) :])))
        chosen = yield from self.ranking.best("clinician", now.number, now.lines, candidates, refused)
        used = plan.strategies[chosen.candidate.place]
        self._change_picture(strategies=(*self.therapist.strategies, used))
        meta = self._intended(plan, chosen) | {"words": [words.low, words.high]}
        self._note("clinician", chosen, {**meta, "state": self.therapist.content()})
        self.ledger.flags.update(f"clinician, refused: {reason}" for _, reason in chosen.refused)
        stage = self.therapist.process if self.infers else None
        self._say("clinician", chosen.spoken(), meta, stage)
        return self.ledger.repeated() or self._left("clinician", chosen.candidate.ends, index)

    def _infer_picture(self, now: SessionMoment) -> Exchange[None]:
        """What the therapist takes the client to be like: background, emotion, stage, goals, rapport and process, in
        this order, each with what is new before it."""

        def inputs() -> dict[str, Any]:
            return {
                "topic": self.fields.topic,
                "picture": self.therapist.content(),
                "summary": now.summary,
                "messages": last_messages(now.lines),
            }

        ask, number = self.about_therapist, now.number
        updates = yield from ask.ask("background", number, inputs(), read_updates)
        self._change_picture(background=grown(self.therapist.background, updates))
        self._change_picture(feeling=(yield from ask.feeling(number, inputs())))
        self._change_picture(stage=(yield from ask.label("stage", number, inputs(), "stages", labels("stages"))))
        self._change_picture(goals=(yield from ask.ask("goal", number, inputs(), read_goals)))
        self._change_picture(rapport=(yield from ask.rapport(number, inputs(), self.therapist.rapport)))
        allowed = allowed_processes(self.therapist.process, now.index, self.length)
        self._change_picture(process=(yield from ask.label("process", number, inputs(), "processes", allowed)))

    def _plan(self, now: SessionMoment) -> Exchange[TherapistPlan]:
        """Three strategies, or a pivot where the session goes in circles; the strategy then stays beside it."""
        ask = self.about_therapist
        inputs: dict[str, Any] = {
            "topic": self.fields.topic,
            "client": self.fields.profile.demographics(),
            "picture": self.therapist.content() if self.infers else {},
            "summary": now.summary,
            "messages": last_messages(now.lines),
        }
        allowed = allowed_strategies(self.therapist.strategies, now.index)
        if (yield from self._repeats(now)):
            pivot = yield from ask.label("pivot", now.number, inputs, "pivots", labels("pivots"))
            kept = tuple(name for name in self.therapist.ranking if name in allowed)
            return TherapistPlan(self._of_candidates(kept), pivot)
        inputs |= {"last_strategies": list(self.therapist.strategies[-STRATEGIES_SHOWN:]), "closing": now.closing}
        ranking = yield from ask.ask(
            "strategies",
            now.number,
            inputs,
            strategies_reader(allowed),
            choices=listed("strategies", allowed),
            enums={"strategies": allowed},
        )
        self._change_picture(ranking=ranking)
        return TherapistPlan(self._of_candidates(ranking))

    def _of_candidates(self, ranking: Sequence[str]) -> tuple[str, ...]:
        """The strategy of each candidate: each its own, or the first for all."""
        varied = self.options["strategy_use"] == "each"
        return tuple(ranking[place % len(ranking) if varied else 0] for place in range(self.candidates))

    def _repeats(self, now: SessionMoment) -> Exchange[bool]:
        """Whether the session goes in circles: not asked at the start, nor where nothing new is to begin."""
        if self.repetition == "off" or now.closing or not self.therapist.ranking:
            return False
        if self.repetition == "rules":
            return goes_in_circles(self.ledger.texts("clinician"), self.client.actions)
        inputs = {"summary": now.summary, "messages": last_messages(now.lines)}
        return bool((yield from self.about_therapist.ask("repetition", now.number, inputs, read_repetition)))

    def _therapist_call(self, now: SessionMoment, place: int, plan: TherapistPlan, words: TurnLength) -> Call:
        strategy, pivot = plan.strategies[place], plan.pivot
        state: dict[str, Any] = {"strategy": f"{strategy}: {labels('strategies')[strategy]}"}
        if pivot:
            state["pivot"] = f"{pivot}: {labels('pivots')[pivot]}"
        if self.infers:
            state |= self.therapist.content()
            state["rapport"] = round((self.therapist.rapport + 1) / 2, 4)
            state["early"] = now.index < EARLY
        state |= {"summary": now.summary, "closing": now.closing}
        prompt = self.prompt(
            "therapist_message",
            **_told(self.fields),
            state=as_json(state),
            counter=counter(now.index, self.length),
            words=words.text,
            phase=phase("clinician", now.index, closing=now.closing),
        )
        material = {**state, "topic": self.fields.topic, "client": self.fields.profile.demographics()}
        return self._candidate_call("clinician", now, place, prompt, words, material)

    def _intended(self, plan: TherapistPlan, chosen: RankedChoice) -> dict[str, Any]:
        """What the therapist meant to do with its message."""
        meta: dict[str, Any] = {"strategy": plan.strategies[chosen.candidate.place]}
        if plan.pivot:
            meta["pivot"] = plan.pivot
            self.ledger.flags["therapist: pivot"] += 1
        if self.infers:
            state = self.therapist.content()
            meta |= {f"inferred_{name}": state[name] for name in ("stage", "emotion", "rapport")}
        return meta

    def _freely(self, index: int) -> Exchange[str]:
        """The turn of a clinician that talks as it likes."""
        now = self._now(index)
        prompt = self.prompt(
            "free_turn", counter=counter(index, self.length), phase=phase("clinician", index, closing=now.closing)
        )
        material = {
            "topic": self.fields.topic,
            "client": self.fields.profile.demographics(),
            "closing": now.closing,
            "number": now.number,
        }
        brief = free_brief(self.fields, self.language)
        spoken = yield from self.ask_clinician(now.number, brief, prompt, material=material)
        if spoken.refused:
            self.ledger.note("message", refused=spoken.refused)
        if not spoken.text:
            return self.ledger.silence(spoken.flags)
        self._say("clinician", spoken, {})
        return self.ledger.repeated() or self._left("clinician", ends_with(spoken.fields), index)

    # -- what is written down -------------------------------------------------------------------------

    def _left(self, side: Side, ends: bool, index: int) -> str:
        """Why the session ends where a side leaves it; at its very start that isn't taken, and flagged."""
        if not ends:
            return ""
        if index < END_FROM:
            self.ledger.flags[f"{side}: end before it could be"] += 1
            return ""
        return {"clinician": "therapist_token", "patient": "client_token"}[side]

    def _say(self, side: Side, spoken: Spoken, meta: Mapping[str, Any], stage: str | None = None) -> None:
        marks: dict[str, Any] = {"simulation": {**meta, "target_length": self.length}}
        if stage is not None:
            marks["stage"] = stage
        self.ledger.say(side, spoken, marks)

    def _note(self, side: Side, chosen: RankedChoice, meant: Mapping[str, Any]) -> None:
        """Keep what was meant by a turn, and its candidates."""
        speaker = SPEAKERS[side]
        self.ledger.note(f"{speaker} state", **meant)
        self.ledger.note(f"{speaker} candidates", **chosen.note())
        if chosen.scores:
            self.ranked[side]["messages"] += 1
            self.ranked[side]["won by the most repetitive"] += chosen.bland

    def outcome(self, stop: str) -> Outcome:
        """What it came to."""
        return self.ledger.outcome(
            stop,
            completed=len(self.ledger.turns) >= self.length,
            reference={"background": self.fields.background_text(), "goal": self.fields.session_goal},
            factors={"target_length": self.length, "topic": self.fields.topic},
            simulation={
                "closing_from": closing_from(self.length),
                "plan_from": plan_from(self.length),
                "ranked": {side: dict(counts) for side, counts in self.ranked.items() if counts},
            },
        )


def _ranked_after(situation: Situation) -> int:
    """After how many messages a candidate is weighed.

    Raises:
        InputError: after none.
    """
    messages = int(situation.options["rank_messages"])
    if messages < 1:
        raise InputError(
            f"the option rank_messages can't be {messages}", where="`options`", todo="give a whole number from 1"
        )
    return messages


def most_calls(situation: Situation) -> Mapping[ActorRole, int]:
    """The most calls that a session can take, by role, attempts included."""
    length = session_length(situation.length)
    therapist, client = length // 2 - 2, length // 2
    ranked = client if situation.setting == FREE else client + therapist
    candidates = CANDIDATES if situation.options["ranking"] else 1
    about_therapist = 0 if situation.setting == FREE else therapist * _THERAPIST_CALLS
    return {
        "clinician": therapist * CLINICIAN_ATTEMPTS * (1 if situation.setting == FREE else candidates),
        "patient": client * ATTEMPTS * candidates,
        "evaluator": (about_therapist + client * _CLIENT_CALLS) * ATTEMPTS,
        "ranker": ranked * ATTEMPTS if situation.options["ranking"] else 0,
    }
