"""Finding a coder by its name, or a trained one by the path of its file."""

from __future__ import annotations

from bedside.metrics.coders.contract import CODERS, Coder


def find_coder(name_or_path: str) -> Coder:
    """The coder of this name, or a trained one by the path of its ``.npz`` file.

    Raises:
        RegistryError: no coder has this name.
        InputError: the file is no coder that can be used here.
    """
    if name_or_path.endswith(".npz"):
        from bedside.metrics.coders.learned.trained_coder import load_coder

        return load_coder(name_or_path).coder()
    return CODERS.load(name_or_path)
