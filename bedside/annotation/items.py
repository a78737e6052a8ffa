"""What raters are shown: the tasks of a labelling page, made of a plan and its run.

A task is ``{"data": {…}}`` with

- ``external_id``: the item's opaque id;
- ``title``: where the item stands among the rater's, such as ``Conversation 3 of 12``;
- ``dialogue``: the turns shown, ``[{"speaker": "Clinician", "text": …}, …]``, in order, with the role of who speaks in
  the words of the plan's language; of a turn that is rated on its own, the turns up to it;
- ``dialogue_second``: in pairs mode, the turns of the conversation shown beside it, as second;
- ``criterion_<rubric>_<n>``: where points are given, the n-th criterion (from 0) of the item's case, without what it is
  worth, and where links are made or a list is audited, the n-th entry; up to the most that any item of the plan has;
- ``target_<rubric>_<n>``: where links are made, the n-th entry (from 0) that they may lead to;
- ``input_<name>``: text of an input that one of the plan's rubrics needs (background, goal, …);
- ``rated_turn``: where single turns are rated, the number (from 0) of the rated turn, the last one shown;
- ``clinician_turns``, ``patient_turns``: in codes mode, the turns to be coded, ``[{"turn": "2", "speaker": …,
  "text": …}, …]`` with the number (from 0) as the page counts them; only of roles that have a code;
- ``said_<rubric>``: in adjudicate mode, what the unit's raters said, as one text;
- ``judge_<rubric>``, ``judge_reason_<rubric>``: in audit mode, the judge's score, as a choice of the page, and its
  reason; and ``judge_mark_<rubric>_<n>``: what stands beside the n-th choice (from 0), a mark where it is the judge's.

In codes mode, ``{"predictions": […]}`` beside it marks each turn to be coded, so that what a rater chooses belongs to a
turn.

Nothing else: no system, case, factor, file name or id of a transcript, and speakers go by their roles, because names of
speakers can say who wrote a conversation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Literal

import orjson
import polars as pl

from bedside.analysis.fresh_view import linked_entries
from bedside.annotation.annotation_plan import (
    AnnotationPlan,
    KnownItem,
    LinkedLists,
    PlanItem,
    TrainingItem,
    point_fields,
)
from bedside.annotation.answers import mark_of, reason_with_evidence, said_by_raters
from bedside.annotation.fields import (
    CASE_KINDS,
    LABEL_SEPARATOR,
    MARKED_MODES,
    MET,
    NO,
    NONE,
    NOT_MET,
    NOTHING,
    YES,
    AskedField,
    choices,
    evidence_field,
    label_and_text,
    link_fields,
    list_fields,
    one_answer,
    reason_field,
)
from bedside.annotation.page_words import PageWords, page_words, words_of
from bedside.core.errors import DataError, InputError
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.judges.rubrics.composites import PointCriterion
from bedside.judges.rubrics.rubric import LinkForm, Rubric, link_form, plain_name
from bedside.ratings.names import TRANSCRIPT, is_pair, is_turn, second_id, turn_index
from bedside.ratings.run import Run
from bedside.ratings.table import parse_transcript
from bedside.transcripts.transcript import Transcript

#: Largest task in bytes of JSON, and turns of one: with more, a browser's tab can take a minute to open or give up.
MAX_BYTES = 2_000_000
MAX_TURNS = 2_000
#: The control that holds the marks of turns to be coded, and what made them.
CODED_TURNS, TURN_MARKS = "coded_turn", "turns"
#: The turns that an item shows, among the positions of its turns; the others are by role.
SHOWN = "shown"
#: Characters of a turn beside its number, where it is chosen.
_TURN_WORDS = 70
#: Assistants by the names that they give themselves, and words before such a name where it may be a person's as well.
_ASSISTANTS = ("chatgpt", "openai", "anthropic", "deepseek", "qwen", "claude", "gemini", "llama", "mistral", "grok")
_INTRODUCED = r"(?:i[’']?m|i am|this is|my name is|as|called|我是|我叫|ich bin|je suis|soy)[\s,]*"
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def clean(text: str) -> str:
    """A text without characters that databases and spreadsheets refuse."""
    return _UNWRITABLE.sub("\ufffd", text)


def dialogue(words: PageWords, transcript: Transcript, unit: str = TRANSCRIPT) -> list[dict[str, str]]:
    """The turns shown for a unit of a transcript, with what the words call their speakers."""
    shown, roles = transcript.turns[: turn_index(unit) + 1] if is_turn(unit) else transcript.turns, words.roles
    return [
        {"speaker": roles[turn.role], "text": clean(turn.text).strip() or words.say("nothing_said")} for turn in shown
    ]


def inputs_of(rubrics: Sequence[Rubric], transcript: Transcript, unit: str = TRANSCRIPT) -> dict[str, str]:
    """The inputs that rubrics need of a transcript's reference, as texts, and what they show of its provenance."""
    names = _shown_references(rubrics)
    texts = {name: _words(transcript.known(name)) for name in names}
    for rubric in (rubric for rubric in rubrics if rubric.kind in LINKED_KINDS):
        pair = rubric.answer[0].items if rubric.kind == "pairs" else ()
        first = next((part.of for part in pair if part.type == "index"), rubric.each)
        if first is not None and transcript.known(first) in ([], ()):  # known, and nothing of it can be linked
            texts[first] = rubric.words.say("prompt", "none")
    turn = turn_index(unit) if is_turn(unit) else None
    for rubric in rubrics:
        for kind in rubric.shows:
            said = rubric.provenance(transcript, kind, turn)
            texts[kind] = "\n\n".join(map(clean, said)) or rubric.words.say("prompt", "none")
    return texts


