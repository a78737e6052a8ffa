"""What simulating takes from outside: cases, personas, scripts, prompts; and the files of a simulation's folder."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import orjson
import yaml

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.core.errors import BedsideError
from bedside.ratings.run import keep_simulations, run_simulations, write_manifest
from bedside.reports.build import build_tables
from bedside.reports.explanation import states_tables
from bedside.reports.simulations import (
    conversation_ids,
    conversation_text,
    lost_table,
    simulation_tables,
    simulation_words,
)
from bedside.simulation.conversation_log import ConversationLog, opened_log, planned_conversations
from bedside.simulation.simulators.calls import ActorReply, Call, Line
from bedside.simulation.simulators.case_files import case_text, check_cases, read_cases, read_personas
from bedside.simulation.simulators.contract import SIMULATORS
from bedside.simulation.simulators.prompt_files import prompts_in
from bedside.simulation.simulators.scripts import read_script
from bedside.simulation.talks_folder import read_failures, write_manifest as write_talks_manifest, write_talks
from bedside.transcripts.reading import Reading
from bedside.transcripts.simulation_folder import simulated_suite
from tests.analysis.simulated_run import simulation
from tests.fuzz import mutate
from tests.fuzz.error_lines import one_line
from tests.simulation.simulators.playing import by_rules, play

Make = Callable[[Random], bytes]
Take = Callable[[Path, bytes], None]


class WayIn(NamedTuple):
    """A target without what the others share."""

    name: str
    make: Make
    take: Take
    valid: tuple[bytes, ...] = ()


# -- cases, personas ----------------------------------------------------------------------------------

_CASE = {
    "id": "a", "language": "en", "origin": "invented", "licence": "CC0", "speaker": "caregiver",
    "chart": {"Age": "50", "Complaint": "Poor sleep."},
    "patient": {
        "narrative": "A baker who sleeps badly.", "facts": ["It began in May."], "vitals": ["BP 120/80"],
        "psychosocial": ["Lives alone."], "style": "Short answers.", "deflections": ["It is nothing."],
    },
    "hidden": {
        "diagnosis": "Insomnia",
        "concerns": [
            {"id": "cost", "category": "financial or insurance concern", "text": "Fears the cost.", "primary": True,
             "confidence": 0.9, "evidence": ["note"], "voiced": ["I am afraid of what it costs."]},
        ],
    },
    "intervention": {"preference": "No drug.", "plan": "A drug."},
    "note": {
        "chief_complaint": "Poor sleep", "text": "Long.", "vignette": "Sleeps badly.", "opening": "I sleep badly.",
        "findings": [{"text": "Wakes at four.", "categories": ["onset"], "unanswered": ["site"]}],
    },
    "factors": {"age": 50, "x": 0.5, "b": True, "s": "t"},
    "extra": {"medconceal": {"x": [1, {"y": None}]}},
}  # fmt: skip
_OSCE = {
    "OSCE_Examination": {
        "Objective_for_Doctor": "Assess the patient.",
        "Patient_Actor": {
            "Demographics": "35-year-old woman", "History": "She sees double.", "Social_History": "Works.",
            "Symptoms": {"Primary_Symptom": "Double vision", "Secondary_Symptoms": ["Weakness", "Fatigue"]},
            "Past_Medical_History": {"Surgery": "None provided"},
        },
        "Physical_Examination_Findings": {"Vital_Signs": {"Pulse": "80"}, "Eyes": {"Ptosis": "Present"}},
        "Test_Results": {"Blood": {"Antibodies": "Present"}},
        "Correct_Diagnosis": "Myasthenia gravis",
    }
}  # fmt: skip
_VIGNETTES = [
    ["case_id", "case_vignette", "choice_1", "choice_2", "answer", "category", "dataset"],
    ["1", "A man of 50 sleeps badly. He wakes at four. Which is the most likely diagnosis?", "A", "B", "A", "x", "d"],
    ["2", "A girl of 5 coughs. It is dry.", "A", "B", "B", "y", "d"],
]
_NUMBERED = [
    ["case_id", "case_desc", "Choice 1", "Choice 2", "Answer", "category", "age", "sex", "physical_exam"],
    ["1", "He sleeps badly. He wakes at four.", "A", "B", "2", "x", "50", "male", "He wakes at four."],
]
_PERSONA = {
    "id": "terse", "factors": {"x": 1}, "traits": {"openness": "low"}, "health_literacy": "basic",
    "manner": "Few words.", "sentences": 2, "parameters": "guarded",
}  # fmt: skip
_ENDINGS = (".json", ".jsonl", ".yaml", ".csv", ".tsv")


def _yaml_of(value: Any) -> str:
    return str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=1000))


def _make_objects(values: list[Any], tables: list[list[list[str]]], random: Random) -> bytes:
    """The first byte says which ending the file has."""
    ending = random.randrange(5 if tables else 3)
    if ending == 0:
        return b"\x00" + mutate.json_text(random, values if random.random() < 0.5 else random.choice(values))
    if ending == 1:
        return b"\x01" + mutate.json_lines(random, values)
    if ending == 2:
        chosen = values if random.random() < 0.5 else random.choice(values)
        return b"\x02" + mutate.yaml_text(random, _yaml_of(chosen))
    table = mutate.csv_text(random, random.choice(tables))
    return bytes([ending]) + (table if ending == 3 else table.replace(b",", b"\t"))


def _objects(take: Callable[[Path], None], folder: Path, data: bytes) -> None:
    path = folder / f"a{_ENDINGS[(data[0] if data else 0) % len(_ENDINGS)]}"
    path.write_bytes(data[1:])
    take(path)


def _cases(path: Path) -> None:
    """Looked through as `bedside cases check` does, and played by rules where a protocol takes it."""
    for name in SIMULATORS.names():
        simulator = SIMULATORS.load(name)
        try:
            for place, remark in check_cases(path, simulator.check_case):
                place.encode()
                str(remark).encode("utf-8", "backslashreplace")
        except BedsideError as error:
            one_line(error)
    cases = [case for _, case in read_cases(path)]
    assert case_text(cases)
    for case in cases:
        assert len(case.digest()) == 64
        for name in SIMULATORS.names():
            simulator = SIMULATORS.load(name)
            if case.language in simulator.languages and not list(simulator.check_case(case)):
                play(simulator, case, by_rules(simulator))


def _personas(path: Path) -> None:
    for _, persona in read_personas(path):
        assert len(persona.digest()) == 64


# -- scripts, prompts ---------------------------------------------------------------------------------

_SCRIPT = """\
name: brisk
language: en
lines:
  - What brings you here?
  - {message: Thank you, end: true}
