"""MedConceal's and MultiSenseEval's tables as their sources print them: their numbers made by another computation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy import stats

from bedside.analysis.comparison import compare
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.study_parts import study_order
from bedside.ratings.suites import SUITES
from bedside.ratings.table import frame_of
from bedside.reports.contents import make_tables
from bedside.reports.report_settings import ReportSettings
from bedside.reports.table import Table
from bedside.scoring.score import score
from bedside.transcripts import Transcript, Turn

PRINTED = ReportSettings(as_published=True, published_numbers=True)
PLAIN = ReportSettings(as_published=True)
JUDGE = "judge:m"
STAGES = (
    "fostering the relationship", "gathering information", "providing information", "decision making",
    "responding to emotions", "exit",
)  # fmt: skip


def published(view: RatingsView, suite: str, name: str, settings: ReportSettings = PLAIN) -> Table:
    (table,) = make_tables(view, [name], suite=SUITES.load(suite).printed(), settings=settings)
    return table


def rows_of(table: Table, keys: int) -> dict[tuple[str, ...], list[str]]:
    """The rows by their keys, each of which stands once above those that share it."""
    rows: dict[tuple[str, ...], list[str]] = {}
    known: list[str] = [""] * keys
    for row in table.rows:
        texts = [cell.text for cell in row.cells]
        known = [text or before for text, before in zip(texts[:keys], known, strict=True)]
        rows[(*([row.group] if row.group else []), *known)] = texts[keys:]
    return rows


# -- MultiSenseEval -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> RatingsView:
    """Conversations whose turns carry stages drawn at random, under the names of the source's systems."""
    rng = np.random.default_rng(4)
    talks = []
    for number, (system, case) in enumerate(product(("deepseek-r1", "o1"), range(9))):
        drawn = [str(rng.choice(STAGES[:4])) for _ in range(rng.integers(2, 9))]
        turns = tuple(
            Turn(place, ("clinician", "patient")[place % 2], "s", f"Word {place}.", {"stage": stage})
            for place, stage in enumerate([*drawn, "exit"])
        )
        factors = {"persona": ("openness", "neuroticism")[number % 2], "health_literacy": "basic"}
        talks.append(
            Transcript(id=f"{system}-{case}", turns=turns, system=system, case_id=f"c{case}", factors=factors)
        )
    run = score(talks, tmp_path_factory.mktemp("staged") / "run", suite="multisense").run
    rows = []
    for name, system, case in run.index.select("id", "system", "case_id").iter_rows():
        for metric in ("perceived_benefits", "conversation_flow"):
            for rater in (JUDGE, "human:anna"):
                value = float(rng.integers(1, 5))
                rows.append((name, system, case, "transcript", metric, rater, 0, value, None, None, None))
        hard = float(rng.integers(0, 2))
        rows.append(
            (name, system, case, "transcript", "diagnostic_accuracy_hard", JUDGE, 0, hard, None, None, None)
        )
        rows.append((name, system, case, "transcript", "smog.clinician", "algorithm:readability@x", 0,
                     float(rng.normal(12, 1)), None, None, None))  # fmt: skip
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    return open_ratings_view(run.path)


def test_messages_per_stage_are_means_over_conversations_in_the_order_of_the_source(
    staged: RatingsView,
) -> None:
    assert staged.run is not None
    counts: dict[str, Counter[str]] = {"o1": Counter(), "deepseek-r1": Counter()}
    for transcript in staged.run.transcripts():
        counts[str(transcript.system)].update(str(turn.meta["stage"]) for turn in transcript.turns)
    table = published(staged, "multisense", "messages")
    assert [column.title for column in table.columns] == ["Stage", "OpenAI o1", "DeepSeek-R1"]
    assert {column.group for column in table.columns[1:]} == {"Avg. Number of Messages"}
    found = {row.cells[0].text: [cell.text for cell in row.cells[1:]] for row in table.rows}
    shown = [stage for stage in STAGES if counts["o1"][stage] or counts["deepseek-r1"][stage]]
    assert [title.casefold() for title in found] == [*shown, "overall"]
    for stage, texts in zip([*shown, None], found.values(), strict=True):
        for system, text in zip(("o1", "deepseek-r1"), texts, strict=True):
            total = counts[system].total() if stage is None else counts[system][stage]
            assert text == f"{total / 9:.2f}"
    beside = published(staged, "multisense", "messages", PRINTED)
    assert beside.rows[-1].cells[0].text == "Overall"
    assert beside.rows[-1].cells[1].text.endswith("{19.09}")


