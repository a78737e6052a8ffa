"""Labels that say who speaks: before lines (``Doctor: …``, ``[00:12] Anna: …``, ``**T:** …``) and within a cell."""

from __future__ import annotations

import re
import sys
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from bedside.core.errors import AmbiguousError, InputError
from bedside.core.words import counted
from bedside.transcripts.timed_speech import TIME, Utterance, joined_text, seconds
from bedside.transcripts.transcript import (
    ROLE_ALIASES,
    THIRD_WORDS,
    Dialogue,
    Role,
    is_no_speaker,
    is_speaker_word,
    plain_name,
    role_of,
)
from bedside.transcripts.transcript_maker import TranscriptMaker, UnknownSpeakerError, is_speech

#: Labels that say a role beside one another, in lower case: all of the file's must stand in one of these.
_SHORT: tuple[Mapping[str, Role], ...] = tuple(
    {clinician: "clinician", patient: "patient"}
    for clinician, patient in (
        pair.split()
        for pair in "t c,t cl,th cl,th pt,th p,t p,t pt,c p,d p,dr p,dr pt,dr. pt.,doc pt,agent user".split(",")
    )
)

_SHORT_WORDS = {word for pair in _SHORT for word in pair}
# A label is looked for in so many characters of a line.
_REACH = 250
_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{2,4},?[ \u202f]+"
_LEAD = (
    r"(?:>[ \t]*)*(?P<item>(?:[-–—•][ \t]*|\*[ \t]+)?(?:\d{1,4}[.)][ \t]+)?)"
    rf"(?:[\[(<]?[ \t]*(?P<date>{_DATE})?(?P<start>{TIME})(?P<half>[ \u202f]?[AaPp]\.?[Mm]\b\.?)?"
    rf"(?:[ \t]*(?:-->|[-–—])[ \t]*(?P<stop>{TIME}))?[ \t]*[\])>]?[ \t]*(?:[-–—][ \t]+)?)?"
    r"(?:\d{1,4}[.)][ \t]+)?"
)
_NAME = r"[^\W\d_][^:：\n\t\[\]()<>{}|*\"“”!?,;]{0,39}?"
# As Teams and address books have it: Lee, Jane (Therapist).
_FULL_NAME = r"[^\W\d_][^:：\n\t\[\]<>{}|*\"“”!?;]{0,59}?"
_AFTER = rf"(?:[ \t]*[\[(]?(?P<after>{TIME})[\])]?)?"
# What stands behind a name and is no part of it: Patient (crying): … or Patient, crying: …
_NOTE = r"(?P<note>[ \t]*(?:[(（\[][^()（）\[\]\n:：]{1,40}[)）\]]|,[ \t][^\W\d_][^:：\n\t,;.?!()\[\]]{0,29}))"
_IN_BRACKETS = r"(?P<name>[^\W\d_][^\[\]()\n]{0,39})"
_FORMS = {
    form: re.compile(_LEAD + end)
    for form, end in {
        "colon": rf"(?P<mark>[*_]{{0,3}})(?P<name>{_NAME}){_AFTER}{_NOTE}?(?:[ \t]*[\[(]?(?P<later>{TIME})[\])]?)?"
        r"[ \t]*(?P=mark)?[ \t]*[:：](?!//|\d\d)(?P<close>[*_]{0,3})",
        "bracket": rf"\[{_IN_BRACKETS}\](?:[ \t]*[:：]|[ \t]+(?P<after>{TIME})[ \t]*$)?",
        "round": rf"\({_IN_BRACKETS}\)[ \t]*[:：]?",
        "time": rf"(?P<mark>[*_]{{0,3}})(?P<name>{_NAME})(?:[ \t]+|[ \t]*\()\[?(?P<after>{TIME})[\])]?(?P=mark)[ \t]*$",
        "timed": rf"(?P<mark>[*_]{{0,3}})(?P<name>{_NAME})[ \t]*[\[(](?P<after>{TIME})[\])](?P=mark)[ \t]+(?=\S)",
        "dash": rf"(?P<mark>[*_]{{0,3}})(?P<name>{_NAME})(?P=mark)[ \t]+[-–—][ \t]+(?P<close>[*_]{{0,3}})",
        "tab": rf"(?P<mark>)(?P<name>{_NAME})[ ]*\t",
        "closed": rf"\[{_IN_BRACKETS}\][ \t]+(?P<after>{TIME})[ \t]*$",
        "full": rf"(?P<name>{_FULL_NAME})(?:[ ]{{2,}}|\t[ \t]*)(?P<after>{TIME})[ \t]*$",
        "heading": rf"#{{1,6}}[ \t]+(?P<mark>[*_]{{0,3}})(?P<name>{_NAME})(?P=mark)[ \t]*$",
        "alone": rf"(?P<mark>[*_]{{0,3}})(?P<name>{_NAME})(?P=mark)[ \t]*$",
        "quoted": rf"(?P<name>[\"“„«‘]{_NAME})[ \t]*[:：](?!//)",
        "ended": rf"(?P<name>{_NAME}[;.；])[ \t]+(?=\S)",
    }.items()
}
# Forms in which names that nobody knows are told by standing twice or more.
_TELLING = ("colon", "time", "timed", "dash", "closed", "full")
# Forms in which only known names stand, and those in which one is always in doubt.
_ALONE = ("heading", "alone")
_UNUSUAL = ("quoted", "ended")
# What a name looks like: up to four words of which the first begins with a capital or a letter that has none.
_LOOKS = re.compile(r"[^\W\d_a-z][\w.'’-]*,?(?:[ ](?:[\w.'’-]+|\([^)]*\))){0,3}")
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
    r"\f?\s*(?:(?:page|seite|página)\s+\d{1,4}(?:\s*(?:of|von|de|/)\s*\d{1,4})?|[-–]\s*\d{1,4}\s*[-–])\s*", re.I
)
_DIRECTION = re.compile(r"\s*(?:\[[^\[\]]+\]|\([^()]+\))[.]?\s*")
# A name with a note in brackets behind it.
_NOTED = re.compile(r"(?P<name>[^()（）\[\]\n]{1,40}?)[ \t]*(?P<note>[(（\[][^()（）\[\]\n]{1,40}[)）\]])")
# What stands between a name and further words of a label.
_BETWEEN = re.compile(r"(?:['’]s?)?[\s/&+,(（\[]+")
_BY_PROGRAM = (
    "Labels in lower case take turns from the first line on: whatever else stands like one is words of a turn. If "
    "one speaks, name it with `roles`."
)
# What WhatsApp writes where a picture or a message was, in the languages of its exports.
_OMITTED = re.compile(
    r"<?(?:(?:media|image|video|audio|sticker|document|gif|contact card) omitted|medien ausgeschlossen|"
    r"(?:bild|video|audio|sticker|dokument|gif) weggelassen|"
    r"(?:multimedia|imagen|video|audio|sticker|documento|gif) omitid[oa]|(?:arquivo de )?mídia ocult[oa]|"
    r"(?:imagem|vídeo|áudio|figurinha|documento|gif) ocultad[oa]|médias omis|"
    r"(?:image|vidéo|audio|sticker|document|gif) absente?|media omessi|"
    r"(?:immagine|video|audio|sticker|documento|gif) omess[oai]|"
    r"(?:media|afbeelding|video|audio|sticker|document|gif) weggelaten|без медиафайлов)>?",
    re.I,
)
_DELETED = re.compile(
    r"(?:this message was deleted|you deleted this message|diese nachricht wurde gelöscht|"
    r"du hast diese nachricht gelöscht|se eliminó este mensaje|este mensaje fue eliminado|eliminaste este mensaje|"
    r"mensagem apagada|esta mensagem foi apagada|você apagou esta mensagem|ce message a été supprimé|"
    r"vous avez supprimé ce message|questo messaggio è stato eliminato|hai eliminato questo messaggio|"
    r"dit bericht is verwijderd|je hebt dit bericht verwijderd|"
    r"данное сообщение удалено|вы удалили данное сообщение)\.?",
    re.I,
)
# What a transcriber writes below the last turn.
_ENDS = re.compile(
    r"[\W_]*(?:(?:the )?end of (?:the |this )?(?:transcript(?:ion)?|session|interview|recording|audio|conversation)|"
    r"end (?:transcript|recording)|ende (?:der|des) (?:transkript\w*|sitzung|aufnahme|interviews|gesprächs)|"
    r"(?:transcript(?:ion)?|session|interview|recording|audio) (?:end(?:s|ed)|stop(?:s|ped)))[\W_]*|"
    r"[\W_]*transcri(?:bed|ption) (?:by|with) .*|[\W_]*(?:transkribiert|transcrito|transcrit) (?:von|mit|por|par) .*",
    re.I,
)
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
# A colon that is of no time.
_COLON = re.compile(r"(?<!\d)[:：]|[:：](?!\d)")
_LETTER = re.compile(r"\w")
# So many lines are looked at for what stands instead of labels.
_LOOKED_AT = 200
# The longest word that makes a line begin anew.
_WIDEST = 12
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
# A heading that is a date; what counts in headings of one kind.
_DAY = re.compile(
    r"(?:[^\W\d_]+\.?,? )?(?:\d{1,4}[./-]\d{1,2}[./-]\d{2,4}|\d{4}年\d{1,2}月\d{1,2}日|"
    r"\d{1,2}(?:st|nd|rd|th|\.)? (?:de |of )?[^\W\d_]+\.?,? (?:de )?\d{4}|"
    r"[^\W\d_]+\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4})"
)
# A time on a line of its own.
_TIME_ALONE = re.compile(
    rf"[\[(<]?(?P<start>{TIME})(?:[ \t]*(?:-->|[-–—])[ \t]*(?P<stop>{TIME}))?[\])>]?[ \t]*(?:[-–—:][ \t]*)?"
)
_COUNT = re.compile(r"[\d一二三四五六七八九十]+")
#: What transcribers put in brackets that is no speaker.
_NOISES = frozenset(
    """
    inaudible unintelligible indistinct indiscernible crosstalk overlapping overlap laughter laughs laughing laugh
    chuckles pause pauses silence noise noises music sigh sighs sighing cough coughs coughing crying cries sobs sobbing
    sniffs sniffles applause redacted deidentified name phone rings beep static background nods gasps whispers sic
    blank break end start
    foreign ph
    """.split()
)
#: Words within the labels of third persons.
_THIRDS = THIRD_WORDS | {"patient", "doctor"}
# A label at the beginning of a line: a name in brackets, or a name and a colon; perhaps in bold or behind a quote.
_LINE = re.compile(
    r"^[ \t]*[\"“*_]{0,3}[ \t]*(?:\[[ \t]*(?P<bracket>[^\]\n]{1,40}?)[ \t]*\](?:[ \t]*[:：])?"
    r"|(?P<name>[^\W\d_][^:：\n\[\]]{0,39}?)[ \t]*[*_]{0,3}[ \t]*[:：](?!//)[*_]{0,3})",
    re.MULTILINE,
)
# What no label goes without.
_MARK = re.compile(r"[\]:：]")
# What a name looks like: up to three words that begin with a capital, or a few Chinese characters.
_NAME_IN_CELL = re.compile(r"[^\W\d_a-z][\w.'’-]*(?: (?:[^\W\d_a-z][\w.'’-]*|\d+)){0,2}")
_WORD = re.compile(r"[^\W\d_][\w.'’-]{0,29}")
_WORDS_IN_BRACKETS = re.compile(r"[^\W\d_][\w.'’/-]*(?: [\w.'’/-]+){0,2}")
# Within a line, what stands behind a sentence like a label: one or two words and a colon, or a known name in brackets.
_WITHIN = re.compile(
    r"(?:(?<=[.?!…。！？)\]])|(?<=[.?!…。！？)\]] )|(?<=[\w.?!…。！？][”\"])|(?<=[\w.?!…。！？][”\"] )|\A)[ \t]*"
    r"[*_]{0,3}(?P<name>[^\W\d_][\w.'’-]{0,19}(?: (?:[^\W\d_a-z][\w.'’-]{0,19}|\d{1,4}))?)"
    rf"{_NOTE}?[ \t]*[*_]{{0,3}}[:：](?!//)[*_]{{0,3}}"
)
_BRACKET_WITHIN = re.compile(r"\[[ \t]*(?P<name>[^\]\n]{1,40}?)[ \t]*\](?:[ \t]*[:：])?")


