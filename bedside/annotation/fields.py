"""What a rater fills in, by name: the one place that page, files and answers agree on.

A *field* is the ``name`` of a control on the labelling page (``from_name`` in an answer) and a column of an offline
file.

- rate: ``<rubric>``: one choice, a level as text (``"4"``, ``"0.5"``) or a label; :data:`NOT_APPLICABLE` where the
  rubric has a case for it; of a set, any number of labels, or :data:`NONE` alone.
- pairs: ``<rubric>``: ``first``, ``second`` or ``tie``; :data:`NOT_APPLICABLE` as in rate.
- audit: ``<rubric>``: the rater's own choice, as in rate; and ``agree__<rubric>``: ``agree`` or ``disagree``. Where a
  form asks for the rater's own choice alone, they agree whose choice is the one that the judge is shown with.
- findings: ``<rubric>``: :data:`LISTED` or :data:`NOTHING`; and ``<rubric>__<n>``: a text area that takes any number of
  entries, each of them an entry of the rubric's n-th label (from 0), such as a category of concerns.
- audit, of a list: the same, of what the judge's list lacks; and ``<rubric>__judge_<n>``: the label of the judge's n-th
  entry (from 0), or :data:`NONE` where it doesn't belong on the list.
- rate, by points: ``<rubric>__<n>``: :data:`MET` or :data:`NOT_MET`, of the case's n-th criterion (from 0).
- rate, by pairs or an index: ``<rubric>__<n>``: what the n-th entry (from 0) of the case's list is linked to, by the
  number that it is shown with (entries from 1, turns from 0), or :data:`NONE`; and ``<rubric>__<n>__<part>``: what else
  is asked of it, such as :data:`YES` or :data:`NO`.
- codes: ``<code>__<n>``: one choice, the label of the n-th turn (from 0) of the code's role, in the order of the task's
  ``clinician_turns`` or ``patient_turns``.
- rate, audit, pairs: ``reason__<rubric>``: why, in the rater's words; of each criterion or entry. Of an entry of a
  judge's list, the entry in better words.
- rate, audit: ``evidence__<rubric>``: the turns that show it, and words of them, as in
  :mod:`~bedside.annotation.answers`; of each entry to be linked, where the rubric asks for a quote.
- all: ``notes``: the rater's notes on the item as a whole.

On Label Studio's page every choice is a ``Choices`` control, every text a ``TextArea`` and evidence a
``ParagraphLabels``. In codes mode a code is one control for all turns: what is chosen belongs to a marked turn, and
carries its number. ``<rubric>__labels``, which opens the text areas of a list, is a control of the page alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bedside.judges.rubrics.answer_form import LINKED_KINDS, RubricPart
from bedside.judges.rubrics.rubric import LinkForm, Rubric, link_form

#: Modes in which a rater says why on each rubric, and in which turns can be marked for it.
REASONED_MODES, MARKED_MODES = ("rate", "audit", "pairs", "adjudicate"), ("rate", "audit", "adjudicate")
NOTES = "notes"
NOT_APPLICABLE = "no answer can be given"
NONE = "none of these"
LISTED, NOTHING = "listed", "nothing to list"
MET, NOT_MET = "met", "not met"
YES, NO = "yes", "no"
#: Kinds of rubrics whose questions are those of an item's own case: criteria, or entries to be linked; and of a judge's
#: list (:meth:`~bedside.annotation.annotation_plan.AnnotationPlan.of_case`).
CASE_KINDS = ("points", *LINKED_KINDS, "list")
#: What stands between the labels of a set.
LABEL_SEPARATOR = ";"


def choices(rubric: Rubric) -> tuple[tuple[str, str], ...]:
    """What a rater can choose by a rubric of levels or labels, each with its descriptor, in order."""
    shown = rubric.shown()
    described = [(f"{level.value:g}", level.descriptor) for level in shown.scale]
    described += [(label.label, label.descriptor) for label in shown.labels]
    if shown.kind == "points":
        described = [(MET, "The conversation meets it."), (NOT_MET, "It doesn't.")]
    if shown.kind == "set":
        described.append((NONE, "None of them applies."))
    if shown.not_applicable:
        described.append((NOT_APPLICABLE, shown.not_applicable))
    return tuple(described)


def agree_field(rubric: str) -> str:
    """The field that says whether a rater agrees with the judge on a rubric."""
    return f"agree__{rubric}"


def reason_field(rubric: str) -> str:
    """The field in which a rater says why, on a rubric."""
    return f"reason__{rubric}"


def evidence_field(rubric: str) -> str:
    """The field that holds the turns that a rater marks for a rubric."""
    return f"evidence__{rubric}"


def entry_part(rubric: Rubric) -> tuple[RubricPart, RubricPart]:
    """The label and the text that an entry of a list rubric is made of.

    Raises:
        ValueError: its entries are made of anything else.
    """
    items = rubric.answer[0].items if rubric.kind == "list" else ()
    if sorted(item.type for item in items) != ["label", "text"]:
        raise ValueError(f"{rubric.name} is not a list of entries with a label and a text")
    label, text = sorted(items, key=lambda item: item.type)
    return label, text


def label_and_text(rubric: Rubric, entries: Iterable[Mapping[str, str]]) -> list[tuple[str, str]]:
    """The label and the text of each entry of a list rubric."""
    label, text = entry_part(rubric)
    return [(entry[label.name], entry[text.name]) for entry in entries]


def entry_fields(rubric: Rubric) -> dict[str, str]:
    """Field → label, for each label of a list rubric."""
    label_part, _ = entry_part(rubric)
    return {f"{rubric.name}__{number}": label.label for number, label in enumerate(label_part.labels)}


def list_fields(rubric: Rubric, entries: Sequence[str]) -> Iterator[AskedField]:
    """What is asked of each entry of a judge's list, and last whether the list lacks any."""
    labels = tuple((label.label, label.descriptor) for label in entry_part(rubric.shown())[0].labels)
    for place, entry in enumerate(entries):
        yield AskedField(f"{rubric.name}__judge_{place}", entry, (*labels, (NONE, NONE)), said=True)
    yield AskedField(rubric.name, "", ((LISTED, LISTED), (NOTHING, NOTHING)))


