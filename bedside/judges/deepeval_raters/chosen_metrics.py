"""deepeval's metrics that a judge is asked for: the catalogue, a user's own, graphs of decisions, their words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bedside.core.errors import InputError, RegistryError, nearest, one_of
from bedside.core.model_errors import complaints, key_name
from bedside.core.yaml_files import keys_and_values
from bedside.judges.llm.deepeval_library import deepeval_module

# -- The conversational metrics of deepeval that rate a transcript in writing ---------------------------

#: What the names of deepeval's metrics begin with, where they are typed and in the ratings table.
PREFIX = "deepeval:"
#: What a metric may need beside turns of both sides.
Need = Literal["chatbot_role", "expected_outcome", "relevant_topics", "available_tools", "retrieval_context",
               "tools_called"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeepevalKind:
    """One of deepeval's metrics.

    Attributes:
        name: without :data:`PREFIX`.
        class_name: of the metric in ``deepeval.metrics``.
        title: as in a table's row.
        definition: what it asks, and how the value comes of the answers.
        needs: what it can't do without.
        replies: whether how often it asks depends on what is replied.
        threaded: whether it asks without giving way to others, which deepeval's asynchronous form of it does: it then
            has a thread to itself.
        verdicts: the attribute that holds what it judged, whose emptiness means that it judged nothing; empty where
            that can't be.
    """

    name: str
    class_name: str
    title: str
    definition: str
    needs: tuple[Need, ...] = ()
    replies: bool = False
    threaded: bool = False
    verdicts: str = ""

    @property
    def metric(self) -> str:
        """Its name in the ratings table."""
        return PREFIX + self.name


_KINDS = (
    DeepevalKind(
        "role_adherence", "RoleAdherenceMetric", "Role adherence",
        "Asks once which of the assistant's turns are out of the role, and once for a reason. 1 minus their share.",
        needs=("chatbot_role",),
    ),
    DeepevalKind(
        "knowledge_retention", "KnowledgeRetentionMetric", "Knowledge retention",
        "Asks of each turn of the user's which facts it tells, and of each later turn of the assistant's whether these "
        "were forgotten. The share of these turns in which nothing was.",
        replies=True, verdicts="verdicts",
    ),
    DeepevalKind(
        "conversation_completeness", "ConversationCompletenessMetric", "Conversation completeness",
        "Asks what the user wants, and of each of these wishes whether it was met. The share that was met.",
        replies=True, verdicts="verdicts",
    ),
    DeepevalKind(
        "turn_relevancy", "TurnRelevancyMetric", "Turn relevancy",
        "Asks of each exchange, with the nine before it, whether the assistant's reply is relevant. The share that is.",
        verdicts="verdicts",
    ),
    DeepevalKind(
        "goal_accuracy", "GoalAccuracyMetric", "Goal accuracy",
        "Asks of each exchange how far the user's goal was reached and how good the plan was, each from 0 to 1. The "
        "mean of the two means.",
    ),
    DeepevalKind(
        "topic_adherence", "TopicAdherenceMetric", "Topic adherence",
        "Asks of each exchange which questions were put and answered, and of each whether it is about one of the "
        "relevant topics and was answered or turned down as it should be. The share handled rightly.",
        needs=("relevant_topics",), replies=True,
    ),
    DeepevalKind(
        "tool_use", "ToolUseMetric", "Tool use",
        "Asks of each exchange how well the tools were chosen, and where some were called, how right their arguments "
        "were, each from 0 to 1. The smaller of the two means.",
        needs=("available_tools", "tools_called"),
    ),
    DeepevalKind(
        "turn_faithfulness", "TurnFaithfulnessMetric", "Turn faithfulness",
        "Asks of each exchange, with the nine before it, what the retrieved texts say, what the assistant claims, and "
        "whether the texts bear each claim out. The mean share of claims that aren't contradicted.",
        needs=("retrieval_context",), replies=True, threaded=True,
    ),
    DeepevalKind(
        "turn_contextual_precision", "TurnContextualPrecisionMetric", "Turn contextual precision",
        "Asks of each exchange, with the nine before it, which of the retrieved texts help towards the expected "
        "outcome. The mean weighted precision of their order.",
        needs=("retrieval_context", "expected_outcome"), replies=True,
    ),
    DeepevalKind(
        "turn_contextual_recall", "TurnContextualRecallMetric", "Turn contextual recall",
        "Asks of each exchange, with the nine before it, which sentences of the expected outcome the retrieved texts "
        "bear out. The mean share.",
        needs=("retrieval_context", "expected_outcome"), replies=True,
    ),
    DeepevalKind(
        "turn_contextual_relevancy", "TurnContextualRelevancyMetric", "Turn contextual relevancy",
        "Asks of each exchange, with the nine before it, which statements of the retrieved texts are relevant to what "
        "the user said. The mean share.",
        needs=("retrieval_context",), replies=True,
    ),
)  # fmt: skip

#: The metrics by name.
KINDS = {kind.name: kind for kind in _KINDS}
#: What criteria and decision graphs of the user's own are to deepeval.
GEVAL = DeepevalKind(
    "geval", "ConversationalGEval", "G-Eval",
    "Asks for steps of evaluation unless these are written down, then for a whole number from 0 to 10 by them. The "
    "number divided by 10.",
)  # fmt: skip
GRAPH = DeepevalKind(
    "dag", "ConversationalDAGMetric", "Decision graph",
    "Asks the questions of a graph, each answer leading to the next, until one leads to a score from 0 to 10. The "
    "score divided by 10.",
    replies=True,
)  # fmt: skip


def is_deepeval(name: str) -> bool:
    """Whether a metric's name says that it is one of deepeval's."""
    return name.startswith(PREFIX)


def find_kind(name: str) -> DeepevalKind:
    """The metric of this name, with or without :data:`PREFIX`.

    Raises:
        RegistryError: there is none; the nearest are given.
    """
    plain = name.removeprefix(PREFIX)
    if plain not in KINDS:
        raise RegistryError(
            f"deepeval has no conversational metric {plain!r} that rates a transcript",
            todo=f"{nearest(plain, KINDS)}; a criterion of your own is the path of a file, {PREFIX}FILE.yaml",
        )
    return KINDS[plain]


def words_of(name: str) -> str:
    """A metric's title by its name in the ratings table; its name in words where it is a user's own."""
    plain, gap, ending = name.removeprefix(PREFIX).partition(" ")
    title = KINDS[plain].title if plain in KINDS else plain.replace("_", " ").capitalize()
    return f"{title} (deepeval){gap}{ending}"


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
_FILE_NAME = re.compile(r"[a-z][a-z0-9_]*")
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

    name: str
    criterion: str | None = Field(default=None, min_length=1)
    steps: tuple[str, ...] = ()
    bands: tuple[ScoreBand, ...] = ()
    graph: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if not _FILE_NAME.fullmatch(self.name) or self.name in {*KINDS, GEVAL.name, GRAPH.name}:
            raise ValueError("a name has small letters, digits and _, and is none of deepeval's metrics'")
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


def metrics_apart(names: Iterable[str] | None) -> tuple[list[str] | None, list[str]]:
    """Names of metrics that algorithms compute, and names of deepeval's; None of the former where none are named."""
    if names is None:
        return None, []
    listed = list(names)
    return [name for name in listed if not is_deepeval(name)], [name for name in listed if is_deepeval(name)]


