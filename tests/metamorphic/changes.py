"""Changes of a study that must change no number, each as a way to make its run, and what to read otherwise."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import bedside
from bedside.core.engines.contract import open_engine
from bedside.ratings.run import Run
from bedside.ratings.table import IMPORTED
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.transcript import Role
from tests.metamorphic.questions import Rewriting
from tests.metamorphic.studies import METRICS, Row, Study, import_tables, written_run, written_table, written_talks


@dataclass(frozen=True)
class Variant:
    """A run of the same facts in another dress.

    Attributes:
        run: the run.
        renamed: what is called otherwise in it → its first name.
        rewriting: what of its records is to be left out or read otherwise.
        part: the ``rounds`` of it that are asked about, where they have to be named.
    """

    run: Run
    renamed: Mapping[str, str] = field(default_factory=dict)
    rewriting: Rewriting | None = None
    part: Mapping[str, Any] = field(default_factory=dict)


Change = Callable[[Study, Path, int], Variant]


def _in_other_order(rows: tuple[Row, ...], seed: int) -> tuple[Row, ...]:
    return tuple(random.Random(seed).sample(rows, len(rows)))


def shuffled(made: Study, seed: int) -> Study:
    """The study with its conversations, ratings and comparisons in another order."""
    return replace(
        made,
        talks=_in_other_order(made.talks, seed),
        ratings=_in_other_order(made.ratings, seed),
        pairs=_in_other_order(made.pairs, seed),
    )


def rows_shuffled(made: Study, folder: Path, seed: int) -> Variant:
    return Variant(written_run(shuffled(made, seed), folder))


def files_split(made: Study, folder: Path, seed: int) -> Variant:
    """A file for each conversation, and two of ratings."""
    talks = folder / "talks"
    talks.mkdir(parents=True)
    for number, talk in enumerate(_in_other_order(made.talks, seed)):
        (talks / f"{number}.jsonl").write_text(json.dumps(talk) + "\n", "utf-8")
    run = bedside.score([talks], folder / "run", metrics=list(METRICS)).run
    half = len(made.ratings) // 2
    for part, rows in enumerate((made.ratings[half:], made.ratings[:half])):
        (folder / str(part)).mkdir()
        import_tables(replace(made, ratings=rows, pairs=() if part else made.pairs), run, folder / str(part))
    return Variant(bedside.read_run(run.path))


def ids_renamed(made: Study, folder: Path, seed: int) -> Variant:
    """Conversations are called otherwise, in another order of letters."""
    numbers = random.Random(seed).sample(range(1000, 9999), len(made.talks))
    names = {talk["id"]: f"t{number}" for talk, number in zip(made.talks, numbers, strict=True)}
    return Variant(written_run(_with_ids(made, names), folder), {new: old for old, new in names.items()})


def _with_ids(made: Study, names: Mapping[str, str]) -> Study:
    return Study(
        tuple({**talk, "id": names[talk["id"]]} for talk in made.talks),
        tuple({**row, "item": names[row["item"]]} for row in made.ratings),
        tuple({**row, "first": names[row["first"]], "second": names[row["second"]]} for row in made.pairs),
        made.scales,
    )


def cases_renamed(made: Study, folder: Path, seed: int) -> Variant:
    cases = sorted({talk["case_id"] for talk in made.talks if talk["case_id"]})
    numbers = random.Random(seed).sample(range(1000, 9999), len(cases))
    names: dict[str | None, str | None] = {case: f"p{number}" for case, number in zip(cases, numbers, strict=True)}
    names[None] = None
    other = made.with_talks(lambda talk: {**talk, "case_id": names[talk["case_id"]]})
    return Variant(written_run(other, folder), {str(new): str(old) for old, new in names.items() if old})


def systems_renamed(made: Study, folder: Path, seed: int) -> Variant:
    """Other names, in the same order."""
    names = {system: f"model-{place}" for place, system in enumerate(made.systems)}
    other = made.with_talks(lambda talk: {**talk, "system": names[talk["system"]]})
    return Variant(written_run(other, folder), {new: old for old, new in names.items()})


def raters_renamed(made: Study, folder: Path, seed: int) -> Variant:
    """People are called otherwise, in another order of letters."""
    people = sorted({row["rater"] for row in made.ratings if ":" not in row["rater"]})
    names = {name: f"coder{9 - place}" for place, name in enumerate(people)}
    rename = lambda row: {**row, "rater": names.get(row["rater"], row["rater"])}  # noqa: E731
    other = replace(made.with_ratings(rename), pairs=tuple(map(rename, made.pairs)))
    return Variant(written_run(other, folder), {new: old for old, new in names.items()})


def ratings_as(form: str) -> Change:
    """The ratings as another form of table."""

    def change(made: Study, folder: Path, seed: int) -> Variant:
        folder.mkdir(parents=True)
        return Variant(_scored(made, written_talks(made, folder / "talks.jsonl"), folder, form))

    return change


def ratings_by_rater(made: Study, folder: Path, seed: int) -> Variant:
    """People's ratings with a column for each of them, a table a metric; judges' as before."""
    folder.mkdir(parents=True)
    people = [row for row in made.ratings if ":" not in row["rater"] and row["drawn"] is None]
    rest = tuple(row for row in made.ratings if ":" in row["rater"] or row["drawn"] is not None)
    run = _scored(replace(made, ratings=rest), written_talks(made, folder / "talks.jsonl"), folder)
    for metric in dict.fromkeys(row["metric"] for row in people):
        by_item: dict[str, Row] = {}
        for row in people:
            if row["metric"] == metric:
                by_item.setdefault(row["item"], {"item": row["item"]})[row["rater"]] = row["value"]
        file = written_table(list(by_item.values()), folder / f"{metric}.csv")
        bedside.import_ratings(run, file, metric=metric, scales=[made.scales[metric]])
    return Variant(bedside.read_run(run.path))


def numbers_as_text(made: Study, folder: Path, seed: int) -> Variant:
    """Levels as spreadsheets write them: 4.0, or with a space."""
    rng = random.Random(seed)

    def change(row: Row) -> Row:
        value = row["value"]
        return {
            **row,
            "value": rng.choice((f"{value}.0", f" {value}", f"{value} ")) if isinstance(value, int) else value,
        }

    return Variant(written_run(made.with_ratings(change), folder))


def empty_rows(made: Study, folder: Path, seed: int) -> Variant:
    """Rows without a rating, as a spreadsheet keeps them, of raters and things that are rated elsewhere in it."""
    rng = random.Random(seed)
    some = [row for row in made.ratings if ":" not in row["rater"]]
    rated = {(row["item"], row["metric"], row["rater"]) for row in some}
    empty = []
    for row in rng.sample(some, 12):
        other = rng.choice(some)
        if (row["item"], row["metric"], other["rater"]) not in rated:
            empty.append({**row, "rater": other["rater"], "value": ""})
    return Variant(written_run(replace(made, ratings=(*made.ratings, *empty)), folder))


def columns_in_capitals(made: Study, folder: Path, seed: int) -> Variant:
    """The table's columns in another order, and their names in capitals."""
    rows = tuple({name.upper(): row[name] for name in reversed(row)} for row in made.ratings)
    folder.mkdir(parents=True)
    run = _scored(replace(made, ratings=()), written_talks(made, folder / "talks.jsonl"), folder)
    file = written_table(rows, folder / "ratings.csv")
    bedside.import_ratings(run, file, scales=[f"{metric}={scale}" for metric, scale in made.scales.items()])
    return Variant(bedside.read_run(run.path))


