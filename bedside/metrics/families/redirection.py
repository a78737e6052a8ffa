"""Redirection: how far a clinician's turn leads away from where the turn before it led (Nguyen et al. 2024).

The patient's answer is weighed by a language model twice: after the clinician's turn, and after the clinician's
previous turn in its place. The score is the difference of the two log-odds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from bedside.core.errors import RegistryError, from_extra, one_of
from bedside.metrics.coders.finder import find_coder
from bedside.metrics.coders.people import majority, people_codes, proper
from bedside.metrics.contract import Example, Family, Metric, Parameter
from bedside.metrics.models.dialogue import LABELS, SEPARATOR, Speech, speeches
from bedside.ratings.names import algorithm_name
from bedside.ratings.values import Value, missing
from bedside.transcripts.language import not_english
from bedside.transcripts.transcript import Role, Transcript

if TYPE_CHECKING:
    from bedside.metrics.models.likelihood import Likelihood


# -- Whether a text is positive in tone -----------------------------------------------------------------

#: A text is positive from this compound score on, as VADER's authors propose.
POSITIVE = 0.05


@cache
def _analyser() -> tuple[Any, str]:
    from importlib.metadata import version

    with from_extra("redirection", "sentiment needs vaderSentiment"):
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    return SentimentIntensityAnalyzer(), f"vader@{version('vaderSentiment')}"


def scorer_name() -> str:
    """Name and version of what scores, for a rater's name."""
    return _analyser()[1]


def is_positive(text: str) -> bool:
    """Whether VADER's compound score of the text (−1 to 1) is :data:`POSITIVE` or more.

    Raises:
        MissingExtraError: vaderSentiment isn't installed.
    """
    return bool(_analyser()[0].polarity_scores(text)["compound"] >= POSITIVE)


# -- Redirection and likelihood of a session's turns under a language model -----------------------------


def redirection_score(after_turn: float, after_previous: float) -> float:
    """The score, of the log-probabilities of the patient's answer after the turn and after the previous one."""
    return log_odds(after_turn) - log_odds(after_previous)


@dataclass(frozen=True, slots=True)
class ScoredTurn:
    """A clinician's speech with its score.

    Attributes:
        speech: the speech; the last of its turns carries the score.
        answer: what the patient says after it.
        score: the redirection.
        remark: what was cut to fit the model's window; None where nothing was.
    """

    speech: Speech
    answer: Speech
    score: float
    remark: str | None = None

    @property
    def turn(self) -> int:
        return self.speech.turns[-1]


@dataclass(slots=True)
class SessionRedirections:
    """The scores of a session in order, and for the other clinician turns why there is none."""

    scored: list[ScoredTurn] = field(default_factory=list)
    without: dict[int, str] = field(default_factory=dict)


def score_turns(transcript: Transcript, likelihood: Likelihood, window: int) -> SessionRedirections:
    """The redirection of each clinician turn.

    Turns that follow one another are scored as one, at the last of them. Where the three turns are more than the
    window, the patient's earlier turn is cut from the left, alike in both contexts; where the rest alone is more, there
    is no score.

    Args:
        transcript: the session.
        likelihood: the model.
        window: the most tokens that the model is given at once.
    """
    from bedside.metrics.models.likelihood import Continuation

    redirections = SessionRedirections()
    all_speeches = speeches(transcript)
    for turn in transcript.of("clinician"):
        if not turn.text.strip():
            redirections.without[turn.index] = "the turn is empty"
    scored_speeches: list[tuple[Speech, Speech, str | None]] = []
    groups: list[tuple[Continuation, Continuation]] = []
    tokens = [likelihood.encode(speech.line + SEPARATOR) for speech in all_speeches]
    for place, speech in enumerate(all_speeches):
        if speech.role != "clinician":
            continue
        *first, last = speech.turns
        redirections.without |= dict.fromkeys(first, f"said in one go with turn {last}, which has the score")
        if place + 1 == len(all_speeches):
            redirections.without[last] = "no patient turn follows"
        elif place < 2:
            redirections.without[last] = "no clinician turn and patient turn before it"
        else:
            answer = likelihood.encode(all_speeches[place + 1].line)
            room = window - len(likelihood.start) - len(answer)
            room -= max(len(tokens[place]), len(tokens[place - 2]))
            before, remark = tokens[place - 1], None
            if room < 0:
                need = window - room
                redirections.without[last] = f"{need} tokens, more than the {window} that the model is given at once"
                continue
            if len(before) > room:
                remark = (
                    f"of the patient turn before it the first {len(before) - room} of {len(before)} tokens were cut"
                )
                before = before[len(before) - room :]
            stem = [*likelihood.start, *before]
            scored_speeches.append((speech, all_speeches[place + 1], remark))
            groups.append(
                (Continuation([*stem, *tokens[place]], answer), Continuation([*stem, *tokens[place - 2]], answer))
            )
    for (speech, after, remark), pair in zip(scored_speeches, likelihood.weigh(groups), strict=True):
        score = redirection_score(*(float(values.sum()) for values in pair))
        redirections.scored.append(ScoredTurn(speech, after, score, remark))
    return redirections


