"""What comes with the interview, and that its transcripts are scored and reported as they are."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

import bedside
from bedside.api.simulating import simulate
from bedside.judges.prompt import Conversation, NotAskable, Question
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import leaks, read_cases
from bedside.simulation.simulators.contract import Draws
from bedside.simulation.simulators.mdd5k import SIMULATOR
from bedside.simulation.simulators.mdd5k.case_fields import patient_lines, record_of
from bedside.simulation.simulators.mdd5k.doctor import draw_doctor, find_doctors
from bedside.simulation.simulators.scripts import read_script
from tests.conftest import exit_code
from tests.simulation.simulators.playing import Played, by_rules, by_script, check_recorded, play, transcript_of

CASES = {case.id: case for _, case in read_cases(SIMULATOR.cases)}
SETTINGS = [setting.name for setting in SIMULATOR.settings]
rules = by_rules(SIMULATOR)


def scripted(name: str, case: Case, **more: Any) -> Played:
    """A bundled clinician with the toy patient and evaluator."""
    return play(SIMULATOR, case, by_script(SIMULATOR, name), **more)


# -- cases, doctors, prompts --------------------------------------------------------------------------------


def test_three_chinese_cases_and_an_english_one() -> None:
    about = {(case.language, record_of(case).sex, record_of(case).age) for case in CASES.values()}
    assert about == {("zh", "female", 20), ("zh", "male", 40), ("zh", "female", 60), ("en", "female", 30)}
    for case in CASES.values():
        assert list(leaks(case)) == []
        known = " ".join(patient_lines(case))
        assert str(case.hidden.diagnosis) not in known, "a patient must not read its diagnosis in its record"
        assert record_of(case).treatment_advice not in known
        assert SIMULATOR.patient_facts(case) == patient_lines(case)


@pytest.mark.parametrize("language", SIMULATOR.languages)
def test_five_doctors_two_of_them_empathic_and_two_fast(language: str) -> None:
    doctors = find_doctors("bundled", language)
    assert len(doctors) == 5
    assert sum(doctor.empathy for doctor in doctors) == 2
    assert Counter(doctor.speed for doctor in doctors)["fast"] == 2
    assert [doctor.id for doctor in doctors] == [doctor.id for doctor in find_doctors("bundled", "zh")]
    drawn = Counter(draw_doctor(doctors, Draws(seed, "case"), 1).id for seed in range(1000))
    assert len(drawn) == 5
    assert stats.chisquare(list(drawn.values())).pvalue > 0.001


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_clinicians_brief_holds_nothing_of_the_case_but_age_and_sex(case: Case) -> None:
    for setting in SETTINGS:
        brief = SIMULATOR.briefs(case, setting)
        assert str(record_of(case).age) in brief
        assert not any(line.partition(": ")[2] in brief for line in patient_lines(case) if len(line) > 15)


# -- clinicians ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", SETTINGS)
def test_scripted_clinicians_end_as_they_should(setting: str) -> None:
    for case in CASES.values():
        name = "good" if case.language == "zh" else "good-english"
        ended = scripted(name, case, setting=setting, options={"closing": "inferred"}).ended
        assert ended.completed
        assert len(ended.reference["ranked_diagnoses"]) == 2
        assert "clinician: wrong language" not in ended.flags
        silent = scripted("silent", case, setting=setting).ended
        assert (silent.stop, silent.turns, silent.completed) == ("clinician empty", (), False)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("unknown", ["deny", "dont_know", "improvise"])
def test_the_toys_have_talks_without_a_fault(setting: str, unknown: str) -> None:
    for case in CASES.values():
        ended = play(SIMULATOR, case, rules, setting=setting, options={"unknown": unknown}).ended
        assert ended.completed
        assert ended.flags == {}


def test_a_recorded_interview_is_played_to_its_end() -> None:
    recording = read_script("recorded", SIMULATOR.scripts).script
    played = play(SIMULATOR, CASES["nan-40-siji"], recording.reply, setting="direct")
    check_recorded(SIMULATOR, played)
    assert (played.ended.stop, len(played.ended.turns)) == ("evaluator ends", 22)
    assert played.ended.turns[8].meta["thought"].startswith("还要排除")
    assert played.ended.flags == {"patient, refused: speaker label": 1}


# -- scoring ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_rubric_of_the_suite_has_what_it_needs(setting: str) -> None:
    case = CASES["nv-20-xuesheng"]
    talk = transcript_of(scripted("good", case, setting=setting), "t", system="a", case_id=case.id, language="zh")
    for rubric in SUITES.load("mdd5k").rubrics:
        prompts = list(Question(RUBRICS.load(rubric)).prompts(Conversation(talk)))
        assert prompts
        assert not [prompt for prompt in prompts if isinstance(prompt, NotAskable)], rubric


@pytest.mark.slow
def test_a_patient_that_is_told_its_diagnosis_is_counted_as_told_what_is_hidden(tmp_path: Path) -> None:
    for knows in (False, True):
        made = simulate(
            CASES["nan-40-siji"],
            protocol="mdd5k",
            out=tmp_path / str(knows),
            clinician="rules",
            settings=["direct"],
            options={"knows_diagnosis": knows},
        )
        (talk,) = made.transcripts()
        own = talk.reference["simulation"]
        assert own["flags"] == ({"hidden in a request": own["exchanges"]} if knows else {})


@pytest.mark.slow
def test_from_simulation_to_report_without_a_model(tmp_path: Path) -> None:
    talks, run = tmp_path / "talks", tmp_path / "run"
    made = simulate(
        [CASES["nv-20-xuesheng"], CASES["nv-60-tuixiu"]],
        protocol="mdd5k",
        out=talks,
        clinician=["rules", "script:brisk"],
        settings=SETTINGS,
        repeats=2,
    )
    transcripts = list(made.transcripts())
    assert len(transcripts) == 2 * 2 * 2 * 2
    assert not json.loads((talks / "manifest.json").read_text("utf-8")).get("failures")
    for transcript in transcripts:
        assert transcript.factors["synthetic"] is True
        assert "codes" not in {key for turn in transcript.turns for key in turn.meta}
        assert "hidden in a request" not in transcript.reference["simulation"]["flags"]
    # The order of topics, the doctor and the story are those of the case and repeat, whoever is the clinician.
    shared: dict[Any, set[str]] = {}
    for transcript in transcripts:
        if transcript.factors["setting"] == "guided":
            own = transcript.reference["simulation"]
            drawn = json.dumps([own["tree"]["order"], transcript.factors["doctor"], own["story"].get("drawn")])
            shared.setdefault((transcript.case_id, transcript.factors["repeat"]), set()).add(drawn)
    assert len(shared) == 4
    assert all(len(drawn) == 1 for drawn in shared.values())
    assert len({next(iter(drawn)) for drawn in shared.values()}) == 4
    bedside.score(talks, run, suite="mdd5k")
    exchanges = Run(run).ratings.filter(unit="transcript", metric="exchanges")
    counted = dict(zip(exchanges["transcript_id"], exchanges["value"], strict=True))
    for transcript in transcripts:
        assert counted[transcript.id] == transcript.reference["simulation"]["exchanges"]
    assert exit_code("report", run, "--table", "dataset,simulation_card", "--out", tmp_path / "report") == 0
    tables = "".join(path.read_text("utf-8") for path in sorted((tmp_path / "report").glob("*.md")))
    assert "Exchanges per dialogue" in tables
    assert "rules-toy" in tables
    assert "Yin et al., MDD-5k" in tables
