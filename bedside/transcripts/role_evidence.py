"""Who of those who speak is the clinician and who the patient, by the way they talk: a small logistic regression.

Logs of simulated patients call the patient ``assistant``, for he is played by the model: read as usual, clinician and
patient would be exchanged, and every number would be about the wrong side. What prompts say tells it too.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple

import orjson

from bedside.core.errors import AmbiguousError
from bedside.transcripts.transcript import ROLE_ALIASES, THIRD_WORDS, Role, Turn, plain_name

#: What sides say, by kind: words of English, German, Spanish, French and Arabic, and pieces of Chinese, Korean and
#: Japanese, which have no spaces or endings between words. A phrase is looked for as it stands.
WORDS: Mapping[str, str] = {
    "of oneself": """
        i i'm i've i'd i'll im ive my me myself mine ich mich mir mein meine meinen meiner yo mi mis conmigo estoy tengo
        soy je j'ai mon ma mes moi أنا عندي لدي لي 我 저는 제가 저도 나는 내가 私 僕 俺
    """,
    "to the other": """
        you your you're you've you'd you'll yours yourself ihnen ihre ihr ihren du dich dir dein deine usted ustedes
        te tu tus su vous votre vos tu ton ta أنت لك لديك عندك 你 您 당신 あなた
    """,
    "together": "we let's us our lets wir uns unsere nosotros nous notre نحن 我们 咱们 우리 一緒に",
    "asking": """
        how what when where which who why tell describe any ever have_you do_you are_you did_you does_it could_you_tell
        can_you_tell wie was wann wo welche haben_sie sind_sie qué cómo cuándo dónde cuál tiene comment quand quel
        quelle avez-vous êtes-vous كيف متى هل ماذا 什么 怎么 吗 多久 哪 有没有 是否
        어떻게 언제 무엇 있나요 ですか ますか いつ どう
    """,
    "asking for help": """
        can_you could_you please write explain give_me show_me make translate list help_me should_i can_i what_should
        how_do_i how_can_i how_to what_is what_are ideas story joke summarize i_want i_need 我该
        怎么办 请你 帮我 请问 我想 我需要 该怎么 bitte podría puede
        pouvez-vous من_فضلك 해주세요 ください
    """,
    "advice": """
        should try recommend suggest important consider could might helpful may avoid start practice step plan follow
        prescribe schedule examine exam refer increase dose sollten könnten empfehle versuchen debería recomiendo
        intente importante devriez conseille essayez important يجب أنصحك حاول 建议 可以 尝试 试着 需要 应该 注意 帮助
        方法 하세요 좋습니다 しましょう ましょう
    """,
    "listening": """
        sounds seems understand hear appreciate sharing feelings glad sorry_to_hear makes_sense sounds_like it_seems
        thank_you_for how_does_that klingt verstehe entiendo parece comprends semble أفهم 听起来 理解 感受 感谢你 似乎
        明白 能感觉到 不容易 이해 そうですね わかります
    """,
    "feeling and complaint": """
        feel felt pain tired anxious afraid scared worried sad depressed can't hate cry crying stressed lonely hurts
        angry ache sick lost overwhelmed don't_know schmerzen müde angst traurig dolor cansado cansada miedo triste
        douleur fatigué fatiguée peur ألم تعب خوف حزين 难受 焦虑 害怕 担心 不知道 压力 痛 睡不着 难过 觉得 累 烦 아파
        힘들 痛い つらい 不安
    """,
    "story": """
        was had were went because just really so but then got said told been didn't couldn't wasn't still he she they
        him her their war hatte weil aber fue tenía porque pero étais avais parce mais كان لأن 因为 但是 但 就 总是
        他 她 했어요 でした けど
    """,
    "answering": "yes yeah no yep nope nein oui non sí لا نعم 是的 嗯 没有 对 네 아니요 はい いいえ",
    "going on": "okay ok alright right good great mm-hmm mhm sure gut bien bueno حسنا 好的 좋아요 では",
    "thanks": "thank thanks danke gracias merci شكرا 谢谢 感谢 감사 ありがとう",
    "calling a clinician": "doctor dr doc herr_doktor frau_doktor docteur doctora دكتور 医生 老师 咨询师 선생님 先生",
    "working for others": """
        here's certainly assist happy_to i_cannot overall additionally ensure provide however 当然 首先 其次 此外 总之
    """,
    "of machines": """
        ai chatgpt gpt openai robot robots bot chatbot language_model programmed computer internet website code data
        information software answer question text sentence example examples 人工智能 模型 代码 问题是 例如
    """,
}  # fmt: skip

#: What is measured of a side besides: by turns that ask, by turns of several lines, by how long turns are.
MEASURES: tuple[str, ...] = (*WORDS, "turns that ask", "turns of several lines", "words a turn")

#: Probability that the assistant of a log is the patient from which reading stops; and the same where a side has fewer
#: than so many turns.
STOP, STOP_EARLY, FEW = 0.65, 0.9, 3
#: Probability that the user is the clinician rather than the patient, from which reading stops: of what is like neither
#: kind of log, the first one says little.
STOP_SIDE = 0.8
#: Probability from which a role is as good as told.
SURE = 0.9

#: Words and turns of an average side that each side is taken to have said besides, so that little tells little.
_WORDS_BESIDE, _TURNS_BESIDE = 40.0, 1.5
_USUAL_ASKING, _USUAL_LINES, _USUAL_LENGTH = 0.4, 0.07, 13.0
#: Most turns of a side that are looked at, and letters of the beginning and of the end of each.
_MOST_TURNS, _EDGE = 40, 200
#: Log odds of what is as good as sure.
_SUREST = 6.9
#: Log odds that the only other one is the side that is lacking.
_ALONE = 3.0
#: Letters a word in scripts without spaces, on average.
_LETTERS = 1.6

#: By how much the rate of speaking to the other, less that of speaking of oneself, is higher in the clinician's text
#: than in the patient's where nothing speaks for an exchange, by letters.
_CLEAR = 0.01
#: Least turns of each side of a log that is looked at, and letters of both.
_LEAST_TURNS, _LEAST_LETTERS = 2, 60
#: Letters of both sides from which that is enough to see, and most letters of a side's beginning that are looked at.
_ENOUGH, _BEGINNING = 500, 600

_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_WORD = re.compile(
    r"[^\W\d_\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]+(?:['-][^\W\d_\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]+)*"
)
# The same words of text in ASCII, which is searched far more quickly.
_ASCII_WORD = re.compile("[a-z]+(?:['-][a-z]+)*")


class _Lexicon(NamedTuple):
    """Position of each kind in :data:`WORDS` by words, by phrases' first words, and by pieces of unspaced text."""

    words: Mapping[str, Sequence[int]]
    phrases: Mapping[str, Sequence[tuple[str, int]]]
    pieces: Sequence[tuple[str, int]]


