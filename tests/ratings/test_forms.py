"""Every form of files of ratings: its example, its recognition by content, and what each tool's fields become."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import openpyxl
import polars as pl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Font

from bedside.core.errors import AmbiguousError, InputError, RegistryError
from bedside.ratings.form_contract import RATING_FORMS
from bedside.ratings.names import second_ids
from bedside.ratings.rated_cells import part_of_whole
from bedside.ratings.rating_files import RatingFile
from tests.ratings.builders import check_question, check_refusal, read_file, written

FORMS = RATING_FORMS.names()


def example(name: str, folder: Path) -> Path:
    form = RATING_FORMS.load(name)
    path = folder / form.example_name
    path.write_text(form.example, encoding="utf-8")
    return path


def keyed(file: RatingFile) -> list[tuple[object, ...]]:
    columns = ("transcript_id", "unit", "metric", "rater", "replicate", "value", "label")
    return sorted(file.ratings.select(columns).iter_rows(), key=str)


@pytest.mark.parametrize("name", FORMS)
def test_every_form_says_what_it_is(name: str) -> None:
    form = RATING_FORMS.load(name)
    assert form.name == name
    assert form.title
    assert form.description.endswith(".")


@pytest.mark.parametrize("name", FORMS)
def test_examples_are_recognised_by_content_read_and_accounted_for(name: str, tmp_path: Path) -> None:
    path = example(name, tmp_path)
    file = read_file(path)
    assert file.ratings.height >= 2
    assert file.account.form == RATING_FORMS.load(name).title
    assert file.account.ratings == file.ratings.height == len(file.places)
    assert len(file.account.raters) == 2
    for place in file.places:
        assert re.match(rf"{re.escape(str(path))}(:\d+| item \d+)", place), place
    lines = file.account.lines()
    assert len(lines) <= 24
    assert str(path) in lines[0]
    assert json.loads(json.dumps(file.account.to_json()))["raters"] == 2
    assert keyed(read_file(path, form=name)) == keyed(file)


@pytest.mark.parametrize("name", FORMS)
def test_what_a_form_holds_is_the_same_as_one_rating_a_row(name: str, tmp_path: Path) -> None:
    """Round trip: the ratings of each form, written as the plainest table, are read as the same ratings."""
    file = read_file(example(name, tmp_path))
    long = file.ratings.select(
        pl.col("transcript_id").alias("item"),
        "metric",
        "rater",
        pl.coalesce("label", pl.col("value").cast(pl.String)).alias("value"),
    )
    seconds = file.ratings.select(second_ids().alias("second")).to_series()
    if seconds.is_not_null().any():
        long = long.with_columns(seconds).rename({"item": "first", "value": "preferred"})
    long.write_csv(tmp_path / "plain.csv")
    assert keyed(read_file(tmp_path / "plain.csv")) == keyed(file)


@pytest.mark.parametrize("name", FORMS)
def test_what_isnt_of_a_form_is_refused_where_it_is_named(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, "colour,size\nred,1\nblue,2\n", "odd.csv")
    with pytest.raises(InputError):
        read_file(path, form=name)


def test_a_misspelt_form_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="by_rater"):
        read_file(example("long", tmp_path), form="by_raters")


def test_label_studio(tmp_path: Path) -> None:
    tasks = [
        {
            "id": 7,
            "data": {"external_id": "a-1", "system": "A", "dialogue": "Hello"},
            "annotations": [
                {
                    "id": 1, "completed_by": {"id": 3, "email": "anna@example.org"}, "was_cancelled": False,
                    "result": [
                        {"from_name": "warm", "type": "choices", "value": {"choices": ["yes"]}},
                        {"from_name": "stars", "type": "rating", "value": {"rating": 4}},
                        {"from_name": "score", "type": "number", "value": {"number": 2.5}},
                        {"from_name": "why", "type": "textarea", "value": {"text": ["kind"]}},
                        {"from_name": "cues", "type": "choices", "value": {"choices": ["a", "b"]}},
                        {"from_name": "spans", "type": "labels", "value": {"start": 0, "end": 2, "labels": ["x"]}},
                    ],
                },
                {"id": 2, "completed_by": 4, "was_cancelled": True, "result": []},
            ],
            "predictions": [],
        }
    ]  # fmt: skip
    path = written(tmp_path, json.dumps(tasks), "export.json")
    file = read_file(path)
    assert keyed(file) == [
        ("a-1", "transcript", "score", "human:anna@example.org", 0, 2.5, None),
        ("a-1", "transcript", "stars", "human:anna@example.org", 0, 4.0, None),
        ("a-1", "transcript", "warm", "human:anna@example.org", 0, None, "yes"),
    ]
    assert file.ratings["system"].to_list() == ["A"] * 3
    assert file.account.file.left_out == {
        "answers of several labels": 1, "rankings and labels of parts of the text": 1, "items that somebody skipped": 1,
    }  # fmt: skip
    assert file.account.file.first_left["answers of several labels"] == f"{path} item 0"
    assert file.ratings["reason"].to_list() == ["why: kind"] * 3
    # No copy of an address goes into a manifest.
    assert "anna" not in json.dumps(file.account.to_json())


LABEL_CONFIG = """<View><Text name="t" value="$text"/>
<Choices name="warm" toName="t"><Choice value="yes"/><Choice value="no"/></Choices>
<Choices name="cues" toName="t" choice="multiple"><Choice value="a"/><Choice value="b"/></Choices>
<Rating name="stars" toName="t"/><Number name="score" toName="t"/><TextArea name="why" toName="t"/>
<Labels name="spans" toName="t"><Label value="x"/></Labels></View>"""


@pytest.mark.slow
@pytest.mark.parametrize("extra", [{}, {"id": 99}])
def test_label_studios_json_min_holds_what_its_json_holds(extra: dict[str, int], tmp_path: Path) -> None:
    """As Label Studio's own converter writes it."""
    converter = pytest.importorskip("label_studio_sdk.converter")

    def annotation(number: int, by: object, warm: str, stars: int, cues: list[str]) -> dict[str, object]:
        results: list[tuple[str, str, dict[str, object]]] = [
            ("warm", "choices", {"choices": [warm]}),
            ("cues", "choices", {"choices": cues}),
            ("stars", "rating", {"rating": stars}),
            ("score", "number", {"number": stars + 0.5}),
            ("why", "textarea", {"text": [f"Because it {'is so warm and so very kind ' * number} in all."]}),
            ("spans", "labels", {"start": 0, "end": 2, "text": "He", "labels": ["x"]}),
        ]
        return {
            "id": number, "completed_by": by, "was_cancelled": False, "lead_time": 3.5,
            "created_at": f"2025-03-01T10:0{number}:00Z", "updated_at": "2025-03-01T11:00:00Z",
            "result": [
                {"id": f"r{at}", "from_name": name, "to_name": "t", "type": kind, "value": value}
                for at, (name, kind, value) in enumerate(results)
            ],
        }  # fmt: skip

    anna = {"id": 3, "email": "anna@example.org"}
    tasks = [
        {
            "id": 7, "data": {"transcript_id": "a-1", "system": "A", "text": "Hello", "topic": "sleep", **extra},
            "annotations": [annotation(1, anna, "yes", 4, ["a", "b"]), annotation(2, 4, "no", 2, ["a"])],
        },
        {
            "id": 8, "data": {"transcript_id": "a-2", "system": "B", "text": "Bye", "topic": "work", **extra},
            "annotations": [annotation(3, 4, "yes", 5, ["b"])],
        },
    ]  # fmt: skip
    whole = written(tmp_path, json.dumps(tasks), "export.json")
    converter.Converter(LABEL_CONFIG, project_dir=None).convert_to_json_min(
        str(whole), str(tmp_path / "min"), is_dir=False
    )
    file = read_file(tmp_path / "min" / "result.json")
    assert keyed(file) == keyed(read_file(whole))
    assert file.ratings.height == 3 + 3 + 3 + 2
    assert set(file.ratings["system"]) == {"A", "B"}
    assert set(file.ratings["rater"]) == {"human:anna@example.org", "human:user-4"}
    assert file.account.file.left_out == {
        "answers of several labels": 1, "rankings and labels of parts of the text": 3
    }  # fmt: skip
    assert file.ratings["reason"].str.starts_with("why: Because it").all()
    assert "taken for labels is what stands under 'warm', 'cues'" in " ".join(file.account.file.remarks)


