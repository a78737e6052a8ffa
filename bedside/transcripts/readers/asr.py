"""JSON of speech recognisers: Whisper and WhisperX, Deepgram, AssemblyAI, AWS Transcribe, Google Speech-to-Text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from bedside.core.errors import InputError
from bedside.core.json_shape import json_kind
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.language import is_language_tag
from bedside.transcripts.message_lists import texts_in
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.timed_speech import NO_SPEAKER, Utterance, talk
from bedside.transcripts.transcript import Transcript

#: Speaker (None where the recogniser gives none), text, start and stop in seconds.
_Piece = tuple[Any, Any, Any, Any]
_SEE = "see bedside show asr"
#: Names of these, whichever recogniser gives them.
_WHO = ("speaker", "speakerLabel", "speakerTag", "speaker_label", "speaker_tag")
_SAID = ("punctuated_word", "word", "transcript", "text")
_STARTS = ("start", "startTime", "startOffset", "start_time")
_STOPS = ("end", "endTime", "endOffset", "end_time")


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _first(value: Any) -> dict[str, Any]:
    """The first object of a list; an empty one where there is none."""
    return next(iter(_objects(value)), {})


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _recogniser(item: Any) -> Callable[[dict[str, Any]], list[_Piece]] | None:
    """What finds the pieces of a JSON value, by whose form it has; None for a form that none has."""
    if not isinstance(item, dict):
        return None
    results, utterance = item.get("results"), _first(item.get("utterances")) or _first(item.get("words"))
    keys = _object(results).keys()
    forms = (
        (_deepgram, keys & {"channels", "utterances"} and not keys & {"items", "transcripts"}),
        (_aws, keys & {"transcripts", "audio_segments"}),
        (_google, "alternatives" in _first(results)),
        (_whisper, {"text", "start"} <= _first(item.get("segments")).keys()),
        (_assemblyai, {"text", "start", "end"} <= utterance.keys()),
    )
    return next((pieces for pieces, fits in forms if fits), None)


def _claims(head: Head) -> Claim | None:
    known = _recogniser(head.first) and not {"turns", "messages", "conversation"} & head.first.keys()
    return "transcripts" if known else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    return source.json_transcripts(_transcript)


def _transcript(source: SourceFile, item: Any, where: str, name: str) -> Transcript:
    recogniser = _recogniser(item)
    if recogniser is None:
        raise InputError(
            f"no speech recogniser that bedside knows writes this {json_kind(item)}", where=where, todo=_SEE
        )
    pieces = recogniser(item)
    _note_alternatives(source, item, where)
    if pieces and all(speaker is None for speaker, *_ in pieces):
        raise InputError(
            "the recording was recognised without telling its speakers apart",
            where=where,
            todo="recognise it again with speaker labels (diarisation), and give that file",
        )
    speech = []
    for number, (speaker, text, start, stop) in enumerate(pieces):
        place = f"{where}, part {number}"
        if not isinstance(text, str | None):
            raise InputError(f"the text is not text but {json_kind(text)}", where=place, todo=_SEE)
        if text and text.strip():
            who = NO_SPEAKER if speaker is None else str(speaker)
            said, begin = " ".join(text.split()), _second(start, place)
            speech.append(Utterance(who, said, place, begin, _second(stop, place)))
    if any(one.speaker == NO_SPEAKER for one in speech):
        source.account.remark(f"Where the recogniser names nobody, the speaker is called {NO_SPEAKER!r}.")
    # Texts of the whole recording, of channels and of paragraphs say again what the turns do.
    said_words = [word for one in speech for word in _words_of(one.text)]
    known, together = {*said_words}, "".join(said_words)
    for path, text in texts_in(item):
        words = _words_of(text)
        again = known.issuperset(words) or "".join(words) in together
        if not again and "alternatives" not in path.split("."):
            source.check_unread(path, text, where)
    return talk(source, speech, where, id=item.get("id") or name, language=_language(item))


def _words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _note_alternatives(source: SourceFile, value: Any, where: str) -> None:
    """Note what else the recogniser took speech for: of each list of alternatives all but the first."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        waiting += part.values() if isinstance(part, dict) else part
        for other in _objects(part.get("alternatives"))[1:] if isinstance(part, dict) else ():
            text = other.get("transcript", other.get("content"))
            if isinstance(text, str) and text.strip():
                source.account.note_unread("alternatives", text, where)
        waiting = [inner for inner in waiting if isinstance(inner, dict | list)]


def _second(value: Any, where: str) -> float | None:
    """A time in seconds: a number, or text such as 1.300s; None where there is none."""
    if value is None:
        return None
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}(\.\d{1,12})?s?", value):
        value = float(value.removesuffix("s"))
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise InputError(f"{value!r:.40} is no time", where=where, todo=_SEE)
    return round(float(value), 6)


def _language(item: dict[str, Any]) -> str | None:
    results = item.get("results")
    inner = _object(results) or _first(results)
    channel = _first(inner.get("channels"))
    values = (
        item.get("language"), item.get("language_code"), inner.get("language_code"), inner.get("languageCode"),
        channel.get("detected_language"),
    )  # fmt: skip
    tags = (value.replace("_", "-") for value in values if isinstance(value, str))
    return next(filter(is_language_tag, tags), None)


