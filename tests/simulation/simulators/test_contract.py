"""What every simulator keeps to, whatever it is asked and replied."""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import bedside
from bedside.core.errors import BedsideError, InputError
from bedside.simulation.conversation_log import ConversationLog, LoggedReply
from bedside.simulation.simulate import SimulationSettings, SimulationSummary, simulate_plan
from bedside.simulation.simulation_plan import SimulationRequest
from bedside.simulation.simulators.calls import ACTOR_ROLES, Call
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import read_cases, read_personas
from bedside.simulation.simulators.contract import SIMULATORS, Simulator
from bedside.simulation.simulators.file_talk import find_simulator
from bedside.simulation.simulators.prompt_files import prompts_in
from bedside.simulation.simulators.protocol_file import GALLERY, check_people, gallery, read_protocol
from bedside.simulation.simulators.scripts import bundled_scripts, read_script
from tests.simulation.simulators.playing import Played, by_rules, play, situation
from tests.simulation.simulators.random_replies import any_reply, good_reply
from tests.soak import budget

#: Protocols that files describe; they keep to the same.
OWN = {name: str(GALLERY / name / "protocol.yaml") for name in gallery()}
NAMES = (*SIMULATORS.names(), *OWN.values())
#: Target length of conversations that are run by the engine, where a protocol has one: what holds for short ones holds
#: for long ones, which take too long to be killed after every call.
SHORT = 12
simulators = pytest.mark.parametrize("name", NAMES, ids=lambda name: Path(name).parent.name or name)
SCRIPTS = {
    "calm-it": {"good", "brisk", "circles", "quitter", "silent", "recorded"},
    "mdd5k": {"good", "good-english", "brisk", "silent", "recorded"},
    "medconceal": {"good", "good-and-patient", "brisk", "checklist", "silent", "recorded"},
    "multisense": {"good", "brisk", "repeating", "silent", "recorded"},
    "note2chat": {"good", "brisk", "checklist", "silent", "recorded"},
    **{path: set[str]() for path in OWN.values()},
}


@cache
def bundled(name: str) -> tuple[Case, ...]:
    simulator = find_simulator(name)
    read = read_cases if simulator.made_of is None else simulator.made_of.read_people
    return tuple(case for _, case in read(simulator.cases))


def played(simulator: Simulator, seed: int, bad: float, case: Case | None = None) -> Played:
    """A conversation with replies at random, about one of the bundled cases."""
    draw = random.Random(seed)
    about = case or draw.choice(bundled(OWN.get(simulator.name, simulator.name)))
    return play(
        simulator,
        about,
        lambda call: any_reply(call, draw, bad=bad),
        setting=draw.choice(simulator.settings).name,
        length=draw.choice(simulator.lengths) if simulator.lengths else None,
        options={option.name: draw.choice(option.choices) for option in simulator.options if option.choices},
        persona=None
        if simulator.personas is None
        else draw.choice([persona for _, persona in read_personas(simulator.personas)]),
        seed=seed,
    )


# -- what stands in its folder -----------------------------------------------------------------------


@simulators
def test_what_it_states_is_whole(name: str) -> None:
    simulator = find_simulator(name)
    assert simulator.name == (name if simulator.made_of is None else Path(name).parent.name)
    assert simulator.version >= 1
    assert simulator.source
    assert set(simulator.rules) - {"ranker"} == set(ACTOR_ROLES)
    assert len({setting.name for setting in simulator.settings}) == len(simulator.settings) > 0
    for option in simulator.options:
        assert not option.choices or option.default in option.choices, option.name


@simulators
def test_its_cases_and_scripts_can_be_used(name: str) -> None:
    simulator = find_simulator(name)
    cases = bundled(name)
    assert cases
    for case in cases:
        assert case.language in simulator.languages
        assert list(simulator.check_case(case)) == []
        assert "invented" in case.origin
        for setting in simulator.settings:
            assert simulator.briefs(case, setting.name)
    assert set(bundled_scripts(simulator.scripts)) == SCRIPTS[name]
    for script in SCRIPTS[name]:
        read_script(script, simulator.scripts)
    if simulator.made_of is None:
        assert set(prompts_in(simulator.cases.parent / "prompts").languages) == set(simulator.languages)


