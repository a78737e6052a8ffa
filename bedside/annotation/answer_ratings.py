"""The ratings that answers give.

- rate: ``<rubric>``, a value or label; of a set, the number of labels, which begin the reason. No answer, and "no
  answer can be given", are missing ratings.
- rate, by sheets: their mean, missing where a criterion is; by flows: the answers on the walk, which ends at the first
  question without one, and the result of each dimension; by points: the share of what could be reached, in all and by
  tag, missing where a criterion has no answer; by pairs and indices, what a judge's links come to, missing where an
  entry has no answer or two are linked to the same; and what follows from links by a protocol, such as precision.
- audit: ``<rubric>.agrees``, a label; and ``<rubric>.audited``, the rater's own level or label, or the judge's where
  the rater agrees; beside it, the judge's as it was shown. They are metrics of their own because somebody who has seen
  the judge's score is no independent rater.
  Of a list, how many entries it has as the rater corrects it, with the list as JSON in the reason: what the judge said
  of each that is kept, and what is removed.
- findings: ``<rubric>``, the number of entries, with the list as JSON in the reason; and ``<rubric>.<label>`` for each
  label, such as a category of concerns, the number of its entries.
- codes: ``<code>``, a label, of each turn of the code's role; turns without are missing.
- pairs: ``<rubric>.preference``, a label and the share of the win that the transcript shown first has
  (:mod:`bedside.ratings.rubric_metrics`); shown again the other way round, two transcripts are another unit.
- adjudicate: ``<rubric>.adjudicated``, the final label of a unit on which its raters differ
  (:mod:`bedside.ratings.rubric_metrics`); by rubrics on which they don't, nothing.

The rater is the person, as the run spells the name (:func:`plan_people`); the reason what they say on the rubric and
the turns they mark for it (on a list, their notes); the round the plan's; what a rater is shown a second time is a
second pass. What a rater skipped is missing. The training set gives no ratings.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import orjson
import polars as pl

from bedside.annotation.annotation_plan import AnnotationPlan, KnownItem, PlanItem, round_of
from bedside.annotation.answers import RaterAnswer, in_order, marked_words, reason_with_evidence
from bedside.annotation.fields import (
    LABEL_SEPARATOR,
    MET,
    NONE,
    NOT_APPLICABLE,
    NOTHING,
    YES,
    agree_field,
    code_field,
    entry_fields,
    entry_part,
    evidence_field,
    linked_number,
    one_answer,
    reason_field,
)
from bedside.annotation.items import clean, judge_fields, judge_scores
from bedside.judges.questions import JudgeAnswer
from bedside.judges.rubric_ratings import (
    NOT_REACHED,
    OF_CRITERIA,
    UNANSWERED,
    Unpacked,
    points_ratings,
    ratings_by_parts,
    ratings_of,
    walk_by,
)
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.judges.rubrics.composites import slug
from bedside.judges.rubrics.rubric import Rubric, link_form
from bedside.ratings.names import human_rater, person_name, rated_by_humans, unit_name
from bedside.ratings.rubric_metrics import (
    AGREE,
    DISAGREE,
    OF_JUDGE,
    REMOVED,
    SHARE_SCALE,
    SHARES,
    adjudicated_metric,
    agreement_metric,
    audited_metric,
    preference_metric,
)
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale
from bedside.ratings.spellings import folded
from bedside.ratings.table import RatingRow, frame_of
from bedside.scoring.pipeline import Pipeline, pipelines_for
from bedside.transcripts.transcript import Transcript

SKIPPED, EXCLUDED = "skipped by the rater", "the rater was excluded"
LINKS_ANSWERED, LINKED_TWICE, NO_WORDS = "entries are answered", "entries are linked to one", "show the link"
UNCODED = "not coded"
#: What is said of ratings that are missing because their answer is open.
OPEN = (UNANSWERED, OF_CRITERIA, LINKS_ANSWERED, LINKED_TWICE, NO_WORDS)
NO_ANSWER = "the rater says that no answer can be given"


class AnswerRating(NamedTuple):
    """A rating that an answer gives.

    Attributes:
        unit: what was rated.
        metric: by what.
        value, label: the rating; without either it is missing.
        reason: why, with the turns that show it; or what they listed.
        error: why it is missing.
    """

    unit: str
    metric: str
    value: float | None
    label: str | None
    reason: str | None
    error: str | None


def entry_metrics(rubric: Rubric) -> dict[str, str]:
    """Label → metric that counts its entries, of a list rubric."""
    label_part, _ = entry_part(rubric)
    return {
        name: f"{rubric.name}.{re.sub(r'[^a-z0-9]+', '_', name.casefold()).strip('_')}"
        for name in (label.label for label in label_part.labels)
    }


def plan_scales(plan: AnnotationPlan) -> dict[str, Scale]:
    """The scale of each metric that the plan's answers give and that has one."""
    scales: dict[str, Scale] = {}
    for rubric in plan.questions:
        scale = rubric.rating_scale()
        if plan.mode == "audit":
            scales[agreement_metric(rubric.name)] = Scale((AGREE, DISAGREE), False)
        # A judge's number of a vector is between the steps, but where it is audited.
        if scale is None or ("." in rubric.name and scale.ordered and plan.mode != "audit"):
            continue
        if plan.mode == "audit":
            scales[audited_metric(rubric.name)] = scale
        elif plan.mode == "adjudicate":
            scales[adjudicated_metric(rubric.name)] = scale
        elif plan.mode == "pairs":
            scales[preference_metric(rubric.name)] = SHARE_SCALE
        else:
            scales[rubric.name] = scale
    for result in (measure for flow in plan.flow_of.values() for measure in flow.measures):
        scales.setdefault(result.name, result.rating_scale() or SHARE_SCALE)
    return scales


