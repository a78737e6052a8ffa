"""The linter of cases: what is hidden and stands in the open all the same, what is missing, what names a person."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bedside.judges.rubrics.linter import Remark
from bedside.metrics.protocols.medconceal.overlap import content, overlap
from bedside.metrics.protocols.medconceal.quotes import bare, normalise, occurs
from bedside.simulation.simulators.case import Case

#: Share of the content words of what is hidden, and number of them, that make an open text one that gives it away.
SHARE, WORDS = 0.5, 2

_IDENTIFYING = (
    (
        "a name",
        re.compile(
            r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.? [A-Z][a-z]+|\b(?:named|called|name is|my name's) [A-Z][a-z]+"
            r"|[\u4e00-\u9fff](?:先生|女士|小姐|医生|大夫|老师)(?:说|的|是|在|，)|(?:我叫|名叫|姓名[:：]?)[\u4e00-\u9fff]{2,4}"
        ),
    ),
    (
        "a date",
        re.compile(
            r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[/.]\d{1,2}[/.](?:\d{4}|\d{2})\b|\d{4}年\d{1,2}月(?:\d{1,2}[日号])?"
            r"|\b(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?)?(?:January|February|March|April|June|July|August|September"
            r"|October|November|December|May)(?: \d{1,2}(?:st|nd|rd|th)?,?)? \d{4}\b"
        ),
    ),
    (
        "an exact age",
        re.compile(
            r"\b\d{1,3}[- ](?:year|yr)s?[- ]old\b|\b\d{1,3} ?y/?o\b|\baged? \d{1,3}\b|\d{1,3} ?岁",
            re.IGNORECASE,
        ),
    ),
    (
        "a place",
        re.compile(
            r"\b(?:[A-Z][\w'’.]+ )+(?:Hospital|Clinic|University|College|School|Medical Center|County)\b"
            r"|\b\d+ (?:[A-Z][\w'’.]+ )+(?:Street|Avenue|Road|Lane|Drive)\b"
            r"|\b(?:lives?|living|born|grew up|moved|works?|working) (?:in|to|from|at) [A-Z][a-z]+"
            r"|[\u4e00-\u9fff]{2,}(?:省|市|区|县|镇|大学|医院)(?!里|内)"
        ),
    ),
    (
        "an address or number of a person",
        re.compile(
            r"[\w.+-]+@[\w-]+\.\w+|\b(?:MRN|SSN|NHS(?: number)?|medical record number)\b|(?<!\d)(?:\+\d{1,3}[ -]?)?"
            r"(?:\(?\d{3}\)?[ -]){2}\d{4}(?!\d)|(?<!\d)1[3-9]\d{9}(?!\d)",
            re.IGNORECASE,
        ),
    ),
)


def leaks(case: Case) -> Iterator[Remark]:
    """What the linter says of a case, errors and warnings mixed, in the order of its keys.

    Errors: a text of a concern, or a sentence it is voiced by, stands in the open; two concerns have one id. Warnings:
    half of a concern's or the diagnosis' content words stand in one open text; nothing voices a concern; none is
    primary, or several are; there are no deflections; a finding stands in the opening; a name, date, exact age, place
    or number that could tell who somebody is, in a protocol's own fields too, unless the case's origin says that it is
    invented.
    """
    yield from _concerns(case)
    open_texts = dict(_open_texts(case))
    for key, text in open_texts.items():
        yield from _concerns_in(case, key, text)
        # Where concerns are looked for and no note is told, the diagnosis is no secret of the clinician's.
        if case.note is not None or not case.hidden.concerns or not key.startswith("chart."):
            yield from _diagnosis_in(case, key, text)
    yield from _findings_in_opening(case)
    if "invented" not in case.origin.casefold():
        yield from _privacy(case, open_texts)


def _open_texts(case: Case) -> Iterator[tuple[str, str]]:
    """What the clinician or the patient is told from the start, by key."""
    for heading, text in case.chart.items():
        yield f"chart.{heading}", text
    patient = case.patient
    for name in ("narrative", "style"):
        yield f"patient.{name}", getattr(patient, name)
    for name in ("facts", "vitals", "psychosocial", "deflections"):
        for number, text in enumerate(getattr(patient, name)):
            yield f"patient.{name}.{number}", text
    if case.note is not None:
        for name in ("chief_complaint", "opening", "vignette"):
            yield f"note.{name}", getattr(case.note, name)
    study = case.extra.get("multisense", {}).get("study")
    if isinstance(study, str):  # what the patient knows is made of it
        yield "extra.multisense.study", study


def _concerns(case: Case) -> Iterator[Remark]:
    concerns = case.hidden.concerns
    if not concerns:
        return
    ids = [concern.id for concern in concerns]
    for number, concern in enumerate(concerns):
        key = f"hidden.concerns.{number}"
        if concern.id in ids[:number]:
            yield Remark("error", f"{key}.id", f"two concerns have the id {concern.id!r}")
        if not concern.voiced:
            yield Remark(
                "warning",
                f"{key}.voiced",
                "nothing says how the patient would voice the concern: where the model fails to, there is no line of "
                "the case's own to take",
            )
    primary = sum(concern.primary for concern in concerns)
    if primary != 1:
        yield Remark(
            "warning",
            "hidden.concerns",
            "no concern is primary: a task about the key concern has none"
            if primary == 0
            else f"{primary} concerns are primary: a task about the key concern can have only one",
        )
    if not case.patient.deflections:
        yield Remark(
            "warning",
            "patient.deflections",
            "there are no answers that give nothing away: where the model gives a concern away, there is no line of "
            "the case's own to take",
        )


def _concerns_in(case: Case, key: str, text: str) -> Iterator[Remark]:
    said, words = normalise(text), content(text)
    for concern in case.hidden.concerns:
        if any(occurs(bare(sentence), said) for sentence in (concern.text, *concern.voiced)):
            yield Remark("error", key, f"the concern {concern.id!r} stands here in its own words")
            continue
        wanted = content(concern.text)
        if _gives_away(words, wanted):
            yield Remark(
                "warning",
                key,
                f"half of the words of the concern {concern.id!r} or more stand here: {_some(words & wanted)}",
            )


def _diagnosis_in(case: Case, key: str, text: str) -> Iterator[Remark]:
    diagnosis = case.hidden.diagnosis
    if not diagnosis:
        return
    words, wanted = content(text), content(re.sub(r"\([^()]*\)|（[^（）]*）", " ", diagnosis))
    whole = occurs(bare(diagnosis), normalise(text))
    if whole or _gives_away(words, wanted) or (len(wanted) < WORDS and wanted and wanted <= words):
        seen = "clinician" if key.startswith("chart.") else "patient"
        yield Remark(
            "warning",
            key,
            f"the {seen} sees the diagnosis, or half of its words or more: {_some(words & wanted) or diagnosis}",
        )


def _gives_away(words: frozenset[str], wanted: frozenset[str]) -> bool:
    return len(words & wanted) >= WORDS and overlap(words, wanted) >= SHARE


def _some(words: frozenset[str]) -> str:
    return ", ".join(sorted(words)[:6])


def _findings_in_opening(case: Case) -> Iterator[Remark]:
    if case.note is None:
        return
    opening = content(case.note.opening or case.note.chief_complaint)
    for number, finding in enumerate(case.note.findings):
        words = content(finding.text)
        if words and overlap(opening, words) >= 1:
            yield Remark(
                "warning",
                f"note.findings.{number}.text",
                "the finding stands in the patient's first words: nobody needs to ask for it",
            )


def _nested_texts(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Texts of a protocol's own fields by key; an age that isn't rounded to tens is one."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _nested_texts(f"{key}.{name}", part)
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _nested_texts(f"{key}.{number}", part)
    elif type(value) is int and key.endswith(".age") and value % 10:
        yield key, f"aged {value}"


def _privacy(case: Case, open_texts: dict[str, str]) -> Iterator[Remark]:
    texts = {
        **open_texts,
        **{f"hidden.concerns.{n}.text": each.text for n, each in enumerate(case.hidden.concerns)},
        **({"note.text": case.note.text} if case.note is not None else {}),
        **dict(_nested_texts("extra", case.extra)),
    }
    for key, text in texts.items():
        for kind, pattern in _IDENTIFYING:
            match = pattern.search(text)
            if match:
                yield Remark(
                    "warning",
                    key,
                    f"{match[0].strip()!r} looks like {kind}: change it, or say in `origin` that the case is invented",
                )
        heading = key.removeprefix("chart.")
        if heading != key and heading.strip().casefold() in ("name", "full name", "姓名"):
            yield Remark(
                "warning", key, "the chart gives a name: change it, or say that the case is invented"
            )