def _shown_references(rubrics: Sequence[Rubric]) -> list[str]:
    """What rubrics need of a transcript's reference, but for criteria, which say what they are worth."""
    asked = {rubric.points.key for rubric in rubrics if rubric.points is not None}
    return [
        name for name in dict.fromkeys(name for rubric in rubrics for name in rubric.references) if name not in asked
    ]


def point_criteria(
    run: Run, rubrics: Sequence[Rubric], items: Sequence[PlanItem | KnownItem]
) -> dict[str, dict[str, tuple[PointCriterion, ...]]]:
    """Item → rubric of points → the criteria of its case; empty where no points are given.

    Raises:
        RunError: the run keeps no text.
    """
    places = {rubric.name: rubric.points for rubric in rubrics if rubric.points is not None}
    if not places:
        return {}
    return {
        name: {rubric: points.of(transcript.known(points.key)) for rubric, points in places.items()}
        for name, transcript in _transcripts(run, items).items()
    }


def _transcripts(run: Run, items: Sequence[PlanItem | KnownItem]) -> dict[str, Transcript]:
    """Item → what is shown, be it the run's or a known item's own."""
    own = {item.id: item.content for item in items if isinstance(item, KnownItem) and item.content is not None}
    of_run = run.transcripts_named({item.transcript for item in items if item.id not in own})
    named = {transcript.id: transcript for transcript in of_run}
    return {item.id: parse_transcript(own[item.id]) if item.id in own else named[item.transcript] for item in items}


def case_fields(rubric: Rubric, transcript: Transcript) -> tuple[AskedField, ...]:
    """What a rubric of :data:`~bedside.annotation.fields.CASE_KINDS` asks of a transcript that can be shown by it."""
    if rubric.points is not None:
        return tuple(point_fields(rubric, rubric.points.of(transcript.known(rubric.points.key))))
    lists = _lists(rubric, transcript)
    return tuple(link_fields(rubric, lists.rows, lists.targets))


def linked_lists(
    run: Run, rubrics: Sequence[Rubric], items: Sequence[PlanItem | KnownItem], judge: str | None = None
) -> dict[str, dict[str, LinkedLists]]:
    """Item → rubric of pairs or of an index → the lists of its case, or rubric of a list → what the judge listed; empty
    where no links are made and no list is audited.

    Raises:
        DataError: the judge has no list of an item.
        RunError: the run keeps no text.
    """
    linking = [rubric for rubric in rubrics if rubric.kind in LINKED_KINDS]
    if judge is not None and rubrics[0].kind == "list":
        return _judges_lists(run, rubrics[0], items, judge)
    if not linking:
        return {}
    return {
        name: {rubric.name: _lists(rubric, transcript) for rubric in linking}
        for name, transcript in _transcripts(run, items).items()
    }


