"""Logs of conversations with language models: what is taken of each form, and who plays whom."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import AmbiguousError
from bedside.transcripts.message_lists import EMPTY, SeveralAnswersError, messages_in
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.role_evidence import check_roles
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.transcription_tags import THOUGHTS
from tests.transcripts.files import as_written, check_question, check_refusal, read, write

FORMS = Path("../shared/data/forms").resolve()
forms = pytest.mark.skipif(not FORMS.is_dir(), reason="the shared forms are not here")

SAID = [{"role": "user", "content": "I sleep badly."}, {"role": "assistant", "content": "Since when?"}]


def said(transcript: Transcript) -> list[tuple[str, str]]:
    return [(who, text) for who, _, text in as_written(transcript)]


TALK = [("patient", "I sleep badly."), ("clinician", "Since when?")]


def lines(*objects: Any) -> str:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects)


# -- where the messages stand --------------------------------------------------------------------------


@forms
def test_of_several_lists_of_messages_none_is_taken_in_silence() -> None:
    path = FORMS / "craft-md" / "gpt3_case_0.json"
    check_question(
        path,
        "5 lists of messages",
        "columns=messages=trial_0.multiturn_conversation",
        "columns=messages=trial_*.multiturn_conversation",
    )


@forms
def test_a_path_of_keys_leads_to_the_messages() -> None:
    folder = FORMS / "craft-md"
    paths = sorted(folder.glob("*.json"))
    logs = [json.loads(path.read_bytes()) for path in paths]
    first = read(*paths, columns={"messages": "trial_0.multiturn_conversation"})
    assert [len(as_written(each)) for each in first] == [len(log["trial_0"]["multiturn_conversation"]) for log in logs]
    assert [each.case_id for each in first] == [log["case_id"] for log in logs]
    assert "trial_1" not in first[0].reference
    every = read(*paths, columns={"messages": "trial_*.multiturn_conversation"})
    assert len(every) == 15
    assert {each.factors["trial"] for each in every} == {0, 1, 2, 3, 4}
    assert {each.case_id for each in every} == {log["case_id"] for log in logs}
    texts = [text for each in every for _, text in said(each)]
    assert texts == [
        message["content"]
        for log in logs
        for trial in range(5)
        for message in log[f"trial_{trial}"]["multiturn_conversation"]
    ]


def test_one_list_under_another_key_or_a_level_down_is_taken_and_said(tmp_path: Path) -> None:
    for item, path in (({"chat": SAID}, "chat"), ({"id": "a", "run": {"log": SAID, "n": 2}}, "run.log")):
        reading = Reading([write(tmp_path, "log.json", json.dumps(item))])
        (transcript,) = reading
        assert said(transcript) == TALK
        assert reading.account.remarks == [f"The messages stand under {path}."]
    assert transcript.id == "a"
    assert transcript.factors == {"n": 2}


def test_keys_of_other_fields_can_be_named(tmp_path: Path) -> None:
    item = {"who": {"model": "A", "n": 7}, "log": SAID}
    path = write(tmp_path, "log.jsonl", lines(item))
    (transcript,) = read(path, columns={"messages": "log", "system": "who.model", "case_id": "who.n"})
    assert (transcript.system, transcript.case_id) == ("A", "7")
    check_refusal(path, "who.x", columns={"messages": "log", "system": "who.x"})
    check_refusal(path, "talk", columns={"messages": "talk"})


@forms
def test_chinese_counselling_dialogues() -> None:
    paths = sorted((FORMS / "smile").glob("*.json"))
    for path, transcript in zip(paths, read(*paths), strict=True):
        messages = json.loads(path.read_bytes())
        roles = {"client": "patient", "counselor": "clinician"}
        assert said(transcript) == [(roles[each["role"]], each["content"]) for each in messages]


# -- who plays whom ------------------------------------------------------------------------------------


def test_a_model_that_is_told_to_be_the_patient_is_not_read_as_the_clinician(tmp_path: Path) -> None:
    told = {"role": "system", "content": "You are Anna, a patient with insomnia. Answer the doctor's questions."}
    messages = [told, {"role": "user", "content": "What brings you here?"}]
    messages += [{"role": "assistant", "content": "I sleep badly."}]
    path = write(tmp_path, "log.jsonl", lines({"messages": messages}))
    check_question(path, "roles=assistant=patient,user=clinician", "roles=assistant=clinician,user=patient")
    (transcript,) = read(path, roles={"assistant": "patient", "user": "clinician"})
    assert [role for role, _ in said(transcript)] == ["system", "clinician", "patient"]
    (transcript,) = read(path, roles={"assistant": "clinician", "user": "patient"})
    assert [role for role, _ in said(transcript)] == ["system", "patient", "clinician"]


@pytest.mark.parametrize(
    ("prompt", "stops"),
    [
        ("You are an AI doctor specializing in dermatology. Arrive at a diagnosis of a patient's condition.", False),
        ("You are a helpful assistant. The patient is 40 years old.", False),
        ("You are the patient's physician.", False),
        ("You are talking to a patient with depression.", False),
        ("你是一位心理咨询师，请与来访者对话。", False),
        ("You are a 45-year-old patient with chest pain.", True),
        ("Act as a client who seeks counselling.", True),
        ("You are simulating a patient named Anna; the user is a medical student.", True),
        ("Roleplay a depressed help-seeker.", True),
        ("你是一名抑郁症患者。", True),
    ],
)
def test_what_a_system_message_tells_the_model_to_be(prompt: str, stops: bool) -> None:
    speakers, texts = ["system", "user", "assistant"], [prompt, "Hello.", "Hi."]
    if stops:
        with pytest.raises(AmbiguousError):
            check_roles(speakers, texts, {}, "here")
    else:
        check_roles(speakers, texts, {}, "here")


@pytest.mark.slow
@pytest.mark.skipif(not FORMS.is_dir(), reason="the shared data is not here")
def test_the_way_people_talk_tells_the_patient() -> None:
    """Real sessions as a model's log: with the clinician as assistant none stops, with the patient most do."""

    def stops(transcript: Transcript, assistant: str) -> bool:
        turns = [turn for turn in transcript.turns if turn.role != "other"]
        speakers = ["assistant" if turn.role == assistant else "user" for turn in turns]
        try:
            check_roles(speakers, [turn.text for turn in turns], {}, "here")
        except AmbiguousError:
            return True
        return False

    for source in ("annomi/annomi_dev.csv", "mdd5k/conversations"):
        transcripts = list(Reading([FORMS.parent / source]))
        assert not any(stops(each, "clinician") for each in transcripts)
        assert sum(stops(each, "patient") for each in transcripts) / len(transcripts) > 0.8


