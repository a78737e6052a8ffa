"""The latent policy: what a clinician turn brings to each hidden concern, and how things stand after it.

One step is one clinician turn. A simulated patient takes it as the turn is said, a scored conversation all at once
(:func:`bedside.metrics.protocols.medconceal.trace.replay`): both come to the same numbers.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
import yaml
from pydantic import AfterValidator, Field, model_validator

from bedside.core.errors import RegistryError, nearest
from bedside.core.files import write_text
from bedside.core.model_errors import to_model
from bedside.core.registry import DataRegistry
from bedside.core.words import UNSPACED
from bedside.core.yaml_files import keys_and_values
from bedside.metrics.protocols.label_files import Strict, Text
from bedside.metrics.protocols.medconceal.labels import (
    FEATURES,
    Category,
    CategoryName,
    Concern,
    ConcernTurnLabels,
    Features,
    Intent,
    primary_of,
)

# -- How much of a concern's wording a turn takes up ----------------------------------------------------

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_UNSPACED = re.compile(f"[{UNSPACED}]+")

# Function words of English, and what concerns are commonly put in ("he believes that …"): they say nothing of what
# the concern is about.
_EMPTY = frozenset(
    """
    a about above after again against all also am an and any are aren't as at be because been before being below
    between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each even
    ever few for from further get gets getting got had hadn't has hasn't have haven't having he he'd he'll he's her
    here hers herself him himself his how i i'd i'll i'm i've if in into is isn't it it's its itself just let's like
    may me might more most must my myself no nor not now of off on once only or other our ours ourselves out over own
    really same shall she she'd she'll she's should shouldn't since so some still such than that that's the their
    theirs them themselves then there there's these they they'd they'll they're they've this those though through to
    too under until up upon very was wasn't we we'd we'll we're we've were weren't what what's when where which while
    who whom whose why will with won't would wouldn't yet you you'd you'll you're you've your yours yourself
    believe believes concern concerned concerns feel feels patient say says think thinks want wants
    """.split()
)


def _stem(word: str) -> str:
    """A word without its plural or third-person ending (the S-stemmer of Harman 1991)."""
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


@lru_cache(maxsize=2048)
def content(text: str) -> frozenset[str]:
    """The stems of a text's content words; of scripts without spaces, its pairs of neighbouring characters."""
    plain = text.casefold().replace("’", "'")
    stems: set[str] = set()
    for run in _UNSPACED.findall(plain):
        stems.update(run[place : place + 2] for place in range(max(1, len(run) - 1)))
    for word in _WORD.findall(_UNSPACED.sub(" ", plain)):
        if word not in _EMPTY:
            stems.add(_stem(word.removesuffix("'s")))
    return frozenset(stems)


def overlap(turn: frozenset[str], concern: frozenset[str]) -> float:
    """Share of the concern's content words that the turn holds, 0 to 1; 0 where the concern has none."""
    return len(turn & concern) / len(concern) if concern else 0.0


# -- What a turn is about -------------------------------------------------------------------------------

#: Why a turn's evidence counts for no concern.
Void = Literal["", "asks for nothing", "list", "claim", "repeats"]
#: A turn of so many words, of which less than this share are function words, strings keywords together.
_KEYWORDS, _FUNCTION_SHARE = 4, 0.2
#: Letters of a stem that tell words apart where two turns are compared: "worried" is "worrying" again.
_LETTERS = 5


@dataclass(frozen=True, slots=True)
class TurnTopic:
    """What a clinician turn is about, by its words.

    Attributes:
        named: of each concern, in the concerns' order, whether the turn holds enough of its words, or words of its
            category, which are those that come last where it names several.
        open: whether it asks for what weighs on the patient without naming anything.
        void: why its evidence counts for none; empty where it counts.
    """

    named: tuple[bool, ...]
    open: bool
    void: Void


@lru_cache(maxsize=64)
def _phrases(beginnings: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, beginnings))})\w*")


