"""How alike the words of simulated and of real patients are: features of a conversation, tested for equivalence."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import simulated_talks
from bedside.metrics.text_diversity import tokens_of
from bedside.stats.result import Result
from bedside.transcripts.identifiers.transcript_identifiers import language_of
from bedside.transcripts.transcript import Transcript

Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]
Verdict = Literal["alike", "not alike", "not known"]
ReferenceKind = Literal["real", "simulated", "partly simulated"]
#: Standard deviations of real patients by which a mean may be off and count as alike.
MARGIN = 0.5
#: With fewer cases on either side nothing is claimed: the tests don't hold their level then.
FEWEST = 20
_TOO_FEW = f"no interval: fewer than {FEWEST} cases on a side"
#: Features by name, in the table's order; that of the classifier stands last.
FEATURES = {
    "turn_length": "Words a turn",
    "questions": "Turns with a question",
    "affect": "Words of feeling in 100",
    "early": "Words in the first half",
    "meaning": "Nearness in meaning",
}
APART = "told_apart"
_QUESTION = re.compile(r"[?？]")


@dataclass(frozen=True, slots=True)
class Likeness:
    """A feature of what patients say, in simulated and in real conversations.

    Attributes:
        feature, title: its name, and in words.
        system: the clinician of the simulated conversations.
        language: of all conversations that count.
        mean, reference: the means over simulated and over real cases.
        n, reference_n: how many these are.
        result: the difference in standard deviations of the real ones, tested for equivalence; of the classifier, the
            area under its curve.
        left_out: simulated and real conversations in other languages.
        reference_kind: what the reference's conversations are, which stand for real ones here.
    """

    feature: str
    title: str
    system: str
    language: str
    mean: float | None
    reference: float | None
    n: int
    reference_n: int
    result: Result
    left_out: int
    reference_kind: ReferenceKind = "real"

    @property
    def verdict(self) -> Verdict | None:
        """Whether the interval lies within the margin, or beyond it; None of the classifier."""
        interval, margin = self.result.interval, self.result.options.get("margin")
        if self.feature == APART:
            return None
        if interval is None or margin is None:
            return "not known"
        if -margin < interval.low and interval.high < margin:
            return "alike"
        return "not alike" if interval.low > margin or interval.high < -margin else "not known"


@dataclass(frozen=True, slots=True)
class _PatientWords:
    """A conversation by its patient's words.

    Attributes:
        system, case: whose it is; of real ones the system is empty.
        language: it is in.
        values: features by name; those that it can't have are left out.
        vector: the direction of its meaning; None without a model of embeddings.
    """

    system: str
    case: str
    language: str
    values: dict[str, float]
    vector: npt.NDArray[np.float32] | None


@cache
def _affect() -> Mapping[str, re.Pattern[str]]:
    """What matches a word of feeling, by language."""
    from bedside.core.yaml_files import plain_yaml

    lists = plain_yaml(Path(str(resources.files("bedside.metrics"))) / "word_lists" / "affect.yaml", "list of words")
    forms = {tag: "|".join(re.escape(word).replace(r"\*", r"\w*") for word in words) for tag, words in lists.items()}
    return {tag: re.compile(form if tag == "zh" else rf"\b(?:{form})\b") for tag, form in forms.items()}


def features(turns: Sequence[str], language: str) -> dict[str, float]:
    """The features of one patient's turns; those that they can't have are left out.

    Args:
        turns: what the patient says, in order.
        language: ``en``, ``de``, ``zh`` or another tag; words of feeling are known in these three.
    """
    counts = [len(tokens_of(text)) for text in turns]
    total, middle = sum(counts), len(turns) // 2
    if not total:
        return {}
    early = sum(counts[:middle]) + (counts[middle] / 2 if len(turns) % 2 else 0)
    values = {
        "turn_length": total / len(turns),
        "questions": sum(bool(_QUESTION.search(text)) for text in turns) / len(turns),
    }
    if language in _affect():
        values["affect"] = 100 * sum(len(_affect()[language].findall(text.lower())) for text in turns) / total
    return {**values, "early": early / total} if len(turns) > 1 else values


def reference_kind(view: RatingsView) -> ReferenceKind:
    """What the conversations of a reference corpus are."""
    talks = simulated_talks(view, read=False)
    if talks is None or not talks.finished:
        return "real"
    return "partly simulated" if talks.others else "simulated"


def likeness(
    view: RatingsView, *, encode: Encode | None = None, margin: float = MARGIN, seed: int = 0
) -> tuple[Likeness, ...]:
    """How alike simulated patients' words are to those of its reference corpus, for each system.

    Several conversations of a case are averaged first. Only conversations in one language count: that of which there
    are most on both sides.

    Args:
        view: the ratings of simulated conversations, with a reference corpus.
        encode: turns texts into vectors of length 1; without it nearness in meaning is left out.
        margin: in standard deviations of the real conversations.
        seed: of the classifier's folds.

    Raises:
        DataError: an impossible margin.
    """
    talks = simulated_talks(view)
    if view.reference is None or talks is None:
        return ()
    systems = {talk.id: talk.system for talk in talks.finished}
    real = list(_talks(view.reference, {}, encode))
    simulated = [talk for talk in _talks(view, systems, encode) if talk.system]
    rows: list[Likeness] = []
    kind = reference_kind(view.reference)
    for system in talks.systems:
        own = [talk for talk in simulated if talk.system == system]
        rows += (replace(row, reference_kind=kind) for row in _of_system(system, own, real, margin, seed))
    return tuple(rows)


def _talks(view: RatingsView, systems: Mapping[str, str], encode: Encode | None) -> Iterator[_PatientWords]:
    if view.run is None or not view.run.keeps_text:
        return
    for transcript in view.run.transcripts():
        turns = [turn.text for turn in transcript.turns if turn.role == "patient" and turn.text.strip()]
        language = language_of(transcript)
        values = features(turns, language)
        if values:
            mean = None if encode is None else encode(turns).mean(axis=0)
            vector = None if mean is None else mean / np.linalg.norm(mean)
            yield _PatientWords(systems.get(transcript.id, ""), _case(transcript), language, values, vector)


def _case(transcript: Transcript) -> str:
    return transcript.case_id or transcript.id


def _of_system(
    system: str, simulated: Sequence[_PatientWords], real: Sequence[_PatientWords], margin: float, seed: int
) -> Iterator[Likeness]:
    """All features of a system's conversations, and how well they tell it from real ones."""
    counts = [Counter(talk.language for talk in side) for side in (simulated, real)]
    language = max(counts[1], key=lambda tag: (min(count[tag] for count in counts), tag), default="")
    own, others = ([talk for talk in side if talk.language == language] for side in (simulated, real))
    left_out = len(simulated) + len(real) - len(own) - len(others)
    for side in (own, others):
        _add_meaning(side, others)
    for name, title in FEATURES.items():
        x, y = (_case_means(side, name) for side in (own, others))
        if x.size or y.size:
            mean, reference = (float(values.mean()) if values.size else None for values in (x, y))
            result = _tested(name, x, y, margin)
            yield Likeness(name, title, system, language, mean, reference, x.size, y.size, result, left_out)
    n, reference_n = (len({talk.case for talk in side}) for side in (own, others))
    apart = _told_apart(own, others, seed)
    yield Likeness(APART, "Told apart by these", system, language, None, None, n, reference_n, apart, left_out)


