"""The review of a conversation by a model, after that by rules: it is asked the rubric ``patient_faults``.

The reviewer sees the case and the talk. Neither side is told anything of what it says: where it finds a fault, the
conversation is had again with other streams of the seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from bedside.judges.prompt import Conversation, NotAskable, Prompt, Question
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.simulation.actor_contract import CallPlace, UnansweredError
from bedside.simulation.conversation_log import CallSite
from bedside.simulation.logged_actors import LoggedActors, answered, call_seed, play
from bedside.simulation.simulation_plan import PlannedConversation, SimulationPlan
from bedside.simulation.simulators.asking import ask_for_data
from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.contract import Outcome, UnusableConversationError
from bedside.simulation.simulators.conversation_faults import KINDS, FaultKind
from bedside.transcripts.simulation_folder import REVIEW_RUBRIC
from bedside.transcripts.transcript import Transcript, Turn


@dataclass(frozen=True, slots=True)
class ReviewerVerdict:
    """What the reviewer says of a conversation's patient.

    Attributes:
        kinds: of the faults that it finds; None where the conversation is not reviewed.
        reason: in the reviewer's words, or why there is no verdict.
    """

    kinds: tuple[FaultKind, ...] | None
    reason: str


@cache
def review_question() -> Question:
    """The rubric, made ready for prompts."""
    return Question(RUBRICS.load(REVIEW_RUBRIC))


def review_prompt(plan: SimulationPlan, conversation: PlannedConversation, outcome: Outcome) -> Prompt | NotAskable:
    """What the reviewer is asked: the rubric, with the case's facts and what was said."""
    turns = tuple(Turn(index, turn.role, turn.role, turn.text) for index, turn in enumerate(outcome.turns))
    facts = {"patient_facts": list(plan.simulator.patient_facts(conversation.case))}
    case = conversation.case
    transcript = Transcript(conversation.id, turns, "", case.id, case.language, reference=facts)
    return next(review_question().prompts(Conversation(transcript)))


def review_call(prompt: Prompt) -> Call:
    """The prompt as a call."""
    return Call(
        "reviewer", "review", 1, instruction=prompt.text, kind="data", schema=review_question().rubric.schema()
    )  # fmt: skip


async def model_review(
    plan: SimulationPlan, asked: LoggedActors, conversation: PlannedConversation, session: int, outcome: Outcome
) -> ReviewerVerdict:
    """Ask the plan's reviewer what is wrong with the patient; what isn't answered or can't be read is not reviewed.

    Its replies are kept under the conversation's key with the reviewer's: another reviewer of the same talk is asked
    anew, and the talk isn't.

    Args:
        plan: the simulation's, with a reviewer.
        asked: those who are asked.
        conversation: which it is.
        session: how often it was begun.
        outcome: what it came to.

    Raises:
        NotAskedError: a limit is reached.
        BedsideError: the run can't go on.
    """
    reviewer = plan.reviewer
    assert reviewer is not None, "nobody reviews"
    prompt = review_prompt(plan, conversation, outcome)
    if isinstance(prompt, NotAskable):
        return ReviewerVerdict(None, prompt.reason)
    counts, case = prompt.counts, conversation.case
    key = f"{conversation.key}#{session}~{plan.reviewer_digest()[:16]}"
    replies = asked.log.replies(key)

    def read(value: Any) -> ReviewerVerdict:
        problem = review_question().rubric.problem(value, counts=counts)
        if problem is not None:
            raise ValueError(problem)
        return ReviewerVerdict(tuple(kind for kind in KINDS if kind in value["labels"]), value["reason"])

    async def answer(call: Call) -> ActorReply:
        at = CallSite(key, call.purpose, call.ordinal, call.attempt)
        if asked.replay and at not in replies and asked.log.reply(at, "failed") is not None:
            raise UnansweredError("no answer")
        seed = call_seed(plan.seed, at)
        place = CallPlace(conversation.key, session, conversation.id, case.id, case.language, seed)
        return await asked.answer(call, at, place, name=reviewer, replies=replies)

    try:
        decided = await play(ask_for_data(review_call(prompt), read), lambda calls: answered(calls, answer))
    except UnansweredError:
        return ReviewerVerdict(None, "no answer")
    except UnusableConversationError as error:
        return ReviewerVerdict(None, error.reason)
    verdict: ReviewerVerdict = decided.value
    return verdict
