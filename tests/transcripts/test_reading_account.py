"""What a reading understood is said: who speaks as whom, what was left out; all that is in doubt is told at once."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.core.errors import InputError
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.reading_account import MOST_LEVELS, SCREEN, WIDTH, ReadingAccount
from bedside.transcripts.transcript import Role, Transcript
from bedside.transcripts.transcript_maker import UnknownSpeakerError
from tests.conftest import DATA

FORMS = DATA / "forms"


def line(name: str, *turns: tuple[str, str], **fields: Any) -> str:
    said = [{"role": speaker, "text": text} for speaker, text in turns]
    return json.dumps({"id": name, **fields, "turns": said}, ensure_ascii=False) + "\n"


def write(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(lines))
    return path


def read(*paths: Path, **options: Any) -> tuple[list[Transcript], ReadingAccount]:
    reading = Reading(paths, ReadOptions(**options))
    return list(reading), reading.account


TALK = (("Doctor", "How are you?"), ("Patient", "I sleep badly [laughs]."), ("Mother", "He does."))


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    return write(
        tmp_path,
        "talks.jsonl",
        line("a", *TALK, system="A", case_id="1", language="en", factors={"setting": 8, "tone": "warm"}),
        line("b", *TALK, system="B", case_id="1", language="en", factors={"setting": 16, "tone": "warm"}),
        line("c", ("Doctor", "How are <UNIN/> you?"), ("Doctor", "Well?")),
    )


def test_the_account_says_what_was_read(talks: Path) -> None:
    _, account = read(talks, roles={"mother": "other"})
    assert account.lines() == [
        "Read: 3 transcripts, 8 turns, 1 file",
        "Form: jsonl, bedside's JSON lines: talks.jsonl",
        "Speakers: clinician: Doctor (4 turns) · patient: Patient (2) · other: Mother (2)",
        "One-sided: 1 transcript has no turn of the patient. What needs both sides is",
        "  missing there.",
        "Tags: 3 marks in brackets, such as [laughs], count as words; `drop_tags` takes",
        "  them out",
        "Language: en (2 transcripts) · not stated (1)",
        "Systems: A (1 transcript) · B (1) · not stated (1)",
        "Cases: 1; 1 transcript without a case",
        "Factors: setting: 8, 16 · tone: warm",
        "Kinds: condition setting",
    ]
    assert str(bedside.read_account(talks, ReadOptions(roles={"mother": "other"}))) == str(account)
    # In brief what is plain is one sentence; what may not be as it was meant stays.
    brief = account.brief_lines()
    assert brief[:2] == [
        "Read 3 transcripts (8 turns) from talks.jsonl: clinician = Doctor; patient =",
        "  Patient; other = Mother; 2 systems; factors setting, tone",
    ]
    assert brief[2:] == [line for line in account.lines() if line in brief[2:]]
    assert [line.partition(":")[0] for line in brief[2:] if line[0] != " "] == ["One-sided", "Tags", "Kinds"]


def test_the_account_is_one_screen(tmp_path: Path) -> None:
    lines = [
        line(
            f"t{n}",
            (f"Doctor {n}", "How are you?"),
            ("Patient", "Well."),
            system=f"a system of a rather long name {n}",
            factors={f"a factor with a long name {k}": f"level {n} of {k}" for k in range(40)},
        )
        for n in range(60)
    ]
    path = write(tmp_path, "t.jsonl", *lines)
    _, account = read(path, roles={f"Doctor {n}": "clinician" for n in range(60)})
    for number in range(40):
        account.remarks.append(f"Remark {number} " + "goes on and on " * 20)
    shown = account.lines()
    assert len(shown) == SCREEN
    assert max(map(len, shown)) <= WIDTH
    assert "54 more (54)" in shown[2] + shown[3] + shown[4]


def test_many_levels_are_not_kept(tmp_path: Path) -> None:
    lines = [line(f"t{n}", *TALK[:2], factors={"n": n}) for n in range(MOST_LEVELS + 1)]
    _, few = read(write(tmp_path, "few.jsonl", *lines[:-1]))
    _, many = read(write(tmp_path, "many.jsonl", *lines))
    assert few.factors["n"] == Counter(range(MOST_LEVELS))
    assert many.factors == {"n": None}


@pytest.mark.parametrize("cut", [1, 7, 30])
def test_parts_give_the_account_of_the_whole(tmp_path: Path, cut: int) -> None:
    lines = [
        line(f"t{n}", *TALK[: 1 + n % 3], system="AB"[n % 2], case_id=str(n // 2), factors={"n": n}) for n in range(60)
    ]
    _, whole = read(write(tmp_path, "t.jsonl", *lines), roles={"mother": "other"})
    merged = ReadingAccount()
    for start in range(0, len(lines), cut):
        _, part = read(write(tmp_path, "t.jsonl", *lines[start : start + cut]), roles={"mother": "other"})
        merged.merge(ReadingAccount.of_json(json.loads(json.dumps(part.as_json()))))
    assert merged.lines() == whole.lines()
    assert merged.summary() == whole.summary()


ASKS = "How have you been since we last met? What would you like to talk about?"
TELLS = "I don't know, I feel tired and I can't sleep because my head hurts."


def test_labelled_roles_that_look_swapped_are_remarked_on(tmp_path: Path) -> None:
    right = (("clinician", ASKS), ("patient", TELLS)) * 3
    swapped = (("patient", ASKS), ("clinician", TELLS)) * 3
    path = write(tmp_path, "t.jsonl", line("a", *right), line("b", *swapped), line("c", *swapped), line("d", *TALK[:2]))
    talks, account = read(path)
    assert len(talks) == 4
    assert (account.swapped, account.first_swapped) == (2, "b")
    assert "Swapped: clinician and patient look swapped in 2 of 4 transcripts, first in b;" in account.lines()
    assert account.summary()["swapped"] == 2
    again = ReadingAccount()
    again.merge(account)
    again.merge(ReadingAccount.of_json(json.loads(json.dumps(account.as_json()))))
    assert (again.swapped, again.first_swapped) == (4, "b")
    run = bedside.score(path, tmp_path / "run", metrics=["structure"]).run
    assert run.manifest["scorings"][0]["read"]["swapped"] == 2


def test_who_is_right_or_told_by_the_user_is_not_remarked_on(tmp_path: Path) -> None:
    right = write(tmp_path, "right.jsonl", line("a", *(("Doctor", ASKS), ("Client", TELLS)) * 3))
    _, account = read(right)
    assert not account.swapped
    assert "swapped" not in account.summary()
    # Of a model and its user it was asked, and the user said who is who.
    log = write(tmp_path, "log.jsonl", line("a", *(("user", ASKS), ("assistant", TELLS)) * 3))
    _, account = read(log, roles={"assistant": "clinician", "user": "patient"})
    assert not account.swapped
    # Few words tell nothing.
    short = write(tmp_path, "short.jsonl", line("a", ("patient", "How are you?"), ("clinician", "I am tired.")))
    assert not read(short)[1].swapped


@pytest.mark.parametrize(("folder", "transcripts", "found"), [("annomi", 100, 92), ("mdd5k", 150, 150)])
def test_few_are_remarked_on_wrongly(folder: str, transcripts: int, found: int) -> None:
    path = DATA / folder
    if not path.exists():
        pytest.skip("the set is not here")
    talks, account = read(path)
    assert (len(talks), account.swapped) == (transcripts, 0)
    exchange: dict[Role, Role] = {"clinician": "patient", "patient": "clinician", "other": "other"}
    for talk in talks:
        turns = [replace(turn, role=exchange[turn.role]) for turn in talk.turns]
        account.add(replace(talk, turns=tuple(turns)))
    assert account.swapped == found


def test_unknown_speakers_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    one = write(
        tmp_path,
        "one.jsonl",
        line("a", ("T", ASKS), ("Client 1", TELLS), ("T", ASKS)),
        line("b", ("T", ASKS), ("Client 2", TELLS), ("Grandmother's friend", "No.")),
    )
    two = write(tmp_path, "two.jsonl", line("c", ("Kim", ASKS), ("Lee", TELLS), ("Kim", ASKS), ("Lee", TELLS)))
    with pytest.raises(UnknownSpeakerError) as error:
        read(one, two)
    assert error.value.what == (
        "unknown speakers 'T' (3 turns in 2 transcripts), 'Kim' (2 turns in 1 transcript), 'Lee' (2 turns in 1 "
        "transcript), 'Client 1' (1 turn in 1 transcript), 'Client 2' (1 turn in 1 transcript), "
        '"Grandmother\'s friend" (1 turn in 1 transcript)'
    )
    assert error.value.todo is not None
    assert error.value.todo.endswith(
        '`roles="T=clinician,Kim=clinician,Lee=patient,Client 1=patient,Client 2=patient,Grandmother\'s friend=other"`'
    )
    assert error.value.where == f"{one}:1, turn 0"


def test_unknown_speakers_of_all_that_is_skipped_are_told_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "one.jsonl",
        line("a", ("doctor", "How are you?"), ("patient", "Well.")),
        "{}\n",
        line("b", ("Kim", ASKS), ("Lee", TELLS), ("Kim", ASKS)),
        line("c", ("Kim", ASKS), ("Lee", TELLS)),
    )
    reading = Reading([path], ReadOptions(on_error="skip"))
    assert [transcript.id for transcript in reading] == ["a"]
    assert len(reading.skipped) == reading.account.skipped == 3
    other, speakers = reading.reasons
    assert other.startswith(f"{path}:2: ")
    assert speakers.startswith("2 transcripts with unknown speakers 'Kim' (3 turns in 2 transcripts), 'Lee'")
    assert speakers.endswith("`roles=Kim=clinician,Lee=patient`")


@pytest.mark.parametrize(
    ("turns", "roles"),
    [
        ((("Therapist", "Yes."), ("Anna", "Is it? Really?")), {"Anna": "patient"}),
        ((("Patient", "Is it?"), ("Bob", "It is.")), {"Bob": "clinician"}),
        ((("doctor", "Yes?"), ("patient", "Well."), ("nurse", "Come in.")), {"nurse": "other"}),
        ((("A", TELLS), ("B", ASKS), ("A", TELLS), ("B", ASKS)), {"A": "patient", "B": "clinician"}),
        ((("Doctor-AI", "Hello."), ("Patient-AI", "Is it?")), {"Doctor-AI": "clinician", "Patient-AI": "patient"}),
    ],
)  # fmt: skip
def test_guesses(tmp_path: Path, turns: Any, roles: dict[str, str]) -> None:
    with pytest.raises(UnknownSpeakerError) as error:
        read(write(tmp_path, "t.jsonl", line("a", *turns)))
    text = error.value.todo or ""
    for name, role in roles.items():
        assert f"{name}={role}" in text
    assert "guess" in text
    assert text.count("=") == len(roles) + 1


@pytest.mark.parametrize(
    "turns",
    [
        (("Doctor", "Yes."), ("Patient", "Is it?"), ("Kim", "Why?")),
        (("A", "Yes."), ("B", "So it is."), ("A", "Fine.")),
        (("P", "Ya."), ("C", "Claro.")),
    ],
)
def test_no_guess_is_ready_to_copy_where_nothing_tells(tmp_path: Path, turns: Any) -> None:
    with pytest.raises(UnknownSpeakerError) as error:
        read(write(tmp_path, "t.jsonl", line("a", *turns)))
    text = error.value.todo or ""
    assert "=clinician" not in text
    assert "=patient" not in text
    assert "=other" not in text
    assert repr(turns[-1][1]) in text


def test_a_guess_can_be_typed_as_it_is_told(tmp_path: Path) -> None:
    """Whatever the names hold, the command takes what the error says."""
    import shlex

    from bedside.cli.parsing import read_pairs

    names = ["Smith, John", 'the "Doc" here', "It's $5", "pt. `x`", "a\\b", "Müller", "E=mc"]
    from bedside.transcripts.unknown_speakers import UnknownSpeakers

    unknown = UnknownSpeakers()
    unknown.names.update(names)
    reading = Reading([write(tmp_path, "t.jsonl", *(line(name, (name, "Yes?"), ("Patient", "x")) for name in names))],
                      ReadOptions(roles=dict.fromkeys(names, "other")))  # fmt: skip
    for transcript in reading:
        unknown.add(transcript)
    (typed,) = shlex.split(unknown.complaint()[1].partition("`roles=")[2].removesuffix("`"))
    assert set(read_pairs(typed, "--roles")) == set(names)


@pytest.mark.parametrize(
    ("speakers", "roles"),
    [
        (("interviewer", "participant"), ["clinician", "patient"]),
        (("participant", "patient"), ["clinician", "patient"]),
        (("speaker", "listener"), ["patient", "clinician"]),
        (("nurse", "patient"), ["clinician", "patient"]),
        (("seeker", "supporter"), ["patient", "clinician"]),
        (("Physician", "interviewee"), ["clinician", "patient"]),
        (("来访者：", "心理咨询师："), ["patient", "clinician"]),
        (("咨询师", "来访者"), ["clinician", "patient"]),
        (("Psychologist", "Client"), ["clinician", "patient"]),
    ],
)
def test_words_for_roles(tmp_path: Path, speakers: tuple[str, str], roles: list[str]) -> None:
    (talk,), _ = read(write(tmp_path, "t.jsonl", line("a", *((name, "Yes.") for name in speakers))))
    assert [turn.role for turn in talk.turns] == roles


def test_a_word_that_may_be_either_is_told_by_its_partner_in_each_transcript(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "t.jsonl",
        line("a", ("participant", "Yes."), ("interviewer", "Well?")),
        line("b", ("participant", "Yes?"), ("patient", "Well.")),
    )
    talks, _ = read(path)
    assert [talk.turns[0].role for talk in talks] == ["patient", "clinician"]
    with pytest.raises(UnknownSpeakerError, match="'participant'"):
        read(write(tmp_path, "u.jsonl", line("a", ("participant", "Yes."), ("system", "Well?"))))


@pytest.mark.parametrize("role", ["clinician", "patient"])
def test_a_one_sided_dialogue_is_read_and_counted(tmp_path: Path, role: str) -> None:
    path = write(tmp_path, "t.jsonl", line("a", (role, "Hello there.")), line("b", *TALK[:2]))
    talks, account = read(path)
    assert len(talks) == 2
    assert account.one_sided == {role: 1}
    run = bedside.score(path, tmp_path / "run", metrics=["structure", "talk_time"]).run
    other = {"clinician": "patient", "patient": "clinician"}[role]
    rows = {
        (row["metric"], row["error"])
        for row in run.ratings.filter(transcript_id="a").iter_rows(named=True)
        if row["error"]
    }
    wanted = {f"{name}.{other}" for name in ("turns", "words", "characters")}
    wanted |= {"exchanges", "talk_share.clinician", "talk_share.patient", "talk_time_balance"}
    assert {(name, f"no {other} turn") for name in wanted} <= rows


def test_empty_turns_are_left_out_where_so_wished(tmp_path: Path) -> None:
    turns = (("doctor", "Hello."), ("patient", " \n"), ("doctor", "Yes?"), ("patient", "Well."), ("patient", ""))
    path = write(tmp_path, "t.jsonl", line("a", *turns))
    with pytest.raises(InputError, match=r"turn 1: .* `drop_empty`"):
        read(path)
    (talk,), account = read(path, drop_empty=True)
    assert [(turn.index, turn.text) for turn in talk.turns] == [(0, "Hello."), (1, "Yes?"), (2, "Well.")]
    assert account.left_out == {"empty turns": 2}
    assert "Left out: empty turns (2)" in account.lines()
    number = {"id": "n", "turns": [{"role": "doctor", "text": "x"}, {"role": "patient", "text": 3}]}
    with pytest.raises(InputError, match=r"turn 1: .*number 3"):
        read(write(tmp_path, "n.jsonl", json.dumps(number)), drop_empty=True)


def test_tags_are_taken_out_where_so_wished(tmp_path: Path) -> None:
    turns = (
        ("doctor", "I <UNSURE>think</UNSURE> so."),
        ("patient", "<UNIN/>"),
        ("doctor", "2 < 3 and [sic] [1] stay."),
        ("patient", "Well [inaudible 00:12:03] yes. [laughs]"),
    )
    path = write(tmp_path, "t.jsonl", line("a", *turns))
    (kept,), account = read(path)
    assert (kept.turns[3].text, account.tags, account.tag) == (turns[3][1], 5, "<UNSURE>")
    (talk,), account = read(path, drop_tags=True)
    assert [turn.text for turn in talk.turns] == ["I think so.", "2 < 3 and [sic] [1] stay.", "Well yes."]
    assert account.left_out == {"marks in brackets": 5, "turns of nothing but tags": 1}


def test_the_same_ids_in_the_files_of_systems_are_cases(tmp_path: Path) -> None:
    for system in ("gpt", "claude"):
        write(tmp_path, f"{system}.jsonl", line("1", *TALK[:2]), line("2", *TALK[:2]))
    with pytest.raises(InputError, match=r"'1'; .* `path_fields={system}`"):
        read(tmp_path)
    talks, account = read(tmp_path, path_fields="{system}")
    assert [(talk.id, talk.system, talk.case_id) for talk in talks] == [
        ("claude/1", "claude", "1"), ("claude/2", "claude", "2"), ("gpt/1", "gpt", "1"), ("gpt/2", "gpt", "2")
    ]  # fmt: skip
    assert any("taken for cases" in remark for remark in account.remarks)


def test_an_id_of_the_files_own_name_and_a_case_that_is_told_stay(tmp_path: Path) -> None:
    said = [{"role": "doctor", "text": "Hello?"}, {"role": "patient", "text": "Yes."}]
    write(tmp_path, "gpt/1.jsonl", json.dumps({"turns": said}))
    write(tmp_path, "claude/1.jsonl", line("x", *TALK[:2], case_id="9"))
    talks, account = read(tmp_path, path_fields="{system}/{number}")
    assert [(talk.id, talk.case_id) for talk in talks] == [("x", "9"), ("gpt/1#0", None)]
    assert not account.remarks


def test_a_third_speaker_is_no_other_speakers_words() -> None:
    path = FORMS / "aci-bench" / "aci_guests.csv"
    if not path.exists():
        pytest.skip("the sample is not here")
    text = path.read_text()
    talks, account = read(path)
    assert account.speakers["other"] == {"patient_guest": text.count("[patient_guest]")}
    assert sum(len(talk.turns) for talk in talks) == account.turns


def test_a_turn_of_marks_that_nobody_sees_is_empty(tmp_path: Path) -> None:
    path = write(tmp_path, "t.txt", "Doctor: Hello.\nPatient: \u200b\u2060\nDoctor: Well?\nPatient: No.\n")
    with pytest.raises(InputError, match="`drop_empty`"):
        read(path)
    (one,), _ = read(path, drop_empty=True)
    assert [turn.text for turn in one.turns] == ["Hello.", "Well?", "No."]


def test_lines_without_a_speaker_are_told_where_they_are_few(tmp_path: Path) -> None:
    said = "Doctor: How do you sleep?\nPatient: Badly, since the spring of last year.\n"
    note = "The patient wants to be called in May."
    text = write(tmp_path, "a.txt", said, "\n", note, "\n")
    table = write(tmp_path, "b.csv", f'id,dialogue\nb,"{said}\n{note}"\nc,"{said}"\n')
    read_text, read_table = read(text)[1], read(table)[1]
    for account, place in ((read_text, f"{text}:4"), (read_table, f"{table}:5")):
        shown = "".join("".join(account.lines(longest=None)).split())
        told = f"1 line without a speaker, read as words of the turn before, such as this ({place}): {note}"
        assert "".join(told.split()) in shown
        assert ReadingAccount.of_json(json.loads(json.dumps(account.as_json()))) == account
    read_text.merge(read_table)
    assert read_text.joined is not None
    assert read_text.joined.number == 2
    many = write(tmp_path, "c.txt", *(f"{said}{note}\n{note}\n" for _ in range(9)))
    assert "Joined" not in str(read(many)[1])
