"""Tables of a coder's evaluation: its codes and session measures beside people's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from bedside.core.words import counted
from bedside.metrics.coders.testing.coder_test import CoderTest
from bedside.reports.columns import Column, Table, recorded, table_of
from bedside.reports.notes import Note, note, noted
from bedside.reports.number_text import DASH, decimal, number
from bedside.reports.table_content import plainly

# Rows are the entries that a test or a card holds, and are recorded as they are.


def _entry(title: str, name: str, form: Callable[[Any], str] = plainly) -> Column:
    """A column of an entry's numbers."""
    return Column(title, value=itemgetter(name), form=form)


def _words(title: str, name: str, form: Callable[[Any], str] = str) -> Column:
    """A column of an entry's words."""
    return Column(title, "left", value=itemgetter(name), form=form)


def _fine(value: float | None) -> str:
    return decimal(value, 3)


_SCORE_COLUMNS = (
    _words("Code", "code"),
    _entry("Turns", "turns"),
    _entry("Macro-F1", "macro_f1", _fine),
    _entry("Accuracy", "accuracy", _fine),
    _entry("κ", "kappa", _fine),
)
_CEILING = _entry("Ceiling", "people_macro_f1", _fine)
_SHARE = _entry("Share of ceiling", "share_of_people", decimal)

# -- A coder's evaluation -------------------------------------------------------------------------------

CODE_COLUMNS = (
    recorded(dict),
    *_SCORE_COLUMNS,
    _entry("Shared turns", "shared_turns", lambda turns: number(turns, 0)),
    _CEILING,
    _entry("There", "coder_macro_f1_there", _fine),
    _SHARE,
)
LABEL_COLUMNS = (
    recorded(lambda entry: entry | {"coded_as": str(entry["coded_as"])}),
    _words("People's label", "label"),
    _entry("Turns", "support"),
    _entry("Precision", "precision", decimal),
    _entry("Recall", "recall", decimal),
    _entry("F1", "f1", decimal),
    _words("Coded as", "coded_as", lambda counts: ", ".join(f"{label} {count}" for label, count in counts.items())),
)
VERDICT_COLUMNS = (
    recorded(lambda entry: {name: entry[name] for name in ("measure", "use", "why")}),
    _words("Measure", "measure"),
    _words("May be used", "use"),
    _words("Why", "why"),
)
SESSIONS_MEANING = Note(
    "coder sessions.meaning", "Means over sessions; people's codes and the coder's on the same turns."
)


@note("coder.people")
def people(coder_test: CoderTest) -> Iterator[str]:
    """Whom the coder is held against."""
    yield (
        f"{coder_test.coder} on {counted(coder_test.transcripts, 'transcript')} that people coded; a turn that several "
        "people coded counts as their majority says."
    )
    if any(score.ceiling and score.ceiling.people for score in coder_test.scores):
        yield (
            "Ceiling: macro-F1 of one person against the majority of the others, on the turns that several people "
            "coded; there: the coder's against the same majorities."
        )


@note("coder.left out", "Turns")
def left_out(coder_test: CoderTest) -> Iterator[str]:
    """What got no code, and why."""
    if coder_test.refused:
        reason = coder_test.refused[0][1]
        yield f"{counted(len(coder_test.refused), 'transcript')} could not be coded, the first because: {reason}."
    uncoded = sum(score.not_coded for score in coder_test.scores)
    if uncoded:
        yield f"{counted(uncoded, 'turn')} that people coded got no code from it: missing, and not wrong."
    if coder_test.without_codes:
        yield f"Left out: {counted(coder_test.without_codes, 'transcript')} without anybody's codes."


def coder_tables(coder_test: CoderTest) -> tuple[Table, ...]:
    """Codes with the human ceiling, labels with confusion counts, session measures, and which of these may be used."""
    return (
        table_of("coder", f"Codes of {coder_test.coder} beside people's", coder_test.rows(), CODE_COLUMNS,
                 notes=noted((people, left_out), coder_test)),
        table_of("coder_labels", "Label by label", coder_test.class_rows(), LABEL_COLUMNS, group=itemgetter("code")),
        _sessions(coder_test),
        table_of("coder_verdicts", "Which measures may be used with these codes in place of people's",
                 coder_test.session_rows(), VERDICT_COLUMNS),
    )  # fmt: skip


