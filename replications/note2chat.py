"""Note2Chat (Zhou et al., AAAI 2026)."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bedside.ratings.suites.published_numbers import published_numbers
from replications._figures import AGAIN, NO_RESULT, Figure, Rest
from replications._printed import as_printed, cells, change, difference, number, value

PROTOCOL = "note2chat"
SOURCE = (
    "Avg. and Δ are those of `bedside report --as-published`, of made-up cases that have the printed values, one for "
    "each line."
)
_METRICS = {
    "F1": "history_f1_by_messages", "Recall": "history_recall", "Precision": "history_precision_by_messages",
    "Top-1": "diagnosis_top_1", "Top-2": "diagnosis_top_2", "Top-3": "diagnosis_top_3",
}  # fmt: skip
_BASE = "Qwen2.5-7B-Instruct"
_GPT = "gain over GPT-4o"


def figures(data: Path, work: Path) -> list[Figure]:
    """The figures."""
    lines: dict[tuple[str, str], dict[str, float]] = {}
    for one in published_numbers(PROTOCOL):
        if one.place == "Table 2" and one.measure in _METRICS:
            lines.setdefault((one.system, one.levels[0]), {})[_METRICS[one.measure]] = one.value / 100
    rows, factors = [], []
    for name, ((system, mode), values) in enumerate(lines.items()):
        factors.append({"transcript_id": str(name), "mode": mode})
        rows += [(str(name), system, "case", metric, share) for metric, share in values.items()]
    found = []
    table = cells(PROTOCOL, "ablation", as_printed(PROTOCOL, rows, pl.DataFrame(factors)))
    for (system, mode), row in zip(lines, table, strict=True):
        for column in ("Avg.", "Δ"):
            if row[column] != "–":
                told = number(PROTOCOL, "Table 2", column, system, mode).text
                text = f"+{told}" if column == "Δ" else told
                found.append(Figure("2", system, column, mode, text, value(row[column]),
                                    why="published from columns that were not rounded"))  # fmt: skip

    def of(column: str, model: str) -> float:
        return number(PROTOCOL, "Table 1", column, model).value

    for column, base, group, printed in (
        ("F1", "GPT-4o", _GPT, "+16.9"), ("Top-1", "GPT-4o", _GPT, "+21.0"),
        ("F1", _BASE, f"gain over {_BASE}", "26.5"), ("Top-1", _BASE, f"gain over {_BASE}", "31.2"),
    ):  # fmt: skip
        gain = difference(of(column, "Note2Chat-ST"), of(column, base))
        found.append(Figure("text", "Note2Chat-ST", column, group, printed, gain, part="points"))
    for column, measure, base, group, printed in (
        ("information gathering", "F1", "GPT-4o", _GPT, "+57.53"), ("diagnosis", "Top-1", "GPT-4o", _GPT, "+42.86"),
        ("F1", "F1", _BASE, f"gain over {_BASE}", "135.2"),
    ):  # fmt: skip
        gain = change(of(measure, "Note2Chat-ST"), of(measure, base))
        found.append(Figure("text", "Note2Chat-ST", column, group, printed, gain, part="%",
                            why="57.53 is of an F1 of 46.0; Table 1 prints 46.1"))  # fmt: skip
    return found


RESTS = [
    Rest("1", 82, "F1, recall, precision, Top-1 to Top-3 and messages of twelve models",
         "neither dialogues nor patients are published. F1 is averaged over cases, so that it does not follow from "
         "precision and recall (of Note2Chat-ST they give 50.0, printed is 46.1)"),
    Rest("2", 49, "the same after each step of training", "neither dialogues nor patients are published"),
    Rest("3", 4, "reliability of the simulated patient", "its replies and their gradings are not published"),
    Rest("text", 2, "recall of GPT-4o in two categories (Figure 2)", "its dialogues are not published"),
    Rest("text", 18, "scores of models, and the gain by SFT", "from Tables 1 and 2", AGAIN),
    Rest("text", 14, "patients, diseases, dialogues, pairs, candidates", "they describe the data", NO_RESULT),
]  # fmt: skip