patterns:
  - when: (?i)\\bafraid\\b
    say: [What do you fear, {message: x}]
replies:
  findings:
    - {findings: [{text: x, n: 1}]}
    - x
"""
_RECORDED = [
    {"actor": "clinician", "purpose": "clinician", "ordinal": 1, "attempt": 1, "text": "Why?", "cut": False},
    {"actor": "patient", "purpose": "patient", "text": "Since May.", "declined": ""},
]
_PROMPT = """\
id: patient
language: en
purpose: What the patient says.
variables:
  narrative: Who the patient is.
  number: How many sentences.
brief: |
  You are {narrative} with {{braces}}.
instruction: Say {number} sentences.
schema:
  type: object
  properties: {message: {type: string, description: words}}
  required: [message]
"""


def _calls() -> Iterator[Call]:
    said = (Line("patient", "I am afraid."), Line("clinician", "Why?"), Line("patient", "Pay."))
    for history in ((), said[:1], said):
        yield Call("clinician", "clinician", 1, "b", history, "i", "message")
        yield Call("clinician", "findings", 2, "b", history, "i", "data", {"type": "object"})


def _script(name: str, folder: Path, data: bytes) -> None:
    path = folder / name
    path.write_bytes(data)
    script = read_script(str(path), None).script
    for call in _calls():
        try:
            reply = script.reply(call)
        except BedsideError as error:
            one_line(error)
            continue
        assert isinstance(reply, ActorReply)
        reply.text.encode()


def _prompts(folder: Path, data: bytes) -> None:
    (folder / "patient.en.yaml").write_bytes(data)
    (folder / "patient.zh.yaml").write_text(_PROMPT.replace("language: en", "language: zh"), "utf-8")
    prompts = prompts_in.__wrapped__(folder)
    for prompt in prompts.files.values():
        filled = prompt.fill(**dict.fromkeys(prompt.variables, "{x}"))
        orjson.dumps([filled.brief, filled.instruction, filled.schema])


# -- a simulation's folder ----------------------------------------------------------------------------


@cache
def _shared() -> Path:
    from tests.fuzz.targets import shared

    return shared() / "simulations"


@cache
def _scored() -> Path:
    """A simulation with a run of it beside."""
    folder = _shared() / "scored"
    talks = simulation(folder / "talks")
    bedside.score(talks, folder / "run", metrics=["structure"])
    return folder


@cache
def _made() -> Path:
    """A simulation that was made, with its log in one file."""
    folder = _shared() / "made"
    folder.parent.mkdir(parents=True, exist_ok=True)
    bedside.simulate(None, "medconceal", folder, clinician=["script:good", "script:brisk"], sample=1)
    with closing(sqlite3.connect(folder / "log.sqlite", isolation_level=None)) as log:
        log.execute("PRAGMA journal_mode = DELETE")
    return folder


def _lines(name: str) -> list[Any]:
    return [json.loads(line) for line in (_scored() / "talks" / name).read_text("utf-8").splitlines()]


def _fresh(folder: Path, source: Path) -> Path:
    """A copy; where it stands, nothing else does."""
    target = folder / source.name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    return target


def _each(*looks: Callable[[], object]) -> None:
    """Several looks at the same: what one of them refuses, another may take."""
    for look in looks:
        try:
            look()
        except BedsideError as error:
            one_line(error)


_TABLES = ["simulation_card", "simulation_loss", "simulation_flags", "simulation_repeats", "simulation_evaluator"]


def _reported(run: Path) -> None:
    view = open_ratings_view(run)
    build_tables(view, _TABLES)
    simulation_words(view)
    states_tables(view, [row[0] for row in view.run.index.select("id").iter_rows()] if view.run else [])


def _talks_file(name: str, folder: Path, data: bytes) -> None:
    """A file of the simulation's folder: read where it stands, kept by a run, and reported."""
    talks, run = _fresh(folder, _scored() / "talks"), _fresh(folder, _scored() / "run")
    (talks / name).write_bytes(data)
    with suppress(ValueError, RecursionError, AttributeError):  # as if it had been written so
        write_talks_manifest(talks, json.loads((talks / "manifest.json").read_bytes()))
    _each(
        lambda: [transcript.to_json() for transcript in Reading([talks])],
        lambda: simulated_suite([talks]),
        lambda: list(read_failures(talks)),
    )
    kept = json.loads((run / "simulations.json").read_text("utf-8"))
    kept[0]["path"] = str(talks)
    (run / "simulations.json").write_text(json.dumps(kept), "utf-8")
    _written(run)
    _each(lambda: keep_simulations(run, [str(talks / "transcripts.jsonl")]))
    _reported(run)


