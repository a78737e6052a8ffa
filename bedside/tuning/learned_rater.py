"""A learned rater: rates as people did, by features of the text alone; its file and its ratings of a run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from bedside.analysis.judge_accuracy import EXPECTED
from bedside.core.errors import InputError
from bedside.core.files import Format
from bedside.core.json_shape import BOOLEAN, INTEGER, NUMBER, TEXT, ObjectOf, OrNull, misfit
from bedside.metrics.coders.learned import features as _turn_features
from bedside.metrics.coders.learned.array_file import (
    ArrayFileKind,
    Arrays,
    content_hash,
    file_state,
    read_arrays,
    write_arrays,
)
from bedside.metrics.coders.learned.embeddings import Embeddings, needed_embeddings
from bedside.metrics.coders.learned.training_set import text_hash
from bedside.ratings.learnt_units import LEARNED_RATERS, LearntUnits, learned_raters, unit_digests, with_learnt
from bedside.ratings.names import TRANSCRIPT, algorithm_rater
from bedside.ratings.run import Run
from bedside.ratings.table import RatingRow, missing_counts, rating_writer
from bedside.scoring.run_transcripts import TranscriptSource, run_versions
from bedside.transcripts.language import not_english, primary_language
from bedside.transcripts.transcript import Transcript
from bedside.tuning import unit_features as _unit_features
from bedside.tuning.level_model import FeatureScale, LevelModel
from bedside.tuning.unit_features import GRAM_COLUMNS, described_units, number_count, unit_features, vector_count

# -- A learned rater ------------------------------------------------------------------------------------

#: What a file of a learned rater is.
RATER_FILE = ArrayFileKind("learned rater", "learned rater", "bedside judge learn")
FORMAT = Format("learned rater", todo=RATER_FILE.cure)
_CARD_SHAPE = {
    "format": INTEGER,
    "metric": TEXT,
    "date": TEXT,
    "levels": [(*TEXT, *NUMBER)],
    "ordered": BOOLEAN,
    "unit": TEXT,
    "roles": [TEXT],
    "features": {
        "version": [INTEGER], "grams": BOOLEAN,
        "embeddings": OrNull({"name": TEXT, "sha256": TEXT, "dimensions": INTEGER}),
    },
    "training": {
        "units": INTEGER, "cases": INTEGER, "people": INTEGER, "without_majority": INTEGER, "share": NUMBER,
        "seed": INTEGER, "strength": NUMBER, "languages": [TEXT], "learnt_from": [TEXT], "text_sha256": [TEXT],
    },
    "made_with": ObjectOf(TEXT),
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class LearnedRater:
    """A rater that learnt from people's ratings of some units.

    Attributes:
        card: what it is, what it learnt from, and with which features.
        model: what gives levels or labels.
        embeddings: the model of sentence embeddings, if any.
        content: SHA-256 (hex) of card and model.
    """

    card: Mapping[str, Any]
    model: LevelModel
    embeddings: Embeddings | None
    content: str

    @property
    def metric(self) -> str:
        """What it rates."""
        return str(self.card["metric"])

    @property
    def rater(self) -> str:
        """Its name in a ratings table; another content is another rater."""
        return algorithm_rater(f"learned-{self.metric}", self.content[:8])

    @property
    def of_turns(self) -> bool:
        """Whether it rates turns, and not whole conversations."""
        return bool(self.card["unit"] != TRANSCRIPT)

    def ratings(self, transcript: Transcript) -> Iterator[RatingRow]:
        """Its ratings of a conversation.

        Of numbers in order, ``<metric>.expected`` holds the expected level by the model's probabilities.
        """
        units = list(described_units(transcript, self.card["roles"], self.of_turns))
        problem = self._problem(transcript, units)
        blank = (transcript.id, transcript.system, transcript.case_id)
        if problem is not None:
            yield RatingRow(*blank, TRANSCRIPT, self.metric, self.rater, 0, error=problem)
            return
        features = unit_features(transcript, units, grams=self.card["features"]["grams"], embeddings=self.embeddings)
        levels = self.card["levels"]
        shares = self.model.probabilities(features)
        for unit, choice, row in zip(units, self.model.choices(features), shares, strict=True):
            level = levels[int(choice)]
            of_unit = (*blank, unit)
            if isinstance(level, str):
                yield RatingRow(*of_unit, self.metric, self.rater, 0, label=level)
                continue
            yield RatingRow(*of_unit, self.metric, self.rater, 0, float(level))
            if self.model.ordered:
                expected = float(row @ np.array(levels, dtype=np.float64))
                yield RatingRow(*of_unit, self.metric + EXPECTED, self.rater, 0, expected)

    def _problem(self, transcript: Transcript, units: list[str]) -> str | None:
        """Why a conversation can't be rated; None where it can."""
        if not units:
            what = "turn that it rates" if self.of_turns else "turn"
            return f"the transcript has no {what} with a word in it"
        languages = self.card["training"]["languages"]
        if not languages:
            return None
        if transcript.language is not None:
            language = primary_language(transcript.language)
            if language not in languages:
                return f"learnt from {', '.join(languages)}; the transcript is {language}"
        elif languages == ["en"]:
            foreign = not_english(" ".join(turn.text for turn in transcript.turns), None)
            return None if foreign is None else foreign.replace("made for", "learnt from")
        return None


