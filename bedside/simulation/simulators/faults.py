"""What is wrong with a text as a message: one list for all simulators, in English and Chinese.

Patterns are narrow: they are to be sure rather than complete, since a patient's message that they find is asked for
again and, where it is no better the third time, ends the conversation (:mod:`.fault_patterns`). A message is never
changed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from bedside.core.words import HAN
from bedside.simulation.simulators.asking import Fault
from bedside.simulation.simulators.calls import Line

# -- Phrases that show what is wrong with a message -----------------------------------------------------
# A person who is ill says many things that look like these: "I'm sorry, but I can't help it", "My wife said you should
# see a doctor", "thanks for the prompt reply". None of them may match; the tests hold such sentences.

HAN_CHARACTER = re.compile(f"[{HAN}]")
WORD = re.compile(rf"[^\W_{HAN}]+(?:['’.][^\W_]+)*")
#: Points that end no sentence.
ABBREVIATION = re.compile(r"\b(?:Drs?|Mrs?|Ms|St|Prof|vs|etc|e\.g|i\.e|a\.m|p\.m|approx)\.(?=\s)", re.IGNORECASE)
SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)]*(?=\s|$)|[。！？]+[”’」』）]*|\n+")

#: Frequent words of German, Dutch, French, Spanish, Portuguese and Italian that are none of English.
ABROAD = frozenset(
    """
    ich und der das ist nicht mit auch ein eine habe mir mich sehr wenn aber seit wir sie es zu
    het een niet ik ook maar heb zijn mijn
    je j'ai et le la les des une est pas que qui dans pour avec suis mon ma depuis vous c'est
    el los las una es por con para pero mi muy tengo desde estoy y
    o os uma não eu meu minha mais estou muito e
    il gli un di che non sono ho mio mia da molto perché
    """.split()
)

_START = r"(?:^|[.!?。！？]\s*)"
_AI = r"(?:ai\b|artificial intelligence|(?:large )?language model|virtual assistant|chatbot)"
_AI_ZH = "(?:AI|人工智能|(?:大型?)?(?:语言)?模型|虚拟助手|聊天机器人)"
_PROFESSIONAL = (
    r"(?:doctor|physician|gp|therapist|psychiatrist|psychologist|specialist"
    r"|(?:medical |healthcare |health care |mental health )?professional|(?:healthcare|health care) provider)\b"
)
#: What whoever was asked for a text offers.
_OFFERED = (
    r"(?:what (?:i think|i(?:'d|’d| would) say|the (?:patient|client)|a (?:patient|client)|you asked)"
    r"|how (?:the|a) (?:patient|client)"
    r"|(?:an?|the|my|your|one|some) (?:[\w-]+ ){0,3}?"
    r"(?:responses?|repl(?:y|ies)|answers?|messages?|versions?|drafts?|summary|explanation|overview|suggestions?|tips|steps))\b"
)
_MARK, _MARK_END = r"^\s*[\[*_(【（]*", r"[\])】）*_]*\s*[:：]"


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases), re.IGNORECASE | re.MULTILINE)


#: What a model thinks, aloud.
THINKING = _any(
    r"</?(?:think|thinking|reasoning|scratchpad)>",
    r"^\s*(?:reasoning|thoughts?|thought process|analysis|chain of thought)\s*:",
    r"^\s*(?:思考(?:过程)?|推理(?:过程)?|分析)\s*[:：]",
    r"\b(?:respond|reply|answer|stay) (?:in character|as (?:the|a|this) (?:patient|client)\b)",
    r"\bthe (?:patient|client|user) (?:would|should) (?:respond|reply|answer|say)\b",
    r"\bthe (?:user|clinician) (?:wants|is asking|asked) me to\b",
    "以(?:患者|病人|来访者)的(?:身份|口吻|角度)",
    "(?:这个)?(?:患者|病人)(?:应该|可能会)(?:这样|怎么|如何)?(?:回答|回复)",
)
#: The label of the other side, or of the patient's own, before words.
CLINICIAN_LABEL = _any(
    rf"{_MARK}(?:doctor|dr\.?(?: \w+)?|clinician|physician|therapist|counsell?or){_MARK_END}",
    rf"{_MARK}(?:nurse|interviewer|assistant){_MARK_END}",
    rf"{_MARK}(?:医生|大夫|医师|咨询师|治疗师|护士|助手){_MARK_END}",
)
PATIENT_LABEL = _any(
    rf"{_MARK}(?:patient|client|user|caregiver){_MARK_END}", rf"{_MARK}(?:患者|病人|来访者|家属|用户){_MARK_END}"
)
#: Gestures, tones, marks and slots that nobody filled.
STAGE = _any(
    r"(?<![\w*])\*{1,2}(?=\S)[^*\n]+\*",
    r"(?<!\w)_(?=\S)[^_\n]+_(?!\w)",
    r"\((?:\w+ly |long |short |brief |deep |takes? a |a |heavy |nervous )*"
    r"(?:pause|(?:sigh|paus|laugh|chuckl|nod|shrug|smil|frown|whisper|hesitat|fidget|winc|grimac|sob)(?:e?s|ing)?)\b[^()\n]*\)",
    r"\((?:\w+ly )?(?:looks?|looking|gaz(?:es|ing)|glanc(?:es|ing)) (?:down|away|up|at|around)\b[^()\n]*\)",
    r"\((?:softly|quietly|nervously|anxiously|hesitantly|tearfully|silence|in tears|tears up|tearing up"
    r"|(?:begins|starts) to cry|clear(?:s|ing) (?:his |her |their |my )?throat|voice (?:break|crack|trembl)\w*)\)",
    r"[（(][^（）()\n]{0,4}(?:叹气|叹了口气|沉默|停顿|点头|摇头|苦笑|微笑|哽咽|犹豫|皱眉|低头|小声|轻声|流泪|深呼吸)"
    r"[^（）()\n]{0,8}[）)]",
    r"\[[^\[\]\n]+\]",
    "【[^【】\n]+】",
)
_DECLINED = (
    r"\bi(?:['’]m| am) sorry,? (?:but )?i (?:can['’]t|cannot|can not|am not able to|am unable to|won['’]t) "
    r"(?:assist|comply|role-?play|continue (?:with )?this (?:role|conversation|request)|fulfil+ (?:this|that|your))",
    r"\bi(?:['’]m| am) sorry,? (?:but )?i (?:can['’]t|cannot) help (?:you )?with (?:that|this)(?: request)?[.!]?$",
    r"\bi (?:can['’]t|cannot|can not|am unable to|am not able to|won['’]t) "
    r"(?:role-?play|continue this role|pretend to be|provide medical (?:advice|diagnos)|assist with (?:that|this)\b)",
    "我(?:无法|不能)(?:扮演|提供医疗|满足(?:您|你)的(?:请求|要求)|协助(?:您|你)完成|继续(?:这个)?角色)",
)
#: A model that declines.
DECLINED = _any(*_DECLINED)
#: A model that says what it is, or declines.
MACHINE = _any(
    rf"\bas an? {_AI}",
    rf"\bi(?:['’]m| am) (?:just |only )?an? {_AI}",
    *_DECLINED,
    f"作为一?[个名款]?{_AI_ZH}",
    f"我(?:只)?是一?[个款]?{_AI_ZH}",
)
#: An answer to whoever asked for a text, in place of words in a conversation.
ASSISTANT = _any(
    r"\A\s*(?:sure(?: thing)?|certainly|of course|absolutely|great question|no problem)\s*[!,.:]\s*"
    rf"here(?:'s|’s| is| are) {_OFFERED}",
    rf"\A\s*here(?:'s|’s| is) {_OFFERED}",
    r"\bi(?:'d|’d| would) be happy to (?:help|assist) you\b",
    r"\blet me know if (?:you(?:'d|’d| would) like me to|there(?:'s|’s| is) anything else i can)\b",
    r"\bis there anything else i can (?:help|assist)(?: you)?\b",
    r"\A\s*(?:好的|当然)(?:可以)?[，,！!。:：]\s*(?:以下|下面)(?:是|为)",
    r"\A\s*(?:以下|下面)(?:是|为)(?:我|患者|病人|来访者)?的?(?:回答|回复|答复)",
)
#: Forms that nobody speaks in: objects, tags, fences, headings, tables.
FORM = _any(
    r"\A\s*(?:null|undefined|NaN)\s*\Z",
    r"\A\s*[\[{]\s*(?:[\[{\"'\d-]|[\]}]\s*\Z|(?:true|false|null)\b)",
    r"^\s*(?:```|~~~)",
    r"\{\s*\"[^\"\n]{1,60}\"\s*:",
    r"</?[A-Za-z][\w:-]*(?:\s+[\w:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*\s*/?>",
    r"<!(?:--|DOCTYPE\b|\[CDATA\[)|<\?xml\b",
    r"^\s*#{1,6}\s+\S",
    r"^\s*\|.*\|\s*$",
    r"\A\s*[\w.-]+\s*:\s*\|?\s*\n\s+[\w.-]+\s*:",
)
#: Words that nobody in the conversation could know of.
MADE_UP = _any(
    r"\b(?:the|this|my) (?:clinical )?vignette\b",
    r"\bsystem prompt\b",
    r"\b(?:the|this|my) prompt(?: (?:says|states|mentions|doesn't|does not|didn't)\b|[.,;:!?])",
    r"\b(?:the|this|my) case (?:description|says|states|mentions)\b",
    r"\bmy (?:system )?instructions (?:say|are|tell me|don't|do not)\b",
    r"\b(?:simulated|standardi[sz]ed|virtual) patient\b",
    r"\b(?:this|the|our) role-?play\b",
    r"\b(?:the|my) (?:persona|script) (?:says|states|mentions|doesn't|does not)\b",
    "病例(?:描述|中(?:没有|未)|里(?:没有|写))",
    "提示词",
    "根据(?:病例|设定|剧本|人设)",
    "我扮演的",
    "(?:模拟|标准化|虚拟)(?:病人|患者)",
)
#: A patient who helps, questions or advises the clinician.
HELPER = _any(
    r"\bhow (?:can|may|could) i (?:help|assist|support) you\b",
    r"\bwhat brings you (?:in|here)\b",
    r"\bi(?:'m| am) here to (?:help|listen to|support|assist) you\b",
    r"\bas your (?:doctor|clinician|therapist|physician|counsell?or|nurse|healthcare provider)\b",
    rf"{_START}i(?:'d| would)? (?:strongly )?(?:recommend|advise|suggest|encourage) (?:that )?you "
    r"(?:to )?(?:see|consult|seek|speak|talk|try|consider|monitor|keep|take|get|rest|schedule|make|continue|discuss)\b",
    rf"{_START}you (?:should|need to|may want to|might want to) (?:see|consult|speak (?:to|with)|talk to|contact) "
    rf"(?:a |an |your ){_PROFESSIONAL}",
    rf"{_START}it(?:'s| is) (?:important|essential) (?:for you )?(?:to|that you) (?:consult|seek)\b",
    r"\bhow long have you (?:been (?:having|experiencing|feeling)|had (?:these|this|the))\b",
    r"\bare you (?:currently )?taking any (?:medications?|medicines?)\b",
    r"\b(?:can|could) you (?:please )?(?:describe|tell me (?:more )?about) your "
    r"(?:symptoms?|pain|medical history|condition)\b",
    "有什么(?:我)?(?:可以|能)(?:够)?(?:帮助?|为)(?:到)?(?:您|你)",
    "我(?:可以|能)(?:怎么|如何|怎样|为|帮助?)(?:帮助?|为)?(?:您|你)",
    "作为(?:您|你)的(?:医生|咨询师|治疗师|护士)",
    "我(?:会|还|也)?建议(?:您|你)",
    "请(?:您|你)(?:及时|尽快|立即)就医",
    "(?:您|你)(?:哪里|哪儿)不舒服",
    "(?:您|你)的症状(?:有|是|持续|出现|多久)",
)
#: A patient who says that nothing is on their mind.
DENIES = _any(
    r"\A(?:oh,? |well,? |no,? )*nothing\b",
    r"\b(?:it(?:['’]s| is| was)|there(?:['’]s| is)) (?:really |just )?nothing\b",
    r"\bnothing(?: really)? (?:worries|bothers|troubles|frightens|scares|weighs on|is on my mind)\b",
    r"\bi(?:['’]m| am) not (?:\w+ ){0,2}(?:worried|worrying|afraid|scared|frightened|anxious|ashamed|concerned)\b",
    r"\bi (?:don['’]t|do not|never) (?:really )?(?:worry|fear|have (?:any )?(?:worries|fears|concerns|doubts))\b",
    r"\b(?:i have|i've|there are|with) no (?:\w+ )?(?:worries|fears|concerns|doubts)\b",
    r"\b(?:all|everything)(?:['’]s| is) (?:well|fine|good|ok|okay|all right|great)\b",
    r"\b(?:money|costs?|insurance|that|this) (?:is|are)(?: no|n['’]t an?| not an?| not the) (?:problem|issue|worry)\b",
)
#: A no to a question.
NO = _any(r"\A(?:oh,? |well,? |um,? )*(?:no|nope|not at all|not really|never|none)\b")
#: A greeting, and why somebody came: both together begin a conversation.
GREETING = _any(
    r"\A\s*(?:hello|hi|hey|good (?:morning|afternoon|evening))\b", r"\A\s*(?:(?:医生|大夫)[,，]?)?(?:您|你)好"
)
ARRIVAL = _any(
    r"\bi(?:'m| am) here (?:today )?(?:because|for|about)\b",
    r"\bi(?:'ve| have)? c[ao]me (?:in |here |in here )?(?:today )?(?:because|for|about)\b",
    "我(?:今天)?(?:是)?来(?:看|咨询|是因为)",
)


# -- What is wrong with a text as a message -------------------------------------------------------------

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
    stuck = text not in case_lines and sum(is_same(text, message) for message in earlier) >= STUCK
    fault = _form_fault(text, language) or (replace(_STUCK, fixed=manner) if stuck else manner)
    return None if fault is None else replace(fault, form=True)


_STUCK = Fault(
    "stuck", "You have said that several times in the same words. Answer what was said last, in other words."
)


#: What makes a text no message of a patient's, with the reason and what the patient is told, in this order.
_ROLE_FAULTS = (
    (THINKING, "leaked reasoning",
     "Your last reply held your reasoning. Write only the words that are said aloud."),
    (CLINICIAN_LABEL, "speaks for the clinician",
     "Your last reply held words of the clinician. Write only what you, the patient, say next."),
    (PATIENT_LABEL, "speaker label",
     "Your last reply named who speaks. Write only the words that are said aloud, without a name before them."),
    (MACHINE, "refusal",
     "Stay in your role: answer as this person would, in their own words."),
    (FORM, "form",
     "Your last reply was an object, code or marked-up text. Write only the words that are said aloud."),
    (ASSISTANT, "answers as an assistant",
     "Your last reply answered a request for a text. You are the person in the conversation: write only what they "
     "say next."),
    (MADE_UP, "speaks of the case",
     "Your last reply spoke of a case, a prompt or a role. To this person the conversation is real: answer in "
     "their own words."),
    (HELPER, "becomes the helper",
     "Your last reply helped or questioned the clinician as a helper would. You are the one who needs help: "
     "answer as this person would."),
    (STAGE, "stage directions",
     "Your last reply described gestures or used marks. Write only the words that are said aloud."),
)  # fmt: skip


def _form_fault(text: str, language: str) -> Fault | None:
    """What makes a text no message of a patient's."""
    if not any(character.isalnum() for character in text):
        return Fault("empty", "Your last reply held no words. Write your message.")
    for pattern, reason, objection in _ROLE_FAULTS:
        if pattern.search(text):
            return Fault(reason, objection)
    if _wrong_language(text, language):
        wanted = {"en": "English", "zh": "Chinese (中文)"}[language]
        return Fault("wrong language", f"Your last reply was not in {wanted}. Write it in {wanted}.")
    return None


def _manner_fault(text: str, earlier: Sequence[str], sentences: int | None, words: int | None) -> Fault | None:
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
    if (sentences is not None and sentence_count(text) > sentences) or (words is not None and word_count(text) > words):
        limits = [
            f"{limit} {noun if limit > 1 else noun[:-1]}"
            for limit, noun in ((sentences, "sentences"), (words, "words"))
            if limit is not None
        ]
        return Fault("too long", f"Your last reply was too long. Answer in at most {' and '.join(limits)}.", kept=True)
    return None


def denies(text: str, *, asked: bool) -> bool:
    """Whether a patient says, in English, that nothing is on their mind.

    Args:
        text: the message.
        asked: whether it answers a question after what is: then a no says so as well.
    """
    return bool(DENIES.search(text) or (asked and NO.search(text)))


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


def _wrong_language(text: str, language: str) -> bool:
    """Whether a message is surely in another language than English or Chinese; short ones may pass, and so may all
    where another one is spoken."""
    if language not in ("en", "zh"):
        return False
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
    return any(is_same(text, message) for message in earlier)


def is_same(text: str, message: str) -> bool:
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