@cache
def _lexicon() -> _Lexicon:
    words: dict[str, list[int]] = {}
    phrases: dict[str, list[tuple[str, int]]] = {}
    pieces: list[tuple[str, int]] = []
    for kind, said in enumerate(WORDS.values()):
        for word in said.split():
            if _UNSPACED.search(word):
                pieces.append((word, kind))
            elif "_" in word:
                phrases.setdefault(word.partition("_")[0], []).append((f" {word.replace('_', ' ')} ", kind))
            else:
                words.setdefault(word, []).append(kind)
    return _Lexicon(words, phrases, pieces)


def counts(texts: Sequence[str]) -> tuple[list[int], float]:
    """How often a side says words of each kind, and how many words it says in all."""
    edges = (text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}" for text in texts[:_MOST_TURNS])
    text, lexicon = "\n".join(edges).casefold().replace("’", "'"), _lexicon()
    words = (_ASCII_WORD if text.isascii() else _WORD).findall(text)
    said = [0] * len(WORDS)
    by_word = Counter(words)
    for word in by_word.keys() & lexicon.words.keys():
        for kind in lexicon.words[word]:
            said[kind] += by_word[word]
    line = f" {' '.join(words)} "
    for word in by_word.keys() & lexicon.phrases.keys():
        for phrase, kind in lexicon.phrases[word]:
            said[kind] += line.count(phrase)
    unspaced = 0 if text.isascii() else len(_UNSPACED.findall(text))
    if unspaced:
        for piece, kind in lexicon.pieces:
            said[kind] += text.count(piece)
    return said, len(words) + unspaced / _LETTERS


