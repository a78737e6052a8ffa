"""The six stages and the rule by which the sensemaker goes through them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bedside.simulation.simulators.asking import Spoken

FOSTERING, GATHERING, PROVIDING, DECIDING, RESPONDING, EXIT = range(1, 7)
#: Names as transcripts carry them.
NAMES: Mapping[int, str] = {
    FOSTERING: "fostering the relationship",
    GATHERING: "gathering information",
    PROVIDING: "providing information",
    DECIDING: "decision making",
    RESPONDING: "responding to emotions",
    EXIT: "exit",
}
#: Decisions in a row to stay; the next moves, whatever it says.
STAYS = 4
#: Messages of the sensemaker in each stage, and in all, at most.
MOST_BY_STAGE: Mapping[int, int] = {
    FOSTERING: STAYS,
    GATHERING: STAYS + 1,
    PROVIDING: 1,
    DECIDING: STAYS + 1,
    RESPONDING: STAYS + 1,
    EXIT: 1,
}
MOST_MESSAGES = sum(MOST_BY_STAGE.values())


@dataclass(frozen=True, slots=True)
class StageState:
    """Where the conversation is.

    Attributes:
        stage: from 1 to 6.
        stays: decisions to stay since the stage was entered.
    """

    stage: int = FOSTERING
    stays: int = 0

    @property
    def asked(self) -> bool:
        """Whether somebody decides on the next stage, and it is left without a message where all was said already;
        information is provided in one message, and exit is the end."""
        return self.stage not in (PROVIDING, EXIT)

    def decided(self, *, move: bool) -> StageState:
        """After a decision: the cap moves on from a stage that was stayed in four times."""
        if move or not self.asked or self.stays == STAYS:
            return self.moved()
        return StageState(self.stage, self.stays + 1)

    def moved(self) -> StageState:
        """In the next stage; exit is the last."""
        return StageState(min(self.stage + 1, EXIT))


@dataclass(frozen=True, slots=True)
class StagedMessage:
    """What the sensemaker or the agent says.

    Attributes:
        spoken: the message; without text where there is none.
        stage: the message's, from 1.
        state: for the hidden states.
        stop: why the conversation ends where there is no message, unless the message's flags say it.
    """

    spoken: Spoken
    stage: int
    state: Mapping[str, Any]
    stop: str = ""
