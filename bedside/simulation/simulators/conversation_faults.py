"""What is wrong with a simulated patient over a whole conversation: the review by rules, in English and Chinese.

Single messages are checked as they come (:mod:`.faults`). What only several messages show, or a message beside the
case, is found here. Patterns are to be sure rather than complete: a conversation that they find is had again
(:mod:`bedside.simulation.conversing`). What takes an understanding of words is for the rubric ``patient_faults``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, groupby
from operator import itemgetter
from typing import Literal

from bedside.core.words import HAN
from bedside.metrics.families.diagnosis_naming import names_first
from bedside.metrics.protocols.medconceal.policy import content, overlap
from bedside.simulation.simulators.calls import Line
from bedside.simulation.simulators.case import Case, HiddenConcern
from bedside.simulation.simulators.contract import Outcome, Simulator
from bedside.simulation.simulators.faults import SENTENCE_END, STUCK, is_same, patient_fault

#: Kinds of faults.
FaultKind = Literal["contradiction", "over-disclosure", "denial then reveal", "stuck", "off-role", "form"]
KINDS: tuple[FaultKind, ...] = ("contradiction", "over-disclosure", "denial then reveal", "stuck", "off-role", "form")
#: Faults of single messages, by the kind that they are of; the others are of ``form``, or of manner and none here.
_OFF_ROLE = ("refusal", "answers as an assistant", "speaks of the case", "becomes the helper")
#: Least number of messages that repeat others, and their least share of all, with which a patient is stuck.
REPEATED, REPEATED_SHARE = 3, 0.25
#: Farewells in a row that make a talk go in circles.
FAREWELLS = 3
#: Share of a fact's words that tells it, least words of a fact, and least number of facts that are too many at once:
#: of any case, or of one of which they are half.
TOLD, FACT_WORDS, DUMPED, DUMPED_OF_FEW = 0.7, 3, 6, 4
#: Share of a concern's words that says it.
CONCERN_SAID = 0.5
#: Share of a statement's words, and of a fact's, that both have where they are about the same; in Chinese, of either's.
SAME_STATEMENT, SAME_FACT, SAME_CHINESE = 0.75, 0.5, 0.8
#: Most words of a question that a yes or no answers.
ASKED = 8
#: How many times as much an amount is than another that it contradicts.
AMOUNT = 1.34


@dataclass(frozen=True, slots=True)
class ConversationFault:
    """What is wrong with the patient of a conversation.

    Attributes:
        kind: which of the six.
        turn: index of the message that shows it.
        reason: what it is, in a few words; it repeats nothing that is hidden.
    """

    kind: FaultKind
    turn: int
    reason: str


@dataclass(frozen=True, slots=True)
class CaseTruth:
    """What a conversation is held against.

    Attributes:
        facts: what is true of the patient and may be told, a text each.
        concerns: what is told only once it is released.
        released: concern → index of the turn from which on it may be told; the others never.
        diagnosis: what a patient doesn't know; empty where there is none.
        fixed_lines: what the case or the protocol gives the patient to say as often as it likes.
        told_freely: whether nothing says when facts may be told.
    """

    facts: tuple[str, ...] = ()
    concerns: tuple[HiddenConcern, ...] = ()
    released: Mapping[str, int] = field(default_factory=dict)
    diagnosis: str = ""
    fixed_lines: tuple[str, ...] = ()
    told_freely: bool = False


def case_truth(simulator: Simulator, case: Case, outcome: Outcome) -> CaseTruth:
    """What a conversation about a case is held against."""
    hidden = case.hidden
    fixed = (*case.patient.deflections, *outcome.fixed_lines)
    secrets = {concern.text for concern in hidden.concerns}
    facts = tuple(fact for fact in simulator.patient_facts(case) if fact not in secrets)
    told_freely = simulator.made_of is not None
    return CaseTruth(facts, hidden.concerns, outcome.released, hidden.diagnosis or "", fixed, told_freely)


def conversation_faults(lines: Sequence[Line], truth: CaseTruth, *, language: str) -> tuple[ConversationFault, ...]:
    """All that is wrong with the patient of a conversation, by turn; one fault of each kind and turn at most.

    Args:
        lines: what was said, whose places are the turns' indices.
        truth: what it is held against.
        language: ``en`` or ``zh``.
    """
    claims = _claims_of(lines)
    parts = (
        _of_messages(lines, language), _stuck(lines, truth.fixed_lines), _overdisclosed(lines, truth),
        _contradicted(lines, claims, truth), _denied(lines, claims, truth),
    )  # fmt: skip
    found = {(fault.turn, fault.kind): fault for fault in chain(*parts)}
    return tuple(found[key] for key in sorted(found, key=lambda key: (key[0], KINDS.index(key[1]))))


def _said_by_patient(lines: Sequence[Line]) -> Iterator[tuple[int, str]]:
    return ((index, line.text) for index, line in enumerate(lines) if line.role == "patient")


# -- Form, role, and going in circles -------------------------------------------------------------------

_FAREWELL = re.compile(
    r"(?:(?:thank(?:s| you)(?: (?:so|very) much| again)?|ok(?:ay)?|(?:good)?bye(?: for now)?|take care"
    r"|see you(?: \w+){0,2}|have a (?:good|nice) \w+|you too|doctor|and|谢谢(?:您|你|医生|大夫)?|好的|再见"
    r"|您?慢走|医生|大夫)[\s.,!，。！]*)+",
    re.IGNORECASE,
)
_PARTING = re.compile(r"bye|take care|see you|have a|you too|再见|慢走", re.IGNORECASE)


def _of_messages(lines: Sequence[Line], language: str) -> Iterator[ConversationFault]:
    """Faults that single messages have as to form and role."""
    for index, text in _said_by_patient(lines):
        fault = patient_fault(text, language=language, sentences=None, words=None)
        if fault is not None:
            yield ConversationFault("off-role" if fault.reason in _OFF_ROLE else "form", index, fault.reason)


def _stuck(lines: Sequence[Line], fixed_lines: Sequence[str]) -> Iterator[ConversationFault]:
    """Where the patient says the same again and again, unless it is asked the same; or doesn't stop to say goodbye."""
    own = list(_said_by_patient(lines))
    said: list[tuple[str, str]] = []
    repeated: list[int] = []
    again = 0
    for index, text in own:
        before = lines[index - 1].text if index else ""
        fixed = text in fixed_lines or any(is_same(text, line) for line in fixed_lines)
        same = [asked for earlier, asked in said if is_same(text, earlier) and not fixed]
        if same and not any(asked == before or is_same(asked, before) for asked in same):
            repeated.append(index)
            again = max(again, len(same))
        said.append((text, before))
    if again >= STUCK or (len(repeated) >= REPEATED and len(repeated) >= REPEATED_SHARE * len(said)):
        yield ConversationFault("stuck", repeated[-1], "says the same again and again")
    partings = ((index, bool(_FAREWELL.fullmatch(text) and _PARTING.search(text))) for index, text in own)
    for parting, group in groupby(partings, key=itemgetter(1)):
        indices = [index for index, _ in group]
        if parting and len(indices) >= FAREWELLS:
            yield ConversationFault("stuck", indices[-1], "says goodbye again and again")