def turn_likelihoods(
    transcript: Transcript, likelihood: Likelihood, window: int
) -> tuple[dict[Role, tuple[float, int]], str | None]:
    """The sum of the log-probabilities of each role's tokens, their number, and a remark on long sessions.

    Speakers' labels and what ends a turn are not counted. In a session of more tokens than the window, every token is
    weighed after at least half a window of what came before.
    """
    from bedside.metrics.models.likelihood import Continuation, common

    tokens: list[int] = []
    counted: list[Role | None] = []
    for speech in speeches(transcript):
        line = likelihood.encode(speech.line)
        whole = likelihood.encode(speech.line + SEPARATOR)
        label = common([likelihood.encode(LABELS[speech.role]), line])
        tokens += whole
        counted += [speech.role if label <= place < len(line) else None for place in range(len(whole))]
    if not tokens:
        return {}, None
    room = window - len(likelihood.start)
    # Without a start token nothing stands before the first token, which belongs to a label.
    weighed, start = (0, 0) if likelihood.start else (1, 0)
    groups = []
    while weighed < len(tokens):
        end = min(start + room, len(tokens))
        groups.append([Continuation([*likelihood.start, *tokens[start:weighed]], tokens[weighed:end])])
        weighed, start = end, end - room // 2
    skipped = 0 if likelihood.start else 1
    totals: dict[Role, tuple[float, int]] = {}
    values = (value for (part,) in likelihood.weigh(groups) for value in part)
    for role, value in zip(counted[skipped:], values, strict=True):
        if role is not None:
            total, count = totals.get(role, (0.0, 0))
            totals[role] = (total + float(value), count + 1)
    remark = None
    if len(tokens) > room:
        remark = f"{len(tokens)} tokens; after the first {room} each is seen after at least {room // 2} others"
    return totals, remark


#: A probability nearer to 1 than this can't be told from 1 with numbers of 32 bits.
_NEAR = 2.0**-23


def log_odds(log_probability: float) -> float:
    """The natural logarithm of p / (1 − p), of a probability given as log p.

    Worked out in log space: neither a p that is too small to be a number nor one next to 1 overflows. A p nearer to 1
    than 2⁻²³ is taken to be that near.
    """
    bounded = min(log_probability, -_NEAR)
    # log(1 − p), by whichever of the two forms keeps its digits.
    log_complement = math.log(-math.expm1(bounded)) if bounded > -math.log(2) else math.log1p(-math.exp(bounded))
    return bounded - log_complement


# -- Redirection ----------------------------------------------------------------------------------------

_LEAST_WINDOW = 32
_SENTIMENT, _CHANGE_TALK = "sentiment", "change_talk"
_ROLES: tuple[Role, ...] = ("clinician", "patient")
#: The parameters that each metric depends on; only they stand in its rater's name.
_MODEL = ("model", "precision", "window")


def _client_talk(transcript: Transcript, coder: str) -> tuple[dict[int, str], str, str | None]:
    """The code of each patient turn that has one, who gave it, and where there is none, why.

    Of people's codes, the one that most people gave.
    """
    if coder == "human":
        labels_by_turn: dict[int, list[str]] = {}
        for turns in people_codes(transcript).values():
            for index, labels in turns.items():
                if "client_talk" in proper(labels):
                    labels_by_turn.setdefault(index, []).append(labels["client_talk"])
        codes_by_turn = {
            index: label for index, labels in labels_by_turn.items() if (label := majority(labels)) is not None
        }
        return codes_by_turn, coder, None if codes_by_turn else "nobody coded the patient's talk"
    talk_coder = find_coder(coder)
    name = algorithm_name(talk_coder.rater)
    why = talk_coder.refuses(transcript)
    if why is None and "client_talk" not in talk_coder.codes:
        why = f"the coder {coder} does not code the patient's talk"
    if why is not None:
        return {}, name, why
    codes = talk_coder.code(transcript)
    return {i: labels["client_talk"] for i, labels in codes.items() if "client_talk" in labels}, name, None


