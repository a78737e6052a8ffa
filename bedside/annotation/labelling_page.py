"""The labelling page: what a rater sees in Label Studio, made from a plan's rubrics.

Two columns that scroll on their own: the conversation, under what a rubric needs to know beside it; and the rubrics,
with the descriptor of every level beside its button. Turns are numbered from 0, as judges number them. The names of the
controls are those of :mod:`~bedside.annotation.fields`, the variables those of :mod:`~bedside.annotation.items`. Words
around the rubrics are in their language (:mod:`~bedside.annotation.page_words`); what is recorded is the same in each.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_ratings import flow_leads
from bedside.annotation.answers import said_field
from bedside.annotation.fields import (
    CASE_KINDS,
    LISTED,
    NONE,
    NOTES,
    NOTHING,
    choices,
    entry_fields,
    entry_labels_field,
    entry_part,
    evidence_field,
    reason_field,
)
from bedside.annotation.items import CODED_TURNS, clean, input_titles, most_asked, most_targets, shown_fields
from bedside.annotation.page_words import PageWords, words_of
from bedside.core.errors import from_extra
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.judges.rubrics.rubric import Rubric, link_form
from bedside.judges.rubrics.rubric_files import level_lines

#: What every choice and note is about, for Label Studio: the conversation.
_ABOUT = "chat"
#: One row of a keyboard for each of the first rubrics.
_KEYS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")

#: The colour of each rubric's marks in the conversation: light, so that text on them stays readable.
_MARK_COLOURS = ("#ffd84d", "#7fd1c7", "#f7a8c4", "#a9c7ff", "#c9e265", "#d9b8ff", "#ffb98a", "#9fe0a8", "#d5c6a5")
#: Turns to be coded, by who speaks.
_TURN_COLOURS = {"clinician": "#a9c7ff", "patient": "#ffd9a0", "other": "#d8d8e0"}
#: A control that no rater is to use still gets a key of Label Studio's, unless it has one: nobody presses these.
_UNUSED_KEY = "ctrl+alt+shift+f{}"

# Label Studio's own panels are about marked regions, which stand in the conversation. Times are not those of the
# conversation, and its text is shown with the line breaks it has. Texts are written from the side that their first word
# is written from.
_STYLE = """
.bedside{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:20px;line-height:1.4}
.bedside-left,.bedside-right{max-height:calc(100vh - 165px);overflow-y:auto;padding-right:8px}
.bedside-left{counter-reset:turn -1}
.bedside-known{max-height:40vh;overflow-y:auto;margin-bottom:6px}
.bedside-left [class*="time--"],.bedside-left [class*="wrapper_header"],.bedside-left button:disabled,
.bedside-codes [class*="selectAllBtnWrapper"],.bedside .lsf-hint,.bedside-hidden{display:none!important}
.bedside-codes .lsf-hint{display:inline!important}
.bedside-left [class*="dialoguetext"],.bedside-known div,.bedside-rubric div{white-space:pre-wrap}
.bedside-left [class*="dialoguetext"],.bedside [class*="htx-text"],.bedside .lsf-text,.bedside-known div,
.bedside-rubric div,.bedside label span,.bedside input,.bedside textarea,.lsf-modal-ls p,.lsf-modal-ls li,
.lsf-modal-ls h1,.lsf-modal-ls h2,.lsf-modal-ls h3,.lsf-modal-ls td{unicode-bidi:plaintext;text-align:start}
.bedside-left [class*="dialoguetext"],.bedside-left [class*="wrapperText"]{display:block;width:100%}
.bedside-left [class*="phraseContainer"]{counter-increment:turn}
.bedside-left [class*="dialoguename"]{color:#2b2b33!important;font-weight:700}
.bedside-left [class*="dialoguename"]::before{content:"[" counter(turn) "] "}
.bedside-rubric{border-bottom:1px solid #d0d0d8;padding-bottom:8px;margin-bottom:8px;font-size:13px}
.bedside-rubric label,.bedside-rubric .lsf-choice__item{font-weight:400!important;font-size:13px}
.bedside [class*="htx-text"],.bedside .lsf-text,.bedside-known div,.bedside-rubric div{font-size:13px;line-height:1.35}
.bedside-why{display:grid;grid-template-columns:auto minmax(0,1fr);gap:8px;align-items:start}
.bedside-why [class*="lsf-labels"]{margin:4px 0 0!important}
.bedside-why .lsf-label{cursor:pointer}
.bedside h5,.bedside h4{margin:6px 0 2px!important;unicode-bidi:plaintext;text-align:start}
.bedside .bedside-entry h4{font-size:13px!important;font-weight:700;margin-top:12px!important;white-space:pre-wrap}
.lsf-modal-ls ul{list-style:disc;padding-inline-start:1.6em}
.lsf-modal-ls ol{list-style:decimal;padding-inline-start:1.6em}
.lsf-modal-ls h1,.lsf-modal-ls h2,.lsf-modal-ls h3,.lsf-modal-ls p,.lsf-modal-ls ul,.lsf-modal-ls ol{margin:0 0 .5em}
.lsf-modal-ls td,.lsf-modal-ls th{border:1px solid #d0d0d8;padding:2px 8px}
[class*="sidepanels__wrapper"]{display:none!important}
[class*="sidepanels__content"]{width:100%!important;max-width:100%!important;padding:0!important}
[class*="lsf-sidepanels"]{padding-right:0!important;padding-left:0!important}
"""


@dataclass(frozen=True, slots=True)
class _SpeakerLook:
    """How the turns of a role look, so that speakers are told apart by more than a colour.

    Attributes:
        role: the role.
        colour: of the name, dark on any background that it stands on.
        indent: of the turn, in pixels.
    """

    role: str
    colour: str
    indent: int

    def style(self, name: str) -> str:
        """Its part of the page's style, where a language calls the role so: its turns are recognised by that colour."""
        hue = _NAME_COLOURS[name]
        words = ", ".join(map(str, hue))
        figures = "#" + "".join(f"{part:02x}" for part in hue)
        names, turns = '[class*="dialoguename"][style*="{}"]', '[class*="phrase--"][style*="{}"]'
        return (
            f".bedside-left {names.format(words)}{{color:{self.colour}!important}}\n"
            f".bedside-left {turns.format(words)},.bedside-left {turns.format(figures)}"
            f"{{--highlight-color:{self.colour}!important;margin-inline-start:{self.indent}px}}\n"
        )


_LOOKS = (
    _SpeakerLook("clinician", "#0b4a99", 0),
    _SpeakerLook("patient", "#8a3b00", 28),
    _SpeakerLook("other", "#4a4a55", 14),
)
#: The colour (red, green, blue) that Label Studio makes of a speaker's name.
_NAME_COLOURS = {
    "Clinician": (157, 191, 114),
    "Patient": (127, 191, 114),
    "Other": (135, 114, 191),
    "Behandler": (114, 122, 191),
    "Andere Person": (122, 114, 191),
    "医生": (181, 191, 114),
    "患者": (191, 114, 138),
    "其他人": (191, 116, 114),
}

# Beside two conversations there is less room for what is asked of them.
_PAIR_STYLE = """
.bedside-pairs{grid-template-columns:minmax(0,1fr) minmax(0,1fr) minmax(0,340px);gap:14px}
.bedside-pairs .bedside-title,.bedside-pairs .bedside-known{grid-column:1/-1}
.bedside-pairs .bedside-known{max-height:110px}
.bedside-pairs .bedside-left,.bedside-pairs .bedside-right{max-height:calc(100vh - 200px)}
.bedside-known~.bedside-left,.bedside-known~.bedside-right{max-height:calc(100vh - 330px)!important}
"""


def labelling_page(plan: AnnotationPlan) -> str:
    """The page of a plan, in Label Studio's XML; equal for equal rubrics and mode."""
    return _Page(plan).xml()


def instructions_page(plan: AnnotationPlan, markdown: str = "") -> str:
    """What raters read first, as HTML: the user's text, then what each rubric says on doubtful cases.

    Args:
        plan: the plan.
        markdown: the user's instructions, consent and training texts; HTML in it is shown as text.

    Raises:
        MissingExtraError: the library that reads Markdown is missing.
    """
    parts = [html_of(markdown)] if markdown.strip() else []
    for rubric in plan.questions:
        shown = rubric.shown()
        about = f"{shown.definition} {shown.instructions or ''}".strip()
        lines = "<br>".join(map(escape, clean(about).splitlines()))
        parts.append(f"<h3>{escape(clean(shown.title))}</h3><p>{lines}</p>")
    return "\n".join(parts)


def html_of(markdown: str) -> str:
    """Markdown as HTML; HTML in it is shown as text.

    Raises:
        MissingExtraError: the library that reads Markdown is missing.
    """
    with from_extra("annotate", "Markdown needs markdown-it-py"):
        from markdown_it import MarkdownIt
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(clean(markdown)))


def _text(text: str, variable: str = "") -> str:
    """An attribute's value, and perhaps a variable of the task's after it.

    What follows a dollar sign would be taken for a variable, wherever it stands.
    """
    cleaned = re.sub(r"\$(?=[\w\[{.])", "$\u200b", clean(text))
    return quoteattr((f"\u200b{cleaned}" if cleaned.startswith("$") else cleaned) + variable)


#: Where the item stands among the rater's.
_TITLE = '<Header value="$title" size="4"/>'


def _header(text: str, size: int = 5) -> str:
    return f'<Header value={_text(text)} size="{size}"/>'


def _turns(name: str, variable: str) -> str:
    return (
        f'<Paragraphs name="{name}" value="${variable}" layout="dialogue" nameKey="speaker" textKey="text"'
        ' showPlayer="false"/>'
    )


def _question(rubric: Rubric, number: int) -> Iterator[str]:
    yield _header(f"{number + 1}. {rubric.title}")
    yield f'<Text name="about__{rubric.name}" value={_text(rubric.definition)}/>'


def _text_area(name: str, placeholder: str) -> str:
    """A box for one text, which is kept as it stands when the answer is handed in."""
    return (
        f'<TextArea name="{name}" toName="{_ABOUT}" rows="2" maxSubmissions="1" editable="true" '
        f'showSubmitButton="false" placeholder={_text(placeholder)}/>'
    )


def _key(keys: str, place: int) -> str:
    return f' hotkey="{keys[place]}"' if place < len(keys) else ""


class _Page:
    """The parts of a plan's page, in the plan's language."""

    def __init__(self, plan: AnnotationPlan) -> None:
        self._plan = plan
        self._rubrics = [rubric.shown() for rubric in plan.questions]
        self._words: PageWords = words_of(plan)
        # Of the whole page: no two share a key or a colour.
        self._marks = {name: number for number, (name, _) in enumerate(shown_fields(plan))}

    def xml(self) -> str:
        """The page."""
        style = _STYLE + "".join(look.style(self._words.roles[look.role]) for look in _LOOKS)
        if self._plan.mode == "pairs":
            return self._pair_page(style)
        return (
            f"<View><Style>{style}</Style>"
            f'<View className="bedside bedside-{self._plan.mode}">'
            f'<View className="bedside-left">{"".join(self._left())}</View>'
            f'<View className="bedside-right">{"".join(self._right())}</View>'
            "</View></View>"
        )

    def _pair_page(self, style: str) -> str:
        """The page of two conversations: what is known of the case above them, and the questions beside them."""
        first, second = (self._words.say(f"{place}_conversation") for place in ("first", "second"))
        return (
            f"<View><Style>{style}{_PAIR_STYLE}</Style>"
            '<View className="bedside bedside-pairs">'
            f'<View className="bedside-title">{_TITLE}</View>{"".join(self._known())}'
            f'<View className="bedside-left">{_header(first)}{_turns(_ABOUT, "dialogue")}</View>'
            f'<View className="bedside-left">{_header(second)}'
            f"{_turns(f'{_ABOUT}_second', 'dialogue_second')}</View>"
            f'<View className="bedside-right">{"".join(self._right())}</View>'
            "</View></View>"
        )

    def _left(self) -> Iterator[str]:
        yield _TITLE
        yield from self._known()
        if self._plan.mode != "codes" and self._rubrics[0].unit == "turn":
            yield _header(self._words.say("studio_rate_turn"))
            yield '<Text name="shown__turn" value="$rated_turn"/>'
        yield _turns(_ABOUT, "dialogue")

    def _known(self) -> Iterator[str]:
        """What a rubric needs to know beside the conversation."""
        inputs = input_titles(self._rubrics)
        if inputs:
            yield '<View className="bedside-known">'
            for name, title in inputs.items():
                yield _header(title)
                yield f'<Text name="shown__{name}" value="$input_{name}"/>'
            yield "</View>"

    def _right(self) -> Iterator[str]:
        mode = self._plan.mode
        match mode:
            case "codes":
                yield from self._codes()
            case "findings":
                yield '<View className="bedside-rubric">'
                yield from _question(self._rubrics[0], 0)
                yield from self._findings(self._rubrics[0])
            case "audit":
                for number, rubric in enumerate(self._rubrics):
                    yield from (self._of_case if rubric.kind in CASE_KINDS else self._audit)(rubric, number)
            case "pairs":
                for number, planned in enumerate(self._plan.rubrics):
                    yield '<View className="bedside-rubric">'
                    yield from _question(self._rubrics[number], number)
                    yield self._choices(self._rubrics[number], number)
                    yield self._reason(self._rubrics[number].name)
                    levels = "\n".join((self._words.say("levels"), *level_lines(planned.rubric)))
                    yield f'<Text name="levels__{planned.rubric.name}" value={_text(levels)}/></View>'
            case _:
                for number, rubric in enumerate(self._rubrics):
                    if rubric.kind in CASE_KINDS:
                        yield from self._of_case(rubric, number)
                    elif rubric.name not in self._plan.flow_of:
                        yield from self._rate(rubric, number)
                    elif rubric.name == (flow := self._plan.flow_of[rubric.name]).question_rubrics[0].name:
                        yield from self._flow(flow, number)
        yield _header(self._words.say("studio_notes"))
        yield _text_area(NOTES, self._words.say("studio_on_the_whole"))

    def _rate(self, rubric: Rubric, number: int, when: str = "", more: str = "", inner: str = "") -> Iterator[str]:
        """A rubric; ``when`` says when it is in sight, and ``inner`` is what is in sight no sooner."""
        if when or inner:
            yield f"<View{when}>"
        yield '<View className="bedside-rubric">'
        yield from _question(rubric, number)
        if rubric.instructions and rubric.name in self._plan.flow_of:  # the question's examples
            yield f'<Text name="examples__{rubric.name}" value={_text(rubric.instructions)}/>'
        if self._plan.mode == "adjudicate":
            yield f'<Text name="said__{rubric.name}" value="${said_field(rubric.name)}"/>'
        required = self._plan.mode != "adjudicate" and rubric.name not in self._plan.flow_of
        yield self._choices(rubric, number, required=required, when=when)
        why = self._why(rubric.name, str(number + 1))
        yield f"{more}{why}</View>{inner}{'</View>' if when or inner else ''}"

    def _flow(self, flow: Rubric, first: int) -> Iterator[str]:
        """The questions of a flow: each in sight once the answer is given that leads to it.

        Where several questions lead to one, Label Studio can't say so: all are in sight then, and each answer says
        where to go on.
        """
        questions = {rubric.name: place for place, rubric in enumerate(flow.question_rubrics, first)}
        leads = {name: flow_leads(flow, name) for name in questions}
        start = flow.question_rubrics[flow.flow.first].name
        before = Counter(after for of_question in leads.values() for after in set(of_question.values()))
        is_tree = all(before[name] == (name != start) for name in questions) and "," not in "".join(
            said for of_question in leads.values() for said in of_question
        )

        def drawn(name: str, when: str = "") -> str:
            inner = ""
            for after in dict.fromkeys(filter(None, leads[name].values())):
                said = clean(",".join(said for said, to in leads[name].items() if to == after))
                condition = f' visibleWhen="choice-selected" whenTagName="{name}" whenChoiceValue={quoteattr(said)}'
                inner += drawn(after, condition)
            return "".join(self._rate(self._rubrics[questions[name]], questions[name], when, inner=inner))

        if is_tree:
            yield drawn(start)
            return
        for name, place in questions.items():
            lines = "\n".join(
                self._words.say("ends", answer=said)
                if after is None
                else self._words.say("goes_on", answer=said, question=questions[after] + 1)
                for said, after in leads[name].items()
            )
            told = f'<Text name="leads__{name}" value={_text(lines)}/>'
            yield from self._rate(self._rubrics[place], place, more=told)

    def _of_case(self, rubric: Rubric, number: int) -> Iterator[str]:
        """The criteria or entries of an item's case, up to the most that an item has; those that all have can't be left
        open. What is asked of a link is in sight once there is one."""
        yield '<View className="bedside-rubric">'
        yield from _question(rubric, number)
        if rubric.kind == "list":
            yield f'<Text name="about__correcting" value={_text(self._words.say("correct_list"))}/>'
        shown = [item.id for item in self._plan.everything if item.id in self._plan.raters_of]
        counts = [sum(asked.said for asked in self._plan.asked_of(item, rubric)) for item in shown]
        links, settles = rubric.kind in LINKED_KINDS, self._plan.mode == "adjudicate"
        least = 0 if settles else min(counts)
        place = -1
        for asked in most_asked(self._plan, rubric):
            if asked.name == rubric.name:  # whether a list lacks anything
                yield from (_header(self._words.say("list_lacks"), 6), *self._findings(rubric))
                return
            place += asked.said
            title, of_link, when = f"{number + 1}.{place + 1}", links and asked.said, ""
            if asked.said and not (links and link_form(rubric).rows is None):  # else it is the question
                entry = _text(f"{title} ", f"$criterion_{rubric.name}_{place}")
                yield f'<View className="bedside-entry"><Header value={entry} size="6"/></View>'
            if asked.of is not None:
                linked = ",".join(str(target + 1) for target in range(most_targets(self._plan)[rubric.name]))
                when = f' visibleWhen="choice-selected" whenTagName="{asked.of}" whenChoiceValue="{linked}"'
            if not asked.said:
                yield f'<View{when}><Text name="about__{asked.name}" value={_text(asked.asked)}/>'
            if self._plan.mode == "audit":
                says = _text(self._words.say("judge_says"), f"$judge_{asked.name}")
                yield f'<Header value={says} size="6"/>'
                if asked.said and rubric.kind != "list":
                    yield f'<Text name="judge_reason__{asked.name}" value="$judge_reason_{asked.name}"/>'
            if settles and asked.said:
                yield f'<Text name="said__{asked.name}" value="${said_field(asked.name)}"/>'
            layout = "inline" if not of_link else "select" if link_form(rubric).of_turns else "vertical"
            buttons = "".join(
                f"<Choice value={_text(f'{choice}: ', f'$target_{rubric.name}_{at}')} alias={quoteattr(choice)}/>"
                if of_link and choice != NONE
                else f"<Choice {self._named(rubric, choice)}/>"
                for at, (choice, _) in enumerate(asked.choices)
            )
            missing = _text(self._words.say("studio_answer", title=f"{rubric.title}, {place + 1}"))
            yield (
                f'<Choices name="{asked.name}" toName="{_ABOUT}" choice="single-radio" layout="{layout}" '
                f'required="{str(place < least).lower()}" requiredMessage={missing}{when}>{buttons}</Choices>'
            )
            if asked.quoted:
                yield self._why(asked.name, title)
            elif asked.said:
                yield self._reason(asked.name, "better_words" if rubric.kind == "list" else "studio_why")
            else:
                yield "</View>"
        yield "</View>"

    def _choices(
        self, rubric: Rubric, number: int, marks: str = "", *, required: bool = True, turns: str = "", when: str = ""
    ) -> str:
        """The choices of a rubric, with the keys of a row of the keyboard; what is recorded is the level alone.

        With ``marks``, the variable of this name and the choice's place stands beside each choice; with ``turns``,
        which says what marked turns it is for, it is asked of each of them; ``when`` says when it is in sight.
        """
        missing = self._words.say("studio_code_turns" if turns else "studio_answer", title=rubric.title)
        keys = _KEYS[number] if number < len(_KEYS) else ""
        choice_kind = "multiple" if rubric.kind == "set" else "single-radio"
        buttons = (
            f"<Choice value={_text(text, f' ${marks}_{place}' if marks else '')} "
            f"alias={quoteattr(clean(choice))}{_key(keys, place)}/>"
            for place, (choice, text) in enumerate(self._described(rubric))
        )
        return (
            f'<Choices name="{rubric.name}" toName="{_ABOUT}" choice="{choice_kind}" layout="vertical" '
            f'required="{str(required).lower()}" '
            f"requiredMessage={_text(missing)}{turns}{when}>{''.join(buttons)}</Choices>"
        )

    def _described(self, rubric: Rubric) -> Iterator[tuple[str, str]]:
        """What is recorded of each choice of a rubric, and what is shown of it."""
        values = self._words.values(self._plan, rubric)
        for choice, descriptor in choices(rubric):
            about = self._words.say("value_none_means") if choice == NONE else descriptor
            yield choice, values.get(choice, choice) + ("" if about == choice else f": {about}")

    def _why(self, field: str, title: str) -> str:
        """Why, in the rater's words and in what they mark in the conversation."""
        number = self._marks[field]
        colour = _MARK_COLOURS[number % len(_MARK_COLOURS)]
        key = f"shift+{number + 1}" if number < 9 else _UNUSED_KEY.format(number)
        mark = self._words.say("studio_mark", question=title)
        return (
            f'<View className="bedside-why"><ParagraphLabels name="{evidence_field(field)}" toName="{_ABOUT}">'
            f'<Label value={_text(mark)} alias="evidence" background="{colour}" '
            f'hotkey="{key}"/></ParagraphLabels>{self._reason(field)}</View>'
        )

    def _reason(self, field: str, placeholder: str = "studio_why") -> str:
        return _text_area(reason_field(field), self._words.say(placeholder))

    def _audit(self, rubric: Rubric, number: int) -> Iterator[str]:
        """What the judge says, and the whole scale on which it is marked: the rater says where they stand on it."""
        yield '<View className="bedside-rubric">'
        yield from _question(rubric, number)
        yield f'<Header value={_text(self._words.say("judge_says"), f"$judge_{rubric.name}")} size="6"/>'
        yield f'<Text name="judge_reason__{rubric.name}" value="$judge_reason_{rubric.name}"/>'
        yield _header(self._words.say("studio_what_do_you_say"), 6)
        yield self._choices(rubric, number, marks=f"judge_mark_{rubric.name}")
        yield self._why(rubric.name, str(number + 1))
        yield "</View>"

    def _findings(self, rubric: Rubric) -> Iterator[str]:
        """A list: whether there is anything to list, of which labels, and the entries; none of it can be left open."""
        words = self._words
        asked = f"requiredMessage={_text(words.say('studio_answer', title=rubric.title))}"
        either = "".join(
            f'<Choice {self._named(rubric, choice)} hotkey="{key}"/>' for key, choice in ((1, LISTED), (2, NOTHING))
        )
        yield (
            f'<Choices name="{rubric.name}" toName="{_ABOUT}" choice="single-radio" layout="inline" required="true" '
            f"{asked}>{either}</Choices>"
        )
        label_part, text_part = entry_part(rubric)
        opening = entry_labels_field(rubric.name)
        when = f'visibleWhen="choice-selected" whenTagName="{rubric.name}" whenChoiceValue="{LISTED}"'
        about = f"{text_part.descriptor} {words.say('studio_enter_adds')}"
        yield f'<View {when}><Text name="about__entry" value={_text(about)}/>'
        buttons = (
            f"<Choice value={_text(f'{label.called}: {label.descriptor}')} "
            f"alias={quoteattr(field)}{_key(_KEYS[1], place)}/>"
            for place, (label, field) in enumerate(zip(label_part.labels, entry_fields(rubric), strict=True))
        )
        yield (
            f'<Choices name="{opening}" toName="{_ABOUT}" choice="multiple" layout="vertical" required="true" '
            f"requiredMessage={_text(words.say('studio_choose_label'))} {when}>{''.join(buttons)}</Choices>"
        )
        for label, field in zip(label_part.labels, entry_fields(rubric), strict=True):
            # Said of the view, it hides the box; said of the box, nothing of a box that was closed again is recorded.
            when = f'visibleWhen="choice-selected" whenTagName="{opening}" whenChoiceValue="{field}"'
            missing = words.say("studio_list_label", label=label.called)
            heading = label.called[0].upper() + label.called[1:] if label.title else label.label.capitalize()
            yield (
                f"<View {when}>{_header(heading, 6)}"
                f'<TextArea name="{field}" toName="{_ABOUT}" rows="1" editable="true" required="true" '
                f"requiredMessage={_text(missing)} {when}/></View>"
            )
        yield "</View></View>"

    def _named(self, rubric: Rubric, choice: str) -> str:
        """A choice that every list shares, as it is shown and as it is recorded."""
        shown = self._words.values(self._plan, rubric)[choice]
        return f"value={_text(shown)}" + (f" alias={quoteattr(choice)}" if shown != choice else "")

    def _codes(self) -> Iterator[str]:
        """The codes of the turn that is marked: each turn to be coded is a region of the conversation."""
        words = self._words
        roles = dict.fromkeys(str(rubric.role) for rubric in self._rubrics)
        labels = "".join(
            f'<Label value={_text(words.say(role))} background="{_TURN_COLOURS[role]}" '
            f'hotkey="{_UNUSED_KEY.format(number)}"/>'
            for number, role in enumerate(roles, 1)
        )
        yield (
            f'<View className="bedside-hidden"><ParagraphLabels name="{CODED_TURNS}" toName="{_ABOUT}">{labels}'
            "</ParagraphLabels></View>"
        )
        how = _text(words.say("studio_how_to_code"))
        yield f'<View className="bedside-rubric"><Text name="about__coding" value={how}/></View>'
        for number, rubric in enumerate(self._rubrics):
            speaker = words.say(str(rubric.role))
            when = f'visibleWhen="region-selected" whenTagName="{CODED_TURNS}" whenLabelValue={_text(speaker)}'
            yield '<View className="bedside-rubric">'
            yield _header(f"{number + 1}. {rubric.title} ({speaker})")
            yield f'<Text name="about__{rubric.name}" value={_text(rubric.definition)}/>'
            yield f"<View {when}>"
            yield self._choices(rubric, number, turns=f' perRegion="true" {when}')
            yield "</View>"
            described = "\n".join(text for _, text in self._described(rubric))
            yield (
                f'<View visibleWhen="no-region-selected"><Text name="codes__{rubric.name}" value={_text(described)}/>'
            )
            yield "</View></View>"


def page_digest(page: str) -> str:
    """A hash of all that a page shows and records, as 12 hexadecimal digits; spaces between elements don't matter.

    Raises:
        ValueError: the page is no XML.
    """
    import xml.etree.ElementTree as ElementTree

    try:
        content = ElementTree.canonicalize(page, strip_text=True)
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error
    return hashlib.sha256(content.encode()).hexdigest()[:12]
