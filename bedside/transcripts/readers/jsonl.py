"""bedside's own format: one transcript a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any

from bedside.core.errors import InputError
from bedside.core.json_shape import json_kind
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.json_source import line_spans
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.transcript import Transcript, by_place
from bedside.transcripts.transcript_maker import TranscriptMaker, check_meta, stated_provenance

_KEYS = {"id", "system", "case_id", "language", "factors", "reference", "turns", "provenance"}
_TURN_KEYS = {"index", "role", "speaker", "text", "meta"}
_ROLE, _SPEAKER, _TEXT = itemgetter("role"), itemgetter("speaker"), itemgetter("text")
_SEE = "see bedside show jsonl"


def _claims(head: Head) -> Claim | None:
    return "transcripts" if isinstance(head.first, dict) and "turns" in head.first else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    return source.json_transcripts(transcript_of)


def transcript_of(source: TranscriptMaker, item: Any, where: str, name: str) -> Transcript:
    """The transcript that a JSON value holds; ``name`` is its id for want of another."""
    if not isinstance(item, dict):
        raise InputError(f"a transcript must be an object, not {json_kind(item)}", where=where, todo=_SEE)
    _check_keys(item, _KEYS, where)
    turns = item.get("turns")
    if not isinstance(turns, list):
        raise InputError("there is no list called 'turns'", where=where, todo=_SEE)
    for key in ("factors", "reference"):
        if not isinstance(item.get(key), dict | None):
            raise InputError(f"{key!r} must be an object, not {json_kind(item[key])}", where=where, todo=_SEE)
    speakers, texts, metas, named = _plain(turns) or _checked(turns, where)
    dialogue = source.turns(speakers, texts, where, metas, named)
    if item.get("provenance") is not None:
        stated = stated_provenance(item["provenance"], len(dialogue.turns), where)
        dialogue = replace(dialogue, provenance=by_place((*stated, *dialogue.provenance)))
    return source.transcript(
        dialogue,
        where,
        told_apart=True,
        id=item.get("id", name),
        **{key: item.get(key) for key in ("system", "case_id", "language", "factors", "reference")},
    )


def _plain(turns: list[Any]) -> tuple[Any, ...] | None:
    """Speakers, texts, nothing else, and roles of turns that have no more, as most; None of others."""
    try:
        named, texts, sizes = list(map(_ROLE, turns)), list(map(_TEXT, turns)), {*map(len, turns)}
        speakers = list(map(_SPEAKER, turns)) if sizes == {3} else named
    except (KeyError, TypeError):
        return None
    return (speakers, texts, None, named) if sizes in ({2}, {3}) else None


def _checked(turns: list[Any], where: str) -> tuple[Any, ...]:
    named, speakers, texts, metas = [], [], [], []
    for index, turn in enumerate(turns):
        place = f"{where}, turn {index}"
        if not isinstance(turn, dict):
            raise InputError(f"a turn must be an object, not {json_kind(turn)}", where=place, todo=_SEE)
        _check_keys(turn, _TURN_KEYS, place)
        if turn.get("index", index) != index:
            todo = "number turns from 0 in order, or leave 'index' out"
            raise InputError(f"the turn says it is number {turn['index']!r:.20}", where=place, todo=todo)
        # A line without a speaker's name is what many people write: the role serves as the name.
        role = turn.get("role", turn.get("speaker"))
        named.append(role)
        speakers.append(turn.get("speaker", role))
        texts.append(turn.get("text"))
        meta = turn.get("meta")
        metas.append({} if meta is None else check_meta(meta, place))
    return speakers, texts, metas, named


def _check_keys(item: dict[str, Any], keys: set[str], where: str) -> None:
    if not item.keys() <= keys:
        unknown = sorted(item.keys() - keys)
        raise InputError(f"unknown key {unknown[0]!r}", where=where, todo=f"known keys: {', '.join(sorted(keys))}")


READER = Reader(
    name="jsonl",
    title="bedside's JSON lines",
    description="One transcript a line; `bedside show transcript --schema` prints the JSON Schema.",
    example=(
        '{"id": "a-1", "system": "A", "case_id": "1", "factors": {"target_length": 20}, "turns": '
        '[{"role": "clinician", "text": "What brings you here?"}, {"role": "patient", "text": "I sleep badly."}]}\n'
    ),
    example_name="transcripts.jsonl",
    facts={
        "family": "own",
        "known_by": "`turns`, a list, in each object",
        "turns": "items of `turns`",
        "kept": "`id`, `system`, `case_id`, `language`, `factors`, `reference`, `provenance`; `meta` with its turn",
        "left": "nothing: an unknown key is an error",
        "decided_by": "`--roles NAME=ROLE`",
    },
    endings=(".jsonl", ".ndjson", ".json"),
    claims=_claims,
    read=_read,
    spans=line_spans,
    priority=50,
)