class _TurnSequence:
    """One transcript's measures."""

    def __init__(self, transcript: Transcript, scores: SessionRedirections, settings: Mapping[str, Any]) -> None:
        self.transcript = transcript
        self.scores = scores
        self.settings = settings
        self.scored = scores.scored
        self.greatest = max(self.scored, key=lambda turn: turn.score, default=None)
        self.redirecting = [turn for turn in self.scored if turn.score > settings["threshold"]]

    def rater(self, *parameters: str, by: str = "") -> str:
        """The rater of a metric that depends on these parameters."""
        return FAMILY.rater({name: self.settings[name] for name in (*_MODEL, *parameters)}) + by

    def values(self, metric_names: frozenset[str]) -> Iterator[Value]:
        """The metrics named that follow from the scores."""
        if "redirection_score" in metric_names:
            yield from self.turns()
        if "redirection_ratio" in metric_names:
            yield self.ratio()
        if "accepted_redirection" in metric_names:
            yield self.accepted()
        if "greatest_redirection" in metric_names:
            yield self.most()
        if metric_names & _DELTAS.keys():
            yield from self.deltas(name for name in _DELTAS if name in metric_names)

    def turns(self) -> Iterator[Value]:
        rater, scores = self.rater(), {turn.turn: turn for turn in self.scored}
        turns = [turn.index for turn in self.transcript.of("clinician")]
        if not turns:
            yield missing("redirection_score", "no clinician turn", rater=rater)
        for index in turns:
            scored_turn = scores.get(index)
            if scored_turn is not None:
                yield Value("redirection_score", scored_turn.score, turn=index, rater=rater, reason=scored_turn.remark)
            else:
                yield missing("redirection_score", self.scores.without[index], turn=index, rater=rater)

    def ratio(self) -> Value:
        rater = self.rater("threshold")
        if not self.scored:
            return missing("redirection_ratio", self._why_unscored(), rater=rater)
        share = len(self.redirecting) / len(self.scored)
        reason = f"{len(self.redirecting)} of {len(self.scored)} scored turns"
        return Value("redirection_ratio", share, rater=rater, reason=reason)

    def most(self) -> Value:
        if self.greatest is None:
            return missing("greatest_redirection", self._why_unscored(), rater=self.rater())
        turn = f"turn {self.greatest.turn}"
        reason = f"{turn}; {self.greatest.remark}" if self.greatest.remark else turn
        return Value("greatest_redirection", self.greatest.score, rater=self.rater(), reason=reason)

    def accepted(self) -> Value:
        name = "accepted_redirection"
        if self.settings["accepted"] == _SENTIMENT:
            rater = self.rater("threshold", by=f"+accepted={scorer_name()}")
            text = " ".join(turn.text for turn in self.transcript.of("patient"))
            why = not_english(text, self.transcript.language)
            answers = [(turn, is_positive(turn.answer.text)) for turn in self.redirecting] if not why else []
        else:
            codes, coder, why = _client_talk(self.transcript, self.settings["coder"])
            rater = self.rater("threshold", by=f"+accepted=change_talk:{coder}")
            coded_answers = [(turn, [codes[i] for i in turn.answer.turns if i in codes]) for turn in self.redirecting]
            answers = [(turn, "change" in labels) for turn, labels in coded_answers if labels]
        if not self.scored or why is not None:
            return missing(name, why or self._why_unscored(), rater=rater)
        if not self.redirecting:
            return missing(name, "no turn redirects", rater=rater)
        if not answers:
            return missing(name, "no answer to a redirecting turn is coded", rater=rater)
        accepted = sum(positive for _, positive in answers)
        reason = f"{accepted} of {len(answers)} redirecting turns"
        if len(answers) < len(self.redirecting):
            reason += f"; {len(self.redirecting) - len(answers)} more have no coded answer"
        return Value(name, accepted / len(answers), rater=rater, reason=reason)

    def deltas(self, metric_names: Iterable[str]) -> Iterator[Value]:
        codes, coder, why = _client_talk(self.transcript, self.settings["coder"])
        rater = self.rater(by=f"+codes={coder}")
        for name in metric_names:
            label = _DELTAS[name]
            if self.greatest is None or why is not None:
                yield missing(name, why or self._why_unscored(), rater=rater)
                continue
            at = self.greatest.turn
            before = [code == label for index, code in codes.items() if index < at]
            after = [code == label for index, code in codes.items() if index > at]
            if before and after:
                value = sum(after) / len(after) - sum(before) / len(before)
                reason = f"at turn {at}: {len(before)} coded patient turns before, {len(after)} after"
                yield Value(name, value, rater=rater, reason=reason)
            else:
                side = "after" if before else "before"
                yield missing(name, f"no coded patient turn {side} turn {at}", rater=rater)

    def _why_unscored(self) -> str:
        roles = {speech.role for speech in speeches(self.transcript)}
        for role in _ROLES:
            if role not in roles:
                return f"no {role} turn"
        return "no clinician turn has a score"