def test_the_table_of_patients_has_a_line_for_each_model_and_marks_the_better(staged: RatingsView) -> None:
    assert staged.factors is not None
    table = published(staged, "multisense", "patients")
    assert [column.title for column in table.columns] == [
        "Personality Trait", "Model", "Perceived Benefits", "Flow Correctness", "Diag. Acc. (Hard) (%)", "SMOG",
    ]  # fmt: skip
    found = rows_of(table, 2)
    assert list(found) == [
        ("Basic Health Literacy", trait, model)
        for trait in ("Openness", "Neuroticism")
        for model in ("OpenAI o1", "DeepSeek-R1")
    ]
    wide = staged.ratings.join(staged.factors, on="transcript_id").filter(pl.col("rater") != "human:anna")
    for (_, trait, model), texts in found.items():
        system = {"OpenAI o1": "o1", "DeepSeek-R1": "deepseek-r1"}[model]
        here = wide.filter(pl.col("system") == system, pl.col("persona") == trait.lower())
        for metric, scale, text in zip(
            ("perceived_benefits", "conversation_flow", "diagnostic_accuracy_hard", "smog.clinician"),
            (1, 1, 100, 1), texts, strict=True,
        ):  # fmt: skip
            values = here.filter(pl.col("metric") == metric)["value"].drop_nulls()
            if metric == "smog.clinician":
                values = here.filter(
                    pl.col("metric") == metric, pl.col("rater") == "algorithm:readability@x"
                )["value"]
            assert text == f"{scale * float(np.mean(values.to_numpy())):.2f}", (trait, model, metric)
    smog = [row.cells[-1] for row in table.rows]
    for first, second in (smog[:2], smog[2:]):
        assert first.bold == (float(first.text) < float(second.text))


def test_the_two_systems_are_tested_as_the_source_does_over_what_is_shown(staged: RatingsView) -> None:
    """Mann and Whitney's U of the judge's scores, o1 first; people's scores are not shown, and in no family."""
    table = published(staged, "multisense", "judged-scores")
    found = {row.cells[0].text: row for row in table.rows}
    assert list(found) == ["Perceived Benefits", "Flow Correctness"]
    for metric, title in (
        ("perceived_benefits", "Perceived Benefits"),
        ("conversation_flow", "Flow Correctness"),
    ):
        of_judge = staged.ratings.filter(pl.col("metric") == metric, pl.col("rater") == JUDGE)
        values = [
            of_judge.filter(pl.col("system") == name)["value"].to_numpy() for name in ("o1", "deepseek-r1")
        ]
        test = stats.mannwhitneyu(*values, method="asymptotic")
        texts = [cell.text for cell in found[title].cells]
        assert texts[1] == f"{values[0].mean():.2f} ({values[0].std(ddof=1):.2f})"
        assert float(texts[3]) == pytest.approx(test.statistic, abs=0.5)
        assert texts[4] == f"{test.pvalue:.3f}".removeprefix("0") or test.pvalue > 0.9995
    assert any("of 2 tests" in note for note in table.notes)


# -- MedConceal ---------------------------------------------------------------------------------------

SETTINGS = {
    "confirmation": ("confirmation, 8 turns", "confirmation, adaptive"),
    "intervention": ("intervention, 8 turns", "intervention, 20 turns"),
}