def _written(run: Path) -> None:
    """As if the run's files had been written as they are: of others nothing is read."""
    write_manifest(run, json.loads((run / "manifest.json").read_bytes()))


def _make_kept(random: Random) -> bytes:
    return mutate.json_text(random, json.loads((_scored() / "run" / "simulations.json").read_text("utf-8")))


def _kept(folder: Path, data: bytes) -> None:
    run = _fresh(folder, _scored() / "run")
    (run / "simulations.json").write_bytes(data)
    _written(run)
    _each(lambda: run_simulations(run))
    _reported(run)


def _make_said(random: Random) -> bytes:
    talks = _lines("transcripts.jsonl")
    talks[0]["reference"] = mutate.json_value(random, talks[0]["reference"])
    if random.random() < 0.5:
        talks[0]["factors"] = mutate.json_value(random, talks[0]["factors"])
    return "\n".join(map(mutate.dumps, talks)).encode("utf-8", "surrogatepass")


def _said(folder: Path, data: bytes) -> None:
    """What transcripts say of their simulation, in a run that was scored without its folder."""
    talks, run = folder / "talks.jsonl", folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    talks.write_bytes(data)
    bedside.score(talks, run, metrics=["structure"])
    _reported(run)


_CELLS = {
    "replies": ("prompt", "parts", "parameters", "reply", "faults", "calls", "cost", "started", "state", "actor"),
    "plan": ("key", "id", "about", "place"),
    "conversations": ("state", "session", "ending", "transcript", "states"),
}
_STATEMENTS = (
    "DROP TABLE replies", "DROP TABLE plan", "DROP TABLE conversations", "ALTER TABLE plan ADD COLUMN x",
    "PRAGMA user_version = 9", "PRAGMA user_version = 0", "DELETE FROM plan", "DELETE FROM conversations",
)  # fmt: skip


