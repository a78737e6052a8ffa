"""Data are removed: a rater's who withdraws, or transcripts with all that was made of them; that some were is kept.

In the run it is one change, whole or not at all: ratings, stores of answers, who rates what, the plans and the record.
What they were to rate is nobody's since, as a share of its own (``unassigned-1``), and can be given to others. A plan
keeps a digest of the name, by which answers that come later are left out. The report and rating pages are cleared after
that: where this ends too early, the same call goes on.

So it is with transcripts: they go with ratings, judgements, prompts, items of plans and answers to them, in one change.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
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
    transcripts_identity,
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
from bedside.core.errors import InputError, RunError
from bedside.core.files import (
    holding,
    read_json,
    read_sealed,
    remove_leftovers,
    saying_where,
    seal_of,
    write_bytes,
    write_json,
    write_sealed,
)
from bedside.judges.store import judgements_about, write_store_without
from bedside.ratings.names import human_rater, is_pair, second_id, second_ids
from bedside.ratings.run import BATCHES, PARTS_FILE, PARTS_SCHEMA, REMOVED_KEY, SIMULATIONS, Run
from bedside.ratings.run_folder import MANIFEST
from bedside.ratings.table import TRANSCRIPT_FOLDER, TRANSCRIPT_SCHEMA, write_table

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
    with _held(run):
        plans = _plans(run, plan)
        who = rater_of(plans[name], rater, "`rater`")
        if who not in plans[name].withdrawn:
            same_name = _remove(run, plans, name, who, {"by": by} if by else {})
            plans = _plans(run, plan)
        cleared = _report_cleared(run)
    share = rater_of(plans[name], rater, "`rater`")
    theirs = {other: own for other, own in plans.items() if share in own.withdrawn}
    for other, own in theirs.items():
        clear_page(folder if other == name else page_folder(run, own), own)
    records = [entry for entry in run.manifest[REMOVED_KEY] if entry["share"] == share]
    numbers = {noun: sum(entry[noun] for entry in records) for noun in ("answers", "ratings", "opinions")}
    is_open = sum(len(own.assignment[share]) for own in theirs.values())
    return Withdrawal(plans[name], share, tuple(theirs), **numbers, open=is_open, same_name=same_name, cleared=cleared)


@contextmanager
def _held(run: Run) -> Iterator[None]:
    """Hold a run and who rates what by its plans; what killed processes left of these goes at the end."""
    with ExitStack() as held:
        held.enter_context(run.locked(_PATIENCE))
        places = sorted(path.parent for path in (run.path / FOLDER).glob(f"*/{PLAN}"))
        for place in places:
            refusal = RunError("another process changes who rates what", where=str(place), todo="try again")
            held.enter_context(holding(place / LOCK, refusal, _PATIENCE))
        yield
        for place in places:
            for file in (PLAN, STORE, REASSIGNED):
                remove_leftovers(place / file)


def clear_page(folder: PageFolder, plan: AnnotationPlan) -> bool:
    """Remove from a rating page's folder all of those who withdrew from its plan as it is now, and of items it lost;
    whether there was something of such items.

    Raises:
        RunError: another process reads at this moment, or something can't be written.
    """
    if folder.links_file.is_file():
        folder.links.forget(lambda name: known_rater(plan, name) in plan.withdrawn)
    had_items = False
    if folder.database.is_file():
        with closing(PageDatabase(folder.database, plan)) as database:
            had_items = database.forget(plan)
    if folder.people.is_file():
        with closing(People(folder.people)) as people:
            for person in people.persons():
                if known_rater(plan, person.rater) in plan.withdrawn:
                    people.forget(person.rater)
    return had_items


def _plans(run: Run, *plans: AnnotationPlan) -> dict[str, AnnotationPlan]:
    """The run's plans and these as they are assigned now, by their hashes."""
    stored = [read_plan(path) for path in sorted((run.path / FOLDER).glob(f"*/{PLAN}"))]
    return {plan_hash(own): as_assigned(run, own) for own in (*stored, *plans)}


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
    nothing: dict[str, Any] = {"share": share, "date": _now(), "answers": 0, "ratings": 0, "opinions": 0, **more}
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


