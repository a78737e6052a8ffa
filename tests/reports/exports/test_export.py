"""Runs given away: what others' tools read of them, what is not in them, and what is never overwritten."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest
import yaml

import bedside
from bedside.core.errors import BedsideError, InputError
from bedside.ratings.run import write_manifest
from bedside.reports.exports.contract import EXPORT_FORMS
from bedside.reports.exports.export import MARK
from bedside.transcripts.transcript import Transcript, Turn
from tests.conftest import Call, works
from tests.judges.llm.server import JudgeServer

TALKS, RATINGS = bedside.EXAMPLES / "transcripts.jsonl", bedside.EXAMPLES / "ratings.csv"
FOR_OTHERS: dict[str, Any] = {"licence": "cc-by-4.0"}
CITED: dict[str, Any] = {**FOR_OTHERS, "origin": "written", "citation": "@misc{a, title={```}}"}

pytestmark = pytest.mark.server  # a judge rates the run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> bedside.Run:
    """With algorithms', coders' and people's ratings, and a judge's with reasons."""
    folder = tmp_path_factory.mktemp("exports")
    scored = bedside.score(TALKS, folder / "run", metrics=["structure", "behaviour"]).run
    bedside.import_ratings(scored, RATINGS, scales="1-5")
    with JudgeServer() as server:
        bedside.judge(scored, server.judge, rubrics="empathy")
    return bedside.read_run(scored.path)


@pytest.fixture(scope="module")
def folder(run: bedside.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "dataset"
    bedside.export(run, "hf-folder", out, **CITED)
    return out


def table(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / "data" / f"{name}.parquet")


def header(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((folder / "README.md").read_text("utf-8").split("---\n")[1])
    return loaded


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of a folder, with the tables as text: what is compressed can't be searched."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        text = pl.read_parquet(file).write_csv().encode() if file.suffix == ".parquet" else file.read_bytes()
        yield file.relative_to(folder).as_posix(), text


def test_ratings_are_those_of_the_run_but_for_names(run: bedside.Run, folder: Path) -> None:
    exported = table(folder, "ratings")
    assert exported.drop("rater", "rater_kind").equals(run.ratings.drop("rater"))
    pairs = pl.DataFrame({"real": run.ratings["rater"], "other": exported["rater"]}).unique()
    by_name = dict(pairs.iter_rows())
    assert len(by_name) == pairs.height
    people = {name for name in by_name if name.startswith("human:")}
    assert {by_name[name] for name in people} == {"human:rater-1", "human:rater-2"}
    assert all(by_name[name] == name for name in by_name.keys() - people)
    named = exported.select("rater", "rater_kind").iter_rows()
    kinds = {rater.partition(":")[0]: kind for rater, kind in named}
    assert kinds == {"human": "human", "judge": "judge", "algorithm": "algorithm"}


def test_conversations_are_those_of_the_run(run: bedside.Run, folder: Path) -> None:
    turns = table(folder, "turns")
    said = [
        (talk.id, turn.index, turn.role, turn.speaker, turn.text) for talk in run.transcripts() for turn in talk.turns
    ]
    assert list(turns.drop("meta").iter_rows()) == said
    transcripts = table(folder, "transcripts")
    assert transcripts["origin"].to_list() == ["written"] * 12
    for talk, reference in zip(run.transcripts(), transcripts["reference"], strict=True):
        assert json.loads(reference) == talk.reference
    assert transcripts["factor.persona"].to_list() == [talk.factors["persona"] for talk in run.transcripts()]


def test_metrics_are_explained(folder: Path) -> None:
    rows = {row["metric"]: row for row in table(folder, "metrics").iter_rows(named=True)}
    own = [rows["empathy"][column] for column in ("levels", "better", "ratings")]
    assert own == ["1, 2, 3, 4, 5", "higher", 36]
    assert (rows["partnership"]["ratings"], rows["question"]["levels"]) == (23, "none, open, closed")
    assert all(row["definition"] for row in rows.values())


def test_the_card_says_what_the_files_hold(run: bedside.Run, folder: Path) -> None:
    head = header(folder)
    own = [head[name] for name in ("license", "language", "size_categories")]
    assert own == ["cc-by-4.0", ["en"], ["1K<n<10K"]]
    assert 1000 < table(folder, "ratings").height < 10_000
    files = {entry["data_files"][0]["path"] for entry in head["configs"]}
    assert files == {path.relative_to(folder).as_posix() for path in (folder / "data").iterdir()}
    card = (folder / "README.md").read_text("utf-8")
    for entry in head["configs"]:
        _, part = card.split(f"\n### {entry['config_name']}\n")
        for column in table(folder, entry["config_name"]).columns:
            escaped = column.replace("_", "\\_")
            assert f"\n| {escaped} | " in part.partition("\n###")[0], column
    assert "**Personal data.**" in card
    assert "12 written" in card
    judge = next(rater for rater in run.ratings["rater"].unique() if rater.startswith("judge:"))
    assert f"| {judge} | judge | 12 | 0 |" in card
    version = next(iter(run.manifest["scorings"][-1]["judges"][judge]["prompts"].values()))
    assert version in card
    assert "````bibtex\n@misc{a, title={```}}\n````" in card


def test_a_licence_that_the_hub_does_not_know_is_named(run: bedside.Run, tmp_path: Path) -> None:
    bedside.export(run, "hf-folder", tmp_path / "out", licence="DUA-1.0")
    head = header(tmp_path / "out")
    assert (head["license"], head["license_name"]) == ("other", "DUA-1.0")


@pytest.mark.slow
def test_datasets_loads_it_offline(run: bedside.Run, folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="the library datasets is not installed")
    script = """
