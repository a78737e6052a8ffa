"""Directionality: how far turns change a conversation's meaning as was to be expected (flow score; Li et al. 2021)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from bedside.metrics.contract import Example, Family, Metric, Parameter
from bedside.metrics.models.dialogue import speeches
from bedside.ratings.values import Value, missing
from bedside.transcripts.transcript import Role, Transcript

if TYPE_CHECKING:
    from bedside.metrics.models.dialoflow import Influence, Vectors

_ROLES: tuple[Role, ...] = ("clinician", "patient")
#: The first speeches of a session aren't counted, as in the published computation: little stands before them.
_FIRST = 3
_EPSILON = 1e-9


def similarities(actual: Vectors, predicted: Vectors) -> Vectors:
    """How much each turn's predicted influence is like its actual one, from −1 to 1.

    The cosine of the two vectors, times the length of the shorter over that of the longer; 0 where one has no length.

    Args:
        actual, predicted: shape (turns, width).
    """
    import numpy as np

    lengths = np.linalg.norm(actual, axis=1), np.linalg.norm(predicted, axis=1)
    longer, product = np.maximum(*lengths), lengths[0] * lengths[1]
    defined = product > _EPSILON**2
    cosine = np.divide((actual * predicted).sum(axis=1), product, out=np.zeros(len(product)), where=defined)
    ratio = np.divide(np.minimum(*lengths), longer, out=np.zeros(len(product)), where=defined)
    similarity: Vectors = np.clip(cosine * ratio, -1.0, 1.0)
    return similarity


def flow_score(similarity: Vectors) -> float:
    """2 to the power of the mean of −log2((s + 1) / 2) over turns; 1 where every turn is as predicted.

    Args:
        similarity: the similarity s of each turn, at least one.
    """
    import numpy as np

    # Exactly opposite influences would make it infinite.
    return float(2 ** -np.log2(np.maximum((similarity + 1) / 2, _EPSILON)).mean())


def compute(transcript: Transcript, metric_names: frozenset[str], *, model: str) -> Iterable[Value]:
    """The flow score of each role.

    Raises:
        ModelError: the model isn't there or is no DialoFlow model.
        MissingExtraError: a library isn't installed.
    """
    if not model:
        return [missing("flow_score", FAMILY.no_model, role=role) for role in _ROLES]
    from bedside.metrics.models.dialoflow import load_dialoflow

    return list(_scores(transcript, load_dialoflow(model).influences))


def _scores(transcript: Transcript, influences: Callable[[list[str]], Influence]) -> Iterator[Value]:
    from bedside.metrics.models.dialoflow import TURN

    turn_speeches = speeches(transcript)
    actual, predicted, cut = influences([speech.text for speech in turn_speeches])
    similarity = similarities(actual, predicted)
    remarks = []
    if len(similarity) < len(turn_speeches):
        remarks.append(f"the first {len(similarity)} of {len(turn_speeches)} turns, which fill the model's window")
    if cut:
        remarks.append(f"of {cut} turns only the first {TURN} tokens")
    for role in _ROLES:
        places = [place for place in range(_FIRST, len(similarity)) if turn_speeches[place].role == role]
        if places:
            yield Value("flow_score", flow_score(similarity[places]), role=role, reason="; ".join(remarks) or None)
        elif not any(speech.role == role for speech in turn_speeches):
            yield missing("flow_score", f"no {role} turn", role=role)
        else:
            where = f"among the first {len(similarity)}, which fill the model's window, " if remarks else ""
            yield missing("flow_score", f"{where}no {role} turn after the first {_FIRST}", role=role)


_TURNS = (
    ("clinician", "What brings you here today?"),
    ("patient", "I sleep badly."),
    ("clinician", "How long has it been like this?"),
    ("patient", "Since my mother died."),
    ("clinician", "I am sorry. How have you been since?"),
    ("patient", "Tired, most of all."),
)

METRICS = (
    Metric(
        name="flow_score",
        title="Flow score",
        unit="transcript",
        roles=_ROLES,
        low=1,
        direction="lower",
        definition=(
            "2^(−mean log2((s + 1) / 2)) over a role's turns from the fourth turn of the session on; s is the cosine "
            "of a turn's predicted and actual influence on the meaning of the conversation, times the length of the "
            "shorter over that of the longer. 1: all goes as the model expects of people."
        ),
        source="Li et al. 2021, Conversations are not flat: DialoFlow and flow score (Findings of ACL)",
        examples=(Example(_TURNS, None, "no model is named", role="clinician"),),
    ),
)

FAMILY = Family(
    name="directionality",
    title="Directionality",
    description=(
        "Whether turns carry the conversation on as could be expected, by a DialoFlow model. Turns of one side that "
        "follow one another are taken as one; empty turns and turns of others are left out."
    ),
    version="1",
    metrics=METRICS,
    compute=compute,
    model="a folder with a DialoFlow checkpoint",
    parameters={"model": Parameter("", "a folder", "the DialoFlow checkpoint")},
    demonstration=_TURNS,
)
