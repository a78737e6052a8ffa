"""Runs the commands that pages print, where that can be done with the bundled example alone, and says what came of it.

    python tools/printed_commands.py

What keeps a command from being run is told by what it says itself (:func:`reason_not_run`): that it names a model's
provider, a model's files or another machine, that it serves a page, or that it reads what only its reader has. Where
a page works on a run that it doesn't make, or that a judge would make, a small run of the example stands in for it.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import bedside
from bedside.cli import main as command_line

DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
#: Pages on a reader's own data, which tests/docs/test_ten_minutes.py makes.
STARTS = tuple(sorted(DOCS.glob("start-*.md")))
#: Pages whose commands are run here: all others that are written.
PAGES = (README, *sorted({*DOCS.rglob("*.md")} - {*STARTS}))
#: How wide the tables on pages may be; those that a newcomer reads first are as wide as a terminal.
WIDTH, NARROW = 118, 80

_BLOCK = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)\n?^```$", flags=re.MULTILINE | re.DOTALL)
#: A command as it is typed: bedside's own name, or a container that is told what bedside does.
TYPED = re.compile(r"(?:docker (?:compose )?run (?:.*? )?)?bedside(?::\w+)? +(?P<arguments>[a-z-].*)")
#: Where the shell takes over: what is printed goes into a file or to another program.
_ONWARDS = (">", "|")
#: What an option names that is written, not read.
_WRITTEN = ("--out", "--batch-out")
_FILE = re.compile(r"(?:script:)?(?P<path>[\w./*-]+\.(?:csv|json|jsonl|npz|txt|xlsx|yaml)|[\w./-]+/)$")
_PROVIDER = re.compile(r"(?:^|=)(?:anthropic|azure|bedrock|gemini|litellm|ollama|openai)/|^https?://|^webhook:")
_MODEL = re.compile(r"^local(?::|$)|^embeddings:|\.model=|^models/")
#: Commands that wait for somebody, or for another program.
_SERVERS = (("view",), ("annotate", "serve"), ("annotate", "push"), ("annotate", "pull"), ("annotate", "page"))


@dataclass(frozen=True, slots=True)
class PrintedCommand:
    """A command as a page prints it.

    Attributes:
        line: as it stands there, after the prompt, and without the container that it is told to.
        printed: what stands below it up to the next command; empty where the page leaves out what it prints.
    """

    line: str
    printed: str

    @property
    def words(self) -> list[str]:
        """What is typed, without the program's name, remarks, and where the print is sent."""
        words = shlex.split(self.line, comments=True)[1:]
        return words[: min(words.index(sign) if sign in words else len(words) for sign in _ONWARDS)]

    def shows(self, said: str) -> bool:
        """Whether the page shows what the command prints; a line ``…`` stands for lines that the page leaves out."""
        shown = re.split(r"^…\n", f"{self.printed}\n", flags=re.MULTILINE)
        return re.fullmatch(r"(?:.*\n)*".join(map(re.escape, shown)), f"{said}\n") is not None


def printed_commands(text: str) -> Iterator[PrintedCommand]:
    """The commands of bedside on a page, in their order; one that goes on in further lines is one."""
    for block in _BLOCK.finditer(text):
        if block["language"] == "console":
            for part in re.split(r"^\$ ", block["text"].replace("\\\n", " "), flags=re.MULTILINE)[1:]:
                line, _, printed = part.partition("\n")
                if typed := TYPED.match(line):
                    yield PrintedCommand(f"bedside {typed['arguments']}", printed.strip("\n"))


def commands_without_prompt(text: str) -> list[str]:
    """The lines of code on a page that are commands of bedside and that nothing marks as such: they go unchecked."""
    lines = []
    for block in _BLOCK.finditer(text):
        # Below a prompt stands what is printed.
        printed = block["language"] == "console"
        text_without_print = re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[0] if printed else block["text"]
        lines += [line for line in text_without_print.splitlines() if TYPED.match(line.lstrip())]
    return lines


