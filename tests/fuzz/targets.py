"""Everything that takes input from outside: how a nearly valid input is made, and how it is taken.

A target is fed bytes; taking them may raise nothing but a :class:`BedsideError`. ``tests/fuzz/README.md`` says how to
run them for longer.
"""

from __future__ import annotations

import asyncio
import atexit
import csv
import hashlib
import io
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import orjson
import polars as pl
import yaml

from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation.annotation_plan import AnnotationPlan, Opinion
from bedside.annotation.answer_check import AnswerCheck
from bedside.annotation.answer_store import STORE, keep_answers, plan_folder
from bedside.annotation.answers import CollectedAnswers
from bedside.annotation.items import coded_positions, label_studio_tasks
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.offline_files import export_files, read_files
from bedside.annotation.plan_file import read_plan, sealed, write_plan
from bedside.annotation.training_cases import TrainingCase
from bedside.core.errors import BedsideError
from bedside.judges.llm.batch_files import Answers, BatchClient
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.prices import Token
from bedside.judges.llm.protocol import NotAskedError, Request, Sampling, UnusableError
from bedside.judges.prompt import PromptPiece
from bedside.judges.reply import expected_score, parse
from bedside.judges.rubrics.rubric_files import CODEBOOK, RUBRICS, check_file, parse_rubric
from bedside.judges.store import Judgement, Store, read_judgements, read_prompt, stored_keys
from bedside.metrics.coders.learned.array_file import digest
from bedside.metrics.coders.learned.trained_coder import TrainedCoder, load_card, load_coder, save_coder
from bedside.metrics.coders.learned.training import train
from bedside.metrics.protocols.medconceal import labels as medconceal
from bedside.metrics.protocols.medconceal.policy import parse_parameters
from bedside.metrics.protocols.note2chat import labels as note2chat
from bedside.ratings.form_contract import RATING_FORMS
from bedside.ratings.rating_files import import_ratings, read_rating_file
from bedside.ratings.rating_reading import RatingReading
from bedside.ratings.run import Run, write_manifest
from bedside.ratings.scales import parse_scales
from bedside.ratings.suites.suite import parse_suite
from bedside.transcripts.json_source import ArrayError, array_items, beginning
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import PartReading, Reading
from bedside.transcripts.transcript import Transcript
from tests.annotation.study import EMPATHY, JUDGE, RATERS, exported, levels, new_study, rating_plan
from tests.annotation.tool_stand_ins import STAND_INS, lines
from tests.fuzz import mutate
from tests.fuzz.error_lines import one_line
from tests.fuzz.simulation_targets import ways_in
from tests.fuzz.text_forms import TEXTS, WORDS
from tests.metrics.coders.test_trained_coder import corpus
from tests.transcripts.files import document, examples, packed


@dataclass(frozen=True, slots=True)
class Target:
    """One way in.

    Attributes:
        name: of the target, and of its folder in the corpus.
        make: a nearly valid input.
        take: gives the input to bedside, in a folder that is empty at first and kept between inputs.
        valid: good inputs, which must be taken without an error.
        batch: how many inputs come from one draw of hypothesis.
    """

    name: str
    make: Callable[[Random], bytes]
    take: Callable[[Path, bytes], None]
    valid: tuple[bytes, ...] = ()
    batch: int = 20


TARGETS: dict[str, Target] = {}


def _add(name: str, make: Callable[[Random], bytes], take: Callable[[Path, bytes], None], **more: Any) -> None:
    TARGETS[name] = Target(name, make, take, **more)