# -- Labels before lines -------------------------------------------------------------------------------


@dataclass(slots=True)
class LabelledLines:
    """Where speakers begin.

    Attributes:
        labels: of each line, who speaks and what follows on it; None for one that goes on with what is before it.
        plain: beginnings of lines that look like a label and are words of a turn, with the numbers of their lines.
        doubtful: those of which nothing tells whether they are.
        seeming: names among these that say one who speaks, though they don't stand as labels do.
        assumed: those in lower case that were taken for speakers because every line has a label.
        unlabelled: numbers of lines that seem to lack a label.
        times: numbers of lines above a label that hold its time.
        end: number of the line below all labels with which a transcriber ends.
        numbered: whether numbers behind labels (``T1:``, ``C1:``) were taken for those of turns.
        by_program: whether labels in lower case take turns from the first line on (``user:``, ``agent:``).
    """

    labels: list[Utterance | None]
    plain: dict[str, list[int]] = field(default_factory=dict)
    doubtful: dict[str, list[int]] = field(default_factory=dict)
    seeming: set[str] = field(default_factory=set)
    assumed: dict[str, list[int]] = field(default_factory=dict)
    unlabelled: list[int] = field(default_factory=list)
    times: set[int] = field(default_factory=set)
    end: int = sys.maxsize
    numbered: bool = False
    by_program: bool = False

    @property
    def speakers(self) -> list[str]:
        """Names of all who speak, each once."""
        return list(dict.fromkeys(label.speaker for label in self.labels if label))


