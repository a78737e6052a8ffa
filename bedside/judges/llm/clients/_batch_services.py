"""Providers' services that answer many requests within a day: what each is sent, and how its answers are read.

Requests come as lines of a file in OpenAI's form, and answers are written as such lines whoever gave them, with the
status and the body that a live request would have had.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

import aiohttp
import orjson

from bedside.judges.llm.batch_files import MAX_BYTES, MAX_REQUESTS
from bedside.judges.llm.clients._provider import Provider
from bedside.judges.llm.http_poster import HttpPoster
from bedside.judges.llm.openai_chat import OPENAI_URL, ChatAddress
from bedside.judges.llm.protocol import BatchState, FaultError, SentBatch

#: Seconds in which a file of the largest size goes through, and the most bytes of an answer that is no file.
_SECONDS, _MOST_BYTES = 1800.0, 2**29
_NAME = re.compile(r"(?!.*\.\.)[\w.:/-]{1,300}", re.ASCII)
#: Stands for an answer that can't be read.
_OTHER_FORM = (LookupError, TypeError, ValueError, AttributeError)
_UNREADABLE = b"?\n"
#: Seconds by which clocks may differ.
_CLOCKS = 300.0


class _Service(HttpPoster):
    """What the services have in common; each is a :class:`bedside.judges.llm.protocol.BatchService`."""

    max_requests, max_bytes = MAX_REQUESTS, MAX_BYTES

    def __init__(self, title: str, address: str, key: str, key_header: str = "", **headers: str) -> None:
        super().__init__(
            address, partner=title, where=address, key=key, time_limit=_SECONDS, most_bytes=_MOST_BYTES,
            key_header=key_header, headers=headers,
        )  # fmt: skip
        self.address = address

    async def newest_batch(self) -> str:
        """See :meth:`bedside.judges.llm.protocol.BatchService.newest_batch`: batches have names here."""
        return ""

    async def _data(self, method: str, path: str, **sending: Any) -> dict[str, Any]:
        """What is answered, as JSON."""
        answer = await self.send(method, f"{self.address}{path}", **sending)
        if answer.status != 200:
            raise self.failure(answer)
        try:
            data = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            data = None
        if not isinstance(data, dict):
            raise FaultError("the batch service answered no object of JSON")
        return data

    async def _download(self, path: str, out: BinaryIO) -> None:
        answer = await self.send("GET", f"{self.address}{path}", into=out)
        if answer.status != 200:
            raise self.failure(answer)

    async def _listed(self, path: str, cursor: str) -> AsyncIterator[dict[str, Any]]:
        """All batches of the account, the newest first."""
        after = ""
        while True:
            page = await self._data("GET", f"{path}?limit=100{after}")
            for batch in page.get("data") or ():
                yield batch
            if not page.get("has_more") or not page.get("last_id"):
                return
            after = f"&{cursor}={quote(str(page['last_id']), safe='')}"


def _name(value: Any) -> str:
    """What something is known by at the provider; it becomes a part of addresses.

    Raises:
        ValueError: it is nothing that could be.
    """
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError("no name")
    return value


def _line(call: str | None, status: int | None, body: Any) -> bytes:
    """A line of answers; without a status, of a request that came to nothing."""
    response = None if status is None else {"status_code": status, "body": body}
    return orjson.dumps({"custom_id": call, "response": response, "error": body if status is None else None}) + b"\n"


def _calls(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for line in file:
            yield orjson.loads(line)


class OpenAIBatches(_Service):
    """OpenAI's service: a file of requests, and a file of answers and one of errors."""

    def __init__(self, address: ChatAddress) -> None:
        super().__init__("OpenAI" if address.where == OPENAI_URL else address.partner, address.where, address.key)

    async def post_batch(self, calls: Path, batch: SentBatch) -> str:
        """See :meth:`bedside.judges.llm.protocol.BatchService.post_batch`."""
        with calls.open("rb") as file:
            form = aiohttp.FormData({"purpose": "batch"})
            form.add_field("file", file, filename="calls.jsonl", content_type="application/jsonl")
            content = form()
            headers = {"Content-Type": content.headers["Content-Type"]}
            sent = await self._data("POST", "/files", data=content, headers=headers)
        asked = {
            "input_file_id": _name(sent["id"]),
            "endpoint": batch.url,
            "completion_window": "24h",
            "metadata": {"bedside": batch.tag},
        }
        return _name((await self._data("POST", "/batches", data=orjson.dumps(asked)))["id"])

    async def find(self, batch: SentBatch, known: set[str]) -> str | None:
        """See :meth:`bedside.judges.llm.protocol.BatchService.find`."""
        async for listed in self._listed("/batches", "after"):
            if (listed.get("metadata") or {}).get("bedside") == batch.tag:
                return _name(listed["id"])
        return None

    async def look(self, batch: SentBatch) -> BatchState:
        """See :meth:`bedside.judges.llm.protocol.BatchService.look`."""
        data = await self._data("GET", f"/batches/{batch.id}")
        counts, status = data.get("request_counts") or {}, data["status"]
        errors = (data.get("errors") or {}).get("data") or [{}]
        return BatchState(
            (counts.get("completed") or 0) + (counts.get("failed") or 0),
            status if status in ("completed", "failed", "expired", "cancelled") else None,
            self.secrets.line(str(errors[0].get("message") or "")) if status == "failed" else "",
            data,
        )

    async def read(self, batch: SentBatch, state: BatchState, out: BinaryIO) -> None:
        """See :meth:`bedside.judges.llm.protocol.BatchService.read`."""
        for name in ("output_file_id", "error_file_id"):
            if state.data.get(name):
                await self._download(f"/files/{_name(state.data[name])}/content", out)
                out.write(b"\n")


