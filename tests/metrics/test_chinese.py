"""Chinese interviews: structure is counted, in characters; what is made for English is missing with the reason."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from bedside.metrics import FAMILIES
from bedside.ratings.values import Value
from bedside.transcripts.reading import read_transcripts
from bedside.transcripts.transcript import Transcript


@pytest.fixture(scope="module")
def interviews(mdd5k: Path) -> list[Transcript]:
    return list(islice(read_transcripts(mdd5k), 5))


def values(family: str, transcript: Transcript) -> list[Value]:
    found = FAMILIES.load(family)
    wanted = frozenset(metric.name for metric in found.metrics)
    return [v for v in found.compute(transcript, wanted, **found.settings()) if v.turn is None]


def test_structure_is_counted_in_characters(interviews: list[Transcript]) -> None:
    for interview in interviews:
        found = {(value.metric, value.role): value for value in values("structure", interview)}
        for role in ("clinician", "patient"):
            texts = [turn.text for turn in interview.of(role)]
            assert found["characters", role].value == sum(map(len, texts))
            assert found["characters_per_turn", role].value == pytest.approx(sum(map(len, texts)) / len(texts))
            assert found["words", role].error == "the text has no spaces between words; see characters"
            assert found["talk_share", role].reason == "by characters"
        assert found["exchanges", None].value is not None
        (balance,) = values("talk_time", interview)
        assert balance.value is not None
        assert balance.reason == "by characters"


@pytest.mark.parametrize("family", ["readability", "coordination"])
def test_what_is_made_for_english_is_missing_with_the_reason(interviews: list[Transcript], family: str) -> None:
    for interview in interviews:
        for value in values(family, interview):
            assert value.value is None
            assert value.error == "made for English; the transcript's language is zh"
