"""Readability in other languages equals textstat with that language set, and is missing in every other language."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from bedside.metrics import FAMILIES, Family
from bedside.metrics.textstat_library import ASKED, TextCounts, formula
from bedside.transcripts.language import primary_language
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation
from tests.metrics.test_readability import FOREIGN, as_sentences

NAMES = [name for name in FAMILIES.names() if name.startswith("readability_")]
#: The part of each formula's name in textstat, where bedside's differs.
FUNCTIONS = {
    "flesch_amstad": "flesch_reading_ease",
    "flesch_douma": "flesch_reading_ease",
    "flesch_hungarian": "flesch_reading_ease",
    "flesch_kandel_moles": "flesch_reading_ease",
    "flesch_oborneva": "flesch_reading_ease",
    "flesch_vacca": "flesch_reading_ease",
    "gulpease": "gulpease_index",
    "gunning_fog_hungarian": "gunning_fog",
    "gunning_fog_polish": "gunning_fog",
}
PIECES = (
    "der die l'anno Kopfschmerzen über Untersuchung cabeza ¿Qué pastillas; głowy przeprowadzanego здоровье أسابيع "
    "الدواء don't — ... . ! ? ( 12 3.5 Straße İ \n naïve huvudvärk a"
).split(" ")


def said(family: Family) -> Transcript:
    return conversation(*family.demonstration, **family.demonstration_fields)


def values(family: Family, transcript: Transcript, **given: Any) -> dict[tuple[str, Any], Any]:
    names = frozenset(metric.name for metric in family.metrics)
    found = family.compute(transcript, names, **family.settings(given))
    return {(value.metric, value.turn if value.role is None else value.role): value for value in found}


def by_textstat(metric: str, text: str, language: str) -> float:
    """What textstat gives, of which an instance of its own is asked: its language is nobody else's."""
    textstat = pytest.importorskip("textstat").textstat.__class__()
    textstat.set_lang(primary_language(language))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where it takes English words for want of others
        name, _, variant = metric.rpartition("_")
        if name == "wiener_sachtextformel":
            return float(textstat.wiener_sachtextformel(text, int(variant)))
        return float(getattr(textstat, FUNCTIONS.get(metric, metric))(text))


def assert_equal_textstat(family: Family, transcript: Transcript) -> None:
    found = values(family, transcript, min_words=0)
    for metric in family.metrics:
        if metric.unit == "transcript":
            for role in ("clinician", "patient"):
                text = as_sentences(turn.text for turn in transcript.of(role))
                value = found[metric.name, role]
                if value.error is None:
                    assert value.value == by_textstat(metric.name, text, str(transcript.language))
        else:
            for turn in transcript.turns:
                value = found[metric.name, turn.index]
                if value.error is None:
                    name = metric.name.removeprefix("turn_")
                    assert value.value == by_textstat(name, turn.text, str(transcript.language))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "readability_long_words"])
def test_values_equal_textstat(name: str) -> None:
    family = FAMILIES.load(name)
    assert_equal_textstat(family, said(family))
    title = family.title.partition("(")[2].rstrip(")")
    if title in FOREIGN:
        turns = (("clinician", FOREIGN[title]), ("patient", FOREIGN[title] * 2))
        assert_equal_textstat(family, conversation(*turns, **family.demonstration_fields))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(NAMES),
    st.lists(st.lists(st.sampled_from(PIECES), max_size=20).map(" ".join), min_size=1, max_size=4),
)
def test_values_of_generated_talk_equal_textstat(name: str, texts: list[str]) -> None:
    family = FAMILIES.load(name)
    if name == "readability_long_words":
        language = "de"
    else:
        language = family.demonstration_fields["language"]
    assert_equal_textstat(family, conversation(*(("patient", text) for text in texts), language=language))


@pytest.mark.parametrize("name", NAMES)
def test_the_language_that_the_transcript_states_decides(name: str) -> None:
    family = FAMILIES.load(name)
    own = family.demonstration_fields["language"]
    stated = values(family, said(family))
    for tag in (own, f"{primary_language(own)}-XX", primary_language(own).upper()):
        again = values(family, conversation(*family.demonstration, language=tag))
        assert [value.value for value in again.values()] == [value.value for value in stated.values()]
    for tag in ("zh", "ja-JP", None):
        found = values(family, conversation(*family.demonstration, language=tag)).values()
        ending = "states no language" if tag is None else f"language is {tag}"
        assert all(value.error.startswith("made for ") and value.error.endswith(ending) for value in found)


@pytest.mark.parametrize("name", NAMES)
def test_english_has_no_value_by_a_formula_for_another_language(name: str) -> None:
    family = FAMILIES.load(name)
    if name != "readability_long_words":
        english = values(family, conversation(*family.demonstration, language="en"))
        assert all("the transcript's language is en" in value.error for value in english.values())


def test_families_can_be_sent_to_other_processes() -> None:
    for name in NAMES:
        family = FAMILIES.load(name)
        again = pickle.loads(pickle.dumps(family.compute))  # noqa: S301
        names = frozenset(metric.name for metric in family.metrics)
        assert list(again(said(family), names, min_words=20)) == list(values(family, said(family)).values())


@pytest.mark.parametrize(
    ("words_per_sentence", "percent_long", "lix"),
    [(17, 30, 47), (20, 28, 48), (22, 29, 51), (25, 27, 52), (23, 32, 55), (22, 37, 59), (30, 35, 65), (14, 58, 72)],
)
def test_lix_agrees_with_the_newspapers_of_1983(words_per_sentence: int, percent_long: int, lix: int) -> None:
    """Björnsson's newspapers: Swedish, Norwegian, Danish, English, French, German, Italian and Finnish."""
    words = 100 * words_per_sentence
    counts = TextCounts("", 100, words, words, long_words=percent_long * words_per_sentence)
    assert formula("lix")(counts) == pytest.approx(lix)
    assert formula("rix")(counts) == pytest.approx(percent_long * words_per_sentence / 100)


def test_arabic_vowel_marks_are_remarked_on() -> None:
    family = FAMILIES.load("readability_arabic")
    assert values(family, said(family))["osman", "patient"].reason is None
    marked = conversation(*((role, f"{text} كَتَبَ.") for role, text in family.demonstration), language="ar")
    assert values(family, marked)["osman", "patient"].reason == "short vowel marks, counted as characters: 6"


def test_each_formula_asks_for_what_is_listed() -> None:
    """A formula that asked for a count which isn't listed would be given None, and fail."""
    of_text_alone = {
        "automated_readability_index",
        "coleman_liau_index",
        "gulpease_index",
        "gutierrez_polini",
        "lix",
        "osman",
        "rix",
    }
    arguments = {"wiener_sachtextformel": (1, "de")} | dict.fromkeys(of_text_alone, ())
    for name, fields in ASKED.items():
        counts = TextCounts("كتب", 4, 30, 30, **dict.fromkeys(fields, 10))
        assert isinstance(formula(name)(counts, *arguments.get(name, ("es",))), float)