_DELTAS = {"delta_change_talk": "change", "delta_sustain_talk": "sustain"}


def _likelihood_values(transcript: Transcript, likelihood: Likelihood, window: int, rater: str) -> Iterator[Value]:
    totals, remark = turn_likelihoods(transcript, likelihood, window)
    for role in _ROLES:
        total, count = totals.get(role, (0.0, 0))
        if count:
            yield Value("turn_likelihood", total / count, role=role, rater=rater, reason=remark)
        else:
            yield missing("turn_likelihood", f"no {role} turn", role=role, rater=rater)


def compute(
    transcript: Transcript,
    metric_names: frozenset[str],
    *,
    model: str,
    precision: str,
    window: int,
    threshold: float,
    accepted: str,
    coder: str,
) -> Iterable[Value]:
    """The metrics named in ``metric_names``.

    Raises:
        RegistryError: a parameter has no such value, or there is no such coder.
        ModelError: the model isn't there or can't be loaded.
        MissingExtraError: a library isn't installed.
    """
    if window < _LEAST_WINDOW:
        raise RegistryError(f"redirection.window is {window}", todo=f"give at least {_LEAST_WINDOW} tokens")
    one_of(accepted, (_SENTIMENT, _CHANGE_TALK), "choice", RegistryError, where="redirection.accepted")
    if not model:
        return [
            value for metric in METRICS if metric.name in metric_names for value in _unscored_values(transcript, metric)
        ]
    from bedside.metrics.models.likelihood import load_likelihood

    settings = {
        "model": model,
        "precision": precision,
        "window": window,
        "threshold": float(threshold),
        "accepted": accepted,
        "coder": coder,
    }
    likelihood = load_likelihood(model, precision)
    limit = min(window, likelihood.window or window)
    scores = SessionRedirections()
    if metric_names - {"turn_likelihood"}:
        scores = score_turns(transcript, likelihood, limit)
    session = _TurnSequence(transcript, scores, settings)
    values = [*session.values(metric_names)]
    if "turn_likelihood" in metric_names:
        values += _likelihood_values(transcript, likelihood, limit, session.rater())
    return values


def _unscored_values(transcript: Transcript, metric: Metric) -> Iterator[Value]:
    """The missing values of a metric where no model is named."""
    if metric.unit == "turn":
        turns: list[int | None] = [turn.index for turn in transcript.of("clinician")]
        for index in turns or [None]:
            yield missing(metric.name, FAMILY.no_model, turn=index)
    else:
        for role in metric.roles or (None,):
            yield missing(metric.name, FAMILY.no_model, role=role)


def _patient(text: str, code: str) -> tuple[Any, ...]:
    return "patient", text, {"codes": {"anna": {"client_talk": code}}}