def test_json_min_whose_data_may_be_answers_is_asked_about(tmp_path: Path) -> None:
    record = {"id": 1, "topic": "sleep", "warm": "yes", "annotator": 3, "annotation_id": 1, "lead_time": 2.0}
    path = written(tmp_path, json.dumps([record]), "min.json")
    check_question(path, "'topic', 'warm' may be answers or the task's own data")


def test_prodigy(tmp_path: Path) -> None:
    base = {"text": "…", "_input_hash": 11, "_task_hash": 12, "_view_id": "choice"}
    lines = [
        {**base, "meta": {"transcript_id": "a-1"}, "accept": ["open"], "answer": "accept", "_annotator_id": "q-anna"},
        {**base, "accept": ["open", "closed"], "answer": "accept", "_annotator_id": "q-ben"},
        {**base, "accept": [], "answer": "ignore", "_annotator_id": "q-ben"},
        {**base, "accept": ["closed"], "answer": "reject", "_annotator_id": "q-ben"},
        {**base, "label": "RUDE", "answer": "reject", "_session_id": "q-ben", "_view_id": "classification"},
    ]
    path = written(tmp_path, "".join(json.dumps(line) + "\n" for line in lines), "prodigy.jsonl")
    file = read_file(path, metric="question")
    assert keyed(file) == [
        ("11", "transcript", "RUDE", "human:q-ben", 0, None, "reject"),
        ("a-1", "transcript", "question", "human:q-anna", 0, None, "open"),
    ]
    assert file.account.file.left_out == {
        "answers of several labels": 1, "items that somebody skipped": 1, "rejected choices": 1,
    }  # fmt: skip


