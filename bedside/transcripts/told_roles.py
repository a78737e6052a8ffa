"""Whom a prompt tells a language model to be: the patient, the clinician, or neither.

A prompt tells it in a phrase (*you are*, *play the role of*, *du bist*, *扮演*) and a noun behind it. What stands
with or for somebody else (*you talk to a patient*), an adjective (*a patient listener*) and the other's part (*the
user plays the patient*) tell nothing of the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import zip_longest
from typing import Literal

from bedside.transcripts.transcript import PARTNER_WORDS, ROLE_ALIASES, Role

#: Names of roles that tell nothing of whom a model plays, or that more than the name tells.
_UNTOLD = {"user", "assistant", "dr.", "th.", "ther.", "pt.", "pat."}
_MORE: Mapping[Role, str] = {
    "patient": r"(?:help|support|advice)[- ]?seeker|seeker|service user|counsell?ee|caller|paziente|pazienti|"
    r"пациент\w*|клиент\w*",
    "clinician": r"psycho\w*|counsell?ing \w+|listener|supporter|coach|provider|medico|psicolog\w+|terapista|"
    r"врач\w*|психолог\w*|терапевт\w*|倾听者|专家",
    "other": r"(?:assistant|chatbot|assistent\w*|assistente|asistente|助手|助理|アシスタント)s?\b",
}


def _nouns(role: Role) -> str:
    partners = (word for word, sides in PARTNER_WORDS.items() if sides == {role})
    words = {*partners, *(word for word, own in ROLE_ALIASES.items() if own == role)} - _UNTOLD
    return "|".join((_MORE[role], *sorted(map(re.escape, words), key=lambda word: (-len(word), word))))


_WIDE = r"\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af"
_CLINICIAN, _PATIENT = _nouns("clinician"), _nouns("patient")
# What a patient is an adjective of, or the first half of.
_HEAD = (
    rf"(?:{_CLINICIAN}|{_MORE['other']}|ai|model|bot|agent|tutor|teacher|guide|friend|companion|person|man|woman|mentor|"
    r"helper|instructor|partner|advi[sc]or|educator|navigator|advocate|coordinator|manager|representative|specialist|"
    r"voice|tone|manner)(?!['’]s)\b"
)
_LINK = r"(?!(?:an?|the|your|my|who|with|to|of|is|are|you|i) )"
_ADJECTIVE = (
    rf"-[\w-]+ (?:[\w-]+ )?{_HEAD}|"
    rf"[ -](?:{_LINK}[\w-]*(?<!ing)(?<!ed)[ -])?{_HEAD}|"
    rf"(?:,| and| but|, and)(?: {_LINK}[\w-]+,?){{0,4}} {_HEAD}|"
    r"['’ -](?:questions?|records?|data|notes?|care|education|safety|messages?|portal|information|intake|support|"
    r"histor\w+|cases?|inquir\w+|concerns?|needs|reports?|health|experience|outcomes?|"
    r"charts?|files?|summar\w+|descriptions?|vignettes?|profiles?|quer\w+|statements?|transcripts?|symptoms|services?|"
    r"success|relations|engagement|populations?)\b"
)
# It and _PLAYED take long to compile, and few files have a prompt.
_NOUN = (
    rf"(?<![^\W{_WIDE}])(?:(?P<patient>(?:{_PATIENT})s?(?![^\W{_WIDE}])(?!{_ADJECTIVE}))|"
    rf"(?P<clinician>(?:{_CLINICIAN})s?(?![^\W{_WIDE}]))|(?P<machine>{_MORE['other']}))"
    # "You are the patient's doctor" names the doctor later; Japanese and Korean mark whom something is done to.
    r"(?!['’]s\b|的|の(?!役|ふり|ロール)|[をとに](?!演|な)|から|[와과에의가]|를(?! 연기)|을(?! 연기))"
)
_BE = (
    r"\byou(?:['’]re|['’]ll be| are| will be)\b|\bdu bist\b|\bsie sind\b|\btu es\b|\bvous êtes\b|"
    r"\beres\b|\busted es\b|\bvocê é\b|\b(?:tu )?sei un\w?\b|\bты\b|\bвы\b|أنت|당신은|너는|あなたは|你是|您是|你将是"
)
_PLAY = (
    r"\b(?:act|behave|respond|reply|speak|answer|pos)(?:s|e|es|ing)? (?:as if you were|as|like)\b|"
    r"\byour role is (?:that of |to be |as )?(?=an? |the )|"
    r"\b(?:play(?:s|ing)?|tak(?:e|es|ing)|assum(?:e|es|ing)|adopt(?:s|ing)?|in) (?:on )?"
    r"the (?:role|part|persona|side) of\b|\brole.?play(?:s|ing)?(?: as)?\b|\bplay(?:s|ing)?\b|"
    r"\b(?:simulat|portray|impersonat|imitat|embod|mimick?)(?:e|es|ing|s|y|ies)?\b|"
    r"\bpretend(?:s|ing)?(?: to be)?\b|\bbe my\b|\bla parte d[ie]\b|"
    r"\bspiel(?:e|st|en sie)?\b|\bsimulier\w*|\bin der rolle\b|\bdie rolle\b|"
    r"\bverhalte dich wie\b|\bantworte (?:als|wie)\b|\bjou(?:e|es|ez)\b|\bsimule[sz]?\b|\bincarne[sz]?\b|"
    r"\ble rôle d|\b(?:agis|comporte-toi) comme\b|\bactúa como\b|\bhaz de\b|\binterpret[ae]s?\b|\bsimul[ae]\b|"
    r"\bfing[eia]\b|\bresponde como\b|\b(?:el|o|il) (?:papel|rol|ruolo) del?\b|\b(?:aja|atue|agisci) come?o?\b|"
    r"\bиграй\w*|\bрол[ьи]\b|\bпредставь\w*|دور|تصرف|تظاهر|역할|扮演|模拟|假装|饰演|充当"
)
_TELLS = re.compile(rf"(?P<be>{_BE})|(?:{_PLAY})", re.IGNORECASE)
# Japanese and Korean say the part before the verb, and German may.
_PLAYED = (
    rf"(?:{_PATIENT})\s?(?:役|を演|のふり|になりき|のロール|역할|[를을] 연기|인 척|(?:[^.!?]{{0,20}} )?"
    r"(?:spielst|spielen|simulierst|simulieren|verkörperst|verkörpern)\b)"
)
# Who visits or calls a clinician, and whom one examines.
_VISITS = re.compile(
    r"\b(?:comes? to|coming to|visit(?:s|ing)?|see(?:s|ing)?|consult(?:s|ing)?|calls?|calling|attend(?:s|ing)?|"
    r"bring(?:s|ing)? .{1,30} to) (?:an?|the|h[ie][sr]|their|your|my) (?:[\w-]+ ){0,2}?"
    rf"(?:{_CLINICIAN}|gp|clinic|hospital|hotline|helpline)\b(?!['’])",
    re.IGNORECASE,
)
_EXAMINED = re.compile(
    rf"\b(?:{_CLINICIAN}|student|trainee)\b[^.!?\n]{{0,30}} (?:interview|examin|treat|counsel|assess|diagnos)\w* you\b",
    re.IGNORECASE,
)
# Whoever has the user as the clinician is the patient; and who is called a simulated one.
_OPPOSITE = re.compile(
    r"\b(?:users?|humans?|interlocutor|utilisateur|nutzer(?:in)?|usuario|utente)(?: is| plays| est| es| ist| è| é)"
    rf" (?:the role of )?(?:an? |the |your |le |la |un |une |el |ein |eine |der |die |il )?(?:{_CLINICIAN})\b"
    r"|(?:^|[.:\n])\s*(?:an? |the )?(?:simulated|standardi[sz]ed|virtual) (?:patient|client)\b(?!['’]s)"
    rf"(?!{_ADJECTIVE})",
    re.IGNORECASE,
)
_HELPS = re.compile(
    r"\b(?:help|advi[sc]|tell|encourag|recommend|support)\w*|\b(?:people|users?|if|when)\b", re.IGNORECASE
)
# What comes before somebody else than the model.
_TOWARDS = re.compile(
    r"\b(?:to|with|for|in|from|between|about|by|if|when|that|not|never|see|seeing|given|shown|provided|"
    r"(?<!role )(?<!part )(?<!side )(?<!persona )(?<!position )(?<!shoes )of|"
    r"(?:treat|help|call|interview|assess|visit|consult|meet|ask|support|guid|advis|counsel|serv|educat|answer|listen|review|"
    r"analy[sz]|read|writ|summari[sz]|monitor|manag|receiv|evaluat|diagnos|examin)\w*|"
    r"mit|für|zu[mr]?|avec|pour|aux?|à|con|para|com|per|с|для|مع|nicht|kein\w*|pas|no|не)\b"
    r"(?:[ -][^\s,;:()]+){0,4}\s*$|(?:[和与给为向对帮替]|支持|帮助|不是)[^的，,、。]{0,8}$",
    re.IGNORECASE,
)
# Whose part is told before the phrase, where it is not the model's.
_OTHERS = re.compile(
    r"(?:\b(?:I|users?|humans?|they|he|she|someone|interlocutor|patients?|clients?|ich|je|yo|nutzer|utilisateur|usuario)|用户|我)"
    r"(?:['’]ll|['’]m|\s?(?:will|is|am|are|to|may|can|be|going|now|also|should|must|会|将|是|werde|wird|vais|va))*\s*$|"
    r"(?:\b(?:never|not|nicht|ne)\b|n['’]t\b)(?:(?!\b(?:and|but|und|sondern)\b)[^.!?,;:]){0,30}$|(?:不|禁止|别)[^，。；]{0,6}$",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r"\s*(?:and|or|und|oder|et|ou|y|o|e|и|[和与或,&/])(?: (?:an?|the|d?einem|une?|una?))?\s*", re.IGNORECASE
)
_DETERMINED = re.compile(r"\b(?:an?|the|my|your|h[ie][sr]|their|une?|una?|le|la|el|uma?)\b[^,]*$|\b[A-Z0-9]\w*,\s*$")
_END = re.compile(r"[!?。！？\n]|(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)\.")
#: Letters behind a phrase that are looked at.
_REACH = 120


@lru_cache(maxsize=256)
def told_role(prompt: str) -> Literal["patient", "clinician"] | None:
    """Which of the two a prompt tells the model to be; None where it says nothing of it. The patient goes first: who
    plays him may be called an assistant or a doctor's pupil as well."""
    if re.search(_PLAYED, prompt, re.IGNORECASE) or _EXAMINED.search(prompt) or _OPPOSITE.search(prompt):
        return "patient"
    part = None
    tells = list(_TELLS.finditer(prompt))
    for tell, following in zip_longest(tells, tells[1:]):
        after = following.start() if following else len(prompt)
        if _OTHERS.search(prompt[max(0, tell.start() - 30) : tell.start()]):
            continue
        reach = min(after, tell.end() + _REACH)
        end = _END.search(prompt, tell.end(), reach)
        this_part = _told(prompt[tell.end() : end.start() if end else reach], tell)
        if this_part == "patient":
            return this_part
        part = part or this_part
    return part