#: With which status a live request would have had an error of Anthropic's.
_ANTHROPIC_STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "overloaded_error": 529,
}  # fmt: skip


def _anthropic_line(answer: Any) -> bytes:
    call, result = answer["custom_id"], answer["result"]
    if result["type"] == "succeeded":
        return _line(call, 200, result["message"])
    if result["type"] == "errored":
        error = result["error"].get("error") or result["error"]
        return _line(call, _ANTHROPIC_STATUS.get(error.get("type"), 500), {"type": "error", "error": error})
    return _line(call, None, f"the provider says {result['type']}")


class AnthropicBatches(_Service):
    """Anthropic's service: requests in one body, and lines of results."""

    max_bytes = 100_000_000
    _path = "/v1/messages/batches"

    def __init__(self, provider: Provider) -> None:
        super().__init__(provider.title, provider.address, provider.key, provider.key_header, **dict(provider.headers))

    async def newest_batch(self) -> str:
        """See :meth:`bedside.judges.llm.protocol.BatchService.newest_batch`."""
        newest = (await self._data("GET", f"{self._path}?limit=1")).get("data") or [{"id": ""}]
        return str(newest[0]["id"])

    async def post_batch(self, calls: Path, batch: SentBatch) -> str:
        """See :meth:`bedside.judges.llm.protocol.BatchService.post_batch`."""
        asked = [{"custom_id": call["custom_id"], "params": call["body"]} for call in _calls(calls)]
        return _name((await self._data("POST", self._path, data=orjson.dumps({"requests": asked})))["id"])

    async def find(self, batch: SentBatch, known: set[str]) -> str | None:
        """See :meth:`bedside.judges.llm.protocol.BatchService.find`."""
        # A batch has no name here: it is known by its size and what was there before (where an earlier bedside didn't
        # keep that, by its time), and its answers by the requests' ids.
        alike = None
        async for listed in self._listed(self._path, "after_id"):
            made = datetime.fromisoformat(listed["created_at"]).timestamp()
            if listed["id"] == batch.before or (batch.before is None and made < batch.sent - _CLOCKS):
                break
            if listed["id"] not in known and sum(listed["request_counts"].values()) == len(batch.calls):
                alike = _name(listed["id"])
        return alike

    async def look(self, batch: SentBatch) -> BatchState:
        """See :meth:`bedside.judges.llm.protocol.BatchService.look`."""
        data = await self._data("GET", f"{self._path}/{batch.id}")
        counts = data.get("request_counts") or {}
        done = sum(counts.values()) - (counts.get("processing") or 0)
        return BatchState(done, "ended" if data["processing_status"] == "ended" else None, "", data)

    async def read(self, batch: SentBatch, state: BatchState, out: BinaryIO) -> None:
        """See :meth:`bedside.judges.llm.protocol.BatchService.read`."""
        raw = Path(f"{out.name}.raw")
        with raw.open("wb") as file:
            await self._download(f"{self._path}/{batch.id}/results", file)
        with raw.open("rb") as file:
            for line in file:
                try:
                    out.write(_anthropic_line(orjson.loads(line)))
                except _OTHER_FORM:
                    out.write(_UNREADABLE)
        raw.unlink()


