"""Rubric files: strict YAML, shipped, of other packages or a user's own; translations, codes, preferences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from bedside.core.errors import BedsideError, InputError, RegistryError, RunError, one_of
from bedside.core.files import read_text
from bedside.core.registry import DataRegistry
from bedside.core.yaml_files import keys_and_values
from bedside.judges.rubrics.answer_form import STRICT, FieldName, FieldText, Label, Level, RubricPart
from bedside.judges.rubrics.linter import Remark, check
from bedside.judges.rubrics.prompt_words import ENGLISH, PromptWords, check_language, languages, prompt_words
from bedside.judges.rubrics.rubric import Input, Rubric, key_faults, named_inputs, read, titled
from bedside.metrics import FAMILIES
from bedside.ratings.rubric_metrics import FIRST, SECOND, TIE
from bedside.ratings.run import Run
from bedside.transcripts.transcript import CODE_ROLES, CODES, Role

# -- A rubric in another language -----------------------------------------------------------------------
# The file holds what judges and raters read, and for every level, label, part and input the name that tells which one a
# text is of. All else (scale, direction, source and so on) stays with the rubric it is made from.


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TranslatedPart:
    """The texts of one part of an answer.

    Attributes:
        name: of the part; descriptor, scale, labels, items: as of
            :class:`~bedside.judges.rubrics.answer_form.RubricPart`.
    """

    name: FieldName
    descriptor: FieldText
    scale: tuple[Level, ...] = ()
    labels: tuple[Label, ...] = ()
    items: tuple[TranslatedPart, ...] = ()


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TranslatedInput:
    """The texts of one input.

    Attributes:
        name: of the input.
        title: what it is called in texts, in place of its name.
        description: what it is.
    """

    name: FieldName
    title: FieldText
    description: FieldText


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RubricTranslation:
    """A rubric's texts in another language; the keys are the rubric's."""

    title: FieldText
    construct: FieldText
    definition: FieldText
    scale: tuple[Level, ...] = ()
    labels: tuple[Label, ...] = ()
    answer: tuple[TranslatedPart, ...] = ()
    inputs: tuple[TranslatedInput, ...] = ()
    not_applicable: FieldText | None = None
    instructions: FieldText | None = None


_TRANSLATION = TypeAdapter(RubricTranslation)
Named = TypeVar("Named", Level, Label, RubricPart, Input)


def translation_path(path: Path, language: str) -> Path:
    """Where the translation of a rubric's file stands."""
    return path.parent / language / path.name


def translated(rubric: Rubric, path: Path, language: str) -> Rubric:
    """A rubric in another language.

    Args:
        rubric: the rubric.
        path: its file.
        language: one of :func:`bedside.judges.rubrics.prompt_words.languages`; in its own language it is as it is.

    Raises:
        InputError: there are no words of prompts in that language.
        RegistryError: there is no translation, or it doesn't fit the rubric.
    """
    if check_language(language) == rubric.language:
        return rubric
    beside = translation_path(path, language)
    if not beside.is_file():
        raise RegistryError(
            f"the rubric {rubric.name} has no texts in {language}",
            where=str(path),
            todo=f"write them into {language}/{path.name} beside it, or ask in {rubric.language}",
        )
    data = keys_and_values(beside, "translation", "the docs on languages")
    other, remarks = translate(rubric, data, language)
    errors = [remark for remark in remarks if remark.severity == "error"]
    if other is None or errors:
        raise RegistryError(f"{errors[0].key}: {errors[0].text}", where=str(beside))
    return other


