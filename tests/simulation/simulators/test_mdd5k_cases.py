"""Cases of MDD-5k's own form, on small invented files of that form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bedside.simulation.simulators.case_files import case_text, check_cases, converted_cases, read_cases
from bedside.simulation.simulators.mdd5k import SIMULATOR
from bedside.simulation.simulators.mdd5k.case_fields import MentalExamination, PersonalHistory, record_of
from bedside.simulation.simulators.mdd5k_cases import LeftOutCaseError, authors_object, authors_text
from tests.conftest import Call, works

RECORD: dict[str, Any] = {
    "患者": 7,
    "年龄": 30,
    "性别": "女",
    "ICD编码": "F41.101,F51.0",
    "诊断结果": "焦虑状态,睡眠障碍",
    "主诉": "紧张、睡不好三个月",
    "现病史": "三个月前换岗位以后开始紧张，入睡困难。",
    "重要或相关躯体疾病史": "无",
    "家族史": "无",
    "个人史": {
        "孕产情况": "足月顺产",
        "发育情况": "正常",
        "婚恋情况": "已婚",
        "工作、学习情况": "会计",
        "月经情况": "规律",
        "病前性格": "谨慎",
        "特殊嗜好": "无",
        "宗教信仰": "无",
    },
    "精神检查": {"意识": "清晰", "意志、行为": "坐立不安", "自知力": "存在", "睡眠": "浅"},
    "处理意见": "门诊随访，放松训练",
}


def written(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "pa20.json"
    path.write_text(json.dumps(records, ensure_ascii=False), "utf-8")
    return path


def test_a_record_becomes_a_case_and_back(tmp_path: Path) -> None:
    path = written(tmp_path, RECORD)
    ((_, case),) = read_cases(path)
    assert (case.id, case.language, case.hidden.diagnosis) == ("patient_7", "zh", "焦虑状态,睡眠障碍")
    record = record_of(case)
    assert (record.age, record.sex, record.icd_codes) == (30, "female", ("F41.101", "F51.0"))
    assert record.work == "会计"
    history, examination = record.personal_history, record.mental_examination
    assert isinstance(history, PersonalHistory)
    assert isinstance(examination, MentalExamination)
    assert (history.other, examination.volition) == ({"宗教信仰": "无"}, "坐立不安")
    assert list(SIMULATOR.check_case(case)) == []
    assert authors_object(case) == RECORD
    assert list(authors_object(case)) == list(RECORD), "in the authors' order"
    own = tmp_path / "own.yaml"
    own.write_text(case_text([case]), "utf-8")
    assert [read for _, read in read_cases(own)] == [case]
    assert json.loads(authors_text([case])) == [RECORD]


def test_histories_that_are_no_object_stay_texts(tmp_path: Path) -> None:
    plain = {**RECORD, "个人史": "会计，已婚", "精神检查": "意识清晰，紧张"}
    ((_, case),) = read_cases(written(tmp_path, plain))
    assert record_of(case).personal_history == "会计，已婚"
    assert authors_object(case) == plain


@pytest.mark.parametrize("case", [case for _, case in read_cases(SIMULATOR.cases)], ids=lambda case: case.id)
def test_the_bundled_cases_go_there_and_back(case: Any, tmp_path: Path) -> None:
    content = authors_object(case)
    assert content["患者"] == case.id
    ((_, back),) = read_cases(written(tmp_path, content))
    assert record_of(back) == record_of(case)
    assert back.hidden == case.hidden


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("诊断结果", "", "no diagnosis"),
        ("主诉", "无", "no chief complaint"),
        ("主诉", "", "no chief complaint"),
        ("现病史", None, "no history of the present illness"),
        ("处理意见", " 无。", "no treatment advice"),
        ("个人史", {}, "no personal history"),
        ("个人史", "无", "no personal history"),
        ("精神检查", "无", "no mental examination"),
    ],
)
def test_a_record_that_says_too_little_is_left_out(tmp_path: Path, part: str, value: Any, words: str) -> None:
    path = written(tmp_path, {**RECORD, "患者": 6, part: value}, RECORD)
    cases, left_out = converted_cases(path)
    assert [case.id for _, case in cases] == ["patient_7"]
    ((where, why),) = left_out
    assert "pa20.json:1" in where
    assert f"case 6 has {words}" in why
    with pytest.raises(LeftOutCaseError):
        read_cases(path)


def test_a_physical_illness_or_a_family_history_of_none_leaves_nothing_out(tmp_path: Path) -> None:
    cases, left_out = converted_cases(written(tmp_path, {**RECORD, "家族史": "", "重要或相关躯体疾病史": ""}))
    assert (len(cases), left_out) == (1, [])


def test_a_case_without_a_record_is_told() -> None:
    from bedside.simulation.simulators.case import Case

    assert "It has no `mdd5k` under `extra`" in next(SIMULATOR.check_case(Case(id="a")))


def test_the_record_is_strict_and_its_errors_name_the_key() -> None:
    ((_, case),) = list(read_cases(SIMULATOR.cases))[:1]
    content = case.model_dump()
    content["extra"]["mdd5k"] = {**case.extra["mdd5k"], "complaint": "x", "sex": "w"}
    texts = " ".join(SIMULATOR.check_case(type(case).model_validate(content)))
    assert "complaint" in texts
    assert "sex" in texts
    content["extra"]["mdd5k"] = {**case.extra["mdd5k"], "sex": "male"}
    assert "says something of `menses`" in next(SIMULATOR.check_case(type(case).model_validate(content)))


def test_what_could_tell_who_somebody_is_is_remarked_on(tmp_path: Path) -> None:
    telling = {
        **RECORD,
        "年龄": 34,
        "主诉": "2023年5月12日起紧张",
        "现病史": "患者王女士说睡不好，在上海市第一医院看过。",
        "个人史": {"工作、学习情况": "34岁，会计"},
    }
    remarks = [remark.text for _, remark in check_cases(written(tmp_path, telling), SIMULATOR.check_case)]
    text = " ".join(remarks)
    for kind in ("a name", "a date", "an exact age", "a place"):
        assert f"looks like {kind}" in text, kind
    assert "'aged 34' looks like an exact age" in text
    assert not [remark for _, remark in check_cases(written(tmp_path, RECORD), SIMULATOR.check_case)]


def test_the_command_converts_both_ways_and_says_what_is_left_out(call: Call, tmp_path: Path) -> None:
    source = written(tmp_path, {**RECORD, "患者": 6, "主诉": "无"}, RECORD)
    own, back = tmp_path / "own.yaml", tmp_path / "back.json"
    code, said, noted = call("simulate", "convert", source, "--out", own)
    assert (code, said) == (0, f"Wrote 1 case to {own}.\n")
    assert "case 6 has no chief complaint" in " ".join(noted.split())
    _, noted = works(call, "simulate", "convert", own, "--form", "mdd5k", "--out", back)
    assert "Next" not in noted
    assert json.loads(back.read_text("utf-8")) == [RECORD]
    code, _, noted = call("simulate", "convert", own, "--form", "mdd", "--out", tmp_path / "x.json")
    assert code == 2
    assert "there is no choice 'mdd'; did you mean mdd5k?" in " ".join(noted.split())
