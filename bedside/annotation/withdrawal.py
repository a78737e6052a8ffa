"""A rater withdraws: their data go from the run, from its plans and from rating pages; that some did is kept.

In the run it is one change, whole or not at all: ratings, stores of answers, who rates what, the plans and the record.
What the rater was to rate is nobody's since, under the name of a share (``unassigned-1``), and can be given to others.
A plan keeps a digest of the name, by which answers that come later are left out. Rating pages and reports are cleared
after that: where this ends too early, the same call goes on.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from bedside.annotation.adjudication import opinions_without
from bedside.annotation.annotation_plan import (
    AnnotationPlan,
    known_rater,
    name_digest,
    plan_hash,
    rater_of,
    round_of,
    run_identity,
)
from bedside.annotation.answer_ratings import plan_people, plan_ratings
from bedside.annotation.answer_revisions import RevisionHistory
from bedside.annotation.answer_store import FOLDER, PLAN, STORE, lines_without, plan_folder, plan_path, read_store
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.items import coded_positions
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.rating_page.page_database import PageDatabase
from bedside.annotation.rating_page.page_folder import PageFolder, page_folder
from bedside.annotation.reassignment import FILE as REASSIGNED, LOCK, as_assigned, renamed
from bedside.core.errors import RunError
from bedside.core.files import holding, read_sealed, remove_leftovers, saying_where, write_bytes, write_sealed
from bedside.ratings.run import REMOVED_KEY, Run
from bedside.ratings.table import KEY

#: What is said of what can't be reached, with what to do.
ELSEWHERE = (
    "Label Studio keeps what it has: delete the rater's annotations, project and login there.",
    "Delete the rater's own files: spreadsheets that were filled in, exports of other tools.",
    "Make reports, exports and copies outside of the run again, and delete the old ones.",
)
#: How long to wait for another process that changes the run or who rates what, in seconds.
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """What became of a rater's data.

    Attributes:
        plan: the plan as it is assigned now.
        shares: plan's hash → the name of the share that was the rater's, of each plan of the run that named them.
        answers: answers that were removed from the run: items that they answered, of all plans.
        ratings: ratings that were removed from the run.
        opinions: opinions that were removed from adjudications.
        open: items of the share that are open now, of all plans.
        same_name: round → ratings by the same name that no plan of the rater's asked for; they stay.
        cleared: files of the run's report that were removed; ``bedside report`` makes them again.
        elsewhere: what can't be reached, with what to do: a line each.
    """

    plan: AnnotationPlan
    shares: Mapping[str, str]
    answers: int
    ratings: int
    opinions: int
    open: int
    same_name: Mapping[str, int] = field(default_factory=dict)
    cleared: tuple[Path, ...] = ()
    elsewhere: tuple[str, ...] = ELSEWHERE


def withdraw(run: Run, plan: AnnotationPlan, folder: PageFolder, rater: str, *, by: str = "") -> Withdrawal:
    """Remove all of a rater's data, of every plan of the run that names them; the run is held meanwhile.

    Ratings by files are theirs where they are of the round of such a plan. Safe to repeat: where it was interrupted,
    the same call goes on.

    Args:
        run: the run.
        plan: a plan of theirs.
        folder: its page's folder, which needn't be there.
        rater: the rater, as the plan names them, in any case.
        by: who removes it, for the record; nobody is named unless given.

    Raises:
        InputError: the plan has no such rater; nothing is changed then.
        RunError: another process holds the run or a rating page, or something can't be read or written.
    """
    with ExitStack() as held:
        held.enter_context(run.locked(_PATIENCE))
        places = sorted({plan_folder(run, plan), *(path.parent for path in (run.path / FOLDER).glob(f"*/{PLAN}"))})
        for place in (place for place in places if place.is_dir()):
            refusal = RunError("another process changes who rates what", where=str(place), todo="try again")
            held.enter_context(holding(place / LOCK, refusal, _PATIENCE))
        plans = _plans(run, plan)
        who = rater_of(plans[plan_hash(plan)], rater, "`rater`")
        same_name: dict[str, int] = {}
        if who not in plans[plan_hash(plan)].withdrawn:
            same_name = _removed(run, plans, plan_people(run, plans[plan_hash(plan)])[who], by)
            plans = _plans(run, plan)
        cleared = _report_cleared(run)
        for place in places:
            for name in (PLAN, STORE, REASSIGNED):
                remove_leftovers(place / name)
    now = plans[plan_hash(plan)]
    shares = {name: share for name, own in plans.items() if (share := _share(own, rater, now)) is not None}
    for name in shares:
        clear_page(folder if name == plan_hash(plan) else page_folder(run, plans[name]), plans[name])
    records = [entry for entry in run.manifest.get(REMOVED_KEY) or () if entry["share"] in shares.values()]
    return Withdrawal(
        plan=now,
        shares=shares,
        answers=sum(entry["answers"] for entry in records),
        ratings=sum(entry["ratings"] for entry in records),
        opinions=sum(entry["opinions"] for entry in records),
        open=sum(len(plans[name].assignment[share]) for name, share in shares.items()),
        same_name=same_name,
        cleared=cleared,
    )


def clear_page(folder: PageFolder, plan: AnnotationPlan) -> None:
    """Remove from a rating page's folder all of those who withdrew from its plan; nothing where there is no folder.

    Args:
        folder: the page's.
        plan: its plan as it is now.

    Raises:
        RunError: another process reads at this moment, or something can't be written.
    """
    if folder.links_file.is_file():
        folder.links.forget(lambda name: known_rater(plan, name) in plan.withdrawn)
    if folder.database.is_file():
        with closing(PageDatabase(folder.database, plan)) as database:
            database.forget(plan)


def _share(plan: AnnotationPlan, rater: str, named: AnnotationPlan) -> str | None:
    """The share of a plan that was a rater's; they may have been spelt otherwise in it than in the plan that was
    named."""
    own, share = known_rater(plan, rater), known_rater(named, rater)
    return next((name for name in (own, share) if name in plan.withdrawn), None)


def _plans(run: Run, plan: AnnotationPlan) -> dict[str, AnnotationPlan]:
    """The run's plans and this one as they are assigned now, by their hashes."""
    stored = [read_plan(path) for path in sorted((run.path / FOLDER).glob(f"*/{PLAN}"))]
    return {plan_hash(own): as_assigned(run, own) for own in (*stored, plan)}