def concerns(
    seed: int = 1,
) -> Iterator[tuple[str, str | None, str, dict[str, str], dict[str, dict[str, float]]]]:
    """Transcripts of people and two systems: id, system, case, factors, and the values of each rater's labels."""
    rng = np.random.default_rng(seed)
    for task, settings in SETTINGS.items():
        lines = [("Human clinicians", "human"), *product(("GPT-5.2", "Qwen-3.5-9B"), settings)]
        for (system, setting), case in product(lines, range(12)):
            people = system == "Human clinicians" and task == "confirmation"
            raters = ("human:summary", "human:model") if people else (JUDGE,)
            labels = {}
            gold, turns = int(rng.integers(1, 4)), int(rng.integers(4, 20))
            revealed, primary = int(rng.integers(0, gold + 1)), float(rng.integers(0, 2))
            for rater in raters:
                submitted = int(rng.integers(1, 4))
                matched = int(rng.integers(0, min(submitted, gold) + 1))
                coarse = int(rng.integers(matched, min(submitted, gold) + 1))
                labels[rater] = {
                    "gold_concerns": gold, "submitted_findings": submitted, "matched_concerns": matched,
                    "coarse_matches": coarse, "revealed_concerns": revealed, "evaluated_turns": turns,
                    "coarse_precision": coarse / submitted, "coarse_recall": coarse / gold,
                    "concern_precision": matched / submitted, "concern_recall": matched / gold,
                    "coarse_f1": 2 * coarse / (submitted + gold), "concern_f1": 2 * matched / (submitted + gold),
                    "reveal_rate": revealed / gold, "matched_without_reveal": float(matched > 0 and not revealed),
                    "primary_revealed": primary, "concern_addressed": float(primary and rng.random() < 0.6),
                }  # fmt: skip
            factors = {"task": task, "setting": setting}
            yield f"{task}-{setting}-{system}-{case}", system, f"c{case}", factors, labels


@pytest.fixture(scope="module")
def concealed(tmp_path_factory: pytest.TempPathFactory) -> RatingsView:
    folder = tmp_path_factory.mktemp("concealed")
    every = list(concerns())
    talks = []
    for name, system, case, factors, labels in every:
        turns = int(next(iter(labels.values()))["evaluated_turns"])
        said = tuple(
            Turn(place, ("clinician", "patient")[place % 2], "s", "Go on?", {}) for place in range(2 * turns)
        )
        talks.append(Transcript(id=name, turns=said, system=system, case_id=case, factors=factors))
    run = score(talks, folder / "run", metrics=["turns"]).run
    rows = [
        (name, system, case, "transcript", metric, rater, 0, value, None, None, None)
        for name, system, case, _, labels in every
        for rater, values in labels.items()
        for metric, value in values.items()
    ]
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    view = open_ratings_view(run.path)
    return replace(view, order=study_order([SUITES.load("medconceal")]))


def sums(task: str, setting: str, system: str, rater: str, *names: str) -> list[float]:
    own = [
        labels[rater]
        for _, of, _, factors, labels in concerns()
        if (factors["task"], factors["setting"], of) == (task, setting, system)
    ]
    return [sum(values[name] for values in own) for name in names]


def test_confirmation_has_sums_over_cases_and_a_row_for_each_set_of_findings(concealed: RatingsView) -> None:
    table = published(concealed, "medconceal", "confirmation")
    found = rows_of(table, 3)
    assert list(found) == [
        ("Human clinicians", "Human", "model"), ("Human clinicians", "Human", "summary"),
        ("Qwen-3.5-9B", "8-turn", "m"), ("Qwen-3.5-9B", "Adaptive", "m"),
        ("GPT-5.2", "8-turn", "m"), ("GPT-5.2", "Adaptive", "m"),
    ]  # fmt: skip
    assert [column.title.rstrip(" ↑↓") for column in table.columns[3:]] == [
        "Reveal Rate", "Coarse P", "Coarse R", "Coarse F1", "Fine P", "Fine R", "Fine F1", "MBNR",
    ]  # fmt: skip
    names = {"Human": "human", "8-turn": "confirmation, 8 turns", "Adaptive": "confirmation, adaptive"}
    for (system, setting, rater), texts in found.items():
        kind = JUDGE if rater == "m" else f"human:{rater}"
        matched, coarse, submitted, gold, revealed, blind = sums(
            "confirmation", names[setting], system, kind,
            "matched_concerns", "coarse_matches", "submitted_findings", "gold_concerns", "revealed_concerns",
            "matched_without_reveal",
        )  # fmt: skip
        by_hand = (
            revealed / gold, coarse / submitted, coarse / gold, 2 * coarse / (submitted + gold), matched / submitted,
            matched / gold, 2 * matched / (submitted + gold), blind / 12,
        )  # fmt: skip
        assert texts == [f"{number:.3f}" for number in by_hand]
    for column in range(3, 11):
        numbers = [float(row.cells[column].text) for row in table.rows]
        best = min(numbers) if column == 10 else max(numbers)
        assert [row.cells[column].bold for row in table.rows] == [number == best for number in numbers]


