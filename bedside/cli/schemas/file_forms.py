"""The files that a user writes as YAML or JSON, each with the JSON Schema that its reader's own model gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from bedside.annotation.annotation_plan import KINDS, AnnotationPlan
from bedside.cli.schemas import schema_text
from bedside.cli.schemas.generation import DIALECT, schema_of
from bedside.judges.deepeval_raters.chosen_metrics import CriterionFile
from bedside.judges.llm.endpoints import EndpointFile
from bedside.judges.rubrics.answer_form import closed_object
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import FIXED_KEYS, CodeExample
from bedside.metrics.protocols.label_files import LabelForm
from bedside.metrics.protocols.medconceal.labels import LABELS as MEDCONCEAL_LABELS
from bedside.metrics.protocols.medconceal.policy import Parameters
from bedside.metrics.protocols.medconceal.trace import LabelledTurn
from bedside.metrics.protocols.note2chat.labels import LABELS as NOTE2CHAT_LABELS
from bedside.ratings.suites.suite import Suite
from bedside.reports.renderers.records import PrintedTable
from bedside.simulation.simulators.case import Case, Persona
from bedside.simulation.simulators.contract import SIMULATORS, Simulator
from bedside.simulation.simulators.mdd5k.case_fields import Sex
from bedside.simulation.simulators.mdd5k.doctor import DoctorPersona
from bedside.simulation.simulators.mdd5k.story import Decade, StoryGraph
from bedside.simulation.simulators.note2chat.preparation import DischargeNote
from bedside.simulation.simulators.prompt_files import PromptForm
from bedside.simulation.simulators.protocol_file import ProtocolForm
from bedside.simulation.simulators.scripts import RecordedReply, Script

JsonSchema = dict[str, Any]

# -- The form of what every command prints with ``--json`` ----------------------------------------------


def _printed() -> JsonSchema:
    tables = {
        "description": "The tables of the answer, in the order in which they are printed; none where there is nothing "
        "to show.",
        "type": "array",
        "items": {**schema_of(PrintedTable, {}), "additionalProperties": False},
    }
    passed = {"description": "Whether the answer is yes; false after an error, too.", "type": "boolean"}
    error = {
        "description": "Why the question has no answer, as on standard error; null where it has one.",
        "type": ["string", "null"],
    }
    verdict = {
        "description": "What a command prints whose answer is yes or no: bedside gate.",
        **closed_object({"passed": passed, "error": error, "tables": tables}),
    }
    return {"oneOf": [tables, verdict]}


# -- What goes together in a file -----------------------------------------------------------------------
# A model's checks are code; here stand those that a JSON Schema can say, by the model's name. A test holds both
# together: what these refuse the reader refuses, and the other way round for all that can be said.

Condition = dict[str, Any]


def _where(key: str, value: Any, then: Condition, *, unless: Condition | None = None) -> Condition:
    """``then`` holds where a key is there and has one of the values."""
    return {"if": _there(key, value), "then": then} | ({} if unless is None else {"else": unless})


def _key(key: str, form: Condition) -> Condition:
    return {"properties": {key: form}}


def _there(key: str, form: Condition) -> Condition:
    return {**_key(key, form), "required": [key]}


def _empty(*keys: str) -> Condition:
    return {"properties": {key: {"maxItems": 0} for key in keys}}


def _needed(key: str, least: int = 1, **form: Any) -> Condition:
    return _there(key, {"minItems": least, **form})


def _both(*conditions: Condition) -> Condition:
    return {"allOf": list(conditions)}


def _null(*keys: str) -> Condition:
    return {"properties": {key: {"type": "null"} for key in keys}}


def _has_type(name: str) -> Condition:
    return _there("type", {"const": name})


def _indices(count: int) -> Condition:
    return {"contains": _has_type("index"), "minContains": count, "maxContains": count}


_SET = {"not": {"type": "null"}}


def _given(key: str) -> Condition:
    return _there(key, _SET)


_LEVELS, _LABELS, _ANSWER = ("level",), ("label", "set"), ("vector", "pairs", "list", "index")

_RUBRIC: tuple[Condition, ...] = (
    _where("kind", {"enum": [*_LEVELS]}, _both(_needed("scale", 2), _empty("labels", "answer"))),
    _where("kind", {"const": "label"}, _both(_needed("labels", 2), _empty("scale", "answer"))),
    _where("kind", {"const": "set"}, _both(_needed("labels"), _empty("scale", "answer"))),
    _where("kind", {"enum": [*_ANSWER]}, _both(_needed("answer"), _empty("scale", "labels"))),
    _where(
        "kind",
        {"const": "sheet"},
        _both(_needed("criteria"), _empty("scale", "labels", "answer"), _null("each")),
        unless=_both(_empty("criteria"), _null("aggregate"), _key("justified", {"const": False})),
    ),
    _where(
        "kind",
        {"const": "flow"},
        _both(
            {"anyOf": [_needed("questions"), {"required": ["flow"]}]},
            _needed("results", 2),
            _empty("scale", "labels", "answer"),
            _null("each"),
        ),
        unless=_both(_empty("questions", "results", "not_relevant"), _null("start")),
    ),
    _where(
        "kind",
        {"const": "points"},
        _both({"required": ["points"], "properties": {"points": _SET}}, _empty("scale", "labels")),
        unless=_null("points"),
    ),
    _where("kind", {"not": {"enum": ["level", "label", "sheet"]}}, _null("not_applicable")),
    _where("kind", {"not": {"const": "level"}}, _both(_null("fails_at"), _empty("examples", "level_map"))),
    _where("kind", {"const": "vector"}, _key("answer", {"contains": _has_type("number")})),
    _where("kind", {"const": "index"}, _key("answer", _indices(1))),
    _where("kind", {"enum": ["pairs", "list"]}, _key("answer", {"maxItems": 1, "items": _has_type("list")})),
    _where("kind", {"const": "pairs"}, _key("answer", {"items": _key("items", _indices(2))})),
    _where("direction", {"const": "none"}, _null("fails_at")),
    _where(
        "unit",
        {"const": "transcript"},
        _both(_null("window", "window_role"), _key("each", {"not": {"const": "turns"}})),
    ),
    _where("unit", {"const": "turn"}, _both(_null("stage"), _key("transcript", {"const": True}))),
    _where("transcript", {"const": False}, _null("stage")),
    _where("each", _SET, _null("window", "window_role")),
    _where("window", {"const": 0}, _null("window_role")),
    {"properties": {"window": {"minimum": 0}, "deviations": {"uniqueItems": True}}},
    {
        "properties": {
            "answer": {"items": _key("name", {"not": {"enum": ["reason", "item", "answers"]}})},
            "inputs": {"items": _key("name", {"not": {"const": "turns"}})},
        }
    },
)
_PART: tuple[Condition, ...] = (
    _where("type", {"enum": ["index", "quote"]}, _given("of"), unless=_null("of")),
    _where("type", {"const": "quote"}, _key("of", {"enum": ["clinician", "patient", "other"]})),
    _where("type", {"const": "level"}, _needed("scale"), unless=_empty("scale")),
    _where("type", {"enum": ["label", "labels", "probabilities"]}, _needed("labels"), unless=_empty("labels")),
    _where("type", {"const": "list"}, _needed("items"), unless=_empty("items")),
    _key("items", {"items": _key("type", {"not": {"const": "list"}})}),
)
_SHEET_CRITERION: tuple[Condition, ...] = (
    {"oneOf": [_both(_needed("scale", 2), _empty("labels")), _both(_needed("labels", 2), _empty("scale"))]},
)
_FLOW_RESULT: tuple[Condition, ...] = (
    {
        "oneOf": [
            _both({"required": ["when", "level"], "properties": {"when": _SET, "level": _SET}}, _null("otherwise")),
            _both({"required": ["otherwise"], "properties": {"otherwise": _SET}}, _null("when", "level")),
        ]
    },
)
_SCRIPT: tuple[Condition, ...] = (
    {"anyOf": [_needed("lines"), _needed("patterns"), _there("replies", {"minProperties": 1})]},
)
_CRITERION: tuple[Condition, ...] = (
    {"anyOf": [_given("criterion"), _needed("steps"), _given("graph")]},
    _where("graph", _SET, _both(_null("criterion"), _empty("steps", "bands"))),
)
_PLAN: tuple[Condition, ...] = (
    _where("mode", {"const": "audit"}, _given("judge"), unless=_null("judge")),
    _where("mode", {"enum": ["audit", "pairs", "adjudicate"]}, _empty("training", "gold")),
    _where("mode", {"not": {"const": "adjudicate"}}, _key("opinions", {"maxProperties": 0})),
    *(
        _where("mode", {"const": mode}, _key("rubrics", {"items": _key("rubric", _key("kind", {"enum": list(kinds)}))}))
        for mode, kinds in KINDS.items()
    ),
)
#: Every setting has a length.
_PROTOCOL: tuple[Condition, ...] = (
    {"anyOf": [_given("length"), _there("settings", {"minProperties": 1, "additionalProperties": _given("length")})]},
)


#: By the model's name.
CONDITIONS: Mapping[str, tuple[Condition, ...]] = {
    "Rubric": _RUBRIC,
    "RubricPart": _PART,
    "Criterion": _SHEET_CRITERION,
    "Aggregate": ({"properties": {"mean_of": {"minItems": 1}}},),
    "FlowResult": _FLOW_RESULT,
    "Script": _SCRIPT,
    "CriterionFile": _CRITERION,
    "AnnotationPlan": _PLAN,
    "ProtocolForm": _PROTOCOL,
    "TalkLength": ({"oneOf": [_given("exchanges"), _given("messages")]},),
}


# -- The files that a user writes as YAML or JSON, each with the JSON Schema that its reader's own model gives ---

#: What a case must hold where a protocol asks for it: it is there, and says something.
_SAYS_SOMETHING: JsonSchema = {"not": {"type": "null"}, "minItems": 1, "minProperties": 1, "pattern": r"\S"}


@dataclass(frozen=True, slots=True)
class FileForm:
    """A kind of file, or of what a command prints.

    Attributes:
        name: as ``bedside list schemas`` takes it.
        title: what it is, in a few words.
        form: makes the JSON Schema, without its dialect and title.
    """

    name: str
    title: str
    form: Callable[[], JsonSchema]

    def text(self) -> str:
        """The JSON Schema as the text of a file."""
        form = self.form()
        head = {"$schema": DIALECT, "title": self.title}
        return json.dumps({**head, **form}, ensure_ascii=False, indent=2) + "\n"


def _of(model: Any) -> Callable[[], JsonSchema]:
    return lambda: schema_of(model, CONDITIONS)


def _rubric() -> JsonSchema:
    """A rubric, or one in the short form, which begins with ``rubric``."""
    form = schema_of(Rubric, CONDITIONS)
    names = {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}}
    form["properties"] |= {
        "rubric": {"description": "The name, in the short form.", **form["properties"]["name"]},
        "flow": {"description": "A table that holds the questions of a flow.", "type": "string"},
        "columns": {"description": "What the flow's table calls its columns.", **names},
        "severity": {"description": "Severities of the questions, each as it is meant.", **names},
    }
    kinds = [{"required": [key]} for key in ("criteria", "questions", "flow", "points")]
    short = {"required": ["rubric"], "anyOf": kinds, "properties": {"name": False}}
    form["anyOf"] = [{"required": form.pop("required"), "properties": {"rubric": False}}, short]
    return form


def file_forms() -> Iterator[FileForm]:
    """All forms that there are schemas of."""
    yield FileForm("transcript", "A transcript, one line of bedside's JSON lines", _transcript)
    yield FileForm("rubric", "A rubric", _rubric)
    yield FileForm("code-rubric", "A rubric of a behaviour code", _code_rubric)
    yield FileForm("suite", "A suite of metrics, rubrics, tables and figures", _of(Suite))
    yield FileForm("endpoints", "A file of endpoints", _of(EndpointFile))
    yield FileForm("criterion", "A metric of deepeval's in one's own words", _of(CriterionFile))
    yield FileForm("plan", "An annotation plan", _of(AnnotationPlan))
    yield FileForm("case", "A case, or a list of cases", _of(Case | list[Case]))
    for name in SIMULATORS.names():
        simulator = SIMULATORS.load(name)
        yield FileForm(
            f"case-{name}",
            f"A case for {simulator.title}, or a list of cases",
            lambda simulator=simulator: _protocol_case(simulator),  # type: ignore[misc]
        )
    yield FileForm("protocol", "A protocol of simulated conversations", _of(ProtocolForm))
    yield FileForm("persona", "A persona, or a list of personas", _of(Persona | list[Persona]))
    yield FileForm("script", "What an actor says without a model", _script)
    yield FileForm("recording", "A line of a recorded conversation", _of(RecordedReply))
    yield FileForm("prompt", "A prompt of a simulator", _of(PromptForm))
    yield FileForm(
        "doctors", "The doctors that MDD-5k draws from",
        lambda: {**schema_of(tuple[DoctorPersona, ...], CONDITIONS), "minItems": 1},
    )  # fmt: skip
    yield FileForm(
        "story-graphs", "What a patient's past is drawn from in MDD-5k", _of(Mapping[Sex, Mapping[Decade, StoryGraph]])
    )
    yield FileForm(
        "notes", "A discharge note that Note2Chat makes a case of, or a list", _of(DischargeNote | list[DischargeNote])
    )
    yield FileForm("medconceal-parameters", "The parameters of MedConceal's patients", _parameters)
    yield _labels(MEDCONCEAL_LABELS)
    yield _labels(NOTE2CHAT_LABELS)
    yield FileForm(
        "turns-medconceal",
        "What a clinician's turn did for a concern, or a list, to fit MedConceal's parameters to",
        _of(LabelledTurn | list[LabelledTurn]),
    )
    yield FileForm("output", "What a command prints with --json", _printed)


def _labels(labels: LabelForm[Any]) -> FileForm:
    model = labels.model
    title = f"The labels of a transcript for {labels.protocol}, or a list"
    return FileForm(f"labels-{labels.protocol}", title, _of(model | list[model]))  # type: ignore[valid-type]


def _transcript() -> JsonSchema:
    """That which ships, written by hand: no model reads transcripts, as one would cost most of what reading costs."""
    form = json.loads(schema_text("transcript"))
    return {key: part for key, part in form.items() if key not in ("$schema", "title")}


def _script() -> JsonSchema:
    form = schema_of(Script, CONDITIONS)
    form["required"] = [key for key in form.get("required", ()) if key != "name"]  # else the file's own name
    return form


#: What no rubric of one label for each turn has.
_NOT_OF_CODES = (
    "scale", "answer", "level_map", "history", "fails_at", "window", "window_role", "stage", "transcript",
)  # fmt: skip


def _code_rubric() -> JsonSchema:
    """That of a rubric without what is the same for all codes, and with examples of its own form."""
    form = schema_of(Rubric, CONDITIONS)
    form.pop("allOf")
    properties = form["properties"]
    for key in (*FIXED_KEYS, *_NOT_OF_CODES):
        del properties[key]
    form["required"] = [*(key for key in form["required"] if key in properties), "labels"]
    properties["labels"]["minItems"] = 2
    examples = schema_of(tuple[CodeExample, ...], CONDITIONS)
    form["$defs"] |= examples.pop("$defs")
    properties["examples"] = {
        "description": "Turns with their labels, made up for this rubric, to show what is meant.",
        **examples,
    }
    return _pruned(form)


def _parameters() -> JsonSchema:
    """All parameters; or some of them, over those of a shipped file that ``extends`` names."""
    form = schema_of(Parameters, CONDITIONS)
    partial = _without_required(deepcopy(form))
    definitions = form.pop("$defs")
    definitions |= {f"Some{name}": part for name, part in partial.pop("$defs").items()}
    partial = _renamed(partial, "Some")
    definitions = {
        name: _renamed(part, "Some") if name.startswith("Some") else part for name, part in definitions.items()
    }
    partial["properties"] = {
        "extends": {
            "description": "The name of a shipped parameter file, which gives what this one leaves out.",
            "type": "string",
        },
        **partial["properties"],
    }
    partial["required"] = ["extends"]
    form.pop("description", None)
    partial.pop("description", None)
    return {
        "description": "All parameters of the trace; or, with `extends`, those that differ from a shipped file's.",
        "$defs": definitions,
        "if": {"required": ["extends"]},
        "then": partial,
        "else": form,
    }


def _without_required(part: Any) -> Any:
    if isinstance(part, dict):
        return {
            key: _without_required(value)
            for key, value in part.items()
            if not (key == "required" and isinstance(value, list))
        }
    return [_without_required(item) for item in part] if isinstance(part, list) else part


def _renamed(part: Any, prefix: str) -> Any:
    """A part of a schema that refers to definitions whose names begin with the prefix."""
    if isinstance(part, dict):
        return {
            key: f"#/$defs/{prefix}{value.rpartition('/')[2]}" if key == "$ref" else _renamed(value, prefix)
            for key, value in part.items()
        }
    return [_renamed(item, prefix) for item in part] if isinstance(part, list) else part


def _pruned(form: JsonSchema) -> JsonSchema:
    """A schema without definitions that nothing refers to."""
    while True:
        text = json.dumps(form)
        definitions = {name: part for name, part in form["$defs"].items() if f'"#/$defs/{name}"' in text}
        if definitions == form["$defs"]:
            return form
        form["$defs"] = definitions


def _protocol_case(simulator: Simulator) -> JsonSchema:
    """The form of all cases, with what a protocol asks for beside it."""
    form = schema_of(Case | list[Case], CONDITIONS)
    definitions = form["$defs"]
    demands: list[JsonSchema] = []
    if simulator.case_fields is not None:
        fields = schema_of(simulator.case_fields, CONDITIONS)
        definitions |= fields.pop("$defs", {})
        definitions[simulator.case_fields.__name__] = fields
        reference = {"$ref": f"#/$defs/{simulator.case_fields.__name__}"}
        demands.append(_key("extra", _key(simulator.name, reference)))
    demands += [_demand(path.split(".")) for path in simulator.case_needs]
    if demands:
        definitions["Case"]["allOf"] = demands
    return form


def _demand(path: list[str]) -> JsonSchema:
    if not path:
        return _SAYS_SOMETHING
    return _there(path[0], _demand(path[1:]))