# -- What goes from the run -----------------------------------------------------------------------------


def _removed(run: Run, plans: Mapping[str, AnnotationPlan], person: str, by: str) -> dict[str, int]:
    """Remove a person's data from the run in one change; round → ratings by the same name that stay.

    Args:
        run: the run, which is held.
        plans: its plans by their hashes.
        person: who, as the run's ratings name them.
        by: who removes it.
    """
    own = {
        name: who for name, plan in plans.items() for who, rated in plan_people(run, plan).items() if rated == person
    }
    taken = {rater for plan in plans.values() for rater in plan.raters}
    share = next(name for number in count(1) if (name := f"unassigned-{number}") not in taken)
    rounds = {round_of(plans[name]) for name in own}
    theirs = (pl.col("rater") == person) & pl.col("round").is_in(sorted(rounds))
    ratings = run.scan().filter(theirs).collect()
    record = {"share": share, "date": datetime.now(UTC).isoformat(timespec="seconds"), **({"by": by} if by else {})}
    files: dict[str, Callable[[Path], object]] = {}
    imports, records, said = list(run.manifest["imports"]), dict[str, dict[str, Any]](), [ratings]
    for name, rater in own.items():
        plan, store = plans[name], plan_path(run, plans[name], STORE)
        history = read_store(run, plan)
        revisions = _ratings_given(run, plan, history, rater, person)
        said += revisions
        lines = lines_without(store, rater, share)
        content = b"".join(line + b"\n" for line in lines)
        if store.is_file():
            files[f"{FOLDER}/{name}/{STORE}"] = partial(write_bytes, content=content)
        reassigned = renamed(run, plan, rater, share)
        if reassigned is not None:
            files[f"{FOLDER}/{name}/{REASSIGNED}"] = partial(write_sealed, value=reassigned)
        of_round = ratings.filter(pl.col("round") == round_of(plan))
        of_plan = of_round.join(pl.concat([said[0].clear(), *revisions]).select(KEY), on=KEY, how="semi")
        in_files = of_round.join(of_plan.select(KEY), on=KEY, how="anti")
        ratings = ratings.join(of_round.select(KEY), on=KEY, how="anti")
        stored = {"sha256": hashlib.sha256(content).hexdigest(), "revisions": len(lines)}
        for place, entry in enumerate(imports):
            if entry.get("plan") == name:
                imports[place] = _import_without(entry, of_plan, rater, share) | stored
            elif "plan" not in entry and round_of(plan) in entry.get("rounds", ()):
                imports[place] = _import_without(entry, in_files, rater, share)
        answers = sum(who == rater for _, who in history.answers())
        records[name] = {"plan": name, **record, "answers": answers, "ratings": of_round.height, "opinions": 0}
    for name, plan in plans.items():
        opinions, number = plan.opinions, 0
        if round_of(plan) in rounds and opinions:
            opinions, number = opinions_without(plan, pl.concat(said))
        if number:
            none = {"plan": name, **record, "answers": 0, "ratings": 0}
            records[name] = {**records.get(name, none), "opinions": number}
        if name in records:
            without = _plan_without(run, plan, own.get(name), share).model_copy(update={"opinions": opinions})
            files[f"{FOLDER}/{name}/{PLAN}"] = partial(write_plan, without)
    removed = [*(run.manifest.get(REMOVED_KEY) or ()), *records.values()]
    run.rewrite(run.scan().filter(~theirs), {**run.manifest, "imports": imports, REMOVED_KEY: removed}, files=files)
    same_name = run.scan().filter(pl.col("rater") == person).group_by("round").len().collect()
    return dict(sorted(same_name.iter_rows()))


