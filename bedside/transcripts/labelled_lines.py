"""Lines of which some begin with who speaks: ``Doctor: …``, ``[00:12] Anna: …``, ``**T:** …``, ``咨询师：…``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bedside.support.errors import AmbiguousError, InputError
from bedside.support.plurals import counted
from bedside.transcripts.cell_dialogue import may_be_bracketed
from bedside.transcripts.timed_speech import TIME, seconds, times
from bedside.transcripts.transcript import THIRD_WORDS, Role, is_no_speaker, is_speaker_word, plain_name
from bedside.transcripts.transcript_maker import UnknownSpeakerError, is_speech

if TYPE_CHECKING:
    from bedside.transcripts.source_file import SourceFile

#: Short labels that say a role beside one another, in lower case: all of the file's must stand in one of these.
_SHORT: tuple[Mapping[str, Role], ...] = tuple(
    {clinician: "clinician", patient: "patient"}
    for clinician, patient in (
        pair.split()
        for pair in "t c,t cl,th cl,th pt,th p,t p,t pt,c p,d p,dr p,dr pt,dr. pt.,doc pt".split(",")
    )
)

# A label is looked for in so many characters of a line.
_REACH = 250
_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{2,4},?[ \u202f]+"
_LEAD = (
    r"(?:>[ \t]*)*(?P<item>(?:[-*•][ \t]+)?(?:\d{1,4}[.)][ \t]+)?)"
    rf"(?:[\[(<]?[ \t]*(?P<date>{_DATE})?(?P<start>{TIME})(?P<half>[ \u202f]?[AaPp]\.?[Mm]\b\.?)?"
    rf"(?:[ \t]*(?:-->|[-–—])[ \t]*(?P<stop>{TIME}))?[ \t]*[\])>]?[ \t]*(?:[-–—][ \t]+)?)?"
    r"(?:\d{1,4}[.)][ \t]+)?"
)
_NAME = r"[^\W\d_][^:：\n\t\[\]()<>{}|*\"“”!?,;]{0,39}?"
_AFTER = rf"(?:[ \t]*[\[(]?(?P<after>{TIME})[\])]?)?"
_IN_BRACKETS = r"(?P<name>[^\W\d_][^\[\]()\n]{0,39})"
_FORMS = {
    form: re.compile(_LEAD + end)
    for form, end in {
        "colon": rf"(?P<mark>[*_]{{0,3}})(?P<name>{_NAME}){_AFTER}[ \t]*(?P=mark)?[ \t]*[:：](?!//|\d\d)"
        r"(?P<close>[*_]{0,3})",
        "bracket": rf"\[{_IN_BRACKETS}\](?:[ \t]*[:：]|[ \t]+(?P<after>{TIME})[ \t]*$)?",
        "round": rf"\({_IN_BRACKETS}\)[ \t]*[:：]?",
        "time": rf"(?P<mark>[*_]{{0,3}})(?P<name>{_NAME})(?:[ \t]+|[ \t]*\()\[?(?P<after>{TIME})[\])]?(?P=mark)[ \t]*$",
        "dash": rf"(?P<mark>[*_]{{0,3}})(?P<name>{_NAME})(?P=mark)[ \t]+[-–—][ \t]+(?P<close>[*_]{{0,3}})",
        "tab": rf"(?P<mark>)(?P<name>{_NAME})[ ]*\t",
        "alone": rf"(?P<mark>[*_]{{0,3}})(?P<name>{_NAME})(?P=mark)[ \t]*$",
    }.items()
}
# Forms in which names that nobody knows are told by standing twice or more.
_TELLING = ("colon", "time", "dash")
# What a name looks like: up to four words of which the first begins with a capital or a letter that has none.
_LOOKS = re.compile(r"[^\W\d_a-z][\w.'’-]*(?:[ ](?:[\w.'’-]+|\([^)]*\))){0,3}")
# What may be a name though it stands once or twice: one word, or up to four that all begin so.
_MAY_BE = re.compile(
    r"[^\W\d_][\w.'’-]*|[^\W\d_a-z][\w.'’-]*(?:[ ](?:(?:of|de|von|van)[ ])?(?:[^\W\d_a-z][\w.'’-]*|\d+)){1,3}"
)
_NUMBERED = re.compile(r"([^\W\d_]{1,2})[ ]?(\d{1,4})")
_NUMBER = re.compile(r"[ _-]?(?:\d{1,4}|(?<=[ _-])[A-Z])$")
# Words that begin lines of a list or of advice, and no name.
_NO_NAMES = frozenset(
    """
    about also answer because but day example finally first fourth goal how however if important last next note number
    option or phone plan question reason remember result second so step summary task then third tip url warning week
    what when where why
    """.split()
)
_BESIDE = frozenset("of the s in law member step a my his her".split())
# A rule between parts, a heading as Markdown has it, the number of a page, a line in brackets, what is not shown.
_RULE = re.compile(r"[ \t]*(?:[-_*=~#][ \t]?){3,}[ \t]*")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+\S")
_PAGE = re.compile(
    r"\f?\s*(?:(?:page|seite|página)\s+\d{1,4}(?:\s*(?:of|von|de|/)\s*\d{1,4})?|[-–]\s*\d{1,4}\s*[-–])\s*",
    re.I,
)
_DIRECTION = re.compile(r"\s*(?:\[[^\[\]]+\]|\([^()]+\))[.]?\s*")
_OMITTED = re.compile(r"\u200e?<?(?:media|image|video|audio|sticker|document|gif) omitted>?", re.I)
_SENTENCE = re.compile(r"[.?!。？！…][\"”’')]*\s*$")
# Lines of a head that say of what the next are, and the line that ends it.
_SECTION = re.compile(r"[#*_\s]*(description|background|case|scenario|summary|history)[\s:：*_]*", re.I)
_BEGINS = re.compile(r"[#*_\s]*(?:dialogue|dialog|conversation|transcript)[\s:：*_]*", re.I)
# A line of a head that gives a field or a link; a line with a date.
_TITLED = re.compile(r"[^.?!:：]{1,40}[:：]|https?://\S+$")
_DATED = re.compile(rf"[\[(<]?{_DATE}{TIME}")
# What stands around lines and is not shown; how many things a message names; labels enough to tell a habit.
_AROUND = " \t\f\u200e\ufeff"
_SHOWN, _ENOUGH = 6, 6
# Headings that say a conversation of its own begins: its id, or a number that may be that of a part.
_ID = re.compile(
    r"(?:#{1,6}[ \t]+)?[*_]{0,3}(?:(?:dialogue|dialog|conversation|transcript)[ _-]?)?id[ \t]*[=:][ \t]*"
    r"([\w.-]{1,60})[*_]{0,3}[ \t]*",
    re.I,
)
_SESSION = re.compile(
    r"(?:#{1,6}[ \t]+)?[*_]{0,3}"
    r"(?:session|interview|transcript|dialogue|dialog|conversation|case|patient|participant|visit)"
    r"[ \t]*(?:#|no\.?|number)?[ \t]*\d{1,5}\b[^:：]{0,60}[:：]?[*_]{0,3}[ \t]*",
    re.I,
)


@dataclass(frozen=True, slots=True)
class SpeakerLabel:
    """Who speaks from a line on.

    Attributes:
        name: of the speaker, as written.
        text: what follows on the line.
        meta: what a turn's meta says of its times: ``start`` and ``stop`` in seconds, or date and ``time`` as written.
    """

    name: str
    text: str
    meta: dict[str, Any]


@dataclass(slots=True)
class LabelledLines:
    """Where speakers begin.

    Attributes:
        labels: of each line; None for one that goes on with what is before it.
        plain: beginnings of lines that look like a label and are words of a turn, with the numbers of their lines.
        doubtful: those of which nothing tells whether they are.
        unlabelled: numbers of lines that seem to lack a label.
        numbered: whether numbers behind labels (``T1:``, ``C1:``) were taken for those of turns.
    """

    labels: list[SpeakerLabel | None]
    plain: dict[str, list[int]] = field(default_factory=dict)
    doubtful: dict[str, list[int]] = field(default_factory=dict)
    unlabelled: list[int] = field(default_factory=list)
    numbered: bool = False

    @property
    def speakers(self) -> list[str]:
        """Names of all who speak, each once."""
        return list(dict.fromkeys(label.name for label in self.labels if label))


#: A line's label: its form and what was matched of the line.
_Entry = tuple[str, re.Match[str]]


def labelled_lines(lines: Sequence[str], roles: Mapping[str, str]) -> LabelledLines:
    """The speakers' labels of lines, all of one form as far as names are not known.

    Of the forms (``Name: …``, ``[name] …``, ``(name) …``, ``Name  00:12`` alone, ``Name - …``, ``Name<tab>…``, a known
    name alone) the one counts that tells most lines of two speakers or more. A speaker is whose name is known or says a
    third person; where fewer than two are, those whose names begin most lines. Whatever else stands like a label is one
    where every line has one. It is words of a turn where it stands otherwise than the labels do (in a list, in bold,
    without a time), and where ``roles`` names two who speak, unless it stands three times or more.

    Args:
        lines: of a text.
        roles: role by speaker, from the user, or ``text`` for what is no speaker.
    """
    stripped = [line.lstrip(_AROUND)[:_REACH] for line in lines]
    matches = {form: [pattern.match(line) for line in stripped] for form, pattern in _FORMS.items()}
    chosen, names, most = "", set[str](), 0
    for form, of_lines in matches.items():
        said = [match["name"].strip() for match in of_lines if match]
        speakers = _speakers(form, said, roles)
        count = sum(name in speakers for name in said)
        if len(speakers) > 1 and count > most:
            chosen, names, most = form, speakers, count
    if not chosen:
        return LabelledLines([None] * len(lines))
    forms = [chosen, *(form for form in _FORMS if form not in (chosen, "alone"))]
    of_line = [[(form, match) for form in forms if (match := matches[form][at])] for at in range(len(lines))]
    entries = [next((entry for entry in begins if _name(entry) in names), None) for begins in of_line]
    first = next(at for at, entry in enumerate(entries) if entry)
    styles = {_style(entry, stripped[at]) for at, entry in enumerate(entries) if entry}
    timed = all(style[3] for style in styles)
    result = LabelledLines([])
    strangers: dict[str, list[tuple[int, _Entry, bool]]] = {}
    goes_on: list[int] = []
    awaited = False  # whether what was said by whom the last line named is still to come
    for at in range(first, len(lines)):
        if not stripped[at].strip() or _RULE.fullmatch(stripped[at]):
            continue
        like = entries[at]
        if like is None:
            like = next((entry for entry in of_line[at] if _is_like_a_label(entry, chosen, roles)), None)
            alike = like is not None and _style(like, stripped[at]) in styles
            if like is not None and (_is_third(_name(like)) or (alike and timed and like[0] == chosen)):
                entries[at] = like
            elif like is not None:
                strangers.setdefault(_name(like), []).append((at, like, alike))
            if not (alike or awaited or entries[at]):
                goes_on.append(at)
        awaited = like is not None and not _style(like, stripped[at])[4]
    names_two = sum(plain_name(name) in map(plain_name, roles) for name in names) > 1
    for name, places in strangers.items():
        numbers = [at for at, _, _ in places]
        if not goes_on:
            for at, like, _ in places:
                entries[at] = like
        elif len(places) > 2 or (not names_two and any(alike for _, _, alike in places)):
            result.doubtful[name] = numbers
        else:
            result.plain[name] = numbers
    result.labels = [entry and _label(entry, lines[at]) for at, entry in enumerate(entries)]
    if not names_two:
        result.unlabelled = _unlabelled(result.labels, goes_on, stripped)
    _number_turns(result)
    return result


def _name(entry: _Entry) -> str:
    return entry[1]["name"].strip()


def _style(entry: _Entry, line: str) -> tuple[str, bool, bool, bool, bool]:
    """How a label stands: its form, whether as an item of a list, in bold, with a time, and with words behind it."""
    form, match = entry
    parts = match.groupdict()
    timed = bool(parts.get("start") or parts.get("after"))
    return form, bool(parts["item"]), bool(parts.get("mark")), timed, bool(line[match.end() :].strip())


def _is_like_a_label(entry: _Entry, chosen: str, roles: Mapping[str, str]) -> bool:
    """Whether a line of which nobody knows the name begins as one with a label does."""
    form, name = entry[0], _name(entry)
    if is_no_speaker(name, roles):
        return False
    if form in ("bracket", "round"):
        behind = entry[1].string[entry[1].end() :].strip()
        told = behind or entry[1].groupdict().get("after")
        return bool(told) and may_be_bracketed(name) and (chosen == form or _is_third(name))
    return form in (chosen, "colon") and (
        _is_third(name) or bool(form != "alone" and _MAY_BE.fullmatch(name))
    )


def _is_third(name: str) -> bool:
    """Whether a name says a third person, such as mother, guest_family, Mother of Anna."""
    words = re.findall(r"[^\W\d_]+", name)
    thirds = [word.casefold() in THIRD_WORDS for word in words]
    rest = (
        known or word.casefold() in _BESIDE or is_speaker_word(word) or before.casefold() == "of"
        for known, word, before in zip(thirds, words, ["", *words], strict=False)
    )
    return any(thirds) and all(rest)


def _unlabelled(
    labels: Sequence[SpeakerLabel | None], goes_on: Sequence[int], lines: Sequence[str]
) -> list[int]:
    """Lines that seem to lack a label: the only one of a text that goes on with the one before, and those between two
    labels of one speaker where speakers take turns elsewhere."""
    at_labels = [at for at, label in enumerate(labels) if label]
    sentences = [at for at in goes_on if is_speech(lines[at]) and _SENTENCE.search(lines[at])]
    if len(at_labels) < _ENOUGH or not sentences:
        return []
    if len(goes_on) == 1:
        return sentences
    between: list[int] = []
    same = 0
    for before, after in pairwise(at_labels):
        if labels[before].name == labels[after].name:  # type: ignore[union-attr]
            same += 1
            between += [at for at in sentences if before < at < after][:1]
    return between if between and same == len(between) <= 0.1 * len(at_labels) else []


def _speakers(form: str, names: list[str], roles: Mapping[str, str]) -> set[str]:
    """The names that are a speaker's where they stand in this form."""
    counts = Counter(names)
    lowered = {name.casefold() for name in counts}
    short = {word for pair in _SHORT if pair.keys() <= lowered for word in pair}
    known = {name for name in counts if name.casefold() in short or is_speaker_word(name, roles)}
    if form == "alone":
        return known
    bases = {_NUMBER.sub("", name) for name in known if is_speaker_word(_NUMBER.sub("", name), roles)}
    if form in _TELLING and len(known) < 2:
        weights: Counter[str] = Counter()
        for name, count in counts.items():
            number = _NUMBERED.fullmatch(name)
            if name not in known and _may_recur(name, roles):
                weights[number[1] if number else name] += count
        ranked = [(name, count) for name, count in weights.most_common() if count > 1]
        level = ranked[: 2 - len(known)][-1][1] if ranked else 0
        chosen = {
            name
            for at, (name, count) in enumerate(ranked)
            if at < 2 - len(known) or (count > 2 and 2 * count >= level)
        }
        known |= {
            name
            for name in counts
            if name in chosen or ((number := _NUMBERED.fullmatch(name)) and number[1] in chosen)
        }
        bases |= {base for name in known if (base := _NUMBER.sub("", name)) != name}
    numbered = {name for name in counts if (base := _NUMBER.sub("", name)) and base != name and base in bases}
    return known | numbered | ({name for name in counts if _is_third(name)} if known else set())


