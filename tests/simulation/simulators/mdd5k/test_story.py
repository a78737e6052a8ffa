"""A patient's past: how it is drawn, who shares it, and what is wrong with a story."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import cast

import pytest
import yaml
from scipy import stats

from bedside.simulation.simulators.mdd5k.case_fields import PersonalHistory, PsychiatricRecord
from bedside.simulation.simulators.mdd5k.story import (
    Decade,
    GraphFile,
    StoryGraph,
    StorySeed,
    draw_story,
    find_graphs,
    story_faults,
    written_story,
)
from tests.simulation.simulators.playing import Table, run_exchange

WOMAN = PsychiatricRecord(age=20, sex="female", personal_history=PersonalHistory(work="大学生"))
SEED = StorySeed("两年前", "家人", "妈妈", "生了重病")
STORY = "两年前妈妈生了重病，我一边上课一边跑医院照顾她，成绩掉了下来，也没有人可以说。后来她出院了，我却总是睡不踏实。"
ENGLISH = (
    "Two years ago my mother fell seriously ill. I went from my lectures to the hospital every day, my marks went "
    "down, and there was nobody I could tell. She came home in the end, and I never slept well again."
)
DRAWS = 6000


# -- graphs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["zh", "en"])
def test_there_is_a_graph_for_each_sex_and_decade_up_to_fifty(language: str) -> None:
    graphs = find_graphs("bundled", language)
    for sex in ("female", "male"):
        for age in range(10, 60):
            graph = graphs.graph_for(PsychiatricRecord(age=age, sex=sex))
            assert graph is graphs.graphs[sex][cast(Decade, str(age // 10 * 10))]
            numbers = [len(people) for people in graph.people.values()]
            assert len(numbers) >= 2
            assert len(set(numbers)) > 1, "unequal numbers of people"
        for age in (9, 60, 80):
            assert graphs.graph_for(PsychiatricRecord(age=age, sex=sex)) is None


def test_a_category_is_drawn_in_proportion_to_its_people() -> None:
    graph = find_graphs("bundled", "zh").graphs["female"]["20"]
    stream = random.Random(7)
    drawn = [draw_story(graph, stream) for _ in range(DRAWS)]
    people = {name: len(own) for name, own in graph.people.items()}
    counts = Counter(seed.category for seed in drawn)
    expected = [DRAWS * people[name] / sum(people.values()) for name in people]
    assert stats.chisquare([counts[name] for name in people], expected).pvalue > 0.001
    # In proportion to people and not to events: by events, oneself would come first.
    events = {name: len(own) for name, own in graph.experience.items()}
    by_events = [DRAWS * events[name] / sum(events.values()) for name in people]
    assert stats.chisquare([counts[name] for name in people], by_events).pvalue < 1e-9
    # Every person is as likely as any other, times are uniform, person and event are apart within a category.
    persons = Counter((seed.category, seed.person) for seed in drawn)
    assert stats.chisquare(list(persons.values())).pvalue > 0.001
    assert stats.chisquare(list(Counter(seed.time for seed in drawn).values())).pvalue > 0.001
    family = Counter((seed.person, seed.event) for seed in drawn if seed.category == "家人")
    table = [[family[person, event] for event in graph.experience["家人"]] for person in graph.people["家人"]]
    assert stats.chi2_contingency(table).pvalue > 0.001


def test_a_file_of_ones_own_is_read(tmp_path: Path) -> None:
    path = tmp_path / "graphs.yaml"
    graph = {"time": ["now"], "people": {"a": ["b"]}, "experience": {"a": ["c"]}}
    path.write_text(yaml.safe_dump({"male": {"30": graph}}), "utf-8")
    read = find_graphs(str(path), "en")
    assert isinstance(read, GraphFile)
    own = read.graph_for(PsychiatricRecord(age=34, sex="male"))
    assert own == StoryGraph(time=("now",), people={"a": ("b",)}, experience={"a": ("c",)})
    assert read.graph_for(PsychiatricRecord(age=34, sex="female")) is None
    assert draw_story(own, random.Random(0)) == StorySeed("now", "a", "b", "c")


# -- stories ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (STORY, "zh"),
        (ENGLISH, "en"),
        ("十五岁那年班主任老师当着全班批评我，我不敢去学校，后来每次走进教室都发抖。", "zh"),
        ("数学老师说我不是学习的料，我记了两年，由于老师的这句话我再也不举手。", "zh"),
        ("When I was 17, my best friend stopped talking to me, and nobody ever told me why.", "en"),
        ("Three years ago my teacher scolded me before the class. The Sunday after, I could not get up.", "en"),
    ],
)
def test_a_good_story_is_taken(text: str, language: str) -> None:
    assert list(story_faults(text, WOMAN, language)) == []


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("妈妈病了。", "zh", "too short"),
        (STORY.replace("，", "\n", 1), "zh", "one paragraph"),
        (ENGLISH, "zh", "in Chinese"),
        (STORY.replace("妈妈", "小红"), "zh", "names somebody (小红)"),
        (STORY.replace("妈妈", "王阿姨"), "zh", "names somebody (王阿姨)"),
        (STORY + "她名叫陈晓梅。", "zh", "names somebody (名叫陈晓梅)"),
        (STORY.replace("两年前", "我四十五岁的时候"), "zh", "too young for that (四十五岁)"),
        (STORY.replace("两年前", "35年前"), "zh", "too young for that (35年前)"),
        (STORY + "我在厂里工作了二十年。", "zh", "can't have worked so long (工作了二十年)"),
        (STORY + "在医生的指导下我吃了药。", "zh", "recovery or of a doctor's advice"),
        (STORY + "我正在慢慢好起来。", "zh", "recovery or of a doctor's advice"),
        (ENGLISH.replace("my mother", "my friend Anna"), "en", "names somebody (friend Anna)"),
        (ENGLISH.replace("my mother", "Mrs Green"), "en", "names somebody (Mrs Green)"),
        (ENGLISH + " When I was 41 it came again.", "en", "too young for that (When I was 41)"),
        (ENGLISH + " I had worked there for 18 years.", "en", "can't have worked so long"),
        (ENGLISH + " With my doctor's help I sleep again.", "en", "recovery or of a doctor's advice"),
        (ENGLISH + " I am slowly getting better.", "en", "recovery or of a doctor's advice"),
    ],
)
def test_a_bad_story_is_told_why(text: str, language: str, words: str) -> None:
    assert any(words in fault for fault in story_faults(text, WOMAN, language))


def test_a_bad_story_is_asked_for_again_with_what_was_wrong() -> None:
    replies = Table({"story": [json.dumps({"story": STORY + "我痊愈了。"}), "no JSON", json.dumps({"story": STORY})]})
    story, calls, _ = run_exchange(written_story(WOMAN, "抑郁发作", "zh", SEED, 2), replies)
    assert (story.text, story.reason, len(story.refused)) == (STORY, "", 2)
    assert [call.attempt for call in calls] == [1, 2, 3]
    assert "recovery" in calls[1].objection
    assert {(call.actor, call.scope, call.ordinal) for call in calls} == {("evaluator", "case", 2)}
    for word in (*SEED.words().values(), "抑郁发作", "大学生"):
        assert word in calls[0].instruction or word == SEED.category


@pytest.mark.parametrize("reply", [json.dumps({"story": "小红" + STORY}), "{}", ""])
def test_after_three_bad_stories_there_is_none_and_why_is_said(reply: str) -> None:
    story, calls, _ = run_exchange(written_story(WOMAN, "抑郁发作", "zh", SEED, 1), Table({"story": reply}))
    assert (story.text, len(calls)) == ("", 3)
    assert story.reason
    assert story.seed == SEED
