"""What stands in this folder beside the code: prompts, trees, graphs, doctors."""

from __future__ import annotations

from pathlib import Path

from bedside.simulation.simulators.prompt_files import FilledPrompt, prompts_in

FOLDER = Path(__file__).parent
#: What names the trees, graphs and doctors that come with bedside, in place of a file.
BUNDLED = "bundled"


def interview_prompt(prompt_id: str, language: str, **variables: str | int) -> FilledPrompt:
    """A prompt with what its slots hold; see :func:`bedside.simulation.simulators.prompt_files.prompts_in`."""
    return prompts_in(FOLDER / "prompts").get(prompt_id, language).fill(**variables)
