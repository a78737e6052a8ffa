"""The prompts of the interview and of the preparation of notes, from the files beside this one."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bedside.simulation.simulators.prompt_files import filled_prompt

FOLDER = Path(__file__).parent
#: A prompt with what its slots hold.
prompt = partial(filled_prompt, FOLDER)
