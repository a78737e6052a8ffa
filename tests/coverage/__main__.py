"""Counts how often answers of known truth are wrong: ``python -m tests.coverage --runs 2000 --out FILE``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.coverage.designs import designs
from tests.coverage.replicates import PART, Check, Design, Tally, count_up, parts_in, tallies


def lines(every: Iterable[Design], file: Path) -> Iterator[str]:
    """What was counted, as tables in Markdown under a heading for each command."""
    parts = parts_in(file)
    by_command: dict[str, list[Design]] = {}
    for design in every:
        by_command.setdefault(" ".join(["bedside", *design.question.command]), []).append(design)
    for command, designs_of in by_command.items():
        yield f"\n## {f'`{command}`' if command != 'bedside' else 'A table of a report'}\n"
        yield "| design | what happens | share, % | error, % | should be, % | replicates | |"
        yield "| --- | --- | ---: | ---: | ---: | ---: | --- |"
        for design in designs_of:
            for check, tally in tallies(design, parts.get(design.name, ())).items():
                if tally.replicates:
                    yield f"| {design.name} | {check.words} | {_numbers(check, tally)} |"


def _numbers(check: Check, tally: Tally) -> str:
    of = f"{tally.replicates:,}"
    if tally.answered < tally.replicates:
        of += f", {tally.answered:,} answered"
    if not tally.answered:
        return f"– | – | {_span(check.limits)} | {of} | no answer"
    verdict = check.why if tally.is_within(check.limits) else "**outside**"
    return f"{100 * tally.share:.1f} | {_span(tally.error())} | {_span(check.limits)} | {of} | {verdict}"


def _span(ends: tuple[float, float]) -> str:
    return f"{100 * ends[0]:.1f}–{100 * ends[1]:.1f}"


def main() -> None:
    """Count, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="replicates of each design")
    parser.add_argument("--only", nargs="+", default=[""], help="designs whose name holds one of these words")
    parser.add_argument("--out", type=Path, required=True, help="file of what was counted; what is there counts")
    parser.add_argument("--minutes", type=float, default=0, help="how long at most")
    typed = parser.parse_args()
    every = [design for design in designs() if any(word in design.name for word in typed.only)]
    end = time.monotonic() + 60 * typed.minutes if typed.minutes else float("inf")
    # A part of each design after the other, so that something is known of all of them early.
    for runs in range(PART, typed.runs + PART, PART):
        for design in every:
            start = time.monotonic()
            if start > end:
                break
            for part in count_up(design, min(runs, typed.runs, design.many), typed.out):
                each = 1000 * (time.monotonic() - start) / part["replicates"]
                sys.stderr.write(f"{each:7.0f} ms each from {part['first']}: {design.name}\n")
                start = time.monotonic()
    sys.stdout.writelines(f"{line}\n" for line in lines(every, typed.out))


if __name__ == "__main__":
    main()
