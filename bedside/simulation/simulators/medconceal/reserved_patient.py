"""The reserved patient and its guard: what its prompt holds follows from the policy's state alone.

A concern that is still hidden is in no prompt: a model can't give away what it hasn't got.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from bedside.metrics.protocols.medconceal.matching import bare, normalise, occurs
from bedside.metrics.protocols.medconceal.policy import (
    GuardThresholds,
    Parameters,
    PolicyState,
    content,
    find_parameters,
    overlap,
    tightened,
)
from bedside.simulation.simulators.asking import Fault, Spoken, ask_patient
from bedside.simulation.simulators.calls import Call, Exchange
from bedside.simulation.simulators.case import HiddenConcern
from bedside.simulation.simulators.contract import Situation, UnusableConversationError
from bedside.simulation.simulators.faults import denies, patient_fault
from bedside.simulation.simulators.ledger import ProtocolTalk
from bedside.simulation.simulators.prompt_files import FilledPrompt, filled_prompt, listed

# -- The prompts of the reserved patient and of the clinician -------------------------------------------

FOLDER = Path(__file__).parent
#: A prompt with what its slots hold.
prompt_text = partial(filled_prompt, FOLDER)


# -- The guard ------------------------------------------------------------------------------------------

#: Reasons of faults, as they are counted.
LEAK, SILENCE, DENIAL = "reveals what is hidden", "leaves out what it is to say", "denies what is hidden"
#: What is counted where a concern comes out that the patient had denied.
TOLD_AFTER_DENIAL = "patient: tells what it denied"


def gives_away(text: str, concern: HiddenConcern, known: frozenset[str], thresholds: GuardThresholds) -> bool:
    """Whether a text says a concern, or enough of its distinctive words.

    Distinctive are the concern's content words that are not ``known``: n of them are in the text, and of all of them
    the share n / all; it gives the concern away where both reach their thresholds, or where one of the sentences that
    voice the concern occurs.

    Args:
        text: what is said.
        concern: a hidden one.
        known: content words that say nothing of it, because they stand in the open.
        thresholds: least share and number.
    """
    if _voices(text, concern):
        return True
    distinctive = content(concern.text) - known
    shared = len(content(text) & distinctive)
    return shared >= thresholds.leak_words and shared >= thresholds.leak_share * len(distinctive)


def says(text: str, concern: HiddenConcern, thresholds: GuardThresholds) -> bool:
    """Whether a text says a concern: enough of its words, or of one of the sentences that voice it."""
    words = content(text)
    return any(
        overlap(words, content(wording)) >= thresholds.disclosure_share for wording in (concern.text, *concern.voiced)
    ) or _voices(text, concern)


def _voices(text: str, concern: HiddenConcern) -> bool:
    spoken = normalise(text)
    return any(occurs(bare(sentence), spoken) for sentence in concern.voiced)


@dataclass(frozen=True, slots=True)
class DisclosureGuard:
    """What a reply may and must say, at one turn.

    Attributes:
        hidden: the concerns that are still hidden.
        due: those that the reply is to say.
        known: content words that stand in the open: in the chart, in what the patient is told, in concerns that are
            out, in what was said.
        thresholds: of the policy's parameters.
        asked: whether the clinician asked after what weighs on the patient, so that a no would deny it.
    """

    hidden: Sequence[HiddenConcern]
    due: Sequence[HiddenConcern]
    known: frozenset[str]
    thresholds: GuardThresholds
    asked: bool

    def fault(self, text: str) -> Fault | None:
        """What is wrong with a reply; the objection repeats nothing of what leaked."""
        if any(gives_away(text, concern, self.known, self.thresholds) for concern in self.hidden):
            return Fault(
                LEAK,
                "Your last reply told something that you keep to yourself for now. Answer without it: say only what "
                "you were told that you may say.",
            )
        if not all(says(text, concern, self.thresholds) for concern in self.due):
            return Fault(
                SILENCE,
                "Your last reply left out what you are to tell now. Tell it in this reply, in your own plain words.",
            )
        if self.hidden and denies(text, asked=self.asked and not self.due):
            return Fault(
                DENIAL,
                "Your last reply said that there is nothing. You may tell it later: turn the question aside without "
                "a no.",
            )
        return None


def told_after_denial(replies: Sequence[tuple[str, bool]], revealed_at: Mapping[str, int]) -> list[str]:
    """Concerns that came out after the patient had said that nothing is on their mind: a fault of the patient.

    Args:
        replies: the patient's messages in order, each with whether the clinician had asked after what weighs on them.
        revealed_at: concern → number of the reply that told it, from 1.
    """
    first = next(
        (number for number, (text, asked) in enumerate(replies, start=1) if denies(text, asked=asked)), len(replies)
    )
    return [concern for concern, at in revealed_at.items() if at > first]


def words_of(texts: Iterable[str]) -> frozenset[str]:
    """The content words of all these texts."""
    return frozenset[str]().union(*map(content, texts))


# -- The reserved patient -------------------------------------------------------------------------------

#: How the patient stands towards the talk: from the policy's state, never from a model.
Stance = Literal["guarded", "hesitant", "open", "resisting", "accepting"]
#: Most sentences and words of a reply, unless a persona says otherwise, and how many more each further concern may
#: have that comes out in the same reply; bedside's own.
SENTENCES, WORDS = 3, 60
MORE_SENTENCES, MORE_WORDS = 2, 30
#: Fallback lines that a conversation may have.
FALLBACKS = 2
#: How a question is turned aside beside the case's own ways, without denying anything.
TURNED_ASIDE = (
    "That is not so easy to answer.",
    "I would rather come back to that later.",
    "Hm. Let me think about that for a bit.",
    "Could we stay with the other thing for now?",
    "I don't quite know how to put it.",
    "Perhaps another time.",
    "You do ask a lot.",
    "I'm not sure that I want to go into that.",
)


def stance_of(state: PolicyState, parameters: Parameters, *, intervention: bool) -> Stance:
    """How the patient stands after a clinician turn.

    ``accepting`` once the concern is addressed; ``resisting`` while it is out and isn't, where a plan is at stake;
    ``open`` once anything is out; before that ``hesitant`` where the greatest evidence reaches the low threshold, else
    ``guarded``.
    """
    if state.addressed_at is not None and intervention:
        return "accepting"
    if state.revealed_at:
        return "resisting" if intervention else "open"
    low = tightened(parameters.reveal.low, parameters.reveal.progressive, 0)
    return "hesitant" if max(state.evidence, default=0.0) >= low else "guarded"


class ReservedTalk(ProtocolTalk):
    """A conversation with a reserved patient: the patient's part of it.

    Args:
        situation: what it starts from.
        concerns: those of the task, in the policy's order.
        intervention: whether a plan is at stake.

    Attributes:
        parameters: of the policy, with the guard's thresholds: the persona's, else those that are set.
    """

    folder = FOLDER

    def __init__(self, situation: Situation, concerns: Sequence[HiddenConcern], *, intervention: bool) -> None:
        super().__init__(situation)
        persona = situation.persona
        self.hidden = concerns
        self.intervention = intervention
        self.parameters: Parameters = find_parameters(
            (persona.parameters if persona is not None else None) or str(self.options["parameters"])
        )
        #: Sentences that a fallback has said, and how often one was said.
        self.used: list[str] = []
        self.fallbacks: int = 0
        #: What was replied, and whether the clinician had asked after what weighs on the patient.
        self.replies: list[tuple[str, bool]] = []
        #: What the patient is told of itself, by the ids of the concerns that are hidden.
        self.open_texts: dict[tuple[str, ...], list[str]] = {}

    def reply(self, state: PolicyState, *, blocked: bool, asked: bool) -> Exchange[tuple[Spoken, Stance]]:
        """The answer to the last clinician turn, and the stance in which it is given.

        Args:
            state: how things stand after that turn.
            blocked: whether it was taken as probing for categories.
            asked: whether it asked after a concern that stays hidden: that is turned aside.

        Raises:
            UnusableConversationError: no reply could be used, or too many lines were the case's in place of a reply.
        """
        revealed_now = set(state.revealed_now)
        due = [concern for concern in self.hidden if concern.id in revealed_now]
        out = [concern for concern in self.hidden if concern.id in state.revealed_at]
        hidden = [concern for concern in self.hidden if concern.id not in state.revealed_at]
        stance = stance_of(state, self.parameters, intervention=self.intervention)
        open_texts = self._open_texts(hidden)
        call = self._reply_call(state.number, open_texts, stance=stance, due=due, out=out, blocked=blocked, asked=asked)
        openly = [*self.case.chart.values(), *open_texts, *(line.text for line in self.ledger.lines)]
        openly += [text for concern in out for text in (concern.text, *concern.voiced)]
        guard = DisclosureGuard(hidden, due, words_of(openly), self.parameters.guard, asked or blocked)
        limits = self._limits(due)
        spoken = yield from ask_patient(
            call,
            lambda text: self._fault(text, guard, limits),
            fallback=lambda fault: self._fallback(fault, due, open_texts, state.number),
        )
        if "fallback" in spoken.flags:
            self.fallbacks += 1
            if self.fallbacks > FALLBACKS:
                raise UnusableConversationError(
                    "patient",
                    "too many fallback lines",
                    f"reply {state.number}: line {self.fallbacks} of the case's own in place of a reply",
                )
        self.replies.append((spoken.text, guard.asked))
        return spoken, stance

    def _open_texts(self, hidden: Sequence[HiddenConcern]) -> list[str]:
        """What the patient is told of itself: nothing that gives away what is hidden."""
        key = tuple(concern.id for concern in hidden)
        if key not in self.open_texts:
            self.open_texts[key] = self._passed(hidden)
        return self.open_texts[key]

    def _passed(self, hidden: Sequence[HiddenConcern]) -> list[str]:
        patient = self.case.patient
        texts = (
            patient.narrative,
            patient.style,
            *patient.facts,
            *patient.vitals,
            *patient.psychosocial,
            *patient.deflections,
            self.case.intervention.preference if self.intervention and self.case.intervention else "",
        )
        thresholds = self.parameters.guard
        return [
            text
            for text in texts
            if text and not any(gives_away(text, concern, frozenset(), thresholds) for concern in hidden)
        ]

    def _reply_call(
        self,
        number: int,
        open_texts: Sequence[str],
        *,
        stance: Stance,
        due: Sequence[HiddenConcern],
        out: Sequence[HiddenConcern],
        blocked: bool,
        asked: bool,
    ) -> Call:
        patient, persona = self.case.patient, self.situation.persona
        sentences, words = self._limits(due)
        allowed = set(open_texts)
        facts = [text for text in (*patient.facts, *patient.vitals, *patient.psychosocial) if text in allowed]
        deflections = self._deflections(open_texts)
        if asked:
            deflections = [self._deflection((*deflections, *TURNED_ASIDE), number)]
            self.used += deflections
        preference = self._preference(allowed)
        said_before = [concern for concern in out if concern not in due]
        manner = persona.manner if persona is not None else ""
        style = " ".join(text for text in (patient.style if patient.style in allowed else "", manner) if text)
        brief = self.prompt(
            "patient",
            narrative=patient.narrative if patient.narrative in allowed else "A patient at a doctor's.",
            facts=listed(facts, "- nothing more"),
            style=style or "Plain and short.",
            told=listed([_voiced(concern) for concern in said_before], "- nothing of the kind yet"),
            sentences=sentences,
            words=words,
        )
        voiced = listed([_voiced(concern) for concern in due], "- ")
        return self.call(
            "patient",
            "reply",
            number,
            brief,
            self.prompt("preference", preference=preference) if preference else None,
            self.prompt("deflects", line=deflections[0])
            if asked
            else self._stance_prompt(stance, blocked=blocked, deflections=deflections),
            self.prompt("disclosure", due=voiced) if due else None,
            material={
                "facts": facts,
                "deflections": deflections,
                "due": [list(concern.voiced) or [concern.text] for concern in due],
                "stance": stance,
                "blocked": blocked,
                "asked": asked,
                "preference": preference,
            },
        )

    def _stance_prompt(self, stance: Stance, *, blocked: bool, deflections: Sequence[str]) -> FilledPrompt:
        examples = {"deflections": listed(list(deflections), "- Nothing special.")}
        if blocked:
            return self.prompt("blocked", **examples)
        if stance == "hesitant" and not self.options["cues"]:
            stance = "guarded"
        slots = examples if stance in ("guarded", "hesitant") else {}
        return self.prompt(f"stance_{stance}", **slots)

    def _preference(self, allowed: set[str]) -> str:
        if not self.intervention or self.case.intervention is None:
            return ""
        preference = self.case.intervention.preference
        return preference if preference in allowed else ""

    def _limits(self, due: Sequence[HiddenConcern]) -> tuple[int, int]:
        """Most sentences and words of a reply."""
        persona = self.situation.persona
        own = (persona.sentences if persona is not None else None) or SENTENCES
        further = max(0, len(due) - 1)
        return own + MORE_SENTENCES * further, WORDS + MORE_WORDS * further

    def _fault(self, text: str, guard: DisclosureGuard, limits: tuple[int, int]) -> Fault | None:
        """What is wrong with a reply; what would be kept all the same comes after what it gives away."""
        form = patient_fault(
            text,
            language=self.language,
            earlier=self.ledger.texts("patient"),
            case_lines=self.case.patient.deflections,
            sentences=limits[0],
            words=limits[1],
        )
        given_away = guard.fault(text)
        if form is not None and not form.kept:
            return replace(form, beneath=given_away)
        return given_away or form

    def _fallback(
        self, fault: Fault, due: Sequence[HiddenConcern], open_texts: Sequence[str], number: int
    ) -> str | None:
        """A line of the case's own in place of a reply that leaks, denies, says too little or is empty; none for other
        faults."""
        if fault.reason not in (LEAK, SILENCE, DENIAL, "empty", "cut off"):
            return None
        if due:
            chosen = [self._unused(concern.voiced or (concern.text,)) for concern in due]
        else:
            chosen = [self._deflection(self._deflections(open_texts), number)]
        self.used += chosen
        return " ".join(chosen)

    def _unused(self, sentences: Sequence[str]) -> str:
        return next((sentence for sentence in sentences if sentence not in self.used), sentences[0])

    def _deflections(self, open_texts: Sequence[str]) -> list[str]:
        """The case's ways of turning a question aside that neither give a concern away nor deny it; with others where
        all of them were said."""
        own = [line for line in self.case.patient.deflections if line in open_texts and not denies(line, asked=True)]
        return own if set(own) - set(self.ledger.texts("patient")) else [*own, *TURNED_ASIDE]

    def _deflection(self, lines: Sequence[str], number: int) -> str:
        said = {*self.used, *self.ledger.texts("patient")}
        fresh = [line for line in lines if line not in said]
        return self.situation.draws.stream("deflection", number).choice(fresh or lines)


def _voiced(concern: HiddenConcern) -> str:
    """How the patient would say a concern."""
    return " / ".join(concern.voiced) or concern.text
