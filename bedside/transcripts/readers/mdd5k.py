"""MDD-5k: simulated Chinese psychiatric interviews (Yin et al., AAAI 2025)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from bedside.core.errors import InputError
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.transcript_fields import described

_SIDES = ("doctor", "patient")
#: The folders of dialogues, and those of labels beside them, in copies of the corpus and in its public release.
_DIALOGUES, _FOLDERS = {"conversations", "MDD_5k"}, ("labels", "Label")
_LABELS = {"ICD_Code", "Diagnosis_Result"}
_SEE = "see bedside show mdd5k --kind readers"


def _claims(head: Head) -> Claim | None:
    first = head.first
    if not isinstance(first, dict):
        return None
    if first.keys() == _LABELS:
        return "companion"
    exchanges = first.get("conversation") or None
    right = isinstance(exchanges, list) and isinstance(exchanges[0], dict) and "doctor" in exchanges[0]
    return "transcripts" if right else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    case = source.path.name.split(".")[0]
    reference = _label(source, case)
    # Every copy of the corpus has the folder, so its name tells nothing.
    folder, _, name = source.stem.rpartition("/")
    above, _, last = folder.rpartition("/")
    source.stem = f"{above if last in _DIALOGUES else folder}/{name}".lstrip("/")

    def dialogue(source: SourceFile, item: Any, where: str, name: str) -> Transcript:
        turns = source.turns(*_speakers_and_texts(item, where), where)
        fields = described(item, ("conversation",))
        fields["reference"] |= reference
        return source.transcript(turns, where, **{**fields, "id": name, "case_id": case, "language": "zh"})

    return source.json_transcripts(dialogue)


def _speakers_and_texts(item: Any, where: str) -> tuple[list[str], list[Any]]:
    exchanges = item.get("conversation") if isinstance(item, dict) else None
    if not isinstance(exchanges, list):
        raise InputError("there is no list called 'conversation'", where=where, todo=_SEE)
    speakers: list[str] = []
    texts: list[Any] = []
    for number, exchange in enumerate(exchanges):
        if not isinstance(exchange, dict) or not exchange.keys() <= {*_SIDES}:
            raise InputError(
                "an exchange holds 'doctor' and 'patient' and nothing else",
                where=f"{where}, exchange {number}",
                todo=_SEE,
            )
        said = [side for side in _SIDES if side in exchange]
        speakers += said
        texts += [exchange[side] for side in said]
    return speakers, texts


def _label(source: SourceFile, case: str) -> dict[str, Any]:
    found = (source.companion("..", folder, f"{case}_label.json") for folder in _FOLDERS)
    data = next((one for one in found if one is not None), None)
    if data is None:
        return {}
    try:
        label = orjson.loads(data)
        return {"diagnosis": label["Diagnosis_Result"], "icd_code": label["ICD_Code"]}
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise InputError(
            "this is not an MDD-5k label", where=source.companions[-1][0], todo="mend or remove it"
        ) from error


READER = Reader(
    name="mdd5k",
    title="MDD-5k dialogues (JSON)",
    description="A list of dialogues, numbered from 0. The last exchange may lack the patient's reply.",
    example=(
        '[{"conversation": [{"doctor": "最近睡得怎么样？", "patient": "睡不着，总是醒。"}, '
        '{"doctor": "谢谢您告诉我。"}]}]\n'
    ),
    example_name="patient_1.json",
    facts={
        "family": "own",
        "known_by": "`conversation` of `doctor` and `patient`",
        "turns": "what each of them says",
        "kept": "the file's name as case; other keys as factors; the diagnosis of `../labels` or `../Label`",
        "left": "nothing: another key of an exchange is an error",
        "decided_by": "–",
    },
    endings=(".json",),
    claims=_claims,
    read=_read,
    priority=10,
)
