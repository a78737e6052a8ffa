"""Parameters of the families that need a model for natural-language inference."""

from __future__ import annotations

from bedside.metrics.contract import Parameter

NLI_PARAMETERS = {
    "model": Parameter(
        "",
        "a-folder",
        "Folder of the model, or its name on the Hugging Face hub, from where it is fetched then.",
    ),
    "labels": Parameter(
        "",
        "neutral,contradiction,entailment",
        "Order of the model's outputs, where its config doesn't name them: contradiction,neutral,entailment.",
    ),
}
