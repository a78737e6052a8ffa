"""The prompts of patient, sensemaker and evaluator, and the guides that fill them, from the files beside this one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Literal

from pydantic import Field

from bedside.core.errors import RegistryError
from bedside.core.files import file_digest
from bedside.core.model_errors import to_model
from bedside.core.yaml_files import keys_and_values
from bedside.metrics.protocols.contract import Strict, Text
from bedside.simulation.simulators.prompt_files import HASH_DIGITS, filled_prompt

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