# -- What is told that isn't to be told -----------------------------------------------------------------


def _overdisclosed(lines: Sequence[Line], truth: CaseTruth) -> Iterator[ConversationFault]:
    """A diagnosis or concern that the patient can't know or tell yet, and too many facts at once."""
    open_words = content(" ".join(truth.facts))
    if truth.diagnosis and not content(truth.diagnosis) <= open_words:
        index = names_first([(line.role, line.text) for line in lines], truth.diagnosis)
        if index is not None and lines[index].role == "patient":
            yield ConversationFault("over-disclosure", index, "names the diagnosis first")
    sentences = (part for fact in truth.facts for part in SENTENCE_END.split(_headless(fact)))
    facts = [words for words in map(content, sentences) if len(words) >= FACT_WORDS]
    heard: frozenset[str] = frozenset()
    for index, line in enumerate(lines):
        words = content(line.text)
        if line.role == "clinician":
            heard |= words
            continue
        told = sum(overlap(words, fact) >= TOLD for fact in facts)
        if not truth.told_freely and (told >= DUMPED or (told >= DUMPED_OF_FEW and 2 * told >= len(facts))):
            yield ConversationFault("over-disclosure", index, "tells much of the case at once")
        for concern in truth.concerns:
            if index < truth.released.get(concern.id, len(lines)) and _gives_away(words, concern, open_words | heard):
                yield ConversationFault("over-disclosure", index, "tells a concern before it may")


