"""The evaluator's call: what one clinician turn does, by the rubric by which scoring evaluates turns, too.

The evaluator sees the turn, the clinician's turns shortly before it and the patient's open question: neither chart nor
concerns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import orjson

from bedside.judges.prompt import Conversation, Prompt, Question, pending_question
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.metrics.protocols.medconceal import evaluated_turn
from bedside.metrics.protocols.medconceal.labels import ConcernTurnLabels
from bedside.simulation.simulators.asking import Decided, ask_for_data
from bedside.simulation.simulators.calls import Call, Exchange, Line
from bedside.transcripts.transcript import Transcript, Turn

#: The rubric.
RUBRIC = "turn_evaluator"
#: Digits of the rubric's version that stand in the reference to the prompt.
_DIGITS = 12


@cache
def _question() -> Question:
    return Question(RUBRICS.load(RUBRIC))


def evaluate_turn(lines: Sequence[Line], number: int, language: str) -> Exchange[Decided]:
    """Labels of the last clinician turn, as :class:`ConcernTurnLabels`.

    Args:
        lines: the conversation up to that turn, which is the last one.
        number: number of the clinician turn, from 1.
        language: code of the conversation's language.

    Raises:
        UnusableConversationError: no reply could be read; a course can't skip a turn.
    """
    question = _question()
    rubric = question.rubric
    turns = tuple(Turn(index, line.role, line.role, line.text) for index, line in enumerate(lines))
    transcript = Transcript("conversation", turns, language=language)
    *_, prompt = question.prompts(Conversation(transcript))
    assert isinstance(prompt, Prompt)

    def read(answer: Any) -> ConcernTurnLabels:
        problem = rubric.problem(answer)
        if problem is not None:
            raise ValueError(problem)
        return ConcernTurnLabels.model_validate(evaluated_turn(answer))

    call = Call(
        "evaluator",
        "evaluation",
        number,
        instruction=prompt.text,
        kind="data",
        schema=orjson.loads(prompt.schema.text),
        material={
            "utterance": lines[-1].text,
            "pending_question": pending_question(transcript, turns[-1]),
        },
        prompt=f"{RUBRIC}@{question.version[:_DIGITS]}",
    )
    return (yield from ask_for_data(call, read))
