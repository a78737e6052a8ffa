"""A study that people enrol in, and people who come to it over HTTP as their browsers would."""

from __future__ import annotations

import itertools
import random
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bedside.annotation.annotation_plan import AnnotationPlan
from tests.annotation.rating_page.pages import ServedPage

STUDY = """
title: Empathy in counselling chats
information: information.md
consent:
  - I have read the information and was able to ask questions.
  - I agree that my ratings are kept without my name.
contact: Dr A. Example, a@example.org
questionnaire:
  - name: experience
    question: How long have you worked as a counsellor?
    kind: choice
    choices: [not yet, under a year, longer]
    required: true
    ends: [not yet]
  - {name: languages, question: "Which languages do you speak?", kind: several, choices: [English, German]}
  - {name: age, question: Your age, kind: number}
parameters: prolific
hours: HOURS
codes:
  completed: https://app.example.org/complete?cc=C1&id={PROLIFIC_PID}
  screened_out: C2-{code}
  timed_out: C3
  full: C4
  declined: C5
payment: {currency: GBP, completed: 9.00, screened_out: 1.10, item: 0.30}
help: Talk to somebody at 116 123.
debriefing: "**Thank you.**"
"""


def write_study(folder: Path, hours: float = 2.0, text: str = STUDY) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "information.md").write_text("# About\n\nWe keep *ratings*. <script>alert(1)</script>\n", "utf-8")
    file = folder / "study.yaml"
    file.write_text(text.replace("HOURS", str(hours)), "utf-8")
    return file


_marks = itertools.count()


@dataclass
class Participant:
    """Somebody with a browser.

    Attributes:
        page: the page.
        pid: the id that the recruiting service has for them.
        known: item → the known answers of the training.
        right: whether they pass the first training set, and the second.
        secret: of their own link, once they have one.
        ending: how their part ended, as the page said.
    """

    page: ServedPage
    enrolment: str
    pid: str
    known: dict[str, dict[str, str]] = field(default_factory=dict)
    right: tuple[bool, bool] = (True, True)
    device: str = ""
    secret: str = ""
    ending: dict[str, Any] | None = None
    refused: int = 0

    @property
    def parameters(self) -> dict[str, str]:
        return {"PROLIFIC_PID": self.pid, "STUDY_ID": f"study{self.pid}", "SESSION_ID": f"session{self.pid}"}

    def ask(self, method: str, path: str, body: Any = None, secret: str | None = None) -> httpx.Response:
        """As a browser: again and again while the server is away."""
        headers = {"Authorization": f"Bearer {self.secret if secret is None else secret}", "Origin": self.page.address}
        deadline = time.monotonic() + 120
        while True:
            try:
                # Certificates, which no request here needs, would be read anew for each of them.
                how: dict[str, Any] = {"headers": headers, "timeout": 20, "verify": False}
                answer = httpx.request(method, self.page.address + path, json=body, **how)
                if answer.status_code not in (401, 503) or time.monotonic() > deadline:
                    return answer
            except httpx.TransportError:
                assert time.monotonic() < deadline
            time.sleep(0.2)

    def enrol(self, decision: str | None, version: str = "") -> dict[str, Any]:
        body = {"parameters": self.parameters, "decision": decision, "version": version, "mark": f"m{self.pid}"}
        return dict(self.ask("PUT", "/enrolment", body, self.enrolment).raise_for_status().json())

    def agree(self) -> bool:
        """Read, and agree; whether there was a share."""
        reply = self.enrol(None)
        if "welcome" in reply:
            reply = self.enrol("agreed", reply["welcome"]["version"])
        self.ending = reply.get("ending")
        self.secret = reply.get("secret", "")
        return bool(self.secret)

    def share(self) -> dict[str, Any]:
        return dict(self.ask("GET", "/share").raise_for_status().json())

    def answer(self, experience: str) -> dict[str, Any]:
        body = {"answers": {"experience": [experience], "age": ["40"]}, "mark": f"q{self.pid}"}
        return dict(self.ask("PUT", "/questionnaire", body).raise_for_status().json())

    def hand_in(self, item: str, right: bool = True) -> int:
        said = self.known.get(item) or {"empathy": str(1 + len(item + self.pid) % 5), "goal_alignment": "2"}
        choices = {name: [level if right else str(6 - int(level))] for name, level in said.items()}
        mark = f"attempt-{next(_marks):08d}"
        body = {"state": "submitted", "version": 0, "mark": mark, "seconds": 3, "choices": choices, "texts": {}}
        return self.ask("PUT", f"/items/{item}", body).status_code

    def rate(self, most: int | None = None) -> None:
        """Hand in what is open, until it ends or so many items are handed in."""
        done = 0
        while (share := self.share())["stage"] in ("training", "rating"):
            items = [item for item in share["items"] if not item["closed"] and item["handed_in"] is None]
            second = sum(item["training"] for item in share["items"]) > 2
            for item in items:
                if not item["training"]:
                    if done == most:
                        return
                    done += 1
                right = self.right[second] if item["training"] else True
                status = self.hand_in(item["item"], right)
                assert status in (200, 403, 404, 409), status
                self.refused += status != 200
        self.ending = share["study"]["ending"]


def known_levels(plan: AnnotationPlan) -> dict[str, dict[str, str]]:
    return {item.id: {name: str(level) for name, level in item.answers.items()} for item in plan.training}


def enrolment_secret(page: ServedPage) -> str:
    link = re.search(r"recruiting service: (\S+)", page.output)
    assert link is not None, page.output
    return link[1].partition("#")[2].partition("?")[0]


def new_pid(rng: random.Random) -> str:
    return f"pid{rng.getrandbits(96):024x}"