def measures(texts: Sequence[str], usual: Sequence[float]) -> list[float]:
    """:data:`MEASURES` of what a side says.

    Args:
        texts: its turns.
        usual: how often words of each kind are said, as shares of all words.
    """
    said, length = counts(texts)
    turns = texts[:_MOST_TURNS]
    asking = len(turns) * _asking(turns)
    lines = sum("\n" in text.strip() for text in turns)
    beside = len(turns) + _TURNS_BESIDE
    return [
        *(
            math.sqrt((times + _WORDS_BESIDE * share) / (length + _WORDS_BESIDE))
            for times, share in zip(said, usual, strict=True)
        ),
        math.sqrt((asking + _TURNS_BESIDE * _USUAL_ASKING) / beside),
        math.sqrt((lines + _TURNS_BESIDE * _USUAL_LINES) / beside),
        math.log((length + _TURNS_BESIDE * _USUAL_LENGTH) / beside),
    ]


class Model(NamedTuple):
    """What ``tools/make_role_evidence.py`` learned.

    Attributes:
        usual: how often words of each kind are said, as shares of all words.
        assistant: weight of each measure of the assistant for it being the patient.
        user: weight of each measure of the user for the same.
        intercept: log odds where all measures are 0.
    """

    usual: Sequence[float]
    assistant: Sequence[float]
    user: Sequence[float]
    intercept: float

    def exchanged(self, assistant: Sequence[float], user: Sequence[float]) -> float:
        """Log odds that the assistant of a log is the patient whom the user asks, by their measures."""
        weighed = map(math.prod, zip(chain(self.assistant, self.user), chain(assistant, user), strict=True))
        return self.intercept + sum(weighed)

    def clinician(self, one: Sequence[float], other: Sequence[float]) -> float:
        """Log odds that one of two is the clinician and the other the patient, by their measures."""
        return (self.exchanged(other, one) - self.exchanged(one, other)) / 2


@cache
def model() -> Model:
    """The model that is shipped."""
    learned = orjson.loads(files("bedside.transcripts").joinpath("role_evidence.json").read_bytes())
    weights = learned["weights"]
    assistant, user = ([weights[name][of] for name in MEASURES] for of in ("assistant", "user"))
    return Model([learned["usual"][kind] for kind in WORDS], assistant, user, learned["intercept"])


def probability(log_odds: float) -> float:
    """The probability, at most 0.999: a way of talking proves nothing."""
    return 1 / (1 + math.exp(-max(-_SUREST, min(_SUREST, log_odds))))


def exchanged(assistant: Sequence[str], user: Sequence[str]) -> float | None:
    """Probability that the assistant of a log is the patient whom the user asks, where that is high enough to stop.

    Args:
        assistant: texts of the assistant's turns.
        user: texts of the user's turns.
    """
    if not may_be_exchanged(assistant, user):
        return None
    learned = model()
    of_assistant, of_user = measures(assistant, learned.usual), measures(user, learned.usual)
    likely = probability(learned.exchanged(of_assistant, of_user))
    if likely < (STOP if min(len(assistant), len(user)) >= FEW else STOP_EARLY):
        return None
    return likely if probability(learned.clinician(of_user, of_assistant)) >= STOP_SIDE else None


def may_be_exchanged(assistant: Sequence[str], user: Sequence[str]) -> bool:
    """Whether a log is worth measuring: to count all words takes longer than all the rest of reading.

    It is not of one turn a side or a few words, for who refuses to answer speaks of himself too. Nor where the
    assistant clearly speaks to the user, and the user of himself. Nor where the assistant never says a word of himself
    and most of the user's turns don't ask: then they set a task.
    """
    if min(len(assistant), len(user)) < _LEAST_TURNS:
        return False
    letters = sum(map(len, chain(assistant, user)))
    if letters < _LEAST_LETTERS or (
        letters > _ENOUGH and _towards(_beginning(assistant)) - _towards(_beginning(user)) > _CLEAR
    ):
        return False
    return _asking(user) > 0.5 or any(counts([text])[0][0] for text in assistant[:_MOST_TURNS])


def _beginning(texts: Sequence[str]) -> str:
    text = texts[0]
    for more in texts[1:]:
        if len(text) >= _BEGINNING:
            break
        text = f"{text}\n{more}"
    return text[:_BEGINNING]


