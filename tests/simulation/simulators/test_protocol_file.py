"""Protocol files: what is read of them, what each side is told, and what is refused, with file and line."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
import yaml

import bedside
from bedside.cli.schemas import schema_text
from bedside.core.errors import BedsideError
from bedside.judges.rubrics.rubric_files import parse_rubric
from bedside.simulation.simulate import SimulationSettings, SimulationSummary, simulate_plan
from bedside.simulation.simulation_plan import SimulationRequest
from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.file_talk import find_simulator
from bedside.simulation.simulators.protocol_file import (
    ProtocolForm,
    TalkLength,
    check_people,
    gallery,
    new_protocol,
    read_protocol,
)
from tests.conftest import Call as Command, works
from tests.simulation.simulators.playing import Played, by_rules, play

PROTOCOL = """\
protocol: visits
title: Visits at home
source: written for these tests
people: people.csv
id: Name
factors: ["Risk (None/Low)"]
patient:
  prompt: patient.txt
clinician:
  prompt: clinician.txt
  knows: [Name, Age]
length: {exchanges: 3}
"""
PEOPLE = """\
Name,Age,Race/Ethnicity,Background,"Risk (None/Low)"
Ana,34,none said,"Lives by the sea, and keeps bees.",Low
Bo,51,none said,Drives a tram at night.,None
"""
PATIENT = 'You are {Name}, ${Age} years old ({{ Race/Ethnicity }}).\n{Background}\nJSON is text: {}, {"a": 1}, {\n}.\n'
CLINICIAN = "You visit {Name}.\nAge: ${Age}.\n"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a protocol's files, some of them other than usual; the path of its file."""

    def written(**files: str) -> Path:
        usual = {"protocol": PROTOCOL, "people": PEOPLE, "patient": PATIENT, "clinician": CLINICIAN}
        endings = {"protocol": "yaml", "people": "csv", "suite": "yaml", "people.txt": "jsonl"}
        for name, text in (usual | files).items():
            (tmp_path / f"{name}.{endings.get(name, 'txt')}").write_text(text, "utf-8")
        return tmp_path / "protocol.yaml"

    return written


def talk(path: Path, replies: Callable[[Call], Any] | None = None, person: int = 0, **more: Any) -> Played:
    simulator = find_simulator(str(path))
    assert simulator.made_of is not None
    case = simulator.made_of.read_people(simulator.cases)[person][1]
    return play(simulator, case, replies or by_rules(simulator), **more)


def said(played: Played) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in played.ended.turns]


def in_turn(*texts: str) -> Callable[[Call], str]:
    """The patient says these, the last again where they run out; the clinician counts."""
    return lambda call: (
        texts[min(call.ordinal, len(texts)) - 1] if call.actor == "patient" else f"Number {call.ordinal}?"
    )


# -- what each side is told ---------------------------------------------------------------------------


def test_holes_of_three_forms_are_filled_and_nothing_else(write: Write) -> None:
    talked = talk(write())
    assert talked.asked("answer")[0].brief == (
        'You are Ana, 34 years old (none said).\nLives by the sea, and keeps bees.\nJSON is text: {}, {"a": 1}, {\n}.'
    )
    assert talked.asked("message")[0].brief == "You visit Ana.\nAge: 34."


