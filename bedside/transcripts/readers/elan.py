"""ELAN's annotation files (``.eaf``): a tier for each speaker."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from bedside.support.errors import InputError
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.speaker_tiers import CHOOSE, chosen_tiers
from bedside.transcripts.timed_speech import SpeechStretch, speech_turns
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.whole_text import whole_bytes

#: Longest chain of annotations that depend on one another.
_DEEPEST = 20
#: Most tiers of a file.
MAX_TIERS = 10_000
_ROOT = re.compile(r"(?:\s++|<\?[^>]*\?>|<!--.*?-->)*+<ANNOTATION_DOCUMENT[\s>]", re.DOTALL)


@dataclass(slots=True)
class _Annotation:
    line: int
    start: float | None
    stop: float | None
    parent: str
    text: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _EafTier:
    name: str
    participant: str
    depends: bool
    annotations: list[_Annotation] = field(default_factory=list)
    place: str = ""

    def texts(self) -> Iterator[tuple[str, str]]:
        for annotation in self.annotations:
            text = " ".join("".join(annotation.text).split())
            if text:
                yield text, f"{self.place}:{annotation.line}"


def _claims(head: Head) -> Claim | None:
    return "transcripts" if _ROOT.match(head.text) else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    transcript = source.attempt(_transcript, source)
    if transcript is not None:
        yield transcript


class _Document:
    """What a file's tiers hold, gathered as its elements are met: no tree of them is built."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self.times: dict[str, float] = {}
        self.tiers: list[_EafTier] = []
        self._annotations: dict[str, _Annotation] = {}
        self._value: list[str] | None = None
        self._parser = expat.ParserCreate("utf-8")  # as which the file is given, whatever it says
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        # Entities are declared in a document type, of which ELAN writes none.
        self._parser.StartDoctypeDeclHandler = self._refuse

    def read(self, data: bytes) -> None:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            raise InputError(
                f"not XML ({expat.ErrorString(error.code)})",
                where=f"{self._source.name}:{error.lineno}",
                todo="save it again in ELAN",
            ) from error

    def span(self, annotation: _Annotation) -> tuple[float | None, float | None]:
        """When an annotation begins and ends: as it says, or as that does which it depends on."""
        for _ in range(_DEEPEST):
            parent = self._annotations.get(annotation.parent)
            if annotation.start is not None or parent is None:
                break
            annotation = parent
        return annotation.start, annotation.stop

    def where(self) -> str:
        return f"{self._source.name}:{self._parser.CurrentLineNumber}"

    def _refuse(self, *_: object) -> None:
        raise InputError(
            "the file declares a document type, which ELAN's files have none of",
            where=self.where(),
            todo="remove it",
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "TIME_SLOT":
            value = attributes.get("TIME_VALUE", "")
            # A slot between two others may have no time of its own.
            if value.isascii() and value.isdigit() and len(value) < 13:
                self.times[attributes.get("TIME_SLOT_ID", "")] = int(value) / 1000
        elif name == "TIER":
            if len(self.tiers) == MAX_TIERS:
                raise InputError(
                    f"the file has more than {MAX_TIERS:,} tiers", where=self.where(), todo="split it"
                )
            tier = attributes.get("TIER_ID", "").strip()
            who = attributes.get("PARTICIPANT", "").strip() or tier
            self.tiers.append(_EafTier(tier, who, "PARENT_REF" in attributes, place=self._source.name))
        elif name in ("ALIGNABLE_ANNOTATION", "REF_ANNOTATION"):
            if not self.tiers:
                raise InputError(
                    "an annotation stands outside a tier", where=self.where(), todo="save it again in ELAN"
                )
            annotation = _Annotation(
                self._parser.CurrentLineNumber,
                self.times.get(attributes.get("TIME_SLOT_REF1", "")),
                self.times.get(attributes.get("TIME_SLOT_REF2", "")),
                attributes.get("ANNOTATION_REF", ""),
            )
            self.tiers[-1].annotations.append(annotation)
            self._annotations[attributes.get("ANNOTATION_ID", "")] = annotation
        elif name == "ANNOTATION_VALUE" and self.tiers and self.tiers[-1].annotations:
            self._value = self.tiers[-1].annotations[-1].text

    def _end(self, name: str) -> None:
        if name == "ANNOTATION_VALUE":
            self._value = None

    def _text(self, text: str) -> None:
        if self._value is not None:
            self._value.append(text)


def _transcript(source: SourceFile) -> Transcript:
    document = _Document(source)
    document.read(whole_bytes(source))
    chosen = [(tier, role) for tier, role in chosen_tiers(source, document.tiers) if tier.annotations]
    depending = [tier for tier, _ in chosen if tier.depends and not source.options.columns]
    chosen = [(tier, role) for tier, role in chosen if source.options.columns or not tier.depends]
    _check_one_tier_each(source, [tier for tier, _ in chosen])
    for tier in depending:
        for text, place in tier.texts():
            source.check_unread(tier.name, text, place, instead="choose the tiers with `columns`")
    speeches = []
    for tier, role in chosen:
        for annotation in tier.annotations:
            text = " ".join("".join(annotation.text).split())
            if not text:
                source.account.left_out["empty annotations"] += 1
                continue
            where = f"{source.name}:{annotation.line}"
            start, stop = document.span(annotation)
            if start is None:
                raise InputError(
                    "the annotation has no time at which it begins",
                    where=where,
                    todo="align it in ELAN: only then is its place among the turns known",
                )
            speeches.append(SpeechStretch(tier.participant, text, where, start, stop, role))
    return source.transcript(speech_turns(source, speeches), source.name)


def _check_one_tier_each(source: SourceFile, tiers: list[_EafTier]) -> None:
    """An error where a participant has several tiers: nothing tells which of them holds the words."""
    number = Counter(tier.participant for tier in tiers)
    for who, times in number.items():
        if times > 1:
            names = ", ".join(repr(tier.name) for tier in tiers if tier.participant == who)
            raise InputError(
                f"the participant {who!r} has {times} tiers that may hold the words: {names:.200}",
                where=source.name,
                todo=CHOOSE,
            )


READER = Reader(
    name="elan",
    title="ELAN annotations, a tier for each speaker (.eaf)",
    description=(
        "One transcript a file. Who speaks is a tier's `PARTICIPANT`, or its name where it has none; of each "
        "speaker one tier that depends on no other holds the words. Turns stand in order of their start, also "
        "where speech overlaps; annotations of one speaker that follow one another are one turn, with `start` "
        "and `stop` in its `meta`, in seconds. Left out and counted: tiers that depend on others (glosses, "
        "codes), where what may have been said stops the reading, and empty annotations. "
        "`--columns clinician=TIER,patient=TIER` chooses tiers by their names and says whose they are, "
        "`--columns text=PATTERN` chooses them alone."
    ),
    example=(
        '<?xml version="1.0" encoding="UTF-8"?>\n<ANNOTATION_DOCUMENT AUTHOR="" '
        'DATE="2024-05-12T10:00:00+00:00" FORMAT="3.0" VERSION="3.0">\n<HEADER MEDIA_FILE="" '
        'TIME_UNITS="milliseconds"/>\n<TIME_ORDER>\n<TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="0"/>\n<TIME_SLOT '
        'TIME_SLOT_ID="ts2" TIME_VALUE="2000"/>\n<TIME_SLOT TIME_SLOT_ID="ts3" '
        'TIME_VALUE="4000"/>\n</TIME_ORDER>\n<TIER LINGUISTIC_TYPE_REF="speech" PARTICIPANT="Doctor" '
        'TIER_ID="D">\n<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="ts1" '
        'TIME_SLOT_REF2="ts2"><ANNOTATION_VALUE>What brings you '
        "here?</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>\n</TIER>\n<TIER "
        'LINGUISTIC_TYPE_REF="speech" PARTICIPANT="Patient" TIER_ID="P">\n<ANNOTATION><ALIGNABLE_ANNOTATION '
        'ANNOTATION_ID="a2" TIME_SLOT_REF1="ts2" TIME_SLOT_REF2="ts3"><ANNOTATION_VALUE>I sleep '
        "badly.</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>\n</TIER>\n<LINGUISTIC_TYPE "
        'LINGUISTIC_TYPE_ID="speech" TIME_ALIGNABLE="true"/>\n</ANNOTATION_DOCUMENT>\n'
    ),
    example_name="interview.eaf",
    facts={
        "family": "recordings",
        "known_by": "`ANNOTATION_DOCUMENT`",
        "turns": "annotations of one speaker, until another's",
        "kept": "`start` and `stop`",
        "left": "dependent tiers, empty annotations; not counted: media, linguistic types",
        "decided_by": "`--columns clinician=TIER,patient=TIER`",
    },
    endings=(".eaf",),
    claims=_claims,
    read=_read,
    priority=20,
)