import json, sys
from datasets import get_dataset_config_names, load_dataset
folder = sys.argv[1]
loaded = {name: load_dataset(folder, name) for name in get_dataset_config_names(folder)}
default = load_dataset(folder, split="test")
print(json.dumps({
    "rows": {name: {split: table.num_rows for split, table in tables.items()} for name, tables in loaded.items()},
    "ratings": [row["value"] for row in loaded["ratings"]["test"]],
    "columns": default.column_names,
}))
"""
    home = {"HOME": str(tmp_path), "HF_HOME": str(tmp_path / "hf")}
    environment = {"PATH": "", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", **home}
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    heights = {name: {"test": table(folder, name).height} for name in ("ratings", "metrics", "transcripts", "turns")}
    assert loaded["rows"] == heights
    assert loaded["ratings"] == run.ratings["value"].to_list()
    assert loaded["columns"] == [*run.ratings.columns, "rater_kind"]


def test_bedside_reads_its_ratings_again(run: bedside.Run, folder: Path) -> None:
    own = bedside.agree(run, metrics="empathy").to_polars()
    file = folder / "data" / "ratings.parquet"
    read = bedside.agree(file, metrics="empathy", scales="empathy=1-5").to_polars()
    people = (pl.col("between") == "people") & (pl.col("statistic") == "kappa")
    assert read.filter(people)["estimate"].to_list() == own.filter(people)["estimate"].to_list() != []


@pytest.mark.parametrize("form", EXPORT_FORMS.names())
def test_no_rater_is_named_unless_asked(form: str, run: bedside.Run, tmp_path: Path) -> None:
    if form == "convokit":
        pytest.importorskip("convokit.model", reason="ConvoKit is not installed")
    written = bedside.export(run, form, tmp_path / "out", **FOR_OTHERS)
    assert written.pseudonyms == 2
    for name, text in contents(tmp_path / "out"):
        for rater in (b"anna", b"ben"):
            assert b'"%s"' % rater not in text, name
            assert b"human:%s" % rater not in text, name
        assert str(run.path.parent).encode() not in text, name
        own = (b'read.csv("ratings.csv"', b'"ratings.csv": {')
        assert text.count(b"ratings.csv") == sum(map(text.count, own)), name
    bedside.export(run, form, tmp_path / "named", rater_names=True, **FOR_OTHERS)
    assert any(b"human:anna" in text for _, text in contents(tmp_path / "named"))


def test_reasons_call_people_by_their_other_names(tmp_path: Path) -> None:
    talk = [
        Transcript(name, (Turn(0, "clinician", "D", "How are you?"), Turn(1, "patient", "P", "Well.")))
        for name in ("a", "b")
    ]
    scored = bedside.score(talk, tmp_path / "run", metrics="turns").run
    file = tmp_path / "ratings.csv"
    file.write_text(
        "item,rater,metric,value,reason\na,al,warm,3,human:alma said 4\nb,alma,warm,4,as human:al did\n", "utf-8"
    )
    bedside.import_ratings(scored, file, scales="1-5")
    bedside.export(scored, "hf-folder", tmp_path / "out", **FOR_OTHERS)
    rows = table(tmp_path / "out", "ratings").filter(pl.col("metric") == "warm").sort("value")
    first, second = rows["rater"].to_list()
    assert rows["reason"].to_list() == [f"{second} said 4", f"as {first} did"]


def test_without_text_nothing_said_goes_along(run: bedside.Run, tmp_path: Path) -> None:
    written = bedside.export(run, "hf-folder", tmp_path / "out", text=False, **FOR_OTHERS)
    assert not written.text
    assert [entry.name for entry in written.tables] == ["ratings", "metrics", "transcripts"]
    reason = table(tmp_path / "out", "ratings").filter(pl.col("rater_kind") != "algorithm")["reason"]
    assert reason.null_count() == reason.len()
    assert "reference" not in table(tmp_path / "out", "transcripts").columns
    said = [turn.text.encode() for talk in run.transcripts() for turn in talk.turns if len(turn.text) > 20]
    assert said
    for name, text in contents(tmp_path / "out"):
        assert not any(words in text for words in said), name


def test_what_judges_were_asked_goes_along_only_where_it_is_asked_for(
    run: bedside.Run, folder: Path, tmp_path: Path
) -> None:
    assert not (folder / "data" / "judgements.parquet").exists()
    assert bedside.export(run, "hf-folder", tmp_path / "out", judgements=True, **FOR_OTHERS).judgements
    rows = table(tmp_path / "out", "judgements")
    assert rows.height == 12
    talks = {talk.id: talk for talk in run.transcripts()}
    for row in rows.iter_rows(named=True):
        assert talks[row["transcript_id"]].turns[3].text in row["prompt"]
        assert orjson.loads(row["replies"])
    assert set(rows["rater"]) <= set(run.ratings["rater"])


def test_what_was_simulated_is_known(tmp_path: Path) -> None:
    bedside.simulate(None, "note2chat", tmp_path / "talks", clinician="script:brisk", sample=1)
    talks = [*bedside.read_transcripts(tmp_path / "talks"), Transcript(
        "mine", (Turn(0, "clinician", "D", "Hello."), Turn(1, "patient", "P", "Hello.")), system="clinic"
    )]  # fmt: skip
    scored = bedside.score(talks, tmp_path / "run", metrics="turns").run
    out = tmp_path / "out"
    cases: tuple[tuple[dict[str, Any], int, str, str | None], ...] = (
        ({}, 1, " 1 conversation may be with real people: such", None),
        ({"origin": {"clinic": "recorded"}}, 0, " 1 conversation is with real people: such", "recorded"),
    )
    for more, unknown, sentence, last in cases:
        assert bedside.export(scored, "hf-folder", out, **FOR_OTHERS, **more).unknown_origins == unknown
        assert table(out, "transcripts")["origin"].to_list() == [*["simulated"] * (len(talks) - 1), last]
        assert sentence in (out / "README.md").read_text("utf-8")
        assert "synthetic" not in header(out)["tags"]
    with pytest.raises(InputError, match=r"simulated.*recorded"):
        bedside.export(scored, "hf-folder", tmp_path / "out", origin="recorded", **FOR_OTHERS)
    only = bedside.score(tmp_path / "talks", tmp_path / "only", metrics="turns").run
    bedside.export(only, "hf-folder", tmp_path / "simulated", **FOR_OTHERS)
    assert "synthetic" in header(tmp_path / "simulated")["tags"]


def test_the_same_export_is_the_same_files(run: bedside.Run, folder: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    bedside.export(run, "hf-folder", again, **CITED)
    assert dict(contents(again)) == dict(contents(folder))
    assert (again / "data" / "turns.parquet").read_bytes() == (folder / "data" / "turns.parquet").read_bytes()


def test_only_an_export_as_it_was_written_is_replaced(run: bedside.Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bedside.export(run, "csv-folder", out)
    bedside.export(run, "hf-folder", out, **FOR_OTHERS)
    assert not (out / "ratings.csv").exists()
    card = out / "README.md"
    card.write_text(card.read_text("utf-8") + "Mine.\n", "utf-8")
    with pytest.raises(InputError, match=r"changed since it was written \(README\.md\)"):
        bedside.export(run, "csv-folder", out)
    assert card.read_text("utf-8").endswith("Mine.\n")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes").touch()
    for other in (tmp_path / "file", tmp_path / "folder"):
        with pytest.raises(InputError, match="is no export that bedside wrote"):
            bedside.export(run, "csv-folder", other)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "out"]


def test_a_link_leads_to_the_folder_that_is_written(run: bedside.Run, tmp_path: Path) -> None:
    """The link was replaced by a folder, and what it led to could never be written again."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "folder", target_is_directory=True)
    for number, form in enumerate(("csv-folder", "convokit", "csv-folder")):
        if number == 1:  # an empty folder will do, too
            shutil.rmtree(tmp_path / "folder")
            (tmp_path / "folder").mkdir()
        bedside.export(run, form, link)
        assert link.is_symlink()
        assert (tmp_path / "folder" / MARK).is_file()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link"]
    (tmp_path / "folder" / "mine").touch()
    with pytest.raises(InputError, match=r"changed since it was written \(mine\)"):
        bedside.export(run, "csv-folder", link)
    assert (tmp_path / "folder" / "mine").exists()