def _judges_lists(
    run: Run, rubric: Rubric, items: Sequence[PlanItem | KnownItem], judge: str
) -> dict[str, dict[str, LinkedLists]]:
    """What a judge listed in its first pass."""
    rated = run.ratings.filter(pl.col("error").is_null(), rater=judge, metric=rubric.name).sort("replicate").reverse()
    reasons = {tuple(unit): said for *unit, said in rated.select("transcript_id", "unit", "reason").iter_rows()}
    lists = {}
    for item in items:
        try:
            entries = orjson.loads(reasons[item.transcript, item.unit])[rubric.answer[0].name]
            labels, texts = zip(*label_and_text(rubric, entries), strict=True) if entries else ((), ())
        except (TypeError, ValueError, LookupError) as error:
            listed = (item.transcript, item.unit) in reasons
            verb = "has no list that can be read of transcript" if listed else "has not rated transcript"
            raise _not_rated(run, judge, item, rubric, verb) from error
        lists[item.id] = {rubric.name: LinkedLists(rows=texts, targets=labels)}
    return lists


def _not_rated(
    run: Run, judge: str, item: PlanItem | KnownItem, rubric: Rubric, verb: str = "has not rated transcript"
) -> DataError:
    what = f"{judge} {verb} {item.transcript!r} on {rubric.name}"
    return DataError(what, where=str(run.path), todo="have it judged, or make another plan")


def _lists(rubric: Rubric, transcript: Transcript) -> LinkedLists:
    """The lists of a rubric of pairs or of an index.

    Raises:
        ValueError: the transcript has none.
    """
    form = link_form(rubric)
    rows = [rubric.shown().definition] if form.rows is None else _entries(transcript, form.rows, fewest=0)
    if form.of_turns:
        words = page_words(rubric.language)
        turns = [f"{turn['speaker']}: {turn['text']}" for turn in dialogue(words, transcript)]
        return LinkedLists(rows=tuple(rows), targets=tuple(" ".join(turn[:_TURN_WORDS].split()) for turn in turns))
    return LinkedLists(rows=tuple(rows), targets=tuple(_entries(transcript, str(form.target.of))))


def _entries(transcript: Transcript, name: str, fewest: int = 1) -> list[str]:
    """The entries of a list of the reference, as texts."""
    entries = transcript.known(name)
    if not isinstance(entries, list | tuple) or len(entries) < fewest or not all(map(_words, entries)):
        raise ValueError(f"{plain_name(name)} is not a list of texts")
    return [_words(entry) for entry in entries]


def input_titles(rubrics: Sequence[Rubric]) -> dict[str, str]:
    """What stands above each input that rubrics need of a transcript's reference, or show of its provenance."""
    titles: dict[str, str] = {}
    references = _shown_references(rubrics)
    for rubric in rubrics:
        for needed in rubric.shown_inputs:
            if needed.name in (*references, *rubric.shows):
                titles.setdefault(needed.name, needed.called[0].upper() + needed.called[1:])
    return titles


def inputs_of_two(words: PageWords, rubrics: Sequence[Rubric], first: Transcript, second: Transcript) -> dict[str, str]:
    """The inputs that rubrics need of two transcripts: once where both have the same, as of one case."""
    texts, others = inputs_of(rubrics, first), inputs_of(rubrics, second)
    both = {
        name: [
            words.say("said_of", what=words.say(f"{place}_conversation"), text=said)
            for place, said in (("first", text), ("second", others[name]))
        ]
        for name, text in texts.items()
        if text != others[name]
    }
    return {name: "\n\n".join(both.get(name, [text])) for name, text in texts.items()}


def _words(value: object) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(f"{number}. {_words(entry)}" for number, entry in enumerate(value, 1))
    if isinstance(value, Mapping):
        return "; ".join(f"{clean(str(key))}: {_words(entry)}" for key, entry in value.items())
    return "" if value is None else clean(str(value)).strip()


def problem(rubrics: Sequence[Rubric], transcript: Transcript) -> str | None:
    """Why a transcript can't be shown to raters; None if it can."""
    if not transcript.turns:
        return "no turns"
    for name, text in inputs_of(rubrics, transcript).items():
        if not text:
            return f"no {name.replace('_', ' ')}"
    roles = {turn.role for turn in transcript.turns}
    for rubric in rubrics:
        if rubric.points is not None:
            try:
                rubric.points.of(transcript.known(rubric.points.key))
            except ValueError as error:
                return f"no criteria ({error})"
        if rubric.kind in LINKED_KINDS:
            try:
                _lists(rubric, transcript)
            except ValueError as error:
                return f"no lists ({error})"
        if rubric.unit == "turn" and rubric.role is not None and rubric.role not in roles:
            return f"no turn of the {rubric.role}"
    return _length_problem(transcript)