def plan_people(run: Run, plan: AnnotationPlan) -> dict[str, str]:
    """Rater of a plan → the person in the run: the one who rated there under another spelling of the name, if one did.

    Spellings are told apart as those in files are (:mod:`bedside.ratings.joined_names`): a name that rated in the run
    stays, and so does one that may be two people's.
    """
    of_run = run.scan().filter(rated_by_humans()).select(pl.col("rater").unique()).collect()["rater"].to_list()
    by_key: dict[str, list[str]] = defaultdict(list)
    for person in of_run:
        by_key[folded(person_name(person))].append(person)
    times = Counter(map(folded, plan.raters))
    people = {}
    for rater in plan.raters:
        named, alike = human_rater(rater), by_key[folded(rater)]
        people[rater] = alike[0] if len(alike) == 1 and times[folded(rater)] == 1 else named
    return people


def plan_ratings(
    run: Run,
    plan: AnnotationPlan,
    answers: Mapping[tuple[str, str], RaterAnswer],
    positions: Mapping[str, Mapping[str, Sequence[int]]],
) -> pl.DataFrame:
    """The ratings that answers give, as a ratings table in the order of items and raters.

    Args:
        run: the run.
        plan: the plan.
        answers: (item, rater) → the answer that counts.
        positions: :func:`~bedside.annotation.items.coded_positions`.
    """
    origins = {name: (system, case) for name, system, case in run.index.select("id", "system", "case_id").iter_rows()}
    shown_scores = judge_scores(plan, run) if plan.mode == "audit" else {}
    judged, people = judge_fields(plan, run), plan_people(run, plan)
    # Links go by what was said, and nothing else does.
    shown = run.transcripts_named({item.transcript for item in plan.items}) if plan.lists else ()
    transcripts = {transcript.id: transcript for transcript in shown}
    following = _Following(run, plan)
    rows: list[RatingRow] = []
    chances: list[float | None] = []
    judged_items: set[str] = set()
    begun = {rater for (_, rater), answer in answers.items() if answer.state == "submitted"}
    settled = {(name, rater) for rater in begun for name in plan.settled.get(rater, ())}
    every = {**{key: RaterAnswer(*key, "submitted") for key in settled}, **answers}
    for (name, rater), answer in sorted(every.items(), key=lambda entry: entry[0]):
        item = plan.by_id[name]
        if isinstance(item, KnownItem):
            continue
        origin = (item.transcript, *origins[item.transcript])
        reasons = {question: reason_of(plan.by_name[question], answer) for question in plan.flow_of}
        missing = SKIPPED if answer.state == "skipped" else None
        answer = with_agreed(plan, answer)
        computed = list(computed_ratings(plan, item, answer, missing, reasons))
        if plan.questions[0].kind == "list" and plan.mode == "audit":
            computed.append(_corrected_list(plan, item, plan.questions[0], answer, missing))
        elif item.id in plan.lists:
            transcript = transcripts[item.transcript]
            links = links_of(plan, item, answer, missing, transcript)
            computed += [own for name, made in links.items() for own in _of_links(plan.by_name[name], transcript, made)]
            computed += following.ratings(transcript, people[rater], links)
        if plan.mode == "adjudicate":
            # What follows from links that aren't to be settled is missing, and settles nothing.
            names = plan.disputed(item.id)
            computed = [
                (unit, adjudicated_metric(metric), value, label, reason, error)
                for unit, metric, value, label, reason, error in computed
                if error is None or metric in names
            ]
        if plan.mode == "audit":
            computed = list(_audited_fields(plan, answer, computed, judged))
            rows += [
                RatingRow(*origin, item.unit, audited_metric(rubric), str(plan.judge), 0, value, None)
                for (shown, rubric), (value, said) in judged.items()
                if said and shown == name and item.replicate == 0 and name not in judged_items
            ]
        rows += [
            RatingRow(*origin, unit, metric, people[rater], item.replicate, value, label, reason, error)
            for unit, metric, value, label, reason, error in computed
        ]
        for rubric in plan.questions:
            if rubric.name in plan.flow_of or plan.of_case(rubric):
                continue
            ratings = answer_ratings(plan, rubric, item, answer, positions.get(name, {}), shown_scores)
            replicate = 0 if plan.mode == "pairs" else item.replicate
            rows += [
                RatingRow(
                    *origin, given.unit, given.metric, people[rater], replicate,
                    given.value, given.label, given.reason, given.error,
                )
                for given in ratings
            ]  # fmt: skip
            if plan.mode == "audit" and item.replicate == 0 and name not in judged_items:
                chosen = _chosen(rubric, shown_scores[item.transcript, item.unit, rubric.name][0])
                metric, silent = audited_metric(rubric.name), RaterAnswer(name, rater, "submitted")
                own = _rated(rubric, item.unit, metric, chosen, silent, None)
                rows.append(RatingRow(*origin, item.unit, metric, str(plan.judge), 0, own.value, own.label, own.reason))
        chances += [item.chance] * (len(rows) - len(chances))
        judged_items.add(name)
    table = frame_of(rows, round_of(plan), chances)
    gone = pl.col("rater").is_in([people[rater] for rater, standing in plan.standings.items() if standing.excluded])
    said = [pl.when(~gone).then(pl.col(name)).alias(name) for name in ("value", "label", "reason")]
    lack = pl.when(gone).then(pl.lit(EXCLUDED)).otherwise("error").alias("error")
    return table.with_columns(*said, lack) if plan.standings else table


