"""Writes the JSON Schemas that the package ships from the models that read the files."""

from __future__ import annotations

from bedside.cli.schemas import FOLDER, SUFFIX
from bedside.cli.schemas.file_forms import file_forms

if __name__ == "__main__":
    texts = {form.name: form.text() for form in file_forms()}
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob(f"*{SUFFIX}"):
        if path.name.removesuffix(SUFFIX) not in texts:
            path.unlink()
    for name, text in texts.items():
        (FOLDER / f"{name}{SUFFIX}").write_text(text, "utf-8")
    print(f"{len(texts)} schemas in {FOLDER}")