def chosen_metrics(
    names: Iterable[str], parameters: Mapping[str, Any] | None = None
) -> tuple[DeepevalMetric, ...]:
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
    _check_used(settings, chosen.values())
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
            raise InputError(
                "deepeval.relevant_topics must be a list of texts", todo="write it like [sleep, low mood]"
            )
        settings["relevant_topics"] = tuple(topics)
    return settings


def _check_used(settings: Mapping[str, Any], metrics: Iterable[DeepevalMetric]) -> None:
    needs = {need for metric in metrics for need in metric.kind.needs}
    for name in ("chatbot_role", "relevant_topics"):
        if name in settings and name not in needs:
            raise InputError(
                f"deepeval.{name} is said, and no metric that is asked takes it", todo="leave it out"
            )


def criterion_file(path: Path) -> CriterionFile:
    """The user's metric in a file.

    Raises:
        RegistryError: it can't be read, or isn't of the form.
    """
    data = keys_and_values(path, "criterion file", _PAGE)
    try:
        return CriterionFile.model_validate(data)
    except ValidationError as error:
        key, problem = complaints(error, CriterionFile)[0]
        place = f"{path}: {key_name(key)}" if key else str(path)
        raise RegistryError(problem, where=place, todo=f"see {_PAGE}") from error


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
