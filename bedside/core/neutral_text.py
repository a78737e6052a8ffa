"""Text of others as language models may read it: nothing in it is a control token, and nothing in it is hidden.

Servers tokenise a chat's template together with its text, so that ``<|im_end|>`` in a transcript ends the message. A
space within the mark leaves it readable and makes it ordinary words.
"""

from __future__ import annotations

import re

#: Names of tokens between ``<`` and ``>``, of Llama, Mistral, Gemma, Qwen, T5, BERT and what descends from them.
_NAMES = (
    r"s|bos|eos|pad|unk|mask|cls|sep|sys|eod|eot|sop|eop|think|tools?|tool_calls?|tool_response|\w+_of_(?:turn|image)"
    r"|image_soft_token|unused\d+|extra_id_\d+|special_\d+|reserved_\d+|0x[0-9a-f]{2}|\w+_token|seed:\w+"
)
#: The same between square brackets, where lower case is what transcribers write.
_SQUARE = (
    r"INST|SYSTEM_PROMPT|MODEL_SETTINGS|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CALL_ID|THINK|IMG\w*"
    r"|AUDIO|BEGIN_AUDIO|TRANSCRIBE|PREFIX|MIDDLE|SUFFIX|MASK|gMASK|sMASK|CLS|SEP|PAD|UNK|BOS|EOS|unused\d+"
)
#: Where a mark begins; full-width signs become plain ones in some tokenizers, and in DeepSeek's are such themselves.
_MARK = (
    rf"[<＜\[［\]](?:(?<=[<＜])(?=[|｜]|/?(?i:{_NAMES})[>＞]|[^\s<>＜＞]{{1,60}}[|｜][>＞])"
    rf"|(?<=[\[［])(?=[|｜]|/?(?:{_SQUARE})[\]］]|e~\[)|(?<=\])(?=[~!]\S?\w*[\[\]~]))"
)
#: Letters that no font shows and models read; signs of direction; variants of characters that can carry any text.
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
_UNSEEN = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0100-\U000e01ef]")


def neutral(text: str) -> str:
    """A text without hidden characters, in which control tokens are spelt with a space: ``< |im_end|>``."""
    if not text.isascii():
        text = _TAGS.sub("\ufffd", _UNSEEN.sub("", text))
    begins = "<" in text or "[" in text or "]" in text or "＜" in text or "［" in text
    return re.sub(_MARK, r"\g<0> ", text) if begins else text
