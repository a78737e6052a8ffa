"""Records of requests and answers, in the shapes of many services: which turns they hold, and where reading stops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import AmbiguousError, InputError
from bedside.transcripts.message_lists import EMPTY, PICTURES
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcription_tags import THOUGHTS
from tests.transcripts.files import as_written, check_question, check_refusal, read, write

WORDS = (
    "My garganey wakes me at night.",
    "Since when does the hoopoe do so?",
    "The jacana came in May, with the rain.",
    "That kestrel sounds hard to live with.",
)
TALK = [(("patient", "clinician")[at % 2], text) for at, text in enumerate(WORDS)]
ROLES = ("user", "assistant")
SAID = [{"role": ROLES[at % 2], "content": text} for at, text in enumerate(WORDS)]
SENT, LAST = SAID[:3], WORDS[3]
ANSWER = SAID[3]
CHOICES = {"object": "chat.completion", "choices": [{"index": 0, "message": ANSWER, "finish_reason": "stop"}]}
GEMINI: list[dict[str, Any]] = [
    {"role": ("user", "model")[at % 2], "parts": [{"text": text}]} for at, text in enumerate(WORDS)
]
BLOCKS = [{**each, "content": [{"type": "text", "text": each["content"]}]} for each in SAID]
CONVERSE = [{**each, "content": [{"text": each["content"]}]} for each in SAID]
LANGCHAIN = [{"type": ("human", "ai")[at % 2], "content": text} for at, text in enumerate(WORDS)]
SERIALISED = [
    {"lc": 1, "type": "constructor", "id": ["langchain", ("HumanMessage", "AIMessageChunk")[at % 2]],
     "kwargs": {"content": text}}
    for at, text in enumerate(WORDS)
]  # fmt: skip
OTEL = [{"role": each["role"], "parts": [{"type": "text", "content": each["content"]}]} for each in SAID]
INFERENCE = [
    {"message": {"role": each["role"], "contents": [{"message_content": {"type": "text", "text": each["content"]}}]}}
    for each in SAID
]  # fmt: skip


def otlp(attributes: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]


def event(role: str, text: str) -> dict[str, Any]:
    if role == "assistant":
        return {"name": "gen_ai.choice", "body": {"index": 0, "message": {"role": role, "content": text}}}
    return {"name": f"gen_ai.{role}.message", "body": {"content": text}}


SPAN = {"traceId": "t", "spanId": "s", "startTimeUnixNano": "1"}
LINES = "\n".join(f"{message['role']}: {message['content']}" for message in SAID)
MORE_LINES = f"{LINES}\nUser: And now I can't sleep any more at night."
QUOTED = "So far:\n" + "\n".join(f"{('Patient', 'Doctor')[at % 2]}: {text}" for at, text in enumerate(WORDS[:3]))
HEADED = "Letzte Sitzung:\nTherapeut: Wie geht es Ihnen?\nKlientin: Schlecht.\nTherapeut: Seit wann?"
JUDGED = "Rate the empathy of this reply from 1 to 5: " + WORDS[1]
GENERATION: dict[str, Any] = {"traceId": "t", "type": "GENERATION"}
FIRST = {"id": "1", "startTime": "1", "input": SAID[:1], "output": SAID[1]}
AGAIN = {"id": "2", "startTime": "2", "input": SAID[:1], "output": "Take a walk each day."}
NEXT = {"id": "3", "startTime": "3", "input": SENT, "output": ANSWER}


def document(source: dict[str, Any]) -> dict[str, Any]:
    part = {"type": "document", "title": "Pages of my diary", "source": source}
    content = [{"type": "text", "text": WORDS[0]}, part]
    return {"messages": [{"role": "user", "content": content}, *SAID[1:]]}


SHAPES: dict[str, Any] = {
    "messages": {"messages": SAID},
    "a list": SAID,
    "response": {"messages": SENT, "response": LAST},
    "output": {"messages": SENT, "output": LAST},
    "completions": {"messages": SENT, "completions": [LAST]},
    "choices": {"messages": SENT, **CHOICES},
    "a response as text of JSON": {"messages": SENT, "response": json.dumps(CHOICES)},
    "gpt4_answer": {"conversations": SENT, "gpt4_answer": LAST},
    "request and response": {"request": {"model": "A", "messages": SENT}, "response": CHOICES},
    "request of a proxy": {"request_body": json.dumps({"messages": SENT}), "response_body": json.dumps(CHOICES)},
    "input and output": {"input": {"messages": SENT}, "output": ANSWER},
    "a graph's state": {"input": {"messages": LANGCHAIN[:3]}, "output": {"messages": LANGCHAIN}},
    "prompt and choices": {"prompt": SENT, "choices": [{"text": LAST, "index": 0}]},
    "responses": {"input": SENT, "output": [{"type": "reasoning", "summary": []}, {"type": "message", **ANSWER}]},
    "responses, all of them": {"instructions": "Be kind.", "input": SAID[:3], "output": [ANSWER]},
    "anthropic": {"request": {"system": "Be kind.", "messages": BLOCKS[:3]},
                  "response": {"type": "message", "role": "assistant", "content": [
                      {"type": "thinking", "thinking": "Hm, hard to say."}, BLOCKS[3]["content"][0]]}},
    "anthropic completion": {"messages": BLOCKS[:3], "response": {"content": BLOCKS[3]["content"]}},
    "gemini": {"contents": GEMINI},
    "gemini pair": {"request": {"contents": GEMINI[:3], "systemInstruction": {"parts": [{"text": "Be kind."}]}},
                    "response": {"candidates": [{"content": GEMINI[3], "finishReason": "STOP"}]}},
    "ai studio": {"runSettings": {"model": "models/g"}, "chunkedPrompt": {"chunks": [
        {"role": each["role"], "text": each["parts"][0]["text"]} for each in GEMINI]}},
    "converse": {"modelId": "A", "messages": CONVERSE[:3], "output": {"message": CONVERSE[3]}},
    "bedrock invocation log": {"modelId": "A", "input": {"inputBodyJson": {"messages": BLOCKS[:3]}},
                               "output": {"outputBodyJson": {"role": "assistant", "content": BLOCKS[3]["content"]}}},
    "bedrock titan": {"messages": SENT, "output": {"results": [{"outputText": LAST}]}},
    "langchain": {"messages": LANGCHAIN},
    "langchain, stored": {"messages": [
        {"type": each["type"], "data": {"content": each["content"]}} for each in LANGCHAIN]},
    "langchain, serialised": {"messages": SERIALISED},
    "vercel": {"messages": [{"id": "1", "role": each["role"], "content": "", "parts": [
        {"type": "step-start"}, {"type": "text", "text": each["content"]}]} for each in SAID]},
    "evals": {"run_id": "r", "type": "sampling", "data": {"prompt": SENT, "sampled": [LAST]}},
    "inspect-like": {"input": SENT, "output": {"completion": LAST, **CHOICES}, "target": "He asks since when."},
    "history of pairs": {"history": [list(WORDS[:2])], "instruction": WORDS[2], "input": "", "output": LAST},
    "history, question, answer": {"history": SAID[:2], "question": WORDS[2], "answer": LAST},
    "petri": {"metadata": {"transcript_id": "p"}, "target_messages": SAID},
    "health bench": {"prompt_id": "h", "prompt": SENT, "response_text": LAST, "rubrics": []},
    "batch": {"custom_id": "b", "body": {"messages": SAID}},
    "deepeval": {"name": "d", "scenario": "Sleep.", "turns": SAID},
    "claude": {"uuid": "c", "name": "Sleep", "chat_messages": [
        {"sender": ("human", "assistant")[at % 2], "text": text} for at, text in enumerate(WORDS)]},
    "langfuse": {"traceId": "t", "type": "GENERATION", "startTime": "1", "input": SENT, "output": ANSWER},
    "langfuse, no time": {"traceId": "t", "type": "GENERATION", "input": SENT, "output": LAST},
    "langfuse, a trace": {"sessionId": "s", "input": None, "output": None, "observations": [
        {"type": "SPAN", "input": "x", "output": "y"},
        {"type": "GENERATION", "startTime": "1", "input": {"messages": SENT}, "output": ANSWER}]},
    "langsmith": {"run_type": "llm", "trace_id": "t", "start_time": "1", "inputs": {"messages": [SERIALISED[:3]]},
                  "outputs": {"generations": [[{"text": LAST, "message": SERIALISED[3]}]]}},
    "phoenix": {"span_kind": "LLM", "context": {"trace_id": "t"}, "start_time": "1", "attributes": {
        "llm": {"input_messages": INFERENCE[:3], "output_messages": INFERENCE[3:]},
        "input": {"value": json.dumps({"messages": SENT})}}},
    "openinference, flat": {**SPAN, "attributes": {
        f"llm.{('input', 'output')[at // 3]}_messages.{at % 3}.message.{key}": text
        for at, each in enumerate(SAID) for key, text in each.items()}},
    "otel": {**SPAN, "attributes": {"gen_ai.operation.name": "chat", "gen_ai.input.messages": OTEL[:3],
                                    "gen_ai.output.messages": json.dumps(OTEL[3:])}},
    "otel, prompts": {**SPAN, "attributes": {
        f"gen_ai.{('prompt', 'completion')[at // 3]}.{at % 3}.{key}": text
        for at, each in enumerate(SAID) for key, text in each.items()}},
    "otel, events": {**SPAN, "attributes": {"gen_ai.operation.name": "chat"},
                     "events": [event(each["role"], each["content"]) for each in SAID]},
    "otlp": {"resourceSpans": [{"scopeSpans": [{"spans": [{**SPAN, "attributes": otlp(
        {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(OTEL[:3]),
         "gen_ai.output.messages": json.dumps(OTEL[3:])})}]}]}]},
    "mlflow": {"info": {"trace_id": "t", "timestamp_ms": 1}, "data": {
        "request": json.dumps({"messages": SENT}), "response": json.dumps(CHOICES)}},
    "mlflow, spans": {"info": {"trace_id": "t"}, "data": {"spans": [
        {"name": "x", "span_id": "1", "attributes": {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanInputs": json.dumps(
            {"messages": SENT}), "mlflow.spanOutputs": json.dumps(CHOICES)}},
        {"name": "y", "span_id": "2", "attributes": {"mlflow.spanType": '"CHAIN"', "mlflow.spanInputs": '"x"'}}]}},
    # The answer that the messages end with is not added.
    **{f"an answer that is there, {at}": {"messages": SAID, "response": answer}
       for at, answer in enumerate((LAST, ANSWER, CHOICES, f" {LAST} "))},
    "one answer twice": {"messages": SENT, "response": LAST, "completion": LAST},
    "one answer twice in a list": {"messages": SENT, "completions": [LAST, LAST]},
    "a question that is there": {"messages": SAID, "question": WORDS[0]},
    "a document of no words": document({"type": "base64", "data": "JVBERi0x\nLjQKJeLj\nz9MKMyAw\nIG9iago8"}),
    "the talk in lines beside it": {"messages": SAID, "log": LINES},
    "more in lines that describe the case": {"messages": SAID, "case_vignette": MORE_LINES},
    "nothing was sent": {"prompt": {"chunks": SAID, "pending": [{"role": "user", "content": ""}]}},
    # What is no time, or runs backwards once, moves no message.
    **{f"numbered by {key}": {"messages": [{**each, key: 9 - at} for at, each in enumerate(SAID)]}
       for key in ("response_time", "id", "latency")},
    "backwards once": {"messages": [{**each, "ts": 1_700_000_000 + time}
                                    for each, time in zip(SAID, (0, 9, 8, 11), strict=True)]},
}  # fmt: skip


def said(path: Path, **options: Any) -> list[tuple[str, str]]:
    (one,) = read(path, **options)
    return [(turn.role, turn.text) for turn in one.turns]


def one_line(folder: Path, *records: Any) -> Path:
    return write(folder, "log.jsonl", "".join(json.dumps(record) + "\n" for record in records))


def traced(folder: Path, *calls: dict[str, Any], **beside: Any) -> Path:
    return one_line(folder, *({**GENERATION, **beside, **call} for call in calls))


#: Records that stop the reading, what the message names, and the talk that an option chooses.
QUESTIONS: dict[str, tuple[list[Any], list[str], dict[str, Any], list[tuple[str, str]]]] = {
    "several answers within a list of messages": (
        [{"messages": SENT[:2], "response": [SENT[2], {"choices": [{"message": ANSWER}, {"message": SAID[1]}]}]}],
        ["columns=answer=response.1.choices.0"], {"columns": {"answer": "response.1.choices.0"}}, [*TALK[:2], TALK[3]]),
    "an answer of no known shape": (
        [{"messages": SENT, "response": {"final": LAST, "score": 3}}],
        ["columns=answer=response.final"], {"columns": {"answer": "response.final"}}, TALK),
    "a message elsewhere": (
        [{"messages": SENT, "made": [{"message": ANSWER}]}],
        ["columns=answer=made.0.message"], {"columns": {"answer": "made.0.message"}}, TALK),
    "a message elsewhere, left out": (
        [{"messages": SENT, "made": [{"message": ANSWER}]}], [], {"leave_out": ["made"]}, TALK[:3]),
    "a question that may be something else": (
        [{"messages": SAID[:3], "prompt": "Be kind to whoever asks.", "response": LAST}],
        ["columns=question=prompt"], {"columns": {"question": ""}}, TALK),
    "the words of a document": (
        [document({"type": "text", "data": "I cry every night since March."})],
        ["leave_out=document"], {"leave_out": ["document"]}, TALK),
    "two texts of a message": (
        [{"messages": [{**SAID[0], "text": "And I feel guilty."}, *SAID[1:]]}],
        ["leave_out=text"], {"leave_out": ["text"]}, TALK),
    "replies within a message": (
        [{"messages": [*SAID[:-1], {**SAID[-1], "replies": [{"role": "user", "content": "No, not that at all."}]}]}],
        ["leave_out=replies"], {"leave_out": ["replies"]}, TALK),
    "a talk in lines that holds more": (
        [{"messages": SAID, "log": MORE_LINES}], ["leave_out=log"], {"leave_out": ["log"]}, TALK),
    "a record before": (
        [{"messages": SAID, "previous_response_id": "r1"}],
        ["'r1'"], {"leave_out": ["previous_response_id"]}, TALK),
    "two conversations in an object": (
        [{"id": "a", "messages": SAID, "later": {"messages": [{"role": "user", "content": "My arm hurts a lot."}]}}],
        ["columns=messages=messages", "columns=messages=later.messages"], {"columns": {"messages": "messages"}}, TALK),
    "a call made again": (
        [{**GENERATION, **FIRST}, {**GENERATION, **AGAIN}],
        ["leave_out=1", "leave_out=2"], {"leave_out": ["2"]}, TALK[:2]),
    "a judge's call": (
        [{**GENERATION, **FIRST}, {**GENERATION, **AGAIN, "input": JUDGED, "output": "4, since it asks."}],
        ["leave_out=2"], {"leave_out": ["2"]}, TALK[:2]),
    "a talk quoted": (
        [{"messages": [{"role": "user", "content": QUOTED}, ANSWER]}],
        ["(Patient, Doctor)"], {"roles": {"Patient": "text"}},
        [("patient", QUOTED), TALK[3]]),
    "an answer that plays both sides": (
        [{"messages": [SAID[0], {"role": "assistant", "content": QUOTED}]}],
        ["roles=Patient=text"], {"roles": {"Patient": "text"}}, [TALK[0], ("clinician", QUOTED)]),
    "a talk quoted below a heading": (
        [{"messages": [{"role": "user", "content": HEADED}, ANSWER]}],
        ["(Therapeut, Klientin)"], {"roles": {"Therapeut": "text"}}, [("patient", HEADED), TALK[3]]),
}  # fmt: skip


@pytest.mark.parametrize(("records", "named", "options", "talk"), QUESTIONS.values(), ids=QUESTIONS)
def test_what_may_be_read_in_two_ways_stops(
    records: list[Any], named: list[str], options: dict[str, Any], talk: list[tuple[str, str]], tmp_path: Path
) -> None:
    path = one_line(tmp_path, *records)
    check_question(path, *named)
    assert said(path, **options) == talk


@pytest.mark.parametrize(
    ("record", "key", "columns"),
    [
        ({"messages": SENT, "response": {**CHOICES, "note": "This was made by hand."}}, "response.note", {}),
        ({**GENERATION, **NEXT, "metadata": {"note": "He said this on the phone."}}, "metadata.note", {}),
        ({"messages": SENT, "completions": [LAST, "Go for a walk."]}, "completions", {"answer": "completions.0"}),
    ],
)
def test_what_is_left_out_is_counted(record: Any, key: str, columns: dict[str, str], tmp_path: Path) -> None:
    path = one_line(tmp_path, record)
    check_question(path, "columns=answer=" if columns else f"leave_out={key.removeprefix('response.')}")
    reading = Reading([path], ReadOptions(columns=columns) if columns else ReadOptions(leave_out=[key]))
    assert [len(one.turns) for one in reading] == [4]
    assert reading.account.lost[key].number == 1


@pytest.mark.parametrize("name", SHAPES)
def test_each_shape_holds_the_same_talk(name: str, tmp_path: Path) -> None:
    assert said(one_line(tmp_path, SHAPES[name])) == TALK
    if name != "a list":
        assert said(write(tmp_path, "log.json", json.dumps([SHAPES[name], {**SHAPES[name], "id": "2"}][:1]))) == TALK


def test_events_that_are_records_of_their_own_make_one_call(tmp_path: Path) -> None:
    events = [
        {"event_name" if key == "name" else key: part for key, part in event(each["role"], each["content"]).items()}
        | {"traceId": "t", "spanId": "s"}
        for each in SAID
    ]  # fmt: skip
    assert said(write(tmp_path, "log.jsonl", "".join(json.dumps(each) + "\n" for each in events))) == TALK


@pytest.mark.parametrize("system", ["Be kind, and brief.", [{"type": "text", "text": "Be kind, and brief."}]])
@pytest.mark.parametrize("within", [True, False])
def test_what_a_request_is_told_is_provenance(system: Any, within: bool, tmp_path: Path) -> None:
    request = {"model": "A", "max_tokens": 9, "system": system, "messages": SENT}
    record = {"request": request, "response": CHOICES} if within else {**request, "response": CHOICES}
    (one,) = read(one_line(tmp_path, record))
    assert as_written(one)[0][::2] == ("system", "Be kind, and brief.")
    assert (one.system, [turn.text for turn in one.turns]) == ("A", list(WORDS))


# -- the answer beside the messages -----------------------------------------------------------------------


def test_where_an_answer_became_a_turn_it_is_said(tmp_path: Path) -> None:
    reading = Reading([one_line(tmp_path, {"history": SAID[:2], "query": WORDS[2], "reply": LAST})])
    assert len(list(reading)) == 1
    assert reading.account.remarks == [
        "What stands under query is the user's last turn.",
        "What stands under reply is the model's last turn.",
    ]


def test_another_answer_than_the_messages_end_with_stops(tmp_path: Path) -> None:
    path = one_line(tmp_path, {"messages": SAID, "response": "Take a walk each day."})
    check_question(path, "columns=answer=response", "leave_out=response")
    assert said(path, columns={"answer": "response"}) == [*TALK, ("clinician", "Take a walk each day.")]
    (one,) = read(path, columns={"answer": ""})
    assert (len(one.turns), one.factors) == (4, {"response": "Take a walk each day."})
    reading = Reading([path], ReadOptions(leave_out=["response"]))
    (one,) = reading
    assert (len(one.turns), one.factors, one.reference) == (4, {}, {})
    assert reading.account.lost["response"].number == 1


@pytest.mark.parametrize(
    "record",
    [
        {"messages": SENT, "response": LAST, "output": "Take a walk each day."},
        {"request": {"messages": SENT}, "response": {"choices": [{"message": ANSWER}, {"message": SAID[1]}]}},
        {"messages": SENT, "completions": [LAST, "Take a walk each day."]},
        {"messages": SENT, "choices": [{"text": LAST}, {"text": "Take a walk each day."}]},
        {"contents": GEMINI[:3], "candidates": [{"content": GEMINI[3]}, {"content": GEMINI[1]}]},
    ],
)
def test_of_several_answers_the_user_takes_one(record: dict[str, Any], tmp_path: Path) -> None:
    path = one_line(tmp_path, record)
    with pytest.raises(AmbiguousError) as error:
        read(path)
    (named, *_) = [part for part in str(error.value.todo).split("`") if part.startswith("columns=answer=")]
    assert said(path, columns={"answer": named.removeprefix("columns=answer=")}) == TALK


def test_a_record_of_instructions_without_an_answer_is_one_line(tmp_path: Path) -> None:
    record = {"instructions": "Be kind.", "question": WORDS[0], "response": {"content": LAST}}
    assert said(one_line(tmp_path, record)) == [TALK[0], TALK[3]]
    with pytest.raises(InputError):
        read(one_line(tmp_path, record), columns={"answer": ""})


@pytest.mark.parametrize("key", ["ideal", "reference", "target", "expected_output", "gold_answer", "ideal_response"])
def test_what_a_model_should_say_is_never_a_turn(key: str, tmp_path: Path) -> None:
    (one,) = read(one_line(tmp_path, {"messages": SENT, key: LAST}))
    assert [turn.text for turn in one.turns] == list(WORDS[:3])
    assert one.reference == {key: LAST}


@pytest.mark.parametrize(
    ("key", "value"),
    [("zzz", LAST), ("gpt-4o", LAST), ("bot", [LAST]), ("next_turn", {"content": LAST}), ("output", "completed")],
)
def test_what_may_be_the_answer_to_messages_that_end_with_the_user_stops(key: str, value: Any, tmp_path: Path) -> None:
    path = one_line(tmp_path, {"messages": SENT, key: value})
    check_question(path, f"columns=answer={key}`", f"leave_out={key}`")
    assert [len(one.turns) for one in read(path, columns={"answer": key})] == [4]
    assert said(path, columns={"answer": ""}) == said(path, leave_out=[key]) == TALK[:3]


@pytest.mark.parametrize(
    ("key", "value"), [("result", "success"), ("note", LAST), ("case_summary", LAST), ("topicName", LAST)]
)
def test_what_is_no_answer_by_its_name_does_not_stop(key: str, value: str, tmp_path: Path) -> None:
    (one,) = read(one_line(tmp_path, {"messages": SENT, key: value}))
    assert (len(one.turns), one.factors) == (3, {key: value})


def test_a_label_is_no_turn(tmp_path: Path) -> None:
    (one,) = read(one_line(tmp_path, {"messages": SAID, "prediction": "insomnia", "output": {"tokens": 5}}))
    assert (len(one.turns), one.factors["prediction"], one.reference) == (4, "insomnia", {"output": {"tokens": 5}})


# -- parts, lists and speakers -----------------------------------------------------------------------------


def test_parts_that_are_no_words_are_counted(tmp_path: Path) -> None:
    parts = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "He is very tired."},
        {"type": "tool-lookUp", "toolCallId": "1", "state": "output-available", "output": "It says so."},
        {"type": "file", "mediaType": "image/png", "url": "data:x"},
        {"type": "text", "text": WORDS[1]},
    ]
    messages = [SAID[0], {"role": "assistant", "parts": parts}, {"role": "user", "content": [{"image": {}}]}, *SAID[2:]]
    reading = Reading([one_line(tmp_path, {"messages": messages})])
    (one,) = reading
    assert [(turn.role, turn.text) for turn in one.turns] == TALK
    assert [(item.kind, item.before) for item in one.provenance] == [("tools", 2)]
    assert reading.account.left_out == {PICTURES: 3, THOUGHTS: 1}


def test_what_was_heard_is_said(tmp_path: Path) -> None:
    """Of speech the log may hold the sound, and its text beside it."""
    heard = [
        {"role": "user", "content": [{"type": "input_audio", "audio": "UklGRg==", "transcript": WORDS[0]}]},
        {"role": "assistant", "content": None, "audio": {"data": "", "transcript": WORDS[1]}},
        *SAID[2:],
    ]
    reading = Reading([one_line(tmp_path, {"messages": heard})])
    assert [(turn.role, turn.text) for one in reading for turn in one.turns] == TALK
    assert not reading.account.left_out
    assert said(traced(tmp_path, {"id": "1", "input": heard[:1], "output": heard[1]})) == TALK[:2]


def test_speakers_and_keys_are_left_out_where_the_user_says(tmp_path: Path) -> None:
    narrator = {"role": "chorus", "content": "They sit in a small room."}
    record = {"messages": [narrator, *SAID], "metadata": {"notes": "She seems tired today.", "site": "north"}}
    path = one_line(tmp_path, record)
    check_refusal(path, "unknown speaker 'chorus'")
    reading = Reading([path], ReadOptions(leave_out=["chorus", "metadata.notes"]))
    (one,) = reading
    assert [(turn.role, turn.text) for turn in one.turns] == TALK
    assert (one.factors, one.reference) == ({"site": "north"}, {})
    assert {name: texts.number for name, texts in reading.account.lost.items()} == {"chorus": 1, "metadata.notes": 1}


# -- several records of one conversation -------------------------------------------------------------------


def growing(folder: Path, *ids: str | None) -> Path:
    records = [{"messages": SAID[: end - 1], "response": SAID[end - 1]["content"]} for end in (2, 4)]
    return write(
        folder,
        "log.jsonl",
        "".join(
            json.dumps(record | ({} if name is None else {"session_id": name})) + "\n"
            for name, record in zip(ids, records, strict=True)
        ),
    )


def test_a_record_that_repeats_another_of_the_same_id_holds_the_talk(tmp_path: Path) -> None:
    reading = Reading([growing(tmp_path, "s", "s")])
    (one,) = reading
    assert [(turn.role, turn.text) for turn in one.turns] == TALK
    assert list(reading.account.left_out.values()) == [1]


@pytest.mark.parametrize("ids", [(None, None), ("s", "t")])
def test_a_record_that_repeats_another_without_an_id_stops(ids: tuple[Any, Any], tmp_path: Path) -> None:
    path = growing(tmp_path, *ids)
    check_question(path, "columns=id=row")
    assert said(path, columns={"id": ""}) == TALK
    assert [len(one.turns) for one in read(path, columns={"id": "row"})] == [2, 4]


def test_records_of_two_models_are_two_conversations(tmp_path: Path) -> None:
    records = [{"id": f"a{at}", "case_id": "a", "model": "xy"[at], "messages": SAID[: 2 + 2 * at]} for at in (0, 1)]
    path = write(tmp_path, "log.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    assert [len(one.turns) for one in read(path, columns={"id": ""})] == [2, 4]


def test_a_call_that_was_made_again_is_settled_by_the_next_or_stops(tmp_path: Path) -> None:
    assert said(traced(tmp_path, FIRST, AGAIN, NEXT)) == TALK
    assert said(traced(tmp_path, {**AGAIN, "startTime": "0"}, FIRST, NEXT)) == TALK


def test_calls_in_traces_that_repeat_each_other_stop(tmp_path: Path) -> None:
    path = traced(tmp_path, FIRST, {**NEXT, "traceId": "u", "userId": "anna"})
    with pytest.raises(AmbiguousError):
        read(path)
    assert said(path, columns={"id": ""}) == TALK
    assert [len(one.turns) for one in read(path, columns={"id": "row"})] == [2, 4]
    assert said(traced(tmp_path, FIRST, {**NEXT, "traceId": "u"}, user="anna"), columns={"id": "user"}) == TALK


def test_calls_without_a_time_that_nothing_puts_in_order_stop(tmp_path: Path) -> None:
    calls = [{"input": SAID[at]["content"], "output": SAID[at + 1]["content"], "n": at} for at in (0, 2)]
    path = traced(tmp_path, *calls)
    check_question(path, "columns=time=")
    assert said(path, columns={"time": ""}) == TALK
    assert said(traced(tmp_path, *reversed(calls)), columns={"time": "n"}) == TALK
    assert said(traced(tmp_path, NEXT, FIRST)) == TALK


@pytest.mark.parametrize(
    ("sent", "answer", "out"),
    [
        ([{"role": "user", "content": JUDGED}], "4, since it asks.", "2"),
        ([{"role": "user", "content": "My knee hurts."}], "Which one?", "2"),
        ([SAID[0], {**SAID[1], "content": WORDS[1][:-3]}, SAID[2]], LAST, "1"),
    ],
)
def test_a_call_that_does_not_go_on_from_the_others_stops(
    sent: list[Any], answer: str, out: str, tmp_path: Path
) -> None:
    aside = {"id": "2", "startTime": "2", "input": sent, "output": answer}
    path = traced(tmp_path, FIRST, aside, *([NEXT] if out == "2" else []))
    check_question(path, f"leave_out={out}")
    assert len(said(path, leave_out=[out])) == 4


def test_an_exchange_that_is_repeated_without_a_history_stays(tmp_path: Path) -> None:
    later = {"id": "3", "startTime": "3", "input": WORDS[2], "output": WORDS[3]}
    again = {**FIRST, "id": "2", "startTime": "2"}
    assert said(traced(tmp_path, FIRST, again, later)) == [*TALK[:2], *TALK]
    assert said(traced(tmp_path, FIRST, later, {**later, "id": "4", "startTime": "4"})) == [*TALK, *TALK[2:]]
    assert said(traced(tmp_path, FIRST, FIRST, later)) == TALK


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("3/1/2025 9:05:00 AM", "3/1/2025 10:05:00 AM"),
        ("2025-03-01 9:05:00", "2025-03-01 10:05:00"),
        ("2025-03-01T10:05:00+01:00", "2025-03-01T09:30:00Z"),
        ("2025-03-01T10:00:00Z", "2025-03-01T10:00:00.700Z"),
        (95, 105),
        ("95", "105.5"),
        ("9:05", "10:05"),
        (1740820000, 1740820000500),
    ],
)
def test_calls_are_put_in_order_by_the_value_of_their_times(first: Any, second: Any, tmp_path: Path) -> None:
    early = {"id": "1", "startTime": first, "input": WORDS[0], "output": WORDS[1]}
    late = {"id": "2", "startTime": second, "input": WORDS[2], "output": WORDS[3]}
    reading = Reading([traced(tmp_path, late, early)])
    assert [(turn.role, turn.text) for one in reading for turn in one.turns] == TALK
    assert not reading.account.lost


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("soon", "later"),
        ("95", "9:05"),
        ("01/03/2025 9:05", "02/03/2025 9:05"),
        ("2025-03-01T10:00", "2025-03-01T09:00Z"),
    ],
)
def test_times_that_cannot_be_compared_stop(first: str, second: str, tmp_path: Path) -> None:
    calls = [
        {"id": str(at), "startTime": time, "input": WORDS[at], "output": WORDS[at + 1]}
        for at, time in ((0, first), (2, second))
    ]
    path = traced(tmp_path, *calls)
    check_question(path, "columns=time=")
    assert said(path, columns={"time": ""}) == TALK


def test_tools_of_a_call_are_provenance(tmp_path: Path) -> None:
    tool = {"name": "look", "description": "Looks for what he said before."}
    called = {"role": "assistant", "content": None, "tool_calls": [{"function": {
        "name": "look", "arguments": json.dumps({"q": 'he said "no" that day'})}}]}  # fmt: skip
    attributes = {
        "gen_ai.input.messages": [*SENT, called, {"role": "tool", "content": "He did say so."}],
        "gen_ai.output.messages": OTEL[3:],
        "gen_ai.tool.definitions": json.dumps([tool]),
    }
    (one,) = read(one_line(tmp_path, {**SPAN, "attributes": attributes}))
    assert [(turn.role, turn.text) for turn in one.turns] == TALK
    assert [(item.kind, item.before) for item in one.provenance] == [("tools", 0), ("tools", 3), ("tools", 3)]


@pytest.mark.parametrize("packed", [False, True])
def test_instructions_of_a_span_may_be_parts(packed: bool, tmp_path: Path) -> None:
    attributes = {
        "llm.request.type": "chat",
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be kind, and brief."}]),
        **{f"gen_ai.prompt.{at}.{key}": one[key] for at, one in enumerate(SENT) for key in ("role", "content")},
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": LAST,
    }
    if packed:
        attributes["gen_ai.input.messages"] = json.dumps(SENT)
    (one,) = read(one_line(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": [
        {**SPAN, "attributes": attributes}]}]}]}))  # fmt: skip
    assert [(turn.role, turn.text) for turn in one.turns] == TALK
    assert [item.text for item in one.provenance] == ["Be kind, and brief."]


def test_empty_answers_are_counted(tmp_path: Path) -> None:
    reading = Reading([traced(tmp_path, {**NEXT, "output": {"role": "assistant", "content": ""}})])
    assert [len(one.turns) for one in reading] == [3]
    assert reading.account.left_out == {EMPTY: 1}


def test_the_order_of_records_that_repeat_each_other_makes_no_difference(tmp_path: Path) -> None:
    path = growing(tmp_path, "s", "s")
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    assert said(path) == TALK


def test_a_talk_quoted_within_a_table_is_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f'id,user,assistant\na,"{QUOTED}","{LAST}"\n')
    check_question(path, "one turn holds a talk of 3 lines", format="exchanges")


def test_a_quotation_of_one_side_is_ones_own_words(tmp_path: Path) -> None:
    text = "My doctor wrote:\nDoctor: rest.\nDoctor: drink.\nDoctor: sleep.\nIs he right?"
    (one,) = read(one_line(tmp_path, {"messages": [{"role": "user", "content": text}, ANSWER]}))
    assert len(one.turns) == 2


@pytest.mark.parametrize("key", ["ts", "timestamp_ms", "createdAt", "order"])
def test_messages_that_stand_backwards_are_turned_round(key: str, tmp_path: Path) -> None:
    messages = [{**each, key: 1_700_000_000_000 + at} for at, each in enumerate(SAID)]
    path = one_line(tmp_path, {"messages": messages[::-1]})
    reading = Reading([path])
    (one,) = reading
    assert [turn.text for turn in one.turns] == [*WORDS]
    assert any("backwards" in remark or "order of" in remark for remark in reading.account.remarks)


def test_words_of_another_form_stay_in_their_line(tmp_path: Path) -> None:
    parts = ["I have ", {"type": "bold", "text": "fever"}, " since May, and it stays."]
    message = {"role": "user", "content": parts}
    (one,) = read(one_line(tmp_path, {"messages": [message, ANSWER]}))
    assert one.turns[0].text == "I have fever since May, and it stays."


def test_where_words_of_another_form_lead_to_is_kept(tmp_path: Path) -> None:
    parts = ["See ", {"type": "text_link", "text": "this page", "href": "https://example.org/a"}]
    (one,) = read(one_line(tmp_path, {"messages": [{"role": "user", "content": parts}, ANSWER]}))
    assert one.turns[0].text == "See this page"
    assert one.turns[0].meta["href"] == "https://example.org/a"


@pytest.mark.parametrize("kind", [["bold"], {"a": 1}, 7])
def test_a_part_whose_type_is_no_text_stops(kind: Any, tmp_path: Path) -> None:
    parts = [{"type": kind, "text": "I sleep badly since May."}]
    check_question(one_line(tmp_path, {"messages": [{"role": "user", "content": parts}, ANSWER]}), "I sleep badly")


@pytest.mark.parametrize("output", ["听起来你最近压力很大能说说吗", "最近とても大変だったのですね"])
def test_an_answer_without_spaces_is_one(output: str, tmp_path: Path) -> None:
    (one,) = read(one_line(tmp_path, {"messages": SENT, "output": output}))
    assert one.turns[-1].text == output


def test_prompts_that_change_from_call_to_call_are_kept(tmp_path: Path) -> None:
    def sent(prompt: str, number: int) -> list[dict[str, str]]:
        return [{"role": "system", "content": f"Be kind. It is {prompt} now."}, *SAID[:number]]

    calls = [
        {
            **NEXT,
            "id": name,
            "startTime": f"2025-03-01T{name}:00:00Z",
            "input": sent(name, number),
            "output": SAID[number],
        }
        for name, number in (("10", 1), ("11", 3))
    ]
    (one,) = read(traced(tmp_path, *calls))
    assert [turn.text for turn in one.turns] == [*WORDS]
    assert sorted(item.text for item in one.provenance) == ["Be kind. It is 10 now.", "Be kind. It is 11 now."]
