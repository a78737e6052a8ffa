"""The tables of protocols, made from ratings alone, against the protocols' own sums over cases."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.metrics.protocols.label_files import Measured
from bedside.metrics.protocols.medconceal import (
    labels as medconceal_labels,
    matching as medconceal_matching,
    measures as medconceal_measures,
    policy as medconceal_policy,
    trace as medconceal_trace,
)
from bedside.metrics.protocols.note2chat import history as note2chat_history, labels as note2chat_labels
from bedside.ratings.suites import SUITES
from bedside.reports.contents import make_parts, make_tables
from bedside.reports.table import Table
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation
from tests.metrics.protocols.summaries import case_level, history_summary, micro, trace_summary
from tests.reports.builders import Rating, cells_by_title, file_of, rating, scored, view_of

CATEGORIES = medconceal_labels.CATEGORIES
NAMED = {"category accuracy": "concern_category_accuracy", "matched without reveal": "matched_without_reveal"}
PATIENT = "I am afraid of the tablets"


def hidden(number: int, draw: random.Random, system: str) -> Transcript:
    """A case with labels drawn at random."""
    concerns = [
        {"id": f"c{place}", "category": draw.choice(CATEGORIES), "text": "Tablets", "primary": place == 0}
        for place in range(draw.randint(1, 3))
    ]
    findings = [{"category": draw.choice(CATEGORIES), "text": "x"} for _ in range(draw.randint(0, 3))]
    matches = [
        {"finding": draw.randrange(len(findings)), "concern": draw.choice(concerns)["id"],
         "quote": draw.choice([PATIENT, "nothing of the kind"])}
        for _ in range(draw.randint(0, 4) if findings else 0)
    ]  # fmt: skip
    strength = draw.choice([0.0, 0.5, 1.0])
    turns: list[tuple[Any, ...]] = []
    for _ in range(draw.randint(4, 12)):
        z = {name: strength * draw.random() for name in medconceal_labels.FEATURES}
        z["meta_probe_risk"] = draw.choice([0, 0, 0, 1])
        turns += [("clinician", "Go on?", {"medconceal": {"human:a": {"z": z}}}), ("patient", PATIENT)]
    labels: dict[str, Any] = {"findings": findings}
    if draw.random() < 0.8:
        labels["matches"] = matches
    reference = {"concerns": concerns, "medconceal": {"human:a": labels}}
    return conversation(*turns, id=f"{system}-{number}", system=system, language="en", reference=reference)


def view_by(folder: Path, family: str, transcripts: list[Transcript]) -> RatingsView:
    own = {"hidden_concerns": {"parameters": "published-shape"}} if family == "hidden_concerns" else {}
    return open_ratings_view(scored(folder, file_of(folder, *transcripts), [family], parameters=own).path)


def cases(
    make: Callable[[int, random.Random, str], Transcript], seed: int, systems: str, count: int
) -> list[Transcript]:
    draw = random.Random(seed)
    return [make(number, draw, system) for system in systems for number in range(count)]


def protocol_table(view: RatingsView, suite: str, name: str) -> Table:
    (table,) = make_tables(view, [name], suite=SUITES.load(suite))
    return table


def shown(table: Table, metric: str, level: str, system: str) -> Any:
    key = (metric, {"case-level": "mean"}.get(level, level), system, "people")
    values = [r["value"] for r in table.records if (r["metric"], r["level"], r["system"], r["raters"]) == key]
    return values[0] if values else None


def the_same(given: float | None, wanted: Measured) -> None:
    assert given == (None if wanted.value is None else pytest.approx(wanted.value))


@pytest.mark.parametrize("seed", range(4))
def test_concerns_are_what_the_protocol_sums_up(tmp_path: Path, seed: int) -> None:
    talks = cases(hidden, seed, "AB", 15)
    table = protocol_table(view_by(tmp_path, "hidden_concerns", talks), "medconceal", "concerns")
    parameters = medconceal_policy.PARAMETERS.load("published-shape")
    for system in ("A", "B"):
        matched, traced = [], []
        for talk in talks:
            if talk.system != system:
                continue
            labels, concerns = medconceal_labels.rater_labels(talk, "human:a"), medconceal_labels.concerns_of(talk)
            trace = medconceal_trace.trace(talk, concerns, labels.turns, parameters)
            traced.append(medconceal_measures.measure(talk, trace, turn_limit=parameters.measures.turn_limit))
            if labels.matches is not None:
                findings = labels.findings or ()
                matched.append(
                    medconceal_matching.score_case(talk, concerns, findings, labels.matches, trace.revealed_at)
                )
        for summary in (micro(matched), case_level(matched)):
            for name, wanted in summary.values.items():
                kind, _, part = name.partition(" ")
                if kind == "coarse":  # it needs no matches, so that it rests on more cases
                    continue
                own = f"{ {'fine': 'concern'}.get(kind, kind) }_{part.casefold()}"
                metric = NAMED.get(name, own)
                level = "case-level" if metric == "matched_without_reveal" else summary.level
                the_same(shown(table, metric, level, system), wanted)
        over = trace_summary(traced)
        for metric, level, wanted in (
            ("reveal_rate", "micro", over.reveal_rate),
            ("reveal_rate", "case-level", over.reveal_rate_by_case),
            ("full_reveal", "case-level", over.full_reveal_rate),
            ("turns_to_full_reveal", "case-level", over.turns_to_full_reveal),
            ("revealed_by_limit", "micro", over.revealed_by_limit),
            ("turns_per_revealed_concern", "micro", over.turns_per_revealed),
            ("concern_addressed", "case-level", over.success_rate),
            ("turns_to_address", "case-level", over.turns_to_address),
            ("reveal_to_address_lag", "case-level", over.lag),
            ("meta_probe_rate", "micro", over.meta_probe_rate),
            ("open_after_address", "case-level", over.open_after),
            ("challenge_after_address", "case-level", over.challenged_after),
        ):
            the_same(shown(table, metric, level, system), wanted)


def test_coarse_rests_on_findings_alone(tmp_path: Path) -> None:
    talks = cases(hidden, 9, "A", 20)
    table = protocol_table(view_by(tmp_path, "hidden_concerns", talks), "medconceal", "concerns")
    coarse = [
        medconceal_matching.score_case(
            talk,
            medconceal_labels.concerns_of(talk),
            medconceal_labels.rater_labels(talk, "human:a").findings or (),
            (),
        )
        for talk in talks
    ]
    for summary in (micro(coarse), case_level(coarse)):
        for part in ("precision", "recall", "F1"):
            given = shown(table, f"coarse_{part.casefold()}", summary.level, "A")
            the_same(given, summary.values[f"coarse {part}"])


def noted(number: int, draw: random.Random, system: str) -> Transcript:
    turns: list[tuple[Any, ...]] = [("patient", "My chest hurts.")]
    for _ in range(draw.randint(2, 6)):
        turns += [("clinician", "And then?"), ("patient", "It hurts.")]
    turns.append(("clinician", "It is reflux."))
    findings = [
        {"categories": [draw.choice(note2chat_labels.CATEGORIES)],
         "message": draw.choice([None, draw.randrange(len(turns))])}
        for _ in range(draw.randint(1, 6))
    ]  # fmt: skip
    labels: dict[str, Any] = {"findings": findings}
    if draw.random() < 0.8:
        labels["diagnosis_rank"] = draw.choice([None, 0, 1, 2, 3, 4, 5])
    return conversation(
        *turns, id=f"{system}-{number}", system=system, language="en",
        reference={"note2chat": {"human:a": labels}},
    )  # fmt: skip


def test_history_is_what_the_protocol_sums_up(tmp_path: Path) -> None:
    talks = cases(noted, 1, "AB", 15)
    table = protocol_table(view_by(tmp_path, "history_taking", talks), "note2chat", "history")
    for system in "AB":
        own = [talk for talk in talks if talk.system == system]
        histories = [note2chat_history.history(talk, note2chat_labels.rater_labels(talk, "human:a")) for talk in own]
        over = history_summary(case for case in histories if not isinstance(case, str))
        for metric, wanted in (
            ("history_recall", over.recall),
            ("history_precision", over.precision),
            ("history_f1", over.f1),
            ("history_questions", over.questions),
            *((f"diagnosis_top_{k}", top) for k, top in enumerate(over.top, start=1)),
        ):
            the_same(shown(table, metric, "case-level", system), wanted)


def test_the_system_that_asks_nothing_is_not_best(tmp_path: Path) -> None:
    """Its F1 is 0 and not left out, and its 0 questions are not set in bold."""
    complaint, where, here = ("patient", "It hurts."), ("clinician", "Where?"), ("patient", "Here.")
    diagnosis = ("clinician", "Candidates: x.")
    talks = []
    for system, turns, message in (
        ("asks", (complaint, where, here, diagnosis), 2),
        ("tells", (complaint, diagnosis), None),
    ):
        labels = {"human:a": {"findings": [{"message": message}], "diagnosis_rank": 0}}
        talks += [
            conversation(*turns, id=f"{system}-{number}", system=system, case_id=str(number), language="en",
                         reference={"note2chat": labels})
            for number in range(6)
        ]  # fmt: skip
    table = protocol_table(view_by(tmp_path, "history_taking", talks), "note2chat", "history")
    values = {(record["metric"], record["system"]): record for record in table.records}
    assert (values["history_f1", "tells"]["value"], values["history_f1", "tells"]["n"]) == (0, 6)
    assert values["history_f1", "asks"]["value"] == 1
    rows_by_title = {row.cells[0].text: row for row in table.rows}
    assert any(cell.bold for cell in rows_by_title["F1 ↑"].cells)
    assert not any(cell.bold for cell in rows_by_title["Questions"].cells)


def rows(rater: str, case: str, replicate: int, **values: float | None) -> list[Rating]:
    return [rating(case, "A", None, metric, value, rater, replicate=replicate) for metric, value in values.items()]


def test_passes_are_averaged_within_a_case_and_lacking_ones_left_out() -> None:
    counts = {"gold_concerns": 2, "submitted_findings": 2}
    passes = (
        rows("judge:m", "a", 0, **counts, matched_concerns=2),
        rows("judge:m", "a", 1, **{**counts, "submitted_findings": 4}, matched_concerns=1),
        rows("judge:m", "b", 0, **counts, matched_concerns=0),
        # The findings of a pass without matches don't count as unmatched.
        rows("judge:m", "b", 1, **{**counts, "submitted_findings": 9}, matched_concerns=None),
        rows("judge:m", "c", 0, **counts, matched_concerns=None),
    )
    table = protocol_table(view_of(row for rows_ in passes for row in rows_), "medconceal", "concerns")
    (row,) = [r for r in table.records if (r["metric"], r["level"]) == ("concern_precision", "micro")]
    assert (row["numerator"], row["denominator"]) == (1.5 + 0, 3 + 2)
    assert row["value"] == pytest.approx(0.3)
    assert (row["n"], row["missing"]) == (2, 1)


def test_several_raters_are_named_and_those_without_values_are_not() -> None:
    counts = {"gold_concerns": 2, "submitted_findings": 2, "matched_concerns": 1}
    raters = ("judge:m", "human:x")
    given = [row for rater in raters for row in rows(rater, "a", 0, **counts)]
    given += rows("algorithm:hidden_concerns@1", "a", 0, **dict.fromkeys(counts))
    table = protocol_table(view_of(given), "medconceal", "concerns")
    titles = [title for title in cells_by_title(table) if title.startswith("Precision, micro")]
    assert titles == ["Precision, micro (people) ↑", "Precision, micro (m) ↑"]


def test_there_is_no_table_where_nobody_labelled_anything(tmp_path: Path) -> None:
    draw = random.Random(3)
    concerns = hidden(0, draw, "A").reference["concerns"]
    bare = conversation(("clinician", "Hello."), ("patient", "Hello."), reference={"concerns": concerns})
    found = view_by(tmp_path, "hidden_concerns", [bare])
    own, *_ = make_parts(found, suite=SUITES.load("medconceal"), figures=False)
    full = {table.name for table in own.tables if any(row.cells[1].text != "–" for row in table.rows)}
    assert not full & {"concerns", "confirmation", "by-turn"}