def with_factor(values: Callable[[random.Random, int, Row], object]) -> Change:
    def change(made: Study, folder: Path, seed: int) -> Variant:
        rng = random.Random(seed)
        talks = tuple(
            {**talk, "factors": {**talk["factors"], "extra": values(rng, place, talk)}}
            for place, talk in enumerate(made.talks)
        )
        return Variant(written_run(replace(made, talks=talks), folder))

    return change


def with_a_case_each(made: Study, folder: Path, seed: int) -> Variant:
    """Conversations of no case, each of a case of its own: what is said of cases is another, and no number."""
    own = made.with_talks(lambda talk: {**talk, "case_id": f"of {talk['id']}"})
    return Variant(written_run(own, folder), rewriting=_without(fields=("caseless", "case_id")))


def _with_outcomes(made: Study, folder: Path, seed: int) -> Variant:
    """What is known after a conversation: how it ended, how long it was, what it cost."""
    rng = random.Random(seed)

    def told(talk: Row) -> Row:
        completed = rng.random() < (0.9 if talk["system"] == made.systems[0] else 0.5)
        known = {
            "completed": completed, "stop": "goal" if completed else rng.choice(["limit", "silence"]),
            "turns": len(talk["turns"]), "cost": round(rng.random(), 3), "status": "ok" if completed else "cut",
        }  # fmt: skip
        return {**talk, "factors": {**talk["factors"], **known}}

    return Variant(
        written_run(made.with_talks(told), folder), rewriting=_without("completed", "mean of absolute changes")
    )