def _plain_words(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())


@lru_cache(maxsize=2048)
def _compared(text: str, kinds: tuple[tuple[str, ...], ...]) -> frozenset[str | int]:
    """What two turns are compared by: the kinds they name, by number, and the beginnings of their other stems."""
    plain, marks = _plain_words(text), set[str | int]()
    for number, beginnings in enumerate(kinds):
        plain, times = _phrases(beginnings).subn(" ", plain)
        marks |= {number} if times else set()
    return frozenset(marks | {stem.replace("y", "i")[:_LETTERS] for stem in content(plain)})


def likeness(text: str, earlier: Sequence[str], credit: Credit) -> float:
    """How much of a turn one earlier turn said already: the greatest share of what it is compared by; 1 of no words.

    Words of one category of the parameter file are one and the same, and so are those that ask openly: what
    "frightens" says "scares" again.
    """
    kinds = (*map(tuple, credit.topics.values()), tuple(credit.openings))
    own = _compared(text, kinds)
    if not own:
        return 1.0
    return max((len(own & _compared(other, kinds)) / len(own) for other in earlier), default=0.0)


def turn_topic(
    text: str, z: Features, earlier: Sequence[str], *, concerns: Sequence[Concern], credit: Credit
) -> TurnTopic:
    """What a turn is about, and whether its evidence counts; the rules are those of the parameter file.

    Args:
        text: its words.
        z: its features.
        earlier: the clinician turns before it.
        concerns: the hidden concerns.
        credit: the rules' numbers and words.
    """
    plain, words = _plain_words(text), content(text)
    ends = {
        category: max((match.start() for match in _phrases(tuple(beginnings)).finditer(plain)), default=-1)
        for category, beginnings in credit.topics.items()
    }
    kinds = sorted((place, category) for category, place in ends.items() if place >= 0)
    named = []
    for concern in concerns:
        own = content(concern.text)
        shared = len(words & own)
        close = shared >= credit.shared_words and shared >= credit.shared_share * len(own)
        named.append(close or any(concern.category == category for _, category in kinds[-1:]))
    spoken = _WORD.findall(plain)
    function_words = sum(word in _EMPTY for word in spoken)
    void: Void = ""
    if any(claim in plain for claim in credit.claims):
        void = "claim"
    elif len(kinds) >= credit.list_kinds or (
        len(spoken) >= _KEYWORDS and function_words < _FUNCTION_SHARE * len(spoken) and not _UNSPACED.search(plain)
    ):
        void = "list"
    elif likeness(text, earlier, credit) >= credit.likeness:
        void = "repeats"
    elif max(z.concern_elicitation, z.space_provision) < credit.asks:
        void = "asks for nothing"
    return TurnTopic(tuple(named), z.concern_elicitation >= credit.asks, void)


# -- Challenge cues -------------------------------------------------------------------------------------

_STILL = r"(?:still|just|really|so|very|a (?:bit|little)|quite|pretty|kind of|kinda|too|even more|rather|getting)"
_FEAR = (
    r"(?:worried|worry|worries|worrying|afraid|scared|scary|frightened|terrified|anxious|nervous|uneasy|concerned|"
    r"uncomfortable|upset|overwhelmed|panicking|dreading)"
)

