"""CHAT (``.cha``), the form of TalkBank's corpora and of CLAN."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bedside.support.errors import InputError
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.timed_speech import SpeechStretch, one_talk, text_lines, timed_talk, whole_text
from bedside.transcripts.transcript import Transcript, is_speaker_word

_TIMES = re.compile(r"\x15?(\d{1,12})_(\d{1,12})\x15|\x15[^\x15\n]*\x15")
#: Languages by their codes of three letters, which CHAT has, as those of two.
_LANGUAGES = {
    "ara": "ar", "cat": "ca", "ces": "cs", "cmn": "zh", "cym": "cy", "dan": "da", "deu": "de", "ell": "el", "eng": "en",
    "est": "et", "eus": "eu", "fas": "fa", "fin": "fi", "fra": "fr", "gle": "ga", "glg": "gl", "heb": "he", "hin": "hi",
    "hrv": "hr", "hun": "hu", "ind": "id", "isl": "is", "ita": "it", "jpn": "ja", "kor": "ko", "nld": "nl", "nor": "no",
    "pol": "pl", "por": "pt", "ron": "ro", "rus": "ru", "slv": "sl", "spa": "es", "srp": "sr", "swe": "sv", "tam": "ta",
    "tha": "th", "tur": "tr", "ukr": "uk", "vie": "vi", "zho": "zh",
}  # fmt: skip

# What a transcriber noted that nobody said: codes in brackets, events, pauses, words of another within a turn.
_NOTED = re.compile(r"\[[^\]]*\]|&=\S+|&\*[A-Za-z0-9]+[:=]\S+|\((?:\.{1,3}|\d[\d:]*\.?\d*)\)|(?<!\S)0\S*")
_INSERTED = re.compile(r"&\*[A-Za-z0-9]+[:=](\S+)")
_FILLER = re.compile(r"&[-~+](?=\w)")
_SUFFIX = re.compile(r"(?<=\w)@[\w:$&+*-]+")
# Signs that begin an utterance (linkers), those that end it (terminators), and those of conversation analysis.
_LINKER = re.compile(r'(?<!\S)\+["^<,+≋≈](?!\S)')
_END = re.compile(r'(?<!\S)\+(?:["/!.?]|\.\.)*[/".!?]+(?!\S)')
_SIGNS = re.compile(r"[⌈⌉⌊⌋↑↓⇗↗→↘⇘∞≈≋≡∙⁇∾⁑∬∮§▁▔☺♋☀▼▲°◉☉⇔ˈˌ^‹›<>]\d?")
_LONG = re.compile(r"(?<=\w):+(?=\w|\s|$)")
_BEFORE_MARK = re.compile(r"[ ]+([.,?!;:…])")
_HAS_WORD = re.compile(r"\w")


def _claims(head: Head) -> Claim | None:
    return "transcripts" if re.match(r"\s*(?:@\w[^\n]*\r?\n)*?@Begin[ \t]*\r?\n", head.text) else None


def _transcript(source: SourceFile) -> Transcript:
    speeches: list[SpeechStretch] = []
    speakers: dict[str, str] = {}
    language: str | None = None
    left_out = source.account.left_out
    for number, line in _whole_lines(text_lines(whole_text(source))):
        where = f"{source.name}:{number}"
        head, _, content = line.partition(":")
        if line[0] == "*":
            code = head[1:].strip()
            if not code or "\t" in code or not content.strip():
                raise InputError(
                    "this is no utterance",
                    where=where,
                    todo="write it as *CODE:, a tab, and what is said",
                )
            for inserted in _INSERTED.findall(content):
                source.account.lose("words of others within a turn", inserted.replace("_", " "), where)
            speech = _utterance(content, speakers.get(code, code), where)
            if speech is None:
                left_out["utterances without a word"] += 1
            else:
                speeches.append(speech)
        elif line[0] == "%":
            source.account.lose(head, content.strip(), where)
        elif line[0] == "@":
            if head == "@Participants":
                speakers = _speakers(source, content)
            elif head == "@Languages":
                tags = [tag.strip() for tag in content.split(",") if tag.strip()]
                language = _LANGUAGES.get(tags[0], tags[0]) if len(tags) == 1 else None
            elif content.strip():
                source.account.lose(head, content.strip(), where)
        else:
            raise InputError(
                f"the line begins with neither *, % nor @: {line!r:.40}",
                where=where,
                todo="begin an utterance with *CODE:, and a line that goes on with a tab",
            )
    source.account.remark(
        "CHAT's codes are taken out of the text; fillers, retraced words, fragments and xxx stay, and (be)cause is "
        "because."
    )
    return timed_talk(source, speeches, language=language)


def _whole_lines(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Number and content of each line with those that go on with it, which begin with a tab or a space."""
    number, parts = 0, list[str]()
    for at, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if line[0] in "\t " and parts:
            parts.append(line.strip())
            continue
        if parts:
            yield number, " ".join(parts)
        number, parts = at, [line.strip().lstrip("\ufeff")]
    if parts:
        yield number, " ".join(parts)


