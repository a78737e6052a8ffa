"""Redirection of real sessions: one sequence at a time, as ConvoKit's likelihood model does it, against bedside.

    python benchmarks/redirection.py TRANSCRIPTS [--model FOLDER] [--sessions N] [--turns N] [--rounds N]

All ways score the same sessions, in one thread, in turn within each round; the seconds are the processor's own, of the
fastest round, so that other work on the machine weighs little. The way that bedside replaces weighs the whole
vocabulary at every token of every sequence.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bedside.core.model_files import TOY, find_model
from bedside.metrics.families.redirection import redirection_score, score_turns
from bedside.metrics.models.dialogue import SEPARATOR, speeches
from bedside.metrics.models.language_model import load_language_model
from bedside.metrics.models.likelihood import Likelihood
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript import Transcript


def one_at_a_time(transcripts: list[Transcript], likelihood: Likelihood, model: Any) -> list[float]:
    """What ConvoKit does, with its overflowing logarithm mended: a softmax over every token of each sequence."""
    import torch

    scores = []
    for transcript in transcripts:
        said = speeches(transcript)
        tokens = [likelihood.encode(speech.line + SEPARATOR) for speech in said]
        for place in range(2, len(said) - 1):
            if said[place].role != "clinician":
                continue
            answer = likelihood.encode(said[place + 1].line)
            pair = []
            for turn in (place, place - 2):
                sequence = [*likelihood.start, *tokens[place - 1], *tokens[turn], *answer]
                with torch.no_grad():
                    probabilities = torch.nn.functional.softmax(model(torch.tensor([sequence]))[0], dim=-1)
                before = len(sequence) - len(answer) - 1
                pair.append(
                    sum(
                        torch.log(probabilities[0, before + number, token]).item()
                        for number, token in enumerate(answer)
                    )
                )
            scores.append(redirection_score(*pair))
    return scores


def by_bedside(transcripts: list[Transcript], likelihood: Likelihood) -> list[float]:
    return [one.score for each in transcripts for one in score_turns(each, likelihood, 1024).scored]


def main() -> None:
    import torch
    from scipy.stats import spearmanr

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("transcripts")
    parser.add_argument("--model", default=TOY)
    parser.add_argument("--sessions", type=int, default=2)
    parser.add_argument("--turns", type=int, default=20, help="of each session, its first")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(1)
    path = find_model(given.model).path
    whole, half = (load_language_model(path) for _ in range(2))
    likelihoods = {name: Likelihood(*pair, precision=name)
                   for name, pair in (("float32", whole), ("bfloat16", half))}  # fmt: skip
    sessions = [each for each in Reading([given.transcripts]) if len(each.turns) >= given.turns]
    sessions = [replace(each, turns=each.turns[: given.turns]) for each in sessions[: given.sessions]]
    ways: dict[str, Callable[[], list[float]]] = {
        "one at a time": lambda: one_at_a_time(sessions, likelihoods["float32"], whole[0]),
        "bedside, float32": lambda: by_bedside(sessions, likelihoods["float32"]),
        "bedside, bfloat16": lambda: by_bedside(sessions, likelihoods["bfloat16"]),
    }
    times: dict[str, float] = dict.fromkeys(ways, float("inf"))
    scores: dict[str, np.ndarray] = {}
    for _ in range(given.rounds):
        for name, way in ways.items():
            start = time.process_time()
            scores[name] = np.array(way())
            times[name] = min(times[name], time.process_time() - start)
    plain = scores["one at a time"]
    print(f"{len(sessions)} sessions, {len(plain)} scored turns, {find_model(given.model).name}")
    print(f"{'':18} {'seconds':>8} {'ratio':>6} {'max |Δ|':>9} {'Spearman':>9} {'signs that differ':>18}")
    for name, seconds in times.items():
        rank = spearmanr(plain, scores[name]).statistic
        other = int((np.sign(plain) != np.sign(scores[name])).sum())
        apart = np.abs(plain - scores[name]).max()
        print(f"{name:18} {seconds:8.2f} {times['one at a time'] / seconds:6.2f} {apart:9.1e} {rank:9.4f} {other:18}")


if __name__ == "__main__":
    main()
