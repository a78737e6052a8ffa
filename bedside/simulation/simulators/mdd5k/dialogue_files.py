"""Simulated interviews in the authors' JSON, so that what reads MDD-5k's dialogues reads them.

A file for each case in ``conversations``, a list of ``{"conversation": [{"doctor": …, "patient": …}, …]}``, the last
exchange without ``patient`` where the doctor has the last word; and in ``labels`` the case's diagnosis and code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from bedside.core.errors import InputError
from bedside.core.files import can_name_a_file
from bedside.transcripts.transcript import Transcript

CONVERSATIONS, LABELS = "conversations", "labels"


def dialogue_files(transcripts: Iterable[Transcript]) -> dict[str, str]:
    """The texts of the files by their path in the folder.

    Where there are several systems, each has a folder of its own.

    Raises:
        InputError: in a transcript doctor and patient don't alternate, the doctor first; it has no case; or a case's id
            can't be a file's name there.
    """
    dialogues: dict[tuple[str, str], list[Any]] = {}
    labels: dict[tuple[str, str], dict[str, Any]] = {}
    for transcript in transcripts:
        place = (transcript.system or "", _case(transcript))
        dialogues.setdefault(place, []).append({"conversation": list(_exchanges(transcript))})
        diagnosis = transcript.reference.get("diagnosis")
        if diagnosis:
            labels[place] = {
                "ICD_Code": str(transcript.reference.get("icd_code", "")),
                "Diagnosis_Result": str(diagnosis),
            }
    systems = sorted({system for system, _ in dialogues})
    several = len(systems) > 1
    if len({_folder(system) for system in systems}) < len(systems):
        raise InputError(
            f"of the systems {', '.join(systems)}, two would have one folder", todo="write them one at a time"
        )
    files: dict[str, str] = {}
    for (system, case), contents in dialogues.items():
        base = f"{_folder(system)}/" if several else ""
        files[f"{base}{CONVERSATIONS}/{case}.json"] = _json(contents)
        if (system, case) in labels:
            files[f"{base}{LABELS}/{case}_label.json"] = _json(labels[system, case])
    return files


def _exchanges(transcript: Transcript) -> Iterator[dict[str, str]]:
    exchange: dict[str, str] = {}
    for turn in transcript.turns:
        name = {"clinician": "doctor", "patient": "patient"}.get(turn.role)
        if name is None or (name == "doctor") != (turn.index % 2 == 0):
            raise InputError(
                "doctor and patient must take turns, the doctor first",
                where=f"{transcript.id}, turn {turn.index}",
                todo="MDD-5k's form holds exchanges and nothing else",
            )
        exchange[name] = turn.text
        if name == "patient":
            yield exchange
            exchange = {}
    if exchange:
        yield exchange


def _case(transcript: Transcript) -> str:
    case = transcript.case_id
    if not case:
        raise InputError("the transcript has no case", where=transcript.id, todo="give it a `case_id`")
    if "." in case or not can_name_a_file(case):
        raise InputError(
            f"the case {case!r} can't name a file of MDD-5k's form",
            where=transcript.id,
            todo="rename it, in letters and digits: the file's name up to its first point is the case",
        )
    return case


def _folder(system: str) -> str:
    name = re.sub(r"[^\w.-]+", "-", system).rstrip(".") or "none"
    return name if can_name_a_file(name) else f"_{name}"


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