#: Kind of cue → patterns, read on lower-case text with plain apostrophes.
CUES: Mapping[str, tuple[str, ...]] = {
    "continued worry": (
        rf"\bi(?:'m| am| feel)(?: {_STILL})* {_FEAR}\b",
        r"\bi(?: still| just| really| do)* (?:worry|fear|dread|panic)\b",
        rf"\b(?:makes?|making|has|have|got) me(?: {_STILL})* {_FEAR}\b",
        rf"\bstill {_FEAR}\b",
        r"\bwhat if\b",
        r"\bwhat happens if\b",
        r"\bi (?:can't|cannot|can not) (?:stop|help) (?:worrying|thinking|being afraid)\b",
    ),
    "hesitation": (
        rf"\bi(?:'m| am)(?: {_STILL})* not(?: {_STILL})* (?:sure|certain|convinced|ready|comfortable|persuaded)\b",
        r"\bi don't know (?:if|whether|about)\b",
        r"\bi(?:'m| am)(?: still| a bit| a little| rather| quite)* "
        r"(?:hesitant|reluctant|torn|undecided|skeptical|sceptical)\b",
        r"\bi(?:'d| would)?(?: just| still)* (?:need|like|want|have)(?: some)?(?: more)?(?: time)? to think\b",
        r"\bi(?:'ll| will) (?:have to |need to )?think about (?:it|that)\b",
        r"\b(?:need|want) (?:some |more |a bit more |a little )time\b",
        r"\bi (?:doubt|hesitate)\b",
        r"\bi don't (?:think|believe|see how) (?:that|this|it|i)\b",
        r"\beasier said than done\b",
    ),
    "asking to avoid the plan": (
        r"\bdo i (?:really |actually |absolutely )?(?:have|need) to\b",
        r"\bis (?:it|that|this) (?:really |absolutely |all )*necessary\b",
        r"\b(?:can|could|can't|couldn't) (?:i|we)(?: just| not| maybe| perhaps)* "
        r"(?:wait|skip|avoid|postpone|delay|put (?:it|this|that) off|hold off|leave it|do without|"
        r"try something else)\b",
        r"\b(?:is|isn't|are|aren't) there (?:any |an |some |no )?(?:other|another|different|alternatives?)\b",
        r"\bi(?:'d| would)(?: really| much)* (?:rather|prefer)(?: to)? (?:not|wait|avoid|skip)\b",
        r"\bi (?:really |just |still )*(?:don't|do not) (?:really )?want "
        r"(?:any|that|this|it|to (?:take|start|do|go|have|try|use|see|stop|be on))\b",
        r"\bi(?:'m| am) not (?:going to|doing|taking|having)\b",
        r"\bi (?:won't|will not|refuse to)\b",
        r"\b(?:instead of|without) (?:having to|going|taking|doing)\b",
    ),
}
_JOINED = {kind: "|".join(patterns) for kind, patterns in CUES.items()}


def challenge_cues(text: str) -> tuple[str, ...]:
    """Kinds of challenge cue in what a patient says, in the order of :data:`CUES`; empty where there is none."""
    plain = " ".join(text.casefold().replace("’", "'").split())
    return tuple(kind for kind, pattern in _JOINED.items() if re.search(pattern, plain))


# -- The form of a parameter file -----------------------------------------------------------------------

#: What the reveal weights are of: the ten features and the overlap with the concern.
REVEAL_FEATURES: tuple[str, ...] = (*FEATURES, "overlap")

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Decay = Annotated[float, Field(ge=0, lt=1, strict=True)]
Threshold = Annotated[float, Field(gt=0, lt=1, strict=True)]
Times = Annotated[int, Field(ge=1, strict=True)]


def _of(features: tuple[str, ...], *, every: bool) -> Callable[[Mapping[str, float]], Mapping[str, float]]:
    def check(weights: Mapping[str, float]) -> Mapping[str, float]:
        for name in weights:
            if name not in features:
                raise ValueError(f"no feature is called {name!r}; {nearest(name, features)}")
        lacking = [name for name in features if name not in weights]
        if every and lacking:
            raise ValueError(f"no weight of {lacking[0]}")
        return weights

    return check


def _form(features: tuple[str, ...], *, every: bool) -> Any:
    """The same for whoever reads the JSON Schema."""
    form: dict[str, Any] = {"propertyNames": {"enum": list(features)}}
    return Field(json_schema_extra=form | ({"required": list(features)} if every else {}))


