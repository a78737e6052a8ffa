"""Messages of role and content, with the answer under evaluation where it stands beside them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.json_source import line_spans
from bedside.transcripts.message_lists import MODEL_SPEAKERS, SPEAKER_KEYS, TEXT_KEYS, is_message, message_turns
from bedside.transcripts.request_answers import LISTS, claims_record, list_of, talks, unrepeated
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.table_layout import tells_transcripts
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.transcript_fields import FIELDS

_COLUMNS = ("messages", "question", "answer", *FIELDS)


def _claims(head: Head) -> Claim | None:
    first = head.first
    if "messages" in head.source.options.columns and isinstance(first, dict):
        return "transcripts"
    if is_message(first):
        return "transcripts" if head.is_array and not tells_transcripts(head.source, SPEAKER_KEYS) else None
    if isinstance(first, dict):
        # Turns that have a text are bedside's own.
        if list_of(first) == "turns" and (not first["turns"] or "text" in first["turns"][0]):
            return None
        return "transcripts" if claims_record(first) else None
    return "transcripts" if isinstance(first, list) and is_message(first[0] if first else None) else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = MODEL_SPEAKERS
    source.check_columns(_COLUMNS)
    form, first = source.json or ("object", None)
    if form == "array" and is_message(first):
        transcript = source.attempt(
            lambda: source.transcript(message_turns(source, source.all_items(), source.name), source.name)
        )
        return iter(() if transcript is None else (transcript,))
    return unrepeated(source, _transcripts(source))


def _transcripts(source: SourceFile) -> Iterator[Transcript]:
    for where, name, value in source.json_values():
        for talk in source.attempt(talks, source, value, where) or ():
            transcript = source.attempt(talk.transcript, name)
            if transcript is not None:
                yield transcript


def _or(keys: tuple[str, ...]) -> str:
    return ", ".join(f"`{key}`" for key in keys[:-1]) + f" or `{keys[-1]}`"


READER = Reader(
    name="messages",
    title="messages of role and content, requests and answers (JSON, JSON lines)",
    description=(
        f"A list of messages under {_or(LISTS)}, under another key or within objects (`--columns "
        "messages=trial_0.conversation` says where; `trial_*.conversation` takes several, each as a transcript of "
        "the same case), or a bare list. A message names its speaker (`role`, `from`, `speaker`, `sender` or "
        f"`author`) and holds its text ({_or(TEXT_KEYS)}; parts that are text are joined, what a model thought is left "
        "out and counted), as OpenAI, Anthropic, Gemini, Bedrock, LangChain, Vercel's AI SDK and ShareGPT write them. "
        "One conversation a line, a list of conversations, or one a file. A model's answer (`response`, `output`, "
        "`completion`, `choices`, `answer` …) and the last question (`question`, `query`, `prompt`, `input` …) "
        "that stand beside the messages are the last turns, unless the messages end with them. Where there are "
        "several, or the messages end with another answer, reading stops: `--columns answer=PATH` and "
        "`question=PATH` name them, an empty name says that there is none, `--leave-out KEY` leaves one out. What "
        "a model should have said (`ideal`, `target`, `expected …`) is never a turn. `user` and `human` are the "
        "patient, `assistant`, `gpt` and `model` the clinician. What `system`, `developer` and tools say, and a "
        "prompt beside the messages, is provenance, which raters and judges are not shown. Where the assistant "
        "seems to play the patient, reading stops and asks for `--roles`. A record that repeats the one before "
        "and goes on is the same conversation where their ids are the same; else `--columns id=` says so, or "
        "`id=row` that each is one. Beside the messages: the id (`id`, `conversation_id`, `session_id`, "
        "`dialog_id`), the system (`system` or `model`; a `system` written in sentences is the prompt, `--columns "
        "system=system` says it is the name), the case (`case_id`, `case`, `patient_id`) and the language; other "
        "single values become factors, lists and objects go to the reference."
    ),
    example=(
        '{"id": "a-1", "model": "A", "case_id": "1", "messages": [{"role": "assistant", "content": '
        '"What brings you here?"}, {"role": "user", "content": "I sleep badly."}]}\n'
    ),
    example_name="messages.jsonl",
    facts={
        "family": "logs",
        "known_by": "a list of messages, under any key",
        "turns": "messages; the question and the answer beside them",
        "kept": "id, system, case, language; values as factors, lists in the reference, keys of messages with turns",
        "left": "thoughts, pictures, sound and files, empty messages, records that a longer one holds",
        "decided_by": "`--columns messages=PATH,answer=PATH`, `--leave-out KEY`",
    },
    endings=(".json", ".jsonl", ".ndjson"),
    claims=_claims,
    read=_read,
    spans=partial(line_spans, growing=True),
    priority=40,
)
