"""ConvoKit: its library, imported without its traces, and transcripts as its corpora and back.

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
import importlib
import random
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.core.errors import DataError, InputError, MissingExtraError
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.transcript import ROLES, Role, Transcript, Turn, by_place, provenance_data, role_of
from bedside.transcripts.transcript_fields import described
from bedside.transcripts.transcript_maker import TranscriptMaker, check_nesting, stated_provenance

if TYPE_CHECKING:
    from convokit import Corpus

#: Keys of meta under which ratings stand, and what raters wrote: they are about a transcript, and no part of it.
RATINGS_KEY, REASONS_KEY = "bedside_ratings", "bedside_reasons"
#: Keys of a speaker's meta that may say who the speaker is.
ROLE_KEYS = ("role", "type", "speaker_type", "interlocutor")
#: Keys of an utterance that have a place of their own, in corpora of all ages; any other is kept with its turn.
_KEYS = frozenset(
    ("id", "conversation_id", "root", "text", "speaker", "user", "meta", "reply-to", "reply_to", "timestamp",
     "vectors")
)  # fmt: skip

#: Key of a conversation's (and a corpus') meta that marks the layout, and its version.
_MARK, _LAYOUT = "bedside", 1
#: Keys of a turn's meta that ConvoKit takes for its own get this prefix, and those that have it get it once more.
_PREFIX = "bedside:"
_FIELDS = ("system", "case_id", "language", "factors", "reference", "source")
#: What else the meta of a conversation holds that is neither factor nor reference.
_PROVENANCE = "provenance"
_BESIDE = (_MARK, _PROVENANCE, RATINGS_KEY, REASONS_KEY)

_LOCK = threading.Lock()


def import_convokit(module: str = "convokit") -> Any:
    """A module of ConvoKit; the global random state stays what it was, for some of them seed it when imported.

    Raises:
        MissingExtraError: ConvoKit is not installed.
    """
    state = random.getstate()
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError("ConvoKit is not installed", todo='pip install "bedside[convokit]"') from error
    finally:
        random.setstate(state)


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
    metas: dict[str, dict[str, Any]] = {}
    empty: list[list[Any]] = []
    speaker_ids: set[str] = set()
    for position, transcript in enumerate(transcripts):
        if transcript.id in metas:
            raise DataError(
                f"two transcripts have the id {transcript.id!r}", where=transcript.source or None,
                todo="give each its own",
            )  # fmt: skip
        meta = {_MARK: _LAYOUT, **{name: getattr(transcript, name) for name in _FIELDS}}
        if transcript.provenance:
            meta[_PROVENANCE] = list(map(provenance_data, transcript.provenance))
        metas[transcript.id] = copy.deepcopy(meta)
        if not transcript.turns:
            # A conversation of ConvoKit is made of its utterances: without any there is none.
            empty.append([position, transcript.id, metas[transcript.id]])
        speakers: dict[tuple[Role, str], Any] = {}
        previous = None
        for turn in transcript.turns:
            party = (turn.role, turn.speaker)
            if party not in speakers:
                speaker_id = f"{transcript.id}/{turn.speaker}"
                while speaker_id in speaker_ids:
                    speaker_id += "'"
                speaker_ids.add(speaker_id)
                speakers[party] = convokit.Speaker(id=speaker_id, meta={"role": turn.role, "name": turn.speaker})
            utterance = convokit.Utterance(
                id=f"{transcript.id}#{turn.index}", speaker=speakers[party], conversation_id=transcript.id,
                reply_to=previous, timestamp=turn.index, text=turn.text, meta=_stored_meta(turn.meta),
            )  # fmt: skip
            utterances.append(utterance)
            previous = utterance.id
    if not metas:
        raise DataError("there is no transcript to make a corpus of", todo="give at least one")
    corpus = _corpus_of(utterances)
    for conversation in corpus.iter_conversations():
        conversation.meta.update(metas[conversation.id])
    corpus.meta[_MARK] = {"layout": _LAYOUT, "empty": empty}
    return corpus


def _stored_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    taken = ("ai_meta", RATINGS_KEY, REASONS_KEY)
    return {
        (_PREFIX if key in taken or key.startswith(_PREFIX) else "") + key: copy.deepcopy(value)
        for key, value in meta.items()
    }


def _turn_meta(stored: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        key.removeprefix(_PREFIX): value
        for key, value in (stored or {}).items()
        if key not in (RATINGS_KEY, REASONS_KEY)
    }


def _corpus_of(utterances: list[Any]) -> Any:
    """A corpus in memory. Where the home folder has no configuration, none is written there."""
    settings = import_convokit("convokit.convokitConfig").ConvoKitConfig
    module = import_convokit("convokit.model.corpus")
    with _LOCK:
        if not Path("~/.convokit/config.yml").expanduser().is_file():
            # Without contents, each of its settings is the default.
            configuration = settings.__new__(settings)
            configuration.config_contents = {}
            module.ConvoKitConfig = lambda: configuration
        try:
            return module.Corpus(utterances=utterances, backend="mem")
        finally:
            module.ConvoKitConfig = settings


def from_convokit(corpus: Corpus, options: ReadOptions | None = None) -> Iterator[Transcript]:
    """The transcripts of a ConvoKit corpus.

    Those that :func:`to_convokit` made come back as they were, with what was added to the meta of utterances
    since in the turns' meta, and what was added to that of conversations among factors and reference. Any other
    corpus is understood as the reader ``convokit`` understands a folder: see ``bedside show convokit``.

    Args:
        corpus: the corpus; it is not changed.
        options: of which ``roles`` says who a speaker is, for corpora made elsewhere.

    Raises:
        BedsideError: a conversation that is no transcript: an unknown speaker, an empty text.
    """
    if not hasattr(corpus, "iter_conversations"):
        raise InputError(f"{type(corpus).__name__} is not a ConvoKit corpus", todo="give a convokit.Corpus")
    maker = TranscriptMaker(Path("corpus"), "", options=options or ReadOptions(), skipped=[], bare_path="corpus")
    speakers = {speaker.id: speaker.meta.to_dict() for speaker in corpus.iter_speakers()}
    talks = [(talk.id, talk.meta.to_dict(), talk.get_utterance_ids()) for talk in corpus.iter_conversations()]
    for position, name, meta in (corpus.meta.to_dict().get(_MARK) or {}).get("empty", ()):
        talks.insert(position, (name, meta, []))
    for name, meta, utterance_ids in talks:
        # As they stand in a dumped corpus.
        group = [
            (
                f"corpus, utterance {utterance.id!r}",
                {
                    "id": utterance.id,
                    "speaker": utterance.speaker.id,
                    "text": utterance.text,
                    "timestamp": utterance.timestamp,
                    "meta": copy.deepcopy(utterance.meta.to_dict()),
                },
            )
            for utterance in map(corpus.get_utterance, utterance_ids)
        ]
        meta = copy.deepcopy(meta)
        if meta.get(_MARK) == _LAYOUT:
            yield _restored(name, meta, [utterance for _, utterance in _in_order(group)], speakers)
        else:
            yield transcript_of(maker, name, group, {name: meta}, speakers)


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
        turns.append(Turn(index, speaker["role"], speaker["name"], utterance["text"], _turn_meta(utterance["meta"])))
    added = described({key: value for key, value in meta.items() if key not in (*_FIELDS, *_BESIDE)}, ())
    fields = {key: meta[key] for key in _FIELDS}
    fields |= {key: {**meta[key], **added[key]} for key in ("factors", "reference")}
    stated = stated_provenance(meta.get(_PROVENANCE, []), len(turns), f"conversation {name!r}")
    return Transcript(id=name, turns=tuple(turns), provenance=tuple(stated), **fields)


def _in_order(placed: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """Places and utterances by time where all have a numeric ``timestamp``, else as they are."""
    times = [utterance.get("timestamp") for _, utterance in placed]
    if all(isinstance(time, int | float) and not isinstance(time, bool) for time in times):
        return sorted(placed, key=lambda place_and_utterance: place_and_utterance[1]["timestamp"])
    return placed


def transcript_of(
    maker: TranscriptMaker,
    name: str,
    group: list[tuple[str, dict[str, Any]]],
    conversations: Mapping[str, Any],
    speakers: Mapping[str, Any],
) -> Transcript:
    """A transcript of the placed utterances of one conversation, with what is known of conversations and speakers."""
    group = _in_order(group)
    meta = conversations.get(name)
    meta = meta if isinstance(meta, dict) else {}
    ours = meta.get(_MARK) == _LAYOUT
    names: list[Any] = []
    named: list[Any] = []
    metas: list[dict[str, Any]] = []
    for where, utterance in group:
        speaker = utterance.get("speaker", utterance.get("user"))
        who = speakers.get(speaker) if ours and isinstance(speaker, str) else None
        if isinstance(who, dict):
            names.append(who.get("name"))
            named.append(who.get("role"))
            kept = _turn_meta(utterance.get("meta"))
        else:
            names.append(speaker)
            named.append(_telling_name(maker, speaker, speakers))
            beside = {key: value for key, value in utterance.items() if key not in _KEYS}
            beside |= {"time": utterance.get("timestamp"), "utterance_id": utterance.get("id")}
            kept = dict(utterance.get("meta") or {})
            kept |= {key: value for key, value in beside.items() if value is not None and key not in kept}
        check_nesting(kept, where)
        metas.append(kept)
    dialogue = maker.turns(
        names, [utterance.get("text") for _, utterance in group], [place for place, _ in group], metas, named
    )
    where = group[0][0]
    if ours and meta.get(_PROVENANCE):
        stated = stated_provenance(meta[_PROVENANCE], len(dialogue.turns), where)
        dialogue = replace(dialogue, provenance=by_place((*stated, *dialogue.provenance)))
    fields = described(meta, (*_BESIDE, "source") if ours else ())
    known = {
        speaker: rest
        for speaker in ([] if ours else names)
        if isinstance(who := speakers.get(speaker), dict)
        and (rest := {key: value for key, value in who.items() if key not in ROLE_KEYS})
    }
    if known:
        fields["reference"] = {"speakers": known, **fields["reference"]}
    return maker.transcript(dialogue, where, told_apart=ours, **{**fields, "id": name})


def _telling_name(maker: TranscriptMaker, speaker: Any, speakers: Mapping[str, Any]) -> Any:
    """What tells a speaker's role: the name as the user maps it or as it is known, else what the corpus says."""
    roles = maker.options.roles
    meta = speakers.get(speaker) if isinstance(speaker, str) and role_of(speaker, roles) is None else None
    told = [meta.get(key) for key in ROLE_KEYS] if isinstance(meta, dict) else []
    return next((name for name in told if isinstance(name, str) and role_of(name, roles)), speaker)
