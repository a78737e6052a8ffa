"""Batch files: calls written for a service that answers many at once, and read back, in OpenAI's form.

A line of calls is ``{"custom_id", "method", "url", "body"}``, a line of answers ``{"custom_id", "response":
{"status_code", "body"}, "error"}``. OpenAI, Azure and other services take such files, and so do vLLM (``run-batch``)
and SGLang. The body is what a live run would send, and the id names what the request is for and which reply to it is
wanted, so that live requests and batch files can take turns, and an answer counts once however often its file is read.
"""

from __future__ import annotations

import io
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from bedside.core.errors import InputError
from bedside.core.files import opened, saying_where, sync, unreadable
from bedside.judges.llm.chat_forms import asked_by_responses
from bedside.judges.llm.deepeval_library import listed_facts
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.openai_chat import OpenAIChat, answer_data, error_message, first_form
from bedside.judges.llm.prices import estimate_tokens
from bedside.judges.llm.protocol import FaultError, NotAskedError, Reply, Request, Sampling
from bedside.judges.llm.server_problems import Secrets, problem_in

#: Limits of OpenAI's service for one file.
MAX_REQUESTS = 50_000
MAX_BYTES = 200_000_000
URL = "/v1/chat/completions"
#: Longest line of answers, in bytes.
_MOST_LINE = 2**26
#: What a body holds that is a reply: in OpenAI's two forms, Anthropic's and Gemini's.
_REPLIES = ("choices", "output", "content", "candidates")
#: How much of a request's key its id holds: an id has at most 64 characters.
KEY_DIGITS = 48
_ID = re.compile(rf"(([0-9a-f]{{{KEY_DIGITS}}})-\d+)(?:-([a-z]+)|_[0-9a-f]+)?")
#: How an id names parameters that the call goes without, so that its answer tells of it whenever it is read.
_LETTERS = {
    "temperature": "t",
    "seed": "s",
    "probabilities": "p",
    "max_tokens": "m",
    "reasoning_effort": "r",
    "schema": "w",
}


def request_id(request: Request) -> str:
    """The id of a request, without what it goes without."""
    return f"{request.key[:KEY_DIGITS]}-{request.number}"


def _unsent(call_id: str) -> tuple[str, ...]:
    """The parameters that a call went without."""
    match = _ID.fullmatch(call_id)
    letters = (match[3] or "") if match else ""
    return tuple(parameter for parameter, letter in _LETTERS.items() if letter in letters)


@dataclass(frozen=True, slots=True)
class BatchFile:
    """A file of calls that was written.

    Attributes:
        path: where.
        model: the model that is asked.
        calls: number of lines.
        tokens: estimated tokens of the prompts.
    """

    path: Path
    model: str
    calls: int
    tokens: int


class CallWriter:
    """Writes calls; more than one file where they don't fit in one, or are for several models.

    All files are there when :meth:`finish` returns, and none before.

    Args:
        path: the file; ``calls.jsonl`` becomes ``calls-1.jsonl``, ``calls-2.jsonl`` … where there are several.
        max_calls: calls at most.
        max_requests: calls in one file.
        max_bytes: size of one file.
    """

    def __init__(
        self, path: Path, max_calls: int | None = None, *, max_requests: int = MAX_REQUESTS, max_bytes: int = MAX_BYTES
    ) -> None:
        self._path = path
        self._max_calls = max_calls
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._parts: list[_FilePart] = []
        #: The file that a model's next call to an address goes into.
        self._last: dict[tuple[str, str], _FilePart] = {}
        self._written = 0
        #: Of what was written: what two orders ask alike is asked once.
        self._ids: set[str] = set()

    @property
    def full(self) -> bool:
        """Whether as many calls are written as may be."""
        return self._max_calls is not None and self._written >= self._max_calls

    def add(self, model: str, custom_id: str, body: bytes, tokens: int, url: str = URL) -> None:
        """Write a call."""
        if custom_id in self._ids:
            return
        self._ids.add(custom_id)
        call = {"custom_id": custom_id, "method": "POST", "url": url, "body": orjson.Fragment(body)}
        line = orjson.dumps(call) + b"\n"
        with saying_where(self._path):
            part = self._last.get((model, url))
            if part is None or part.calls >= self._max_requests or part.size + len(line) > self._max_bytes:
                if part is not None:
                    part.file.close()
                part = self._last[model, url] = _FilePart.beside(self._path, model)
                self._parts.append(part)
            part.file.write(line)
        part.calls += 1
        part.size += len(line)
        part.tokens += tokens
        self._written += 1

    def finish(self) -> tuple[BatchFile, ...]:
        """Put the files in their places; returns what was written.

        Raises:
            RunError: they can't be written.
        """
        files = []
        with saying_where(self._path):
            for number, part in enumerate(self._parts, 1):
                part.file.close()
                path = self._path
                if len(self._parts) > 1:
                    path = path.with_name(f"{path.stem}-{number}{path.suffix}")
                sync(part.temporary)
                os.replace(part.temporary, path)
                files.append(BatchFile(path, part.model, part.calls, part.tokens))
            sync(self._path.parent)
        self._parts, self._last = [], {}
        return tuple(files)

    def discard(self) -> None:
        """Leave nothing of what isn't finished."""
        for part in self._parts:
            part.file.close()
            part.temporary.unlink(missing_ok=True)


