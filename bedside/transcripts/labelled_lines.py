"""Lines of which some begin with who speaks: ``Doctor: …``, ``[00:12] Anna: …``, ``**T:** …``, ``咨询师：…``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bedside.support.errors import InputError
from bedside.transcripts.timed_speech import TIME, seconds, times
from bedside.transcripts.transcript import Role, is_speaker_word

if TYPE_CHECKING:
    from bedside.transcripts.source_file import SourceFile

#: Short labels that say a role beside one another, in lower case: all of the file's must stand in one of these.
_SHORT: tuple[Mapping[str, Role], ...] = (
    {"t": "clinician", "c": "patient"},
    {"t": "clinician", "cl": "patient"},
    {"th": "clinician", "cl": "patient"},
    {"th": "clinician", "pt": "patient"},
    {"th": "clinician", "p": "patient"},
    {"t": "clinician", "p": "patient"},
    {"t": "clinician", "pt": "patient"},
    {"c": "clinician", "p": "patient"},
    {"d": "clinician", "p": "patient"},
    {"dr": "clinician", "p": "patient"},
    {"dr": "clinician", "pt": "patient"},
    {"dr.": "clinician", "pt.": "patient"},
    {"doc": "clinician", "pt": "patient"},
)

# A label is looked for in so many characters of a line.
_REACH = 250
_LEAD = (
    r"(?:>[ \t]*)*(?:[-*•][ \t]+)?(?:\d{1,4}[.)][ \t]+)?"
    rf"(?:[\[(<]?[ \t]*(?P<start>{TIME})(?:[ \t]*(?:-->|[-–—])[ \t]*(?P<stop>{TIME}))?[ \t]*[\])>]?[ \t]*"
    r"(?:[-–—][ \t]+)?)?"
    r"(?:\d{1,4}[.)][ \t]+)?"
)
_NAME = r"[^\W\d_][^:：\n\[\]()<>{}|*\"“”!?,;]{0,39}?"
_AFTER = rf"(?:[ \t]*[\[(]?(?P<after>{TIME})[\])]?)?"
_FORMS = {
    form: re.compile(rf"{_LEAD}(?P<mark>[*_]{{0,3}})(?P<name>{_NAME}){end}")
    for form, end in {
        "colon": rf"{_AFTER}[ \t]*(?P=mark)?[ \t]*[:：](?!//|\d\d)(?P<close>[*_]{{0,3}})",
        "bracket": r"(?!)",
        "time": rf"(?:[ \t]+|[ \t]*\()\[?(?P<after>{TIME})[\])]?(?P=mark)[ \t]*$",
        "dash": r"(?P=mark)[ \t]+[-–—][ \t]+(?P<close>[*_]{0,3})",
        "alone": r"(?P=mark)[ \t]*$",
    }.items()
}
_FORMS["bracket"] = re.compile(rf"{_LEAD}\[(?P<name>[^\W\d_][^\[\]\n]{{0,39}})\][ \t]*[:：]?")
# What a name looks like: up to four words of which the first begins with a capital or a letter that has none.
_LOOKS = re.compile(r"[^\W\d_a-z][\w.'’-]*(?:[ ](?:[\w.'’-]+|\([^)]*\))){0,3}")
_NUMBERED = re.compile(r"([^\W\d_]{1,2})[ ]?(\d{1,4})")
# A rule between parts, and a heading as Markdown has it.
_RULE = re.compile(r"[ \t]*(?:[-_*=~#][ \t]?){3,}[ \t]*")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+\S")
# A heading that says a conversation of its own begins.
_SESSION = re.compile(
    r"(?:#{1,6}[ \t]+)?[*_]{0,3}"
    r"(?:session|interview|transcript|dialogue|dialog|conversation|case|patient|participant|visit)"
    r"[ \t]*(?:#|no\.?|number)?[ \t]*\d{1,5}\b[^:：]{0,60}[:：]?[*_]{0,3}[ \t]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SpeakerLabel:
    """Who speaks from a line on.

    Attributes:
        name: of the speaker, as written.
        text: what follows on the line.
        start: seconds; None where the line has no time.
        stop: likewise.
    """

    name: str
    text: str
    start: float | None = None
    stop: float | None = None


@dataclass(slots=True)
class LabelledLines:
    """Where speakers begin.

    Attributes:
        labels: of each line; None for one that goes on with what is before it.
        lone: beginnings of lines that look like a label, stand once, and were taken for text.
        numbered: whether numbers behind labels (``T1:``, ``C1:``) were taken for those of turns.
    """

    labels: list[SpeakerLabel | None] = field(default_factory=list)
    lone: list[str] = field(default_factory=list)
    numbered: bool = False

    @property
    def speakers(self) -> list[str]:
        """Names of all who speak, each once."""
        return list(dict.fromkeys(label.name for label in self.labels if label))


#: A line's label: its form and what was matched of the line.
_Entry = tuple[str, re.Match[str]]


def labelled_lines(lines: Sequence[str], roles: Mapping[str, Role]) -> LabelledLines:
    """The speakers' labels of lines, all of one form as far as names are not known.

    A label is a name that is known or that begins two lines or more; in a text whose every line begins with a label,
    whatever looks like one. Of the forms (``Name: …``, ``[name] …``, ``Name  00:12`` alone, ``Name - …``, a known name
    alone) the one counts that tells most lines of two speakers or more.

    Args:
        lines: of a text.
        roles: role by speaker, from the user.
    """
    matches = {
        form: [pattern.match(line.lstrip()[:_REACH]) for line in lines] for form, pattern in _FORMS.items()
    }
    entries: list[_Entry | None] = []
    names: set[str] = set()
    for form, of_lines in matches.items():
        accepted = _accepted(form, [match["name"].strip() for match in of_lines if match], roles)
        chosen = [
            (form, match) if match and match["name"].strip() in accepted else None for match in of_lines
        ]
        if len(accepted) > 1 and _count(chosen) > _count(entries):
            entries, names = chosen, accepted
    if not entries:
        return LabelledLines([None] * len(lines))
    lone = _add_others(lines, entries, matches, names)
    result = LabelledLines([entry and _label(*entry, lines[at]) for at, entry in enumerate(entries)], lone)
    _number_turns(result)
    return result


def _add_others(
    lines: Sequence[str],
    entries: list[_Entry | None],
    matches: Mapping[str, list[re.Match[str] | None]],
    names: set[str],
) -> list[str]:
    """Add the labels of the same names in another form, and where no line goes on with the one before, those of names
    that stand once; the beginnings of lines that look like a label and were taken for text."""
    lone: dict[int, re.Match[str]] = {}
    began = goes_on = False
    for at, line in enumerate(lines):
        if entries[at] is None and line.strip():
            entries[at] = next(
                (
                    (form, match)
                    for form, of_lines in matches.items()
                    if form != "alone" and (match := of_lines[at]) and match["name"].strip() in names
                ),
                None,
            )
            colon = matches["colon"][at]
            if entries[at] is None and began:
                if colon and _LOOKS.fullmatch(colon["name"].strip()):
                    lone[at] = colon
                else:
                    goes_on = True
        began = began or entries[at] is not None
    if goes_on:
        return [match["name"].strip() for match in lone.values()]
    for at, match in lone.items():
        entries[at] = ("colon", match)
    return []


def _count(entries: Iterable[Any]) -> int:
    return sum(entry is not None for entry in entries)


def _accepted(form: str, names: list[str], roles: Mapping[str, Role]) -> set[str]:
    """The names that are a speaker's where they stand in this form."""
    counts = Counter(names)
    bases = Counter(match[1] for name in counts if (match := _NUMBERED.fullmatch(name)))
    accepted = set()
    for name, count in counts.items():
        known = is_speaker_word(name, roles)
        if form in ("bracket", "alone"):
            fits = known
        else:
            number = _NUMBERED.fullmatch(name)
            recurs = count > 1 or (number is not None and bases[number[1]] > 1)
            fits = known or bool(_LOOKS.fullmatch(name) and recurs) or _is_short(name, counts)
        if fits:
            accepted.add(name)
    return accepted


