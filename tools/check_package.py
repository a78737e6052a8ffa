"""Builds the source archive and the wheel, looks into both, and runs the wheel by itself.

    python tools/check_package.py [--out DIST] [--recipes]

It needs the package index and nothing else: the wheel is made from the source archive, as an index would have it. Both
are built again to the same bytes in another folder, looked at by ``twine check``, and the wheel is installed with the
core's dependencies into an environment of its own. There, in an empty folder outside the checkout, the demonstration
runs. ``--out`` keeps what was built in a folder; ``--recipes`` then installs MLflow and Weights & Biases there, and
runs the recipes of docs/tracking.md.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Megabytes that a wheel of Python and rubrics doesn't need.
LARGEST = 10


def contents(wheel: Path) -> list[str]:
    """What is wrong with what a wheel holds, beside the package's folder in the checkout."""
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "bedside").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    about = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    wrong = [f"{name} is not in it" for name in sorted(wanted - names)]
    wrong += [f"{name} should not be in it" for name in sorted(names - wanted - about)]
    wrong += [
        f"{name} is not in it"
        for name in ("LICENSE", "NOTICE", "METADATA", "entry_points.txt")
        if not any(one.endswith(f"/{name}") for one in about)
    ]
    if wheel.stat().st_size > LARGEST * 1e6:
        wrong.append(f"it has {wheel.stat().st_size / 1e6:.0f} MB")
    return wrong


def archive_contents(archive: Path) -> list[str]:
    """What is wrong with what a source archive holds."""
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    needed = (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "SECURITY.md",
        "CITATION.cff",
        "constraints-cpu.txt",
        "requirements.lock",
        "tests/conftest.py",
    )
    wrong = [f"{name} is not in it" for name in needed if name not in names]
    return wrong + [f"{name} should not be in it" for name in sorted(names) if name.startswith((".venv", "demo-run"))]


def run(step: str, *command: str | Path, folder: Path = ROOT, **more: str) -> None:
    """One step; what it printed is shown where it fails."""
    began = time.monotonic()
    # Neither the checkout nor what else is installed can be found from there.
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env={**clean, **more}, capture_output=True, encoding="utf-8",
        errors="replace", check=False,
    )  # fmt: skip
    print(f"{step}: {time.monotonic() - began:.0f} s", flush=True)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}{step} failed, with exit code {done.returncode}")


def environment(folder: Path) -> Path:
    """The Python of a new virtual environment."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def rebuild(python: Path, archive: Path, folder: Path, built: dict[str, Path]) -> None:
    """Build both from the unpacked archive in another folder; they have the same bytes, or it ends here.

    Files are as if written at another time, by somebody with other habits and in another time zone.
    """
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "a longer name", filter="data")
    (source,) = (folder / "a longer name").iterdir()
    for path in source.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)
        os.utime(path, (1e9, 1e9))
    run("built again", python, "-m", "build", "--outdir", folder / "dist", folder=source, TZ="Asia/Tokyo", LANG="C")
    other = [name for name, file in built.items() if (folder / "dist" / name).read_bytes() != file.read_bytes()]
    if other:
        sys.exit(f"{' and '.join(other)}: built again, other bytes")
    digests = (f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {name}" for name, file in sorted(built.items()))
    print("\n".join(digests))


def check(dist: Path, work: Path, *, recipes: bool) -> None:
    install = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile")
    python = environment(work / "builder")
    run("what builds", python, *install, "build", "twine")
    run("source archive and wheel", python, "-m", "build", "--outdir", dist)
    (archive,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    wrong = [f"{archive.name}: {text}" for text in archive_contents(archive)]
    wrong += [f"{wheel.name}: {text}" for text in contents(wheel)]
    if wrong:
        sys.exit("\n".join(wrong))
    rebuild(python, archive, work / "again", {archive.name: archive, wheel.name: wheel})
    run("twine check", python, "-m", "twine", "check", "--strict", archive, wheel)
    python = environment(work / "user")
    run("the wheel's installation", python, *install, wheel)
    (work / "elsewhere").mkdir()
    run("the demonstration", python, "-m", "bedside", "demo", "--out", "demo", folder=work / "elsewhere")
    report = work / "elsewhere" / "demo" / "report" / "report.html"
    if not report.is_file():
        sys.exit(f"the demonstration left no {report}")
    if recipes:
        # In the environment of the other tests they find no versions that go with all else.
        run("MLflow and Weights & Biases", python, *install, "mlflow", "wandb", "pytest")
        tests = ("-m", "pytest", "-q", "tests/docs/test_tracking.py")
        run("their recipes", python, *tests, folder=ROOT, MLFLOW_DISABLE_TELEMETRY="true")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; {archive.name}: {archive.stat().st_size / 1e6:.1f} MB")


def main() -> None:
    options = argparse.ArgumentParser(description="Build the package, look into it and run it by itself.")
    options.add_argument("--out", type=Path, help="folder that keeps what was built")
    options.add_argument("--recipes", action="store_true", help="run the recipes for MLflow and W&B as well")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as work:
        dist = chosen.out.absolute() if chosen.out else Path(work) / "dist"
        check(dist, Path(work), recipes=chosen.recipes)


if __name__ == "__main__":
    main()
