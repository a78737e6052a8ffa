"""The order of exchanges, and whether what is rated comes early or late."""

from __future__ import annotations

from functools import partial
from itertools import chain

from bedside.tuning.probes.contract import Altered, Probe, ProbeMaterial, Unalterable, Variant
from bedside.tuning.probes.turn_texts import AddedTurn, exchanges, numbered, with_turns

#: Fewer exchanges have no middle to move about in.
_FEWEST = 4
#: What a clinician says that is to be rated, good or poor, and what the patient replies: it fits anywhere.
_EXCHANGES: dict[str, dict[str, tuple[AddedTurn, ...]]] = {
    "good": {
        "en": (
            ("clinician", "I can hear how much this weighs on you, and it makes sense to me that you feel that way. "
             "Have I understood you rightly?"),
            ("patient", "Yes, that is right."),
        ),
        "de": (
            ("clinician", "Ich höre, wie sehr Sie das belastet, und ich kann gut nachvollziehen, dass es Ihnen so "
             "geht. Habe ich Sie richtig verstanden?"),
            ("patient", "Ja, so ist es."),
        ),
        "zh": (
            ("clinician", "我听得出来这件事让您很沉重，您有这样的感受我很能理解。我这样理解对吗？"),
            ("patient", "对，是这样的。"),
        ),
    },
    "poor": {
        "en": (
            ("clinician", "That is nothing special, everybody has that. Let us not dwell on how you feel about it."),
            ("patient", "All right."),
        ),
        "de": (
            ("clinician", "Das ist nichts Besonderes, das hat jeder. Halten wir uns nicht damit auf, wie es Ihnen "
             "damit geht."),
            ("patient", "Na gut."),
        ),
        "zh": (
            ("clinician", "这没什么特别的，人人都有。您对这件事的感受我们就不花时间谈了。"),
            ("patient", "好吧。"),
        ),
    },
}  # fmt: skip


def _neighbours_swapped(material: ProbeMaterial) -> Altered | Unalterable:
    """Every two neighbouring exchanges change places; the first and the last exchange stay."""
    blocks = exchanges(material.transcript)
    if len(blocks) < _FEWEST:
        return Unalterable(f"it has fewer than {_FEWEST} exchanges")
    first, *middle, last = blocks
    for place in range(0, len(middle) - 1, 2):
        middle[place], middle[place + 1] = middle[place + 1], middle[place]
    turns = list(chain(first, *middle, last))
    return Altered(numbered(material.transcript, turns), material.rubric)


def _placed(material: ProbeMaterial, *, quality: str, late: bool) -> Altered | Unalterable:
    """An added exchange after the first one, or before the last one."""
    if material.rubric.role == "patient":
        return Unalterable("the rubric rates the patient's part, and what is added is the clinician's")
    blocks = exchanges(material.transcript)
    if len(blocks) < _FEWEST:
        return Unalterable(f"it has fewer than {_FEWEST} exchanges")
    place = len(material.transcript.turns) - len(blocks[-1]) if late else len(blocks[0])
    added = _EXCHANGES[quality][material.language]
    return Altered(with_turns(material.transcript, place, added), material.rubric)


PROBE = Probe(
    name="position",
    title="Position of turns",
    description="Early or late: one exchange, with a good or a poor answer of the clinician's, is added after the "
    "first exchange or before the last one. Both conversations hold the same words, and the effect is the level with "
    "it late minus the level with it early: a judge that goes by what it read last (or first) moves. Order: every two "
    "neighbouring exchanges change places. All that is said stays, but what follows on what does not quite, so that a "
    "small movement may be right.",
    expects="stays",
    variants=(
        Variant(
            "good-late",
            "a good answer late, not early",
            partial(_placed, quality="good", late=True),
            against=partial(_placed, quality="good", late=False),
        ),
        Variant(
            "poor-late",
            "a poor answer late, not early",
            partial(_placed, quality="poor", late=True),
            against=partial(_placed, quality="poor", late=False),
        ),
        Variant("order", "neighbouring exchanges swapped", _neighbours_swapped),
    ),
)