def _towards(text: str) -> float:
    """How often a text speaks to the other rather than of oneself, by letters."""
    of_other: float = text.count("you")
    of_oneself: float = text.count("I")
    if not text.isascii():
        of_other += 2.5 * (text.count("你") + text.count("您"))
        of_oneself += 2.5 * text.count("我")
    return (of_other - of_oneself) / max(1, len(text))


def _asking(texts: Sequence[str]) -> float:
    asking = [1 for text in texts if "?" in text or (not text.isascii() and ("？" in text or "؟" in text))]
    return len(asking) / len(texts)


# Words within a name. A guest of the patient is a third, so that thirds go before all others.
_IN_NAMES: Mapping[str, Role] = {
    **ROLE_ALIASES,
    **dict.fromkeys(("doc", "md", "gp", "ther", "psy", "couns", "clin"), "clinician"),
    "cl": "patient",
    **dict.fromkeys(THIRD_WORDS, "other"),
}
_NAME_WORD = re.compile(r"[A-Z]?[a-zà-ÿœ]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Zà-ÿœ]+")


def role_in_name(name: str) -> Role | None:
    """The role that a word of a speaker's name says; None where none does."""
    words = (name.strip(), *_NAME_WORD.findall(name))
    roles = [_IN_NAMES[word] for word in map(str.casefold, words) if word in _IN_NAMES]
    return "other" if "other" in roles else roles[0] if roles else None


def names_speaker(name: str) -> bool:
    """Whether a name is of words for those who speak and of nothing else: ``guest_family``, ``Doctor 2``."""
    words = _NAME_WORD.findall(name)
    return bool(words) and all(word.casefold() in _IN_NAMES for word in words)


def role_evidence(
    turns: Mapping[str, Sequence[str]], known: Mapping[Role, Sequence[str]] | None = None
) -> dict[str, tuple[Role, float]]:
    """The likeliest role of each speaker whom nothing told, with its probability.

    A word of the name goes first (``Mother``, ``Dr Kim``). Of two speakers, how they talk decides; of more, how each
    talks beside all others. Who speaks beside one known side is most likely the other. Beside both, nothing but the
    name tells a third, so that the probability is low.

    Args:
        turns: texts of each speaker's turns in one conversation.
        known: texts of the turns of those whose role is known, by their role.
    """
    said: dict[Role, list[str]] = {role: list(texts) for role, texts in (known or {}).items()}
    guesses: dict[str, tuple[Role, float]] = {}
    by_name = {name: role for name in turns if (role := role_in_name(name)) is not None}
    for name, role in by_name.items():
        guesses[name] = role, probability(_SUREST)
        said.setdefault(role, []).extend(turns[name])
    sides: tuple[Role, Role] = ("clinician", "patient")
    lacking = [side for side in sides if not said.get(side)]
    thirds = [name for name, role in by_name.items() if role == "other"]
    if len(thirds) == len(lacking) == 1 and len(guesses) == len(turns):
        # Nobody else is there for that side: a student asks the patient, a mother speaks for her child.
        del guesses[thirds[0]]
    rest = [name for name in turns if name not in guesses]
    learned = model()
    for name in rest:
        own = measures(turns[name], learned.usual)
        if not lacking:
            guesses[name] = "other", 0.5
            continue
        if len(lacking) == 1:
            other = said["patient" if lacking[0] == "clinician" else "clinician"]
        else:
            other = [text for one in rest if one != name for text in turns[one]]
        if not other:
            guesses[name] = "clinician", 0.5
            continue
        odds = learned.clinician(own, measures(other, learned.usual))
        if len(lacking) == 1:
            of_side = odds if lacking[0] == "clinician" else -odds
            guesses[name] = lacking[0], probability(of_side + (_ALONE if len(rest) == 1 else 0))
        else:
            guesses[name] = ("clinician", probability(odds)) if odds >= 0 else ("patient", probability(-odds))
    return guesses


# -- logs of language models, and roles that a file names ----------------------------------------------

#: Names in logs of language models, in lower case, of who asks the model, and of the model.
USERS = frozenset(("user", "human", "prompter"))
MODELS = frozenset(("assistant", "gpt", "chatgpt", "ai", "bot", "model"))
#: Keys beside the messages, without case and underscores, of what may tell whom the model plays, besides those of
#: prompts; and what a text under them goes on from.
PART_KEYS: Mapping[str, str] = {
    **dict.fromkeys(("instructions", "instruction", "persona", "character"), ""),
    **dict.fromkeys(("chatbotrole", "botrole", "assistantrole", "modelrole"), "You are "),
}

