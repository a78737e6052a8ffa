"""deepeval's metrics that a judge is asked for: named, a user's own, graphs of decisions, their words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, model_validator

from bedside.core.errors import InputError, RegistryError, one_of
from bedside.core.model_errors import to_model
from bedside.core.yaml_files import keys_and_values
from bedside.judges.deepeval_raters.catalogue import GEVAL, GRAPH, KINDS, PREFIX, DeepevalKind, find_kind
from bedside.judges.llm.deepeval_library import deepeval_module

# -- Graphs of decisions of the user's own --------------------------------------------------------------


def graph_object(name: str, graph: Mapping[str, Any]) -> Any:
    """deepeval's ``DeepAcyclicGraph`` of a graph in the form that its ``dag_to_dict`` gives.

    A verdict leads to a score or to another node. deepeval would let it lead to a metric, too, which it makes itself
    and has asked by a model of its own choice: that is refused.

    Args:
        name: the metric's, for messages.
        graph: ``{"nodes": {…}}``.

    Raises:
        RegistryError: the graph is none, or leads to a metric.
    """
    nodes = graph.get("nodes")
    for key, node in nodes.items() if isinstance(nodes, Mapping) else ():
        child = node.get("child") if isinstance(node, Mapping) else None
        if isinstance(child, Mapping) and child.get("type") != "node":
            raise RegistryError(
                f"node {key} leads to a metric",
                where=name,
                todo="let it lead to a score or another node, and ask for the metric beside the graph",
            )
    try:
        return deepeval_module("metrics.dag.serialization").dag_from_dict(dict(graph), multiturn=True)
    except Exception as error:  # whatever deepeval raises at a graph that is none
        raise RegistryError(
            f"deepeval takes no such graph ({error})", where=name, todo="see docs/deepeval.md"
        ) from error


# -- The metrics of deepeval that a judge is asked for --------------------------------------------------

#: Parameters of all metrics of deepeval, and what each does.
PARAMETERS: Mapping[str, str] = {
    "assistant": "whose part deepeval's assistant takes, clinician (unless said otherwise) or patient; the other is "
    "its user",
    "chatbot_role": "the assistant's role in words; unless it is named here, that in each transcript's reference",
    "relevant_topics": "a list of topics that the assistant is to keep to; unless they are named here, those in each "
    "transcript's reference",
}
_PAGE = "docs/deepeval.md"


class ScoreBand(BaseModel):
    """What a number from ``lowest`` to ``highest``, both from 0 to 10, stands for.

    Attributes:
        lowest: the lowest number of the band.
        highest: the highest number of the band.
        outcome: what a number of the band stands for.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    lowest: int = Field(ge=0, le=10)
    highest: int = Field(ge=0, le=10)
    outcome: str = Field(min_length=1)


