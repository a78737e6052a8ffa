"""The README as a package index shows it, which has none of the files that it links to; used where bedside is built.

Once ``[project.urls]`` in pyproject.toml has a ``Source``, links and images lead there, as GitHub and GitLab address a
file. Until then links keep their words and images are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?://)([^)]+)\)\n*")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?://|#)([^)]+)\)")


def index_page(text: str, source: str | None) -> str:
    """A page whose links and images need no file beside it.

    Args:
        text: the page as it stands in the checkout.
        source: the address of the repository; None where it has none.
    """
    if source is None:
        return _LINK.sub(r"\1", _IMAGE.sub("", text))
    base = source.rstrip("/")
    text = _IMAGE.sub(rf"![\1]({base}/raw/HEAD/\2)\n\n", text)
    return _LINK.sub(rf"[\1]({base}/blob/HEAD/\2)", text)


class IndexPage(MetadataHookInterface):
    """Puts the page into what is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text("utf-8")
        page = index_page(text, metadata.get("urls", {}).get("Source"))
        metadata["readme"] = {"content-type": "text/markdown", "text": page}
