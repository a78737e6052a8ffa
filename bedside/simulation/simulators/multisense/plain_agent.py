"""An agent that is asked plainly, and the moderator that says which stage each of its messages belongs to.

The patient needs a stage to answer by. The moderator is the evaluator; it is offered the last stage and those after it,
so that none is gone back in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bedside.simulation.simulators.asking import CLINICIAN_REPEATS, ask_clinician, ask_for_data, silent_stop
from bedside.simulation.simulators.calls import Call, Exchange, Line
from bedside.simulation.simulators.faults import clinician_flags
from bedside.simulation.simulators.multisense.prompt_guides import (
    guides,
    guides_reference,
    listed,
    prompt_text,
)
from bedside.simulation.simulators.multisense.stages import FOSTERING, MOST_MESSAGES, NAMES

#: Messages in a row in which the agent repeats itself that end the conversation.
REPEATS = 3


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """What the agent says.

    Attributes:
        text: the words; empty where there are none.
        stage: the message's, from 1.
        thought: what it thought aloud.
        flags: what is wrong with the message.
        stop: why the conversation ends with or without this message; empty where it goes on.
        state: for the hidden states.
    """

    text: str
    stage: int
    thought: str
    flags: tuple[str, ...]
    stop: str
    state: Mapping[str, Any]


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
        self.counted: Counter[str] = Counter()
        self._repeats = 0

    def brief(self) -> tuple[str, str]:
        """What it is told, and the prompt's reference."""
        filled = prompt_text(
            "clinician_free", self.language, observations=listed(self.observations), most=MOST_MESSAGES
        )
        return filled.brief, filled.reference

    def message(self, lines: Sequence[Line], number: int) -> Exchange[AgentMessage]:
        """What it says next.

        Args:
            lines: what was said so far.
            number: of its message, from 1.

        Raises:
            UnusableConversationError: the moderator's reply can't be read.
        """
        brief, reference = self.brief()
        earlier = [line.text for line in lines if line.role == "clinician"]
        call = Call(
            "clinician",
            "message",
            number,
            brief=brief,
            history=tuple(lines),
            material={"number": number, "chart": "\n".join(self.observations)},
            prompt=reference,
        )
        spoken = yield from ask_clinician(
            call, lambda text: clinician_flags(text, language=self.language, earlier=earlier)
        )
        state: dict[str, Any] = {"before": self.stage, "message": spoken.text}
        state["refused"] = [list(refused) for refused in spoken.refused]
        if not spoken.text:
            return AgentMessage(
                "", self.stage, spoken.thought, spoken.flags, silent_stop(spoken.flags), state
            )
        state["moderations_refused"] = yield from self._moderated(spoken.text, lines, number)
        state["stage"] = self.stage
        self._repeats = self._repeats + 1 if "repeats itself" in spoken.flags else 0
        stop = CLINICIAN_REPEATS if self._repeats == REPEATS else ""
        return AgentMessage(spoken.text, self.stage, spoken.thought, spoken.flags, stop, state)

    def _moderated(self, message: str, lines: Sequence[Line], number: int) -> Exchange[list[list[str]]]:
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

        def read(value: Any) -> int:
            name = value.get("stage") if isinstance(value, dict) else None
            if name not in offered:
                raise ValueError(f'"stage" must be one of {", ".join(offered)}')
            return offered[name]

        decided = yield from ask_for_data(
            Call(
                "evaluator",
                "moderation",
                number,
                instruction=filled.instruction,
                kind="data",
                schema={
                    **(filled.schema or {}),
                    "properties": {"stage": {"type": "string", "enum": list(offered)}},
                },
                material={"stage": self.stage, "number": number, "message": message},
                prompt=f"{filled.reference} {guides_reference(self.language)}",
            ),
            read,
        )
        self.stage = decided.value
        return [list(refused) for refused in decided.refused]


_SPEAKERS = {"patient": "Person", "clinician": "Assistant"}
