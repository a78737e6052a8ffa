"""ELAN's annotation files (``.eaf``): a tier for each speaker."""

from __future__ import annotations

import re
from xml.parsers import expat

from bedside.support.errors import InputError
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.timed_speech import (
    SpeakerTier,
    Utterance,
    check_one_tier_each,
    chosen_tiers,
    one_talk,
    talk,
    whole_bytes,
)
from bedside.transcripts.transcript import Transcript

#: Longest chain of annotations that depend on one another.
_DEEPEST = 20
#: Most tiers of a file.
MAX_TIERS = 10_000
_ROOT = re.compile(r"(?:\s++|<\?[^>]*\?>|<!--.*?-->)*+<ANNOTATION_DOCUMENT[\s>]", re.DOTALL)


def _claims(head: Head) -> Claim | None:
    return "transcripts" if _ROOT.match(head.text) else None


def _tiers(source: SourceFile) -> list[SpeakerTier]:
    """The tiers, gathered as the file's elements are met: no tree of them is built."""
    tiers: list[SpeakerTier] = []
    slots: dict[str, float] = {}
    annotations: list[tuple[Utterance, str]] = []  # with the id of that which it depends on
    by_id: dict[str, tuple[Utterance, str]] = {}
    value: list[str] | None = None
    parser = expat.ParserCreate("utf-8")  # as which the file is given, whatever it says

    def error(what: str, todo: str) -> InputError:
        return InputError(what, where=f"{source.name}:{parser.CurrentLineNumber}", todo=todo)

    def refuse(*_: object) -> None:
        raise error("the file declares a document type, which ELAN's files have none of", "remove it")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal value
        if value is not None:
            raise error(f"{name} stands within the words of an annotation", "save it again in ELAN")
        if name == "TIME_SLOT":
            time = attributes.get("TIME_VALUE", "")
            # A slot between two others may have no time of its own.
            if time.isascii() and time.isdigit() and len(time) < 13:
                slots[attributes.get("TIME_SLOT_ID", "")] = int(time) / 1000
        elif name == "TIER":
            if len(tiers) == MAX_TIERS:
                raise error(f"the file has more than {MAX_TIERS:,} tiers", "split it")
            tier = attributes.get("TIER_ID", "").strip()
            who = attributes.get("PARTICIPANT", "").strip() or tier
            tiers.append(SpeakerTier(tier, who, source.name, depends="PARENT_REF" in attributes))
        elif name in ("ALIGNABLE_ANNOTATION", "REF_ANNOTATION"):
            if not tiers:
                raise error("an annotation stands outside a tier", "save it again in ELAN")
            begin, end = (slots.get(attributes.get(f"TIME_SLOT_REF{n}", "")) for n in (1, 2))
            where = f"{source.name}:{parser.CurrentLineNumber}"
            tiers[-1].speech.append(Utterance(tiers[-1].speaker, "", where, begin, end))
            annotations.append((tiers[-1].speech[-1], attributes.get("ANNOTATION_REF", "")))
            by_id[attributes.get("ANNOTATION_ID", "")] = annotations[-1]
        elif name == "ANNOTATION_VALUE" and tiers and tiers[-1].speech:
            value = []

    def end(name: str) -> None:
        nonlocal value
        if name == "ANNOTATION_VALUE" and value is not None:
            utterance = tiers[-1].speech[-1]
            utterance.text = " ".join(f"{utterance.text}{''.join(value)}".split())
            value = None

    def text(said: str) -> None:
        if value is not None:
            value.append(said)

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    # Entities are declared in a document type, of which ELAN writes none.
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(whole_bytes(source), True)
    except expat.ExpatError as fault:
        raise InputError(
            f"not XML ({expat.ErrorString(fault.code)})",
            where=f"{source.name}:{fault.lineno}",
            todo="save it again in ELAN",
        ) from fault
    for utterance, parent in annotations:
        # What has no time of its own has that of what it depends on.
        timed = utterance, parent
        for _ in range(_DEEPEST):
            if timed[0].start is None:
                timed = by_id.get(timed[1], timed)
        utterance.start, utterance.stop = timed[0].start, timed[0].stop
    return tiers


def _transcript(source: SourceFile) -> Transcript:
    tiers = chosen_tiers(source, _tiers(source))
    chosen = bool(source.options.columns)
    words = [tier for tier in tiers if chosen or not tier.depends]
    check_one_tier_each(words, lambda tier: (f"the participant {tier.speaker!r}", source.name))
    for tier in tiers:
        for utterance in tier.speech:
            if tier.depends and not chosen:
                if utterance.text:
                    source.check_unread(
                        tier.name, utterance.text, utterance.where, instead="choose the tiers with `columns`"
                    )
            elif not utterance.text:
                source.account.left_out["empty annotations"] += 1
            elif utterance.start is None:
                raise InputError(
                    "the annotation has no time at which it begins",
                    where=utterance.where,
                    todo="align it in ELAN: only then is its place among the turns known",
                )
    return talk(source, (utterance for tier in words for utterance in tier.speech if utterance.text))


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
    read=one_talk(_transcript),
    priority=20,
)