def test_an_export_that_fails_leaves_what_was_there(
    run: bedside.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    bedside.export(run, "csv-folder", out)
    before = dict(contents(out))
    broken = tmp_path / "broken"
    shutil.copytree(run.path, broken)
    part = next((broken / "transcripts").iterdir())
    table = pl.read_parquet(part)
    table.with_columns(pl.lit("{").alias("content")).write_parquet(part)
    write_manifest(broken, run.manifest)
    with pytest.raises(BedsideError, match="missing or damaged"):
        bedside.export(broken, "csv-folder", out)
    assert dict(contents(out)) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "out"]


@pytest.mark.parametrize("files", ["[]", "{", '{"files": 3}', "[" * 5000])
def test_a_damaged_mark_marks_nothing(files: str, run: bedside.Run, tmp_path: Path) -> None:
    (tmp_path / MARK).write_text(files)
    with pytest.raises(InputError, match="is no export"):
        bedside.export(run, "csv-folder", tmp_path)


def test_no_spreadsheet_runs_what_was_said(tmp_path: Path) -> None:
    said = ["=1+1", " +cmd", "＝A1", "-3 degrees", "@x", "-3", 'He said "no", twice.\nThen he left.', "שלום"]
    turns = [Turn(index, "patient" if index else "clinician", "P", text) for index, text in enumerate(said)]
    scored = bedside.score([Transcript("a", tuple(turns))], tmp_path / "run", metrics="turns").run
    bedside.export(scored, "csv-folder", tmp_path / "out")
    read = pl.read_csv(tmp_path / "out" / "turns.csv")["text"].to_list()
    assert read == [f"'{text}" for text in said[:5]] + said[5:]


