"""What a whole reading understood: for the user to see before he believes a number, and for the manifest."""

from __future__ import annotations

import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bedside.support.plurals import counted
from bedside.transcripts.factor_kinds import KINDS, Kind, kind_of
from bedside.transcripts.file_account import FileAccount, Texts, text_of
from bedside.transcripts.transcript import ROLES, Role, Transcript
from bedside.transcripts.transcription_tags import tags_in

#: Most speakers, levels of a factor and factors that are told apart; what has more is said to have many.
MOST_SPEAKERS, MOST_LEVELS, MOST_FACTORS = 10_000, 50, 200

#: What each kind of text that is no turn is called.
_PROVENANCE: Mapping[str, str] = {"system": "system messages", "tools": "calls and results of tools"}

_SIDES: frozenset[Role] = frozenset({"clinician", "patient"})

#: Lines of a screen, and characters of a line.
SCREEN, WIDTH = 24, 100
#: Most examples of texts of one name.
_EXAMPLES = 12
#: Most names of one thing, most kinds of files told apart, and most lines of one thing.
_NAMES, _KINDS, _LINES = 6, 3, 4

Level = str | int | float | bool | None


def _no_speakers() -> dict[Role, dict[str, int]]:
    return {role: defaultdict(int) for role in ROLES}


class FileKind(NamedTuple):
    """What was understood of a file, but for its content; files of one kind are told of together.

    Attributes:
        form: the reader's name.
        title: the reader's title.
        encoding, sheets, other_sheets, header, unused: as in a :class:`FileAccount`.
        columns: bedside's name of a column and the file's, in pairs.
    """

    form: str
    title: str
    encoding: str = ""
    sheets: tuple[str, ...] = ()
    other_sheets: tuple[str, ...] = ()
    header: int | None = None
    columns: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()


