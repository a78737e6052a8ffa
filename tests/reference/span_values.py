"""Makes ``spans.json``: what other implementations make of random spans. It is run by hand, apart from bedside.

- ``python -P tests/reference/span_values.py gamma`` needs pygamma-agreement (0.5.9): disorders of best alignments,
  and those expected by chance: of its own shuffling, and of the same that lets two raters move by the same steps.
- ``python -P tests/reference/span_values.py alpha`` needs krippendorff-unitized-alpha (0.1.0).
"""

from __future__ import annotations

import importlib
import json
import random
import sys
from pathlib import Path
from statistics import mean, stdev
from typing import Any

FILE = Path(__file__).with_name("spans.json")
#: Raters, length, spans of each at most, categories, longest span, samples.
DESIGNS = [
    (2, 40, 4, "", 3, 400), (2, 25, 6, "", 5, 400), (2, 60, 9, "ab", 8, 400), (2, 30, 1, "", 2, 400),
    (3, 40, 4, "", 3, 400), (3, 20, 5, "", 6, 300), (3, 50, 7, "abc", 4, 200), (3, 30, 8, "", 12, 60),
    (4, 30, 3, "", 4, 200), (4, 20, 4, "ab", 5, 100), (5, 30, 3, "", 3, 100), (6, 20, 2, "", 3, 100),
]  # fmt: skip


def spans(rng: random.Random, length: int, most: int, categories: str, longest: int) -> list[list[Any]]:
    """Random spans that don't overlap."""
    drawn, taken = list[list[Any]](), set[int]()
    for _ in range(rng.randint(min(1, most), most)):
        start, size = rng.randrange(length), rng.randint(1, longest)
        inside = set(range(start, start + size))
        if start + size <= length and not inside & taken:
            taken |= inside
            drawn.append([start, size, rng.choice(categories) if categories else ""])
    return sorted(drawn)


def by_gamma(raters: list[list[list[Any]]], length: int, samples: int) -> dict[str, float]:
    """Disorder of the best alignment, and expected disorders with their standard errors."""
    agreement, core = importlib.import_module("pygamma_agreement"), importlib.import_module("pyannote.core")
    samplers, rng = importlib.import_module("pygamma_agreement.sampler"), random.Random(length)
    dissimilarity = agreement.CombinedCategoricalDissimilarity(alpha=1, beta=1, delta_empty=1)

    def continuum_of(lists: list[list[list[Any]]]) -> Any:
        continuum = agreement.Continuum()
        for name, own in enumerate(lists):
            continuum.add_annotator(str(name))
            for start, size, category in own:
                continuum.add(str(name), core.Segment(start, start + size), category)
        continuum.bound_sup = max(continuum.bound_sup, length)
        return continuum

    def free() -> Any:
        while True:
            lists = []
            for _ in raters:
                own, step = rng.choice(raters), rng.randrange(length)
                lists.append([[(start + step) % length, size, category] for start, size, category in own])
            if any(lists):
                return continuum_of(lists)

    def disorder(continuum: Any) -> float:
        return float(continuum.get_best_alignment(dissimilarity).disorder)

    shuffle = samplers.ShuffleContinuumSampler()
    shuffle.init_sampling(continuum_of(raters))
    importlib.import_module("numpy").random.seed(length)
    freely = [disorder(free()) for _ in range(samples)]
    shuffled = [disorder(shuffle.sample_from_continuum) for _ in range(samples)]
    return {
        "disorder": disorder(continuum_of(raters)),
        "expected": mean(freely), "error": stdev(freely) / samples**0.5,
        "shuffled": mean(shuffled), "shuffled_error": stdev(shuffled) / samples**0.5,
    }  # fmt: skip


def by_alpha(raters: list[list[list[Any]]], length: int) -> float:
    """uα of spans with the gaps between them."""
    package = importlib.import_module("krippendorff_unitized_alpha.krippendorffs_unitized_alpha")
    data = {}
    for name, own in enumerate(raters):
        end, segments = 0, []
        for start, size, category in [*own, [length, 0, ""]]:
            segments += [package.Segment(package.EMPTY_TAG, end, start)] if start > end else []
            segments += [package.Segment(f"span {category}", start, start + size)] if size else []
            end = start + size
        data[str(name)] = segments
    return float(package.KrippendorffUnitizedAlpha(data).result)


def main() -> None:
    """Adds one implementation's values to the file."""
    known = json.loads(FILE.read_text()) if FILE.exists() else []
    for number, (raters, length, most, categories, longest, samples) in enumerate(DESIGNS):
        rng = random.Random(number)
        marks = [spans(rng, length, most, categories, longest) for _ in range(raters)]
        if len(known) <= number:
            known.append({"length": length, "marks": marks})
        known[number] |= {"alpha": by_alpha(marks, length)} if sys.argv[1] == "alpha" else {
            "gamma": by_gamma(marks, length, samples)
        }  # fmt: skip
    FILE.write_text("[\n" + ",\n".join(map(json.dumps, known)) + "\n]\n")


if __name__ == "__main__":
    main()
