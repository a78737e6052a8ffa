"""Small studies made by a seed, as people have them on disk: conversations, ratings of them, and preferences."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import bedside
from bedside.ratings.run import Run

Row = dict[str, Any]

#: What conversations are scored by: cheap, and with values of turns, of roles and of whole conversations.
METRICS = ("structure", "behaviour")
_PATIENT = (
    "I sleep badly.", "Work is hard these days.", "I want to change that.", "My brother says I worry.",
    "I can't stop now.", "It began in spring, when we moved house.",
)  # fmt: skip
_CLINICIAN = (
    "What brings you here?", "Do you sleep well?", "It sounds as if you are tired.", "You could walk each day.",
    "How did it begin?", "Thank you for telling me that.",
)  # fmt: skip
_CODES = {"What brings you here?": "open", "How did it begin?": "open", "Do you sleep well?": "closed"}


@dataclass(frozen=True)
class Study:
    """What a study holds, before anything is written.

    Attributes:
        talks: conversations, as bedside's own format has them.
        ratings: a rating a row, as the form ``long`` has them.
        pairs: a comparison of two conversations a row, as the form ``pairs`` has them.
        scales: of the metrics that are rated, by name.
        picked: metrics that more than two people rated, first.
    """

    talks: tuple[Row, ...]
    ratings: tuple[Row, ...]
    pairs: tuple[Row, ...] = ()
    scales: dict[str, str] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """In order."""
        return sorted({talk["system"] for talk in self.talks})

    def with_talks(self, change: Callable[[Row], Row]) -> Study:
        """The study with each conversation changed; its id stays."""
        return replace(self, talks=tuple(change(talk) for talk in self.talks))

    def with_ratings(self, change: Callable[[Row], Row]) -> Study:
        """The study with each rating changed."""
        return replace(self, ratings=tuple(change(row) for row in self.ratings))


def study(seed: int) -> Study:
    """A study whose make depends on the seed: systems, lengths, repeats, what is missing, who rated what.

    Every second one has two lengths; some have repeats, conversations that were lost, cases of one system only, three
    or four raters, people's ratings of a part that was drawn, and columns of outcomes.
    """
    rng = np.random.default_rng([seed, 29])
    systems = ["amber", "birch", "cedar"][: 2 + seed % 3 // 2]
    lengths: Sequence[int | None] = (8, 20) if seed % 2 == 0 else (None,)
    repeats = 2 if seed % 4 == 3 else 1
    cases = [f"case {number}" for number in range(1, 12)]
    unpaired = seed % 5 == 4
    talks = []
    truth: dict[str, float] = {}
    for case in cases:
        of_case = rng.normal(0, 0.7)
        for place, system in enumerate(systems):
            for length in lengths:
                for repeat in range(1, repeats + 1):
                    own = case if not unpaired else f"{case} of {system}"
                    if rng.random() < 0.06:
                        continue
                    talk = _talk(rng, system=system, case=own, length=length, repeat=repeat if repeats > 1 else None)
                    talks.append(talk)
                    truth[talk["id"]] = 3 + of_case + 0.5 * place + rng.normal(0, 0.4)
    raters = ["anna", "ben", "cleo", "dan"][: 2 + seed % 3]
    drawn = 0.6 if seed % 3 == 1 else None
    ratings: list[Row] = []
    for talk in talks:
        mean = truth[talk["id"]]
        in_sample = drawn is None or rng.random() < drawn
        for metric, shift in (("empathy", 0.0), ("partnership", 0.4)):
            for replicate in range(2):
                value = _level(mean + shift + 0.3 + rng.normal(0, 0.5))
                ratings.append(_rating(talk, metric, "judge:lab/model", value, replicate=replicate))
            for rater in raters if in_sample else ():
                value = _level(mean + shift + 0.2 * raters.index(rater) + rng.normal(0, 0.6))
                if rng.random() < 0.95:
                    ratings.append(_rating(talk, metric, rater, value, drawn=drawn))
        for rater in [*raters[:2], "judge:lab/model"] if in_sample else ["judge:lab/model"]:
            label = "yes" if mean + rng.normal(0, 0.7) > 3.2 else "no"
            ratings.append(_rating(talk, "plan_agreed", rater, label, drawn=drawn if ":" not in rater else None))
    pairs = _pairs(rng, talks, truth, [*raters[:2], "judge:lab/model"])
    scales = {"empathy": "1-5", "partnership": "1-5", "plan_agreed": "no/yes"}
    return Study(tuple(talks), tuple(ratings), tuple(pairs), scales)


def _talk(rng: np.random.Generator, *, system: str, case: str, length: int | None, repeat: int | None) -> Row:
    exchanges = int(rng.integers(2, 5)) + (2 if length == 20 else 0)
    turns: list[Row] = []
    for _ in range(exchanges):
        said = str(rng.choice(_CLINICIAN))
        codes = {
            coder: {"question": _CODES.get(said, "none") if rng.random() < 0.9 else "closed"}
            for coder in ("gil", "hana")
        }
        turns.append({"role": "clinician", "text": said, "meta": {"codes": codes}})
        turns.append({"role": "patient", "text": " ".join(rng.choice(_PATIENT, int(rng.integers(1, 4))))})
    factors = {}
    if length is not None:
        factors["target_length"] = length
    if repeat is not None:
        factors["repeat"] = repeat
    name = "-".join([system, case.replace(" ", ""), *(str(part) for part in (length, repeat) if part is not None)])
    return {
        "id": name, "system": system, "case_id": case, "language": "en", "factors": factors, "turns": turns,
    }  # fmt: skip


def _level(mean: float) -> int:
    return int(np.clip(round(mean), 1, 5))


def _rating(
    talk: Row, metric: str, rater: str, value: object, *, replicate: int = 0, drawn: float | None = None
) -> Row:
    return {
        "item": talk["id"], "rater": rater, "metric": metric, "value": value, "replicate": replicate, "drawn": drawn,
    }  # fmt: skip


def _pairs(rng: np.random.Generator, talks: Sequence[Row], truth: dict[str, float], raters: Iterable[str]) -> list[Row]:
    rows = []
    by_case: dict[tuple[Any, ...], list[Row]] = {}
    for talk in talks:
        by_case.setdefault((talk["case_id"], *talk["factors"].values()), []).append(talk)
    for together in by_case.values():
        for place, one in enumerate(together):
            for other in together[place + 1 :]:
                for rater in raters:
                    first, second = (one, other) if rng.random() < 0.5 else (other, one)
                    gap = truth[first["id"]] - truth[second["id"]] + rng.normal(0.1, 0.6)
                    preferred = "tie" if abs(gap) < 0.2 else "first" if gap > 0 else "second"
                    rows.append(
                        {
                            "first": first["id"], "second": second["id"], "rater": rater, "metric": "empathy",
                            "preferred": preferred,
                        }
                    )  # fmt: skip
    return rows


def without_codes(made: Study) -> Study:
    """The study whose turns no person coded, as tables of turns can hold it."""
    return made.with_talks(
        lambda talk: {
            **talk, "turns": [{"role": turn["role"], "text": turn["text"]} for turn in talk["turns"]],
        }
    )  # fmt: skip


def without_cases(made: Study) -> Study:
    """The study whose conversations are of no cases, so that nothing pairs them."""
    return replace(made.with_talks(lambda talk: {**talk, "case_id": None}), pairs=())


def with_own_cases(made: Study) -> Study:
    """The study in which each system has cases of its own."""
    own = lambda talk: {**talk, "case_id": f"{talk['case_id']} of {talk['system']}"}  # noqa: E731
    return replace(made.with_talks(own), pairs=())


#: Forms of a table of ratings: ending → how it is written.
RATING_FORMS = ("csv", "tsv", "xlsx", "parquet")
#: Forms of conversations.
TALK_FORMS = ("jsonl", "csv", "xlsx", "parquet")


def written_run(made: Study, folder: Path, **scoring: Any) -> Run:
    """The study written to files, scored and imported: one file of each kind."""
    folder.mkdir(parents=True, exist_ok=True)
    talks = written_talks(made, folder / "talks.jsonl")
    run = bedside.score([talks], folder / "run", metrics=list(METRICS), **scoring).run
    import_tables(made, run, folder)
    return bedside.read_run(run.path)


def import_tables(made: Study, run: Run, folder: Path, form: str = "csv") -> None:
    """The study's ratings and comparisons, brought into a run from a table each."""
    rated = {row["metric"] for row in made.ratings}
    scales = [f"{metric}={scale}" for metric, scale in made.scales.items() if metric in rated]
    for name, rows in (("ratings", made.ratings), ("pairs", made.pairs)):
        if rows:
            file = written_table(rows, folder / f"{name}.{form}")
            bedside.import_ratings(run, file, scales=scales if name == "ratings" else ())


def written_talks(made: Study, file: Path) -> Path:
    """The conversations as one file of the form that its ending says."""
    if file.suffix == ".jsonl":
        file.write_text("".join(json.dumps(talk) + "\n" for talk in made.talks), "utf-8")
        return file
    rows = [
        {
            "id": talk["id"], "system": talk["system"], "case_id": talk["case_id"], "language": talk["language"],
            **talk["factors"], "role": turn["role"], "text": turn["text"],
        }
        for talk in made.talks for turn in talk["turns"]
    ]  # fmt: skip
    return written_table(rows, file)


def written_table(rows: Sequence[Row], file: Path) -> Path:
    """Rows as a table of the form that the file's ending says."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    if file.suffix in (".csv", ".tsv"):
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, names, delimiter="\t" if file.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    elif file.suffix == ".xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        sheet = book.active
        sheet.append(names)
        for row in rows:
            sheet.append([row.get(name) for name in names])
        book.save(file)
    else:
        columns = {name: [row.get(name) for row in rows] for name in names}
        for name, values in columns.items():
            if len({type(value) for value in values if value is not None}) > 1:
                columns[name] = [None if value is None else str(value) for value in values]
        pl.DataFrame(columns).write_parquet(file)
    return file
