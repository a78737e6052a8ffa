"""Tables of a coder's evaluation: its codes and session measures beside people's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedside.core.words import counted
from bedside.metrics.coders.testing.coder_test import CoderTest
from bedside.reports.number_text import decimal, number
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row


def coder_tables(coder_test: CoderTest) -> tuple[Table, ...]:
    """Codes with the human ceiling, labels with confusion counts, session measures, and which of these may be used."""
    return (_codes(coder_test), _labels(coder_test), _sessions(coder_test), _verdicts(coder_test))


def _codes(coder_test: CoderTest) -> Table:
    records = coder_test.rows()
    notes = [
        f"{coder_test.coder} on {counted(coder_test.transcripts, 'transcript')} that people coded; a turn that several "
        "people coded counts as their majority says."
    ]
    if any(record["people"] for record in records):
        notes.append(
            "Ceiling: macro-F1 of one person against the majority of the others, on the turns that several people "
            "coded; there: the coder's against the same majorities."
        )
    if coder_test.refused:
        reason = coder_test.refused[0][1]
        notes.append(
            f"{counted(len(coder_test.refused), 'transcript')} could not be coded, the first because: {reason}."
        )
    uncoded = sum(int(record["not_coded"]) for record in records)
    if uncoded:
        notes.append(f"{counted(uncoded, 'turn')} that people coded got no code from it: missing, and not wrong.")
    if coder_test.without_codes:
        notes.append(f"Left out: {counted(coder_test.without_codes, 'transcript')} without anybody's codes.")
    return Table(
        name="coder",
        title=f"Codes of {coder_test.coder} beside people's",
        columns=(
            Column("Code", "left"), Column("Turns"), Column("Macro-F1"), Column("Accuracy"), Column("κ"),
            Column("Shared turns"), Column("Ceiling"), Column("There"), Column("Share of ceiling"),
        ),
        rows=tuple(
            Row(tuple(map(Cell, (
                record["code"], f"{record['turns']:,}", decimal(record["macro_f1"], 3), decimal(record["accuracy"], 3),
                decimal(record["kappa"], 3), number(record["shared_turns"], 0), decimal(record["people_macro_f1"], 3),
                decimal(record["coder_macro_f1_there"], 3), decimal(record["share_of_people"], 2),
            ))))
            for record in records
        ),
        notes=tuple(notes),
        records=tuple(records),
    )  # fmt: skip


def _labels(coder_test: CoderTest) -> Table:
    records = coder_test.class_rows()
    rows = []
    for record in records:
        counts = ", ".join(f"{label} {count}" for label, count in record["coded_as"].items())
        cells = (record["label"], f"{record['support']:,}", decimal(record["precision"]), decimal(record["recall"]),
                 decimal(record["f1"]), counts)  # fmt: skip
        rows.append(Row(tuple(map(Cell, cells)), record["code"]))
    return Table(
        name="coder_labels",
        title="Label by label",
        columns=(
            Column("People's label", "left"), Column("Turns"), Column("Precision"), Column("Recall"), Column("F1"),
            Column("Coded as", "left"),
        ),
        rows=tuple(rows),
        records=tuple({**record, "coded_as": str(record["coded_as"])} for record in records),
    )  # fmt: skip


def _sessions(coder_test: CoderTest) -> Table:
    records = [
        {key: value for key, value in record.items() if key not in ("use", "why")}
        for record in coder_test.session_rows()
    ]
    if all(record["auc_people"] is None for record in records):
        for record in records:
            del record["auc_people"], record["auc_coder"]
    columns = list(records[0]) if records else ["measure"]
    rows = tuple(Row(tuple(Cell(_shown(record[column])) for column in columns)) for record in records)
    notes = ["Means over sessions; people's codes and the coder's on the same turns."]
    if "auc_people" in columns:
        notes.append(
            "AUC: how well a measure separates sessions of high from those of low quality, in the direction in which "
            "people's does."
        )
    return Table(
        name="coder_sessions",
        title="Measures of sessions from the coder's codes beside those from people's",
        columns=tuple(
            Column(column.replace("_", " ").capitalize().replace("Auc", "AUC"), "right" if position else "left")
            for position, column in enumerate(columns)
        ),
        rows=rows,
        notes=tuple(notes),
        records=tuple(records),
    )


def _verdicts(coder_test: CoderTest) -> Table:
    records = [{key: record[key] for key in ("measure", "use", "why")} for record in coder_test.session_rows()]
    return Table(
        name="coder_verdicts",
        title="Which measures may be used with these codes in place of people's",
        columns=(Column("Measure", "left"), Column("May be used", "left"), Column("Why", "left")),
        rows=tuple(Row(tuple(Cell(str(value)) for value in record.values())) for record in records),
        records=tuple(records),
    )


def _shown(value: object) -> str:
    if isinstance(value, float):
        return decimal(value)
    return "–" if value is None else str(value)


def card_tables(card: Mapping[str, Any], rater: str) -> tuple[Table, ...]:
    """A trained coder's card: its facts, the turns it was trained on, and its scores out of fold."""
    return (_facts(card, rater), _trained_on(card), _scores(card), _measures(card))


