"""What a million conversations of each protocol take: calls, tokens and money, by role.

    python benchmarks/simulation_scale.py [--conversations 1000000] [--in 0.25] [--out 2]

Counted are conversations of each registered simulator with its bundled cases, its default setting and lengths, a
language model in every role but the ranker's, as ``bedside simulate --dry-run`` counts them: the rules actors talk, and
the prompts and replies of each call are estimated in tokens. What conversations about a case share counts once a case.
The second table sets the toys' replies beside those of the protocol's worked example, written as models write.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
MODEL = "openai/model"


def counts(protocol: str, prices: tuple[float, float]) -> Iterator[tuple[str, float, float, float, float, float]]:
    """Role, calls, most calls, tokens in and out, dollars, of one conversation, by role."""
    from bedside import preview_simulation

    preview = preview_simulation(
        None, protocol, clinician=MODEL, patient=MODEL, evaluator=MODEL, prices={MODEL: prices}
    )
    number = preview.conversations
    for role in preview.roles:
        if role.actor.identity == MODEL:
            sums = (role.calls, role.most_calls, role.input_tokens, role.output_tokens, role.cost or 0.0)
            yield (role.role, *(value / number for value in sums))


def worked_example(protocol: str) -> dict[str, float]:
    """Mean tokens of a reply in the protocol's recorded conversation, by role."""
    from bedside.judges.llm.prices import estimate_tokens
    from bedside.simulation.simulators.contract import SIMULATORS
    from bedside.simulation.simulators.scripts import Recording, read_script

    folder = SIMULATORS.load(protocol).scripts
    path = None if folder is None else folder / "recorded.jsonl"
    if path is None or not path.is_file():
        return {}
    recording = read_script(str(path), None).script
    assert isinstance(recording, Recording)
    lengths = defaultdict(list)
    for (role, *_), reply in recording.replies.items():
        lengths[role].append(estimate_tokens(reply.text))
    return {role: fmean(own) for role, own in lengths.items()}


def row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |")


def main() -> None:
    from bedside.simulation.simulators.contract import SIMULATORS

    parser = argparse.ArgumentParser()
    parser.add_argument("--conversations", type=int, default=1_000_000)
    parser.add_argument("--in", dest="input", type=float, default=0.25, help="dollars for a million tokens in")
    parser.add_argument("--out", type=float, default=2.0, help="dollars for a million tokens out")
    arguments = parser.parse_args()
    times = arguments.conversations
    row("protocol", "role", "calls", "at most", "tokens in", "tokens out", "dollars")
    row(*["---"] * 7)
    lengths = []
    for protocol in SIMULATORS.names():
        example = worked_example(protocol)
        sums = [0.0] * 5
        for role, *own in counts(protocol, (arguments.input, arguments.out)):
            sums = [total + value for total, value in zip(sums, own, strict=True)]
            calls, most, tokens_in, tokens_out, cost = own
            numbers = (f"{calls:.1f}", f"{most:.0f}", f"{tokens_in:,.0f}", f"{tokens_out:,.0f}")
            row(protocol, role, *numbers, f"{cost:.4f}")
            if calls:
                lengths.append((protocol, role, tokens_out / calls, example.get(role)))
        calls, most, tokens_in, tokens_out, cost = (total * times for total in sums)
        numbers = (f"{calls / 1e6:,.1f} M", f"{most / 1e6:,.0f} M", f"{tokens_in / 1e9:,.1f} G")
        row(f"**{protocol}**", f"**× {times:,}**", *numbers, f"{tokens_out / 1e9:,.2f} G", f"${cost:,.0f}")
    print()
    row("protocol", "role", "tokens of a toy's reply", "of the worked example's", "ratio")
    row(*["---"] * 5)
    for protocol, role, toy, recorded in lengths:
        if recorded:
            row(protocol, role, f"{toy:.0f}", f"{recorded:.0f}", f"{recorded / toy:.1f}")


if __name__ == "__main__":
    main()
