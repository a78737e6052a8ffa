"""The same rubric in another form: levels from the top, the scale reversed, the question first, other words."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from bedside.tuning.probes.contract import Altered, Probe, ProbeMaterial, Unalterable, Variant

_HEAD = re.compile(r"^(Title: [^\n]*\n)(What is rated: [^\n]*\n)(The question: [^\n]*\n)", re.MULTILINE)


def _replaced(text: str, old: str, new: str) -> str:
    return text.replace(old, new, 1)


def _from_the_top(material: ProbeMaterial) -> Altered:
    # As :mod:`bedside.judges.prompt` writes them.
    lines = [f"  {level.value}: {level.descriptor}" for level in material.rubric.shown().scale]
    reword = partial(_replaced, old="\n".join(lines), new="\n".join(reversed(lines)))
    return Altered(material.transcript, material.rubric, reword=reword)


def _question_first(material: ProbeMaterial) -> Altered:
    return Altered(material.transcript, material.rubric, reword=partial(_HEAD.sub, r"\3\2\1"))


def _turned_round(material: ProbeMaterial) -> Altered | Unalterable:
    """What the lowest number meant, the highest means; an answer is turned back."""
    rubric = material.rubric
    texts = [rubric.definition, rubric.instructions or "", *(level.descriptor for level in rubric.scale)]
    numbers = {f"{level.value:g}" for level in rubric.scale}
    if rubric.examples or any(numbers & set(re.findall(r"\d+(?:\.\d+)?", text)) for text in texts):
        return Unalterable("the rubric's texts or examples name levels by their numbers")
    values = [level.value for level in rubric.scale]
    descriptors = [level.descriptor for level in reversed(rubric.scale)]
    scale = tuple(
        replace(level, descriptor=descriptor) for level, descriptor in zip(rubric.scale, descriptors, strict=True)
    )
    back = {float(value): float(other) for value, other in zip(values, reversed(values), strict=True)}
    turned = replace(rubric, scale=scale, fails_at=None)
    return Altered(material.transcript, turned, level=back.__getitem__)


def _paraphrased(material: ProbeMaterial) -> Altered | Unalterable:
    if material.paraphrase is None:
        return Unalterable("there is no paraphrase")
    return Altered(material.transcript, material.paraphrase)


PROBE = Probe(
    name="wording",
    title="Wording of the rubric",
    description="The conversation stays; the rubric's levels are shown from the top, its numbers are reversed (an "
    "answer is put back), its question stands before its title, or the judge itself has written its question and "
    "levels in other words. It asks for the same, so a level should stay. Whether a paraphrase means the same is the "
    "judge's say: read it with bedside judge answers show.",
    expects="stays",
    variants=(
        Variant("from-the-top", "levels shown from the top", _from_the_top),
        Variant("turned-round", "numbers of the scale reversed", _turned_round),
        Variant("question-first", "the question before the title", _question_first),
        Variant("paraphrase", "paraphrased by the judge", _paraphrased, needs="paraphrase"),
    ),
)
