"""The wheel holds what belongs in it, runs without the checkout, and an index can show its page."""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bedside.ratings.run import Run

pytestmark = pytest.mark.slow
pytest.importorskip("hatchling", reason="hatchling is not installed")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def about(wheel: Path) -> email.message.Message:
    opened = zipfile.ZipFile(wheel)
    (name,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
    return email.message_from_bytes(opened.read(name))


def test_it_holds_the_package_and_nothing_else(wheel: Path) -> None:
    from tools.check_package import contents

    assert contents(wheel) == []


def test_it_is_built_again_to_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    """In another folder, of files of another time that others may not read, in another time zone."""
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "bedside", tmp_path / "elsewhere" / "bedside", ignore=leave)
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "tools/index_page.py"):
        (tmp_path / "elsewhere" / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / "elsewhere" / name)
    for path in (tmp_path / "elsewhere").rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.utime(path, (1e9, 1e9))
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=tmp_path / "elsewhere", env={**os.environ, "TZ": "Asia/Tokyo"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (again,) = tmp_path.glob("*.whl")
    assert again.read_bytes() == wheel.read_bytes()


def test_an_index_can_show_its_page(about: email.message.Message) -> None:
    renderer = pytest.importorskip("readme_renderer.markdown", reason="readme-renderer is not installed")
    assert about["Description-Content-Type"] == "text/markdown"
    page = renderer.render(about.get_payload())
    assert page is not None
    assert "<h1" in page
    assert "<code>bedside show NAME</code>" in page
    # The index has no file that the README of a checkout links to.
    assert "docs/images" not in page
    assert 'href="docs/' not in page


def test_links_and_images_of_its_page_lead_to_the_source_once_it_has_an_address() -> None:
    from tools.index_page import index_page

    text = (
        "[![ok](https://example.org/ok.svg)](https://example.org)\n\n![The report](docs/images/report.png)\n\n"
        "[Judges](docs/judges.md#keys), [below](#below), [site](https://example.org)\n"
    )
    shown = index_page(text, "https://example.org/us/bedside/")
    assert "![The report](https://example.org/us/bedside/raw/HEAD/docs/images/report.png)\n\n" in shown
    assert "[Judges](https://example.org/us/bedside/blob/HEAD/docs/judges.md#keys), [below](#below)" in shown
    assert "[site](https://example.org)" in shown
    without = index_page(text, None)
    assert "report" not in without
    assert "\nJudges, [below](#below), [site](https://example.org)\n" in without


@pytest.mark.soak_only
def test_it_runs_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(tmp_path / "site")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    (tmp_path / "elsewhere").mkdir()
    code = "import bedside, sys; print(bedside.__file__); from bedside.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "demo", "--out", "demo"],
        cwd=tmp_path / "elsewhere", env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.partition("\n")[0]).is_relative_to(tmp_path / "site")
    assert Run(tmp_path / "elsewhere" / "demo").ratings.height
    assert (tmp_path / "elsewhere" / "demo" / "report" / "report.html").is_file()
