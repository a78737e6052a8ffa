"""The review of simulated patients by rules: planted faults found, and false alarms.

    python benchmarks/patient_review.py [--all] [--real PATHS]

Faults are planted by rule into conversations of bundled scripts and into ones written by hand. Real sessions are held
against no case: alarms in them are of form, role, repetition and denial. Contradictions in other words than the case's
are shown apart: rules hardly find them.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter

from bedside.simulation.simulators.calls import Line
from bedside.simulation.simulators.conversation_faults import CaseTruth, conversation_faults
from bedside.stats.intervals import proportion
from bedside.transcripts.reading import read_transcripts
from tests.simulation.simulators.planted_faults import harmless, natural_talks, planted, reworded, scripted_talks


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", help="list what is missed and false alarms")
    parser.add_argument("--real", nargs="*", default=[], help="real sessions in English")
    asked = parser.parse_args()
    scripted, natural = list(scripted_talks(seeds=1)), list(natural_talks())
    talks = [*scripted, *natural]
    for name, group in (
        ("scripts and toys", scripted), ("written by hand", natural), ("with harmless lines", list(harmless(talks))),
    ):  # fmt: skip
        alarmed = [talk for talk in group if talk.found()]
        share("false alarms", name, len(alarmed), len(group))
        if asked.all:
            for talk in alarmed:
                print("   ", talk.name, [(fault.kind, talk.lines[fault.turn].text) for fault in talk.found()])
    for name, group in (("scripts and toys", scripted), ("written by hand", natural), ("all", talks)):
        number: Counter[str] = Counter()
        found: Counter[str] = Counter()
        for plant in planted(group):
            number[plant.kind] += 1
            hit = plant.kind in {fault.kind for fault in plant.talk.found()}
            found[plant.kind] += hit
            if asked.all and not hit and name == "all":
                print("    missed:", plant.kind, plant.how, plant.talk.name)
        for kind in number:
            share(kind, name, found[kind], number[kind])
        share("any kind", name, found.total(), number.total())
    other = list(reworded(natural))
    share("contradiction", "in other words", sum(bool(plant.talk.found()) for plant in other), len(other))
    for path in asked.real:
        real(path, show=asked.all)
    speed = time.perf_counter()
    for talk in talks:
        talk.found()
    print(f"{1000 * (time.perf_counter() - speed) / len(talks):.1f} ms a conversation")


def share(kind: str, name: str, hits: int, of: int) -> None:
    result = proportion([1.0] * hits + [0.0] * (of - hits))
    ends = "" if result.interval is None else f" [{result.interval.low:.3f}, {result.interval.high:.3f}]"
    print(f"{kind:20} {name:22} {hits:5,} of {of:5,}  {hits / of:.3f}{ends}")


def real(path: str, *, show: bool) -> None:
    transcripts = list(read_transcripts([path]))
    alarms = 0
    for transcript in transcripts:
        # Transcribers' marks are no words.
        lines = [
            Line(turn.role, re.sub(r"\[[^\]]*\]", "", turn.text).strip() or "Mm.")
            for turn in transcript.turns
            if turn.role != "other"
        ]
        language = "zh" if re.search("[一-鿿]", lines[0].text) else "en"
        faults = conversation_faults(lines, CaseTruth(), language=language)
        alarms += bool(faults)
        if show:
            for fault in faults:
                print("   ", transcript.id, fault.kind, fault.reason, lines[fault.turn].text[:100])
    share("false alarms", path.rsplit("/", 1)[-1], alarms, len(transcripts))


if __name__ == "__main__":
    main()
