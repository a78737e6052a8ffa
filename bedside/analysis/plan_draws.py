"""How units came to be rated by people: by which plans, strata and chances, as a run's manifest and table say it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from bedside.analysis.case_values import own_case
from bedside.analysis.study_parts import WITHOUT
from bedside.ratings.names import TRANSCRIPT, rated_by_humans
from bedside.ratings.run import PARTS_FILE, PARTS_SCHEMA, Run, merged_parts
from bedside.stats.sampling_cells import Levels

# -- In which of the runs that were merged transcripts could be drawn for people ------------------------
# What people rated in one run says nothing of the others' transcripts: they were never among those that could be drawn.
# Who takes a sample for more than was rated asks here.

#: Stands for the runs in which people rated nothing.
_UNRATED = "runs that people didn't rate"


def sampled_parts(run: Run | None, rounds: Collection[str]) -> dict[str, str]:
    """Transcript → the runs in which it could be drawn for rounds of annotation, where a system's are of several.

    Args:
        run: the run.
        rounds: the rounds.

    Returns:
        Nothing where the run wasn't merged, where people rated in these rounds only since, or where all transcripts of
        each system are of the same runs.
    """
    parts = [] if run is None else merged_parts(run.manifest)
    asked = [place for place, part in enumerate(parts) if not set(rounds).isdisjoint(part["rounds"])]
    if run is None or not asked:
        return {}
    names = _part_names(parts)
    whose: dict[str, list[str]] = {}
    rows = (
        run.table(PARTS_FILE, PARTS_SCHEMA).filter(pl.col("part").is_in(asked)).sort("transcript_id", "part").collect()
    )
    for name, part in rows.iter_rows():
        whose.setdefault(name, []).append(names[part])
    sampled = {name: " and ".join(whose.get(name, [_UNRATED])) for name in run.index["id"]}
    by_system: dict[str | None, set[str]] = {}
    for name, system in run.index.select("id", "system").iter_rows():
        by_system.setdefault(system, set()).add(sampled[name])
    return sampled if any(len(several) > 1 for several in by_system.values()) else {}


def _part_names(parts: Iterable[Mapping[str, Any]]) -> list[str]:
    """A name for each part: its folder's, or where two are called the same, its path."""
    paths = [str(part["run"]) for part in parts]
    names = [Path(path).name or path for path in paths]
    return [path if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]


# -- What a cascade left to people ----------------------------------------------------------------------
# People rate all of it, and a random share of what judges settled: the two are strata of a plan. Which transcripts were
# left to people is kept as it was when the plan was drawn, for ratings may change which are.

#: The manifest's key.
ROUTES_KEY = "routes"
#: Of a transcript that a cascade left to people, and that its judges settled.
TO_PEOPLE, TO_JUDGES = "left to people", "settled by judges"


def routed_levels(run: Run, factor: str) -> dict[str, str] | None:
    """Transcript → whether a cascade left it to people, of a factor that stands for that; None where it does not."""
    left = (run.manifest.get(ROUTES_KEY) or {}).get(factor)
    if left is None:
        return None
    return {name: TO_PEOPLE if name in set(left) else TO_JUDGES for name in run.index["id"]}


# -- How units came to be rated by people ---------------------------------------------------------------

#: What the table of transcripts says of each besides the factors.
_OF_INDEX = ("system", "case_id", "language")
#: Stands beside the factors of a plan where a run was merged: each of its runs has a sample of its own.
MERGED_RUN = "merged run"
#: The first format of plans whose units are drawn independently of each other.
_INDEPENDENT = 2


def drawn_by(run: Run | None, rounds: Iterable[str]) -> tuple[str, ...]:
    """The factors by which transcripts were drawn for rounds of annotation, besides the system.

    The first is :data:`MERGED_RUN` where transcripts of a system were drawn in several runs that were merged.
    """
    if run is None:
        return ()
    asked = set(rounds)
    merged = (MERGED_RUN,) if sampled_parts(run, asked) else ()
    factors = [
        factor
        for entry in run.manifest["imports"]
        if asked & set(entry.get("rounds", ()))
        for factor in entry.get("by", ())
    ]
    return merged + tuple(factor for factor in dict.fromkeys(factors) if factor != "system")


