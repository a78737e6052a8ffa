"""The runs that a merged run was made of, as it keeps them: what each was, and which transcript is of which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from bedside.support.json_shape import INTEGER, TEXT

#: The manifest's key.
PARTS_KEY = "merged"
#: What the manifest holds of each: its folder as it was named, the SHA-256 of its ratings, how many transcripts it had,
#: and the rounds in which people rated it.
PARTS_SHAPE: Any = [{"run": TEXT, "sha256": TEXT, "transcripts": INTEGER, "rounds": [TEXT]}]
#: The file of a merged run that says which transcript is of which runs, by their place in the manifest's list.
PARTS_FILE = "parts.parquet"
PARTS_SCHEMA = pl.Schema({"transcript_id": pl.String(), "part": pl.Int32()})


def merged_parts(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a manifest says of the runs that its run was made of; none where it wasn't merged."""
    return list(manifest.get(PARTS_KEY) or ())
