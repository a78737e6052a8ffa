"""Cases of MedAgent's form: a table of MedQA vignettes with a classification, of which only ``Yes`` is used.

Chandra et al. 2026, Reasoning Is Not All You Need, ACL. The released code reads a table of ``id``,
``clinical_case_study`` and ``mental_health_classification``; the diagnosis, which is the examination's right answer,
may stand in a column ``diagnosis`` or ``answer``. Other columns are left alone.
"""

from __future__ import annotations

from typing import Any

from bedside.core.errors import InputError
from bedside.core.records import FileRecord
from bedside.simulation.simulators.case import sentences_and_question, speaker

_STUDY, _CLASS = "clinical_case_study", "mental_health_classification"
_DIAGNOSES = ("diagnosis", "answer")


def is_of_form(value: Any) -> bool:
    """Whether an object is such a row."""
    return isinstance(value, dict) and _STUDY in value and _CLASS in value


def case_object(record: FileRecord) -> dict[str, Any] | None:
    """The case in bedside's own form; None where the row isn't about mental health.

    Raises:
        InputError: the id or the case study is missing, the classification is neither Yes nor No, or two columns name
            different diagnoses.
    """
    row = {key: str(value).strip() for key, value in record.value.items() if value not in (None, "")}
    used = row.get(_CLASS, "")
    if used.casefold() not in ("yes", "no"):
        raise InputError(f"its `{_CLASS}` is {used!r:.40}", where=record.place(), todo="write Yes or No")
    if used.casefold() == "no":
        return None
    for key in ("id", _STUDY):
        if not row.get(key):
            raise InputError(f"its `{key}` is empty", where=record.place(), todo="fill it in, or remove the row")
    sentences, question = sentences_and_question(" ".join(row[_STUDY].split()))
    study = " ".join(sentences)
    diagnosis = _diagnosis(record, row)
    return {
        "id": row["id"].replace("/", "-"),
        "origin": f"MedAgent's form, {record.path.name}",
        "speaker": speaker(study),
        **({"hidden": {"diagnosis": diagnosis}} if diagnosis else {}),
        "extra": {"multisense": {"study": study, **({"question": question} if question else {})}},
    }


def _diagnosis(record: FileRecord, row: dict[str, str]) -> str:
    """The diagnosis, of whichever column holds it; empty where none does."""
    named = {row[key] for key in _DIAGNOSES if row.get(key)}
    if len(named) > 1:
        raise InputError(
            f"its columns `diagnosis` and `answer` differ ({row['diagnosis']!r:.60}, {row['answer']!r:.60})",
            where=record.place(),
            todo="remove the one that isn't the diagnosis",
        )
    return next(iter(named), "")
