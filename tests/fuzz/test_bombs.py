"""Input made to take all memory or time, and files that are none: each in a process of its own."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import BedsideError, InputError
from bedside.transcripts import byte_source
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from tests.forked import CONTEXT, preload
from tests.fuzz import child
from tests.fuzz.child import TAKERS
from tests.fuzz.error_lines import one_line
from tests.fuzz.targets import _judged
from tests.soak import budget
from tests.transcripts.files import GOOD, document, workbook

preload(
    "tests.fuzz.child", "bedside.annotation.plan_file", "bedside.metrics.coders.learned.trained_coder",
    "bedside.judges.store", "bedside.judges.llm.batch_files", "bedside.metrics.protocols.note2chat.labels",
    "bedside.ratings.rating_files", "bedside.judges.rubrics.rubric_files", "bedside.ratings.suites.suite",
    "bedside.transcripts",
)  # fmt: skip
ROOT = Path(__file__).parents[2]
MB = 2**20


@dataclass(frozen=True, slots=True)
class Told:
    """What a child says: what it found or its error, seconds of processor time, and megabytes that it came to need."""

    found: Any
    error: str | None
    seconds: float
    megabytes: int


def took_all(taker: str, paths: Sequence[Path | str]) -> list[Told]:
    """What comes of files, in one child that ends in time."""
    arguments = [word for path in paths for word in (taker, str(path))]
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said"
        process = CONTEXT.Process(target=child.forked, args=(said, *arguments))
        process.start()
        process.join(300)
        if process.exitcode is None:
            process.kill()
        assert process.exitcode == 0, said.read_text("utf-8", "replace")[-2000:]
        return [Told(**told) for told in json.loads(said.read_text())]


def took(taker: str, path: Path | str) -> Told:
    """What comes of a file."""
    return took_all(taker, [path])[0]


def refused(taker: str, path: Path | str, words: str, *, megabytes: int = 300) -> None:
    told = took(taker, path)
    assert told.error is not None, told
    assert words in told.error, told.error
    assert "\n" not in told.error
    assert told.megabytes < megabytes, told


# -- archives that grow ------------------------------------------------------------------------------


def grown(parts: dict[str, bytes], name: str, pieces: Iterator[bytes]) -> bytes:
    """A workbook with a part made of pieces."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as book:
        for part, data in parts.items():
            if part != name:
                book.writestr(part, data)
        with book.open(name, "w", force_zip64=True) as target:
            for piece in pieces:
                target.write(piece)
    return file.getvalue()


@pytest.fixture(scope="module")
def parts() -> dict[str, bytes]:
    packed = zipfile.ZipFile(io.BytesIO(workbook([["id", "speaker", "text"], ["a", "doctor", "Hello."]])))
    return {name: packed.read(name) for name in packed.namelist()}


@pytest.mark.slow
@pytest.mark.soak
def test_a_workbook_that_unpacks_to_too_much(parts: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(grown(parts, "xl/media/image1.bin", (bytes(MB) for _ in range(budget(400, 3000)))))
    assert path.stat().st_size < 20 * MB
    for taker in ("transcripts", "ratings"):
        refused(taker, path, "the workbook is larger than 128 MB")


@pytest.mark.slow
def test_a_workbook_that_understates_what_it_unpacks_to(parts: dict[str, bytes], tmp_path: Path) -> None:
    name = "xl/worksheets/sheet1.xml"
    head, _, tail = parts[name].partition(b"<sheetData>")
    cells = b"<row><c><v>1</v></c></row>" * 40_000
    data = bytearray(grown(parts, name, iter([head, b"<sheetData>", *[cells] * 150, tail])))
    # The size unpacked, in the archive's list of contents: bytes 24–28 of the part's entry.
    entry = data.rindex(b"PK\x01\x02", 0, data.rindex(name.encode()))
    data[entry + 24 : entry + 28] = struct.pack("<I", 5000)
    path = tmp_path / "t.xlsx"
    path.write_bytes(data)
    refused("transcripts", path, "the XLSX workbook can't be read")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["xl/sharedStrings.xml", "xl/worksheets/sheet1.xml", "xl/styles.xml"])
