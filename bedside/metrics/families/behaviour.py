"""Motivational-interviewing behaviour: codes of turns, and counts of them over the session.

Codes come from people (``meta["codes"]`` of the turns) and from coders (``bedside.coders``); each is a rater
of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from bedside.core.errors import RegistryError
from bedside.metrics.coders.contract import CODERS
from bedside.metrics.coders.finder import find_coder
from bedside.metrics.coders.people import people_codes, proper
from bedside.metrics.coders.session_measures import EARLY_TURNS, MEASURES, Labels, SessionMeasure
from bedside.metrics.contract import Example, Family, Metric, Parameter
from bedside.ratings.names import algorithm_rater, human_rater
from bedside.ratings.values import Value, missing
from bedside.transcripts.language import primary_language
from bedside.transcripts.transcript import CODE_ROLES, CODES, Role, Transcript

_IN_WORDS = {
    "question": "questions",
    "reflection": "reflections",
    "therapist_input": "therapist input",
    "main_behaviour": "main behaviour",
    "client_talk": "client talk",
}
_NEEDS: Mapping[str, tuple[str, ...]] = {
    **{code: (code,) for code in CODES},
    **{measure.name: measure.codes for measure in MEASURES},
}
_MEASURES: Mapping[str, SessionMeasure] = {measure.name: measure for measure in MEASURES}


@cache
def _metrics_from(codes: tuple[str, ...]) -> frozenset[str]:
    """The metrics that a coder of these codes gives."""
    return frozenset(metric for metric, needed in _NEEDS.items() if set(needed) <= set(codes))


def _coder_for(language: str | None, codes: Sequence[str], coders: Sequence[str]) -> str | None:
    """The coder that is made for a language and gives such codes; None where there is none, or it codes already."""
    if language is None:
        return None
    for name, coder in CODERS.all().items():
        if primary_language(language) in coder.languages and set(codes) & set(coder.codes):
            return None if name in coders else name
    return None


class _CodedSession:
    """The codes of one transcript by rater.

    Attributes:
        codes: rater → turn index → code → label as given.
        codes_given: rater → the codes it gave to at least one turn.
        confidence: rater → turn index → code → probability of the label, of raters that know it.
        refusals: raters that can't code this transcript: rater → (metrics it would give, why not).
        turns: indices of each role's turns.
    """

    def __init__(self, transcript: Transcript, coders: Sequence[str], metric_names: frozenset[str]) -> None:
        self.codes: dict[str, Mapping[int, Labels]] = {}
        self.confidence: dict[str, Mapping[int, Mapping[str, float]]] = {}
        self.refusals: dict[str, tuple[frozenset[str], str]] = {}
        self.turns: dict[Role, list[int]] = {"clinician": [], "patient": [], "other": []}
        for turn in transcript.turns:
            self.turns[turn.role].append(turn.index)
        for name in coders:
            if name == "human":
                self.codes |= {human_rater(coder): codes for coder, codes in people_codes(transcript).items()}
                continue
            coder = find_coder(name)
            metrics_given = _metrics_from(coder.codes)
            if not metrics_given & metric_names:
                continue
            why = coder.refuses(transcript)
            if why is None:
                self.codes[coder.rater] = coder.code(transcript)
                if coder.confidence is not None:
                    self.confidence[coder.rater] = coder.confidence(transcript)
            else:
                fitting = _coder_for(transcript.language, coder.codes, coders)
                hint = f"; for it there is {fitting}: behaviour.coders=human,{fitting}" if fitting else ""
                self.refusals[coder.rater] = (metrics_given, why + hint)
        self.codes_given = {rater: frozenset().union(*codes.values()) for rater, codes in self.codes.items()}
        self._tallies: dict[tuple[str, str, int | None], list[tuple[Labels, int]]] = {}

    def tally(self, rater: str, role: Role, first: int | None) -> list[tuple[Labels, int]]:
        """The different labels that a rater gave to the first turns of a role, or to all, and to how many.

        Only those of its labels that are labels of their code.
        """
        asked = rater, role, first
        if asked not in self._tallies:
            codes = self.codes[rater]
            labels = Counter(tuple(codes[index].items()) for index in self.turns[role][:first] if index in codes)
            self._tallies[asked] = [(proper(dict(pairs)), turns) for pairs, turns in labels.items()]
        return self._tallies[asked]

    def giving(self, needed: Sequence[str]) -> Iterator[tuple[str, Mapping[int, Labels]]]:
        """Raters that gave each of the codes to at least one turn, with their codes."""
        for rater, codes in self.codes.items():
            if self.codes_given[rater].issuperset(needed):
                yield rater, codes


def _code(session: _CodedSession, code: str) -> Iterator[Value]:
    proper_labels = CODES[code]
    for rater, codes in session.giving((code,)):
        confidence = session.confidence.get(rater, {})
        for index in session.turns[CODE_ROLES[code]]:
            label = codes.get(index, {}).get(code)
            if label is None:
                yield missing(code, "not coded", turn=index, rater=rater)
            elif label in proper_labels:
                chance = confidence.get(index, {}).get(code) if confidence else None
                reason = None if chance is None else f"probability {chance:.2f}"
                yield Value(code, None, label, None, index, rater, reason)
            else:
                error = f"{label!r} is not one of {', '.join(proper_labels)}"
                yield missing(code, error, turn=index, rater=rater)


def _measure(session: _CodedSession, measure: SessionMeasure, early_turns: int) -> Iterator[Value]:
    first = early_turns if measure.early else None
    turns = len(session.turns[measure.role][:first])
    which, suffix, remarks = f"{measure.role} turns", "", []
    if measure.early:
        which = f"first {which}"
        if early_turns != EARLY_TURNS:
            suffix = f"+early_turns={early_turns}"
        if turns < early_turns:
            remarks.append(f"{turns} {measure.role} turns, fewer than {early_turns}")
    for rater, _ in session.giving(measure.codes):
        coded, value = measure.of(session.tally(rater, measure.role, first))
        notes = list(remarks)
        if coded < turns:
            notes.append(f"{coded} of the {turns} {which} coded")
        if value is not None:
            yield Value(measure.name, value, rater=rater + suffix, reason="; ".join(notes) or None)
        else:
            error = measure.empty if coded else f"none of the {turns} {which} is coded"
            yield missing(measure.name, error, rater=rater + suffix)


def compute(transcript: Transcript, metric_names: frozenset[str], *, coders: str, early_turns: int) -> Iterator[Value]:
    """Codes and measures named in ``metric_names``, one value per rater.

    Raises:
        RegistryError: an unknown coder, or no first turns at all.
    """
    if early_turns < 1:
        raise RegistryError(f"early_turns is {early_turns!r}", todo="give a whole number from 1")
    session = _CodedSession(transcript, [name.strip() for name in coders.split(",")], metric_names)
    for metric, needed in _NEEDS.items():
        if metric not in metric_names:
            continue
        role = CODE_ROLES[needed[0]]
        if not session.turns[role]:
            yield missing(metric, f"no {role} turn")
            continue
        values: list[Value] = []
        if session.codes:
            values += _code(session, metric) if metric in CODES else _measure(session, _MEASURES[metric], early_turns)
        # Of each rater that would give the metric's codes but can't.
        refusals = session.refusals.items()
        values += [missing(metric, why, rater=rater) for rater, (own, why) in refusals if metric in own]
        if values:
            yield from values
        else:
            given = frozenset().union(*session.codes_given.values())
            lacking = [_IN_WORDS[code] for code in needed if code not in given]
            yield missing(
                metric,
                f"no codes of {' and '.join(lacking)}"
                if lacking
                else f"no rater has codes of both {' and '.join(_IN_WORDS[code] for code in needed)}",
            )


_MITI = "Motivational Interviewing Treatment Integrity 4.2.1 (Moyers, Manuel & Ernst 2014; Moyers et al. 2016)"
_ANNOMI = "AnnoMI (Wu et al., ICASSP 2022)"
_MEDCONCEAL = "MedConceal (Han et al. 2026, arXiv 2604.08788)"
_ONCE = "A turn counts once, whatever the number of its questions or reflections."


def _worked_turn(role: str, text: str, **codes: str) -> tuple[Any, ...]:
    return role, text, {"codes": {"anna": codes}}


def _clinician(text: str, question: str, reflection: str, therapist_input: str, main: str) -> tuple[Any, ...]:
    return _worked_turn(
        "clinician",
        text,
        question=question,
        reflection=reflection,
        therapist_input=therapist_input,
        main_behaviour=main,
    )


_SESSION = (
    _clinician("What brings you here?", "open", "none", "none", "question"),
    _worked_turn("patient", "I want to stop smoking.", client_talk="change"),
    _clinician("Your health has begun to matter more to you.", "none", "complex", "none", "reflection"),
    _worked_turn("patient", "But it calms me down.", client_talk="sustain"),
    _clinician("Have you tried before?", "closed", "none", "none", "question"),
    _worked_turn("patient", "Yes, and I managed a month.", client_talk="change"),
    _clinician("A whole month. You could try patches.", "none", "simple", "advice", "therapist_input"),
    _worked_turn("patient", "Hm.", client_talk="neutral"),
    _clinician("You are torn.", "none", "complex", "none", "reflection"),
    _worked_turn("patient", "Yes, I really must do it.", client_talk="change"),
    _clinician("How would you like to begin?", "open", "none", "none", "question"),
)
_UNCODED = (("clinician", "What brings you here?"), ("patient", "My wife sent me."))
_NO_QUESTION = (_clinician("Good morning.", "none", "none", "none", "other"),)
_BY_HAND = "counted by hand"
_ONE_TURN = "the turn's own code"


def _example(value: float | None, source: str, **fields: Any) -> Example:
    return Example(_SESSION, value, source, rater=human_rater("anna"), **fields)


_turn_code = partial(Metric, unit="turn")
_share = partial(Metric, unit="transcript", low=0, high=1)
_percentage = partial(Metric, unit="transcript", low=0, high=100, digits=1, direction="higher")

METRICS = (
    _turn_code(
        name="question",
        title="Question",
        aliases=("question_subtype",),
        labels=CODES["question"],
        definition=(
            "Whether a clinician turn asks a question, and whether the last one is open (invites an account) or closed "
            "(answered by yes or no, a choice, a number, a name or a time)."
        ),
        needs=("codes of clinician turns, or the rule coder (English)",),
        source=f"{_MITI}; {_ANNOMI}",
        examples=(
            Example(_SESSION, "open", _ONE_TURN, turn=0, rater=human_rater("anna")),
            Example(_UNCODED, "open", "a question word with its verb", turn=0, rater=algorithm_rater("rules")),
            Example(_UNCODED, None, "people gave no codes", parameters={"coders": "human"}),
        ),
    ),
    _turn_code(
        name="reflection",
        title="Reflection",
        aliases=("reflection_subtype",),
        labels=CODES["reflection"],
        definition=(
            "Whether a clinician turn gives back what the patient said: simple (little added) or complex (meaning, "
            "feeling or emphasis added)."
        ),
        needs=("codes of clinician turns",),
        source=f"{_MITI}; {_ANNOMI}",
        examples=(Example(_SESSION, "complex", _ONE_TURN, turn=2), Example(_UNCODED, None, "nobody coded reflections")),
    ),
    _turn_code(
        name="therapist_input",
        title="Therapist input",
        aliases=("therapist_input_subtype",),
        labels=CODES["therapist_input"],
        definition=(
            "What a clinician turn brings in from the clinician's side: information, advice, options or negotiation, "
            "or none of them."
        ),
        needs=("codes of clinician turns",),
        source=_ANNOMI,
        examples=(Example(_SESSION, "advice", _ONE_TURN, turn=6),),
    ),
    _turn_code(
        name="main_behaviour",
        title="Main behaviour",
        aliases=("main_therapist_behaviour", "main_therapist_behavior"),
        labels=CODES["main_behaviour"],
        definition="What a clinician turn mainly does: question, reflection, therapist input or other.",
        needs=("codes of clinician turns",),
        source=_ANNOMI,
        examples=(Example(_SESSION, "therapist_input", _ONE_TURN, turn=6),),
    ),
    _turn_code(
        name="client_talk",
        title="Client talk",
        aliases=("client_talk_type",),
        labels=CODES["client_talk"],
        definition="Whether a patient turn speaks for change, for staying as things are (sustain), or neither.",
        needs=("codes of patient turns",),
        source=_ANNOMI,
        examples=(Example(_SESSION, "sustain", _ONE_TURN, turn=3), Example(_UNCODED, None, "nobody coded client talk")),
    ),
    _percentage(
        name="percent_open_questions",
        title="Open questions (%)",
        turns=("question",),
        definition=(
            "100 × clinician turns with an open question / clinician turns with a question. MITI 3 called 70 % "
            "competent and 50 % the beginning of proficiency; MITI 4 has no threshold. " + _ONCE
        ),
        needs=("codes of clinician turns, or the rule coder (English)",),
        source=f"{_ANNOMI}; MITI 3.1.1 (Moyers et al. 2010)",
        examples=(
            _example(200 / 3, f"{_BY_HAND}: 2 of 3"),
            Example(_NO_QUESTION, None, "no question: the denominator is 0", rater=human_rater("anna")),
        ),
    ),
    Metric(
        name="reflection_to_question_ratio",
        title="Reflection-to-question ratio",
        unit="transcript",
        turns=("reflection", "question"),
        low=0,
        direction="higher",
        definition=(
            "Clinician turns with a reflection / clinician turns with a question. MITI 4.2.1 calls 2 proficient (good) "
            "and 1 fair. " + _ONCE
        ),
        needs=("codes of clinician turns",),
        source=_MITI,
        examples=(
            _example(1, f"{_BY_HAND}: 3 reflections, 3 questions"),
            Example(_UNCODED, None, "nobody coded reflections"),
        ),
    ),
    _percentage(
        name="percent_complex_reflections",
        title="Complex reflections (%)",
        turns=("reflection",),
        definition=(
            "100 × clinician turns with a complex reflection / clinician turns with a reflection. MITI 4.2.1 calls "
            "50 % proficient (good) and 40 % fair."
        ),
        needs=("codes of clinician turns",),
        source=_MITI,
        examples=(
            _example(200 / 3, f"{_BY_HAND}: 2 of 3"),
            Example(_NO_QUESTION, None, "no reflection: the denominator is 0"),
        ),
    ),
    _percentage(
        name="percent_change_talk",
        title="Change talk (%)",
        turns=("client_talk",),
        definition="100 × patient turns of change talk / patient turns of change or sustain talk.",
        needs=("codes of patient turns",),
        source=f"Proportion of change talk as in Magill et al. 2018; codes as in {_ANNOMI}",
        examples=(_example(75, f"{_BY_HAND}: 3 of 4"),),
    ),
    _share(
        name="questions_per_turn",
        title="Questions per clinician turn",
        turns=("question",),
        definition="Share of clinician turns with a question. " + _ONCE,
        needs=("codes of clinician turns, or the rule coder (English)",),
        source=_ANNOMI,
        examples=(_example(0.5, f"{_BY_HAND}: 3 of 6"),),
    ),
    _share(
        name="inputs_per_turn",
        title="Therapist input per clinician turn",
        turns=("therapist_input",),
        definition="Share of clinician turns that give information, advice or options, or negotiate.",
        needs=("codes of clinician turns",),
        source=_ANNOMI,
        examples=(_example(1 / 6, f"{_BY_HAND}: 1 of 6"),),
    ),
    _share(
        name="open_question_ratio",
        title="Open-question ratio",
        turns=("question",),
        direction="higher",
        definition=(
            "Clinician turns labelled open / all clinician turns. The percentage of open questions has another "
            "denominator: the turns with a question."
        ),
        needs=("codes of clinician turns, or the rule coder (English)",),
        source=_MEDCONCEAL,
        examples=(_example(1 / 3, f"{_BY_HAND}: 2 of 6"),),
    ),
    _share(
        name="early_open_question_ratio",
        title="Early open-question ratio",
        turns=("question",),
        direction="higher",
        definition=(
            "Open-question ratio over the first clinician turns (parameter early_turns, 5 by default), or over all of "
            "them where there are fewer."
        ),
        needs=("codes of clinician turns, or the rule coder (English)",),
        source=_MEDCONCEAL,
        examples=(_example(0.2, f"{_BY_HAND}: 1 of 5"),),
    ),
)

FAMILY = Family(
    name="behaviour",
    title="Motivational-interviewing behaviour",
    description=(
        "Behaviour codes of turns (question, reflection, therapist input, main behaviour, client talk) and their "
        "counts over the session. Codes come from people, as `meta.codes` of the turns, and from coders: the rule "
        "coders, which tell open from closed questions in English and in Chinese, and coders that you train; each is "
        "a rater of its own. A measure is taken over "
        "the turns that the rater coded."
    ),
    version="1",
    metrics=METRICS,
    compute=compute,
    parameters={
        "coders": Parameter(
            "human,rules",
            "human",
            "whose codes are used, with commas: human for all who coded, names of coders, files of trained coders",
        ),
        "early_turns": Parameter(EARLY_TURNS, 2, "number of first clinician turns for the early open-question ratio"),
    },
    demonstration=_SESSION,
)
