"""Characters of scripts that are written without spaces between words, to stand within [ ] of a pattern."""

from __future__ import annotations

#: Chinese characters.
HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
#: Those, kana, and the scripts of Thai, Lao, Khmer and Burmese.
UNSPACED = rf"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff{HAN}"