def answerable_rubrics(run: Run, rubrics: Sequence[Rubric]) -> tuple[list[Rubric], dict[str, str]]:
    """The rubrics by which people can rate the same transcripts; and of each other one, by name, why it is left out.

    Where a rubric needs a reference that no transcript has, or one that those of another rubric lack, the rubric goes
    that the fewest transcripts can be rated by. Where none is left, nothing is left out.

    Raises:
        RunError: the run keeps no text.
    """
    problems: dict[str, list[str | None]] = {rubric.name: [] for rubric in rubrics}
    for transcript in run.transcripts():
        for rubric in rubrics:
            problems[rubric.name].append(problem((rubric,), transcript))
    kept = list(rubrics)
    left_out: dict[str, str] = {}
    while kept and all(map(any, zip(*(problems[rubric.name] for rubric in kept), strict=True))):
        worst = max(reversed(kept), key=lambda rubric: sum(map(bool, problems[rubric.name])))
        every = problems[worst.name]
        reasons = Counter(filter(None, every))
        left_out[worst.name] = f"{', '.join(reasons)} ({reasons.total():,} of {len(every):,} transcripts)"
        kept.remove(worst)
    return (kept, left_out) if kept else (list(rubrics), {})


def _length_problem(*transcripts: Transcript) -> str | None:
    turns = sum(len(transcript.turns) for transcript in transcripts)
    size = sum(len(transcript.to_json()) for transcript in transcripts)
    if turns > MAX_TURNS or size > MAX_BYTES:
        return f"too long for a page (over {MAX_TURNS:,} turns or {MAX_BYTES // 1_000_000} MB)"
    return None


def pair_problem(rubrics: Sequence[Rubric], first: Transcript, second: Transcript) -> str | None:
    """Why two transcripts can't be shown to raters side by side; None if they can."""
    return problem(rubrics, first) or problem(rubrics, second) or _length_problem(first, second)


def coded_turns(rubrics: Sequence[Rubric], transcript: Transcript) -> dict[str, list[int]]:
    """Role → indices (from 0) of the turns to be coded, for the roles that have a code."""
    roles = dict.fromkeys(rubric.role for rubric in rubrics if rubric.role is not None)
    return {role: [turn.index for turn in transcript.of(role)] for role in roles}


def shown_transcripts(plan: AnnotationPlan, run: Run) -> dict[str, Transcript]:
    """The transcript of each of the plan's items, by the item's id.

    Raises:
        RunError: the run keeps no text.
    """
    ids = {item.transcript for item in plan.everything}
    transcripts = {transcript.id: transcript for transcript in run.transcripts() if transcript.id in ids}
    shown = {item.id: transcripts[item.transcript] for item in plan.items}
    for item in plan.known:
        content = item.content
        shown[item.id] = transcripts[item.transcript] if content is None else parse_transcript(content)
    return shown


def named_systems(plan: AnnotationPlan, run: Run) -> dict[str, tuple[str, ...]]:
    """System or assistant → the turns whose words say its name, as ``transcript, turn 3`` (from 0): first what a
    clinician of that system says, then what other clinicians say.

     A name of letters alone may be an ordinary word or a person's, and counts where somebody
    introduces themselves.

    Raises:
        RunError: the run keeps no text.
    """
    systems = run.index["system"].drop_nulls().unique().sort().to_list()
    names = dict.fromkeys([*(str(system).rsplit("/")[-1].casefold() for system in systems), *_ASSISTANTS])
    written = {
        name: re.compile(rf"{_INTRODUCED if name.isalpha() else ''}(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])")
        for name in names
        if len(name) > 1
    }
    shown = (*shown_transcripts(plan, run).values(), *second_transcripts(plan, run).values())
    places: dict[str, list[tuple[int, str]]] = {}
    for transcript in {transcript.id: transcript for transcript in shown}.values():
        own = str(transcript.system).rsplit("/")[-1].casefold()
        for turn in transcript.turns:
            said = turn.text.casefold()
            for name, pattern in written.items():
                if name in said and pattern.search(said):
                    later = 2 if turn.role != "clinician" else int(name != own)
                    places.setdefault(name, []).append((later, f"{transcript.id}, turn {turn.index}"))
    return {name: tuple(place for _, place in sorted(turns, key=itemgetter(0))) for name, turns in places.items()}


def second_transcripts(plan: AnnotationPlan, run: Run) -> dict[str, Transcript]:
    """The transcript that is shown second, by the item's id; empty where single transcripts are shown.

    Raises:
        RunError: the run keeps no text.
    """
    seconds = {item.id: second_id(item.unit) for item in plan.items if is_pair(item.unit)}
    if not seconds:
        return {}
    by_name = {transcript.id: transcript for transcript in run.transcripts_named({*seconds.values()})}
    return {item: by_name[name] for item, name in seconds.items()}