def _speakers(source: SourceFile, content: str) -> dict[str, str]:
    """What each code's speaker is called: by the code, the name or the role, whichever tells who it is."""
    participants = [words for part in content.split(",") if (words := part.split())]
    speakers = {}
    for words in participants:
        others = {word for other in participants if other is not words for word in other}
        speakers[words[0]] = next(
            (
                word.replace("_", " ")
                for word in words
                if is_speaker_word(word.replace("_", " "), source.options.roles) and word not in others
            ),
            words[0],
        )
    return speakers


def _utterance(content: str, speaker: str, where: str) -> SpeechStretch | None:
    """What is said in a main tier and when; None where no word is."""
    start = stop = None
    for match in _TIMES.finditer(content):
        if match[1]:
            start = int(match[1]) / 1000 if start is None else start
            stop = int(match[2]) / 1000
    text = spoken_text(_TIMES.sub(" ", content))
    return SpeechStretch(speaker, text, where, start, stop) if _HAS_WORD.search(text) else None


def spoken_text(content: str) -> str:
    """The words of a main tier as they were said, without CHAT's codes."""
    text = _LINKER.sub(" ", _NOTED.sub(" ", content))
    text = _END.sub(lambda end: _plain_end(end[0]), text)
    text = _SUFFIX.sub("", _FILLER.sub("", text))
    text = _LONG.sub("", _SIGNS.sub("", text))
    text = re.sub(r"\((\w+)\)", r"\1", text).replace("‡", ",").replace("„", ",")
    text = re.sub(r"(?<=\w)_(?=\w)", " ", text)
    return _BEFORE_MARK.sub(r"\1", " ".join(text.split()))


def _plain_end(sign: str) -> str:
    """The mark that a terminator stands for: +...? is ?, +/. and +... a break."""
    if sign[-1] in "?!":
        return sign[-1]
    return "…" if "..." in sign or "/" in sign else "."


READER = Reader(
    name="chat",
    title="CHAT, the form of TalkBank and CLAN (.cha)",
    description=(
        "One transcript a file. `@Participants` says who each code is: by the code, the name or the role, "
        "whichever tells a role of a conversation; else the code is the speaker. Utterances of one speaker that "
        "follow one another are one turn; times become `start` and `stop` of its `meta`, in seconds. Of the "
        "text stay the words as they were said: fillers (`&-um`), retraced words, fragments (`&+w`), `xxx`, and "
        "letters in parentheses; out go codes in brackets, events (`&=laughs`), pauses, suffixes (`@o`), and "
        "the signs of conversation analysis. Left out and counted: dependent tiers (`%mor`), other headers "
        "(`@ID`), words of others within a turn (`&*INV:mhm`), utterances without a word. `@Languages` with one "
        "language gives the language."
    ),
    example=(
        "@UTF8\n@Begin\n@Languages:\teng\n@Participants:\tTHE Therapist , CLI Client\n"
        "*THE:\twhat brings you here ?\n*CLI:\t&-um I sleep badly .\n@End\n"
    ),
    example_name="session.cha",
    endings=(".cha",),
    claims=_claims,
    read=one_talk(_transcript),
    priority=20,
)