def answer_ratings(
    plan: AnnotationPlan,
    rubric: Rubric,
    item: PlanItem | KnownItem,
    answer: RaterAnswer,
    positions: Mapping[str, Sequence[int]],
    shown_scores: Mapping[tuple[str, str, str], tuple[str, str]],
) -> Iterator[AnswerRating]:
    """The ratings that one answer gives by one rubric.

    Args:
        plan: the plan.
        rubric: one of its rubrics.
        item: what was rated.
        answer: what the rater said of it.
        positions: in codes mode, role → indices of the turns that are coded.
        shown_scores: in audit mode, :func:`~bedside.annotation.items.judge_scores`.
    """
    missing = SKIPPED if answer.state == "skipped" else None
    match plan.mode:
        case "codes":
            for position, turn in enumerate(positions[str(rubric.role)]):
                chosen = answer.choices.get(code_field(rubric.name, position), ())
                yield _rated(rubric, unit_name(turn), rubric.name, chosen, answer, missing or _lack(chosen, UNCODED))
        case "findings":
            yield from _findings(rubric, item.unit, answer, missing)
        case "audit":
            judge_choice = shown_scores[item.transcript, item.unit, rubric.name][0]
            yield from _audit(rubric, item.unit, answer, judge_choice, missing)
        case "pairs":
            chosen = answer.choices.get(rubric.name, ())
            lack = missing or _lack(chosen, UNANSWERED)
            rating = _rated(rubric, item.unit, preference_metric(rubric.name), chosen, answer, lack)
            share = None if rating.label is None else SHARES[rating.label]
            yield rating._replace(value=share)
        case "adjudicate":
            if rubric.name in plan.opinions[item.id]:
                chosen = answer.choices.get(rubric.name, ())
                lack = missing or _lack(chosen, UNANSWERED)
                yield _rated(rubric, item.unit, adjudicated_metric(rubric.name), chosen, answer, lack)
        case _:
            chosen = answer.choices.get(rubric.name, ())
            yield _rated(rubric, item.unit, rubric.name, chosen, answer, missing or _lack(chosen, UNANSWERED))