def test_what_fills_a_hole_is_never_looked_at_again(write: Write) -> None:
    people = PEOPLE.replace("Drives a tram at night.", "Says {Name} and ${Age} and {{ x.__class__ }}")
    assert "Says {Name} and ${Age} and {{ x.__class__ }}\n" in talk(write(people=people), person=1).calls[1].brief


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("people.jsonl", '{"m": {"name": "Ana", "age": 34, "likes": ["bees", "salt"]}, "risk": true}\n'),
        ("people.json", '[{"m": {"name": "Ana", "age": 34, "likes": ["bees", "salt"]}, "risk": true}]'),
        ("people.yaml", "- m: {name: Ana, age: 34, likes: [bees, salt]}\n  risk: true\n"),
        ("people.tsv", 'm.name\tm.age\tm.likes\trisk\nAna\t34\t"bees, salt"\ttrue\n'),
    ],
)
def test_people_are_read_of_every_form_nested_fields_by_path(
    tmp_path: Path, write: Write, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    protocol = (
        PROTOCOL.replace("people.csv", name).replace("id: Name", "id: name\nfields: {name: m.name}")
        .replace('["Risk (None/Low)"]', "[risk]").replace("[Name, Age]", "[name, m.age]")
    )  # fmt: skip
    path = write(protocol=protocol, patient="{name} likes {m.likes}.", clinician="{name}, {m.age}")
    talked = talk(path)
    assert talked.asked("answer")[0].brief == "Ana likes bees, salt."
    assert talked.asked("message")[0].brief == "Ana, 34"
    (_, person), *_ = read_protocol(path).read_people(tmp_path / name)
    assert (person.id, dict(person.factors)) == ("Ana", {"risk": "true"})


def test_fields_of_an_object_are_called_without_it_and_several_name_a_person(write: Write) -> None:
    people = "".join(
        json.dumps({"who": {"name": "Ana", "age": age, "job": {"place": place}}, "story": f"Story {age}."}) + "\n"
        for age, place in ((34, "harbour"), (51, "tram"))
    )
    path = write(
        **{"people.txt": people},
        protocol="protocol: visits\ntitle: Visits\nsource: ours\npeople: people.txt.jsonl\n"
        'fields: {"*": who, "place of work": job.place}\nid: [name, age]\nfactors: [age]\n'
        "patient: {prompt: patient.txt}\nlength: {exchanges: 1}\n",
        patient="You are ${name}, ${age}, at the {place of work} ({job.place}). ${story}",
    )
    assert [person.id for _, person in read_protocol(path).read_people(path.parent / "people.txt.jsonl")] == [
        "Ana 34", "Ana 51",
    ]  # fmt: skip
    talked = talk(path, person=1)
    assert talked.asked("answer")[0].brief == "You are Ana, 51, at the tram (tram). Story 51."
    assert not list(check_people(read_protocol(path)))


def test_a_clinician_that_is_told_nothing_gets_no_empty_message(write: Write) -> None:
    prompt = "clinician:\n  prompt: clinician.txt\n  knows: [Name, Age]\n"
    talked = talk(write(protocol=PROTOCOL.replace(prompt, "")))
    calls = [call.messages() for call in talked.calls if call.actor == "clinician"]
    assert len(calls) == 3
    assert {message.role for chat in calls for message in chat} == {"user", "assistant"}
    assert all(message.content for chat in calls for message in chat)


def test_a_suite_is_found_beside_a_protocol_that_is_named_without_its_folder(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = "name: suite\ntitle: S\ndescription: D\nsource: ours\nmetrics: [smog]\n"
    monkeypatch.chdir(write(protocol=f"{PROTOCOL}suite: suite.yaml\n", suite=suite).parent)
    assert read_protocol(Path("protocol.yaml")).suite == "suite.yaml"


def test_a_field_that_the_clinician_may_not_know_is_in_no_call_to_it(write: Write) -> None:
    marks = ["zq1xk aa bb", "zq2xk", "zq3xk"]
    people = f'Name,Age,Race/Ethnicity,Background,"Risk (None/Low)"\nAna,34,{",".join(marks)}\n'
    calls = talk(write(people=people), in_turn("Well.", "Yes.", "No.")).calls
    told = [
        json.dumps([call.brief, call.instruction, dict(call.material)]) for call in calls if call.actor == "clinician"
    ]
    assert len(told) == 3
    assert not [mark for mark in marks for text in told if mark.split()[0] in text]


# -- the course ---------------------------------------------------------------------------------------


def test_the_clinician_speaks_first_and_each_side_says_so_many_messages(write: Write) -> None:
    talked = talk(write(), in_turn("First.", "Second.", "Third."))
    assert said(talked) == [
        ("clinician", "Number 1?"), ("patient", "First."), ("clinician", "Number 2?"), ("patient", "Second."),
        ("clinician", "Number 3?"), ("patient", "Third."),
    ]  # fmt: skip
    assert (talked.ended.stop, talked.ended.completed) == ("length", True)


def test_messages_are_counted_of_both_sides(write: Write) -> None:
    path = write(
        protocol=PROTOCOL.replace("{exchanges: 3}", "{messages: 5}").replace(
            "patient.txt", "patient.txt\n  opens: true"
        )
    )
    assert [role for role, _ in said(talk(path, in_turn("One.", "Two.", "Three.")))] == [
        "patient", "clinician", "patient", "clinician", "patient",
    ]  # fmt: skip


def test_first_words_may_hold_fields_and_are_asked_of_nobody(write: Write) -> None:
    path = write(protocol=PROTOCOL.replace("patient.txt", 'patient.txt\n  opens: "I am {Name}."'))
    talked = talk(path, in_turn("-", "Two.", "Three."))
    assert said(talked)[:3] == [("patient", "I am Ana."), ("clinician", "Number 1?"), ("patient", "Two.")]
    assert len(said(talked)) == 6
    assert len(talked.asked("answer")) == 2


@pytest.mark.parametrize("kept", [False, True])
def test_a_first_message_is_heard_and_kept_only_where_it_is_to_be(write: Write, kept: bool) -> None:
    more = "clinician.txt\n  hears_first: Hello" + ("\n  kept: true" if kept else "")
    talked = talk(write(protocol=PROTOCOL.replace("clinician.txt", more)), in_turn("One.", "Two.", "Three."))
    for call in talked.asked("message"):
        assert (call.history[0].role, call.history[0].text) == ("patient", "Hello")
    for call in talked.asked("answer"):
        assert (call.history[0].text == "Hello") == kept
    assert len(said(talked)) == 6 + kept
    assert (said(talked)[0] == ("patient", "Hello")) == kept


def test_each_side_sees_the_last_message_only_where_the_protocol_says_so(write: Write) -> None:
    talked = talk(write(protocol=f"{PROTOCOL}shows: last\n"), in_turn("One.", "Two.", "Three."))
    assert [[line.text for line in call.history] for call in talked.calls] == [
        [], ["Number 1?"], ["One."], ["Number 2?"], ["Two."], ["Number 3?"],
    ]  # fmt: skip


def test_the_patients_words_end_it_and_not_before_they_may(write: Write) -> None:
    ends = 'ends: {patient_says: "That\'s all.", not_before: 2}\n'
    path = write(protocol=PROTOCOL.replace("{exchanges: 3}", "{exchanges: 9}") + ends)
    talked = talk(path, in_turn("Well, that’s  ALL. Really.", "So. That's all.", "More."))
    assert [text for role, text in said(talked) if role == "patient"] == [
        "Well, that’s  ALL. Really.",
        "So. That's all.",
    ]
    assert (talked.ended.stop, talked.ended.completed) == ("patient ended it", True)


def test_an_empty_reply_is_a_failure_unless_something_stands_for_it(write: Write) -> None:
    def silent(call: Call) -> str:
        return "" if call.actor == "clinician" else f"Message {call.ordinal} of mine."

    failed = talk(write(), silent).ended
    assert (failed.stop, failed.completed, failed.turns) == ("clinician empty", False, ())
    filled = talk(write(protocol=f'{PROTOCOL}empty_reply: "..."\n'), silent).ended
    assert [turn.text for turn in filled.turns if turn.role == "clinician"] == ["..."] * 3
    assert filled.flags["clinician: empty"] == 3

    def refusing(call: Call) -> ActorReply:
        return ActorReply("", declined="unsafe") if call.actor == "clinician" else ActorReply("Well.")

    assert talk(write(protocol=f'{PROTOCOL}empty_reply: "..."\n'), refusing).ended.stop == "refused"

    def mute(call: Call) -> str:
        return "" if call.actor == "patient" else "How are you?"

    lost = talk(write(), mute).failure
    assert lost is not None
    assert (lost.whose, lost.reason) == ("patient", "empty")
    assert said(talk(write(protocol=f'{PROTOCOL}empty_reply: "..."\n'), mute))[1] == ("patient", "...")


def test_settings_say_what_differs(write: Write) -> None:
    settings = "settings:\n  short: {length: {messages: 2}, shows: last}\n  long: {title: as ever}\n"
    path = write(protocol=PROTOCOL + settings)
    simulator = find_simulator(str(path))
    assert [(each.name, each.title) for each in simulator.settings] == [("short", "2 messages"), ("long", "as ever")]
    assert len(talk(path).ended.turns) == 2
    assert len(talk(path, setting="long").ended.turns) == 6


def test_another_language_than_english_and_chinese_can_be_spoken(write: Write) -> None:
    german = "Ich bin sehr müde und ich schlafe nicht mehr als drei Stunden."
    assert talk(write(), lambda call: german).failure is not None
    assert (
        len(
            talk(
                write(protocol=f"{PROTOCOL}language: de\n"),
                lambda call: german if call.ordinal == 1 else f"{call.ordinal}, ja.",
            ).ended.turns
        )
        == 6
    )


# -- the engine ---------------------------------------------------------------------------------------


def run(path: Path, out: Path, **more: Any) -> SimulationSummary:
    asked = {name: more.pop(name) for name in ("max_calls", "replay") if name in more}
    plan = SimulationRequest(**{"protocol": str(path), "clinicians": "rules", **more}).plan()
    return simulate_plan(plan, out, SimulationSettings(**asked))


def test_the_same_again_makes_the_same_bytes_and_asks_nothing(tmp_path: Path, write: Write) -> None:
    path = write()
    first = run(path, tmp_path / "a")
    run(path, tmp_path / "b")
    names = ("transcripts.jsonl", "states.jsonl", "failed.jsonl")
    assert [(tmp_path / "a" / name).read_bytes() for name in names] == [
        (tmp_path / "b" / name).read_bytes() for name in names
    ]
    assert first.calls.asked == 12
    assert run(path, tmp_path / "a").calls.asked == 0
    assert run(path, tmp_path / "a", replay=True).calls.asked == 0


def test_the_manifest_has_each_files_hash_and_a_changed_file_is_refused(tmp_path: Path, write: Write) -> None:
    out = tmp_path / "talks"
    run(write(), out)
    before = json.loads((out / "manifest.json").read_text())
    assert set(before["protocol files"]) == {"protocol.yaml", "people.csv", "patient.txt", "clinician.txt"}
    for changed, named in (
        ({"patient": f"{PATIENT} Be brief."}, "patient.txt"),
        ({"clinician": f"{CLINICIAN} Be brief."}, "clinician.txt"),
        ({"protocol": PROTOCOL.replace("3}", "4}")}, "protocol.yaml"),
        ({"people": PEOPLE.replace("51", "52")}, "Bo"),
    ):
        with pytest.raises(BedsideError, match=rf"changed since this folder's conversations: {named}; name another"):
            run(write(**changed), out)
    assert json.loads((out / "manifest.json").read_text()) == before
    more = run(write(people=f"{PEOPLE}Cy,20,none said,Keeps goats.,Low\n"), out)
    assert (more.counts.finished, more.calls.asked) == (3, 6)


def test_a_conversation_that_the_clinician_failed_is_rated_as_the_suite_says(tmp_path: Path, write: Write) -> None:
    suite = (
        "name: suite\ntitle: T\ndescription: D\nsource: S\n"
        "metrics: [open_question_ratio]\nfailed: {open_question_ratio: 0}\n"
    )
    path = write(protocol=f"{PROTOCOL}suite: suite.yaml\n", suite=suite)
    run(path, tmp_path / "talks", clinicians=["rules", "trivial:empty"])
    bedside.score(tmp_path / "talks", tmp_path / "run", suite=str(tmp_path / "suite.yaml"))
    ratings = bedside.read_run(tmp_path / "run").ratings.filter(pl.col("metric") == "open_question_ratio")
    values = dict(ratings.group_by("system").agg(pl.col("value")).iter_rows())
    assert values["trivial:empty"] == [0.0, 0.0]
    assert all(value > 0 for value in values["rules-toy"])
    with pytest.raises(BedsideError, match=r"changed since this folder's conversations: failed of suite\.yaml"):
        run(
            write(suite=suite.replace("ratio: 0", "ratio: 1"), protocol=f"{PROTOCOL}suite: suite.yaml\n"),
            tmp_path / "talks",
        )


def test_other_people_can_be_named(tmp_path: Path, write: Write) -> None:
    path = write()
    (tmp_path / "others.csv").write_text(PEOPLE.replace("Ana", "Eva").replace("Bo,", "Ed,"), "utf-8")
    run(path, tmp_path / "talks", cases=str(tmp_path / "others.csv"))
    lines = [json.loads(line) for line in (tmp_path / "talks" / "transcripts.jsonl").open(encoding="utf-8")]
    assert [line["case_id"] for line in lines] == ["Eva", "Ed"]
    assert lines[0]["factors"]["Risk (None/Low)"] == "Low"
    assert lines[0]["reference"]["Background"] == "Lives by the sea, and keeps bees."


def test_a_person_who_plays_the_patient_needs_no_evaluator(write: Write) -> None:
    plan = SimulationRequest(str(write()), ["rules"], patient="human:anna").plan()
    assert plan.evaluator.identity == "rules-toy"


@pytest.mark.slow
def test_ten_thousand_people_are_read_and_checked_at_once(tmp_path: Path, write: Write) -> None:
    rows = "".join(
        f'P{n},{n % 80},none said,"Number {n} of a long row of people, each with a past.",Low\n' for n in range(10_000)
    )
    path = write(people=PEOPLE.splitlines(keepends=True)[0] + rows)
    started = time.process_time()
    assert not list(check_people(read_protocol(path)))
    assert len(SimulationRequest(str(path), ["rules"], sample=1).plan()) == 1
    assert time.process_time() - started < 30  # 3 s on an idle machine; the square of it would be hours


# -- what is refused ----------------------------------------------------------------------------------

BAD: dict[str, tuple[dict[str, str], str]] = {
    "unknown key": (
        {"protocol": f"{PROTOCOL}lenght: 3\n"},
        r"protocol\.yaml:13: lenght: unknown key; did you mean length",
    ),
    "unknown key inside": (
        {"protocol": PROTOCOL.replace("knows:", "know:")},
        r"protocol\.yaml:11: clinician\.know: unknown key; did you mean knows",
    ),
    "no length": (
        {"protocol": PROTOCOL.replace("length: {exchanges: 3}\n", "")},
        r"protocol\.yaml:1: nothing says how long .*; add length",
    ),
    "no length in a setting": (
        {
            "protocol": PROTOCOL.replace(
                "length: {exchanges: 3}\n", "settings:\n  a: {length: {messages: 2}}\n  b: {}\n"
            )
        },
        r"protocol\.yaml:14: nothing says how long",
    ),
    "no language": (
        {"protocol": f"{PROTOCOL}language: English\n"},
        r"protocol\.yaml:13: language: it must be the code of a language",
    ),
    "two lengths": (
        {"protocol": PROTOCOL.replace("3}", "3, messages: 6}")},
        r"protocol\.yaml:12: length: give either exchanges or messages",
    ),
    "no such file": ({"protocol": PROTOCOL.replace("patient.txt", "gone.txt")}, r"gone\.txt: .*no such"),
    "an empty prompt": ({"patient": " \n"}, r"patient\.txt: the prompt is empty"),
    "no people": ({"people": PEOPLE.splitlines()[0]}, r"people\.csv: there are no people"),
    "an empty file of people": ({"people": ""}, r"people\.csv: there are no people"),
    "two of one id": (
        {"people": PEOPLE.replace("Bo,", "Ana,")},
        r"people\.csv:3: two people have the id 'Ana'; rename one of them; the first is at .*people\.csv:2",
    ),
    "an object that nobody has": (
        {"protocol": f'{PROTOCOL}fields: {{"*": who}}\n'},
        r"people\.csv:2: the person has no object 'who'; add it, or mend `fields` in .*protocol\.yaml",
    ),
    "one of two ids that is no field": (
        {"protocol": PROTOCOL.replace("id: Name", "id: [Name, Agee]")},
        r"people\.csv:2: the person has no 'Agee', which is their id; .*did you mean Age",
    ),
    "no id": (
        {"people": PEOPLE.replace("Bo,", ",")},
        r"people\.csv:3: the person has no 'Name', which is their id; [^;]*; known: Age, Background, R",
    ),
    "an id that names no file": (
        {"people": PEOPLE.replace("Bo,", "B/o,")},
        r"people\.csv:3: id: it must be one line without /",
    ),
    "an id that is no field": (
        {"protocol": PROTOCOL.replace("id: Name", "id: Nam")},
        r"people\.csv:2: the person has no 'Nam', .*did you mean Name",
    ),
    "a column twice": ({"people": PEOPLE.replace("Age,", "Name,")}, r"people\.csv:1: .*'Name'"),
    "a factor that is no field": (
        {"protocol": PROTOCOL.replace('"Risk (None/Low)"', "Risk")},
        r"protocol\.yaml:6: there is no field 'Risk'; known: Age",
    ),
    "a factor that each has": (
        {"protocol": PROTOCOL.replace('factors: ["Risk (None/Low)"]', "fields: {task: Age}\nfactors: [task]")},
        r"protocol\.yaml:7: every conversation has a factor 'task'",
    ),
    "a field that is known and isn't there": (
        {"protocol": PROTOCOL.replace("[Name, Age]", "[Name, Agee]")},
        r"protocol\.yaml:11: there is no field 'Agee'; did you mean Age",
    ),
    "a new name of no field": (
        {"protocol": f"{PROTOCOL}fields: {{a: Agee}}\n"},
        r"protocol\.yaml:13: there is no field 'Agee'",
    ),
    "a new name that is taken": (
        {"protocol": f"{PROTOCOL}fields: {{Age: Name}}\n"},
        r"protocol\.yaml:13: a field is called 'Age' already",
    ),
    "a hole without a field": (
        {"patient": "Hello.\nYou are {Nmae}."},
        r"patient\.txt:2: '\{Nmae\}' is no field of people\.csv.*; did you mean Name",
    ),
    "a hole that the clinician may not fill": (
        {"clinician": "A\nB\n{Background}"},
        r"clinician\.txt:3: the clinician may not know 'Background'; .*`knows`",
    ),
    "a hole in what is heard": (
        {"protocol": PROTOCOL.replace("clinician.txt", "clinician.txt\n  hears_first: '{Background}'")},
        r"protocol\.yaml:11: the clinician may not know 'Background'",
    ),
    "an attribute": ({"patient": "\n{{ Name.__class__ }}"}, r"patient\.txt:2: '\{\{ Name\.__class__ \}\}' is no field"),
    "an attribute by number": ({"patient": "{0.__init__}"}, r"patient\.txt:1: '\{0\.__init__\}' is no field"),
    "an attribute of a text": ({"patient": "{''.__class__}"}, r"patient\.txt:1: \"\{''\.__class__\}\" is no field"),
    "a conversion": ({"patient": "{Name!r}"}, r"patient\.txt:1: '\{Name!r\}' is no field"),
    "a filter": ({"patient": "{{ Name|upper }}"}, r"patient\.txt:1: .*is no field"),
    "a statement": ({"patient": "a\nb\n{% for x in y %}"}, r"patient\.txt:3: .*is no field"),
    "a statement around a hole": ({"patient": "{% if {Name} %}"}, r"patient\.txt:1: '\{%' is no field"),
    "a comment of a template": ({"patient": "{# {Name} #}"}, r"patient\.txt:1: '\{#' is no field"),
    "a field that is empty": (
        {"people": PEOPLE.replace("Drives a tram at night.", "")},
        r"people\.csv:3: .*'Bo'.* no 'Background', which .*patient\.txt:2 needs",
    ),
    "a text that reaches the clinician": (
        {"clinician": "Visit {Name}.\nWho drives a TRAM at night."},
        r"people\.csv:3: .*'Bo'.*'Background', which the clinician may not know",
    ),
    "a name that is taken": (
        {"protocol": PROTOCOL.replace("visits", "calm-it")},
        r"protocol\.yaml:1: a protocol or suite that comes with bedside is called calm-it",
    ),
    "no such suite": (
        {"protocol": f"{PROTOCOL}suite: defualt\n"},
        r"protocol\.yaml:13: there is no suite 'defualt'; did you mean default",
    ),
    "a suite with a wrong key": (
        {"protocol": f"{PROTOCOL}suite: suite.yaml\n", "suite": "name: suite\nmetric: [smog]\n"},
        r"suite\.yaml: metric: unknown key",
    ),
    "heard before the patient opens": (
        {
            "protocol": PROTOCOL.replace("clinician.txt", "clinician.txt\n  hears_first: Hi").replace(
                "patient.txt", "patient.txt\n  opens: true"
            )
        },
        r"protocol\.yaml:12: the patient opens",
    ),
    "nothing to keep": (
        {"protocol": PROTOCOL.replace("clinician.txt", "clinician.txt\n  kept: true")},
        r"protocol\.yaml:11: there is no first message",
    ),
    "no value for a setting's length": (
        {"protocol": f"{PROTOCOL}settings:\n  a: {{}}\n  b: {{length: null}}\n"},
        r"protocol\.yaml:15: settings\.b\.length: nothing stands there; give it a value",
    ),
    "no value for a key": (
        {"protocol": PROTOCOL.replace("length: {exchanges: 3}", "length:\nsettings: {a: {length: {messages: 2}}}")},
        r"protocol\.yaml:12: length: nothing stands there",
    ),
    "no value for what is shown": (
        {"protocol": f"{PROTOCOL}settings:\n  a: {{shows: null}}\n"},
        r"protocol\.yaml:14: settings\.a\.shows: nothing stands there",
    ),
    "a comma in a factor": (
        {"protocol": PROTOCOL.replace("Risk (None/", "Risk (None, "), "people": PEOPLE.replace("None/", "None, ")},
        r"protocol\.yaml:6: the factor 'Risk \(None, Low\)' has a comma; give the field a new name under `fields`",
    ),
    "two fields of one name": (
        {
            "protocol": PROTOCOL.replace("people.csv", "people.txt.jsonl"),
            "people.txt": '{"Name": "Ana", "a": {"b": [{"c": 1}]}, "a.b.0.c": 2}',
        },
        r"people\.txt\.jsonl:1: two fields are called 'a\.b\.0\.c'; rename one",
    ),
    "a new name for a list": (
        {
            "protocol": PROTOCOL.replace("people.csv", "people.txt.jsonl\nfields: {criteria: checks}"),
            "people.txt": '{"Name": "Ana", "checks": [{"criterion": "Asks.", "points": 1}]}',
        },
        r"protocol\.yaml:5: 'checks' is a list or an object, and keeps its name; rename a field in it, such as 'checks",
    ),
    "a zero character": ({"people": PEOPLE.replace("Bo,51", "B\0o,51")}, r"people\.csv:3: it holds a zero character"),
    "no keys": ({"protocol": "[]"}, r"protocol\.yaml: "),
    "nothing": ({"protocol": ""}, r"protocol\.yaml: a protocol file must hold keys and values"),
    "a Python object": ({"protocol": f"{PROTOCOL}suite: !!python/name:os.system\n"}, r"protocol\.yaml:13: .*tag"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_with_file_and_line(write: Write, name: str) -> None:
    files, words = BAD[name]
    path = write(**files)
    with pytest.raises(BedsideError, match=words) as error:
        SimulationRequest(str(path), ["rules"]).plan()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("points: 5", "points: -5", ""),
        ("points: 5, ", "", "(criteria.0.points: it is missing)"),
        ("tags: [understood, safe]", "tags: ['a:b', a b]", "the tags 'a:b' and 'a b' would have one name, a_b"),
        ("points: ", "points: -", "none of them has points above 0"),
    ],
)
def test_points_that_stand_with_people_are_checked(tmp_path: Path, old: str, new: str, words: str) -> None:
    new_protocol(tmp_path / "own", "teach-back")
    people = tmp_path / "own" / "people.yaml"
    count = -1 if new == "points: -" else 1
    people.write_text(people.read_text("utf-8").replace("points: -", "points: ").replace(old, new, count), "utf-8")
    path = people.with_name("protocol.yaml")
    remarks = list(check_people(read_protocol(path)))
    assert bool(remarks) == bool(words)
    if words:
        where, remark = remarks[0]
        assert Path(where).name == "people.yaml:2"
        assert words in remark.text
        with pytest.raises(BedsideError, match=r"people\.yaml:2: .*'Nadia'.*can't be rated by points"):
            SimulationRequest(str(path), ["rules"]).plan()


def test_the_gallery_offers_what_is_in_it(call: Command, tmp_path: Path) -> None:
    for like in gallery():
        works(call, "simulate", "new", f"my-{like}", "--like", like)
        assert read_protocol(tmp_path / f"my-{like}" / "protocol.yaml").form.protocol == f"my-{like}"
    code, _, err = call("simulate", "new", "own", "--like", "rsk")
    assert (code, "did you mean risk?" in err) == (2, True)
    assert all(like in works(call, "simulate", "new", "--help")[0] for like in gallery())


def test_what_looks_like_a_hole_and_is_none_is_a_warning(write: Write) -> None:
    patient = "You are {Name, of ${Age, {Name} ${Age}\nand $Background or $Backgrounds, {{ Age }}, $5 and {so on."
    path = write(patient=patient)
    remarks = [(Path(where).name, remark.severity, remark.key) for where, remark in check_people(read_protocol(path))]
    assert remarks == [
        ("patient.txt:1", "warning", "{Name"), ("patient.txt:1", "warning", "${Age"),
        ("patient.txt:2", "warning", "$Background"),
    ]  # fmt: skip


def test_what_may_only_be_doubtful_is_a_warning(write: Write) -> None:
    people = PEOPLE.replace("none said,Drives", "Bolivian,Drives").replace("Bo,51", "Bo,a Bolivian of 51")
    path = write(people=people, protocol=f"{PROTOCOL}ends: {{patient_says: Goodbye now.}}\n")
    remarks = [(Path(where).name, str(remark)) for where, remark in check_people(read_protocol(path))]
    assert [where for where, _ in remarks] == ["protocol.yaml", "people.csv:3"]
    assert "'Goodbye now.'" in remarks[0][1]
    assert "'Race/Ethnicity'" in remarks[1][1]
    assert all(text.startswith("warning: ") for _, text in remarks)
    for chance in ("shy", "1951"):  # as the page says: up to three letters, and numbers, are not looked for
        text = PEOPLE.replace("none said,Drives", f"{chance},Drives").replace("Bo,51", f"Bo,so {chance}")
        assert not list(check_people(read_protocol(write(people=text))))


def test_the_schema_for_editors_refuses_what_it_can_say(write: Write) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(schema_text("protocol")))
    assert not list(validator.iter_errors(yaml.safe_load(PROTOCOL)))
    for name in ("unknown key", "unknown key inside", "no length", "no length in a setting", "two lengths"):
        assert list(validator.iter_errors(yaml.safe_load(BAD[name][0]["protocol"]))), name


def test_the_files_on_its_page_are_protocol_files() -> None:
    page = (Path(__file__).parents[3] / "docs" / "protocol-files.md").read_text("utf-8")
    blocks = re.findall(r"^```yaml\n(.+?)^```", page, flags=re.MULTILINE | re.DOTALL)
    first, second = (ProtocolForm.model_validate(yaml.safe_load(block)) for block in blocks)
    assert set(ProtocolForm.model_fields) == set(yaml.safe_load(blocks[0]))
    assert (first.length, second.length) == (TalkLength(exchanges=10), TalkLength(messages=30))


def test_the_recipes_of_published_protocols_are_read(tmp_path: Path) -> None:
    """On files of the same shape, written for this test."""
    page = (Path(__file__).parents[3] / "docs" / "published-protocols.md").read_text("utf-8")
    blocks = re.findall(r"^```yaml\n(.+?)^```", page, flags=re.MULTILINE | re.DOTALL)
    protocols = [ProtocolForm.model_validate(yaml.safe_load(block)) for block in blocks if "protocol:" in block]
    assert [form.length for form in protocols] == [TalkLength(messages=30), TalkLength(exchanges=10)]
    rows = [
        "Question ID\tDimension\tSeverity\tRisk Type\tQuestion\tExamples\tAnswer\tGOTO",
        "4\tNotices\t\t\tIs anything at risk?\t\tIt is\t6\n\t\t\t\t\t\tNobody can say\tEND",
        "6\tNotices\tYelow\t\tIs a risk seen where none is?\t\tYes\t7\n\t\t\t\t\t\tNo\tEND",
        "7\tAsks\tRed\t\tDoes it fail to ask?\tNo question at all.\t\t",
        "8\tAsks\tYellow\t\tIs it asked too late?\t\tYes\t\n\t\t\t\t\t\tNo\t\n\t\t\t\t\t\tNot Relevant\t",
    ]
    (tmp_path / "rubric.tsv").write_text("\n".join(rows), "utf-8")
    for name in ("vera", "health"):
        (block,) = [block for block in blocks if block.startswith(f"rubric: {name}\n")]
        (tmp_path / f"{name}.yaml").write_text(block, "utf-8")
    flow = parse_rubric(tmp_path / "vera.yaml").flow
    answered = {flow.places["6"]: "Yes", flow.places["7"]: "No"}
    assert flow.dimensions == ("Notices", "Asks")
    assert flow.result("Notices", answered) == "suboptimal"
    assert flow.result("Asks", answered) == "best practice"
    points = parse_rubric(tmp_path / "health.yaml").points
    assert points is not None
    assert points.key == "rubrics"
