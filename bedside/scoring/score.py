"""Scoring: transcripts go in, metrics rate them, a run comes out."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import bedside
from bedside.metrics import FAMILIES, Family, Metric
from bedside.ratings.run import (
    FORMAT,
    Run,
    missing_counts,
    new_run,
    rating_writer,
    transcript_row,
    transcript_writer,
    wordless,
    write_new_run,
)
from bedside.suites import SUITES, Suite
from bedside.support.errors import InputError, RegistryError, RunError
from bedside.support.registry import nearest
from bedside.transcripts import Reading, ReadOptions, Transcript

if TYPE_CHECKING:
    from bedside.engines.contract import Engine

#: Libraries whose version can change a number, for the manifest.
_LIBRARIES = (
    "numpy", "polars", "orjson", "pyphen", "scipy", "scikit-learn", "statsmodels", "torch", "transformers",
    "onnxruntime", "convokit", "spacy", "vaderSentiment",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScoringPlan:
    """What is to be computed: families with the metrics wanted of each and their parameters."""

    families: tuple[tuple[Family, frozenset[str], dict[str, Any]], ...]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, in order."""
        return tuple(m for family, wanted, _ in self.families for m in family.metrics if m.name in wanted)


def metric_names() -> dict[str, str]:
    """Every metric's family, by the metric's name."""
    return {metric.name: family.name for family in FAMILIES.all().values() for metric in family.metrics}


def make_plan(names: Iterable[str], parameters: Mapping[str, Mapping[str, Any]] | None = None) -> ScoringPlan:
    """The plan for families and metrics named in ``names``.

    Raises:
        RegistryError: a name or parameter is unknown; the nearest are given.
    """
    families = FAMILIES.names()
    wanted: dict[str, set[str]] = {}
    owners: dict[str, str] | None = None
    for name in names:
        if name in families:
            wanted.setdefault(name, set()).update(m.name for m in FAMILIES.load(name).metrics)
            continue
        if owners is None:
            owners = metric_names()
        if name not in owners:
            raise RegistryError(
                f"no metric or family is called {name!r}", todo=nearest(name, [*owners, *families])
            )
        wanted.setdefault(owners[name], set()).add(name)
    given = dict(parameters or {})
    for name in given:
        if name not in wanted:
            raise RegistryError(
                f"parameters are given for {name!r}, which is not scored", todo=nearest(name, wanted)
            )
    return ScoringPlan(
        tuple(
            (FAMILIES.load(name), frozenset(metrics), FAMILIES.load(name).settings(given.get(name)))
            for name, metrics in wanted.items()
        )
    )


@dataclass(frozen=True, slots=True)
class ScoringSummary:
    """What a scoring did.

    Attributes:
        run: the run.
        transcripts, turns, ratings, missing: counts of this scoring.
        replaced: ratings of the same key that were there before.
        skipped: what was left out, and why.
        ignored: number of files in searched folders that no reader is for.
        resumed: parts that an interrupted call had scored before.
    """

    run: Run
    transcripts: int
    turns: int
    ratings: int
    missing: int
    replaced: int
    skipped: tuple[str, ...]
    ignored: int
    resumed: int = 0


def rate(
    transcript: Transcript, plan: ScoringPlan, waiting: Collection[str] = ()
) -> Iterable[tuple[Any, ...]]:
    """The ratings of one transcript as rows of the ratings table; ``waiting`` as for :func:`score`."""
    name, system, case = transcript.id, transcript.system, transcript.case_id
    for family, wanted, settings in plan.families:
        own = family.rater(settings)
        for metric, value, label, role, turn, rater, reason, error in family.compute(
            transcript, wanted, **settings
        ):
            if error is None or rater is not None or metric not in waiting:
                unit = "transcript" if turn is None else f"turn:{turn}"
                title = metric if role is None else f"{metric}.{role}"
                yield name, system, case, unit, title, rater or own, 0, value, label, reason, error


