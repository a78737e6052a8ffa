"""The prompts of patient and agent, and the six stages with the rule by which the sensemaker goes through them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Literal

from pydantic import Field

from bedside.core.errors import RegistryError
from bedside.core.files import file_digest
from bedside.core.model_errors import to_model
from bedside.core.yaml_files import keys_and_values
from bedside.metrics.protocols.label_files import Strict, Text
from bedside.simulation.simulators.asking import Spoken
from bedside.simulation.simulators.prompt_files import HASH_DIGITS, filled_prompt

# -- The prompts of patient -----------------------------------------------------------------------------

FOLDER = Path(__file__).parent
#: A prompt with what its slots hold.
prompt_text = partial(filled_prompt, FOLDER)

#: Traits, in the order in which the publication names them.
Trait = Literal["openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism"]
Literacy = Literal["basic", "functional", "advanced"]
Intent = Literal["interpretation", "lifestyle", "journey"]
Goal = Literal["comfort", "function", "longevity"]


class TraitGuide(Strict):
    """A trait: what it is, and how a person talks in whom it is high or low."""

    definition: Text
    high: Text
    low: Text


class ChoiceGuide(Strict):
    """A reason to turn to a language model, or what a patient wants most."""

    title: Text
    definition: Text = Field(description="In the second person: the patient is told it.")
    patterns: str = ""


class StageGuide(Strict):
    """A stage of the conversation."""

    name: Text
    goal: Text
    writing: Text
    examples: tuple[Text, ...] = Field(min_length=1)
    moves: Text = Field(description="The condition for moving on.")


class Guides(Strict):
    """What prompts are filled with, in one language."""

    id: Literal["guides"]
    language: Literal["en"]
    traits: Mapping[Trait, TraitGuide]
    literacy: Mapping[Literacy, Text]
    intents: Mapping[Intent, ChoiceGuide]
    goals: Mapping[Goal, ChoiceGuide]
    caregiver: Text
    risk_line: Text
    fixed_sentence: Text
    stages: tuple[StageGuide, ...] = Field(min_length=6, max_length=6)

    def stage(self, number: int) -> StageGuide:
        """A stage by its number, from 1."""
        return self.stages[number - 1]


@cache
def guides(language: str) -> Guides:
    """The guides in a language.

    Raises:
        RegistryError: the file can't be read, or a key is wrong.
    """
    path = _path(language)
    see = "CONTRIBUTING.md"
    data = keys_and_values(path, "guides", see)
    return to_model(data, Guides, str(path), todo=f"see {see}", kind=RegistryError)


@cache
def guides_reference(language: str) -> str:
    """``guides.`` with the language and the beginning of the file's SHA-256, as prompts are referred to."""
    digest = file_digest(_path(language))
    return f"guides.{language}@{digest[:HASH_DIGITS]}"


def _path(language: str) -> Path:
    return FOLDER / f"guides.{language}.yaml"


# -- The six stages and the rule by which the sensemaker goes through them ------------------------------

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
    def is_decided_on(self) -> bool:
        """Whether somebody decides on the next stage, and it is left without a message where all was said already;
        information is provided in one message, and exit is the end."""
        return self.stage not in (PROVIDING, EXIT)

    def decided(self, *, move: bool) -> StageState:
        """After a decision: the cap moves on from a stage that was stayed in four times."""
        if move or not self.is_decided_on or self.stays == STAYS:
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
        stop: why the conversation ends where there is no message, unless the message's flags say it.
    """

    spoken: Spoken
    stage: int
    stop: str = ""
