"""Judging a run: language models rate its transcripts by rubrics, and the ratings join the run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bedside.errors import InputError, RegistryError
from bedside.judges import Rubric, rubrics_with
from bedside.judges.client import Price
from bedside.judges.engine import Progress
from bedside.judges.judging import Judged, RubricPlan, judge_transcripts, plan_judging
from bedside.judges.prompt import Order
from bedside.ratings import Run, missing_counts, rating_writer
from bedside.scoring import run_versions
from bedside.transcripts import Reading, ReadOptions

STORE = "judgements.sqlite"


@dataclass(frozen=True, slots=True)
class Asking:
    """How judges are asked.

    Attributes:
        passes: how often each thing is asked.
        temperature: 0 to 2; None leaves it to the provider.
        max_concurrency: requests under way at once.
        max_calls: requests sent at most; None for no limit.
        max_prompt_tokens: what is estimated to be longer is not sent.
        order: whether a prompt begins with the transcript or with the rubric.
        expected: whether to ask for token probabilities and rate expected scores too.
        price: US dollars per million tokens, where it isn't known.
        seed: of random waits and sampling.
    """

    passes: int = 1
    temperature: float | None = 0.0
    max_concurrency: int = 8
    max_calls: int | None = None
    max_prompt_tokens: int | None = None
    order: Order = "transcript-first"
    expected: bool = False
    price: Price | None = None
    seed: int = 0


def chosen_rubrics(names: Iterable[str], folder: Path | None = None) -> tuple[Rubric, ...]:
    """The rubrics of these names, from the user's ``folder`` too.

    Raises:
        RegistryError: there is none of a name, or none is named at all.
    """
    registry = rubrics_with(folder)
    found = tuple(registry.find(name) for name in names)
    if not found:
        raise RegistryError("the suite has no rubrics for a judge", todo="name some with --rubrics")
    return found


def judge_run(
    run: Run,
    paths: Iterable[str | os.PathLike[str]],
    judges: Sequence[str],
    rubrics: Sequence[Rubric],
    *,
    suite: str | None = None,
    options: ReadOptions | None = None,
    asking: Asking | None = None,
    progress: Callable[[str, Progress], None] | None = None,
) -> tuple[Judged, ...]:
    """Have judges rate the transcripts of a run and add their ratings to it.

    Every judgement is kept in the run as soon as it is made: the same call after a stop asks only what is missing.

    Args:
        run: the run.
        paths: the files that the run was scored from.
        judges: models, see :mod:`bedside.judges.client`.
        rubrics: what is asked.
        suite: name of the suite, for the manifest.
        options: how to read the files.
        asking: passes, limits and the like.
        progress: called with the judge and how far it is.

    Raises:
        JudgeError: a judge can't be asked; what was finished is kept in the run's store.
    """
    how = asking or Asking()
    known = dict(run.index.select("id", "hash").iter_rows())
    text = bool(run.manifest["transcripts"]["text"])
    made = []
    with run.locked():
        for judge in judges:
            with tempfile.TemporaryDirectory(prefix=".judging.", dir=run.path) as folder:
                ratings = rating_writer(Path(folder))
                reading = Reading(paths, options)
                judged = judge_transcripts(
                    _same(reading, known),
                    rubrics,
                    judge,
                    store_path=run.path / STORE,
                    add=ratings.add,
                    text=text,
                    progress=None if progress is None else _named(progress, judge),
                    **_arguments(how),
                    max_concurrency=how.max_concurrency,
                    max_calls=how.max_calls,
                )
                table = ratings.result()
                entry = {
                    "suite": suite,
                    "metrics": [rubric.name for rubric in rubrics],
                    "parameters": {},
                    "seed": how.seed,
                    "judges": {
                        judged.rater: {
                            "model": judge,
                            **judged.parameters,
                            "passes": judged.passes,
                            "complete": judged.complete,
                            "prompts": {count.rubric: count.version for count in judged.rubrics},
                            "rubrics": [asdict(count) for count in judged.rubrics],
                        }
                    },
                    **run_versions(),
                    "ratings": judged.ratings,
                    "raters": [judged.rater],
                    "missing": missing_counts(table),
                }
                run.add(table, {**run.manifest, "scorings": [*run.manifest["scorings"], entry]})
            made.append(judged)
    return tuple(made)


def plan_run(
    out: Path,
    paths: Iterable[str | os.PathLike[str]],
    judges: Sequence[str],
    rubrics: Sequence[Rubric],
    *,
    options: ReadOptions | None = None,
    asking: Asking | None = None,
) -> tuple[RubricPlan, ...]:
    """What :func:`judge_run` would send; nothing is sent or written."""
    how = asking or Asking()
    files = list(paths)
    plans: list[RubricPlan] = []
    for judge in judges:
        plans += plan_judging(
            Reading(files, options), rubrics, judge, store_path=out / STORE, **_arguments(how)
        )
    return tuple(plans)


def _arguments(how: Asking) -> dict[str, Any]:
    return {
        "passes": how.passes,
        "temperature": how.temperature,
        "seed": how.seed,
        "order": how.order,
        "max_prompt_tokens": how.max_prompt_tokens,
        "expected": how.expected,
        "price": how.price,
    }


def _same(reading: Reading, known: Mapping[str, str]) -> Iterable[Any]:
    """The transcripts, each of them checked to be the run's."""
    for transcript in reading:
        if known.get(transcript.id) != transcript.content_hash():
            raise InputError(
                f"transcript {transcript.id!r} is not the one in the run",
                where=transcript.source,
                todo="judge the files that the run was scored from",
            )
        yield transcript


def _named(progress: Callable[[str, Progress], None], judge: str) -> Callable[[Progress], None]:
    return lambda state: progress(judge, state)