@simulators
def test_its_rules_actors_bring_conversations_to_a_good_end(name: str) -> None:
    simulator = find_simulator(name)
    for case in bundled(name):
        for setting in simulator.settings:
            outcome = play(simulator, case, by_rules(simulator), setting=setting.name).ended
            assert outcome.turns, case.id


# -- any replies --------------------------------------------------------------------------------------


@pytest.mark.soak
@simulators
@settings(max_examples=budget(20, 3000), deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(seed=st.integers(0, 2**32), bad=st.sampled_from((0.0, 0.05, 0.3, 1.0)))
def test_it_ends_whatever_is_replied(name: str, seed: int, bad: float) -> None:
    simulator = find_simulator(name)
    draw = random.Random(seed)
    case = draw.choice(bundled(name))
    setting = draw.choice(simulator.settings).name
    length = draw.choice(simulator.lengths) if simulator.lengths else None
    talk = play(
        simulator,
        case,
        lambda call: any_reply(call, draw, bad=bad),
        setting=setting,
        length=length,
        seed=seed,
        most=5000,
    )
    most = simulator.most_calls(situation(simulator, case, setting=setting, length=length))
    calls = Counter(call.actor for call in talk.calls)
    assert all(calls[role] <= most.get(role, 0) for role in calls), (calls, most)
    if talk.outcome is None:
        assert talk.failure is not None
        assert talk.failure.whose in ("patient", "evaluator")
        assert talk.failure.reason
        return
    assert all(turn.text.strip() for turn in talk.outcome.turns)
    assert all("codes" not in turn.meta for turn in talk.outcome.turns)
    assert talk.outcome.stop
    json.dumps([talk.outcome.reference, talk.outcome.factors, talk.outcome.states, talk.outcome.simulation])


@simulators
def test_the_same_replies_and_seed_make_the_same_conversation(name: str) -> None:
    simulator = find_simulator(name)
    for seed in range(3):
        one, other = played(simulator, seed, 0.1), played(simulator, seed, 0.1)
        assert one.outcome == other.outcome
        assert [call.digest() for call in one.calls] == [call.digest() for call in other.calls]


# -- who is told what ---------------------------------------------------------------------------------


def marked(case: Case) -> tuple[Case, dict[str, list[str]]]:
    """A case with a mark in each hidden field, and which marks no call to a role may hold."""
    marks: dict[str, list[str]] = {role: [] for role in (*ACTOR_ROLES, "ranker")}

    def mark(text: str, *roles: str) -> str:
        word = f"zq{sum(map(len, marks.values())):03d}xk"
        for role in roles:
            marks[role].append(word)
        return f"{text} {word}"

    hidden, patient = case.hidden, case.patient
    content = case.model_dump()
    if hidden.diagnosis:
        content["hidden"]["diagnosis"] = mark(hidden.diagnosis, "clinician", "patient")
    for concern, fields in zip(hidden.concerns, content["hidden"]["concerns"], strict=True):
        fields["text"] = mark(concern.text, "clinician")
        fields["evidence"] = [mark(text, *ACTOR_ROLES) for text in concern.evidence]
        fields["voiced"] = [mark(text, "clinician") for text in concern.voiced]
    for field in ("facts", "vitals", "psychosocial", "deflections"):
        content["patient"][field] = [mark(text, "clinician") for text in getattr(patient, field)]
    content["patient"]["narrative"] = mark(patient.narrative, "clinician")
    if case.note is not None:
        if case.note.text:
            content["note"]["text"] = mark(case.note.text, "clinician", "patient")
        if case.note.vignette:
            content["note"]["vignette"] = mark(case.note.vignette, "clinician")
        for finding, fields in zip(case.note.findings, content["note"]["findings"], strict=True):
            fields["text"] = mark(finding.text, "clinician", "patient")
    return Case.model_validate(content), marks


def told(call: Call) -> str:
    """All that an actor is told but what was said aloud."""
    return json.dumps([call.brief, call.instruction, call.objection, call.schema, dict(call.material)], default=str)


@pytest.mark.soak
@simulators
@pytest.mark.parametrize("bad", [0.0, 0.1])
def test_what_is_hidden_from_a_side_is_in_no_call_to_it(name: str, bad: float) -> None:
    simulator = find_simulator(name)
    for case in bundled(name)[: budget(2, 100)]:
        hidden, marks = marked(case)
        for seed, setting in enumerate(simulator.settings):
            draw = random.Random(seed)
            talk = play(simulator, hidden, lambda call: any_reply(call, draw, bad=bad), setting=setting.name)  # noqa: B023
            for call in talk.calls:
                spoken = "\n".join(line.text for line in call.history)
                held = [word for word in marks[call.actor] if word in told(call) and word not in spoken]
                assert not held, (case.id, call.actor, call.purpose, held)


# -- run by the engine --------------------------------------------------------------------------------


class _KilledError(BaseException):
    """The process ends."""


def first_personas(name: str, number: int) -> dict[str, Any]:
    """So many of a simulator's personas, where it has any: a few show what all show."""
    personas = find_simulator(name).personas
    if personas is None:
        return {}
    return {"personas": [persona for _, persona in read_personas(personas)][:number]}


def run(out: Path, name: str, **arguments: Any) -> SimulationSummary:
    names = ("max_concurrency", "replay")
    asked = {key: value for key, value in arguments.items() if key in names}
    rest = {key: value for key, value in arguments.items() if key not in names}
    if find_simulator(name).lengths:
        rest = {"lengths": [SHORT], **rest}
    usual = {"protocol": name, "clinicians": "rules", "cases": bundled(name)[:3], **first_personas(name, 2)}
    plan = SimulationRequest(**(usual | rest)).plan()
    return simulate_plan(plan, out, SimulationSettings(**asked))


def files(out: Path) -> list[bytes]:
    return [(out / file).read_bytes() for file in ("transcripts.jsonl", "states.jsonl", "failed.jsonl")]


def by_content(request: dict[str, Any]) -> Any:
    """An agent whose replies depend on what it is told, and are at times none."""
    call = Call(
        request["role"], request["purpose"], 1, request["brief"], (), request["instruction"], request["kind"],
        request["schema"],
    )  # fmt: skip
    draw = random.Random(json.dumps(request, sort_keys=True, default=str))
    text = (any_reply(call, draw, bad=0.1) if request["attempt"] == 1 else good_reply(call, draw)).text
    return text


@pytest.mark.slow
@simulators
def test_order_and_concurrency_change_no_byte(tmp_path: Path, name: str) -> None:
    cases = bundled(name)[:4]
    who = {"clinicians": by_content, "patient": by_content, "cases": cases}
    run(tmp_path / "one", name, **who, max_concurrency=1)
    run(tmp_path / "many", name, **who, max_concurrency=16)
    assert files(tmp_path / "one") == files(tmp_path / "many")
    run(tmp_path / "turned", name, **(who | {"cases": cases[::-1]}), max_concurrency=5)
    for one, turned in zip(files(tmp_path / "one"), files(tmp_path / "turned"), strict=True):
        assert sorted(one.splitlines()) == sorted(turned.splitlines())
    run(tmp_path / "fewer", name, **(who | {"cases": cases[1:]}))
    for one, fewer in zip(files(tmp_path / "one"), files(tmp_path / "fewer"), strict=True):
        assert [line for line in one.splitlines() if f"/{cases[0].id}/".encode() not in line] == fewer.splitlines()
    before = files(tmp_path / "many")
    summary = run(tmp_path / "many", name, **who, replay=True)
    assert summary.calls.asked == 0
    assert files(tmp_path / "many") == before


@pytest.mark.slow
@simulators
def test_killed_after_every_call_it_goes_on_and_asks_nothing_twice(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One conversation: of several, a reply may be kept in the moment in which another's kill ends them all.
    only = {"cases": bundled(name)[:1], **first_personas(name, 1)}
    whole = run(tmp_path / "whole", name, **only)
    keep, kept = ConversationLog.keep, []

    async def killed(log: ConversationLog, logged: LoggedReply) -> None:
        await keep(log, logged)
        kept.append(logged.site)
        raise _KilledError

    monkeypatch.setattr(ConversationLog, "keep", killed)
    while True:
        try:
            run(tmp_path / "parts", name, **only)
        except _KilledError:
            assert len(kept) <= whole.calls.asked
            continue
        break
    assert len(kept) == len(set(kept)) == whole.calls.asked
    assert files(tmp_path / "parts") == files(tmp_path / "whole")


@pytest.mark.slow
@simulators
def test_its_suite_scores_the_output_as_it_is(tmp_path: Path, name: str) -> None:
    simulator = find_simulator(name)
    scripts = [f"script:{script}" for script in bundled_scripts(simulator.scripts)]
    run(tmp_path / "talks", name, clinicians=["rules", *scripts[:1]])
    suite = name if simulator.made_of is None else simulator.made_of.suite
    bedside.score(tmp_path / "talks", tmp_path / "run", suite=suite)
    assert bedside.read_run(tmp_path / "run").ratings.height > 0
    report = bedside.report(tmp_path / "run", tmp_path / "report", tables=["leaderboard", "simulation_card"])
    board, card = report.tables
    systems = {record["system"]: record for record in board.records}
    assert len(systems) == 1 + len(scripts[:1])
    assert all(record["cost_a_conversation"] == 0 for record in systems.values())
    assert card.rows


@simulators
def test_a_dry_run_counts_what_is_asked(tmp_path: Path, name: str) -> None:
    more: dict[str, Any] = {"lengths": [SHORT]} if find_simulator(name).lengths else {}
    cases = bundled(name)[:2]
    preview = bedside.preview_simulation(cases, protocol=name, clinician="rules", **more, **first_personas(name, 1))
    most = sum(role.most_calls for role in preview.roles)
    assert run(tmp_path, name, cases=cases, **first_personas(name, 1)).calls.asked <= most


@pytest.mark.parametrize("name", OWN)
def test_the_linter_has_nothing_to_say_of_the_gallery(name: str) -> None:
    assert list(check_people(read_protocol(Path(OWN[name])))) == []


@pytest.mark.parametrize("cases", ["bundled:risk", "bundled:quick", "bundled:full"])
@pytest.mark.parametrize("name", SIMULATORS.names())
def test_a_script_in_another_language_than_a_case_is_refused(name: str, cases: str) -> None:
    simulator = SIMULATORS.load(name)
    spoken = {case.language for case in SimulationRequest(name, "rules", cases=cases).plan().cases}
    for script, path in bundled_scripts(simulator.scripts).items():
        request = SimulationRequest(name, f"script:{script}", cases=cases)
        text = path.read_text("utf-8")
        chinese, english = "\nlanguage: zh\n" in text, "\nlanguage: en\n" in text
        if (chinese and "en" in spoken) or (english and "zh" in spoken):
            with pytest.raises(
                InputError, match=r"speaks (Chinese|English) only, and case '\S+' is in (Chinese|English)"
            ):
                request.plan()
        else:
            assert len(request.plan())


def test_who_speaks_the_cases_language_is_named() -> None:
    with pytest.raises(InputError, match=r"name cases in Chinese, or a clinician for English \(script:good-english\)"):
        SimulationRequest("mdd5k", "script:good", cases="bundled:risk").plan()


def test_a_case_that_lacks_what_the_protocol_needs_is_refused(tmp_path: Path) -> None:
    for number, name in enumerate(NAMES):
        with pytest.raises(BedsideError, match="'bare'"):
            run(tmp_path / str(number), name, cases=[Case(id="bare")])
