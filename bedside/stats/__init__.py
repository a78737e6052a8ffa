"""The statistics: arrays in, a frozen :class:`~bedside.stats.result.Result` out; a module for each kind of question.

``import bedside`` is enough to reach them, and each is imported when it is first asked for::

    bedside.stats.two_raters.kappa([1, 2, 3], [1, 3, 3]).estimate
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bedside.stats import (
        alternative_annotator,
        arrays,
        bradley_terry,
        change,
        confidence_sequences,
        consensus,
        crossed_raters,
        diagnostic_accuracy,
        effects,
        equivalence,
        families,
        fixed_width,
        generalisability,
        interactions,
        intervals,
        kappa_bands,
        kappa_gain,
        label_free,
        letter_display,
        many_raters,
        matched_shares,
        mixed_models,
        one_against_many,
        ordinal_mixed,
        overlapping,
        paired,
        prediction_powered,
        preference_shares,
        proportion_scores,
        rater_change,
        rater_models,
        reliability,
        result,
        sample_size,
        sampled_items,
        sampled_means,
        sampling_cells,
        scale_means,
        selective,
        several,
        shape,
        shares,
        skewed_means,
        stand_in,
        stratified_means,
        two_raters,
        unitizing,
        unpaired,
        variance_components,
    )

__all__ = [
    "alternative_annotator", "arrays", "bradley_terry", "change", "confidence_sequences", "consensus",
    "crossed_raters", "diagnostic_accuracy", "effects", "equivalence", "families", "fixed_width", "generalisability",
    "interactions", "intervals", "kappa_bands", "kappa_gain", "label_free", "letter_display", "many_raters",
    "matched_shares", "mixed_models", "one_against_many", "ordinal_mixed", "overlapping", "paired",
    "prediction_powered", "preference_shares", "proportion_scores", "rater_change", "rater_models", "reliability",
    "result", "sample_size", "sampled_items", "sampled_means", "sampling_cells", "scale_means", "selective",
    "several", "shape", "shares", "skewed_means", "stand_in", "stratified_means", "two_raters", "unitizing", "unpaired",
    "variance_components",
]  # fmt: skip


if not TYPE_CHECKING:  # which would take any name for one that is there

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'bedside.stats' has no attribute {name!r}")
        return importlib.import_module(f"bedside.stats.{name}")


def __dir__() -> list[str]:
    return list(__all__)