def with_agreed(plan: AnnotationPlan, answer: RaterAnswer) -> RaterAnswer:
    """An answer with what an adjudication doesn't ask, as the item's raters agree on it."""
    agreed = plan.agreed.get(answer.item, {})
    texts = {name: (said,) for name, said in agreed.items() if name.startswith((evidence_field(""), reason_field("")))}
    choices = {name: (said,) for name, said in agreed.items() if name not in texts}
    return replace(answer, choices={**choices, **answer.choices}, texts={**texts, **answer.texts})


def _lack(chosen: Sequence[str], reason: str) -> str | None:
    """The reason where nothing is chosen."""
    return None if chosen else reason


def reason_of(rubric: Rubric, answer: RaterAnswer) -> str | None:
    """What a rater says on a rubric, with the turns marked for it; None where they say nothing."""
    marks = in_order(answer.texts.get(evidence_field(rubric.name), ()))
    return reason_with_evidence(answer.written(reason_field(rubric.name)), marks) or None


def _rated(
    rubric: Rubric, unit: str, metric: str, chosen: Sequence[str], answer: RaterAnswer, missing: str | None
) -> AnswerRating:
    if missing is None and chosen[0] == NOT_APPLICABLE:
        missing = NO_ANSWER
    reason = reason_of(rubric, answer)
    if missing is not None:
        return AnswerRating(unit, metric, None, None, reason, missing)
    if rubric.kind == "set":
        labels = sorted(set(chosen) - {NONE})
        if labels and NONE in chosen:
            return AnswerRating(unit, metric, None, None, reason, f"says {NONE!r} and names {len(labels)}")
        names = ", ".join(labels) or "none"
        return AnswerRating(unit, metric, float(len(labels)), None, f"{names}: {reason}" if reason else names, None)
    value, label = (float(chosen[0]), None) if rubric.kind == "level" else (None, chosen[0])
    return AnswerRating(unit, metric, value, label, reason, None)


def _chosen(rubric: Rubric, shown: str) -> tuple[str, ...]:
    """The choices that a judge is shown with."""
    return tuple(shown.split(f"{LABEL_SEPARATOR} ")) if rubric.kind == "set" else (shown,)


def _audit(
    rubric: Rubric, unit: str, answer: RaterAnswer, judge_choice: str, missing: str | None
) -> Iterator[AnswerRating]:
    opinions = answer.choices.get(agree_field(rubric.name), ())
    chosen = answer.choices.get(rubric.name, ())
    opinion = opinions[0] if opinions else None
    wrong = missing or _lack(opinions, UNANSWERED)
    if wrong is None and opinion == AGREE and chosen and one_answer(chosen) != judge_choice:
        wrong = "says that the judge is right, and gives another answer"
    if wrong is None and opinion == DISAGREE and chosen and one_answer(chosen) == judge_choice:
        wrong = "says that the judge is wrong, and gives the same answer"
    reason = reason_of(rubric, answer)
    yield AnswerRating(unit, agreement_metric(rubric.name), None, None if wrong else opinion, reason, wrong)
    implied = chosen or (_chosen(rubric, judge_choice) if opinion == AGREE else ())
    lack = missing or _lack(implied, "gives no answer beside the judge's")
    yield _rated(rubric, unit, audited_metric(rubric.name), implied, answer, lack)