class _Beginning(NamedTuple):
    """A line that begins in one of the forms as one with a label does: the name, and a note behind it."""

    form: str
    match: re.Match[str]
    name: str
    note: str = ""

    @classmethod
    def of(cls, form: str, match: re.Match[str], known: Callable[[str], bool]) -> _Beginning:
        """What stands behind a known name and names nobody is a note; else it is part of the name."""
        name, note = match["name"].strip(), (match.groupdict().get("note") or "")
        if form == "full" and (noted := _NOTED.fullmatch(name)):
            name, note = noted["name"], name[noted.end("name") :]
        if not note:
            return cls(form, match, name)
        words, comma = note.strip(" \t,()（）[]"), note.lstrip()[0] == ","
        who = _has_word(words, _THIRDS) or any(map(is_speaker_word, words.split()))
        if known(name) and not (who or known(f"{name}{note}")) and (not comma or _has_word(words, _NOISES)):
            return cls(form, match, name, f"({words})" if comma else note.strip())
        return cls(form, match, f"{name}{note}")

    @property
    def behind(self) -> str:
        return self.match.string[self.match.end() :].strip()

    @property
    def style(self) -> tuple[str, bool, bool, bool, bool]:
        """Its form, whether it is an item of a list, in bold, with a time, and with words behind it."""
        parts = self.match.groupdict()
        timed = bool(parts["start"] or parts.get("after") or parts.get("later"))
        return self.form, bool(parts["item"]), bool(parts.get("mark")), timed, bool(self.behind)

    def is_like(self, chosen: str, roles: Mapping[str, str]) -> bool:
        """Whether a name that nobody knows stands here as those do whose labels are of the chosen form."""
        third = _is_third(self.name)
        if is_no_speaker(self.name, roles):
            return False
        if self.form in ("bracket", "round"):
            told = bool(self.behind or self.match.groupdict().get("after"))
            return told and _may_be_bracketed(self.name) and (chosen == self.form or third)
        noted = _NOTED.fullmatch(self.name)
        base = noted["name"] if noted and _may_be_bracketed(noted["note"].strip("()（）[]")) else self.name
        named = self.form not in _ALONE and _MAY_BE.fullmatch(base) is not None
        return self.form in (chosen, "colon", "timed") and (third or named)

    def seems(self, names: Collection[str], roles: Mapping[str, str]) -> bool:
        """Whether it says one who speaks, though not as labels do: ``Patient and wife: …``, ``Maria (wife): …``."""
        if is_no_speaker(self.name, roles) or (self.name[0].islower() and not any(map(str.islower, names))):
            return False
        if self.form in _UNUSUAL:
            name = self.name.strip('"“„«‘;.；')
            return name in names and (len(name) > 3 or not self.name.endswith("."))
        if self.form not in ("colon", "timed", "dash"):
            return False
        noted = _NOTED.fullmatch(self.name)
        if noted and _has_word(noted["note"], THIRD_WORDS):
            return True
        words = _BETWEEN.split(self.name)
        first = [name for number in (1, 2, 3) if len(name := " ".join(words[:number])) > 1]
        sides = ("clinician", "patient")
        return any(role_of(name) in sides or (name in names and len(name) > 3) for name in first)

    def label(self, line: str) -> Utterance:
        """What it says of the whole line."""
        parts = {"close": "", "mark": "", "after": None, "later": None, **self.match.groupdict()}
        text = line.lstrip(_AROUND)[self.match.end() :].strip()
        if parts["mark"] and not parts["close"]:
            text = text.removeprefix(parts["mark"]).strip()
        text = joined_text((self.note, text))
        if parts["date"] or parts["half"]:
            time = f"{parts['date'] or ''}{parts['start']}{parts['half'] or ''}"
            return Utterance(self.name, text, time=" ".join(time.split()))
        begins = parts["start"] or parts["after"] or parts["later"]
        start, stop = (seconds(part) if part else None for part in (begins, parts["stop"]))
        return Utterance(self.name, text, start=start, stop=stop)


