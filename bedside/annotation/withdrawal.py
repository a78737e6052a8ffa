"""A rater withdraws: their data go from the run, from its plans and from rating pages; that some did is kept.

In the run it is one change, whole or not at all: ratings, stores of answers, who rates what, the plans and the record.
What they were to rate is nobody's since, as a share of its own (``unassigned-1``), and can be given to others. A plan
keeps a digest of the name, by which answers that come later are left out. The report and rating pages are cleared after
that: where this ends too early, the same call goes on.
"""

from __future__ import annotations

import hashlib
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
from bedside.annotation.answer_store import FOLDER, PLAN, STORE, lines_without, plan_path, read_store
from bedside.annotation.items import coded_positions
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.rating_page.page_database import PageDatabase
from bedside.annotation.rating_page.page_folder import PageFolder, page_folder
from bedside.annotation.rating_page.study_people import People
from bedside.annotation.reassignment import FILE as REASSIGNED, LOCK, as_assigned, renamed
from bedside.annotation.study_file import ENROLLED
from bedside.core.errors import RunError
from bedside.core.files import holding, read_sealed, remove_leftovers, saying_where, write_bytes, write_sealed
from bedside.ratings.run import REMOVED_KEY, Run

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
        share: the name of what was theirs to rate.
        plans: hashes of the run's plans that named them.
        answers, ratings, opinions: what was removed from the run: items that they answered, ratings, and opinions that
            others were to settle.
        open: items of the share, of all plans.
        same_name: round → ratings by the same name that no plan of theirs asked for; they stay.
        cleared: files of the run's report that were removed; ``bedside report`` makes them again.
        elsewhere: what can't be reached, with what to do: a line each.
    """

    plan: AnnotationPlan
    share: str
    plans: tuple[str, ...]
    answers: int
    ratings: int
    opinions: int
    open: int
    same_name: Mapping[str, int] = field(default_factory=dict)
    cleared: tuple[Path, ...] = ()
    elsewhere: tuple[str, ...] = ELSEWHERE


def withdraw(run: Run, plan: AnnotationPlan, folder: PageFolder, rater: str, *, by: str = "") -> Withdrawal:
    """Remove all of a rater's data, of every plan of the run that names them; the run is held meanwhile.

    Whoever enrolled on a page is somebody of its round alone. Safe to repeat: where it was interrupted, it goes on.

    Args:
        run: the run.
        plan: a plan of theirs.
        folder: its page's folder, which needn't be there.
        rater: the rater, as the plan names them, in any case.
        by: who removes it, for the record.

    Raises:
        InputError: the plan has no such rater; nothing is changed then.
        RunError: another process holds the run or a rating page, or something can't be read or written.
    """
    name, same_name = plan_hash(plan), dict[str, int]()
    with ExitStack() as held:
        held.enter_context(run.locked(_PATIENCE))
        places = sorted(path.parent for path in (run.path / FOLDER).glob(f"*/{PLAN}"))
        for place in places:
            refusal = RunError("another process changes who rates what", where=str(place), todo="try again")
            held.enter_context(holding(place / LOCK, refusal, _PATIENCE))
        plans = _plans(run, plan)
        who = rater_of(plans[name], rater, "`rater`")
        if who not in plans[name].withdrawn:
            same_name = _remove(run, plans, name, who, {"by": by} if by else {})
            plans = _plans(run, plan)
        cleared = _report_cleared(run)
        for place in places:
            for file in (PLAN, STORE, REASSIGNED):
                remove_leftovers(place / file)
    share = rater_of(plans[name], rater, "`rater`")
    theirs = {other: own for other, own in plans.items() if share in own.withdrawn}
    for other, own in theirs.items():
        clear_page(folder if other == name else page_folder(run, own), own)
    records = [entry for entry in run.manifest[REMOVED_KEY] if entry["share"] == share]
    numbers = {noun: sum(entry[noun] for entry in records) for noun in ("answers", "ratings", "opinions")}
    is_open = sum(len(own.assignment[share]) for own in theirs.values())
    return Withdrawal(plans[name], share, tuple(theirs), **numbers, open=is_open, same_name=same_name, cleared=cleared)


def clear_page(folder: PageFolder, plan: AnnotationPlan) -> None:
    """Remove from a rating page's folder all of those who withdrew from its plan as it is now.

    Raises:
        RunError: another process reads at this moment, or something can't be written.
    """
    if folder.links_file.is_file():
        folder.links.forget(lambda name: known_rater(plan, name) in plan.withdrawn)
    if folder.database.is_file():
        with closing(PageDatabase(folder.database, plan)) as database:
            database.forget(plan)
    if folder.people.is_file():
        with closing(People(folder.people)) as people:
            for person in people.persons():
                if known_rater(plan, person.rater) in plan.withdrawn:
                    people.forget(person.rater)


def _plans(run: Run, plan: AnnotationPlan) -> dict[str, AnnotationPlan]:
    """The run's plans and this one as they are assigned now, by their hashes."""
    stored = [read_plan(path) for path in sorted((run.path / FOLDER).glob(f"*/{PLAN}"))]
    return {plan_hash(own): as_assigned(run, own) for own in (*stored, plan)}


