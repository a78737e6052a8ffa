"""deepeval's metrics in words, for people who look one up."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from bedside.judges.deepeval_raters.catalogue import KINDS, PREFIX, DeepevalKind
from bedside.judges.deepeval_raters.chosen_metrics import PARAMETERS, DeepevalMetric, chosen_metrics

#: What a transcript must have for each need, in words.
_NEEDS = {
    "chatbot_role": "the assistant's role: deepeval.chatbot_role, or chatbot_role in the transcript's reference",
    "expected_outcome": "expected_outcome in the transcript's reference",
    "relevant_topics": "topics: deepeval.relevant_topics, or relevant_topics in the transcript's reference",
    "available_tools": "available_tools in the transcript's reference",
    "retrieval_context": "retrieval_context in the meta of the assistant's turns",
    "tools_called": "tools_called in the meta of the assistant's turns",
}


def library_words() -> str:
    """The version of deepeval that is installed, or how to install it."""
    try:
        return f"version {version('deepeval')}"
    except PackageNotFoundError:
        return 'not installed: pip install "bedside[judge]"'


def describe_deepeval() -> str:
    """All of deepeval's metrics that rate transcripts, and their parameters."""
    lines = [
        f"deepeval's conversational metrics ({library_words()}), by the judge that you name.",
        "",
        *(f"{kind.metric}: {kind.title}" for kind in KINDS.values()),
        f"{PREFIX}FILE.yaml: a criterion for G-Eval or a graph of decisions of your own (see docs/deepeval.md)",
        "",
        "Parameters (--set deepeval.NAME=VALUE):",
        *(f"  {name}: {words}" for name, words in PARAMETERS.items()),
    ]
    return "\n".join(lines)


def describe_metric_of_deepeval(name: str) -> str:
    """One metric: what it asks, what it needs, and its range.

    Raises:
        RegistryError: there is no such metric, or its file is none.
    """
    (metric,) = chosen_metrics([name])
    return "\n".join(_lines(metric, metric.kind))


def _lines(metric: DeepevalMetric, kind: DeepevalKind) -> Iterator[str]:
    yield f"{metric.metric}: {kind.title}"
    yield ""
    yield kind.definition
    yield ""
    yield f"Source: deepeval, {kind.class_name} ({library_words()})"
    yield "Unit: transcript. Range: 0 to 1, the higher the better."
    for need in kind.needs:
        yield f"Needs: {_NEEDS[need]}"
    if kind.replies:
        yield "How often it asks hangs on the replies."
    for key in ("criterion", "steps"):
        if metric.own.get(key):
            words = metric.own[key]
            yield f"{key.capitalize()}: {words if isinstance(words, str) else ' '.join(words)}"
