"""Whoever has the key sees what somebody without it changed; the key stands nowhere, and no other will do."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import copytree, rmtree, which

import pytest

import bedside
from bedside.core.errors import BedsideError, InputError, RunError
from bedside.core.files import write_sealed
from bedside.ratings.run import Run

Call = Callable[..., tuple[int, str, str]]
SECRET = bytes(range(100, 132))


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "study.key"
    file.write_bytes(SECRET)
    file.chmod(0o600)
    return file


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signed")
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", folder / "run", metrics="turns").run
    bedside.report(run, tables=["results"], formats=["csv"])
    return run.path


@pytest.fixture
def signed(reported: Path, key: Path, tmp_path: Path) -> Path:
    run = Path(copytree(reported, tmp_path / "run"))
    bedside.sign(run, key=key)
    return run


def wrong(run: Path, key: Path) -> dict[str, str]:
    """What isn't as it was signed."""
    checks = bedside.verify(run, key=key).results
    return {os.path.relpath(check.path, run): check.state for check in checks if check.state != "as written"}


def forged(run: Path) -> None:
    """As somebody without the key would have it: other ratings, and every SHA-256 and seal made anew."""
    opened = Run(run)
    with opened.locked():
        ratings = opened.ratings
        opened.rewrite(ratings.with_columns(value=ratings["value"] + 1).lazy(), opened.manifest)


def test_the_signature_is_the_hmac_of_rfc_2104(signed: Path, key: Path) -> None:
    """As another program makes it, and by the standard's own formula of two hashes."""
    said = json.loads((signed / "signature.json").read_text())
    files = {
        str(path.relative_to(signed)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in signed.rglob("*")
        if path.is_file() and path.name not in ("signature.json", ".lock")
    }
    assert said["files"] == files
    plain = json.dumps({"date": said["date"], "files": files}, sort_keys=True)
    message = f"bedside signature 1\n{plain}".encode()
    padded = SECRET.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded) + message).digest()
    assert said["hmac"] == hashlib.sha256(bytes(byte ^ 0x5C for byte in padded) + inner).hexdigest()
    if which("openssl"):
        call = ["openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{SECRET.hex()}"]
        assert subprocess.run(call, input=message, capture_output=True, check=True).stdout.decode().strip().endswith(
            said["hmac"]
        )  # fmt: skip
    assert wrong(signed, key) == {}
    for path in (path for path in signed.rglob("*") if path.is_file()):
        assert SECRET not in path.read_bytes()
        assert SECRET.hex().encode() not in path.read_bytes()


def test_what_somebody_without_the_key_changed_is_named(signed: Path, key: Path) -> None:
    whole = {path: path.read_bytes() for path in signed.rglob("*") if path.is_file()}
    for path, content in whole.items():
        if path.name in ("signature.json", ".lock"):
            continue
        path.write_bytes(content + b" ")
        assert wrong(signed, key)[str(path.relative_to(signed))] == "changed"
        path.unlink()
        assert wrong(signed, key)[str(path.relative_to(signed))] == "missing"
        path.write_bytes(content)
    for name in (
        "notes.txt",
        "transcripts/000001.parquet",
        "judgements.sqlite-wal",
        ".change/ratings.parquet",
        "\udcff",
    ):
        (signed / name).parent.mkdir(exist_ok=True)
        (signed / name).write_bytes(b"mine")
        assert wrong(signed, key)[name] in ("not signed", "changed"), name
        (signed / name).unlink()
    assert wrong(signed, key) == {}


def test_digests_made_anew_pass_without_the_key_alone(signed: Path, key: Path, call: Call) -> None:
    table = signed / "report" / "results.csv"
    assert call("verify", str(table), str(signed), "--key", str(key))[0] == 0
    forged(signed)
    assert call("verify", str(signed))[0] == 0
    assert {"manifest.json", "ratings.parquet"} <= wrong(signed, key).keys()
    assert call("verify", str(signed), "--key", str(key))[0] == 1
    assert call("verify", str(table), str(signed), "--key", str(key))[0] == 1
    rmtree(signed / "report")
    bedside.report(signed, tables=["results"], formats=["csv"])
    assert call("verify", str(table), str(signed))[0] == 0
    assert call("verify", str(table), str(signed), "--key", str(key))[0] == 1


def test_a_table_of_a_paper(signed: Path, key: Path, call: Call, tmp_path: Path) -> None:
    """A copy under another name is known; one with its own forged record beside it isn't."""
    table = tmp_path / "table-1.csv"
    content = (signed / "report" / "results.csv").read_bytes()
    table.write_bytes(content)
    assert call("verify", str(table), str(signed), "--key", str(key))[0] == 0
    table.write_bytes(content + b"1\n")
    entry = {"sha256": hashlib.sha256(table.read_bytes()).hexdigest(), "run": Run(signed).manifest["seal"]}
    write_sealed(tmp_path / "written.json", {"files": {table.name: entry}})
    assert call("verify", str(table), str(signed))[0] == 0
    assert call("verify", str(table), str(signed), "--key", str(key))[0] == 1
    assert call("verify", str(table), "--key", str(key))[0] == 1


def test_another_key_and_a_forged_or_lost_signature(signed: Path, key: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.key"
    other.write_bytes(SECRET[::-1])
    other.chmod(0o600)
    with pytest.raises(RunError):
        bedside.verify(signed, key=other)
    said = json.loads((signed / "signature.json").read_text())
    plain = {name: said[name] for name in ("date", "files")}
    for changed in (
        {**plain, "files": {**said["files"], "notes.txt": "0" * 64}, "hmac": said["hmac"]},
        {**plain, "date": "2027-01-01T00:00:00+00:00", "hmac": said["hmac"]},
        {**plain, "hmac": hmac.new(SECRET, json.dumps(plain, sort_keys=True).encode(), hashlib.sha256).hexdigest()},
        {**plain, "hmac": ""},
        {**plain, "hmac": "ü"},
        plain,
    ):
        write_sealed(signed / "signature.json", changed)
        with pytest.raises(BedsideError):
            bedside.verify(signed, key=key)
    (signed / "signature.json").unlink()
    with pytest.raises(RunError):
        bedside.verify(signed, key=key)


def test_a_key_is_random_ones_own_and_elsewhere(reported: Path, key: Path, tmp_path: Path) -> None:
    run = Path(copytree(reported, tmp_path / "run"))
    for content in (b"", SECRET[:31], b"a" * 64, b"x" * 5000):
        key.write_bytes(content)
        with pytest.raises(InputError):
            bedside.sign(run, key=key)
    key.write_bytes(SECRET)
    if os.name == "posix":
        for mode in (0o640, 0o604, 0o620):
            key.chmod(mode)
            with pytest.raises(InputError):
                bedside.sign(run, key=key)
        key.chmod(0o600)
    for within in (run / "study.key", run / "report" / "study.key"):
        key.rename(within)
        with pytest.raises(InputError):
            bedside.sign(run, key=within)
        within.rename(key)
    assert not (run / "signature.json").exists()


def test_what_is_changed_or_under_way_is_not_signed(signed: Path, key: Path) -> None:
    before = (signed / "signature.json").read_bytes()
    (signed / "judgements.sqlite-wal").write_bytes(b"1")
    with pytest.raises(RunError):
        bedside.sign(signed, key=key)
    (signed / "judgements.sqlite-wal").unlink()
    (signed / "ratings.parquet").write_bytes(b"1")
    with pytest.raises(RunError):
        bedside.sign(signed, key=key)
    assert (signed / "signature.json").read_bytes() == before
