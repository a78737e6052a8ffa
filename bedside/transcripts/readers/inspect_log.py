"""Evaluation logs of Inspect (inspect_ai), as ``.eval`` archives and as JSON."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from functools import partial
from typing import Any

import orjson

from bedside.core.errors import BedsideError, InputError
from bedside.core.json_shape import json_kind
from bedside.transcripts.byte_source import MAX_RECORD
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.message_lists import MODEL_SPEAKERS, leave_rest, texts_in
from bedside.transcripts.request_answers import one_talk
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.transcript_fields import factor_or_reference

_SEE = "see bedside show inspect_log"
#: Parts of a sample that are told of elsewhere, or whose texts stand in its messages.
_APART = frozenset(("messages", "output", "events", "timelines", "attachments", "model_usage", "error_retries"))
#: Parts of a log that tell how it was made, and of its results.
_OF_LOG = frozenset(
    """
    version status eval plan results stats error samples reductions location etag invalidated log_updates tags metadata
    """.split()
)
_ATTACHMENT = "attachment://"
#: The first part of an archive, and where one begins.
_PACKED, _FIRST_PART = b"PK", b"_journal/"


def _claims(head: Head) -> Claim | None:
    start = head.source.head
    if start[:2] == _PACKED:
        return "transcripts" if _FIRST_PART in start[:64] else None
    first = head.first
    right = isinstance(first, dict) and isinstance(first.get("eval"), dict) and "version" in first
    return "transcripts" if right else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = MODEL_SPEAKERS
    samples = _archived(source) if source.head[:2] == _PACKED else _in_json(source)
    for evaluation, where, sample in samples:
        transcript = source.attempt(_transcript, source, evaluation, sample, where)
        if transcript is not None:
            yield transcript


def _in_json(source: SourceFile) -> Iterator[tuple[dict[str, Any], str, Any]]:
    for where, _, log in source.json_values():
        if isinstance(log, InputError):
            raise log
        samples = log.get("samples") if isinstance(log, dict) else None
        if not isinstance(samples, list) or not isinstance(log.get("eval"), dict):
            raise InputError("the log holds no samples", where=where, todo="write it with its samples")
        for path, text in texts_in({key: value for key, value in log.items() if key not in _OF_LOG}):
            source.check_unread(path, text, where)
        for number, sample in enumerate(samples):
            yield log["eval"], f"{where} sample {number}", sample


def _archived(source: SourceFile) -> Iterator[tuple[dict[str, Any], str, Any]]:
    """The samples of an archive, one at a time."""
    try:
        with zipfile.ZipFile(source.path if source.whole is None else io.BytesIO(source.whole)) as archive:
            parts = archive.namelist()
            header = "header.json" if "header.json" in parts else "_journal/start.json"
            evaluation = _part(source, archive, header)
            if not isinstance(evaluation, dict) or not isinstance(evaluation.get("eval"), dict):
                raise InputError("the log doesn't say what was evaluated", where=source.name, todo=_SEE)
            for name in parts:
                if name.startswith("samples/") and name.endswith(".json"):
                    sample = source.attempt(_part, source, archive, name)
                    if sample is not None:
                        yield evaluation["eval"], f"{source.name} {name}", sample
    except BedsideError:
        raise
    except NotImplementedError as error:
        raise InputError(
            "the archive is damaged or packed in a way that this Python doesn't know",
            where=source.name,
            todo="copy it again, or convert it to JSON with: inspect log convert",
        ) from error
    # A damaged archive makes zipfile raise whatever its parts happen to raise.
    except Exception as error:
        raise InputError("the archive is damaged", where=source.name, todo="copy it again") from error


def _part(source: SourceFile, archive: zipfile.ZipFile, name: str) -> Any:
    where = f"{source.name} {name}"
    with archive.open(name) as file:
        data = file.read(MAX_RECORD + 1)
    if len(data) > MAX_RECORD:
        raise InputError(f"the part is larger than {MAX_RECORD // 2**20} MB", where=where, todo="remove it")
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InputError(f"not JSON ({error.msg})", where=where, todo="mend or remove it") from error


def _transcript(source: SourceFile, evaluation: dict[str, Any], sample: Any, where: str) -> Transcript:
    if not isinstance(sample, dict) or not isinstance(sample.get("messages"), list):
        what = "has no list called 'messages'" if isinstance(sample, dict) else f"is {json_kind(sample)}"
        raise InputError(f"the sample {what}", where=where, todo=_SEE)
    attached = sample.get("attachments")
    resolved = partial(_resolved, attached if isinstance(attached, dict) else {})
    factors: dict[str, Any] = {}
    reference: dict[str, Any] = {}
    metadata = sample.get("metadata")
    for key, value in (metadata if isinstance(metadata, dict) else {}).items():
        factor_or_reference(key, value, factors, reference)
    for key in ("target", "scores", "error", "choices", "store"):
        if sample.get(key):
            reference[key] = sample[key]
    if isinstance(evaluation.get("task"), str):
        factors["task"] = evaluation["task"]
    case, epoch = sample.get("id"), sample.get("epoch", 1)
    factors["epoch"] = epoch
    said = {key: resolved(sample[key]) for key in ("messages", "output") if sample.get(key)}
    talk = one_talk(source, {"messages": [], **said}, where)
    fields = {
        "id": f"{source.stem}/{case}/{epoch}",
        "system": evaluation.get("model"),
        "case_id": case,
        "factors": factors,
        "reference": reference,
    }
    transcript = talk.transcript(source.stem, fields)
    for key in ("events", "timelines"):
        if isinstance(sample.get(key), list):
            source.account.left_out["events that are no messages"] += len(sample[key])
    rest = {key: resolved(value) for key, value in sample.items() if key not in _APART}
    leave_rest(source, [rest], transcript, where)
    return transcript


def _resolved(attached: dict[str, Any], value: Any) -> Any:
    """A message's value with the long texts that the log keeps apart put back."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attached.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_resolved(attached, part) for part in value]
    if isinstance(value, dict):
        return {key: _resolved(attached, part) for key, part in value.items()}
    return value


READER = Reader(
    name="inspect_log",
    title="Inspect's evaluation logs (.eval, JSON)",
    description=(
        "Each sample of a log that Inspect (inspect_ai) wrote is a transcript: `user` is the patient, `assistant` the "
        "clinician. The id is the file's name, the sample's id and the epoch."
    ),
    example=(
        '{"version": 2, "status": "success", "eval": {"task": "sleep", "model": "A"}, "samples": [{"id": 1, '
        '"epoch": 1, "messages": [{"role": "user", "content": "I sleep badly."}, {"role": "assistant", "content": '
        '"Since when?"}]}]}\n'
    ),
    example_name="log.json",
    facts={
        "family": "logs",
        "known_by": "`eval` and `version`, or an archive (`.eval`)",
        "turns": "messages of a sample, and its output",
        "kept": "model as system, sample as case; task, epoch, metadata as factors; target, scores in the reference",
        "left": "events that are no messages; not counted: usage",
        "decided_by": "`--leave-out PATH`",
    },
    endings=(".eval", ".json"),
    claims=_claims,
    read=_read,
    priority=20,
)