def _remove(
    run: Run, plans: Mapping[str, AnnotationPlan], name: str, who: str, more: Mapping[str, str]
) -> dict[str, int]:
    """Remove a rater's data from the run in one change; round → ratings by the same name that stay.

    Args:
        run: the run, which is held.
        plans: its plans by their hashes.
        name: the hash of the plan that names the rater so.
        who: the rater.
        more: for the record.
    """
    person, round_named = plan_people(run, plans[name])[who], round_of(plans[name])
    own = {
        other: rater
        for other, plan in plans.items()
        for rater, rated in plan_people(run, plan).items()
        if rated == person and (not ENROLLED.fullmatch(who) or _begins(round_of(plan), round_named))
    }
    taken = {rater for plan in plans.values() for rater in plan.raters}
    share = next(free for number in count(1) if (free := f"unassigned-{number}") not in taken)
    rounds = sorted({round_of(plans[other]) for other in own})
    theirs = (pl.col("rater") == person) & pl.col("round").is_in(rounds)
    said = [run.scan().filter(theirs).collect()]
    counts = dict(said[0].group_by("round").len().iter_rows())
    files: dict[str, Callable[[Path], object]] = {}
    imports = list(run.manifest["imports"])
    date = datetime.now(UTC).isoformat(timespec="seconds")
    nothing: dict[str, Any] = {"share": share, "date": date, "answers": 0, "ratings": 0, "opinions": 0, **more}
    records: dict[str, dict[str, Any]] = {}
    for other, rater in own.items():
        plan, store = plans[other], plan_path(run, plans[other], STORE)
        history, lines = read_store(run, plan), lines_without(store, rater, share)
        # A run that was merged of others has other transcripts than their plans.
        positions = coded_positions(plan, run) if plan.run == run_identity(run) else None
        answers = [revision.answer for revision in history.revisions if revision.answer.rater == rater]
        for answer in answers if positions is not None else ():
            said.append(plan_ratings(run, plan, {(answer.item, rater): answer}, positions or {}))
        content = b"".join(line + b"\n" for line in lines)
        if store.is_file():
            files[f"{FOLDER}/{other}/{STORE}"] = partial(write_bytes, content=content)
        reassigned = renamed(run, plan, rater, share)
        if reassigned is not None:
            files[f"{FOLDER}/{other}/{REASSIGNED}"] = partial(write_sealed, value=reassigned)
        for place, entry in enumerate(imports):
            file = Path(entry["file"])
            if entry.get("plan") == other:
                stored = {"sha256": hashlib.sha256(content).hexdigest(), "revisions": len(lines)}
                imports[place] = {**entry, **stored}
            elif file.stem.casefold() == rater.casefold() and round_of(plan) in entry.get("rounds", ()):
                imports[place] = {**entry, "file": str(file.with_stem(share))}
        items = sum(rated == rater for _, rated in history.answers())
        # Plans of one round have their ratings together.
        ratings = counts.pop(round_of(plan), 0)
        records[other] = {"plan": other, **nothing, "answers": items, "ratings": ratings}
    for other, plan in plans.items():
        opinions, number = plan.opinions, 0
        if opinions and round_of(plan) in rounds:
            opinions, number = opinions_without(run, plan, pl.concat(said).filter(pl.col("rater") == person))
        if number or other in own:
            records[other] = {**records.get(other, {"plan": other, **nothing}), "opinions": number}
            without = _plan_without(run, plan, own.get(other), share).model_copy(update={"opinions": opinions})
            files[f"{FOLDER}/{other}/{PLAN}"] = partial(write_plan, without)
    removed = [*(run.manifest.get(REMOVED_KEY) or ()), *records.values()]
    run.rewrite(run.scan().filter(~theirs), {**run.manifest, "imports": imports, REMOVED_KEY: removed}, files=files)
    same_name = run.scan().filter(pl.col("rater") == person).group_by("round").len().collect()
    return dict(sorted(same_name.iter_rows()))


def _begins(first: str, second: str) -> bool:
    """Whether two rounds are of one study: the name of either begins with the other's, as ``pilot-more`` does."""
    return first.startswith(second) or second.startswith(first)


def _plan_without(run: Run, plan: AnnotationPlan, rater: str | None, share: str) -> AnnotationPlan:
    """The plan as the run holds it, in which a rater's share is nobody's."""
    path = plan_path(run, plan, PLAN)
    stored = read_plan(path) if path.is_file() else plan
    update: dict[str, Any] = {"drawn_seal": stored.drawn_seal or stored.seal}
    if rater is not None:
        for name in ("assignment", "settled"):
            update[name] = {share if who == rater else who: ids for who, ids in getattr(stored, name).items()}
        update["raters"] = tuple(share if who == rater else who for who in stored.raters)
        update["withdrawn"] = {**stored.withdrawn, share: name_digest(stored, rater)}
    return stored.model_copy(update=update)


def _report_cleared(run: Run) -> tuple[Path, ...]:
    """Remove the report in the run's folder, as far as bedside wrote it; which files."""
    folder = run.path / "report"
    written = folder / "written.json"
    names = read_sealed(written, "record of the report", {"files": {}})["files"] if written.is_file() else {}
    files = [folder / name for name in names if Path(name).name == name and (folder / name).is_file()]
    with saying_where(folder):
        for file in (*files, *([written] if names else ())):
            file.unlink(missing_ok=True)
    return tuple(files)
