"""Training a learned rater on people's ratings, and trying it on cases that it has not learnt from."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np
import polars as pl

import bedside
from bedside.analysis.agreement import Agreement, agree
from bedside.analysis.jury_agreement import AgreementGain, agreement_gains
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.rater_kinds import is_carded
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.core.errors import DataError, from_extra
from bedside.core.words import counted
from bedside.metrics.coders.learned.embeddings import Embeddings
from bedside.metrics.coders.learned.training_set import text_hash
from bedside.ratings.learnt_units import LearntUnits, learned_raters, unit_digests
from bedside.ratings.names import TRANSCRIPT, is_human, is_turn, turn_index
from bedside.ratings.table import frame_of
from bedside.stats.arrays import Array
from bedside.transcripts.transcript import Transcript
from bedside.tuning.label_split import FEWEST_CASES, FEWEST_UNITS, LabelledUnit, labelled_units, split_labels
from bedside.tuning.learned_rater import FORMAT, LearnedRater, feature_facts, languages_of, learned_rater
from bedside.tuning.level_model import FOLDS, LevelModel, fit_level_model
from bedside.tuning.unit_features import UnitFeatures, together, unit_features

#: The share that says: learn from everything.
EVERYTHING = 1.0
#: Ends the name of raters that are tried in place of one that learnt from everything.
_OUT_OF_FOLD = "+out-of-fold"


@dataclass(frozen=True, slots=True, eq=False)
class TaughtRater:
    """What came of learning.

    Attributes:
        rater: the learned rater.
        learnt: what it learnt from, for a run's manifest.
        fresh: its ratings of units that it, or a rater like it, has not learnt from; None where the rater's own
            ratings of what was held out are these.
    """

    rater: LearnedRater
    learnt: LearntUnits
    fresh: pl.DataFrame | None


@dataclass(frozen=True, slots=True)
class LearnedRaterTrial(MetricRatings):
    """A learned rater beside people, on units that it has not learnt from, and the judges that should beat it.

    Attributes:
        facts, rater: the metric, and the learned rater.
        training_units, training_cases: what it learnt from.
        out_of_fold: whether it was tried by raters like it, each of which learnt from four fifths of the cases and
            rated the others; else the rater itself rated what was held out.
        mean, consensus: its agreement with each person, the mean, and with people's consensus.
        people, ceiling: people among themselves, and one person against the consensus of the others.
        gains: each judge and jury held against it, on the units that both rated.
    """

    rater: str
    training_units: int
    training_cases: int
    out_of_fold: bool
    mean: Agreement | None
    consensus: Agreement | None
    people: Agreement | None
    ceiling: Agreement | None
    gains: tuple[AgreementGain, ...]


def teach_rater(
    view: RatingsView,
    metric: str,
    *,
    share: float = 0.5,
    grams: bool = True,
    embeddings: Embeddings | None = None,
    seed: int = 0,
) -> TaughtRater:
    """Learn from people's ratings of a metric.

    Gold is people's consensus: the majority of labels, the median of levels; where that lies between two levels, each
    counts half. Units whose labels have no majority are left out.

    Args:
        view: the ratings of a run that keeps its text.
        metric: the metric's name.
        share: of cases to learn from; 1 learns from all, and is tried out of fold.
        grams: whether the rater looks at n-grams, of words and characters.
        embeddings: a model of sentence embeddings, if it looks at these.
        seed: of the split and of the parts.

    Raises:
        DataError: too few ratings by people, or a metric on no scale.
        RunError: the run keeps no text.
    """
    units = _everything(view, metric) if share == EVERYTHING else split_labels(
        view, metric, share=share, seed=seed
    ).training  # fmt: skip
    levels, ordered = _levels(view, metric, units)
    known = [unit for unit in units if unit.consensus is not None]
    targets = _targets(known, levels)
    if (targets.sum(axis=0) > 0).sum() < 2:
        raise DataError(
            f"people say the same of all units to learn {metric} from",
            where=view.name,
            todo="have them rate more cases",
        )
    material = _material(view, known, grams=grams, embeddings=embeddings)
    cases = [unit.case for unit in known]
    model, strength = fit_level_model(material.features, targets, cases, ordered=ordered, seed=seed)
    dimensions = material.features.vectors.shape[1] // 2
    card = {
        "format": FORMAT.version,
        "metric": metric,
        "date": datetime.now(UTC).date().isoformat(),
        "levels": list(levels),
        "ordered": ordered,
        "unit": "turn" if is_turn(known[0].unit) else TRANSCRIPT,
        "roles": material.roles,
        "features": feature_facts(grams, embeddings, dimensions),
        "training": {
            "units": len(known),
            "cases": len(set(cases)),
            "people": len({person for unit in known for person in unit.ratings}),
            "without_majority": len(units) - len(known),
            "share": share,
            "seed": seed,
            "strength": strength,
            "languages": material.languages,
            "learnt_from": list(unit_digests((unit.transcript, unit.case_id) for unit in units)),
            "text_sha256": material.hashes,
        },
        "made_with": {
            "bedside": bedside.__version__,
            "python": platform.python_version(),
            **{library: version(library) for library in ("numpy", "scikit-learn", "scipy")},
        },
    }
    rater = learned_rater(card, model, embeddings)
    learnt = LearntUnits(rater.rater, metric, frozenset(rater.card["training"]["learnt_from"]))
    fresh = None
    if share == EVERYTHING:
        chosen = _out_of_fold(material.features, targets, cases, ordered=ordered, seed=seed)
        fresh = _as_ratings(view, rater, known, [levels[place] for place in chosen])
    return TaughtRater(rater, learnt, fresh)


def try_rater(
    view: RatingsView, rater: LearnedRater, fresh: pl.DataFrame | None = None, *, seed: int = 0
) -> LearnedRaterTrial:
    """A learned rater beside people and judges, on what it has not learnt from.

    Args:
        view: the ratings of the run, the rater's own among them, unless
        fresh: says what it gives to units that it has not learnt from.
        seed: of what is drawn at random.
    """
    tried = rater.rater
    if fresh is not None:
        # The rater has learnt from all of these; its likes, which haven't, have a name of their own.
        tried = f"{rater.rater}{_OUT_OF_FOLD}"
        renamed = fresh.with_columns(pl.lit(tried).alias("rater"))
        view = replace(view, ratings=pl.concat([view.ratings, renamed]))
    people = [name for name in view.raters() if is_human(name)]
    by_kind: dict[str, Agreement] = {}
    with suppress(NothingError):
        rows = agree(view, metrics=[rater.metric], raters=[*people, tried], seed=seed)
        by_kind = {row.kind: row for row in rows if row.title == view.facts(rater.metric).title}
    learned = () if view.run is None else learned_raters(view.run.manifest)
    judges = [
        name
        for name in sorted(view.ratings.filter(pl.col("metric") == rater.metric)["rater"].unique())
        if name not in learned and is_carded(view, name)
    ]
    gains = [
        replace(gain, other=rater.rater)
        for judge in judges
        for gain in agreement_gains(view, rater.metric, judge, [tried])
    ]
    return LearnedRaterTrial(
        facts=view.facts(rater.metric),
        rater=rater.rater,
        training_units=rater.card["training"]["units"],
        training_cases=rater.card["training"]["cases"],
        out_of_fold=fresh is not None,
        mean=by_kind.get("mean"),
        consensus=by_kind.get("consensus"),
        people=by_kind.get("people"),
        ceiling=by_kind.get("ceiling"),
        gains=tuple(gains),
    )


def _everything(view: RatingsView, metric: str) -> tuple[LabelledUnit, ...]:
    """All units that people rated; DataError where they are too few to learn from some and be tried on others."""
    units, _, _ = labelled_units(view, metric)
    cases = len({unit.case for unit in units})
    if len(units) < 2 * FEWEST_UNITS or cases < 2 * FEWEST_CASES:
        raise DataError(
            f"people rated {counted(len(units), 'unit')} of {counted(cases, 'case')} by {metric}, and "
            f"{2 * FEWEST_UNITS} of {2 * FEWEST_CASES} are needed to learn from some and be tried on others",
            where=view.name,
            todo="have people rate more cases",
        )
    return units


def _levels(view: RatingsView, metric: str, units: Sequence[LabelledUnit]) -> tuple[tuple[float | str, ...], bool]:
    """The levels that are learnt, and whether they are in order."""
    scale = view.scales.get(metric)
    if scale is not None:
        return tuple(scale.levels), scale.ordered
    answers = {answer for unit in units for answer in unit.ratings.values()}
    if any(not isinstance(answer, str) for answer in answers):
        raise DataError(
            f"{metric} is on no scale, and a learned rater gives levels or labels",
            where=view.name,
            todo="give its scale with `scales`",
        )
    return tuple(sorted(map(str, answers))), False


def _targets(units: Sequence[LabelledUnit], levels: Sequence[float | str]) -> Array:
    """Units × levels: which level people's consensus is; half each where it lies between two.

    A median between levels that are not neighbours is half the lower and half the higher of those nearest it.
    """
    targets = np.zeros((len(units), len(levels)))
    places = {level: place for place, level in enumerate(levels)}
    for row, unit in enumerate(units):
        if unit.consensus in places:
            targets[row, places[unit.consensus]] = 1
            continue
        numbers = np.array([float(level) for level in levels])
        middle = float(unit.consensus)  # type: ignore[arg-type]
        targets[row, [int((numbers < middle).sum()) - 1, int((numbers < middle).sum())]] = 0.5
    return targets


@dataclass(frozen=True, slots=True, eq=False)
class _Material:
    """Features of the units that are learnt from, and what is known of their conversations."""

    features: UnitFeatures
    roles: list[str]
    languages: list[str]
    hashes: list[str]


def _material(
    view: RatingsView, units: Sequence[LabelledUnit], *, grams: bool, embeddings: Embeddings | None
) -> _Material:
    """Features of units, from the text that the run keeps."""
    if view.run is None:
        raise DataError("ratings of a file have no text to learn from", where=view.name, todo="give a run")
    by_transcript: dict[str, list[int]] = {}
    for row, unit in enumerate(units):
        by_transcript.setdefault(unit.transcript, []).append(row)
    of_turns = {is_turn(unit.unit) for unit in units}
    if len(of_turns) > 1:
        raise DataError(
            "people rated turns and whole conversations by one metric", where=view.name, todo="part them by metric"
        )
    order: list[int] = []
    parts: list[UnitFeatures] = []
    texts: list[Transcript] = []
    roles: dict[str, None] = {}
    for transcript in view.run.transcripts():
        rows = by_transcript.get(transcript.id)
        if rows is None:
            continue
        names = [units[row].unit for row in rows]
        parts.append(unit_features(transcript, names, grams=grams, embeddings=embeddings))
        order += rows
        texts.append(transcript)
        if True in of_turns:
            roles.update(dict.fromkeys(transcript.turns[turn_index(name)].role for name in names))
    places = np.argsort(np.array(order))
    return _Material(
        together(parts).rows(places),
        sorted(roles),
        languages_of(iter(texts)),
        sorted({text_hash(transcript) for transcript in texts}),
    )


def _out_of_fold(
    features: UnitFeatures, targets: Array, cases: Sequence[str], *, ordered: bool, seed: int
) -> list[int]:
    """The level of each unit by a model that has not learnt from its case."""
    with from_extra("learning", "training a rater needs scikit-learn"):
        from sklearn.model_selection import GroupKFold

    groups = np.unique(np.array(cases), return_inverse=True)[1]
    chosen = np.zeros(len(targets), dtype=int)
    splitter = GroupKFold(FOLDS, shuffle=True, random_state=seed)
    for train, test in splitter.split(targets, groups=groups):
        model: LevelModel = fit_level_model(
            features.rows(train), targets[train], [cases[row] for row in train], ordered=ordered, seed=seed
        )[0]
        chosen[test] = model.choices(features.rows(test))
    return [int(place) for place in chosen]


def _as_ratings(
    view: RatingsView, rater: LearnedRater, units: Sequence[LabelledUnit], levels: Sequence[float | str]
) -> pl.DataFrame:
    """Levels of units as a ratings table."""
    origins: Mapping[str, tuple[str | None, str | None]] = {
        name: (system, case) for name, system, case in view.transcripts().iter_rows()
    }
    return frame_of(
        (unit.transcript, *origins[unit.transcript], unit.unit, rater.metric, rater.rater, 0,
         None if isinstance(level, str) else float(level), level if isinstance(level, str) else None, None, None)
        for unit, level in zip(units, levels, strict=True)
    )  # fmt: skip
