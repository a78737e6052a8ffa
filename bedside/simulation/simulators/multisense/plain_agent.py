"""An agent that is asked plainly, and the moderator that says which stage each of its messages belongs to.

The patient needs a stage to answer by. The moderator is the evaluator; it is offered the last stage and those after it,
so that none is gone back in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bedside.simulation.simulators.asking import ask_clinician, ask_for_data
from bedside.simulation.simulators.calls import Call, Exchange, Line
from bedside.simulation.simulators.faults import clinician_watch
from bedside.simulation.simulators.multisense.prompt_guides import (
    guides,
    guides_reference,
    prompt_text,
)
from bedside.simulation.simulators.multisense.stages import FOSTERING, MOST_MESSAGES, NAMES, StagedMessage
from bedside.simulation.simulators.prompt_files import listed


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

    def brief(self) -> tuple[str, str]:
        """What it is told, and the prompt's reference."""
        filled = prompt_text(
            "clinician_free", self.language, observations=listed(self.observations), most=MOST_MESSAGES
        )
        return filled.brief, filled.reference

    def message(self, lines: Sequence[Line], number: int) -> Exchange[StagedMessage]:
        """What it says next.

        Args:
            lines: what was said so far.
            number: of its message, from 1.

        Raises:
            UnusableConversationError: the moderator's reply can't be read.
        """
        brief, reference = self.brief()
        call = Call(
            "clinician",
            "message",
            number,
            brief=brief,
            history=tuple(lines),
            material={"number": number, "chart": "\n".join(self.observations)},
            prompt=reference,
        )
        spoken = yield from ask_clinician(call, clinician_watch(lines, self.language))
        state: dict[str, Any] = {"before": self.stage, "message": spoken.text}
        state["refused"] = spoken.refused
        if spoken.text:
            state["moderations_refused"] = yield from self._moderated(spoken.text, lines, number)
            state["stage"] = self.stage
        return StagedMessage(spoken, self.stage, state)

    def _moderated(
        self, message: str, lines: Sequence[Line], number: int
    ) -> Exchange[tuple[tuple[str, str], ...]]:
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
        return decided.refused


_SPEAKERS = {"patient": "Person", "clinician": "Assistant"}