def with_unrelated_metric(made: Study, folder: Path, seed: int) -> Variant:
    """A metric more that everybody rated: its rows are new, and families of tests are larger by its."""
    rng = random.Random(seed)
    new = [
        {**row, "metric": "warmth", "value": rng.randint(1, 5)} for row in made.ratings if row["metric"] == "empathy"
    ]
    other = replace(made, ratings=(*made.ratings, *new), scales={**made.scales, "warmth": "1-5"})
    return Variant(
        written_run(other, folder),
        rewriting=_without("warmth", "Warmth", "mean of absolute changes", "Ratings given", "Checked against"),
    )


def with_unrelated_rater(made: Study, folder: Path, seed: int) -> Variant:
    """A person more, who rates by a metric of their own, conversations and turns."""
    rng = random.Random(seed)
    new = [
        {**_by_nora(talk["id"], metric, rng.randint(1, 5)), "turn": turn}
        for talk in made.talks if rng.random() < 0.7
        for metric, turn in (("tempo", None), ("tempo_of_turns", 0), ("tempo_of_turns", 2))
    ]  # fmt: skip
    scales = {**made.scales, "tempo": "1-5", "tempo_of_turns": "1-5"}
    other = replace(made, ratings=(*made.ratings, *new), scales=scales)
    return Variant(
        written_run(other, folder),
        rewriting=_without("tempo", "Tempo", "nora", "mean of absolute changes", "Ratings given"),
    )


def _by_nora(item: str, metric: str, value: object) -> Row:
    return {"item": item, "rater": "nora", "metric": metric, "value": value, "replicate": 0, "drawn": None}


def with_other_round(made: Study, folder: Path, seed: int) -> Variant:
    """A pilot in which the same people and another rated, and preferred, otherwise; the first round is asked about."""
    rng = random.Random(seed)
    run = written_run(made, folder)
    people = [row for row in made.ratings if ":" not in row["rater"] and rng.random() < 0.6]
    pilot = []
    for row in people:
        value = rng.randint(1, 5) if isinstance(row["value"], int) else rng.choice(("yes", "no"))
        pilot.append({**row, "value": value, "drawn": None})
    pilot += [_by_nora(row["item"], row["metric"], row["value"]) for row in pilot if row["rater"] == people[0]["rater"]]
    pairs = [
        {**row, "preferred": rng.choice(("first", "second", "tie"))}
        for row in made.pairs if ":" not in row["rater"]
    ]  # fmt: skip
    (folder / "pilot").mkdir()
    for name, rows in (("ratings", pilot), ("pairs", pairs)):
        if rows:
            bedside.import_ratings(run, written_table(rows, folder / "pilot" / f"{name}.csv"), round="pilot")
    return Variant(bedside.read_run(run.path), part={"rounds": [IMPORTED]})


