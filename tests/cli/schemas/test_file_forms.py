"""The schemas are those of the readers: what ships is valid, and what a reader refuses a schema refuses, or can't."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from pydantic import ValidationError

import bedside
from bedside.annotation.annotation_plan import KINDS, AnnotationPlan, Opinion
from bedside.annotation.plan_file import read_plan, sealed, write_plan
from bedside.annotation.training_cases import TrainingCase
from bedside.cli.schemas import FOLDER, SUFFIX, schema_names, schema_text
from bedside.cli.schemas.file_forms import file_forms
from bedside.core.errors import BedsideError, DataError, RegistryError
from bedside.core.records import file_records
from bedside.judges.deepeval_raters.chosen_metrics import criterion_file
from bedside.judges.llm.endpoints import named_models
from bedside.judges.rubrics.rubric_files import CODEBOOK, RUBRICS, parse_rubric
from bedside.metrics.protocols.medconceal.labels import FEATURES, LABELS as MEDCONCEAL_LABELS
from bedside.metrics.protocols.medconceal.policy import parse_parameters
from bedside.metrics.protocols.medconceal.trace import read_turns
from bedside.metrics.protocols.note2chat.labels import LABELS as NOTE2CHAT_LABELS
from bedside.ratings.suites.suite import parse_suite
from bedside.simulation.simulators.case_files import check_cases, read_personas
from bedside.simulation.simulators.contract import SIMULATORS
from bedside.simulation.simulators.mdd5k.doctor import read_doctors
from bedside.simulation.simulators.mdd5k.story import read_graphs
from bedside.simulation.simulators.note2chat.preparation import read_notes
from bedside.simulation.simulators.prompt_files import faults_of_prompts, read_prompt
from bedside.simulation.simulators.scripts import read_script
from tests.annotation.study import EMPATHY, JUDGE, new_study, rating_plan

PACKAGE = Path(bedside.__file__).parent
SIMULATORS_FOLDER = PACKAGE / "simulation" / "simulators"


#: Keys that need no words: what they are, they say.
_PLAIN = {"id", "language", "name"}


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    form = json.loads(schema_text(name))
    jsonschema.Draft202012Validator.check_schema(form)
    return jsonschema.Draft202012Validator(form, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)


def complaints(name: str, data: Any) -> list[str]:
    return [f"{error.json_path}: {error.message:.200}" for error in validator(name).iter_errors(data)]


def plain(path: Path) -> Any:
    text = path.read_text("utf-8")
    return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)


def test_the_schemas_are_those_of_the_models() -> None:
    texts = {form.name: form.text() for form in file_forms()}
    assert set(schema_names()) == set(texts)
    stale = [name for name, text in texts.items() if schema_text(name) != text]
    assert not stale, "run tools/make_schemas.py"
    assert all(path.name.endswith(SUFFIX) for path in FOLDER.iterdir() if path.is_file())


def test_the_page_on_editors_has_every_schema() -> None:
    page = (PACKAGE.parent / "docs" / "editors.md").read_text("utf-8")
    listed = {
        name for row in re.findall(r"^\| (`.+?) \|", page, re.MULTILINE) for name in re.findall(r"`([\w-]+)`", row)
    }
    assert listed == set(schema_names())


def test_a_transcript_is_valid_as_it_is_written() -> None:
    lines = (bedside.EXAMPLES / "transcripts.jsonl").read_text("utf-8").splitlines()
    assert lines
    assert not [fault for line in lines for fault in complaints("transcript", json.loads(line))]
    assert complaints("transcript", {"turns": [{"role": "clinician", "said": "Hello."}]})


def parts(form: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(form, dict):
        yield path, form
        for key, value in form.items():
            yield from parts(value, f"{path}/{key}")
    elif isinstance(form, list):
        for number, value in enumerate(form):
            yield from parts(value, f"{path}/{number}")


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_says_what_each_key_is(name: str) -> None:
    """An editor's help: sentences, without the markup of docstrings; expressions that an editor's engine reads."""
    form = json.loads(schema_text(name))
    assert form["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for path, part in parts(form):
        words = part.get("description")
        if isinstance(words, str) and not path.endswith("/properties"):
            assert words.endswith((".", "?")), (path, words)
            assert words[0] == words[0].upper(), (path, words)
            assert "``" not in words, (path, words)
            assert ":class:" not in words, (path, words)
        if isinstance(part.get("pattern"), str):
            assert not re.search(r"\(\?(?![:=!])", part["pattern"]), "an inline flag"
    for key, part in form.get("properties", {}).items():
        assert "description" in part or "$ref" in part or "const" in part or key in _PLAIN, (name, key)


SHIPPED: dict[str, list[Path]] = {
    "rubric": sorted((PACKAGE / "judges" / "rubrics" / "shipped").glob("*.yaml")),
    "code-rubric": sorted((PACKAGE / "judges" / "rubrics" / "codebook").glob("*.yaml")),
    "suite": sorted((PACKAGE / "ratings" / "suites" / "shipped").glob("*.yaml")),
    "case": sorted(SIMULATORS_FOLDER.glob("*/cases.yaml")),
    "persona": sorted(SIMULATORS_FOLDER.glob("*/personas.yaml")),
    "script": sorted(SIMULATORS_FOLDER.glob("*/scripts/*.yaml")),
    "prompt": sorted(SIMULATORS_FOLDER.glob("*/prompts/*.yaml")),
    "protocol": sorted(SIMULATORS_FOLDER.glob("gallery/*/protocol.yaml")),
    "doctors": sorted(SIMULATORS_FOLDER.glob("mdd5k/doctors.*.yaml")),
    "story-graphs": sorted(SIMULATORS_FOLDER.glob("mdd5k/graphs.*.yaml")),
    "notes": [SIMULATORS_FOLDER / "note2chat" / "notes.yaml"],
    "medconceal-parameters": sorted((PACKAGE / "metrics" / "protocols" / "medconceal" / "parameters").glob("*.yaml")),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_what_ships_is_valid(name: str) -> None:
    assert SHIPPED[name]
    for path in SHIPPED[name]:
        assert not complaints(name, plain(path)), path


@pytest.mark.parametrize("name", SIMULATORS.names())
def test_the_cases_of_a_protocol_are_valid_and_lack_what_its_schema_asks_for(name: str) -> None:
    simulator = SIMULATORS.load(name)
    cases = plain(simulator.cases)
    form = f"case-{name}"
    assert not complaints(form, cases)
    for path in simulator.case_needs:
        lacking = copy.deepcopy(cases[0])
        *before, last = path.split(".")
        place = lacking
        for step in before:
            place = place[step]
        del place[last]
        assert complaints(form, lacking), path
        assert not complaints("case", lacking), path


# -- the reader and the schema, side by side -----------------------------------------------------------

SUITE = {
    "name": "mine",
    "title": "Mine",
    "description": "What is mine.",
    "source": "Nobody, 2020",
    "metrics": ["turns"],
    "parameters": {"readability": {"raw": True}},
    "rubrics": ["empathy"],
    "main": ["turns"],
    "systems": {"a": "A"},
    "levels": {"stage": ["one", "two"]},
    "tables": [{"id": "results", "kind": "results", "digits": 2}],
    "figures": [],
    "as_published": {"tables": [{"id": "table-2", "kind": "results", "paper": "Table 2"}]},
}
CRITERION = {"name": "warm", "criterion": "Is it warm?", "steps": ["Look."],
    "bands": [{"lowest": 0, "highest": 10, "outcome": "all"}]}  # fmt: skip
ENDPOINTS = ["http://a:1/v1#m", {"address": "http://b:1/v1#m", "weight": 2, "max_concurrency": 8, "key_env": "KEY"}]
SCRIPT = {
    "name": "brisk",
    "language": "en",
    "lines": ["Hello.", {"message": "Bye.", "end": True}],
    "patterns": [{"when": "(?i)afraid", "say": ["Of what?"]}],
    "replies": {"findings": [{"findings": []}, "nothing", []]},
}
RECORDED = {"actor": "patient", "purpose": "reply", "ordinal": 1, "attempt": 1,
    "text": "Hm.", "cut": False, "declined": ""}  # fmt: skip
CONCERN_LABELS = {
    "id": "t",
    "rater": "human:anna",
    "findings": [{"category": "communication barrier", "text": "x"}],
    "matches": [{"finding": 0, "concern": "c", "quote": "q", "category_agrees": True}],
}
LABELLED_TURN = {
    "case": "t",
    "turn": 4,
    "concern": "c",
    "category": "communication barrier",
    "z": dict.fromkeys(FEATURES, 0.5),
    "o": 0.25,
    "intent": None,
    "revealed": 1,
    "addressed": 0,
}
TRANSCRIPT = {
    "id": "t",
    "system": "A",
    "case_id": "1",
    "language": "en",
    "factors": {"length": 2},
    "reference": {"goal": "sleep"},
    "turns": [
        {"index": 0, "role": "clinician", "speaker": "Dr A", "text": "Hello.",
         "meta": {"stage": "opening", "codes": {"anna": {"question": "none"}}}},
        {"role": "patient", "text": "Hi."},
    ],
    "provenance": [{"kind": "system", "before": 0, "speaker": "developer", "text": "Be kind.", "meta": {"a": "b"}}],
}  # fmt: skip
HISTORY_LABELS = {"id": "t", "rater": "human:anna", "diagnosis_rank": 0, "diagnosis_message": None}
PROMPT = {
    "id": "ask",
    "language": "en",
    "purpose": "To ask.",
    "variables": {"name": "a name"},
    "brief": "You are {name}.",
    "instruction": "Ask.",
    "schema": {"type": "object", "properties": {}},
}


def first(name: str, stem: str | None = None) -> Any:
    path = next(path for path in SHIPPED[name] if stem is None or path.stem == stem)
    return plain(path)


def rubrics_of_each_kind() -> dict[str, Any]:
    """The shortest of each kind."""
    by_kind: dict[str, Any] = {}
    for path in SHIPPED["rubric"]:
        data = plain(path)
        other = by_kind.get(data["kind"])
        if other is None or len(str(data)) < len(str(other)):
            by_kind[data["kind"]] = data
    return by_kind


#: What rubrics of several ratings have in common.
_WHOLE = {
    "title": "Manners", "construct": "Manners", "definition": "What is asked here, said in words that are enough.",
    "unit": "transcript", "direction": "higher", "source": "None.",
}  # fmt: skip
#: One of each kind of rubric of several ratings; none ships.
COMPOSITES: list[Any] = [
    {
        "name": "manners", "kind": "sheet", **_WHOLE, "justified": True,
        "criteria": [
            {"name": "warmth", "definition": "How warm the listener is with the person.", "scale": "1-6"},
            {"name": "ending", "definition": "How the listener ends the conversation.", "labels": [
                {"label": "open", "descriptor": "Leaves open what comes next."},
                {"label": "agreed", "descriptor": "Agrees on what comes next."},
            ]},
        ],
        "aggregate": {"name": "manners_mean", "mean_of": ["warmth"]},
    },
    {
        "name": "steps", "kind": "flow", **_WHOLE, "start": "1", "leads": {"no": "next"},
        "questions": [
            {"id": "1", "question": "Is it so?", "dimension": "A", "severity": "Red"},
            {"id": "2", "question": "Is it not?", "dimension": "B", "answers": [
                {"answer": "Yes", "goto": "end"}, {"answer": "No", "goto": "1", "descriptor": "It is not."},
            ]},
        ],
        "results": [{"when": {"severity": "Red"}, "level": "bad"}, {"otherwise": "good"}],
        "not_relevant": [{"question": "1", "answer": "No"}],
    },
    {"name": "teach_back", "kind": "points", **_WHOLE, "points": {"from": "reference.criteria", "text": "item"}},
]  # fmt: skip


def read_case(path: Path) -> None:
    for _, remark in check_cases(path):
        if remark.severity == "error":
            raise RegistryError(remark.text)


def read_plain_prompt(path: Path) -> None:
    prompt = read_prompt(path)
    for _, _, text in faults_of_prompts([prompt]):
        raise RegistryError(text)


def read_labels(labels: Any) -> Callable[[Path], object]:
    return lambda path: [record.to_model(labels.model, "docs") for record in file_records(path, "label file")]


#: By form: the reader, the file's name, and what it can hold.
READERS: dict[str, tuple[Callable[[Path], object], str, list[Any]]] = {
    "transcript": (lambda path: [*bedside.read_transcripts(path)], "talks.jsonl", [TRANSCRIPT]),
    "rubric": (parse_rubric, "{name}.yaml", [*rubrics_of_each_kind().values(), *COMPOSITES]),
    "code-rubric": (lambda path: CODEBOOK.find(str(path)), "question.yaml", [
        first("code-rubric", "question"),
    ]),
    "suite": (parse_suite, "{name}.yaml", [SUITE]),
    "endpoints": (lambda path: named_models([str(path)]), "endpoints.yaml", [ENDPOINTS]),
    "criterion": (criterion_file, "criterion.yaml", [CRITERION]),
    "case": (read_case, "case.yaml", [first("case")[0]]),
    "persona": (read_personas, "persona.yaml", [first("persona")[0]]),
    "script": (lambda path: read_script(str(path), None), "script.yaml", [SCRIPT]),
    "recording": (lambda path: read_script(str(path), None), "recording.jsonl", [RECORDED]),
    "prompt": (read_plain_prompt, "ask.en.yaml", [PROMPT]),
    "doctors": (read_doctors, "doctors.yaml", [first("doctors")[:2]]),
    "story-graphs": (read_graphs, "graphs.yaml", [{"female": {"20": {
        "time": ["in spring", "once"], "people": {"family": ["a brother"]}, "experience": {"family": ["a move"]},
    }}}]),
    "notes": (read_notes, "notes.yaml", [first("notes")[0]]),
    "medconceal-parameters": (parse_parameters, "own.yaml", [
        first("medconceal-parameters", "published-shape"),
        {"extends": "default", "name": "own", "reveal": {"decay": 0.5}},
    ]),
    "labels-medconceal": (read_labels(MEDCONCEAL_LABELS), "labels.json", [CONCERN_LABELS]),
    "labels-note2chat": (read_labels(NOTE2CHAT_LABELS), "labels.json", [HISTORY_LABELS]),
    "turns-medconceal": (read_turns, "turns.json", [LABELLED_TURN]),
}  # fmt: skip

#: What is refused of a plan and a schema can't say, as one part of it depends on another.
PLAN_UNSAYABLE = (
    r"is there twice|is not that of version|of an unknown stratum|names an unknown item|not of the plan's raters|"
    r"make a plan for each|stands after level|not of the items that are adjudicated|by an unknown rubric"
)
#: What a reader refuses and a schema can't say, by words of the reader's message: each stands in docs/editors.md.
UNSAYABLE = {
    "is there twice|listed twice|two are called|have one id": "names in a list must differ",
    "calls itself": "the name in the file is the file's own",
    "there is no parameter file|unknown speaker|has no label": "names are looked up among what is installed",
    "stands after level|are missing": "levels are in order, without gaps",
    "no question has|no question$|there is no question|the last has otherwise": "values of different keys fit together",
    "not one of its inputs|not declared|no text names|is used nowhere": "names in braces are declared, and used",
}
#: Where a reader takes whatever can be written as words, and a schema asks for words.
LENIENT = "^\\$.levels.stage:"


def changes(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[str, Any]]:
    """The data with one thing wrong, everywhere, with what was done."""

    def at(value: Any, act: Callable[[Any, Any], None]) -> Any:
        whole = copy.deepcopy(data)
        place = whole
        for step in value[:-1]:
            place = place[step]
        act(place, value[-1])
        return whole

    def walk(part: Any, path: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
        if path:
            wrongs: tuple[Any, ...] = (None, [], {"a": 1}, "", -7)
            for wrong in wrongs:
                if type(wrong) is not type(part) or wrong != part:

                    def put(place: Any, step: Any, wrong: Any = wrong) -> None:
                        place[step] = wrong

                    yield f"{path} = {wrong!r}", at(path, put)
            if isinstance(path[-1], str):
                yield f"without {path}", at(path, lambda place, step: place.pop(step))
        if isinstance(part, dict):
            yield (f"{path} with one key more", at((*path, "surplus"), lambda place, step: place.__setitem__(step, 1)))
            for key, value in part.items():
                yield from walk(value, (*path, key))
        elif isinstance(part, list) and part:
            yield (
                f"{path} with the last twice",
                at((*path, -1), lambda place, step: place.append(copy.deepcopy(place[step]))),
            )
            yield from walk(part[0], (*path, 0))

    yield from walk(data, path)


def refusal(name: str, data: Any, folder: Path) -> str | None:
    """What the reader says against it; None where it takes it."""
    reader, file, _ = READERS[name]
    called = data.get("name") if isinstance(data, dict) else None
    usable = isinstance(called, str) and re.fullmatch(r"[\w.-]+", called)
    path = folder / file.replace("{name}", called if usable else "unnamed")  # type: ignore[arg-type]
    text = json.dumps(data) if path.suffix.startswith(".json") else yaml.safe_dump(data, allow_unicode=True)
    path.write_text(text, "utf-8")
    read_doctors.cache_clear()
    read_graphs.cache_clear()
    try:
        reader(path)
    except BedsideError as error:
        return str(error)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, (_, _, files) in READERS.items() if files])
def test_reader_and_schema_refuse_the_same(name: str, tmp_path: Path) -> None:
    wrong: list[str] = []
    refused = 0
    for data in READERS[name][2]:
        assert refusal(name, data, tmp_path) is None
        assert not complaints(name, data)
        for change, changed in changes(data):
            says = refusal(name, changed, tmp_path)
            against = complaints(name, changed)
            refused += bool(against and says)
            if says is not None and not against:
                if not any(re.search(words, says) for words in UNSAYABLE):
                    wrong.append(f"the schema takes {change}, which is refused: {says}")
            elif says is None and against and not re.search(LENIENT, against[0]):
                wrong.append(f"the schema refuses {change}, which is read: {against[0]}")
    assert not wrong, "\n".join(wrong)
    assert refused


# -- plans ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A plan of each mode, and one by each rubric and of all codes that people can be asked, as they are written."""
    folder = tmp_path_factory.mktemp("plans")
    run = new_study(folder, 2)
    known = [
        TrainingCase(
            f"known-{number}",
            {"empathy": str(2 + number % 2), "goal_alignment": str(3 + number % 2)},
            content=talk.to_json().decode(),
        )
        for number, talk in enumerate(run.transcripts())
    ]
    rated = rating_plan(
        run, by=["system"], training=known[:2], training_kappa=0.6, gold=known[2:], repeat=0.5, round="pilot"
    )
    said = {rubric.rubric.name: (Opinion(answer="2", reason="Cold."), Opinion(answer="5")) for rubric in rated.rubrics}
    made = {
        "rate": rated,
        "audit": rating_plan(run, mode="audit", rubrics=(EMPATHY,), judge=JUDGE, focus="uncertain", random_share=0.5),
        "findings": rating_plan(run, mode="findings", rubrics=(RUBRICS.load("finding_extraction"),)),
        "codes": rating_plan(run, mode="codes", rubrics=tuple(map(CODEBOOK.load, CODEBOOK.names()))),
        "pairs": rating_plan(run, mode="pairs", rubrics=(EMPATHY,)),
    }
    plain_plan = rating_plan(run)
    made["adjudicate"] = plain_plan.model_copy(
        update={"mode": "adjudicate", "opinions": {item.id: said for item in plain_plan.items}}
    )
    for name in RUBRICS.names():
        rubric = RUBRICS.load(name)
        if rubric.kind in KINDS["rate"]:
            with suppress(DataError):  # what it asks for isn't known of these talks
                made[f"rate by {name}"] = rating_plan(run, rubrics=(rubric,))
    written = {}
    for name, plan in made.items():
        write_plan(plan, folder / "plan.json")
        assert read_plan(folder / "plan.json", run) == sealed(plan)
        written[name] = plain(folder / "plan.json")
    return written


def test_plans_that_are_written_are_valid(plans: dict[str, Any]) -> None:
    assert set(KINDS) <= set(plans)
    assert len(plans) > 20
    assert {name: against for name, plan in plans.items() if (against := complaints("plan", plan))} == {}


@pytest.mark.parametrize("mode", KINDS)
def test_reader_and_schema_refuse_the_same_of_a_plan(mode: str, plans: dict[str, Any]) -> None:
    wrong: list[str] = []
    refused = 0
    others = [(f"mode = {other!r}", {**plans[mode], "mode": other}) for other in KINDS if other != mode]
    for change, changed in (*changes(plans[mode]), *others):
        says = None
        try:
            # Not its seal, which any change breaks.
            AnnotationPlan.model_validate_json(json.dumps(changed))
        except ValidationError as error:
            says = error.errors()[0]["msg"]
        against = complaints("plan", changed)
        refused += bool(against and says)
        if says is not None and not against and not re.search(PLAN_UNSAYABLE, says):
            wrong.append(f"the schema takes {change}, which is refused: {says}")
        elif says is None and against:
            wrong.append(f"the schema refuses {change}, which is read: {against[0]}")
    assert not wrong, "\n".join(wrong)
    assert refused
