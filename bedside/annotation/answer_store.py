"""The run's store of what raters answered: every revision is kept; which counts says ``answer_revisions``.

A plan's answers stand in ``annotations/<plan hash>/answers.jsonl``, which only grows: one line a revision of what a
rater said of an item. Ratings are made of the store alone, so that what was pulled once stays, whatever becomes of the
server.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from bedside.annotation.annotation_plan import AnnotationPlan, RaterStanding, known_rater, plan_hash, round_of
from bedside.annotation.answer_check import AnswerCheck
from bedside.annotation.answer_ratings import OPEN, plan_people, plan_ratings, plan_scales
from bedside.annotation.answer_revisions import Revision, RevisionHistory, times_changed
from bedside.annotation.answers import RaterAnswer, time_now
from bedside.annotation.items import coded_positions
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.core.errors import InputError, RunError
from bedside.core.files import file_digest, make_folder, read_json_lines, read_sealed, replacing, saying_where
from bedside.core.json_shape import TEXT
from bedside.judges.rubrics.rubric import as_data
from bedside.ratings.names import person_name
from bedside.ratings.run import Run
from bedside.ratings.table import KEY, SCHEMA

FOLDER = "annotations"
STORE, PLAN = "answers.jsonl", "plan.json"
#: What a rating says.
_SAID = pl.concat_str(pl.col("value").cast(pl.String), "label", separator="\n", ignore_nulls=True).alias("said")


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """What putting answers into a run did.

    Attributes:
        new: answers to items that the rater hadn't answered before.
        revised: answers that changed an earlier one.
        unchanged: answers that were there already.
        submitted, skipped: answers that count now, by state.
        drafts: answers among those given that were not handed in.
        changed_by: who → answers of others that they changed last; such changes are kept and don't count.
        standing: plan of the same round, or file that was imported into it, that was there first → ratings that it
            has of the same raters, units and metrics: those stand, and this plan's own are kept beside them as answers
            only.
        filled: ratings that this plan lacks, such as of what was skipped, and that another plan of the round or an
            imported file has: a rating stands in place of a missing one, whichever came first.
        ratings: ratings of the plan in the run.
        missing: those of them without value or label.
        unfinished: units by rater of which a question has no full answer.
        spelt: rater of the plan → the person's name in the run, where they differ.
        came: rater → new answers.
        withdrawn: answers among those given of raters who withdrew, or to items that were removed; they are left out.
    """

    new: int
    revised: int
    unchanged: int
    submitted: int
    skipped: int
    drafts: int
    changed_by: Mapping[str, int]
    standing: Mapping[str, int]
    filled: int
    ratings: int
    missing: int
    unfinished: int = 0
    spelt: Mapping[str, str] = field(default_factory=dict)
    came: Mapping[str, int] = field(default_factory=dict)
    withdrawn: int = 0


def plan_folder(run: Run, plan: AnnotationPlan) -> Path:
    """The folder in the run that holds a plan and its answers."""
    return run.path / FOLDER / plan_hash(plan)


def plan_path(run: Run, plan: AnnotationPlan, name: str) -> Path:
    """Where a file of a plan's folder stands; see :meth:`~bedside.ratings.run.Run.file`."""
    return run.file(f"{FOLDER}/{plan_hash(plan)}/{name}")


def current_plan(run: Run, plan: AnnotationPlan) -> AnnotationPlan:
    """The plan, as the run holds it where a person's data were removed from it since.

    Raises:
        PlanError: the run's can't be read.
    """
    path = plan_path(run, plan, PLAN)
    # Its seal tells whether it is the same; to read it takes longer.
    if not path.is_file() or f'"seal": "{plan.seal}"'.encode() in path.read_bytes()[-200:]:
        return plan
    stored = read_plan(path)
    if stored.drawn_seal != (plan.drawn_seal or plan.seal):
        return plan
    return stored.model_copy(update={"folder": plan.folder})


