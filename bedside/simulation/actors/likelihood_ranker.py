"""``likelihood:MODEL``: candidates ranked by how probable a causal language model of this computer finds them.

The score of a candidate is the mean (or the sum) of the natural logarithms of its tokens' probabilities after what was
said before, in the form in which :mod:`bedside.metrics.models.dialogue` has models read conversations. The candidates
of a message share what stands before them: it goes through the model once. Speakers' labels and white space that ends a
message don't count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from bedside.core.errors import InputError
from bedside.core.model_files import digest, find_model
from bedside.judges.llm.queue import CallRecord
from bedside.metrics.models.dialogue import LABELS, SEPARATOR
from bedside.ratings.names import algorithm_rater
from bedside.simulation.actor_contract import ActorKind, ActorName, ActorSettings, CallPlace, LocalActor
from bedside.simulation.simulators.calls import ActorReply, Call, Line
from bedside.simulation.simulators.contract import Simulator

if TYPE_CHECKING:
    from bedside.metrics.models.likelihood import Likelihood

_BEGINNING = "likelihood:"
#: Tokens that a candidate has at most where the model sets no limit; what was said before is cut to what remains.
_WINDOW = 1024


class LikelihoodActor(LocalActor):
    """Ranks candidates by a model in this process; an :class:`bedside.simulation.actor_contract.Actor`.

    Args:
        model: as for :func:`bedside.core.model_files.find_model`.
    """

    def __init__(self, model: str) -> None:
        from bedside.metrics.models.likelihood import load_likelihood

        super().__init__(None, 1)
        self._likelihood = load_likelihood(model)

    async def answer(self, call: Call, place: CallPlace, record: CallRecord) -> ActorReply:
        """The scores of the call's candidates, in their order."""
        scores = await asyncio.to_thread(ranked_scores, self._likelihood, call.history, call.material)
        return ActorReply(orjson.dumps({"scores": scores}).decode())


def ranked_scores(likelihood: Likelihood, history: Sequence[Line], material: Mapping[str, Any]) -> list[float]:
    """How probable each candidate is after what was said, in nats: a mean by token, or a sum.

    Args:
        likelihood: the model.
        history: what was said before.
        material: ``candidates``, texts; ``speaker``, whose they are; ``rank``, ``mean`` or ``sum``.

    Raises:
        InputError: a candidate is more than the model can be given at once.
    """
    from bedside.metrics.models.likelihood import Continuation, common

    window = min(_WINDOW, likelihood.window or _WINDOW)
    label = LABELS[material["speaker"]]
    before = likelihood.encode("".join(_line(LABELS[line.role], line.text) + SEPARATOR for line in history))
    lines = [likelihood.encode(_line(label, text)) for text in material["candidates"]]
    # Alike for all, so that no candidate is weighed after more than another.
    room = window - len(likelihood.start) - max(map(len, lines))
    if room < 0:
        raise InputError(
            f"a candidate has {max(map(len, lines))} tokens, and the ranking model takes {window} at once",
            where="`ranker`",
            todo="rank by a model with a larger window",
        )
    stem = [*likelihood.start, *before[max(0, len(before) - room) :]]
    group = []
    for line in lines:
        # What the label and the line have in common is said by nobody; at least the last token is.
        words = min(common([likelihood.encode(label), line]), len(line) - 1)
        group.append(Continuation([*stem, *line[:words]], line[words:]))
    (values_by_candidate,) = likelihood.weigh([group])
    total = material["rank"] == "sum"
    return [float(values.sum() if total else values.mean()) for values in values_by_candidate]


def _line(label: str, text: str) -> str:
    return f"{label} {' '.join(text.split())}"


def _read(names: Sequence[str], simulator: Simulator) -> list[ActorName]:
    actors = []
    for text in names:
        model = text.removeprefix(_BEGINNING)
        if not model:
            raise InputError(
                "no ranking model is named", where="`ranker`", todo="write likelihood:MODEL, such as a folder"
            )
        files = find_model(model)
        identity = f"{_BEGINNING}{files.name}"
        rater = algorithm_rater("likelihood", files.name)
        actors.append(ActorName(text, "likelihood_ranker", identity, rater, digest(files.path), detail=model))
    return actors


def _open(name: ActorName, settings: ActorSettings) -> LikelihoodActor:
    if settings.role != "ranker":
        raise InputError(
            "a likelihood says which text is more probable, and writes none",
            where=f"`{settings.role}`",
            todo="name it as `ranker`",
        )
    return LikelihoodActor(name.detail)


ACTOR = ActorKind(
    name="likelihood_ranker",
    title="a ranker: a causal language model's likelihood",
    takes=lambda text: text.startswith(_BEGINNING),
    read=_read,
    open=_open,
)
