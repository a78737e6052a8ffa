"""What a simulation, or making records, would ask: the rules actors do some of it, and their calls are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from bedside.core.errors import InputError
from bedside.judges.llm.prices import estimate_tokens
from bedside.judges.prompt import Prompt
from bedside.simulation.actor_contract import ActorName
from bedside.simulation.patient_review import review_call, review_prompt
from bedside.simulation.record_making import RecordPlan
from bedside.simulation.simulate import SimulationSettings
from bedside.simulation.simulation_plan import PlannedConversation, SimulationPlan
from bedside.simulation.simulators.asking import ATTEMPTS
from bedside.simulation.simulators.calls import ACTOR_ROLES, ActorReply, ActorRole, Call, Exchange
from bedside.simulation.simulators.contract import UnusableConversationError

T = TypeVar("T")
#: Conversations of each clinician that are had to count by.
PLAYED = 20


@dataclass(slots=True)
class RolePreview:
    """What one actor would be asked, added up.

    Attributes:
        role: whom it plays.
        actor: who it is.
        calls: about how many calls, as the rules actors have them.
        most_calls: how many at most, with every attempt that may be needed; 0 where that isn't known.
        input_tokens, output_tokens: about how many the calls have, by an estimate from the texts; replies are those of
            the rules actors, which may be shorter than a model's.
        cost: about how many US dollars; None where a price isn't known, 0 where nothing is paid.
    """

    role: ActorRole
    actor: ActorName
    calls: float = 0.0
    most_calls: int = 0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    cost: float | None = 0.0

    def add(self, call: Call, reply: ActorReply, times: float = 1.0) -> None:
        """Count a call so many times."""
        self.calls += times
        self.input_tokens += times * sum(estimate_tokens(message.content) for message in call.messages())
        self.output_tokens += times * estimate_tokens(reply.text)


class _RolePreviews(dict[tuple[ActorRole, str], RolePreview]):
    """What each actor would be asked, by role and identity."""

    def of(self, role: ActorRole, actor: ActorName) -> RolePreview:
        return self.setdefault((role, actor.identity), RolePreview(role, actor))

    def priced(self, settings: SimulationSettings) -> tuple[RolePreview, ...]:
        """All of them in order, with their costs."""
        for preview in self.values():
            if preview.actor.kind == "model":
                price = settings.price_of(preview.actor)
                tokens = round(preview.input_tokens), round(preview.output_tokens)
                preview.cost = None if price is None else price.of(*tokens)
        return tuple(preview for _, preview in sorted(self.items(), key=lambda item: item[0]))


@dataclass(frozen=True, slots=True)
class SimulationPreview:
    """What a simulation would ask.

    Attributes:
        conversations: how many it has.
        played: how many were had to count by, for each clinician.
        roles: what each actor would be asked.
    """

    conversations: int
    played: int
    roles: tuple[RolePreview, ...]


@dataclass(frozen=True, slots=True)
class RecordPreview:
    """What making records would ask.

    Attributes:
        name: what is made.
        records: how many.
        played: how many were made by toys to count by.
        actors: what each would be asked.
    """

    name: str
    records: int
    played: int
    actors: tuple[RolePreview, ...]


def preview_plan(plan: SimulationPlan, settings: SimulationSettings) -> SimulationPreview:
    """What having a plan's conversations would ask. Nothing is asked or written.

    What a case or a persona shares counts once. Where only some conversations are had, the others count as their mean.

    Args:
        plan: the conversations.
        settings: how actors would be asked; of them, prices count.

    Raises:
        InputError: the protocol has no rules actors to have conversations with.
    """
    missing = [role for role in ACTOR_ROLES if role not in plan.simulator.rules]
    if missing:
        raise InputError(f"{plan.simulator.name} has no {missing[0]} by rules to count calls with", where="`dry_run`")
    previews = _RolePreviews()
    shared: set[tuple[str, str, int, int]] = set()
    numbers = {clinician.identity: plan.number(clinician) for clinician in plan.clinicians}
    for clinician in plan.clinicians:
        roles, number = plan.roles(clinician), numbers[clinician.identity]
        for conversation in plan.conversations(clinician):
            for role, most in plan.simulator.most_calls(plan.situation(conversation)).items():
                previews.of(role, roles[role]).most_calls += most * plan.draws(conversation)
            if plan.reviewer is not None:
                previews.of("reviewer", plan.reviewer).most_calls += ATTEMPTS * plan.draws(conversation)
        times = number / max(1, min(number, PLAYED))
        for conversation in _spread(plan.conversations(clinician), number):
            exchange = plan.simulator.converse(plan.situation(conversation))
            exchanges, outcome = played(exchange, plan.simulator.rules)
            for call, reply in exchanges:
                if call.scope != "conversation":
                    site = (conversation.key_of(call.scope), call.purpose, call.ordinal, call.attempt)
                    if site in shared:
                        continue
                    shared.add(site)
                previews.of(call.actor, roles[call.actor]).add(call, reply, times)
            prompt = None if plan.reviewer is None or outcome is None else review_prompt(plan, conversation, outcome)
            if plan.reviewer is not None and isinstance(prompt, Prompt):
                preview = previews.of("reviewer", plan.reviewer)
                preview.add(review_call(prompt), ActorReply(""), times)
                preview.output_tokens += times * prompt.reply_tokens
    return SimulationPreview(len(plan), min(max(numbers.values()), PLAYED), previews.priced(settings))


def preview_records(plan: RecordPlan, settings: SimulationSettings) -> RecordPreview:
    """What making a plan's records would ask. Nothing is asked or written.

    Where only some records are made by toys, the others count as their mean.

    Args:
        plan: the records.
        settings: how actors would be asked; of them, prices count.
    """
    number = len(plan.tasks)
    wanted = min(number, PLAYED)
    previews = _RolePreviews()
    for place in range(wanted):
        exchanges, _ = played(plan.tasks[place * number // wanted].make(), plan.simulator.rules)
        for call, reply in exchanges:
            previews.of(call.actor, plan.actor(call)).add(call, reply, number / wanted)
    return RecordPreview(plan.name, number, wanted, previews.priced(settings))


def _spread(conversations: Iterable[PlannedConversation], number: int) -> Iterable[PlannedConversation]:
    """Conversations at equal distances, :data:`PLAYED` of them at most."""
    wanted = {place * number // min(number, PLAYED) for place in range(min(number, PLAYED))}
    return (conversation for place, conversation in enumerate(conversations) if place in wanted)


def played(
    exchange: Exchange[T], rules: Mapping[ActorRole, Callable[[Call], ActorReply]]
) -> tuple[list[tuple[Call, ActorReply]], T | None]:
    """A generator of calls played among toys: its calls with their replies, and what it came to.

    Args:
        exchange: it.
        rules: the toys by role.

    Returns:
        The calls with replies in their order, and the result; None where a reply couldn't be used.
    """
    exchanges: list[tuple[Call, ActorReply]] = []
    try:
        calls = next(exchange)
        while True:
            replies = tuple(rules[call.actor](call) for call in calls)
            exchanges += zip(calls, replies, strict=True)
            calls = exchange.send(replies)
    except StopIteration as end:
        result: T = end.value
        return exchanges, result
    except UnusableConversationError:
        return exchanges, None