def stored_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place and object of each line of a store of answers, as it was written.

    Raises:
        RunError: it can't be read, or a line isn't.
    """
    for place, data in read_json_lines(path, "store of answers", {}):
        # Lines of earlier versions have none.
        if data.pop("digest", None) not in (None, _digest(data)):
            raise RunError("the store of answers is damaged", where=place, todo="restore it from a copy")
        yield place, data


def read_store(run: Run, plan: AnnotationPlan) -> RevisionHistory:
    """Every revision of every answer to a plan.

    Raises:
        RunError: the store can't be read.
    """
    path = plan_path(run, plan, STORE)
    history = RevisionHistory()
    history.excluded = frozenset(rater for rater, standing in plan.standings.items() if standing.excluded)
    answer_check = AnswerCheck(plan, None)
    for number, (place, data) in enumerate(stored_lines(path) if path.is_file() else ()):
        try:
            head = {key: data.pop(key) for key in ("received", "current", "restored")}
            for key in ("choices", "texts"):
                data[key] = {name: tuple(values) for name, values in data[key].items()}
            revision = Revision(RaterAnswer(**data), number=number, **head)
            _check_stored(revision, plan, answer_check)
            history.add(revision)
        except (ValueError, KeyError, TypeError, AttributeError, InputError) as error:
            raise RunError("the store of answers is damaged", where=place, todo="restore it from a copy") from error
    told = [entry.get("revisions", 0) for entry in run.manifest["imports"] if entry.get("plan") == plan_hash(plan)]
    if len(history.revisions) < max(told, default=0):
        what = f"the store of answers has {len(history.revisions):,} of {max(told):,} lines"
        raise RunError(what, where=str(path), todo="restore it from a copy")
    return history


def _check_stored(revision: Revision, plan: AnnotationPlan, answer_check: AnswerCheck) -> None:
    answer = revision.answer
    texts = [answer.id, answer.created, answer.updated, answer.where, revision.received]
    texts += [] if answer.changed_by is None else [answer.changed_by]
    for fields in (answer.choices, answer.texts):
        texts += [text for values in fields.values() for text in values]
    if (
        answer.item not in plan.by_id
        or answer.rater not in plan.raters
        or answer.state not in ("submitted", "skipped")
        or not all(isinstance(text, str) for text in texts)
        or not isinstance(answer.seconds, int | float | None)
        or not isinstance(revision.current, bool)
        or not isinstance(revision.restored, int | None)
    ):
        raise ValueError("the line is not an answer")
    if answer.state == "submitted":
        answer_check.check(answer)


def keep_answers(
    run: Run, plan: AnnotationPlan, answers: Sequence[RaterAnswer], *, current: bool = False
) -> StoreSummary:
    """Put answers into the run's store and make ratings of all that counts; the run is held meanwhile.

    Putting the same answers in twice changes nothing. What a rater who withdrew said is left out, and what they made of
    others' answers; so is what was said of items that were removed.

    Args:
        run: the run.
        plan: the plan.
        answers: what raters said.
        current: whether a server holds them now; see :mod:`~bedside.annotation.answer_revisions`.

    Raises:
        InputError: a choice or field that the plan's rubrics don't have; nothing is kept then.
        RunError: another process holds the run, or it can't be written; nothing is half done then.
    """
    lost = plan.by_id.keys() - (now := current_plan(run, plan)).by_id.keys()
    number = len(answers)
    if lost:
        plan = _with_newcomers(now, plan_path(run, plan, "reassigned.json"))
        answers = [answer for answer in answers if answer.item not in lost]
    positions = coded_positions(plan, run)
    answer_check = AnswerCheck(plan, positions)
    handed_in = [answer for answer in answers if answer.state != "draft"]
    for answer in handed_in:
        if answer.state == "submitted":
            answer_check.check(answer)
    with run.locked():
        # Somebody may have withdrawn since the answers were asked for.
        now = current_plan(run, plan)
        names = {name for answer in answers for name in (answer.rater, answer.changed_by) if name is not None}
        gone = {name for name in names if known_rater(now, name) in now.withdrawn} if now.withdrawn else set()
        kept = [answer for answer in answers if gone.isdisjoint((answer.rater, answer.changed_by))]
        withdrawn, answers = number - len(kept), kept
        handed_in = [answer for answer in answers if answer.state != "draft"]
        history = read_store(run, plan)
        before = history.with_excluded()
        added = _added(history, handed_in, current)
        if added:
            _append(run, plan, list(map(_line, added)))
        new = {revision.key for revision in added} & (history.counting().keys() - before.keys())
        summary = _summary(run, plan, history, positions, before=before, new=len(new), revised=len(added) - len(new))
        run.note(f"{FOLDER}/{plan_hash(plan)}/reassigned.json")
    drafts = {(answer.item, answer.rater) for answer in answers if answer.state == "draft"}
    came = dict(sorted(Counter(rater for _, rater in new).items()))
    open_drafts = len(drafts - history.counting().keys())
    unchanged = len(handed_in) - len(added)
    return replace(summary, unchanged=unchanged, drafts=open_drafts, came=came, withdrawn=withdrawn)


def _summary(
    run: Run,
    plan: AnnotationPlan,
    history: RevisionHistory,
    positions: Mapping[str, Mapping[str, Sequence[int]]],
    *,
    before: Mapping[tuple[str, str], RaterAnswer],
    new: int,
    revised: int,
) -> StoreSummary:
    """Make ratings of what counts, where ``before`` did; what was done."""
    counting = history.answers()
    ratings = plan_ratings(run, plan, history.with_excluded(), positions)
    # Before anybody was excluded.
    was = plan.model_copy(update={"standings": {}})
    sources = _sources_of_round(run, plan, ratings, plan_ratings(run, was, before, positions))
    kept, whose = _kept(sources, ratings)
    own = pl.Series(whose == plan_hash(plan))
    rows = kept.filter(own)
    _put(run, plan, kept, rows)
    states = Counter(answer.state for answer in counting.values())
    return StoreSummary(
        new=new,
        revised=revised,
        unchanged=0,
        submitted=states["submitted"],
        skipped=states["skipped"],
        drafts=0,
        changed_by=times_changed(history.changed_by_others().values()),
        standing=_standing(ratings, whose, plan_hash(plan)),
        filled=kept.filter(~own, pl.col("error").is_null())
        .join(ratings.filter(pl.col("error").is_not_null()), on=KEY, how="semi")
        .height,
        ratings=rows.height,
        missing=rows["error"].len() - rows["error"].null_count(),
        unfinished=rows.filter(pl.col("error").str.contains_any([*OPEN]))
        .select("transcript_id", "unit", "rater", "replicate")
        .n_unique(),
        spelt={
            rater: person_name(person)
            for rater, person in plan_people(run, plan).items()
            if person_name(person) != rater and any(who == rater for _, who in counting)
        },
    )


def restore_answer(run: Run, plan: AnnotationPlan, number: int) -> StoreSummary:
    """Have a revision of an answer count again; the run is held meanwhile.

    It counts until its rater says something else.

    Args:
        run: the run.
        plan: the plan.
        number: of the revision, its place in the store from 0.

    Raises:
        InputError: there is no such revision, or it counts already.
        RunError: another process holds the run, or it can't be written; nothing is half done then.
    """
    positions = coded_positions(plan, run)
    with run.locked():
        history = read_store(run, plan)
        if not 0 <= number < len(history.revisions):
            raise InputError(
                f"there is no revision {number}",
                where=str(plan_folder(run, plan) / STORE),
                todo="bedside annotate revisions shows them",
            )
        revision = history.revisions[number]
        before = history.with_excluded()
        counting = history.counting().get(revision.key)
        if counting is not None and number in (counting.number, counting.restored):
            raise InputError(f"revision {number} counts already", where=revision.answer.where or "`number`")
        restored = replace(revision, received=_received(history), number=len(history.revisions), restored=number)
        history.add(restored)
        _append(run, plan, [_line(restored)])
        return _summary(run, plan, history, positions, before=before, new=0, revised=1)


def _added(history: RevisionHistory, answers: Sequence[RaterAnswer], current: bool) -> list[Revision]:
    """Put what isn't there yet at the end of the history; what was put there."""
    now = _received(history)
    added = []
    for answer in answers:
        if history.knows(answer, current):
            continue
        added.append(Revision(answer, now, len(history.revisions), current))
        history.add(added[-1])
    return added