def _audited_fields(
    plan: AnnotationPlan,
    answer: RaterAnswer,
    computed: Sequence[Unpacked],
    judged: Mapping[tuple[str, str], tuple[float | None, dict[str, str]]],
) -> Iterator[Unpacked]:
    """Of points, links and a list: the rater's own, and whether all of it is what the judge said."""
    for unit, metric, value, label, reason, error in computed:
        if (answer.item, metric) in judged:
            _, shown = judged[answer.item, metric]
            asked = plan.asked_of(answer.item, plan.by_name[metric])
            if not asked:
                continue  # nobody was asked
            fields = [one.name for one in asked if one.applies(answer.choices)]
            same = all(answer.choices.get(name, ()) == ((shown[name],) if name in shown else ()) for name in fields)
            opinion = None if error else AGREE if same else DISAGREE
            yield unit, agreement_metric(metric), None, opinion, None, error
            yield unit, audited_metric(metric), value, label, reason, error


def _findings(rubric: Rubric, unit: str, answer: RaterAnswer, missing: str | None) -> Iterator[AnswerRating]:
    entries, missing = listed_entries(rubric, answer), missing or _list_fault(rubric, answer)
    metrics = entry_metrics(rubric)
    if missing is not None:
        for metric in (rubric.name, *metrics.values()):
            yield AnswerRating(unit, metric, None, None, answer.notes or None, missing)
        return
    label, _ = entry_part(rubric)
    counts = Counter(entry[label.name] for entry in entries)
    reason = orjson.dumps({"reason": answer.notes, rubric.answer[0].name: entries}).decode()
    yield AnswerRating(unit, rubric.name, float(len(entries)), None, reason, None)
    for name, metric in metrics.items():
        yield AnswerRating(unit, metric, float(counts[name]), None, None, None)


def _list_fault(rubric: Rubric, answer: RaterAnswer) -> str | None:
    """Why an answer says nothing certain of what is to be listed."""
    entries, nothing = listed_entries(rubric, answer), answer.choices.get(rubric.name, ()) == (NOTHING,)
    if entries and nothing:
        return f"says that there is nothing to list, and lists {len(entries)}"
    return None if entries or nothing else "lists nothing, and doesn't say that there is nothing"


def _corrected_list(
    plan: AnnotationPlan, item: PlanItem, rubric: Rubric, answer: RaterAnswer, missing: str | None
) -> Unpacked:
    """How many entries a judge's list has as a rater corrects it, with each entry and what became of the judge's."""
    label, text = (part.name for part in entry_part(rubric))
    shown = plan.lists[item.id][rubric.name]
    kept, removed, *fields = [], [], *plan.asked_of(item.id, rubric)[:-1]
    chosen = [answer.choices.get(asked.name, ("",))[0] for asked in fields]
    if missing is None and "" in chosen:
        missing = f"{len(chosen) - chosen.count('')} of {len(chosen)} {LINKS_ANSWERED}"
    if lack := missing or _list_fault(rubric, answer):
        return item.unit, rubric.name, None, None, answer.notes or None, lack
    for asked, choice, own, words in zip(fields, chosen, shown.targets, shown.rows, strict=True):
        said, better = {label: own, text: words}, answer.written(reason_field(asked.name))
        if choice == NONE:  # words beside it say why
            removed.append({**said, **({"reason": better} if better else {})})
        else:
            kept.append({label: choice, text: better or words, OF_JUDGE: said})
    entries = [*kept, *listed_entries(rubric, answer)]
    reason = {"reason": answer.notes, rubric.answer[0].name: entries, REMOVED: removed}
    return item.unit, rubric.name, float(len(entries)), None, orjson.dumps(reason).decode(), None


def listed_entries(rubric: Rubric, answer: RaterAnswer) -> list[dict[str, str]]:
    """The entries of a list, in the order of the rubric's labels."""
    label, text = entry_part(rubric)
    return [
        {label.name: name, text.name: entry.strip()}
        for field, name in entry_fields(rubric).items()
        for entry in answer.texts.get(field, ())
        if entry.strip()
    ]