def translate(rubric: Rubric, data: dict[str, Any], language: str) -> tuple[Rubric | None, tuple[Remark, ...]]:
    """A rubric with texts in another language, and what is wrong with them.

    Args:
        rubric: the rubric.
        data: the keys and values of the translation's file.
        language: the language.

    Returns:
        The rubric, or None where errors keep it from being one, and the remarks, errors first. Errors are those of the
        linter, and: a level, label, part or input that is missing, or that the rubric hasn't; a text that is missing,
        or is the rubric's own; and an input in braces that only one of two texts names.
    """
    try:
        texts = _TRANSLATION.validate_python(data)
    except ValidationError as error:
        return None, tuple(Remark("error", key or "the file", fault) for key, _, fault in key_faults(error))
    problems = [Remark("error", key, text) for key, text in _misfits(rubric, texts)]
    if problems:
        return None, tuple(problems)
    other = replace(
        rubric,
        title=texts.title,
        construct=texts.construct,
        definition=texts.definition,
        scale=texts.scale,
        labels=texts.labels,
        answer=_parts(rubric.answer, texts.answer),
        inputs=tuple(
            replace(item, title=text.title, description=text.description)
            for item, text in zip(rubric.inputs, texts.inputs, strict=True)
        ),
        not_applicable=texts.not_applicable,
        instructions=texts.instructions,
        language=language,
        translated_from=rubric.version,
    )
    return other, check(other)


def _parts(parts: Sequence[RubricPart], texts: Sequence[TranslatedPart]) -> tuple[RubricPart, ...]:
    return tuple(
        replace(
            part, descriptor=text.descriptor, scale=text.scale, labels=text.labels, items=_parts(part.items, text.items)
        )
        for part, text in zip(parts, texts, strict=True)
    )


# -- whether a translation fits ---------------------------------------------------------------------


def _misfits(rubric: Rubric, texts: RubricTranslation) -> Iterator[tuple[str, str]]:
    for key in ("title", "construct", "definition", "instructions", "not_applicable"):
        yield from _text_misfits(key, getattr(rubric, key), getattr(texts, key))
    if rubric.measures:
        yield "kind", f"a rubric of kind {rubric.kind} has no translation; write one of its own with its language"
    yield from _list_misfits("scale", "value", rubric.scale, texts.scale)
    yield from _list_misfits("labels", "label", rubric.labels, texts.labels)
    yield from _part_misfits("answer", rubric.answer, texts.answer)
    yield from _list_misfits("inputs", "name", rubric.inputs, texts.inputs, "description")


def _part_misfits(key: str, parts: Sequence[RubricPart], texts: Sequence[TranslatedPart]) -> Iterator[tuple[str, str]]:
    misfits = list(_list_misfits(key, "name", parts, texts))
    yield from misfits
    if misfits:
        return
    for position, (part, text) in enumerate(zip(parts, texts, strict=True)):
        yield from _list_misfits(f"{key}.{position}.scale", "value", part.scale, text.scale)
        yield from _list_misfits(f"{key}.{position}.labels", "label", part.labels, text.labels)
        yield from _part_misfits(f"{key}.{position}.items", part.items, text.items)


def _list_misfits(
    key: str, name: str, entries: Sequence[Any], texts: Sequence[Any], text: str = "descriptor"
) -> Iterator[tuple[str, str]]:
    wanted = [getattr(entry, name) for entry in entries]
    translated = [getattr(entry, name) for entry in texts]
    if wanted != translated:
        rubric_words, translation_words = (", ".join(map(str, names)) or "none" for names in (wanted, translated))
        yield key, f"the rubric has {rubric_words}, in this order, and the translation {translation_words}"
        return
    for position, (entry, other) in enumerate(zip(entries, texts, strict=True)):
        yield from _text_misfits(f"{key}.{position}.{text}", getattr(entry, text), getattr(other, text))


def _text_misfits(key: str, text: str | None, other: str | None) -> Iterator[tuple[str, str]]:
    if (text is None) != (other is None):
        yield key, "the translation has no such text" if other is None else "the rubric has no such text"
    elif text is not None and other is not None:
        if text == other and len(text.split()) > 1:
            yield key, "the text is the rubric's own, and not translated"
        if named_inputs(text) != named_inputs(other):
            named = ", ".join(f"{{{name}}}" for name in sorted(named_inputs(text))) or "no input"
            yield key, f"the rubric names {named} here, and the translation does not name the same"