# How a message begins that may be such an instruction; to look for it in every one takes long.
_INSTRUCTS = re.compile(
    r"\W*(?:you(?:['’]re| are| will)|from now|your (?:role|task)|persona\b|the user (?:is|will)|du bist|sie sind|"
    r"tu es|vous êtes|eres|usted es|você é|(?:tu )?sei un|ты|вы|أنت|あなたは|당신은|너는|你是|您是|"
    r"请|請|現在|现在|假|扮演|模拟|"
    r"(?:please |now |can you |i want you to |i['’]d like you to |bitte |stell dir vor |por favor )*"
    r"(?:act|be my|behave|respond|role|play|take|pretend|recita|simulate|imagine|"
    r"spiel|simulier|übernimm|joue|agis|simule|incarne|"
    r"actúa|haz de|interpreta|finge|aja|atue))",
    re.IGNORECASE,
)
# Keys of a turn's other names.
_NAME_KEYS = frozenset(
    spelt
    for key in ("name", "role", "from", "speaker", "sender", "author")
    for spelt in (key, key.title(), key.upper())
)


_SIDES = {
    **dict.fromkeys(USERS, "user"),
    **dict.fromkeys(MODELS, "model"),
    **dict.fromkeys(("system", "developer"), "system"),
}
_LOG_SIDES: Mapping[str, Role] = {**dict.fromkeys(USERS, "patient"), **dict.fromkeys(MODELS, "clinician")}


@lru_cache(maxsize=1024)
def log_sides(names: frozenset[str]) -> Mapping[str, str]:
    """The side of each name that is one of a model's log, as :data:`_SIDES` says."""
    return {name: side for name in names if (side := _SIDES.get(plain_name(name)))}


def check_roles(
    speakers: Sequence[str],
    texts: Sequence[Any],
    mapping: Mapping[str, str],
    where: str,
    instructions: Sequence[str] = (),
) -> None:
    """Stop where the model seems to play the patient and the user did not say who is who.

    Args:
        speakers: of the messages, such as ``user``, ``assistant`` and ``system``.
        texts: of the messages.
        mapping: the roles that the user gave.
        where: the transcript's place.
        instructions: what the model was told beside them.

    Raises:
        AmbiguousError: both readings are possible.
    """
    sides = log_sides(frozenset(speakers))
    names = {side: name for name, side in sides.items()}
    if not names.keys() >= {"user", "model"} or any(plain_name(name) in _SIDES for name in mapping):
        return
    said: dict[str, list[str]] = {"system": [*instructions], "user": [], "model": []}
    for speaker, text in zip(speakers, texts, strict=True):
        if speaker in sides and isinstance(text, str):
            said[sides[speaker]].append(text)
    reason = _sign(said) if said["user"] else None
    if reason:
        user, model = names["user"], names["model"]
        raise AmbiguousError(
            f"in this conversation the {model} may be the patient: {reason}",
            where=where,
            todo=f"say who is who with `roles={model}=patient,{user}=clinician`, or with "
            f"`roles={model}=clinician,{user}=patient`",
        )


def _sign(said: Mapping[str, Sequence[str]]) -> str | None:
    """What speaks for it, as the end of a sentence; None where nothing does."""
    from bedside.transcripts.told_roles import told_role

    # Some write the instruction as the first message of the user.
    first = said["user"][0]
    prompts = [*said["system"], first] if _INSTRUCTS.match(first) else said["system"]
    told = {*map(told_role, prompts)}
    if "patient" in told:
        return "the instructions tell it to be one"
    if "clinician" in told:
        return None
    likely = exchanged(said["model"], said["user"])
    return None if likely is None else f"it talks like one (probability {math.floor(100 * likely)}%)"