def labelled_lines(lines: Sequence[str], roles: Mapping[str, str]) -> LabelledLines:
    """The speakers' labels of lines, all of one form as far as names are not known.

    Of the forms (``Name: …``, ``[name] …``, ``(name) …``, ``Name  00:12`` alone, ``Name - …``, ``Name<tab>…``, a known
    name alone) the one counts that tells most lines of two speakers or more. A speaker is whose name is known or says a
    third person; where fewer than two are, those whose names begin most lines. Whatever else stands like a label is one
    where every line has one. It is words of a turn where it stands otherwise than the labels do (in a list, in bold,
    without a time), and where ``roles`` names two who speak, unless it stands three times or more; always where labels
    in lower case take turns from the first line on, and it begins with a capital.

    Args:
        lines: of a text.
        roles: role by speaker, from the user, or ``text`` for what is no speaker.
    """
    stripped = [line.lstrip(_AROUND)[:_REACH] for line in lines]
    matches = {form: [pattern.match(line) for line in stripped] for form, pattern in _FORMS.items()}
    unnoted = {match["name"].strip() for match in matches["colon"] if match and not match["note"]}

    def is_known(name: str) -> bool:
        return name in unnoted or is_speaker_word(name, roles)

    begins = {
        form: [match and _Beginning.of(form, match, is_known) for match in of_lines]
        for form, of_lines in matches.items()
    }
    chosen, names, most = "", set[str](), 0
    for form, of_lines in begins.items():
        begun = [shape.name for shape in of_lines if shape and (form == "full" or "," not in shape.name)]
        speakers = _speakers(form, begun, roles) if begun else set()
        count = sum(name in speakers for name in begun)
        if len(speakers) > 1 and count > most and form not in _UNUSUAL:
            chosen, names, most = form, speakers, count
    written = _written_by_machine(begins["colon"], stripped, roles)
    if written:
        chosen, names = "colon", written
    if not chosen:
        return LabelledLines([None] * len(lines))
    forms = [chosen, *(form for form in _FORMS if form not in (chosen, *_ALONE))]
    of_line = [[shape for form in forms if (shape := begins[form][at])] for at in range(len(lines))]
    entries = [
        next((shape for shape in shapes if shape.name in names or _is_told(shape.name, roles)), None)
        for shapes in of_line
    ]
    styles = {beginning.style for beginning in entries if beginning}
    timed = all(style[3] for style in styles)
    strangers: dict[str, list[tuple[int, _Beginning, bool]]] = {}
    width = max(map(len, lines))
    goes_on: list[int] = []
    awaited = False  # whether what was said by whom the last line named is still to come
    known = [at for at, beginning in enumerate(entries) if beginning]
    rounds = len(known) // 2
    below = range(known[-1] + 1, len(lines))
    end = next((at for at in below if _is_end(stripped[at], stripped[at - 1])), sys.maxsize)
    result = LabelledLines([], end=end, by_program=bool(written))
    for at in range(known[0], min(end, len(lines))):
        bare = stripped[at].strip()
        if not bare or _RULE.fullmatch(bare) or _TIME_ALONE.fullmatch(bare):
            continue
        for other in _others_within(lines[at], names, roles):
            result.doubtful.setdefault(other, []).append(at)
            result.seeming.add(other)
        like = entries[at]
        seeming = None if written else next((shape for shape in of_line[at] if shape.seems(names, roles)), None)
        if like is None and (like := seeming):
            as_labels = like.style[1:3] in {style[1:3] for style in styles} and _begins_anew(lines, at, width)
            like = like if as_labels else None
            if like:
                result.seeming.add(like.name)
        like = like or next((shape for shape in of_line[at] if shape.is_like(chosen, roles)), None)
        alike = like is not None and like.style in styles
        if like is not None and entries[at] is None:
            is_third = _is_third(like.name) and (not written or like.name[0].islower())
            if is_third or (alike and timed and like.form == chosen):
                entries[at] = like
            else:
                strangers.setdefault(like.name, []).append((at, like, alike))
        if not (alike or awaited or entries[at]):
            goes_on.append(at)
        awaited = like is not None and not like.behind
    names_two = bool(written) or sum(plain_name(name) in map(plain_name, roles) for name in names) > 1
    for name, places in strangers.items():
        if written and _is_third(name) and 2 * len(places) > rounds:
            for at, like, _ in places:
                entries[at] = like
        elif written and not (name[0].islower() and any(alike for _, _, alike in places)):
            result.plain[name] = [at for at, _, _ in places]
        elif not goes_on:
            if name[0].islower():
                result.assumed[name] = [at for at, _, _ in places]
            for at, like, _ in places:
                entries[at] = like
        else:
            doubtful = (
                name in result.seeming or len(places) > 2 or (not names_two and any(alike for _, _, alike in places))
            )
            (result.doubtful if doubtful else result.plain)[name] = [at for at, _, _ in places]
    result.labels = [beginning and beginning.label(lines[at]) for at, beginning in enumerate(entries)]
    _take_times_above(result, stripped)
    if not names_two:
        result.unlabelled = _unlabelled(result.labels, goes_on, stripped)
    _number_turns(result)
    return result


def _written_by_machine(begun: Sequence[_Beginning | None], lines: Sequence[str], roles: Mapping[str, str]) -> set[str]:
    """Two labels in lower case that take turns from the first line on (``user: …``, ``agent: …``), as programs write
    them; none where there are no such, or the first names nobody known."""
    opening = begun[next((at for at, line in enumerate(lines) if line.strip()), 0)] if begun else None
    names = [shape.name for shape in begun if shape and shape.name.islower() and not is_no_speaker(shape.name, roles)]
    pair = list(dict.fromkeys(names))[:2]
    labels = [name for name in names if name in pair]
    enough = len(labels) > 3 or bool(short_aliases(pair)) or all(is_speaker_word(name, roles) for name in pair)
    alternate = len(pair) == 2 and enough and all(one != other for one, other in pairwise(labels))
    opened = opening is not None and opening.name in pair[:1] and is_speaker_word(opening.name, roles)
    return set(pair) if opened and alternate else set()


def _others_within(line: str, names: Collection[str], roles: Mapping[str, str]) -> Iterator[str]:
    """Third persons, and sides that no line names, whose label stands behind a sentence within a line."""
    lower = all(name[0].islower() for name in names)
    if (label := _COLON.search(line)) is None:
        return
    for match in _WITHIN.finditer(line, label.end()):
        name = match["name"]
        speaks = name not in names and (_is_third(name) or role_of(name, roles) in ("clinician", "patient"))
        if speaks and name[0].islower() == lower and not is_no_speaker(name, roles):
            yield name


def _is_end(line: str, before: str) -> bool:
    """Whether a transcriber ends with a line, or begins a part of another kind, such as a summary."""
    return bool(_ENDS.fullmatch(line.strip()) or (not before.strip() and _SECTION.fullmatch(line)))


def _begins_anew(lines: Sequence[str], at: int, width: int) -> bool:
    """Whether a line is none that a text's width made of the one before."""
    before = lines[at - 1].rstrip() if at else ""
    first = min(len(lines[at].split(maxsplit=1)[0]), _WIDEST)
    return not before.strip() or bool(_SENTENCE.search(before)) or len(before) + first < width


def _take_times_above(result: LabelledLines, lines: Sequence[str]) -> None:
    """Give labels without a time the one that stands alone on the line above, in brackets or above most of them."""
    timed: list[tuple[int, re.Match[str], Utterance]] = []
    waiting: tuple[int, re.Match[str]] | None = None
    for at, (line, label) in enumerate(zip(lines, result.labels, strict=True)):
        if waiting and label and label.start is None and label.time is None:
            timed.append((*waiting, label))
        if line.strip():
            match = _TIME_ALONE.fullmatch(line.strip()) if label is None else None
            waiting = (at, match) if match else None
    most = 2 * len(timed) > sum(label is not None for label in result.labels)
    for at, match, label in timed:
        if most or not match.string[0].isdigit():
            result.times.add(at)
            label.start, label.stop = (seconds(time) if time else None for time in match.group("start", "stop"))


