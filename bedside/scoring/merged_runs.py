"""Several runs merged into a new one: transcripts and ratings each once, and all that is known of both.

What is not taken over is said: what a judge was probed with is about a sample of one run's transcripts, and tables and
reports are made anew.
"""

from __future__ import annotations

import os
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from bedside.core.errors import BedsideError, InputError, RunError
from bedside.core.files import file_digest
from bedside.core.words import typed
from bedside.judges.counts import JudgingSummary
from bedside.judges.llm.protocol import NotAskedError, Reply, Request
from bedside.judges.store import seal_rows
from bedside.judges.store_merge import Merged, first_asked_about, merge_store
from bedside.metrics import FAMILIES
from bedside.ratings.juries import JURIES_KEY, with_juries
from bedside.ratings.learnt_units import LEARNED_RATERS, LEARNT, learnt_in, with_learnt
from bedside.ratings.merged_tables import (
    MergeSource,
    merged_ratings,
    people_rounds,
    shared_transcripts,
    write_merged_transcripts,
    write_parts,
)
from bedside.ratings.names import is_human, rated_by_algorithms
from bedside.ratings.rubric_metrics import preference_metric
from bedside.ratings.run import (
    FORMAT,
    PARTS_FILE,
    PARTS_KEY,
    RATINGS_FILE,
    REMOVED_KEY,
    SIMULATIONS,
    Run,
    merge_simulations,
    new_run,
    write_new_run,
)
from bedside.ratings.run_folder import MANIFEST, is_run
from bedside.ratings.scales import Scale
from bedside.ratings.table import TRANSCRIPT_FOLDER, missing_counts
from bedside.scoring.judging_orders import STORE, JudgingOrder, RecordedJudging, recorded_judgings
from bedside.scoring.run_judging import FinishedJudging, JudgingWatch, judging
from bedside.scoring.run_transcripts import TranscriptSource, kept_transcripts
from bedside.transcripts.simulation_folder import simulation_manifest

# -- Ratings made of the judgements that a run's store holds --------------------------------------------

#: Why a rating is missing whose judgement is not in the store.
NOT_JUDGED = "not judged yet"


class StoreOnlyClient:
    """Asks nobody: there is what the store holds. A :class:`bedside.judges.llm.protocol.Client`."""

    max_prompt_tokens: int | None = None

    async def complete(self, request: Request) -> Reply:
        """Nothing.

        Raises:
            NotAskedError: always.
        """
        raise NotAskedError(NOT_JUDGED)

    async def close(self) -> None:
        """Nothing: no connection was opened."""


def rated_from_store(
    run: Run, transcripts: TranscriptSource, order: JudgingOrder, progress: JudgingWatch | None = None
) -> AbstractContextManager[FinishedJudging]:
    """The ratings of what the run's store holds; what it doesn't is missing because of :data:`NOT_JUDGED`."""
    settings = replace(order.settings, max_calls=None, max_cost=None)
    return judging(run, transcripts, replace(order, settings=settings), client=StoreOnlyClient, progress=progress)


# -- Judgements of other runs and stores ----------------------------------------------------------------

