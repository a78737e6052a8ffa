"""Cases matched to respondents of a survey, with tables made up on the spot in the survey's form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bedside.cli import main
from bedside.core.errors import InputError
from bedside.simulation.simulators.calm_it.client_fields import fields_of, problems
from bedside.simulation.simulators.calm_it.respondents import match_case, read_respondents
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import case_text, read_cases
from bedside.stats.two_raters import kappa
from tests.conftest import exit_code
from tests.simulation.simulators.calm_it.scenes import bundled

ITEMS = 42
OWN = tuple(int(answer) for answer in np.random.default_rng(5).integers(1, 5, ITEMS))


def row(answers: Any = OWN, *, age: Any = 46, gender: int = 1, married: int = 2, tipi: int = 4) -> dict[str, Any]:
    return {
        **{f"Q{number}A": answer for number, answer in enumerate(answers, 1)},
        "Q1I": 3, "major": 'he said "none', "age": age, "gender": gender, "married": married,
        **{f"TIPI{number}": tipi for number in range(1, 11)},
    }  # fmt: skip


def table(folder: Path, *rows: dict[str, Any], separator: str = "\t") -> Path:
    path = folder / "data.csv"
    lines = [list(rows[0]), *(list(each.values()) for each in rows)]
    path.write_text("\n".join(separator.join(map(str, line)) for line in lines) + "\n", encoding="utf-8")
    return path


def case(answers: Any = OWN, **profile: Any) -> Case:
    """The bundled Tom: a married man of 46."""
    tom = bundled()[0]
    own = json.loads(json.dumps(dict(tom.extra["calm-it"])))
    own["profile"] |= profile
    if answers is not None:
        own["dass"] = {"answers": list(answers), "provenance": "invented"}
    return tom.model_copy(update={"extra": {"calm-it": own}})


def changed(*places: int, by: int = 1) -> tuple[int, ...]:
    """The case's own answers, of which some are others."""
    return tuple((answer + by - 1) % 4 + 1 if place in places else answer for place, answer in enumerate(OWN))


def test_the_best_by_quadratic_weighted_kappa_is_taken(tmp_path: Path) -> None:
    rows = [row(changed(*range(30))), row(changed(1, 2, 3)), row(changed(*range(8)))]
    survey = read_respondents(table(tmp_path, *rows))
    match = match_case(case(), survey)
    assert (match.respondent, match.why_not) == (2, "")
    assert match.kappa == kappa(OWN, changed(1, 2, 3), scale=(1, 2, 3, 4), weights="quadratic").estimate
    kept = fields_of(match.case).dass
    assert kept is not None
    assert kept.match is not None
    assert (kept.match.respondent, kept.match.weights, kept.match.file) == (2, "quadratic", "data.csv")
    assert kept.match.sha256 == survey.digest
    assert kept.match.answers == changed(1, 2, 3)
    assert kept.match.tipi == (4,) * 10
    assert kept.match.demographics == {"age": 46, "gender": "male", "married": "married"}
    assert list(problems(match.case)) == []
    assert kept.answers == OWN, "the case's own answers stay"


def test_of_equal_ones_the_first_respondent_is_taken(tmp_path: Path) -> None:
    survey = read_respondents(table(tmp_path, row(changed(*range(20))), row(changed(4)), row(changed(4))))
    assert match_case(case(), survey).respondent == 2


def test_who_is_under_18_or_answered_not_all_is_left_out(tmp_path: Path) -> None:
    rows = [row(age=17), row(age=18), row((0, *OWN[1:])), row(age=""), row(age=1991)]
    survey = read_respondents(table(tmp_path, *rows))
    assert survey.numbers.tolist() == [2]
    assert survey.left_out == {"with an answer missing": 1, "without a possible age": 2, "under 18": 1}
    young = case(age=19)
    assert match_case(young, survey).respondent == 2


@pytest.mark.parametrize(
    ("respondent", "profile", "why"),
    [
        (row(gender=2), {}, "the case is male, and the respondent female"),
        (row(married=1), {}, "the case is married, and the respondent never married"),
        (row(age=57), {}, "the case is 46 years old, and the respondent 57"),
        (row(age=56), {}, ""),
        (row(gender=0, married=0), {}, ""),
        (row(married=3), {"relationship_status": "widowed"}, ""),
        (row(married=3), {"relationship_status": "it's complicated"}, ""),
        (row(changed(*range(0, 42, 2), by=2)), {}, "kappa is not above 0.6"),
    ],
)
def test_what_keeps_a_match_from_being_kept(
    tmp_path: Path, respondent: dict[str, Any], profile: dict[str, Any], why: str
) -> None:
    match = match_case(case(**profile), read_respondents(table(tmp_path, respondent)))
    assert (match.respondent, match.why_not) == (1, why)


def test_a_case_without_answers_or_a_survey_without_adults_matches_nobody(tmp_path: Path) -> None:
    assert "no `dass`" in match_case(case(None), read_respondents(table(tmp_path, row()))).why_not
    assert "no adult" in match_case(case(), read_respondents(table(tmp_path, row(age=12)))).why_not


def test_a_table_with_commas_is_read_and_another_table_refused(tmp_path: Path) -> None:
    plain = {name: value for name, value in row().items() if name != "major"}
    assert read_respondents(table(tmp_path, plain, separator=",")).numbers.tolist() == [1]
    del plain["Q7A"]
    with pytest.raises(InputError, match="Q7A"):
        read_respondents(table(tmp_path, plain))
    with pytest.raises(InputError):
        read_respondents(tmp_path / "absent.csv")


def test_the_command_writes_what_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey = table(tmp_path, row(changed(1)), row(age=16))
    cases = tmp_path / "cases.yaml"
    other = case(gender="female").model_copy(update={"id": "other"})
    cases.write_text(case_text([case(), other]), encoding="utf-8")
    out = tmp_path / "matched.yaml"
    asked = ["simulate", "match", str(cases), "--respondents", str(survey), "--out", str(out)]
    assert exit_code(*asked) == 0
    said = capsys.readouterr().out
    assert "1 respondent; left out: 1 under 18" in said
    assert "alcohol: kept (respondent 1, kappa 0." in said
    assert "other: not kept, the case is female, and the respondent male" in said
    ((_, kept),) = read_cases(out)
    assert kept == match_case(case(), read_respondents(survey)).case
    with pytest.raises(SystemExit) as ended:
        main(asked)
    assert ended.value.code
    assert "already there" in capsys.readouterr().err


def test_a_profile_without_a_goal_is_matched_too(tmp_path: Path) -> None:
    sketch = case()
    own = {name: value for name, value in sketch.extra["calm-it"].items() if name != "session_goal"}
    sketch = sketch.model_copy(update={"extra": {"calm-it": own}})
    match = match_case(sketch, read_respondents(table(tmp_path, row())))
    assert (match.why_not, match.kappa) == ("", 1.0)
    assert "session_goal" not in match.case.extra["calm-it"]
