"""One conversation: its controller is played over the log, what that doesn't hold is asked, and it is written down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from typing import Any, NamedTuple

from bedside.core.errors import RegistryError
from bedside.ratings.names import is_human
from bedside.simulation.actor_contract import CallPlace, reason_and_detail
from bedside.simulation.conversation_log import CallSite, LoggedConversation, state_lines
from bedside.simulation.logged_actors import LoggedActors, answered, call_seed, play
from bedside.simulation.patient_review import ReviewerVerdict, model_review, review_question
from bedside.simulation.simulation_plan import PlannedConversation, SimulationPlan
from bedside.simulation.simulators.asking import ATTEMPTS, CLINICIAN_REPEATS, nothing_in, silent_stop
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call, Line
from bedside.simulation.simulators.contract import Outcome, SpokenTurn
from bedside.simulation.simulators.conversation_faults import KINDS, ConversationFault, case_truth, conversation_faults
from bedside.simulation.simulators.faults import DECLINED
from bedside.transcripts.simulation_folder import HIDDEN_FLAG, REVIEW_RUBRIC
from bedside.transcripts.transcript import CLINICIAN_FAILURES, Transcript, Turn


class DiscardedDraw(NamedTuple):
    """A draw of a conversation that was not taken: by ``rules`` or the ``reviewer``, for these kinds of faults."""

    by: str
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HadConversation:
    """A conversation that was had.

    Attributes:
        outcome: what it came to; where the clinician failed it, ``stop`` says so, and it isn't completed.
        failed: how the clinician failed it, in words that many conversations can share; empty where it didn't.
        detail: what exactly it did then, where more is known.
        session: how often it was begun.
        prompts: the prompt files that its calls were made from, sorted.
        hidden: calls that held a text which the case hides from whom they were put to.
        faults: what is wrong with its patient, by rules.
        verdict: what the reviewer says of it; None where there is no reviewer.
        dropped: the draws of it that were discarded before.
    """

    outcome: Outcome
    failed: str
    detail: str
    session: int
    prompts: tuple[str, ...]
    hidden: int
    faults: tuple[ConversationFault, ...] = ()
    verdict: ReviewerVerdict | None = None
    dropped: tuple[DiscardedDraw, ...] = ()


async def converse(plan: SimulationPlan, asked: LoggedActors, conversation: PlannedConversation) -> HadConversation:
    """Have a conversation; anew, within bounds, where something is wrong with its patient.

    Each time is a session of its own in the log, with other streams of the seed. Those before the last are played over
    the log alone: what was found in them is found again.

    Args:
        plan: the simulation's.
        asked: those who are asked.
        conversation: which it is.

    Raises:
        UnusableConversationError, UnansweredError, NotAskedError: it has no outcome, and why.
        BedsideError: the run can't go on.
    """
    begun = max(1, asked.log.session(conversation.key))
    dropped: list[DiscardedDraw] = []
    for session in count(1):
        if session > begun:
            await asked.log.begin_session(conversation.key, session)
        try:
            had = await _Conversation(plan, asked, conversation, session, over=session < begun).had()
        except _CutOffError:
            # Whoever remembers was told this conversation by a process that is no more.
            asked.counts.broken += session >= begun
            continue
        faults = reviewed(plan, conversation, had.outcome)
        had = replace(had, faults=faults, dropped=tuple(dropped))
        if plan.reviewer is not None:
            why = "the clinician failed" if had.failed else "the rules find a fault" if faults else ""
            no = ReviewerVerdict(None, why)
            verdict = no if why else await model_review(plan, asked, conversation, session, had.outcome)
            had = replace(had, verdict=verdict)
        by_rules = tuple(kind for kind in KINDS if any(fault.kind == kind for fault in faults))
        draw = DiscardedDraw("rules", by_rules) if faults else DiscardedDraw("reviewer", _kinds(had))
        last = len(dropped) + 1 >= plan.draws(conversation) or (asked.replay and session >= begun)
        if not draw.kinds or had.failed or last:
            return had
        dropped.append(draw)
    raise AssertionError


def _kinds(had: HadConversation) -> tuple[str, ...]:
    """The kinds of faults that the reviewer finds."""
    return (had.verdict and had.verdict.kinds) or ()


def reviewed(
    plan: SimulationPlan, conversation: PlannedConversation, outcome: Outcome
) -> tuple[ConversationFault, ...]:
    """What is wrong, by rules, with the patient of a conversation; nothing of what a person typed."""
    case = conversation.case
    if is_human(plan.patient.identity):
        return ()
    lines = [Line(turn.role, turn.text) for turn in outcome.turns]
    return conversation_faults(lines, case_truth(plan.simulator, case, outcome), language=case.language)


class _CutOffError(Exception):
    """An actor that remembers would have to go on with what another process began."""


class _Conversation:
    """A conversation under way; the arguments are those of :func:`converse`, how often it was begun, and whether it
    was begun again after that: nobody is asked then."""

    def __init__(
        self, plan: SimulationPlan, asked: LoggedActors, conversation: PlannedConversation, session: int, *, over: bool
    ) -> None:
        self._plan = plan
        self._asked = asked
        self._conversation = conversation
        self._session = session
        self._key = conversation.key if session == 1 else f"{conversation.key}#{session}"
        self._replies = asked.log.replies(self._key)
        self._roles = plan.roles(conversation.clinician)
        #: Whether it can only be played over the log, as where somebody who remembers the beginning is no more.
        self._begun = over or (
            bool(self._replies)
            and not asked.replay
            and any(asked.actors[role, self._roles[role].identity].stateful for role in ("clinician", "patient"))
        )
        self._prompts: set[str] = set()
        self._hidden = 0
        self._replied: dict[ActorRole, list[str]] = {role: [] for role in plan.simulator.roles}
        #: What the clinician last said of its own failing to reply, and why it gave nothing where an object was wanted.
        self._broken = self._silence = ""

    async def had(self) -> HadConversation:
        """Play the controller to its end."""
        controller = self._plan.simulator.converse(self._plan.situation(self._conversation))
        outcome = await play(controller, self._answers)
        if self._silence and outcome.stop not in CLINICIAN_FAILURES:
            outcome = replace(outcome, stop=self._silence)
        by_clinician = (turn.text for turn in reversed(outcome.turns) if turn.role == "clinician")
        if outcome.stop == CLINICIAN_REPEATS and DECLINED.search(next(by_clinician)):
            # Words that decline, time and again, are no more an answer than none.
            outcome = replace(outcome, stop="refused")
        failed, detail = CLINICIAN_FAILURES.get(outcome.stop, ""), ""
        if failed:
            outcome = replace(outcome, completed=False)
            if outcome.stop == "clinician failed" and self._broken:
                failed, detail = reason_and_detail(self._broken)
        return HadConversation(outcome, failed, detail, self._session, tuple(sorted(self._prompts)), self._hidden)

    async def _answers(self, calls: tuple[Call, ...]) -> tuple[ActorReply, ...]:
        replies = await answered(calls, self._answer)
        # Only now: which of them came first must not decide what is flagged.
        for call, reply in zip(calls, replies, strict=True):
            self._replied[call.actor].append(reply.text)
            if call.actor == "clinician":
                self._watch(call, reply)
        return replies

    def _watch(self, call: Call, reply: ActorReply) -> None:
        """Note where the clinician fails; of an object that is wanted, controllers take a neutral course then."""
        self._broken = reply.failed or self._broken
        if call.kind == "data" and call.attempt == ATTEMPTS:
            flag = nothing_in(reply)
            self._silence = silent_stop([flag]) if flag else self._silence

    async def _answer(self, call: Call) -> ActorReply:
        conversation, name = self._conversation, self._roles[call.actor]
        shared = call.scope != "conversation"
        key = conversation.key_of(call.scope) if shared else self._key
        at = CallSite(key, call.purpose, call.ordinal, call.attempt)
        place = CallPlace(
            key if shared else conversation.key,
            1 if shared else self._session,
            conversation.id,
            conversation.case.id,
            conversation.case.language,
            call_seed(self._plan.seed, at),
        )
        self._prompts.update(call.prompt.split())
        self._hidden += holds_hidden(call, conversation, self._replied[call.actor])
        if shared:
            return await self._asked.shared(call, at, place, name)
        if self._begun and at not in self._replies:
            raise _CutOffError
        return await self._asked.answer(call, at, place, name=name, replies=self._replies)


def holds_hidden(call: Call, conversation: PlannedConversation, replied: Sequence[str]) -> bool:
    """Whether what an actor is told holds a text that the case hides from it and nobody said yet.

    A text that was said stands in the history, and may be repeated by who heard it; what the actor ``replied`` itself
    may be put to it again.
    """
    hidden = conversation.case.hidden
    texts: list[str] = []
    if call.actor == "clinician":
        for concern in hidden.concerns:
            texts += (concern.text, *concern.voiced, *concern.evidence)
    elif call.actor == "patient":
        for concern in hidden.concerns:
            texts += concern.evidence
    if call.actor in ("clinician", "patient") and hidden.diagnosis:
        texts.append(hidden.diagnosis)
    if not texts:
        return False
    told = f"{call.brief}\n{call.instruction}"
    spoken = "\n".join((*(line.text for line in call.history), *replied))
    return any(text in told and text not in spoken for text in texts)


# -- What a conversation is written down as -------------------------------------------------------------

#: What flags of a faulty patient begin with: of what rules find, and of what the reviewer does.
REVIEW_FLAG, REVIEWER_FLAG = "patient, reviewed: ", "patient, by the reviewer: "


def finished_conversation(
    plan: SimulationPlan, conversation: PlannedConversation, had: HadConversation
) -> LoggedConversation:
    """A conversation that was had, as the log keeps it.

    One that the clinician failed has a transcript too, without a turn where it was asked for the first words.

    Raises:
        RegistryError: the simulator made a turn without words, or none though the clinician didn't fail.
    """
    outcome = had.outcome
    states = state_lines(conversation.id, outcome.states)
    if not all(turn.text.strip() for turn in outcome.turns) or not (outcome.turns or had.failed):
        raise RegistryError(
            f"the simulator {plan.simulator.name} made {'a turn without words' if outcome.turns else 'no turns'}",
            where=conversation.id,
        )
    review = Counter(REVIEW_FLAG + fault.kind for fault in had.faults)
    review.update(REVIEWER_FLAG + kind for kind in _kinds(had))
    flags = {**outcome.flags, **({HIDDEN_FLAG: had.hidden} if had.hidden else {}), **review}
    rater = plan.evaluator.rater
    transcript = Transcript(
        conversation.id,
        tuple(_turn(index, turn, rater) for index, turn in enumerate(outcome.turns)),
        conversation.clinician.identity,
        conversation.case.id,
        conversation.case.language,
        _factors(plan, conversation, outcome.completed, outcome.factors),
        {
            **outcome.reference,
            "patient_facts": list(plan.simulator.patient_facts(conversation.case)),
            "simulation": {
                **_provenance(plan, conversation, had),
                **outcome.simulation,
                **({"turn_rater": rater} if outcome.labelled or any(map(_labels, outcome.turns)) else {}),
                **({"failed": had.failed} if had.failed else {}),
                "stop": outcome.stop,
                "flags": flags,
            },
        },
    )
    ending = {
        "stop": outcome.stop,
        "completed": outcome.completed,
        "flags": flags,
        **({"failed": had.failed, "detail": had.detail} if had.failed else {}),
    }
    return LoggedConversation(conversation.key, "finished", had.session, ending, transcript.to_json() + b"\n", states)


def _labels(turn: SpokenTurn) -> bool:
    return bool(turn.labels)


def _turn(index: int, turn: SpokenTurn, rater: str) -> Turn:
    meta = dict(turn.meta)
    for protocol, labels in turn.labels.items():
        meta[protocol] = {**meta.get(protocol, {}), rater: dict(labels)}
    return Turn(index, turn.role, turn.role, turn.text, meta)


def _factors(
    plan: SimulationPlan, conversation: PlannedConversation, completed: bool, own: Mapping[str, Any]
) -> dict[str, Any]:
    titles = {setting.name: setting.title for setting in plan.simulator.settings}
    factors: dict[str, Any] = {**conversation.case.factors}
    if conversation.persona is not None:
        factors |= {"persona": conversation.persona.id, **conversation.persona.factors}
    factors |= {"setting": conversation.setting, "task": titles[conversation.setting]}
    if conversation.length is not None:
        factors["length"] = conversation.length
    return factors | {
        "patient_model": plan.patient.identity,
        **own,
        "repeat": conversation.repeat,
        "completed": completed,
        "synthetic": True,
    }


def _provenance(plan: SimulationPlan, conversation: PlannedConversation, had: HadConversation) -> dict[str, Any]:
    roles = plan.roles(conversation.clinician)
    playing = {role: plan.playing(role, name) for role, name in roles.items()}
    return {
        "protocol": plan.simulator.name,
        "version": plan.simulator.version,
        "key": conversation.key,
        "case": conversation.case.digest(),
        "persona": None if conversation.persona is None else conversation.persona.digest(),
        "prompts": list(had.prompts),
        "actors": {role: name.identity for role, name in roles.items()},
        "toys": sorted(role for role, name in roles.items() if name.toy),
        "sampling": {role: played["sampling"] for role, played in playing.items() if played["sampling"]},
        "options": dict(plan.options.own),
        "seed": plan.seed,
        "session": had.session,
        **({} if is_human(plan.patient.identity) else {"review": _review(had)}),
    }


def _review(had: HadConversation) -> dict[str, Any]:
    """What the review comes to; nothing is said of what a person typed."""
    return {
        "draws": len(had.dropped) + 1,
        "faults": [asdict(fault) for fault in had.faults],
        "dropped": [draw._asdict() for draw in had.dropped],
        **({} if had.verdict is None else {"reviewer": _verdict(had.verdict)}),
    }


def _verdict(verdict: ReviewerVerdict) -> dict[str, Any]:
    return {"rubric": f"{REVIEW_RUBRIC}@{review_question().version}", **asdict(verdict)}
