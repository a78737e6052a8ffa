"""Where conversations come from: simulated, recorded or written, or not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import polars as pl

from bedside.analysis.study_parts import SIMULATED, SYNTHETIC
from bedside.core.errors import InputError
from bedside.core.registry import nearest
from bedside.ratings.run import Run

Origin = Literal["simulated", "recorded", "written"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)
#: What each means, in a sentence's part.
ORIGIN_WORDS: Mapping[Origin | None, str] = {
    "simulated": "a program or language model plays at least one side",
    "recorded": "real people said it",
    "written": "people made it up",
    None: "the run doesn't say, and nobody else did",
}


def origins(run: Run, stated: str | Mapping[str, str] | None) -> pl.DataFrame:
    """Where each transcript comes from: a column ``origin`` by ``transcript_id``, null where it is not known.

    A run knows which of its transcripts were simulated; the others are what the user states.

    Args:
        run: the run.
        stated: an origin for all transcripts, or one for each system that is named.

    Raises:
        InputError: there is no such origin or system, or simulated transcripts are said to be something else.
    """
    systems = run.index["system"].drop_nulls().unique().sort().to_list()
    by_system = {} if stated is None or isinstance(stated, str) else dict(stated)
    for origin in [stated] if isinstance(stated, str) else by_system.values():
        if origin not in ORIGINS:
            raise InputError(
                f"no conversation can be {origin!r}",
                where="`origin`",
                todo=f"choose one of {', '.join(ORIGINS)}",
            )
    unknown = next((system for system in by_system if system not in systems), None)
    if unknown is not None:
        raise InputError(f"no system is called {unknown!r}", where="`origin`", todo=nearest(unknown, systems))
    of_user = pl.lit(stated if isinstance(stated, str) else None, dtype=pl.String())
    if by_system:
        of_user = pl.col("system").replace_strict(
            list(by_system), list(by_system.values()), default=None, return_dtype=pl.String()
        )
    factors = run.factors
    known = pl.lit(None, dtype=pl.String())
    if SYNTHETIC in factors.columns:
        known = pl.when(pl.col(SYNTHETIC) == SIMULATED).then(pl.lit("simulated"))
        factors = factors.select("transcript_id", SYNTHETIC)
    else:
        factors = factors.select("transcript_id")
    table = (
        run.index.select(pl.col("id").alias("transcript_id"), "system")
        .join(factors, on="transcript_id", how="left", maintain_order="left")
        .with_columns(of_user.alias("stated"), known.alias("known"))
    )
    wrong = table.filter(pl.col("known").is_not_null() & (pl.col("stated") != pl.col("known")))
    if not wrong.is_empty():
        raise InputError(
            f"the run says that transcript {wrong['transcript_id'][0]!r} was simulated, and not "
            f"{wrong['stated'][0]}",
            where="`origin`",
            todo="name the origin of the other systems only",
        )
    return table.select("transcript_id", pl.coalesce("known", "stated").alias("origin"))