class CriterionFile(BaseModel):
    """A metric of the user's own: a criterion for G-Eval, or a graph of decisions.

    Attributes:
        name: small letters, digits and _; the metric's name in the ratings.
        criterion: the question, in words.
        steps: what to look at, in order; a model writes them where they are left out.
        bands: what numbers from 0 to 10 stand for.
        graph: a graph of decisions, in place of all the others.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    criterion: str | None = Field(default=None, min_length=1)
    steps: tuple[str, ...] = ()
    bands: tuple[ScoreBand, ...] = ()
    graph: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.name in {*KINDS, GEVAL.name, GRAPH.name}:
            raise ValueError(f"{self.name} is one of deepeval's metrics")
        if self.graph is None and self.criterion is None and not self.steps:
            raise ValueError("say a criterion, steps or a graph")
        if self.graph is not None and (self.criterion is not None or self.steps or self.bands):
            raise ValueError("a graph stands alone: leave criterion, steps and bands out")
        return self


@dataclass(frozen=True, slots=True)
class DeepevalMetric:
    """A metric of deepeval, and with what it is asked.

    Attributes:
        name: without ``deepeval:``.
        kind: which of deepeval's metrics it is.
        assistant: whose part deepeval's assistant takes.
        chatbot_role, relevant_topics: where they hold for all transcripts.
        own: the user's file, where it is one.
    """

    name: str
    kind: DeepevalKind
    assistant: Literal["clinician", "patient"] = "clinician"
    chatbot_role: str | None = None
    relevant_topics: tuple[str, ...] = ()
    own: Mapping[str, Any] = field(default_factory=dict)

    @property
    def metric(self) -> str:
        """Its name in the ratings table."""
        return PREFIX + self.name

    def version(self, library: str) -> str:
        """What stands for its wording: digits of all that it is asked with, and of the version of deepeval."""
        return hashlib.sha256(orjson.dumps([library, self.recorded()])).hexdigest()[:12]

    def recorded(self) -> dict[str, Any]:
        """What a manifest keeps, of which :func:`recorded_metric` makes it again."""
        return {
            "name": self.name,
            "assistant": self.assistant,
            "chatbot_role": self.chatbot_role,
            "relevant_topics": list(self.relevant_topics),
            "own": dict(self.own),
        }


def recorded_metric(entry: Mapping[str, Any]) -> DeepevalMetric:
    """The metric that a manifest tells of.

    Raises:
        RegistryError: there is no such metric.
    """
    own = entry["own"]
    return DeepevalMetric(
        entry["name"],
        _own_kind(own) if own else find_kind(entry["name"]),
        entry["assistant"],
        entry["chatbot_role"],
        tuple(entry["relevant_topics"]),
        own,
    )


def _own_kind(own: Mapping[str, Any]) -> DeepevalKind:
    return GEVAL if own["graph"] is None else GRAPH


def chosen_metrics(names: Iterable[str], parameters: Mapping[str, Any] | None = None) -> tuple[DeepevalMetric, ...]:
    """The metrics of these names, or files, all with the same parameters.

    Args:
        names: ``deepeval:NAME``, or ``deepeval:FILE.yaml`` for one of the user's own.
        parameters: of :data:`PARAMETERS`.

    Raises:
        RegistryError: there is no such metric, or a file is none; two of one name; an unknown parameter.
        InputError: a parameter can't have that value, or no metric takes it.
    """
    settings = _checked(parameters or {})
    chosen: dict[str, DeepevalMetric] = {}
    for name in names:
        plain = name.removeprefix(PREFIX)
        if plain.endswith((".yaml", ".yml")):
            own = criterion_file(Path(plain)).model_dump(mode="json")
            if own["graph"] is not None:
                graph_object(own["name"], own["graph"])
            metric = DeepevalMetric(own["name"], _own_kind(own), **settings, own=own)
        else:
            metric = DeepevalMetric(plain, find_kind(plain), **settings)
        if chosen.setdefault(metric.name, metric) != metric:
            raise RegistryError(f"two metrics are called {metric.metric}", todo="rename one of them")
    needs = {need for metric in chosen.values() for need in metric.kind.needs}
    for name in ("chatbot_role", "relevant_topics"):
        if name in settings and name not in needs:
            raise InputError(f"deepeval.{name} is said, and no metric that is asked takes it", todo="leave it out")
    return tuple(chosen.values())


def _checked(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as :class:`DeepevalMetric` has them."""
    for name in parameters:
        one_of(name, PARAMETERS, "deepeval parameter", RegistryError)
    settings = dict(parameters)
    side = settings.get("assistant", "clinician")
    one_of(side, ("clinician", "patient"), "role", InputError, where="deepeval.assistant")
    if not isinstance(settings.get("chatbot_role", ""), str):
        raise InputError("deepeval.chatbot_role must be a text", todo="quote it")
    if "relevant_topics" in settings:
        topics = settings["relevant_topics"]
        topics = [topics] if isinstance(topics, str) else topics
        if not isinstance(topics, list | tuple) or not all(isinstance(topic, str) for topic in topics):
            raise InputError("deepeval.relevant_topics must be a list of texts", todo="write it like [sleep, low mood]")
        settings["relevant_topics"] = tuple(topics)
    return settings


def criterion_file(path: Path) -> CriterionFile:
    """The user's metric in a file.

    Raises:
        RegistryError: it can't be read, or isn't of the form.
    """
    data = keys_and_values(path, "criterion file", _PAGE)
    return to_model(data, CriterionFile, str(path), todo=f"see {_PAGE}", kind=RegistryError)


# -- deepeval's metrics in words ------------------------------------------------------------------------

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
