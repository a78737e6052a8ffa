"""What stands in this folder beside the code: prompts, trees, graphs, doctors."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bedside.simulation.simulators.prompt_files import filled_prompt

FOLDER = Path(__file__).parent
#: What names the trees, graphs and doctors that come with bedside, in place of a file.
BUNDLED = "bundled"
#: A prompt with what its slots hold.
interview_prompt = partial(filled_prompt, FOLDER)