@dataclass(slots=True)
class ReadingAccount:
    """What was understood of all files, and what came by.

    Attributes:
        transcripts, turns: how many.
        kinds: files of each kind, by their names.
        speakers: turns by role and speaker's name; the name "" stands for the rest where there are too many.
        one_sided: transcripts with turns of the one side only, by the side.
        languages, systems: transcripts by the tag and the name; None stands for none.
        cases: their names.
        without_case: transcripts that name none.
        factors: transcripts by the factor and its level; None in place of too many levels.
        declared: the kinds of factors that the user declared.
        tags: transcribers' tags within the text, and one of them.
        provenance: texts that are no turns, by their kind.
        longest: the longest turn.
        beside: what transcripts keep in their reference, by its key.
        with_turns: turns of which something of a name is kept (``meta``), and one example of each.
        left_out, lost: as in a :class:`FileAccount`.
        remarks: whole sentences on how a form was understood.
        skipped: transcripts and files that could not be read.
        ignored: files of searched folders that by their ending are no transcripts.
    """

    transcripts: int = 0
    turns: int = 0
    kinds: dict[FileKind, list[str]] = field(default_factory=dict)
    speakers: dict[Role, dict[str, int]] = field(default_factory=_no_speakers)
    one_sided: Counter[Role] = field(default_factory=Counter)
    languages: Counter[str | None] = field(default_factory=Counter)
    systems: Counter[str | None] = field(default_factory=Counter)
    cases: set[str] = field(default_factory=set)
    without_case: int = 0
    factors: dict[str, Counter[Level] | None] = field(default_factory=dict)
    declared: dict[str, Kind] = field(default_factory=dict)
    tags: int = 0
    tag: str = ""
    provenance: Counter[str] = field(default_factory=Counter)
    longest: Texts | None = None
    beside: dict[str, Texts] = field(default_factory=dict)
    with_turns: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    lost: dict[str, Texts] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    skipped: int = 0
    ignored: int = 0

    def add(self, transcript: Transcript) -> None:
        """Take a transcript into account."""
        turns = transcript.turns
        self.transcripts += 1
        self.turns += len(turns)
        # One loop, as short as it can be: this is done for all that is read.
        speakers = self.speakers
        longest = self.longest.longest if self.longest else 0
        for turn in turns:
            speakers[turn.role][turn.speaker] += 1
            text = turn.text
            if "<" in text or "[" in text:
                self._add_tags(text)
            if len(text) > longest:
                longest = len(text)
                self.longest = text_of(text, f"{transcript.id}, turn {turn.index}")
            if turn.meta:
                self._add_meta(turn.meta)
        for key, value in transcript.reference.items():
            if key in self.beside or len(self.beside) < MOST_FACTORS:
                shown = text_of(_longest_text(value), transcript.source)
                self.beside[key] = shown.with_others(self.beside.get(key))
        self._limit_names()
        if transcript.provenance:
            self.provenance.update(item.kind for item in transcript.provenance)
        if turns and {turns[0].role, turns[-1].role} != _SIDES:
            sides = _SIDES & {turn.role for turn in turns}
            if len(sides) == 1:
                self.one_sided.update(sides)
        self.languages[transcript.language] += 1
        self.systems[transcript.system] += 1
        if transcript.case_id is None:
            self.without_case += 1
        else:
            self.cases.add(transcript.case_id)
        for name, level in transcript.factors.items():
            levels = self.factors.get(name)
            if levels is not None and level in levels:
                levels[level] += 1
            else:
                self._add_levels(name, {level: 1})

    def _add_meta(self, meta: Mapping[str, Any]) -> None:
        room = len(self.examples) < MOST_FACTORS
        for key, value in meta.items():
            if room and key not in self.examples:
                # Of codes, how many turns have them is what tells.
                self.examples[key] = "" if key == "codes" else text_of(_longest_text(value), "").example
            if key in self.examples:
                self.with_turns[key] += 1

    def _add_tags(self, text: str) -> None:
        tags = tags_in(text)
        self.tags += len(tags)
        self.tag = self.tag or (tags[0] if tags else "")

    def _limit_names(self) -> None:
        for role, names in self.speakers.items():
            if len(names) > MOST_SPEAKERS:
                self.speakers[role] = defaultdict(int, {"": sum(names.values())})

    def _add_levels(self, name: str, levels: Mapping[Level, int] | None) -> None:
        if name not in self.factors:
            if len(self.factors) == MOST_FACTORS:
                return
            self.factors[name] = Counter()
        counts = self.factors[name]
        if counts is None or levels is None:
            self.factors[name] = None
            return
        for level, transcripts in levels.items():
            counts[level] += transcripts
        if len(counts) > MOST_LEVELS:
            self.factors[name] = None

    def add_file(self, name: str, form: str, title: str, account: FileAccount) -> None:
        """Take into account what a reader understood of a file, or of a piece of it."""
        kind = FileKind(
            form=form,
            title=title,
            encoding=account.encoding,
            sheets=tuple(account.sheets),
            other_sheets=tuple(account.other_sheets),
            header=account.header,
            columns=tuple(account.columns.items()),
            unused=tuple(account.unused),
        )
        self._add_kind(kind, [name])
        self.left_out.update(account.left_out)
        _merge_texts(self.lost, account.lost)
        self._add_remarks(account.remarks)

    def _add_kind(self, kind: FileKind, names: Iterable[str]) -> None:
        files = self.kinds.setdefault(kind, [])
        files += [name for name in names if not files or name != files[-1]]

    def _add_remarks(self, remarks: Iterable[str]) -> None:
        self.remarks += [remark for remark in remarks if remark not in self.remarks]

    def merge(self, other: ReadingAccount) -> None:
        """Take in the account of what comes next of the same reading: another file, or a file's next piece."""
        self.transcripts += other.transcripts
        self.turns += other.turns
        for kind, files in other.kinds.items():
            self._add_kind(kind, files)
        for role, names in other.speakers.items():
            for name, turns in names.items():
                self.speakers[role][name] += turns
        self._limit_names()
        self.one_sided.update(other.one_sided)
        self.languages.update(other.languages)
        self.systems.update(other.systems)
        self.cases |= other.cases
        self.without_case += other.without_case
        for name, levels in other.factors.items():
            self._add_levels(name, levels)
        self.declared |= other.declared
        self.tags += other.tags
        self.tag = self.tag or other.tag
        self.provenance.update(other.provenance)
        if other.longest is not None and (
            self.longest is None or self.longest.longest < other.longest.longest
        ):
            self.longest = other.longest
        _merge_texts(self.beside, other.beside)
        self.with_turns.update(other.with_turns)
        self.examples = {**other.examples, **self.examples}
        self.left_out.update(other.left_out)
        _merge_texts(self.lost, other.lost)
        self._add_remarks(other.remarks)

    def as_json(self) -> dict[str, Any]:
        """All of it as plain lists, objects, texts and numbers, for :meth:`of_json`."""
        return {
            "transcripts": self.transcripts,
            "turns": self.turns,
            "kinds": [[*kind, names] for kind, names in self.kinds.items()],
            "speakers": {role: dict(names) for role, names in self.speakers.items()},
            "one_sided": dict(self.one_sided),
            "languages": list(self.languages.items()),
            "systems": list(self.systems.items()),
            "cases": sorted(self.cases),
            "without_case": self.without_case,
            "factors": {
                name: None if levels is None else list(levels.items())
                for name, levels in self.factors.items()
            },
            "declared": self.declared,
            "tags": self.tags,
            "tag": self.tag,
            "provenance": dict(self.provenance),
            "longest": None if self.longest is None else [*self.longest],
            "beside": {name: [*texts] for name, texts in self.beside.items()},
            "with_turns": dict(self.with_turns),
            "examples": self.examples,
            "left_out": dict(self.left_out),
            "lost": {name: [*texts] for name, texts in self.lost.items()},
            "remarks": self.remarks,
            "skipped": self.skipped,
            "ignored": self.ignored,
        }

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> ReadingAccount:
        """What :meth:`as_json` wrote."""
        return cls(
            **{
                **data,
                "kinds": {_kind(*parts): names for *parts, names in data["kinds"]},
                "speakers": {role: defaultdict(int, names) for role, names in data["speakers"].items()},
                "one_sided": Counter(data["one_sided"]),
                "languages": Counter(dict(data["languages"])),
                "systems": Counter(dict(data["systems"])),
                "cases": set(data["cases"]),
                "factors": {
                    name: None if levels is None else Counter(dict(levels))
                    for name, levels in data["factors"].items()
                },
                "provenance": Counter(data.get("provenance", {})),
                "longest": Texts(*data["longest"]) if data.get("longest") else None,
                "beside": {name: Texts(*texts) for name, texts in data.get("beside", {}).items()},
                "with_turns": Counter(data.get("with_turns", {})),
                "left_out": Counter(data["left_out"]),
                "lost": {name: Texts(*texts) for name, texts in data.get("lost", {}).items()},
                "remarks": list(data["remarks"]),
            }
        )

    def summary(self, *, names: bool = True) -> dict[str, Any]:
        """What a manifest keeps: counts, and names where they are few.

        Args:
            names: whether the speakers' names, and sentences and tags that may quote the text, are kept.
        """
        return {
            "transcripts": self.transcripts,
            "turns": self.turns,
            "files": [
                {**_filled(kind._asdict() | {"columns": dict(kind.columns)}), "count": len(files)}
                for kind, files in self.kinds.items()
            ],
            "speakers": {
                role: {
                    "turns": sum(counts.values()),
                    "names": dict(self.spoken_by(role)[:MOST_LEVELS]) if names else None,
                }
                for role, counts in self.speakers.items()
                if counts
            },
            "one_sided": dict(self.one_sided),
            "languages": _counts(self.languages),
            "systems": _counts(self.systems),
            "cases": len(self.cases),
            "without_case": self.without_case,
            "factors": {
                name: None if levels is None else _counts(levels) for name, levels in self.factors.items()
            },
            "kinds": self.kinds_of_factors(),
            "tags": self.tags,
            **({"provenance": dict(self.provenance)} if self.provenance else {}),
            **({"beside": {key: texts.number for key, texts in self.beside.items()}} if self.beside else {}),
            "left_out": dict(self.left_out),
            **({"lost": {name: texts.number for name, texts in self.lost.items()}} if self.lost else {}),
            "remarks": self.remarks if names else [],
            "skipped": self.skipped,
            "ignored": self.ignored,
        }

    def kinds_of_factors(self) -> dict[str, Kind | None]:
        """The kind of each factor, as far as it is declared, or known by its name or the form of its levels."""
        return {
            name: kind_of(name, [str(level) for level in levels or () if level is not None], self.declared)
            for name, levels in self.factors.items()
        }

    def spoken_by(self, role: Role) -> list[tuple[str, int]]:
        """Names and turns of those who speak in a role, who says most first; empty where there are too many names."""
        names = self.speakers[role]
        return [] if "" in names else sorted(names.items(), key=lambda item: (-item[1], item[0]))

    def __str__(self) -> str:
        """All that is to say, in lines."""
        return "\n".join(self.lines(longest=None))

    def lines(self, longest: int | None = SCREEN) -> list[str]:
        """What was read, in lines of at most 100 characters, once the reading is over.

        Args:
            longest: most lines; None for all.
        """
        lines: list[str] = []
        for label, text in _parts(self, kept=longest is None):
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