def cell_levels(run: Run | None, by: Sequence[str], rounds: Iterable[str]) -> dict[str, Levels]:
    """Transcript → its levels of the factors that transcripts were drawn by; empty where there are none.

    Args:
        run: the run.
        by: the factors, as :func:`drawn_by` names them.
        rounds: the rounds of annotation.
    """
    if run is None or not by:
        return {}
    table = run.index.select(pl.col("id").alias("transcript_id"), *_OF_INDEX)
    factors = run.factors.drop(set(by) & set(_OF_INDEX), strict=False)
    for factor in by:
        routed = routed_levels(run, factor)
        if routed is not None:
            of_run = pl.DataFrame({"transcript_id": list(routed), factor: list(routed.values())})
            factors = factors.drop(factor, strict=False).join(of_run, on="transcript_id", how="right")
    levels = table.join(factors, on="transcript_id", how="left", suffix=" (factor)")
    if by[0] == MERGED_RUN:
        parts = sampled_parts(run, set(rounds))
        levels = levels.with_columns(
            pl.Series(MERGED_RUN, [parts[name] for name in levels["transcript_id"]], dtype=pl.String())
        )
    return {
        name: tuple(WITHOUT if level is None else str(level) for level in own)
        for name, *own in levels.select("transcript_id", *by).iter_rows()
    }


def plan_of(entry: Mapping[str, Any]) -> str | None:
    """The plan that drew what an import of the manifest brought; None where none did."""
    plan = entry.get("plan") if entry.get("mode") != "adjudicate" else None
    return plan or entry.get("sample")


def drawn_rounds(run: Run) -> frozenset[str]:
    """The rounds of annotation of which all that people rated was drawn by plans."""
    drawn, others = set[str](), set[str]()
    for entry in run.manifest["imports"]:
        if entry.get("mode") != "adjudicate":
            (others if plan_of(entry) is None else drawn).update(entry.get("rounds", ()))
    return frozenset(drawn - others)


def misdrawn_rounds(run: Run) -> dict[str, str]:
    """Round → its plan that drew transcripts of a case together, so that they came with other chances than it states.

    In plans of format 1, transcripts of several systems on one case came together where systems were no strata. Where
    each case of a stratum has as many, the chances are right all the same.
    """
    return {
        round: str(plan_of(entry))
        for entry in run.manifest["imports"]
        if plan_of(entry) is not None
        and entry.get("plan_format", 1) < _INDEPENDENT
        and entry.get("mode") != "pairs"
        and "system" not in entry.get("by", ())
        for round in entry.get("rounds", ())
        if _has_uneven_cases(run, entry.get("by", ()), round)
    }


def _has_uneven_cases(run: Run, by: Sequence[str], round: str) -> bool:
    """Whether some cases of a stratum of a round have units of more systems than others, and not all were drawn."""
    rated = run.ratings.filter(rated_by_humans(), pl.col("round") == round)
    if run.index["system"].n_unique() < 2 or (rated["drawn"] == 1).fill_null(False).all():
        return False
    if merged_parts(run.manifest):
        return True  # which transcripts could be drawn together is no longer seen
    levels = cell_levels(run, by, ())
    strata = {name: "\n".join(of_name) for name, of_name in levels.items()}
    places = (
        run.index.sort("id")
        .select(
            "case_id", "turns", "system", pl.col("id").alias("transcript_id"),
            pl.col("id").replace_strict(strata, default="").alias("stratum"),
        )
        .with_columns(own_case())
        .with_columns(pl.int_range(pl.len()).over("system", "case").alias("number"))
        .group_by("stratum", "case", "number")
        .agg(pl.len().alias("size"), pl.col("turns").n_unique())
    )  # fmt: skip
    if (places.group_by("stratum").agg(pl.col("size").n_unique())["size"] > 1).any():
        return True
    return not (rated["unit"] == TRANSCRIPT).all() and bool((places["turns"] > 1).any())


def ratings_as_drawn(run: Run) -> pl.DataFrame:
    """A run's ratings, without the chances that :func:`misdrawn_rounds` state."""
    rounds = list(misdrawn_rounds(run))
    if not rounds:
        return run.ratings
    doubtful = pl.col("round").is_in(rounds) & (pl.col("drawn") > 0)
    return run.ratings.with_columns(pl.when(~doubtful.fill_null(False)).then("drawn").alias("drawn"))