# -- What is computed of people's answers, by the functions that judges' replies go through ----------------


def flow_leads(flow: Rubric, question: str) -> dict[str, str | None]:
    """Answer to a question of a flow → the question that it leads to; None at the end."""
    names = [rubric.name for rubric in flow.question_rubrics]
    place = names.index(question)
    after = {answer.answer: flow.flow.after(place, answer) for answer in flow.questions[place].answers}
    return {said: None if at is None else names[at] for said, at in after.items()}


def beside_walks(plan: AnnotationPlan, choices: Mapping[str, Sequence[str]]) -> set[str]:
    """The questions of flows that the answers don't lead to."""
    reached = set[str]()
    for flow in {flow.name: flow for flow in plan.flow_of.values()}.values():
        walk = walk_by(flow, {name: chosen[0] for name, chosen in choices.items() if chosen})
        reached |= {flow.question_rubrics[place].name for place in (*walk.answers, walk.at) if place is not None}
    return set(plan.flow_of) - reached


def computed_metrics(plan: AnnotationPlan) -> list[str]:
    """The metrics whose ratings are computed, beside those of questions."""
    names = [metric for planned in plan.wholes for metric in planned.rubric.metrics]
    by_tag = [
        f"{rubric}_{slug(tag)}"
        for by_rubric in plan.criteria.values()
        for rubric, criteria in by_rubric.items()
        for criterion in criteria
        for tag in criterion.tags
    ]
    return list(dict.fromkeys((*names, *by_tag)))


def computed_ratings(
    plan: AnnotationPlan, item: PlanItem, answer: RaterAnswer, missing: str | None, reasons: Mapping[str, str | None]
) -> Iterator[Unpacked]:
    """The ratings that are computed of an answer, with those of the questions of flows.

    Args:
        plan: the plan.
        item: what was rated.
        answer: what the rater said of it.
        missing: why all of it is missing, such as that it was skipped; None where it isn't.
        reasons: question of a flow → why, in the rater's words.
    """
    choices = {} if missing else answer.choices
    for planned in plan.wholes:
        rubric = planned.rubric
        if missing and rubric.kind == "flow":
            yield from ((item.unit, metric, None, None, None, missing) for metric in rubric.metrics)
            continue
        chosen = {part.name: choices[part.name][0] for part in rubric.question_rubrics if choices.get(part.name)}
        said = {name: None if choice == NOT_APPLICABLE else choice for name, choice in chosen.items()}
        computed = ratings_by_parts(rubric, item.unit, said, missing or UNANSWERED)
        for unit, metric, value, label, reason, error in computed:
            yield unit, metric, value, label, None if error == NOT_REACHED else reasons.get(metric) or reason, error
    for rubric_name, criteria in plan.criteria.get(item.id, {}).items():
        fields = [asked.name for asked in plan.every_of(item.id, plan.by_name[rubric_name])]
        entries = [
            {"item": place, "met": choices[field][0] == MET, "reason": answer.written(reason_field(field))}
            for place, field in enumerate(fields)
            if choices.get(field)
        ]
        replies = [JudgeAnswer(item.unit, None, {"answers": entries}, None)]
        if missing:
            replies.append(JudgeAnswer(item.unit, None, None, missing))
        yield from points_ratings(rubric_name, criteria, replies)


def _of_links(rubric: Rubric, transcript: Transcript, links: JudgeAnswer) -> Iterator[Unpacked]:
    for unit, metric, value, label, reason, error in ratings_of(rubric, transcript, [links]):
        yield unit, metric, value, label, reason, error and error.replace("the judge found", "the rater found")


def links_of(
    plan: AnnotationPlan, item: PlanItem, answer: RaterAnswer, missing: str | None, transcript: Transcript
) -> dict[str, JudgeAnswer]:
    """Rubric of pairs or of an index → the links that a rater made by it, in the form of a judge's reply.

    Args:
        plan, item, answer, missing: as :func:`computed_ratings` takes them.
        transcript: where turns that are marked are quoted from.
    """
    links = {}
    for rubric in plan.questions:
        if rubric.name in plan.lists[item.id]:
            # Where there is nothing to ask, who skipped the item left nothing open.
            lacks = missing and plan.asked_of(item.id, rubric)
            content, lack = (None, missing) if lacks else _links(plan, item, rubric, answer, transcript)
            links[rubric.name] = JudgeAnswer(item.unit, None, content, lack)
    return links


