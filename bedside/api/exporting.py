"""A run given away: in a form that others' tools read, and as a ConvoKit corpus."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bedside.api.run_files import RunOrFolder, open_run
from bedside.ratings.run import Run
from bedside.reports.exports.export import ExportedFolder
from bedside.transcripts.transcript import Transcript

if TYPE_CHECKING:
    from convokit import Corpus


def export(
    run: RunOrFolder,
    to: str,
    out: str | os.PathLike[str],
    *,
    licence: str | None = None,
    title: str | None = None,
    citation: str | None = None,
    origin: str | Mapping[str, str] | None = None,
    text: bool = True,
    rater_names: bool = False,
    judgements: bool = False,
) -> ExportedFolder:
    """Write a run into a folder in a form that others' tools read, with a page that says what it is.

    Nothing is sent anywhere. What lies in the folder already is replaced only where it is an export as it was written.

    Args:
        run: the run, or its folder; it stays as it is.
        to: the form: ``hf-folder`` (Parquet with a dataset card, for Hugging Face's datasets), ``csv-folder`` (for R
            and statistics programs) or ``convokit`` (a corpus).
        out: the folder.
        licence: by which others may use the data, as ``cc-by-4.0``; needed for ``hf-folder``.
        title: of the data; the name of the run's folder unless said.
        citation: how the data are to be cited, such as BibTeX.
        origin: where the conversations come from: ``simulated``, ``recorded`` (real people said it) or ``written``; or
            one of these for each system. What bedside simulated is known.
        text: whether what was said goes into it, and with it references, and what people and judges wrote.
        rater_names: whether people who rated keep their names; they are called ``rater-1`` and so on unless they do.
        judgements: whether what judges were asked and replied goes into it, word for word.

    Returns:
        What was written.

    Raises:
        BedsideError: no such run or form, no licence where one is needed, something else in the folder, or a choice
            that doesn't fit the run or the form. Nothing is written then.
    """
    from bedside.reports.exports.export import write_export

    return write_export(
        open_run(run),
        to,
        Path(out),
        licence=licence,
        title=title,
        citation=citation,
        origin=origin,
        text=text,
        rater_names=rater_names,
        judgements=judgements,
    )


def to_convokit(transcripts: Run | Iterable[Transcript]) -> Corpus:
    """A ConvoKit corpus in memory that holds everything the transcripts do, and of a run how they were rated.

    :func:`from_convokit` gives the same transcripts back, and a folder that ``corpus.dump`` writes is read by
    :func:`bedside.read_transcripts`. Nothing is written in the home folder.

    Args:
        transcripts: with ids that differ; or a run, whose ratings then stand in the meta of conversations and
            utterances as ``bedside_ratings``: ``{metric: {rater: value or label}}``, with None for what is missing.
            People have their real names there: :func:`export` writes a corpus in which they have others.

    Raises:
        MissingExtraError: ConvoKit is not installed.
        DataError: there is no transcript, or two have one id.
        RunError: the run keeps no text.
    """
    from bedside.reports.exports.study_tables import add_ratings
    from bedside.transcripts.convokit_corpus import to_convokit as corpus_of

    if not isinstance(transcripts, Run):
        return corpus_of(transcripts)
    corpus = corpus_of(transcripts.transcripts())
    add_ratings(corpus, transcripts.ratings)
    return corpus