def _pieces(items: Any, scale: float = 1, channel: bool = False) -> list[_Piece]:
    """What is said in each of a list of segments or words, by the names that recognisers give its parts.

    Args:
        items: the list.
        scale: units of time in a second.
        channel: whether the channel tells who speaks where nothing else does.
    """

    def first(item: dict[str, Any], names: tuple[str, ...]) -> Any:
        return next((item[name] for name in names if item.get(name) not in (None, "")), None)

    def time(item: dict[str, Any], names: tuple[str, ...]) -> Any:
        value = first(item, names)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return value / scale if number else value

    who = (*_WHO, "channel") if channel else _WHO
    return [(first(item, who), first(item, _SAID), time(item, _STARTS), time(item, _STOPS)) for item in _objects(items)]


def _whisper(item: dict[str, Any]) -> list[_Piece]:
    pieces: list[_Piece] = []
    for segment in _objects(item.get("segments")):
        words = _objects(segment.get("words"))
        if segment.get("speaker") is not None or all(word.get("speaker") is None for word in words):
            pieces += _pieces([segment])
            continue
        # What WhisperX can't align, such as numbers, has no times and gets those of the word before.
        last = segment.get("start")
        for speaker, text, start, stop in _pieces(words):
            start, stop = last if start is None else start, last if stop is None else stop
            pieces.append((speaker, text, start, stop))
            last = stop
    return pieces


def _deepgram(item: dict[str, Any]) -> list[_Piece]:
    results = item["results"]
    parts: list[tuple[Any, Any]] = [(part.get("channel"), [part]) for part in _objects(results.get("utterances"))] or [
        (number, _first(channel.get("alternatives")).get("words"))
        for number, channel in enumerate(_objects(results.get("channels")))
    ]
    several = len({str(channel) for channel, _ in parts}) > 1
    pieces = [(channel, piece) for channel, words in parts for piece in _pieces(words)]
    if not several:
        return [piece for _, piece in pieces]
    # Where the recording has a channel for each, who speaks is told by the channel too.
    return [
        (f"channel {channel}" + ("" if who is None else f" speaker {who}"), *rest) for channel, (who, *rest) in pieces
    ]


def _assemblyai(item: dict[str, Any]) -> list[_Piece]:
    return _pieces(_objects(item.get("utterances")) or item.get("words"), 1000, channel=True)


def _aws(item: dict[str, Any]) -> list[_Piece]:
    results = item["results"]
    segments = _objects(results.get("audio_segments"))
    if any("speaker_label" in segment for segment in segments):
        return _pieces(segments)
    # Older results: words alone, of which the labels stand in a list of their own.
    labels = {
        word.get("start_time"): word.get("speaker_label", segment.get("speaker_label"))
        for segment in _objects(_object(results.get("speaker_labels")).get("segments"))
        for word in _objects(segment.get("items"))
    }
    pieces: list[_Piece] = []
    for word in _objects(results.get("items")):
        content = _first(word.get("alternatives")).get("content")
        if word.get("type") == "punctuation":
            if pieces and isinstance(content, str) and isinstance(pieces[-1][1], str):
                speaker, text, start, stop = pieces[-1]
                pieces[-1] = (speaker, text + content, start, stop)
            continue
        start = word.get("start_time")
        speaker = word.get("speaker_label", labels.get(start) if isinstance(start, str) else None)
        pieces.append((speaker, content, start, word.get("end_time")))
    return pieces


def _google(item: dict[str, Any]) -> list[_Piece]:
    results = [(result, _first(result.get("alternatives"))) for result in _objects(item["results"])]
    # A speaker's tag of 0 says that none was given.
    words = [
        [(None if speaker == 0 else speaker, *rest) for speaker, *rest in _pieces(best.get("words"))]
        for _, best in results
    ]
    told = [any(piece[0] is not None for piece in of_result) for of_result in words]
    if words and told[-1] and not any(told[:-1]):
        return words[-1]  # The last result repeats all words, with their speakers.
    pieces: list[_Piece] = []
    for (result, best), of_result in zip(results, words, strict=True):
        pieces += of_result or [(None, best.get("transcript"), None, result.get("resultEndTime"))]
    return pieces


READER = Reader(
    name="asr",
    title="JSON of speech recognisers (Whisper, WhisperX, Deepgram, AssemblyAI, AWS, Google)",
    description=(
        "One recording a file, with speakers told apart (diarised): the `segments` of WhisperX, `results` of "
        "Deepgram, AWS Transcribe and Google Speech-to-Text, `utterances` of AssemblyAI; where only words have "
        "speakers, the words of one are joined. What one speaker says before another begins is one turn, with "
        "`start` and `stop` in its `meta`, in seconds. Names such as `SPEAKER_00`, `0` or `A` say no role: "
        "`--roles` does. A file without speakers is an error. Confidence and the words' own times are left out, and "
        "alternatives, which are counted."
    ),
    example=(
        '{"segments": [{"start": 0.5, "end": 2.0, "text": " What brings you here?", "speaker": "Doctor"}, '
        '{"start": 2.5, "end": 4.0, "text": " I sleep badly.", "speaker": "Patient"}], "language": "en"}\n'
    ),
    example_name="recording.json",
    facts={
        "family": "recordings",
        "known_by": "a recogniser's `segments`, `utterances`, `words` or `results`",
        "turns": "what one speaker says, until another does",
        "kept": "`start` and `stop`; the language",
        "left": "alternatives, texts beside; not counted: confidence, times of words",
        "decided_by": "`--roles SPEAKER_00=ROLE`, `--leave-out PATH`",
    },
    endings=(".json", ".jsonl"),
    claims=_claims,
    read=_read,
    priority=30,
)