def test_a_dict_in_place_of_prodigys_answer_is_told_in_one_line(tmp_path: Path) -> None:
    path = written(tmp_path, '{"answer": {"a": 1}, "_input_hash": 1}\n', "prodigy.jsonl")
    check_refusal(path, "of no form that ratings are read from")


@pytest.mark.slow
def test_argilla_nested_and_flat_hold_the_same(tmp_path: Path) -> None:
    responses = [{"value": 4, "user_id": "u1"}, {"value": 2, "user_id": "u2"}]
    nested = {
        "id": "a-1", "fields": {"chat": "…"}, "metadata": {}, "vectors": {}, "_server_id": None,
        "suggestions": {"empathy": {"value": 5, "score": None, "agent": "m"}}, "responses": {"empathy": responses},
    }  # fmt: skip
    (tmp_path / "nested.json").write_text(json.dumps([nested]))
    flat = {
        "id": "a-1", "status": "completed", "chat": "…", "empathy.responses": [4, 2, 1],
        "empathy.responses.users": ["u1", "u2", "u3"], "empathy.responses.status": ["submitted", "submitted", "draft"],
        "empathy.suggestion": 5,
    }  # fmt: skip
    (tmp_path / "flat.json").write_text(json.dumps([flat]))
    pl.DataFrame([flat]).write_parquet(tmp_path / "flat.parquet")
    expected = [
        ("a-1", "transcript", "empathy", "human:u1", 0, 4.0, None),
        ("a-1", "transcript", "empathy", "human:u2", 0, 2.0, None),
    ]
    for name in ("nested.json", "flat.json", "flat.parquet"):
        assert keyed(read_file(tmp_path / name)) == expected
    assert read_file(tmp_path / "flat.parquet").account.file.left_out == {"responses of status draft": 1}


