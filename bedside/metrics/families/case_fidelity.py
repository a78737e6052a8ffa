"""Whether a simulated patient keeps to its case: what contradicts the case, and what the case supports.

A classifier for natural-language inference, which the user names, holds each turn against each fact of the case
(:mod:`bedside.metrics.models.nli`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bedside.metrics.contract import Example, Family, Metric
from bedside.metrics.nli_parameters import NLI_PARAMETERS, named_model
from bedside.ratings.values import Value, missing
from bedside.transcripts.transcript import Transcript, Turn

if TYPE_CHECKING:
    from bedside.metrics.models.nli import NliModel

#: The key of ``reference`` with what is true of the patient by the case, a text each.
PATIENT_FACTS = "patient_facts"
_BY_MODEL = ("case_contradiction_rate", "case_support_rate", "case_contradiction")


def compute(transcript: Transcript, metric_names: frozenset[str], *, model: str, labels: str) -> Iterator[Value]:
    """What the patient's turns have to do with the facts of the case.

    Raises:
        ModelError, MissingExtraError: the model can't be used.
    """
    nli = named_model(model, labels)
    own = [turn for turn in transcript.turns if turn.role == "patient"]
    spoken = [turn for turn in own if turn.text.strip()]
    facts = _facts(transcript.reference.get(PATIENT_FACTS))
    error = FAMILY.no_model if nli is None else "no facts of the case in the reference" if not facts else ""
    if nli is None or error or not spoken:
        error = error or ("the patient's turns are empty" if own else "no patient turn")
        for name in _BY_MODEL[:2]:
            if name in metric_names:
                yield missing(name, error)
        if "case_contradiction" in metric_names:
            yield from (missing("case_contradiction", error, turn=turn.index) for turn in own)
            if not own:
                yield missing("case_contradiction", error)
        return
    values = _by_model(nli, spoken, facts)
    yield from (value for value in values if value.metric in metric_names)
    if "case_contradiction" in metric_names:
        silent = (turn for turn in own if not turn.text.strip())
        yield from (missing("case_contradiction", "the turn is empty", turn=turn.index) for turn in silent)


def _by_model(nli: NliModel, turns: Sequence[Turn], facts: Sequence[str]) -> Iterator[Value]:
    pairs = nli.infer((fact, turn.text) for turn in turns for fact in facts)
    contradicted = supported = 0
    for turn in turns:
        inferences = [next(pairs) for _ in facts]
        worst = max(range(len(facts)), key=lambda place: inferences[place].contradiction)
        contradicted += any(inference.contradicts for inference in inferences)
        supported += any(inference.entails for inference in inferences)
        yield Value(
            "case_contradiction",
            inferences[worst].contradiction,
            turn=turn.index,
            reason=f"with the fact: {facts[worst]}",
        )
    reason = f"{len(turns):,} turns against {len(facts):,} facts"
    yield Value("case_contradiction_rate", contradicted / len(turns), reason=reason)
    yield Value("case_support_rate", supported / len(turns), reason=reason)


def _facts(value: Any) -> tuple[str, ...]:
    from bedside.metrics.models.nli import sentences

    listed = value if isinstance(value, list | tuple) else ()
    texts = (text for text in listed if isinstance(text, str) and text.strip())
    return tuple(sentence for text in texts for sentence in sentences(text))


_TALK = (
    ("clinician", "How long have you had the cough?"),
    ("patient", "Three weeks, and I have never smoked."),
    ("clinician", "And you bring something up?"),
    ("patient", "A little, in the morning."),
)
_CASE = {"reference": {PATIENT_FACTS: ["He smokes a pack a day.", "The cough began three weeks ago."]}}
_SOURCE = "Dziri et al., NAACL 2019, and Welleck et al., ACL 2019 (inference for consistency), applied to a case"
_AGAINST = (
    "Each of the patient's turns that isn't empty is the hypothesis, each sentence of the facts of the case "
    "(`reference.patient_facts`) a premise."
)
_NEEDS = ("facts of the case in the reference", "a model for natural-language inference")

_share = partial(Metric, low=0, high=1, digits=3, needs=_NEEDS, source=_SOURCE)

FAMILY = Family(
    name="case_fidelity",
    title="Fidelity to the case",
    description=(
        "Whether a simulated patient keeps to its case. What a classifier for natural-language inference finds neither "
        "supported nor contradicted is small talk, feelings and what was invented: a judge can tell these apart, with "
        "the rubrics `case_contradiction_level` and `case_invention`."
    ),
    version="1",
    model="a classifier for natural-language inference with the labels entailment, neutral and contradiction",
    compute=compute,
    metrics=(
        _share(
            name="case_contradiction_rate",
            title="Turns that contradict the case",
            unit="transcript",
            turns=("case_contradiction",),
            direction="lower",
            definition=f"Share of turns for which contradiction is the most probable label with some fact. {_AGAINST}",
            examples=(Example(_TALK, None, "no model is named", transcript=_CASE),),
        ),
        _share(
            name="case_support_rate",
            title="Turns that the case supports",
            unit="transcript",
            definition=f"Share of turns for which entailment is the most probable label with some fact. {_AGAINST}",
            examples=(Example(_TALK, None, "no model is named", transcript=_CASE),),
        ),
        _share(
            name="case_contradiction",
            title="Contradiction of the case",
            unit="turn",
            direction="lower",
            definition=f"Highest P(contradiction) of the turn with a fact; the reason names the fact. {_AGAINST}",
            examples=(Example(_TALK, None, "no model is named", turn=1, transcript=_CASE),),
        ),
    ),
    parameters={**NLI_PARAMETERS},
    demonstration=_TALK,
    demonstration_fields=_CASE,
)