#: Tables whose numbers are of all systems together.
_OF_ALL_SYSTEMS = (
    "agreement", "generalisability", "confusion", "judge_card", "validation", "decisions", "bias", "accuracy",
    "calibration", "raters", "missing", "overall", "quartiles", "strengths", "win_rates", "rubrics", "missing_bounds",
)  # fmt: skip


def with_other_system(made: Study, folder: Path, seed: int) -> Variant:
    """A third system on the same cases, and what is rated of it."""
    rng = random.Random(seed)
    source = made.systems[0]
    talks = [
        {**talk, "id": "zinnia-" + talk["id"], "system": "zinnia"} for talk in made.talks if talk["system"] == source
    ]
    known = {talk["id"] for talk in made.talks if talk["system"] == source}
    ratings = [
        {
            **row,
            "item": "zinnia-" + row["item"],
            "value": rng.randint(1, 5) if isinstance(row["value"], int) else row["value"],
        }
        for row in made.ratings
        if row["item"] in known
    ]
    other = replace(made, talks=(*made.talks, *talks), ratings=(*made.ratings, *ratings))
    return Variant(written_run(other, folder), rewriting=_without("zinnia", tables=_OF_ALL_SYSTEMS))


#: What a family of tests makes of the p of each.
_OF_FAMILIES = ("p_corrected", "family_size")
#: What it makes of intervals that hold at every look: α is divided by its size, and few cases may leave none.
_AT_EVERY_LOOK = (
    "level", "interval", "low", "high", "low_open", "high_open", "missing", "difference_low", "difference_high",
    "difference_method",
)  # fmt: skip


def _without(*words: str, fields: Collection[str] = _OF_FAMILIES, tables: Collection[str] = ()) -> Rewriting:
    """Records that name none of these words and are of none of these tables, without these fields.

    Where families may be larger, intervals of differences that hold at every look are left out, too.
    """

    def rewritten(table: str, record: dict[str, Any]) -> dict[str, Any] | None:
        if any(word in json.dumps(record) for word in words) or table in tables:
            return None
        at_every_look = table == "comparison" and "confidence sequence" in record["method"]
        apart = {*fields, *(_AT_EVERY_LOOK if at_every_look and fields == _OF_FAMILIES else ())}
        return {name: value for name, value in record.items() if name not in apart}

    return rewritten


def imported_twice(made: Study, folder: Path, seed: int) -> Variant:
    run = written_run(made, folder)
    import_tables(made, run, folder)
    return Variant(bedside.read_run(run.path))


def copied(made: Study, folder: Path, seed: int) -> Variant:
    run = written_run(made, folder / "first")
    shutil.copytree(run.path, folder / "copy")
    return Variant(bedside.read_run(folder / "copy"))


def merged(made: Study, folder: Path, seed: int) -> Variant:
    """Each system scored and rated in a run of its own, and pairs imported when they are together."""
    parts = []
    for system in made.systems:
        talks = tuple(talk for talk in made.talks if talk["system"] == system)
        ids = {talk["id"] for talk in talks}
        part = replace(made, talks=talks, ratings=tuple(row for row in made.ratings if row["item"] in ids), pairs=())
        parts.append(written_run(part, folder / system).path)
    bedside.merge(parts, folder / "all")
    import_tables(replace(made, ratings=()), bedside.read_run(folder / "all"), folder)
    return Variant(bedside.read_run(folder / "all"))


