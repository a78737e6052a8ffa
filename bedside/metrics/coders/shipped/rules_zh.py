"""The rule coder for Chinese: finds questions in clinician turns and tells open from closed ones.

A turn is cut into sentences; each is read as a question or not, and the turn's last question decides, within it the
last sign of its kind. The lexicon holds function words and frames of asking; nothing in it is fitted.
"""

from __future__ import annotations

import re

from bedside.metrics.coders.contract import Coder, TurnCodes
from bedside.transcripts.transcript import Transcript

_SENTENCE = re.compile(r"[^。！!？?；;\n]+[。！!？?；;]*")
_END = "。！!？?；;，,、…~～ \t\"'“”‘’」』)）】"
_NOTE = re.compile(r"（[^（）]{0,60}）|\([^()]{0,60}\)|【[^【】]{0,60}】")

#: Alone they keep the talk going and ask nothing: 是吗？
_BACKCHANNEL = re.compile(r"(?:嗯+|哦+|噢|啊|呃|是吗|是吧|是么|对吧|对吗|真的吗|真的|好吧|这样啊|这样吗)")
#: Asks for an account, whatever frame stands round it: 能跟我说说吗？
_TELL = (
    r"(?:说说|说一说|说一下|谈谈|谈一谈|谈一下|讲讲|讲一讲|讲一下|聊聊|聊一聊|描述|形容|介绍|告诉我"
    r"|分享|详细说|具体说|多说|举个?例|展开说)"
)
_ACCOUNT = re.compile(
    r"(?:请|麻烦|能否|可否|可不可以|能不能|愿不愿意|愿意|方便|能|可以|想听|想请|想让|希望|跟我|和我|给我|向我|您先|你先|您再|你再)"
    rf"[^，。？?]{{0,12}}?{_TELL}"
)
#: The same in a statement only where it can't be meant as an offer (您可以随时告诉我).
_ACCOUNT_STATED = re.compile(rf"(?:请|麻烦|能否|可否|可不可以|能不能|想听|想请|想让|希望)[^，。？?]{{0,12}}?{_TELL}")
#: 如果有这样的念头，请告诉我: an offer for later.
_OFFER = re.compile(r"(?:，|,)?(?:如果|假如|要是|若|一旦|当|有任何|任何时候|随时)")
#: The clinician proposes to talk: 我们先聊聊睡眠，好吗？
_TOGETHER = re.compile(rf"(?:我们|咱们)[^，。？?]{{0,12}}?{_TELL}")

#: A verb and its denial: 是不是, 有没有, 想不想, 可不可以, 喜不喜欢.
_A_NOT_A = r"(?:(?P<verb>[\u4e00-\u9fff])[不没](?P=verb)|可不可以|能否|是否|可否|有无)"
#: Before it, or before a question word, nothing is asked: 不知道是不是, 看看有没有.
_INDIRECT = re.compile(
    r"(?:不知道|不清楚|不确定|不管|无论|不论|看看|看一下|取决于|了解一下?|确认|判断|评估|检查|知道|明白|记录|告诉(?:您|你))[^，。]{0,14}$"
)
#: The answer is an amount, a time, a name or one of a few.
_MEASURED = (
    r"(?:多少|多久|多长|多大|多高|多重|多频繁|多远|第几|几(?!乎|率|何)|什么时候|何时|什么时间|什么日子|谁"
    r"|哪(?:一|几|两)?(?:天|年|月|周|个|位|种|家|类|项|次|边|里人|科|所|级|门)|打几?分|几分)"
)
#: The answer is an account.
_WIDE = r"(?:什么(?!时候|时间|日子)|怎么样?|怎样|如何|为何|为什么|为啥|咋|啥|哪些|哪方面|哪里|哪儿|何以)"
#: These words without a question: 没什么, 什么都, 怎么也, 多少有点.
_INDEFINITE = re.compile(
    r"(?<!有)(?:没有?|不是|不|任何)(?:什么|怎么|多少|几)|(?:什么|怎么|谁|哪里|哪儿|多少)(?:都|也)|多少(?:有点|有些|会)|什么的|怎么说呢|(?:好|十)几|几(?:十|百|分钟后)"
)
#: Invites to add: 还有什么想说的吗？
_MORE = re.compile(
    r"(?:还有|有没有|有)(?:没有)?(?:什么|哪些|任何)?(?:其他|其它|别的|补充|想问|要问|想说|想补充|疑问)"
    r"[^，]{0,8}(?:[吗呢]|$)"
)
#: In these a question word means any, not which: 有没有什么不舒服？
_WHETHER = re.compile(r"(?:有没有|会不会|是不是|是否|有无)[^，]*$")
_CHOICE = re.compile(
    r"(?:是|要|想|会)[^，。？?]{0,20}，?还是[^？?]{1,}|(?:比如|例如)?[^，。？?]{1,15}，?还是(?!会|很|觉得|没|不|有)[^？?]{1,}"
)
_TAG = re.compile(r"(?:对|是|好|行|可以|没错|成)(?:吗|吧|么|不对|不好|不行)$")