def _kind(*parts: Any) -> FileKind:
    form, title, encoding, sheets, other_sheets, header, columns, unused = parts
    return FileKind(
        form=form,
        title=title,
        encoding=encoding,
        sheets=tuple(sheets),
        other_sheets=tuple(other_sheets),
        header=header,
        columns=tuple((name, column) for name, column in columns),
        unused=tuple(unused),
    )


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value not in ("", (), None, {})}


def _counts(counts: Mapping[Any, int]) -> list[list[Any]]:
    """Values with their counts, most first, as a manifest has them: a missing value is null."""
    return [[value, n] for value, n in sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))][
        :MOST_LEVELS
    ]


def _parts(account: ReadingAccount, *, kept: bool) -> Iterator[tuple[str, str]]:
    """Label and text of each thing to say, what is worth a look first.

    Args:
        account: of the reading.
        kept: whether what is kept beside and with the turns is told, too.
    """
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
    if account.provenance:
        texts = " · ".join(f"{_PROVENANCE[kind]} ({n:,})" for kind, n in account.provenance.items())
        yield "No turns", f"{texts}: kept beside the turns; raters, judges and metrics don't see them"
    left_out = dict(account.left_out)
    if account.skipped:
        left_out["transcripts or files that could not be read"] = account.skipped
    if account.ignored:
        left_out["files that by their ending are no transcripts"] = account.ignored
    if left_out:
        yield "Left out", " · ".join(f"{name} ({n:,})" for name, n in left_out.items())
    if account.lost:
        yield "Not read", _texts(account.lost)
    if kept and account.beside:
        yield "Beside", _texts(account.beside)
    if kept and account.with_turns:
        most = account.with_turns.most_common(_EXAMPLES)
        shown = [(key, n, account.examples.get(key, "")) for key, n in most]
        more = len(account.with_turns) - len(shown)
        texts = " · ".join(f"{key:.40} ({n:,}){example and ': '}{example}" for key, n, example in shown)
        yield "With turns", texts + (f" · {more:,} more" if more else "")
    for remark in account.remarks:
        yield "", remark
    yield "Language", _with_counts(account.languages, "not stated")
    yield "Systems", _with_counts(account.systems, "not stated")
    yield "Cases", _cases(account)
    if account.factors:
        yield "Factors", " · ".join(_factors(account.factors))
        kinds = " · ".join(_kinds(account))
        if kinds:
            yield "Kinds", kinds


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
        texts = {text: files for text, files in by_text.items() if text}
        for text, of in list(texts.items())[:_KINDS]:
            yield label, text if len(by_text) == 1 else f"{text} ({_some(map(_file_name, of), 2)})"
        if len(texts) > _KINDS:
            yield label, f"{len(texts) - _KINDS:,} more of other files"


