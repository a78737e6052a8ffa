"""Nothing in the package runs what it reads: it unpickles nothing, evaluates nothing, and starts no shell."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.package_syntax import PACKAGE, modules, nodes, syntax

#: Modules whose purpose is to make objects, and so run code, from bytes.
MODULES = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle", "code", "codeop"}
BUILTINS = {"eval", "exec", "compile", "__import__", "execfile"}
#: Calls, by the end of their dotted name.
CALLS = {
    "joblib.load",
    "joblib.dump",
    "os.popen",
    "os.system",
    "runpy.run_path",
    "runpy.run_module",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "asyncio.create_subprocess_shell",
    "torch.hub.load",
    "builtins.eval",
    "builtins.exec",
}
#: Methods, whatever they are called on.
METHODS = {"read_pickle", "to_pickle", "from_pickle", "load_pickle", "unsafe_load", "unsafe_load_all", "full_load"}
#: Keyword arguments that must never have a value but this one.
KEYWORDS = {"allow_pickle": False, "trust_remote_code": False, "weights_only": True, "shell": False}


def dangers(tree: ast.Module) -> Iterator[str]:
    """What in a module could run what is read, with its line."""
    safe = _safe_loaders(tree)
    for node in ast.walk(tree):
        for what in _dangers(node, safe):
            yield f"line {node.lineno}: {what}"  # type: ignore[attr-defined]


def _dangers(node: ast.AST, safe: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in MODULES)
    elif isinstance(node, ast.ImportFrom):
        if (node.module or "").partition(".")[0] in MODULES:
            yield f"from {node.module}"
        full = {f"{node.module}.{alias.name}" for alias in node.names}
        yield from sorted(full & CALLS)
        yield from (alias.name for alias in node.names if alias.name in METHODS)
    elif isinstance(node, ast.Name) and node.id in BUILTINS:
        yield node.id
    elif isinstance(node, ast.Attribute) and node.attr in METHODS:
        yield f".{node.attr}"
    elif isinstance(node, ast.Call):
        yield from _calls(node, safe)


def _calls(node: ast.Call, safe: set[str]) -> Iterator[str]:
    name = ast.unparse(node.func)
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    for keyword, allowed in KEYWORDS.items():
        value = given.get(keyword)
        if value is not None and not (isinstance(value, ast.Constant) and value.value is allowed):
            yield f"{keyword}={ast.unparse(value)}"
    if any(name == call or name.endswith(f".{call}") for call in CALLS):
        yield name
    if name.endswith(".eval") and (node.args or node.keywords):  # a model's own eval() takes nothing
        yield name
    if name.endswith("torch.load") and "weights_only" not in given:
        yield f"{name} without weights_only=True"
    if name in ("yaml.load", "yaml.load_all"):
        loader = given.get("Loader") or (node.args[1] if len(node.args) > 1 else None)
        chosen = [loader.body, loader.orelse] if isinstance(loader, ast.IfExp) else [loader]
        if not all(one is not None and ast.unparse(one) in safe for one in chosen):
            yield f"{name} without a safe loader"
    first = node.args[0] if node.args else None
    named = str(first.value).partition(".")[0] if isinstance(first, ast.Constant) else ""
    if name.endswith("import_module") and named in MODULES:
        yield ast.unparse(node)


def _safe_loaders(tree: ast.AST) -> set[str]:
    """The loaders of YAML that make plain data only, and what the module derives from them."""
    found = {"yaml.SafeLoader", "yaml.CSafeLoader"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) in found for base in node.bases):
            found.add(node.name)
    return found


@pytest.mark.slow
def test_no_module_runs_what_it_reads() -> None:
    assert [(str(path), each) for path in modules() for each in dangers(syntax(path))] == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "import pickle as p",
        "from marshal import loads",
        "import importlib\nimportlib.import_module('dill')",
        "eval(text)",
        "run = exec",
        "compile(text, 'x', 'exec')",
        "__import__(name)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=choice)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "joblib.load(path)",
        "from joblib import load",
        "yaml.load(text)",
        "yaml.load(text, yaml.Loader)",
        "yaml.load(text, Loader=yaml.UnsafeLoader)",
        "class Mine(yaml.Loader): pass\nyaml.load(text, Mine)",
        "yaml.unsafe_load(text)",
        "AutoModel.from_pretrained(path, trust_remote_code=True)",
        "subprocess.run(text, shell=True)",
        "os.system(text)",
        "frame.eval(text)",
        "pd.read_pickle(path)",
        "from os import system",
    ],
)
def test_what_runs_code_is_seen(text: str) -> None:
    assert list(dangers(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    [
        "import re\nre.compile(text)",
        "model.eval()",
        "np.load(path, allow_pickle=False)",
        "torch.load(path, weights_only=True)",
        "yaml.safe_load(text)",
        "class Mine(yaml.SafeLoader): pass\nyaml.load(text, Mine)",
        "subprocess.run(['ls'])",
        "AutoModel.from_pretrained(path, trust_remote_code=False)",
    ],
)
def test_what_does_not_is_let_be(text: str) -> None:
    assert list(dangers(ast.parse(text))) == []


@pytest.mark.slow
def test_models_are_never_loaded_with_their_own_code() -> None:
    """Every loading of a model says so: the libraries' default could change."""
    for path in modules():
        text = path.read_text("utf-8")
        for node in nodes(path):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".from_pretrained"):
                whole = ast.unparse(node)
                assert "trust_remote_code=False" in whole or "**" in whole, f"{path.name}: {whole}"
                assert "**" not in whole or '"trust_remote_code": False' in text, f"{path.name}: {whole}"


def test_shipped_data_holds_no_pickles() -> None:
    suffixes = {path.suffix for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert not suffixes & {".pkl", ".pickle", ".pt", ".pth", ".bin", ".joblib", ".npy", ".so", ".pyd"}