def _ratings_given(
    run: Run, plan: AnnotationPlan, history: RevisionHistory, rater: str, person: str
) -> list[pl.DataFrame]:
    """The ratings that a rater's answers gave: of the first revision of each item, then of the second, and so on."""
    layers: list[dict[tuple[str, str], RaterAnswer]] = []
    times: Counter[str] = Counter()
    for answer in (revision.answer for revision in history.revisions if revision.answer.rater == rater):
        if times[answer.item] == len(layers):
            layers.append({})
        layers[times[answer.item]][answer.item, rater] = answer
        times[answer.item] += 1
    # A run that was merged of others has other transcripts than their plans.
    positions = coded_positions(plan, run) if layers and plan.run == run_identity(run) else {}
    layers = layers if plan.run == run_identity(run) else []
    return [plan_ratings(run, plan, layer, positions).filter(pl.col("rater") == person) for layer in layers]


def _import_without(entry: Mapping[str, Any], gone: pl.DataFrame, rater: str, share: str) -> dict[str, Any]:
    """What the manifest says of an import, without ratings that are gone; a file called as the rater goes by the
    share's name."""
    metrics = Counter(entry.get("metrics") or {})
    metrics.subtract(Counter(gone["metric"]))
    file = Path(entry["file"])
    named = file.stem.casefold() == rater.casefold()
    return {
        **entry,
        "file": str(file.with_stem(share)) if named else entry["file"],
        "ratings": max(0, entry["ratings"] - gone.height),
        **({"empty": max(0, entry["empty"] - gone["error"].count())} if "plan" in entry else {}),
        **({"metrics": {metric: left for metric, left in metrics.items() if left > 0}} if "metrics" in entry else {}),
    }


def _plan_without(run: Run, plan: AnnotationPlan, rater: str | None, share: str) -> AnnotationPlan:
    """The plan as the run holds it, in which a rater's share is nobody's."""
    path = plan_path(run, plan, PLAN)
    stored = read_plan(path) if path.is_file() else plan
    update: dict[str, Any] = {"drawn_seal": stored.drawn_seal or stored.seal}
    if rater is not None:

        def by_rater(kept: Mapping[str, Any]) -> dict[str, Any]:
            return {share if name == rater else name: value for name, value in kept.items()}

        update |= {
            "raters": tuple(by_rater(dict.fromkeys(stored.raters))),
            "assignment": by_rater(stored.assignment),
            "settled": by_rater(stored.settled),
            "withdrawn": {**stored.withdrawn, share: name_digest(stored, rater)},
        }
    return stored.model_copy(update=update)


def _report_cleared(run: Run) -> tuple[Path, ...]:
    """Remove the report in the run's folder, as far as bedside wrote it; which files."""
    folder = run.path / "report"
    written = folder / "written.json"
    names = read_sealed(written, "record of the report", {"files": {}})["files"] if written.is_file() else {}
    files = [folder / name for name in names if "/" not in name and (folder / name).is_file()]
    with saying_where(folder):
        for file in (*files, *([written] if names else ())):
            file.unlink(missing_ok=True)
    return tuple(files)