def label_studio_tasks(plan: AnnotationPlan, run: Run, rater: str | None = None) -> list[dict[str, Any]]:
    """The tasks of a labelling page.

    Args:
        plan: the plan.
        run: its run.
        rater: whose tasks, in the rater's order; None for one page that raters share: the training set, then all items.

    Raises:
        RunError: the run keeps no text.
        DataError: in audit mode, the judge has not rated an item.
        InputError: a transcript is too long for a page, or can't be shown by the plan's rubrics.
    """
    transcripts, seconds = shown_transcripts(plan, run), second_transcripts(plan, run)
    scores, judged = judge_scores(plan, run) if plan.judge is not None else {}, judge_fields(plan, run)
    settled = {name for names in plan.settled.values() for name in names}
    every = [item.id for item in plan.everything if item.id not in settled]
    order = plan.assignment[rater] if rater is not None else every
    titles = _titles(plan, order)
    tasks: list[dict[str, Any]] = []
    for name in order:
        item, transcript = plan.by_id[name], transcripts[name]
        data = {"title": titles[name], **dict(_data(plan, item, transcript, seconds.get(name), scores, judged))}
        tasks.append({"data": data})
        if plan.mode == "codes":
            marks = list(turn_marks(words_of(plan), plan.questions, transcript))
            tasks[-1]["predictions"] = [{"model_version": TURN_MARKS, "result": marks}]
    return tasks


def _titles(plan: AnnotationPlan, order: Sequence[str]) -> dict[str, str]:
    """Item → where it stands among those that are shown."""
    training = [name for name in order if isinstance(plan.by_id[name], TrainingItem)]
    rated = [name for name in order if not isinstance(plan.by_id[name], TrainingItem)]
    kind, words = item_kind(plan), words_of(plan)
    return {
        name: words.say(f"title_{key}", number=number, all=len(names))
        for key, names in (("training", training), (kind, rated))
        for number, name in enumerate(names, 1)
    }


def item_kind(plan: AnnotationPlan) -> Literal["pair", "conversation", "item"]:
    """What the plan's items are called."""
    if plan.mode == "pairs":
        return "pair"
    return "conversation" if plan.mode == "codes" or plan.questions[0].unit == "transcript" else "item"


def turn_marks(words: PageWords, rubrics: Sequence[Rubric], transcript: Transcript) -> Iterator[dict[str, Any]]:
    """Each turn that is to be coded, as a marked region of Label Studio's, in the order spoken."""
    turns = dialogue(words, transcript)
    coded = {index for indices in coded_turns(rubrics, transcript).values() for index in indices}
    for index in sorted(coded):
        text = turns[index]["text"]
        yield {
            "id": f"turn-{index}", "from_name": CODED_TURNS, "to_name": "chat", "type": "paragraphlabels",
            "value": {
                # Offsets are in the units of the browser's texts.
                "start": str(index), "end": str(index), "startOffset": 0,
                "endOffset": len(text.encode("utf-16-le")) // 2, "text": text,
                "paragraphlabels": [turns[index]["speaker"]],
            },
        }  # fmt: skip


def shown_by_item(plan: AnnotationPlan, run: Run) -> dict[str, dict[str, Any]]:
    """What the task of each item shows, by the item's id, as :func:`lasting_content` of it.

    Raises:
        RunError, DataError, InputError: as :func:`label_studio_tasks`.
    """
    tasks = label_studio_tasks(plan, run)
    return {task["data"]["external_id"]: lasting_content(task["data"]) for task in tasks}


