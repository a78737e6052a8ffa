"""What a whole reading understood: for the user to see before he believes a number, and for the manifest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bedside.transcripts.file_account import FileAccount
from bedside.transcripts.transcript import ROLES, Role, Transcript
from bedside.transcripts.transcription_tags import tags_in

#: Most speakers, levels of a factor and factors that are told apart; what has more is said to have many.
MOST_SPEAKERS, MOST_LEVELS, MOST_FACTORS = 10_000, 50, 200

_SIDES: frozenset[Role] = frozenset({"clinician", "patient"})

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
        tags: transcribers' tags within the text, and one of them.
        left_out: what was left out, as in a :class:`FileAccount`.
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
    tags: int = 0
    tag: str = ""
    left_out: Counter[str] = field(default_factory=Counter)
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
        for turn in turns:
            speakers[turn.role][turn.speaker] += 1
            text = turn.text
            if "<" in text or "[" in text:
                self._add_tags(text)
        self._limit_names()
        if {turns[0].role, turns[-1].role} != _SIDES:
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
        self.tags += other.tags
        self.tag = self.tag or other.tag
        self.left_out.update(other.left_out)
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
            "tags": self.tags,
            "tag": self.tag,
            "left_out": dict(self.left_out),
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
                "left_out": Counter(data["left_out"]),
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
            "tags": self.tags,
            "left_out": dict(self.left_out),
            "remarks": self.remarks if names else [],
            "skipped": self.skipped,
            "ignored": self.ignored,
        }

    def spoken_by(self, role: Role) -> list[tuple[str, int]]:
        """Names and turns of those who speak in a role, who says most first; empty where there are too many names."""
        names = self.speakers[role]
        return [] if "" in names else sorted(names.items(), key=lambda item: (-item[1], item[0]))

    def __str__(self) -> str:
        """All that is to say, in lines."""
        from bedside.transcripts.account_lines import account_lines

        return "\n".join(account_lines(self, longest=None))


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
