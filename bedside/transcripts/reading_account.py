"""What a reading understood, of each file and of all: for the user to see before he believes a number, and for the
manifest."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from bedside.core.words import counted
from bedside.transcripts.transcript import ROLES, Role, Transcript
from bedside.transcripts.transcription_tags import tags_in

if TYPE_CHECKING:
    from bedside.transcripts.factor_kinds import Kind

#: Most speakers, levels of a factor and factors that are told apart; what has more is said to have many.
MOST_SPEAKERS, MOST_LEVELS, MOST_FACTORS = 10_000, 50, 200

#: What each kind of text that is no turn is called.
_PROVENANCE: Mapping[str, str] = {"system": "system messages", "tools": "calls and results of tools"}

_SIDES: frozenset[Role] = frozenset({"clinician", "patient"})

#: Lines of a screen, and characters of a line.
SCREEN, WIDTH = 24, 80
#: Longest example of a text, in characters, and most examples of texts of one name.
_EXAMPLE, _EXAMPLES = 60, 12
#: Most names of one thing, most kinds of files told apart, and most lines of one thing.
_NAMES, _KINDS, _LINES = 6, 3, 4
#: Names of a side where few words are said.
_BRIEF = 2

Level = str | int | float | bool | None


class Texts(NamedTuple):
    """Texts of one name, such as a key or a column.

    Attributes:
        number: how many.
        longest: the length of the longest, in characters.
        place: where that stands.
        example: how it begins.
    """

    number: int
    longest: int
    place: str
    example: str

    @classmethod
    def of(cls, text: str, place: str) -> Texts:
        """One text."""
        return cls(1, len(text), place, " ".join(text[: 2 * _EXAMPLE].split())[:_EXAMPLE])

    def add_to(self, others: dict[str, Texts], name: str) -> None:
        """Count these among others, by their name."""
        other = others.get(name, self._replace(number=0))
        longer = self if self.longest >= other.longest else other
        others[name] = longer._replace(number=self.number + other.number)


@dataclass(slots=True)
class FileAccount:
    """What a reader understood of one file; a reader fills in what its form has.

    Attributes:
        encoding: of the text, where it is not UTF-8.
        sheets: worksheets that were read; empty for a file without any.
        other_sheets: worksheets that were left out.
        header: line or row of the column names, where it is not the first.
        columns: bedside's name of a column → the file's.
        unused: columns of which nothing was taken.
        left_out: what was left out, a plural noun such as ``empty turns`` or ``lines above the first speaker`` → how
            many.
        first_left: the same noun → where the first of them stands, of those that are parts of a whole.
        lost: texts that are neither turns nor fields, by the name of their key, column, part or line.
        joined: lines without a speaker, which are words of the turn before; the example is the first.
        remarks: whole sentences on how the form was understood, each once.
    """

    encoding: str = ""
    sheets: list[str] = field(default_factory=list)
    other_sheets: list[str] = field(default_factory=list)
    header: int | None = None
    columns: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    first_left: dict[str, str] = field(default_factory=dict)
    lost: dict[str, Texts] = field(default_factory=dict)
    joined: Texts | None = None
    remarks: list[str] = field(default_factory=list)

    def count_left_out(self, noun: str, place: str, times: int = 1) -> None:
        """Count what is left out, and note where the first stands."""
        self.left_out[noun] += times
        self.first_left.setdefault(noun, place)

    def note_unread(self, name: str, text: str, place: str) -> None:
        """Note a text that is neither a turn nor a field."""
        Texts.of(text, place).add_to(self.lost, name)

    def note_joined(self, text: str, place: str) -> None:
        """Note a line without a speaker, which is words of the turn before."""
        first = self.joined
        self.joined = first._replace(number=first.number + 1) if first else Texts.of(text, place)

    def remark(self, sentence: str) -> None:
        """Add a sentence, unless it stands there."""
        if sentence not in self.remarks:
            self.remarks.append(sentence)

    def add(self, other: FileAccount) -> None:
        """Add what was understood of another file that is read together with this one."""
        self.columns.update(other.columns)
        self.left_out.update(other.left_out)
        self.first_left = other.first_left | self.first_left
        for name in ("sheets", "other_sheets", "unused", "remarks"):
            setattr(self, name, list(dict.fromkeys((*getattr(self, name), *getattr(other, name)))))

    def took(self, columns: Mapping[str, str], header: Iterable[str]) -> None:
        """Note which columns of a header were taken, and so which were not."""
        self.columns.update(columns)
        self.unused = [name for name in header if name and name not in self.columns.values()]


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
    encoding: str
    sheets: tuple[str, ...]
    other_sheets: tuple[str, ...]
    header: int | None
    columns: tuple[tuple[str, str], ...]
    unused: tuple[str, ...]


@dataclass(slots=True)
class ReadingAccount:
    """What was understood of all files, and what came by.

    Attributes:
        transcripts, turns: how many.
        kinds: files of each kind, by their names.
        speakers: turns by role and speaker's name; the name "" stands for the rest where there are too many.
        one_sided: transcripts with turns of the one side only, by the side.
        swapped: transcripts whose clinician talks like the patient, and whose patient like the clinician.
        first_swapped: the id of the first of them.
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
        left_out, lost, joined: as in a :class:`FileAccount`.
        remarks: whole sentences on how a form was understood.
        skipped: transcripts and files that could not be read.
        ignored: files of searched folders that by their ending are no transcripts.
    """

    transcripts: int = 0
    turns: int = 0
    kinds: dict[FileKind, list[str]] = field(default_factory=dict)
    speakers: dict[Role, Counter[str]] = field(default_factory=lambda: {role: Counter() for role in ROLES})
    one_sided: Counter[Role] = field(default_factory=Counter)
    swapped: int = 0
    first_swapped: str = ""
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
    joined: Texts | None = None
    remarks: list[str] = field(default_factory=list)
    skipped: int = 0
    ignored: int = 0

    def add(self, transcript: Transcript) -> None:
        """Take a transcript into account."""
        turns = transcript.turns
        self.transcripts += 1
        self.turns += len(turns)
        # Loops as short as can be, and as few: this is done for all that is read.
        speakers = self.speakers
        for turn in turns:
            speakers[turn.role][turn.speaker] += 1
        texts = [turn.text for turn in turns]
        together = "".join(texts)
        if "<" in together or "[" in together:
            tags = [tag for text in texts if "<" in text or "[" in text for tag in tags_in(text)]
            self.tags += len(tags)
            self.tag = self.tag or next(iter(tags), "")
        longest = max(texts, key=len, default="")
        if len(longest) > (self.longest.longest if self.longest else 0):
            self.longest = Texts.of(longest, f"{transcript.id}, turn {texts.index(longest)}")
        metas = [turn.meta for turn in turns if turn.meta]
        known = Counter(chain.from_iterable(metas))
        for meta in metas if not known.keys() <= self.examples.keys() else ():
            if len(self.examples) < MOST_FACTORS:
                for key in [key for key in meta if key not in self.examples]:  # in the order of the file
                    # Of codes, how many turns have them is what tells.
                    self.examples[key] = "" if key == "codes" else Texts.of(_longest_text(meta[key]), "").example
        self.with_turns.update({key: times for key, times in known.items() if key in self.examples})
        for key, value in transcript.reference.items():
            if key in self.beside or len(self.beside) < MOST_FACTORS:
                Texts.of(_longest_text(value), transcript.source).add_to(self.beside, key)
        self._limit_names()
        if transcript.provenance:
            self.provenance.update(item.kind for item in transcript.provenance)
        if turns and {turns[0].role, turns[-1].role} != _SIDES:
            sides = _SIDES & {turn.role for turn in turns}
            if len(sides) == 1:
                self.one_sided.update(sides)
        from bedside.transcripts.role_evidence import look_swapped

        if look_swapped(turns):
            self.swapped += 1
            self.first_swapped = self.first_swapped or transcript.id
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

    def _limit_names(self) -> None:
        for role, names in self.speakers.items():
            if len(names) > MOST_SPEAKERS:
                self.speakers[role] = Counter({"": names.total()})

    def _add_levels(self, name: str, levels: Mapping[Level, int] | None) -> None:
        if name not in self.factors:
            if len(self.factors) == MOST_FACTORS:
                return
            self.factors[name] = Counter()
        counts = self.factors[name]
        if counts is not None and levels is not None:
            counts.update(levels)
        if counts is None or levels is None or len(counts) > MOST_LEVELS:
            self.factors[name] = None

    def add_file(self, name: str, form: str, title: str, account: FileAccount) -> None:
        """Take into account what a reader understood of a file, or of a piece of it."""
        own = (_frozen(getattr(account, key)) for key in FileKind._fields[2:])
        self._add_kind(FileKind(form, title, *own), [name])
        self.left_out.update(account.left_out)
        self._add_texts(account)

    def _add_kind(self, kind: FileKind, names: Iterable[str]) -> None:
        files = self.kinds.setdefault(kind, [])
        files += [name for name in names if not files or name != files[-1]]

    def _add_texts(self, account: FileAccount | ReadingAccount) -> None:
        for name, texts in account.lost.items():
            texts.add_to(self.lost, name)
        if account.joined:
            number = self.joined.number if self.joined else 0
            self.joined = (self.joined or account.joined)._replace(number=number + account.joined.number)
        self.remarks += [remark for remark in account.remarks if remark not in self.remarks]

    def merge(self, other: ReadingAccount) -> None:
        """Take in the account of what comes next of the same reading: another file, or a file's next piece."""
        self._add_texts(other)
        for part in fields(self):
            own, its = getattr(self, part.name), getattr(other, part.name)
            if isinstance(its, int):
                setattr(self, part.name, own + its)
            elif isinstance(its, str):
                setattr(self, part.name, own or its)
            elif isinstance(its, Counter | set):
                own.update(its)
        for kind, files in other.kinds.items():
            self._add_kind(kind, files)
        for role, names in other.speakers.items():
            self.speakers[role].update(names)
        self._limit_names()
        for factor, levels in other.factors.items():
            self._add_levels(factor, levels)
        self.declared |= other.declared
        both = filter(None, (self.longest, other.longest))
        self.longest = max(both, key=lambda texts: texts.longest, default=None)
        for name, texts in other.beside.items():
            texts.add_to(self.beside, name)
        self.examples = {**other.examples, **self.examples}

    def as_json(self) -> dict[str, Any]:
        """All of it as plain lists, texts and numbers, for :meth:`of_json`."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> ReadingAccount:
        """What :meth:`as_json` wrote."""
        blank, filled = cls(), dict(data)
        filled["kinds"] = {FileKind(*_frozen(kind)): files for kind, files in data["kinds"]}
        for name in data.keys() - {"kinds"}:
            if isinstance(getattr(blank, name), dict):
                filled[name] = type(getattr(blank, name))(dict(data[name]))
        for name in ("beside", "lost"):
            filled[name] = {key: Texts(*texts) for key, texts in filled[name].items()}
        for name in ("speakers", "factors"):
            filled[name] = {
                key: None if counts is None else Counter(dict(counts)) for key, counts in filled[name].items()
            }
        for name in ("longest", "joined"):
            filled[name] = data[name] and Texts(*data[name])
        return cls(**{**filled, "cases": set(data["cases"])})

    def summary(self, *, names: bool = True) -> dict[str, Any]:
        """What a manifest keeps: counts, and names where they are few.

        Args:
            names: whether the speakers' names, and sentences and tags that may quote the text, are kept.
        """
        return {
            "transcripts": self.transcripts,
            "turns": self.turns,
            "files": [
                {
                    **{key: own for key, own in kind._asdict().items() if own not in ("", (), None)},
                    **({"columns": dict(kind.columns)} if kind.columns else {}),
                    "count": len(files),
                }
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
            **({"swapped": self.swapped} if self.swapped else {}),
            "languages": _counts(self.languages),
            "systems": _counts(self.systems),
            "cases": len(self.cases),
            "without_case": self.without_case,
            "factors": {name: None if levels is None else _counts(levels) for name, levels in self.factors.items()},
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
        from bedside.transcripts.factor_kinds import kind_of

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
        """What was read, in lines of at most 80 characters, once the reading is over.

        Args:
            longest: most lines; None for all.
        """
        return _in_lines(_parts(self, kept=longest is None), longest)

    def brief_lines(self) -> list[str]:
        """In as few lines as can be: how much was read, who is who, and what may not be as it was meant."""
        files = [_file_name(name) for names in self.kinds.values() for name in names]
        systems = len(set(self.systems) - {None})
        read = f"Read {counted(self.transcripts, 'transcript')} ({counted(self.turns, 'turn')})"
        if files:
            read += f" from {files[0] if len(files) == 1 else counted(len(files), 'file')}"
        facts = [
            *(
                f"{role} = {_some((name for name, _ in names), _BRIEF)}"
                for role in ROLES
                if (names := self.spoken_by(role))
            ),
            counted(systems, "system") if systems else "no systems",
            *([f"factors {_some(self.factors)}"] if self.factors else []),
        ]
        guessed, remarks = _facts_of_files(self.kinds, _GUESSED), (("", remark) for remark in self.remarks)
        parts = [(read, "; ".join(facts)), *guessed, *_doubts(self), *remarks, *_factor_kinds(self)]
        return _in_lines(parts, SCREEN // 2)


def _in_lines(parts: Iterable[tuple[str, str]], longest: int | None) -> list[str]:
    """Labels and texts in lines of a screen's width, and at most so many."""
    lines: list[str] = []
    for label, text in parts:
        printable = "".join(mark if mark.isprintable() else " " for mark in text)
        wrapped = textwrap.wrap(f"{label}: {printable}" if label else printable, WIDTH, subsequent_indent="  ")
        if longest is not None and len(wrapped) > _LINES:
            wrapped = [*wrapped[: _LINES - 1], wrapped[_LINES - 1][: WIDTH - 2] + " …"]
        lines += wrapped
    if longest is not None and len(lines) > longest:
        more = len(lines) - longest + 1
        lines = [*lines[: longest - 1], f"… and {counted(more, 'line')} more: bedside read shows all"]
    return lines


