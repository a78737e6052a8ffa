"""The text of a file that is one transcript, read at once within the bounds of one."""

from __future__ import annotations

from bedside.support.errors import InputError
from bedside.transcripts.byte_source import MAX_RECORD, ByteSource

#: Most lines of a transcript.
MAX_LINES = 200_000


def whole_bytes(source: ByteSource) -> bytes:
    """The content of a file, unpacked, a text's in UTF-8.

    Raises:
        InputError: it is larger than a transcript may be.
    """
    if source.whole is not None:
        return source.whole
    with source.open() as file:
        data = source.unpacking(file.read, MAX_RECORD + 1)
    if len(data) > MAX_RECORD:
        raise InputError(
            f"the transcript is larger than {MAX_RECORD // 2**20} MB", where=source.name, todo="split it"
        )
    return data


def whole_text(source: ByteSource) -> str:
    """The text of a file.

    Raises:
        InputError: it is larger than a transcript may be, or not in its encoding.
    """
    data = whole_bytes(source)
    if max(data.count(b"\n"), data.count(b"\r")) > MAX_LINES:
        raise InputError(
            f"the transcript has more than {MAX_LINES:,} lines", where=source.name, todo="split it"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise source.undecodable(data, error, 1) from error


def text_lines(text: str) -> list[str]:
    """The lines as editors number them, without their ends; a lone carriage return ends one where nothing else does."""
    if "\n" not in text:
        return text.split("\r")
    return [line.removesuffix("\r") for line in text.split("\n")]