Weights = Mapping[str, Number]
RevealWeights = Annotated[Weights, AfterValidator(_of(REVEAL_FEATURES, every=True)), _form(REVEAL_FEATURES, every=True)]
CategoryWeights = Annotated[
    Weights, AfterValidator(_of(REVEAL_FEATURES, every=False)), _form(REVEAL_FEATURES, every=False)
]
AddressWeights = Annotated[Weights, AfterValidator(_of(FEATURES, every=True)), _form(FEATURES, every=True)]
AddressCategoryWeights = Annotated[Weights, AfterValidator(_of(FEATURES, every=False)), _form(FEATURES, every=False)]


class Credit(Strict):
    """For which concerns the evidence of a clinician turn counts; bedside's own, see docs/suites/medconceal.md.

    Attributes:
        topics: category → beginnings of words and phrases that name it, in lower case.
        openings: beginnings of words that ask for what weighs on somebody and name no category.
        claims: phrases that say what was told, in place of asking for it.
        shared_words, shared_share: a turn with this number of a concern's content words, and this share of them,
            names it.
        list_kinds: a turn that names so many categories lists them.
        likeness: a turn with this share of its words in one earlier turn repeats that one.
        asks: least concern elicitation or space provision of a turn that counts.
    """

    topics: Mapping[Category, Annotated[tuple[Text, ...], Field(min_length=1)]]
    openings: Annotated[tuple[Text, ...], Field(min_length=1)]
    claims: tuple[Text, ...]
    shared_words: Times
    shared_share: Threshold
    list_kinds: Times
    likeness: Annotated[float, Field(gt=0, le=1, strict=True)]
    asks: Threshold


class Reveal(Strict):
    """When a hidden concern is revealed.

    Attributes:
        weights: w, of the ten features and the overlap.
        by_category: δ, added to w for concerns of a category; what isn't given is 0.
        decay: α, how much of the evidence stays from turn to turn.
        high: T_hi, the evidence that reveals at once.
        low: T_lo, the evidence that reveals when it holds for ``consecutive`` turns.
        consecutive: N.
        progressive: share of the way to 1 that both thresholds go with each concern revealed before.
        credit: for which concerns a turn counts; for all where there is none, as published.
        at_once: most concerns that one reply reveals, those with the most evidence first; without it, all that may.
    """

    weights: RevealWeights
    by_category: Mapping[Category, CategoryWeights]
    decay: Decay
    high: Threshold
    low: Threshold
    consecutive: Times
    progressive: Annotated[float, Field(ge=0, lt=1, strict=True)]
    credit: Credit | None = None
    at_once: Times | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Reveal:
        if self.low > self.high:
            raise ValueError("low must not exceed high")
        return self


class Address(Strict):
    """When the primary concern is addressed.

    Attributes:
        weights: v, of the ten features.
        by_category: δ, added to v where the primary concern is of a category; what isn't given is 0. The equations of
            the publication have it for the reveal only, its appendix for both.
        decay: β.
        probability: η, the least p of a hit.
        evidence: T_A, the least evidence of a hit.
        lag: L, the least number of turns between the reveal and a hit.
        consecutive: K, hits in a row.
    """

    weights: AddressWeights
    by_category: Mapping[Category, AddressCategoryWeights] = {}
    decay: Decay
    probability: Threshold
    evidence: Threshold
    lag: Annotated[int, Field(ge=0, strict=True)]
    consecutive: Times


class GuardThresholds(Strict):
    """When a simulated patient's reply gives away what is hidden, and when it says what it is to say.

    Attributes:
        leak_share, leak_words: a reply with at least this share of a hidden concern's distinctive words, and this many
            of them, gives it away.
        disclosure_share: a reply with at least this share of a concern's words, or of one of its voiced sentences,
            says it.
    """

    leak_share: Threshold
    leak_words: Times
    disclosure_share: Threshold


