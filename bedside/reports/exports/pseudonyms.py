"""Names that people who rated have in an export."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

import orjson
import polars as pl

from bedside.ratings.names import human_rater, is_human
from bedside.ratings.run import Run
from bedside.ratings.table import TRANSCRIPT_FOLDER, TRANSCRIPT_SCHEMA

#: Key of a turn's meta under which people's codes stand, by coder.
CODES_KEY = "codes"


def people_of(run: Run, *, coders: bool) -> frozenset[str]:
    """The people who rated in a run, as raters.

    Args:
        run: the run.
        coders: whether those count, too, whose codes stand in the transcripts only.
    """
    raters = run.ratings["rater"].unique().to_list()
    people = set(filter(is_human, raters))
    if coders and run.keeps_text:
        table = run.table(f"{TRANSCRIPT_FOLDER}/*.parquet", TRANSCRIPT_SCHEMA)
        with run.sound(TRANSCRIPT_FOLDER):
            coded = table.filter(pl.col("content").str.contains(f'"{CODES_KEY}"', literal=True)).select(
                "content"
            )
            for (content,) in coded.collect().iter_rows():
                for turn in orjson.loads(content)["turns"]:
                    codes = turn.get("meta", {}).get(CODES_KEY)
                    if isinstance(codes, dict):
                        people.update(map(human_rater, codes))
    return frozenset(people)


def pseudonyms(people: Iterable[str]) -> dict[str, str]:
    """A name for each person that says nothing of the real one: ``human:rater-1`` and so on.

    The order is that of a hash, so that the alphabet tells nothing; the same people have the same names each time.
    """
    shuffled = sorted(people, key=lambda rater: hashlib.sha256(rater.encode()).digest())
    return {rater: human_rater(f"rater-{number}") for number, rater in enumerate(shuffled, 1)}


def renamed_in(text: str, names: Mapping[str, str]) -> str:
    """A text in which each rater who is called by a full name, such as ``human:anna``, is called by the other."""
    if not names:
        return text
    # The longest first: one name may begin another.
    choices = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(f"(?:{choices})(?!\\w)", lambda name: names[name[0]], text)
