"""The same words in another dress: Markdown, lists, capital letters, line breaks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bedside.tuning.probes.contract import Altered, Probe, ProbeMaterial, Unalterable, Variant
from bedside.tuning.probes.turn_texts import rated_role, sentences, with_texts


def _dressed(material: ProbeMaterial, *, dress: Callable[[str], str]) -> Altered | Unalterable:
    changed = with_texts(material.transcript, rated_role(material.rubric), dress)
    if changed == material.transcript:
        return Unalterable("there is nothing to write in another way")
    return Altered(changed, material.rubric)


def _markdown(text: str) -> str:
    """The first sentence in bold type under a heading's mark, the others in italics by turns."""
    first, *rest = sentences(text) or [text]
    marked = [sentence if number % 2 else f"*{sentence}*" for number, sentence in enumerate(rest)]
    return "\n".join([f"## **{first}**", *marked])


def _bullets(text: str) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences(text) or [text])


def _lines(text: str) -> str:
    return "\n\n".join(sentences(text) or [text])


PROBE = Probe(
    name="formatting",
    title="Formatting",
    description="What the rated side says is written with Markdown's marks, as a list, in capital letters, or with an "
    "empty line between sentences. The words stay, so a level should stay.",
    expects="stays",
    variants=(
        Variant("markdown", "headings, bold and italics", partial(_dressed, dress=_markdown)),
        Variant("bullets", "as a bullet list", partial(_dressed, dress=_bullets)),
        Variant("capitals", "in capital letters", partial(_dressed, dress=str.upper)),
        Variant("lines", "an empty line between sentences", partial(_dressed, dress=_lines)),
    ),
)