def _gives_away(words: frozenset[str], concern: HiddenConcern, known: frozenset[str]) -> bool:
    """Whether words hold enough of those of a concern that don't stand in the open."""
    return any(
        len(words & own) >= FACT_WORDS and overlap(words, own) >= CONCERN_SAID
        for own in (content(wording) - known for wording in (concern.text, *concern.voiced))
    )


# -- What is stated -------------------------------------------------------------------------------------

_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|denies|denied)\b|\b\w+n['’]t\b"
    r"|从来?不|从未|没有?|否认|未|无(?![力聊助望法奈])",
    re.IGNORECASE,
)
#: What makes a statement one about another time or none about what is: it is held against nothing.
_OPEN = re.compile(
    r"\?|\b(?:nothing|no) (?:more|else)\b|\b(?:if|would|could|might|maybe|perhaps|used to|any ?more|no longer|not only|"
    r"except|apart|unless|hardly|almost|barely|until|(?:every|no)thing|worse|better|but|yet|"
    r"like|really|probably|when|not to)\b|n['’]t (?:always|usually)"
    r"|如果|要是|可能|也许|以前|不再|除了|怎么|不仅|好像|没有别的|没别的",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\b(?:before|after|when|while|during|ago|last|then|now|today|yesterday|once|first|later|lately|since)\b"
    r"|之前|以后|之后|时候|现在|最近|后来|昨天",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;:—–]\s|\s(?:and|but|though|although|because|so that|so)\s|[，；：]|和(?=没|无)|但是?|因为|所以"
)
#: A clause that stands by itself; another one takes over the negation before it.
_OWN_SUBJECT = re.compile(
    r"\b(?:i|it|he|she|we|they|you|there|this|that|my|his|her|the|is|was|are|has|have|had|am)\b|我|他|她", re.IGNORECASE
)
_VAGUE = frozenset(
    """
    any anything something everything nothing never none nobody without neither cannot take taken took have go goe come
    came thing lot bit well quite little doctor know mean sure see kind please much many time ye yeah ok okay denie
    denied actually still already always honestly make made makes got give given keep part new old happen happened tell
    told talk talked talking speak suffer suffering experience experienced noticed notice problem trouble ever guess
    suppose think thought want wanted wanna need try tried use used sort um uh hmm maybe way anyway look remember going
    cause either definite definitely first figure decide people other
    """.split()
)
#: What is too little to go by where it is all that two statements share.
_VAGUE_ALONE = frozenset(
    "drink eat sleep feel work walk hour day week month year live change stop like right good bad fall help start "
    "care stay leave call wait love hate hear listen life people friend home night".split()
)
#: A statement that one thing is not, or is: that much is needed where a single word is shared.
_DENIED_ALONE = re.compile(rf"(?:{_NEGATION.pattern})(?: [\w'’-]+){{1,4}}\W*\Z", re.IGNORECASE)
_HAD_ALONE = re.compile(
    r"\A\W*(?:(?:well|and|yes|so),? )*(?:i|there|he|she|the patient)\b(?: [\w'’-]+){1,6}\W*\Z", re.IGNORECASE
)
_NUMBER_POINT = re.compile(r"(?<=\d)[.,](?=\d)")
_OPINION = re.compile(r"\bi(?:['’]d| would) say(?: that)?\b", re.IGNORECASE)
_FILLER = re.compile(
    "有时|什么|一直|从来|这种|那种|情况|觉得|感到|特别|自己|总是|方面|应该|明显|问题|或者|[我你您他她的了也都就是有很过吗呢吧啊嗯着]"
)
_HAN = re.compile(f"[{HAN}]")