def lasting_content(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a task shows but what may change: its place among the rater's, and the judge's scores and reasons."""
    return {name: value for name, value in data.items() if name != "title" and not name.startswith("judge_")}


def _data(
    plan: AnnotationPlan,
    item: PlanItem | KnownItem,
    transcript: Transcript,
    second: Transcript | None,
    scores: Mapping[tuple[str, str, str], tuple[str, str]],
    judged: Mapping[tuple[str, str], tuple[float | None, dict[str, str]]],
) -> Iterator[tuple[str, Any]]:
    rubrics, words = plan.questions, words_of(plan)
    if second is None:
        reason, inputs = problem(rubrics, transcript), inputs_of(rubrics, transcript, item.unit)
    else:
        reason = pair_problem(rubrics, transcript, second)
        inputs = inputs_of_two(words, rubrics, transcript, second)
    if reason is not None:
        raise InputError(
            f"transcript {transcript.id!r} can't be shown: {reason}",
            where="the plan",
            todo="make another plan with bedside sample",
        )
    yield "external_id", item.id
    yield "dialogue", dialogue(words, transcript, item.unit)
    if second is not None:
        yield "dialogue_second", dialogue(words, second)
    for name, text in inputs.items():
        yield f"input_{name}", text
    if is_turn(item.unit):
        yield "rated_turn", str(turn_index(item.unit))
    for name in most_rows(plan):
        lists = plan.lists.get(item.id, {}).get(name)
        criteria = plan.criteria.get(item.id, {}).get(name, ())
        rows = [criterion.criterion for criterion in criteria] if lists is None else lists.rows
        for key, texts, most in (
            ("criterion", rows, most_rows(plan)[name]),
            ("target", () if lists is None else lists.targets, most_targets(plan).get(name, 0)),
        )[: 1 if plan.by_name[name].kind == "list" else 2]:
            filled = [*map(clean, texts), *[words.say("no_criterion")] * (most - len(texts))]
            yield from ((f"{key}_{name}_{number}", text) for number, text in enumerate(filled))
    if plan.mode == "codes":
        for role, indices in coded_turns(rubrics, transcript).items():
            turns = dialogue(words, transcript)
            yield f"{role}_turns", [{"turn": str(index), **turns[index]} for index in indices]
    if plan.mode == "adjudicate":
        yield from ((name, clean(said)) for name, said in said_by_raters(plan, item.id, shown_fields(plan)))
    if plan.mode == "audit":
        for rubric in rubrics:
            if rubric.kind in CASE_KINDS:
                _, said = judged[item.id, rubric.name]
                for asked in (one for one in most_asked(plan, rubric) if one.name != rubric.name):
                    yield f"judge_{asked.name}", said.get(asked.name, "")
                    if asked.said and rubric.kind != "list":
                        lack = words.say("no_reason" if asked.name in said else "no_criterion")
                        marks = [said[name] for name in (evidence_field(asked.name),) if name in said]
                        why = reason_with_evidence(said.get(reason_field(asked.name), ""), marks)
                        yield f"judge_reason_{asked.name}", why or lack
                continue
            score, reason = scores[item.transcript, item.unit, rubric.name]
            yield f"judge_{rubric.name}", score
            yield f"judge_reason_{rubric.name}", reason
            for number, (choice, _) in enumerate(choices(rubric)):
                marked = choice in score.split(f"{LABEL_SEPARATOR} ")
                yield f"judge_mark_{rubric.name}_{number}", words.say("judge_mark") if marked else ""


def most_rows(plan: AnnotationPlan) -> dict[str, int]:
    """Rubric of points, pairs or an index → the most criteria or entries that any item has."""
    return _most([*plan.criteria.values(), *_of_lists(plan, "rows")])


def most_targets(plan: AnnotationPlan) -> dict[str, int]:
    """Rubric of pairs or an index → the most that an entry of any item may be linked to."""
    return _most(_of_lists(plan, "targets"))


def most_asked(plan: AnnotationPlan, rubric: Rubric) -> Sequence[AskedField]:
    """What a rubric of points, pairs or an index asks at most of an item, without the texts of any entry."""
    if rubric.kind == "points":
        return max((plan.every_of(item.id, rubric) for item in plan.everything), key=len)
    if rubric.kind == "list":
        return list(list_fields(rubric, [""] * most_rows(plan).get(rubric.name, 0)))
    return list(
        link_fields(rubric, [""] * most_rows(plan).get(rubric.name, 0), [""] * most_targets(plan).get(rubric.name, 0))
    )


def shown_fields(plan: AnnotationPlan) -> Iterator[tuple[str, Rubric]]:
    """Each field beside which it is said what raters said, with its rubric."""
    for rubric in plan.questions:
        every = [asked.name for asked in most_asked(plan, rubric) if asked.said] if rubric.kind in CASE_KINDS else []
        yield from ((name, rubric) for name in every or [rubric.name])


def _of_lists(plan: AnnotationPlan, name: str) -> list[dict[str, tuple[str, ...]]]:
    return [{rubric: getattr(own, name) for rubric, own in lists.items()} for lists in plan.lists.values()]


def _most(of_items: Sequence[Mapping[str, Sequence[object]]]) -> dict[str, int]:
    most: Counter[str] = Counter()
    for by_rubric in of_items:
        most |= Counter({rubric: len(entries) for rubric, entries in by_rubric.items()})
    return dict(most)


def judge_scores(plan: AnnotationPlan, run: Run) -> dict[tuple[str, str, str], tuple[str, str]]:
    """What the plan's judge said by levels, labels and sets: (transcript, unit, rubric) → the choice (of a set
    :func:`~bedside.annotation.fields.one_answer`) and the reason, of its first pass.

    Raises:
        DataError: it has not rated one of the items.
    """
    table, no_reason = run.ratings, words_of(plan).say("no_reason")
    rubrics = [rubric for rubric in plan.questions if rubric.kind not in CASE_KINDS]
    names = [rubric.name for rubric in rubrics]
    rows = table.filter(pl.col("rater") == plan.judge, pl.col("metric").is_in(names), pl.col("error").is_null()).sort(
        "replicate", maintain_order=True
    )
    scores: dict[tuple[str, str, str], tuple[str, str]] = {}
    columns = ("transcript_id", "unit", "metric", "value", "label", "reason")
    for transcript, unit, metric, value, label, reason in rows.select(columns).iter_rows():
        choice, reason = _judges_choice(plan.by_name[metric], value, label, reason or "")
        scores.setdefault((transcript, unit, metric), (choice, clean(reason).strip() or no_reason))
    for item in plan.items:
        for rubric in rubrics:
            score = scores.get((item.transcript, item.unit, rubric.name))
            if score is None:
                raise _not_rated(run, str(plan.judge), item, rubric)
            allowed = {choice for choice, _ in choices(rubric)}
            if not allowed.issuperset(score[0].split(f"{LABEL_SEPARATOR} ") if rubric.kind == "set" else score[:1]):
                raise DataError(
                    f"{plan.judge} gave {score[0]!r} on {rubric.name}, which is not on the rubric's scale",
                    where=str(run.path),
                    todo="have it judged again, or make another plan",
                )
    return scores


def _judges_choice(rubric: Rubric, value: float | None, label: str | None, reason: str) -> tuple[str, str]:
    """What is chosen where a judge is audited, and why. Of a vector's number it is the nearest step."""
    if rubric.kind == "set":
        return one_answer(set_labels(rubric, value, reason) or [""]), reason
    if value is None:
        return str(label), reason
    step = min((float(level.value) for level in rubric.scale), key=lambda step: abs(step - value))
    between = "." in rubric.name and step != value
    return (f"{step:g}", f"{value:g}. {reason}") if between else (f"{value:g}", reason)