def parted(lines: Sequence[str], roles: Mapping[str, str]) -> list[tuple[int, str]]:
    """Number and text of each line, and of the parts of those in which another's known label stands behind a sentence.

    Args:
        lines: of a text.
        roles: role by speaker, from the user.
    """
    if not any(match.start() for line in lines for match in _WITHIN.finditer(line)):
        return [*enumerate(lines)]
    labelled = labelled_lines(lines, roles)
    speakers = {*labelled.speakers}

    def is_known(name: str) -> bool:
        if is_no_speaker(name, roles):
            return False
        sides = () if speakers else ("clinician", "patient")
        return name in speakers or _is_told(name, roles) or (not name[0].islower() and role_of(name, roles) in sides)

    parts: list[tuple[int, str]] = []
    for at, (line, label) in enumerate(zip(lines, labelled.labels, strict=True)):
        begins = [0]
        if _MARK.search(line) and (letter := _LETTER.search(line)):
            said_from = len(line.rstrip()) - len(label.text) if label else 0
            labels_at = [
                match.start()
                for match in _WITHIN.finditer(line)
                if match.start() >= said_from and is_known(match["name"])
            ]
            if len(speakers) > 1 or labels_at[:1] == [0]:
                begins += [begin for begin in labels_at if begin > letter.start()]
        parts += [(at, line[begin:end]) for begin, end in pairwise([*begins, len(line)])]
    return parts


def _is_told(name: str, roles: Mapping[str, str]) -> bool:
    """Whether the user says the role of this one."""
    return plain_name(name) in map(plain_name, roles) and not is_no_speaker(name, roles)


def names_two_speakers(text: str, roles: Mapping[str, str]) -> bool:
    """Whether the lines of a text begin with the names of two speakers or more."""
    if "\n" not in text and len(_MARK.findall(text)) < 2:
        return False
    return len(labelled_lines([line for _, line in parted(text.splitlines(), roles)], roles).speakers) > 1


def _is_third(name: str) -> bool:
    """Whether a name says a third person, such as mother, guest_family, Mother of Anna."""
    words = re.findall(r"[^\W\d_]+", name)
    thirds = [word.casefold() in THIRD_WORDS for word in words]
    return any(thirds) and all(
        third or word.casefold() in _BESIDE or is_speaker_word(word) or before.casefold() == "of"
        for third, word, before in zip(thirds, words, ["", *words], strict=False)
    )


def _speakers(form: str, names: list[str], roles: Mapping[str, str]) -> set[str]:
    """The names that are a speaker's where they stand in this form."""
    counts = Counter(names)
    lowered = {name.casefold() for name in counts}
    short = {word for pair in _SHORT if pair.keys() <= lowered for word in pair}
    known = {name for name in counts if name.casefold() in short or is_speaker_word(name, roles)}
    if form == "heading" and all(counts[name] < 2 for name in known):
        return set()  # Sections of a report.
    if form in _ALONE:
        return known
    bases = {base for name in counts if is_speaker_word(base := _NUMBER.sub("", name), roles)}
    lacking = 2 - len(known)
    if form in _TELLING and lacking > 0:
        weights: Counter[str] = Counter()
        for name, count in counts.items():
            looks = _LOOKS.fullmatch(name) and name.split()[0].casefold() not in _NO_NAMES
            if looks and name not in known and not is_no_speaker(name, roles):
                weights[_unnumbered(name)] += count
        ranked = [(name, count) for name, count in weights.most_common() if count > 1]
        level = ranked[:lacking][-1][1] if ranked else 0
        recurring = {
            name for at, (name, count) in enumerate(ranked) if at < lacking or (count > 2 and 2 * count >= level)
        }
        known |= {name for name in counts if _unnumbered(name) in recurring}
        bases |= {base for name in known if (base := _NUMBER.sub("", name)) != name}
    numbered = {name for name in counts if (base := _NUMBER.sub("", name)) and base != name and base in bases}
    return known | numbered | ({name for name in counts if _is_third(name)} if known else set())


def _unnumbered(name: str) -> str:
    number = _NUMBERED.fullmatch(name)
    return number[1] if number else name


def _unlabelled(labels: Sequence[Utterance | None], goes_on: Sequence[int], lines: Sequence[str]) -> list[int]:
    """Lines that seem to lack a label: the only one of a text that goes on with the one before, and those between two
    labels of one speaker where speakers take turns elsewhere."""
    names = [(at, label.speaker) for at, label in enumerate(labels) if label]
    if len(names) < _ENOUGH:
        return []
    if len(goes_on) == 1 and is_speech(lines[goes_on[0]]) and _SENTENCE.search(lines[goes_on[0]]):
        return [*goes_on]
    same = [(before, after) for (before, one), (after, other) in pairwise(names) if one == other]
    # Where hardly any other line goes on with the one before, fewer who take turns tell the habit.
    most = 0.1 if len(goes_on) > len(same) else 0.25
    if len(same) > most * len(names):
        return []
    width, counts = max(map(len, lines)), Counter(lines)

    def may_be_said(at: int) -> bool:
        line = lines[at].strip()
        beside = _DIRECTION.fullmatch(line) or _PAGE.fullmatch(line) or _HEADING.match(line) or _heading_kind(line)
        # Whoever types seldom ends with a full stop; what comes again is no words.
        whole = counts[lines[at]] == 1 and not (beside or _TITLED.match(line)) and _begins_anew(lines, at, width)
        return is_speech(line) and bool(_SENTENCE.search(line) or whole)

    between = [
        next((at for at in goes_on[bisect(goes_on, before) : bisect(goes_on, after)] if may_be_said(at)), None)
        for before, after in same
    ]
    return [at for at in between if at is not None] if None not in between else []


def _number_turns(result: LabelledLines) -> None:
    """Take the numbers off labels of which each stands once and counts its speaker's turns: T1, C1, T2, C2."""
    last: dict[str, int] = {}
    names = [label.speaker for label in result.labels if label]
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None or int(match[2]) <= last.get(match[1], -1):
            return
        last[match[1]] = int(match[2])
    if len(last) > 1 and len(names) > 3:
        result.numbered = True
        for label in filter(None, result.labels):
            label.speaker = _unnumbered(label.speaker)


# -- Labels within a text ------------------------------------------------------------------------------


#: Fewer labelled lines within a message quote no talk.
_QUOTED = 2


class CellLabel(NamedTuple):
    """A speaker's label within a text: where it begins and ends, and the name."""

    start: int
    end: int
    name: str


