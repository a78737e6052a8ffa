"""The real corpora beside the project, against what a plain reading of their files says."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript import CODE_ROLES, CODES


def test_every_row_of_annomi_is_accounted_for(annomi: Path) -> None:
    with annomi.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    reading = Reading([annomi])
    transcripts = list(reading)
    assert [(file.format, file.transcripts, file.bytes) for file in reading.inputs] == [
        ("rows", 100, annomi.stat().st_size)
    ]
    assert len(rows) == 9924
    by_utterance = defaultdict(list)
    for row in rows:
        by_utterance[row["transcript_id"], int(row["utterance_id"])].append(row)
    turns = [(transcript, turn) for transcript in transcripts for turn in transcript.turns]
    assert len(turns) == len(by_utterance)
    assert sum(len(turn.meta["codes"]) for _, turn in turns) == len(rows)

    for (transcript, turn), (key, coded) in zip(turns, sorted(by_utterance.items(), key=_in_file(rows)), strict=True):
        row = coded[0]
        assert (transcript.id, turn.text, turn.speaker) == (key[0], row["utterance_text"], row["interlocutor"])
        assert turn.role == {"therapist": "clinician", "client": "patient"}[row["interlocutor"]]
        assert turn.meta["time"] == row["timestamp"]
        assert transcript.factors == {"mi_quality": row["mi_quality"], "topic": row["topic"].strip()}
        assert transcript.reference == {"video_title": row["video_title"].strip(), "video_url": row["video_url"]}
        assert (transcript.system, transcript.language, transcript.case_id) == ("human", "en", None)
        assert turn.meta["codes"].keys() == {each["annotator_id"] for each in coded}
        for each in coded:
            for code, label in turn.meta["codes"][each["annotator_id"]].items():
                assert CODE_ROLES[code] == turn.role
                assert label in CODES[code]


def _in_file(rows: list[dict[str, str]]) -> Callable[[Any], tuple[int, Any]]:
    order = {name: number for number, name in enumerate(dict.fromkeys(row["transcript_id"] for row in rows))}
    return lambda item: (order[item[0][0]], item[0][1])


def test_annomis_codes_are_counted_as_in_its_columns(annomi: Path) -> None:
    with annomi.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found: Counter[tuple[str, str]] = Counter(
        (code, label)
        for transcript in Reading([annomi])
        for turn in transcript.turns
        for codes in turn.meta["codes"].values()
        for code, label in codes.items()
    )
    expected: Counter[tuple[str, str]] = Counter()
    for name in ("question", "reflection", "therapist_input"):
        expected[name, "none"] = sum(row[f"{name}_exists"] == "False" for row in rows)
        for row in rows:
            if row[f"{name}_exists"] == "True":
                expected[name, row[f"{name}_subtype"]] += 1
    for name, column in (("main_behaviour", "main_therapist_behaviour"), ("client_talk", "client_talk_type")):
        expected.update((name, row[column]) for row in rows if row[column] != "n/a")
    assert found == expected


def test_mdd5k_is_read_whole(mdd5k: Path) -> None:
    reading = Reading([mdd5k])
    transcripts = {transcript.id: transcript for transcript in reading}
    assert Counter(file.format for file in reading.inputs) == {"mdd5k": 30, "mdd5k (companion)": 30}
    expected = {}
    for path in (mdd5k / "conversations").glob("*.json"):
        label = json.loads((mdd5k / "labels" / f"{path.stem}_label.json").read_text(encoding="utf-8"))
        for position, dialogue in enumerate(json.loads(path.read_text(encoding="utf-8"))):
            expected[f"{path.stem}#{position}"] = (
                path.stem,
                {"diagnosis": label["Diagnosis_Result"], "icd_code": label["ICD_Code"]},
                [
                    (role, exchange[key])
                    for exchange in dialogue["conversation"]
                    for key, role in (("doctor", "clinician"), ("patient", "patient"))
                    if key in exchange
                ],
            )
    assert len(expected) == 150
    assert expected == {
        name: (each.case_id, each.reference, [(turn.role, turn.text) for turn in each.turns])
        for name, each in transcripts.items()
    }
    assert {each.language for each in transcripts.values()} == {"zh"}


def test_copies_of_mdd5k_are_told_apart_by_their_folders(mdd5k: Path, tmp_path: Path) -> None:
    for copy in ("copy1", "copy2"):
        (tmp_path / copy).symlink_to(mdd5k, target_is_directory=True)
    names = {transcript.id for transcript in Reading([tmp_path / "copy1", tmp_path / "copy2"])}
    assert len(names) == 300
    assert {"copy1/patient_62#0", "copy2/patient_62#4"} <= names