# -- forms ---------------------------------------------------------------------------------------------


def node(name: str, parent: str | None, role: str, text: str, kind: str = "text") -> tuple[str, dict[str, Any]]:
    content = {"content_type": kind, "parts": [text]}
    message = {"author": {"role": role}, "content": content, "create_time": 1740823200.5, "metadata": {}}
    return name, {"parent": parent, "children": [], "message": message}


def test_chatgpt_gives_the_branch_that_was_shown(tmp_path: Path) -> None:
    nodes = dict(
        [
            ("root", {"parent": None, "children": ["1"], "message": None}),
            node("1", "root", "user", "I sleep badly."),
            node("2", "1", "assistant", "Take a pill."),
            node("3", "1", "assistant", "thinking …", "thoughts"),
            node("4", "3", "assistant", "Since when?"),
        ]
    )
    nodes["4"]["message"]["metadata"]["model_slug"] = "gpt-5"
    export = [{"title": "Sleep", "conversation_id": "c", "current_node": "4", "mapping": nodes}]
    reading = Reading([write(tmp_path, "conversations.json", json.dumps(export))])
    (transcript,) = reading
    assert said(transcript) == TALK
    assert (transcript.id, transcript.system) == ("c", "gpt-5")
    assert transcript.turns[0].meta["time"] == "2025-03-01T10:00:00+00:00"
    assert transcript.reference == {"title": "Sleep"}