def test_potato_2_exports_an_item_and_person_a_line(tmp_path: Path) -> None:
    """As potato 2.12 wrote it; a level of nought is chosen as any other."""
    path = tmp_path / "annotations.jsonl"
    rows = [
        {"instance_id": "a-1", "user_id": user, "labels": {"empathy": {level: level}, "notes": {"text_box": "hm"}},
         "spans": {}, "links": {}}
        for user, level in (("anna", "0"), ("ben", "4"))
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert keyed(read_file(path)) == [
        ("a-1", "transcript", "empathy", "human:anna", 0, 0.0, None),
        ("a-1", "transcript", "empathy", "human:ben", 0, 4.0, None),
    ]


def test_potato_takes_the_rater_from_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "anna"
    folder.mkdir()
    annotations = {
        "empathy": {"scale_4": "4"},
        "tone": {"warm": "1"},
        "flags": {"a": True, "b": True, "c": False},
        "why": {"text_box": "kind words"},
    }
    line = {
        "id": "a-1", "displayed_text": "…", "label_annotations": annotations, "span_annotations": {},
        "behavioral_data": {"time_string": "1"},
    }  # fmt: skip
    path = folder / "annotated_instances.jsonl"
    path.write_text(json.dumps(line) + "\n")
    file = read_file(path)
    assert keyed(file) == [
        ("a-1", "transcript", "empathy", "human:anna", 0, 4.0, None),
        ("a-1", "transcript", "tone", "human:anna", 0, None, "warm"),
    ]
    assert file.account.file.left_out == {"answers of several labels": 1}
    assert file.ratings["reason"].to_list() == ["why: kind words"] * 2
    other = written(tmp_path, json.dumps(line) + "\n", "answers.jsonl")
    check_refusal(other, "nothing says who rated")


def test_qualtrics_leaves_out_previews_and_stops_without_a_rater(tmp_path: Path) -> None:
    text = RATING_FORMS.load("qualtrics").example
    path = written(tmp_path, text + "2025-03-02 09:00:00,Survey Preview,R_3,me@example.org,a-2,1,1\n", "q.csv")
    file = read_file(path)
    assert file.ratings["transcript_id"].unique().to_list() == ["a-1"]
    assert file.account.file.left_out["previews of the survey"] == 1
    assert sorted(file.account.metrics) == ["Q1", "Q2"]
    assert [place.rsplit(" column")[0].rsplit(":")[1] for place in file.places] == ["4", "4", "5", "5"]
    path.write_text(text.replace("RecipientEmail,", "PanelMember,"))
    check_refusal(path, "no column holds the rater; say which with `columns=rater=NAME`")
    assert read_file(path, columns={"rater": "PanelMember"}).ratings.height == 4


def looped_survey(extra: str = "", answers: str = "") -> str:
    """Three responses with two questions in three loops, one of the loops never shown to ben, and one outside."""
    header = ["ResponseId", "Status", "RecipientEmail", *([extra] if extra else []), "age"]
    header += [f"{loop}_{question}" for loop in (1, 2, 3) for question in ("which", "Q3", "Q4_1")]
    ids = [json.dumps({"ImportId": f"{name[:2]}QID{name[2:]}" if name[0].isdigit() else name}) for name in header]
    given = {
        "anna": [*("c-1", 4, 5), *("c-2", 3, ""), *("c-3", 1, 2)],
        "ben": [*("c-2", 2, 2), *("", "", ""), *("c-1", 5, 5)],
    }
    rows = [
        [f"R_{name}", "IP Address", f"{name}@x.org", *([answers] if extra else []), 30, *cells]
        for name, cells in given.items()
    ]
    rows.append(["R_9", "Survey Preview", "me@x.org", *([answers] if extra else []), 30, *given["anna"]])
    table: list[Sequence[object]] = [
        header,
        ["Response ID" if name == "ResponseId" else f"Text of {name}" for name in header],
        ids,
        *rows,
    ]
    text = io.StringIO()
    csv.writer(text).writerows(table)
    return text.getvalue()


def test_loops_of_qualtrics_are_items(tmp_path: Path) -> None:
    path = written(tmp_path, looped_survey(), "q.csv")
    file = read_file(path, columns={"item": "which"})
    columns = ("transcript_id", "rater", "metric", "value")
    ratings = file.ratings.with_columns(pl.col("rater").str.extract("human:(.*)@"))
    assert sorted(ratings.select(columns).iter_rows()) == sorted(
        [
            ("c-1", "anna", "Q3", 4), ("c-1", "anna", "Q4_1", 5), ("c-1", "ben", "Q3", 5), ("c-1", "ben", "Q4_1", 5),
            ("c-2", "anna", "Q3", 3), ("c-2", "ben", "Q3", 2), ("c-2", "ben", "Q4_1", 2),
            ("c-3", "anna", "Q3", 1), ("c-3", "anna", "Q4_1", 2),
        ]
    )  # fmt: skip
    assert file.account.file.left_out == {"previews of the survey": 1, "loops without an answer": 1}
    remarks = " ".join(file.account.file.remarks)
    assert "Left out is what was asked outside of the loops:" in remarks
    assert "'age'" in remarks
    # Without a question that names the item, the loops are the items.
    plain = read_file(path)
    assert set(plain.ratings["transcript_id"]) == {"1", "2", "3"}
    assert "each is taken for an item of that number" in " ".join(plain.account.file.remarks)
    assert plain.ratings.filter(metric="Q3").height == 5


def test_loops_beside_an_item_are_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path, looped_survey("transcript_id", "a-1"), "q.csv")
    with pytest.raises(AmbiguousError, match=r"a loop may be an item or be about that one.*`columns=item=loop`"):
        read_file(path)
    assert set(read_file(path, columns={"item": "loop"}).ratings["transcript_id"]) == {"1", "2", "3"}
    passes = read_file(path, columns={"replicate": "loop"}).ratings
    assert (set(passes["transcript_id"]), set(passes["replicate"])) == ({"a-1"}, {1, 2, 3})


