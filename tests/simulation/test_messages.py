"""What is said of cases, prompts, trees, actors and requests that can't be simulated with, word for word."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

import bedside
from bedside.api.simulating import simulate
from bedside.core.errors import BedsideError
from bedside.simulation.simulation_plan import SimulationRequest
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import read_cases, read_personas
from bedside.simulation.simulators.contract import SIMULATORS
from bedside.simulation.simulators.mdd5k.case_fields import PsychiatricRecord
from bedside.simulation.simulators.mdd5k.dialogue_files import dialogue_files
from bedside.simulation.simulators.mdd5k.doctor import find_tree, read_doctors, read_tree
from bedside.simulation.simulators.mdd5k.story import read_graphs
from bedside.simulation.simulators.mdd5k_cases import authors_text
from tests.simulation.simulators import test_mdd5k_cases as authors
from tests.simulation.simulators.mdd5k import test_topic_tree as trees
from tests.simulation.simulators.mdd5k.test_dialogue_files import talk
from tests.simulation.simulators.mdd5k.test_topic_tree import small
from tests.simulation.simulators.test_medagent_cases import OTHER, ROW
from tests.simulation.simulators.test_prompt_files import REPLY, REPLY_ZH, prompts
from tests.simulation.simulators.test_public_case_forms import craft_md, osce, table, written
from tests.simulation.tiny import PERSONAS, cases, install

GRAPH = {"time": ["now"], "people": {"a": ["b"]}, "experience": {"a": ["c"]}}
WITH_IMAGES = {"question": "?", "image_url": "u", "patient_info": "x", "physical_exams": "y", "answers": []}
DOCTOR = "- {id: a, age: 40, sex: male, specialties: x, speed: 3, style: y, empathy: true, explains: often}"


def case_file(name: str, text: str, folder: Path) -> object:
    (folder / name).write_text(text, "utf-8")
    return read_cases(folder / name)


def bytes_of_no_text(folder: Path) -> object:
    (folder / "a.json").write_bytes(b'{"id": "\xe9"}')
    return read_cases(folder / "a.json")


def personas(folder: Path) -> object:
    (folder / "p.yaml").write_text("- id: reserved\n  sentence: 2\n", "utf-8")
    return read_personas(folder / "p.yaml")


def row(folder: Path, **changes: str) -> object:
    return read_cases(table(folder, "medqa.csv", {**ROW, **changes}))


def vignette(folder: Path, **changes: str) -> object:
    return read_cases(table(folder, "a.csv", craft_md(**changes)))


def agentclinic(value: Any, folder: Path) -> object:
    return read_cases(written(folder, "a.jsonl", value))


def record(folder: Path, **changes: str) -> object:
    return read_cases(authors.written(folder, {**authors.RECORD, **changes}))


def tree(content: Any, folder: Path) -> object:
    return read_tree(trees.written(folder, content))


def graphs(content: Any, folder: Path) -> object:
    (folder / "graphs.yaml").write_text(yaml.safe_dump(content), "utf-8")
    return read_graphs(folder / "graphs.yaml")


def doctors(text: str, folder: Path) -> object:
    (folder / "doctors.yaml").write_text(text, "utf-8")
    return read_doctors(folder / "doctors.yaml")


def filled(folder: Path, **variables: Any) -> object:
    return prompts(folder, reply__en=REPLY, reply__zh=REPLY_ZH).get("reply", "en").fill(**variables)


def found(name: str, language: str, folder: Path) -> object:
    return prompts(folder, reply__en=REPLY, reply__zh=REPLY_ZH).get(name, language)


def linted(text: str, folder: Path) -> object:
    return prompts(folder, reply__en=text)


def simulated(folder: Path, **arguments: Any) -> object:
    own = {"protocol": "tiny", "out": folder / "talks", "clinician": "rules", **arguments}
    return simulate(own.pop("cases", cases()), **own)


def script(text: str, folder: Path) -> object:
    (folder / "some.yaml").write_text(text)
    return simulated(folder, clinician=f"script:{folder / 'some.yaml'}")


def ending_module(folder: Path) -> object:
    (folder / "ends_at_import.py").write_text("import sys\nsys.exit(0)\n")
    return simulated(folder, clinician="ends_at_import:reply")


def foreign_folder(folder: Path) -> object:
    (folder / "letters.txt").write_text("Dear …")
    return simulated(folder, out=folder)


Refused = Callable[[Path], object]
FORMS: dict[str, Refused] = {
    # cases
    "case twice": partial(case_file, "a.json", '[\n {"id": "a"},\n {"id": "a"}\n]'),
    "key twice": partial(case_file, "a.json", '{"id": "a",\n "id": "b"}'),
    "no JSON": partial(case_file, "a.json", '{"id": "a",\n "chart": }'),
    "no JSON in a line": partial(case_file, "a.jsonl", '{"id": "a"}\n\n{"id": }\n'),
    "no number": partial(case_file, "a.jsonl", '{"id": "a"}\n{"id": NaN}\n'),
    "key twice in YAML": partial(case_file, "a.yaml", "id: a\nid: b\n"),
    "object in YAML": partial(case_file, "a.yaml", "id: !!python/object:os.system x\n"),
    "no cases in a file": partial(case_file, "a.json", "[]"),
    "no case": partial(case_file, "a.json", "3"),
    "id": partial(case_file, "a.json", '{"id": "../x/y"}'),
    "ending": partial(case_file, "a.txt", ""),
    "no id": partial(case_file, "a.json", '{"patient": {}}'),
    "nested": partial(case_file, "a.json", "[" * 100_000),
    "no such file": lambda folder: read_cases(folder / "none.json"),
    "no text": bytes_of_no_text,
    "no file in a folder": read_cases,
    "key of a persona": personas,
    "classification": partial(row, mental_health_classification="perhaps"),
    "no classification": partial(row, mental_health_classification=""),
    "no study": partial(row, clinical_case_study=""),
    "no id of a row": partial(row, id=""),
    "two diagnoses": partial(row, diagnosis="Asthma"),
    "no case in a table": lambda folder: read_cases(table(folder, "medqa.csv", OTHER)),
    "no diagnosis of an examination": partial(agentclinic, osce(Correct_Diagnosis="")),
    "patient in a text": partial(agentclinic, osce(Patient_Actor="a woman")),
    "unknown part": partial(agentclinic, osce(Billing={})),
    "no objective": partial(agentclinic, {"OSCE_Examination": {}}),
    "no examination": partial(agentclinic, {"OSCE_Examination": 3}),
    "images": partial(agentclinic, WITH_IMAGES),
    "no answer": partial(vignette, answer=""),
    "no vignette": partial(vignette, case_vignette=""),
    "no id of a vignette": partial(vignette, case_id=""),
    "short row": partial(case_file, "a.csv", 'case_id,case_vignette,answer\n1,"two\nlines",a\n2,b\n'),
    "sex": partial(record, 性别="x"),
    "age": partial(record, 年龄="三十"),
    "unknown part of a record": partial(record, 就诊日期="2023"),
    "record that lacks something": partial(record, 诊断结果=""),
    "no record": lambda folder: authors_text([Case(id="a")]),
    # what MDD-5k's form holds
    "two systems of a folder": lambda folder: dialogue_files(
        [talk("clinician", system="x/y"), talk("clinician", system="x y")]
    ),
    "patient first": lambda folder: dialogue_files([talk("patient", "clinician")]),
    "no case of a dialogue": lambda folder: dialogue_files([talk("clinician", case_id=None)]),
    "case that is no file": lambda folder: dialogue_files([talk("clinician", case_id="c.1")]),
    # trees, graphs, doctors
    "tree of no JSON": partial(tree, "{"),
    "node's key twice": partial(tree, '{"a": {"x": null, "x": null}}'),
    "tree in a list": partial(tree, []),
    "two roots": partial(tree, {"a": {}, "b": {}}),
    "no parts": partial(tree, {"a": None}),
    "one part": partial(tree, {"a": {"b": None}}),
    "family": partial(tree, small(family={"x": None})),
    "events without nodes": partial(tree, small(events=None)),
    "no events": partial(tree, small(events={})),
    "parse with leaves": partial(tree, small(events={"parse": {"x": None}})),
    "leaves too deep": partial(tree, small(illness={"self-harm": None, "body": {"a": {"b": None}}})),
    "number for nodes": partial(tree, small(illness={"self-harm": None, "sleep": 3})),
    "no self-harm": partial(tree, small(illness={"sleep": None})),
    "topic twice": partial(tree, small(person={"sleep": None})),
    "parse twice": partial(tree, small(person={"parse": None})),
    "parse elsewhere": partial(tree, small(events={"home": None}, person={"parse": None})),
    "no name": partial(tree, small(person={" ": None})),
    "too many topics": partial(tree, small(person={f"t{n}": None for n in range(60)})),
    "no such tree": lambda folder: find_tree(PsychiatricRecord(age=10, sex="male"), "zh", str(folder)),
    "group of a graph": partial(graphs, {"woman": {}}),
    "age of a graph": partial(graphs, {"female": {"15": {}}}),
    "no experience": partial(graphs, {"female": {"20": {"time": ["now"], "people": {"a": ["b"]}}}}),
    "no time": partial(graphs, {"female": {"20": {**GRAPH, "time": []}}}),
    "no people of a category": partial(graphs, {"female": {"20": {**GRAPH, "experience": {"a": ["c"], "d": ["e"]}}}}),
    "no experience of a category": partial(graphs, {"female": {"20": {**GRAPH, "people": {"a": ["b"], "d": ["e"]}}}}),
    "no doctors": partial(doctors, "[]"),
    "no age of a doctor": partial(doctors, "- {id: a}"),
    "speed of a doctor": partial(doctors, DOCTOR),
    # prompts
    "variable is missing": partial(filled, facts="x"),
    "no such variable": partial(filled, facts="x", most=3, fact="y"),
    "variable of nothing": partial(filled, facts=None, most=3),
    "no such prompt": partial(found, "replay", "en"),
    "no such language": partial(found, "reply", "de"),
    "key of a prompt": partial(linted, REPLY.replace("purpose", "porpose")),
    "slot without a variable": partial(linted, REPLY.replace("{facts}", "{fact}")),
    "variable without a slot": partial(linted, REPLY.replace("{most}", "3")),
    "lone brace": partial(linted, REPLY.replace("{{name}}", "{Name}")),
    "prompt's id": partial(linted, REPLY.replace("id: reply", "id: replay")),
    "schema of a list": partial(linted, REPLY.replace("type: object", "type: array")),
    "nothing to ask": partial(linted, "id: reply\nlanguage: en\npurpose: Nothing.\n"),
    "language of a prompt": partial(linted, REPLY.replace("language: en", "language: fr")),
    "id twice in a prompt": partial(linted, REPLY + "id: twice\n"),
    "language is missing": lambda folder: prompts(
        folder, reply__en=REPLY, reply__zh=REPLY_ZH, ask__en=REPLY.replace("id: reply", "id: ask")
    ),
    "other variables": lambda folder: prompts(folder, reply__en=REPLY, reply__zh=REPLY_ZH.replace("most", "least")),
    "other keys": lambda folder: prompts(folder, reply__en=REPLY, reply__zh=REPLY_ZH.replace("message", "words")),
    "no prompts": prompts,
}  # fmt: skip
REQUESTS: dict[str, Refused] = {
    "setting": partial(simulated, settings="medium"),
    "option": partial(simulated, options={"spise": 2}),
    "value of an option": partial(simulated, options={"spice": "hot"}),
    "temperature": partial(simulated, options={"patient_temperature": 3}),
    "lengths": partial(simulated, lengths=30),
    "personas": partial(simulated, personas=PERSONAS),
    "no evaluator": partial(simulated, patient="human:ben"),
    "repeats": partial(simulated, repeats=0),
    "no clinician": partial(simulated, clinician=[]),
    "no module": partial(simulated, clinician="absent.module:reply"),
    "no function": partial(simulated, clinician="json:lods"),
    "no provider": partial(simulated, clinician="nobody/gpt"),
    "no key": partial(simulated, clinician="openai/gpt-5-mini"),
    "no cases": partial(simulated, cases=[]),
    "two cases of a name": partial(simulated, cases=[*cases(), cases()[0]]),
    "language of a case": partial(simulated, cases=[cases()[0].model_copy(update={"language": "zh"})]),
    "price of nobody": partial(simulated, prices={"rulez": (1, 2)}),
    "no price": partial(simulated, clinician="http://127.0.0.1:9/v1#tiny", max_cost=1.0),
    "foreign folder": foreign_folder,
    "module that ends": ending_module,
    "webhook's address": partial(simulated, clinician="webhook:nowhere"),
    "webhook's password": partial(simulated, clinician="webhook:http://me:secret@host/"),
    "key of a script": partial(script, "line: [Hi.]"),
    "key of a pattern": partial(script, "patterns: [{wen: a, say: [a]}]"),
    "pattern that is none": partial(script, "patterns: [{when: '(', say: [a]}]"),
    "silent script": partial(script, "name: empty"),
    "script without data": partial(script, "lines: [Hi.]"),
    "no actor": lambda folder: bedside.simulate(None, "calm-it", folder / "t", lengths=12, sample=1, clinician="none"),
    "nothing to rank": lambda folder: SimulationRequest("note2chat", "rules", ranker="none").plan(),
    "length of a session": lambda folder: bedside.simulate(
        None, "calm-it", folder / "t", lengths=13, sample=1, clinician="rules"
    ),
    "no protocol": lambda folder: SIMULATORS.load("calmit"),
}  # fmt: skip
GOLDEN = {
    "case twice": "FOLDER/a.json:3: the case 'a' is there twice; keep one of them; the first is at FOLDER/a.json:2",
    "key twice": "FOLDER/a.json: the key 'id' is there twice in an object",
    "no JSON": "FOLDER/a.json:2: not JSON (expecting value at column 11); mend or remove it",
    "no JSON in a line": "FOLDER/a.jsonl:3: not JSON (expecting value at column 8); mend or remove it",
    "no number": "FOLDER/a.jsonl:2: NaN is no number of JSON",
    "key twice in YAML": "FOLDER/a.yaml:2: the file is not plain YAML (the key id is there twice)",
    "object in YAML":
        "FOLDER/a.yaml:1: the file is not plain YAML (the tag tag:yaml.org,2002:python/object:os.system is not "
        "allowed)",
    "no cases in a file": "FOLDER/a.json: there are no cases; see docs/cases.md",
    "no case": "FOLDER/a.json:1: it must hold keys and values; see docs/cases.md",
    "id": "FOLDER/a.json:1: id: it must be one line without /, and not begin with a space; see docs/cases.md",
    "ending": "FOLDER/a.txt: a case file ends in .json, .jsonl, .ndjson, .yaml, .yml, .csv or .tsv; call it so",
    "no id": "FOLDER/a.json:1: id: it is missing; see docs/cases.md",
    "nested": "FOLDER/a.json: it is nested too deeply",
    "no such file": "FOLDER/none.json: there is no such case file; check its path",
    "no text": "FOLDER/a.json:1: not UTF-8 (byte 0xe9 at column 9); save it as UTF-8",
    "no file in a folder": "FOLDER: the folder holds no case file; check its path",
    "key of a persona": "FOLDER/p.yaml:2: sentence: unknown key; did you mean sentences?; see docs/cases.md",
    "classification": "FOLDER/medqa.csv:2: its `mental_health_classification` is 'perhaps'; write Yes or No",
    "no classification": "FOLDER/medqa.csv:2: its `mental_health_classification` is ''; write Yes or No",
    "no study": "FOLDER/medqa.csv:2: its `clinical_case_study` is empty; fill it in, or remove the row",
    "no id of a row": "FOLDER/medqa.csv:2: its `id` is empty; fill it in, or remove the row",
    "two diagnoses":
        "FOLDER/medqa.csv:2: its columns `diagnosis` and `answer` differ ('Asthma', 'Panic disorder'); remove the "
        "one that isn't the diagnosis",
    "no case in a table": "FOLDER/medqa.csv: there are no cases; see docs/cases.md",
    "no diagnosis of an examination": "FOLDER/a.jsonl:1: Correct_Diagnosis is not a text",
    "patient in a text": "FOLDER/a.jsonl:1: Patient_Actor is not an object",
    "unknown part":
        "FOLDER/a.jsonl:1: OSCE_Examination has the unknown part Billing; rename or remove it: what it is for can't "
        "be known",
    "no objective": "FOLDER/a.jsonl:1: OSCE_Examination has no Objective_for_Doctor; see docs/cases.md",
    "no examination": "FOLDER/a.jsonl:1: OSCE_Examination is not an object",
    "images":
        "FOLDER/a.jsonl:1: AgentClinic's cases with images can't be had as conversations; use "
        "agentclinic_medqa.jsonl or agentclinic_medqa_extended.jsonl",
    "no answer": "FOLDER/a.csv:2: there is no answer; fill in its `answer`, or remove the case",
    "no vignette": "FOLDER/a.csv:2: the vignette is empty; fill it in, or remove the case",
    "no id of a vignette":
        "FOLDER/a.csv:2: id: it must be one line without /, and not begin with a space; see docs/cases.md",
    "short row": "FOLDER/a.csv:4: the row has 2 cells, and the header 3; check its quotation marks",
    "sex": "FOLDER/pa20.json:1: 性别 is neither 女 nor 男; see docs/simulators/mdd5k.md, Cases",
    "age": "FOLDER/pa20.json:1: age: it must be a whole number; see docs/simulators/mdd5k.md, Cases",
    "unknown part of a record":
        "FOLDER/pa20.json:1: MDD-5k's form has no part '就诊日期'; rename or remove it: what it is for can't be known",
    "record that lacks something":
        "FOLDER/pa20.json:1: case 7 has no diagnosis (`hidden.diagnosis`), for which the source leaves a case out; "
        "complete or remove it; bedside simulate convert leaves such cases out",
    "no record":
        "extra.mdd5k: case 'a' has no record in MDD-5k's form; bedside simulate check says what it lacks; see "
        "docs/simulators/mdd5k.md, Cases",
    "two systems of a folder": "of the systems x y, x/y, two would have one folder; write them one at a time",
    "patient first":
        "t, turn 0: doctor and patient must take turns, the doctor first; MDD-5k's form holds exchanges and nothing "
        "else",
    "no case of a dialogue": "t: the transcript has no case; give it a `case_id`",
    "case that is no file":
        "t: the case 'c.1' can't name a file of MDD-5k's form; rename it, in letters and digits: the file's name up "
        "to its first point is the case",
    "tree of no JSON":
        "FOLDER/female_adult.json:1: not JSON (expecting property name enclosed in double quotes at column 2); mend "
        "or remove it",
    "node's key twice": "FOLDER/female_adult.json: the key 'x' is there twice in an object",
    "tree in a list":
        "FOLDER/female_adult.json: a tree has one root: an object with one key, which holds the parts; see "
        "docs/simulators/mdd5k.md, Trees",
    "two roots":
        "FOLDER/female_adult.json: a tree has one root: an object with one key, which holds the parts; see "
        "docs/simulators/mdd5k.md, Trees",
    "no parts":
        "FOLDER/female_adult.json: the root 'a' must hold four parts: events, the illness, the person, and the "
        "family as a leaf; see docs/simulators/mdd5k.md, Trees",
    "one part":
        "FOLDER/female_adult.json: the root 'a' must hold four parts: events, the illness, the person, and the "
        "family as a leaf; see docs/simulators/mdd5k.md, Trees",
    "family":
        "FOLDER/female_adult.json: the fourth part, 'family', must be a leaf (null): the family is one topic; see "
        "docs/simulators/mdd5k.md, Trees",
    "events without nodes":
        "FOLDER/female_adult.json: 'events' must hold nodes, and holds null; see docs/simulators/mdd5k.md, Trees",
    "no events":
        "FOLDER/female_adult.json: 'events' holds nothing; write null for a leaf; see docs/simulators/mdd5k.md, "
        "Trees",
    "parse with leaves":
        "FOLDER/female_adult.json: 'parse' under 'events' must be a leaf (null): here nothing is nested any further;"
        " see docs/simulators/mdd5k.md, Trees",
    "leaves too deep":
        "FOLDER/female_adult.json: 'a' under 'body' must be a leaf (null): here nothing is nested any further; see "
        "docs/simulators/mdd5k.md, Trees",
    "number for nodes":
        "FOLDER/female_adult.json: 'sleep' must hold nodes, and holds 3; see docs/simulators/mdd5k.md, Trees",
    "no self-harm":
        "FOLDER/female_adult.json: no topic asks about self-harm or suicide, which no interview may leave out; see "
        "docs/simulators/mdd5k.md, Trees",
    "topic twice": "FOLDER/female_adult.json: the topic 'sleep' is there twice; see docs/simulators/mdd5k.md, Trees",
    "parse twice": "FOLDER/female_adult.json: the topic 'parse' is there twice; see docs/simulators/mdd5k.md, Trees",
    "parse elsewhere":
        "FOLDER/female_adult.json: 'parse' stands outside the first part, the events; see docs/simulators/mdd5k.md, "
        "Trees",
    "no name": "FOLDER/female_adult.json: a node has no name; see docs/simulators/mdd5k.md, Trees",
    "too many topics":
        "FOLDER/female_adult.json: there are 67 topics, and an interview has 60 exchanges at most; see "
        "docs/simulators/mdd5k.md, Trees",
    "no such tree": "FOLDER/male_teen.json: there is no such tree; see docs/simulators/mdd5k.md, Trees",
    "group of a graph":
        "FOLDER/graphs.yaml: woman: the key must be 'female' or 'male'; see docs/simulators/mdd5k.md, Story",
    "age of a graph":
        "FOLDER/graphs.yaml: female.15: the key must be '10', '20', '30', '40' or '50'; see "
        "docs/simulators/mdd5k.md, Story",
    "no experience": "FOLDER/graphs.yaml: female.20.experience: it is missing; see docs/simulators/mdd5k.md, Story",
    "no time":
        "FOLDER/graphs.yaml: female.20.time: it must have 1 or more; see "
        "docs/simulators/mdd5k.md, Story",
    "no people of a category":
        "FOLDER/graphs.yaml: female.20: the category 'd' has no people; see docs/simulators/mdd5k.md, Story",
    "no experience of a category":
        "FOLDER/graphs.yaml: female.20: the category 'd' has no experience; see docs/simulators/mdd5k.md, Story",
    "no doctors": "FOLDER/doctors.yaml: there are no doctors; see docs/simulators/mdd5k.md, Doctors",
    "no age of a doctor": "FOLDER/doctors.yaml: 0.age: it is missing; see docs/simulators/mdd5k.md, Doctors",
    "speed of a doctor":
        "FOLDER/doctors.yaml: 0.speed: it must be 'fast', 'normal' or 'slow'; see docs/simulators/mdd5k.md, "
        "Doctors",
    "variable is missing":
        "FOLDER/reply.en.yaml, key variables: the variable 'most' is missing; it holds this: Most sentences.",
    "no such variable": "FOLDER/reply.en.yaml, key variables: there is no variable 'fact'; did you mean facts?",
    "variable of nothing":
        "FOLDER/reply.en.yaml, key variables: the variable 'facts' is None; give a text or a whole number",
    "no such prompt": "FOLDER: there is no prompt 'replay'; did you mean reply?",
    "no such language": "FOLDER: the prompt 'reply' isn't there in the language 'de'; it is there in en and zh",
    "key of a prompt": "FOLDER/reply.en.yaml: porpose: unknown key; did you mean purpose?; see CONTRIBUTING.md",
    "slot without a variable": "FOLDER/reply.en.yaml: brief: {fact} is not declared; did you mean facts?",
    "variable without a slot": "FOLDER/reply.en.yaml: variables: most is used nowhere",
    "lone brace": "FOLDER/reply.en.yaml: instruction: a lone { stands in its line 1; a brace itself is written twice",
    "prompt's id": "FOLDER/reply.en.yaml: id: the file is called reply.en.yaml; call it replay.en.yaml",
    "schema of a list": "FOLDER/reply.en.yaml: schema: it must be the schema of an object, with its properties",
    "nothing to ask": "FOLDER/reply.en.yaml: brief: there is neither a brief nor an instruction",
    "language of a prompt": "FOLDER/reply.en.yaml: language: it must be 'en' or 'zh'; see CONTRIBUTING.md",
    "id twice in a prompt": "FOLDER/reply.en.yaml:13: the file is not plain YAML (the key id is there twice)",
    "language is missing": "FOLDER/ask.en.yaml: language: the prompt is missing in 'zh', which others are in",
    "other variables": "FOLDER/reply.zh.yaml: variables: they differ from those of reply.en.yaml",
    "other keys": "FOLDER/reply.zh.yaml: schema: its keys differ from those of reply.en.yaml",
    "no prompts": "FOLDER: there are no prompt files; check the folder's path",
    "setting": "`settings`: there is no tiny setting 'medium'; known: long, short",
    "option": "`options`: there is no tiny option 'spise'; did you mean spice?",
    "value of an option": "`options`: the option spice can't be 'hot'; give a whole number",
    "temperature": "`options`: the option patient_temperature can't be 3; give a number from 0 to 2, or none",
    "lengths": "`lengths`: tiny has no target lengths; leave them out",
    "personas": "`personas`: tiny has no personas; leave them out",
    "no evaluator":
        "`evaluator`: a person plays the patient, and nobody is named who labels turns and checks facts; name a "
        "model, or rules",
    "repeats": "`repeats` must be 1 or more, and is 0",
    "no clinician": "`clinician`: no clinician is named; name a model, such as openai/gpt-5-mini, or rules",
    "no module": "absent.module:reply: no module is called absent; run this where it can be imported from",
    "no function": "json:lods: json has no lods; did you mean loads or load or codecs?",
    "no provider":
        "no provider is called 'nobody'; known: anthropic, azure, bedrock, deepseek, gemini, grok, kimi, litellm, "
        "ollama, openai, openrouter, portkey; or rules, script:NAME, package.module:function, webhook:URL or "
        "human:NAME",
    "no key": "OPENAI_API_KEY is not set; export it, or name another model",
    "no cases": "`cases`: there are no cases; name a file of cases",
    "two cases of a name": "case 4: two cases are called 'c0'; rename one of them; the first is at case 1",
    "language of a case": "case 1: tiny can't be simulated in the language zh of case 'c0'; it can in en",
    "price of nobody": "`prices`: there is no actor 'rulez'; did you mean rules or rules-toy?",
    "no price": "`max_cost`: what tiny costs isn't known; say it with `prices`, or limit calls with `max_calls`",
    "foreign folder": "FOLDER: the folder holds something else than a simulation; name another",
    "module that ends": "ends_at_import:reply: the module ends_at_import can't be imported (SystemExit: 0)",
    "webhook's address": "the webhook's address can't be read; write webhook:https://host/path",
    "webhook's password":
        "the address of a webhook must hold no name, password or query; put the key into BEDSIDE_WEBHOOK_KEY",
    "key of a script":
        "FOLDER/some.yaml: line: unknown key; did you mean lines or replies or name?; see the docs on simulating, "
        "Scripts",
    "key of a pattern":
        "FOLDER/some.yaml: patterns.0.wen: unknown key; did you mean when?; see the docs on simulating, Scripts",
    "pattern that is none":
        "FOLDER/some.yaml: patterns.0.when: it is no regular expression (unclosed group); see the docs on "
        "simulating, Scripts",
    "silent script": "FOLDER/some.yaml: the script says nothing; add lines to it",
    "script without data": "the script some has no reply for guess; add guess to its replies",
    "no actor": "`clinician`: none is no actor; name a model, or rules",
    "nothing to rank": "`ranker`: note2chat has no candidates to be ranked; leave it out",
    "length of a session":
        "`lengths`: a session of CALM-IT can't have 13 messages; give even numbers from 6: the therapist opens, and "
        "the client has the last word",
    "no protocol": "there is no simulator 'calmit'; did you mean calm-it?",
}  # fmt: skip


@pytest.mark.parametrize("case", [*FORMS, *REQUESTS])
def test_a_message_says_what_is_wrong_where_and_what_to_do(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BedsideError) as raised:
        (FORMS | REQUESTS)[case](tmp_path)
    assert str(raised.value).replace(str(tmp_path), "FOLDER") == GOLDEN[case]
    assert not (tmp_path / "talks" / "transcripts.jsonl").exists()