def test_chatgpt_gives_what_was_spoken(tmp_path: Path) -> None:
    heard = {"content_type": "audio_transcription", "text": "I sleep badly.", "direction": "in"}
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file"}
    content = {"content_type": "multimodal_text", "parts": [heard, sound]}
    nodes = {
        "1": {"parent": None, "message": {"author": {"role": "user"}, "content": content}},
        "2": {"parent": "1", "message": {"author": {"role": "assistant"}, "content": {
            "content_type": "text", "parts": ["Since when?"]}}},
    }  # fmt: skip
    (transcript,) = read(write(tmp_path, "c.json", json.dumps([{"mapping": nodes, "current_node": "2"}])))
    assert said(transcript) == TALK


def test_claude_leaves_out_thoughts(tmp_path: Path) -> None:
    content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Since when?"}]
    messages = [
        {"sender": "human", "text": "I sleep badly.", "content": [], "attachments": [{}]},
        {"sender": "assistant", "text": "Hm. Since when?", "content": content, "created_at": "2025-03-01"},
    ]
    path = write(tmp_path, "c.json", json.dumps([{"uuid": "u", "name": "", "chat_messages": messages}]))
    (transcript,) = read(path)
    assert said(transcript) == TALK
    assert transcript.id == "u"


def test_anthropic_blocks_and_tools(tmp_path: Path) -> None:
    call = {"type": "tool_use", "name": "look", "input": {}}
    messages = [
        SAID[0],
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, call]},
        {"role": "user", "content": [{"type": "tool_result", "content": "nothing"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Since when?"}, call]},
    ]
    (transcript,) = read(write(tmp_path, "log.jsonl", lines({"messages": messages})))
    called = json.dumps([call], separators=(",", ":"))
    assert said(transcript) == [
        TALK[0],
        ("tools", called),
        ("tools", '[{"type":"tool_result","content":"nothing"}]'),
        TALK[1],
        ("tools", called),
    ]
    assert [turn.index for turn in transcript.turns] == [0, 1]


def test_gemini_in_both_forms(tmp_path: Path) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "I sleep badly."}]},
        {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": "Since when?"}]},
    ]
    item = {"id": "a", "contents": contents, "systemInstruction": {"parts": [{"text": "You are a doctor."}]}}
    (transcript,) = read(write(tmp_path, "g.jsonl", lines(item)))
    assert said(transcript) == [("system", "You are a doctor."), *TALK]
    chunks = [
        {"role": "user", "text": "I sleep badly."},
        {"role": "model", "text": "Hm.", "isThought": True},
        {"role": "model", "text": "Since when?"},
    ]
    studio = {"runSettings": {"model": "models/g"}, "systemInstruction": {}, "chunkedPrompt": {"chunks": chunks}}
    (transcript,) = read(write(tmp_path, "studio.json", json.dumps(studio)))
    assert said(transcript) == TALK
    assert transcript.system == "g"


def test_health_bench_with_and_without_an_answer(tmp_path: Path) -> None:
    item = {
        "prompt_id": "p", "prompt": [*SAID, {"role": "user", "content": "A year."}], "canary": "x",
        "example_tags": ["theme:sleep", "axis:x"], "rubrics": [{"criterion": "c", "points": 5}],
        "model": "A", "completion": "I see.",
    }  # fmt: skip
    (transcript,) = read(write(tmp_path, "h.jsonl", lines(item)))
    assert said(transcript) == [*TALK, ("patient", "A year."), ("clinician", "I see.")]
    assert (transcript.id, transcript.case_id, transcript.system) == ("p/A", "p", "A")
    assert transcript.factors == {"theme": "sleep"}
    assert transcript.reference["rubrics"] == item["rubrics"]
    assert "canary" not in transcript.factors


def test_of_one_conversation_an_object_a_pattern_takes_one(tmp_path: Path) -> None:
    item = {"prompt_id": "p", "prompt": SAID, "prompt_before": SAID}
    path = write(tmp_path, "h.jsonl", lines(item))
    check_question(path, "2 lists of messages: prompt, prompt_before", columns={"messages": "prompt*"})


def test_arena_pairs_are_two_systems_on_one_case(tmp_path: Path) -> None:
    item = {
        "question_id": "q", "model_a": "A", "model_b": "A", "winner": "tie", "language": "English", "turn": 1,
        "conversation_a": SAID, "conversation_b": [*SAID[:1], {"role": "assistant", "content": "Oh."}],
    }  # fmt: skip
    one, two = read(write(tmp_path, "a.jsonl", lines(item)))
    assert [each.id for each in (one, two)] == ["q/a", "q/b"]
    assert {each.case_id for each in (one, two)} == {"q"}
    assert {each.system for each in (one, two)} == {"A"}
    assert said(two) == [TALK[0], ("clinician", "Oh.")]
    assert one.reference["preferred"] == "tie"