def test_a_part_of_a_workbook_that_is_small_only_on_disk(name: str, parts: dict[str, bytes], tmp_path: Path) -> None:
    fill = {
        "xl/sharedStrings.xml": b"<si><t>a</t></si>",
        "xl/worksheets/sheet1.xml": b"<row><c><v>1</v></c></row>",
        "xl/styles.xml": b"<font/>",
    }[name]
    end = {
        "xl/sharedStrings.xml": b"</sst>",
        "xl/worksheets/sheet1.xml": b"</sheetData>",
        "xl/styles.xml": b"</fonts>",
    }[name]
    content = parts.get(name, b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"></sst>')
    head, _, tail = content.partition(end)
    many = fill * (MB // len(fill))
    path = tmp_path / "t.xlsx"
    path.write_bytes(grown(parts, name, iter([head, *[many] * 120, end, tail])))
    assert path.stat().st_size < 4 * MB
    told = took("transcripts", path)
    assert told.error is not None
    assert told.megabytes < 700, told
    assert told.seconds < 60, told


@pytest.mark.slow
def test_a_workbook_of_many_parts(parts: dict[str, bytes], tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as book:
        for part, data in parts.items():
            book.writestr(part, data)
        for number in range(10_001):
            book.writestr(f"x/{number}", b"")
    path = tmp_path / "t.xlsx"
    path.write_bytes(file.getvalue())
    refused("transcripts", path, "the workbook is larger than")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "piece", "times", "words"),
    [
        ("word/document.xml", b"<w:p/>", 40 * MB // 6, "the document is larger than 64 MB"),
        ("word/styles.xml", b"<w:style/>", 40 * MB // 10, "the document is larger than 64 MB"),
        ("word/media/image1.bin", bytes(MB), 80, "the document is larger than 64 MB"),
        ("word/document.xml", b"<w:p>", 100_000, "the Word document can't be read"),
    ],
)
def test_a_document_that_unpacks_to_too_much(part: str, piece: bytes, times: int, words: str, tmp_path: Path) -> None:
    packed = zipfile.ZipFile(io.BytesIO(document("Doctor: Hello.", "Patient: Hi.")))
    parts = {name: packed.read(name) for name in packed.namelist()}
    head, end, tail = parts.get(part, b"").partition(b"<w:body>" if part.endswith("t.xml") else b"<w:docDefaults>")
    path = tmp_path / "t.docx"
    path.write_bytes(
        grown(parts, part, iter([head, end, *[piece * min(times, 1000)] * (times // min(times, 1000)), tail]))
    )
    assert path.stat().st_size < MB
    refused("transcripts", path, words)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "head", "piece", "tail", "words"),
    [
        (
            "t.txt.gz",
            b"Doctor: Hello.\nPatient: Hi.\n",
            b"Doctor: x\n" * 1000,
            b"",
            "the transcript is larger than 16 MB",
        ),
        ("t.eaf.gz", b"<ANNOTATION_DOCUMENT>", b"<TIER>" * 1000, b"", "the transcript is larger than 16 MB"),
        (
            "t.vtt.gz",
            b"WEBVTT\n\n",
            b"00:01.000 --> 00:02.000\n<v A>x\n\n" * 1000,
            b"",
            "the transcript is larger than 16 MB",
        ),
    ],
)
def test_a_recording_that_unpacks_to_too_much(
    name: str, head: bytes, piece: bytes, tail: bytes, words: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(head + piece * (40 * MB // len(piece)) + tail, 1))
    refused("transcripts", path, words)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.txt", b"T: a\nC: b\n" + b"\n" * 15 * MB),
        ("t.txt", b"T: a\nC: b\n" * (15 * MB // 10)),
        ("t.srt", b"1\n00:00:01,0 --> 00:00:02,0\nT: a\n\n" + b"x\n\n" * 5 * MB),
        ("t.cha", b"@Begin\n" + b"*A:\tx\n" * (15 * MB // 6)),
    ],
    ids=["blank", "turns", "cues", "utterances"],
)
def test_a_text_of_too_many_lines(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    refused("transcripts", path, "the transcript has more than 200,000 lines", megabytes=400)


@pytest.mark.slow
def test_elements_of_elan_that_are_only_many(tmp_path: Path) -> None:
    path = tmp_path / "t.eaf"
    path.write_bytes(b"<ANNOTATION_DOCUMENT>" + b"<TIER><ANNOTATION>" * (15 * MB // 18))
    refused("transcripts", path, "more than 10,000 tiers")


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "piece", "words"),
    [
        ("t.jsonl.gz", b"x" * MB, "the line is longer than 16 MB"),
        ("t.json.gz", b"[" * MB, "not JSON"),
        ("t.json.gz", b" " * MB, "the file is empty"),
        ("t.csv.gz", b"a,b\n" * (MB // 4), "no column holds the text"),
        ("t.csv.gz", b'"' + b"x" * (MB - 1), "knows no transcript format"),
    ],
)
def test_a_packed_file_that_unpacks_to_too_much(name: str, piece: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(repeated(piece, budget(128, 1024)))
    assert path.stat().st_size < 20 * MB
    less = budget(96, 300)
    refused("transcripts", path, words, megabytes=less)
    told = took("transcripts-skip", path)
    assert told.error is not None or told.found[2], told
    assert told.megabytes < less, told


def repeated(piece: bytes, times: int) -> bytes:
    """A gzip file of a piece many times over, packed once: after a full flush, what follows knows nothing of it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    check = 0
    for _ in range(times):
        check = zlib.crc32(piece, check)
    head = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    return head + packed * times + packer.flush() + struct.pack("<II", check, len(piece) * times % 2**32)


def test_a_line_that_does_not_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_source, "LONGEST_LINE", 4 * MB)
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress((GOOD % "a").encode() + b"x" * (30 * MB), compresslevel=1))
    reading = Reading([path], ReadOptions(on_error="skip"))
    assert [transcript.id for transcript in reading] == ["a"]
    assert "a line goes on for more than 4 MB" in str(reading.skipped[-1])


@pytest.mark.slow
def test_a_coder_whose_arrays_say_that_they_are_large(tmp_path: Path) -> None:
    shapes = (
        "(1000000000000,)", "(2000000000,)", "(99999999999999999999999,)", "(0, 9223372036854775807)", "(-1,)",
    )  # fmt: skip
    paths = [tmp_path / f"{number}.npz" for number in range(len(shapes))]
    for path, shape in zip(paths, shapes, strict=True):
        head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("card.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(800))
    for told in took_all("coder", paths):
        assert told.error is not None
        assert "not a trained coder" in told.error
        assert told.megabytes < 100, told


@pytest.mark.slow
@pytest.mark.soak
def test_a_coder_that_unpacks_to_too_much(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file, file.open("card.npy", "w") as part:
        for _ in range(budget(520, 2000)):
            part.write(bytes(MB))
    refused("coder", path, "over 512 MB unpacked", megabytes=100)


@pytest.mark.slow
def test_a_store_whose_texts_grow(tmp_path: Path) -> None:
    path = tmp_path / "judgements.sqlite"
    path.write_bytes(_judged())
    packer = zlib.compressobj(1)
    packed = b"".join([*(packer.compress(bytes(MB)) for _ in range(600)), packer.flush()])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE judgements SET replies = ?", (packed,))
    refused("store", path, "the store of judgements is damaged", megabytes=600)


# -- values without end ---------------------------------------------------------------------------------

DEEP = b"[" * 100_000 + b"]" * 100_000
DEEP_KEYS = b'{"a":' * 100_000 + b"1" + b"}" * 100_000


@pytest.mark.slow
@pytest.mark.parametrize("taker", ["transcripts", "plan", "labels", "batch", "rubric", "suite"])
def test_a_hundred_thousand_levels(taker: str, tmp_path: Path) -> None:
    names = {"transcripts": "t.json", "labels": "l.json", "rubric": "r.yaml", "suite": "s.yaml"}
    paths = []
    for kind, content in (("lists", DEEP), ("objects", DEEP_KEYS)):
        (tmp_path / kind).mkdir()
        paths.append(tmp_path / kind / names.get(taker, "x.jsonl"))
        paths[-1].write_bytes(content)
    for told in took_all(taker, paths):
        assert told.error is not None
        assert told.megabytes < 200, told
        assert told.seconds < 20, told


@pytest.mark.slow
def test_a_million_turns(tmp_path: Path) -> None:
    turn = '{"role":"user","content":"a"},{"role":"assistant","content":"b"}'
    for name, head, end, words in (
        ("t.jsonl", '{"messages":[', "]}\n", "longer than 16 MB"),
        ("t.json", "[", "]", "larger than 16 MB"),
    ):
        path = tmp_path / name
        with path.open("w") as file:
            file.write(head)
            file.write(",".join([turn] * 500_000))
            file.write(end)
        refused("transcripts", path, words)
    path = tmp_path / "t.csv"
    path.write_text("id,speaker,text\n" + "a,doctor,x\na,patient,y\n" * 500_000)
    refused("transcripts", path, "100000 rows")
    path = tmp_path / "few.jsonl"
    short = '{"role":"user","text":"a"},{"role":"doctor","text":"b"}'
    path.write_text(f'{{"turns":[{",".join([short] * 60_000)}]}}\n')
    refused("transcripts", path, "the transcript has 120,000 turns, more than 100,000")
    path.write_text(f'{{"turns":[{",".join([short] * 50_000)}]}}\n')
    assert took("transcripts", path).found == [1, 100_000, 0]


@pytest.mark.slow
def test_a_line_of_200_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("wb") as file:
        file.write((GOOD % "a").encode() + b'{"id": "')
        for _ in range(200):
            file.write(b"x" * MB)
        file.write(b'"}\n' + (GOOD % "b").encode())
    refused("transcripts", path, ":2: the line is longer than 16 MB", megabytes=100)
    told = took("transcripts-skip", path)
    assert told.found == [2, 2, 1]
    assert told.megabytes < 100, told
    refused("batch", path, "holds no answers of a batch")


@pytest.mark.slow
@pytest.mark.parametrize("taker", ["transcripts", "ratings"])
def test_a_hundred_thousand_columns(taker: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    header = ",".join(f"c{number}" for number in range(100_000))
    path.write_text(f"{header}\n" + ("x," * 99_999 + "x\n") * 3)
    told = took(taker, path)
    assert told.error is not None
    assert told.seconds < 20, told
    path.write_text(
        f"id,speaker,text,{header}\n"
        + ("a,doctor,Hi," + "x," * 99_999 + "x\n")
        + ("a,patient,Ho," + "x," * 99_999 + "x\n")
    )
    told = took("transcripts", path)
    assert told.found == [1, 2, 0]
    assert told.seconds < 20, told
    path.write_text("," * 5_000_000 + "\n")
    assert took(taker, path).error is not None


@pytest.mark.slow
@pytest.mark.parametrize("phrase", ["You are a ", "你是", "play the role of ", "patient ", "Du bist und spielst "])
def test_a_prompt_that_tells_forever(phrase: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    said = [{"role": "system", "content": phrase * (200_000 // len(phrase))}]
    said += [{"role": role, "content": "I see."} for role in ("user", "assistant") * 2]
    path.write_text(json.dumps({"messages": said}) + "\n", "utf-8")
    assert took("transcripts", path).seconds < 20


@pytest.mark.slow
def test_cells_and_rows_that_do_not_end(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"id,speaker,text\na,doctor,Hello.\na,patient," + b"x" * (17 * MB) + b"\n")
    refused("transcripts", path, ":3: the line is longer than 16 MB")
    path.write_bytes(b'id,speaker,text\na,doctor,"' + (b"x" * 1000 + b"\n") * 17_000)
    refused("transcripts", path, "the table can't be read")
    path.write_bytes(b'id,speaker,text\na,doctor,"' + (b"x" * 1000 + b'\n","') * 70_000)
    refused("transcripts", path, "a row doesn't end within 64 MB", megabytes=400)


@pytest.mark.slow
def test_numbers_of_five_thousand_digits(tmp_path: Path) -> None:
    digits = "9" * 5000
    for taker, name, content in (
        ("transcripts", "t.jsonl", f'{{"id": {digits}, "turns": []}}'),
        ("transcripts", "t.csv", f"id,turn,speaker,text\na,{digits},doctor,x\na,1,patient,y\n"),
        ("ratings", "r.csv", f"item,rater,value,turn\na,b,{digits},{digits}\n"),
        ("plan", "p.json", f'{{"format": 1, "seed": {digits}}}'),
        ("rubric", "r.yaml", f"name: {digits}"),
        ("labels", "l.json", f'{{"id": "a", "rater": "human:x", "diagnosis_rank": {digits}}}'),
        ("batch", "b.jsonl", f'{{"custom_id": "a", "error": {digits}}}'),
    ):
        path = tmp_path / name
        path.write_text(content)
        told = took(taker, path)
        assert told.error is not None or told.found, (taker, told)


# -- what is no ordinary file ---------------------------------------------------------------------------


ORDINARY = sorted(set(TAKERS) - {"transcripts-skip"})


@pytest.fixture(params=ORDINARY)
def taker(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _named(taker: str, folder: Path) -> Path:
    ending = {"rubric": ".yaml", "suite": ".yaml", "coder": ".npz", "ratings": ".csv", "store": ".sqlite"}
    return folder / f"x{ending.get(taker, '.jsonl')}"


@pytest.mark.slow
def test_a_folder_a_pipe_a_device_a_circle_of_links_and_a_long_name(taker: str, tmp_path: Path) -> None:
    made: dict[str, Callable[[Path], object]] = {
        "folder": Path.mkdir,
        "pipe": os.mkfifo,
        "zero": lambda path: path.symlink_to("/dev/zero"),
        "null": lambda path: path.symlink_to("/dev/null"),
        "circle": lambda path: path.symlink_to(path),
        "nothing": lambda path: path.symlink_to(tmp_path / "none"),
    }
    paths = []
    for name, make in made.items():
        (tmp_path / name).mkdir()
        paths.append(_named(taker, tmp_path / name))
        make(paths[-1])
    paths.append(tmp_path / ("x" * 5000))
    for path, told in zip(paths, took_all(taker, paths), strict=True):
        # Where there is no store of judgements, there are no judgements.
        assert told.error is not None or (taker == "store" and told.found == 0), (path, told)
        assert told.megabytes < 600, (path, told)
        assert told.seconds < 30, (path, told)


@pytest.mark.slow
def test_a_pipe_that_somebody_writes_to_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "t.jsonl"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"sleep 0.3; cat > '{pipe}'"], stdin=subprocess.PIPE) as writer:
        assert writer.stdin is not None
        writer.stdin.write((GOOD % "a").encode())
        writer.stdin.close()
        assert took("transcripts", pipe).found == [1, 2, 0]


@pytest.mark.slow
def test_files_that_may_not_be_read(tmp_path: Path) -> None:
    """Root may read every file unless it gives up that right."""
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root may read every file, and there is no setpriv")
        prefix = (setpriv, "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all")
    locked = tmp_path / "locked"
    locked.mkdir()
    arguments: list[str] = []
    for taker in ORDINARY:
        (tmp_path / taker).mkdir()
        path = _named(taker, tmp_path / taker)
        path.write_bytes(b"x")
        path.chmod(0)
        assert stat.S_IMODE(path.stat().st_mode) == 0
        arguments += [taker, str(path), taker, str(_named(taker, locked))]
    locked.chmod(0)
    ran = subprocess.run(
        [*prefix, sys.executable, "-m", "tests.fuzz.child", *arguments], cwd=ROOT, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-2000:]
    told = json.loads(ran.stdout)
    assert len(told) == 2 * len(ORDINARY)
    assert all(each["error"] is not None for each in told), told


# -- files that change meanwhile ------------------------------------------------------------------------


@cache
def many_transcripts(ending: str, number: int) -> bytes:
    """A file of transcripts, larger than what is read at once even where it is compressed."""
    ids = range(number)
    if ending == ".csv":
        rows = (f"{each},doctor,Hello {os.urandom(1500).hex()}\n{each},patient,Hi.\n" for each in ids)
        return ("id,speaker,text\n" + "".join(rows)).encode()
    lines = [(GOOD % each).strip().replace("Hello.", os.urandom(1500).hex()) for each in ids]
    assert len(lines[0]) > 3000
    text = (f"[{','.join(lines)}]" if ending == ".json" else "\n".join(lines)).encode()
    return gzip.compress(text, 1) if ending.endswith(".gz") else text


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".json", ".csv"])
@pytest.mark.parametrize("change", ["cut", "emptied", "removed", "replaced"])
def test_a_file_that_changes_while_it_is_read(ending: str, change: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{ending}"
    ids = range(2700)
    path.write_bytes(many_transcripts(ending, len(ids)))
    assert path.stat().st_size > byte_source.MAX_WHOLE
    found = 0
    try:
        for _ in Reading([path]):
            found += 1
            if found == 100:
                match change:
                    case "cut":
                        os.truncate(path, path.stat().st_size // 2)
                    case "emptied":
                        os.truncate(path, 0)
                    case "removed":
                        path.unlink()
                    case "replaced":
                        path.write_bytes(b"\x00" * 1000)
    except InputError as error:
        one_line(error)
        assert found < len(ids)
    else:
        assert found <= len(ids)


def test_a_file_that_is_gone_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(GOOD % "a")
    reading = Reading([path])
    path.unlink()
    with pytest.raises(BedsideError, match="there is no such file"):
        list(reading)
