"""Rubrics in other languages: the same structure, other words, another wording to whoever compares ratings."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from bedside.core.errors import InputError, RegistryError
from bedside.judges.llm.endpoints import model_name
from bedside.judges.pair_question import ConversationPair, PairQuestion
from bedside.judges.prompt import Conversation, NotAskable, Question, objection
from bedside.judges.raters import rubric_rater
from bedside.judges.rubrics.prompt_words import filled_words, languages, prompt_words
from bedside.judges.rubrics.rubric import Rubric, as_data, read
from bedside.judges.rubrics.rubric_files import (
    RUBRICS,
    check_file,
    find_rubric,
    incomparable,
    preference_rubric,
    translate,
    translation_path,
)
from bedside.scoring.judging_orders import JudgingWork
from tests.conftest import conversation

TONGUES = ("de", "zh")
#: Frequent in English, and no words of German.
ENGLISH = frozenset(
    "the and of with that which whether is are this from what how for does they their there patient's client's "
    "therapist's clinician's doctor's turn level reply rate answer question where asked".split()
)
#: In letters of English in a Chinese text: names of schemes and of projects, and what stands in a reply.
LATIN = frozenset({"SOCRATES", "MedConceal", "null", "JSON", "true", "false"})
SHIPPED = RUBRICS.names()
EACH = pytest.mark.parametrize(("name", "language"), [(name, tag) for name in SHIPPED for tag in TONGUES])
TALK = conversation(
    ("clinician", "¿Qué tal?"), ("patient", "Mal."), ("clinician", "¿Desde cuándo?"), ("patient", "Lunes."),
    reference={
        **dict.fromkeys(("note", "patient_facts", "background", "goal", "diagnosis"), "7"),
        **{key: ["7"] for key in ("findings", "concerns", "submitted_findings", "ranked_diagnoses")},
    },
)  # fmt: skip


def texts(data: Any) -> list[str]:
    """All that a translation's file says, without the names that tell what a text is of."""
    if isinstance(data, dict):
        return [
            text
            for key, value in data.items()
            if key not in ("name", "label", "value")
            for text in texts(value)
        ]
    if isinstance(data, list):
        return [text for value in data for text in texts(value)]
    return [data] if isinstance(data, str) else []


def leftovers(text: str, language: str) -> set[str]:
    """English words of a text in another language, without what stands in braces or quotation marks."""
    bare = re.sub(r"\{[a-z_]+\}|\"[^\"\n]*\"", " ", text)
    words = set(re.findall(r"[A-Za-z][A-Za-z']*", bare))
    return words - LATIN if language == "zh" else {word for word in words if word.lower() in ENGLISH}


def structure(rubric: Rubric) -> Any:
    """What a reply must be, without descriptions."""

    def bare(schema: Any) -> Any:
        if isinstance(schema, dict):
            return {key: bare(value) for key, value in schema.items() if key != "description"}
        return [bare(value) for value in schema] if isinstance(schema, list) else schema

    return bare(rubric.schema())


@EACH
def test_a_translation_has_the_structure_of_the_rubric_and_words_of_its_own(name: str, language: str) -> None:
    rubric, other = RUBRICS.load(name), RUBRICS.find_in(name, language)
    assert structure(other) == structure(rubric)
    same = (
        "name",
        "unit",
        "kind",
        "role",
        "direction",
        "fails_at",
        "each",
        "window",
        "window_role",
        "stage",
        "source",
    )
    assert all(getattr(other, key) == getattr(rubric, key) for key in same)
    assert other.rating_scale() == rubric.rating_scale()
    assert other.references == rubric.references
    assert (other.language, other.translated_from) == (language, rubric.version)
    assert other.version != rubric.version
    assert other.key == f"{name}@{other.version}"
    assert read(as_data(other)) == other, "a run's manifest and a plan hold it whole"


@EACH
def test_nothing_of_a_translation_is_left_in_english(name: str, language: str) -> None:
    data = yaml.safe_load(translation_path(RUBRICS.path(name), language).read_text("utf-8"))
    for text in texts(data):
        assert not leftovers(text, language), text


@pytest.mark.parametrize("name", SHIPPED)
def test_the_linter_finds_nothing_in_the_translations_of_a_shipped_rubric(name: str) -> None:
    _, remarks = check_file(RUBRICS.path(name))
    assert [str(remark) for remark in remarks if "/" in remark.key.split(":")[0]] == []


@EACH
def test_a_prompt_is_in_one_language(name: str, language: str) -> None:
    rubric = find_rubric(name, language=language)
    question = Question(rubric)
    for prompt in question.prompts(Conversation(TALK)):
        assert not isinstance(prompt, NotAskable), prompt
        # Names of labels and of an index's items are data, which no language changes.
        told = re.sub(r"\[\d\][^\n]*|code [0-9a-f]{12}|[0-9a-f]{12}", " ", prompt.text)
        names = set(
            re.findall(r"[A-Za-z]+", " ".join(label for part in rubric.parts for label in _names(part)))
        )
        names |= {"providing", "information"} if rubric.stage else set()
        assert leftovers(told, language) - names == set(), prompt.text


def _names(part: Any) -> list[str]:
    nested = [name for item in part.items for name in _names(item)]
    return [part.name, *(label.label for label in part.labels), *nested]


@pytest.mark.parametrize("language", TONGUES)
def test_who_speaks_is_told_in_the_language(language: str) -> None:
    (prompt,) = Question(find_rubric("empathy", language=language)).prompts(Conversation(TALK))
    assert isinstance(prompt, type(prompt))
    roles = prompt_words(language).roles
    assert f"[0] {roles['clinician']}: ¿Qué tal?" in prompt.text  # type: ignore[union-attr]
    assert f"[1] {roles['patient']}: Mal." in prompt.text  # type: ignore[union-attr]


