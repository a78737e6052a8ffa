"""Tables of a coder's evaluation: its codes and session measures beside people's."""

from __future__ import annotations

from bedside.coders.evaluation import CoderEvaluation
from bedside.reports.table import Cell, Column, Row, Table, decimal, number


def coder_tables(evaluation: CoderEvaluation) -> tuple[Table, ...]:
    """Codes with the human ceiling, labels with confusion counts, session measures, and which of these may be used."""
    return (_codes(evaluation), _labels(evaluation), _sessions(evaluation), _verdicts(evaluation))


def _codes(evaluation: CoderEvaluation) -> Table:
    records = evaluation.rows()
    notes = [
        f"{evaluation.coder} on {evaluation.transcripts} transcripts that people coded; a turn that several people "
        "coded counts as their majority says."
    ]
    if any(record["people"] for record in records):
        notes.append(
            "Ceiling: macro-F1 of one person against the majority of the others, on the turns that several people "
            "coded; there: the coder's against the same majorities."
        )
    if evaluation.refused:
        reason = evaluation.refused[0][1]
        notes.append(
            f"{len(evaluation.refused)} transcripts could not be coded, the first because: {reason}."
        )
    uncoded = sum(int(record["not_coded"]) for record in records)
    if uncoded:
        notes.append(
            f"{uncoded} turns that people coded got no code from it and count as missing, not as wrong."
        )
    if evaluation.without_codes:
        notes.append(f"{evaluation.without_codes} transcripts carry nobody's codes and are left out.")
    return Table(
        name="coder",
        title=f"Codes of {evaluation.coder} beside people's",
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


def _labels(evaluation: CoderEvaluation) -> Table:
    records = evaluation.class_rows()
    rows = []
    for record in records:
        counts = ", ".join(f"{label} {count}" for label, count in record["coded_as"].items())
        cells = (record["label"], f"{record['support']:,}", decimal(record["precision"]), decimal(record["recall"]),
                 decimal(record["f1"]), counts)  # fmt: skip
        rows.append(Row(tuple(map(Cell, cells)), record["code"]))
    return Table(
        name="coder-labels",
        title="Label by label",
        columns=(
            Column("People's label", "left"), Column("Turns"), Column("Precision"), Column("Recall"), Column("F1"),
            Column("Coded as", "left"),
        ),
        rows=tuple(rows),
        records=tuple({**record, "coded_as": str(record["coded_as"])} for record in records),
    )  # fmt: skip


def _sessions(evaluation: CoderEvaluation) -> Table:
    records = [
        {key: value for key, value in record.items() if key not in ("use", "why")}
        for record in evaluation.session_rows()
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
        name="coder-sessions",
        title="Measures of sessions from the coder's codes beside those from people's",
        columns=tuple(
            Column(
                column.replace("_", " ").capitalize().replace("Auc", "AUC"), "right" if position else "left"
            )
            for position, column in enumerate(columns)
        ),
        rows=rows,
        notes=tuple(notes),
        records=tuple(records),
    )


def _verdicts(evaluation: CoderEvaluation) -> Table:
    records = [
        {key: record[key] for key in ("measure", "use", "why")} for record in evaluation.session_rows()
    ]
    return Table(
        name="coder-verdicts",
        title="Which measures may be used with these codes in place of people's",
        columns=(Column("Measure", "left"), Column("May be used", "left"), Column("Why", "left")),
        rows=tuple(Row(tuple(Cell(str(value)) for value in record.values())) for record in records),
        records=tuple(records),
    )


def _shown(value: object) -> str:
    if isinstance(value, float):
        return decimal(value)
    return "–" if value is None else str(value)
