"""Prompts as files: strict YAML, one file a prompt and language, beside the simulator that uses it.

A file has the keys ``id``, ``language``, ``purpose`` (what it is for, a sentence), ``variables`` (what its slots hold,
by name), ``brief`` (who the actor is and what it knows) and ``instruction`` (what is wanted now), one of them at least,
and ``schema`` (JSON Schema of the reply) where a reply is an object. ``said`` names the variables that hold what
somebody says in the conversation: it stands between marker lines, as in judges' prompts, so that whoever is asked can't
take it for a part of the task. A slot is written ``{name}``, a brace itself
``{{`` or ``}}``. What fills a slot is never looked at again: a brace in a case is no slot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from bedside.core.errors import RegistryError, nearest, one_of
from bedside.core.files import file_digest
from bedside.core.json_shape import MOST_LEVELS, unwritable
from bedside.core.model_errors import to_model
from bedside.core.yaml_files import keys_and_values
from bedside.judges.prompt import clean, codes, fenced
from bedside.judges.rubrics.prompt_words import prompt_words
from bedside.metrics.protocols.label_files import Strict, Text
from bedside.simulation.simulators.calls import ActorRole, Call

SUFFIX = ".yaml"
#: Digits of the SHA-256 of a file that stand in a reference to it.
HASH_DIGITS = 12
_SEE = "CONTRIBUTING.md"

_NAME = r"[a-z][a-z0-9_]*"
_PIECE = re.compile(rf"\{{\{{|\}}\}}|\{{({_NAME})\}}|[{{}}]")
#: An object's schema.
_OBJECT: dict[str, Any] = {
    "properties": {"type": {"const": "object"}, "properties": {"type": "object"}},
    "required": ["type", "properties"],
}


class PromptForm(Strict):
    """A prompt file's keys.

    Attributes:
        id: its name, equal in all languages.
        language: code of its language.
        purpose: what it is for.
        variables: what each slot holds, by name.
        said: the variables that hold what somebody says.
        brief: who the actor is and what it knows; a slot is written {name}.
        instruction: what is wanted now; a slot is written {name}.
        schema: JSON Schema of the reply, where it is an object.
    """

    id: Annotated[str, Field(pattern=rf"^{_NAME}$", strict=True)]
    language: Literal["en", "zh"]
    purpose: Text
    variables: Mapping[Annotated[str, Field(pattern=rf"^{_NAME}$")], Text] = {}
    said: tuple[Annotated[str, Field(pattern=rf"^{_NAME}$")], ...] = ()
    brief: str = ""
    instruction: str = ""
    reply_schema: Annotated[Mapping[str, Any], Field(json_schema_extra=_OBJECT)] | None = Field(
        default=None, alias="schema"
    )


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """A prompt with what its slots hold.

    Attributes:
        brief: who the actor is and what it knows; empty where the file has none.
        instruction: what is wanted now; empty where the file has none.
        schema: JSON Schema of the reply; None for plain text.
        reference: ``id.language@`` and the first twelve digits of the file's SHA-256.
    """

    brief: str
    instruction: str
    schema: Mapping[str, Any] | None
    reference: str


@dataclass(frozen=True, slots=True)
class PromptFile:
    """One prompt in one language.

    Attributes:
        id: its name, equal in all languages.
        language: code of its language.
        purpose: what it is for.
        variables: what each slot holds, by name.
        brief: text with slots.
        instruction: text with slots.
        schema: JSON Schema of the reply; None for plain text.
        path: the file.
        digest: the file's SHA-256 (64 hexadecimal digits).
        said: the variables that hold what somebody says.
    """

    id: str
    language: str
    purpose: str
    variables: Mapping[str, str]
    brief: str
    instruction: str
    schema: Mapping[str, Any] | None
    path: Path
    digest: str
    said: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """``id.language@`` and the first twelve digits of the file's SHA-256."""
        return f"{self.id}.{self.language}@{self.digest[:HASH_DIGITS]}"

    def fill(self, **variables: str | int) -> FilledPrompt:
        """The prompt with a text in each slot; what somebody says is fenced, one message a line.

        Raises:
            RegistryError: a variable is missing, unknown, or neither text nor a whole number.
        """
        where = f"{self.path}, key variables"
        for name in variables:
            one_of(name, self.variables, "variable", RegistryError, where=where)
        for name in self.variables:
            if name not in variables:
                todo = f"it holds this: {self.variables[name]}"
                raise RegistryError(f"the variable {name!r} is missing", where=where, todo=todo)
            if not isinstance(variables[name], str | int):
                what = f"the variable {name!r} is {variables[name]!r:.40}"
                raise RegistryError(what, where=where, todo="give a text or a whole number")
        texts = {**variables, **self._fenced({name: str(variables[name]) for name in self.said})}
        return FilledPrompt(_filled(self.brief, texts), _filled(self.instruction, texts), self.schema, self.reference)

    def _fenced(self, said: Mapping[str, str]) -> Mapping[str, str]:
        """What is said between marker lines with one code, which occurs in none of it."""
        said = {name: "\n".join(map(clean, text.split("\n"))) for name, text in said.items()}
        content = "\n".join(said.values())
        code = next(codes(content, [content]))
        words = prompt_words(self.language)
        return {name: fenced(name, text, code, words).rstrip("\n") for name, text in said.items()}


