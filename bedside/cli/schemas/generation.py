"""A JSON Schema from a model, with what the model's docstring says of its attributes as the help of an editor."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: A text that is not only of spaces.
_SOME_WORD = r"\S"
#: One or several attributes with what they are, in a docstring's section ``Attributes``.
_ATTRIBUTE = re.compile(r"^(?P<names>\w+(?:, \w+)*): (?P<text>.*)$")
_CROSS_REFERENCE = re.compile(r":\w+:`~?([^`]+)`")


class SchemaWithHelp(GenerateJsonSchema):
    """Adds descriptions from docstrings, what goes together in a model, and what a type says only when it reads.

    Attributes:
        conditions: by a model's name, JSON Schemas that hold for it beside its own.
    """

    conditions: Mapping[str, tuple[JsonSchemaValue, ...]] = {}

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        """The schema of a model."""
        return self._with_help(schema["cls"], super().model_schema(schema))

    def dataclass_schema(self, schema: Any) -> JsonSchemaValue:
        """The schema of a dataclass."""
        return self._with_help(schema["cls"], super().dataclass_schema(schema))

    def str_schema(self, schema: Any) -> JsonSchemaValue:
        """The schema of a text: one that is stripped and must not be empty has a word; no pattern has inline flags,
        which editors don't know."""
        text = super().str_schema(schema)
        if schema.get("strip_whitespace") and text.pop("minLength", 0):
            text["pattern"] = _SOME_WORD
        if text.get("pattern", "").startswith("(?s)"):
            text["pattern"] = text["pattern"].removeprefix("(?s)").replace(".", r"[\s\S]")
        return text

    def _with_help(self, model: type, form: JsonSchemaValue) -> JsonSchemaValue:
        about, attributes = documented(model)
        if about:
            form["description"] = about
        for name, part in form.get("properties", {}).items():
            if name in attributes:
                part.setdefault("description", attributes[name])
            part.pop("title", None)
        form.pop("title", None)
        if self.conditions.get(model.__name__):
            form["allOf"] = list(self.conditions[model.__name__])
        return form


def documented(model: type) -> tuple[str, dict[str, str]]:
    """What a model's docstring says of it in its first paragraph, and of its attributes, those of its bases too.

    Returns:
        The first paragraph, and each attribute's text by its name; both begin with a capital and end with a full stop.
    """
    attributes: dict[str, str] = {}
    for base in reversed(model.__mro__):
        text = inspect.cleandoc(base.__dict__.get("__doc__") or "")
        names: list[str] = []
        _, _, section = text.partition("Attributes:\n")
        for line in section.splitlines():
            begun = _ATTRIBUTE.match(line[4:]) if line.startswith("    ") and line[4:5] != " " else None
            if begun is not None:
                names = begun["names"].split(", ")
                attributes.update(dict.fromkeys(names, begun["text"]))
            elif line.startswith("        "):
                attributes.update({name: f"{attributes[name]} {line.strip()}" for name in names})
            elif line.strip():
                break
    own = model.__dict__.get("__doc__") or ""
    about = " ".join(inspect.cleandoc(own).partition("\n\n")[0].split())
    return sentence(about), {name: sentence(text) for name, text in attributes.items()}


def sentence(text: str) -> str:
    """A text of a docstring as a sentence without its markup."""
    plain = _CROSS_REFERENCE.sub(lambda match: match[1].rpartition(".")[2], text).replace("``", "`").strip()
    if not plain:
        return ""
    return plain[:1].upper() + plain[1:] + ("" if plain.endswith((".", "?", "!")) else ".")


def schema_of(form: Any, conditions: Mapping[str, tuple[JsonSchemaValue, ...]]) -> JsonSchemaValue:
    """The JSON Schema of what a type reads.

    Args:
        form: a model, or a type made of models.
        conditions: see :class:`SchemaWithHelp`.
    """
    generator = type("SchemaOfForm", (SchemaWithHelp,), {"conditions": conditions})
    return TypeAdapter(form).json_schema(schema_generator=generator)
