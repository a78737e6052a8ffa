"""Padding: sentences that say nothing, added to what is rated."""

from __future__ import annotations

from functools import partial

from bedside.tuning.probes.contract import Altered, Probe, ProbeMaterial, Unalterable, Variant
from bedside.tuning.probes.turn_texts import joined, rated_role, sentences, with_texts, word_count

#: Sentences without content, none of which asks, reflects, advises or feels.
_FILLERS = {
    "en": (
        "Let me put it that way.", "That is one way of putting it.", "So that is that, more or less.",
        "I am only saying this as we go along.", "As I was saying, and as we have been saying.",
        "Well, yes, so there we are with that.", "Anyway, that is by the way.",
        "And so on, as these things go, one after the other.",
    ),
    "de": (
        "Ich sage das jetzt einmal so.", "So kann man das ausdrücken.", "Das ist also das, mehr oder weniger.",
        "Ich sage das nur so nebenbei.", "Wie gesagt, und wie wir schon sagten.", "Nun ja, so weit sind wir also.",
        "Jedenfalls, das nur am Rande.", "Und so weiter, wie es eben so geht, eins nach dem anderen.",
    ),
    "zh": (
        "我就这么说吧。", "这也算是一种说法。", "大概就是这样，差不多吧。", "我只是顺口这么一说。",
        "就像我刚才说的，也像我们一直在说的。", "嗯，好，那就是这样了。", "总之，这是顺带一提。",
        "就这样，一件接着一件，差不多都是这样。",
    ),
}  # fmt: skip


def _padded(material: ProbeMaterial, *, share: float) -> Altered | Unalterable:
    """Fillers after sentences of the rated side, turn by turn, until they are ``share`` of its words."""
    fillers, draws = _FILLERS[material.language], material.random()
    number = draws.randrange(len(fillers))
    owed = added = 0.0

    def pad(text: str) -> str:
        nonlocal number, owed, added
        owed += share * word_count(text)
        parts = sentences(text) or [text]
        while parts and owed >= word_count(fillers[number]) / 2:
            parts.insert(draws.randint(1, len(parts)), fillers[number])
            words = word_count(fillers[number])
            owed, added = owed - words, added + words
            number = (number + 1) % len(fillers)
        return joined(parts, material.language)

    padded = with_texts(material.transcript, rated_role(material.rubric), pad)
    if not added:
        return Unalterable("there is too little to pad")
    return Altered(padded, material.rubric, added=int(added))


PROBE = Probe(
    name="length",
    title="Padding",
    description="Sentences that say nothing (“Let me put it that way.”) are put after sentences of the side that is "
    "rated, until it has a quarter, half or all as many words more. Nothing is said that wasn't said before, so a "
    "level should stay. A rubric that asks for brevity may rightly move.",
    expects="stays",
    variants=tuple(
        Variant(f"plus-{share}", f"{share} % more words that say nothing", partial(_padded, share=share / 100))
        for share in (25, 50, 100)
    ),
)
