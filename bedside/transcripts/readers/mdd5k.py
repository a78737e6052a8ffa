"""MDD-5k: simulated Chinese psychiatric interviews (Yin et al., AAAI 2025)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import orjson

from bedside.errors import InputError
from bedside.transcripts.model import Transcript
from bedside.transcripts.reading import Head, Reader, Source

_LABELS = {"ICD_Code", "Diagnosis_Result"}


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    if not isinstance(head.first, dict):
        # The first dialogue may be longer than the head.
        start = head.text[:400].replace(" ", "").replace("\n", "")
        return "transcripts" if start.startswith('[{"conversation":[{"doctor":') else None
    if not head.is_array and set(head.first) == _LABELS:
        return "companion"
    exchanges = head.first.get("conversation")
    if (
        isinstance(exchanges, list)
        and exchanges
        and isinstance(exchanges[0], dict)
        and "doctor" in exchanges[0]
    ):
        return "transcripts"
    return None


def _read(source: Source) -> Iterator[Transcript]:
    case = source.path.name.split(".")[0]
    reference = _label(source, case)
    for position, (where, item) in enumerate(source.json_items()):
        transcript = source.attempt(_dialogue, source, item, where, position, case, reference)
        if transcript is not None:
            yield transcript


def _dialogue(
    source: Source, item: Any, where: str, position: int, case: str, reference: dict[str, Any]
) -> Transcript:
    exchanges = item.get("conversation") if isinstance(item, dict) else None
    if not isinstance(exchanges, list):
        raise InputError("no list called 'conversation'", where=where)
    turns = []
    for number, exchange in enumerate(exchanges):
        if not isinstance(exchange, dict) or not exchange.keys() <= {"doctor", "patient"}:
            raise InputError(
                "an exchange holds 'doctor' and 'patient' and nothing else",
                where=f"{where}, exchange {number}",
            )
        for speaker in ("doctor", "patient"):
            if speaker in exchange:
                turns.append(source.turn(len(turns), speaker, exchange[speaker], where))
    return source.transcript(
        turns, where, id=f"{source.stem}#{position}", case_id=case, language="zh", reference=reference
    )


def _label(source: Source, case: str) -> dict[str, Any]:
    path = source.path.parent.parent / "labels" / f"{case}_label.json"
    if not path.is_file():
        return {}
    source.companions.append(path)
    try:
        label = orjson.loads(path.read_bytes())
        return {"diagnosis": label["Diagnosis_Result"], "icd_code": label["ICD_Code"]}
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise InputError("not an MDD-5k label", where=str(path), todo="mend or remove it") from error


READER = Reader(
    name="mdd5k",
    title="MDD-5k dialogues (JSON)",
    description=(
        'A list of dialogues, each `{"conversation": [{"doctor": …, "patient": …}, …]}`; the last exchange may '
        "lack the patient's reply. The file's name is the case; its dialogues are numbered from 0. A label in "
        "`../labels/NAME_label.json` becomes the reference diagnosis."
    ),
    example='[{"conversation": [{"doctor": "最近睡得怎么样？", "patient": "睡不着，总是醒。"}, {"doctor": "谢谢您告诉我。"}]}]\n',
    example_name="patient_1.json",
    claims=_claims,
    read=_read,
    priority=20,
)
