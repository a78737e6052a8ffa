"""Transcripts as a ConvoKit corpus, and back.

How a transcript lies in a corpus:

- a conversation has the transcript's id; its meta holds ``system``, ``case_id``, ``language``, ``factors``,
  ``reference``, ``source`` and, where there is some, ``provenance``; and ``bedside``, which says that the rest is laid
  out so;
- an utterance is a turn: its id is ``<transcript>#<index>``, it replies to the turn before, its timestamp is its
  index, its meta is the turn's;
- a speaker belongs to one conversation, for a "therapist" is somebody else in every transcript; the meta holds
  ``role`` and ``name``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.support.errors import DataError, InputError
from bedside.transcripts.convokit_conversation import (
    LAYOUT,
    MARK,
    META_PREFIX,
    PROVENANCE_KEY,
    RATINGS_KEY,
    REASONS_KEY,
    STORED_FIELDS,
    in_order,
    is_ours,
    transcript_of,
    turn_meta,
)
from bedside.transcripts.convokit_library import import_convokit, no_configuration_written
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.transcript import ROLES, Role, Transcript, Turn, provenance_data
from bedside.transcripts.transcript_fields import described
from bedside.transcripts.transcript_maker import TranscriptMaker, stated_provenance

if TYPE_CHECKING:
    from convokit import Corpus


def to_convokit(transcripts: Iterable[Transcript]) -> Corpus:
    """A ConvoKit corpus in memory that holds everything the transcripts do.

    :func:`from_convokit` gives the same transcripts back, and a folder that ``corpus.dump`` writes is read by
    :func:`bedside.read_transcripts`. Nothing is written in the home folder.

    Args:
        transcripts: with ids that differ.

    Raises:
        MissingExtraError: ConvoKit is not installed.
        DataError: there is none, or two have one id.
    """
    convokit = import_convokit()
    utterances: list[Any] = []
    meta_of: dict[str, dict[str, Any]] = {}
    empty: list[list[Any]] = []
    speaker_ids: set[str] = set()
    for position, transcript in enumerate(transcripts):
        if transcript.id in meta_of:
            raise DataError(
                f"two transcripts have the id {transcript.id!r}", where=transcript.source or None,
                todo="give each its own",
            )  # fmt: skip
        meta_of[transcript.id] = _conversation_meta(transcript)
        if not transcript.turns:
            # A conversation of ConvoKit is made of its utterances: without any there is none.
            empty.append([position, transcript.id, meta_of[transcript.id]])
        speakers: dict[tuple[Role, str], Any] = {}
        previous = None
        for turn in transcript.turns:
            party = (turn.role, turn.speaker)
            if party not in speakers:
                meta = {"role": turn.role, "name": turn.speaker}
                speakers[party] = convokit.Speaker(
                    id=_unused_name(f"{transcript.id}/{turn.speaker}", speaker_ids), meta=meta
                )
            utterance = convokit.Utterance(
                id=f"{transcript.id}#{turn.index}", speaker=speakers[party], conversation_id=transcript.id,
                reply_to=previous, timestamp=turn.index, text=turn.text, meta=_stored_meta(turn.meta),
            )  # fmt: skip
            utterances.append(utterance)
            previous = utterance.id
    if not meta_of:
        raise DataError("there is no transcript to make a corpus of", todo="give at least one")
    with no_configuration_written():
        corpus = convokit.Corpus(utterances=utterances, backend="mem")
    for conversation in corpus.iter_conversations():
        conversation.meta.update(meta_of[conversation.id])
    corpus.meta[MARK] = {"layout": LAYOUT, "empty": empty}
    return corpus


def from_convokit(corpus: Corpus, options: ReadOptions | None = None) -> Iterator[Transcript]:
    """The transcripts of a ConvoKit corpus.

    Those that :func:`to_convokit` made come back as they were, with what was added to the meta of utterances
    since in the turns' meta, and what was added to that of conversations among factors and reference. Any other
    corpus is understood as the reader ``convokit`` understands a folder: see ``bedside readers show convokit``.

    Args:
        corpus: the corpus; it is not changed.
        options: of which ``roles`` says who a speaker is, for corpora made elsewhere.

    Raises:
        BedsideError: a conversation that is no transcript: an unknown speaker, an empty text.
    """
    if not hasattr(corpus, "iter_conversations"):
        raise InputError(f"{type(corpus).__name__} is not a ConvoKit corpus", todo="give a convokit.Corpus")
    maker = TranscriptMaker(
        Path("corpus"), "", options=options or ReadOptions(), skipped=[], bare_path="corpus"
    )
    speakers = {speaker.id: speaker.meta.to_dict() for speaker in corpus.iter_speakers()}
    empty: list[list[Any]] = list((corpus.meta.to_dict().get(MARK) or {}).get("empty", ()))
    position = 0
    for conversation in corpus.iter_conversations():
        while empty and empty[0][0] == position:
            _, name, meta = empty.pop(0)
            yield _restored(name, meta, [], {})
            position += 1
        position += 1
        meta = copy.deepcopy(conversation.meta.to_dict())
        placed = [
            (f"corpus, utterance {utterance.id!r}", _as_dumped(utterance))
            for utterance in conversation.iter_utterances()
        ]
        if is_ours(meta):
            yield _restored(conversation.id, meta, [utterance for _, utterance in in_order(placed)], speakers)
        else:
            yield transcript_of(maker, conversation.id, placed, {conversation.id: meta}, speakers)
    for _, name, meta in empty:
        yield _restored(name, meta, [], {})


def _conversation_meta(transcript: Transcript) -> dict[str, Any]:
    fields = {name: getattr(transcript, name) for name in STORED_FIELDS}
    kept = {
        **fields,
        "factors": dict(transcript.factors),
        "reference": dict(transcript.reference),
        MARK: LAYOUT,
    }
    if transcript.provenance:
        kept[PROVENANCE_KEY] = list(map(provenance_data, transcript.provenance))
    return copy.deepcopy(kept)


def _stored_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    taken = ("ai_meta", RATINGS_KEY, REASONS_KEY)
    stored = {key: META_PREFIX + key if key in taken or key.startswith(META_PREFIX) else key for key in meta}
    return {stored[key]: copy.deepcopy(value) for key, value in meta.items()}


def _unused_name(name: str, used: set[str]) -> str:
    """``name``, with apostrophes where it is used already."""
    while name in used:
        name += "'"
    used.add(name)
    return name


def _as_dumped(utterance: Any) -> dict[str, Any]:
    """An utterance as it stands in a dumped corpus."""
    return {
        "id": utterance.id,
        "speaker": utterance.speaker.id,
        "text": utterance.text,
        "timestamp": utterance.timestamp,
        "meta": copy.deepcopy(utterance.meta.to_dict()),
    }


def _restored(
    name: str,
    meta: Mapping[str, Any],
    utterances: Iterable[Mapping[str, Any]],
    speakers: Mapping[str, Mapping[str, Any]],
) -> Transcript:
    """The transcript of a conversation that :func:`to_convokit` made."""
    turns = []
    for index, utterance in enumerate(utterances):
        speaker = speakers[utterance["speaker"]]
        if speaker.get("role") not in ROLES or not isinstance(speaker.get("name"), str):
            raise InputError(
                f"speaker {utterance['speaker']!r} has no role and name in the meta",
                where=f"conversation {name!r}",
                todo="set meta['role'] to clinician, patient or other, and meta['name']",
            )
        turns.append(
            Turn(index, speaker["role"], speaker["name"], utterance["text"], turn_meta(utterance["meta"]))
        )
    ours = (*STORED_FIELDS, MARK, PROVENANCE_KEY, RATINGS_KEY, REASONS_KEY)
    added = described({key: value for key, value in meta.items() if key not in ours}, ())
    fields = {key: meta[key] for key in STORED_FIELDS}
    for key in ("factors", "reference"):
        fields[key] = {**meta[key], **added[key]}
    stated = stated_provenance(meta.get(PROVENANCE_KEY, []), len(turns), f"conversation {name!r}")
    return Transcript(id=name, turns=tuple(turns), provenance=tuple(stated), **fields)
