"""How much of a concern's wording a turn takes up."""

from __future__ import annotations

import re
from functools import lru_cache

from bedside.core.words import UNSPACED

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_UNSPACED = re.compile(f"[{UNSPACED}]+")

# Function words of English, and what concerns are commonly put in ("he believes that …"): they say nothing of what
# the concern is about.
_EMPTY = frozenset(
    """
    a about above after again against all also am an and any are aren't as at be because been before being below
    between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each even
    ever few for from further get gets getting got had hadn't has hasn't have haven't having he he'd he'll he's her
    here hers herself him himself his how i i'd i'll i'm i've if in into is isn't it it's its itself just let's like
    may me might more most must my myself no nor not now of off on once only or other our ours ourselves out over own
    really same shall she she'd she'll she's should shouldn't since so some still such than that that's the their
    theirs them themselves then there there's these they they'd they'll they're they've this those though through to
    too under until up upon very was wasn't we we'd we'll we're we've were weren't what what's when where which while
    who whom whose why will with won't would wouldn't yet you you'd you'll you're you've your yours yourself
    believe believes concern concerned concerns feel feels patient say says think thinks want wants
    """.split()
)


def _stem(word: str) -> str:
    """A word without its plural or third-person ending (the S-stemmer of Harman 1991)."""
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


@lru_cache(maxsize=2048)
def content(text: str) -> frozenset[str]:
    """The stems of a text's content words; of scripts without spaces, its pairs of neighbouring characters."""
    plain = text.casefold().replace("’", "'")
    stems: set[str] = set()
    for run in _UNSPACED.findall(plain):
        stems.update(run[place : place + 2] for place in range(max(1, len(run) - 1)))
    for word in _WORD.findall(_UNSPACED.sub(" ", plain)):
        if word not in _EMPTY:
            stems.add(_stem(word.removesuffix("'s")))
    return frozenset(stems)


def overlap(turn: frozenset[str], concern: frozenset[str]) -> float:
    """Share of the concern's content words that the turn holds, 0 to 1; 0 where the concern has none."""
    return len(turn & concern) / len(concern) if concern else 0.0
