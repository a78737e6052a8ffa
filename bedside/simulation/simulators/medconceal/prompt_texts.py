"""The prompts of the reserved patient and of the clinician, from the files beside this one."""

from __future__ import annotations

from pathlib import Path

from bedside.simulation.simulators.prompt_files import FilledPrompt, prompts_in

FOLDER = Path(__file__).parent


def prompt_text(prompt_id: str, language: str, **variables: str | int) -> FilledPrompt:
    """A prompt with what its slots hold; see :func:`bedside.simulation.simulators.prompt_files.prompts_in`."""
    return prompts_in(FOLDER / "prompts").get(prompt_id, language).fill(**variables)


def bulleted(texts: tuple[str, ...] | list[str], none: str) -> str:
    """Texts as a list, a line each."""
    return "\n".join(f"- {' '.join(text.split())}" for text in texts) or f"- {none}"