_SESSION = (
    ("clinician", "What brings you here today?"),
    _patient("My doctor told me to cut down on smoking, and I am fed up with hearing it.", "sustain"),
    ("clinician", "You have heard it more often than you care to."),
    _patient("Yes. It is the one thing I have for myself.", "sustain"),
    ("clinician", "And if you did stop one day, what would be good about it?"),
    _patient("I would love to run with my children again without getting out of breath.", "change"),
    ("clinician", "Running with them means a lot to you."),
    _patient("It does. I want to be there for them.", "change"),
    ("clinician", "What could be a first step?"),
    _patient("I don't know.", "neutral"),
)
_SOURCE = "Nguyen et al. 2024, Taking a turn for the better: redirection in mental-health conversations; ConvoKit"
_CALM_IT = "CALM-IT (Nguyen et al.), after the redirection of Nguyen et al. 2024"


def _no_model(**given: Any) -> tuple[Example, ...]:
    return (Example(_SESSION[:4], None, "no model is named", **given),)


METRICS = (
    Metric(
        name="redirection_score",
        title="Redirection",
        unit="turn",
        definition=(
            "logit P(f | p, c) − logit P(f | p, c′) of a clinician turn c, in nats: f is what the patient says next, "
            "p what the patient said before, c′ the clinician's turn before that; P is the product of the "
            "probabilities of f's tokens. Above 0: the turn leads elsewhere than the one before it did."
        ),
        source=_SOURCE,
        examples=_no_model(turn=2),
    ),
    Metric(
        name="redirection_ratio",
        title="Redirection ratio",
        unit="transcript",
        turns=("redirection_score",),
        low=0,
        high=1,
        definition="Share of the scored clinician turns whose redirection is above the threshold.",
        source=_CALM_IT,
        examples=_no_model(),
    ),
    Metric(
        name="accepted_redirection",
        title="Accepted redirection",
        unit="transcript",
        turns=("redirection_score",),
        low=0,
        high=1,
        direction="higher",
        definition=(
            "Share of the clinician turns with redirection above the threshold that the patient answers with positive "
            "sentiment (VADER's compound score from 0.05), or with change talk by a coder; the rater's name says which."
        ),
        needs=("English, or codes of patient turns",),
        source=_CALM_IT,
        examples=_no_model(),
    ),
    Metric(
        name="greatest_redirection",
        title="Greatest redirection",
        unit="transcript",
        turns=("redirection_score",),
        definition=("The highest redirection of a clinician turn in the session, in nats; the remark names the turn."),
        source=_CALM_IT,
        examples=_no_model(),
    ),
    *(
        Metric(
            name=name,
            title=f"Δ {label} talk",
            unit="transcript",
            low=-1,
            high=1,
            direction="higher" if label == "change" else "lower",
            definition=(
                f"Share of the coded patient turns after the turn of greatest redirection that are {label} talk, minus "
                "the share before it."
            ),
            needs=("codes of patient turns",),
            source=_CALM_IT,
            examples=_no_model(),
        )
        for name, label in _DELTAS.items()
    ),
    Metric(
        name="turn_likelihood",
        title="Turn likelihood",
        unit="transcript",
        roles=_ROLES,
        high=0,
        definition=(
            "Mean log-probability of a token of the role's turns, given what was said before, in nats per token."
        ),
        source=_CALM_IT,
        examples=_no_model(role="patient"),
    ),
)

FAMILY = Family(
    name="redirection",
    title="Redirection",
    description=(
        "How far a clinician's turn leads the patient away from where the turn before it led, by the probabilities "
        "that a causal language model gives to the patient's answer, and what becomes of it. Turns of one side that "
        "follow one another are taken as one; empty turns and turns of others are left out. Scores of different "
        "models can't be compared: the model's name and content stand in the rater's name."
    ),
    version="1",
    metrics=METRICS,
    compute=compute,
    model="a causal language model: a folder, a .gguf file or a name on the Hugging Face hub",
    parameters={
        "model": Parameter("", "a folder", "the language model"),
        "precision": Parameter(
            "float32", "bfloat16", "bfloat16 is several times as fast on processors that know it, and rougher"
        ),
        "window": Parameter(1024, 96, "the most tokens that the model is given at once"),
        "threshold": Parameter(0.0, 2.0, "the redirection above which a turn redirects"),
        "accepted": Parameter(
            _SENTIMENT, _CHANGE_TALK, "what acceptance is: positive sentiment, or change_talk by the coder"
        ),
        "coder": Parameter(
            "human",
            "rules",
            "whose codes of the patient's talk are used: human for people, a coder's name, or the .npz file of a "
            "trained one",
        ),
    },
    demonstration=_SESSION,
)