def test_the_command(call: Call, run: bedside.Run, tmp_path: Path) -> None:
    (tmp_path / "cite.bib").write_text("@misc{b}", "utf-8")
    out, err = works(
        call,
        "export", run.path, "--to", "hf-folder", "--out", "data", "--license", "cc0-1.0", "--citation", "cite.bib",
        "--origin", "steady=written,brisk=written", "--title", "A: study",
    )  # fmt: skip
    assert "2 people who rated have other names" in out
    assert "What was said is in it" in out
    assert "Of 4 conversations nobody says where they come from" in err
    assert err.endswith("Nothing was uploaded.\n")
    _, out, err = call("export", run.path, "--to", "csv-folder", "--out", "more", "--rater-names", "--json")
    (record,) = json.loads(out)[0]["rows"]
    assert record["rows"]["ratings"] == run.ratings.height
    counts = [record[name] for name in ("form", "people_renamed", "transcripts_of_unknown_origin")]
    assert counts == ["csv-folder", 0, 12]
    assert "has other names" not in err
    assert header(tmp_path / "data")["pretty_name"] == "A: study"
    assert "@misc{b}" in (tmp_path / "data" / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--to", "hf-folder"], "--licence: others must know"),
        (["--to", "hf-folder", "--licence", "my own\nlicence: x"], "is no identifier of a licence"),
        (["--to", "hf"], "there is no form of export 'hf'; known: convokit, csv-folder, hf-folder"),
        (["--to", "csv-folder", "--origin", "stedy=written"], "--origin: there is no system 'stedy'; did you mean"),
        (
            ["--to", "csv-folder", "--origin", "steady=simulated,steady=recorded"],
            "--origin: 'steady' is 'simulated' and 'recorded'; name it once",
        ),
        (["--to", "csv-folder", "--origin", "invented"], "there is no origin 'invented'"),
        (["--to", "csv-folder", "--citation", "none.bib"], "none.bib: there is no such citation"),
        (["--to", "csv-folder", "--judgements", "--no-text"], "--judgements: what judges were asked holds"),
        (["--to", "convokit", "--judgements"], "--judgements: the form convokit can't hold"),
        (["--to", "convokit", "--no-text"], "is made of what was said, which is left out"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line(
    options: list[str], words: str, call: Call, run: bedside.Run, tmp_path: Path
) -> None:
    code, out, err = call("export", run.path, "--out", "data", *options)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())
