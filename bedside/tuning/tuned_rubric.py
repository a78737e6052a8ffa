"""The file of a tuned rubric: strict YAML like every rubric's, with the history of how it came to be."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from bedside import __version__
from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import InputError
from bedside.core.files import write_text
from bedside.judges.rubrics.rubric import Rubric, as_data
from bedside.judges.rubrics.rubric_files import SUFFIX
from bedside.judges.rubrics.tuned_parts import TunedFigure, TunedPart, TuningRecord
from bedside.ratings.learnt_units import unit_digests
from bedside.stats.result import Result
from bedside.tuning.label_split import LabelledUnit, case_count
from bedside.tuning.tuned_judge import TuningOrder, TuningOutcome

_HEAD = """\
# A rubric tuned by people's ratings with bedside judge tune; its history stands at its end.
"""
_WITH_EXAMPLES = """\
# Its examples are parts of real transcripts: it is as confidential as they are.
"""


def with_history(outcome: TuningOutcome, order: TuningOrder, view: RatingsView) -> Rubric | None:
    """The tuned rubric with how it came to be; None where nothing came of it."""
    if outcome.tuned is None:
        return None
    assert view.run is not None
    split, figures = outcome.split, outcome.figures
    record = TuningRecord(
        rubric=outcome.base.name,
        version=outcome.base.version,
        judge=outcome.rater,
        temperature=None if order.settings.temperature is None else float(order.settings.temperature),
        run=view.run.path.resolve().name,
        bedside=__version__,
        split=float(split.share),
        seed=split.seed,
        rounds=view.part.rounds,
        training=_part(split.training),
        held_out=_part(split.held_out),
        candidates=outcome.candidates,
        statistic="mean of quadratic kappas with each person",
        before=_figure(figures.before),
        after=_figure(figures.after),
        gain=_figure(figures.gain),
        ceiling=_figure(figures.ceiling),
        shown=outcome.shown,
    )
    return replace(outcome.tuned, history=(*outcome.base.history, record))


def check_rubric_file(path: str | os.PathLike[str]) -> Path:
    """The place that a rubric file can be written to.

    Raises:
        InputError: it isn't called like one, or its folder isn't there.
    """
    file = Path(path)
    if file.suffix != SUFFIX:
        raise InputError(
            f"a rubric file ends in {SUFFIX}", where="`out`", todo=f"call it {file.stem or 'tuned'}{SUFFIX}"
        )
    if not file.parent.is_dir():
        raise InputError(
            "there is no such folder", where=str(file.parent), todo="make it, or name another `out`"
        )
    return file


def write_tuned_rubric(rubric: Rubric, path: Path) -> None:
    """Write a tuned rubric, whole or not at all."""
    head = _HEAD + (_WITH_EXAMPLES if rubric.examples else "")
    write_text(
        path,
        head + yaml.dump(as_data(rubric), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=110),
    )


def _part(units: Sequence[LabelledUnit]) -> TunedPart:
    digests = unit_digests((unit.transcript, unit.case_id) for unit in units)
    return TunedPart(units=len(units), cases=case_count(units), digests=digests)


def _figure(result: Result) -> TunedFigure:
    interval = result.interval
    return TunedFigure(
        estimate=None if result.estimate is None else float(result.estimate),
        low=None if interval is None else float(interval.low),
        high=None if interval is None else float(interval.high),
    )


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they are, a line a line."""

    def ignore_aliases(self, data: Any) -> bool:
        """No value stands for another: the file is read without aliases."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
