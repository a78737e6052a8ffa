"""Files of settings: what is no plain value is refused in one line, and no file can grow when it is read."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from bedside.core.errors import RegistryError
from bedside.core.yaml_files import MOST_BYTES, keys_and_values, plain_yaml, plain_yaml_nodes

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {x: 1, y: 2}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 10)}]}}\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def read(folder: Path, text: str, *, aliases: bool = True) -> object:
    path = folder / "x.yaml"
    path.write_text(text, "utf-8")
    return plain_yaml(path, "suite file", aliases=aliases)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (LAUGHS, "more than 20,000 values"),
        (MERGES, "more than 20,000 values"),
        ("a: &a [*a]", "the alias *a is a part of what it stands for"),
        ("a: &a\n  <<: *a", "the alias *a is a part of what it stands for"),
        ("a: *b", "found undefined alias"),
        ("[" * 3000, "nested more than 50 levels deep"),
        ("a: !!bool x", "the tag tag:yaml.org,2002:bool is not allowed"),
        ("a: !!int ''", "is not allowed"),
        ("a: !!timestamp x", "is not allowed"),
        ("a: !!python/object/apply:os.system [x]", "is not allowed"),
        ("a: 0x_", "not plain YAML"),
        ("a: " + "9" * 5000, "not plain YAML"),
        ("a: 2001-99-99", "not plain YAML"),
        ("a: 1\na: 2", "the key a is there twice"),
        ("a: =", "not plain YAML"),
        ("a: b\n\tc: d", "not plain YAML"),
        ("a: {b?c: d}", "not plain YAML"),
        ("a: |#b", "not plain YAML"),
    ],
)
def test_what_is_no_plain_value_is_refused_in_one_line(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(RegistryError) as caught:
        read(tmp_path, text)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_values_may_stand_in_several_places_where_that_is_allowed(tmp_path: Path) -> None:
    text = "a: &a [1, x]\nb: *a\nc: {<<: {d: 2}}"
    assert read(tmp_path, text) == {"a": [1, "x"], "b": [1, "x"], "c": {"d": 2}}
    with pytest.raises(RegistryError, match="the alias \\*a is not allowed"):
        read(tmp_path, text, aliases=False)


def test_both_parsers_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(str(files("bedside")))
    read_by_c = [plain_yaml_nodes(path, "file", aliases=True) for path in sorted(folder.rglob("*.yaml"))]
    monkeypatch.delattr(yaml, "CSafeLoader")
    for path, (value, node) in zip(sorted(folder.rglob("*.yaml")), read_by_c, strict=True):
        again, root = plain_yaml_nodes(path, "file", aliases=True)
        assert value == again
        assert _lines(node) == _lines(root)


def _lines(node: Any) -> list[tuple[int, str]]:
    """The line and tag of every node below one."""
    inner = () if isinstance(node.value, str) else node.value
    parts = [part for item in inner for part in (item if isinstance(item, tuple) else (item,))]
    return [(node.start_mark.line, node.tag), *(line for part in parts for line in _lines(part))]


def test_a_large_file_is_refused_and_so_is_what_is_no_mapping(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="the suite file can't be read \\(larger than 1 MB\\)"):
        read(tmp_path, "a: " + "x" * MOST_BYTES)
    (tmp_path / "x.yaml").write_text("- a")
    with pytest.raises(RegistryError, match="a suite file must hold keys and values; see bedside list suites"):
        keys_and_values(tmp_path / "x.yaml", "suite file", "bedside list suites")
    with pytest.raises(RegistryError, match=r"can't be read \(Is a directory\)"):
        plain_yaml(tmp_path, "suite file")
