"""What simulated sides meant to do, beside the codes that coders gave to what they said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import simulated_talks
from bedside.metrics.coders.people import majority
from bedside.ratings.names import unit_name
from bedside.stats.result import Result
from bedside.stats.two_raters import kappa, percent_agreement
from bedside.transcripts.transcript import CODES

# -- Which behaviour code a strategy or an action means to bring about ----------------------------------
# Only where the meaning of a label says so: a strategy that may be carried out by a question or by a reflection has no
# code here, and neither has an action that speaks for both sides.

_ASKS = {"question": "open", "main_behaviour": "question"}
_REFLECTS = {"question": "none", "main_behaviour": "reflection"}

#: Codes of a therapist's message by its strategy.
STRATEGY_CODES: Mapping[str, Mapping[str, str]] = {
    "open question": _ASKS,
    "elucidating question": _ASKS,
    "assessing readiness": {"question": "closed", "main_behaviour": "question"},
    "simple reflection": {**_REFLECTS, "reflection": "simple"},
    "complex reflection": {**_REFLECTS, "reflection": "complex"},
    "double-sided reflection": {**_REFLECTS, "reflection": "complex"},
    "supporting self-efficacy": {"question": "none"},
    "affirmation": {"main_behaviour": "other"},
    "advice by elicit-provide-elicit": {"therapist_input": "advice"},
}
_TALK = {
    "change": ("acknowledge", "accept", "desire", "commitment", "plan"),
    "sustain": ("deny", "downplay", "doubt", "reject"),
    "neutral": ("engage", "inform", "terminate"),
}
#: Codes of a client's message by its action.
ACTION_CODES: Mapping[str, Mapping[str, str]] = {
    action: {"client_talk": label} for label, actions in _TALK.items() for action in actions
}


def intended_codes(meta: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
    """The act that a message was meant to be, and the codes that it means; empty where there is none.

    A message with a pivot has none: its strategy is a second thought there.

    Args:
        meta: of the turn.
    """
    intended = meta.get("simulation")
    if not isinstance(intended, Mapping) or intended.get("pivot"):
        return "", {}
    for key, codes in (("strategy", STRATEGY_CODES), ("action", ACTION_CODES)):
        act = intended.get(key)
        if isinstance(act, str):
            return act, codes.get(act, {})
    return "", {}


# -- What simulated sides meant to do -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IntendedAct:
    """One act that was meant, and how its messages were coded.

    Attributes:
        act: the strategy or action.
        label: the label of the code that it means.
        coded: messages by the label that they were given.
    """

    act: str
    label: str
    coded: Mapping[str, int]

    @property
    def turns(self) -> int:
        """How many were coded."""
        return sum(self.coded.values())


@dataclass(frozen=True, slots=True)
class IntendedCoded(MetricRatings):
    """How a coder's labels of one code agree with what was meant.

    Attributes:
        rater: the coder.
        acts: each act that means a label of this code.
        turns, cases: what was meant and coded.
        undecided: turns whose passes gave no single most frequent label; they are left out.
        agreement: share of turns coded as meant, with an interval over cases.
        kappa: Cohen's, with an interval over cases.
    """

    rater: str
    acts: tuple[IntendedAct, ...]
    turns: int
    cases: int
    undecided: int
    agreement: Result
    kappa: Result


def intended_acts(view: RatingsView, *, seed: int = 0) -> tuple[IntendedCoded, ...]:
    """What was meant beside what was coded, by code and coder; nothing where nothing was meant or coded.

    Args:
        view: the ratings of a run.
        seed: of the bootstrap.
    """
    if view.run is None or not view.run.keeps_text or simulated_talks(view, read=False) is None:
        return ()
    labels = view.ratings.filter(pl.col("metric").is_in(list(CODES)), pl.col("label").is_not_null())
    meant = _meant(view) if labels.height else None
    if meant is None or meant.is_empty():
        return ()
    coded = labels.group_by("transcript_id", "case_id", "unit", "metric", "rater", maintain_order=True).agg("label")
    joined = meant.join(coded, on=["transcript_id", "unit", "metric"], how="inner")
    order = list(CODES)
    parts = joined.partition_by(["metric", "rater"], as_dict=True).items()
    return tuple(
        _compared(view, str(metric), str(rater), rows, seed)
        for (metric, rater), rows in sorted(parts, key=lambda item: (order.index(str(item[0][0])), str(item[0][1])))
    )


def _compared(view: RatingsView, metric: str, rater: str, rows: pl.DataFrame, seed: int) -> IntendedCoded:
    """One coder's labels of a code beside what was meant."""
    given = [majority(labels) for labels in rows["label"].to_list()]
    decided = rows.with_columns(pl.Series("given", given, dtype=pl.String())).filter(pl.col("given").is_not_null())
    wanted, got = decided["meant"].to_list(), decided["given"].to_list()
    cases = decided.select(pl.coalesce("case_id", "transcript_id")).to_series().to_list()
    by_act: dict[tuple[str, str], Counter[str]] = {}
    for act, label, code in zip(decided["act"].to_list(), wanted, got, strict=True):
        by_act.setdefault((act, label), Counter())[code] += 1
    acts = sorted(by_act, key=lambda pair: (CODES[metric].index(pair[1]), pair[0]))
    same = [float(first == second) for first, second in zip(wanted, got, strict=True)]
    return IntendedCoded(
        view.facts(metric),
        rater,
        tuple(IntendedAct(act, label, dict(by_act[act, label])) for act, label in acts),
        decided.height,
        len(set(cases)),
        rows.height - decided.height,
        percent_agreement(same, [1.0] * len(same), clusters=cases, seed=seed),
        kappa(wanted, got, scale=CODES[metric], clusters=cases),
    )


def _meant(view: RatingsView) -> pl.DataFrame:
    """What messages were meant to be, a row for each message and code."""
    assert view.run is not None
    shown = set(view.ratings["transcript_id"].unique())
    rows = []
    for transcript in view.run.transcripts():
        if transcript.id not in shown:
            continue
        for turn in transcript.turns:
            act, codes = intended_codes(turn.meta or {})
            rows += [(transcript.id, unit_name(turn.index), code, act, label) for code, label in codes.items()]
    columns = dict.fromkeys(("transcript_id", "unit", "metric", "act", "meant"), pl.String())
    return pl.DataFrame(rows, schema=columns, orient="row")