def _add_meaning(side: Sequence[_PatientWords], real: Sequence[_PatientWords]) -> None:
    """The cosine of each conversation with the mean of the real ones, itself left out."""
    vectors = [talk.vector for talk in real if talk.vector is not None]
    total = np.sum(vectors, axis=0) if len(vectors) > 1 else None
    for talk in side:
        if total is not None and talk.vector is not None:
            mean = total - talk.vector if not talk.system else total
            talk.values["meaning"] = float(talk.vector @ mean / np.linalg.norm(mean))


def _case_means(talks: Sequence[_PatientWords], name: str) -> npt.NDArray[np.float64]:
    by_case = defaultdict(list)
    for talk in talks:
        if name in talk.values:
            by_case[talk.case].append(talk.values[name])
    return np.array([np.mean(values) for values in by_case.values()], dtype=np.float64)


def _tested(name: str, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], margin: float) -> Result:
    from bedside.stats.equivalence import standardised_means

    if name == "turn_length":
        # A few talk very much: logarithms are nearer to the normal distribution that t tests take.
        x, y = np.log(x), np.log(y)
    result = standardised_means(x, y, margin=margin)
    if result.missing is None and min(x.size, y.size) < FEWEST:
        return replace(result, interval=None, p=None, missing=_TOO_FEW)
    return result


def _told_apart(own: Sequence[_PatientWords], others: Sequence[_PatientWords], seed: int) -> Result:
    """How often a logistic regression on the features ranks a simulated conversation above a real one, each in a fold
    whose cases it wasn't fitted on."""
    from bedside.stats.diagnostic_accuracy import area_under_curve

    everything = [*own, *others]
    names = [name for name in FEATURES if all(name in talk.values for talk in everything)]
    blank = Result(name="area under the ROC curve", method="logistic regression, five folds over cases", n=0)
    if min(len({talk.case for talk in side}) for side in (own, others)) < FEWEST or not names:
        return blank.no_value(_TOO_FEW)
    from bedside.core.errors import from_extra

    with from_extra("learning", "telling simulated talks from real ones needs scikit-learn"):
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

    table: Any = np.array([[talk.values[name] for name in names] for talk in everything])
    truth = [1] * len(own) + [0] * len(others)
    groups = [f"{bool(talk.system)} {talk.case}" for talk in everything]
    scores = cross_val_predict(
        make_pipeline(StandardScaler(), LogisticRegression()), table, truth, groups=groups,
        cv=StratifiedGroupKFold(5, shuffle=True, random_state=seed), method="decision_function",
    )  # fmt: skip
    return area_under_curve(scores, truth, clusters=groups)
