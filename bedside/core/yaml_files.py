"""Files of settings: strict YAML that holds plain values, and no more of them than anybody writes."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from bedside.core.errors import BedsideError, RegistryError
from bedside.core.files import read_text
from bedside.core.json_shape import MOST_LEVELS

#: Largest file in bytes, and most values in it: those that an alias stands for are counted each time.
MOST_BYTES = 2**20
MOST_VALUES = 20_000

#: The line of a digest, after other lines of comment.
_DIGEST = re.compile(r"(?:#.*\n)*?# SHA-256 of all below: ([0-9a-f]{64})\r?\n")

#: What the parser in C reads otherwise than the one in Python: spaces that aren't plain, marks of byte order, starts
#: and directives of a document, comments next to | or >, no value before a bracket, question marks of keys or beside
#: brackets and braces.
_ONLY_IN_PYTHON = re.compile(
    r"[^\S\n ]|\ufeff|^(?:%|---)|[|>][-+\d]*#|:(?:\s|#.*\n)*[,\]}]|(?<!\w)\?|[&*]\w+\?|\A(?=[^?]*\?)[^\[{]*[\[{]",
    re.MULTILINE,
)

_STR, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """Plain values only: no tags, no Python objects, no key twice; aliases only where they can't go on without end."""

    aliases = False

    def __init__(self, stream: str, *, fast: bool) -> None:
        super().__init__(stream)
        if fast:
            parser: Any = yaml.CSafeLoader(stream)
            for name in ("check_event", "peek_event", "get_event"):
                setattr(self, name, getattr(parser, name))
        self._values = 0
        self._levels = 0
        #: Anchor → the number of values it stands for, once that is known.
        self._sizes: dict[str, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            if not self.aliases:
                raise _wrong(f"the alias *{event.anchor} is not allowed", event)
            if event.anchor in self.anchors and event.anchor not in self._sizes:
                raise _wrong(f"the alias *{event.anchor} is a part of what it stands for", event)
            self._count(self._sizes.get(str(event.anchor), 0), event)
            return super().compose_node(parent, index)
        if event.tag is not None:
            raise _wrong(f"the tag {event.tag} is not allowed", event)
        before = self._values
        self._count(1, event)
        self._levels += 1
        if self._levels > MOST_LEVELS:
            raise _wrong(f"it is nested more than {MOST_LEVELS} levels deep", event)
        node = super().compose_node(parent, index)
        self._levels -= 1
        if event.anchor is not None:
            self._sizes[event.anchor] = self._values - before
        return node

    def _count(self, values: int, event: Any) -> None:
        self._values += values
        if self._values > MOST_VALUES:
            raise _wrong(f"it holds more than {MOST_VALUES:,} values", event)

    def construct_scalar(self, node: Any) -> Any:
        if ":" in node.value and node.tag.endswith((":int", ":float")):
            raise _wrong(f"{node.value} is read as a number to the base 60; quote it, or write a decimal", node)
        return super().construct_scalar(node)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _wrong("a key must be a single word", key)
            if key.tag == _MERGE and self.aliases:
                continue
            if key.tag != _STR:
                raise _wrong(f"the key {key.value!r:.60} is not a word; quote it", key)
            if key.value in seen:
                raise _wrong(f"the key {key.value} is there twice", key)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


class _AliasLoader(_Loader):
    aliases = True


def _wrong(what: str, at: Any) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, what, at.start_mark)


def with_digest(text: str) -> str:
    """YAML after a line of comment with its SHA-256, which is checked when it is read."""
    return f"# SHA-256 of all below: {_digest(text)}\n{text}"


def has_digest(path: Path) -> bool:
    """Whether a file of YAML has such a line."""
    with suppress(BedsideError):
        return _DIGEST.match(read_text(path, most=MOST_BYTES)) is not None
    return False


def _digest(text: str) -> str:
    """The SHA-256 of a text, whatever a system's ends of lines."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()


def plain_yaml(path: Path, noun: str, *, aliases: bool = False, kind: type[BedsideError] = RegistryError) -> Any:
    """What a YAML file holds.

    Args:
        path: the file.
        noun: what it is, for messages, such as ``rubric file``.
        aliases: whether a value may stand in several places by an anchor and aliases.
        kind: of the error.

    Raises:
        BedsideError: of ``kind``: it can't be read, is not UTF-8, or is not plain YAML.
    """
    return plain_yaml_nodes(path, noun, aliases=aliases, kind=kind)[0]


def plain_yaml_nodes(
    path: Path, noun: str, *, aliases: bool = False, kind: type[BedsideError] = RegistryError
) -> tuple[Any, Any]:
    """As :func:`plain_yaml`, with the node that it was made from, which knows the lines; None of an empty file."""
    text = read_text(path, noun, most=MOST_BYTES, kind=kind)
    sealed = _DIGEST.match(text)
    if sealed is not None and sealed[1] != _digest(text[sealed.end() :]):
        raise kind(
            f"the {noun} was changed after it was written (its SHA-256 is another)",
            where=str(path),
            todo="restore it from a copy, or take the line of its SHA-256 out to make it yours",
        )
    # What the parser in C can't read is read in Python, or said to be wrong in its words.
    if hasattr(yaml, "CSafeLoader") and _ONLY_IN_PYTHON.search(text) is None:
        with suppress(yaml.YAMLError, ValueError, LookupError, ArithmeticError, RecursionError):
            return _value_and_node(text, aliases=aliases, fast=True)
    try:
        return _value_and_node(text, aliases=aliases, fast=False)
    # Values that look like a date or a number and are none raise what their conversion raises.
    except (yaml.YAMLError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else str(path)
        raise kind(f"the file is not plain YAML ({getattr(error, 'problem', None) or error})", where=place) from error


def _value_and_node(text: str, *, aliases: bool, fast: bool) -> tuple[Any, Any]:
    loader = (_AliasLoader if aliases else _Loader)(text, fast=fast)
    root = loader.get_single_node()
    return (None if root is None else loader.construct_document(root)), root


def keys_and_values(path: Path, noun: str, see: str, *, aliases: bool = False) -> dict[str, Any]:
    """What a YAML file of keys and values holds; ``see`` is where its form is described.

    Raises:
        RegistryError: as :func:`plain_yaml`, or it holds anything else.
    """
    data = plain_yaml(path, noun, aliases=aliases)
    if not isinstance(data, dict):
        raise RegistryError(f"a {noun} must hold keys and values", where=str(path), todo=f"see {see}")
    return data
