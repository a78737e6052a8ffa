"""What is wrong with a text as a message: one list for all simulators, in English and Chinese.

Patterns are narrow: they are to be sure rather than complete, since a patient's message that they find is asked for
again and, where it is no better the third time, ends the conversation (:mod:`.fault_patterns`). A message is never
changed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from bedside.simulation.simulators.asking import Fault
from bedside.simulation.simulators.calls import Line
from bedside.simulation.simulators.fault_patterns import (
    ABBREVIATION,
    ABROAD,
    ARRIVAL,
    ASSISTANT,
    CLINICIAN_LABEL,
    FORM,
    GREETING,
    HAN_CHARACTER,
    HELPER,
    MACHINE,
    MADE_UP,
    PATIENT_LABEL,
    SENTENCE_END,
    STAGE,
    THINKING,
    WORD,
)

#: Words of a clinician's message above which it is flagged.
CLINICIAN_WORDS = 400
#: Share of their words that two messages have in common, and words that each needs, to be the same message again.
SHARED, COMPARED = 0.9, 8
#: Words from which an equal message is one that is repeated: "No, never." is an answer to many questions.
SHORT = 4
#: How often a patient has said a message before when it is stuck at it: the third time is no answer any more.
STUCK = 2
#: Han characters and other words that a message needs for its language to show.
LANGUAGE_UNITS = 4
#: Share of Han characters among them in a Chinese message; of Latin words in an English one; and of frequent words of
#: other languages above which it isn't English. English that names many drugs or foods stays far below that.
HAN_SHARE, OWN_SCRIPT, ABROAD_SHARE = 0.5, 0.5, 0.25
#: Han characters that are counted as a word: words of running Chinese text have one and a half on average.
HAN_PER_WORD = 1.5


def patient_fault(
    text: str,
    *,
    language: str,
    earlier: Sequence[str] = (),
    case_lines: Sequence[str] = (),
    sentences: int | None,
    words: int | None,
) -> Fault | None:
    """The first thing wrong with a patient's message, as to its form; None where nothing is.

    Faults for which a conversation is given up come before those that are kept and flagged (a message that repeats,
    that begins the conversation anew, that is too long). What it must not reveal is its protocol's to say. A message of
    :data:`SHORT` words or more that the patient has said :data:`STUCK` times before, word for word or nearly, is one
    that it is stuck at; a toy or a script, whose lines are fixed, only repeats itself.

    Args:
        text: the message.
        language: ``en`` or ``zh``.
        earlier: the patient's own messages before it; leave out those whose words the protocol fixes.
        case_lines: what the case gives the patient to say: it can say that as often as it likes.
        sentences: most sentences; None for any number.
        words: most words; of Chinese, three characters are two words.
    """
    manner = _manner_fault(text, earlier, sentences, words)
    stuck = text not in case_lines and sum(_same(text, message) for message in earlier) >= STUCK
    fault = _form_fault(text, language) or (replace(_STUCK, fixed=manner) if stuck else manner)
    return None if fault is None else replace(fault, form=True)


_STUCK = Fault(
    "stuck",
    "You have said that several times in the same words. Answer what was said last, in other words.",
)


def _form_fault(text: str, language: str) -> Fault | None:
    """What makes a text no message of a patient's."""
    if not any(character.isalnum() for character in text):
        return Fault("empty", "Your last reply held no words. Write your message.")
    for reason, objection in _role_faults(text):
        return Fault(reason, objection)
    if _wrong_language(text, language):
        wanted = {"en": "English", "zh": "Chinese (中文)"}[language]
        return Fault("wrong language", f"Your last reply was not in {wanted}. Write it in {wanted}.")
    return None


def _manner_fault(
    text: str, earlier: Sequence[str], sentences: int | None, words: int | None
) -> Fault | None:
    """What is wrong with a message that is kept all the same."""
    if _repeats(text, earlier):
        return Fault(
            "repeats itself",
            "You have said that before in the same words. Answer what was said last, in other words.",
            kept=True,
        )
    if _begins_anew(text, earlier):
        return Fault(
            "begins anew",
            "The conversation is already under way: don't greet again or say again why you came. "
            "Answer what was said last.",
            kept=True,
        )
    if (sentences is not None and sentence_count(text) > sentences) or (
        words is not None and word_count(text) > words
    ):
        limits = [
            f"{limit} {noun if limit > 1 else noun[:-1]}"
            for limit, noun in ((sentences, "sentences"), (words, "words"))
            if limit is not None
        ]
        return Fault(
            "too long",
            f"Your last reply was too long. Answer in at most {' and '.join(limits)}.",
            kept=True,
        )
    return None