#: With which status a live request would have had an error, by the codes of Google's remote procedures.
_GOOGLE_STATUS = {3: 400, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 14: 503, 16: 401}


class GeminiBatches(_Service):
    """Gemini's service: requests in one body, and the answers in the batch itself."""

    max_bytes = 19_000_000

    def __init__(self, provider: Provider, path: str) -> None:
        super().__init__(provider.title, provider.address, provider.key, provider.key_header, **dict(provider.headers))
        self._path = path

    async def post_batch(self, calls: Path, batch: SentBatch) -> str:
        """See :meth:`bedside.judges.llm.protocol.BatchService.post_batch`."""
        asked = [{"request": call["body"], "metadata": {"key": call["custom_id"]}} for call in _calls(calls)]
        content = {"batch": {"display_name": batch.tag, "input_config": {"requests": {"requests": asked}}}}
        return _name((await self._data("POST", self._path, data=orjson.dumps(content)))["name"])

    async def find(self, batch: SentBatch, known: set[str]) -> str | None:
        """See :meth:`bedside.judges.llm.protocol.BatchService.find`."""
        token = ""
        while True:
            page = await self._data("GET", f"/v1beta/batches?pageSize=100{token}")
            for listed in page.get("operations") or ():
                if (listed.get("metadata") or {}).get("displayName") == batch.tag:
                    return _name(listed["name"])
            if not page.get("nextPageToken"):
                return None
            token = f"&pageToken={quote(page['nextPageToken'], safe='')}"

    async def look(self, batch: SentBatch) -> BatchState:
        """See :meth:`bedside.judges.llm.protocol.BatchService.look`."""
        data = await self._data("GET", f"/v1beta/{batch.id}")
        about = data["metadata"]
        counts, state = about.get("batchStats") or {}, str(about["state"]).rpartition("STATE_")[2].lower()
        ended = state if data.get("done") or state in ("succeeded", "failed", "cancelled", "expired") else None
        problem = self.secrets.line(str((data.get("error") or {}).get("message") or "")) if state == "failed" else ""
        done = sum(int(counts.get(name) or 0) for name in ("successfulRequestCount", "failedRequestCount"))
        return BatchState(done, ended, problem, data)

    async def read(self, batch: SentBatch, state: BatchState, out: BinaryIO) -> None:
        """See :meth:`bedside.judges.llm.protocol.BatchService.read`."""
        listed = (state.data.get("response") or state.data.get("metadata", {}).get("output") or {}).get(
            "inlinedResponses"
        )
        answers = (listed.get("inlinedResponses") if isinstance(listed, Mapping) else listed) or []
        # They come in the order of the requests, and not always with the requests' keys.
        in_order = len(answers) == len(batch.calls)
        for number, answer in enumerate(answers):
            try:
                call = (answer.get("metadata") or {}).get("key") or (batch.calls[number] if in_order else None)
                error = answer.get("error")
                if error:
                    status = _GOOGLE_STATUS.get(error.get("code"), 500)
                    out.write(_line(call, status, {"error": {**error, "code": status}}))
                else:
                    out.write(_line(call, 200, answer["response"]))
            except _OTHER_FORM:
                out.write(_UNREADABLE)