def test_a_question_of_several_pairs_and_judges_is_read_once_a_model(tmp_path: Path) -> None:
    def pair(one: str, two: str, winner: str, judge: str) -> dict[str, object]:
        said = {name: [SAID[0], {"role": "assistant", "content": f"I am {name}."}] for name in (one, two)}
        return {
            "question_id": 81, "model_a": one, "model_b": two, "winner": winner, "judge": judge, "turn": 1,
            "conversation_a": said[one], "conversation_b": said[two],
        }  # fmt: skip

    items = [pair("A", "B", "model_b", "x"), pair("A", "C", "tie", "x"), pair("B", "A", "model_a", "y")]
    reading = Reading([write(tmp_path, "a.jsonl", lines(*items))])
    assert [(each.id, each.reference["preferred"]) for each in reading] == [
        ("81/A", "B"), ("81/B", "B"), ("81/C", "tie")
    ]  # fmt: skip
    assert list(reading.account.left_out.values()) == [3]
    other = pair("A", "B", "tie", "z")
    other["conversation_a"] = SAID
    check_refusal(write(tmp_path, "b.jsonl", lines(items[0], other)), "two transcripts have the id '81/A'")


def test_batches_are_joined_with_their_replies(tmp_path: Path) -> None:
    requests = [{"custom_id": name, "method": "POST", "body": {"model": "A", "messages": SAID[:1]}} for name in "xyz"]
    reply = {"choices": [{"message": {"role": "assistant", "content": "Since when?", "refusal": None}}]}
    replies = [{"custom_id": name, "response": {"status_code": 200, "body": reply}} for name in "yx"]
    replies += [{"custom_id": "z", "response": {"status_code": 500, "body": {"error": {}}}}]
    write(tmp_path, "requests.jsonl", lines(*requests))
    path = write(tmp_path, "results.jsonl", lines(*replies))
    reading = Reading([tmp_path])
    x, y, z = reading
    assert (said(x), said(y), said(z)) == (TALK, TALK, TALK[:1])
    assert (x.id, x.system) == ("x", "A")
    assert [file.format for file in reading.inputs] == ["batch", "batch (companion)"]
    check_refusal(path, str(tmp_path / "requests.jsonl"))
    (tmp_path / "requests.jsonl").unlink()
    check_refusal(path)


def test_several_answers_to_a_request_of_a_batch_stop(tmp_path: Path) -> None:
    choices = [{"message": SAID[1]}, {"message": {**SAID[1], "content": "Take a pill."}}]
    reply = {"custom_id": "x", "response": {"status_code": 200, "body": {"choices": choices}}}
    path = write(tmp_path, "requests.jsonl", lines({"custom_id": "x", "body": {"model": "A", "messages": SAID[:1]}}))
    write(tmp_path, "results.jsonl", lines(reply))
    check_question(path, "columns=answer=response.body.choices.0")
    (transcript,) = read(path, columns={"answer": "response.body.choices.0"})
    assert said(transcript) == TALK


def test_anthropic_batches(tmp_path: Path) -> None:
    request = {"custom_id": "x", "params": {"model": "A", "system": "You are a doctor.", "messages": SAID[:1]}}
    content = [{"type": "text", "text": "Since when?"}]
    result = {"custom_id": "x", "result": {"type": "succeeded", "message": {"role": "assistant", "content": content}}}
    write(tmp_path, "requests.jsonl", lines(request))
    write(tmp_path, "results.jsonl", lines(result))
    (transcript,) = Reading([tmp_path])
    assert said(transcript) == [("system", "You are a doctor."), *TALK]


