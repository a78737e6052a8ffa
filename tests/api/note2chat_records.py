"""Plans of Note2Chat's training data made and carried out in one step, as the commands do it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bedside.api.note2chat_training import (
    Asking,
    Rollouts,
    candidate_plan,
    note_plan,
    roll_out,
    rollout_plan,
    thought_plan,
)
from bedside.core.records import PathOrPaths
from bedside.simulation.simulate import SimulationSummary
from bedside.transcripts.transcript import Transcript


def prepare_notes(notes: PathOrPaths, out: Path, asking: Asking) -> SimulationSummary:
    return asking.carry_out(note_plan(notes, asking), out)


def write_thoughts(transcripts: Sequence[Transcript], out: Path, asking: Asking) -> SimulationSummary:
    return asking.carry_out(thought_plan(transcripts, asking), out)


def write_candidates(transcripts: Sequence[Transcript], out: Path, asking: Asking, **options: Any) -> SimulationSummary:
    return asking.carry_out(candidate_plan(transcripts, asking, **options), out)


def rolled_out(cases: Any, out: Path, asking: Asking, **interviews: Any) -> Rollouts:
    return roll_out(rollout_plan(cases, asking, **interviews), out, asking)