def score(
    paths: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    suite: str | Suite = "default",
    metrics: Iterable[str] | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    options: ReadOptions | None = None,
    labels: str | os.PathLike[str] | None = None,
    waiting: Collection[str] = (),
    text: bool = True,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ScoringSummary:
    """Score transcripts into a run.

    Args:
        paths: files, folders and patterns.
        out: the run's folder: new, or an existing run of the same transcripts, which is added to.
        suite: a suite's name, the path of a suite file, or a suite.
        metrics: families and metrics in place of the suite's.
        parameters: parameters of families, over the suite's.
        options: how to read the files.
        labels: file of labels that a protocol's metrics are computed from (matches, findings, turns' features), in
            place of a judge's; labelled transcripts make a run of their own.
        waiting: metrics that follow from a judge's answers later: what no labels are there for is not rated as missing.
        text: whether the run keeps the transcripts' text; without it, ids, factors and hashes are kept.
        seed: kept in the manifest, for metrics that draw at random.
        engine: whose workers share the work (:func:`bedside.engines.contract.open_engine`); the run is the same. What is done is
            kept beside the run's folder until all is, so that the same call goes on after a stop.
        progress: called with the number of transcripts and of files done.

    Raises:
        BedsideError: a bad file, an unknown name, or a folder that can't be written or holds another run. Nothing
            is written then.
    """
    chosen = suite if isinstance(suite, Suite) else SUITES.find(suite)
    names = tuple(metrics) if metrics is not None else chosen.metrics
    merged = {name: dict(values) for name, values in chosen.parameters.items()} if metrics is None else {}
    for name, values in (parameters or {}).items():
        merged.setdefault(name, {}).update(values)
    plan = make_plan(names, merged)
    reading = Reading(paths, options)
    target = Path(out)
    if engine is None:
        scoring = ScoringPass(plan, reading, text, progress, labels, frozenset(waiting))
    else:
        from bedside.scoring.spread import SpreadScoring

        if labels is not None:
            raise InputError("labels go with one process", where="--labels", todo="leave --engine out")
        scoring = SpreadScoring(engine, target, plan, reading, text, progress, frozenset(waiting))
    entry = {
        "suite": chosen.name if metrics is None else None,
        # A suite of the user's own is kept whole, so that a report can be made from the run alone.
        "own_suite": _own(chosen) if metrics is None else None,
        "metrics": [metric.name for metric in plan.metrics],
        "parameters": {family.name: settings for family, _, settings in plan.families if settings},
        "seed": seed,
        "labels": None if labels is None else _file(Path(labels)),
    }
    if engine is not None:
        entry["engine"] = engine.name
    if (target / "manifest.json").is_file():
        return _add(Run(target), scoring, entry)
    with new_run(target) as folder:
        ratings = scoring.go(folder)
        if not text:
            ratings = wordless(ratings)
        counts = scoring.counts(ratings)
        manifest = {
            "format": FORMAT,
            "transcripts": {
                "count": scoring.transcripts,
                "turns": scoring.turns,
                "text": text,
                "inputs": [asdict(file) for file in reading.inputs],
                "ignored": [str(path) for path in reading.ignored],
                "skipped": [str(error) if text else error.where for error in reading.skipped],
                # Who is who is told by name, which a run without text doesn't keep.
                "options": asdict(reading.options)
                | ({} if text or not reading.options.roles else {"roles": None}),
            },
            "scorings": [{**entry, **run_versions(), **counts}],
            "imports": [],
        }
        write_new_run(folder, ratings, manifest)
    scoring.end()
    return scoring.summary(Run(target), counts, 0)


def _own(suite: Suite) -> dict[str, Any] | None:
    """A suite that isn't one of the registry's."""
    if suite.name in SUITES and SUITES.load(suite.name) == suite:
        return None
    return suite.model_dump(mode="json")


def _add(run: Run, scoring: ScoringPass, entry: dict[str, Any]) -> ScoringSummary:
    """Score into an existing run, whose transcripts must be the same."""
    import tempfile

    known = dict(run.index.select("id", "hash").iter_rows())
    with run.locked(), tempfile.TemporaryDirectory(prefix=".scoring.", dir=run.path) as folder:
        ratings = scoring.go(Path(folder), known)
        if scoring.transcripts != len(known):
            raise RunError(
                f"the run has {len(known)} transcripts, the files {scoring.transcripts} of them",
                where=str(run.path),
                todo="score the same files, or choose another folder with --out",
            )
        counts = scoring.counts(ratings if run.keeps_text else wordless(ratings))
        manifest = {
            **run.manifest,
            "scorings": [*run.manifest["scorings"], {**entry, **run_versions(), **counts}],
        }
        replaced = run.add(ratings, manifest)
    scoring.end()
    return scoring.summary(run, counts, replaced)


class ScoringPass:
    """One pass over the files that fills the two tables.

    Attributes:
        resumed: parts that were scored before and are taken as they are.
    """

    resumed = 0

    def __init__(
        self,
        plan: ScoringPlan,
        reading: Reading,
        text: bool,
        progress: Callable[[int, int], None] | None,
        labels: str | os.PathLike[str] | None,
        waiting: frozenset[str],
    ) -> None:
        self.plan = plan
        self.waiting = waiting
        self.reading = reading
        self.source = iter(reading) if labels is None else _labelled(reading, plan, labels)
        self.text = text
        self.progress = progress
        self.transcripts = 0
        self.turns = 0

    def go(self, folder: Path, known: Mapping[str, str] | None = None) -> pl.LazyFrame:
        """The ratings; with ``known`` (id to hash) of those transcripts only, else the transcripts are written."""
        transcripts = transcript_writer(folder) if known is None else None
        ratings = rating_writer(folder)
        for transcript in self.source:
            row = transcript_row(transcript, text=self.text)
            if transcripts is not None:
                transcripts.add(row)
            elif known is not None:
                check_known(transcript.id, row[6], transcript.source, known)
            for rating in rate(transcript, self.plan, self.waiting):
                ratings.add(rating)
            self.transcripts += 1
            self.turns += len(transcript.turns)
            if self.progress is not None:
                self.progress(self.transcripts, len(self.reading.inputs))
        self.check()
        if transcripts is not None:
            transcripts.close()
        return ratings.result()

    def check(self) -> None:
        """Raise InputError where nothing was scored."""
        if not self.transcripts:
            first = self.reading.skipped[0]
            raise InputError(f"every transcript was skipped, the first because: {first}")

    def end(self) -> None:
        """Called when the run is written."""

    def counts(self, ratings: pl.LazyFrame) -> dict[str, Any]:
        missing = missing_counts(ratings)
        total = ratings.select(pl.len()).collect().item()
        raters = ratings.select(pl.col("rater").unique().sort()).collect().to_series().to_list()
        return {"ratings": int(total), "raters": raters, "missing": missing}

    def summary(self, run: Run, counts: Mapping[str, Any], replaced: int) -> ScoringSummary:
        return ScoringSummary(
            run=run,
            transcripts=self.transcripts,
            turns=self.turns,
            ratings=counts["ratings"],
            missing=sum(row["n"] for row in counts["missing"]),
            replaced=replaced,
            skipped=tuple(str(error) for error in self.reading.skipped),
            ignored=len(self.reading.ignored),
            resumed=self.resumed,
        )


def check_known(name: str, digest: str, source: str, known: Mapping[str, str]) -> None:
    """Raise RunError unless a transcript is one of a run's (id to hash)."""
    if known.get(name) != digest:
        what = "differs from" if name in known else "is not among"
        raise RunError(
            f"transcript {name!r} ({source}) {what} those of the run",
            where="--out",
            todo="choose another folder with --out",
        )


def _labelled(reading: Reading, plan: ScoringPlan, labels: str | os.PathLike[str]) -> Iterator[Transcript]:
    """The transcripts with the labels of a file, by the protocol whose metrics are scored."""
    from bedside.protocols import medconceal, note2chat

    protocols = {"hidden_concerns": medconceal.with_labels, "history_taking": note2chat.with_labels}
    wanted = [protocols[family.name] for family, _, _ in plan.families if family.name in protocols]
    if len(wanted) != 1:
        raise InputError(
            "labels are for metrics of hidden concerns or of history taking",
            where="--labels",
            todo="score one of them: --suite medconceal or --suite note2chat",
        )
    return wanted[0](reading, labels)


def _file(path: Path) -> dict[str, str]:
    """A file's name and hash, for the manifest."""
    if not path.is_file():
        raise InputError("there is no such file", where=str(path))
    return {"path": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def run_versions() -> dict[str, Any]:
    """Date, bedside's and the libraries' versions, for a manifest."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "bedside": bedside.__version__,
        "python": platform.python_version(),
        "platform": platform.system(),
        "libraries": library_versions(),
    }


@cache
def library_versions() -> dict[str, str]:
    """Versions of the libraries that can change a number and are installed, by name."""
    libraries = {}
    for name in _LIBRARIES:
        try:
            libraries[name] = version(name)
        except PackageNotFoundError:  # an optional library
            continue
    return libraries