def _merge_texts(into: dict[str, Texts], others: Mapping[str, Texts]) -> None:
    for name, texts in others.items():
        into[name] = texts.with_others(into.get(name))


def _longest_text(value: Any) -> str:
    """The longest text within a value of a reference or a meta; a number's own."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return max(map(_longest_text, parts), key=len, default="")
    return str(value)


def _texts(texts: Mapping[str, Texts]) -> str:
    """Names of texts, how many there are and how the longest begins."""
    shown = [
        f"{name:.40} ({own.number:,}, up to {counted(own.longest, 'character')}): {own.example}"
        for name, own in list(texts.items())[:_EXAMPLES]
    ]
    return " · ".join([*shown, *([f"{len(texts) - _EXAMPLES:,} more"] if len(texts) > _EXAMPLES else [])])


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
    first = True
    for role in ROLES:
        turns = sum(account.speakers[role].values())
        if not turns:
            continue
        names = account.spoken_by(role)
        shown = []
        for name, n in names[:_NAMES] or [("many names", turns)]:
            shown.append(f"{name:.40} ({counted(n, 'turn') if first else f'{n:,}'})")
            first = False
        if len(names) > _NAMES:
            shown.append(f"{len(names) - _NAMES:,} more ({sum(n for _, n in names[_NAMES:]):,})")
        yield f"{role}: {', '.join(shown)}"


def _one_sided(account: ReadingAccount) -> Iterator[str]:
    for role, n in account.one_sided.items():
        other = "patient" if role == "clinician" else "clinician"
        yield f"{counted(n, 'transcript')} {'has' if n == 1 else 'have'} no turn of the {other}."
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


def _kinds(account: ReadingAccount) -> Iterator[str]:
    """Factors of each kind; of those that vary and whose kind isn't known, how it is said."""
    kinds = account.kinds_of_factors()
    for kind in KINDS:
        names = [name for name, own in kinds.items() if own == kind]
        if names:
            yield f"{kind} {_some(names)}"
    varying = [name for name, levels in account.factors.items() if levels is None or len(levels) > 1]
    unknown = [name for name in varying if kinds[name] is None]
    if unknown:
        yield f"not known {_some(unknown)}: say it with `conditions` or `outcomes`"


def _some(names: Iterable[str], most: int = _NAMES) -> str:
    listed = list(names)
    more = f" and {len(listed) - most:,} more" if len(listed) > most else ""
    return ", ".join(f"{name:.60}" for name in listed[:most]) + more
