"""The rule coder for Chinese, on sentences written and labelled by hand for this project, and its share on MDD-5k."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bedside.metrics import FAMILIES
from bedside.metrics.coders.contract import CODERS
from bedside.metrics.coders.shipped.rules_zh import question
from bedside.transcripts.reading import read_transcripts
from bedside.transcripts.transcript import Transcript

OPEN = (
    "今天是什么让您想来看医生？",
    "最近睡得怎么样？",
    "您觉得这和工作有什么关系呢？",
    "为什么会这样想？",
    "那天晚上发生了什么",
    "遇到这种情况您一般怎么办？",
    "您平时怎么放松自己？",
    "能跟我说说那时候的感受吗？",
    "请您描述一下这种难受的感觉。",
    "可不可以谈谈您和家人的相处？",
    "想听您具体说说最近的情况。",
    "麻烦您介绍一下家里的情况。",
    "还有什么想补充的吗？",
    "有没有其他让您担心的事？",
    "睡眠呢？",
    "您怎么看呢？",
    "哪些事情会让您开心一点？",
    "您是如何走过那段时间的？",
    "您在哪里觉得最安心？",
    "有人陪您吗？那时候您心里是什么滋味？",
    "听上去很辛苦。后来怎么样了？",
    "您为什么不愿意去上班呢？",
    "您希望治疗给您带来怎样的变化？",
    "这种情绪低落，您自己怎么理解？",
)
CLOSED = (
    "您一个人住吗？",
    "您一个人住吗",
    "最近有没有哭过？",
    "您是不是经常醒来",
    "您会不会突然心慌？",
    "您愿不愿意试一试？",
    "您每天睡几个小时？",
    "这样持续多久了？",
    "您今年多大？",
    "什么时候开始的？",
    "您和谁住在一起？",
    "哪一天最难受？",
    "是入睡困难，还是容易早醒？",
    "您喜欢早上运动还是晚上运动？",
    "一到十分，您给自己的心情打几分？",
    "您已经两周没出门了，对吧？",
    "药是饭后吃的，是吗？",
    "我们先聊聊睡眠，好吗？",
    "您有什么爱好吗？",
    "您是否有过伤害自己的念头？",
    "所以您打算休息一阵？",
    "最近怎么样，胃口还好吗？",
    "您体重掉了多少呢？",
    "有没有失眠？",
    "您吃过什么药吗？",
    "这段时间有没有觉得心里发慌呢？",
    "他这样做对您有没有什么影响呢？",
    "有特别的原因吗，比如换了工作？",
)
NONE = (
    "嗯。",
    "是吗？",
    "对吧？",
    "我明白，您这段时间很不容易。",
    "听起来您心里有很多委屈。",
    "没什么大问题，您放心。",
    "无论发生什么，我们都会陪着您。",
    "您可以随时告诉我。",
    "我不知道是不是药的关系。",
    "我们先看看有没有好转。",
    "谢谢您告诉我这些。",
    "我来解释一下怎么吃药。",
    "多少有点累是正常的。",
    "那就先这样，下周再见。",
    "……",
    "（点头）",
    "几乎每个人都会有这样的时候。",
    "不管怎么样，先把觉睡好。",
    "如果又有这样的想法，请告诉我。",
)


@pytest.mark.parametrize(
    ("text", "label"), [*((t, "open") for t in OPEN), *((t, "closed") for t in CLOSED), *((t, "none") for t in NONE)]
)
def test_question(text: str, label: str) -> None:
    assert question(text) == label


def test_other_languages_are_refused_with_the_reason(talk: Callable[..., Transcript]) -> None:
    coder = CODERS.load("rules_zh")
    chinese = talk(("clinician", "最近睡得怎么样？"), ("patient", "不好。"))
    assert coder.refuses(chinese) is None
    assert coder.code(chinese) == {0: {"question": "open"}}
    assert "Chinese" in str(coder.refuses(talk(("clinician", "How are you?"))))
    assert "language is en" in str(coder.refuses(talk(("clinician", "最近好吗？"), language="en")))
    assert coder.refuses(talk(("clinician", "OK?"), language="zh-Hans")) is None


def test_the_reason_names_the_coder_of_the_language(talk: Callable[..., Transcript]) -> None:
    chinese = talk(("clinician", "最近睡得怎么样？"), ("patient", "不好。"), language="zh")

    def reason(coders: str, transcript: Transcript = chinese) -> str | None:
        (value,) = (
            value
            for value in FAMILIES.load("behaviour").compute(
                transcript, frozenset(("question",)), coders=coders, early_turns=5
            )
            if value.rater == "algorithm:rules@2"
        )
        return value.error

    assert reason("human,rules") == (
        "made for English; the transcript's language is zh; for it there is rules_zh: behaviour.coders=human,rules_zh"
    )
    # It codes already; and there is none for French.
    assert reason("rules,rules_zh") == "made for English; the transcript's language is zh"
    french = talk(("clinician", "Ça va ?"), language="fr")
    assert reason("rules", french) == "made for English; the transcript's language is fr"


def test_plausible_on_mdd5k(mdd5k: Path) -> None:
    coder = CODERS.load("rules_zh")
    labels: dict[bool, list[str]] = {True: [], False: []}
    for transcript in read_transcripts(mdd5k):
        assert coder.refuses(transcript) is None
        codes = coder.code(transcript)
        for turn in transcript.of("clinician"):
            labels["？" in turn.text or "?" in turn.text].append(codes[turn.index]["question"])
    # Nearly every turn with a question mark asks something, and most without one don't; both kinds are common.
    assert labels[True].count("none") < 0.02 * len(labels[True])
    assert labels[False].count("none") > 0.6 * len(labels[False])
    asked = len(labels[True]) - labels[True].count("none")
    assert 0.1 < labels[True].count("open") / asked < 0.9


@pytest.mark.parametrize("piece", ["能不能说", "还是", "什么都", "（", "是不是", "不知道"])
def test_long_turns_take_time_in_proportion(piece: str) -> None:
    assert question(piece * (20_000 // len(piece)) + "？") in ("none", "open", "closed")
