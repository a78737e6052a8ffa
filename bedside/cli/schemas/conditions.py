"""What goes together in a file, where its model says it by a check and not by a type.

A model's checks are code; here stand those that a JSON Schema can say, by the model's name. A test holds both
together: what these refuse the reader refuses, and the other way round for all that can be said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedside.annotation.annotation_plan import KINDS
from bedside.metrics.protocols.medconceal.labels import FEATURES
from bedside.metrics.protocols.medconceal.policy_parameters import REVEAL_FEATURES

Condition = dict[str, Any]


def _where(key: str, value: Any, then: Condition, *, unless: Condition | None = None) -> Condition:
    """``then`` holds where a key is there and has one of the values."""
    matching = {"properties": {key: value}, "required": [key]}
    return {"if": matching, "then": then} | ({} if unless is None else {"else": unless})


def _empty(*keys: str) -> Condition:
    return {"properties": {key: {"maxItems": 0} for key in keys}}


def _needed(key: str, least: int = 1, **form: Any) -> Condition:
    return {"properties": {key: {"minItems": least, **form}}, "required": [key]}


def _both(*conditions: Condition) -> Condition:
    return {"allOf": list(conditions)}


def _null(*keys: str) -> Condition:
    return {"properties": {key: {"type": "null"} for key in keys}}


def _has_type(name: str) -> Condition:
    return {"properties": {"type": {"const": name}}, "required": ["type"]}


_SET = {"not": {"type": "null"}}
_LEVELS, _LABELS, _ANSWER = ("level",), ("label", "set"), ("vector", "pairs", "list", "index")

_RUBRIC: tuple[Condition, ...] = (
    _where("kind", {"enum": [*_LEVELS]}, _both(_needed("scale", 2), _empty("labels", "answer"))),
    _where("kind", {"const": "label"}, _both(_needed("labels", 2), _empty("scale", "answer"))),
    _where("kind", {"const": "set"}, _both(_needed("labels"), _empty("scale", "answer"))),
    _where("kind", {"enum": [*_ANSWER]}, _both(_needed("answer"), _empty("scale", "labels"))),
    _where("kind", {"not": {"enum": ["level", "label"]}}, _null("not_applicable")),
    _where("kind", {"not": {"const": "level"}}, _both(_null("fails_at"), _empty("examples", "level_map"))),
    _where("kind", {"const": "vector"}, {"properties": {"answer": {"contains": _has_type("number")}}}),
    _where(
        "kind",
        {"const": "index"},
        {"properties": {"answer": {"contains": _has_type("index"), "minContains": 1, "maxContains": 1}}},
    ),
    _where(
        "kind",
        {"enum": ["pairs", "list"]},
        {"properties": {"answer": {"maxItems": 1, "items": _has_type("list")}}},
    ),
    _where(
        "kind",
        {"const": "pairs"},
        {
            "properties": {
                "answer": {
                    "items": {
                        "properties": {
                            "items": {"contains": _has_type("index"), "minContains": 2, "maxContains": 2}
                        }
                    }
                }
            }
        },
    ),
    _where("direction", {"const": "none"}, _null("fails_at")),
    _where(
        "unit",
        {"const": "transcript"},
        _both(_null("window", "window_role"), {"properties": {"each": {"not": {"const": "turns"}}}}),
    ),
    _where(
        "unit",
        {"const": "turn"},
        _both(_null("stage"), {"properties": {"transcript": {"const": True}}}),
    ),
    _where("transcript", {"const": False}, _null("stage")),
    _where("each", _SET, _null("window", "window_role")),
    _where("window", {"const": 0}, _null("window_role")),
    {"properties": {"window": {"minimum": 0}, "deviations": {"uniqueItems": True}}},
    {
        "properties": {
            "answer": {"items": {"properties": {"name": {"not": {"enum": ["reason", "item", "answers"]}}}}},
            "inputs": {"items": {"properties": {"name": {"not": {"const": "turns"}}}}},
        }
    },
)
_PART: tuple[Condition, ...] = (
    _where(
        "type",
        {"enum": ["index", "quote"]},
        {"properties": {"of": _SET}, "required": ["of"]},
        unless=_null("of"),
    ),
    _where("type", {"const": "quote"}, {"properties": {"of": {"enum": ["clinician", "patient", "other"]}}}),
    _where("type", {"const": "level"}, _needed("scale"), unless=_empty("scale")),
    _where(
        "type", {"enum": ["label", "labels", "probabilities"]}, _needed("labels"), unless=_empty("labels")
    ),
    _where("type", {"const": "list"}, _needed("items"), unless=_empty("items")),
    {"properties": {"items": {"items": {"properties": {"type": {"not": {"const": "list"}}}}}}},
)
_LEVEL: tuple[Condition, ...] = ({"properties": {"value": {"minimum": -1000, "maximum": 1000}}},)
_SCRIPT: tuple[Condition, ...] = (
    {
        "anyOf": [
            _needed("lines"),
            _needed("patterns"),
            {"properties": {"replies": {"minProperties": 1}}, "required": ["replies"]},
        ]
    },
)
_PATTERN: tuple[Condition, ...] = ({"properties": {"when": {"format": "regex"}}},)
_CRITERION: tuple[Condition, ...] = (
    {
        "properties": {"name": {"pattern": "^[a-z][a-z0-9_]*$"}},
        "anyOf": [
            {"properties": {"criterion": _SET}, "required": ["criterion"]},
            _needed("steps"),
            {"properties": {"graph": _SET}, "required": ["graph"]},
        ],
    },
    _where("graph", _SET, _both(_null("criterion"), _empty("steps", "bands"))),
)

_GRAPH: tuple[Condition, ...] = (
    {"properties": {key: {"additionalProperties": {"minItems": 1}} for key in ("people", "experience")}},
)
_PROMPT: tuple[Condition, ...] = (
    _where(
        "schema",
        _SET,
        {
            "properties": {
                "schema": {
                    "properties": {"type": {"const": "object"}, "properties": {"type": "object"}},
                    "required": ["type", "properties"],
                }
            }
        },
    ),
)
_PLAN: tuple[Condition, ...] = (
    _where(
        "mode",
        {"const": "audit"},
        {"properties": {"judge": _SET}, "required": ["judge"]},
        unless=_null("judge"),
    ),
    _where("mode", {"enum": ["audit", "pairs", "adjudicate"]}, _empty("training", "gold")),
    _where("mode", {"not": {"const": "adjudicate"}}, {"properties": {"opinions": {"maxProperties": 0}}}),
    *(
        _where(
            "mode",
            {"const": mode},
            {
                "properties": {
                    "rubrics": {
                        "items": {
                            "properties": {
                                "rubric": {"properties": {"kind": {"enum": list(kinds)}}},
                            }
                        }
                    }
                }
            },
        )
        for mode, kinds in KINDS.items()
    ),
)


def _weights(names: tuple[str, ...]) -> tuple[Condition, ...]:
    """Weights of all features, and of some of them for single categories."""
    of_features = {"propertyNames": {"enum": list(names)}}
    return (
        {
            "properties": {
                "weights": {**of_features, "required": list(names)},
                "by_category": {"additionalProperties": of_features},
            }
        },
    )


#: By the model's name.
CONDITIONS: Mapping[str, tuple[Condition, ...]] = {
    "Rubric": _RUBRIC,
    "RubricPart": _PART,
    "Level": _LEVEL,
    "Script": _SCRIPT,
    "ScriptPattern": _PATTERN,
    "CriterionFile": _CRITERION,
    "StoryGraph": _GRAPH,
    "PromptForm": _PROMPT,
    "AnnotationPlan": _PLAN,
    "Reveal": _weights(REVEAL_FEATURES),
    "Address": _weights(FEATURES),
}