def _sessions(coder_test: CoderTest) -> Table:
    """A column for each figure of a session; those of quality where it is known."""
    sessions = coder_test.session_rows()
    left = {"use", "why"}
    if all(entry["auc_people"] is None for entry in sessions):
        left |= {"auc_people", "auc_coder"}
    names = [name for name in (sessions[0] if sessions else ["measure"]) if name not in left]
    columns = [
        Column(name.replace("_", " ").capitalize().replace("Auc", "AUC"), "right" if place else "left", field=name,
               value=itemgetter(name), form=_shown)
        for place, name in enumerate(names)
    ]  # fmt: skip
    auc = (
        "AUC: how well a measure separates sessions of high from those of low quality, in the direction in which "
        "people's does."
    )
    return table_of("coder_sessions", "Measures of sessions from the coder's codes beside those from people's",
                    sessions, columns, notes=(SESSIONS_MEANING, *([auc] if "auc_people" in names else [])))  # fmt: skip


def _shown(value: object) -> str:
    if isinstance(value, float):
        return decimal(value)
    return DASH if value is None else str(value)


# -- A trained coder's card -----------------------------------------------------------------------------

FACT_COLUMNS = (
    Column("Fact", "left", field="fact", value=itemgetter(0)),
    Column("", "left", field="value", value=itemgetter(1)),
)
TRAINING_COLUMNS = (
    recorded(dict),
    _words("Label", "label"),
    _entry("Turns", "turns"),
    _words("Learned", "learned", lambda learned: "yes" if learned else "no: too rare"),
)
OUT_OF_FOLD_COLUMNS = (recorded(dict), *_SCORE_COLUMNS, _CEILING, _SHARE)
MEASURE_COLUMNS = (
    recorded(dict),
    _words("Measure", "measure"),
    _entry("Sessions", "sessions", str),
    _entry("Spearman", "spearman", decimal),
    _entry("Mean absolute error", "mean_absolute_error", decimal),
    _words("May be used", "use"),
    _words("Why", "why"),
)


@note("coder training.ties", "Turns")
def ties(training: Mapping[str, Any]) -> Iterator[str]:
    """Turns without a majority."""
    counts = ", ".join(f"{code} {count}" for code, count in training["ties_left_out"].items() if count)
    if counts:
        yield f"Left out because people were tied: {counts}."


def card_tables(card: Mapping[str, Any], rater: str) -> tuple[Table, ...]:
    """A trained coder's card: its facts, the turns it was trained on, and its scores out of fold."""
    training = card["training"]
    turns = [
        {"code": code, "label": label, "turns": count, "learned": label in card["codes"].get(code, ())}
        for code, counts in training["turns"].items()
        for label, count in counts.items()
    ]
    return (
        table_of("coder_card", f"Coder {card['name']}", _facts(card, rater).items(), FACT_COLUMNS),
        table_of("coder_training", "Turns it was trained on", turns, TRAINING_COLUMNS, group=itemgetter("code"),
                 notes=ties.texts(training)),
        table_of("coder_scores", "Codes out of fold, beside people's agreement", card["out_of_fold"]["codes"],
                 OUT_OF_FOLD_COLUMNS),
        table_of("coder_measures", "Measures of sessions out of fold, and which may be used in place of people's",
                 card["out_of_fold"]["sessions"], MEASURE_COLUMNS),
    )  # fmt: skip


def _facts(card: Mapping[str, Any], rater: str) -> dict[str, str]:
    training, features, fold = card["training"], card["features"], card["out_of_fold"]
    embeddings = features["embeddings"]
    return {
        "Name in ratings": rater,
        "Date": str(card["date"]),
        "Codes": ", ".join(card["codes"]),
        "Trained on": f"{counted(training['transcripts'], 'transcript')} coded by "
        f"{counted(training['people'], 'person')}",
        "Language": ", ".join(training["languages"]) or "not stated",
        "Training data (SHA-256)": str(training["sha256"]),
        "Left out": f"{counted(training['without_codes'], 'transcript')} without codes",
        "N-grams": str(features["ngrams"]),
        "Embeddings": "none"
        if embeddings is None
        else f"{embeddings['name']}, {embeddings['dimensions']} dimensions, SHA-256 {embeddings['sha256']}",
        "Scores below": f"out of fold by transcript, {counted(fold['folds'], 'fold')}, seed {fold['seed']}",
        "Made with": ", ".join(f"{name} {value}" for name, value in card["made_with"].items()),
    }