def entry_labels_field(rubric: str) -> str:
    """The control that opens the text areas of a list's labels; no field of an answer."""
    return f"{rubric}__labels"


def one_answer(chosen: Iterable[str]) -> str:
    """What is chosen as one text: of a set, its labels in order."""
    return f"{LABEL_SEPARATOR} ".join(sorted(chosen))


def code_field(code: str, position: int) -> str:
    """The field of a code and the turn at ``position`` (from 0) among the turns of the code's role; or of points and
    the criterion at that position."""
    return f"{code}__{position}"


# -- Lists of a case whose entries are linked -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskedField:
    """A question that is put to raters of one item.

    Attributes:
        name: its field.
        asked: what is asked about, as text.
        choices: what may be chosen, each with its descriptor.
        of: the field that must hold a link before this is asked; None where it is asked anyway.
        said: whether the rater says why.
        quoted: whether the turns that show it are marked.
    """

    name: str
    asked: str
    choices: tuple[tuple[str, str], ...]
    of: str | None = None
    said: bool = False
    quoted: bool = False

    def applies(self, choices: Mapping[str, tuple[str, ...]]) -> bool:
        """Whether it is asked beside these choices: what is left of a link that was taken back is no answer."""
        return self.of is None or choices.get(self.of, (NONE,)) != (NONE,)


def linked_number(form: LinkForm, choice: str) -> int | None:
    """The number (from 0) of what is linked; None where nothing is."""
    return None if choice == NONE else int(choice) - (not form.of_turns)


def link_fields(rubric: Rubric, rows: Sequence[str], targets: Sequence[str]) -> Iterator[AskedField]:
    """What is asked of each entry of a list, and of what it is linked to.

    Args:
        rubric: of pairs or of an index.
        rows, targets: the texts of the two lists.
    """
    form = link_form(rubric.shown())
    choices = [(str(number), text) for number, text in enumerate(targets, int(not form.of_turns))]
    if form.one_to_one or form.target.optional:
        choices.append((NONE, NONE))
    for place, row in enumerate(rows):
        name = code_field(rubric.name, place)
        yield AskedField(name, row, tuple(choices), said=True, quoted=form.quoted)
        for part in form.parts:
            labels = tuple((label.label, label.descriptor) for label in part.labels) or ((YES, YES), (NO, NO))
            yield AskedField(f"{name}__{part.name}", part.descriptor, labels, of=name if form.one_to_one else None)
