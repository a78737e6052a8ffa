"""The file of a tuned rubric, with the history of how it came to be; and what a tuning would ask."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from bedside import __version__
from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import InputError
from bedside.core.files import write_text
from bedside.core.yaml_files import with_digest
from bedside.judges.call_plan import CallPlanner, RubricPlan
from bedside.judges.counts import Tally
from bedside.judges.llm.contract import known_price
from bedside.judges.llm.prices import estimate_tokens
from bedside.judges.prompt import Question
from bedside.judges.raters import rater_of
from bedside.judges.rubrics.rubric import Rubric, TunedFigure, TunedPart, TuningRecord, as_data
from bedside.judges.rubrics.rubric_files import SUFFIX
from bedside.ratings.learnt_units import unit_digests
from bedside.ratings.run import Run
from bedside.scoring.judging_orders import STORE
from bedside.stats.result import Result
from bedside.transcripts.transcript import Transcript
from bedside.tuning.label_split import LabelledUnit, LabelSplit, case_count
from bedside.tuning.tuned_judge import TuningOrder, TuningOutcome, most_judgements, wordings_within
from bedside.tuning.wording_proposals import (
    MOST_CHARACTERS,
    MOST_SHOWN,
    TrialRatings,
    example_pool,
    examples_shown,
    excerpt,
    one_question,
    proposal_rubric,
)

# -- The file of a tuned rubric -------------------------------------------------------------------------

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
        raise InputError("there is no such folder", where=str(file.parent), todo="make it, or name another `out`")
    return file


def write_tuned_rubric(rubric: Rubric, path: Path) -> None:
    """Write a tuned rubric, whole or not at all."""
    head = _HEAD + (_WITH_EXAMPLES if rubric.examples else "")
    text = yaml.dump(as_data(rubric), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=110)
    write_text(path, head + with_digest(text))


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


# -- What a tuning would ask ----------------------------------------------------------------------------

#: About how many tokens a proposal is.
_PROPOSAL_TOKENS = 600


def forecast(run: Run, split: LabelSplit, order: TuningOrder) -> tuple[RubricPlan, ...]:
    """What a tuning would ask at most, step by step.

    What the judge rates by the rubric as it is is counted as it will be; the prompts of new wordings are taken to be as
    long, and those with examples longer by examples as they would be chosen for it.

    Args:
        run: the run.
        split: people's ratings, split.
        order: what is tuned, and how.

    Raises:
        InputError: the budget is too small.
    """
    wordings = wordings_within(order, split)
    wanted = {unit.transcript for unit in (*split.training, *split.held_out)}
    transcripts = {talk.id: talk for talk in run.transcripts() if talk.id in wanted}
    planner = CallPlanner(order.judge, order.settings, run.path / STORE)
    known = {
        name: _counted(planner, order, units, transcripts)
        for name, units in (("training units", split.training), ("held out, before", split.held_out))
    }
    asked = sum(tally.calls + tally.stored for tally in known.values())
    # What is stored costs nothing and says nothing of how long a prompt is.
    plain = _prompt_tokens(order, (*split.training, *split.held_out), transcripts)
    pool = example_pool(order.rubric, split.training, transcripts, order.examples, seed=order.seed)
    shown = examples_shown(pool, order.examples)
    examples = sum(estimate_tokens(example.conversation + (example.reason or "")) for example in shown)
    excerpts = [
        estimate_tokens(excerpt(order.rubric, transcripts[unit.transcript], unit.unit, MOST_CHARACTERS))
        for unit in split.training
    ]
    proposal = Question(proposal_rubric(order.rubric, 0)).text.tokens + MOST_SHOWN * sum(excerpts) // len(excerpts)
    reply = sum(tally.output_tokens for tally in known.values()) // max(1, sum(t.calls for t in known.values()))
    reply = reply or 150
    with_examples = len(split.training) if order.examples else 0
    rest = most_judgements(order, split, wordings) - asked - wordings - with_examples - len(split.held_out)
    steps = {
        "wordings proposed": (wordings, proposal, _PROPOSAL_TOKENS),
        "wordings tried": (max(0, rest), plain, reply),
        "with examples": (with_examples, plain + examples, reply),
        "held out, after": (len(split.held_out), plain + examples, reply),
    }
    plans = [planner.plan(name, tally) for name, tally in known.items()]
    price = order.settings.price or known_price(order.judge)
    for name, (calls, sent, back) in steps.items():
        cost = None if price is None else price.of(calls * sent, calls * back)
        plans.append(RubricPlan(name, rater_of(order.judge), calls, 0, 0, calls * sent, calls * back, cost))
    return (plans[0], *plans[2:5], plans[1], plans[5])


def _counted(
    planner: CallPlanner, order: TuningOrder, units: Sequence[LabelledUnit], transcripts: Mapping[str, Transcript]
) -> Tally:
    tally = Tally()
    for group in TrialRatings(one_question(order.rubric), tally).groups(units, transcripts):
        planner.count(group)
    return tally


def _prompt_tokens(order: TuningOrder, units: Iterable[LabelledUnit], transcripts: Mapping[str, Transcript]) -> int:
    """The mean number of tokens of a prompt by the rubric as it is."""
    groups = TrialRatings(one_question(order.rubric), Tally()).groups(list(units), transcripts)
    tokens = [getattr(prompt, "tokens", 0) for group in groups for prompt in group.prompts(order.settings.order)]
    return sum(tokens) // max(1, len(tokens))