def test_redcap(tmp_path: Path) -> None:
    path = tmp_path / "redcap.csv"
    path.write_text(
        "record_id,redcap_event_name,redcap_repeat_instrument,redcap_repeat_instance,redcap_survey_identifier,"
        "rating_timestamp,conversation_id,rater,empathy,clarity,comments,rating_complete\n"
        "1,event_1_arm_1,rating,1,,2025-03-01 10:00:00,a-1,anna,4,5,good,2\n"
        "1,event_1_arm_1,rating,2,,2025-03-01 10:10:00,a-1,ben,3,5,,2\n"
    )
    file = read_file(path)
    assert list(file.account.metrics) == ["empathy", "clarity"]
    assert file.account.raters == {"human:anna": 2, "human:ben": 2}
    assert file.ratings["reason"].to_list() == ["good", "good", None, None]
    assert {"record_id", "redcap_event_name", "rating_complete"} <= set(file.account.file.unused)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_two_rows_of_names_that_say_nothing_of_themselves_are_asked_about(kind: str, tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["item", "anna", None, "ben", None],
        [None, "warmth", "pace", "warmth", "pace"],
        ["a-1", 4, 5, 3, 5],
    ]
    rows.append(["a-2", 1, 2, 2, "NA"])
    path = tmp_path / f"r.{kind}"
    if kind == "csv":
        path.write_text("".join(",".join("" if c is None else str(c) for c in row) + "\n" for row in rows))
    else:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.active.merge_cells("B1:C1")
        book.save(path)
    check_question(
        path,
        "'anna', 'ben' are raters and 'warmth', 'pace' metrics",
        "'warmth', 'pace' are raters and 'anna', 'ben' metrics",
        "`form=raters_over_metrics`",
    )
    file = read_file(path, form="raters_over_metrics")
    assert (file.ratings.height, file.empty) == (7, 1)
    assert file.ratings.filter(transcript_id="a-1", metric="warmth", rater="human:ben")["value"].item() == 3


def workbook(path: Path, rows: list[list[object]], merged: tuple[str, ...] = (), struck: tuple[str, ...] = ()) -> Path:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in rows:
        sheet.append(row)
    for cell in struck:
        sheet[cell].font = Font(strike=True)
    for cells in merged:
        sheet.merge_cells(cells)
    book.save(path)
    return path


SHEET: list[list[object]] = [
    ["item", "rater", "warmth", "pace"], ["a", "anna", 4, 5], [None, "ben", 3, 2], ["b", "anna", 2, 1],
    [None, "ben", 2, None],
]  # fmt: skip


def test_merged_cells_count_for_their_whole_rectangle(tmp_path: Path) -> None:
    file = read_file(workbook(tmp_path / "r.xlsx", SHEET, ("A2:A3", "A4:A5", "C5:D5")))
    assert [row[:1] + row[2:4] + row[5:6] for row in keyed(file)] == [
        ("a", "pace", "human:anna", 5), ("a", "pace", "human:ben", 2), ("a", "warmth", "human:anna", 4),
        ("a", "warmth", "human:ben", 3), ("b", "pace", "human:anna", 1), ("b", "pace", "human:ben", 2),
        ("b", "warmth", "human:anna", 2), ("b", "warmth", "human:ben", 2),
    ]  # fmt: skip
    assert any(remark.startswith("3 merged cells") for remark in file.account.file.remarks)
    # A title above the table and one within it are no ratings.
    titled: list[list[object]] = [["Ratings", None, None, None], *SHEET]
    path = workbook(tmp_path / "t.xlsx", titled, ("A1:D1", "A3:A4", "A5:A6"))
    assert read_file(path).ratings.height == 7
    path = workbook(tmp_path / "s.xlsx", [SHEET[0], ["Second week"], *SHEET[1:2]], ("A2:D2",))
    check_refusal(path, "the row has no rater")
    # A record over two rows is one record.
    whole = workbook(tmp_path / "w.xlsx", [*SHEET[:2], [None] * 4], ("A2:A3", "B2:B3", "C2:C3", "D2:D3"))
    assert read_file(whole).ratings.height == 2


