"""The account of a reading in lines for people: one screen at most."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bedside.support.plurals import counted
from bedside.transcripts.reading_account import FileKind, ReadingAccount
from bedside.transcripts.transcript import ROLES, Role

#: Lines of a screen, and characters of a line.
SCREEN, WIDTH = 24, 100
#: Most names of one thing, most kinds of files told apart, and most lines of one thing.
_NAMES, _KINDS, _LINES = 6, 3, 4

_SIDES: Mapping[Role, str] = {"clinician": "patient", "patient": "clinician"}


def account_lines(account: ReadingAccount, longest: int | None = SCREEN) -> list[str]:
    """What was read, in lines of at most 100 characters.

    Args:
        account: of a reading that is over.
        longest: most lines; None for all.
    """
    lines: list[str] = []
    for label, text in _parts(account):
        printable = "".join(mark if mark.isprintable() else " " for mark in text)
        wrapped = textwrap.wrap(
            f"{label}: {printable}" if label else printable, WIDTH, subsequent_indent="  "
        )
        if longest is not None and len(wrapped) > _LINES:
            wrapped = [*wrapped[: _LINES - 1], wrapped[_LINES - 1][: WIDTH - 2] + " …"]
        lines += wrapped
    if longest is not None and len(lines) > longest:
        more = len(lines) - longest + 1
        lines = [*lines[: longest - 1], f"… and {counted(more, 'line')} more: bedside read shows all"]
    return lines


def _parts(account: ReadingAccount) -> Iterator[tuple[str, str]]:
    """Label and text of each thing to say, what is worth a look first."""
    files = sum(len(names) for names in account.kinds.values())
    read = [counted(account.transcripts, "transcript"), counted(account.turns, "turn")]
    yield "Read", ", ".join([*read, *([counted(files, "file")] if files else [])])
    yield from _file_parts(account.kinds)
    yield "Speakers", " · ".join(_speakers(account)) or "none"
    if account.one_sided:
        yield "One-sided", " ".join(_one_sided(account))
    if account.tags:
        yield (
            "Tags",
            f"{counted(account.tags, 'tag')} of a transcriber, such as {account.tag:.40}, "
            f"{'counts as a word' if account.tags == 1 else 'count as words'}; `drop_tags` takes them out",
        )
    left_out = dict(account.left_out)
    if account.skipped:
        left_out["transcripts or files that could not be read"] = account.skipped
    if account.ignored:
        left_out["files that by their ending are no transcripts"] = account.ignored
    if left_out:
        yield "Left out", " · ".join(f"{name} ({n:,})" for name, n in left_out.items())
    for remark in account.remarks:
        yield "", remark
    yield "Language", _with_counts(account.languages, "not stated")
    yield "Systems", _with_counts(account.systems, "not stated")
    yield "Cases", _cases(account)
    if account.factors:
        yield "Factors", " · ".join(_factors(account.factors))


def _file_parts(kinds: Mapping[FileKind, Sequence[str]]) -> Iterator[tuple[str, str]]:
    for form in dict.fromkeys((kind.form, kind.title) for kind in kinds):
        names = [name for kind, files in kinds.items() if kind[:2] == form for name in files]
        yield "Form", f"{form[0]}, {form[1]}: {_some(map(_file_name, names))}"
    facts: tuple[tuple[str, Callable[[FileKind], str]], ...] = (
        ("Encoding", lambda kind: kind.encoding),
        ("Sheets", _sheets),
        ("Header", lambda kind: "" if kind.header is None else f"in line {kind.header}"),
        ("Columns", _columns),
    )
    for label, fact in facts:
        by_text: dict[str, list[str]] = {}
        for kind, files in kinds.items():
            by_text.setdefault(fact(kind), []).extend(files)
        told = {text: files for text, files in by_text.items() if text}
        for text, of in list(told.items())[:_KINDS]:
            yield label, text if len(by_text) == 1 else f"{text} ({_some(map(_file_name, of), 2)})"
        if len(told) > _KINDS:
            yield label, f"{len(told) - _KINDS:,} more of other files"


def _file_name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _sheets(kind: FileKind) -> str:
    read = f"read {_some(kind.sheets)}" if kind.sheets else ""
    left = f"left out {_some(kind.other_sheets)}" if kind.other_sheets else ""
    return "; ".join(filter(None, (read, left)))


def _columns(kind: FileKind) -> str:
    taken = ", ".join(name if name == column else f"{name} = {column}" for name, column in kind.columns)
    unused = f"not used: {_some(kind.unused)}" if kind.unused else ""
    return "; ".join(filter(None, (taken, unused)))


def _speakers(account: ReadingAccount) -> Iterator[str]:
    unit = " turns"
    for role in ROLES:
        turns = sum(account.speakers[role].values())
        if not turns:
            continue
        names = account.spoken_by(role)
        shown = []
        for name, n in names[:_NAMES]:
            shown.append(f"{name:.40} ({n:,}{unit})")
            unit = ""
        if not names:
            shown.append(f"many names ({turns:,}{unit})")
        if len(names) > _NAMES:
            shown.append(f"{len(names) - _NAMES:,} more ({sum(n for _, n in names[_NAMES:]):,})")
        yield f"{role}: {', '.join(shown)}"


def _one_sided(account: ReadingAccount) -> Iterator[str]:
    for role, n in account.one_sided.items():
        yield f"{counted(n, 'transcript')} {'has' if n == 1 else 'have'} no turn of the {_SIDES[role]}."
    yield "What needs both sides is missing there."


def _with_counts(counts: Mapping[Any, int], absent: str) -> str:
    """Values with how many transcripts have them, most first."""
    if set(counts) <= {None}:
        return absent
    order = sorted(counts.items(), key=lambda item: (item[0] is None, -item[1], str(item[0])))
    shown = [f"{absent if value is None else value!s:.40} ({n:,})" for value, n in order[:_NAMES]]
    shown[0] = shown[0][:-1] + (" transcript)" if order[0][1] == 1 else " transcripts)")
    return " · ".join([*shown, *([f"{len(order) - _NAMES:,} more"] if len(order) > _NAMES else [])])


def _cases(account: ReadingAccount) -> str:
    if not account.cases:
        return "not stated, so each transcript is a case of its own"
    if account.without_case:
        return f"{len(account.cases):,}; {counted(account.without_case, 'transcript')} without a case"
    return f"{len(account.cases):,}"


def _factors(factors: Mapping[str, Mapping[Any, int] | None]) -> Iterator[str]:
    for name, levels in list(factors.items())[: 2 * _NAMES]:
        if levels is None:
            yield f"{name:.40}: many levels"
        elif len(levels) > _NAMES:
            yield f"{name:.40}: {len(levels)} levels"
        else:
            values = sorted(levels, key=lambda level: (isinstance(level, str), str(level).zfill(20)))
            yield f"{name:.40}: {', '.join(f'{value!s:.40}' for value in values)}"
    if len(factors) > 2 * _NAMES:
        yield f"{len(factors) - 2 * _NAMES:,} more factors"


def _some(names: Iterable[str], most: int = _NAMES) -> str:
    listed = list(names)
    more = f" and {len(listed) - most:,} more" if len(listed) > most else ""
    return ", ".join(f"{name:.60}" for name in listed[:most]) + more