def set_labels(rubric: Rubric, value: float | None, reason: str) -> list[str] | None:
    """The labels that a rating by a set names, or :data:`~bedside.annotation.fields.NONE`; None where it names none
    of its number, as a number of a file does."""
    if value == 0:
        return [NONE]
    named, rest = list[str](), reason
    while own := max((one.label for one in rubric.labels if rest.startswith(one.label)), key=len, default=""):
        named.append(own)
        rest = rest.removeprefix(own).removeprefix(", ")
    return named if len(named) == value else None


# -- What ratings by points and links say of each criterion or entry -----------------------------------


def rated_fields(
    rubric: Rubric, asked: Sequence[AskedField], row: Mapping[str, Any], transcript: Transcript
) -> dict[str, str] | None:
    """Field → choice; and for what is said of an entry and the words that show its link, field → text.

    Args:
        rubric: of :data:`~bedside.annotation.fields.CASE_KINDS`.
        asked: all that it asks of the transcript.
        row: ``value``, ``error`` and ``reason`` of its rating, a person's or a judge's.
        transcript: where words are found again.

    Returns:
        None where the rating is missing, or says nothing of single entries, as a number of a file does.
    """
    names = [entry.name for entry in asked if entry.said]
    form = None if rubric.kind == "points" else link_form(rubric)
    reason = row["reason"] or ""
    if form is not None and form.rows is None:
        nothing = str(row["error"] or "").endswith(f"found no {form.target.name}")
        if row["value"] is None and not nothing:
            return None
        number = None if row["value"] is None else int(row["value"])
        return {names[0]: _choice(form, number), reason_field(names[0]): reason}
    if row["value"] is None:
        return None
    try:
        said = orjson.loads(reason)
        if form is not None:
            return _of_links(form, names, said, transcript)
        met = dict(zip(names, said, strict=True))
        return {name: MET if entry["met"] else NOT_MET for name, entry in met.items()} | {
            reason_field(name): entry["reason"] for name, entry in met.items()
        }
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def judge_fields(plan: AnnotationPlan, run: Run) -> dict[tuple[str, str], tuple[float | None, dict[str, str]]]:
    """(item, rubric of points, links or a list) → what is shown of the plan's judge: rating, and each field.

    Raises:
        DataError: it has not rated one of the items, or says nothing of single entries.
    """
    rubrics = {rubric.name: rubric for rubric in plan.questions if rubric.kind in CASE_KINDS}
    if plan.judge is None or not rubrics:
        return {}
    of_judge = run.ratings.filter(pl.col("rater") == plan.judge, pl.col("metric").is_in([*rubrics])).sort("replicate")
    rows = {(row["transcript_id"], row["metric"]): row for row in of_judge.reverse().iter_rows(named=True)}
    transcripts = {one.id: one for one in run.transcripts_named({item.transcript for item in plan.items})}
    said: dict[tuple[str, str], tuple[float | None, dict[str, str]]] = {}
    for item in plan.items:
        for name, rubric in rubrics.items():
            row = rows.get((item.transcript, name), {"value": None, "error": None, "reason": None})
            every = plan.every_of(item.id, rubric)
            if rubric.kind == "list":
                labels = plan.lists[item.id][name].targets
                own = zip([asked.name for asked in every], (*labels, NOTHING), strict=True)
                said[item.id, name] = float(len(labels)), dict(own)
                continue
            fields = rated_fields(rubric, every, row, transcripts[item.transcript])
            if fields is None:
                raise _not_rated(run, plan.judge, item, rubric)
            shown = float(sum(asked.said and fields[asked.name] != NONE for asked in every))
            said[item.id, name] = shown if rubric.kind == "pairs" else row["value"], fields
    return said


