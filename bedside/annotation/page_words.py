"""What raters read besides the rubrics, in the language of a plan's rubrics: one file of words for each language.

The rating page and Label Studio's take all that they say from here; spreadsheets and the files of other tools take what
the conversation's speakers and parts are called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

import orjson

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.fields import LISTED, MET, NO, NONE, NOT_APPLICABLE, NOT_MET, NOTHING, YES
from bedside.core.yaml_files import keys_and_values
from bedside.judges.rubrics.answer_form import LINKED_KINDS, all_parts
from bedside.judges.rubrics.prompt_words import ENGLISH
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.rubric_metrics import FIRST, SECOND, TIE
from bedside.transcripts.transcript import ROLES

_FOLDER = Path(__file__).parent / "languages"
#: What is said in the page before its script runs.
_IN_THE_PAGE = ("page_title", "loading", "no_script")


@dataclass(frozen=True, eq=False)
class PageWords:
    """The words of one language.

    Attributes:
        code: the language's tag, such as ``de``.
        texts: key → text, in which words in braces are filled in.
    """

    code: str
    texts: Mapping[str, str]

    def say(self, key: str, **filled: object) -> str:
        """A text, with its words in braces filled in."""
        return self.texts[key].format(**filled)

    @property
    def roles(self) -> Mapping[str, str]:
        """What those who speak are called, by role."""
        return {role: self.say(role) for role in ROLES}

    def values(self, plan: AnnotationPlan, rubric: Rubric) -> dict[str, str]:
        """What is shown for labels of a rubric, and for choices that every rubric shares.

        What is recorded stays the same in every language.
        """
        labels = (*rubric.labels, *(label for part in all_parts(rubric.answer) for label in part.labels))
        keys = {NONE: "none", NOT_APPLICABLE: "not_applicable", LISTED: "listed", NOTHING: "nothing"}
        keys |= {MET: "met", NOT_MET: "not_met"} if rubric.kind == "points" else {}
        keys |= {YES: "yes", NO: "no"} if rubric.kind in LINKED_KINDS else {}
        if plan.mode == "pairs":
            keys |= {FIRST: "first", SECOND: "second", TIE: "tie"}
        shared = {value: self.say(f"value_{key}") for value, key in keys.items()}
        return {label.label: label.called for label in labels} | shared

    def page(self, page: bytes) -> bytes:
        """The page itself, with its language and what it says before its script runs."""
        said = page.decode().replace('lang="en"', f'lang="{self.code}"', 1)
        for key in _IN_THE_PAGE:
            said = said.replace(f"{{{key}}}", escape(self.texts[key], quote=False))
        return said.encode()

    def script(self) -> bytes:
        """The texts, as a module that the page's scripts import."""
        return b"export const texts = " + orjson.dumps(self.texts) + b";\n"


def words_of(plan: AnnotationPlan) -> PageWords:
    """The words in the language of a plan's rubrics; in English where they are in several."""
    tags = {planned.rubric.language for planned in plan.rubrics}
    return page_words(tags.pop() if len(tags) == 1 else ENGLISH)


@cache
def page_words(tag: str) -> PageWords:
    """The words of a language that there are words of prompts in.

    Raises:
        RegistryError: the file can't be read.
    """
    data = keys_and_values(_FOLDER / f"{tag}.yaml", "file of words", "the docs on languages")
    return PageWords(tag, data)