def _is_short(name: str, names: Iterable[str]) -> bool:
    """Whether a label is one of a pair of short ones that both stand in the text."""
    lowered = {other.casefold() for other in names}
    return any(name.casefold() in pair and pair.keys() <= lowered for pair in _SHORT)


def _label(form: str, match: re.Match[str], line: str) -> SpeakerLabel:
    parts = match.groupdict()
    text = line.lstrip()[match.end() :].strip()
    mark = (parts.get("mark") or "").strip()
    if mark and not parts.get("close") and text.startswith(mark):
        text = text[len(mark) :].strip()
    start = parts.get("start") or parts.get("after")
    stop = parts.get("stop")
    return SpeakerLabel(
        name=match["name"].strip(),
        text=text,
        start=seconds(start) if start else None,
        stop=seconds(stop) if stop else None,
    )


def _number_turns(result: LabelledLines) -> None:
    """Take the numbers off labels of which each stands once and counts its speaker's turns: T1, C1, T2, C2."""
    labels = [(at, label) for at, label in enumerate(result.labels) if label]
    matches = [_NUMBERED.fullmatch(label.name) for _, label in labels]
    last: dict[str, int] = {}
    for match in matches:
        if match is None or int(match[2]) <= last.get(match[1], -1):
            return
        last[match[1]] = int(match[2])
    if len(last) < 2 or len(labels) < 4:
        return
    result.numbered = True
    for (at, label), match in zip(labels, matches, strict=True):
        if match is not None:
            result.labels[at] = SpeakerLabel(match[1], label.text, label.start, label.stop)