def _frozen(value: Any) -> Any:
    """A value with tuples in place of its lists and dicts."""
    parts = value.items() if isinstance(value, dict) else value
    return tuple(map(_frozen, parts)) if isinstance(value, dict | list | tuple) else value


def _plain(value: Any) -> Any:
    """A value with lists in place of its tuples, sets and dicts, which become pairs."""
    parts = sorted(value) if isinstance(value, set) else value.items() if isinstance(value, dict) else value
    return [*map(_plain, parts)] if isinstance(value, dict | list | set | tuple) else value


def _counts(counts: Mapping[Any, int]) -> list[list[Any]]:
    """Values with their counts, most first, as a manifest has them: a missing value is null."""
    return [[value, n] for value, n in sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))][:MOST_LEVELS]


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
    yield from _doubts(account)
    if kept and account.beside:
        yield "Beside", _texts(account.beside)
    if kept and account.with_turns:
        shown = [
            f"{key:.40} ({n:,}){example and ': '}{example}"
            for key, n in account.with_turns.most_common()
            for example in [account.examples.get(key, "")]
        ]
        yield "With turns", " · ".join(_first(shown, _EXAMPLES))
    for remark in account.remarks:
        yield "", remark
    yield "Language", _with_counts(account.languages)
    yield "Systems", _with_counts(account.systems)
    if account.cases:
        without = f"; {counted(account.without_case, 'transcript')} without a case" if account.without_case else ""
        yield "Cases", f"{len(account.cases):,}{without}"
    else:
        yield "Cases", "not stated, so each transcript is a case of its own"
    if account.factors:
        shown = [f"{name:.40}: {_levels(levels)}" for name, levels in account.factors.items()]
        yield "Factors", " · ".join(_first(shown, 2 * _NAMES, "more factors"))
    yield from _factor_kinds(account)


