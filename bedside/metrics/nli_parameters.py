"""Parameters of the families that need a model for natural-language inference, and the model that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bedside.metrics.contract import Parameter

if TYPE_CHECKING:
    from bedside.metrics.models.nli import NliModel

NLI_PARAMETERS = {
    "model": Parameter(
        "", "a-folder", "Folder of the model, or its name on the Hugging Face hub, from where it is fetched then."
    ),
    "labels": Parameter(
        "",
        "neutral,contradiction,entailment",
        "Order of the model's outputs, where its config doesn't name them: contradiction,neutral,entailment.",
    ),
}


def named_model(model: str, labels: str) -> NliModel | None:
    """The model that the parameters name; None where they name none: only a model needs what loads slowly.

    Raises:
        ModelError, MissingExtraError: it can't be used.
    """
    if not model:
        return None
    from bedside.metrics.models.nli import load_nli

    return load_nli(model, labels)