# -- Transcripts are removed ----------------------------------------------------------------------------

#: What is said of what can't be reached when transcripts go, with what to do.
BESIDE = (
    "Delete your own files: the transcripts that were scored, sheets, exports, copies, and simulations' folders.",
    "Label Studio and providers of models keep what they have: delete it there.",
    "Examples in tuned rubrics quote conversations: tune again where they were of these.",
)
#: As that, of a case that goes from a simulation.
OF_SIMULATION = (
    "Runs that were scored of it have copies: run the same command on them.",
    "Delete your own files: the case's, protocol files that quote it, exports and copies.",
    BESIDE[1],
)
#: What stands in a manifest in place of a text that named what is gone.
_GONE = "removed on request"
#: Where stores of judgements stand in a run, those that a killed worker left among them.
_STORES = ("*.sqlite", "drift/*.sqlite", ".judging-parts/*.sqlite")
#: What a plan says of items.
_OF_ITEMS = tuple("items training gold criteria lists opinions agreed assignment settled".split())
#: Keys of records that say of which transcript or case they are.
_NAMED = ("transcript", "transcript_id", "id", "case", "case_id")
#: Names of fewer characters are not looked for in texts: they stand in too many by chance.
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What was removed of a run.

    Attributes:
        kind: what it was chosen by: ``case``, ``rater`` or ``before``.
        transcripts, ratings, answers, judgements: how many.
        plans: hashes of the plans that lost items, or named the rater.
        replies: likewise, of a simulation's log.
        undated: transcripts that have no date, where it went by dates: they stay.
        cleared: files of the run's report that were removed; ``bedside report`` makes them again.
        left: files of the run that still hold a name of what was removed.
        elsewhere: what can't be reached, with what to do: a line each.
    """

    kind: str
    transcripts: int = 0
    ratings: int = 0
    answers: int = 0
    judgements: int = 0
    plans: tuple[str, ...] = ()
    undated: int = 0
    cleared: tuple[Path, ...] = ()
    left: tuple[Path, ...] = ()
    elsewhere: tuple[str, ...] = BESIDE
    replies: int = 0


def forget_transcripts(
    run: Run, kind: str, chosen: Callable[[pl.DataFrame], Collection[str]], cases: Collection[str] = (), by: str = ""
) -> Forgetting:
    """Remove transcripts and all that was made of them from a run, its plans and their pages; the run is held.

    Safe to repeat: where it was interrupted, it goes on.

    Args:
        run: the run.
        kind: what they are chosen by, for the record.
        chosen: the ids of those that go, of the table of transcripts.
        cases: names of their cases: of simulated conversations without a transcript, what is known goes, too.
        by: who removes it, for the record.

    Raises:
        InputError: there is no such case, and nothing was left of it.
        RunError: another process uses the run, or something can't be read or written.
    """
    with _held(run):
        before, gone = run.index, set(chosen(run.index))
        names = {*gone, *cases}
        known = names | set(before["id"])
        judged = sum(judgements_about(store, names, known) for store in _stores(run))
        is_there = bool(gone or judged) or _failed(run, names)
        # The report goes first: where this ends too early, the same call finds the case.
        cleared = _report_cleared(run) if is_there else ()
        done = _without_transcripts(run, kind, gone, names, by, judged) if is_there else Forgetting(kind)
    pages = [clear_page(page_folder(run, plan), plan) for plan in _plans(run).values()]
    names |= set(before["case_id"].drop_nulls()) - set(run.index["case_id"].drop_nulls())
    left = tuple(_holding(run, names))
    if cases and not (is_there or left or any(pages)):
        todo = "see its cases: bedside view"
        raise InputError(f"no such case {', '.join(cases)}", where=str(run.path), todo=todo)
    return replace(done, cleared=cleared, left=left, elsewhere=(*BESIDE, *run.waiting()))


def forget_rater(run: Run, rater: str, *, by: str = "") -> Forgetting:
    """Remove all of a rater's data by every plan of the run that names them, and ratings of that name by no plan.

    Raises:
        InputError: the run has no such rater; or the name was given on enrolment, when others may have it, too.
        RunError: as for :func:`withdraw`.
    """
    rater = rater.strip()
    if ENROLLED.fullmatch(rater):
        todo = f"bedside annotate people PLAN --withdraw {rater}"
        raise InputError("people of several studies may be called so", where="`rater`", todo=todo)
    done: dict[str, Withdrawal] = {}
    for name, plan in _plans(run).items():
        if known_rater(plan, rater) is not None and not any(name in own.plans for own in done.values()):
            done[name] = withdraw(run, plan, page_folder(run, plan), rater, by=by)
    plans = tuple(name for own in done.values() for name in own.plans)
    theirs = pl.col("rater").str.to_lowercase() == human_rater(rater).lower()
    with run.locked(_PATIENCE):
        more = run.scan().filter(theirs).select(pl.len()).collect().item()
        if not (more or plans):
            raise InputError(f"nobody called {rater!r} rated in the run", where=str(run.path), todo="check the name")
        if more:
            imports = _unnamed(run.manifest["imports"], {rater})
            manifest = {**run.manifest, "imports": imports, REMOVED_KEY: _removed(run, "rater", by, ratings=more)}
            run.rewrite(run.scan().filter(~theirs), manifest)
        cleared = (*(file for own in done.values() for file in own.cleared), *_report_cleared(run))
    ratings, answers = (sum(getattr(own, noun) for own in done.values()) for noun in ("ratings", "answers"))
    left = tuple(_holding(run, {rater}))
    return Forgetting("rater", 0, ratings + more, answers, 0, plans, 0, cleared, left, ELSEWHERE)


def _removed(run: Run, kind: str, by: str, **counts: int) -> list[dict[str, Any]]:
    """What was removed of a run, the last thing of a kind among it."""
    about = {"kind": kind, "plan": "", "share": "", "date": _now(), "opinions": 0, "answers": 0, "ratings": 0}
    return [*(run.manifest.get(REMOVED_KEY) or ()), {**about, **counts, **({"by": by} if by else {})}]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _stores(run: Run) -> Iterator[Path]:
    return (file for place in _STORES for file in sorted(run.path.glob(place)))


def _failed(run: Run, names: Set[str]) -> bool:
    """Whether the run knows of a simulated conversation without a transcript that bears one of these names."""
    path = run.path / SIMULATIONS
    return path.is_file() and _without(kept := read_json(path, "record of simulations"), names) != kept


def _without_transcripts(run: Run, kind: str, gone: set[str], names: set[str], by: str, judged: int) -> Forgetting:
    """As :func:`forget_transcripts`, of the run, which is held: ids are gone, and with cases they are the names."""
    is_gone, identity = pl.col("id").is_in(list(gone)), run_identity(run)
    kept = run.index.filter(~is_gone)
    files: dict[str, Callable[[Path], object]] = {}
    for part in sorted((run.path / TRANSCRIPT_FOLDER).glob("*.parquet")):
        name = f"{TRANSCRIPT_FOLDER}/{part.name}"
        files[name] = partial(write_table, table=run.table(name, TRANSCRIPT_SCHEMA).filter(~is_gone))
    if (run.path / PARTS_FILE).is_file():
        table = run.table(PARTS_FILE, PARTS_SCHEMA).filter(~pl.col("transcript_id").is_in(list(gone)))
        files[PARTS_FILE] = partial(write_table, table=table)
    known = names | set(run.index["id"])
    for store in _stores(run):
        name = store.relative_to(run.path).as_posix()
        files[name] = partial(write_store_without, source=store, transcripts=names, known=known)
    # Records of probes, drift and simulations say of which transcript each entry is.
    for file in (*run.path.glob("*.json"), *run.path.glob("drift/*.json")):
        if file.name not in (MANIFEST, BATCHES):
            without = _without(record := read_json(file, "record"), names)
            if without != record:
                files[file.relative_to(run.path).as_posix()] = partial(write_json, value=without)
    manifest, answers, plans = dict(run.manifest), 0, []
    imports, new = list(manifest["imports"]), transcripts_identity(kept)
    for name, plan in _plans(run).items():
        seconds = {item.id for item in plan.everything if is_pair(item.unit) and second_id(item.unit) in gone}
        items = seconds | {item.id for item in plan.everything if item.transcript in gone}
        history, lines = read_store(run, plan), lines_without(plan_path(run, plan, STORE), items=items)
        answers += sum(item in items for item, _ in history.answers())
        plans += [name] if items else []
        stored = read_plan(plan_path(run, plan, PLAN))
        # A run that was merged of others has other transcripts than their plans.
        update = {"run": new if stored.run == identity else stored.run, "drawn_seal": stored.drawn_seal or stored.seal}
        update |= {key: _without(getattr(stored, key), items) for key in _OF_ITEMS}
        if items or update["run"] != stored.run:
            files[f"{FOLDER}/{name}/{PLAN}"] = partial(write_plan, stored.model_copy(update=update))
        reassigned = plan_path(run, plan, REASSIGNED)
        if items and reassigned.is_file():
            without = _without(read_sealed(reassigned, "file of who rates what now"), items)
            files[f"{FOLDER}/{name}/{REASSIGNED}"] = partial(write_sealed, value=without)
        if items and plan_path(run, plan, STORE).is_file():
            content = b"".join(line + b"\n" for line in lines)
            files[f"{FOLDER}/{name}/{STORE}"] = partial(write_bytes, content=content)
            numbers = {"sha256": hashlib.sha256(content).hexdigest(), "revisions": len(lines)}
            imports = [{**entry, **numbers} if entry.get("plan") == name else entry for entry in imports]
    rated = pl.col("transcript_id").is_in(list(gone)) | second_ids().is_in(list(gone)).fill_null(value=False)
    ratings = run.scan().filter(rated).select(pl.len()).collect().item()
    counts = {"transcripts": len(gone), "ratings": ratings, "answers": answers, "judgements": judged}
    read = manifest["transcripts"] | {"count": kept.height, "turns": int(kept["turns"].sum())}
    read |= {key: _unnamed(read[key], names) for key in ("inputs", "skipped")}
    scorings = [{**own, "missing": _unnamed(own["missing"], names)} for own in manifest["scorings"]]
    manifest |= {"imports": _unnamed(imports, names), "transcripts": read, "scorings": scorings}
    manifest[REMOVED_KEY] = _removed(run, kind, by, **counts)
    run.rewrite(run.scan().filter(~rated), manifest, files=files)
    return Forgetting(kind, plans=tuple(plans), **counts)


def _without(value: Any, names: Set[str]) -> Any:
    """A record without keys, listed texts and listed entries that are, or are of, something of these names; what was
    sealed is sealed anew."""
    if isinstance(value, dict):
        kept = {key: _without(own, names) for key, own in value.items() if key not in names}
        return {**kept, "seal": seal_of(kept)} if "seal" in kept and kept != value else kept
    if isinstance(value, list | tuple):
        return type(value)(_without(own, names) for own in value if names.isdisjoint(_names(own)))
    return value


def _names(value: Any) -> set[str]:
    """By what an entry of a list is known."""
    if isinstance(value, dict):
        return {str(value.get(key)) for key in _NAMED}
    return {value if isinstance(value, str) else getattr(value, "id", "")}


def _unnamed(value: Any, names: Collection[str]) -> Any:
    """A record in which no text holds a name of some length as a word."""
    if isinstance(value, dict):
        return {key: _unnamed(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_unnamed(part, names) for part in value]
    long = "|".join(re.escape(name) for name in names if len(name) >= _SHORTEST)
    holds = isinstance(value, str) and long and re.search(rf"(?<![\w-])(?:{long})(?![\w-])", value)
    return _GONE if holds else value


def _holding(run: Run, names: Collection[str]) -> Iterator[Path]:
    """Files of the run in whose bytes a name of some length stands still."""
    long = b"|".join(re.escape(name).encode() for name in names if len(name) >= _SHORTEST)
    named = re.compile(rb"(?<!\d)(?:%s)(?!\d)" % long)  # p-1 is not p-17
    for file in sorted(run.path.rglob("*")):
        with suppress(OSError):
            if long and file.is_file() and named.search(file.read_bytes()):
                yield file