def _links(
    plan: AnnotationPlan, item: PlanItem, rubric: Rubric, answer: RaterAnswer, transcript: Transcript
) -> tuple[dict[str, Any] | None, str | None]:
    """The content of the reply; or why there is none."""
    form, entries, open_fields, unshown = link_form(rubric), list[dict[str, Any]](), 0, list[str]()
    said_by = {
        str(part.of): {turn.index: clean(turn.text) for turn in transcript.turns if turn.role == part.of}
        for part in form.texts
        if part.type == "quote"
    }
    rows = [asked for asked in plan.every_of(item.id, rubric) if asked.said]
    chosen = {name: said[0] for name, said in answer.choices.items() if said}
    for place, asked in enumerate(rows):
        target = linked_number(form, chosen[asked.name]) if asked.name in chosen else None
        needed = form.parts if target is not None or not form.one_to_one else ()
        own = {part.name: chosen.get(f"{asked.name}__{part.name}") for part in needed}
        if asked.name not in chosen or None in own.values():
            open_fields += 1
            continue
        said = {part.name: own[part.name] if part.labels else own[part.name] == YES for part in needed}
        why = answer.written(reason_field(asked.name))
        marks = answer.texts.get(evidence_field(asked.name), ())
        quotes = {role: marked_words(marks, said_of) for role, said_of in said_by.items()}
        if target is not None:
            unshown += [_unshown(place, role, marks) for role, quote in quotes.items() if not quote]
        texts = {part.name: quotes[str(part.of)] if part.type == "quote" else why for part in form.texts}
        if form.row is None:
            entries.append({"item": place, "reason": why, form.target.name: target, **said, **texts})
        elif target is not None:
            entries.append({**texts, form.row: place, form.target.name: target, **said})
    if open_fields:
        return None, f"{len(rows) - open_fields} of {len(rows)} {LINKS_ANSWERED}" if len(rows) > 1 else UNANSWERED
    linked = Counter(entry[form.target.name] for entry in entries)
    if form.one_to_one and linked and max(linked.values()) > 1:
        return None, f"{max(linked.values())} {LINKED_TWICE}"
    if unshown:
        return None, "; ".join(unshown)
    if form.one_to_one:
        return {"reason": answer.notes, rubric.answer[0].name: entries}, None
    return ({"answers": entries} if form.rows else entries[0]), None


def _unshown(place: int, role: str, marks: Collection[str]) -> str:
    """What an entry's link lacks, with the marks that don't show it."""
    marked = f" of the {role} {NO_WORDS} (marked: {'; '.join(in_order(marks))})" if marks else f" {NO_WORDS}"
    return f"entry {place + 1}: no words{marked}"


class _Following:
    """What follows from people's links by protocols, such as precision and recall, as it follows from a judge's.

    Args:
        run: the run.
        plan: its plan.
    """

    def __init__(self, run: Run, plan: AnnotationPlan) -> None:
        self._pipelines: list[tuple[Pipeline, frozenset[str], dict[str, Any]]] = []
        if not plan.lists:
            return
        asked = [rubric.name for rubric in plan.questions if rubric.kind in LINKED_KINDS]
        self._pipelines = [(one, one.metrics(asked), one.parameters(run)) for one in pipelines_for(asked)]

    def ratings(self, transcript: Transcript, person: str, links: Mapping[str, JudgeAnswer]) -> Iterator[Unpacked]:
        """The ratings that follow from a person's links."""
        said = {name: [made] for name, made in links.items()}
        for pipeline, metrics, settings in self._pipelines:
            for value in pipeline.values(transcript, person, said, metrics, settings):
                metric = value.metric if value.role is None else f"{value.metric}.{value.role}"
                yield unit_name(value.turn), metric, value.value, value.label, value.reason, value.error