class Measures(Strict):
    """Settings of the measures taken from a trace.

    Attributes:
        turn_limit: number of clinician turns for the revealed share by the limit.
        open_coder: coder of questions after the concern was addressed.
    """

    turn_limit: Times
    open_coder: Text


class Parameters(Strict):
    """All parameters of the trace.

    Attributes:
        name: stands in the rater's name where it is not ``default``.
        title: what kind of patient it describes.
        origin: where the numbers come from.
        reveal, address: the latent policy.
        meta_probe_by: what blocks a turn as probing for categories: its intent alone, as published, or a risk of
            ``meta_probe`` or more as well.
        meta_probe: the risk that blocks; where the intent alone counts, only that of turns whose labels name none.
        guard: what is checked of a simulated patient's replies; scoring doesn't use it.
        measures: settings of the measures.
    """

    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    title: Text
    origin: Text
    reveal: Reveal
    address: Address
    meta_probe_by: Literal["intent", "intent or risk"]
    meta_probe: Annotated[float, Field(gt=0, le=1, strict=True)]
    guard: GuardThresholds
    measures: Measures

    def digest(self) -> str:
        """SHA-256 of all parameters (64 hexadecimal digits), however a file puts them."""
        return hashlib.sha256(orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)).hexdigest()


def parse_parameters(path: Path) -> Parameters:
    """Read a parameter file. With ``extends: NAME`` a shipped file gives what this one leaves out.

    Raises:
        RegistryError: it can't be read, isn't plain YAML, or has an unknown, missing or wrong key, which is named.
    """
    data = keys_and_values(path, "parameter file", "docs/suites/medconceal.md")
    base = data.pop("extends", None)
    if base is not None:
        if base == path.stem or not isinstance(base, str):
            raise RegistryError(f"it can't extend {base!r}", where=str(path), todo="name a shipped parameter file")
        data = _over(PARAMETERS.load(base).model_dump(), data)
    return to_model(data, Parameters, str(path), todo="mend this key", kind=RegistryError)


