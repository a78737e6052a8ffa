"""Every probe states what it changes and what it expects; what it states is checked here, for all of them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from bedside.judges.prompt import Conversation, Prompt, Question
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.transcripts.transcript import Transcript
from bedside.tuning.probes import PROBES, Altered, Probe, ProbeMaterial, Unalterable, Variant
from bedside.tuning.probes.turn_texts import LANGUAGES, reworded, text_language
from tests.conftest import conversation

LINES = {
    "en": (
        "Hello, how have you been since we last met? Please tell me. I have time.",
        "Not so good. I sleep badly and I can't work as I did.",
    ),
    "de": (
        "Guten Tag, wie ist es Ihnen seit dem letzten Mal gegangen? Bitte erzählen Sie mir. Ich habe Zeit.",
        "Nicht so gut. Ich schlafe schlecht und kann nicht mehr so arbeiten wie sonst.",
    ),
    "zh": ("您好，上次见面以后您过得怎么样？请告诉我。我有时间。", "不太好。我睡不好，也不能像以前那样工作。"),
}
VARIANTS = [
    pytest.param(probe, variant, id=f"{probe.name}.{variant.name}")
    for probe in PROBES.all().values()
    for variant in probe.variants
]
#: Changes that a language has no place for.
WITHOUT_CASE = {("capitals", "zh")}


def talk(language: str, exchanges: int = 6, tagged: bool = True) -> Transcript:
    clinician, patient = LINES[language]
    pairs = (("clinician", clinician), ("patient", patient))
    turns = [(role, f"{text} ({number})") for number in range(exchanges) for role, text in pairs]
    return conversation(*turns, id="t1", language=language if tagged else None)


def material(language: str = "en", **fields: Any) -> ProbeMaterial:
    rubric = RUBRICS.load("empathy")
    transcript = talk(language)
    turned = tuple(replace(turn, text=f"<{turn.text}>") for turn in transcript.turns)
    other = replace(rubric, definition=f"In other words: {rubric.definition}")
    made = ProbeMaterial(transcript, rubric, language, 3, replace(transcript, turns=turned), other)
    return replace(made, **fields)


def prompt_of(altered: Altered) -> str:
    """What the judge reads."""
    (prompt,) = Question(altered.rubric).prompts(Conversation(altered.transcript))
    assert isinstance(prompt, Prompt)
    if altered.reword is not None:
        prompt = reworded(prompt, altered.reword)
        assert isinstance(prompt, Prompt)
    return prompt.text


@pytest.mark.parametrize("name", PROBES.names())
def test_states_its_facts(name: str) -> None:
    probe = PROBES.load(name)
    assert probe.name == name
    assert probe.expects in ("stays", "moves")
    assert probe.title
    assert probe.description.endswith(".")
    assert len(probe.description) > 100
    names = [variant.name for variant in probe.variants]
    assert names
    assert len(set(names)) == len(names)
    for variant in probe.variants:
        assert re.fullmatch(r"[a-z0-9-]+", variant.name)
        assert not variant.title.endswith(".")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("probe", "variant"), VARIANTS)
def test_changes_what_the_judge_reads(probe: Probe, variant: Variant, language: str) -> None:
    """It changes the prompt, the same way each time, leaves what it was given as it was, and keeps the levels."""
    brought = material(language)
    before = brought.transcript.to_json()
    altered = variant.alter(brought)
    if (variant.name, language) in WITHOUT_CASE:
        assert isinstance(altered, Unalterable)
        return
    assert isinstance(altered, Altered)
    assert brought.transcript.to_json() == before
    original = prompt_of(Altered(brought.transcript, brought.rubric))
    if variant.against is not None:
        against = variant.against(brought)
        assert isinstance(against, Altered)
        assert prompt_of(against) != original
        original = prompt_of(against)
    assert (prompt_of(altered) == original) == variant.again
    again = variant.alter(material(language))
    assert isinstance(again, Altered)
    assert prompt_of(again) == prompt_of(altered)
    assert [turn.index for turn in altered.transcript.turns] == list(range(len(altered.transcript.turns)))
    levels = [float(level.value) for level in brought.rubric.scale]
    assert [float(level.value) for level in altered.rubric.scale] == levels
    if altered.level is not None:
        assert sorted(map(altered.level, levels)) == levels


@pytest.mark.parametrize(("probe", "variant"), VARIANTS)
def test_a_conversation_with_nothing_in_it_is_refused_or_changed(probe: Probe, variant: Variant) -> None:
    """No conversation makes a probe fail: what can't be changed says why."""
    for transcript in (
        conversation(id="empty"),
        conversation(("patient", "Hello."), id="patient alone"),
        conversation(("clinician", ""), ("clinician", "  "), id="silent"),
        conversation(("other", "A note."), id="note"),
    ):
        for alter in filter(None, (variant.alter, variant.against)):
            made = alter(material(transcript=transcript, translation=transcript))
            if isinstance(made, Unalterable):
                assert made.reason
                assert not made.reason.endswith(".")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_language_shows_without_a_tag(language: str) -> None:
    assert text_language(talk(language, tagged=False)) == (language, None)


def test_a_language_without_texts_gets_english_ones_and_says_so() -> None:
    french = conversation(("clinician", "Bonjour, comment allez-vous ?"), language="fr")
    assert text_language(french) == ("en", "English texts were put into a conversation in fr")