@pytest.mark.parametrize("language", TONGUES)
def test_two_conversations_are_compared_in_the_language(language: str) -> None:
    for name in SHIPPED:
        rubric = find_rubric(name, language=language)
        if incomparable(rubric) is not None:
            continue
        pair = ConversationPair(Conversation(TALK), Conversation(TALK))
        prompt = PairQuestion(rubric).prompt(pair, "transcript-first")
        assert not isinstance(prompt, NotAskable)
        told = re.sub(r"\[\d\][^\n]*|[0-9a-f]{12}", " ", prompt.text)
        named = {"providing", "information", "first", "second", "tie", "reason", "better"}
        assert leftovers(told, language) - named == set(), prompt.text
        assert preference_rubric(rubric).language == language


def test_the_words_of_a_language_have_the_keys_of_the_english() -> None:
    assert languages() == ("en", *TONGUES)
    english = prompt_words()
    for tag in TONGUES:
        words = prompt_words(tag)
        assert words.sections.keys() == english.sections.keys()
        for section, told in english.sections.items():
            assert words.sections[section].keys() == told.keys()
            for key, text in told.items():
                assert filled_words(words.sections[section][key]) == filled_words(text), (section, key)
                assert not leftovers(words.sections[section][key], tag) - {"Code", "Patient"}, (section, key)
        assert "problem" not in objection("5 of 5", words)


def test_a_judge_by_a_translation_is_another_rater() -> None:
    judge = model_name("openai/gpt-5-mini")
    english, german = find_rubric("empathy"), find_rubric("empathy", language="de")
    assert rubric_rater(judge, [english]) == "judge:openai/gpt-5-mini"
    assert rubric_rater(judge, [german]) == "judge:openai/gpt-5-mini+de"
    with pytest.raises(InputError, match="several languages"):
        JudgingWork((german, find_rubric("partnership")))


def test_english_stays_as_it_is() -> None:
    for name in SHIPPED:
        assert find_rubric(name, language="en") is RUBRICS.load(name)
        assert "language" not in as_data(RUBRICS.load(name))


# -- a user's own -----------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with a rubric of a user's own, and its German texts."""
    (tmp_path / "de").mkdir()
    for place in (".", "de"):
        shutil.copy(RUBRICS.path("empathy").parent / place / "empathy.yaml", tmp_path / place / "calm.yaml")
    path = tmp_path / "calm.yaml"
    path.write_text(path.read_text("utf-8").replace("name: empathy", "name: calm"), "utf-8")
    return tmp_path


def test_a_users_own_rubric_is_translated_by_a_file_beside_it(own: Path) -> None:
    for found in (find_rubric("calm", own, "de"), find_rubric(str(own / "calm.yaml"), language="de")):
        assert (found.name, found.title, found.language) == ("calm", "Empathie", "de")
    with pytest.raises(RegistryError, match="no texts in zh") as refused:
        find_rubric("calm", own, "zh")
    assert "zh/calm.yaml" in str(refused.value.todo)
    with pytest.raises(InputError, match="'fr'"):
        find_rubric("calm", own, "fr")


def test_a_rubric_can_be_in_another_language_from_the_start(own: Path) -> None:
    path = own / "ruhe.yaml"
    german = find_rubric("calm", own, "de")
    data = {**as_data(german), "name": "ruhe"}
    del data["translated_from"]
    path.write_text(yaml.safe_dump(data, allow_unicode=True), "utf-8")
    rubric = find_rubric("ruhe", own)
    assert (rubric.language, rubric.key) == ("de", "ruhe")
    assert rubric_rater(model_name("openai/gpt-5-mini"), [rubric]) == "judge:openai/gpt-5-mini"
    (prompt,) = Question(rubric).prompts(Conversation(TALK))
    assert "Das Bewertungsraster" in prompt.text  # type: ignore[union-attr]
    with pytest.raises(RegistryError, match="no texts in en"):
        find_rubric("ruhe", own, "en")


FAULTS = {
    "a level is missing": (lambda data: data["scale"].pop(), "scale: the rubric has 1, 2, 3, 4, 5"),
    "another level": (lambda data: data["scale"][0].update(value=7), "the translation 7, 2, 3, 4, 5"),
    "no title": (lambda data: data.pop("title"), "title"),
    "an unknown key": (lambda data: data.update(titel="Empathie"), "titel: unknown key"),
    "no instructions": (lambda data: data.pop("instructions"), "the translation has no such text"),
    "not translated": (
        lambda data: data.update(construct="Therapist empathy (motivational interviewing)"),
        "construct: the text is the rubric's own",
    ),
    "another input": (lambda data: data.update(definition=data["definition"] + " {goal}"), "names no input here"),
    "levels alike": (
        lambda data: data["scale"][1].update(descriptor=data["scale"][0]["descriptor"]), "are described alike",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_translation_that_does_not_fit_is_refused(own: Path, fault: str) -> None:
    spoil, said = FAULTS[fault]
    path = own / "de" / "calm.yaml"
    data = yaml.safe_load(path.read_text("utf-8"))
    spoil(data)
    _, remarks = translate(find_rubric("calm", own), data, "de")
    assert any(said in f"{remark.key}: {remark.text}" for remark in remarks if remark.severity == "error"), (
        remarks
    )
    path.write_text(yaml.safe_dump(data, allow_unicode=True), "utf-8")
    with pytest.raises(RegistryError) as refused:
        find_rubric("calm", own, "de")
    assert str(path) in str(refused.value.where)
    _, remarks = check_file(own / "calm.yaml")
    assert any(remark.key.startswith("de/calm.yaml: ") for remark in remarks if remark.severity == "error")
