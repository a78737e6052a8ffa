"""An agent that workers import: what it replies depends on what it is asked alone, and each call is noted in a file."""

from __future__ import annotations

import os
import time
from typing import Any


def note(request: dict[str, Any]) -> None:
    """Note a call in the file that the environment names, if it does."""
    path = os.environ.get("NOTED_CALLS")
    if path is None:
        return
    line = f"{request['session']} {request['purpose']} {request['turn']} {request['attempt']}\n"
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(handle, line.encode())
    os.close(handle)


def reply(request: dict[str, Any]) -> Any:
    """A question, after a while; late ones with diagnoses."""
    time.sleep(float(os.environ.get("NOTED_SECONDS", "0")))
    note(request)
    return {
        "message": f"What else, after {request['turn']} messages?",
        "diagnoses": ["influenza", "asthma", "anaemia", "gout", "measles"] if request["turn"] > 14 else None,
    }
