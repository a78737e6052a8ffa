"""A copy of the page that needs no server: the conversations of a run, or some of them, as files beside it.

A page that lies in a folder may read other files only as scripts: each file of data hands its content to the page. The
page's own modules are put together in one script, as browsers load no modules from a folder.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from bedside.analysis.study_parts import transcripts_where
from bedside.core.errors import DataError, InputError, nearest
from bedside.core.files import make_folder, saying_where, sync, write_json
from bedside.core.owned_folders import replacing_folder
from bedside.core.page_serving import SHARED_FILES, page_contents
from bedside.ratings.run import run_simulations
from bedside.reports.viewer.judgement_lookup import JudgementLookup, StateLookup
from bedside.reports.viewer.view_server import MODULES
from bedside.reports.viewer.viewed_run import ViewedRun, conversation

#: Says that a folder holds a copy, and of what.
MARK = "bedside-view.json"
#: How many conversations lie in one folder.
_IN_FOLDER = 1000
#: How often it is told how far it is, in conversations.
_TOLD = 500
_COPIED_MODULES = (*SHARED_FILES, *MODULES, "copied_list.js", "copied.js")
#: What may be loaded: what lies beside the page.
_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'"
)
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|const|let|class) (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ViewCopy:
    """What was written.

    Attributes:
        transcripts, files: how many.
        size: of all files, in bytes.
        text: whether what was said is in it.
    """

    transcripts: int
    files: int
    size: int
    text: bool


def chosen_transcripts(
    viewed: ViewedRun,
    *,
    systems: Sequence[str] | None = None,
    where: Mapping[str, Sequence[str]] | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> list[str]:
    """The ids of the transcripts that a copy is to hold, in the run's order.

    Args:
        viewed: the run.
        systems: only theirs.
        where: only those with these levels of factors.
        sample: so many of them, drawn at random; all where there are fewer.
        seed: of the draw.

    Raises:
        DataError: there is no such system, factor or level, or no transcript is left.
    """
    index, name = viewed.index, str(viewed.path)
    if systems:
        known = index["system"].drop_nulls().unique().sort().to_list()
        for system in systems:
            if system not in known:
                raise DataError(f"no system {system!r}", where=name, todo=nearest(system, known))
        index = index.filter(pl.col("system").is_in(list(systems)))
    if where:
        kept = transcripts_where(viewed.run.factors, where, name)
        index = index.join(kept, left_on="id", right_on="transcript_id", how="semi", maintain_order="left")
    ids: list[str] = index["id"].to_list()
    if not ids:
        raise DataError("no transcript is left to copy", where=name, todo="ask for less at once")
    if sample is None or sample >= len(ids):
        return ids
    places = random.Random(f"{seed}:view").sample(range(len(ids)), sample)
    return [ids[place] for place in sorted(places)]


def write_copy(
    viewed: ViewedRun, ids: Collection[str], folder: Path, *, progress: Callable[[int, int], None] | None = None
) -> ViewCopy:
    """Write a copy of the page with these transcripts, whole or not at all; an earlier copy there is replaced.

    Args:
        viewed: the run.
        ids: of the transcripts.
        folder: of the copy.
        progress: called now and then with how many transcripts are written, and of how many.

    Raises:
        InputError: the folder holds something else than a copy.
        RunError: the run is damaged, or the folder can't be written.
    """
    part = ViewedRun(viewed.path, only=ids)
    refusal = InputError(
        "this exists and is no copy that bedside view wrote",
        where=str(folder),
        todo="choose another folder with `export`",
    )
    with replacing_folder(folder, ours=(folder / MARK).is_file(), refusal=refusal) as new:
        files = _CopyFiles(new)
        _write_page(files)
        _write_columns(files, part)
        # Of some of its conversations the findings would say what can't be seen there.
        files.add_data("findings", viewed.findings() if len(ids) == viewed.index.height else [])
        _write_talks(files, part, progress or (lambda done, total: None))
        mark = {"copy of": part.overview["name"], "transcripts": len(ids), "version": part.version()}
        write_json(new / MARK, mark)
        return ViewCopy(len(ids), files.count + 1, files.size + (new / MARK).stat().st_size, viewed.run.keeps_text)


class _CopyFiles:
    """Writes the files of a copy, and counts them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.count = 0
        self.size = 0

    def add(self, name: str, content: bytes) -> None:
        path = self._folder / name
        with saying_where(path):
            make_folder(path.parent)
            path.touch(0o600)
            path.write_bytes(content)
            sync(path)
        self.count += 1
        self.size += len(content)

    def add_data(self, name: str, value: Any) -> None:
        # No text in it can end a script, or look like its end.
        told = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).replace(b"<", b"\\u003c")
        self.add(f"data/{name}.js", b'bedsideData("%s", %s);\n' % (name.encode(), told))