def cell_labels(text: str, roles: Mapping[str, str]) -> list[CellLabel]:
    """The speakers' labels of a dialogue in a cell, known or not, in order.

    At the beginning of a line these are labels: known names; whatever looks like a name (up to three capitalised words,
    and one word in lower case where known names stand beside it); a word in brackets where known names stand in
    brackets, unless it is a transcriber's note. Known names behind a sentence within such a line are labels too. Where
    fewer than two lines begin with one, known names are looked for within the text, and what stands like them.

    Args:
        text: the dialogue.
        roles: further names that are known.
    """
    if not _MARK.search(text):
        return []
    labels = _at_lines(text, roles)
    if len(labels) > 1:
        lower = labels[0].name[0].islower()
        if text[labels[0].start : labels[0].end].lstrip(' \t"“*_').startswith("["):
            return _with_more(labels, _BRACKET_WITHIN, text, lambda name: is_speaker_word(name, roles))
        # To look within lines takes longest, and where all marks are those of labels there is nothing to find.
        if len(_MARK.findall(text)) == sum(len(_MARK.findall(text, label.start, label.end)) for label in labels):
            return labels
        return _with_more(
            labels, _WITHIN, text, lambda name: name[0].islower() == lower and is_speaker_word(name, roles)
        )
    known = _with_more([], _anywhere(tuple(roles)), text, bool)
    if len(known) > 1:
        # In running text "the doctor: …" is no label where labels are capitalised.
        lower = known[0].name[0].islower()
        known = _with_more(
            [one for one in known if lower or not one.name[0].islower()],
            _WITHIN,
            text,
            lambda name: (lower or not name[0].islower()) and not is_no_speaker(name, roles),
        )
    return known if len(known) > len(labels) else labels


def labels_within(text: str) -> Iterator[str]:
    """Names that stand behind a sentence within a text as labels do."""
    if _MARK.search(text):
        yield from (match["name"] for match in _WITHIN.finditer(text) if match.start())


def known_labels(text: str, roles: Mapping[str, str]) -> int:
    """How many of a text's labels name known speakers."""
    return sum(is_speaker_word(label.name, roles) for label in cell_labels(text, roles))


def check_quoted(source: TranscriptMaker, dialogue: Dialogue, where: str | Sequence[str]) -> None:
    """An error where a message of a log is a talk: what was said before, or a model that plays both sides.

    Args:
        source: the file.
        dialogue: its turns.
        where: the place of the transcript, or the places of the turns.

    Raises:
        AmbiguousError: lines of a turn begin with the names of both sides, and the user didn't say that they name no
            speakers.
    """
    for at, turn in enumerate(dialogue.turns):
        text = turn.text
        if text.count("\n") < _QUOTED or not _MARK.search(text):
            continue
        labels = cell_labels(text, source.options.roles)
        sides = {label.name: role_of(label.name, source.options.roles) for label in labels}
        spoken = [name for name, role in sides.items() if role in ("clinician", "patient")]
        number = sum(label.name in spoken for label in labels)
        if number > _QUOTED and {"clinician", "patient"} <= {*sides.values()} and is_speech(text):
            name = spoken[0]
            shown = f'"{name}"' if re.search(r"\W", name) else name
            raise AmbiguousError(
                f"one turn holds a talk of {number} lines ({', '.join(spoken):.60})",
                where=f"{where}, turn {at}" if isinstance(where, str) else where[at],
                todo=f"write each line as a message; if all are words of this turn, say `roles={shown}=text`",
            )


def _with_more(
    labels: list[CellLabel], pattern: re.Pattern[str], text: str, fits: Callable[[str], bool]
) -> list[CellLabel]:
    """Labels in order, with those that match a pattern, whose name fits, and that stand in none of the others."""
    candidates = (
        # A note behind a name stays in the text.
        CellLabel(match.start(), match.start("note") if match.groupdict().get("note") else match.end(), match["name"])
        for match in pattern.finditer(text)
    )
    more = [
        one
        for one in candidates
        if fits(one.name) and not any(label.start < one.end and one.start < label.end for label in labels)
    ]
    return sorted([*labels, *more])


def _at_lines(text: str, roles: Mapping[str, str]) -> list[CellLabel]:
    matches = list(_LINE.finditer(text))
    named_until = [_name_in_cell(match, roles) for match in matches]
    names = [name for name, _ in named_until]
    known = [is_speaker_word(name, roles) for name in names]
    counts = Counter(names)
    bracketed, named = (
        any(match[form] and sure for match, sure in zip(matches, known, strict=True)) for form in ("bracket", "name")
    )

    def may_be(name: str, in_brackets: bool) -> bool:
        if is_no_speaker(name, roles) or len(name) > 30:
            return False
        if in_brackets:
            return (bracketed or (not named and len(counts) > 1)) and _may_be_bracketed(name)
        few = len(name.split()) < 4 and (counts[name] > 1 or _has_word(name, _THIRDS))
        return bool(_NAME_IN_CELL.fullmatch(name) or (named and (few or _WORD.fullmatch(name))))

    return [
        CellLabel(match.start(), end, name)
        for match, (name, end), sure in zip(matches, named_until, known, strict=True)
        if sure or may_be(name, bool(match["bracket"]))
    ]


def _name_in_cell(match: re.Match[str], roles: Mapping[str, str]) -> tuple[str, int]:
    """The name of a label, and where it ends; a note behind a known name stays in the text."""
    name = match["bracket"] or match["name"].strip()
    noted = _NOTED.fullmatch(name) if match["name"] else None
    if noted and is_speaker_word(noted["name"], roles) and not _has_word(noted["note"], _THIRDS):
        return noted["name"], match.start("name") + noted.end("name")
    return name, match.end()


def _has_word(name: str, words: frozenset[str]) -> bool:
    return not words.isdisjoint(re.split(r"[\W_\d]+", name.casefold()))


def _may_be_bracketed(name: str) -> bool:
    """Whether what stands in brackets may be a speaker, and is no transcriber's note."""
    return len(name) <= 30 and bool(_WORDS_IN_BRACKETS.fullmatch(name)) and not _has_word(name, _NOISES)


@lru_cache(maxsize=8)
def _anywhere(roles: tuple[str, ...]) -> re.Pattern[str]:
    names = sorted({*ROLE_ALIASES, *roles}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?P<name>{'|'.join(map(re.escape, names))})[ \t]*[:：]", re.IGNORECASE)


# -- Turns ---------------------------------------------------------------------------------------------


def short_aliases(names: Iterable[str]) -> Mapping[str, Role]:
    """What short labels such as ``T`` and ``C`` say beside one another; nothing where another short one is there."""
    short = _SHORT_WORDS & {name.casefold() for name in names}
    # Counsellor and patient, or client and psychologist: speakers, but of which role their names don't say.
    if short == {"c", "p"}:
        return {}
    return next((pair for pair in _SHORT if pair.keys() == short), {})


