"""Audits in the ratings table: what people say of a judge's ratings that were shown to them.

They are metrics of their own, because somebody who has seen the judge's score is no independent rater:
``<rubric>.agrees``, a label, and ``<rubric>.audited``, the person's own level or label, or the judge's where they
agree; beside it stands the judge's as it was shown.
"""

from __future__ import annotations

from collections.abc import Iterable

AGREE, DISAGREE = "agree", "disagree"
_AGREES, _AUDITED = ".agrees", ".audited"


def audited_metric(rubric: str) -> str:
    """The metric of what people say who see the judge's score."""
    return f"{rubric}{_AUDITED}"


def agreement_metric(rubric: str) -> str:
    """The metric of whether people agree with the judge."""
    return f"{rubric}{_AGREES}"


def audited_rubrics(metrics: Iterable[str]) -> list[str]:
    """The rubrics by which people audited a judge: those with both metrics of an audit, in the order of the metrics."""
    names = list(dict.fromkeys(metrics))
    rubrics = (name.removesuffix(_AGREES) for name in names if name.endswith(_AGREES))
    return [rubric for rubric in rubrics if audited_metric(rubric) in names]


def without_audits(metrics: Iterable[str]) -> list[str]:
    """The metrics that are none of an audit, in order."""
    names = list(metrics)
    audits = {
        metric
        for rubric in audited_rubrics(names)
        for metric in (audited_metric(rubric), agreement_metric(rubric))
    }
    return [name for name in names if name not in audits]