def _may_recur(name: str, roles: Mapping[str, str]) -> bool:
    first = name.split()[0].casefold()
    return bool(_LOOKS.fullmatch(name)) and first not in _NO_NAMES and not is_no_speaker(name, roles)


def _label(entry: _Entry, line: str) -> SpeakerLabel:
    match = entry[1]
    parts = match.groupdict()
    text = line.lstrip(_AROUND)[match.end() :].strip()
    mark = (parts.get("mark") or "").strip()
    if mark and not parts.get("close") and text.startswith(mark):
        text = text[len(mark) :].strip()
    start, stop = (seconds(parts[key]) if parts[key] else None for key in ("start", "stop"))
    if parts["date"] or parts["half"]:
        meta = {"time": " ".join(f"{parts['date'] or ''}{parts['start']}{parts['half'] or ''}".split())}
    else:
        meta = times(seconds(parts["after"]) if start is None and parts.get("after") else start, stop)
    return SpeakerLabel(match["name"].strip(), text, meta)


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
            result.labels[at] = replace(label, name=match[1])


def short_aliases(names: Iterable[str]) -> Mapping[str, Role]:
    """What short labels such as ``T`` and ``C`` say beside one another; nothing where another short one is there."""
    short = {name.casefold() for name in names if len(name.rstrip(".")) < 4}
    if short & _WORDS == _EITHER:
        return {}
    return next((pair for pair in _SHORT if short & pair.keys() and pair.keys() == short & _WORDS), {})


