"""Cases of CRAFT-MD's public form: a table or JSON of vignettes with answer choices.

Johri et al. 2025, An evaluation framework for clinical use of large language models in patient interaction tasks,
Nature Medicine 31, 77–86. ``usmle_and_derm_dataset.csv`` has ``case_id``, ``case_vignette``, ``choice_1`` …,
``answer``, ``category`` and ``dataset``; the earlier ``dataset_final.tsv`` has ``case_desc``, ``Choice 1`` …,
``Answer`` (the choice's number), ``answer_name``, ``category``, ``age``, ``sex`` and ``physical_exam``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bedside.core.errors import InputError
from bedside.core.records import FileRecord
from bedside.simulation.simulators.case import sentences_and_question, speaker

FORM = "craft-md"
_VIGNETTES = ("case_vignette", "case_desc")
_CHOICE = re.compile(r"choice[ _]([0-9]{1,4})", re.IGNORECASE)
#: Columns that go to the factors of a case, by the factor's name.
_FACTORS = {"category": "category", "dataset": "dataset", "sex": "sex"}


def is_of_form(value: Any) -> bool:
    """Whether an object is such a case."""
    return isinstance(value, dict) and "case_id" in value and any(key in value for key in _VIGNETTES)


def case_object(record: FileRecord) -> dict[str, Any]:
    """The case in bedside's own form: its sentences are the patient's facts, but for those of the examination.

    Raises:
        InputError: the vignette or the answer is missing, or no choice has the answer's number.
    """
    row = {key: value for key, value in record.value.items() if value not in (None, "")}
    key = next((key for key in _VIGNETTES if key in row), None)
    if key is None:
        raise InputError("the vignette is empty", where=record.place(), todo="fill it in, or remove the case")
    examination = str(row.get("physical_exam", "")).strip()
    vignette = " ".join(str(row[key]).replace(examination, " ").split() if examination else str(row[key]).split())
    sentences, question = sentences_and_question(vignette)
    vignette = " ".join(sentences)
    choices = [row[name] for name in sorted((each for each in row if _CHOICE.fullmatch(each)), key=_number)]
    return {
        "id": str(row["case_id"]).strip() if "case_id" in row else "",
        "origin": f"CRAFT-MD's form, {record.path.name}",
        "speaker": speaker(vignette),
        "chart": {"Patient": ", ".join(str(row[name]) for name in ("age", "sex") if name in row)}
        if "age" in row
        else {},
        "patient": {"narrative": sentences[0], "facts": sentences[1:]},
        "hidden": {"diagnosis": _answer(record, row, choices)},
        "note": {"chief_complaint": sentences[0], "vignette": vignette},
        "factors": {name: row[column] for column, name in _FACTORS.items() if column in row},
        "extra": {
            FORM: {
                "choices": choices,
                **({"question": question} if question else {}),
                **({"physical_exam": examination} if examination else {}),
            }
        },
    }


def _number(name: str) -> int:
    match = _CHOICE.fullmatch(name)
    return int(match[1]) if match else 0


def _answer(record: FileRecord, row: Mapping[str, Any], choices: list[Any]) -> str:
    """The answer's words; where only the number of a choice is given, that choice."""
    for key in ("answer_name", "answer"):
        if key in row:
            return str(row[key]).strip()
    if "Answer" not in row:
        raise InputError("there is no answer", where=record.place(), todo="fill in its `answer`, or remove the case")
    number = str(row["Answer"]).strip()
    if not re.fullmatch("[0-9]{1,4}", number) or not 1 <= int(number) <= len(choices):
        raise InputError(f"there is no choice {number}", where=record.place(), todo="check its `Answer`")
    return str(choices[int(number) - 1]).strip()
