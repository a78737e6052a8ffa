"""The manifests of several runs as that of one; what must not differ between them is checked first.

A name stands for one thing in a run: a metric for one computation, a rubric for one wording, and a suite, a jury and a
scale likewise. Where runs mean different things by a name, they are no parts of one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from bedside.core.errors import BedsideError, RunError
from bedside.metrics import FAMILIES
from bedside.ratings.juries import JURIES_KEY
from bedside.ratings.learnt_units import LEARNED_RATERS, LEARNT, learnt_in, with_learnt
from bedside.ratings.merged_tables import MergeSource
from bedside.ratings.names import is_human, rated_by_algorithms
from bedside.ratings.run import FORMAT, PARTS_KEY
from bedside.ratings.scales import Scale
from bedside.ratings.table import missing_counts
from bedside.scoring.judging_orders import recorded_judgings
from bedside.scoring.merged_judgements import judge_settings

#: What two entries of scorings have in common that are one scoring of the transcripts of two runs.
_SAME_SCORING = (
    "suite",
    "own_suite",
    "metrics",
    "parameters",
    "seed",
    "labels",
    "bedside",
    "python",
    "libraries",
)
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
                        f"{name} and {source.name} have different {what} of {_shown(key)}"
                        f"{_both(before, fact)}",
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
    sources: Sequence[MergeSource],
    ratings: pl.LazyFrame,
    counts: tuple[int, int],
    parts: list[dict[str, Any]],
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
        "format": FORMAT,
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
    return orjson.dumps(
        [raters, own, *(entry.get(name) for name in _SAME_SCORING)], option=orjson.OPT_SORT_KEYS
    )


def _once(entries: Iterator[Any]) -> list[Any]:
    """Entries in order, equal ones once."""
    return list({orjson.dumps(entry, option=orjson.OPT_SORT_KEYS): entry for entry in entries}.values())