def _doubts(account: ReadingAccount) -> Iterator[tuple[str, str]]:
    """Label and text of what may not be as it was meant, and of what is left out."""
    if account.swapped:
        yield (
            "Swapped",
            f"clinician and patient look swapped in {account.swapped:,} of "
            f"{counted(account.transcripts, 'transcript')}, first in {account.first_swapped:.40}; see `roles`",
        )
    if account.one_sided:
        lacking = {role: other for role in _SIDES for other in _SIDES - {role}}
        sentences = [
            f"{counted(n, 'transcript')} {'has' if n == 1 else 'have'} no turn of the {lacking[role]}."
            for role, n in account.one_sided.items()
        ]
        yield "One-sided", " ".join([*sentences, "What needs both sides is missing there."])
    if account.tags:
        yield (
            "Tags",
            f"{counted(account.tags, 'mark')} in brackets, such as {account.tag:.40}, "
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
    joined = account.joined
    # Where many turns have several lines, that is how they are written.
    if joined and joined.number <= max(3, account.turns // 10):
        lines = f"{counted(joined.number, 'line')} without a speaker, read as words of the turn before"
        yield "Joined", f"{lines}, such as this ({joined.place}): {joined.example}"


def _factor_kinds(account: ReadingAccount) -> Iterator[tuple[str, str]]:
    kinds = " · ".join(_kinds(account))
    if kinds:
        yield "Kinds", kinds


def _file_parts(kinds: Mapping[FileKind, Sequence[str]]) -> Iterator[tuple[str, str]]:
    for form in dict.fromkeys((kind.form, kind.title) for kind in kinds):
        names = [name for kind, files in kinds.items() if kind[:2] == form for name in files]
        yield "Form", f"{form[0]}, {form[1]}: {_some(map(_file_name, names))}"
    yield from _facts_of_files(kinds, (*_GUESSED, *_KNOWN))


def _facts_of_files(kinds: Mapping[FileKind, Sequence[str]], facts: Iterable[_FileFact]) -> Iterator[tuple[str, str]]:
    for label, fact in facts:
        by_text: dict[str, list[str]] = {}
        for kind, files in kinds.items():
            by_text.setdefault(fact(kind), []).extend(files)
        texts = {text: files for text, files in by_text.items() if text}
        for text, of in list(texts.items())[:_KINDS]:
            yield label, text if len(by_text) == 1 else f"{text} ({_some(map(_file_name, of), 2)})"
        if len(texts) > _KINDS:
            yield label, f"{len(texts) - _KINDS:,} more of other files"


def _file_name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _sheets(kind: FileKind) -> str:
    told = (("read", kind.sheets), ("left out", kind.other_sheets))
    return "; ".join(f"{what} {_some(sheets)}" for what, sheets in told if sheets)


def _columns(kind: FileKind) -> str:
    taken = ", ".join(name if name == column else f"{name} = {column}" for name, column in kind.columns)
    unused = f"not used: {_some(kind.unused)}" if kind.unused else ""
    return "; ".join(filter(None, (taken, unused)))


#: A label, and what it says of a file; nothing where that is empty.
_FileFact = tuple[str, Callable[[FileKind], str]]
#: What of a file was guessed or chosen, and what its table says.
_GUESSED: tuple[_FileFact, ...] = (("Encoding", lambda kind: kind.encoding), ("Sheets", _sheets))
_KNOWN: tuple[_FileFact, ...] = (
    ("Header", lambda kind: "" if kind.header is None else f"in line {kind.header}"),
    ("Columns", _columns),
)


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
        if own.longest
        else f"{name:.40} ({own.number:,}, empty)"
        for name, own in texts.items()
    ]
    return " · ".join(_first(shown, _EXAMPLES))


def _speakers(account: ReadingAccount) -> Iterator[str]:
    first = True
    for role in ROLES:
        turns = account.speakers[role].total()
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


def _with_counts(counts: Mapping[Any, int]) -> str:
    """Values with how many transcripts have them, most first."""
    if set(counts) <= {None}:
        return "not stated"
    order = sorted(counts.items(), key=lambda item: (item[0] is None, -item[1], str(item[0])))
    told = [f"{'not stated' if value is None else value!s:.40} ({n:,})" for value, n in order]
    told[0] = told[0][:-1] + (" transcript)" if order[0][1] == 1 else " transcripts)")
    return " · ".join(_first(told, _NAMES))


def _levels(levels: Mapping[Any, int] | None) -> str:
    if levels is None:
        return "many levels"
    if len(levels) > _NAMES:
        return f"{len(levels)} levels"
    values = sorted(levels, key=lambda level: (isinstance(level, str), str(level).zfill(20)))
    return ", ".join(f"{value!s:.40}" for value in values)


def _kinds(account: ReadingAccount) -> Iterator[str]:
    """Factors of each kind; of those that vary and whose kind isn't known, how it is said."""
    from bedside.transcripts.factor_kinds import KINDS

    kinds = account.kinds_of_factors()
    for kind in KINDS:
        names = [name for name, own in kinds.items() if own == kind]
        if names:
            yield f"{kind} {_some(names)}"
    varying = [name for name, levels in account.factors.items() if levels is None or len(levels) > 1]
    unknown = [name for name in varying if kinds[name] is None]
    if unknown:
        yield f"not known {_some(unknown)}: say it with `conditions` or `outcomes`"


def _first(told: list[str], most: int, more: str = "more") -> list[str]:
    """The first of what is told, and how many more there are."""
    return [*told[:most], *([f"{len(told) - most:,} {more}"] if len(told) > most else [])]


def _some(names: Iterable[str], most: int = _NAMES) -> str:
    listed = list(names)
    more = f" and {len(listed) - most:,} more" if len(listed) > most else ""
    return ", ".join(f"{name:.60}" for name in listed[:most]) + more
