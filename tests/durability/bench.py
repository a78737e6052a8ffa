"""The commands that are disturbed, and what is asked of them after that."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.durability import children
from tests.durability.recorder import Record, Recording
from tests.durability.states import comparable, files_of, is_temporary, see_run, see_whole, visible
from tests.soak import budget


@dataclass(frozen=True, slots=True)
class Case:
    """A command.

    Attributes:
        call: as typed in the study's folder.
        reruns: of the states found, in how many (spread evenly) the command is called again.
        runs: the runs that must open whatever happens.
        refuses_again: whether it refuses to write what is there whole.
        steps: whether it changes what is there more than once.
        kills: at how many random moments it is killed.
    """

    call: str
    reruns: int = budget(2, 8)
    runs: tuple[str, ...] = ("run",)
    refuses_again: bool = False
    steps: bool = False
    kills: int = budget(4, 20)


CASES = {
    "score": Case("score many.jsonl -o new --metrics structure"),
    "score-again": Case("score in.jsonl -o run --metrics readability"),
    "import": Case("ratings import run ratings.csv --scale 1-5"),
    "agree": Case("agree run --confusion -o tables"),
    "compare": Case("compare run -o tables"),
    "report": Case("report run --format md,latex,csv,html,svg --table results,agreement -o out"),
    "sample": Case("sample run --rubrics empathy --raters anna,ben --per 2 --by system -o drawn.json"),
    "annotate-import": Case("annotate import plan.json answers.json --users 1=anna,2=ben,3=cleo --run run"),
    "annotate-export": Case("annotate export plan.json --format csv -o to-rate --run run", refuses_again=True),
    "judge": Case(
        "score in.jsonl -o run --metrics structure --judge {judge} --rubrics empathy,goal_alignment", steps=True
    ),
    "tune": Case(
        "judge tune tuning/run --judge {judge} --rubric empathy --wordings 1 -o tuned.yaml",
        runs=("run", "tuning/run"),
        steps=True,
    ),
    "collect": Case("annotate page page.json --collect --run apart", runs=("run", "apart")),
    "pull": Case("annotate pull pull.json --url {studio} --run waiting", runs=("run", "waiting")),
    "judgements-import": Case("judge answers import waiting batch.jsonl", runs=("run", "waiting")),
    "judgements-merge": Case("judge answers merge waiting apart", runs=("run", "waiting", "apart")),
    "merge": Case("merge run apart -o new", runs=("run", "apart"), refuses_again=True),
    "engine": Case(
        "score many.jsonl -o new --metrics structure --engine local --workers 2",
        reruns=budget(2, 4),
        kills=budget(2, 8),
    ),
    "simulate": Case("simulate --protocol note2chat --clinician script:brisk --sample 2 --out talks"),
    "benchmark": Case("benchmark run note2chat --clinician script:brisk --sample 2 -o bench", kills=budget(2, 8)),
    "export": Case("export run -o shared --to hf-folder --licence cc-by-4.0 --origin written", refuses_again=True),
    "view": Case("view run --export copy", refuses_again=True),
    "sign": Case("sign run --key study.key"),
    "coder-train": Case("train coder coded.jsonl -o coder.npz --codes question --folds 2 --date 2026-01-02"),
}


@dataclass(slots=True)
class Bench:
    """A command, what it comes to undisturbed, how long that takes, its states, and in what it went on already."""

    case: Case
    study: Path
    folder: Path
    before: dict[str, bytes]
    after: dict[str, Any]
    runs: dict[str, set[tuple[int, int]]]
    seconds: float
    recording: Recording
    number: int = 0
    known: set[str] = field(default_factory=set)

    @property
    def call(self) -> list[str]:
        return self.case.call.split()

    def copy(self) -> Path:
        """A new copy of the study."""
        self.number += 1
        return Path(shutil.copytree(self.study, self.folder / str(self.number)))

    def look(self, files: Mapping[str, bytes]) -> None:
        """What was stopped where these are left nothing half-done."""
        see_whole(files)
        shown = visible(files)
        for name, content in self.before.items():
            if "sqlite" in name:
                continue
            assert name in shown, f"{name} is gone"
            # What was there is as it was, or as it will be.
            if self.case.steps or shown[name] == content:
                continue
            one = comparable({name: content})[name]
            assert comparable({name: shown[name]})[name] in (one, self.after[name]), f"{name} is something else"
        new = {name for name in set(shown) - set(self.after) if "sqlite" not in name}
        assert not new, f"what should not be there at all: {sorted(new)}"

    def go_on_in_some(self, folders: Iterable[Path]) -> None:
        """Go on in a few of those between which and all before a rerun can tell."""
        different = {seen_as(files_of(folder)): folder for folder in folders}
        new = [folder for seen, folder in different.items() if seen not in self.known]
        with ThreadPoolExecutor(2) as two:
            list(two.map(self.go_on, [new[place] for place in spread(len(new), self.case.reruns)]))

    def go_on(self, folder: Path) -> None:
        """The runs open; the same command ends as if nothing had happened, and leaves nothing else behind."""
        if (seen := seen_as(files_of(folder))) in self.known:
            return
        self.known.add(seen)
        for name in self.case.runs:
            if (folder / name / "manifest.json").exists():
                assert see_run(folder / name) in self.runs[name], "half of it is there"
        if self.case.refuses_again and not set(self.after) - set(files_of(folder)):
            return
        code, said, _ = children.run(self.call, folder)
        assert code == 0, said
        files = files_of(folder)
        assert not [name for name in files if is_temporary(name)], "a leftover"
        assert not list(folder.rglob(".judgements-*")), "a lock that nobody holds"
        after = comparable(files)
        different = {name for name in {*after, *self.after} if after.get(name) != self.after.get(name)}
        assert not different, f"other than undisturbed: {sorted(different)}"
        for name in self.case.runs:
            assert see_run(folder / name) in self.runs[name]


def made(case: Case, study: Path, folder: Path, **addresses: str) -> Bench:
    """The bench of a command, which is run once and not disturbed."""
    case = replace(case, call=case.call.format(**addresses))
    undisturbed = Path(shutil.copytree(study, folder / "undisturbed"))
    code, said, seconds = children.run(case.call.split(), undisturbed)
    assert code == 0, said
    recorded, recording = Path(shutil.copytree(study, folder / "recorded")), Recording(folder / "recording")
    code, said, _ = children.run(case.call.split(), recorded, [Record(recording.path)])
    assert code == 0, said
    runs = {
        name: {see_run(folder / name) for folder in (study, undisturbed) if (folder / name).is_dir()}
        for name in (*case.runs, *(["new"] if (undisturbed / "new").is_dir() else []))
    }
    return Bench(
        replace(case, runs=tuple(runs)),
        study,
        folder,
        files_of(study),
        comparable(files_of(undisturbed)),
        runs,
        seconds,
        recording,
        known={seen_as(files_of(study))},
    )


def seen_as(files: Mapping[str, bytes]) -> str:
    """What the files of two folders have in common between which a rerun can't tell."""
    listed = []
    for name, content in files.items():
        what = bool(content) if is_temporary(name) else hashlib.sha256(content).hexdigest()
        listed.append((without_chance(name), what))
    return json.dumps(sorted(listed))


def without_chance(name: str) -> str:
    """A path without the random part of a temporary file's name."""
    return re.sub(r"\.\w{8}\.partial$", ".partial", name)


def spread(count: int, most: int) -> list[int]:
    """``most`` of ``count`` places, from the first to the last."""
    if count <= most:
        return list(range(count))
    return sorted({round(place * (count - 1) / (most - 1)) for place in range(most)})
