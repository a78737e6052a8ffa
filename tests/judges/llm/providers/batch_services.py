"""Providers' batch services as they document them: a behaviour of the server for each.

OpenAI: docs/api-reference/batch and docs/guides/batch; Anthropic: docs/en/api/creating-message-batches and
docs/en/build-with-claude/batch-processing; Gemini: api/batch-api and gemini-api/docs/batch-api.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import BytesParser
from typing import Any

from tests.judges.llm.providers import anthropic, gemini, openai
from tests.judges.llm.providers.server import Answer, Call

#: What becomes of one request: a live answer, or a word such as ``expired``.
Fate = Answer | str


@dataclass
class Sent:
    """A batch that came in.

    Attributes:
        id: its name at the provider.
        name: what the sender calls it; empty where it can't.
        requests: their ids and bodies, in order.
        after: how often it is looked at before it has ended.
        looks: how often it was.
        fates: what becomes of each request.
    """

    id: str
    name: str
    requests: list[tuple[str, dict[str, Any]]]
    after: int
    looks: int = 0
    fates: list[Fate] = field(default_factory=list)


@dataclass
class BatchProvider:
    """A behaviour: a provider with its batch service.

    Attributes:
        provider: whose form it has.
        fate: what becomes of a request, by its body and its number among all that came.
        looks: how often a batch that comes in is looked at before it has ended.
        after_taking: what is answered in place of the batch, once it was taken.
        end: how batches end, where it isn't well: ``failed``, ``cancelled``, ``expired``.
        batches: what came in.
        keys: whether Gemini gives the requests' keys back.
    """

    provider: str
    fate: Callable[[dict[str, Any], int], Fate] | None = None
    looks: int = 1
    after_taking: Callable[[], Answer | None] = lambda: None
    end: str = ""
    batches: list[Sent] = field(default_factory=list)
    keys: bool = True
    files: dict[str, list[tuple[str, dict[str, Any]]]] = field(default_factory=dict)

    @property
    def requests(self) -> list[tuple[str, dict[str, Any]]]:
        """All requests that came in, by id and body."""
        return [request for batch in self.batches for request in batch.requests]

    def __call__(self, call: Call) -> Answer:
        return {"openai": self._openai, "anthropic": self._anthropic, "gemini": self._gemini}[self.provider](call)

    def take(self, name: str, requests: list[tuple[str, dict[str, Any]]]) -> Sent:
        """Take a batch in."""
        before = len(self.requests)
        sent = Sent(f"batch_{len(self.batches) + 1}", name, requests, self.looks)
        replies = {"openai": openai.chat, "anthropic": anthropic.message, "gemini": gemini.content}
        for number, (_, body) in enumerate(requests, before):
            reply = replies[self.provider](Call("POST", "", {}, {}, body, 1))
            sent.fates.append(reply if self.fate is None else self.fate(body, number) or reply)
        self.batches.append(sent)
        return sent

    def _looked_at(self, name: str) -> Sent | None:
        for batch in self.batches:
            if batch.id == name:
                batch.looks += 1
                return batch
        return None

    def _ended(self, batch: Sent) -> bool:
        return batch.looks > batch.after

    # -- OpenAI ------------------------------------------------------------------------------------------

    def _openai(self, call: Call) -> Answer:
        path = call.path.removeprefix("/v1")
        if (call.method, path) == ("POST", "/files"):
            assert call.headers["authorization"].startswith("Bearer ")
            parts = _multipart(call)
            assert parts["purpose"] == b"batch"
            lines = [json.loads(line) for line in parts["file"].splitlines()]
            assert all(line["method"] == "POST" and len(line["custom_id"]) <= 64 for line in lines)
            name = f"file-{len(self.files) + 1}"
            self.files[name] = [(line["custom_id"], {"": line["url"], **line["body"]}) for line in lines]
            return Answer({"id": name, "object": "file", "purpose": "batch"})
        if (call.method, path) == ("POST", "/batches"):
            asked = call.body
            assert asked["completion_window"] == "24h"
            requests = self.files[asked["input_file_id"]]
            assert {body.pop("") for _, body in requests} == {asked["endpoint"]}
            batch = self.take(asked["metadata"]["bedside"], requests)
            return self.after_taking() or Answer(self._openai_batch(batch))
        if path == "/batches":
            listed = [self._openai_batch(batch) for batch in reversed(self.batches)]
            return Answer({"object": "list", "data": listed, "has_more": False})
        if path.startswith("/batches/"):
            seen = self._looked_at(path.rpartition("/")[2])
            return Answer(self._openai_batch(seen)) if seen else openai.error(404, "No batch found.")
        match = re.fullmatch(r"/files/(out|err)-(.*)/content", path)
        assert match is not None, path
        seen = next(batch for batch in self.batches if batch.id == match[2])
        lines = [
            self._openai_line(custom_id, fate) for (custom_id, _), fate in zip(seen.requests, seen.fates, strict=True)
        ]
        good = [line for line in lines if line["error"] is None and line["response"]["status_code"] == 200]
        shown = good if match[1] == "out" else [line for line in lines if line not in good]
        return Answer("".join(json.dumps(line) + "\n" for line in reversed(shown)).encode())

    def _openai_batch(self, batch: Sent) -> dict[str, Any]:
        ended = self._ended(batch)
        status = (self.end or "completed") if ended else "in_progress"
        good = sum(isinstance(fate, Answer) and fate.status == 200 for fate in batch.fates)
        errors = {"object": "list", "data": [{"code": "x", "message": "too many enqueued tokens", "line": None}]}
        return {
            "id": batch.id, "object": "batch", "endpoint": "/v1/chat/completions", "status": status,
            "errors": errors if status == "failed" else None, "created_at": 1, "metadata": {"bedside": batch.name},
            "output_file_id": f"out-{batch.id}" if ended and good and not self.end else None,
            "error_file_id": f"err-{batch.id}" if ended and good < len(batch.fates) and not self.end else None,
            "request_counts": {"total": len(batch.requests), "completed": good * ended, "failed": 0},
        }  # fmt: skip

    def _openai_line(self, custom_id: str, fate: Fate) -> dict[str, Any]:
        if isinstance(fate, str):
            error = {"code": f"batch_{fate}", "message": "This request could not be executed in time."}
            return {"id": "b", "custom_id": custom_id, "response": None, "error": error}
        response = {"status_code": fate.status, "request_id": "r", "body": fate.body}
        return {"id": "b", "custom_id": custom_id, "response": response, "error": None}

    # -- Anthropic ---------------------------------------------------------------------------------------

    def _anthropic(self, call: Call) -> Answer:
        assert call.headers["x-api-key"]
        assert call.headers["anthropic-version"]
        path = call.path.removeprefix("/v1/messages/batches")
        if call.method == "POST":
            assert path == ""
            requests = [(each["custom_id"], each["params"]) for each in call.body["requests"]]
            assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", custom_id) for custom_id, _ in requests)
            batch = self.take("", requests)
            return self.after_taking() or Answer(self._anthropic_batch(batch))
        if path == "":
            return Answer({"data": [self._anthropic_batch(batch) for batch in reversed(self.batches)],
                           "has_more": False, "first_id": None, "last_id": None})  # fmt: skip
        name, _, results = path.removeprefix("/").partition("/")
        if results:
            seen = next(batch for batch in self.batches if batch.id == name)
            lines = [
                {"custom_id": custom_id, "result": self._anthropic_result(fate)}
                for (custom_id, _), fate in zip(seen.requests, seen.fates, strict=True)
            ]
            return Answer("".join(json.dumps(line) + "\n" for line in reversed(lines)).encode())
        batch_ = self._looked_at(name)
        return Answer(self._anthropic_batch(batch_)) if batch_ else anthropic.error(404, "not_found_error", "gone")

    def _anthropic_batch(self, batch: Sent) -> dict[str, Any]:
        ended, size = self._ended(batch), len(batch.requests)
        kinds = [self._anthropic_result(fate)["type"] for fate in batch.fates]
        counts = {kind: kinds.count(kind) * ended for kind in ("succeeded", "errored", "canceled", "expired")}
        return {
            "id": batch.id, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
            "request_counts": {"processing": 0 if ended else size, **counts},
            "created_at": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "results_url": "https://elsewhere.example" if ended else None,
        }  # fmt: skip

    def _anthropic_result(self, fate: Fate) -> dict[str, Any]:
        if isinstance(fate, str):
            return {"type": fate}
        if fate.status != 200:
            return {"type": "errored", "error": fate.body}
        return {"type": "succeeded", "message": fate.body}

    # -- Gemini ------------------------------------------------------------------------------------------

    def _gemini(self, call: Call) -> Answer:
        assert call.headers["x-goog-api-key"]
        if call.method == "POST":
            assert call.path == "/v1beta/models/gemini-2.5-flash:batchGenerateContent"
            asked = call.body["batch"]
            requests = [(each["metadata"]["key"], each["request"])
                        for each in asked["input_config"]["requests"]["requests"]]  # fmt: skip
            batch = self.take(asked["display_name"], requests)
            return self.after_taking() or Answer(self._gemini_batch(batch))
        if call.path == "/v1beta/batches":
            return Answer({"operations": [self._gemini_batch(batch) for batch in self.batches]})
        seen = self._looked_at(call.path.rpartition("/")[2])
        return Answer(self._gemini_batch(seen)) if seen else gemini.error(404, "NOT_FOUND", "gone")

    def _gemini_batch(self, batch: Sent) -> dict[str, Any]:
        ended, size = self._ended(batch), len(batch.requests)
        state = f"BATCH_STATE_{(self.end or 'succeeded').upper()}" if ended else "BATCH_STATE_RUNNING"
        stats = {"requestCount": str(size), **({"successfulRequestCount": str(size)} if ended else {})}
        about = {"displayName": batch.name, "state": state, "batchStats": stats}
        data: dict[str, Any] = {"name": f"batches/{batch.id}", "metadata": about}
        if ended and not self.end:
            answers = [self._gemini_answer(custom_id, fate)
                       for (custom_id, _), fate in zip(batch.requests, batch.fates, strict=True)]  # fmt: skip
            data |= {"done": True, "response": {"inlinedResponses": {"inlinedResponses": answers}}}
        return data

    def _gemini_answer(self, custom_id: str, fate: Fate) -> dict[str, Any]:
        keys = {"metadata": {"key": custom_id}} if self.keys else {}
        if isinstance(fate, str):
            return {**keys, "error": {"code": 4, "message": "This request could not be executed in time."}}
        if fate.status != 200:
            codes = {400: 3, 429: 8, 500: 13, 503: 14}
            return {**keys, "error": {**fate.body["error"], "code": codes[fate.status]}}
        return {**keys, "response": fate.body}


def _multipart(call: Call) -> Mapping[str, bytes]:
    head = f"Content-Type: {call.headers['content-type']}\r\n\r\n".encode()
    message = BytesParser().parsebytes(head + call.content)
    parts = {}
    for part in message.get_payload():
        assert not isinstance(part, str)
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        parts[str(name)] = content
    return parts
