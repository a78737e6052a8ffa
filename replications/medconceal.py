"""MedConceal (Han et al., 2026, arXiv 2604.08788)."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from bedside.metrics.protocols.medconceal.matching import f1
from bedside.ratings.suites.published_numbers import published_numbers
from bedside.stats.intervals import wilson
from replications._figures import AGAIN, NO_RESULT, Figure, Rest
from replications._printed import difference, number

PROTOCOL = "medconceal"
SOURCE = "F1 of counts summed over cases follows from their precision and recall; Δ is Ref − AI, a mean over pairs."
_ROUNDED = "published from numbers that were not rounded"
#: Sex of the participants, of all who answered.
_SEX = {"male": (77, "68.1"), "female": (35, "31.0"), "prefer not to say": (1, "0.9")}


def _f1(kind: str, system: str, setting: str) -> float:
    precision, recall = (number(PROTOCOL, "Table 1", f"{kind} {what}", system, setting).value for what in "PR")
    return f1(precision, recall)


def figures(data: Path, work: Path) -> list[Figure]:
    """The figures."""
    numbers = published_numbers(PROTOCOL)
    lines = dict.fromkeys((one.system, one.levels[0]) for one in numbers if one.place == "Table 1")
    found = [
        Figure("1", system, f"{kind} F1", setting, number(PROTOCOL, "Table 1", f"{kind} F1", system, setting).text,
               _f1(kind, system, setting), why=_ROUNDED)
        for (system, setting), kind in product(lines, ("Coarse", "Fine"))
    ]  # fmt: skip
    for one in numbers:
        if one.levels[:1] == ("Δ",):
            means = [
                number(PROTOCOL, one.place, one.measure, "", what, *one.levels[1:]).value for what in ("Ref", "AI")
            ]
            found.append(Figure(one.place.removeprefix("Table "), one.measure, "Δ", one.levels[1], one.text,
                                difference(*means), why=_ROUNDED))  # fmt: skip
    for sex, (count, printed) in _SEX.items():
        share = wilson(count, sum(number for number, _ in _SEX.values())).estimate or 0.0
        found.append(Figure("text", "Sex", sex, "participants", printed, 100 * share))
    model, setting = "Llama3-OpenBioLLM-8B", "8-turn"
    found.append(Figure("text", model, "Coarse F1", setting, "0.790", _f1("Coarse", model, setting),
                        why="Table 1 contradicts the text"))  # fmt: skip
    return found


_UNPUBLISHED = "dialogues, findings and judgements are not published"
RESTS = [
    Rest("1", 72, "rates, precision, recall (confirmation)", _UNPUBLISHED),
    Rest("2", 77, "style (confirmation)", _UNPUBLISHED),
    Rest("3", 55, "success, rates and turns (intervention)", _UNPUBLISHED),
    Rest("4", 77, "style (intervention)", _UNPUBLISHED),
    Rest("5", 22, "cases by specialty", "they describe the cases", NO_RESULT),
    Rest("6", 12, "turns of a dialogue", _UNPUBLISHED),
    *(
        Rest(table, count, "means over cases, intervals, p after Holm", "the cases' values are not published")
        for table, count in (("7", 10), ("8", 10), ("9", 5), ("10", 20), ("11", 10))
    ),
    Rest("text", 2, "an interval of the difference in reveal rate", "the cases' values are not published"),
    Rest("text", 3, "lengths of dialogues", "from Table 6", AGAIN),
    Rest("text", 63, "cases, dialogues, participants", "they describe the study", NO_RESULT),
]  # fmt: skip