def clinician_flags(text: str, *, language: str, earlier: Sequence[str] = ()) -> tuple[str, ...]:
    """The reasons of all faults that a clinician's message has, as to its form: it is kept as it is.

    Args:
        text: the message.
        language: ``en`` or ``zh``.
        earlier: the clinician's own messages before it.
    """
    flags = {
        "leaked reasoning": THINKING.search(text),
        "speaks for the patient": PATIENT_LABEL.search(text),
        "stage directions": STAGE.search(text),
        "refusal": MACHINE.search(text),
        "wrong language": _wrong_language(text, language),
        "repeats itself": _repeats(text, earlier),
        "too long": word_count(text) > CLINICIAN_WORDS,
    }
    return tuple(reason for reason, present in flags.items() if present)


def clinician_watch(lines: Sequence[Line], language: str) -> Callable[[str], tuple[str, ...]]:
    """What finds the faults of a clinician's next message after what was said."""
    own = [line.text for line in lines if line.role == "clinician"]
    return lambda text: clinician_flags(text, language=language, earlier=own)


def word_count(text: str) -> int:
    """Words of a text: those of scripts with spaces, and two for three Han characters, rounded up."""
    return len(WORD.findall(text)) + -int(-len(HAN_CHARACTER.findall(text)) // HAN_PER_WORD)


def sentence_count(text: str) -> int:
    """Sentences of a text: up to a sign that ends one, or to the end of a line; one at least where there are words."""
    whole = ABBREVIATION.sub(lambda match: match[0].replace(".", ""), text)
    return sum(any(map(str.isalnum, part)) for part in SENTENCE_END.split(whole))


def _role_faults(text: str) -> Iterator[tuple[str, str]]:
    if THINKING.search(text):
        yield (
            "leaked reasoning",
            "Your last reply held your reasoning. Write only the words that are said aloud.",
        )
    if CLINICIAN_LABEL.search(text):
        yield (
            "speaks for the clinician",
            "Your last reply held words of the clinician. Write only what you, the patient, say next.",
        )
    if PATIENT_LABEL.search(text):
        yield (
            "speaker label",
            "Your last reply named who speaks. Write only the words that are said aloud, without a name before them.",
        )
    if MACHINE.search(text):
        yield "refusal", "Stay in your role: answer as this person would, in their own words."
    if FORM.search(text):
        yield (
            "form",
            "Your last reply was an object, code or marked-up text. Write only the words that are said aloud.",
        )
    if ASSISTANT.search(text):
        yield (
            "answers as an assistant",
            "Your last reply answered a request for a text. You are the person in the conversation: write only what "
            "they say next.",
        )
    if MADE_UP.search(text):
        yield (
            "speaks of the case",
            "Your last reply spoke of a case, a prompt or a role. To this person the conversation is real: "
            "answer in their own words.",
        )
    if HELPER.search(text):
        yield (
            "becomes the helper",
            "Your last reply helped or questioned the clinician as a helper would. You are the one who needs help: "
            "answer as this person would.",
        )
    if STAGE.search(text):
        yield (
            "stage directions",
            "Your last reply described gestures or used marks. Write only the words that are said aloud.",
        )


def _wrong_language(text: str, language: str) -> bool:
    """Whether a message is surely in another language than English or Chinese; short ones may pass."""
    han = len(HAN_CHARACTER.findall(text))
    words = [word.replace("’", "'") for word in WORD.findall(text.casefold())]
    units = han + len(words)
    if units < LANGUAGE_UNITS:
        return False
    if language == "zh":
        return han < HAN_SHARE * units
    latin = sum(any("a" <= character <= "\u024f" for character in word) for word in words)
    number = sum(word.isnumeric() for word in words)
    if latin < OWN_SCRIPT * (units - number):
        return True
    return sum(map(ABROAD.__contains__, words)) > ABROAD_SHARE * units


def _repeats(text: str, earlier: Sequence[str]) -> bool:
    return any(_same(text, message) for message in earlier)


def _same(text: str, message: str) -> bool:
    """Whether a message is another one again, word for word or nearly; short ones are answers to many questions."""
    units, kinds = _units(text)
    others, other_kinds = _units(message)
    if len(units) < SHORT:
        return False
    if units == others:
        return True
    shared, all_kinds = len(kinds & other_kinds), len(kinds | other_kinds)
    return min(len(units), len(others)) >= COMPARED and shared >= SHARED * all_kinds


@lru_cache(maxsize=4096)
def _units(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Words without differences of case and marks, and of Chinese its pairs of neighbouring characters; in order, and
    each once. A message is compared with all that come after it."""
    plain = text.casefold().replace("’", "'")
    pairs = ("".join(pair) for pair in pairwise(HAN_CHARACTER.findall(plain)))
    units = (*WORD.findall(plain), *pairs)
    return units, frozenset(units)


def _begins_anew(text: str, earlier: Sequence[str]) -> bool:
    """Whether a message that isn't the first says hello and why its speaker came."""
    return bool(earlier) and bool(GREETING.search(text)) and bool(ARRIVAL.search(text))