# -- Rubric files ---------------------------------------------------------------------------------------

SUFFIX = ".yaml"


def check_file(path: Path) -> tuple[Rubric | None, tuple[Remark, ...]]:
    """Read a rubric file and say everything that is wrong with it, errors first.

    Returns:
        The rubric, or None where errors keep the file from being one, and the remarks.
    """
    try:
        rubric, remarks = examine_entries(keys_and_values(path, "rubric file", "the docs on rubrics"), path)
    except RegistryError as error:
        line = str(error.where).removeprefix(str(path)).removeprefix(":")
        place = line if not str(error.where).startswith(str(path)) else f"line {line}" if line else "the file"
        return None, (Remark("error", place, " ".join(error.what.split())),)
    if rubric is not None:
        remarks += tuple(_translation_remarks(rubric, path))
    return rubric, tuple(sorted(remarks, key=lambda remark: remark.severity))


def _translation_remarks(rubric: Rubric, path: Path) -> Iterator[Remark]:
    """What is wrong with the translations that stand beside a rubric."""
    for language, beside in ((language, translation_path(path, language)) for language in languages()):
        if not beside.is_file():
            continue
        place = f"{language}/{beside.name}"
        try:
            _, remarks = translate(rubric, keys_and_values(beside, "translation", "the docs on languages"), language)
        except RegistryError as error:
            yield Remark("error", place, " ".join(error.what.split()))
            continue
        for remark in remarks:
            yield Remark(remark.severity, f"{place}: {remark.key}", remark.text)


#: What a rubric of several ratings asks as a whole where its file doesn't say it, and which way is better.
_WHOLE = {
    "sheet": ("Rate the conversation by each of the criteria, every one by itself.", "higher"),
    "flow": ("Answer the questions about the conversation, one after the other.", "none"),
    "points": ("Say of each of the criteria whether the conversation meets it.", "higher"),
}
#: The keys that such a rubric is known by.
_KINDS = {"points": "points", "criteria": "sheet", "questions": "flow"}
#: What a flow's table holds, and what it must hold.
_COLUMNS = ("id", "dimension", "severity", "question", "examples", "answer", "goto")
_NEEDED = ("id", "question", "dimension")
#: Largest table in bytes.
_MOST_BYTES = 2**22


def _completed(data: dict[str, Any], path: Path) -> tuple[dict[str, Any], list[str]]:
    """The keys and values of a file, with what a short one leaves to us; and where each question of a table stands.

    A short one begins with ``rubric``. A flow's table is read, and its severities are spelt as the file says.
    """
    data, places = dict(data), list[str]()
    if "flow" in data:
        if "questions" in data:
            raise RegistryError("flow: the questions stand in the table or in the file, not in both", where=str(path))
        data["questions"], places = _table_questions(data.pop("flow"), data.pop("columns", None), path)
    spelt = data.pop("severity", None) if "questions" in data else None
    if spelt is not None:
        if not isinstance(spelt, dict) or not isinstance(data["questions"], list):
            raise RegistryError("severity: words of the table, each with the one that is meant", where=str(path))
        stated = {str(question.get("severity")) for question in data["questions"] if isinstance(question, dict)}
        unknown = [word for word in spelt if word not in stated]
        if unknown:
            raise RegistryError(f"severity: no question has {unknown[0]!r}", where=str(path))
        for question in data["questions"]:
            if isinstance(question, dict) and isinstance(question.get("severity"), str):
                question["severity"] = spelt.get(question["severity"], question["severity"])
    if isinstance(data.get("points"), dict):
        both = {"from", "criteria"} <= data["points"].keys()
        if both or not data["points"].get("criteria", True):
            problem = "the criteria stand with the case (from) or in the file (criteria), not in both"
            problem = problem if both else "it lists no criteria; leave the key out where they stand with the case"
            raise RegistryError(f"points: {problem}", where=place_of(path, "points"))
        data = {**_points_form(data["points"]), **data}
    if "rubric" not in data:
        return data, places
    kind = next((kind for key, kind in _KINDS.items() if key in data), None)
    if kind is None or "name" in data:
        problem = "rubric: it stands in place of `name`, so the file can't have both"
        if "name" not in data:
            problem = "rubric: such a file needs `criteria`, `questions`, `flow` or `points`"
        raise RegistryError(problem, where=str(path), todo="see the docs on rubrics")
    name = data.pop("rubric")
    title = titled(str(data.get("title", name)))
    definition, direction = _WHOLE[kind]
    usual = {
        "name": name, "title": title, "construct": title, "definition": definition, "unit": "transcript",
        "kind": kind, "direction": direction, "source": path.name,
    }  # fmt: skip
    return {**usual, **data}, places


