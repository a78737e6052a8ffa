"""The many cases that come with each protocol: made by rule, sound, without leaks, and fit to be talked to."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import bedside
from bedside.api.benchmarking import BenchmarkRequest
from bedside.core.errors import InputError
from bedside.metrics.protocols.medconceal.labels import CATEGORIES
from bedside.metrics.protocols.medconceal.policy import find_parameters
from bedside.simulation.simulation_plan import SimulationRequest
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import bundled_cases, leaks, read_cases, read_personas
from bedside.simulation.simulators.contract import SIMULATORS
from bedside.simulation.simulators.medconceal.reserved_patient import gives_away
from bedside.transcripts.reading import read_transcripts
from tests.simulation.simulators.playing import by_rules, play
from tools.make_cases import full_text, risk_text

#: How many cases each protocol brings, and how many of them are in Chinese.
CASES = {"calm-it": (30, 0), "mdd5k": (30, 10), "medconceal": (60, 0), "multisense": (60, 0), "note2chat": (60, 20)}
protocols = pytest.mark.parametrize("name", CASES)
#: The risks that a safety team asks for, how soon each needs help, and how many people have it.
RISKS = Counter(
    {
        **{("suicidality", grade): 1 for grade in ("none", "low", "high", "imminent")},
        **{(risk, "high"): 1 for risk in ("psychosis", "mania", "eating disorder", "violence", "abuse", "minor")},
        **{(risk, "high"): 1 for risk in ("pregnancy", "drug interaction")},
        ("self-harm", "low"): 1,
        ("overdose", "imminent"): 1,
    }
)


@cache
def many(name: str, of: str = "full") -> tuple[Case, ...]:
    return tuple(case for _, case in bundled_cases(of, SIMULATORS.load(name).cases))


@pytest.mark.slow
@protocols
def test_the_files_are_what_the_building_blocks_make(name: str) -> None:
    folder = SIMULATORS.load(name).cases.parent
    assert (folder / "cases-full.yaml").read_text("utf-8") == full_text(folder.name)
    assert (folder / "cases-risk.yaml").read_text("utf-8") == risk_text(folder.name)


@pytest.mark.slow
@protocols
def test_every_case_is_sound_and_tells_nothing_that_is_hidden(name: str) -> None:
    simulator, few = SIMULATORS.load(name), {case.id for _, case in read_cases(SIMULATORS.load(name).cases)}
    assert (len(many(name)), sum(case.language == "zh" for case in many(name))) == CASES[name]
    assert len({case.id for case in many(name)} | few) == len(many(name)) + len(few)
    for case in (*many(name), *many(name, "risk")):
        assert (list(simulator.check_case(case)), list(leaks(case))) == ([], []), case.id
        assert "invented" in case.origin


@pytest.mark.slow
def test_no_open_text_gives_a_hidden_concern_away() -> None:
    thresholds = find_parameters("default").guard
    for case in (*many("medconceal"), *many("medconceal", "risk")):
        side, plan = case.patient, case.intervention
        assert plan is not None
        told = [*case.chart.values(), side.narrative, side.style, *side.facts, *side.vitals, *side.psychosocial]
        for text in (*told, *side.deflections, plan.preference):
            given = [each.id for each in case.hidden.concerns if gives_away(text, each, frozenset(), thresholds)]
            assert given == [], (case.id, text)


@pytest.mark.slow
def test_the_cases_spread_over_concerns_ages_and_speakers() -> None:
    cases = many("medconceal")
    assert set(Counter(len(case.hidden.concerns) for case in cases)) == {1, 2, 3, 4, 5}
    kinds = Counter(concern.category for case in cases for concern in case.hidden.concerns)
    assert set(kinds) == set(CATEGORIES)
    assert min(kinds.values()) >= 30
    for name, least in (("specialty", 8), ("age_group", 4), ("sex", 2), ("literacy", 3), ("speaks", 2)):
        assert min(len({case.factors[name] for case in part}) for part in (cases, cases[:12])) >= least, name


@pytest.mark.slow
def test_a_set_is_named_in_place_of_a_file(tmp_path: Path) -> None:
    def chosen(*cases: str | Path) -> list[str]:
        return [case.id for case in SimulationRequest("note2chat", "rules", cases=cases).plan().cases]

    ids = [case.id for case in many("note2chat")]
    few = SIMULATORS.load("note2chat").cases
    assert chosen("bundled:full") == ids
    assert chosen("bundled:quick", few) == [*ids[:12], *(case.id for _, case in read_cases(few))]
    # Kept by its name, so that a benchmark can be added to from another folder.
    assert BenchmarkRequest("note2chat", ("rules",), cases=["bundled:quick"]).as_asked()["cases"] == ["bundled:quick"]
    assert chosen("bundled:risk") == [case.id for case in many("note2chat", "risk")]
    with pytest.raises(InputError, match="'ful'"):
        chosen("bundled:ful")
    with pytest.raises(InputError):
        bundled_cases("full", tmp_path / "cases.yaml")


@pytest.mark.slow
@protocols
def test_the_risk_of_a_person_is_a_factor_and_told_to_no_clinician(name: str) -> None:
    """What the clinician is sent is the same under whatever tags, and the tags are of the safety team's list."""
    simulator = SIMULATORS.load(name)
    assert Counter((case.factors["risk"], case.factors["risk_grade"]) for case in many(name, "risk")) == RISKS
    setting, length = simulator.settings[0].name, 12 if simulator.lengths else None
    for case in many(name, "risk")[:4]:
        other = case.model_copy(update={"factors": {**case.factors, "risk": "none", "risk_grade": "other"}})
        sent, sent_other = (
            [
                (call.brief, call.instruction, call.history)
                for call in play(simulator, each, by_rules(simulator), setting=setting, length=length).calls
                if call.actor == "clinician"
            ]
            for each in (case, other)
        )
        assert sent == sent_other != []


@pytest.mark.slow
@protocols
def test_every_case_converses(name: str, tmp_path: Path) -> None:
    simulator = SIMULATORS.load(name)
    persona = None if simulator.personas is None else [read_personas(simulator.personas)[0][1]]
    talks = bedside.simulate(
        ["bundled:full", "bundled:risk"], protocol=name, out=tmp_path / "talks", clinician="rules", personas=persona,
        lengths=12 if simulator.lengths else (),
    )  # fmt: skip
    counts = talks.summary.counts
    assert counts.planned == counts.finished == CASES[name][0] + len(many(name, "risk"))
    tags = {talk.case_id: talk.factors.get("risk") for talk in read_transcripts([tmp_path / "talks"])}
    assert {case.id: case.factors["risk"] for case in many(name, "risk")}.items() <= tags.items()
