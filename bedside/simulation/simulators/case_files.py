"""Cases and personas as files: JSON, JSON lines, YAML or folders of them; cases of other projects' public forms too.

A JSON or YAML file holds one object or a list. Every complaint names file, line and key, and the nearest key where one
is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from bedside.core.errors import InputError
from bedside.core.model_errors import KeyPath, complaints, key_name
from bedside.judges.rubrics.linter import Remark
from bedside.simulation.simulators import agentclinic_cases, craft_md_cases, mdd5k_cases, medagent_cases
from bedside.simulation.simulators.case import Case, Persona
from bedside.simulation.simulators.case_linter import leaks
from bedside.simulation.simulators.case_records import FileRecord, PathOrPaths, records
from bedside.simulation.simulators.mdd5k_cases import LeftOutCaseError

CASE_FILE, PERSONA_FILE = "case file", "file of personas"
_SEE = "see docs/cases.md"
Named = TypeVar("Named", Case, Persona)


def read_cases(paths: PathOrPaths) -> list[tuple[str, Case]]:
    """Cases with their places (file and line), in the files' order.

    Args:
        paths: a file or folder, or several. Files of AgentClinic's, CRAFT-MD's, MDD-5k's and MedAgent's forms are
            recognised by their keys; rows of MedAgent's that aren't about mental health are no cases
            (:func:`unused_rows`).

    Raises:
        InputError: a file can't be read, a case is wrong, an id is there twice, or there are no cases.
    """
    return _read(records(paths, CASE_FILE), Case, _case_object)


def converted_cases(
    paths: PathOrPaths,
) -> tuple[list[tuple[str, Case]], list[tuple[str, str]]]:
    """Cases as :func:`read_cases`, and those that their source leaves out, which are no error here.

    Returns:
        The cases with their places; and place and reason of each that is left out.

    Raises:
        InputError: as :func:`read_cases`.
    """
    left_out: list[tuple[str, str]] = []
    return _read(records(paths, CASE_FILE), Case, _case_object, left_out), left_out


def unused_rows(paths: PathOrPaths) -> int:
    """How many rows of MedAgent's form say that they aren't about mental health, and are no cases for that.

    Raises:
        InputError: as :func:`read_cases`.
    """
    return sum(map(_is_unused, records(paths, CASE_FILE)))


def read_personas(paths: PathOrPaths) -> list[tuple[str, Persona]]:
    """Personas with their places (file and line), in the files' order.

    Raises:
        InputError: as :func:`read_cases`.
    """
    return _read(records(paths, PERSONA_FILE), Persona, lambda record: record.value)


def check_cases(
    paths: PathOrPaths, needs: Callable[[Case], Iterable[str]] | None = None
) -> Iterator[tuple[str, Remark]]:
    """Everything that is wrong with cases, or doubtful, with file and line.

    Args:
        paths: a file or folder, or several.
        needs: what a case lacks for a protocol, as its simulator says it; None where no protocol is asked about.

    Raises:
        InputError: a file can't be read at all.
    """
    first: dict[str, str] = {}
    for record in records(paths, CASE_FILE):
        try:
            content = _case_object(record)
            if content is None:
                continue
            case = Case.model_validate(content)
        except InputError as error:
            yield error.where or record.place(), Remark("error", "the case", error.what)
            continue
        except ValidationError as error:
            for path, text in complaints(error, Case):
                yield record.place(path), Remark("error", key_name(path) or "the case", text)
            continue
        if case.id in first:
            yield (
                record.place(("id",)),
                Remark("error", "id", f"{case.id!r} is there twice; the first is at {first[case.id]}"),
            )
        first.setdefault(case.id, record.place())
        for remark in leaks(case):
            yield record.place(_path(remark.key)), remark
        for text in needs(case) if needs is not None else ():
            yield record.place(), Remark("error", case.id, text)


def case_text(cases: Sequence[Case]) -> str:
    """Cases as the text of a YAML file in bedside's own form, without what is left at its default."""
    import yaml

    items = [case.model_dump(mode="json", exclude_defaults=True) for case in cases]
    return str(yaml.safe_dump(items, allow_unicode=True, sort_keys=False, width=110))


def _case_object(record: FileRecord) -> Any:
    """What a record says in bedside's own form; None where it says that it is no case."""
    for form in (agentclinic_cases, craft_md_cases, mdd5k_cases, medagent_cases):
        if form.is_of_form(record.value):
            return form.case_object(record)
    return record.value


def _is_unused(record: FileRecord) -> bool:
    try:
        return _case_object(record) is None
    except LeftOutCaseError:
        return False


def _read(
    file_records: Iterator[FileRecord],
    model: type[Named],
    own_form: Callable[[FileRecord], Any],
    left_out: list[tuple[str, str]] | None = None,
) -> list[tuple[str, Named]]:
    noun = model.__name__.lower()
    placed: dict[str, tuple[str, Named]] = {}
    for record in file_records:
        try:
            content = own_form(record)
        except LeftOutCaseError as error:
            if left_out is None:
                raise
            left_out.append((error.where or record.place(), error.what))
            continue
        if content is None and record.value is not None:
            continue
        try:
            item = model.model_validate(content)
        except ValidationError as error:
            path, text = complaints(error, model)[0]
            key = f"{key_name(path)}: " if path else ""
            raise InputError(f"{key}{text}", where=record.place(path), todo=_SEE) from error
        if item.id in placed:
            raise InputError(
                f"the {noun} {item.id!r} is there twice",
                where=record.place(("id",)),
                todo=f"keep one of them; the first is at {placed[item.id][0]}",
            )
        placed[item.id] = (record.place(), item)
    if not placed:
        raise InputError(f"there are no {noun}s", todo=_SEE)
    return list(placed.values())


def _path(key: str) -> KeyPath:
    """The path that a remark's key names."""
    return tuple(int(part) if re.fullmatch("[0-9]{1,9}", part) else part for part in key.split("."))