def _told(said: str, tell: re.Match[str]) -> Literal["patient", "clinician"] | None:
    """What stands behind a phrase that tells somebody's part."""
    before, of_others = 0, False
    for noun in re.finditer(_NOUN, said, re.IGNORECASE):
        between = said[before : noun.start()]
        before = noun.end()
        if noun["machine"]:
            # Of a machine, only what is added tells more: "an assistant, a simulated patient".
            if not re.match(r"\s*(?:[,:;(–—]|as\b)", said[before:]):
                return None
            continue
        of_others = bool(_TOWARDS.search(between) or (of_others and _JOINED.fullmatch(between)))
        if not of_others:
            if noun["clinician"]:
                return "clinician"
            if not ((tell["be"] or "," in between) and _is_adjective(noun[0], between, said[before:], tell[0])):
                return "patient"
    visit = _VISITS.search(said)
    return "patient" if visit and not _HELPS.search(said[: visit.start()]) else None


def _is_adjective(noun: str, between: str, after: str, tell: str) -> bool:
    """Whether one is told to be patient: "you are patient, kind and warm"."""
    if noun.casefold() not in ("patient", "patiente", "paciente", "paziente") or tell.casefold()[:3] in ("du ", "sie"):
        return False
    return not (_DETERMINED.search(between) or re.match(r" (?:[A-Z0-9])", after)) and "un" not in tell.casefold()
