"""What comes with MedAgent's simulator, who can take part in it, and that its transcripts are scored as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

import bedside
from bedside.core.errors import InputError
from bedside.judges.llm.queue import Patience
from bedside.judges.prompt import Conversation, Prompt, Question
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.simulation.simulate import SimulationSettings, simulate_plan
from bedside.simulation.simulation_plan import SimulationRequest
from bedside.simulation.simulators.case import Case, Hidden
from bedside.simulation.simulators.case_files import leaks
from bedside.simulation.simulators.multisense import SIMULATOR
from bedside.simulation.simulators.multisense.stages import NAMES, guides
from bedside.simulation.simulators.scripts import read_script
from tests.judges.llm.server import Action, JudgeServer, Received
from tests.simulation.simulators.multisense.scenes import cases, personas, talked
from tests.simulation.simulators.playing import Played, by_rules, by_script, transcript_of

every_case = pytest.mark.parametrize("name", cases())


def scripted(name: str, case: str, **more: Any) -> Played:
    """A bundled clinician with the toy patient."""
    return talked(by_script(SIMULATOR, name), case, **more)


# -- cases and prompts --------------------------------------------------------------------------------


def test_six_people_three_of_them_in_psychiatry() -> None:
    assert set(cases()) == {"alcohol", "sleep", "diabetes", "heart", "panic", "bipolar"}
    psychiatric = {name for name, case in cases().items() if case.factors["specialty"] == "psychiatry"}
    assert psychiatric == {"sleep", "panic", "bipolar"}
    studies_only = [name for name, case in cases().items() if not case.patient.facts]
    assert studies_only == ["bipolar"]
    for name, case in cases().items():
        assert case.hidden.diagnosis
        assert name in studies_only or 12 <= len(case.patient.facts) <= 20


@every_case
def test_no_diagnosis_stands_in_what_the_patient_knows(name: str) -> None:
    assert not [remark for remark in leaks(cases()[name]) if "diagnosis" in remark.text]


def test_a_study_that_says_the_diagnosis_is_told() -> None:
    extra = {"multisense": {"study": "A man whose panic disorder was never treated."}}
    case = Case(id="c", origin="invented", hidden=Hidden(diagnosis="Panic disorder"), extra=extra)
    (remark,) = leaks(case)
    assert (remark.severity, remark.key) == ("warning", "extra.multisense.study")
    assert "diagnosis" in remark.text


def test_the_plan_has_the_size_of_the_publications() -> None:
    """181 cases with ten personas are 1,810 conversations for each of two models."""
    many = [cases()["panic"].model_copy(update={"id": f"c{number}"}) for number in range(181)]
    plan = SimulationRequest("multisense", ["rules", "script:brisk"], cases=many).plan()
    assert len(plan) == 2 * 1810


def test_guides_are_there_in_each_language() -> None:
    for language in SIMULATOR.languages:
        assert [stage.name for stage in guides(language).stages] == list(NAMES.values())


# -- toys ---------------------------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("setting", ["scaffold", "free"])
def test_the_toys_go_through_all_six_stages_but_the_first(name: str, setting: str) -> None:
    ended = talked(by_rules(SIMULATOR), name, setting=setting).ended
    assert (ended.stop, ended.completed) == ("exit", True)
    assert {turn.meta["stage"] for turn in ended.turns} == set(NAMES.values())
    assert not any(flag.startswith("clinician") for flag in ended.flags)


def test_the_toy_names_a_condition_and_says_that_it_cant_be_sure() -> None:
    named = {}
    for name in cases():
        turns = talked(by_rules(SIMULATOR), name, setting="free").ended.turns
        (said,) = (turn.text for turn in turns if turn.role == "clinician" and turn.meta["stage"] == NAMES[3])
        assert guides("en").fixed_sentence in said
        named[name] = said
    assert "panic disorder" in named["panic"]
    assert "depressive episode" in named["sleep"]


@every_case
def test_scripted_clinicians_end_as_they_should(name: str) -> None:
    lengths = {"good": 20, "brisk": 10}
    for script, length in lengths.items():
        for setting in ("scaffold", "free"):
            ended = scripted(script, name, setting=setting).ended
            assert (ended.stop, len(ended.turns)) == ("exit", length), (script, setting)
            assert not any(flag.startswith("clinician") for flag in ended.flags)
    assert scripted("silent", name).ended.stop == "no candidates"
    assert scripted("silent", name, setting="free").ended.stop == "clinician empty"


def test_who_repeats_itself_is_hurried_through_the_stages() -> None:
    ended = scripted("repeating", "panic").ended
    assert ended.stop == "exit"
    assert ended.flags["stages cut short by redundancy"] == 4
    assert ended.flags["clinician: forced"] == 3
    assert scripted("repeating", "panic", setting="free").ended.stop == "clinician repeats"


def test_a_recorded_conversation_is_played_to_its_end() -> None:
    recording = read_script("recorded", SIMULATOR.scripts).script
    talk = talked(recording.reply, "bipolar")
    assert (talk.ended.stop, len(talk.ended.turns)) == ("exit", 16)
    assert len(talk.calls) == len(recording.replies)
    assert talk.ended.flags == {"patient, refused: stage directions": 1}
    assert "bipolar II disorder" in next(turn.text for turn in talk.ended.turns[1:] if turn.meta["stage"] == NAMES[3])


# -- who can take part --------------------------------------------------------------------------------


def speaker(request: dict[str, Any]) -> str:
    return "Tell me more."


speaker.words_only = True  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("clinician", "why"),
    [
        ("human:anna", "a person types words"),
        (speaker, "the function says that it writes words only"),
        ("script:FILE", "the script has no `replies` for stage and candidates"),
    ],
)
def test_who_can_write_words_only_is_refused_in_the_scaffold_before_anything_runs(
    clinician: str | Callable[..., Any], why: str, tmp_path: Path
) -> None:
    script = tmp_path / "mine.yaml"
    script.write_text("lines: [Hello.]\n", encoding="utf-8")
    if clinician == "script:FILE":
        clinician = f"script:{script}"
    with pytest.raises(InputError) as caught:
        SimulationRequest("multisense", [clinician, "rules"]).plan()
    message = str(caught.value)
    assert why in message
    assert "can't be the clinician in scaffold" in message
    assert "choose `settings` free" in message
    with pytest.raises(InputError, match="in scaffold"):
        SimulationRequest("multisense", clinician, settings=["free", "scaffold"]).plan()
    assert len(SimulationRequest("multisense", clinician, settings=["free"], sample=1).plan())


@pytest.mark.slow
@pytest.mark.parametrize("wrapped", [True, False])
def test_an_agent_that_replies_with_messages_only_stops_the_run_at_its_first(tmp_path: Path, wrapped: bool) -> None:
    def agent(request: dict[str, Any]) -> dict[str, str] | str:
        asked.append(request["purpose"])
        words = f"Tell me more about matter {len(request['messages'])}."
        return {"message": words} if wrapped else words

    asked: list[str] = []
    who: dict[str, Any] = {"cases": [cases()["panic"]], "personas": [personas()["openness-basic"]]}
    plan = SimulationRequest("multisense", agent, **who).plan()
    with pytest.raises(InputError, match="replies with messages where the scaffold asks it for objects"):
        simulate_plan(plan, tmp_path / "talks", SimulationSettings())
    assert asked == ["stage"] * 3
    free = SimulationRequest("multisense", agent, settings=["free"], **who).plan()
    assert simulate_plan(free, tmp_path / "free", SimulationSettings()).counts.finished == 1


# -- scored as they are -------------------------------------------------------------------------------


def test_the_diagnosis_is_judged_by_the_message_that_gives_it() -> None:
    talk = scripted("good", "panic")
    (given,) = (turn.text for turn in talk.ended.turns if turn.role == "clinician" and turn.meta["stage"] == NAMES[3])
    others = [turn.text for turn in talk.ended.turns if turn.text != given]
    for name in ("diagnostic_accuracy_soft", "diagnostic_accuracy_hard"):
        (prompt,) = Question(RUBRICS.load(name)).prompts(Conversation(transcript_of(talk, "talk", language="en")))
        assert isinstance(prompt, Prompt)
        assert given in prompt.text
        assert str(talk.ended.reference["diagnosis"]) in prompt.text
        assert not any(text in prompt.text for text in others)


@pytest.mark.slow
def test_all_clinicians_get_the_same_opening_and_the_suite_scores_what_is_made(tmp_path: Path) -> None:
    plan = SimulationRequest(
        "multisense",
        ["rules", "script:brisk", "script:silent"],
        cases=[cases()["bipolar"], cases()["panic"]],
        personas=[personas()[name] for name in ("extraversion-basic", "neuroticism-advanced")],
        settings=["scaffold", "free"],
    ).plan()
    talks = tmp_path / "talks"
    summary = simulate_plan(plan, talks, SimulationSettings())
    assert summary.counts.finished == len(plan) == 24
    lines = [orjson.loads(line) for line in (talks / "transcripts.jsonl").read_bytes().splitlines()]
    openings: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        about = line["case_id"], line["factors"]["persona"]
        openings.setdefault(about, set()).add(line["turns"][0]["text"])
        assert line["factors"]["health_literacy"] in ("basic", "advanced")
        assert line["reference"]["simulation"]["options"]["risk_line"] is False
        assert line["factors"]["completed"] is (line["system"] != "script:silent")
    assert len(openings) == 4
    assert all(len(texts) == 1 for texts in openings.values())
    # Prepared once for the case, opened once for case and persona, whoever talks in whichever setting.
    import sqlite3

    with sqlite3.connect(talks / "log.sqlite") as connection:
        tables = {name for (name,) in connection.execute("select name from sqlite_master where type='table'")}
        (table,) = (name for name in tables if "repl" in name)
        counts = dict(connection.execute(f"select purpose, count(*) from {table} group by purpose"))
    assert {name: counts[name] for name in ("decomposition", "intent", "goal", "opening")} == {
        "decomposition": 1, "intent": 1, "goal": 1, "opening": 4,
    }  # fmt: skip
    run = bedside.score(talks, tmp_path / "run", suite="multisense").run
    stages = run.ratings.filter(pl.col("metric") == "stage")
    assert set(stages["label"].drop_nulls()) == set(NAMES.values())


@pytest.mark.server
def test_models_of_a_server_that_misbehaves_talk_to_the_end(tmp_path: Path) -> None:
    """Objects in fences, objects that break off, a server that fails at times, labels that can't be read."""
    numbers: Counter[str] = Counter()

    def answer(received: Received, number: int) -> Action:
        fields = tuple((received.schema or {}).get("properties", {}))
        numbers[fields[-1]] += 1
        times = numbers[fields[-1]]
        if number % 11 == 3:
            return Action(status=503)
        if fields[-1] == "message":
            whole = f'{{"reasoning": "", "message": "I slept badly for {number} nights and more."}}'
            return Action(text=whole[:20] if times == 2 else whole)
        if fields[-1] == "candidates":
            listed = ", ".join(f'"What was number {number} and {letter}{number}?"' for letter in "abc")
            return Action(text=f'```json\n{{"reasoning": "", "candidates": [{listed}]}}\n```')
        if fields[-1] == "3":
            good = '{"1": "not redundant", "2": "redundant", "3": "not redundant"}'
            return Action(text="All fine." if times == 2 else good)
        if fields[-1] == "decision":
            return Action(text='{"reasoning": "", "confidence": 9, "decision": "move"}')
        return Action(text=f'{{"facts": [{"2" if "reasoning" in fields else ""}], "known": []}}')

    with JudgeServer(answer) as server:
        plan = SimulationRequest(
            "multisense",
            server.judge,
            patient=server.judge,
            cases=[cases()["panic"]],
            personas=[personas()["openness-basic"]],
        ).plan()
        talks = tmp_path / "talks"
        patience = Patience(first_wait=0.01, longest_wait=0.02)
        assert simulate_plan(plan, talks, SimulationSettings(patience=patience)).counts.finished == 1
        asked = len(server.received)
        again = simulate_plan(plan, talks, SimulationSettings(patience=patience, replay=True))
        assert (again.calls.asked, len(server.received)) == (0, asked)
    (line,) = (talks / "transcripts.jsonl").read_bytes().splitlines()
    talk = orjson.loads(line)
    assert [turn["meta"]["stage"] for turn in talk["turns"][1::2]] == list(NAMES.values())[1:]
    flags = talk["reference"]["simulation"]["flags"]
    assert flags == {"patient, refused: reply can't be read": 1, "clinician: fixed sentence missing": 1}
