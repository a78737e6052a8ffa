"""What a tuning would ask, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bedside.judges.call_plan import CallPlanner, RubricPlan
from bedside.judges.counts import Tally
from bedside.judges.llm.contract import known_price
from bedside.judges.llm.prices import estimate_tokens
from bedside.judges.prompt import Question
from bedside.judges.raters import rater_of
from bedside.ratings.run import Run
from bedside.scoring.judging_orders import STORE
from bedside.transcripts.transcript import Transcript
from bedside.tuning.label_split import LabelledUnit, LabelSplit
from bedside.tuning.shown_examples import example_pool, examples_shown, excerpt
from bedside.tuning.trial_ratings import TrialRatings, one_question
from bedside.tuning.tuned_judge import TuningOrder, most_judgements, wordings_within
from bedside.tuning.wording_proposals import MOST_CHARACTERS, MOST_SHOWN, proposal_rubric

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
    proposal = Question(proposal_rubric(order.rubric, 0)).text.tokens + MOST_SHOWN * sum(excerpts) // len(
        excerpts
    )
    reply = sum(tally.output_tokens for tally in known.values()) // max(
        1, sum(t.calls for t in known.values())
    )
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
    planner: CallPlanner,
    order: TuningOrder,
    units: Sequence[LabelledUnit],
    transcripts: Mapping[str, Transcript],
) -> Tally:
    tally = Tally()
    for group in TrialRatings(one_question(order.rubric), tally).groups(units, transcripts):
        planner.count(group)
    return tally


def _prompt_tokens(
    order: TuningOrder, units: Iterable[LabelledUnit], transcripts: Mapping[str, Transcript]
) -> int:
    """The mean number of tokens of a prompt by the rubric as it is."""
    groups = TrialRatings(one_question(order.rubric), Tally()).groups(list(units), transcripts)
    tokens = [
        getattr(prompt, "tokens", 0) for group in groups for prompt in group.prompts(order.settings.order)
    ]
    return sum(tokens) // max(1, len(tokens))