def _points_form(points: dict[str, Any]) -> dict[str, Any]:
    """How a rubric of points asks: whether each criterion is met, which its list in the reference numbers."""
    key = str(points.get("from", "criteria")).removeprefix("reference.")
    met = {"name": "met", "type": "boolean", "descriptor": "Whether the criterion holds of the conversation."}
    told = {"name": key, "title": "criteria", "description": "What the conversation is held against, by number."}
    return {"inputs": [told], "each": key, "answer": [met]}


def _table_questions(table: object, columns: object, path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The questions of a flow in a table, and where each stands; a row without an id goes on with the answers above."""
    suffix = Path(table).suffix.lower() if isinstance(table, str) else ""
    if suffix not in (".tsv", ".csv") or not isinstance(columns, dict) or not columns.keys() <= {*_COLUMNS}:
        problem = f"flow: the name of a .tsv or .csv, with columns: the table's names of {', '.join(_COLUMNS)}"
        raise RegistryError(problem, where=str(path), todo="see the docs on rubrics")
    questions: list[dict[str, Any]] = []
    places: list[str] = []
    for where, row in _rows(path.parent / str(table)):
        for key in (*columns, *_NEEDED):
            if columns.get(key) not in row:
                problem = f"columns: {key} is {columns.get(key, 'not said')}, and the table has {', '.join(row)}"
                raise RegistryError(problem, where=f"{path.parent / str(table)}:1", todo="name the table's own column")
        filled = {key: row[name] for key, name in columns.items() if row[name]}
        if not filled:
            continue
        answer = {key: filled.pop(key) for key in ("answer", "goto") if key in filled}
        if "id" in filled:
            questions.append({**filled, "answers": []})
            places.append(where)
        elif not questions or filled.keys() - {"examples"}:
            held = " and ".join(key for key in filled if key != "examples") or "no question above"
            raise RegistryError(
                f"a row without an id goes on with the answers above it, and this has {held}", where=where,
                todo="give it an id",
            )  # fmt: skip
        elif filled:
            told = (questions[-1].get("examples"), filled["examples"])
            questions[-1]["examples"] = "\n".join(text for text in told if text)
        if "goto" in answer and "answer" not in answer:
            raise RegistryError(f"it leads to {answer['goto']} by no answer", where=where, todo="name the answer")
        if answer:
            questions[-1]["answers"].append(answer)
    if not questions:
        raise RegistryError("flow: the table has no question", where=str(path.parent / str(table)))
    for question in questions:
        if not question["answers"]:
            del question["answers"]  # Yes and No
    return questions, places


def _rows(table: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a table, each with its place; names and cells without the blanks around them."""
    from bedside.core.records import file_records  # rarely needed, and whoever asks for agreement imports this module

    read_text(table, "table of a flow", most=_MOST_BYTES, kind=RegistryError)
    try:
        for row in file_records(table, "table of a flow"):
            yield row.place(), {name.strip(): cell.strip() for name, cell in row.value.items()}
    except InputError as error:
        raise RegistryError(f"flow: {error.what}", where=error.where, todo=error.todo) from error


def examine_entries(data: dict[str, Any], path: Path) -> tuple[Rubric | None, tuple[Remark, ...]]:
    columns = data.get("columns")
    data, places = _completed(data, path)
    try:
        rubric = read(data)
    except ValidationError as error:
        # An unknown key may be the missing one misspelt.
        faults = sorted(key_faults(error), key=lambda fault: fault[1] == "missing")
        return None, tuple(_in_table(_remark(*fault), places, columns) for fault in faults)
    remarks = tuple(_in_table(remark, places, columns) for remark in check(rubric))
    for name in _taken(rubric):
        key = "aggregate" if rubric.aggregate and rubric.aggregate.name == name else "name"
        text = f"there is a metric {name!r} already, of bedside or of another package; choose another name"
        remarks = (Remark("error", key, text), *remarks)
    # A tuned rubric keeps its name, which is that of the metric; its file can't be called like that of the other.
    if rubric.name != path.stem and not rubric.tuned:
        text = f"the rubric calls itself {rubric.name!r} and its file {path.stem!r}; give both one name"
        remarks = (Remark("error", "name", text), *remarks)
    return rubric, remarks


def _taken(rubric: Rubric) -> list[str]:
    """The metrics of a rubric of several ratings that are called like those of something else."""
    if rubric.kind not in _WHOLE:
        return []
    of_families = {metric.name for family in FAMILIES.all().values() for metric in family.metrics}
    return [name for name in rubric.metrics if name in of_families or (name != rubric.name and name in RUBRICS)]


def _in_table(remark: Remark, places: Sequence[str], columns: Any) -> Remark:
    """A remark on a question, by the row of the table that it stands in, and its column."""
    inner = re.match(r"questions\.([0-9]+)(?:.*\.([a-z]+))?", remark.key)
    if not inner or not places:
        return remark
    column = f"{columns.get(inner[2], inner[2])}: " if inner[2] else ""
    return replace(remark, key=places[int(inner[1])], text=column + remark.text)


def _remark(key: str, kind: str, message: str) -> Remark:
    if kind == "value_error" and ": " in message:
        # Checks of several keys together begin with the key they are about.
        inner, _, message = message.partition(": ")
        key = f"{key}.{inner}" if key else inner
    return Remark("error", key or "the file", message)


def parse_rubric(path: Path) -> Rubric:
    """Read a rubric file.

    Raises:
        RegistryError: it can't be read, isn't plain YAML, has an unknown, missing or wrong key, or an error that the
            linter finds: one line that names file and key. Warnings don't refuse it.
    """
    rubric, remarks = examine_entries(keys_and_values(path, "rubric file", "the docs on rubrics"), path)
    errors = [remark for remark in remarks if remark.severity == "error"]
    if rubric is None or errors:
        first, more = errors[0], f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise RegistryError(f"{first.key}: {first.text}{more}", where=place_of(path, first.key))
    return rubric


def place_of(path: Path, key: str) -> str:
    """A rubric's file with the line of a key, or of the nearest key around it; the file where it isn't in it."""
    from bedside.core.records import file_records

    try:
        record = next(file_records(path, "rubric file"))
        steps = tuple(int(step) if step.isdecimal() else step for step in key.split("."))
        return record.place(steps) if steps[0] in record.value else str(path)
    except (BedsideError, StopIteration, TypeError):  # no rubric yet, or numbers that aren't finite
        return str(path)


class RubricRegistry(DataRegistry[Rubric]):
    """The shipped rubrics, those of other packages (entry points ``bedside.rubrics``), and those of a user's folder.

    Args:
        folder: the user's folder; its files end in ``.yaml`` and are named after their rubrics.

    A name has one meaning: a rubric of the user's that is called like another one is refused, so that a table
    can't mix two of them.
    """

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__(
            "bedside.judges.rubrics.shipped", SUFFIX, "rubric", Rubric, parse_rubric, group="bedside.rubrics"
        )
        self._own = folder
        self._all: dict[str, str | EntryPoint] | None = None

    def find_in(self, name_or_path: str, language: str | None) -> Rubric:
        """As :meth:`find`, in a language; in its own where that is None.

        Raises:
            InputError: there are no words of prompts in that language.
            RegistryError: as :meth:`find`, or the rubric has no texts in the language.
        """
        rubric = self.find(name_or_path)
        if language is None:
            return rubric
        return translated(rubric, self.path(name_or_path), language)

    def path(self, name_or_path: str) -> Path:
        """The file of a rubric."""
        if name_or_path.endswith(self.suffix):
            return Path(name_or_path)
        place = self._index()[name_or_path]
        return Path(place if isinstance(place, str) else place.load())

    def _index(self) -> dict[str, str | EntryPoint]:
        if self._all is None:
            places = {**super()._index()}
            for path in self._own_files():
                if path.stem in places:
                    other = places[path.stem]
                    other = other if isinstance(other, str) else other.value
                    raise RegistryError(
                        f"two rubrics are called {path.stem!r}: {other} and {path}", todo="rename your own"
                    )
                places[path.stem] = str(path)
            self._all = places
        return self._all

    def _own_files(self) -> list[Path]:
        if self._own is None:
            return []
        if not self._own.is_dir():
            raise RegistryError("there is no such folder of rubrics", where=str(self._own), todo="check its path")
        paths = [path for path in sorted(self._own.iterdir()) if not path.name.startswith(("_", "."))]
        for path in paths:
            if path.suffix == ".yml":
                raise RegistryError("a rubric file ends in .yaml", where=str(path), todo=f"call it {path.stem}{SUFFIX}")
        return [path for path in paths if path.suffix == SUFFIX]


RUBRICS = RubricRegistry()
"""The rubrics that ship with bedside or come with other packages."""


def rubrics_with(folder: Path | None) -> RubricRegistry:
    """The registry that also knows the rubrics of the user's ``folder``."""
    return RUBRICS if folder is None else RubricRegistry(folder)


def find_rubric(name_or_path: str, folder: Path | None = None, language: str | None = None) -> Rubric:
    """A rubric by name (shipped, of another package, or of the user's ``folder``), or by the path of its file.

    Args:
        name_or_path: the name, or the path.
        folder: the user's folder.
        language: the language of its texts, such as ``de``; the rubric's own by default.

    Raises:
        InputError: there are no words of prompts in that language.
        RegistryError: there is none of this name (the nearest are given), two have it, the file is no rubric, or it has
            no texts in the language.
    """
    return rubrics_with(folder).find_in(name_or_path, language)


# -- The rubrics of behaviour codes ---------------------------------------------------------------------


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
    one_of(code, CODES, "code", RegistryError, where=str(path))
    role = CODE_ROLES[code]
    same = dict(zip(FIXED_KEYS, ("turn", "label", role, "none", "turns"), strict=True))
    doubled = sorted(same.keys() & data.keys())
    examples = _examples(data, path)
    file_instructions = data.pop("instructions", None)
    if file_instructions is not None and not (isinstance(file_instructions, str) and file_instructions.strip()):
        raise RegistryError("instructions: not a text that says something", where=str(path))
    language = data.get("language", ENGLISH)
    words = prompt_words(language if language in languages() else ENGLISH)  # what is none is an error of the rubric's
    instructions = _instructions(file_instructions or "", examples, role, words)
    rubric, remarks = examine_entries({**data, **same, "instructions": instructions}, path)
    problems = [f"{key}: the same for every code, and not stated" for key in doubled]
    problems += [f"{remark.key}: {remark.text}" for remark in remarks if remark.severity == "error"]
    if rubric is not None and tuple(label.label for label in rubric.labels) != CODES[code]:
        problems.append(f"labels: those of {code} are {', '.join(CODES[code])}, in this order")
    problems += [
        f"examples: {code} has no label {example.label}" for example in examples if example.label not in CODES[code]
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


def _instructions(file_instructions: str, examples: Sequence[CodeExample], role: Role, words: PromptWords) -> str:
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


# -- A rubric turned into the question which of two conversations is better by it -----------------------

_LABELS = (FIRST, SECOND, TIE)


def incomparable(rubric: Rubric) -> str | None:
    """Why two conversations can't be compared by a rubric; None where they can."""
    if rubric.kind != "level":
        return f"its answers are no levels, but of kind {rubric.kind}"
    if rubric.unit != "transcript" or rubric.each is not None or not rubric.transcript:
        return "it doesn't rate a conversation as a whole"
    return None


def check_comparable(rubric: Rubric) -> None:
    """See that a judge can compare two conversations by a rubric.

    Raises:
        InputError: it rates something else than whole conversations on levels, or is tuned.
    """
    reason = incomparable(rubric)
    if rubric.tuned:
        reason = "it is tuned for levels, with examples of them"
    if reason is not None:
        raise InputError(
            f"two conversations can't be compared by {rubric.name}: {reason}",
            where="`rubrics`",
            todo="name rubrics that rate whole conversations on levels and aren't tuned; see bedside list rubrics",
        )


def better_words(rubric: Rubric) -> str:
    """Which of two conversations is better by a rubric, in words: what its direction says."""
    return rubric.words.say("pair", "lower" if rubric.direction == "lower" else "higher")


def level_lines(rubric: Rubric) -> tuple[str, ...]:
    """The levels of a rubric with their descriptors, a line each."""
    return tuple(f"{level.value:g}: {level.descriptor}" for level in rubric.shown().scale)


def preference_rubric(rubric: Rubric) -> Rubric:
    """The question which of two conversations is better by a rubric, of the same name: its answer is a label.

    What a level stands for is told with the instructions.
    """
    shown, words = rubric.shown(), rubric.words
    levels = words.join(words.say("people_pair", "levels"), *level_lines(rubric))
    better = words.say("people_pair", "better", better=better_words(rubric))
    return Rubric(
        name=rubric.name,
        title=shown.title,
        construct=shown.construct,
        definition=words.join(shown.definition, better),
        unit="transcript",
        kind="label",
        role=rubric.role,
        direction="none",
        labels=tuple(Label(label=label, descriptor=words.say("people_pair", label)) for label in _LABELS),
        inputs=shown.inputs,
        shows=shown.shows,
        not_applicable=shown.not_applicable,
        instructions=words.join(shown.instructions or "", levels),
        source=shown.source,
        language=rubric.language,
        translated_from=rubric.translated_from,
    )


# -- Rubrics of a user's own ----------------------------------------------------------------------------

#: Rubrics of a user's own, by name; tuned and translated ones by name and version
#: (:attr:`~bedside.judges.rubrics.rubric.Rubric.key`).
OwnRubrics = Mapping[str, Rubric]


def own_rubrics(run: Run) -> OwnRubrics:
    """The rubrics of the user's own that a run was judged by, as they were then, and those that its suite names.

    What a rubric of several ratings comes to stands under the name of each metric. A tuned rubric of a name that
    nothing else in the run or package has stands under its mere name, too: what people and other raters rate by that
    name is on its scale.

    Raises:
        RunError: the run's manifest doesn't hold them as they were written.
    """
    try:
        rubrics = {key: read(data) for key, data in run.manifest.get("rubrics", {}).items()}
    except ValidationError as error:
        raise RunError(
            "the rubrics in the run's manifest can't be read", where=str(run.path), todo="judge again"
        ) from error
    for rubric in list(rubrics.values()):
        for measure in rubric.measures:
            rubrics.setdefault(measure.name, measure)
        if rubric.key != rubric.name and rubric.name not in RUBRICS:
            rubrics.setdefault(rubric.name, rubric.for_people)
    return rubrics