def _received(history: RevisionHistory) -> str:
    """The time now, or of the last revision where the clock was set back."""
    return max([time_now().isoformat(timespec="microseconds"), *(last.received for last in history.revisions[-1:])])


def _line(revision: Revision) -> bytes:
    answer = {name: getattr(revision.answer, name) for name in revision.answer.__slots__}
    head = {"received": revision.received, "current": revision.current, "restored": revision.restored}
    return orjson.dumps({**head, **answer, "digest": _digest({**head, **answer})})


def _digest(said: Mapping[str, Any]) -> str:
    """The SHA-256 of what a line says beside it."""
    return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()


def lines_without(path: Path, rater: str = "", share: str = "", items: Collection[str] = ()) -> list[bytes]:
    """The lines of a store without what a rater said, what they made of others' answers, and what was said of items.

    Where somebody had such a change count, it stays, and goes by the share's name.

    Args:
        path: the store.
        rater: who withdrew.
        share: what is called after nobody since.
        items: what nobody is to have said anything of.

    Raises:
        RunError: the store can't be read.
    """
    lines = [line for _, line in stored_lines(path)] if path.is_file() else []
    restored = {line["restored"] for line in lines}
    kept: dict[int, bytes] = {}
    for number, line in enumerate(lines):
        changed = line["changed_by"] == rater
        if (
            line["item"] in items
            or line["rater"] == rater
            or (changed and line["restored"] is None and number not in restored)
        ):
            continue
        place = None if line["restored"] is None else list(kept).index(line["restored"])
        line |= {"restored": place, "changed_by": share if changed else line["changed_by"]}
        kept[number] = orjson.dumps({**line, "digest": _digest(line)})
    return list(kept.values())


