"""The kinds of factors: by name, by the form of levels, and as declared."""

from __future__ import annotations

import pytest

from bedside.core.errors import InputError
from bedside.transcripts.factor_kinds import (
    MANY_LEVELS,
    Kind,
    check_declared,
    declared_kinds,
    form_kind,
    kind_of,
    known_kind,
)
from bedside.transcripts.read_options import ReadOptions

NAMES: dict[Kind, tuple[str, ...]] = {
    "condition": ("target_length", "setting", "persona", "Persona ID", "task", "mode", "doctor", "health_literacy",
                  "patient_model", "maxTurns", "turn_limit", "target-words", "condition", "synthetic"),
    "outcome": ("completed", "stop", "stopped", "stop_reason", "status", "turns", "numTurns", "n_exchanges", "words",
                "cost", "total costs", "prompt_tokens", "duration", "latency_ms", "elapsed_seconds"),
    "repeat": ("repeat", "epoch", "seed", "run", "run_id", "trial number", "replicate"),
    "label": ("mi_quality", "label", "rating"),
    "identifier": ("id", "patient_id", "video_url", "file", "index"),
    "provenance": ("model", "version", "prompt_version", "date", "created_at", "start time", "source"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in NAMES.items() for name in names])
def test_a_name_says_its_kind(kind: Kind, name: str) -> None:
    assert known_kind(name) == kind


@pytest.mark.parametrize("name", ["topic", "site", "length", "variant", "age", "sex", "tone", "empathy", "...", ""])
def test_what_may_be_either_is_left_open(name: str) -> None:
    assert known_kind(name) is None


def test_the_form_of_levels_says_what_a_name_does_not() -> None:
    assert form_kind(["2024-05-01", "2024-05-02T10:00:00"]) == "provenance"
    assert form_kind(["01.05.2024", "1/6/24"]) == "provenance"
    assert form_kind(["10:15", "10:20:30"]) == "provenance"
    assert form_kind(["2024-05-01", "May"]) is None
    assert form_kind(["She said that she sleeps badly since the summer", "x" * 61, "short"]) == "label"
    assert form_kind(["x" * 61, "short", "shorter"]) is None
    decimals = [f"{n}.5" for n in range(MANY_LEVELS + 1)]
    assert form_kind(decimals) == "outcome"
    assert form_kind(decimals[:-1]) is None
    assert form_kind([str(n) for n in range(30)]) is None
    assert form_kind([]) is None


def test_what_is_declared_goes_before_the_name() -> None:
    declared = declared_kinds(ReadOptions(conditions=("turns",), outcomes=("setting",)))
    assert kind_of("turns", ["8", "16"], declared) == "condition"
    assert kind_of("setting", ["8", "16"], declared) == "outcome"
    assert kind_of("started", ["2024-05-01"], declared) == "provenance"
    assert kind_of("site", ["Bern", "Basel"], declared) is None
    with pytest.raises(InputError, match="`conditions`: site"):
        declared_kinds(ReadOptions(conditions=("site",), outcomes=("site",)))
    with pytest.raises(InputError, match=r"`outcomes`: .*'setting'"):
        check_declared(declared, ["turns", "settings"])
