"""What the tests share: the real data beside the project, and brief ways to write conversations and type commands."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bedside.cli import main
from bedside.judges.llm.deepeval_library import ENVIRONMENT
from bedside.transcripts.transcript import Transcript, Turn

# Whichever test imports deepeval first: it must send and write nothing. What bedside itself switches off is tested in
# processes that begin without these.
for _name, _value in ENVIRONMENT.items():
    os.environ.setdefault(_name, _value)

# Tests run as many at once as there are cores: threads of linear algebra beside them only wait for each other. It holds
# for the processes they start too, and is read when numpy and torch are first imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What a shell runs in the background ignores Ctrl-C, and so do the processes that it starts: some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Tests that end processes by signals, limit their memory or take the network from them: for systems that can.
collect_ignore = (
    []
    if hasattr(signal, "SIGKILL")
    else ["cli/test_stopping.py", "durability", "fuzz", "safety/test_isolation.py", "simulation/test_durability.py"]
)

#: Types a command: exit code, standard output, standard error.
Call = Callable[..., tuple[int, str, str]]

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


# Until the tests begin, all that is made stays, so that looking through it again and again is in vain. Then garbage is
# looked for less often than after every 700 objects: walks through syntax trees took three times as long.
gc.disable()
gc.set_threshold(10_000)


def _leave_alone_what_is_there() -> None:
    """Have the garbage collector look at nothing that is there now: statsmodels collects at each correction."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    _leave_alone_what_is_there()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    gc.enable()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What a file's tests have imported stays, too; only what is new is looked through, so this takes no time."""
    if nextitem is not None and nextitem.path != item.path:
        _leave_alone_what_is_there()


@pytest.fixture(scope="session")
def annomi() -> Path:
    """AnnoMI's table of coded sessions."""
    path = DATA / "annomi" / "annomi_dev.csv"
    if not path.is_file():
        pytest.skip(f"AnnoMI is not beside the project ({path})")
    return path


@pytest.fixture(scope="session")
def mdd5k() -> Path:
    """The folder of MDD-5k dialogues."""
    path = DATA / "mdd5k"
    if not path.is_dir():
        pytest.skip(f"MDD-5k is not beside the project ({path})")
    return path


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are written as where matplotlib isn't installed: to draw takes as long as all else."""
    monkeypatch.setattr("bedside.reports.build.find_spec", lambda _: None)


def conversation(*turns: tuple[Any, ...], **fields: Any) -> Transcript:
    """A transcript of (role, text[, meta]) turns."""
    made = tuple(
        Turn(index, role, role, text, meta[0] if meta else {}) for index, (role, text, *meta) in enumerate(turns)
    )
    return Transcript(**{"id": "t", "turns": made, **fields})


@pytest.fixture
def talk() -> Callable[..., Transcript]:
    return conversation


def exit_code(*arguments: object) -> int:
    """Type a command: how it ends."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def works(call: Call, *arguments: object) -> tuple[str, str]:
    """Type a command that ends well: what it prints, and what it says beside that."""
    code, out, err = call(*arguments)
    assert code == 0, err
    return out, err


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    """Type a command in the test's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def run(*arguments: object) -> tuple[int, str, str]:
        code = exit_code(*arguments)
        return code, *capsys.readouterr()

    return run