def check_labels(
    labels: Sequence[str], turns: Sequence[Turn], mapping: Mapping[str, str], where: str, *, own: bool = False
) -> None:
    """Stop where the labels of a model's log and those of people in one conversation don't agree on who is who.

    Args:
        labels: the names that told the roles of the turns.
        turns: the turns.
        mapping: the roles that the user gave.
        where: the transcript's place.
        own: whether the form is bedside's own, whose word for a role goes before all else.

    Raises:
        AmbiguousError: both are called the same side, or contrary sides.
    """
    said = {plain_name(key) for key in mapping}
    names = frozenset(labels)
    for label, person in _doubled(names):
        if said.isdisjoint((plain_name(label), plain_name(person))):
            raise AmbiguousError(
                f"{label!r} and {person!r} both speak, and either may be the {_LOG_SIDES[plain_name(label)]}",
                where=where,
                todo=f"say with `roles={label}=ROLE` who {label!r} is: clinician, patient or other",
            )
    # Most conversations have none: this is done for all that is read.
    metas = [] if own and not log_sides(names) else [turn.meta for turn in turns if turn.meta]
    if not metas:
        return
    beside: dict[tuple[str, Role], set[str | None]] = {}
    for key in _NAME_KEYS.intersection(chain.from_iterable(metas)):
        named_so = {
            (label, turn.role, name if isinstance(name := turn.meta.get(key), str) else None)
            for label, turn in zip(labels, turns, strict=True)
        }
        for label, role, name in named_so:
            beside.setdefault((label, role), set()).add(name)
    contrary: dict[str, tuple[Role, Role, str]] = {}
    for (label, role), others in sorted(beside.items()):
        if plain_name(label) in said or role == "other":
            continue
        side = _LOG_SIDES.get(plain_name(label))
        for other in sorted(filter(None, others)):
            if plain_name(other) in said:
                continue
            is_third = not THIRD_WORDS.isdisjoint(map(str.casefold, _NAME_WORD.findall(other)))
            named = _named_side(other) if side else None if own else _LOG_SIDES.get(plain_name(other))
            if named is not None and named != role:
                contrary[label] = role, named, other
            elif side == "patient" and len(others) > 1 and is_third:
                raise AmbiguousError(
                    f"{other!r} speaks as {label!r} too, and may be no patient",
                    where=where,
                    todo=f'say who that is with `roles="{other}"=other` or `roles="{other}"=patient`',
                )
    if contrary:
        label, (role, named, other) = next(iter(contrary.items()))
        as_read = ",".join(f"{name}={role}" for name, (role, _, _) in contrary.items())
        as_named = ",".join(f"{name}={named}" for name, (_, named, _) in contrary.items())
        raise AmbiguousError(
            f"{label!r} says {role}, and {other!r} of the same turn {named}",
            where=where,
            todo="say who is who with `roles={}`, or with `roles={}`".format(
                *((as_named, as_read) if plain_name(label) in _LOG_SIDES else (as_read, as_named))
            ),
        )


@lru_cache(maxsize=1024)
def _doubled(names: frozenset[str]) -> Sequence[tuple[str, str]]:
    """Pairs of a log's label and a name of people that say the same side."""
    people = {name: role for name in names if (role := _person(plain_name(name)))}
    sides = {name: _LOG_SIDES.get(plain_name(name)) for name in sorted(names)}
    return [(label, name) for label, side in sides.items() for name, role in people.items() if role == side]


def _person(name: str) -> Role | None:
    """The role that a name of people says, in lower case; None of those of a model's log."""
    return None if name in _SIDES else ROLE_ALIASES.get(name)


def _named_side(name: str) -> Role | None:
    """The one side that words of a person's name say."""
    words = (plain_name(name), *map(str.casefold, _NAME_WORD.findall(name)))
    sides = {role for word in words if (role := _person(word)) in ("clinician", "patient")}
    return sides.pop() if len(sides) == 1 else None


def look_swapped(turns: Sequence[Turn]) -> bool:
    """Whether the clinician talks like the patient, and the patient like the clinician, as surely as reading stops at a
    log of a model for it. Of such logs themselves that is asked when they are read: see :func:`check_roles`."""
    names = {*map(str.casefold, {turn.speaker for turn in turns})}
    if not (USERS.isdisjoint(names) or MODELS.isdisjoint(names)):
        return False
    asks, tells = ([turn.text for turn in turns if turn.role == side] for side in ("clinician", "patient"))
    # To see that all is as it nearly always is takes hardly any time beside reading.
    if not (asks and tells) or _asking(asks) > _asking(tells) or _towards("\n".join(asks)) > _towards("\n".join(tells)):
        return False
    return exchanged(asks, tells) is not None