_WORDS = {word for pair in _SHORT for word in pair}
#: Counsellor and patient, or client and psychologist: speakers, but of which role their names don't say.
_EITHER = {"c", "p"}


@dataclass(slots=True)
class LabelledTurns:
    """Turns of labelled lines, before they are checked.

    Attributes:
        reference: what the text says of the conversation above it, such as its description.
    """

    speakers: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    metas: list[dict[str, Any]] = field(default_factory=list)
    reference: dict[str, str] = field(default_factory=dict)


#: Place and text of a line.
_Line = tuple[str, str]


def labelled_turns(source: SourceFile, lines: Sequence[_Line]) -> LabelledTurns:
    """The turns of a text; what is none is noted in the source's account.

    Args:
        source: the file; takes the aliases of short labels.
        lines: place and text of each.

    Raises:
        InputError: no two speakers are named.
        AmbiguousError: the text may be of several conversations, or nothing tells who speaks a line.
    """
    labelled = labelled_lines([text for _, text in lines], source.options.roles)
    if len(labelled.speakers) < 2:
        raise InputError(
            "no lines begin with the names of two speakers",
            where=source.name,
            todo="begin each turn with who speaks, such as Doctor: and Patient:, "
            "or say who is who with `roles=NAME=clinician`",
        )
    _check_one_conversation(source, lines, labelled)
    settle_labels(source, labelled, lines)
    turns = LabelledTurns()
    account = source.account
    dated = any(label and "time" in label.meta for label in labelled.labels)
    section = ""
    for at, ((place, line), label) in enumerate(zip(lines, labelled.labels, strict=True)):
        if label is not None and _OMITTED.fullmatch(label.text):
            account.left_out["omitted media"] += 1
        elif label is not None:
            turns.speakers.append(label.name)
            turns.texts.append(label.text)
            turns.places.append(place)
            turns.metas.append(label.meta)
        elif not line.strip():
            continue
        elif _RULE.fullmatch(line):
            account.left_out["rules"] += 1
        elif not turns.texts:
            if named := _SECTION.fullmatch(line):
                section = named[1].casefold()
            elif _BEGINS.fullmatch(line):
                section = ""
            elif section:
                turns.reference[section] = f"{turns.reference.get(section, '')}\n{line.strip()}".strip()
            else:
                set_aside(source, "lines above the first speaker", line.strip(), place)
        elif _PAGE.fullmatch(line):
            account.note_unread("numbers of pages", line.strip(), place)
        elif (_HEADING.match(line) or _SESSION.fullmatch(line.strip())) and _ends_part(lines, labelled, at):
            account.note_unread("headings", line.strip(), place)
        elif dated and _DATED.match(line.lstrip(_AROUND)):
            account.note_unread("lines with a time and no speaker", line.strip(), place)
        else:
            if _DIRECTION.fullmatch(line):
                account.remark(
                    "Lines in brackets stay in the turn before them, such as that of " + f"{place}."
                )
            turns.texts[-1] = f"{turns.texts[-1]}\n{line.strip()}".strip()
    return turns