def test_struck_through_cells_are_asked_about(tmp_path: Path) -> None:
    path = workbook(tmp_path / "r.xlsx", SHEET, ("A2:A3", "A4:A5"), ("C3", "D2"))
    check_question(path, "`struck=leave`", "`struck=keep`", where=f"{path}:2 cell D2")
    kept = read_file(path, struck="keep")
    assert kept.ratings.height == 7
    assert "2 cells struck through" in " ".join(kept.account.file.remarks)
    left = read_file(path, struck="leave")
    assert left.ratings.height == 5
    assert left.account.file.left_out == {"texts struck through": 2}
    assert left.account.file.first_left == {"texts struck through": f"{path}:2 cell D2"}
    # What is struck through of a header or an empty cell says nothing.
    assert read_file(workbook(tmp_path / "h.xlsx", SHEET, ("A2:A3", "A4:A5"), ("C1", "D5"))).ratings.height == 7


def test_a_corrected_answer_is_what_is_not_struck_through(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(workbook(tmp_path / "r.xlsx", SHEET, ("A2:A3", "A4:A5")), rich_text=True)
    book.worksheets[0]["C2"] = CellRichText(TextBlock(InlineFont(strike=True), "1"), TextBlock(InlineFont(), "4"))
    book.save(tmp_path / "r.xlsx")
    with pytest.raises(AmbiguousError, match=r":2 cell C2"):
        read_file(tmp_path / "r.xlsx")
    file = read_file(tmp_path / "r.xlsx", struck="leave")
    first = file.ratings.filter(transcript_id="a", rater="human:anna", metric="warmth")
    assert first["value"].to_list() == [4]


def test_a_formula_without_its_value_is_counted(tmp_path: Path) -> None:
    path = workbook(tmp_path / "r.xlsx", [*SHEET[:2], ["b", "anna", "=2+1", 3]])
    file = read_file(path)
    assert file.ratings.height == 3
    assert file.account.file.first_left == {"formulas that were never worked out": f"{path} cell C3"}


@pytest.mark.parametrize("title", [(), (["Ratings of our study"],)])
def test_header_cells_over_several_columns_give_two_rows_of_names(
    title: tuple[list[object], ...], tmp_path: Path
) -> None:
    rows: list[list[object]] = [
        *title, ["item", "warmth", None, "pace", None, "remark"], [None, "rater 1", "rater 2", "rater 1", "rater 2"],
        ["a", 4, 5, 3, 2, "fine"], ["b", 1, 2, 2, None],
    ]  # fmt: skip
    at = len(title) + 1
    merged = [f"A{at}:A{at + 1}", f"B{at}:C{at}", f"D{at}:E{at}", *(["A1:E1"] if title else [])]
    file = read_file(workbook(tmp_path / "r.xlsx", rows, tuple(merged)))
    assert file.account.form == RATING_FORMS.load("metrics_over_raters").title
    assert file.ratings.filter(rater="human:rater 2", metric="warmth")["value"].to_list() == [5, 2]
    assert file.account.file.unused == ["remark"]
    assert (file.ratings.height, file.empty) == (7, 1)
    assert file.account.file.left_out == ({"rows above the column names": 1} if title else {})


def test_three_rows_of_names_stop(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["item", "Model A", None, "Model B", None], [None, "warmth", "pace", "warmth", "pace"],
        [None, "anna", "anna", "anna", "anna"], ["a", 4, 5, 3, 2],
    ]  # fmt: skip
    path = workbook(tmp_path / "r.xlsx", rows)
    with pytest.raises(InputError, match=r":3: the row has no item.*`header_row=NUMBER`"):
        read_file(path, form="metrics_over_raters")
    with pytest.raises(InputError):
        read_file(path)


def test_qualtrics_is_told_by_its_third_row(tmp_path: Path) -> None:
    text = RATING_FORMS.load("qualtrics").example
    expected = keyed(read_file(example("qualtrics", tmp_path)))
    path = written(tmp_path, text.replace("ResponseId", "record_id").replace("Response ID", "Record"), "q.csv")
    assert keyed(read_file(path)) == expected
    path = workbook(tmp_path / "q.xlsx", [list(row) for row in csv.reader(io.StringIO(text))])
    assert keyed(read_file(path)) == expected


@pytest.mark.parametrize("cell", ["9" * 5000 + " %", "1/" + "9" * 5000, "9" * 5000 + "/5", "²/5"])
def test_a_number_of_thousands_of_digits_is_no_part_of_a_whole(cell: str) -> None:
    assert part_of_whole(cell) is None
