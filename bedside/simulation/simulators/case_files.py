"""Cases and personas as files: JSON, JSON lines, YAML or folders of them; cases of other projects' public forms too.

A JSON or YAML file holds one object or a list. Every complaint names file, line and key, and the nearest key where one
is unknown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from bedside.core.errors import InputError, one_of
from bedside.core.model_errors import KeyPath, complaints, key_name, to_model
from bedside.core.records import FileRecord, PathOrPaths, records
from bedside.judges.rubrics.linter import Remark
from bedside.metrics.protocols.medconceal.matching import bare, normalise, occurs
from bedside.metrics.protocols.medconceal.policy import content, overlap
from bedside.simulation.simulators import agentclinic_cases, craft_md_cases, mdd5k_cases, medagent_cases
from bedside.simulation.simulators.case import Case, Persona
from bedside.simulation.simulators.mdd5k_cases import LeftOutCaseError

# -- The linter of cases --------------------------------------------------------------------------------

#: Share of the content words of what is hidden, and number of them, that make an open text one that gives it away.
SHARE, WORDS = 0.5, 2

_IDENTIFYING = (
    (
        "a name",
        re.compile(
            r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.? [A-Z][a-z]+|\b(?:named|called|name is|my name's) [A-Z][a-z]+"
            r"|[\u4e00-\u9fff](?:先生|女士|小姐|医生|大夫|老师)(?:说|的|是|在|，)|(?:我叫|名叫|姓名[:：]?)[\u4e00-\u9fff]{2,4}"
        ),
    ),
    (
        "a date",
        re.compile(
            r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[/.]\d{1,2}[/.](?:\d{4}|\d{2})\b|\d{4}年\d{1,2}月(?:\d{1,2}[日号])?"
            r"|\b(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?)?(?:January|February|March|April|June|July|August|September"
            r"|October|November|December|May)(?: \d{1,2}(?:st|nd|rd|th)?,?)? \d{4}\b"
        ),
    ),
    (
        "an exact age",
        re.compile(
            r"\b\d{1,3}[- ](?:year|yr)s?[- ]old\b|\b\d{1,3} ?y/?o\b|\baged? \d{1,3}\b|\d{1,3} ?岁", re.IGNORECASE
        ),
    ),
    (
        "a place",
        re.compile(
            r"\b(?:[A-Z][\w'’.]+ )+(?:Hospital|Clinic|University|College|School|Medical Center|County)\b"
            r"|\b\d+ (?:[A-Z][\w'’.]+ )+(?:Street|Avenue|Road|Lane|Drive)\b"
            r"|\b(?:lives?|living|born|grew up|moved|works?|working) (?:in|to|from|at) [A-Z][a-z]+"
            r"|[\u4e00-\u9fff]{2,}(?:省|市|区|县|镇|大学|医院)(?!里|内)"
        ),
    ),
    (
        "an address or number of a person",
        re.compile(
            r"[\w.+-]+@[\w-]+\.\w+|\b(?:MRN|SSN|NHS(?: number)?|medical record number)\b|(?<!\d)(?:\+\d{1,3}[ -]?)?"
            r"(?:\(?\d{3}\)?[ -]){2}\d{4}(?!\d)|(?<!\d)1[3-9]\d{9}(?!\d)",
            re.IGNORECASE,
        ),
    ),
)


def leaks(case: Case) -> Iterator[Remark]:
    """What the linter says of a case, errors and warnings mixed, in the order of its keys.

    Errors: a text of a concern, or a sentence it is voiced by, stands in the open; two concerns have one id. Warnings:
    half of a concern's or the diagnosis' content words stand in one open text; nothing voices a concern; none is
    primary, or several are; there are no deflections; a finding stands in the opening; a name, date, exact age, place
    or number that could tell who somebody is, in a protocol's own fields too, unless the case's origin says that it is
    invented.
    """
    yield from _concerns(case)
    open_texts = dict(_open_texts(case))
    for key, text in open_texts.items():
        yield from _concerns_in(case, key, text)
        # Where concerns are looked for and no note is told, the diagnosis is no secret of the clinician's.
        if case.note is not None or not case.hidden.concerns or not key.startswith("chart."):
            yield from _diagnosis_in(case, key, text)
    yield from _findings_in_opening(case)
    if "invented" not in case.origin.casefold():
        yield from _privacy(case, open_texts)


def _open_texts(case: Case) -> Iterator[tuple[str, str]]:
    """What the clinician or the patient is told from the start, by key."""
    for heading, text in case.chart.items():
        yield f"chart.{heading}", text
    patient = case.patient
    for name in ("narrative", "style"):
        yield f"patient.{name}", getattr(patient, name)
    for name in ("facts", "vitals", "psychosocial", "deflections"):
        for number, text in enumerate(getattr(patient, name)):
            yield f"patient.{name}.{number}", text
    if case.note is not None:
        for name in ("chief_complaint", "opening", "vignette"):
            yield f"note.{name}", getattr(case.note, name)
    study = case.extra.get("multisense", {}).get("study")
    if isinstance(study, str):  # what the patient knows is made of it
        yield "extra.multisense.study", study


def _concerns(case: Case) -> Iterator[Remark]:
    concerns = case.hidden.concerns
    if not concerns:
        return
    ids = [concern.id for concern in concerns]
    for number, concern in enumerate(concerns):
        key = f"hidden.concerns.{number}"
        if concern.id in ids[:number]:
            yield Remark("error", f"{key}.id", f"two concerns have the id {concern.id!r}")
        if not concern.voiced:
            yield Remark(
                "warning",
                f"{key}.voiced",
                "nothing says how the patient would voice the concern: where the model fails to, there is no line of "
                "the case's own to take",
            )
    primary = sum(concern.primary for concern in concerns)
    if primary != 1:
        yield Remark(
            "warning",
            "hidden.concerns",
            "no concern is primary: a task about the key concern has none"
            if primary == 0
            else f"{primary} concerns are primary: a task about the key concern can have only one",
        )
    if not case.patient.deflections:
        yield Remark(
            "warning",
            "patient.deflections",
            "there are no answers that give nothing away: where the model gives a concern away, there is no line of "
            "the case's own to take",
        )


def _concerns_in(case: Case, key: str, text: str) -> Iterator[Remark]:
    said, words = normalise(text), content(text)
    for concern in case.hidden.concerns:
        if any(occurs(bare(sentence), said) for sentence in (concern.text, *concern.voiced)):
            yield Remark("error", key, f"the concern {concern.id!r} stands here in its own words")
            continue
        wanted = content(concern.text)
        if _gives_away(words, wanted):
            yield Remark(
                "warning",
                key,
                f"half of the words of the concern {concern.id!r} or more stand here: {_some(words & wanted)}",
            )


def _diagnosis_in(case: Case, key: str, text: str) -> Iterator[Remark]:
    diagnosis = case.hidden.diagnosis
    if not diagnosis:
        return
    words, wanted = content(text), content(re.sub(r"\([^()]*\)|（[^（）]*）", " ", diagnosis))
    whole = occurs(bare(diagnosis), normalise(text))
    if whole or _gives_away(words, wanted) or (len(wanted) < WORDS and wanted and wanted <= words):
        seen = "clinician" if key.startswith("chart.") else "patient"
        yield Remark(
            "warning",
            key,
            f"the {seen} sees the diagnosis, or half of its words or more: {_some(words & wanted) or diagnosis}",
        )


def _gives_away(words: frozenset[str], wanted: frozenset[str]) -> bool:
    return len(words & wanted) >= WORDS and overlap(words, wanted) >= SHARE


def _some(words: frozenset[str]) -> str:
    return ", ".join(sorted(words)[:6])


def _findings_in_opening(case: Case) -> Iterator[Remark]:
    if case.note is None:
        return
    opening = content(case.note.opening or case.note.chief_complaint)
    for number, finding in enumerate(case.note.findings):
        words = content(finding.text)
        if words and overlap(opening, words) >= 1:
            yield Remark(
                "warning",
                f"note.findings.{number}.text",
                "the finding stands in the patient's first words: nobody needs to ask for it",
            )


def _nested_texts(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Texts of a protocol's own fields by key; an age that isn't rounded to tens is one."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _nested_texts(f"{key}.{name}", part)
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _nested_texts(f"{key}.{number}", part)
    elif type(value) is int and key.endswith(".age") and value % 10:
        yield key, f"aged {value}"


def _privacy(case: Case, open_texts: dict[str, str]) -> Iterator[Remark]:
    texts = {
        **open_texts,
        **{f"hidden.concerns.{n}.text": each.text for n, each in enumerate(case.hidden.concerns)},
        **({"note.text": case.note.text} if case.note is not None else {}),
        **dict(_nested_texts("extra", case.extra)),
    }
    for key, text in texts.items():
        for kind, pattern in _IDENTIFYING:
            match = pattern.search(text)
            if match:
                yield Remark(
                    "warning",
                    key,
                    f"{match[0].strip()!r} looks like {kind}: change it, or say in `origin` that the case is invented",
                )
        heading = key.removeprefix("chart.")
        if heading != key and heading.strip().casefold() in ("name", "full name", "姓名"):
            yield Remark("warning", key, "the chart gives a name: change it, or say that the case is invented")


# -- Cases and personas as files ------------------------------------------------------------------------

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
    return _read(paths, CASE_FILE, Case, _case_object)


#: What stands before the name of a set of a protocol's own cases, where files of cases are named.
BUNDLED = "bundled:"
#: Of each set the ending of its file's name, and how many cases of the file it holds, from the first; None for all.
_SETS = {"full": ("full", None), "quick": ("full", 12), "risk": ("risk", None)}


def bundled_cases(name: str, cases: Path) -> list[tuple[str, Case]]:
    """A set of a protocol's own cases, with their places.

    Args:
        name: ``full``, ``quick``, which is its first twelve, or ``risk``, of people at risk.
        cases: the protocol's file of few cases, beside which its many stand.

    Raises:
        InputError: no set is called so, or the protocol brings none.
    """
    files = {of: (cases.with_name(f"{cases.stem}-{file}{cases.suffix}"), most) for of, (file, most) in _SETS.items()}
    there = {of: (path, most) for of, (path, most) in files.items() if path.exists()}
    path, most = there[one_of(name, there, "set of bundled cases", InputError, where="`cases`")]
    return read_cases(path)[:most]


def converted_cases(paths: PathOrPaths) -> tuple[list[tuple[str, Case]], list[tuple[str, str]]]:
    """Cases as :func:`read_cases`, and those that their source leaves out, which are no error here.

    Returns:
        The cases with their places; and place and reason of each that is left out.

    Raises:
        InputError: as :func:`read_cases`.
    """
    left_out: list[tuple[str, str]] = []
    return _read(paths, CASE_FILE, Case, _case_object, left_out), left_out


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
    return _read(paths, PERSONA_FILE, Persona, lambda record: record.value)


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
    paths: PathOrPaths,
    of_file: str,
    model: type[Named],
    own_form: Callable[[FileRecord], Any],
    left_out: list[tuple[str, str]] | None = None,
) -> list[tuple[str, Named]]:
    noun = model.__name__.lower()
    placed: dict[str, tuple[str, Named]] = {}
    for record in records(paths, of_file):
        try:
            content = own_form(record)
        except LeftOutCaseError as error:
            if left_out is None:
                raise
            left_out.append((error.where or record.place(), error.what))
            continue
        if content is None and record.value is not None:
            continue
        item = to_model(content, model, record.place, todo=_SEE)
        if item.id in placed:
            raise InputError(
                f"the {noun} {item.id!r} is there twice",
                where=record.place(("id",)),
                todo=f"keep one of them; the first is at {placed[item.id][0]}",
            )
        placed[item.id] = (record.place(), item)
    if not placed:
        files = [paths] if isinstance(paths, str | os.PathLike) else paths
        raise InputError(f"there are no {noun}s", where=", ".join(map(str, files)) or None, todo=_SEE)
    return list(placed.values())


def _path(key: str) -> KeyPath:
    """The path that a remark's key names."""
    return tuple(int(part) if re.fullmatch("[0-9]{1,9}", part) else part for part in key.split("."))