def set_aside(source: SourceFile, name: str, text: str, place: str) -> None:
    """Note a text beside the turns; stop at a sentence that may have been said.

    Raises:
        AmbiguousError: it is one, and the user did not say that it is left out.
    """
    if _SENTENCE.search(text) and not _TITLED.match(text):
        source.check_unread(name, text, place, instead="begin it with who says it")
    else:
        source.account.note_unread(name, text, place)


def _ends_part(lines: Sequence[_Line], labelled: LabelledLines, at: int) -> bool:
    """Whether nothing but headings, rules and blank lines stands between a line and the next label."""
    for after in range(at + 1, len(lines)):
        if labelled.labels[after] is not None:
            return True
        text = lines[after][1]
        if text.strip() and not _RULE.fullmatch(text) and not _HEADING.match(text):
            return False
    return False


def settle_labels(source: SourceFile, labelled: LabelledLines, lines: Sequence[_Line]) -> None:
    """Say in the account how labels were understood, let the source know short ones, and stop at those in doubt.

    Args:
        source: the file.
        labelled: its labels.
        lines: place and text of each.

    Raises:
        UnknownSpeakerError: nothing tells the role of a speaker, and there are labels in doubt.
        AmbiguousError: there are labels in doubt, or lines that seem to lack one.
    """
    note_short_names(source, labelled.speakers)
    if labelled.numbered:
        source.account.remark("Numbers behind labels, as in T1 and C1, are taken for those of turns.")
    if source.unknown is not None:
        return  # Another reading tells what else is wrong.
    if labelled.doubtful:
        shown = [
            f"{name!r} ({counted(len(places), 'line')}, such as {_number(lines[places[0]][0])}: "
            f"{lines[places[0]][1].strip():.50})"
            for name, places in list(labelled.doubtful.items())[:_SHOWN]
        ]
        more = f" and {len(labelled.doubtful) - _SHOWN:,} more" if len(labelled.doubtful) > _SHOWN else ""
        doubt = f"{', '.join(shown)}{more} may be who speaks, or words of the turn before"
        example = next(iter(labelled.doubtful))
        name = f'"{example}"' if re.search(r"\W", example) else example
        decides = (
            f"say that it is no speaker with `roles={name}=text`, or who it is, such as `roles={name}=other`; what "
            "stands once or twice is text where `roles` names two who speak"
        )
        first: dict[str, str] = {}
        for (place, _), label in zip(lines, labelled.labels, strict=True):
            if label is not None:
                first.setdefault(label.name, place)
        try:
            source.roles(list(first), list(first.values()))
        except UnknownSpeakerError as error:
            error.beside = f"{doubt}: {decides}"
            raise
        raise AmbiguousError(doubt, where=lines[labelled.doubtful[example][0]][0], todo=decides)
    if labelled.unlabelled:
        place, text = lines[labelled.unlabelled[0]]
        raise AmbiguousError(
            f"this line begins with no speaker, as nearly all others do: {text.strip():.60}",
            where=place,
            todo="begin it with who says it; it goes on with the turn before where `roles` names two who speak",
        )
    if labelled.plain:
        names = ", ".join(repr(name)[:60] for name in list(labelled.plain)[:_SHOWN])
        numbers = sorted(at for places in labelled.plain.values() for at in places)
        shown_at = ", ".join(_number(lines[at][0]) for at in numbers[:_SHOWN])
        more = f" and {len(numbers) - _SHOWN:,} more" if len(numbers) > _SHOWN else ""
        source.account.remark(
            f"{names}{' …' if len(labelled.plain) > _SHOWN else ''} before a colon or in brackets ({shown_at}{more}) "
            "are taken for words of the turn they stand in."
        )