@dataclass(frozen=True, slots=True)
class _Claim:
    """Something that is stated: where, its words in order and without, whether it is denied, its amounts."""

    turn: int
    text: str
    first: str
    words: frozenset[str]
    negative: bool
    amounts: frozenset[tuple[float, str]]

    @property
    def whole(self) -> bool:
        """Whether it is a statement rather than a mention of something."""
        return self.negative or bool(_OWN_SUBJECT.search(self.text) or _HAN.search(self.text))

    @property
    def ever(self) -> bool:
        """Whether it is of all times."""
        return bool(re.search(r"\bn?ever\b|从", self.text, re.IGNORECASE))

    def about(self, other: _Claim) -> bool:
        """Whether it is about what another claim, or a fact, is about."""
        shared = len(self.words & other.words)
        if shared and _HAN.search(self.text):
            return shared >= SAME_CHINESE * max(len(self.words), len(other.words))
        if shared >= 2:
            return shared >= SAME_STATEMENT * len(self.words) and shared >= SAME_FACT * len(other.words)
        denied, had = (self, other) if self.negative else (other, self)
        tail = _DENIED_ALONE.search(denied.text) if shared == 1 and _HAD_ALONE.search(had.text) else None
        return tail is not None and self.first == other.first not in _VAGUE_ALONE and self.first in _roots(tail[0])

    def timed(self, other: _Claim) -> bool:
        """Whether it is of a time that the other one isn't of."""
        return bool(set(_WHEN.findall(self.text.casefold())) - set(_WHEN.findall(other.text.casefold())))


@lru_cache(maxsize=4096)
def _claims(text: str, turn: int = 0) -> tuple[_Claim, ...]:
    """What a text states, clause by clause."""
    claims = []
    for match in re.finditer(r"[^.!?。！？\n]+[.!?。！？]*", _NUMBER_POINT.sub("·", _OPINION.sub("", text))):
        negative, before = False, frozenset[str]()
        for clause in _CLAUSE.split(match[0]):
            first = _NEGATION.search(clause)
            if first is not None and "、" in clause:
                clause = clause[first.start() :]  # of a list in Chinese, what comes before is neither denied nor said
            negative = first is not None or (negative and not _OWN_SUBJECT.search(clause) and not _HAN.search(clause))
            claim = _claim(clause + ("?" if match[0].rstrip().endswith(("?", "？")) else ""), turn, negative)
            if claim.amounts and not claim.words:
                claim = replace(claim, words=before)
            before = claim.words
            if claim.words and not _OPEN.search(claim.text):
                claims.append(claim)
    return tuple(claims)


def _claim(clause: str, turn: int, negative: bool) -> _Claim:
    plain = _NEGATION.sub(" ", _FILLER.sub("", clause) if _HAN.search(clause) else clause)
    amounts = frozenset(_amounts(plain))
    ordered = _roots(_AMOUNT.sub(lambda match: f" {match['unit'] or ''} ", plain))
    return _Claim(turn, clause, ordered[0] if ordered else "", frozenset(ordered), negative, amounts)


def _roots(text: str) -> list[str]:
    """The content words of a text, in order; of Chinese, its pairs of characters."""
    words = (word for part in text.split() for word in sorted(content(part)) if word not in _VAGUE)
    return [_root(word) for word in words if len(word) > 1]