def _odd_cell(random: Random, table: str, column: str, log: sqlite3.Connection) -> Any:
    """A value of another kind, or what is there with something wrong in it."""
    if random.random() < 0.4:
        return random.choice(("", "x", "{", "[]", "{}", "[1", b"", b"x", b"\xff", 1, -1, 2**62, 1.5, "[" * 2000, None))
    (value,) = log.execute(f"SELECT {column} FROM {table}").fetchone() or (None,)
    if isinstance(value, str):
        try:
            return mutate.json_text(random, json.loads(value)).decode("utf-8", "replace")
        except ValueError:
            return value[:-1]
    if isinstance(value, bytes):
        import zlib

        try:
            content = zlib.decompress(value)
            lines = [json.loads(line) for line in content.splitlines()]
        except (zlib.error, ValueError):
            return b""
        return zlib.compress(mutate.json_lines(random, lines), 1)
    return value


def _make_log(random: Random) -> bytes:
    content = (_made() / "log.sqlite").read_bytes()
    if random.random() < 0.3:
        for _ in range(random.choice((1, 5, 50))):
            content = mutate.flips(random, content)
        return content
    with closing(sqlite3.connect(":memory:")) as log:
        log.deserialize(content)
        try:
            if random.random() < 0.2:
                log.execute(random.choice(_STATEMENTS))
            else:
                table = random.choice(sorted(_CELLS))
                column = random.choice(_CELLS[table])
                log.execute(f"UPDATE {table} SET {column} = ?", (_odd_cell(random, table, column, log),))
            log.commit()
        except sqlite3.Error:
            log.rollback()
        return log.serialize()


def _log(folder: Path, data: bytes) -> None:
    """Looked at, written out, and gone on with where nobody needs to be asked."""
    talks = folder / "talks"
    shutil.rmtree(talks, ignore_errors=True)
    talks.mkdir()
    path = talks / "log.sqlite"
    path.write_bytes(data)
    _each(
        lambda: simulation_tables(talks),
        lambda: lost_table(talks),
        lambda: [conversation_text(talks, name) for name in conversation_ids(talks)],
        lambda: write_talks(talks, path),
    )

    def go_on() -> None:
        with opened_log(path) as connection:
            keys = [listed.key for listed, _ in planned_conversations(connection)]
        log = ConversationLog(path)
        try:
            for key in keys:
                log.replies(key)
        finally:
            log.close()

    _each(go_on)
    bedside.simulate(None, "medconceal", talks, clinician=["script:good", "script:brisk"], sample=1)


def ways_in() -> Iterator[WayIn]:
    """All of them."""
    tables = [_VIGNETTES, _NUMBERED]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(_VIGNETTES)
    yield WayIn(
        "cases", partial(_make_objects, [_CASE, {**_CASE, "id": "b"}, _OSCE], tables), partial(_objects, _cases),
        (b"\x00" + orjson.dumps(_CASE), b"\x01" + orjson.dumps(_OSCE), b"\x03" + text.getvalue().encode()),
    )  # fmt: skip
    yield WayIn(
        "personas", partial(_make_objects, [_PERSONA, {"id": "b"}], []), partial(_objects, _personas),
        (b"\x00" + orjson.dumps(_PERSONA), b"\x02" + _yaml_of([_PERSONA]).encode()),
    )  # fmt: skip
    yield WayIn("script", partial(_scripted, _SCRIPT), partial(_script, "s.yaml"), (_SCRIPT.encode(),))
    yield WayIn(
        "recording", partial(lambda random: mutate.json_lines(random, _RECORDED)), partial(_script, "s.jsonl"),
        ("\n".join(map(json.dumps, _RECORDED)).encode(),),
    )  # fmt: skip
    yield WayIn("prompt", partial(_scripted, _PROMPT), _prompts, (_PROMPT.encode(),))
    yield WayIn(
        "simulation-manifest",
        lambda random: mutate.json_text(random, json.loads((_scored() / "talks/manifest.json").read_bytes())),
        partial(_talks_file, "manifest.json"),
    )
    for name in ("failed.jsonl", "states.jsonl"):
        yield WayIn(
            f"simulation-{name.partition('.')[0]}",
            partial(lambda name, random: mutate.json_lines(random, _lines(name)), name),
            partial(_talks_file, name),
        )
    yield WayIn("simulation-kept", _make_kept, _kept)
    yield WayIn("simulation-said", _make_said, _said)
    yield WayIn("simulation-log", _make_log, _log)


def _scripted(source: str, random: Random) -> bytes:
    if random.random() < 0.6:
        return mutate.yaml_text(random, source)
    return mutate.json_text(random, yaml.safe_load(source))