def _choice(form: LinkForm, number: int | None) -> str:
    return NONE if number is None else str(number + (not form.of_turns))


def _of_links(form: LinkForm, names: Sequence[str], said: Any, transcript: Transcript) -> dict[str, str]:
    fields = {}
    links = linked_entries(form, said, len(names))
    for entry, name in enumerate(names):
        target, own = links.get(entry, (None, {}))
        fields[name] = _choice(form, target)
        for part in form.parts if own else ():
            fields[f"{name}__{part.name}"] = own[part.name] if part.labels else YES if own[part.name] else NO
        if own.get("reason"):
            fields[reason_field(name)] = own["reason"]
        for part in form.texts if target is not None else ():
            if part.type == "quote":
                # Of several turns with these words the first is named.
                words = " ".join(clean(own.get(part.name) or "").split())
                if not words:
                    continue  # of known links
                at = next((turn.index for turn in transcript.of(part.of) if words in " ".join(turn.text.split())), None)  # type: ignore[arg-type]
                fields |= {} if at is None else {evidence_field(name): mark_of(at, words)}
    return fields


# -- The turns that answers can name --------------------------------------------------------------------


def coded_positions(plan: AnnotationPlan, run: Run) -> dict[str, dict[str, Sequence[int]]]:
    """Item → the indices of turns that answers can name.

    In codes mode those that are coded, by role; where turns can be marked as evidence those that are shown, under
    :data:`SHOWN`; nothing in other modes.
    """
    if plan.mode in MARKED_MODES:
        return _shown_positions(plan, run)
    if plan.mode != "codes":
        return {}
    rubrics = plan.questions
    items_by_transcript: dict[str, list[str]] = {}
    for item in plan.everything:
        if isinstance(item, KnownItem) and item.content is not None:
            continue
        items_by_transcript.setdefault(item.transcript, []).append(item.id)
    positions: dict[str, dict[str, Sequence[int]]] = {
        item: dict(coded_turns(rubrics, transcript))
        for transcript in run.transcripts()
        for item in items_by_transcript.get(transcript.id, ())
    }
    for item in plan.known:
        if item.content is not None:
            positions[item.id] = dict(coded_turns(rubrics, parse_transcript(item.content)))
    return positions


def _shown_positions(plan: AnnotationPlan, run: Run) -> dict[str, dict[str, Sequence[int]]]:
    """Item → the turns that it shows."""
    counts = dict(run.index.select("id", "turns").iter_rows())
    positions: dict[str, dict[str, Sequence[int]]] = {}
    for item in plan.everything:
        content = item.content if isinstance(item, KnownItem) else None
        count = counts[item.transcript] if content is None else len(parse_transcript(content).turns)
        positions[item.id] = {SHOWN: range(turn_index(item.unit) + 1 if is_turn(item.unit) else count)}
    return positions