def halves_merged(made: Study, folder: Path, seed: int) -> Variant:
    """The conversations in two runs, each rated there: people's sample of each is a stratum of the merged run."""
    rng = random.Random(seed)
    first = {talk["id"] for talk in made.talks if rng.random() < 0.5} | {made.talks[0]["id"]}
    parts = []
    for number, inside in enumerate((True, False)):
        part = replace(
            made,
            talks=tuple(talk for talk in made.talks if (talk["id"] in first) == inside),
            ratings=tuple(row for row in made.ratings if (row["item"] in first) == inside),
            pairs=(),
        )
        parts.append(written_run(part, folder / str(number)).path)
    bedside.merge(parts, folder / "all")
    import_tables(replace(made, ratings=()), bedside.read_run(folder / "all"), folder)
    return Variant(bedside.read_run(folder / "all"), rewriting=_of_the_judge)


def _of_the_judge(table: str, record: dict[str, Any]) -> dict[str, Any]:
    """Of estimates what strata don't change: the judge's mean, and how many it and people rated."""
    fixed = ("metric", "judge", "quantity", "naive", "judged", "labelled", "labelled_cases")
    return {name: record[name] for name in fixed} if table == "estimate" else record


def by_an_engine(made: Study, folder: Path, seed: int) -> Variant:
    with open_engine("local", workers=2) as engine:
        return Variant(written_run(made, folder, engine=engine))


def in_case_and_space(made: Study, folder: Path, seed: int) -> Variant:
    """Names and labels typed in capitals, and with spaces around them, in some rows."""
    rng = random.Random(seed)

    def typed(text: Any) -> Any:
        if not isinstance(text, str) or ":" in text:
            return text
        return rng.choice((text, text.upper(), text.capitalize(), f" {text}", f"{text} "))

    def change(row: Row) -> Row:
        return {**row, "rater": typed(row["rater"]), "metric": typed(row["metric"]), "value": typed(row["value"])}

    return Variant(written_run(made.with_ratings(change), folder))


def columns_beside_ratings(made: Study, folder: Path, seed: int) -> Variant:
    """Columns of ratings that say nothing: a date, a comment, a number of the row."""
    rng = random.Random(seed)
    rows = tuple(
        {
            **row, "date": f"2026-01-{rng.randint(1, 28):02d}", "comment": f"I thought of {place} things, and of more",
            "row": place, "site": rng.choice("AB"),
        }
        for place, row in enumerate(made.ratings)
    )  # fmt: skip
    return Variant(written_run(replace(made, ratings=rows), folder), rewriting=_without(fields=("reason",)))


#: Who is who in a chat, as a user says it: what is said here at random can look as if the model played the patient.
_WHO_IS_WHO: Mapping[str, Role] = {"assistant": "clinician", "user": "patient"}


def as_chat(prompts: bool) -> Change:
    """Logs of a chat, and whether a system prompt and calls of tools stand among what was said.

    What was said stays what it was; prompts and calls are shown beside it, which a plain file has not.
    """

    def change(made: Study, folder: Path, seed: int) -> Variant:
        folder.mkdir(parents=True)
        file = folder / "chat.jsonl"
        file.write_text("".join(json.dumps(_chat(talk, prompts)) + "\n" for talk in made.talks), "utf-8")
        run = _scored(made, file, folder, options=ReadOptions(roles=_WHO_IS_WHO))
        return Variant(run, rewriting=_without(fields=(), tables=("provenance",)) if prompts else None)

    return change


def _chat(talk: Row, prompts: bool) -> Row:
    role = {side: name for name, side in _WHO_IS_WHO.items()}
    messages: list[Row] = []
    if prompts:
        messages.append({"role": "system", "content": f"You are {talk['system']}, a warm bot. Reply in two lines."})
    for number, turn in enumerate(talk["turns"]):
        if prompts and number == 2:
            call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": "c1", "content": "Sleep: see page 3 of the leaflet."})
        messages.append({"role": role[turn["role"]], "content": turn["text"]})
    told = {name: talk[name] for name in ("id", "system", "case_id", "language")}
    return {**told, **talk["factors"], "messages": messages}


def _scored(made: Study, file: Path, folder: Path, rating_form: str = "csv", **scoring: Any) -> Run:
    run = bedside.score([file], folder / "run", metrics=list(METRICS), **scoring).run
    import_tables(made, run, folder, rating_form)
    return bedside.read_run(run.path)


