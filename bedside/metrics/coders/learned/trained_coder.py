"""A trained coder: its file, its card, and its use as a coder like any other.

The file is NumPy's ``.npz`` with plain arrays of numbers: hashed weights and, as bytes of JSON, the card. There is
nothing in it that is executed or unpickled, and no text of what it was trained on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.metrics.coders.contract import Coder, TurnCodes
from bedside.metrics.coders.learned import features as _features
from bedside.metrics.coders.learned.classifiers import RoleModel
from bedside.metrics.coders.learned.embeddings import Embeddings
from bedside.metrics.coders.learned.training_set import text_hash
from bedside.transcripts.language import not_english
from bedside.transcripts.transcript import Role, Transcript


@dataclass(frozen=True, slots=True)
class TrainedCoder:
    """A coder made by :func:`train`.

    Attributes:
        card: what it was trained on and how good it is, as JSON shows it: see ``docs/coders.md``.
        models: its classifiers, one per role.
        embeddings: the model of sentence embeddings, where it uses one.
        content: hash (hex) of the weights and of the card without its date; it stands in the rater's name.
    """

    card: Mapping[str, Any]
    models: tuple[RoleModel, ...]
    embeddings: Embeddings | None
    content: str
    _tables: dict[Role, NDArray[np.float32]] = field(default_factory=dict, repr=False, compare=False)
    _last: list[Any] = field(default_factory=list, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Its own name, whatever the file is called."""
        return str(self.card["name"])

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes it gives."""
        return tuple(code for model in self.models for code in model.labels)

    def code(self, transcript: Transcript) -> TurnCodes:
        """The codes of all turns of the roles it knows."""
        return {
            index: {code: label for code, (label, _) in codes.items()}
            for index, codes in self._all(transcript)
        }

    def confidence(self, transcript: Transcript) -> Mapping[int, Mapping[str, float]]:
        """The calibrated probability (0–1) of each label that :meth:`code` gives."""
        return {index: {code: p for code, (_, p) in codes.items()} for index, codes in self._all(transcript)}

    def probabilities(self, transcript: Transcript) -> dict[int, dict[str, dict[str, float]]]:
        """Turn index → code → label → calibrated probability; a code's sum to 1."""
        by_turn: dict[int, dict[str, dict[str, float]]] = {}
        for model, turns, scores in self._scores(transcript):
            for code, rows in model.probabilities(scores).items():
                for index, row in zip(turns.tolist(), rows.tolist(), strict=True):
                    by_turn.setdefault(index, {})[code] = dict(zip(model.labels[code], row, strict=True))
        return by_turn

    def refuses(self, transcript: Transcript) -> str | None:
        """Why it can't code a transcript: it is in another language than those it was trained on."""
        languages = self.card["training"]["languages"]
        if not languages:
            return None
        if transcript.language is not None:
            language = re.split("[-_]", transcript.language.strip().lower())[0]
            return (
                None
                if language in languages
                else f"trained on {', '.join(languages)}; the transcript is {language}"
            )
        if languages == ["en"]:
            return not_english(" ".join(turn.text for turn in transcript.of("clinician")), None)
        return None

    def trained_on(self, transcript: Transcript) -> bool:
        """Whether the transcript's text was in its training data, whatever it is called."""
        return text_hash(transcript) in self.card["training"]["text_sha256"]

    def coder(self) -> Coder:
        """It as a coder like those that ship with bedside; its version is the content's hash."""
        return Coder(
            name=self.name,
            title=f"coder trained on {self.card['training']['transcripts']} transcripts",
            description="Trained by bedside; its file holds its card.",
            version=self.content[:12],
            codes=self.codes,
            source="Trained with bedside.",
            code=self.code,
            refuses=self.refuses,
            languages=tuple(self.card["training"]["languages"]),
            confidence=self.confidence,
        )

    def on_new_sessions(self) -> Coder:
        """It as a coder that refuses the transcripts it was trained on: for its evaluation."""

        def refuses(transcript: Transcript) -> str | None:
            return (
                "it is in the coder's training data"
                if self.trained_on(transcript)
                else self.refuses(transcript)
            )

        return replace(self.coder(), refuses=refuses)

    def _all(self, transcript: Transcript) -> Iterable[tuple[int, dict[str, tuple[str, float]]]]:
        if not (self._last and self._last[0] is transcript):
            by_turn: dict[int, dict[str, tuple[str, float]]] = {}
            for model, turns, scores in self._scores(transcript):
                for code, (labels, chances) in model.choices(scores).items():
                    for index, label, chance in zip(turns.tolist(), labels, chances.tolist(), strict=True):
                        by_turn.setdefault(index, {})[code] = (label, chance)
            self._last[:] = [transcript, by_turn]
        items: dict[int, dict[str, tuple[str, float]]] = self._last[1]
        return items.items()

    def _scores(
        self, transcript: Transcript
    ) -> Iterable[tuple[RoleModel, NDArray[np.int64], NDArray[np.float64]]]:
        vectors = None
        if self.embeddings is not None and transcript.turns:
            vectors = self.embeddings.encode([turn.text for turn in transcript.turns])
        models = {model.role: model for model in self.models}
        for role, part in _features.feature_batches(transcript, list(models)):
            if role not in self._tables:
                self._tables[role] = models[role].table()
            yield models[role], part.turns, models[role].scores(part, vectors, self._tables[role])


# -- training -----------------------------------------------------------------------------------------


# -- files --------------------------------------------------------------------------------------------