def test_printed_numbers_stand_beside_each_line_and_people_keep_theirs(concealed: RatingsView) -> None:
    found = rows_of(published(concealed, "medconceal", "confirmation", PRINTED), 3)
    assert found["GPT-5.2", "Adaptive", "m"][1].endswith("{0.691}")
    assert found["Qwen-3.5-9B", "8-turn", "m"][1].endswith("{0.861}")
    table = published(concealed, "medconceal", "intervention", PRINTED)
    human = rows_of(table, 2)["Human clinicians", "Human"]
    assert human[0].endswith("{0.427}")
    assert human[1].endswith("{0.487}")


def test_intervention_has_the_reveal_of_the_target_and_settings_apart(concealed: RatingsView) -> None:
    table = published(concealed, "medconceal", "intervention")
    found = rows_of(table, 2)
    assert ("GPT-5.2", "20-turn") in found
    success, primary = sums(
        "intervention", "intervention, 20 turns", "GPT-5.2", JUDGE, "concern_addressed", "primary_revealed"
    )
    assert found["GPT-5.2", "20-turn"][:2] == [f"{success / 12:.3f}", f"{primary / 12:.3f}"]


def test_dialogues_are_as_long_as_their_clinician_turns_in_the_long_setting(concealed: RatingsView) -> None:
    table = published(concealed, "medconceal", "dialogue-length")
    found = rows_of(table, 1)
    for system, setting in (("Human clinicians", "human"), ("GPT-5.2", None)):
        for task, text in zip(SETTINGS, found[(system,)], strict=True):
            where = setting or SETTINGS[task][1]
            rater = "human:summary" if setting == "human" and task == "confirmation" else JUDGE
            (turns,) = sums(task, where, system, rater, "evaluated_turns")
            assert text == f"{turns / 12:.1f}"


def test_systems_stand_against_people_by_permutation_with_a_bootstraps_interval(
    concealed: RatingsView,
) -> None:
    table = published(concealed, "medconceal", "reveal-against-people")
    assert [(record["a"], record["b"]) for record in table.records] == [
        ("Qwen-3.5-9B", "Human clinicians"), ("GPT-5.2", "Human clinicians"),
    ]  # fmt: skip
    record = next(record for record in table.records if record["a"] == "GPT-5.2")
    assert "bootstrap" in record["interval"]


def test_a_bootstraps_interval_is_scipys_and_the_p_that_of_all_sign_flips() -> None:
    rng = np.random.default_rng(9)
    a, b = rng.normal(0.3, 1, 14), rng.normal(0, 1, 14)
    rows = [
        (
            f"{system}{case}",
            system,
            f"c{case}",
            "transcript",
            "warmth",
            JUDGE,
            0,
            float(values[case]),
            None,
            None,
            None,
        )
        for system, values in (("A", a), ("B", b))
        for case in range(14)
    ]
    view = RatingsView(frame_of(rows), {}, None, "r")
    (pair,) = compare(view, metrics=["warmth"], test="permutation", bootstrap=True).pairs
    differences = a - b
    flips = np.array(list(product((1, -1), repeat=14)))
    means = flips @ differences / 14
    exact = np.mean(np.abs(means) >= abs(differences.mean()) - 1e-12)
    assert pair.test.p == pytest.approx(exact, abs=0.015)
    theirs = stats.bootstrap((differences,), np.mean, n_resamples=20_000, random_state=1).confidence_interval
    assert pair.test.interval is not None
    assert pair.test.interval.low == pytest.approx(theirs.low, abs=0.05)
    assert pair.test.interval.high == pytest.approx(theirs.high, abs=0.05)
    (inverted,) = compare(view, metrics=["warmth"], test="permutation").pairs
    assert inverted.test.p == pair.test.p
    assert inverted.test.interval != pair.test.interval
