"""The labelling page: what a rater sees in Label Studio, made from a plan's rubrics.

Two columns that scroll on their own: the conversation, under what a rubric needs to know beside it; and the rubrics,
with the descriptor of every level beside its button. Turns are numbered from 0, as judges number them. The names of the
controls are those of :mod:`~bedside.annotation.fields`, the variables those of :mod:`~bedside.annotation.items`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.fields import (
    LISTED,
    NOTES,
    NOTHING,
    agree_field,
    choices,
    code_field,
    entry_fields,
    entry_part,
)
from bedside.annotation.items import clean
from bedside.ratings.audit_metrics import AGREE, DISAGREE
from bedside.rubrics.rubric import Rubric
from bedside.support.errors import MissingExtraError

#: What every choice and note is about, for Label Studio: the conversation.
_ABOUT = "chat"
#: One row of a keyboard for each of the first rubrics.
_KEYS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")

# Label Studio's own panels are about marked regions, of which there are none here. Times are not those of the
# conversation, and its text is shown with the line breaks it has.
_STYLE = """
.bedside{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:20px;line-height:1.4}
.bedside-left,.bedside-right{max-height:calc(100vh - 165px);overflow-y:auto;padding-right:8px}
.bedside-left{counter-reset:turn -1}
.bedside-known{max-height:30vh;overflow-y:auto;margin-bottom:6px}
.bedside-left [class*="time--"],.bedside-left [class*="selectAllBtnWrapper"],
.bedside-left [class*="wrapper_header"],.bedside .lsf-hint{display:none!important}
.bedside-left [class*="dialoguetext"],.bedside-known div{white-space:pre-wrap}
.bedside-left [class*="phraseContainer"]{counter-increment:turn}
.bedside-left [class*="dialoguename"]::before{content:"[" counter(turn) "] "}
.bedside-rubric{border-bottom:1px solid #d0d0d8;padding-bottom:8px;margin-bottom:8px;font-size:13px}
.bedside-rubric label,.bedside-rubric .lsf-choice__item{font-weight:400!important;font-size:13px}
.bedside [class*="htx-text"],.bedside .lsf-text,.bedside-known div,.bedside-rubric div{font-size:13px;line-height:1.35}
.bedside h5{margin:6px 0 2px!important}
[class*="sidepanels__wrapper"]{display:none!important}
[class*="sidepanels__content"]{width:100%!important;max-width:100%!important;padding:0!important}
[class*="lsf-sidepanels"]{padding-right:0!important;padding-left:0!important}
"""


def labelling_page(plan: AnnotationPlan) -> str:
    """The page of a plan, in Label Studio's XML; equal for equal rubrics and mode."""
    rubrics = [rubric.shown() for rubric in plan.questions]
    return (
        f"<View><Style>{_STYLE}</Style>"
        '<View className="bedside">'
        f'<View className="bedside-left">{"".join(_left(rubrics, plan))}</View>'
        f'<View className="bedside-right">{"".join(_right(rubrics, plan))}</View>'
        "</View></View>"
    )


def instructions_page(plan: AnnotationPlan, markdown: str = "") -> str:
    """What raters read first, as HTML: the user's text, then what each rubric says on doubtful cases.

    Args:
        plan: the plan.
        markdown: the user's instructions, consent and training texts; HTML in it is shown as text.

    Raises:
        MissingExtraError: the library that reads Markdown is missing.
    """
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise MissingExtraError(
            "markdown-it-py is not installed", todo="pip install 'bedside[annotate]'"
        ) from error
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    parts = [reader.render(clean(markdown))] if markdown.strip() else []
    for rubric in plan.questions:
        shown = rubric.shown()
        about = f"{shown.definition} {shown.instructions or ''}".strip()
        parts.append(f"<h3>{escape(clean(shown.title))}</h3><p>{escape(clean(about))}</p>")
    return "\n".join(parts)


def _text(text: str) -> str:
    """An attribute's value. What follows a dollar sign would be taken for a variable, wherever it stands."""
    cleaned = re.sub(r"\$(?=\w)", "$\u200b", clean(text))
    return quoteattr(f"\u200b{cleaned}" if cleaned.startswith("$") else cleaned)


def _header(text: str, size: int = 5) -> str:
    return f'<Header value={_text(text)} size="{size}"/>'


def _left(rubrics: Sequence[Rubric], plan: AnnotationPlan) -> Iterator[str]:
    inputs = dict.fromkeys(name for rubric in rubrics for name in rubric.references)
    if inputs:
        yield '<View className="bedside-known">'
        for name in inputs:
            yield _header(name.replace("_", " ").capitalize())
            yield f'<Text name="shown__{name}" value="$input_{name}"/>'
        yield "</View>"
    if plan.mode != "codes" and rubrics[0].unit == "turn":
        yield _header("Rate the last turn shown, which is turn")
        yield '<Text name="shown__turn" value="$rated_turn"/>'
    yield _header("Conversation")
    yield (
        f'<Paragraphs name="{_ABOUT}" value="$dialogue" layout="dialogue" nameKey="speaker" textKey="text"'
        ' showPlayer="false"/>'
    )


def _right(rubrics: Sequence[Rubric], plan: AnnotationPlan) -> Iterator[str]:
    match plan.mode:
        case "codes":
            for role in dict.fromkeys(rubric.role for rubric in rubrics):
                yield from _codes([rubric for rubric in rubrics if rubric.role == role], str(role))
        case "findings":
            yield from _findings(rubrics[0])
        case "audit":
            for number, rubric in enumerate(rubrics):
                yield from _audit(rubric, number)
        case _:
            for number, rubric in enumerate(rubrics):
                yield '<View className="bedside-rubric">'
                yield from _question(rubric, number)
                yield _choices(rubric, number)
                yield "</View>"
    yield _header("Notes")
    yield (
        f'<TextArea name="{NOTES}" toName="{_ABOUT}" rows="2" maxSubmissions="1" editable="true"'
        ' placeholder="Anything to add; Shift and Enter keep it"/>'
    )


def _question(rubric: Rubric, number: int) -> Iterator[str]:
    yield _header(f"{number + 1}. {rubric.title}")
    yield f'<Text name="about__{rubric.name}" value={_text(rubric.definition)}/>'


def _choices(rubric: Rubric, number: int, when: str = "") -> str:
    """The choices of a rubric, with the keys of a row of the keyboard; what is recorded is the level alone."""
    keys = _KEYS[number] if number < len(_KEYS) else ""
    choice_kind = "multiple" if rubric.kind == "set" else "single-radio"
    buttons = (
        f"<Choice value={_text(f'{choice}: {descriptor}')} alias={quoteattr(clean(choice))}{_key(keys, place)}/>"
        for place, (choice, descriptor) in enumerate(choices(rubric))
    )
    return (
        f'<Choices name="{rubric.name}" toName="{_ABOUT}" choice="{choice_kind}" layout="vertical" required="true" '
        f"requiredMessage={_text(f'Please answer: {rubric.title}')}{when}>{''.join(buttons)}</Choices>"
    )


def _key(keys: str, place: int) -> str:
    return f' hotkey="{keys[place]}"' if place < len(keys) else ""


def _audit(rubric: Rubric, number: int) -> Iterator[str]:
    agree = agree_field(rubric.name)
    yield '<View className="bedside-rubric">'
    yield from _question(rubric, number)
    yield _header("The judge says", 6)
    yield f'<Text name="judge__{rubric.name}" value="$judge_{rubric.name}"/>'
    yield f'<Text name="reason__{rubric.name}" value="$judge_reason_{rubric.name}"/>'
    yield (
        f'<Choices name="{agree}" toName="{_ABOUT}" choice="single-radio" layout="inline" required="true" '
        f"requiredMessage={_text(f'Please answer: {rubric.title}')}>"
        f'<Choice value="{AGREE}"/><Choice value="{DISAGREE}"/></Choices>'
    )
    yield _choices(
        rubric, number, f' visibleWhen="choice-selected" whenTagName="{agree}" whenChoiceValue="{DISAGREE}"'
    )
    yield "</View>"


def _findings(rubric: Rubric) -> Iterator[str]:
    yield '<View className="bedside-rubric">'
    yield from _question(rubric, 0)
    yield (
        f'<Choices name="{rubric.name}" toName="{_ABOUT}" choice="single-radio" layout="inline" required="true" '
        f"requiredMessage={_text(f'Please answer: {rubric.title}')}>"
        f'<Choice value="{LISTED}"/><Choice value="{NOTHING}"/></Choices>'
    )
    label_part, text_part = entry_part(rubric)
    yield f'<View visibleWhen="choice-selected" whenTagName="{rubric.name}" whenChoiceValue="{LISTED}">'
    yield f'<Text name="about__entry" value={_text(f"{text_part.descriptor} Enter adds it to the list.")}/>'
    for label, field in zip(label_part.labels, entry_fields(rubric), strict=True):
        yield _header(label.label.capitalize(), 6)
        yield (
            f'<TextArea name="{field}" toName="{_ABOUT}" rows="1" editable="true" '
            f"placeholder={_text(label.descriptor)}/>"
        )
    yield "</View></View>"


def _codes(rubrics: Sequence[Rubric], role: str) -> Iterator[str]:
    index = "{{" + role + "}}"
    turns = f"{role}_turns"
    for rubric in rubrics:
        yield '<View className="bedside-rubric">'
        yield _header(rubric.title)
        described = "\n".join(f"{choice}: {descriptor}" for choice, descriptor in choices(rubric))
        yield f'<Text name="about__{rubric.name}" value={_text(rubric.definition + chr(10) + described)}/></View>'
    yield f'<Repeater on="${turns}" indexFlag="{index}">'
    yield '<View className="bedside-rubric">'
    yield f'<Text name="number__{role}__{index}" value="${turns}[{index}].turn"/>'
    yield f'<Text name="turn__{role}__{index}" value="${turns}[{index}].text"/>'
    for rubric in rubrics:
        field = code_field(rubric.name, 0).removesuffix("0") + index
        buttons = "".join(
            f"<Choice value={_text(choice)} alias={quoteattr(clean(choice))}/>"
            for choice, _ in choices(rubric)
        )
        yield _header(rubric.title, 6)
        yield (
            f'<Choices name="{field}" toName="{_ABOUT}" choice="single-radio" layout="inline" required="true" '
            f"requiredMessage={_text(f'Please code every turn: {rubric.title}')}>{buttons}</Choices>"
        )
    yield "</View></Repeater>"


def controls(page: str) -> dict[str, tuple[str, ...]]:
    """What a page asks, whatever it looks like: the name of each control → what can be recorded.

    Raises:
        ValueError: the page is no XML.
    """
    import xml.etree.ElementTree as ElementTree

    try:
        root = ElementTree.fromstring(page)
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error
    recorded: dict[str, tuple[str, ...]] = {}
    for control in [*root.iter("Choices"), *root.iter("TextArea")]:
        values = [str(choice.get("alias", choice.get("value"))) for choice in control.iter("Choice")]
        recorded[str(control.get("name"))] = tuple(values)
    for shown in root.iter("Paragraphs"):
        recorded[f"${shown.get('name')}"] = (str(shown.get("value")),)
    return recorded
