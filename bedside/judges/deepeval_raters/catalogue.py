"""The conversational metrics of deepeval that rate a transcript in writing: what each asks and needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from bedside.core.errors import RegistryError, nearest

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


def metrics_apart(names: Iterable[str] | None) -> tuple[list[str] | None, list[str]]:
    """Names of metrics that algorithms compute, and names of deepeval's; None of the former where none are named."""
    if names is None:
        return None, []
    listed = list(names)
    return [name for name in listed if not is_deepeval(name)], [name for name in listed if is_deepeval(name)]


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