@cache
def shared() -> Path:
    """A folder for what is made once in a process."""
    folder = Path(tempfile.mkdtemp(prefix="bedside-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _first(data: bytes) -> int:
    """A number that the input decides, for choices that are not part of it."""
    return hashlib.blake2b(data, digest_size=2).digest()[0]


# -- transcripts --------------------------------------------------------------------------------------


def _read_all(path: Path, form: str | None) -> None:
    """Read both ways: what is read must be writable, and where errors are skipped something must come of it."""
    for on_error in ("stop", "skip"):
        reading = Reading([path], ReadOptions(format=form, on_error=on_error))
        for transcript in reading:
            assert orjson.loads(transcript.to_json())["turns"]
        for skipped in reading.skipped:
            one_line(skipped)
        assert reading.skipped or any(file.transcripts for file in reading.inputs)


def _transcripts(form: str, name: str, folder: Path, data: bytes) -> None:
    path = folder / name
    path.write_bytes(data)
    try:
        _read_all(path, None)
    except BedsideError as error:
        one_line(error)
    _in_pieces(path, form)
    _read_all(path, form)


def _workbook(form: str, folder: Path, data: bytes) -> None:
    """Once: a workbook takes long to open."""
    path = folder / "t.xlsx"
    path.write_bytes(data)
    for transcript in Reading([path], ReadOptions(format=form)):
        transcript.to_json()


@cache
def _parquet_with_dialogues() -> bytes:
    """A Parquet file with a dialogue in a cell and a list of messages in another."""
    said = [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Hi."}]
    frame = pl.DataFrame({"id": ["a", "b"], "note": ["x", None], "messages": [said, said[::-1]]})
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def _make_parquet_dialogues(random: Random) -> bytes:
    return mutate.flips(random, _parquet_with_dialogues())


def _parquet_dialogues(folder: Path, data: bytes) -> None:
    path = folder / "t.parquet"
    path.write_bytes(data)
    for transcript in Reading([path], ReadOptions(format="cells")):
        transcript.to_json()


def _in_pieces(path: Path, form: str) -> None:
    """A file that can be divided reads the same in pieces."""
    options = ReadOptions(format=form)
    whole = Reading([path], options)
    spans, _ = whole.spans(path, 40)
    if not spans:
        return
    try:
        expected = [(each.id, each.source, each.to_json()) for each in whole]
    except BedsideError:
        return
    pieces = [PartReading(path, options, whole.root, span) for span in spans]
    assert [(each.id, each.source, each.to_json()) for piece in pieces for each in piece] == expected


def _rich(name: str, value: Any) -> list[Any]:
    """The reader's example, and a longer one."""
    said = [
        ("doctor", "What brings you here?"),
        ("patient", "I sleep badly."),
        ("doctor", "Since when?"),
        ("patient", "May."),
    ]
    roles = {"doctor": "assistant", "patient": "user"}
    extra: dict[str, Any] = {
        "jsonl": {
            "id": "b", "system": "A", "case_id": "1", "language": "en", "factors": {"n": 20, "x": "y"},
            "reference": {"goal": "g", "concerns": [{"id": "c", "category": "x", "text": "t"}]},
            "turns": [
                {"index": i, "role": who, "speaker": "S", "text": text,
                 "meta": {"stage": "one", "time": 1.5, "codes": {"anna": {"question": "open"}}}}
                for i, (who, text) in enumerate(said)
            ],
        },
        "messages": {
            "conversation_id": "b", "model": "A", "metadata": {"case": 1, "lang": "en", "x": [1]}, "system": "p",
            "messages": [
                {"role": roles[who], "content": [{"type": "text", "text": text}], "timestamp": 3, "name": "n",
                 "tool_calls": None}
                for who, text in said
            ] + [
                {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}
            ],
        },
        "deepeval": {
            "name": "b", "scenario": "s", "expectedOutcome": "e", "context": ["c"], "tags": ["t"],
            "additionalMetadata": {"system": "A"},
            "turns": [{"role": roles[who], "content": text, "userId": "u", "toolsCalled": []} for who, text in said],
        },
        "asr": {
            "metadata": {"id": "x"},
            "results": {
                "language_code": "en-US", "transcripts": [{"transcript": "x"}],
                "items": [
                    {"type": "pronunciation", "start_time": "0.1", "end_time": "0.4", "speaker_label": "doctor",
                     "alternatives": [{"confidence": "0.9", "content": "Why"}]},
                    {"type": "punctuation", "alternatives": [{"content": "?"}]},
                ],
                "audio_segments": [
                    {"speaker_label": who, "transcript": text, "start_time": "1.5", "end_time": "2"}
                    for who, text in said
                ],
                "channels": [{"alternatives": [{"words": [{"word": "x", "start": 0, "end": 1, "speaker": 0}]}]}],
            },
        },
        "mdd5k": {"conversation": [{"doctor": "a", "patient": "b"}, {"doctor": "c"}]},
    }  # fmt: skip
    return [value, extra[name]] if name in extra else [value]


def _make_json(values: list[Any], lines: bool, random: Random) -> bytes:
    if random.random() < 0.1:
        return mutate.json_text(random, random.choice(mutate.VALUES[:40]))
    if lines:
        return mutate.json_lines(random, values)
    return mutate.json_text(random, values if random.random() < 0.6 else random.choice(values))


def _make_lines(sources: tuple[bytes, ...], odd: tuple[bytes, ...], random: Random) -> bytes:
    return mutate.lines(random, random.choice(sources), odd)


def _make_document(parts: mutate.Parts, random: Random) -> bytes:
    def change(random: Random, name: str, content: bytes) -> bytes:
        return mutate.xml_part(random, name, content, WORDS)

    # Most of a document's parts say how it looks.
    if random.random() < 0.5:
        name = "word/document.xml"
        return mutate.archive(random, {name: parts[name]} | parts, change)
    return mutate.archive(random, parts, change)


def _document(name: str, folder: Path, data: bytes) -> None:
    """Once: a document takes long to open."""
    path = folder / name
    path.write_bytes(data)
    for transcript in Reading([path]):
        transcript.to_json()


def _add_readers() -> None:
    for form, (name, content) in examples().items():
        if "workbook" in form:
            continue
        if form in ("rows", "cells", "exchanges"):
            table = list(csv.reader(io.StringIO(content.decode())))
            if form == "rows":
                table = [
                    ["id", "turn", "coder", "speaker", "text", "question", "system", "stage", "note"],
                    ["a", "0", "anna", "therapist", "What brings you here?", "open", "A", "one", "x"],
                    ["a", "0", "ben", "therapist", "What brings you here?", "closed", "A", "one", "x"],
                    ["a", "1", "anna", "client", "I sleep badly.", "", "A", "two", "y"],
                    ["b", "0", "anna", "therapist", "Since when?", "none", "A", "one", "x"],
                    ["b", "1", "anna", "client", "May.", "", "A", "two", "y"],
                ]
            _add(
                f"transcripts-{form}",
                partial(lambda table, random: mutate.csv_text(random, table), table),
                partial(_transcripts, form, name),
                valid=(content,),
            )
            continue
        if form in TEXTS:
            rich, odd = TEXTS[form]
            _add(
                f"transcripts-{form}",
                partial(_make_lines, (content, rich), odd),
                partial(_transcripts, form, name),
                valid=(content,),
            )
            continue
        if form == "docx":
            parts = mutate.parts_of(
                document("Session", "Doctor: Hello.", [["Doctor", "0:01", "Hello."], ["Patient", "", "Hi."]])
            )
            _add("transcripts-docx", partial(_make_document, parts), partial(_document, name), valid=(content,))
            continue
        lines = name.endswith(".jsonl")
        values = [orjson.loads(line) for line in content.splitlines()] if lines else orjson.loads(content)
        values = values if isinstance(values, list) else [values]
        values = _rich(form, values[0]) + values[1:]
        if form == "convokit":
            meta = {"codes": {"a": {"question": "open"}}, "stage": "s"}
            values += [{**value, "conversation_id": "b", "meta": meta} for value in values]
        _add(
            f"transcripts-{form}",
            partial(_make_json, values, lines),
            partial(_transcripts, form, name),
            valid=(content,),
        )
        if form == "jsonl":
            _add(
                "transcripts-gzip",
                partial(
                    lambda content, random: mutate.octets(random, packed(content * random.choice((1, 500)))), content
                ),
                partial(_transcripts, form, "t.jsonl.gz"),
                valid=(packed(content),),
            )
    _add("parquet-cells", _make_parquet_dialogues, _parquet_dialogues, batch=1)
    for form in ("rows", "cells"):
        name, content = examples()[f"{form} as workbook"]
        parts = mutate.parts_of(content)
        _add(
            f"workbook-{form}",
            partial(lambda parts, random: mutate.archive(random, parts, mutate.xml_part), parts),
            partial(_workbook, form),
            valid=(content,),
        )
    _add("companion-mdd5k", partial(_make_json, [{"ICD_Code": "F41", "Diagnosis_Result": ["x"]}], False), _mdd5k_label)
    about = {"a-1": {"meta": {"topic": "x", "deep": [{}]}}, "therapist": {"meta": {"role": "client"}}}
    _add("companion-convokit", partial(_make_json, [about], False), _convokit_companion)
    _add("array-text", partial(_make_json, [{"a": ['"', "\\", {"b": [1, "]"]}]}, [], "x"], False), _array_text)


def _mdd5k_label(folder: Path, data: bytes) -> None:
    talk = folder / "conversations" / "patient_1.json"
    label = folder / "labels" / "patient_1_label.json"
    if not talk.exists():
        talk.parent.mkdir()
        label.parent.mkdir()
        talk.write_bytes(examples()["mdd5k"][1])
    label.write_bytes(data)
    for transcript in Reading([talk]):
        transcript.to_json()


def _convokit_companion(folder: Path, data: bytes) -> None:
    for name in ("conversations.json", "speakers.json", "utterances.jsonl"):
        (folder / name).write_bytes(data if name != "utterances.jsonl" else examples()["convokit"][1])
    for transcript in Reading([folder / "utterances.jsonl"]):
        transcript.to_json()


def _array_text(folder: Path, data: bytes) -> None:
    """What the reader of pieces says of an array must be what a parser of the whole says."""
    beginning(data)
    for chunk in (1, 7, 1 << 20):
        try:
            found: Any = [orjson.loads(item) for _, item in array_items(io.BytesIO(data).read, 1 << 20, chunk)]
        except (ArrayError, orjson.JSONDecodeError):
            found = None
        try:
            whole = orjson.loads(data)
        except orjson.JSONDecodeError:
            continue
        if isinstance(whole, list):
            assert found == whole
        else:
            assert found is None


# -- rubrics, suites, parameters -----------------------------------------------------------------------


@cache
def _values(source: str) -> Any:
    return yaml.safe_load(source)


def _yaml(source: str, random: Random) -> bytes:
    if random.random() < 0.6:
        return mutate.yaml_text(random, source)
    # JSON is YAML too.
    return mutate.json_text(random, _values(source))


#: Short ones that have every key: what a file costs grows with its length.
_RUBRICS = (
    """\
name: empathy
title: Empathy
construct: How far the clinician takes part in what the patient feels
definition: How far does the clinician show that the patient's own {goal} is understood?
unit: transcript
kind: level
role: clinician
direction: higher
scale:
  - value: 0
    descriptor: Nothing shows that the patient was heard at all.
  - value: 1
    descriptor: What the patient said comes back in other words.
inputs: [{name: goal, description: What the patient wants.}]
window: null
not_applicable: The patient says nothing.
instructions: Where in doubt, the lower one.
source: Made up.
notes: None.
""",
    """\
name: empathy
title: Findings
construct: What the patient worries about
definition: Which worries does the patient name in the course of the whole conversation?
unit: turn
kind: list
each: turns
direction: none
transcript: true
answer:
  - name: findings
    type: list
    descriptor: What was found there.
    items:
      - name: category
        type: label
        descriptor: Its kind of worry.
        labels: [{label: fear, descriptor: Of what may come.}, {label: cost, descriptor: Of what it costs.}]
      - {name: text, type: text, descriptor: The worry in words., optional: yes}
      - {name: share, type: probabilities, descriptor: How sure, labels: [{label: a, descriptor: One of two.}]}
source: Made up.
""",
)
_SUITE = """\
name: default
title: A suite
description: >
  What it scores,
  and for whom.
source: Made up.
metrics: [structure, readability, smog]
parameters:
  structure: {early: 5}
rubrics: &rubrics [empathy]
tables:
  - id: a
    kind: results
    title: Table
    metrics: *rubrics
  - {id: b-1, kind: counts}
figures:
  - id: c
    kind: bars
    <<: {metrics: [x]}
"""


def _rubric(folder: Path, data: bytes) -> None:
    path = folder / "empathy.yaml"
    path.write_bytes(data)
    rubric, remarks = check_file(path)
    for remark in remarks:
        assert "\n" not in str(remark), remark
        str(remark).encode()
    if rubric is not None:
        assert rubric.version
        json.dumps(rubric.schema()).encode()
        orjson.dumps(rubric.schema())
    assert parse_rubric(path).version == rubric.version if rubric else True
    assert rubric is not None or parse_rubric(path) is None


def _file(name: str, take: Callable[[Path], Any], folder: Path, data: bytes) -> None:
    path = folder / name
    path.write_bytes(data)
    take(path)


def _add_yaml() -> None:
    shipped = (files("bedside.judges.rubrics.shipped") / "empathy.yaml").read_bytes()
    _add(
        "rubric",
        lambda random: _yaml(random.choice(_RUBRICS), random),
        _rubric,
        valid=(shipped, *(text.encode() for text in _RUBRICS)),
    )
    shipped = (files("bedside.ratings.suites.shipped") / "default.yaml").read_bytes()
    _add(
        "suite",
        lambda random: _yaml(_SUITE, random),
        partial(_file, "default.yaml", parse_suite),
        valid=(shipped, _SUITE.encode()),
    )
    parameters = (files("bedside.metrics.protocols.medconceal.parameters") / "default.yaml").read_text("utf-8")
    _add(
        "parameters",
        lambda random: _yaml(parameters, random),
        partial(_file, "own.yaml", parse_parameters),
        valid=(parameters.encode(),),
    )


# -- judges' replies ------------------------------------------------------------------------------------

#: A rubric of each kind, with a reply to it and what was asked.
_REPLIES: tuple[tuple[str, Any, dict[str, int], list[int] | None], ...] = (
    ("empathy", {"reason": "r 0", "score": 4}, {}, None),
    ("open_question", {"answers": [{"item": 0, "reason": "r", "label": "open"}]}, {"turns": 3}, [0]),
    ("values_detected", {"reason": "r", "labels": []}, {}, None),
    ("finding_extraction", {"reason": "r", "findings": [{"category": "x", "text": "t"}]}, {}, None),
    ("concern_matching", {"reason": "r", "pairs": []}, {"findings": 2, "concerns": 2}, None),
    ("diagnosis_match", {"reason": "r", "rank": 1}, {"candidates": 3}, None),
    ("turn_evaluator", {"reason": "r"}, {}, None),
)


@cache
def _asked() -> list[tuple[Any, Any, dict[str, int], list[int] | None]]:
    made = []
    for name, reply, counts, asked in _REPLIES:
        rubric = RUBRICS.load(name)
        inner = {"reason": "r", **{part.name: _filled(part) for part in rubric.parts}}
        whole = {"answers": [{"item": 0, **inner}]} if rubric.each is not None else inner
        made += [(rubric, reply, counts, asked), (rubric, whole, counts, [0] if rubric.each is not None else None)]
    return made


def _filled(part: Any) -> Any:
    """An answer to a part of a rubric."""
    match part.type:
        case "level":
            return part.scale[0].value
        case "label":
            return part.labels[0].label
        case "labels":
            return [part.labels[0].label]
        case "probabilities":
            return {each.label: 1 / len(part.labels) for each in part.labels}
        case "list":
            return [{item.name: _filled(item) for item in part.items}]
        case "number" | "index":
            return 0
        case "boolean":
            return True
    return "words"


def _make_reply(random: Random) -> bytes:
    number = random.randrange(len(_asked()))
    reply = mutate.json_text(random, _asked()[number][1]).decode("utf-8", "surrogateescape")
    around = ("{}", "```json\n{}\n```", "Well {} yes", "<think>{{}}</think>{}", "{}{}", "<think>{}", "{{{}", "{}\n\n{}")
    text = random.choice(around).replace("{}", reply)
    return bytes([number]) + text.encode("utf-8", "surrogateescape")


def _reply(folder: Path, data: bytes) -> None:
    """The first byte says which rubric; what no UTF-8 is becomes lone surrogates, as some clients give them."""
    rubric, _, counts, asked = _asked()[(data[0] if data else 0) % len(_asked())]
    text = data[1:].decode("utf-8", "surrogatepass" if b"\xed" in data and _passes(data[1:]) else "surrogateescape")
    found = parse(text, rubric, counts=counts, asked=asked)
    assert (found.answer is None) != (found.problem is None)
    if found.problem is not None:
        assert len(found.problem) < 10_000
        found.problem.encode()
    else:
        orjson.dumps(found.answer)
        if rubric.kind == "level" and rubric.each is None:
            content = text.encode("utf-8", "replace")
            for size in (1, 3):
                pieces = [content[at : at + size] for at in range(0, len(content), size)]
                tokens = [Token(piece, ((piece, -0.1), (b"5", -3.0))) for piece in pieces]
                score, why = expected_score(text, tokens, rubric, found.at)
                assert (score is None) != (why is None)


def _passes(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


_KEY = "ab" * 32
_BATCH = {
    "id": "b", "custom_id": f"{_KEY[:48]}-0", "error": None,
    "response": {
        "status_code": 200, "request_id": "r",
        "body": {
            "choices": [{
                "index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": '{"reason": "r", "score": 4}', "refusal": None},
                "logprobs": {"content": [{"token": "4", "bytes": [52], "logprob": -0.1,
                                          "top_logprobs": [{"token": "4", "bytes": [52], "logprob": -0.1}]}]},
            }],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        },
    },
}  # fmt: skip
_FAILED = {"custom_id": f"{_KEY[:48]}-1", "response": {"status_code": 429, "body": {"error": {"message": "busy"}}}}


def _batch(folder: Path, data: bytes) -> None:
    path = folder / "answers.jsonl"
    path.write_bytes(data)
    answers = Answers([path])
    client = BatchClient(ModelName("openai", "m", "http://127.0.0.1:9/v1"), Sampling(probabilities=True), answers, None)
    for number in (0, 1):
        request = Request.of_text("t", "{}", key=_KEY, number=number)
        try:
            reply = asyncio.run(client.complete(request))
        except (NotAskedError, UnusableError) as error:
            str(error).encode()
            continue
        parse(reply.text, RUBRICS.load("empathy"))
        orjson.dumps(reply.text)
    assert answers.taken <= answers.ids


# -- annotation -----------------------------------------------------------------------------------------


@cache
def _run() -> Run:
    folder = shared() / "study"
    folder.mkdir()
    return new_study(folder, 2)


@cache
def _plans() -> dict[str, AnnotationPlan]:
    run = _run()
    return {
        "rate": rating_plan(run),
        "audit": rating_plan(run, mode="audit", rubrics=(EMPATHY,), judge=JUDGE),
        "findings": rating_plan(run, mode="findings", rubrics=(RUBRICS.load("finding_extraction"),)),
        "codes": rating_plan(run, mode="codes", rubrics=(CODEBOOK.load("question"), CODEBOOK.load("client_talk"))),
    }


def _copy(folder: Path) -> Run:
    target = folder / "run"
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(_run().path, target)
    return Run(target)


def _kept(folder: Path, plan: AnnotationPlan, read: CollectedAnswers, data: bytes) -> None:
    """What was read fits the plan or is refused; of some, that it is put in a run and read again."""
    checker = AnswerCheck(plan, _positions(plan.mode))
    for answer in read.answers:
        if answer.state == "submitted":
            checker.check(answer)
    if _first(data) % 16 == 0:
        run = _copy(folder)
        keep_answers(run, plan, read.answers)
        again = keep_answers(run, plan, read.answers)
        assert again.new == again.revised == 0
        assert not list(run.path.rglob("*.partial"))


@cache
def _positions(mode: str) -> Mapping[str, Mapping[str, Sequence[int]]]:
    return coded_positions(_plans()[mode], _run())


def _answer(mode: str, item: str, rater: str) -> dict[str, Any]:
    match mode:
        case "rate":
            return levels(item, rater)
        case "audit":
            return {"empathy": "3", "agree__empathy": "disagree", "notes": ("text", "n")}
        case "findings":
            return {"finding_extraction": "listed", "finding_extraction__1": ("text", "a", "b"), "notes": ("text", "n")}
    return {"question__0": "open", "client_talk__1": "change"}


@cache
def _export(mode: str) -> list[dict[str, Any]]:
    plan = _plans()[mode]
    tasks = exported(plan, partial(_answer, mode), {"anna": 1, "ben": 2, "cleo": 3}, _run())
    tasks[0]["drafts"] = [{"user": "anna@example.org", "result": []}]
    return tasks[:2]


def _make_export(random: Random) -> bytes:
    number = random.randrange(4)
    tasks = _export(list(_plans())[number])
    return b"%d" % number + mutate.json_text(random, tasks)


def _label_studio(folder: Path, data: bytes) -> None:
    """An export as a server gives it. Its parser may be Python's, which takes more than ours."""
    plan = _plan_of(data)
    try:
        tasks = json.loads(data[1:])
    except (ValueError, RecursionError):
        tasks = None
    raters = {**RATERS, "anna@example.org": "anna"}
    if isinstance(tasks, list) and all(isinstance(task, dict) for task in tasks):
        try:
            _kept(folder, plan, read_export(plan, tasks, raters, where="http://server"), data)
        except BedsideError as error:
            one_line(error)
    path = folder / "export.json"
    path.write_bytes(data[1:])
    try:
        _kept(folder, plan, read_files(plan, _run(), [path], rater="anna"), data)
    except BedsideError as error:
        one_line(error)
    _kept(folder, plan, read_files(plan, _run(), [path], users={1: "anna", 2: "ben", 3: "cleo"}), data)


def _plan_of(data: bytes) -> AnnotationPlan:
    return list(_plans().values())[data[0] % 4 if data else 0]


@cache
def _tool_exports() -> list[list[Any]]:
    """What each annotation tool says of a plan, a record or an annotation a line."""
    exports = []
    for tool, answered in STAND_INS.items():
        folder = shared() / "tools" / tool
        export_files(_plans()["rate"], _run(), tool, folder)
        path = answered(folder / "anna", lambda task, question: ["4"] if "__" not in question else ["why"])
        content = orjson.loads(path.read_bytes()) if path.suffix == ".json" else lines(path)
        exports.append(content[:3])
    return exports


def _make_tool_export(random: Random) -> bytes:
    return mutate.json_lines(random, random.choice(_tool_exports()))


def _tool_export(folder: Path, data: bytes) -> None:
    plan = _plans()["rate"]
    path = folder / "export.jsonl"
    path.write_bytes(data)
    _kept(folder, plan, read_files(plan, _run(), [path]), data)


@cache
def _sheets(form: Any) -> list[list[list[str]]]:
    """Tables as they are given to raters, partly filled in."""
    made = []
    for mode, plan in _plans().items():
        folder = shared() / f"offline-{form}-{mode}"
        path = export_files(plan, _run(), form, folder)[0]
        table = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"))))
        header = table[0]
        for row in table[1:3]:
            for name, cell in (
                ("empathy", "4"),
                ("agree__empathy", "disagree"),
                ("notes", "n"),
                ("goal_alignment", "2"),
            ):
                if name in header:
                    row[header.index(name)] = cell
            if mode == "codes":
                name = "question" if row[header.index("speaker")] == "Clinician" else "client_talk"
                row[header.index(name)] = "open" if name == "question" else "change"
        made.append(table[:6])
    return made


def _make_sheet(random: Random) -> bytes:
    number = random.randrange(4)
    return b"%d" % number + mutate.csv_text(random, _sheets("csv")[number], (*mutate.CELLS, "anna", "ben", "open", "3"))


def _offline(name: str, folder: Path, data: bytes) -> None:
    plan = _plan_of(data)
    path = folder / name
    path.write_bytes(data[1:])
    _kept(folder, plan, read_files(plan, _run(), [path]), data)


@cache
def _workbooks() -> list[mutate.Parts]:
    made = []
    for mode, plan in _plans().items():
        path = export_files(plan, _run(), "xlsx", shared() / f"offline-xlsx-{mode}")[0]
        made.append(mutate.parts_of(path.read_bytes()))
    return made


def _make_workbook(random: Random) -> bytes:
    number = random.randrange(4)
    return b"%d" % number + mutate.archive(random, _workbooks()[number], mutate.xml_part)


@cache
def _plan_with_known_items() -> AnnotationPlan:
    """With a training set and gold items, of transcripts that aren't the run's."""
    cases = [
        TrainingCase(f"known-{number}", {"empathy": "4", "goal_alignment": "2"}, content=transcript.to_json().decode())
        for number, transcript in enumerate(_run().transcripts())
    ]
    return rating_plan(_run(), training=cases[:2], gold=cases[2:4])


def _adjudication() -> AnnotationPlan:
    """What two raters said otherwise, for a third."""
    plan = rating_plan(_run())
    said = (Opinion(answer="2", reason="Cold."), Opinion(answer="5"))
    drawn = [item.model_copy(update={"drawn": "disagreement", "chance": 0.0}) for item in plan.items]
    return sealed(
        plan.model_copy(
            update={
                "mode": "adjudicate",
                "items": tuple(drawn),
                "opinions": {item.id: {"empathy": said, "goal_alignment": said[:1]} for item in drawn},
            }
        )
    )


def _plan_json() -> list[Any]:
    made = []
    for mode, plan in {**_plans(), "known": _plan_with_known_items(), "adjudicate": _adjudication()}.items():
        path = shared() / f"{mode}.plan.json"
        write_plan(plan, path)
        made.append(json.loads(path.read_text("utf-8")))
    return made


def _make_plan(random: Random) -> bytes:
    return mutate.json_text(random, random.choice(_plan_json()))


def _plan(folder: Path, data: bytes) -> None:
    """As it is; and sealed anew, as a plan would be that somebody made by other means."""
    path = folder / "plan.json"
    path.write_bytes(data)
    try:
        _used(read_plan(path, _run()), data)
    except BedsideError as error:
        one_line(error)
    try:
        plan = AnnotationPlan.model_validate_json(data)
    except ValueError:
        return
    write_plan(sealed(plan), path)
    _used(read_plan(path, _run()), data)


def _used(plan: AnnotationPlan, data: bytes) -> None:
    label_studio_tasks(plan, _run(), plan.raters[0])
    AnswerCheck(plan, coded_positions(plan, _run()))


@cache
def _stored() -> list[list[Any]]:
    """The store of answers of each plan."""
    made = []
    for mode, plan in _plans().items():
        run = _copy(shared() / "stored")
        keep_answers(run, plan, read_export(plan, _export(mode), RATERS, where="x").answers)
        lines = [json.loads(line) for line in (plan_folder(run, plan) / STORE).read_text("utf-8").splitlines()]
        # The same inputs at all times.
        made.append([{**line, "received": "2026-01-01T00:00:00.000000+00:00"} for line in lines])
    return made


def _make_store_of_answers(random: Random) -> bytes:
    number = random.randrange(4)
    return b"%d" % number + mutate.json_lines(random, _stored()[number])


def _store_of_answers(folder: Path, data: bytes) -> None:
    run, plan = _copy(folder), _plan_of(data)
    place = plan_folder(run, plan)
    place.mkdir(parents=True)
    (place / STORE).write_bytes(data[1:])
    keep_answers(run, plan, ())


def _add_annotation() -> None:
    _add("label-studio", _make_export, _label_studio, batch=20)
    _add("tool-exports", _make_tool_export, _tool_export, batch=20)
    _add("offline-csv", _make_sheet, partial(_offline, "anna.csv"), batch=20)
    _add("offline-xlsx", _make_workbook, partial(_offline, "anna.xlsx"))
    _add("plan", _make_plan, _plan, batch=20)
    _add("answers-store", _make_store_of_answers, _store_of_answers, batch=20)


# -- ratings, labels ----------------------------------------------------------------------------------------

_LONG = [
    ["item", "rater", "metric", "value", "turn", "replicate", "reason", "system"],
    ["secretfile-GPT-Secret-0", "anna", "empathy", "4", "", "0", "r", "A"],
    ["secretfile-GPT-Secret-0", "ben", "empathy", "3", "1", "", "", "A"],
    ["secretfile-GPT-Secret-1", "human:cleo", "open_question", "open", "2", "1", "", ""],
]
_WIDE = [
    ["item", "metric", "anna", "ben"],
    ["secretfile-GPT-Secret-0", "empathy", "4", "5"],
    ["secretfile-GPT-Secret-1", "x", "", "2"],
]


def _make_ratings(random: Random) -> bytes:
    return mutate.csv_text(random, random.choice((_LONG, _LONG, _WIDE)))


def _ratings(name: str, folder: Path, data: bytes) -> None:
    path = folder / name
    path.write_bytes(data)
    for scales in ({}, parse_scales(["empathy=1-5"])):
        file = read_rating_file(path, RatingReading(scales=scales))
        assert file.ratings.height == len(file.places)
    if _first(data) % 8 == 0:
        run = _copy(folder)
        import_ratings(run, path, file)
        assert Run(run.path).ratings.height
        assert not list(run.path.rglob("*.partial"))


def _make_form(name: str, random: Random) -> bytes:
    """A damaged file of a form of ratings, beginning with its example."""
    example = RATING_FORMS.load(name).example
    if example[0] == "[":
        return mutate.json_text(random, json.loads(example))
    if example[0] == "{":
        return mutate.json_lines(random, [json.loads(line) for line in example.splitlines()])
    return mutate.csv_text(random, list(csv.reader(io.StringIO(example))))


def _form(name: str, folder: Path, data: bytes) -> None:
    path = folder / RATING_FORMS.load(name).example_name
    path.write_bytes(data)
    refused = 0
    for form in (None, name):
        try:
            file = read_rating_file(path, RatingReading(form=form))
        except BedsideError as error:
            refused += 1
            if refused == 2:
                raise error
            continue
        assert file.ratings.height == len(file.places) == file.account.ratings
        assert 0 < len(file.account.lines()) <= 24
        json.dumps(file.account.to_json())


@cache
def _parquet() -> list[bytes]:
    made = []
    for table in (_LONG, _WIDE):
        frame = pl.DataFrame(table[1:], schema=table[0], orient="row")
        for compression in ("uncompressed", "zstd"):
            file = io.BytesIO()
            frame.write_parquet(file, compression=compression)
            made.append(file.getvalue())
    return made


def _make_parquet(random: Random) -> bytes:
    return mutate.flips(random, random.choice(_parquet()))


def _make_scale(random: Random) -> bytes:
    pieces = (
        "1-5",
        "0,0.5,1",
        "none/open",
        "²-³",
        "-",
        ",",
        "/",
        "=",
        "1-99999999",
        "9" * 5000,
        "nan",
        "inf",
        "1",
        " ",
        "x=",
    )
    return "".join(random.choice(pieces) for _ in range(random.randint(1, 4))).encode()


def _labels(module: Any, transcripts: list[Transcript], folder: Path, data: bytes) -> None:
    path = folder / "labels.jsonl"
    path.write_bytes(data)
    for transcript in module.with_labels(transcripts, path):
        transcript.to_json()
        for rater in module.label_raters(transcript):
            module.rater_labels(transcript, rater)


@cache
def _labelled() -> list[Transcript]:
    return list(Reading([str(files("bedside") / "examples" / "transcripts.jsonl")]))


def _label_values(protocol: str) -> list[Any]:
    name = _labelled()[0].id
    if protocol == "medconceal":
        features = dict.fromkeys(medconceal.FEATURES, 0.5)
        return [
            {
                "id": name, "rater": "human:anna", "findings": [{"category": medconceal.CATEGORIES[0], "text": "t"}],
                "matches": [{"finding": 0, "concern": "alcohol-1", "quote": "q", "category_agrees": True}],
                "turns": {"0": {"z": features, "question": "open", "intent": None, "empathy_strength": 0.5}},
            }
        ]  # fmt: skip
    return [
        {
            "id": name, "rater": "judge:m", "diagnosis_rank": 0, "diagnosis_message": None,
            "findings": [{"text": "t", "categories": ["site"], "opening": False, "message": 2}],
            "turns": {"1": {"reply": "answer", "only_what_was_asked": 1, "conflict": 0}},
        }
    ]  # fmt: skip


def _add_tables() -> None:
    _add("ratings-csv", _make_ratings, partial(_ratings, "ratings.csv"))
    for form in RATING_FORMS.names():
        _add(f"ratings-{form}", partial(_make_form, form), partial(_form, form), batch=20)
    # Each input is tried by a process of its own.
    _add("ratings-parquet", _make_parquet, partial(_ratings, "ratings.parquet"), batch=1)
    _add("scale", _make_scale, lambda folder, data: _none(parse_scales([data.decode("utf-8", "replace")])))
    for protocol, module in (("medconceal", medconceal), ("note2chat", note2chat)):
        _add(
            f"labels-{protocol}",
            partial(
                lambda protocol, random: _make_json(_label_values(protocol), random.random() < 0.5, random), protocol
            ),
            partial(lambda module, folder, data: _labels(module, _labelled(), folder, data), module),
        )
    # Labels that a transcript brings along meet those of a file.
    _add("labels-within", _make_within, _within)


def _make_within(random: Random) -> bytes:
    labels = {key: part for key, part in _label_values("note2chat")[0].items() if key in ("findings", "diagnosis_rank")}
    talk = {
        "id": _labelled()[0].id, "reference": {"note2chat": {"judge:m": labels, "human:x": labels}},
        "turns": [
            {"role": "clinician", "text": "a"},
            {"role": "patient", "text": "b", "meta": {"note2chat": {"judge:m": {"reply": "answer"}}}},
        ],
    }  # fmt: skip
    return mutate.json_text(random, talk)


def _within(folder: Path, data: bytes) -> None:
    talk, labels = folder / "t.jsonl", folder / "l.jsonl"
    talk.write_bytes(data)
    labels.write_bytes(orjson.dumps(_label_values("note2chat")[0]))
    for transcript in note2chat.with_labels(Reading([talk], ReadOptions(format="jsonl")), labels):
        transcript.to_json()
        for rater in note2chat.label_raters(transcript):
            note2chat.rater_labels(transcript, rater)


def _none(value: object) -> None:
    """Only that there is a value."""


# -- coders, stores, runs -------------------------------------------------------------------------------------


@cache
def _coder() -> tuple[TrainedCoder, mutate.Parts]:
    coder = train(corpus(8), "tiny", folds=2, day="2026-01-01").coder
    path = shared() / "tiny.npz"
    save_coder(coder, path)
    return coder, mutate.parts_of(path.read_bytes())


@cache
def _arrays() -> dict[str, Any]:
    return {name.removesuffix(".npy"): np.load(io.BytesIO(data)) for name, data in _coder()[1].items()}


_SHAPES = (
    ("'<f8'", "(1000000000000,)"), ("'|O'", "(1,)"), ("'<f8'", "(-1,)"), ("'<f8'", "(0, 9223372036854775807)"),
    ("'<f8'", "(99999999999999999999999,)"), ("'<U999999999'", "(9,)"), ("1", "3"), ("'x'", "()"),
    ("[('a', '<f8', (9999, 9999))]", "(9,)"),
)  # fmt: skip
_HEADERS = (
    *(f"{{'descr': {of}, 'fortran_order': False, 'shape': {shape}, }}".encode() for of, shape in _SHAPES),
    b"{'descr': '<f8', 'shape': ()}", b"(" * 400, b"[" * 90, b"{[]: 1}", b"1", b"'''", b"\\", b"__import__('os')",
    b"{'a': 1L}",
)  # fmt: skip


def _npy(random: Random, name: str, content: bytes) -> bytes:
    if random.random() < 0.4:
        return mutate.octets(random, content)
    header = random.choice(_HEADERS) + b"\n"
    length = len(header) if random.random() < 0.8 else random.randrange(65536)
    return (
        b"\x93NUMPY"
        + random.choice((b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x09\x00"))
        + length.to_bytes(2, "little")
        + header
        + content[128:]
    )


def _make_coder(random: Random) -> bytes:
    coder, parts = _coder()
    if random.random() < 0.5:
        return mutate.archive(random, parts, _npy)
    # A card that is wrong in a file that is whole.
    arrays = dict(_arrays())
    arrays["card"] = np.frombuffer(
        mutate.dumps(mutate.json_value(random, coder.card)).encode("utf-8", "replace"), np.uint8
    )
    del arrays["checksum"]
    if random.random() < 0.3:
        name = random.choice(sorted(arrays))
        arrays[name] = random.choice(
            (arrays[name][:1], arrays[name].astype(np.float32), arrays[name].T, arrays[name] * 0)
        )
    arrays["checksum"] = np.frombuffer(digest(arrays), np.uint8)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _use_coder(path: Path) -> None:
    try:
        load_card(path)
    except BedsideError as error:
        one_line(error)
    coder = load_coder(path)
    for transcript in _labelled()[:1]:
        if coder.refuses(transcript) is None:
            coder.code(transcript)
            coder.trained_on(transcript)


def _judgement(number: int) -> Judgement:
    return Judgement(
        key=f"{number:064x}", model="m", parameters="{}", prompt="p", number=number, transcript="t",
        unit="transcript",
        items=(0, 2), rubric="empathy", version="v", state="answered", answer={"reason": "r", "score": 4}, error=None,
        expected=4.25, expected_note=None, replies=("no", '{"score": 4}'), faults=("429",), calls=3, input_tokens=10,
        output_tokens=5, cost=0.25, started="2026-01-01T00:00:00.000+00:00", finished="2026-01-01T00:00:01.000+00:00",
    )  # fmt: skip


@cache
def _judged() -> bytes:
    path = shared() / "judgements.sqlite"

    async def fill() -> None:
        store = Store(path)
        for number in range(3):
            key = f"{number:064x}"
            await store.claim([key])
            await store.finish(
                _judgement(number), (PromptPiece("the conversation\n"),), PromptPiece('{"type":"object"}')
            )
        store.close()

    asyncio.run(fill())
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    return path.read_bytes()


_COLUMNS = (
    "items",
    "answer",
    "replies",
    "faults",
    "calls",
    "state",
    "number",
    "model",
    "parameters",
    "expected",
    "started",
)


def _make_judged(random: Random) -> bytes:
    content = _judged()
    if random.random() < 0.5:
        for _ in range(random.choice((1, 1, 5, 50))):
            content = mutate.flips(random, content)
        return content
    connection = sqlite3.connect(":memory:")
    connection.deserialize(content)
    values = ("", "x", "{", "[]", "[1", "NaN", b"", b"x", b"\xff\xfe", 1, -1, 2**62, 1.5, "\ud7ff", "[" * 2000, None)
    column, value = random.choice(_COLUMNS), random.choice(values)
    statement = random.choice(
        (
            f"UPDATE judgements SET {column} = ?", "UPDATE pieces SET text = ?", "UPDATE prompts SET pieces = ?",
            "DELETE FROM pieces WHERE ? IS NOT 5", "DROP TABLE judgements", "ALTER TABLE judgements DROP COLUMN cost",
            "PRAGMA user_version = 9", "ALTER TABLE judgements ADD COLUMN x", "DROP TABLE claims",
            "DROP TABLE pieces",
            "PRAGMA user_version = 0", "CREATE TRIGGER a AFTER DELETE ON claims BEGIN SELECT RAISE(FAIL, 'x'); END",
        )
    )  # fmt: skip
    try:
        connection.execute(statement, (value,) if "?" in statement else ())
        connection.commit()
    except sqlite3.Error:
        connection.rollback()
    made = connection.serialize()
    connection.close()
    return made


def _judged_store(folder: Path, data: bytes) -> None:
    path = folder / "judgements.sqlite"
    for old in folder.glob("*"):
        old.unlink(missing_ok=True)  # SQLite may yet tidy up
    path.write_bytes(data)
    for look in (
        lambda: list(read_judgements(path)),
        lambda: stored_keys(path),
        lambda: stored_keys(path, failed=True),
        lambda: read_prompt(path, "p"),
    ):
        try:
            look()
        except BedsideError as error:
            one_line(error)

    async def use() -> None:
        store = Store(path)
        try:
            await store.claim([f"{number:064x}" for number in (0, 7)])
            await store.finish(_judgement(7), (PromptPiece("x"),), PromptPiece("{}"))
            await store.release(["0"])
        finally:
            store.close()

    try:
        asyncio.run(use())
    finally:
        assert not list(folder.glob("*.lock"))


@cache
def _manifest_json() -> Any:
    made = json.loads((_run().path / "manifest.json").read_text("utf-8").replace(str(shared()), "/data"))
    made["scorings"][0] |= {"date": "2026-01-01T00:00:00+00:00", "libraries": {"polars": "1"}}
    return made


def _make_manifest(random: Random) -> bytes:
    return mutate.json_text(random, _manifest_json())


def _manifest(folder: Path, data: bytes) -> None:
    """Opened, looked at as the commands do, and added to."""
    run = folder / "run"
    if not run.exists():
        _copy(folder)
        keep_answers(
            Run(run), _plans()["rate"], read_export(_plans()["rate"], _export("rate"), RATERS, where="x").answers
        )
    (run / "manifest.json").write_bytes(data)
    # Sealed again: what stands behind a seal that doesn't fit is never looked at.
    with suppress(ValueError, RecursionError, TypeError):
        write_manifest(run, json.loads(data))
    _looked(run)


def _looked(path: Path) -> None:
    open_ratings_view(path)
    run = Run(path)
    assert run.ratings.height >= 0
    assert run.index.height >= 0
    assert run.factors.height >= 0
    for transcript in run.transcripts():
        transcript.to_json()


@cache
def _run_files() -> list[tuple[str, bytes]]:
    run = _run().path
    return [("ratings.parquet", (run / "ratings.parquet").read_bytes())] + [
        (f"transcripts/{part.name}", part.read_bytes()) for part in sorted((run / "transcripts").glob("*"))
    ]


def _make_run_file(random: Random) -> bytes:
    """Cut off, overwritten or of another table. Not changed within: polars may end the process that reads that."""
    number = random.randrange(len(_run_files()))
    content = _run_files()[number][1]
    match random.randrange(4):
        case 0:
            content = content[: random.randrange(len(content))]
        case 1:
            content = bytes(random.randrange(256) for _ in range(random.randrange(200)))
        case 2:
            content = random.choice(_run_files())[1]
        case 3:
            content = content[: -random.randint(1, 8)] + b"\x00" * 8
    return b"%d" % number + content


def _run_file(folder: Path, data: bytes) -> None:
    if not (folder / "run").exists():
        _copy(folder)
    number = data[0] % len(_run_files()) if data else 0
    for name, content in _run_files():
        (folder / "run" / name).write_bytes(content)
    (folder / "run" / _run_files()[number][0]).write_bytes(data[1:])
    # Written so, as it were: of a file that isn't as it was written nothing is read.
    write_manifest(folder / "run", json.loads((folder / "run" / "manifest.json").read_bytes()))
    _looked(folder / "run")


def _add_stores() -> None:
    _add("coder", _make_coder, partial(_file, "tiny.npz", _use_coder), batch=20)
    _add("judge-store", _make_judged, _judged_store, batch=20)
    _add("manifest", _make_manifest, _manifest, batch=20)
    _add("run-files", _make_run_file, _run_file, batch=20)


def _made() -> Iterator[None]:
    _add_readers()
    _add_yaml()
    _add("reply", _make_reply, _reply)
    _add("batch", lambda random: mutate.json_lines(random, [_BATCH, _FAILED]), _batch)
    _add_annotation()
    _add_tables()
    _add_stores()
    for way in ways_in():
        _add(way.name, way.make, way.take, valid=way.valid, batch=5)
    yield


list(_made())
