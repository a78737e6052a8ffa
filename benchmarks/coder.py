"""Coders on AnnoMI: their speed, their scores beside people's agreement, and people's Fleiss kappa.

    python benchmarks/coder.py [PATH OF annomi_dev.csv] [--folds N] [--embeddings NAME] [--rules-only]

The rules were made with the even-numbered sessions coded by one person; the odd-numbered ones were held out. Trained
coders are scored out of fold by transcript; their speed is that of a coder trained without embeddings.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bedside.metrics import FAMILIES
from bedside.metrics.coders.contract import CODERS
from bedside.metrics.coders.learned.embeddings import Embeddings
from bedside.metrics.coders.learned.trained_coder import TrainedCoder
from bedside.metrics.coders.learned.training import fit_roles, out_of_fold
from bedside.metrics.coders.learned.training_set import read_training_set
from bedside.metrics.coders.people import people_codes
from bedside.metrics.coders.shipped.rules import question_type
from bedside.metrics.coders.testing.coder_test import evaluate_coder, human_ceilings
from bedside.transcripts.reading import read_transcripts
from bedside.transcripts.transcript import CODE_ROLES, CODES, Transcript

TARGET = 5_000
#: Enough of a card to code with.
BARE_CARD = {"name": "benchmark", "training": {"languages": []}}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("path", nargs="?", default="../shared/data/annomi/annomi_dev.csv")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--embeddings")
    parser.add_argument("--rules-only", action="store_true")
    asked = parser.parse_args()
    transcripts = list(read_transcripts(asked.path))
    people = {transcript.id: len(people_codes(transcript)) for transcript in transcripts}
    one = [transcript for transcript in transcripts if people[transcript.id] == 1]
    several = [transcript for transcript in transcripts if people[transcript.id] > 1]
    groups = {
        "all sessions": transcripts,
        "coded by one person": one,
        "  even: made with": [t for t in one if int(t.id) % 2 == 0],
        "  odd: held out": [t for t in one if int(t.id) % 2 == 1],
        "coded by ten people": several,
    }
    speed(transcripts)
    for name, group in groups.items():
        evaluation = evaluate_coder(group, CODERS.load("rules"))
        print(f"\n{name.strip()} ({evaluation.transcripts} sessions)")
        table(evaluation.rows())
        print(f"type forced on gold questions: macro-F1 {forced_type(group):.3f}")
        table(evaluation.session_rows())
    print("\nhuman ceiling: one person against most of the others, mean over people")
    table(
        [
            {
                "code": c.view,
                "people": c.people,
                "turns": c.turns,
                "ties": c.ties,
                "macro_f1": c.macro_f1,
                "lowest": c.lowest,
                "highest": c.highest,
                "kappa": c.kappa,
            }
            for c in human_ceilings(several)
        ]
    )
    print("\nFleiss kappa among people")
    table([{"code": code, **row} for code in CODES for row in fleiss(several, code)])
    if not asked.rules_only:
        trained_speed(transcripts)
        trained(one, asked.folds, asked.embeddings)


def trained_speed(transcripts: Sequence[Transcript]) -> None:
    """Turns a second of a trained coder, and the memory that a transcript of 50,000 turns takes."""
    training = read_training_set(transcripts)
    coder = TrainedCoder(BARE_CARD, tuple(fit_roles(training)), None, "")
    turns = sum(len(transcript.turns) for transcript in transcripts)
    best = min(timed(lambda: [coder.code(t) for t in transcripts]) for _ in range(3))
    print(f"\ntrained coder, all codes: {turns / best:,.0f} turns/s (target {TARGET:,})")
    every = [turn for transcript in transcripts for turn in transcript.turns]
    for count in (5_000, 50_000):
        long = [replace(every[k % len(every)], index=k) for k in range(count)]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds = timed(lambda long=long: coder.code(Transcript("long", tuple(long))))
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"one transcript of {count:,} turns: {count / seconds:,.0f} turns/s, {more:,.0f} MB more at the peak")


def trained(transcripts: Sequence[Transcript], folds: int, embeddings: str | None) -> None:
    """Scores of coders trained out of fold, and how far their probabilities are from what comes true."""
    training = read_training_set(transcripts, embeddings=Embeddings(embeddings) if embeddings else None)
    given, seen = out_of_fold(training, folds=folds)
    evaluation = evaluate_coder(transcripts, given)
    what = embeddings or "no embeddings"
    print(f"\ntrained coders out of fold, {folds} folds, {what} ({evaluation.transcripts} sessions)")
    table(evaluation.rows())
    table(evaluation.session_rows())
    print("\ncalibration: mean difference of probability and share that is right, ten bins of probability")
    table([{"code": code, "error": miscalibration(training.labels[code], *both)} for code, both in seen.items()])


def miscalibration(labels: Sequence[str], gold: Any, probabilities: Any) -> float:
    """Expected calibration error of the most probable label."""
    sure = probabilities.max(axis=1)
    right = np.array([labels[k] for k in probabilities.argmax(axis=1)]) == gold
    bins = np.minimum(9, (10 * sure).astype(int))
    return float(
        sum(abs(sure[bins == k].mean() - right[bins == k].mean()) * np.mean(bins == k) for k in np.unique(bins))
    )


def speed(transcripts: Sequence[Transcript]) -> None:
    coder, family = CODERS.load("rules"), FAMILIES.load("behaviour")
    wanted = frozenset(metric.name for metric in family.metrics)
    turns = sum(1 for transcript in transcripts for _ in transcript.of("clinician"))
    best = min(timed(lambda: [coder.code(t) for t in transcripts]) for _ in range(3))
    print(f"rule coder: {turns / best:,.0f} clinician turns/s (target {TARGET:,})")
    everything = sum(len(transcript.turns) for transcript in transcripts)
    best = min(
        timed(lambda: [list(family.compute(t, wanted, **family.settings())) for t in transcripts]) for _ in range(3)
    )
    print(f"all behaviour metrics: {everything / best:,.0f} turns/s")


def timed(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def forced_type(transcripts: Sequence[Transcript]) -> float:
    """Macro-F1 of open/closed on every turn that people call a question, the coder's type forced."""
    from sklearn.metrics import f1_score

    gold, given = [], []
    for transcript in transcripts:
        codes = list(people_codes(transcript).values())
        for turn in transcript.of("clinician"):
            labels = [own[turn.index]["question"] for own in codes if turn.index in own]
            kinds = [label for label in labels if label != "none"]
            opened = kinds.count("open")
            if 2 * len(kinds) > len(labels) and 2 * opened != len(kinds):
                gold.append("open" if 2 * opened > len(kinds) else "closed")
                given.append(question_type(turn.text))
    return float(f1_score(gold, given, average="macro"))


def fleiss(transcripts: Sequence[Transcript], code: str) -> list[dict[str, Any]]:
    """Fleiss' kappa of a code and, where it can be ``none``, of its existence and of its type where all see it."""
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    rows = []
    for transcript in transcripts:
        codes = people_codes(transcript)
        for turn in transcript.of(CODE_ROLES[code]):
            labels = [own.get(turn.index, {}).get(code) for own in codes.values()]
            if None not in labels:
                rows.append(labels)
    views: dict[str, list[list[str]]] = {code: rows}
    if CODES[code][0] == "none":
        views[f"{code}: exists"] = [[str(label != "none") for label in row] for row in rows]
        views[f"{code}: type, where all see one"] = [row for row in rows if "none" not in row]
    return [
        {"code": name, "turns": len(table), "kappa": float(fleiss_kappa(aggregate_raters(table)[0]))}
        for name, table in views.items()
        if table
    ]


def table(rows: list[dict[str, Any]]) -> None:
    def cell(value: Any) -> str:
        return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)

    cells = [list(rows[0]), *([cell(value) for value in row.values()] for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    for row in cells:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