def note_short_names(source: TranscriptMaker, names: Sequence[str]) -> None:
    """Let the source know what short names such as T and C say beside one another, and say so in the account."""
    aliases = short_aliases(names)
    source.aliases = {**source.aliases, **aliases}
    taken = [
        f"{name} is taken for the {aliases[name.casefold()]}"
        for name in names
        if name.casefold() in aliases and name not in source.options.roles
    ]
    if taken:
        source.account.remark(f"{' and '.join(taken)}.")


#: Place and text of a line.
Line = tuple[str, str]


def dialogues(lines: Sequence[Line], roles: Mapping[str, str]) -> Iterator[tuple[str | None, Sequence[Line]]]:
    """Id and lines of each dialogue of a text: those below headings that give an id, else all lines with none.

    Raises:
        InputError: two have one id.
    """
    begins = [(at, match[1]) for at, (_, line) in enumerate(lines) if (match := _ID.fullmatch(line.strip()))]
    ends = [*(at for at, _ in begins), len(lines)][1:]
    parts = [(name, lines[at + 1 : end]) for (at, name), end in zip(begins, ends, strict=True)]
    if not parts or not all(names_two_speakers("\n".join(line for _, line in part), roles) for _, part in parts):
        yield None, lines
        return
    ((name, times_given),) = Counter(name for name, _ in parts).most_common(1)
    if times_given > 1:
        raise InputError(f"two dialogues have the id {name!r}", where=lines[0][0], todo="give each an id of its own")
    yield parts[0][0], [*lines[: begins[0][0]], *parts[0][1]]
    yield from parts[1:]


def labelled_speech(source: TranscriptMaker, lines: Sequence[Line]) -> tuple[list[Utterance], dict[str, str]]:
    """What each says in a text, and what it says of the conversation above, such as its description.

    What is neither is noted in the source's account.

    Args:
        source: the file; takes the aliases of short labels.
        lines: place and text of each.

    Raises:
        InputError: no two speakers are named.
        AmbiguousError: the text may be of several conversations, or nothing tells who speaks a line.
    """
    lines = [(lines[at][0], part) for at, part in parted([text for _, text in lines], source.options.roles)]
    labelled = labelled_lines([text for _, text in lines], source.options.roles)
    if len(labelled.speakers) < 2:
        raise InputError(
            f"no lines begin with the names of two speakers{_named_within(lines, source.options.roles)}",
            where=source.name,
            todo="begin each turn with who speaks, such as Doctor: and Patient:, "
            "or say who is who with `roles=NAME=clinician`",
        )
    headings = _check_one_conversation(source, lines, labelled)
    settle_labels(source, labelled, lines)
    speech: list[Utterance] = []
    reference: dict[str, str] = {}
    account = source.account
    dated = any(label and label.time for label in labelled.labels)
    section, parted_from = "", -2
    for at, ((place, written), label) in enumerate(zip(lines, labelled.labels, strict=True)):
        line = written.strip()
        if at == labelled.end:
            account.note_unread("lines below the end", line, place)
        elif at > labelled.end and line:
            set_aside(source, "lines below the end", line, place)
        elif label is not None and _OMITTED.fullmatch(label.text.lstrip(_AROUND)):
            account.left_out["omitted media"] += 1
        elif label is not None and label.time and _DELETED.fullmatch(label.text.lstrip(_AROUND)):
            account.left_out["deleted messages"] += 1
        elif label is not None and label.time and label.text.startswith("\u200e"):
            account.note_unread("lines of the app, not of a speaker", label.text.lstrip(_AROUND), place)
        elif label is not None:
            speech.append(label)
        elif at in labelled.times:
            continue
        elif not line:
            parted_from = at
        elif _RULE.fullmatch(written):
            account.left_out["rules"] += 1
        elif dated and _DATED.match(written.lstrip(_AROUND)):
            account.note_unread("lines with a time and no speaker", line, place)
        elif not speech:
            if named := _SECTION.fullmatch(written):
                section = named[1].casefold()
            elif _BEGINS.fullmatch(written):
                section = ""
            elif section:
                reference[section] = f"{reference.get(section, '')}\n{line}".strip()
            else:
                set_aside(source, "lines above the first speaker", line, place)
        elif _PAGE.fullmatch(written):
            account.note_unread("numbers of pages", line, place)
        elif at in headings or (
            (_HEADING.match(written) or _SESSION.fullmatch(line)) and _ends_part(lines, labelled, at)
        ):
            account.note_unread("headings", line, place)
        else:
            if _DIRECTION.fullmatch(written):
                account.remark("Lines in brackets stay in the turn before them.")
            elif is_speech(line):
                account.note_joined(line, place)
            speech[-1].go_on(f"\n{line}" if parted_from == at - 1 else line)
    return speech, reference


def _named_within(lines: Sequence[Line], roles: Mapping[str, str]) -> str:
    """Where a name stands in a line like a label, but not at its beginning, as the end of a sentence."""
    pattern = _anywhere(tuple(roles))
    for place, text in lines[:_LOOKED_AT]:
        if (match := pattern.search(text[:_REACH])) and (before := text[: match.start()].strip()):
            return f": {match['name']!r} stands in {_number(place)} behind {before!r:.30}"
    return ""


def set_aside(source: TranscriptMaker, name: str, text: str, place: str) -> None:
    """Note a text beside the turns; stop at a sentence that may have been said.

    Raises:
        AmbiguousError: it is one, and the user did not say that it is left out.
    """
    if _SENTENCE.search(text) and not _TITLED.match(text):
        source.check_unread(name, text, place, instead="begin it with who says it")
    else:
        source.account.note_unread(name, text, place)


def _ends_part(lines: Sequence[Line], labelled: LabelledLines, at: int) -> bool:
    """Whether nothing but headings, rules and blank lines stands between a line and the next label."""
    for (_, text), label in zip(lines[at + 1 :], labelled.labels[at + 1 :], strict=True):
        if label is not None:
            return True
        if (
            text.strip()
            and not (_RULE.fullmatch(text) or _HEADING.match(text))
            and _heading_kind(text) not in ("session", "date")
        ):
            return False
    return False


