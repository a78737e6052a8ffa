"""MultiSenseEval (Chandra et al., Reasoning Is Not All You Need, ACL 2026)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.suites.published_numbers import published_numbers
from bedside.stats.intervals import mean_t
from bedside.stats.unpaired import mann_whitney, t_test_from_summary
from replications._figures import AGAIN, NO_RESULT, Figure, Rest
from replications._printed import as_printed, cells, number, value

PROTOCOL = "multisense"
SOURCE = (
    "The means of Table 2 are put back into as many made-up conversations as each of its cells rests on, and these "
    "through the tables of `bedside report --as-published`. The numbers of conversations are not printed: they are the "
    "only ones that fit all percentages of a cell and add up to 1,142."
)
SYSTEMS = ("OpenAI o1", "DeepSeek-R1")
_SUSCEPTIBILITY, _SEVERITY, _BENEFITS = (f"Perceived {what}" for what in ("Susceptibility", "Severity", "Benefits"))
_HARD, _SOFT = "Diag. Acc. (Hard) (%)", "Diag. Acc. (Soft) (%)"
_METRICS = {
    _SUSCEPTIBILITY: "perceived_susceptibility", _SEVERITY: "perceived_severity", _BENEFITS: "perceived_benefits",
    "Flow Correctness": "conversation_flow", _HARD: "diagnostic_accuracy_hard", _SOFT: "diagnostic_accuracy_soft",
    "SMOG": "smog.clinician",
}  # fmt: skip
_PATIENT = (_SUSCEPTIBILITY, _SEVERITY, _BENEFITS)
_TRAITS = ("Openness", "Conscientiousness", "Extraversion", "Agreeableness", "Neuroticism")
_BASIC, _ADVANCED = "Basic Health Literacy", "Advanced Health Literacy"
SIZES = {
    **{(_BASIC, trait): size for trait, size in zip(_TRAITS, (101, 133, 102, 129, 83), strict=True)},
    **{(_ADVANCED, trait): size for trait, size in zip(_TRAITS, (126, 135, 117, 128, 88), strict=True)},
}
_ROUNDED = "published from means that were not rounded"


def conversations() -> RatingsView:
    """A conversation for each that a cell of Table 2 rests on, with the mean of the cell; accuracies are 0 or 1."""
    rows, factors = [], {}
    for printed in published_numbers(PROTOCOL):
        if printed.place != "Table 2":
            continue
        literacy, trait = printed.levels
        size = SIZES[literacy, trait]
        right = round(printed.value * size / 100)
        for place in range(size):
            case = f"{literacy}, {trait}, {place}"
            name = f"{printed.system}, {case}"
            factors[name] = {"transcript_id": name, "health_literacy": literacy, "persona": trait}
            given = float(place < right) if printed.unit == "%" else printed.value
            rows.append((name, printed.system, case, _METRICS[printed.measure], given))
    return as_printed(PROTOCOL, rows, pl.DataFrame(list(factors.values())))


def figures(data: Path, work: Path) -> list[Figure]:
    """The figures."""
    view = conversations()
    return [*_overall(view), *_changes(view), *_patient_centric()]


def _overall(view: RatingsView) -> Iterator[Figure]:
    names = ("judged-scores", "diagnosis", "readability")
    rows = {row["Metric"]: row for name in names for row in cells(PROTOCOL, name, view)}
    for measure, row in rows.items():
        place = {"SMOG": "text", _HARD: "Figure 5", _SOFT: "Figure 5"}.get(measure, "Figure 4")
        for system in SYSTEMS:
            mean, spread = row[system].removesuffix(")").split(" (")
            told = number(PROTOCOL, place, measure, system)
            yield Figure("text", system, measure, "overall", told.text, value(mean), why=_ROUNDED)
            if place == "Figure 5":
                yield Figure("text", system, measure, "overall", told.sd, value(spread), part="SD",
                             why="of 355 right of 1,142 it is 46.30")  # fmt: skip
    versus = "o1 vs R1"
    for measure, statistic, p in ((_SOFT, "678348", "<0.05"), (_HARD, "651511", "0.9640")):
        yield Figure("text", versus, measure, "overall", statistic, value(rows[measure]["Statistic"]), part="U")
        right = (view.transcript_values([_METRICS[measure]]).filter(system=system)["value"] for system in SYSTEMS)
        yield Figure("text", versus, measure, "overall", p, mann_whitney(*right).p, part="p")
    first, second = (number(PROTOCOL, "text", "SMOG", system) for system in SYSTEMS)
    smog = t_test_from_summary(first.value, float(first.sd), 1142, second.value, float(second.sd), 1142,
                               equal_variances=True)  # fmt: skip
    yield Figure("text", versus, "SMOG", "overall", "-31.95", smog.statistic, part="t", why=_ROUNDED)
    yield Figure("text", versus, "SMOG", "overall", "<0.001", smog.p, part="p")


def _changes(view: RatingsView) -> Iterator[Figure]:
    rows = {(row[""], row["Metric"]): row for row in cells(PROTOCOL, "changes", view)}
    literacy, persona = "Advanced against Basic literacy", "Advanced: Neuroticism against Agreeableness"
    for system, measure, group, printed in (
        ("OpenAI o1", "patient-centric metrics", literacy, "2.77"),
        ("DeepSeek-R1", "patient-centric metrics", literacy, "0.63"),
        ("OpenAI o1", _SOFT, literacy, "-0.12"), ("OpenAI o1", _HARD, literacy, "-0.73"),
        ("DeepSeek-R1", _SOFT, literacy, "10.16"), ("DeepSeek-R1", _HARD, literacy, "11.74"),
        ("OpenAI o1", "SMOG", literacy, "5.84"), ("DeepSeek-R1", "SMOG", literacy, "3.29"),
        ("DeepSeek-R1", _SUSCEPTIBILITY, persona, "-7.1"), ("DeepSeek-R1", _SEVERITY, persona, "-7.5"),
        ("DeepSeek-R1", _BENEFITS, persona, "-7.4"),
        ("OpenAI o1", "SMOG", "Basic: Neuroticism against Openness", "-2.7"),
        ("OpenAI o1", "SMOG", "Advanced: Neuroticism against Openness", "-2.95"),
    ):  # fmt: skip
        yield Figure("text", system, measure, group, printed, value(rows[group, measure][system]), why=_ROUNDED)


def _patient_centric() -> Iterator[Figure]:
    for system, printed in zip(SYSTEMS, ("2.55", "2.77"), strict=True):
        mean = mean_t([number(PROTOCOL, "Figure 4", measure, system).value for measure in _PATIENT]).estimate
        yield Figure("text", system, "patient-centric mean", "introduction", printed, mean,
                     why="the mean of the three means that Figure 4 has")  # fmt: skip


RESTS = [
    Rest("1", 14, "messages by stage", "the conversations are not published"),
    Rest("2", 140, "means by persona and literacy", "the conversations and their ratings are not published"),
    Rest("text", 10, "SDs of judged scores and of SMOG", "the conversations and their ratings are not published"),
    Rest("text", 8, "U and p of the four judged scores", "they need how often each level was given"),
    Rest("text", 12, "shares of items on which people confirm the judge", "the raters' answers are not published"),
    Rest("text", 6, "changes by length (Figure 6)", "the means of its bins are not printed"),
    Rest("text", 5, "messages of a conversation, and accuracy in the abstract", "from Table 1 and Figure 5", AGAIN),
    Rest("text", 6, "conversations, case studies, recommended SMOG", "they describe the data", NO_RESULT),
]  # fmt: skip