def _root(word: str) -> str:
    """A word without what its forms differ in."""
    for ending in ("ing", "ed", "e", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _claims_of(lines: Sequence[Line]) -> list[_Claim]:
    """What the patient states, by itself and by saying yes or no."""
    claims: list[_Claim] = []
    for index, text in _said_by_patient(lines):
        claims += (*_claims(text, index), *_answer(lines[index - 1].text if index else "", text, index))
    return claims


_CLOSED = re.compile(
    r"(?:^|[.!]\s+)((?:and )?(?:do|does|did|have|has|had|are|is|was|were|any|ever)\b[^.?!,]*)\?\s*$", re.IGNORECASE
)
_CLOSED_ZH = re.compile(r"(?:^|[，。！])([^，。！？、]*(?:有没有|是不是|会不会|吗)[^，。！？、]*)[？?]\s*$")
_NO = re.compile(
    r"\A\s*(?:no|nope|never|not at all|no,? (?:never|not at all|nothing(?: like that)?|i (?:don['’]t|do not|haven['’]t|"
    r"have not|am not|didn['’]t)|none)|没有|没|不是|从来没有|不会)\s*(?:[.!。！，,]|\Z)",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"\bor\b|\band\b(?!\s+(?:do|have|are|is))|还是")
_YES = re.compile(r"\A\s*(?:yes|yeah|yep|i do|i have|有的?|是的?|会的?)\s*(?:[.!。！，,]|\Z)", re.IGNORECASE)


def _answer(question: str, text: str, turn: int) -> Iterator[_Claim]:
    """What a yes or no states: the question's words; nothing where the question asks several things at once."""
    negative, closed = bool(_NO.match(text)), _CLOSED.search(question) or _CLOSED_ZH.search(question)
    if closed is None or not (negative or _YES.match(text)) or _SEVERAL.search(closed[1][4:]):
        return
    claim = _claim(re.sub("有没有|是不是|会不会|吗", "", closed[1]), turn, negative)
    answered = _claim(SENTENCE_END.split(text)[0], turn, negative)
    speaks_of_it = not answered.words or answered.words & claim.words
    if len(claim.words) == 1 and not _HAN.search(claim.text):
        claim = replace(claim, text=f"{('never' if claim.ever else 'no') if negative else 'I'} {claim.first}")
    if speaks_of_it and 0 < len(claim.words) <= ASKED:
        yield claim


# -- Against the case -----------------------------------------------------------------------------------

_NUMBERS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | dict(zip("thirty forty fifty sixty seventy eighty ninety".split(), range(30, 100, 10), strict=True))
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_NUMBER = rf"\d+(?:·\d+)?|(?:{_TENS})[- ](?:one|two|three|four|five|six|seven|eight|nine)|{'|'.join(_NUMBERS)}"
_NUMBER_ZH = "[零一二两三四五六七八九十百半]+"
_UNIT_ZH = "年(?!级)|个?月|周|个?星期|天|个?小时|分钟|次|公斤|斤|岁|包|杯|片|支"
_AMOUNT = re.compile(
    rf"\b(?P<number>{_NUMBER})\b(?:[ -](?:or|to) (?:{_NUMBER})\b)?(?:[ -](?:more|full|whole|of))*[ -]?"
    rf"(?P<unit>[a-z%°]+)?|(?P<han>{_NUMBER_ZH}|\d+)(?P<han_unit>{_UNIT_ZH})",
    re.IGNORECASE,
)
_DAYS = {
    "minute": 1 / 1440, "hour": 1 / 24, "day": 1, "week": 7, "month": 30.4, "year": 365.2,
    "分钟": 1 / 1440, "小时": 1 / 24, "天": 1, "周": 7, "星期": 7, "月": 30.4, "年": 365.2,
}  # fmt: skip
_AGE = re.compile(
    rf"\bi(?:['’]m| am) ({_NUMBER})(?:[ -]years?[ -]old)?\s*(?:[.,;!]|and\b|now\b|$)|我今?年?({_NUMBER_ZH}|\d+)岁",
    re.IGNORECASE,
)
_AGE_OF_CASE = re.compile(
    rf"\bage[d:]*\s+({_NUMBER})\b|\b({_NUMBER})[- ]years?[- ]old|\b[A-Z]\w+(?: is|,) ({_NUMBER})\b(?=,| and|\.)"
    rf"|(\d+|{_NUMBER_ZH})岁",
    re.IGNORECASE,
)


def _amounts(text: str) -> Iterator[tuple[float, str]]:
    """Amounts with their units; durations in days."""
    for match in _AMOUNT.finditer(text):
        number = _value(match["number"] or match["han"])
        unit = (match["unit"] or match["han_unit"] or "").casefold().removeprefix("个").removesuffix("s")
        if number is not None:
            unit = "kilo" if unit in ("kilogram", "kg") else unit
            yield (number * _DAYS[unit], "days") if unit in _DAYS else (number, unit)


def _value(text: str) -> float | None:
    """The number that a text is."""
    plain = text.casefold().replace("·", ".")
    if plain.replace(".", "", 1).isdigit():
        return float(plain)
    if plain in _NUMBERS:
        return float(_NUMBERS[plain])
    if "-" in plain or " " in plain:
        return float(sum(_NUMBERS.get(part, 0) for part in re.split("[- ]", plain)))
    digits = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2, "半": 0.5}
    tens, ten, ones = plain.rpartition("十")
    if any(character not in digits for character in tens + ones):
        return None
    return (digits[tens[-1]] if tens else 1) * 10 * bool(ten) + (digits[ones[-1]] if ones else 0)