@contextmanager
def writing(path: Path | None, max_calls: int | None = None) -> Iterator[CallWriter | None]:
    """A writer whose unfinished files are removed when the block ends; None where there is no path."""
    writer = None if path is None else CallWriter(path, max_calls)
    try:
        yield writer
    finally:
        if writer is not None:
            writer.discard()


@dataclass(slots=True)
class _FilePart:
    model: str
    temporary: Path
    file: BinaryIO
    calls: int = 0
    size: int = 0
    tokens: int = 0

    @classmethod
    def beside(cls, path: Path, model: str) -> _FilePart:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
        return cls(model, Path(name), os.fdopen(handle, "wb"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRead:
    """What reading a batch's answers and writing calls did.

    Attributes:
        files: the files of calls that were written.
        lines: lines of answers and errors that were read.
        taken: answers that were taken.
        errors: lines that hold an error in place of an answer; these calls are open still.
        answered_before: answers to what was answered already.
        unasked: answers and errors to nothing that is asked.
        twice: lines whose call an earlier line answers.
        unreadable: lines that are no answers, such as one that is cut off.
        first_unreadable: where the first of these is.
    """

    files: tuple[BatchFile, ...] = ()
    lines: int = 0
    taken: int = 0
    errors: int = 0
    answered_before: int = 0
    unasked: int = 0
    twice: int = 0
    unreadable: int = 0
    first_unreadable: str | None = None


class Answers:
    """The answers in the files that a service gave; memory holds where each stands.

    Attributes:
        lines: lines that hold an answer or an error.
        errors: of them, those that hold an error.
        twice: of them, those whose id an earlier line answers.
        unreadable: other lines, and where the first is.

    Args:
        paths: the files.

    Raises:
        InputError: a file can't be read, or holds no answers.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.lines: int = 0
        self.errors: int = 0
        self.twice: int = 0
        self.unreadable: int = 0
        self.first_unreadable: str | None = None
        self._paths = list(paths)
        #: Id → number of the file, place in it, and whether there is an error.
        self._places: dict[str, tuple[int, int, bool]] = {}
        self._taken: set[str] = set()
        for number, path in enumerate(self._paths):
            self._index(number, path)

    def _index(self, number: int, path: Path) -> None:
        before = self.lines
        try:
            with opened(path) as raw, io.BufferedReader(raw, 1 << 18) as file:
                if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
                    raise InputError("not an ordinary file", where=str(path), todo="save it first")
                for line_number, start, line in _lines(file):
                    if not line.strip():
                        continue
                    answer = answer_in(line)
                    if answer is None:
                        self.unreadable += 1
                        self.first_unreadable = self.first_unreadable or f"{path}:{line_number}"
                        continue
                    self.lines += 1
                    ours = _ID.fullmatch(str(answer["custom_id"]))
                    custom_id, failed = ours[1] if ours else str(answer["custom_id"]), _body(answer) is None
                    self.errors += failed
                    earlier = self._places.get(custom_id)
                    # An answer goes before an error to the same call, and the first before later ones.
                    self.twice += earlier is not None and earlier[2] == failed
                    if earlier is None or (earlier[2] and not failed):
                        self._places[custom_id] = (number, start, failed)
        except OSError as error:
            raise unreadable(error, path, kind=InputError) from error
        if self.lines == before:
            raise InputError(
                "holds no answers of a batch",
                where=str(path),
                todo="give the file that the service answered with, not the one of the calls",
            )

    def take(self, custom_id: str) -> dict[str, Any] | None:
        """The line with this id; None where there is none."""
        place = self._places.get(custom_id)
        if place is None:
            return None
        self._taken.add(custom_id)
        number, start, _ = place
        path = self._paths[number]
        try:
            with path.open("rb") as file:
                file.seek(start)
                return answer_in(file.readline(_MOST_LINE))
        except OSError as error:
            raise unreadable(error, path, kind=InputError) from error

    @property
    def ids(self) -> int:
        """How many calls there is an answer or error to."""
        return len(self._places)

    @property
    def taken(self) -> int:
        """How many answers were taken, errors left out."""
        return sum(not self._places[custom_id][2] for custom_id in self._taken)

    @property
    def left(self) -> list[str]:
        """The ids of answers and errors that nobody took."""
        return [custom_id for custom_id in self._places if custom_id not in self._taken]

    def counts(self, known: Callable[[], Set[str]], noun: str, folder: Path, todo: str) -> dict[str, Any]:
        """What became of them, once all that are wanted were taken, by the names that :class:`BatchRead` has.

        Args:
            known: gives the beginnings of the keys of what was answered before.
            noun: what the calls are of.
            folder: where that is.
            todo: what to do where none of the answers is to any of its calls.

        Raises:
            InputError: that is so.
        """
        left = self.left
        keys = known() if left else frozenset[str]()
        before = sum(key_of(custom_id) in keys for custom_id in left)
        if left and len(left) - before == self.ids:
            what = f"none of the {self.ids} answers is to a call of this {noun}"
            raise InputError(what, where=str(folder), todo=todo)
        names = ("lines", "taken", "errors", "twice", "unreadable", "first_unreadable")
        read = {name: getattr(self, name) for name in names}
        return {**read, "answered_before": before, "unasked": len(left) - before}


def key_of(custom_id: str) -> str | None:
    """The digits of a request's key that an id of ours holds; None for others' ids."""
    match = _ID.fullmatch(custom_id)
    return match[2] if match else None


def _lines(file: io.BufferedReader[Any]) -> Iterator[tuple[int, int, bytes]]:
    """Number, place and content of each line; of one that is longer than any answer, the beginning."""
    number = place = 0
    while line := file.readline(_MOST_LINE):
        number += 1
        yield number, place, line
        place += len(line)
        while line and not line.endswith(b"\n"):
            line = file.readline(_MOST_LINE)
            place += len(line)


def answer_in(line: bytes) -> dict[str, Any] | None:
    """A line of answers; None where it is none."""
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    good = isinstance(data, dict) and isinstance(data.get("custom_id"), str)
    return data if good and ("response" in data or "error" in data) else None


def _body(line: dict[str, Any]) -> Any:
    """The answer's body as a live server would have sent it; None where the line holds an error."""
    response = line.get("response")
    if line.get("error") or not isinstance(response, dict):
        return None
    body = response.get("body")
    replied = response.get("status_code", 200) == 200 and isinstance(body, dict) and any(map(body.get, _REPLIES))
    return body if replied else None


def check_batchable(name: ModelName) -> None:
    """Refuse models that are not asked in OpenAI's form, which batch files have.

    Raises:
        InputError: it is one.
    """
    if name.url is None:
        raise InputError(
            f"{name.identity} can't be asked by batch files",
            where="`judge`",
            todo="name an openai/ model, or http://host:port/v1#model of the server that will answer",
        )
    if asked_by_responses(name.provider, name.model):
        raise InputError(
            f"{name.identity} can't be asked by chats, which batch files hold",
            where="`judge`",
            todo="ask it directly, or name another model",
        )


class BatchClient:
    """Answers from a batch, and writes down what isn't answered; a :class:`bedside.judges.llm.protocol.Client`.

    Args:
        name: the model.
        sampling: how it is asked to write.
        answers: what there is of answers.
        writer: what writes the calls to be made; None where none are written.

    Raises:
        InputError: the model is not asked in OpenAI's form.
    """

    def __init__(self, name: ModelName, sampling: Sampling, answers: Answers | None, writer: CallWriter | None) -> None:
        check_batchable(name)
        self.max_prompt_tokens: int | None = sampling.max_prompt_tokens
        self._model = name.identity
        facts = listed_facts(name)
        self._chat = OpenAIChat(name, sampling, Secrets(), facts)
        self._form = first_form(facts)
        self._answers = answers
        self._writer = writer

    async def complete(self, request: Request) -> Reply:
        """The answer to a request.

        Raises:
            NotAskedError: there is none, or an error stands in its place.
            UnusableError: there is one that can't be read.
        """
        custom_id = request_id(request)
        line = None if self._answers is None else self._answers.take(custom_id)
        why = "not answered yet: it waits for a batch"
        if line is not None:
            body = _body(line)
            try:
                if body is not None:
                    reply = self._chat.reply(answer_data(orjson.dumps(body)))
                    return replace(reply, unsent=_unsent(str(line["custom_id"])))
                self._learn(line)
                why = self._error(line)
            except FaultError as fault:
                why = f"the batch's answer can't be used ({fault.what})"
            except orjson.JSONEncodeError as error:
                why = f"the batch's answer can't be used ({error})"
        if self._writer is not None:
            if self._writer.full:
                raise NotAskedError("not asked: the limit of calls was reached")
            content = self._chat.content(request, self._form)
            tokens = sum(estimate_tokens(message.content) for message in request.messages)
            letters = "".join(_LETTERS[parameter] for parameter in content.unsent)
            call_id = f"{request_id(request)}-{letters}" if letters else request_id(request)
            self._writer.add(self._model, call_id, content.body, tokens)
        raise NotAskedError(why)

    def _learn(self, line: dict[str, Any]) -> None:
        """Leave out of the calls that are written from now on what an answer says the model doesn't take."""
        response = line.get("response")
        if isinstance(response, dict) and response.get("status_code") in (400, 422):
            problem = problem_in(400, response.get("body"))
            safe = replace(problem, message=self._chat.secrets.line(problem.message))
            self._chat.parameters.learn(safe, self._chat.parameters.fields)

    def _error(self, line: dict[str, Any]) -> str:
        response = line.get("response")
        status, said = "an error", line.get("error")
        if isinstance(response, dict):
            status, said = str(response.get("status_code", status)), said or response.get("body")
        text = self._chat.secrets.line(error_message(orjson.dumps(said)))
        return f"the batch answered {status}: {text}"

    async def close(self) -> None:
        """Nothing: no connection was opened."""