_SIGN = re.compile(
    rf"(?P<measured>{_MEASURED})|(?P<wide>{_WIDE})|(?P<closed>{_A_NOT_A})|(?P<particle>吗(?=$|[，,、 ])"
    r"|(?<![什怎这那多])[么嘛]$)|(?P<topic>呢$)"
)
_ENDS_ASKING = re.compile(rf"(?:[吗]|(?:{_WIDE}|{_MEASURED})(?:[\u4e00-\u9fff]{{0,2}}呢|呢|呀|啊|了|的)?)$")
_STARTS_ASKING = re.compile(r"^(?:那么?|所以|但是?|嗯|好的?|您|你|，)*(?:为什么|为何|怎么会)")


def _sentence(body: str, marked: bool) -> str | None:
    """``open`` or ``closed`` for a sentence that asks something, else None."""
    if _BACKCHANNEL.fullmatch(body):
        return None
    together = _TOGETHER.search(body)
    told = _ACCOUNT.search(body) if marked else not _OFFER.match(body) and _ACCOUNT_STATED.search(body)
    if told and not together:
        return "open"
    return _type(body) if marked or _asks(body) else None


def _asks(body: str) -> bool:
    """Whether a sentence without a question mark asks, by its words."""
    plain = _INDEFINITE.sub("", body)
    if _ENDS_ASKING.search(plain) or _STARTS_ASKING.search(plain):
        sign = list(_SIGN.finditer(plain))
        return not (sign and _INDIRECT.search(plain[: sign[-1].start()]) and not plain.endswith("吗"))
    return any(
        not _INDIRECT.search(plain[: found.start()]) for found in re.finditer(_A_NOT_A, plain)
    ) and not plain.startswith(("我", "如果"))


def _type(body: str) -> str:
    """``open`` or ``closed``, by the last sign in the question."""
    if _TAG.search(body):
        return "closed"
    if _MORE.search(body):
        return "open"
    if _CHOICE.search(body) and not re.search(rf"还是{_WIDE}", body):
        return "closed"
    plain = _INDEFINITE.sub("", body)
    signs = list(_SIGN.finditer(plain))
    # 呢 softens another question, or asks about a topic by itself: 睡眠呢？
    if len(signs) > 1 and signs[-1]["topic"]:
        signs.pop()
    if not signs:
        return "closed"
    last = signs[-1]
    account = last["topic"] or (last["wide"] and not _WHETHER.search(plain[: last.start()]))
    return "open" if account else "closed"


def question(text: str) -> str:
    """The question code of one clinician turn: ``none``, ``open`` or ``closed``, by its last question."""
    label = "none"
    for match in _SENTENCE.finditer(_NOTE.sub("", text)):
        piece = match[0].rstrip(" \t\"'”’」』)）】")
        body = match[0].strip(_END)
        if body:
            label = _sentence(body, piece.endswith(("？", "?"))) or label
    return label


_LANGUAGES = ("zh", "cmn")
_HAN = re.compile(r"[\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")


def _code(transcript: Transcript) -> TurnCodes:
    return {turn.index: {"question": question(turn.text)} for turn in transcript.of("clinician")}


def _refuses(transcript: Transcript) -> str | None:
    if transcript.language is not None:
        if re.split("[-_]", transcript.language.strip().lower())[0] in _LANGUAGES:
            return None
        return f"made for Chinese; the transcript's language is {transcript.language}"
    some = " ".join(turn.text for turn in transcript.of("clinician"))[:1500]
    if 2 * len(_HAN.findall(some)) < len(_LETTER.findall(some)):
        return "made for Chinese; the text is not in Chinese characters"
    return None


CODER = Coder(
    name="rules_zh",
    title="rule coder for questions in Chinese",
    description=(
        "Finds questions in Chinese clinician turns and tells open from closed ones by their words: particles, verbs "
        "with their denial (是不是, 有没有), question words, amounts, choices and requests for an account. The turn's "
        "last question decides. It gives no other code."
    ),
    version="1",
    codes=("question",),
    source="Lexicon and rules of this project; question types as in MITI 4.2.1 (Moyers et al. 2014).",
    code=_code,
    refuses=_refuses,
    languages=_LANGUAGES,
)
