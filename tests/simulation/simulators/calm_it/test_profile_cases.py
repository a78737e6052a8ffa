"""Cases from profiles: what is missing is written, what is there stays, and it goes on where it was stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.api.calm_it_cases import cases_from_profiles
from bedside.core.errors import InputError
from bedside.simulation.simulate import SimulationSettings
from bedside.simulation.simulators.calls import Call
from bedside.simulation.simulators.calm_it.client_fields import ClientSketch, fields_of, problems
from bedside.simulation.simulators.calm_it.profile_cases import completed_case
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import case_text, read_cases
from bedside.simulation.simulators.contract import UnusableConversationError
from tests.conftest import exit_code
from tests.simulation.simulators.calm_it.scenes import bundled
from tests.simulation.simulators.playing import Table, run_exchange

WRITTEN = {"pets": ["I keep a tortoise."], "family": ["I have a sister."]}


def profile(place: int = 0, *, keep: tuple[str, ...] = (), **fields: Any) -> Case:
    """A bundled case without its background and goal."""
    case = bundled()[place]
    own = json.loads(json.dumps(dict(case.extra["calm-it"])))
    for name in {"background", "session_goal"} - set(keep):
        del own[name]
    return case.model_copy(update={"extra": {"calm-it": own | fields}})


def test_background_and_goal_are_written_where_they_are_missing() -> None:
    table = Table({"profile background": json.dumps(WRITTEN), "profile goal": '{"session_goal": "I want rest."}'})
    case, calls, _ = run_exchange(completed_case(profile()), table)
    assert [call.purpose for call in calls] == ["profile background", "profile goal"]
    fields = fields_of(case)
    assert fields.background.facts() == ("I have a sister.", "I keep a tortoise.")
    assert fields.session_goal == "I want rest."
    assert list(problems(case)) == []
    assert fields.profile == fields_of(bundled()[0]).profile
    # The goal is written for the life that was just made up.
    assert "I keep a tortoise." in calls[1].instruction


def test_what_is_there_stays_and_is_asked_of_nobody() -> None:
    case, calls, _ = run_exchange(completed_case(bundled()[0]), Table({}))
    assert (case, calls) == (bundled()[0], [])
    kept = profile(keep=("background",))
    case, calls, _ = run_exchange(completed_case(kept), Table({"profile goal": '{"session_goal": "I want rest."}'}))
    assert [call.purpose for call in calls] == ["profile goal"]
    assert fields_of(case).background == fields_of(bundled()[0]).background


def test_a_matched_respondent_is_what_it_goes_by() -> None:
    match = {
        "file": "data.csv", "sha256": "0" * 64, "respondent": 3, "kappa": 0.7, "demographics": {"age": 44},
        "answers": [1] * 42,
    }  # fmt: skip
    matched = profile(dass={"answers": [1] * 42, "match": match})
    table = Table({"profile background": json.dumps(WRITTEN), "profile goal": '{"session_goal": "I want rest."}'})
    _, calls, _ = run_exchange(completed_case(matched), table)
    assert calls[0].material["respondent"] == {"age": 44}


@pytest.mark.parametrize("reply", ["[]", "{}", '{"shoes": ["I have two."]}', '{"pets": "a cat"}', '{"pets": [" "]}'])
def test_a_background_that_is_none_is_asked_for_again_and_then_missing(reply: str) -> None:
    with pytest.raises(UnusableConversationError) as caught:
        run_exchange(completed_case(profile()), Table({"profile background": reply}))
    assert (caught.value.whose, caught.value.reason) == ("evaluator", "reply can't be read")


def write(folder: Path, *cases: Case) -> Path:
    path = folder / "profiles.yaml"
    path.write_text(case_text(list(cases)), encoding="utf-8")
    return path


def writer(request: dict[str, Any]) -> Any:
    return WRITTEN if request["purpose"] == "profile background" else {"session_goal": "I want rest."}


@pytest.mark.slow
def test_they_are_made_over_a_log_and_can_be_talked_with(tmp_path: Path) -> None:
    path, out = write(tmp_path, profile(0), profile(1)), tmp_path / "prepared"
    first = cases_from_profiles(path, out, writer=writer, settings=SimulationSettings(max_calls=3))
    assert (first.counts.finished, first.counts.unfinished) == (1, 1)
    whole = cases_from_profiles(path, out, writer=writer)
    assert (whole.counts.finished, whole.calls.asked) == (2, 1)
    before = (out / "cases.jsonl").read_bytes()
    again = cases_from_profiles(path, out, writer=writer, settings=SimulationSettings(replay=True))
    assert (again.calls.asked, (out / "cases.jsonl").read_bytes()) == (0, before)
    assert [case.id for _, case in read_cases(out / "cases.jsonl")] == ["alcohol", "sleep"]
    talks = bedside.simulate(out / "cases.jsonl", "calm-it", tmp_path / "talks", clinician="rules", lengths=6)
    assert talks.summary.counts.finished == 2


def test_the_command_makes_them_with_the_toy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = write(tmp_path, profile(0)), tmp_path / "prepared"
    assert exit_code("simulate", "profiles", path, "--writer", "rules", "--out", out) == 0
    assert f"1 case of 1 in {out / 'cases.jsonl'}." in capsys.readouterr().out
    ((_, case),) = read_cases(out / "cases.jsonl")
    assert list(problems(case)) == []


def test_a_profile_that_is_wrong_is_refused_with_its_place(tmp_path: Path) -> None:
    wrong = profile(topic="weather")
    assert list(problems(wrong, ClientSketch))
    with pytest.raises(InputError, match="'alcohol'"):
        cases_from_profiles(write(tmp_path, wrong), tmp_path / "prepared", writer="rules")
    assert list(problems(profile())) != [], "it is no case to talk with yet"


def test_a_call_holds_nothing_but_its_material() -> None:
    table = Table({"profile background": json.dumps(WRITTEN), "profile goal": '{"session_goal": "I want rest."}'})
    _, calls, _ = run_exchange(completed_case(profile()), table)
    for call in calls:
        assert isinstance(call, Call)
        shown, _ = json.JSONDecoder().raw_decode(call.instruction[call.instruction.index("{") :])
        assert shown == call.material