def _contradicted(lines: Sequence[Line], claims: Sequence[_Claim], truth: CaseTruth) -> Iterator[ConversationFault]:
    """Statements that a fact of the case denies, and amounts that it has otherwise."""
    facts = [claim for text in truth.facts for claim in _claims(_headless(text))]
    for claim in claims:
        about = [fact for fact in facts if claim.about(fact)] if claim.whole else []
        if about and all(claim.negative != fact.negative and not claim.timed(fact) for fact in about):
            yield ConversationFault("contradiction", claim.turn, "denies or affirms what the case has otherwise")
        elif any(_other_amount(claim, fact, facts) for fact in facts):
            yield ConversationFault("contradiction", claim.turn, "gives an amount that the case has otherwise")
    ages = [_value(next(filter(None, groups))) for text in truth.facts for groups in _AGE_OF_CASE.findall(text)]
    for index, text in _said_by_patient(lines):
        said = _AGE.search(text)
        age = _value(said[1] or said[2]) if said else None
        if age is not None and ages and all(known is None or abs(age - known) > 1 for known in ages):
            yield ConversationFault("contradiction", index, "gives another age")


def _headless(text: str) -> str:
    """A fact without the heading before it."""
    return re.sub(r"\A[\w ]{1,40}[:：]\s*", "", text)


def _other_amount(claim: _Claim, fact: _Claim, facts: Sequence[_Claim]) -> bool:
    """Whether a claim has another amount than a fact of the same, and one that no fact of something like it has."""
    shared = claim.words & fact.words
    if not shared or len(shared) < 0.5 * len(claim.words) or len(shared) < 0.34 * len(fact.words):
        return False
    units = {unit for _, unit in fact.amounts}
    known = [amount for each in facts if each.words & claim.words for amount in each.amounts]
    return any(
        not any(unit == own_unit and max(number, own) <= AMOUNT * min(number, own) for number, unit in known)
        for own, own_unit in claim.amounts
        if own_unit in units
    )


# -- Denied, and told all the same ----------------------------------------------------------------------

_NO_WORRY = re.compile(
    r"\b(?:no|any) (?:\w+ ){0,2}(?:worr\w+|fears?|concerns?)\b"
    r"|\bnothing (?:\w+ ){0,2}(?:worries|scares|frightens|bothers)"
    r"|\bi(?:['’]m| am) not (?:\w+ ){0,2}(?:worried|afraid|scared|concerned|hiding)|没有?什么?(?:担心|顾虑|害怕|好怕)"
    r"|不(?:担心|害怕)",
    re.IGNORECASE,
)
_WORRY = re.compile(r"worr|afraid|scare|fear|frighten|bother|concern|on your mind|担心|顾虑|害怕|心事", re.IGNORECASE)


def _denied(lines: Sequence[Line], claims: Sequence[_Claim], truth: CaseTruth) -> Iterator[ConversationFault]:
    """What the patient denied before and tells now: of what it stated, and of concerns that the case hides."""
    denials = [claim for claim in claims if claim.negative and lines[claim.turn].text not in truth.fixed_lines]
    for told in claims:
        before = (denial for denial in denials if denial.turn < told.turn and denial.about(told))
        if told.whole and not told.negative and any(denial.ever or not told.timed(denial) for denial in before):
            yield ConversationFault("denial then reveal", told.turn, "tells what it had denied")
    own = [(index, text) for index, text in _said_by_patient(lines) if text not in truth.fixed_lines]
    flat = [
        index
        for index, text in own
        if _NO_WORRY.search(text) or (index and _NO.match(text) and _WORRY.search(lines[index - 1].text))
    ]
    for concern in truth.concerns:
        wordings = [content(wording) for wording in (concern.text, *concern.voiced)]
        said = (i for i, text in own if any(overlap(content(text), words) >= CONCERN_SAID for words in wordings))
        roots = frozenset(_root(word) for words in wordings for word in words)
        denied = [*flat, *(claim.turn for claim in denials if len(claim.words & roots) >= 2)]
        told_at = next(said, 0)
        if any(turn < told_at for turn in denied):
            yield ConversationFault("denial then reveal", told_at, "tells a concern that it had denied")