def short_aliases(names: Iterable[str]) -> Mapping[str, Role]:
    """What short labels such as ``T`` and ``C`` say beside one another; nothing where another short one is there."""
    short = {name.casefold() for name in names if len(name.rstrip(".")) < 4}
    return next((pair for pair in _SHORT if short & pair.keys() and pair.keys() == short & _WORDS), {})


_WORDS = {word for pair in _SHORT for word in pair}


@dataclass(slots=True)
class LabelledTurns:
    """Turns of labelled lines, before they are checked."""

    speakers: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    metas: list[dict[str, Any]] = field(default_factory=list)


def labelled_turns(source: SourceFile, lines: Sequence[tuple[str, str]]) -> LabelledTurns:
    """The turns of a text, with what was left out noted in the source's account.

    Args:
        source: the file; takes the aliases of short labels.
        lines: place and text of each.

    Raises:
        InputError: no two speakers are named, or the text is of several conversations.
    """
    labelled = labelled_lines([text for _, text in lines], source.options.roles)
    if len(labelled.speakers) < 2:
        raise InputError(
            "no lines begin with the names of two speakers",
            where=source.name,
            todo="begin each turn with who speaks, such as Doctor: and Patient:, "
            "or say who is who with `roles=NAME=clinician`",
        )
    _check_one_conversation(lines, labelled)
    note_labels(source, labelled)
    turns = LabelledTurns()
    left_out = source.account.left_out
    for (place, line), label in zip(lines, labelled.labels, strict=True):
        if label is not None:
            turns.speakers.append(label.name)
            turns.texts.append(label.text)
            turns.places.append(place)
            turns.metas.append(times(label.start, label.stop))
        elif not line.strip():
            continue
        elif not turns.texts:
            left_out["lines above the first speaker"] += 1
        elif _RULE.fullmatch(line):
            left_out["lines that are rules"] += 1
        elif _HEADING.match(line):
            left_out["headings"] += 1
        else:
            turns.texts[-1] = f"{turns.texts[-1]}\n{line.strip()}".strip()
    return turns


def note_labels(source: SourceFile, labelled: LabelledLines) -> None:
    """Say in the account how labels were understood, and let the source know short ones."""
    note_short_names(source, labelled.speakers)
    if labelled.numbered:
        source.account.remark("Numbers behind labels, as in T1 and C1, are taken for those of turns.")
    for name in dict.fromkeys(labelled.lone[:5]):
        source.account.remark(
            f"{name!r:.60} before a colon stands once and is taken for words of the turn it is in."
        )


def note_short_names(source: SourceFile, names: Sequence[str]) -> None:
    """Let the source know what short names such as T and C say beside one another, and say so in the account."""
    aliases = short_aliases(names)
    source.aliases = {**source.aliases, **aliases}
    roles_taken = {
        name: aliases[name.casefold()]
        for name in names
        if name.casefold() in aliases and name not in source.options.roles
    }
    if roles_taken:
        source.account.remark(
            f"{' and '.join(f'{name} is taken for the {role}' for name, role in roles_taken.items())}."
        )


def _check_one_conversation(lines: Sequence[tuple[str, str]], labelled: LabelledLines) -> None:
    """An error for a text that has several headings such as "Session 2" with speakers below."""
    begins: list[str] = []
    heading: tuple[str, str] | None = None
    for (place, line), label in zip(lines, labelled.labels, strict=True):
        if label is None and _SESSION.fullmatch(line.strip()):
            heading = (place, line.strip())
        elif label is not None and heading is not None:
            begins.append(f"{heading[1]!r:.40} ({heading[0].rpartition('/')[2]})")
            heading = None
    if len(begins) > 1:
        raise InputError(
            f"the text is of {len(begins)} conversations: {', '.join(begins[:3])}{' …' if begins[3:] else ''}",
            where=lines[0][0].rpartition(":")[0] or lines[0][0],
            todo="save each as a file of its own, or remove the headings where they are one conversation",
        )


def names_two_speakers(text: str, roles: Mapping[str, Role]) -> bool:
    """Whether the lines of a text begin with the names of two speakers or more."""
    return len(labelled_lines(text.splitlines(), roles).speakers) > 1