def _write_page(files: _CopyFiles) -> None:
    contents = page_contents(__package__, ("page.html", "page.css", *_COPIED_MODULES[len(SHARED_FILES) :]))
    page = contents["page.html"].decode()
    page = page.replace('<script type="module" src="files/served.js">', '<script defer src="files/page.js">')
    page = page.replace("<title>", f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n<title>', 1)
    files.add("index.html", page.encode())
    files.add("files/page.css", contents["page.css"])
    files.add("files/page.js", one_script({name: contents[name].decode() for name in _COPIED_MODULES}).encode())


def one_script(modules: Mapping[str, str]) -> str:
    """Modules as one script: each in a function of its own, whose result is what it exports.

    Args:
        modules: name of the file → its text, each after those that it imports. They import and export by name, a
            statement a line.
    """
    parts = ['"use strict";', "const modules = {};"]
    for file, text in modules.items():
        names = ", ".join(match[2] for match in _EXPORT.finditer(text))
        body = _IMPORT.sub(r"const {\1} = modules.\2;", _EXPORT.sub(r"\1 \2", text))
        parts.append(f"modules.{file.removesuffix('.js')} = (() => {{\n{body}\nreturn {{ {names} }};\n}})();")
    return "\n".join(parts) + "\n"


def _write_columns(files: _CopyFiles, part: ViewedRun) -> None:
    """The list: what it shows without a metric, and a file for each metric."""
    index = part.index
    raters = [rater["name"] for rater in part.overview["raters"]]
    files.add_data("run", {
        **part.overview,
        "index": {
            "id": index["id"].to_list(), "system": index["system"].to_list(), "case": index["case_id"].to_list(),
            "turns": index["turns"].to_list(), "file": [_talk_file(row) for row in range(index.height)],
            "factors": {name: part.factor(name).to_list() for name in part.factors},
        },
        "missing": _aligned(part, part.missing())["missing"].fill_null(0).to_list(),
        "missing_by": {
            rater: _aligned(part, part.missing(None, rater))["missing"].fill_null(0).to_list() for rater in raters
        },
        "rated": {
            rater: index.join(part.rated_by(rater), on="id", how="semi", maintain_order="left")["row"].to_list()
            for rater in raters
        },
        "differ": _aligned(part, part.differences())["differ"].fill_null(0).to_list(),
        "flagged": _aligned(part, part.flagged())["flagged"].fill_null(0).to_list(),
    })  # fmt: skip
    for number, metric in enumerate(part.overview["metrics"]):
        name = metric["name"]
        differences = _aligned(part, part.differences(name))
        files.add_data(f"metrics/{number:04d}", {
            "all": _column(part, name, None),
            "raters": {rater: _column(part, name, rater) for rater in metric["raters"]},
            "beside": part.beside(name),
            "differ": differences["differ"].fill_null(0).to_list(),
            "range": differences["range"].to_list(),
        })  # fmt: skip


def _aligned(part: ViewedRun, table: pl.DataFrame) -> pl.DataFrame:
    return part.index.select("id").join(table, on="id", how="left", maintain_order="left")


def _column(part: ViewedRun, metric: str, rater: str | None) -> dict[str, Any]:
    table = _aligned(part, part.values(metric, rater))
    labels = table.select("labels", "counts").iter_rows()
    return {
        "value": table["value"].to_list(),
        "labels": [list(zip(names or (), counts or (), strict=True)) for names, counts in labels],
        "missing": _aligned(part, part.missing(metric, rater))["missing"].fill_null(0).to_list(),
    }


def _talk_file(row: int) -> str:
    return f"{row // _IN_FOLDER:03d}/{row:06d}"


def _write_talks(files: _CopyFiles, part: ViewedRun, progress: Callable[[int, int], None]) -> None:
    states = StateLookup(part.path) if run_simulations(part.path) else None
    ids = part.index["id"].to_list()
    with closing(JudgementLookup(part.path)) as lookup:
        for row, name in enumerate(ids):
            judgements = lookup.of(name)
            pieces: dict[str, str] = {}
            whole = {}
            for listed in judgements:
                judgement = lookup.whole(listed["key"])
                if judgement is None:
                    continue
                prompt = judgement["prompt"]
                # Prompts about one conversation have most of their pieces in common.
                pieces |= dict(prompt or ())
                whole[listed["key"]] = {**judgement, "prompt": prompt and [digest for digest, _ in prompt]}
            files.add_data(f"talks/{_talk_file(row)}", {
                "conversation": _without_folders(conversation(part, name)),
                "judgements": judgements,
                "whole": whole,
                "pieces": pieces,
                # Whoever reads the copy is told of no file that it doesn't have.
                "states": {"states": [] if states is None else states.of(name)["states"], "gone": []},
            })  # fmt: skip
            if (row + 1) % _TOLD == 0 or row + 1 == len(ids):
                progress(row + 1, len(ids))


def _without_folders(talk: dict[str, Any]) -> dict[str, Any]:
    """A conversation that doesn't say where on a machine its file lay: names of folders may name people."""
    source = talk["source"]
    return {**talk, "source": None if source is None else re.split(r"[/\\\\]", source)[-1]}