def _facts(card: Mapping[str, Any], rater: str) -> Table:
    training, features, fold = card["training"], card["features"], card["out_of_fold"]
    embeddings = features["embeddings"]
    facts = {
        "Name in ratings": rater,
        "Date": card["date"],
        "Codes": ", ".join(card["codes"]),
        "Trained on": f"{counted(training['transcripts'], 'transcript')} coded by "
        f"{counted(training['people'], 'person')}",
        "Language": ", ".join(training["languages"]) or "not stated",
        "Training data (SHA-256)": training["sha256"],
        "Left out": f"{counted(training['without_codes'], 'transcript')} without codes",
        "N-grams": features["ngrams"],
        "Embeddings": "none"
        if embeddings is None
        else f"{embeddings['name']}, {embeddings['dimensions']} dimensions, SHA-256 {embeddings['sha256']}",
        "Scores below": f"out of fold by transcript, {counted(fold['folds'], 'fold')}, seed {fold['seed']}",
        "Made with": ", ".join(f"{name} {value}" for name, value in card["made_with"].items()),
    }
    return Table(
        name="coder_card",
        title=f"Coder {card['name']}",
        columns=(Column("Fact", "left"), Column("", "left")),
        rows=tuple(Row((Cell(name), Cell(str(value)))) for name, value in facts.items()),
        records=tuple({"fact": name, "value": str(value)} for name, value in facts.items()),
    )


def _trained_on(card: Mapping[str, Any]) -> Table:
    training = card["training"]
    records: list[dict[str, Any]] = [
        {
            "code": code,
            "label": label,
            "turns": count,
            "learned": label in card["codes"].get(code, ()),
        }
        for code, counts in training["turns"].items()
        for label, count in counts.items()
    ]
    ties = ", ".join(f"{code} {count}" for code, count in training["ties_left_out"].items() if count)
    return Table(
        name="coder_training",
        title="Turns it was trained on",
        columns=(Column("Label", "left"), Column("Turns"), Column("Learned", "left")),
        rows=tuple(
            Row(
                (Cell(r["label"]), Cell(f"{r['turns']:,}"), Cell("yes" if r["learned"] else "no: too rare")),
                r["code"],
            )
            for r in records
        ),
        notes=(f"Left out because people were tied: {ties}.",) if ties else (),
        records=tuple(records),
    )


def _scores(card: Mapping[str, Any]) -> Table:
    records = card["out_of_fold"]["codes"]
    return Table(
        name="coder_scores",
        title="Codes out of fold, beside people's agreement",
        columns=(
            Column("Code", "left"), Column("Turns"), Column("Macro-F1"), Column("Accuracy"), Column("κ"),
            Column("Ceiling"), Column("Share of ceiling"),
        ),
        rows=tuple(
            Row(tuple(map(Cell, (
                record["code"], f"{record['turns']:,}", decimal(record["macro_f1"], 3), decimal(record["accuracy"], 3),
                decimal(record["kappa"], 3), decimal(record["people_macro_f1"], 3),
                decimal(record["share_of_people"], 2),
            ))))
            for record in records
        ),
        records=tuple(records),
    )  # fmt: skip


def _measures(card: Mapping[str, Any]) -> Table:
    records = card["out_of_fold"]["sessions"]
    return Table(
        name="coder_measures",
        title="Measures of sessions out of fold, and which may be used in place of people's",
        columns=(
            Column("Measure", "left"), Column("Sessions"), Column("Spearman"), Column("Mean absolute error"),
            Column("May be used", "left"), Column("Why", "left"),
        ),
        rows=tuple(
            Row(tuple(map(Cell, (
                record["measure"], str(record["sessions"]), decimal(record["spearman"]),
                decimal(record["mean_absolute_error"]), record["use"], record["why"],
            ))))
            for record in records
        ),
        records=tuple(records),
    )  # fmt: skip