@forms
def test_inspect_logs_as_json_and_as_archive() -> None:
    path = FORMS / "inspect-ai" / "popularity.json"
    log = json.loads(path.read_bytes())
    transcripts = read(path)
    assert len(transcripts) == len(log["samples"])
    for transcript, sample in zip(transcripts, log["samples"], strict=True):
        assert [text for _, text in said(transcript)] == [each["content"] for each in sample["messages"]]
        assert transcript.case_id == str(sample["id"])
        assert transcript.system == log["eval"]["model"]
        assert transcript.factors["task"] == log["eval"]["task"]
    path = FORMS / "inspect-ai" / "mmlu-summary-choices.eval"
    with zipfile.ZipFile(path) as archive:
        sample = json.loads(archive.read("samples/1_epoch_1.json"))
    (transcript,) = read(path)
    assert [text for _, text in said(transcript)] == [each["content"] for each in sample["messages"]]
    assert transcript.system == "openai/gpt-4o"
    assert transcript.source.endswith("samples/1_epoch_1.json")


def test_a_damaged_archive_is_one_line(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps({"eval": {"model": "A", "task": "t"}}))
        archive.writestr("samples/1_epoch_1.json", json.dumps({"id": 1, "messages": SAID}))
    (transcript,) = read(tmp_path / "log.eval")
    assert said(transcript) == TALK
    data = (tmp_path / "log.eval").read_bytes()
    check_refusal(write(tmp_path, "cut.eval", data[: len(data) // 2]))


def test_calls_of_a_session_make_one_conversation(tmp_path: Path) -> None:
    """Each call is sent all that was said before: read one by one, each beginning would be scored anew."""
    more = [*SAID, {"role": "user", "content": "A year."}]
    answer = {"role": "assistant", "content": "I see."}
    calls = [
        {"id": "2", "traceId": "t2", "sessionId": "s", "type": "GENERATION", "startTime": "2025-03-01T10:01:00Z",
         "model": "A", "input": json.dumps(more), "output": answer},
        {"id": "1", "traceId": "t1", "sessionId": "s", "type": "GENERATION", "startTime": "2025-03-01T10:00:00Z",
         "model": "A", "input": SAID[:1], "output": "Since when?"},
        {"id": "3", "traceId": "t2", "sessionId": "s", "type": "SPAN", "startTime": "2025-03-01T10:02:00Z",
         "input": "x", "output": "y"},
    ]  # fmt: skip
    reading = Reading([write(tmp_path, "o.json", json.dumps(calls))])
    (transcript,) = reading
    assert said(transcript) == [*TALK, ("patient", "A year."), ("clinician", "I see.")]
    assert (transcript.id, transcript.system) == ("s", "A")


def test_calls_that_are_sent_only_what_is_new(tmp_path: Path) -> None:
    runs = [
        {"run_type": "llm", "trace_id": f"t{n}", "start_time": str(n), "extra": {"metadata": {"thread_id": "s"}},
         "inputs": {"messages": [[{"lc": 1, "type": "constructor", "id": ["a", "HumanMessage"],
                                   "kwargs": {"content": question}}]]},
         "outputs": {"generations": [[{"text": answer, "message": {"type": "ai", "content": answer}}]]}}
        for n, (question, answer) in enumerate([("I sleep badly.", "Since when?"), ("A year.", "I see.")])
    ]  # fmt: skip
    runs.append({"run_type": "chain", "inputs": {"messages": SAID}, "outputs": {}})
    (transcript,) = read(write(tmp_path, "runs.jsonl", lines({"runs": runs})))
    assert said(transcript) == [*TALK, ("patient", "A year."), ("clinician", "I see.")]


def test_calls_that_are_sent_the_end_of_what_was_said(tmp_path: Path) -> None:
    """A model that is sent the last messages only: what it was sent again would stand in the talk twice."""
    words = ["I sleep badly.", "Since when?", "A year.", "I see.", "And I am tired.", "Always?"]
    messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(words)]
    system = {"role": "system", "content": "You are a doctor."}
    runs = [
        {"run_type": "llm", "start_time": str(end), "extra": {"metadata": {"thread_id": "s"}},
         "inputs": {"messages": [system, *messages[max(0, end - 4) : end - 1]]}, "outputs": messages[end - 1]}
        for end in (2, 4, 6)
    ]  # fmt: skip
    (transcript,) = read(write(tmp_path, "runs.jsonl", lines(*runs)))
    assert [text for _, text in said(transcript)] == ["You are a doctor.", *words]


def test_spans_with_names_in_objects(tmp_path: Path) -> None:
    message = {"message": {"role": "user", "content": "I sleep badly."}}
    span = {
        "span_kind": "LLM", "context": {"trace_id": "t"}, "start_time": "1",
        "attributes": {"llm": {"model_name": "A", "input_messages": [message]}, "output.value": "Since when?",
                       "session.id": "s"},
    }  # fmt: skip
    (transcript,) = read(write(tmp_path, "spans.jsonl", lines(span)))
    assert said(transcript) == TALK
    assert (transcript.id, transcript.system) == ("s", "A")


def test_what_services_record_as_messages() -> None:
    for value, role, messages in (
        ("Hello.", "user", [{"role": "user", "content": "Hello."}]),
        ('[{"role": "user", "content": "x"}]', "user", [{"role": "user", "content": "x"}]),
        ({"choices": [{"message": SAID[1]}]}, "assistant", SAID[1:]),
        ([["I sleep badly.", "Since when?"]], "user", SAID),
        (None, "user", []),
        ({"prompt_id": 1}, "user", []),
        (json.dumps([[]] * 3), "user", []),
    ):
        assert messages_in(value, role) == messages
    with pytest.raises(SeveralAnswersError) as error:
        messages_in({"response": {"choices": [{"text": "One."}, {"text": "Two."}]}}, "assistant")
    assert (error.value.path, error.value.number) == (("response", "choices"), 2)


def test_empty_messages_of_a_session_are_counted_once(tmp_path: Path) -> None:
    """Each call is sent what stood before, empty messages too."""
    silent = {"role": "assistant", "content": ""}
    more = [*SAID, silent, {"role": "user", "content": "Hello?"}]
    last = [*more, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Good."}]
    calls: list[dict[str, Any]] = [
        {"id": str(n), "sessionId": "s", "type": "GENERATION", "startTime": str(n), "input": sent, "output": "Yes."}
        for n, sent in enumerate([more, last])
    ]  # fmt: skip
    calls.append({**calls[-1], "id": "9", "startTime": "9", "input": [silent], "output": None})
    reading = Reading([write(tmp_path, "o.json", json.dumps(calls))])
    (transcript,) = reading
    assert said(transcript) == [
        *TALK, ("patient", "Hello?"), ("clinician", "Yes."), ("patient", "Good."), ("clinician", "Yes."),
    ]  # fmt: skip
    assert reading.account.left_out == {EMPTY: 1, "records without messages": 1}


def test_thoughts_are_counted(tmp_path: Path) -> None:
    content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Since when?"}]
    path = write(tmp_path, "log.jsonl", lines({"messages": [SAID[0], {"role": "assistant", "content": content}]}))
    reading = Reading([path], ReadOptions())
    (transcript,) = reading
    assert said(transcript) == TALK
    assert reading.account.left_out[THOUGHTS] == 1


@pytest.mark.parametrize(
    "text",
    [
        "<think>Hm.\nAsk.</think>\nSince when?",
        "Hm. Ask.\n</think>\n\nSince when?",
        "<think>Hm.</think><p>Since when?</p>",
    ],
)
@pytest.mark.parametrize("form", ["json", "csv", "txt"])
def test_thoughts_between_marks_are_no_words(text: str, form: str, tmp_path: Path) -> None:
    if form == "json":
        content = lines({"messages": [SAID[0], {"role": "assistant", "content": text}]})
    elif form == "csv":
        content = f'role,content\nuser,I sleep badly.\nassistant,"{text}"\n'
    else:
        content = f"User: I sleep badly.\nAssistant: {text}\n"
    reading = Reading([write(tmp_path, f"log.{form}", content)], ReadOptions(drop_tags=True))
    (transcript,) = reading
    assert said(transcript) == TALK
    assert reading.account.left_out[THOUGHTS] == 1


def test_a_turn_that_ends_in_thought_has_no_words_and_a_word_of_the_mark_stays(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", lines({"messages": [SAID[0], {**SAID[1], "content": "<think>Hm, what"}]}))
    check_refusal(path, "the turn has no text")
    told = {"role": "user", "content": "I write <think> first."}
    (transcript,) = read(write(tmp_path, "b.json", lines({"messages": [told, SAID[1]]})))
    assert transcript.turns[0].text == "I write <think> first."
