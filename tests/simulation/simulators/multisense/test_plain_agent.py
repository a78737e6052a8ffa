"""Agents that are asked plainly, and the moderator that gives their messages stages."""

from __future__ import annotations

import pytest

from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.multisense.stages import NAMES
from tests.simulation.simulators.multisense.scenes import Talk, talked

FREE = {"setting": "free"}


def moderated(*stages: int) -> Talk:
    """A moderator that gives these stages in order, the last one again."""
    return Talk(moderation=lambda call: {"stage": NAMES[stages[min(call.ordinal, len(stages)) - 1]]})


def test_it_ends_with_the_message_of_exit() -> None:
    talk = talked(moderated(1, 2, 2, 4, 6), **FREE)
    ended = talk.ended
    assert (ended.stop, ended.completed, len(ended.turns)) == ("exit", True, 10)
    assert [turn.meta["stage"] for turn in ended.turns] == [NAMES[stage] for stage in (1, 1, 1, 2, 2, 2, 2, 4, 4, 6)]
    assert {call.purpose for call in talk.calls} == {
        "opening", "message", "moderation", "selection", "answer",
    }  # fmt: skip


def test_it_ends_after_21_messages() -> None:
    ended = talked(moderated(2), **FREE).ended
    assert (ended.stop, ended.completed) == ("turn limit", False)
    assert len(ended.turns) == 42
    assert ended.turns[-1].role == "clinician"


def test_no_stage_is_gone_back_to() -> None:
    talk = talked(moderated(2, 4, 4, 6), **FREE)
    offered = [call.schema["properties"]["stage"]["enum"] for call in talk.asked("moderation") if call.schema]
    every = list(NAMES.values())
    assert offered == [every, every[1:], every[3:], every[3:]]
    back = talked(moderated(4, 2), **FREE)
    assert back.failure is not None
    assert (back.failure.whose, back.failure.reason) == ("evaluator", "reply can't be read")


def test_the_agent_is_told_the_chart_and_what_was_said_and_no_more() -> None:
    talk = talked(moderated(1, 2, 6), **FREE)
    turns = talk.ended.turns
    for call in talk.asked("message"):
        assert call.schema is None
        assert [line.text for line in call.history] == [turn.text for turn in turns[: 2 * call.ordinal - 1]]
        assert "Pulse 88" in call.brief
    briefs = {call.brief for call in talk.asked("message")}
    assert len(briefs) == 1


@pytest.mark.parametrize(
    ("reply", "stop", "asked"), [("", "clinician empty", 2), (ActorReply("", declined="unsafe"), "refused", 2)]
)
def test_an_agent_that_says_nothing(reply: str | ActorReply, stop: str, asked: int) -> None:
    talk = talked(Talk(message=reply), **FREE)
    assert (talk.ended.stop, talk.ended.completed) == (stop, False)
    assert len(talk.asked("message")) == asked


def test_an_agent_that_says_the_same_for_ever() -> None:
    ended = talked(Talk(message="Tell me more about your mother."), **FREE).ended
    assert ended.stop == "clinician repeats"
    assert sum(turn.role == "clinician" for turn in ended.turns) == 4


def test_thoughts_and_faults_are_kept_beside_the_message() -> None:
    def reply(call: Call) -> str:
        return f"<think>He is tense.</think>Number {call.ordinal}: *nods* tell me about matter {call.ordinal}."

    turn = talked(Talk(message=reply, moderation={"stage": "exit"}), **FREE).ended.turns[1]
    assert turn.meta == {"stage": "exit", "thought": "He is tense.", "flags": ["stage directions"]}
    assert turn.text == "Number 1: *nods* tell me about matter 1."


def test_a_refused_message_keeps_its_state_where_the_moderator_cannot_be_read_afterwards() -> None:
    replies = Talk(message=lambda call: "" if call.attempt == 1 else "How are you?", moderation={"stage": "none"})
    talk = talked(replies, **FREE)
    assert talk.failure is not None
    (kept,) = (state for state in talk.failure.states if state["purpose"] == "message")
    assert kept == {
        "turn": 1, "purpose": "message", "before": 1, "message": "How are you?", "refused": (("", "empty"),),
    }  # fmt: skip
