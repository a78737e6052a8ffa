"""The prompts of the reserved patient and of the clinician, from the files beside this one."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bedside.simulation.simulators.prompt_files import filled_prompt

FOLDER = Path(__file__).parent
#: A prompt with what its slots hold.
prompt_text = partial(filled_prompt, FOLDER)
