"""How requests reach a Label Studio server: where it asks for patience it is given, and a web page is no answer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bedside.core.errors import LabelStudioError

if TYPE_CHECKING:
    import httpx

_TOO_MANY = 429
_OK = 200
#: Seconds to wait where the server doesn't say how long, the longest wait, and the longest time of all waits together.
_FIRST, _LONGEST, _ALTOGETHER = 2.0, 60.0, 300.0


def patient_transport(url: str) -> httpx.BaseTransport:
    """A transport that sends a request again that the server refused as one too many (429), after the time it names.

    Such a request was not carried out, so nothing is done twice.

    Args:
        url: the server's address, for messages.
    """
    import httpx

    class PatientTransport(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            waited, wait = 0.0, _FIRST
            while True:
                response = super().handle_request(request)
                if response.status_code != _TOO_MANY or waited >= _ALTOGETHER:
                    break
                response.close()
                seconds = min(_seconds(response.headers.get("Retry-After")) or wait, _LONGEST)
                time.sleep(seconds)
                waited, wait = waited + seconds, wait * 2
            if response.status_code == _OK and "text/html" in response.headers.get("Content-Type", ""):
                response.close()
                raise LabelStudioError(
                    "what answers there is a web page, as where one must log in before Label Studio",
                    where=url,
                    todo="name the address of Label Studio itself, which its key opens",
                )
            return response

    return PatientTransport()


def _seconds(header: str | None) -> float | None:
    """The seconds that a Retry-After header names; None where it names none, or a date."""
    try:
        return max(float(header or ""), 0.1)
    except ValueError:
        return None