#: How judges were to be asked, as the manifest tells it; ratings of different ones are not mixed.
JUDGE_SETTINGS = (
    "temperature", "probabilities", "seed", "reasoning_effort", "order", "items_per_call", "turns_per_call", "context",
    "passes", "max_prompt_tokens",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MergedSource:
    """What one of the merged stores held.

    Attributes:
        path: the run or store, as it was named.
        merged: counts of its judgements.
        of_other_transcripts: those about transcripts that the run doesn't have.
    """

    path: Path
    merged: Merged
    of_other_transcripts: int


@dataclass(frozen=True, slots=True)
class MergedRun:
    """What merging judgements into a run did.

    Attributes:
        sources: what each store held.
        judged: what the ratings of each judge came to.
        left_out: judges, with the rubrics whose ratings were not made, and why.
    """

    sources: tuple[MergedSource, ...]
    judged: tuple[JudgingSummary, ...]
    left_out: tuple[str, ...]


def merge_judgements(run: Run, sources: Sequence[Path], *, progress: JudgingWatch | None = None) -> MergedRun:
    """Take over judgements of other runs or stores, and make the run's ratings of all that is there then.

    What two of them hold is there once; where they differ, the judgement that was asked first is kept. What is rated is
    what this run's judges were asked, and what those of the other runs were asked that this run's were not. Stopped at
    any moment, the same call does what is left.

    Args:
        run: the run.
        sources: folders of runs, or files of stores.
        progress: called with the judge and how far it is.

    Raises:
        RunError: a source is none, or can't be used.
        InputError: it is the run's own.
    """
    stores = [_store_and_run(run, path) for path in sources]
    text, transcripts = run.keeps_text, set(run.index["id"])
    with run.locked():
        merged = []
        for path, (store, _) in zip(sources, stores, strict=True):
            others = sum(count for name, count in first_asked_about(store).items() if name not in transcripts)
            merged.append(MergedSource(path, merge_store(run.path / STORE, store, text=text), others))
        orders = _MergedOrders()
        for source in (run, *(other for _, other in stores if other is not None)):
            orders.add(source)
        summaries = []
        for order, batch in orders.orders:
            with rated_from_store(run, kept_transcripts(run), order, progress) as finished:
                finished.add(run, batch=batch)
            summaries.append(finished.summary)
    return MergedRun(tuple(merged), tuple(summaries), tuple(orders.left_out))


def _store_and_run(run: Run, path: Path) -> tuple[Path, Run | None]:
    """A store, and the run that it is of."""
    other = Run(path) if path.is_dir() else None
    store = path if other is None else path / STORE
    own = run.path / STORE
    if store.exists() and own.exists() and store.samefile(own):
        raise InputError("that is the run's own store", where=str(path), todo="name others")
    if not store.is_file():
        raise InputError("nothing was judged there", where=str(path), todo="name a judged run, or a store")
    return store, other


def judge_settings(recorded: RecordedJudging) -> dict[str, Any]:
    """How a judge was asked, as far as its ratings depend on it."""
    wanted = {**recorded.judge, **recorded.judge["wanted"]}
    return {name: wanted.get(name) for name in JUDGE_SETTINGS}


class _MergedOrders:
    """What judges were asked in a run, and what they were asked in others only.

    Attributes:
        orders: each with whether it was asked by batch files.
        left_out: judges, with the rubrics whose ratings can't be made, and why.
    """

    def __init__(self) -> None:
        self.orders: list[tuple[JudgingOrder, bool]] = []
        self.left_out: list[str] = []
        #: Version and settings by rater and rubric, as the first run has them that asked.
        self._asked: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {}
        self._first = True

    def add(self, run: Run) -> None:
        """Add what judges were asked in a run: of the first all, of the others what none before them asked."""
        for recorded in recorded_judgings(run):
            settings = judge_settings(recorded)
            asked = {(recorded.rater, rubric): (version, settings) for rubric, version in recorded.prompts.items()}
            listed = f"{recorded.rater} by {', '.join(recorded.prompts)}"
            if not self._first:
                if all(self._asked.get(key) == how for key, how in asked.items()):
                    continue
                if any(self._asked.get(key, how) != how for key, how in asked.items()):
                    self.left_out.append(f"{listed}, asked in {run.path} in another way")
                    continue
            order = recorded.order(run)
            if order is None:
                self.left_out.append(f"{listed}, whose wording is another since")
                continue
            self.orders.append((order, recorded.batch))
            self._asked.update(asked)
        if not self._first:
            self._add_preferences(run)
        self._first = False

    def _add_preferences(self, run: Run) -> None:
        """What judges preferred needs the pairs named again; what they said of them is in the store."""
        compared = {
            (entry["rater"], preference_metric(rubric))
            for entry in run.manifest.get("preferences", [])
            for rubric in entry["prompts"]
        }
        self.left_out += [
            f"{rater} by {metric}: bedside judge pairs makes them of what is kept now"
            for rater, metric in sorted(compared)
        ]


# -- The manifests of several runs as that of one -------------------------------------------------------
# A name stands for one thing in a run: a metric for one computation, a rubric for one wording, and a suite, a jury
# and a scale likewise. Where runs mean different things by a name, they are no parts of one.

#: What two entries of scorings have in common that are one scoring of the transcripts of two runs.
_SAME_SCORING = ("suite", "own_suite", "metrics", "parameters", "seed", "labels", "bedside", "python", "libraries")
#: The manifest's objects whose keys are names.
_NAMED = {"rubrics": "rubric", JURIES_KEY: "jury", LEARNED_RATERS: "learned rater"}


def check_same_meaning(sources: Sequence[MergeSource]) -> None:
    """See that every name stands for the same thing in all runs.

    Raises:
        RunError: text is kept in some of them only, or a suite, metric, rubric, judge, jury or scale differs.
    """
    first = sources[0]
    for source in sources[1:]:
        if source.run.keeps_text != first.run.keeps_text:
            names = (first.name, source.name)
            kept, without = names if first.run.keeps_text else reversed(names)
            raise RunError(
                f"{kept} keeps what was said and {without} doesn't",
                todo="score one of them again: bedside score FILES, with --no-text or without it",
            )
    for what, todo, facts_of in _CHECKS:
        seen: dict[Any, tuple[str, Any]] = {}
        for source in sources:
            for key, fact in facts_of(source).items():
                name, before = seen.setdefault(key, (source.name, fact))
                if not _agree(before, fact):
                    raise RunError(
                        f"{name} and {source.name} have different {what} of {_shown(key)}{_both(before, fact)}",
                        todo=todo,
                    )


def _agree(before: Any, fact: Any) -> bool:
    """Whether two runs mean the same; of sets, whether one holds the other, as a run may have more raters."""
    if isinstance(before, frozenset):
        return bool(before <= fact or fact <= before)
    return bool(before == fact)


def _shown(key: Any) -> str:
    return " by ".join(key) if isinstance(key, tuple) else str(key)


def _both(before: Any, fact: Any) -> str:
    """The two, where they can be read in a line."""
    if isinstance(before, frozenset):
        texts = [", ".join(sorted(map(str, one - other))) for one, other in ((before, fact), (fact, before))]
    elif isinstance(before, Mapping):
        names = [name for name in {**before, **fact} if before.get(name) != fact.get(name)]
        texts = [", ".join(f"{name} {one.get(name)}" for name in names) for one in (before, fact)]
    else:
        texts = [str(before), str(fact)]
    return f": {texts[0]}, and {texts[1]}" if max(map(len, texts)) <= 120 else ""


def _scales(source: MergeSource) -> dict[str, str]:
    return {
        metric: ", ".join(Scale.from_json(levels).level_texts())
        for entry in source.manifest["imports"]
        for metric, levels in entry["scales"].items()
    }


def _suites(source: MergeSource) -> dict[str, bytes]:
    return {
        entry["suite"]: orjson.dumps(entry.get("own_suite"), option=orjson.OPT_SORT_KEYS)
        for entry in source.manifest["scorings"]
        if entry.get("suite") is not None
    }


def _algorithms(source: MergeSource) -> dict[str, frozenset[str]]:
    rated = source.run.scan().filter(rated_by_algorithms()).select("metric", "rater").unique().collect()
    raters: dict[str, set[str]] = defaultdict(set)
    for metric, rater in rated.iter_rows():
        raters[metric].add(rater)
    return {metric: frozenset(names) for metric, names in raters.items()}


def _parameters(source: MergeSource) -> dict[str, dict[str, Any]]:
    """All parameters of each family of which something was scored, be it from judges' or people's labels."""
    families = {}
    scored: set[str] = set()
    for entry in source.manifest["scorings"]:
        scored |= set(entry["metrics"])
        for name, given in entry["parameters"].items():
            families[name] = given
    settings = {}
    for name, family in FAMILIES.all().items():
        if scored.isdisjoint(metric.name for metric in family.metrics):
            continue
        try:
            settings[name] = family.settings(families.get(name, {}))
        except BedsideError:  # of another version of bedside, whose raters are called otherwise
            settings[name] = dict(families.get(name, {}))
    return settings


def _judges(source: MergeSource) -> dict[tuple[str, str], dict[str, Any]]:
    """How each judge was asked by each rubric; the seed draws the order of what is asked, and may differ."""
    asked = {}
    for recorded in recorded_judgings(source.run):
        settings = {name: value for name, value in judge_settings(recorded).items() if name != "seed"}
        for rubric, version in recorded.prompts.items():
            asked[recorded.rater, rubric] = {"version": version, **settings}
    return asked


def _wordings(source: MergeSource) -> dict[str, frozenset[str]]:
    """The versions of each rubric by which judges or people rated; a tuned one is another rater's."""
    versions: dict[str, set[str]] = defaultdict(set)
    tuned = set(source.manifest.get("rubrics") or ())
    by_judges = [recorded.prompts for recorded in recorded_judgings(source.run)]
    compared = [entry["prompts"] for entry in source.manifest.get("preferences", ())]
    by_people = [entry["rubrics"] for entry in source.manifest["imports"] if "rubrics" in entry]
    for prompts in (*by_judges, *compared, *by_people):
        for rubric, version in prompts.items():
            if f"{rubric}@{version}" not in tuned:
                versions[rubric].add(version)
    return {rubric: frozenset(several) for rubric, several in versions.items()}


def _named(kind: str) -> Callable[[MergeSource], dict[str, bytes]]:
    def named(source: MergeSource) -> dict[str, bytes]:
        return {
            name: orjson.dumps(entry, option=orjson.OPT_SORT_KEYS)
            for name, entry in (source.manifest.get(kind) or {}).items()
        }

    return named


#: What is compared under which name, what to do where it differs, and where it stands.
_CHECKS: tuple[tuple[str, str, Callable[[MergeSource], Mapping[Any, Any]]], ...] = (
    ("versions", "score one of them again, in this version and with the parameters of the other", _algorithms),
    ("parameters", "score one of them again with the parameters of the other", _parameters),
    ("wordings", "rate one of them again by the wording of the other", _wordings),
    ("settings", "ask the judge again in one of them, as in the other", _judges),
    ("scales", "import the ratings of one of them again, on the scale of the other", _scales),
    ("wordings", "score one of them again by the suite of the other", _suites),
    *(("wordings", f"rename one {what}", _named(kind)) for kind, what in _NAMED.items()),
)  # fmt: skip


def merged_manifest(
    sources: Sequence[MergeSource], ratings: pl.LazyFrame, counts: tuple[int, int], parts: list[dict[str, Any]]
) -> dict[str, Any]:
    """The manifest of a merged run.

    Args:
        sources: the runs, as :func:`check_same_meaning` leaves them.
        ratings: all ratings of the merged run but juries'.
        counts: transcripts and turns.
        parts: what it says of the runs.
    """
    manifests = [source.manifest for source in sources]
    read = [manifest["transcripts"] for manifest in manifests]
    manifest: dict[str, Any] = {
        "format": FORMAT.version,
        "transcripts": {
            "count": counts[0],
            "turns": counts[1],
            "text": read[0]["text"],
            "inputs": _once(entry for reading in read for entry in reading["inputs"]),
            "ignored": _once(path for reading in read for path in reading.get("ignored", ())),
            "skipped": _once(reason for reading in read for reason in reading["skipped"]),
            "options": _options(read),
        },
        "scorings": _scorings(manifests, ratings),
        "imports": _imports(sources),
        PARTS_KEY: parts,
    }
    removed = _once(entry for own in manifests for entry in own.get(REMOVED_KEY) or ())
    if removed:
        manifest[REMOVED_KEY] = removed
    preferences = _once(entry for own in manifests for entry in own.get("preferences") or ())
    if preferences:
        manifest["preferences"] = preferences
    for kind in _NAMED:
        named = {name: entry for own in manifests for name, entry in (own.get(kind) or {}).items()}
        if named:
            manifest[kind] = named
    for own in manifests:
        for learnt in learnt_in({LEARNT: own.get(LEARNT) or []}):
            manifest = with_learnt(manifest, learnt)
    return manifest


def _imports(sources: Sequence[MergeSource]) -> list[dict[str, Any]]:
    """What was imported; files of one name that hold something else in each run are told apart by the run's."""
    digests: dict[str, set[Any]] = defaultdict(set)
    for source in sources:
        for entry in source.manifest["imports"]:
            digests[entry["file"]].add(source.name if "plan" in entry else entry.get("sha256"))
    return _once(
        {**entry, "file": str(Path(source.name) / Path(entry["file"]).name)}
        if len(digests[entry["file"]]) > 1 and "plan" not in entry
        else entry
        for source in sources
        for entry in source.manifest["imports"]
    )


def _options(read: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How the files were read, where all runs read them alike.

    Else none can say how to read all of them again: a run without text then tells so, as it does without names. A
    factor is of the kind that any run declares; one that is an outcome anywhere is no condition.
    """
    outcomes = _once(name for one in read for name in one["options"].get("outcomes", ()))
    conditions = _once(name for one in read for name in one["options"].get("conditions", ()))
    kinds = {"conditions": [name for name in conditions if name not in outcomes], "outcomes": outcomes}
    options = [{**one["options"], **kinds} for one in read]
    if all(own == options[0] for own in options):
        return options[0]
    return {"roles": None, **kinds}


def _scorings(manifests: Sequence[Mapping[str, Any]], ratings: pl.LazyFrame) -> list[dict[str, Any]]:
    """What was scored; the same scoring of several runs' transcripts is one, with the counts of all of them."""
    groups: dict[bytes, list[tuple[int, dict[str, Any]]]] = {}
    for place, manifest in enumerate(manifests):
        for number, entry in enumerate(manifest["scorings"]):
            groups.setdefault(_scoring_key(entry, (place, number)), []).append((place, entry))
    scorings = []
    for entries in groups.values():
        entry = dict(entries[-1][1])
        if len({place for place, _ in entries}) > 1:
            entry["raters"] = _once(rater for _, one in entries for rater in one["raters"])
            # A metric that is kept for a role is rated as smog.clinician and the like.
            plain = pl.col("metric").str.split(".").list.first()
            scored = pl.col("metric").is_in(entry["metrics"]) | plain.is_in(entry["metrics"])
            own = ratings.filter(scored, pl.col("rater").is_in(entry["raters"]))
            entry["ratings"] = int(own.select(pl.len()).collect(engine="streaming").item())
            entry["missing"] = missing_counts(own)
            entry.pop("read", None)
        scorings.append(entry)
    return scorings


def _scoring_key(entry: Mapping[str, Any], place: tuple[int, int]) -> bytes:
    """What is the same in two entries that are one scoring; what judges did is told run by run."""
    raters = sorted(rater for rater in entry["raters"] if not is_human(rater))
    own = place if entry.get("judges") else None
    return orjson.dumps([raters, own, *(entry.get(name) for name in _SAME_SCORING)], option=orjson.OPT_SORT_KEYS)


def _once(entries: Iterator[Any]) -> list[Any]:
    """Entries in order, equal ones once."""
    return list({orjson.dumps(entry, option=orjson.OPT_SORT_KEYS): entry for entry in entries}.values())


# -- Several runs merged into a new one -----------------------------------------------------------------

#: What is taken over, or made anew, of a run's folder; names that begin with a dot are not its content.
TAKEN = frozenset({MANIFEST, RATINGS_FILE, TRANSCRIPT_FOLDER, PARTS_FILE, SIMULATIONS, STORE})
#: What a store in use has beside it.
_STORE_JOURNALS = (f"{STORE}-wal", f"{STORE}-shm", f"{STORE}-journal")


@dataclass(frozen=True, slots=True)
class RunMerge:
    """What merging runs did.

    Attributes:
        shared: transcripts that were in several runs.
        repeated: ratings that were in several runs, with the same value.
        filled: ratings that were missing in one run and are taken from another.
        people: raters who rated in several runs, and count as the same people.
        cases: cases that transcripts of several runs are of, and that count as the same.
        unnamed: runs whose transcripts name no system, where there are several such runs.
    """

    shared: int
    repeated: int
    filled: int
    people: tuple[str, ...]
    cases: int
    unnamed: tuple[str, ...]


def merge_sources(runs: Sequence[Path], systems: Sequence[str] | None) -> list[MergeSource]:
    """The runs that are to be merged.

    Args:
        runs: their folders.
        systems: a system for each of them, or None.

    Raises:
        RunError: a folder is no run, or what is asked of it can't be done.
        InputError: there are fewer than two, one is named twice, or there is no system for each.
    """
    if len(runs) < 2:
        raise InputError("fewer than two runs are named", where="`runs`", todo="name all that are to be merged")
    simulated = [path for path in runs if simulation_manifest(path) is not None]
    if simulated:
        raise RunError(
            "the folder is a simulation, and simulations can't be merged",
            where=str(simulated[0]),
            todo=f"score them together: bedside score {' '.join(map(typed, simulated))} --out run",
        )
    opened = [Run(path) for path in runs]
    for place, run in enumerate(opened):
        for earlier in opened[:place]:
            if os.path.samefile(run.path, earlier.path):
                raise InputError("the run is named twice", where=str(run.path), todo="name each once")
    if systems is None:
        return [MergeSource(run) for run in opened]
    if len(systems) != len(opened) or len(set(systems)) != len(systems):
        raise InputError(
            f"{len(opened)} runs need as many different systems, and {', '.join(systems) or 'none'} are named",
            where="`systems`",
            todo="name one for each run, in the order of the runs",
        )
    return [MergeSource(run, system) for run, system in zip(opened, systems, strict=True)]


@contextmanager
def merging(sources: Sequence[MergeSource], out: Path) -> Iterator[tuple[Path, RunMerge]]:
    """Merge runs into a new one, which is there when the block ends well, and not at all where it doesn't.

    The runs are held meanwhile, where they can be written, and stay as they are.

    Yields:
        The folder that becomes the run, and what was done.

    Raises:
        RunError: the runs don't fit together, another process holds one, or ``out`` is there already.
    """
    if is_run(out):
        raise RunError("there is a run already", where=str(out), todo="choose a new folder with `out`")
    with ExitStack() as held:
        for source in sources:
            if os.access(source.run.path, os.W_OK):
                held.enter_context(source.run.hold())
        check_same_meaning(sources)
        shared = shared_transcripts(sources)
        ratings = merged_ratings(sources, shared)
        with new_run(out) as folder:
            counts = write_merged_transcripts(folder, sources, shared)
            write_parts(folder, sources)
            entries = [
                entry
                for source in sources
                for entry in source.part_entries(people_rounds(source), file_digest(source.run.file(RATINGS_FILE)))
            ]
            manifest = merged_manifest(sources, ratings.table, counts, entries)
            merge_simulations(folder, ((source.run.path, source.renamed) for source in sources))
            for source in sources:
                _merge_judgements(folder / STORE, source)
            write_new_run(folder, with_juries(ratings.table, manifest), manifest)
            yield folder, _summary(sources, shared, ratings.repeated, ratings.filled)
            noted = (name for source in sources for name, digest in source.run.manifest["files"].items() if not digest)
            Run(folder).note(*noted)


def _merge_judgements(store: Path, source: MergeSource) -> None:
    """Add what a run's judges were asked and replied to the merged run's store."""
    own = source.run.path / STORE
    if not own.is_file():
        return
    if source.system is None:
        merge_store(store, own, text=source.run.keeps_text)
        return
    apart = store.with_name(f".renamed-{STORE}")
    merge_store(apart, own)
    with closing(sqlite3.connect(apart)) as connection:
        connection.create_function("renamed", 1, source.renamed, deterministic=True)
        connection.create_function("renamed_unit", 1, source.renamed_unit, deterministic=True)
        with connection:
            connection.execute("UPDATE judgements SET transcript = renamed(transcript), unit = renamed_unit(unit)")
            seal_rows(connection, all_of_them=True)
    merge_store(store, apart)
    for path in store.parent.glob(f"{apart.name}*"):
        path.unlink()


def _summary(sources: Sequence[MergeSource], shared: pl.DataFrame, repeated: int, filled: int) -> RunMerge:
    people = _in_several(
        [rater for rater in source.run.scan().select(pl.col("rater").unique()).collect()["rater"] if is_human(rater)]
        for source in sources
    )
    new = [source.index.filter(~pl.col("id").is_in(shared["transcript_id"].implode())) for source in sources]
    cases = _in_several(table["case_id"].drop_nulls().unique() for table in new)
    unnamed = [source.name for source, table in zip(sources, new, strict=True) if table["system"].null_count()]
    return RunMerge(
        shared=shared.height,
        repeated=repeated,
        filled=filled,
        people=tuple(sorted(people)),
        cases=len(cases),
        unnamed=tuple(unnamed) if len(unnamed) > 1 else (),
    )


def _in_several(lists: Iterator[Sequence[str] | pl.Series]) -> set[str]:
    """What is in more than one of several lists."""
    seen: set[str] = set()
    several: set[str] = set()
    for names in lists:
        several |= seen.intersection(names)
        seen.update(names)
    return several


def not_taken(source: MergeSource, also_taken: Callable[[str], bool]) -> list[str]:
    """What of a run's folder is not in the merged run, by name.

    Args:
        source: the run.
        also_taken: whether a name is one that was taken over besides.
    """
    return sorted(
        path.name
        for path in source.run.path.iterdir()
        if path.name not in TAKEN
        and path.name not in _STORE_JOURNALS
        and not path.name.startswith(".")
        and not also_taken(path.name)
    )
