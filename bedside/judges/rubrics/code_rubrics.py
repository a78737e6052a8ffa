"""The rubrics of behaviour codes: a person or a judge gives each turn of a role one of a code's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from bedside.core.errors import RegistryError
from bedside.core.registry import DataRegistry, nearest
from bedside.core.yaml_files import keys_and_values
from bedside.judges.rubrics.prompt_words import ENGLISH, PromptWords, languages, prompt_words
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import SUFFIX, examine_entries
from bedside.transcripts.transcript import CODE_ROLES, CODES, Role


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class CodeExample:
    """A turn with its label, to show what is meant.

    Attributes:
        before: what the other of clinician and patient said just before.
        turn: the turn.
        label: its label.
        reason: why.
    """

    before: str
    turn: str
    label: str
    reason: str


_EXAMPLE_LIST = TypeAdapter(tuple[CodeExample, ...])


#: What a rubric of a code doesn't state: it is the same for every code.
FIXED_KEYS = ("unit", "kind", "role", "direction", "each")

_OTHER: Mapping[Role, Role] = {"clinician": "patient", "patient": "clinician"}


def _parse(path: Path) -> Rubric:
    """The rubric of a code from its file: the keys of a rubric without those that are the same for all codes, and
    ``examples``.

    Raises:
        RegistryError: the file is no such rubric, or its labels aren't the code's.
    """
    data = keys_and_values(path, "rubric file", "the docs on rubrics")
    code = path.stem
    if code not in CODES:
        raise RegistryError(f"there is no code {code}", where=str(path), todo=nearest(code, CODES))
    role = CODE_ROLES[code]
    same = dict(zip(FIXED_KEYS, ("turn", "label", role, "none", "turns"), strict=True))
    doubled = sorted(same.keys() & data.keys())
    examples = _examples(data, path)
    file_instructions = data.pop("instructions", None)
    if file_instructions is not None and not (
        isinstance(file_instructions, str) and file_instructions.strip()
    ):
        raise RegistryError("instructions: not a text that says something", where=str(path))
    language = data.get("language", ENGLISH)
    words = prompt_words(
        language if language in languages() else ENGLISH
    )  # what is none is an error of the rubric's
    instructions = _instructions(file_instructions or "", examples, role, words)
    rubric, remarks = examine_entries({**data, **same, "instructions": instructions}, path)
    problems = [f"{key}: the same for every code, and not stated" for key in doubled]
    problems += [f"{remark.key}: {remark.text}" for remark in remarks if remark.severity == "error"]
    if rubric is not None and tuple(label.label for label in rubric.labels) != CODES[code]:
        problems.append(f"labels: those of {code} are {', '.join(CODES[code])}, in this order")
    problems += [
        f"examples: {code} has no label {example.label}"
        for example in examples
        if example.label not in CODES[code]
    ]
    if rubric is None or problems:
        raise RegistryError(problems[0], where=str(path))
    return rubric


def _examples(data: dict[str, Any], path: Path) -> tuple[CodeExample, ...]:
    """The examples, which are taken from the keys and values of a file."""
    try:
        return _EXAMPLE_LIST.validate_python(data.pop("examples", ()))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, ("examples", *first["loc"])))
        raise RegistryError(f"{place}: {first['msg']}", where=str(path)) from error


def _instructions(
    file_instructions: str, examples: Sequence[CodeExample], role: Role, words: PromptWords
) -> str:
    """What a judge is told besides the labels: the instructions, what a call shows, and the examples."""
    lines = [words.join(file_instructions, words.say("codebook", "window"))]
    lines.append(words.say("codebook", "examples"))
    called = {"role": words.roles[role], "before_role": words.roles[_OTHER[role]]}
    for example in examples:
        label = orjson.dumps(example.label).decode()
        lines.append(words.say("codebook", "example", before=example.before, turn=example.turn, **called))
        lines.append(words.say("codebook", "reason", label=label, reason=example.reason))
    return "\n".join(lines)


#: The rubrics by which a judge gives codes, by the code.
CODEBOOK: DataRegistry[Rubric] = DataRegistry(
    "bedside.judges.rubrics.codebook", SUFFIX, "code", Rubric, _parse, group="bedside.rubrics.codebook"
)
