"""How long agreement takes, and how much memory: many units, many raters, many metrics.

    python benchmarks/agreement_speed.py [--units 8000] [--raters 25] [--metrics 10] [--levels 5] [--turns 20]

The ratings are of invented units that raters see with noise of their own; one rating in fifty is missing. With --turns,
units are turns of transcripts and intervals leave out whole transcripts; with 0 each unit is a transcript. The seconds
are those of `bedside agree`'s analysis and table, the memory is the largest that the process held, and how much of it
was held before.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import polars as pl

from bedside.analysis.agreement import agree
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.scales import Scale
from bedside.ratings.table import ROW_SCHEMA, in_round
from bedside.reports.tables.agreement import agreement_table


def rated(units: int, raters: int, metrics: int, levels: int, turns: int) -> RatingsView:
    """Ratings of ``units`` units by ``raters`` people on ``metrics`` ordered scales."""
    rng = np.random.default_rng(0)
    per = turns or 1
    tables = []
    for metric in range(metrics):
        latent = rng.normal(size=(units, 1)) + 0.3 * rng.normal(size=(1, raters))
        seen = latent + 0.7 * rng.normal(size=(units, raters))
        values = np.clip(np.round((levels + 1) / 2 + seen * levels / 4), 1, levels)
        unit, rater = np.nonzero(rng.random(values.shape) > 0.02)
        frame = pl.DataFrame({
            "transcript_id": pl.Series(unit // per).cast(pl.String()),
            "unit": pl.Series(unit % per).cast(pl.String()),
            "rater": pl.Series(rater).cast(pl.String()), "value": values[unit, rater],
        })  # fmt: skip
        tables.append(frame.with_columns(
            pl.concat_str(pl.lit("turn:"), "unit") if turns else pl.lit("transcript").alias("unit"),
            pl.concat_str(pl.lit("human:r"), "rater").alias("rater"), pl.lit(f"metric{metric}").alias("metric"),
            pl.lit(None, pl.String()).alias("system"), pl.lit(None, pl.String()).alias("case_id"),
            pl.lit(0, pl.Int32()).alias("replicate"),
            *(pl.lit(None, pl.String()).alias(name) for name in ("label", "reason", "error")),
        ).select(ROW_SCHEMA.names()))  # fmt: skip
    scale = Scale(tuple(float(level) for level in range(1, levels + 1)), True)
    scales = {f"metric{metric}": scale for metric in range(metrics)}
    return RatingsView(in_round(pl.concat(tables)), scales, None, "invented ratings")


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("units", 8000), ("raters", 25), ("metrics", 10), ("levels", 5), ("turns", 20)):
        parser.add_argument(f"--{name}", type=int, default=number)
    asked = vars(parser.parse_args())
    view = rated(**asked)
    before = megabytes()
    start, start_of_work = time.perf_counter(), time.process_time()
    table = agreement_table(agree(view))
    seconds, work = time.perf_counter() - start, time.process_time() - start_of_work
    print(f"{', '.join(f'{number:,} {name}' for name, number in asked.items())}: {len(table.rows)} rows")
    memory = f"{megabytes():.0f} MB at most, {before:.0f} MB of them before"
    print(f"{seconds:.1f} s ({work:.1f} s of them at work), {memory}")


if __name__ == "__main__":
    main()