def reason_not_run(command: PrintedCommand, folder: Path) -> str | None:
    """Why a command can't be run in a folder, in a few words; None where it can."""
    words = command.words
    if words[0] == "demo":
        return "it is the demonstration, which has tests of its own"
    if any(tuple(words[: len(server)]) == server for server in _SERVERS):
        return "it serves a page or asks another program"
    if any(_PROVIDER.search(word) for word in words) and "--dry-run" not in words:
        return "it names a provider, or an address"
    if any(_MODEL.search(word) for word in words):
        return "it names a model's files"
    if any(word.startswith(("human:", "agent:")) for word in words if "*" not in word):
        return "it names a person or the reader's own code"
    if "--address" in words:
        return "it names a cluster"
    for before, word in zip(["", *words], words, strict=False):
        file = None if before in _WRITTEN else _FILE.match(word)
        if file is not None and not list(folder.glob(file["path"].rstrip("/"))):
            return "it reads a file of the reader's own"
    return None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a printed command.

    Attributes:
        page: where it stands.
        command: the command.
        code: its exit code; None where it wasn't run.
        said: what it printed, or why it wasn't run.
    """

    page: Path
    command: PrintedCommand
    code: int | None
    said: str

    @property
    def fault(self) -> str | None:
        """What is wrong with the page: a print that is another, or a command that fails where its print is shown."""
        if self.code is None:
            return None
        if self.command.printed:
            return None if self.command.shows(self.said) else f"prints something else now:\n{self.said}"
        # Of the small run some questions can't be asked; it says so in one line. Anything else is the command's fault.
        if self.code == 0 or (self.code == 2 and re.match(r"bedside: (?!no such |usage)", self.said.splitlines()[-1])):
            return None
        return f"ends with {self.code}:\n{self.said}"


def outcomes() -> Iterator[Outcome]:
    """What comes of every command that pages print, page by page, each in a folder of its own."""
    asked: set[str] = set()
    with tempfile.TemporaryDirectory() as name:
        example = Path(name) / "example"
        _lay_out(example)
        for number, page in enumerate(PAGES):
            if next(printed_commands(page.read_text("utf-8")), None):
                folder = Path(name) / str(number)
                shutil.copytree(example, folder)
                yield from page_outcomes(page, folder, asked)


def _lay_out(folder: Path) -> None:
    """The example under the names that pages give to files, and the run of it that stands in for others."""
    folder.mkdir()
    for file in bedside.EXAMPLES.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    (folder / "transcripts").mkdir()
    shutil.copy(folder / "transcripts.jsonl", folder / "transcripts")
    shutil.copy(folder / "transcripts.jsonl", folder / "talks.jsonl")
    with chdir(folder):
        code, said = what_is_said(["score", "transcripts.jsonl", "--metrics", "behaviour", "--out", "run"])
        assert code == 0, said
        code, said = what_is_said(["ratings", "import", "run", "ratings.csv", "--scale", "1-5"])
        assert code == 0, said


def page_outcomes(page: Path, folder: Path, asked: set[str] | None = None) -> Iterator[Outcome]:
    """What comes of a page's commands in a folder.

    Args:
        page: the page.
        folder: where the commands are run, one when the outcome of that before it was taken.
        asked: what earlier pages asked of the run that stands in for the reader's, which isn't asked again; without
            it no run stands in.
    """
    os.environ["COLUMNS"] = str(NARROW if page in (README, *STARTS) else WIDTH)
    stands_in = asked is not None
    asked = set() if asked is None else asked
    for command in printed_commands(page.read_text("utf-8")):
        words = command.words
        reason = reason_not_run(command, folder)
        if reason is None and stands_in and not command.printed and command.line.partition(" #")[0].strip() in asked:
            reason = "it was run as another page prints it"
        if reason is not None:
            yield Outcome(page, command, None, reason)
            continue
        if words[0] == "score" and "run" in words:
            shutil.rmtree(folder / "run", ignore_errors=True)
            stands_in = False
        with chdir(folder):
            code, said = what_is_said(words)
        if stands_in:
            asked.add(command.line.partition(" #")[0].strip())
        yield Outcome(page, command, code, said)


def what_is_said(words: list[str]) -> tuple[int, str]:
    """A command's exit code and what it prints, run in this process."""
    said, code = io.StringIO(), 0
    with redirect_stdout(said), redirect_stderr(said):
        try:
            command_line(words)
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, "\n".join(line.rstrip() for line in said.getvalue().rstrip().splitlines())


def main() -> None:
    """Print how many commands were run, and why the others weren't; end with 1 where a page is wrong."""
    every = [*outcomes()]
    run = [outcome for outcome in every if outcome.code is not None]
    lacking = sum(outcome.code == 2 for outcome in run)
    print(f"{len(every)} commands on {len({outcome.page for outcome in every})} pages; {len(run)} were run, of which")
    print(f"  {sum(bool(outcome.command.printed) for outcome in run)} were compared with what the page shows")
    print(f"  {lacking} were answered in one line that the example lacks what they ask for")
    for reason, count in Counter(outcome.said for outcome in every if outcome.code is None).most_common():
        print(f"  {count} not run: {reason}")
    wrong = [outcome for outcome in every if outcome.fault]
    for outcome in wrong:
        print(f"{outcome.page.name}: {outcome.command.line}\n  {outcome.fault}")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