def _over(base: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Two trees of keys, with the values of the upper one where both have some."""
    merged = {**base, **upper}
    for name in base.keys() & upper.keys():
        if isinstance(base[name], Mapping) and isinstance(upper[name], Mapping):
            merged[name] = _over(base[name], upper[name])
    return merged


def write_parameters(parameters: Parameters, path: str | os.PathLike[str]) -> None:
    """Write a parameter file that :func:`parse_parameters` reads back unchanged."""
    text = yaml.safe_dump(parameters.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=110)
    write_text(Path(path), text)


#: Parameter files by name; ``find`` also takes the path of a file of the user's own.
PARAMETERS: DataRegistry[Parameters] = DataRegistry(
    "bedside.metrics.protocols.medconceal.parameters", ".yaml", "parameter file", Parameters, parse_parameters,
    group="bedside.medconceal_parameters",
)  # fmt: skip


def find_parameters(name: str) -> Parameters:
    """The parameter file of this name or path; one of the user's own is read once, not for every transcript.

    Raises:
        RegistryError: it is unknown, can't be read, or isn't of the form.
    """
    path = Path(name)
    if path.suffix == ".yaml" and path.is_file():
        return _read_once(name, path.stat().st_mtime_ns)
    return PARAMETERS.find(name)


@lru_cache(maxsize=8)
def _read_once(name: str, _changed: int) -> Parameters:
    return PARAMETERS.find(name)


# -- The latent policy ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """What a clinician turn brings to the latent policy.

    Attributes:
        turn: index in the transcript.
        blocked: whether it is taken as probing for categories of concerns, so that nothing changes.
        reveal: p of each concern, in the concerns' order, 0 to 1.
        address: p of addressing the primary concern.
        topic: what it is about; None where every turn counts for every concern, as published.
    """

    turn: int
    blocked: bool
    reveal: tuple[float, ...]
    address: float
    topic: TurnTopic | None = None


@dataclass(frozen=True, slots=True)
class PolicyState:
    """How things stand after a clinician turn: numbers, texts, lists and maps, so that JSON holds it as it is.

    Attributes:
        number: number of clinician turns until now.
        evidence: E of each concern, in the concerns' order, 0 to 1.
        rows: of each concern the number of unblocked turns in a row with evidence of the low threshold.
        revealed_at: concern → number of the clinician turn (from 1) that revealed it.
        since: unblocked turns since the primary concern was revealed.
        address_evidence: A, 0 to 1.
        hits: unblocked turns in a row, up to the last one, that address the primary concern well enough to count.
        addressed_at: number of the clinician turn at which it was addressed; None as long as it isn't.
        about: ids of the concerns that the last unblocked turn counted for.
        went_on: whether that turn only went on with what the one before was about.
    """

    number: int
    evidence: Sequence[float]
    rows: Sequence[int]
    revealed_at: Mapping[str, int]
    since: int
    address_evidence: float
    hits: int
    addressed_at: int | None
    about: Sequence[str] = ()
    went_on: bool = False

    @property
    def revealed_now(self) -> tuple[str, ...]:
        """Ids of the concerns that the last turn revealed."""
        return tuple(concern for concern, at in self.revealed_at.items() if at == self.number)


@dataclass(frozen=True, slots=True)
class Policy:
    """The latent policy of one conversation.

    Attributes:
        parameters: weights, thresholds and decays.
        concerns: ids of the hidden concerns, in the order of each step's ``reveal``.
        primary: id of the concern that can be addressed; without one none is.
    """

    parameters: Parameters
    concerns: tuple[str, ...]
    primary: str | None

    def start(self) -> PolicyState:
        """How things stand before anything is said."""
        return PolicyState(0, (0.0,) * len(self.concerns), (0,) * len(self.concerns), {}, 0, 0.0, 0, None)

    def step(self, state: PolicyState, step: Step) -> PolicyState:
        """How things stand after one more clinician turn.

        A blocked turn changes nothing but the number of turns: neither evidence nor rows of turns nor the number of
        turns since the reveal. All concerns of a turn meet the thresholds that held before it. With p of the step,
        ``E ← αE + (1 − α)p`` and ``A ← βA + (1 − β)p``; a turn that doesn't count for a concern only lowers its E.
        """
        number = state.number + 1
        if step.blocked:
            return replace(state, number=number)
        reveal, address = self.parameters.reveal, self.parameters.address
        since = state.since + (self.primary in state.revealed_at)
        high, low = (tightened(each, reveal.progressive, len(state.revealed_at)) for each in (reveal.high, reveal.low))
        about, went_on = self._about(state, step)
        evidence, rows, ready = [], [], []
        for concern, before, row, p in zip(self.concerns, state.evidence, state.rows, step.reveal, strict=True):
            counts = concern in about
            value = reveal.decay * before + (1 - reveal.decay) * p
            value = value if counts else min(before, value)
            row = row + counts if value >= low else 0
            evidence.append(value)
            rows.append(row)
            if concern not in state.revealed_at and (value >= high or row >= reveal.consecutive):
                ready.append(concern)
        if reveal.at_once is not None:
            ready = self._by_evidence(ready, evidence)[: reveal.at_once]
        revealed_at = {**state.revealed_at, **dict.fromkeys(ready, number)}
        address_evidence = address.decay * state.address_evidence + (1 - address.decay) * step.address
        hit = (
            self.primary in revealed_at
            and since >= address.lag
            and step.address >= address.probability
            and address_evidence >= address.evidence
        )
        hits = state.hits + 1 if hit else 0
        addressed_at = state.addressed_at
        if addressed_at is None and hits >= address.consecutive:
            addressed_at = number
        return PolicyState(
            number,
            tuple(evidence),
            tuple(rows),
            revealed_at,
            since,
            address_evidence,
            hits,
            addressed_at,
            about,
            went_on,
        )

    def _about(self, state: PolicyState, step: Step) -> tuple[tuple[str, ...], bool]:
        """The concerns that a turn counts for, and whether it only goes on with what the turn before was about.

        Those it names; where it names none, those of the turn before, once; else, where it asks openly and nothing is
        out yet, the one that lies uppermost.
        """
        topic = step.topic
        if topic is None:
            return self.concerns, False
        if topic.void:
            return (), False
        named = tuple(concern for concern, names in zip(self.concerns, topic.named, strict=True) if names)
        if named:
            return named, False
        if state.about and not state.went_on:
            return tuple(state.about), True
        if topic.open and not state.revealed_at:
            return tuple(self._by_evidence(self.concerns, state.evidence)[:1]), False
        return (), False

    def _by_evidence(self, concerns: Sequence[str], evidence: Sequence[float]) -> list[str]:
        """Concerns with the most evidence first; of equal ones the primary, then as the case has them."""
        of = dict(zip(self.concerns, evidence, strict=True))
        return sorted(concerns, key=lambda concern: (-of[concern], concern != self.primary))


def sigmoid(x: float) -> float:
    """``1 / (1 + e^−x)``, without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def is_blocked(z: Features, intent: Intent | None, parameters: Parameters) -> bool:
    """Whether a turn counts as meta-category probing.

    By its intent alone, as published, unless the parameters say that the risk counts too. A turn whose labels name no
    intent has only its risk to go by.
    """
    if intent == "meta_probe":
        return True
    by_risk = intent is None or parameters.meta_probe_by == "intent or risk"
    return by_risk and z.meta_probe_risk >= parameters.meta_probe


def reveal_probability(z: Sequence[float], shared: float, category: CategoryName, parameters: Parameters) -> float:
    """``p = σ((w + δ_category) · [z; o])`` of a turn with features ``z`` and overlap ``shared`` (o)."""
    weights, more = parameters.reveal.weights, parameters.reveal.by_category.get(category, {})
    return sigmoid(
        sum(
            (weights[name] + more.get(name, 0.0)) * value
            for name, value in zip(REVEAL_FEATURES, (*z, shared), strict=True)
        )
    )


def address_probability(z: Sequence[float], category: CategoryName | None, parameters: Parameters) -> float:
    """``p = σ((v + δ_category) · z)``; δ is that of the primary concern's category, 0 where the file gives none."""
    weights = parameters.address.weights
    more = {} if category is None else parameters.address.by_category.get(category, {})
    return sigmoid(sum((weights[name] + more.get(name, 0.0)) * value for name, value in zip(FEATURES, z, strict=True)))


def tightened(threshold: float, progressive: float, before: int) -> float:
    """A threshold after ``before`` concerns were revealed: each takes it ``progressive`` of the way to 1."""
    return threshold + (1 - threshold) * (1 - (1 - progressive) ** before)


def turn_step(
    turn: int,
    text: str,
    labels: ConcernTurnLabels,
    earlier: Sequence[str],
    *,
    concerns: Sequence[Concern],
    parameters: Parameters,
) -> Step:
    """What a labelled clinician turn brings to the policy.

    Args:
        turn: its index in the transcript.
        text: its words.
        labels: what is said of it.
        earlier: the clinician turns before it.
        concerns: the hidden concerns.
        parameters: weights, what blocks a turn, and what it counts for.
    """
    z = tuple(labels.z.model_dump().values())
    words = content(text)
    primary = primary_of(concerns)
    credit = parameters.reveal.credit
    return Step(
        turn,
        is_blocked(labels.z, labels.intent, parameters),
        tuple(
            reveal_probability(z, overlap(words, content(concern.text)), concern.category, parameters)
            for concern in concerns
        ),
        address_probability(
            z, next((concern.category for concern in concerns if concern.id == primary), None), parameters
        ),
        None if credit is None else turn_topic(text, labels.z, earlier, concerns=concerns, credit=credit),
    )
