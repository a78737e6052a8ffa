"""The image, the compose file and the hosted checks: well-formed, and of one mind with the rest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import yaml

import bedside
from bedside.annotation import label_studio_server
from bedside.annotation.label_studio_server import VERSION
from bedside.cli import command_line

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
WORKFLOW = ROOT / ".github" / "workflows" / "tests.yml"
RELEASE = WORKFLOW.with_name("release.yml")
#: Not for a server in a container of its own.
OWN_ONLY = {"DJANGO_DB", "PYTHONUNBUFFERED"}


def test_the_image_is_made_as_hadolint_wants() -> None:
    program = which("hadolint", path=str(Path(sys.executable).parent)) or which("hadolint")
    if program is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run(
        [program, "--format", "json", "--failure-threshold", "style", ROOT / "Dockerfile"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert json.loads(done.stdout) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.compose-spec", "compose.yaml"),
        ("vendor.github-workflows", ".github/workflows/tests.yml"),
        ("vendor.github-workflows", ".github/workflows/release.yml"),
        ("vendor.dependabot", ".github/dependabot.yml"),
        ("vendor.citation-file-format", "CITATION.cff"),
    ],
)
def test_files_of_others_forms_fit_their_schemas(schema: str, file: str) -> None:
    if find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_image_runs_is_a_command_and_no_root_runs_it() -> None:
    words = {word: json.loads(rest) for word, rest in re.findall(r"^(ENTRYPOINT|CMD) (.+)$", DOCKERFILE, re.M)}
    entry, command = words["ENTRYPOINT"], words["CMD"]
    assert entry == ["bedside"]
    assert command[0] == "demo"
    assert command[0] in command_line().commands
    assert [user for user in re.findall(r"^USER (.+)$", DOCKERFILE, re.M) if user not in ("root", "0")]


def test_the_image_has_the_python_that_the_lock_was_made_with() -> None:
    head = (ROOT / "requirements-dev.lock").read_text("utf-8").partition("\n")[0]
    (version,) = re.findall(r"Python (3\.\d+)", head)
    assert set(re.findall(r"^FROM python:([\d.]+)-slim", DOCKERFILE, re.M)) == {version}


def test_the_image_is_made_of_one_base_by_its_digest_and_of_files_by_their_hashes() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.M)
    assert len(set(bases)) == 1
    assert re.fullmatch(r"[\w.:-]+@sha256:[0-9a-f]{64}", bases[0])
    assert "--require-hashes --requirement requirements.lock" in DOCKERFILE


def test_what_the_image_copies_is_let_in_and_is_there() -> None:
    allowed = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.M)
    copied = [name for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.M) for name in line.split()[:-1]]
    assert sorted(copied) == sorted(allowed)
    assert all((ROOT / name).exists() for name in copied)


def test_the_build_without_cuda_is_of_the_locked_version() -> None:
    pins = dict(
        line.split("==")
        for line in (ROOT / "requirements-dev.lock").read_text("utf-8").splitlines()
        if "==" in line and line[0] != "#"
    )
    lines = (ROOT / "constraints-cpu.txt").read_text("utf-8").splitlines()
    (line,) = [line for line in lines if not line.startswith("#")]
    assert line.partition(";")[0] == f"torch=={pins['torch']}+cpu"


def test_label_studio_is_as_bedside_starts_one() -> None:
    service = COMPOSE["services"]["label-studio"]
    assert service["image"] == f"heartexlabs/label-studio:{VERSION}"
    for name, value in label_studio_server._SETTINGS.items():
        if name not in OWN_ONLY:
            assert service["environment"][name] == value, name


def test_label_studio_is_seen_by_this_computer_only_and_no_secret_is_written() -> None:
    for service in COMPOSE["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
        for name, value in service["environment"].items():
            if re.search("PASSWORD|KEY|TOKEN$", name) and name != "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN":
                assert re.fullmatch(r"\$\{\w+:\?.+\}", value), name


def test_the_hosted_checks_run_what_is_here() -> None:
    jobs = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]
    lines = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert any(".ci/run" in line for line in lines)
    for line in lines:
        for file in re.findall(r"(?:tools|\.ci)/[\w.]+", line):
            assert (ROOT / file).is_file(), file
    versions = jobs["systems"]["strategy"]["matrix"]["python"]
    assert {"3.14"} <= set(jobs["package"]["strategy"]["matrix"]["python"])
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert set(re.findall(r"Python :: (3\.\d+)", project)) <= set(versions)
    assert min(versions, key=lambda text: int(text[2:])) in project.partition("requires-python")[2].partition("\n")[0]


@pytest.mark.parametrize("file", [WORKFLOW, RELEASE], ids=lambda file: file.stem)
def test_the_hosted_checks_may_write_nothing_and_run_what_was_looked_at(file: Path) -> None:
    """A tag of an action can be moved to other code, a commit can't. A release may sign what it built, and no more."""
    workflow = yaml.safe_load(file.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        signing = {"contents": "read", "id-token": "write", "attestations": "write"} if name == "sign" else None
        assert job.get("permissions") == signing, name
        # What may sign runs no code but that of actions.
        assert signing is None or not any("run" in step for step in job["steps"])
        assert job["timeout-minutes"] <= 90, name
        for step in job["steps"]:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step.get("uses", f"none@{'0' * 40}")), name


def test_a_release_is_checked_listed_and_signed() -> None:
    jobs = yaml.safe_load(RELEASE.read_text("utf-8"))["jobs"]
    lines = "\n".join(step.get("run", step.get("uses")) for job in jobs.values() for step in job["steps"])
    steps = (
        "tools/check_package.py --out dist",
        "pip-audit",
        "cyclonedx-py",
        "download-artifact",
        "attest-build-provenance",
    )
    places = [lines.index(step) for step in steps]
    assert places == sorted(places)
    assert jobs["sign"]["needs"] == ["build", "audit"]
    for lock in re.findall(r"[\w-]+\.lock", lines):
        assert (ROOT / lock).is_file(), lock
    # Only the tools of the recipe itself come without a lock, at a version that was looked at.
    assert re.findall(r"pip install (.+)", lines) == ["pip-audit==2.10.1 cyclonedx-bom==7.5.0"]


@pytest.mark.parametrize(("tag", "code"), [(f"v{bedside.__version__}", 0), ("v9.9.9", 1), (bedside.__version__, 1)])
def test_a_tag_that_is_not_the_version_releases_nothing(tag: str, code: int) -> None:
    steps = yaml.safe_load(RELEASE.read_text("utf-8"))["jobs"]["build"]["steps"]
    (step,) = (step for step in steps if step.get("if") == "github.ref_type == 'tag'")
    command = step["run"].replace("python -c", f"{sys.executable} -c")
    assert step["env"] == {"TAG": "${{ github.ref_name }}"}
    ended = subprocess.run(["bash", "-c", command], cwd=ROOT, env={**os.environ, "TAG": tag}, check=False)
    assert ended.returncode == code


def test_every_place_that_names_versions_is_looked_after() -> None:
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text("utf-8"))["updates"]
    assert {one["package-ecosystem"] for one in updates} == {"pip", "github-actions", "docker", "docker-compose"}