def languages_of(transcripts: Iterator[Transcript]) -> list[str]:
    """The languages of transcripts, as far as they are known; none where one's isn't."""
    languages = set()
    for transcript in transcripts:
        if transcript.language is not None:
            languages.add(primary_language(transcript.language))
        elif not_english(" ".join(turn.text for turn in transcript.turns), None) is None:
            languages.add("en")
        else:
            return []
    return sorted(languages)


def learned_rater(card: Mapping[str, Any], model: LevelModel, embeddings: Embeddings | None) -> LearnedRater:
    """A rater of a card and a model."""
    plain = orjson.loads(orjson.dumps(card))
    return LearnedRater(plain, model, embeddings, content_hash(plain, _arrays(model)))


def save_rater(rater: LearnedRater, path: str | os.PathLike[str]) -> None:
    """Write a rater to a ``.npz`` file, whole or not at all; the same rater gives the same bytes.

    Raises:
        InputError: the file's name doesn't end in ``.npz``.
        RunError: it can't be written.
    """
    write_arrays(path, _arrays(rater.model), rater.card, RATER_FILE)


def load_rater(path: str | os.PathLike[str], embeddings: str | os.PathLike[str] | None = None) -> LearnedRater:
    """A rater from its file.

    Args:
        path: the file.
        embeddings: the folder of the embedding model, for a rater that needs one. Unless given, a package that ships
            it is looked for, or a folder of its name beside the file or in the working directory.

    Raises:
        InputError: the file is none, is damaged or changed, was made by another version, or the embedding model is
            missing or another.
        MissingExtraError: a library or package it needs isn't installed.
    """
    file = Path(path)
    file_state(file, RATER_FILE)
    stated, arrays = read_arrays(file, RATER_FILE)
    where = str(path)
    try:
        card = orjson.loads(stated)
        FORMAT.check(card["format"], where, InputError)
        if card["features"]["version"] != _versions():
            maker = card["made_with"]["bedside"]
            raise InputError(f"made by another version of bedside ({maker})", where=where, todo=RATER_FILE.cure)
        misplaced = misfit(card, _CARD_SHAPE)
        if misplaced is not None:
            raise ValueError(f"its card lacks a {misplaced}")
        model = _model(card, arrays)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"not a learned rater that this version can read ({error})"[:200], where=where, todo=RATER_FILE.cure
        ) from error
    folder = None if embeddings is None else str(embeddings)
    needed = needed_embeddings(file, card["features"]["embeddings"], folder, "learned rater")
    return LearnedRater(card, model, needed, content_hash(card, arrays))


def _versions() -> list[int]:
    return [_unit_features.VERSION, _turn_features.VERSION]


def feature_facts(grams: bool, embeddings: Embeddings | None, dimensions: int) -> dict[str, Any]:
    """What a card says of the features."""
    known = None
    if embeddings is not None:
        known = {"name": embeddings.name, "sha256": embeddings.sha256, "dimensions": dimensions}
    return {"version": _versions(), "grams": grams, "embeddings": known}


