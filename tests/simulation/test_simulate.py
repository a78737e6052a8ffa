"""The whole path: plan, conversations, log, files."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.api.simulating import preview_simulation, simulate
from bedside.core.errors import InputError, RunError
from bedside.core.locks import hold
from bedside.reports.simulations import simulation_tables
from bedside.simulation.conversation_log import (
    ConversationLog,
    ListedConversation,
    explained,
    opened_log,
    planned_conversations,
)
from bedside.simulation.talks_folder import talks_overview
from bedside.transcripts.simulation_folder import LOG_FILE
from tests.simulation.tiny import TINY, cases, install


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)


def run(out: Path, **arguments: Any) -> Any:
    own = {"protocol": "tiny", "out": out, "clinician": "rules", **arguments}
    return simulate(own.pop("cases", cases()), **own)


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in ("transcripts.jsonl", "states.jsonl", "failed.jsonl")}


def test_conversations_are_made_and_written_in_the_order_of_cases(tmp_path: Path) -> None:
    made = run(tmp_path / "talks", repeats=2)
    transcripts = list(made.transcripts())
    assert [transcript.id for transcript in transcripts] == [
        f"tiny/rules-toy/c{case}/short/{repeat}" for case in range(3) for repeat in (1, 2)
    ]
    first = transcripts[0]
    assert (first.system, first.case_id, first.language) == ("rules-toy", "c0", "en")
    assert [turn.role for turn in first.turns] == ["clinician", "patient"] * 2
    assert first.factors == {
        "setting": "short", "task": "two turns", "patient_model": "rules-toy", "mood": 1, "repeat": 1,
        "completed": True, "synthetic": True,
    }  # fmt: skip
    assert first.reference["guess"] == 1
    simulation = first.reference["simulation"]
    assert simulation["stop"] == "turns"
    assert simulation["turn_rater"] == "algorithm:rules@tiny-1"
    assert first.turns[0].meta["tiny"] == {"algorithm:rules@tiny-1": {"z": 1}}
    states = [json.loads(line) for line in (tmp_path / "talks/states.jsonl").open()]
    assert len(states) == 6 * 3
    assert states[0] == {"id": first.id, "turn": 0, "purpose": "label", "number": 1}
    manifest = json.loads((tmp_path / "talks/manifest.json").read_text())
    assert manifest["conversations"] == {"planned": 6, "finished": 6, "failed": 0, "unfinished": 0}
    assert manifest["toys"] == ["rules-toy"]


def test_what_another_command_left_in_the_folder_is_told(tmp_path: Path) -> None:
    run(tmp_path / "talks")
    assert simulation_tables(tmp_path / "talks")[1].notes == ()
    made = run(tmp_path / "talks", seed=1)
    assert made.summary.counts.planned == 3
    (note,) = simulation_tables(tmp_path / "talks")[1].notes
    assert note.startswith("3 conversations that other commands had made here")
    run(tmp_path / "talks", seed=1)
    assert simulation_tables(tmp_path / "talks")[1].notes == (note,)


def test_requests_without_a_reply_are_those_that_no_reply_is_kept_of(tmp_path: Path) -> None:
    """Of six requests two got replies: one at the third try in the same process, and one of one that was killed."""
    talks = tmp_path / "talks"
    run(talks)
    with closing(ConversationLog(talks / LOG_FILE)) as log:
        (key, *_) = [listed.key for listed, _ in planned_of(talks)]
        (kept, *_) = log.replies(key).values()
        for ordinal, calls in ((98, 3), (99, 1)):
            site = replace(kept.site, ordinal=ordinal)
            asyncio.run(log.keep(replace(kept, site=site, actor="patient", calls=calls)))
        log.note_sent("patient", 6)
    (note,) = simulation_tables(talks)[1].notes
    assert note.startswith("4 of 6 requests are without a reply: cut off or refused;")
    patient = talks_overview(talks).spent["patient"]
    assert (patient["calls"], patient["unanswered"]) == (6, 4)
    held = hold(talks / ".simulation.lock")
    assert held is not None
    with held:
        (note,) = simulation_tables(talks)[1].notes
    assert note.startswith("4 of 6 requests are without a reply: under way, cut off or refused;")


def planned_of(talks: Path) -> list[tuple[ListedConversation, object]]:
    with opened_log(talks / LOG_FILE) as connection:
        return list(planned_conversations(connection))


def test_what_workers_left_is_told(tmp_path: Path) -> None:
    run(tmp_path / "talks")
    parts = tmp_path / "talks" / ".talk-parts"
    parts.mkdir()
    for name in ("000000-before", "000000-1a", "000001-2b"):
        (parts / f"{name}.sqlite").touch()
    (note,) = simulation_tables(tmp_path / "talks")[1].notes
    assert note.startswith("What workers had in 2 parts isn't counted here or above yet: ")


def test_the_files_are_their_owners_alone(tmp_path: Path) -> None:
    run(tmp_path / "talks")
    for path in (tmp_path / "talks").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_the_output_is_scored_as_it_is(tmp_path: Path) -> None:
    run(tmp_path / "talks")
    scored = bedside.score(tmp_path / "talks/transcripts.jsonl", tmp_path / "run", metrics=["turns"])
    assert scored.run.path.is_dir()


def test_nothing_answered_is_asked_again(tmp_path: Path) -> None:
    first = run(tmp_path / "talks")
    before = contents(tmp_path / "talks")
    again = run(tmp_path / "talks")
    assert first.summary.calls.asked > 0
    assert again.summary.calls.asked == 0
    # What a case shares is in the log once, and looked up by each conversation.
    assert again.summary.calls.replayed == 3 * (2 + 3 * 2 + 1)
    assert contents(tmp_path / "talks") == before


def test_replay_gives_the_same_bytes_and_asks_nobody(tmp_path: Path) -> None:
    asked = []

    def agent(request: dict[str, Any]) -> Any:
        asked.append(request)
        return {"number": 3} if request["kind"] == "data" else f"Turn {request['turn']}."

    run(tmp_path / "talks", clinician=agent)
    before, number = contents(tmp_path / "talks"), len(asked)
    run(tmp_path / "talks", clinician=agent, replay=True)
    assert contents(tmp_path / "talks") == before
    assert len(asked) == number


def test_what_a_limit_kept_from_being_asked_counts_as_not_asked(tmp_path: Path) -> None:
    heard = []

    def agent(request: Any) -> str:
        heard.append(request)
        return f"How are you on day {len(heard)}?"

    first = run(tmp_path / "talks", clinician=agent, max_calls=2)
    assert (len(heard), first.summary.requests) == (2, 2)
    with opened_log(tmp_path / "talks" / LOG_FILE) as connection:
        (kept,) = connection.execute("SELECT count(*) FROM replies").fetchone()
    assert first.summary.calls.asked == kept


def test_a_disk_without_room_is_named(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / LOG_FILE)
    connection.execute("CREATE TABLE replies (text TEXT)")
    connection.execute("PRAGMA max_page_count = 3")
    with pytest.raises(sqlite3.OperationalError) as full:
        connection.execute("INSERT INTO replies VALUES (?)", ("x" * 100_000,))
    connection.close()
    assert str(explained(full.value, tmp_path / LOG_FILE)).endswith(
        "log.sqlite: the log of the simulation can't be used (database or disk is full); see that its disk has room,"
        " and run the same again, which goes on"
    )


def test_a_replay_names_the_call_that_it_lacks(tmp_path: Path) -> None:
    run(tmp_path / "talks")
    with pytest.raises(RunError, match="speak 1 of tiny/rules-toy/c0/short/2"):
        run(tmp_path / "talks", repeats=2, replay=True)


def test_more_of_the_same_goes_on_with_what_is_there(tmp_path: Path) -> None:
    run(tmp_path / "talks")
    before = contents(tmp_path / "talks")["transcripts.jsonl"].splitlines()
    more = run(tmp_path / "talks", repeats=2)
    assert contents(tmp_path / "talks")["transcripts.jsonl"].splitlines()[::2] == before
    assert more.summary.calls.asked == 3 * (3 * 2 + 1)


def test_without_a_case_the_others_stay_as_they_are(tmp_path: Path) -> None:
    run(tmp_path / "all", personas=None)
    run(tmp_path / "some", cases=cases()[1:])
    whole = contents(tmp_path / "all")["transcripts.jsonl"].splitlines()
    assert contents(tmp_path / "some")["transcripts.jsonl"].splitlines() == whole[1:]


def test_what_a_case_shares_is_asked_once_for_all_clinicians(tmp_path: Path) -> None:
    calls: list[tuple[str, str]] = []

    def evaluator(request: dict[str, Any]) -> Any:
        calls.append((request["purpose"], request["session"]))
        return {"number": len(calls)}

    def doctor(request: dict[str, Any]) -> Any:
        return {"number": 3} if request["kind"] == "data" else "Yes."

    made = run(tmp_path / "talks", clinician=["rules", doctor], evaluator=evaluator, repeats=2)
    assert sum(purpose == "facts" for purpose, _ in calls) == 3
    by_case: dict[str, set[int]] = {}
    for transcript in made.transcripts():
        by_case.setdefault(transcript.case_id, set()).add(transcript.reference["facts"])
    assert all(len(numbers) == 1 for numbers in by_case.values())
    assert len(set.union(*by_case.values())) == 3


def test_a_prompt_that_changed_stops_with_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "talks")
    from dataclasses import replace

    def changed(situation: Any) -> Any:
        exchange = TINY.converse(situation)
        calls = next(exchange)
        while True:
            try:
                replies = yield tuple(
                    replace(call, brief="You are a surgeon.") if call.purpose == "speak" else call for call in calls
                )
                calls = exchange.send(replies)
            except StopIteration as end:
                return end.value

    install(monkeypatch, replace(TINY, converse=changed))
    with pytest.raises(RunError, match=r"speak 1 of tiny/rules-toy/c0/short/1 .*\(the brief\)"):
        run(tmp_path / "talks")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("Dear …")
    with pytest.raises(RunError):
        run(tmp_path)
    assert os.listdir(tmp_path) == ["letters.txt"]


def test_a_sample_of_cases_is_the_same_for_all_and_stays_where_others_go(tmp_path: Path) -> None:
    some = run(tmp_path / "some", cases=cases(10), sample=4, clinician=["rules"])
    names = [transcript.case_id for transcript in some.transcripts()]
    assert len(names) == 4
    others = [case for case in cases(10) if case.id in names or case.id in ("c0", "c9")]
    fewer = run(tmp_path / "fewer", cases=others, sample=4)
    assert [transcript.case_id for transcript in fewer.transcripts()] == names


def test_an_agent_without_a_price_is_refused_where_costs_are_limited(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"test_simulate:polite .*`prices`"):
        run(tmp_path / "talks", clinician=polite, max_cost=1.0)
    assert not (tmp_path / "talks").exists()
    agent = "tests.simulation.test_simulate:polite"
    made = run(tmp_path / "talks", clinician=agent, max_cost=1.0, prices={agent: (0, 0)})
    assert made.summary.counts.finished == 3
    # Nobody is asked, so that nothing costs anything.
    assert run(tmp_path / "talks", clinician=agent, max_cost=1.0, replay=True).summary.counts.finished == 3
    assert run(tmp_path / "toys", clinician="script:brisk", protocol="note2chat", cases=None, max_cost=1.0)


def test_a_preview_counts_the_calls_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked: dict[str, Any] = {"clinician": ["rules", polite], "repeats": 2, "prices": {"rules": (1.0, 2.0)}}
    preview = preview_simulation(cases(), "tiny", **asked)
    assert os.listdir(tmp_path) == []
    made = run(tmp_path / "talks", **asked)
    assert preview.conversations == made.summary.counts.planned == 12
    by_role = {(role.role, role.actor.identity): role for role in preview.roles}
    manifest = json.loads((tmp_path / "talks/manifest.json").read_text())
    spent = {role: entry["replies"] for role, entry in manifest["spent"].items()}
    for role in ("patient", "evaluator"):
        assert by_role[role, "rules-toy"].calls == spent[role]
    clinicians = [role for role in preview.roles if role.role == "clinician"]
    assert sum(role.calls for role in clinicians) == spent["clinician"]
    assert all(role.calls <= role.most_calls for role in preview.roles)
    assert all(role.cost == 0 for role in preview.roles)


def test_a_preview_of_many_counts_by_some(tmp_path: Path) -> None:
    preview = preview_simulation(cases(50), "tiny", clinician="http://127.0.0.1:9/v1#m", prices={"m": (1.0, 2.0)})
    assert (preview.conversations, preview.played) == (50, 20)
    (doctor,) = [role for role in preview.roles if role.role == "clinician"]
    assert doctor.calls == 50 * 3
    assert doctor.most_calls == 50 * 7
    assert doctor.cost == pytest.approx((doctor.input_tokens + 2 * doctor.output_tokens) / 1e6, abs=1e-6)


def test_clinicians_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    made = run(tmp_path / "talks", clinician=[polite, "rules"], cases=cases(1))
    assert [transcript.system for transcript in made.transcripts()] == [
        "tests.simulation.test_simulate:polite",
        "rules-toy",
    ]


def polite(request: dict[str, Any]) -> Any:
    return {"number": 3} if request["kind"] == "data" else "How are you?"
