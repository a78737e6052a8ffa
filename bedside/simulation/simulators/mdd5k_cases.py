"""Cases of MDD-5k's own form (``pa20.json``): a list of records with Chinese keys, read and written.

Yin et al. 2025, MDD-5k: a new diagnostic conversation dataset for mental disorders synthesized via neuro-symbolic LLM
agents, AAAI 2025. The record stands in ``extra.mdd5k``, the diagnosis in ``hidden.diagnosis``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from bedside.core.errors import InputError
from bedside.core.model_errors import to_model
from bedside.core.records import FileRecord
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.mdd5k.case_fields import PROTOCOL, PsychiatricRecord, gaps, record_of

FORM = "mdd5k"
_SEE = "see docs/simulators/mdd5k.md, Cases"
_NUMBER, _DIAGNOSIS, _AGE, _SEX, _CODES = "患者", "诊断结果", "年龄", "性别", "ICD编码"
_SEXES = {"女": "female", "男": "male"}
#: The authors' keys of texts, and ours.
_TEXTS = {
    "主诉": "chief_complaint",
    "现病史": "present_illness",
    "重要或相关躯体疾病史": "physical_illness",
    "家族史": "family_history",
    "处理意见": "treatment_advice",
}
#: Of sections with headings.
_SECTIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "个人史": (
        "personal_history",
        {
            "孕产情况": "birth", "发育情况": "development", "婚恋情况": "relationships", "工作、学习情况": "work",
            "月经情况": "menses", "病前性格": "character", "特殊嗜好": "habits",
        },
    ),
    "精神检查": (
        "mental_examination",
        {
            "意识": "consciousness", "定向": "orientation", "接触对答": "contact", "注意": "attention",
            "感知": "perception", "思维": "thought", "情感": "affect", "意志、行为": "volition",
            "智能": "intelligence", "躯体症状": "somatic", "自知力": "insight",
        },
    ),
}  # fmt: skip
_KEYS = frozenset({_NUMBER, _DIAGNOSIS, _AGE, _SEX, _CODES, *_TEXTS, *_SECTIONS})
_ID = re.compile(r"patient_(\d+)")


class LeftOutCaseError(InputError):
    """A case that the source leaves out, since its record says too little."""


def is_of_form(value: Any) -> bool:
    """Whether an object is such a case."""
    return isinstance(value, dict) and {_NUMBER, _DIAGNOSIS} <= set(value)


def case_object(record: FileRecord) -> dict[str, Any]:
    """The case in bedside's own form.

    Raises:
        LeftOutCaseError: it lacks what the source leaves cases out for.
        InputError: a part is unknown or of another kind.
    """
    value = record.value
    for key in value:
        if key not in _KEYS:
            raise InputError(
                f"MDD-5k's form has no part {key!r}",
                where=record.place((key,)),
                todo="rename or remove it: what it is for can't be known",
            )
    sex = _SEXES.get(str(value.get(_SEX, "")).strip())
    if sex is None:
        raise InputError(f"{_SEX} is neither 女 nor 男", where=record.place((_SEX,)), todo=_SEE)
    fields: dict[str, Any] = {
        "age": value.get(_AGE),
        "sex": sex,
        "icd_codes": [code.strip() for code in re.split("[,，]", _text(value.get(_CODES))) if code.strip()],
        **{own: _text(value.get(key)) for key, own in _TEXTS.items()},
        **{own: _section(value.get(key), names) for key, (own, names) in _SECTIONS.items()},
    }
    diagnosis = _text(value[_DIAGNOSIS]).rstrip(",，")
    checked = to_model(fields, PsychiatricRecord, record.place(), todo=_SEE)
    gap = next(gaps(checked, diagnosis), None)
    if gap is not None:
        raise LeftOutCaseError(
            f"case {_text(value[_NUMBER])} has {gap}, for which the source leaves a case out",
            where=record.place(),
            todo="complete or remove it; bedside simulate convert leaves such cases out",
        )
    return {
        "id": f"patient_{_text(value[_NUMBER])}",
        "language": "zh",
        "origin": f"MDD-5k's form, {record.path.name}",
        "hidden": {"diagnosis": diagnosis},
        "extra": {PROTOCOL: checked.model_dump(mode="json", exclude_defaults=True)},
    }


def authors_text(cases: Sequence[Case]) -> str:
    """Cases as the text of a JSON file in the authors' form.

    Raises:
        InputError: a case has no record.
    """
    return json.dumps([authors_object(case) for case in cases], ensure_ascii=False, indent=2) + "\n"


def authors_object(case: Case) -> dict[str, Any]:
    """A case in the authors' form; what isn't known is an empty text.

    Raises:
        InputError: it has no record.
    """
    try:
        record = record_of(case)
    except (KeyError, ValidationError) as error:
        raise InputError(
            f"case {case.id!r} has no record in MDD-5k's form",
            where=f"extra.{PROTOCOL}",
            todo=f"bedside simulate check says what it lacks; {_SEE}",
        ) from error
    number = _ID.fullmatch(case.id)
    whole: dict[str, Any] = {
        _NUMBER: int(number[1]) if number else case.id,
        _AGE: record.age,
        _SEX: next(word for word, sex in _SEXES.items() if sex == record.sex),
        _CODES: ",".join(record.icd_codes),
        _DIAGNOSIS: case.hidden.diagnosis or "",
    }
    for key, own in _TEXTS.items():
        if own != "treatment_advice":
            whole[key] = getattr(record, own)
    for key, (own, names) in _SECTIONS.items():
        section = getattr(record, own)
        whole[key] = (
            section
            if isinstance(section, str)
            else {**{name: text for name, part in names.items() if (text := getattr(section, part))}, **section.other}
        )
    whole["处理意见"] = record.treatment_advice
    return whole


def _section(value: Any, names: Mapping[str, str]) -> Any:
    """A section by our headings; a text where the authors' record has none."""
    if not isinstance(value, dict):
        return _text(value)
    parts: dict[str, Any] = {}
    others: dict[str, str] = {}
    for key, text in value.items():
        if not _text(text):
            continue
        if key in names:
            parts[names[key]] = _text(text)
        else:
            others[key] = _text(text)
    return {**parts, **({"other": others} if others else {})}


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()
