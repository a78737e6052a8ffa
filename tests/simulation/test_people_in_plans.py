"""Who sits at the keyboard gets no case twice, in one conversation after the other; nobody else loses any."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from bedside.simulation.call_preview import preview_plan
from bedside.simulation.simulate import SimulationSettings
from bedside.simulation.simulation_plan import SimulationPlan, SimulationRequest

SETTINGS = ("26-messages", "40-messages")


def plan(*clinicians: str, **fields: Any) -> SimulationPlan:
    fields = {"settings": SETTINGS, "evaluator": "rules", **fields}
    return SimulationRequest("note2chat", clinicians, **fields).plan()


def cases_of(planned: SimulationPlan, person: str) -> list[str]:
    return [each.case.id for each in planned.conversations() if person in planned.people(each)]


@pytest.mark.parametrize(
    ("clinicians", "fields", "person"),
    [
        (("human:anna",), {"repeats": 3}, "human:anna"),
        (("human:anna", "human:ben", "rules"), {}, "human:ben"),
        (("rules", "script:good"), {"patient": "human:anna"}, "human:anna"),
        (("rules", "human:anna"), {"patient": "human:ben", "repeats": 2}, "human:ben"),
        (("human:anna",), {"patient": "human:anna"}, "human:anna"),
    ],
)
def test_nobody_gets_a_case_twice(clinicians: tuple[str, ...], fields: dict[str, object], person: str) -> None:
    planned = plan(*clinicians, **fields)
    cases = cases_of(planned, person)
    assert sorted(cases) == sorted({case.id for case in planned.cases})
    assert len(planned) == len(list(planned.conversations()))
    apart = chain.from_iterable(planned.conversations(clinician) for clinician in planned.clinicians)
    assert sorted(each.id for each in apart) == sorted(each.id for each in planned.conversations())


def test_others_have_all_of_theirs() -> None:
    planned = plan("human:anna", "rules", repeats=2)
    systems = [each.clinician.identity for each in planned.conversations()]
    assert systems.count("human:anna") == len(planned.cases)
    assert len(systems) - len(planned.cases) == len(planned.cases) * 2 * 2


def test_which_conversation_is_a_persons_is_drawn_by_the_seed() -> None:
    drawn = {tuple(each.setting for each in plan("human:anna", seed=seed).conversations()) for seed in range(8)}
    assert len(drawn) > 1, "the settings are shared out"


def test_a_case_that_is_taken_away_leaves_the_others_as_they_were() -> None:
    whole = plan("human:anna", "human:ben")
    fewer = plan("human:anna", "human:ben", cases=list(whole.cases[1:]))
    ids = [each.id for each in whole.conversations() if each.case.id != whole.cases[0].id]
    assert [each.id for each in fewer.conversations()] == ids


def test_the_dry_run_counts_what_is_had() -> None:
    planned = plan("human:anna", "script:good", patient="human:ben", sample=1)
    preview = preview_plan(planned, SimulationSettings())
    assert preview.conversations == 1