def talks_as(name: str) -> Change:
    """The conversations as a table of turns."""

    def change(made: Study, folder: Path, seed: int) -> Variant:
        folder.mkdir(parents=True)
        return Variant(_scored(made, written_talks(made, folder / name), folder))

    return change


def talks_zipped(made: Study, folder: Path, seed: int) -> Variant:
    folder.mkdir(parents=True)
    file = folder / "talks.json.gz"
    file.write_bytes(gzip.compress(json.dumps(made.talks).encode()))
    return Variant(_scored(made, file, folder))


_DATES = ("2026-01-05", "2026-01-06", "2026-02-11", "2026-03-01", "2026-03-09", "2026-05-20")
UNCHANGED: Mapping[str, Change] = {
    "rows shuffled": rows_shuffled,
    "files split": files_split,
    "ids renamed": ids_renamed,
    "cases renamed": cases_renamed,
    "systems renamed": systems_renamed,
    "raters renamed": raters_renamed,
    "ratings as XLSX": ratings_as("xlsx"),
    "ratings as Parquet": ratings_as("parquet"),
    "ratings as TSV": ratings_as("tsv"),
    "a column for each rater": ratings_by_rater,
    "numbers as text": numbers_as_text,
    "empty rows": empty_rows,
    "columns in capitals": columns_in_capitals,
    "constant column": with_factor(lambda rng, place, talk: "v2"),
    "unique column": with_factor(lambda rng, place, talk: f"session {place}"),
    "unique number": with_factor(lambda rng, place, talk: place * 17),
    "two random levels": with_factor(lambda rng, place, talk: rng.choice("xy")),
    "five random levels": with_factor(lambda rng, place, talk: f"site {rng.randint(1, 5)}"),
    "44 random levels": with_factor(lambda rng, place, talk: f"topic {rng.randint(1, 44)}"),
    "dates": with_factor(lambda rng, place, talk: rng.choice(_DATES)),
    "free text": with_factor(lambda rng, place, talk: f"Note {rng.randint(1, 9)}: the line was bad at the beginning."),
    "outcomes": _with_outcomes,
    "unrelated metric": with_unrelated_metric,
    "unrelated rater": with_unrelated_rater,
    "other round": with_other_round,
    "other system": with_other_system,
    "imported twice": imported_twice,
    "copied": copied,
    "systems merged": merged,
    "halves merged": halves_merged,
    "by an engine": by_an_engine,
    "case and space": in_case_and_space,
    "columns beside ratings": columns_beside_ratings,
}
#: Of a study whose turns nobody coded.
UNCHANGED_UNCODED: Mapping[str, Change] = {
    "talks as CSV": talks_as("talks.csv"),
    "talks as XLSX": talks_as("talks.xlsx"),
    "talks as Parquet": talks_as("talks.parquet"),
    "talks zipped": talks_zipped,
    "a chat": as_chat(False),
    "a chat with prompts and tools": as_chat(True),
}
#: Of a study whose conversations are of no cases.
UNCHANGED_CASELESS: Mapping[str, Change] = {
    "a case each": with_a_case_each,
    **{
        name: UNCHANGED[name]
        for name in (
            "ids renamed", "systems merged", "two random levels", "rows shuffled", "files split", "systems renamed",
            "44 random levels", "outcomes", "unrelated metric", "unrelated rater", "other system", "imported twice",
            "halves merged",
        )
    },
}  # fmt: skip
#: Of a study each of whose systems has cases of its own.
UNCHANGED_UNPAIRED: Mapping[str, Change] = {
    name: UNCHANGED[name]
    for name in (
        "five random levels", "cases renamed", "systems merged", "rows shuffled", "ids renamed", "two random levels",
        "44 random levels", "outcomes", "other round", "other system", "halves merged",
    )
}  # fmt: skip
