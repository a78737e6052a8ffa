"""A form for a person at the keyboard, made from the JSON Schema that a language model's reply would have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Says a line to the person.
Show = Callable[[str], None]
#: Asks the person for a line, which comes without white space around it.
Ask = Callable[[str], str]

_YES, _NO = ("y", "yes", "true", "1"), ("n", "no", "false", "0")


@dataclass(frozen=True, slots=True)
class KeyboardForm:
    """Asks for a value that fits a schema, field by field, until each is one that fits.

    Attributes:
        ask: asks for a line.
        show: says a line.
        early: what the person entered before, offered where a list of such entries is wanted.
    """

    ask: Ask
    show: Show
    early: Sequence[Mapping[str, str]] = ()

    def fill(self, schema: Mapping[str, Any], name: str = "") -> Any:
        """A value that fits ``schema``; ``name`` is what it is called. What may be null is, where nothing is typed."""
        schema, nullable = _without_null(schema)
        value = self._value(schema, name)
        return None if nullable and value in ("", []) else value

    def _value(self, schema: Mapping[str, Any], name: str) -> Any:
        if "enum" in schema:
            return self._choice(list(schema["enum"]), name)
        kind = _kind(schema)
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            return self._list(schema, name)
        if kind == "boolean":
            return self._yes(name)
        if kind in ("integer", "number"):
            return self._number(schema, name, whole=kind == "integer")
        return self._text(schema, name)

    def _object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: self.fill(part, field_title(name, part))
            for name, part in schema.get("properties", {}).items()
        }

    def _list(self, schema: Mapping[str, Any], name: str) -> list[Any]:
        """Entries, one a line; an empty line ends them."""
        read = self._entry_reader(schema.get("items", {}))
        least, most = int(schema.get("minItems", 0)), schema.get("maxItems")
        self.show(f"{name or 'List'}: {read.hint}. An empty line ends the list.")
        entries: list[Any] = self._kept(read.categorised) if read.categorised is not None else []
        while most is None or len(entries) < most:
            line = self.ask(f"{len(entries) + 1}. ")
            if not line:
                if len(entries) >= least:
                    break
                self.show(f"At least {least} {'is' if least == 1 else 'are'} wanted.")
                continue
            try:
                entries.append(read.entry(line))
            except ValueError as error:
                self.show(str(error))
        return entries

    def _kept(self, form: CategorisedEntries) -> list[Mapping[str, str]]:
        """What the person entered before and hands in."""
        entries = []
        for entry in self.early:
            self.show(f"You entered: {form.line(entry)}")
            if self._yes("Hand it in"):
                entries.append(entry)
        return entries

    def _entry_reader(self, schema: Mapping[str, Any]) -> _EntryReader:
        """How one line of a list is read."""
        form = CategorisedEntries.of(schema)
        if form is not None:
            return _EntryReader(form.entry, f"one a line, as {form.hint}", form)
        if schema.get("properties"):
            return _EntryReader(
                lambda line: self._object_after(line, schema), "one a line, then what is asked of it"
            )
        return _EntryReader(lambda line: line, "one a line")

    def _object_after(self, line: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """An object whose first field was typed already."""
        (first, part), *more = schema["properties"].items()
        if "enum" in part:
            value: Any = _chosen(line, list(part["enum"]))
        elif _kind(part) == "string":
            value = line
        else:
            raise ValueError(f"{first} can't be typed on one line.")
        return {first: value, **{name: self.fill(rest, field_title(name, rest)) for name, rest in more}}

    def _choice(self, choices: list[Any], name: str) -> Any:
        while True:
            line = self.ask(f"{name or 'Choose'} ({_numbered(map(str, choices))}): ")
            try:
                return _chosen(line, choices)
            except ValueError as error:
                self.show(str(error))

    def _yes(self, name: str) -> bool:
        while True:
            line = self.ask(f"{name}? (y or n): ").casefold()
            if line in _YES or line in _NO:
                return line in _YES
            self.show("Type y for yes or n for no.")

    def _number(self, schema: Mapping[str, Any], name: str, *, whole: bool) -> float | int:
        least, most = schema.get("minimum"), schema.get("maximum")
        wanted = "a whole number" if whole else "a number"
        if least is not None and most is not None:
            wanted += f" from {least} to {most}"
        while True:
            line = self.ask(f"{name} ({wanted}): ")
            try:
                value = int(line) if whole else float(line)
            except ValueError:
                value = None
            if (
                value is not None
                and math.isfinite(value)
                and (least is None or value >= least)
                and (most is None or value <= most)
            ):
                return value
            self.show(f"Type {wanted}.")

    def _text(self, schema: Mapping[str, Any], name: str) -> str:
        while True:
            line = self.ask(f"{name or 'Text'}: ")
            if line or not schema.get("minLength"):
                return line
            self.show("Something must be typed here.")


@dataclass(frozen=True, slots=True)
class _EntryReader:
    entry: Callable[[str], Any]
    hint: str
    categorised: CategorisedEntries | None = None


@dataclass(frozen=True, slots=True)
class CategorisedEntries:
    """Entries of a category and a text each, which one line can hold.

    Attributes:
        category, text: what the two are called.
        choices: the categories.
    """

    category: str
    text: str
    choices: tuple[str, ...]

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> CategorisedEntries | None:
        """Those that ``schema`` describes; None where it describes others."""
        parts = dict(schema.get("properties", {}))
        chosen = [name for name, part in parts.items() if "enum" in part]
        texts = [name for name, part in parts.items() if "enum" not in part and _kind(part) == "string"]
        if not len(chosen) == len(texts) == 1 or len(parts) != 2:
            return None
        return cls(chosen[0], texts[0], tuple(str(value) for value in parts[chosen[0]]["enum"]))

    @property
    def hint(self) -> str:
        """How they are typed."""
        return f"CATEGORY: TEXT; categories are {_numbered(self.choices)}"

    def entry(self, line: str) -> dict[str, str]:
        """What a line says.

        Raises:
            ValueError: it says no category, or nothing of it.
        """
        chosen, colon, words = line.partition(":")
        if not colon or not words.strip():
            raise ValueError(f"Write {self.hint}.")
        return {self.category: _chosen(chosen.strip(), self.choices), self.text: words.strip()}

    def line(self, entry: Mapping[str, str]) -> str:
        """An entry as it could have been typed."""
        return f"{entry[self.category]}: {entry[self.text]}"


def listed_entries(schema: Mapping[str, Any]) -> CategorisedEntries | None:
    """The entries of a form's first list, where each is a category and a text."""
    for part in schema.get("properties", {}).values():
        if _kind(part) == "array":
            return CategorisedEntries.of(part.get("items", {}))
    return None