def _number(place: str) -> str:
    """The part of a place that tells the line within its file."""
    number = re.split(r"[:,]", place)[-1].strip()
    return f"line {number}" if number.isdigit() else number


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


def dialogues(
    lines: Sequence[_Line], roles: Mapping[str, str]
) -> Iterator[tuple[str | None, Sequence[_Line]]]:
    """Id and lines of each dialogue of a text: those below headings that give an id, else all lines with none.

    Raises:
        InputError: two have one id.
    """
    begins = [(at, match[1]) for at, (_, line) in enumerate(lines) if (match := _ID.fullmatch(line.strip()))]
    ends = [*(at for at, _ in begins), len(lines)][1:]
    parts = [(name, lines[at + 1 : end]) for (at, name), end in zip(begins, ends, strict=True)]
    if not parts or not all(
        names_two_speakers("\n".join(line for _, line in part), roles) for _, part in parts
    ):
        yield None, lines
        return
    twice = next((name for name, count in Counter(name for name, _ in parts).items() if count > 1), None)
    if twice is not None:
        raise InputError(
            f"two dialogues have the id {twice!r}", where=lines[0][0], todo="give each an id of its own"
        )
    yield parts[0][0], [*lines[: begins[0][0]], *parts[0][1]]
    yield from parts[1:]


