"""The library ConvoKit, imported without its traces: no random state set, no file written in the home folder."""

from __future__ import annotations

import importlib
import random
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bedside.support.errors import MissingExtraError


def import_convokit(module: str = "convokit") -> Any:
    """A module of ConvoKit; the global random state stays what it was, for some of them seed it when imported.

    Raises:
        MissingExtraError: ConvoKit is not installed.
    """
    state = random.getstate()
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            "ConvoKit is not installed", todo='pip install "bedside[convokit]"'
        ) from error
    finally:
        random.setstate(state)


_LOCK = threading.Lock()


@contextmanager
def no_configuration_written() -> Iterator[None]:
    """Keep a corpus from writing a configuration into the home folder, and from saying so, where there is none."""
    settings = import_convokit("convokit.convokitConfig")
    module = import_convokit("convokit.model.corpus")
    if Path("~/.convokit/config.yml").expanduser().is_file():
        yield
        return
    with _LOCK, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.yml"
        file.write_text(settings.DEFAULT_CONFIG_CONTENTS, "utf-8")
        module.ConvoKitConfig = lambda: settings.ConvoKitConfig(str(file))
        try:
            yield
        finally:
            module.ConvoKitConfig = settings.ConvoKitConfig