def neutral_value(schema: Mapping[str, Any]) -> Any:
    """What says nothing in a field: null where that may be, else no, or an empty list or text."""
    schema, nullable = _without_null(schema)
    return None if nullable else {"boolean": False, "array": [], "string": ""}.get(_kind(schema))


def _without_null(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """A schema of what isn't null, the first of several; and whether null fits too."""
    kinds = schema.get("type")
    choices = schema.get("anyOf", schema.get("oneOf")) or (
        [{**schema, "type": kind} for kind in kinds] if isinstance(kinds, list) else [schema]
    )
    values = [choice for choice in choices if choice.get("type") != "null"]
    return (values[0] if values else {}), len(values) < len(choices)


def _kind(schema: Mapping[str, Any]) -> str:
    return str(schema.get("type", "object" if "properties" in schema else "string"))


def field_title(name: str, schema: Mapping[str, Any]) -> str:
    """What a field is called: its title, or its name in words."""
    title = schema.get("title")
    return str(title) if title else name.replace("_", " ").capitalize()


def _numbered(choices: Iterable[Any]) -> str:
    """Choices with a number each, by which they can be chosen; those that are numbers themselves without."""
    names = [str(choice) for choice in choices]
    if any(map(str.isdecimal, names)):
        return ", ".join(names)
    return ", ".join(f"{number} {name}" for number, name in enumerate(names, 1))


def _chosen(line: str, choices: Sequence[Any]) -> Any:
    """The choice that was typed: its name, its number, or letters that only it begins with."""
    typed = line.casefold()
    names = [str(choice).casefold() for choice in choices]
    if typed in names:
        return choices[names.index(typed)]
    if not any(map(str.isdecimal, names)):
        if line.isdecimal() and 1 <= int(line) <= len(choices):
            return choices[int(line) - 1]
        begun = [
            choice for choice, name in zip(choices, names, strict=True) if typed and name.startswith(typed)
        ]
        if len(begun) == 1:
            return begun[0]
    raise ValueError(f"{line!r} is none of {_numbered(map(str, choices))}.")