def _check_one_conversation(source: SourceFile, lines: Sequence[_Line], labelled: LabelledLines) -> None:
    """An error for a text that has several headings such as "Session 2", or rules, with a talk below each."""
    begins: list[str] = []
    heading: tuple[str, str] | None = None
    parts: list[list[str]] = [[]]
    for (place, line), label in zip(lines, labelled.labels, strict=True):
        if label is None and _SESSION.fullmatch(line.strip()):
            heading = (place, line.strip())
        elif label is None and _RULE.fullmatch(line):
            parts.append([])
        elif label is not None:
            parts[-1].append(label.name)
            if heading is not None:
                begins.append(f"{heading[1]!r:.40} ({_number(heading[0])})")
                heading = None
    divided = [part for part in parts if part]
    what, number, shown = "", 0, ""
    if len(begins) > 1 and not source.options.leaves_out("headings"):
        what, number, shown = (
            "headings",
            len(begins),
            f": {', '.join(begins[:3])}{' …' if begins[3:] else ''}",
        )
    elif (
        len(divided) > 1
        and not source.options.leaves_out("rules")
        and all(len({*part}) > 1 and part[0] == divided[0][0] != part[-1] for part in divided)
        and all(len(part) > 3 for part in divided)
    ):
        what, number = "rules", len(divided)
    if what:
        raise AmbiguousError(
            f"the text is of {number} conversations, or of one with {what} in it{shown}",
            where=lines[0][0].rpartition(":")[0] or lines[0][0],
            todo=f"save each as a file of its own, or say that it is one with `leave_out={what}`",
        )


def names_two_speakers(text: str, roles: Mapping[str, str]) -> bool:
    """Whether the lines of a text begin with the names of two speakers or more."""
    return len(labelled_lines(text.splitlines(), roles).speakers) > 1