def _append(run: Run, plan: AnnotationPlan, lines: Sequence[bytes]) -> None:
    folder = plan_folder(run, plan)
    with saying_where(folder):
        make_folder(folder)
    if not (folder / "plan.json").is_file():
        write_plan(plan, folder / "plan.json")
    path = folder / STORE
    before = path.read_bytes() if path.is_file() else b""
    with replacing(path) as temporary:
        temporary.write_bytes(before + b"".join(line + b"\n" for line in lines))


def _sources_of_round(
    run: Run, plan: AnnotationPlan, ratings: pl.DataFrame, before: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    """Who rated in the plan's round → the ratings of the plan's keys, those whose rating stands first.

    Ratings that no plan of the round gives were imported, or merged: where they are there, they were first. Plans have
    the place that their first answers had, or each whose answers are put in again would take the place of another's.

    Args:
        run: the run.
        plan: the plan.
        ratings: its ratings.
        before: those that it gave before.
    """
    name = plan_hash(plan)
    plans: dict[str, pl.DataFrame] = {}
    known = _plans_of_round(run, plan)
    for other_name, other in known.items():
        rows = ratings
        if other_name != name:
            answers = read_store(run, other).with_excluded()
            rows = plan_ratings(run, other, answers, coded_positions(other, run))
        plans[other_name] = with_chances_of_round(run, other, rows, known)
    plans.setdefault(name, with_chances_of_round(run, plan, ratings, known))
    stored = run.scan().join(ratings.lazy().select(KEY), on=KEY, how="semi").collect()
    told = pl.concat([before, *plans.values()]).select(*KEY, _SAID)
    imported = stored.filter(pl.col("error").is_null()).with_columns(_SAID).join(
        told, on=[*KEY, "said"], how="anti", nulls_equal=True
    ).drop("said")  # fmt: skip
    files = [
        Path(entry["file"]).name
        for entry in run.manifest["imports"]
        if "plan" not in entry and round_of(plan) in entry.get("rounds", ())
    ]
    return {" or ".join(dict.fromkeys(files)) or "another run": imported, **plans}


def _plans_of_round(run: Run, plan: AnnotationPlan) -> dict[str, AnnotationPlan]:
    """The plans of a plan's round whose answers are in the run, by their hashes, in the order they came."""
    return {
        name: plan if name == plan_hash(plan) else other
        for name, other in answered_plans(run, {round_of(plan)}).items()
    }


def answered_plans(run: Run, rounds: Collection[str], *, every: bool = False) -> dict[str, AnnotationPlan]:
    """The plans of rounds whose answers are in the run, by their hashes, in the order they came; with ``every`` those
    of runs that were merged into it, and those whose answers came in sheets, too."""
    plans = {}
    for entry in run.manifest["imports"]:
        name = entry.get("plan") or (entry.get("sample") if every else None)
        file = run.file(f"{FOLDER}/{name or ''}/{PLAN}")
        if name is not None and not set(rounds).isdisjoint(entry["rounds"]) and file.is_file():
            plans[name] = _with_newcomers(read_plan(file, None if every else run), file.with_name("reassigned.json"))
    return plans


def _with_newcomers(plan: AnnotationPlan, file: Path) -> AnnotationPlan:
    """The plan with the raters who came since it was drawn, and what was decided about any."""
    if not file.is_file():
        return plan
    said = read_sealed(file, "file of who rates what now", {"raters": [TEXT]})
    raters = tuple(dict.fromkeys((*plan.raters, *said["raters"])))
    standings = {name: RaterStanding(**standing) for name, standing in said.get("standings", {}).items()}
    return plan.model_copy(update={"raters": raters, "standings": standings})


def raters_in(run: Run) -> set[str]:
    """The raters of all plans that the run holds, as they are now."""
    files = (run.path / FOLDER).glob(f"*/{PLAN}")
    plans = (_with_newcomers(read_plan(file), file.with_name("reassigned.json")) for file in files)
    return {rater for plan in plans for rater in plan.raters}


def rated_keys(run: Run, rounds: Collection[str]) -> pl.DataFrame:
    """The keys of the ratings that answers to plans of some rounds give."""
    tables = [
        plan_ratings(run, plan, read_store(run, plan).with_excluded(), coded_positions(plan, run))
        for plan in answered_plans(run, rounds).values()
    ]
    rated = pl.concat(tables) if tables else pl.DataFrame(schema=SCHEMA)
    return rated.filter(pl.col("error").is_null()).select(KEY)


def with_chances_of_round(
    run: Run, plan: AnnotationPlan, rows: pl.DataFrame, known: Mapping[str, AnnotationPlan] | None = None
) -> pl.DataFrame:
    """The ratings, without chances where other plans of the round drew, too: the chance of any of them isn't known.

    What was adjudicated, or picked for what it is, was drawn by no plan, and leaves the chances of its units.
    ``known`` are the plans of the round, where they have been read.
    """
    names = [
        entry.get("plan") or entry.get("sample")
        for entry in run.manifest["imports"]
        if entry.get("mode") != "adjudicate" and round_of(plan) in entry["rounds"]
    ]
    known = _plans_of_round(run, plan) if known is None else known
    others = [
        name
        for name in names
        if name not in (None, plan_hash(plan))
        and (name not in known or any(item.chance != 0 for item in known[name].items))
    ]
    return rows.with_columns(pl.when(pl.col("drawn") == 0).then("drawn")) if others else rows


def _kept(sources: Mapping[str, pl.DataFrame], ratings: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Of each key of ``ratings`` the rating that stands, and whose it is: the first one there is, or the first lack."""
    ranked = pl.concat(
        [
            rows.with_columns(pl.lit(name).alias("source"), pl.lit(place).alias("place"))
            for place, (name, rows) in enumerate(sources.items())
        ]
    )
    first = ranked.sort(pl.col("error").is_not_null(), "place").unique(KEY, keep="first")
    kept = ratings.select(KEY).join(first, on=KEY, how="left", maintain_order="left", nulls_equal=True)
    return kept.select(ratings.columns), kept["source"]


def _standing(ratings: pl.DataFrame, whose: pl.Series, name: str) -> dict[str, int]:
    """Who else → in place of how many of a plan's ratings theirs stand."""
    return dict(Counter(whose.filter(ratings["error"].is_null() & (whose != name)).sort()))


def _put(run: Run, plan: AnnotationPlan, kept: pl.DataFrame, rows: pl.DataFrame) -> None:
    """Add what stands of the round, of which ``rows`` are the plan's, to the run where it isn't there yet."""
    if kept.is_empty():
        return
    stored = run.scan().join(kept.lazy().select(KEY), on=KEY, how="semi").collect()
    known = any(entry.get("plan") == plan_hash(plan) for entry in run.manifest["imports"])
    if known and stored.sort(KEY).equals(kept.sort(KEY)):
        return
    store = plan_folder(run, plan) / STORE
    shown = sorted({kind for planned in plan.rubrics for kind in planned.rubric.shows})
    entry = {
        "file": str(store.relative_to(run.path)),
        "sha256": file_digest(store),
        "revisions": store.read_bytes().count(b"\n"),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "ratings": rows.height,
        "empty": rows["error"].len() - rows["error"].null_count(),
        "metrics": dict(rows.group_by("metric", maintain_order=True).len().iter_rows()),
        "scales": {metric: scale.to_json() for metric, scale in plan_scales(plan).items()},
        "plan": plan_hash(plan),
        "rounds": [round_of(plan)],
        "by": list(plan.by),
        "plan_format": plan.format,
        "mode": plan.mode,
        "rubrics": {planned.rubric.name: planned.version for planned in (*plan.rubrics, *plan.wholes)},
        **({"shows": shown} if shown else {}),
    }
    # A plan keeps its place: of plans of one round, the first one's ratings stand.
    imports = [entry if each.get("plan") == entry["plan"] else each for each in run.manifest["imports"]]
    manifest = {**run.manifest, "imports": imports if entry in imports else [*imports, entry]}
    several = [planned.rubric for planned in (*plan.rubrics, *plan.wholes)]
    several = [rubric for rubric in several if rubric.measures or rubric.points]
    if several:
        # What their ratings are called, and which way is better; a judge's own wording stands.
        manifest["rubrics"] = {**{rubric.key: as_data(rubric) for rubric in several}, **manifest.get("rubrics", {})}
    run.add(kept.lazy(), manifest)