@dataclass(frozen=True, slots=True)
class PromptSet:
    """All prompts of a folder.

    Attributes:
        folder: where they stand.
        files: each by its id and language.
    """

    folder: Path
    files: Mapping[tuple[str, str], PromptFile]

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages that each prompt is there in, sorted."""
        return tuple(sorted({language for _, language in self.files}))

    def get(self, prompt_id: str, language: str) -> PromptFile:
        """The prompt of this id in a language.

        Raises:
            RegistryError: there is none.
        """
        prompt = self.files.get((prompt_id, language))
        if prompt is not None:
            return prompt
        one_of(prompt_id, {name for name, _ in self.files}, "prompt", RegistryError, where=str(self.folder))
        raise RegistryError(
            f"the prompt {prompt_id!r} isn't there in the language {language!r}",
            where=str(self.folder),
            todo=f"it is there in {' and '.join(self.languages)}",
        )


@cache
def prompts_in(folder: Path) -> PromptSet:
    """All prompts of a folder, read once.

    Raises:
        RegistryError: a file is none, or the linter finds something wrong; one line that names file and key.
    """
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    if not paths:
        raise RegistryError("there are no prompt files", where=str(folder), todo="check the folder's path")
    prompts = [read_prompt(path) for path in paths]
    for path, key, text in faults_of_prompts(prompts):
        raise RegistryError(f"{key}: {text}", where=str(path))
    return PromptSet(folder, {(prompt.id, prompt.language): prompt for prompt in prompts})


def filled_prompt(folder: Path, prompt_id: str, language: str, **variables: str | int) -> FilledPrompt:
    """A prompt of a simulator with what its slots hold.

    Args:
        folder: the simulator's, whose prompts stand in ``prompts``.
        prompt_id: the prompt.
        language: code of its language.
        variables: a text or a whole number for each slot.
    """
    return prompts_in(folder / "prompts").get(prompt_id, language).fill(**variables)


def prompt_call(
    actor: ActorRole,
    purpose: str,
    ordinal: int,
    *prompts: FilledPrompt | None,
    sources: Iterable[str] = (),
    **more: Any,
) -> Call:
    """A call whose texts are those of prompts: their briefs and instructions in order, and the last schema.

    Args:
        actor, purpose, ordinal, more: as the call has them. Who is on neither side is asked for data.
        prompts: what it is made of; None for one that isn't needed.
        sources: references to what else stands in the texts.
    """
    parts = [prompt for prompt in prompts if prompt is not None]
    texts: dict[str, Any] = {
        "brief": "\n\n".join(part.brief for part in parts if part.brief),
        "instruction": "\n\n".join(part.instruction for part in parts if part.instruction),
        "schema": next((part.schema for part in reversed(parts) if part.schema is not None), None),
        "prompt": " ".join((*(part.reference for part in parts), *sources)),
        "kind": "message" if actor in ("clinician", "patient") else "data",
    }
    return Call(actor, purpose, ordinal, **(texts | more))


def listed(texts: Iterable[str], nothing: str = "(nothing)") -> str:
    """Texts as a list, a line each."""
    return "\n".join(f"- {' '.join(text.split())}" for text in texts) or nothing


def numbered(texts: Iterable[str]) -> str:
    """Texts as a list with numbers from 1, a line each."""
    return "\n".join(f"{number}. {' '.join(text.split())}" for number, text in enumerate(texts, 1))


def read_prompt(path: Path) -> PromptFile:
    """One prompt file.

    Raises:
        RegistryError: it can't be read, isn't plain YAML, or has an unknown, missing or wrong key.
    """
    data = keys_and_values(path, "prompt file", _SEE)
    wrong = unwritable(data, MOST_LEVELS)
    if wrong is not None:
        raise RegistryError(wrong, where=str(path))
    form = to_model(data, PromptForm, str(path), todo=f"see {_SEE}", kind=RegistryError)
    return PromptFile(
        id=form.id,
        language=form.language,
        purpose=form.purpose.strip(),
        variables=form.variables,
        said=form.said,
        brief=form.brief.strip(),
        instruction=form.instruction.strip(),
        schema=form.reply_schema,
        path=path,
        digest=file_digest(path),
    )


def faults_of_prompts(prompts: list[PromptFile]) -> Iterator[tuple[Path, str, str]]:
    """The linter: file, key and what is wrong, for each thing wrong with the prompts of one simulator.

    A slot that isn't declared, a variable that is used nowhere, a lone brace, a prompt without a text, a schema that is
    no object's, a file that isn't called after its prompt, two files of one prompt; a language that a prompt isn't
    there in while others are, and languages of one prompt that differ in their variables or schema.
    """
    first: dict[str, PromptFile] = {}
    languages = sorted({prompt.language for prompt in prompts})
    for prompt in prompts:
        yield from ((prompt.path, key, text) for key, text in _faults_of_prompt(prompt))
        other = first.setdefault(prompt.id, prompt)
        if other is prompt:
            there = {each.language for each in prompts if each.id == prompt.id}
            for language in languages:
                if language not in there:
                    yield (prompt.path, "language", f"the prompt is missing in {language!r}, which others are in")
        elif prompt.language == other.language:
            yield prompt.path, "id", f"{other.path.name} is the same prompt in the same language"
        elif set(prompt.variables) != set(other.variables):
            yield prompt.path, "variables", f"they differ from those of {other.path.name}"
        elif _shape(prompt.schema) != _shape(other.schema):
            yield prompt.path, "schema", f"its keys differ from those of {other.path.name}"


def _faults_of_prompt(prompt: PromptFile) -> Iterator[tuple[str, str]]:
    stem = f"{prompt.id}.{prompt.language}"
    if prompt.path.stem != stem:
        yield "id", f"the file is called {prompt.path.name}; call it {stem}{SUFFIX}"
    if not prompt.brief and not prompt.instruction:
        yield "brief", "there is neither a brief nor an instruction"
    used: set[str] = set()
    for key, text in (("brief", prompt.brief), ("instruction", prompt.instruction)):
        for match in _PIECE.finditer(text):
            if match[1] is not None:
                used.add(match[1])
                if match[1] not in prompt.variables:
                    yield key, f"{{{match[1]}}} is not declared; {nearest(match[1], prompt.variables)}"
            elif match[0] in "{}":
                line = text[: match.start()].count("\n") + 1
                yield key, f"a lone {match[0]} stands in its line {line}; a brace itself is written twice"
    for name in prompt.said:
        if name not in prompt.variables:
            yield "said", f"{name} is not declared; {nearest(name, prompt.variables)}"
    for name in prompt.variables:
        if name not in used:
            yield "variables", f"{name} is used nowhere"
    if prompt.schema is not None and not (
        prompt.schema.get("type") == "object" and isinstance(prompt.schema.get("properties"), Mapping)
    ):
        yield "schema", "it must be the schema of an object, with its properties"


def _shape(schema: Any) -> Any:
    """A schema without what is said about its parts: that is in the prompt's language."""
    if isinstance(schema, Mapping):
        return {
            key: _shape(value)
            for key, value in schema.items()
            if not (key in ("description", "title") and isinstance(value, str))
        }
    return [_shape(item) for item in schema] if isinstance(schema, list) else schema


def _filled(text: str, variables: Mapping[str, str | int]) -> str:
    def piece(match: re.Match[str]) -> str:
        return match[0][0] if match[1] is None else str(variables[match[1]])

    return _PIECE.sub(piece, text)
