"""A conversation of a ConvoKit corpus as a transcript: how bedside lays one out, and how others do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedside.transcripts.transcript import Dialogue, Transcript, by_place, role_of
from bedside.transcripts.transcript_fields import described
from bedside.transcripts.transcript_maker import TranscriptMaker, check_nesting, stated_provenance

#: Key of a conversation's (and a corpus') meta that marks the layout, with its version.
MARK = "bedside"


LAYOUT = 1


#: Keys of a turn's meta that ConvoKit takes for its own get this prefix, and those that have it get it once more.
META_PREFIX = "bedside:"


#: Keys of meta under which ratings stand, and what raters wrote: they are about a transcript, and no part of it.
RATINGS_KEY, REASONS_KEY = "bedside_ratings", "bedside_reasons"

#: Key of a conversation's meta that holds what is no turn, where there is some.
PROVENANCE_KEY = "provenance"


STORED_FIELDS = ("system", "case_id", "language", "factors", "reference", "source")


def is_ours(conversation_meta: Mapping[str, Any] | None) -> bool:
    """Whether a conversation's meta says that :func:`to_convokit` made it."""
    return isinstance(conversation_meta, Mapping) and conversation_meta.get(MARK) == LAYOUT


def in_order(placed: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """Places and utterances by time where all have a numeric ``timestamp``, else as they are."""
    times = [utterance.get("timestamp") for _, utterance in placed]
    if all(isinstance(time, int | float) and not isinstance(time, bool) for time in times):
        return sorted(placed, key=lambda place_and_utterance: place_and_utterance[1]["timestamp"])
    return placed


def turn_meta(stored: Mapping[str, Any] | None) -> dict[str, Any]:
    """A turn's meta from the meta of the utterance it was stored as."""
    return {
        key.removeprefix(META_PREFIX): value
        for key, value in (stored or {}).items()
        if key not in (RATINGS_KEY, REASONS_KEY)
    }


#: Keys of a speaker's meta that may say who the speaker is.
ROLE_KEYS = ("role", "type", "speaker_type", "interlocutor")


def transcript_of(
    maker: TranscriptMaker,
    name: str,
    group: list[tuple[str, dict[str, Any]]],
    conversations: Mapping[str, Any],
    speakers: Mapping[str, Any],
) -> Transcript:
    """A transcript of the placed utterances of one conversation, with what is known of conversations and speakers."""
    group = in_order(group)
    conversation_meta = conversations.get(name)
    ours = is_ours(conversation_meta)
    names, named, metas = [], [], []
    for where, utterance in group:
        speaker = utterance.get("speaker", utterance.get("user"))
        who = speakers.get(speaker) if ours and isinstance(speaker, str) else None
        if isinstance(who, dict):
            names.append(who.get("name"))
            named.append(who.get("role"))
            meta = turn_meta(utterance.get("meta"))
        else:
            names.append(speaker)
            named.append(_telling_name(maker, speaker, speakers))
            meta = dict(utterance.get("meta") or {})
            if utterance.get("timestamp") is not None:
                meta.setdefault("time", utterance["timestamp"])
            if utterance.get("id") is not None:
                meta.setdefault("utterance_id", utterance["id"])
        check_nesting(meta, where)
        metas.append(meta)
    fields = (
        described(
            conversation_meta, (MARK, "source", PROVENANCE_KEY, RATINGS_KEY, REASONS_KEY) if ours else ()
        )
        if isinstance(conversation_meta, dict)
        else {}
    )
    dialogue = maker.turns(
        names,
        [utterance.get("text") for _, utterance in group],
        [place for place, _ in group],
        metas,
        named,
    )
    where = group[0][0]
    if ours and isinstance(conversation_meta, dict) and conversation_meta.get(PROVENANCE_KEY):
        stated = stated_provenance(conversation_meta[PROVENANCE_KEY], len(dialogue.turns), where)
        dialogue = Dialogue(dialogue.turns, by_place((*stated, *dialogue.provenance)))
    return maker.transcript(dialogue, where, told_apart=ours, **{**fields, "id": name})


def _telling_name(maker: TranscriptMaker, speaker: Any, speakers: Mapping[str, Any]) -> Any:
    """What tells a speaker's role: the name as the user maps it or as it is known, else what the corpus says."""
    if isinstance(speaker, str) and role_of(speaker, maker.options.roles) is None:
        meta = speakers.get(speaker)
        if isinstance(meta, dict):
            for key in ROLE_KEYS:
                if isinstance(meta.get(key), str) and role_of(meta[key], maker.options.roles):
                    return meta[key]
    return speaker
