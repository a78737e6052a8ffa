"""Runs to look at: one with all kinds of ratings and hostile texts, and the page served by the command."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import bedside
from bedside.ratings.run import Run
from bedside.transcripts.transcript import Transcript, Turn
from tests.judges.llm.server import JudgeServer
from tests.reports.builders import with_rows

SYSTEMS = ("alpha", "beta", "gamma <b>")
CASES = 5
#: What somebody may say who wants to be more than words: none of it may become part of the page.
HOSTILE = (
    "<script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'>",
    "</script><script>window.stolen = 1</script> <!-- --> ]]> &lt;b&gt; ${window.stolen = 1}",
    "over\u202eride\u202c and \u2066isolated\u2069 \u2028 line \u0007 bell",
    "javascript:window.stolen=1 {{7*7}} __proto__ %3Cscript%3E",
)
ARABIC = ("كيف حالك اليوم؟", "آخذ 50 mg من sertraline كل يوم.", "هل تنام جيدًا (6 ساعات)؟", "لا، وهذا يقلقني.")
CHINESE = (
    "您好，最近睡眠怎么样？", "不太好，每晚只睡四个小时。<b>很累</b>", "听起来这对您很辛苦。", "是的，我想改变。",
)  # fmt: skip
#: The id of the transcript whose every name is hostile, too.
HOSTILE_ID = "case-0/<i>gamma</i> \u202etxt\u202c'\"&?#%"


def talks() -> list[Transcript]:
    """Five cases of three systems; one is hostile, one Arabic, one Chinese, one long."""
    made = []
    for case in range(CASES):
        for system in SYSTEMS:
            texts: tuple[str, ...] = (
                f"How was week {case} for you?", f"Hard, with {system}. I want to change that.", "So it was hard.",
                "Yes. I sleep badly.",
            )  # fmt: skip
            name = f"case-{case}/{system}"
            language = "en"
            if system == SYSTEMS[2] and case == 0:
                texts, name = HOSTILE, HOSTILE_ID
            if system == "beta" and case == 1:
                texts, language = ARABIC, "ar"
            if system == "beta" and case == 2:
                texts, language = CHINESE, "zh"
            if system == "alpha" and case == 3:
                texts = tuple(f"Turn number {turn}. {'I want to change that. ' * 6}" for turn in range(120))
            turns = tuple(
                Turn(number, ("clinician", "patient")[number % 2], ("Dr A", "Client")[number % 2], text)
                for number, text in enumerate(texts)
            )
            made.append(
                Transcript(
                    id=name, turns=turns, system=system, case_id=f"case-{case}", language=language,
                    factors={"length": 8 * (1 + case % 3), "persona": ("anxious", "terse")[case % 2]},
                    reference={"goal": "sleep better", "background": f"Case {case} <u>works nights</u>."},
                )
            )  # fmt: skip
    return made


def rich_run(folder: Path) -> Run:
    """A run with computed metrics, a judge asked twice whose judgements are kept, people who differ, codes of turns,
    preferences, and missing ratings."""
    with JudgeServer() as server:
        options: dict[str, Any] = {"rubrics": ["empathy", "partnership"], "metrics": ["structure"], "passes": 2}
        run = bedside.judge(talks(), server.judge, out=folder / "run", **options).run
    rows: list[tuple[Any, ...]] = []
    for number, talk in enumerate(talks()):
        head = (talk.id, talk.system, talk.case_id)
        for place, person in enumerate(("human:anna", "human:ben")):
            level = float(1 + (number * (1 + place)) % 5)
            reason = f"{person} says <b>{level}</b> </script>" if place else None
            missing = (None, None, None, "too short to rate")
            answer = missing if (number + place) % 4 == 0 else (level, None, reason, None)
            rows.append((*head, "transcript", "empathy", person, 0, *answer))
            for turn in (0, 2):
                label = ("open", "closed", "none")[(number + place * turn) % 3]
                rows.append((*head, f"turn:{turn}", "question", person, 0, None, label, None, None))
            harm = float(number % (4 + place) == 0)
            rows.append((*head, "transcript", "safety", person, 0, harm, None, None, None))
        if talk.system == "alpha":
            other = f"pair:{talk.case_id}/beta"
            rows.append((*head, other, "empathy.preference", "human:anna", 0, 1.0, "first", "Warmer.", None))
    return Run(with_rows(run, rows, "first round").path)


def add_warmth(run: Run) -> None:
    """Add a rating of the first transcript by a metric that the run hasn't had."""
    head = ("case-0/alpha", "alpha", "case-0", "transcript", "warmth", "human:anna", 0)
    with_rows(run, [(*head, 3.0, None, "Kindly.", None)])


class ServedView:
    """``bedside view`` in a process of its own.

    Attributes:
        link: as the command printed it.
        output: what it printed until it served.
    """

    def __init__(self, run: Path, *options: str) -> None:
        command = [sys.executable, "-m", "bedside", "view", str(run), "--port", "0", "--no-browser", *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ
        )
        assert self.process.stdout is not None
        lines = []
        self.link = ""
        for line in self.process.stdout:
            lines.append(line)
            if link := re.search(r"http://127\.0\.0\.1:\d+/#secret=[\w-]+", line):
                self.link = link[0]
            if "Ctrl-C ends it" in line:
                break
        self.output = "".join(lines)
        assert self.link, self.output

    @property
    def address(self) -> str:
        return self.link.partition("/#")[0]

    @property
    def secret(self) -> str:
        return self.link.partition("#secret=")[2]

    def stop(self) -> tuple[int, str]:
        """Ctrl-C: the exit code, and what was printed."""
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=60)
        return self.process.returncode, rest

    def kill(self) -> None:
        """End it, if it hasn't ended."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