def _heading_kind(line: str) -> str:
    """What headings of one kind have in common: that they number a session, are a date, of the first level, one name,
    or their first word, as in "Interview with Anna"; empty for a line that is no heading."""
    text = line.strip(" \t\f#*_:：")
    if len(text) > 100 or not text or _PAGE.fullmatch(line):
        return ""
    if _SESSION.fullmatch(line.strip()):
        return "session"
    if _DAY.fullmatch(text):
        return "date"
    if line.lstrip().startswith("# "):
        return "#"
    words = text.split()
    if len(words) > 6 or re.search(r"[^\w\s#'’&-]", text) or words[0][0].islower() or words[-1][0].islower():
        return ""
    if any(word[0].islower() and len(word) > 4 for word in words):
        return ""
    if len(words) == 1 and text.isalpha() and text[0].isupper():
        return "name"
    first = _COUNT.sub("0", words[0].casefold())
    return first if len(words) > 1 or "0" in first else ""


def _check_one_conversation(source: TranscriptMaker, lines: Sequence[Line], labelled: LabelledLines) -> set[int]:
    """Which lines are headings that come again, such as "Session 2", where the user says that the talk is one.

    Raises:
        AmbiguousError: there are several such headings, or rules, with a talk below each.
    """
    labels = labelled.labels
    first = next(at for at, label in enumerate(labels) if label)
    of_kind: dict[str, list[int]] = {}
    rules: list[int] = []
    for at, ((_, line), label) in enumerate(zip(lines, labels, strict=True)):
        if label is not None or not line.strip():
            continue
        if _RULE.fullmatch(line):
            rules.append(at)
        elif kind := _heading_kind(line):
            before = lines[at - 1][1]
            apart = not before.strip() or bool(_RULE.fullmatch(before) or _HEADING.match(before))
            again = kind in of_kind and kind != "name"
            if at < first or kind == "session" or ((apart or again) and _ends_part(lines, labelled, at)):
                of_kind.setdefault(kind, []).append(at)

    def parts(begins: Sequence[int]) -> dict[int, list[str]]:
        """Who speaks below each of several lines, and above them, where anybody does."""
        edges = [0, *begins, len(lines)]
        spoken = {begin: [label.speaker for label in labels[begin:end] if label] for begin, end in pairwise(edges)}
        return {begin: speakers for begin, speakers in spoken.items() if speakers}

    def are_talks(begins: Sequence[int]) -> bool:
        """Whether below each of them, and above, two speak, and the same one first."""
        talks = parts(begins).values()
        return all(len({*talk}) > 1 for talk in talks) and len({talk[0] for talk in talks}) == 1

    dividers: dict[str, list[int]] = {"headings": [], "rules": rules if are_talks(rules) else []}
    for kind, begins in of_kind.items():
        # A number or a date within a talk begins another; a mere title does where one stands above the first, too.
        sure = kind == "session" or (kind == "date" and are_talks(begins))
        if len(parts(begins)) > 1 and (sure or (begins[0] < first and are_talks(begins))):
            dividers["headings"] += begins
    for what, begins in dividers.items():
        begun = [at for at in parts(sorted(begins)) if at in begins]
        number = len(parts(sorted(begins)))
        shown = ", ".join(f"{lines[at][1].strip()!r:.40} ({_number(lines[at][0])})" for at in begun[:3])
        if number > 1 and not source.options.leaves_out(what):
            raise AmbiguousError(
                f"the text is of {number} conversations, or of one with {what} in it: "
                f"{shown}{' …' if begun[3:] else ''}",
                where=lines[0][0].rpartition(":")[0] or lines[0][0],
                todo=f"save each as a file of its own, or say that it is one with `leave_out={what}`",
            )
    return {*dividers["headings"]}


def settle_labels(source: TranscriptMaker, labelled: LabelledLines, lines: Sequence[Line]) -> None:
    """Give labels their places, say in the account how they were understood, and stop at those in doubt.

    Args:
        source: the file; takes the roles of short labels.
        labelled: its labels.
        lines: place and text of each.

    Raises:
        UnknownSpeakerError: nothing tells the role of a speaker, and there are labels in doubt.
        AmbiguousError: there are labels in doubt, or lines that seem to lack one.
    """
    for (place, _), label in zip(lines, labelled.labels, strict=True):
        if label is not None:
            label.where = place
    note_short_names(source, labelled.speakers)
    if labelled.numbered:
        source.account.remark("Numbers behind labels, as in T1 and C1, are taken for those of turns.")
    if source.unknown is not None:
        return  # Another reading tells what else is wrong.
    doubtful = labelled.doubtful or labelled.assumed
    if doubtful:
        shown = _some(
            f"{name!r} ({counted(len(at), 'line')}, such as {_number(lines[at[0]][0])}: {lines[at[0]][1].strip():.50})"
            for name, at in doubtful.items()
        )
        doubt = f"{shown} may be who speaks, or words of the turn before"
        example = next(iter(doubtful))
        shielded = re.sub(r'[",]', "?", example)
        name = f'"{shielded}"' if re.search(r"\W", example) else example
        instead = f"who it is, such as `roles={name}=other`" if shielded == example else "begin it with who says it"
        decides = f"say that it is no speaker with `roles={name}=text`, or {instead}"
        if labelled.doubtful and not labelled.seeming & labelled.doubtful.keys():
            decides += "; what stands once or twice is text where `roles` names two who speak"
        labels = list(filter(None, labelled.labels))
        try:
            source.roles([label.speaker for label in labels], [label.where for label in labels])
        except UnknownSpeakerError as error:
            error.beside = f"{doubt}: {decides}"
            raise
        if labelled.doubtful:
            raise AmbiguousError(doubt, where=lines[labelled.doubtful[example][0]][0], todo=decides)
    if labelled.unlabelled:
        place, text = lines[labelled.unlabelled[0]]
        raise AmbiguousError(
            f"this line begins with no speaker, as nearly all others do: {text.strip():.60}",
            where=place,
            todo="begin it with who says it; it goes on with the turn before where `roles` names two who speak",
        )
    if labelled.plain and labelled.by_program:
        source.account.remark(_BY_PROGRAM)
    elif labelled.plain:
        names = ", ".join(repr(name)[:60] for name in list(labelled.plain)[:_SHOWN])
        places = _some(_number(lines[at][0]) for at in sorted(at for of in labelled.plain.values() for at in of))
        source.account.remark(
            f"Read as words of a turn and not as a speaker: {names}{' …' if len(labelled.plain) > _SHOWN else ''} "
            f"({places}). If one speaks, name it with `roles`."
        )


def _some(items: Iterable[str]) -> str:
    """The first of several, and how many more."""
    texts = list(items)
    more = f" and {len(texts) - _SHOWN:,} more" if len(texts) > _SHOWN else ""
    return f"{', '.join(texts[:_SHOWN])}{more}"


def _number(place: str) -> str:
    """The part of a place that tells the line within its file."""
    number = re.split(r"[:,]", place)[-1].strip()
    return f"line {number}" if number.isdigit() else number
