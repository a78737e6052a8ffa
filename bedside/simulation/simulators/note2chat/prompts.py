"""The prompts of the interview and of the preparation of notes, from the files beside this one."""

from __future__ import annotations

from pathlib import Path

from bedside.simulation.simulators.prompt_files import FilledPrompt, prompts_in

FOLDER = Path(__file__).parent


def prompt(prompt_id: str, language: str, **variables: str | int) -> FilledPrompt:
    """A prompt with what its slots hold; see :func:`bedside.simulation.simulators.prompt_files.prompts_in`."""
    return prompts_in(FOLDER / "prompts").get(prompt_id, language).fill(**variables)
