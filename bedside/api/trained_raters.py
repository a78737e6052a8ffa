"""Raters made of other raters, or of people's ratings, from Python: juries, and learned raters."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bedside.api.run_files import RunOrFolder, open_run
from bedside.core.errors import InputError
from bedside.core.words import Names, listed
from bedside.reports.table import Tables

if TYPE_CHECKING:
    from bedside.analysis.jury_agreement import JuryAgreement
    from bedside.metrics.coders.learned.embeddings import Embeddings
    from bedside.ratings.juries import JuryRule
    from bedside.transcripts import ReadOptions
    from bedside.transcripts.memory_reading import TranscriptInput
    from bedside.tuning.rater_training import LearnedRaterTrial


def jury(
    run: RunOrFolder,
    name: str,
    judges: Names,
    *,
    by: JuryRule = "median",
    quorum: int | None = None,
    metrics: Names | None = None,
    split: float = 0.5,
    rounds: Names | None = None,
    scales: Names = (),
    seed: int = 0,
) -> Tables[tuple[JuryAgreement, ...]]:
    """Make several judges of a run one rater, whose ratings join the run; no model is asked anything.

    The jury's ratings follow from its members': whenever these change, they are made anew. Its name in the ratings
    table, ``jury:NAME@RULE-VERSION``, says how it combines and changes with members and weights. A jury of the same
    name is replaced.

    Args:
        run: the run; it is changed.
        name: the jury's.
        judges: the members: raters of the run, two or more, such as ``judge:openai/gpt-5-mini``; ``judge:`` may be
            left out.
        by: ``median`` (default), ``mean`` (the level nearest the mean, which itself stands in ``<metric>.expected``),
            ``majority`` (the most frequent level), or ``weights`` learnt from people's ratings. Labels go by most
            votes. A tie is missing, and says so.
        quorum: how many members must have rated a unit for the jury to rate it; all unless given.
        metrics: metrics or patterns; all that every member has rated unless named.
        split: for ``weights``, the share of cases that they are learnt from; these count in no validation of the jury.
        rounds: the rounds of annotation whose ratings by people count, where there are several.
        scales: scales that go before those kept in the run.
        seed: of the split.

    Returns:
        The members' agreement among themselves; and where people rated, the jury beside each member on the units that
        it has not learnt from.

    Raises:
        BedsideError: no such run or rater, or too few ratings by people to learn weights from.
    """
    from bedside.analysis.jury_agreement import jury_agreement
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.analysis.study_parts import ALL_ROUNDS
    from bedside.ratings.scales import parse_scales
    from bedside.reports.juries import jury_tables
    from bedside.tuning.jury_making import add_jury, jury_of

    opened = open_run(run)
    parsed = parse_scales(listed(scales, "scales"))
    asked = listed(rounds, "rounds")
    members = listed(judges, "judges") or []
    with opened.locked():
        # Whose ratings count matters only where something is learnt from people.
        of_people = asked if by == "weights" else [ALL_ROUNDS]
        view = open_ratings_view(opened, scales=parsed, rounds=of_people, one_kind=False)
        panel, splits = jury_of(
            view,
            name,
            members,
            rule=by,
            quorum=quorum,
            metrics=listed(metrics, "metrics"),
            share=split,
            seed=seed,
        )
        add_jury(opened, panel, splits)
    view = open_ratings_view(opened, scales=parsed, rounds=asked, one_kind=False)
    agreements = jury_agreement(view, name, seed=seed)
    return Tables(jury_tables(agreements), agreements)


def learn_rater(
    run: RunOrFolder,
    rubric: str,
    out: str | os.PathLike[str],
    *,
    split: float = 0.5,
    features: str = "text",
    rounds: Names | None = None,
    scales: Names = (),
    seed: int = 0,
) -> Tables[LearnedRaterTrial]:
    """Learn to rate from people's ratings and the text alone: the cheap baseline that any judge should beat.

    The rater is written to a file, and rates the run's transcripts; :func:`rate` has it rate other runs. What it learnt
    from counts in no validation of it.

    Args:
        run: a run that keeps its text; it is changed.
        rubric: the rubric, metric or code that people rated.
        out: the file to write, ``NAME.npz``.
        split: the share of cases to learn from; it is tried on the others. With 1 it learns from all, and is tried out
            of fold: raters like it learn from four fifths of the cases and rate the rest.
        features: ``text`` for hashed words and characters, or ``embeddings:MODEL`` for sentence embeddings, where MODEL
            is a folder or a package that ships a model.
        rounds: the rounds of annotation whose ratings by people count, where there are several.
        scales: scales that go before those kept in the run.
        seed: of the split and of the parts.

    Returns:
        Its agreement with people, the human ceiling, and each judge beside it.

    Raises:
        BedsideError: no such run or rubric, too few ratings by people, or a file that can't be written.
    """
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.metrics.coders.learned.array_file import check_target
    from bedside.ratings.scales import parse_scales
    from bedside.reports.learned_raters import trial_tables
    from bedside.scoring.run_transcripts import kept_transcripts
    from bedside.tuning.learned_rater import RATER_FILE, save_rater
    from bedside.tuning.learned_ratings import add_learned_ratings
    from bedside.tuning.rater_training import teach_rater, try_rater

    check_target(out, RATER_FILE)
    grams, embeddings = _features(features)
    opened = open_run(run)
    parsed, asked = parse_scales(listed(scales, "scales")), listed(rounds, "rounds")
    with opened.locked():
        view = open_ratings_view(opened, scales=parsed, rounds=asked, one_kind=False)
        (metric,) = view.metrics([rubric])[:1]
        taught = teach_rater(view, metric, share=split, grams=grams, embeddings=embeddings, seed=seed)
        save_rater(taught.rater, out)
        add_learned_ratings(opened, taught.rater, kept_transcripts(opened))
    view = open_ratings_view(opened, scales=parsed, rounds=asked, one_kind=False)
    trial = try_rater(view, taught.rater, taught.fresh, seed=seed)
    return Tables(trial_tables([trial]), trial)


def rate(
    run: RunOrFolder,
    rater: str | os.PathLike[str],
    *,
    transcripts: TranscriptInput | None = None,
    options: ReadOptions | None = None,
    embeddings: str | os.PathLike[str] | None = None,
) -> str:
    """Have a learned rater rate a run's transcripts; its ratings join the run.

    Args:
        run: the run; it is changed.
        rater: the file that :func:`learn_rater` wrote.
        transcripts: the files, or transcripts in memory, that the run was scored from; those it keeps unless given.
        options: how to read the files.
        embeddings: the folder of the embedding model, for a rater that needs one and doesn't find it.

    Returns:
        The rater's name in the ratings table.

    Raises:
        BedsideError: no such run or file, or a file that is no learned rater's.
    """
    from bedside.scoring.run_transcripts import checked_transcripts, kept_transcripts, read_again
    from bedside.tuning.learned_rater import load_rater
    from bedside.tuning.learned_ratings import add_learned_ratings

    loaded = load_rater(rater, embeddings)
    opened = open_run(run)
    with opened.locked():
        source = (
            kept_transcripts(opened)
            if transcripts is None
            else checked_transcripts(opened, read_again(transcripts, options))
        )
        add_learned_ratings(opened, loaded, source)
    return loaded.rater


def _features(text: str) -> tuple[bool, Embeddings | None]:
    """Whether n-grams are looked at, and the embedding model, if any."""
    kind, _, name = text.partition(":")
    if text == "text":
        return True, None
    if kind == "embeddings" and name:
        from bedside.metrics.coders.learned.embeddings import Embeddings

        return False, Embeddings(name)
    raise InputError(
        f"{text!r:.60} says no features",
        where="`features`",
        todo="give text, or embeddings:MODEL with a folder or the name of a package",
    )
