"""The interview: who is told what and when, how it ends, and what its options change."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import read_cases
from bedside.simulation.simulators.contract import Outcome
from bedside.simulation.simulators.mdd5k import SIMULATOR
from bedside.simulation.simulators.mdd5k.doctor import PARSE
from tests.simulation.simulators.playing import Played, by_rules, play, situation
from tests.simulation.simulators.random_replies import any_reply
from tests.soak import budget

CASES = {case.id: case for _, case in read_cases(SIMULATOR.cases)}
WOMAN, MAN, ELDER, ENGLISH = CASES.values()
RULES = by_rules(SIMULATOR)
Reply = Callable[[Call], "str | ActorReply"]


def having(case: Case = WOMAN, *, replies: Mapping[str, Reply | str] | None = None, **more: Any) -> Played:
    """An interview with the toys, save for the replies at some sites."""
    own = replies or {}

    def reply(call: Call) -> str | ActorReply:
        answer = own.get(call.purpose, RULES)
        return answer if isinstance(answer, str) else answer(call)

    return play(SIMULATOR, case, reply, **more)


def marked(case: Case) -> Case:
    """A case with a mark in each field that some side must not see."""
    content = case.model_dump()
    content["hidden"]["diagnosis"] = "zqdiagnosisxk"
    content["extra"] = {
        "mdd5k": {
            **case.extra["mdd5k"],
            "icd_codes": ["zqcodexk"],
            "treatment_advice": "zqadvicexk",
            "present_illness": f"{case.extra['mdd5k']['present_illness']} zqillnessxk",
        }
    }
    return Case.model_validate(content)


def told(call: Call) -> str:
    return json.dumps(
        [call.brief, call.instruction, call.objection, call.schema, dict(call.material)],
        default=str,
        ensure_ascii=False,
    )


# -- who is told what ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", ["guided", "direct"])
@pytest.mark.parametrize("tree", ["corrected", "released"])
@pytest.mark.parametrize("closing", ["drop", "case", "inferred"])
def test_diagnosis_code_and_advice_are_in_no_call_to_a_side(setting: str, tree: str, closing: str) -> None:
    talk = having(marked(ENGLISH), setting=setting, options={"tree": tree, "closing": closing})
    talk.ended  # noqa: B018
    for call in talk.calls:
        words = told(call)
        assert "zqcodexk" not in words
        assert "zqadvicexk" not in words
        assert ("zqdiagnosisxk" in words) == (call.purpose == "story")
        # What the patient knows reaches the others by its words alone.
        assert ("zqillnessxk" in words) == (call.actor == "patient")


def test_the_clinician_is_told_age_sex_and_one_topic() -> None:
    talk = having(MAN)
    for call, topic in zip(talk.asked("message"), talk.ended.turns[::2], strict=True):
        assert "男性，40岁左右" in call.brief
        assert topic.meta["topic"] in call.instruction
        if call.ordinal > 1:  # the opening names sleep, as what is not to be asked about yet
            others = [text for text in talk.ended.simulation["tree"]["order"] if text != topic.meta["topic"]]
            assert not any(text in call.instruction for text in others)


@pytest.mark.parametrize("tree", ["corrected", "released"])
def test_the_story_reaches_the_patient_once_it_is_to_be_told_and_never_the_clinician(tree: str) -> None:
    text = "那一年家里出了变故，我一个人扛着所有的事，谁也没有告诉，从此再也没有睡过一个整觉。"
    due = iter([False, False, True])
    talk = having(
        replies={
            "story": json.dumps({"story": text}),
            "trigger": lambda call: json.dumps({"due": next(due)}),
            "reply": lambda call: f"这是第{call.ordinal}次回答，情况{'不' * call.ordinal}一样。",
        },
        options={"tree": tree},
    )
    assert len(talk.asked("trigger")) == 3, "asked until the first yes, and no more"
    for call in talk.calls:
        held = text in told(call)
        assert held == (call.actor == "patient" and call.ordinal >= 3)
    assert talk.ended.simulation["story"]["told_at"] == len(talk.asked("reply")[2].history)


def test_a_patient_over_fifty_has_no_story_and_that_is_said() -> None:
    talk = having(ELDER)
    assert not talk.asked("story")
    assert not talk.asked("trigger")
    story = talk.ended.simulation["story"]
    assert (story["told_at"], story["none"]) == (None, "no graph for this age")
    assert talk.ended.flags == {}


def test_without_a_story_that_can_be_used_the_interview_runs_and_counts_it() -> None:
    talk = having(replies={"story": json.dumps({"story": "小红害了我，小红后来向我道歉，我就完全康复了。"})})
    assert (talk.ended.stop, talk.ended.flags["without a story"]) == ("every topic", 1)
    assert "names somebody" in talk.ended.simulation["story"]["none"]
    assert not talk.asked("trigger")


# -- what is drawn ----------------------------------------------------------------------------------------


def drawn(outcome: Outcome) -> tuple[Any, ...]:
    tree = outcome.simulation["tree"]["order"]
    return tuple(tree), outcome.factors["doctor"], str(outcome.simulation["story"].get("drawn"))


def test_what_is_drawn_is_shared_by_clinicians_and_differs_between_repeats() -> None:
    own = having().ended
    other = having(replies={"message": lambda call: f"第{call.ordinal}个问题，{call.material['topic']}，请说。"}).ended
    assert drawn(own) == drawn(other)
    repeats = [having(repeat=number) for number in range(1, 7)]
    assert len({drawn(talk.ended)[0] for talk in repeats}) == 6
    assert len({drawn(talk.ended)[1] for talk in repeats}) > 1
    assert [talk.asked("story")[0].ordinal for talk in repeats] == [1, 2, 3, 4, 5, 6]
    assert drawn(having(seed=1).ended) != drawn(own)


# -- endings ------------------------------------------------------------------------------------------------


def test_the_closing_is_dropped_or_the_cases_or_the_clinicians() -> None:
    dropped = having().ended
    assert len(dropped.turns) % 2 == 0
    assert "ranked_diagnoses" not in dropped.reference
    stated = having(options={"closing": "case"})
    assert stated.ended.turns[:-1] == dropped.turns
    last = stated.ended.turns[-1]
    assert (last.role, last.meta) == ("clinician", {"closing": "case"})
    assert "抑郁发作" in last.text
    assert WOMAN.extra["mdd5k"]["treatment_advice"] in last.text
    assert len(stated.calls) == len(having().calls)
    reply = json.dumps({"message": "我想是焦虑。", "diagnoses": ["焦虑障碍", "失眠"]})
    inferred = having(options={"closing": "inferred"}, replies={"closing": reply}).ended
    assert inferred.turns[:-1] == dropped.turns
    assert inferred.turns[-1].text == "我想是焦虑。"
    assert inferred.reference["ranked_diagnoses"] == ["焦虑障碍", "失眠"]


@pytest.mark.parametrize(
    ("closing", "named", "text", "ranked"),
    [
        ("我想是焦虑障碍。", '{"diagnoses": ["焦虑障碍"]}', "我想是焦虑障碍。", ["焦虑障碍"]),
        ("我想是焦虑障碍。", "no JSON", "我想是焦虑障碍。", []),
        ('{"message": "", "diagnoses": ["焦虑障碍"]}', "", "1. 焦虑障碍", ["焦虑障碍"]),
        ("", "", None, []),
    ],
)
def test_a_closing_in_words_only_is_asked_about(closing: str, named: str, text: str | None, ranked: list[str]) -> None:
    talk = having(MAN, options={"closing": "inferred"}, replies={"closing": closing, "diagnoses": named})
    assert talk.ended.reference["ranked_diagnoses"] == ranked
    assert (talk.ended.stop, talk.ended.completed) == (("every topic", True) if text else ("clinician empty", False))
    last = talk.ended.turns[-1]
    assert (last.text if last.role == "clinician" else None) == text
    readable = "clinician: closing can't be read" not in talk.ended.flags
    assert readable == (bool(ranked))


@pytest.mark.parametrize("setting", ["guided", "direct"])
def test_the_clinicians_faults_end_it_as_its_results(setting: str) -> None:
    def from_third(words: ActorReply) -> Reply:
        return lambda call: words if call.ordinal > 2 else RULES(call)

    empty = having(setting=setting, replies={"message": from_third(ActorReply(""))}).ended
    assert (empty.stop, empty.completed, len(empty.turns)) == ("clinician empty", False, 4)
    refused = having(setting=setting, replies={"message": from_third(ActorReply("", declined="unsafe"))}).ended
    assert (refused.stop, refused.flags["clinician: refusal"]) == ("refused", 1)
    same = "请你说说最近这段时间的情况，慢慢说。"
    repeating = having(setting=setting, replies={"message": same}, options={"closing": "inferred"})
    assert (repeating.ended.stop, len(repeating.ended.turns)) == ("clinician repeats", 8)
    assert not repeating.asked("closing")


def test_a_patient_that_cannot_be_used_is_missing_data() -> None:
    talk = having(replies={"reply": "As an AI language model, I can't."})
    assert talk.failure is not None
    assert (talk.failure.whose, talk.failure.reason) == ("patient", "refusal")
    talk = having(replies={"topic_end": "perhaps"})
    assert talk.failure is not None
    assert talk.failure.whose == "evaluator"
    assert talk.failure.states


@pytest.mark.soak
@settings(max_examples=budget(25, 3000), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    bad=st.sampled_from((0.0, 0.02, 0.1)),
    case=st.sampled_from(list(CASES.values())),
    setting=st.sampled_from(("guided", "guided", "direct")),
    options=st.fixed_dictionaries(
        {option.name: st.sampled_from(option.choices) for option in SIMULATOR.options if option.choices}
    ),
)
def test_with_any_options_it_ends_within_the_calls_that_it_says(
    seed: int, bad: float, case: Case, setting: str, options: dict[str, Any]
) -> None:
    draw = random.Random(seed)
    talk = play(
        SIMULATOR, case, lambda call: any_reply(call, draw, bad=bad), setting=setting, options=options, seed=seed
    )
    most = SIMULATOR.most_calls(situation(SIMULATOR, case, setting=setting, options=options))
    calls = Counter(call.actor for call in talk.calls)
    assert all(calls[role] <= most[role] for role in calls), (calls, most)
    if talk.outcome is None:
        assert talk.failure is not None
        assert talk.failure.whose in ("patient", "evaluator")
        return
    turns = talk.outcome.turns
    assert all(turn.text.strip() for turn in turns)
    assert all(turn.role == ("clinician", "patient")[place % 2] for place, turn in enumerate(turns))
    assert talk.outcome.simulation["exchanges"] <= 75


# -- the free talk ------------------------------------------------------------------------------------------


def test_a_free_talk_has_no_topics_no_story_and_twelve_exchanges_at_most() -> None:
    talk = having(setting="direct", replies={"interview_end": '{"ended": false}'})
    assert (talk.ended.stop, talk.ended.completed, len(talk.ended.turns)) == ("exchange limit", True, 24)
    assert {call.purpose for call in talk.calls} == {"message", "reply", "interview_end"}
    assert not any(call.instruction for call in talk.calls if call.actor != "evaluator")
    assert all(turn.meta == {} for turn in talk.ended.turns)
    assert set(talk.ended.factors) == {"sex", "age"}
    # Before each message but the first, as the source asks it.
    assert len(talk.asked("interview_end")) == 11
    early = having(setting="direct", replies={"interview_end": lambda call: json.dumps({"ended": call.ordinal == 3})})
    assert (early.ended.stop, len(early.ended.turns)) == ("evaluator ends", 6)


# -- topics left out --------------------------------------------------------------------------------------


def quoting(quote: str) -> Reply:
    def reply(call: Call) -> str:
        return json.dumps({"answered": [{"topic": 1, "quote": quote}] if call.ordinal == 1 else []})

    return reply


@pytest.mark.parametrize(
    ("quote", "taken"),
    [
        ("半年前开始情绪低落，常常想哭", True),
        ("半年前开始，情绪低落。常常想哭！", True),
        ("半年前", False),
        ("", False),
        ("我已经好几天没有睡觉了", False),
        ("最近整个人的状态怎么样", False),
    ],
)
def test_a_topic_is_left_out_only_on_the_patients_own_words(quote: str, taken: bool) -> None:
    talk = having(replies={"duplicates": quoting(quote)})
    first = talk.asked("duplicates")[0].material["topics"].splitlines()[0].removeprefix("1. ")
    deletions = talk.ended.simulation["tree"]["deletions"]
    assert deletions == ([{"topic": first, "by": "answered", "evidence": quote}] if taken else [])
    assert (first in talk.ended.simulation["tree"]["asked"]) == (not taken)
    unquoted = [state for state in talk.ended.states if "not the patient's words" in state]
    assert len(unquoted) == (not taken)


def test_as_released_each_remaining_topic_is_held_against_the_angles_by_itself() -> None:
    for seed in range(12):
        talk = having(seed=seed, options={"tree": "released"})
        assert not talk.asked("duplicates")
        assert not talk.asked("covered")
        grown = bool(talk.ended.simulation["tree"]["angles"])
        order = talk.ended.simulation["tree"]["order"]
        assert len(talk.asked("same_topic")) == (len(order) - order.index(PARSE) - 1 if grown else 0)


# -- options ------------------------------------------------------------------------------------------------


def test_what_the_patient_does_not_know_it_denies_or_does_not_know_or_makes_up() -> None:
    briefs = {
        unknown: having(MAN, options={"unknown": unknown}).asked("reply")[0].brief
        for unknown in ("deny", "dont_know", "improvise")
    }
    assert len(set(briefs.values())) == 3
    assert "想象" in briefs["improvise"]
    assert "想象" not in briefs["deny"] + briefs["dont_know"]


def test_trees_graphs_and_doctors_of_ones_own_are_used(tmp_path: Path) -> None:
    tree = {
        "状态": {
            "事情": {"parse": None},
            "症状": {"睡得好不好": None, "自杀念头": None},
            "个人": {"爱好": None},
            "亲属的病": None,
        }
    }
    for name in ("female_teen", "female_adult", "male_teen", "male_adult"):
        (tmp_path / f"{name}.json").write_text(json.dumps(tree), "utf-8")
    graph = {"time": ["去年夏天"], "people": {"邻居": ["楼上的人"]}, "experience": {"邻居": ["半夜敲门"]}}
    graphs, doctors = tmp_path / "graphs.yaml", tmp_path / "doctors.yaml"
    graphs.write_text(json.dumps({"male": {"40": graph}}), "utf-8")
    doctor = {"id": "own", "age": 61, "sex": "male", "specialties": "成瘾", "speed": "slow", "style": "随和"}
    doctors.write_text(json.dumps([{**doctor, "empathy": True, "explains": "often"}]), "utf-8")
    options = {"trees": str(tmp_path), "graphs": str(graphs), "doctors": str(doctors)}
    talk = having(MAN, options=options)
    simulation = talk.ended.simulation
    assert set(simulation["tree"]["order"]) == {"状态", "parse", "睡得好不好", "自杀念头", "爱好", "亲属的病"}
    assert simulation["story"]["drawn"] == {
        "time": "去年夏天", "category": "邻居", "person": "楼上的人", "event": "半夜敲门",
    }  # fmt: skip
    assert talk.ended.factors["doctor"] == simulation["doctor"]["id"] == "own"
    assert "61岁，最擅长成瘾" in talk.asked("message")[0].brief
    assert simulation["story"]["graphs_sha256"] != having(MAN).ended.simulation["story"]["graphs_sha256"]


def test_told_its_diagnosis_the_patient_has_it_in_its_brief() -> None:
    for knows in (False, True):
        talk = having(marked(MAN), options={"knows_diagnosis": knows})
        assert all(("zqdiagnosisxk" in call.brief) == knows for call in talk.asked("reply"))
        assert not any("zqadvicexk" in call.brief or "zqcodexk" in call.brief for call in talk.calls)


def test_denying_the_toy_patient_says_nothing_that_its_case_does_not_hold() -> None:
    for case in CASES.values():
        facts = "".join(
            str(value) for value in json.loads(json.dumps(case.extra["mdd5k"], ensure_ascii=False)).values()
        )
        talk = having(case)
        for turn in talk.ended.turns[1::2]:
            sentences = [part for part in turn.text.replace(". ", "。").rstrip(".").split("。") if part]
            story = [state["story"] for state in talk.ended.states if state["purpose"] == "story"]
            for sentence in sentences:
                own = sentence[1:] in facts.replace("\n", " ") or sentence in story[0]
                denied = str(turn.meta["topic"]) in sentence
                assert own or denied, sentence


def test_what_is_written_down_of_a_turn() -> None:
    outcome = having().ended
    for doctor, patient in zip(outcome.turns[::2], outcome.turns[1::2], strict=True):
        assert set(doctor.meta) == {"topic", "follow_up", "parsed"}
        assert doctor.meta == patient.meta
    assert [turn.role for turn in outcome.turns] == ["clinician", "patient"] * outcome.simulation["exchanges"]
    assert outcome.reference == {"diagnosis": "抑郁发作", "icd_code": "F32.1"}
    assert outcome.factors["empathy"] in (True, False)
    assert (outcome.factors["sex"], outcome.factors["age"]) == ("female", 20)
    assert len(outcome.simulation["tree"]["sha256"]) == 64