def _arrays(model: LevelModel) -> Arrays:
    return {
        "columns": model.columns.astype(np.int64),
        "grams": model.grams,
        "dense": model.dense,
        "thresholds": model.thresholds,
        "cuts": model.cuts,
        "mean": model.scale.mean,
        "spread": model.scale.spread,
        "middle": model.scale.middle,
        "length": np.array([model.scale.length]),
    }


def _model(card: Mapping[str, Any], arrays: Arrays) -> LevelModel:
    """The model of a file.

    Raises:
        ValueError: an array is missing, or has another shape or content than it must.
    """
    ordered, levels = card["ordered"], len(card["levels"])
    known = card["features"]["embeddings"]
    vectors = 0 if known is None else vector_count(known["dimensions"])
    numbers = number_count(card["unit"] != TRANSCRIPT)
    heads, steps = (1, levels - 1) if ordered else (levels, levels)

    def take(name: str, *shape: int, infinite: bool = False) -> Any:
        array = arrays.get(name)
        if array is None or array.dtype != np.float64 or array.shape != shape:
            raise ValueError(f"array {name} is missing or of another shape")
        if not (np.isfinite(array) | (infinite & np.isposinf(array))).all():
            raise ValueError(f"array {name} holds what is no number")
        return array

    columns = arrays.get("columns")
    if columns is None or columns.dtype != np.int64 or columns.ndim != 1:
        raise ValueError("array columns is missing or of another shape")
    if len(columns) and (columns[0] < 0 or columns[-1] >= GRAM_COLUMNS or (np.diff(columns) <= 0).any()):
        raise ValueError(f"array columns is not ascending from 0 to {GRAM_COLUMNS - 1}")
    thresholds, cuts = take("thresholds", steps), take("cuts", levels - 1 if ordered else 0)
    if levels < 2 or (ordered and ((np.diff(thresholds) < 0).any() or (np.diff(cuts) < 0).any())):
        raise ValueError("its levels are not in order")
    spread, length = take("spread", numbers, infinite=True), take("length", 1)
    if (spread <= 0).any() or length[0] <= 0:
        raise ValueError("its features have no size")
    scale = FeatureScale(take("mean", numbers), spread, take("middle", vectors), float(length[0]))
    return LevelModel(
        ordered=ordered,
        scale=scale,
        columns=columns,
        grams=take("grams", len(columns), heads),
        dense=take("dense", numbers + vectors, heads),
        thresholds=thresholds,
        cuts=cuts,
    )


# -- A learned rater's ratings of a run -----------------------------------------------------------------


def add_learned_ratings(run: Run, rater: LearnedRater, transcripts: TranscriptSource) -> int:
    """Have a learned rater rate a run's transcripts. The run must be locked.

    What it learnt from stands in the manifest, and is no evidence on it: cases and transcripts of the names that it
    learnt from, and transcripts of the same text, whatever they are called here.

    Args:
        run: the run.
        rater: the rater.
        transcripts: those of the run.

    Returns:
        How many ratings of the metric it gave; those that are missing don't count.
    """
    texts = frozenset(rater.card["training"]["text_sha256"])
    learnt = set(rater.card["training"]["learnt_from"])
    with tempfile.TemporaryDirectory(prefix=".judging.", dir=run.path) as folder:
        writer = rating_writer(Path(folder))
        count = 0
        for transcript in transcripts():
            if text_hash(transcript) in texts:
                learnt.update(unit_digests([(transcript.id, transcript.case_id)]))
            for row in rater.ratings(transcript):
                writer.add(row)
                count += row.metric == rater.metric and row.error is None
        ratings = writer.result()
        entry: Mapping[str, Any] = {
            "suite": None,
            "metrics": [rater.metric],
            "parameters": {},
            **run_versions(),
            "ratings": count,
            "raters": [rater.rater],
            "missing": missing_counts(ratings),
        }
        summary = {
            "metric": rater.metric,
            "unit": rater.card["unit"],
            "features": rater.card["features"],
            "training": {
                key: value for key, value in rater.card["training"].items() if key not in ("learnt_from", "text_sha256")
            },
        }
        manifest = {
            **run.manifest,
            "scorings": [*run.manifest["scorings"], entry],
            LEARNED_RATERS: {**learned_raters(run.manifest), rater.rater: summary},
        }
        manifest = with_learnt(manifest, LearntUnits(rater.rater, rater.metric, frozenset(learnt)))
        run.add(ratings, manifest)
    return count
