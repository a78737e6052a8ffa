"""What a person is told of names of models, and of files of endpoints, that can't be used: whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from bedside.core.errors import RegistryError
from bedside.judges.llm.endpoints import model_name

NO_NAME = "is not the name of a model; write provider/model, or http://host:port/v1#model"
UNREADABLE = "the model's address can't be read; write http://host:port/v1#model"
SECRET = "the address of a model must hold no name, password or query; put the key into BEDSIDE_API_KEY"
SEE = "see the docs on judges, Several endpoints"
NO_LIST = f"endpoints.yaml: a file of endpoints must hold a list of them; {SEE}"
FIRST = "endpoints.yaml, entry 1:"
#: By the weight of an endpoint.
WEIGHTS = {"0": "above 0", ".inf": "a finite number", "true": "a number"}
A, B = "http://a:1/v1", "http://b:1/v1"

#: By name.
NAMES = {
    "gpt-4": "'gpt-4' is not the name of a model; did you mean openai/gpt-4?",
    "openai:gpt-4": "'openai:gpt-4' is not the name of a model; did you mean openai/gpt-4?",
    "claude-sonnet-4": "'claude-sonnet-4' is not the name of a model; did you mean anthropic/claude-sonnet-4?",
    "gpt": f"'gpt' {NO_NAME}",
    "anthropic/": f"'anthropic/' {NO_NAME}",
    "localhost": f"'localhost' {NO_NAME}",
    "antropic/claude": "no provider is called 'antropic'; did you mean anthropic?",
    "local/model": "no provider is called 'local'; known: anthropic, azure, bedrock, deepseek, gemini, grok, kimi, "
    "litellm, ollama, openai, openrouter, portkey",
    B: f"no model is named after {B}; write {B}#model",
    "http://localhost:99999/v1#m": UNREADABLE,
    "http:///v1#m": UNREADABLE,
    "http://me:hunter22secret@localhost/v1#m": SECRET,
    "http://localhost/v1?key=hunter22secret#m": SECRET,
}
#: By what stands in the file; None where there is none.
FILES: dict[str | None, str] = {
    None: "endpoints.yaml: there is no such file of endpoints; check its path",
    "[]": NO_LIST,
    f"address: {A}#m": NO_LIST,
    "- 5": "endpoints.yaml, entry 1: an endpoint needs an address, such as http://host:port/v1#model",
    f"- {A}#m\n- {{address: '{B}'}}": f"endpoints.yaml, entry 2: {NAMES[B]}",
    f"- {{address: '{A}#m', wieght: 2}}": f"{FIRST} wieght: unknown key; did you mean weight?; {SEE}",
    **{
        f"- {{address: '{A}#m', weight: {weight}}}": f"{FIRST} weight: it must be {words}; {SEE}"
        for weight, words in WEIGHTS.items()
    },
    f"- {{address: '{A}#m', max_concurrency: 1.5}}": f"{FIRST} max_concurrency: it must be a whole number; {SEE}",
    "- {address: anthropic/m, key_env: KEY}": f"{FIRST} anthropic/m is asked without a key_env; {SEE}",
    "- other.yaml": f"{FIRST} address: a file of endpoints can't name another one; {SEE}",
    f"- &a {A}#m\n- *a": "endpoints.yaml:2: the file is not plain YAML (the alias *a is not allowed)",
    f"- {A}#m\n- {{address: '{A}#m', weight: 2}}": f"endpoints.yaml: {A} is named twice, with other settings; name it "
    "once",
    f"- {A}#m\n- {A}#n": "endpoints.yaml: the file names several models (m, n); name a single model here",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(RegistryError) as raised:
        model_name(name)
    assert str(raised.value) == NAMES[name]


@pytest.mark.parametrize("text", FILES)
def test_files_that_are_none(text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("endpoints.yaml").write_text(text)
    with pytest.raises(RegistryError) as raised:
        model_name("endpoints.yaml")
    assert str(raised.value) == FILES[text]
