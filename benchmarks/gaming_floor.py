"""What fifteen trivial clinicians come to beside the scripted ones, in each protocol, by a measure without a judge.

    python benchmarks/gaming_floor.py [--protocols note2chat,mdd5k] [--setting NAME] [--lengths N,N]

Patients and evaluators are the protocols' toys, cases the bundled ones. The numbers are means over cases. The last
lines are the best trivial clinician, and what share of the scripted good one's it has: half is the most that is wanted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
SCRIPTS = ("script:brisk", "script:good")
#: The first main measure of each suite that has a value without a judge.
MEASURES = {
    "medconceal": "reveal_rate",
    "note2chat": "facts_told",
    "calm-it": "client_rapport",
    "mdd5k": "facts_told",
    "multisense": "facts_told",
}


def means(protocol: str, setting: str | None, lengths: tuple[int, ...]) -> dict[str, float]:
    """Each system's mean over cases."""
    import polars as pl

    import bedside

    with tempfile.TemporaryDirectory() as folder:
        talks, run = Path(folder) / "talks", Path(folder) / "run"
        settings = () if setting is None else (setting,)
        bedside.simulate(None, protocol, talks, clinician=("trivial", *SCRIPTS), settings=settings, lengths=lengths)
        bedside.score(talks, run, suite=protocol)
        ratings = pl.read_parquet(run / "ratings.parquet")
    own = ratings.filter(pl.col("metric") == MEASURES[protocol], pl.col("value").is_not_null())
    by_case = own.group_by("system", "case_id").agg(pl.col("value").mean())
    return dict(by_case.group_by("system").agg(pl.col("value").mean()).iter_rows())


def main() -> None:
    from bedside.simulation.actors.trivial import trivial_clinicians

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocols", default=",".join(MEASURES))
    parser.add_argument("--setting")
    parser.add_argument("--lengths", default="")
    given = parser.parse_args()
    protocols = given.protocols.split(",")
    lengths = tuple(int(number) for number in given.lengths.split(",") if number)
    found = {protocol: means(protocol, given.setting, lengths) for protocol in protocols}
    trivial = {f"trivial:{name}": own.title for name, own in trivial_clinicians().items()}
    print("| | " + " | ".join(f"{name}, {MEASURES[name]}" for name in protocols) + " |")
    print("| --- |" + " ---: |" * len(protocols))
    for system in (*trivial, *SCRIPTS):
        cells = " | ".join(f"{found[name][system]:.3f}".replace("-", "−") for name in protocols)
        title = f", {trivial[system]}" if system in trivial else ""
        print(f"| `{system.removeprefix('trivial:')}`{title} | {cells} |")
    best = {name: max(trivial, key=found[name].__getitem__) for name in protocols}
    shares = " | ".join(f"{found[name][best[name]] / found[name]['script:good']:.0%}" for name in protocols)
    print("| best of fifteen | " + " | ".join(best[name].removeprefix("trivial:") for name in protocols) + " |")
    print(f"| its share of `script:good` | {shares} |")


if __name__ == "__main__":
    main()
