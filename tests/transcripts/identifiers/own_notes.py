"""200 invented notes with known identifiers in three languages, made of written texts and drawn forms; nobody is real.

The notes of a language are of two sets of texts and of people that have nothing in common: one was in sight while
patterns were written, of the other no miss was looked at. Forms of names, numbers and dates are as people write them
in notes; they were not made of what scrub looks for.
"""

# Texts are kept on lines of their own, however long.
# ruff: noqa: E501
from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bedside.transcripts.identifiers.recognition import Recognition
from bedside.transcripts.identifiers.transcript_identifiers import identifiers_of
from bedside.transcripts.transcript import Transcript, Turn
from tests.transcripts.identifiers.planted import Planted, unmarked

#: What is promised of names, numbers and dates; the other kinds are noise here, or are measured elsewhere.
GROUPS = {"names": ("name",), "numbers": ("phone", "record_number", "account"), "dates": ("date",)}
NUMBER = {"en": 70, "de": 65, "zh": 65}
#: Set → language → given names and surnames (of Chinese, surnames and given names).
PEOPLE = {
    "in sight": {
        "en": ("Margaret Devon Priya Tunde Rosalind Kofi Bronwyn Ezekiel Mei-Ling Siobhan Hector Annika Jamal Odette",
               "Hargreaves Okonkwo Ramaswamy Blackwood Llewellyn Castellanos MacIntyre Osei-Bonsu Fairweather D'Angelo"),
        "de": ("Annegret Heinz-Peter Mehmet Liselotte Torsten Ayşe Gundula Karl-Heinz Svetlana Detlef Friederike Yusuf",
               "Brinkmann Özdemir Hoppenstedt Müller-Lüdenscheidt Kowalczyk Ziegenhagen Petrović Lindemann Voß Achterberg"),
        "zh": ("王 李 陈 赵 欧阳 孙 何 冯 蒋 谭", "秀英 建国 晓燕 志强 雨桐 桂芳 文博 丽娜 海涛 子涵"),
    },
    "held out": {
        "en": ("Winifred Darnell Ananya Chukwuemeka Philippa Rafael Niamh Bartholomew Xiu Gwendolyn Tariq Ingrid Leroy",
               "Thistlewood Adeyemi Venkataraman Rutherford Penhaligon Villanueva McAllister Asante-Poku Greenhalgh O'Dowd"),
        "de": ("Irmgard Hans-Joachim Emre Waltraud Jörg Fatma Edeltraud Franz-Josef Olga Rüdiger Henrike Cem Almut",
               "Steinhauer Yıldız Rabenalt Meyer-Abich Wiśniewski Klapproth Jovanović Oberhuber Groß Schimmelpfennig"),
        "zh": ("张 刘 黄 周 司马 郭 罗 梁 韩 曹", "玉兰 德华 思远 美玲 俊杰 春梅 浩然 静怡 国栋 欣妍"),
    },
}  # fmt: skip
TEXTS = {
    "in sight": {
        "en": (
            "Home visit. {N} was sitting up when I arrived and said the new tablets agree with her. {S} remains on "
            "apixaban 5 mg. Daughter {G} does the shopping. Rang the surgery on {P} about the dosette box. Next visit "
            "{D}. {I}, district nurse",
            "Dear {T},\nThank you for referring this pleasant 54-year-old teacher, {N} (hospital no. {R}), whom I saw on "
            "{D}. Symptoms began around {D}. BP 132/78, BMI 27. {X} reports good support from {G}.\nYours sincerely\n{N}",
            "Telephone triage {D} at 14:20. Caller {N}, calling for mother-in-law {N}. Call back {P}, if engaged try "
            "{P}. Ref {R}. Chest clear, sats 96%. Advice given, worsening statement read out.",
            "Handover: bed 4, {S}, day 3 post hip. Obs stable. {T} wants bloods repeated. NOK {G} ({P}) aware. Bed 5, "
            "{S}: awaiting transport, claim number {R}.",
            "Session 6. {G} arrived ten minutes late and apologised. We looked at the diary. She had argued with {G} over "
            "money, then called {G}, her sponsor. Mood 4/10. Last drink {D}. Homework agreed. {I}",
            "DISCHARGE SUMMARY\nName {C}\nBorn {D}\nNumber {R}\nAdmitted {D}, discharged {D}\nUnder the care of {T}\n"
            "Dx: community acquired pneumonia. Amoxicillin 500 mg tds 5/7.",
        ),
        "de": (
            "Hausbesuch am {D}. {S} saß am Tisch und war guter Dinge. Die Tochter {G} richtet die Tabletten. Rückruf "
            "unter {P} erbeten. Ramipril 5 mg unverändert. gez. {I}",
            "Sehr geehrter {T},\nwir berichten über {N}, geb. {D}, der sich vom {D} bis zum {D} bei uns befand "
            "(Aktenzeichen {R}). RR 140/85. Mit kollegialen Grüßen\n{T}",
            "Aufnahme {D}, 10:15 Uhr. Begleitet von Lebensgefährtin {N}, Tel. {P}. Versichertennummer {R}. Klagt über "
            "Schlafstörungen seit 3 Wochen, PHQ-9 17 Punkte.",
            "Gruppe: {G} berichtet vom Rückfall am {D}. {G} und {G} stützen ihn. {X} bleibt still. Hausaufgabe: "
            "Tagebuch.",
            "Übergabe Zimmer 12: {S}, 3. Tag nach TEP, mobil am Rollator. {T} wünscht Labor. Angehörige: {N} "
            "({P}). Fallnummer {R}.",
        ),
        "zh": (
            "{D}家访。{N}坐在沙发上，精神尚可，女儿{G}陪同。血压135/80，继续服用氨氯地平5毫克。复诊电话{P}。记录：{N}",
            "患者{N}，男，52岁，住院号{R}，于{D}因胸闷三天入院，{D}出院。主管医师{T}。联系人：{N}，{P}。",
            "第六次咨询。{G}迟到了十分钟。她说上周和{X}吵架，后来给{X}打了电话。情绪评分4分。下次{D}。",
            "转诊信：{T}您好，现将{N}转至贵科，病历号{R}。首次就诊{D}。如有疑问请拨打{P}。此致，{N}",
            "交班：3床{X}，术后第二天，体温37.2。家属{N}已知情，电话{P}。医保卡号{R}。",
        ),
    },
    "held out": {
        "en": (
            "Ward round with {T}. {N} slept poorly, otherwise well. Echo booked {D}. {S} would like {G} to be rung with "
            "the result: {P}. CRP 12, falling. {I}",
            "Statement of {N}. On {D} I was asked by {T} to assess {S} in the emergency department. The wristband read "
            "{R}. Pulse 88 regular. The police officer, {N}, gave the number {P}.",
            "Physio review, {D}. {X} managed two flights of stairs with {G} watching. Aim: bus by {D}. Any problems "
            "text {P}. Seen jointly with {N}.",
            "Re: {C}, account {R}. {T} telephoned on {D} to say that {S} missed her appointment again. Letter sent. "
            "Sertraline 50 mg continues. cc {N}",
            "First interview. Lives with partner {G} and twins {G} and {G}. Was close to grandmother {N} who died "
            "{D}. Previous counsellor {N} retired. Score 17. Supervision with {T} on {D}.",
            "Safeguarding note. School rang ({P}): {N}, year 4, said {G} had shouted. Spoke with {S} at 16:10. Case "
            "reference {R}. Strategy meeting {D}. Present: {N}, {N} and {T}.",
        ),
        "de": (
            "Visite mit {T}: {S} hat schlecht geschlafen, sonst wohlauf. Echo am {D}. Sie bittet, ihren Sohn {G} "
            "anzurufen ({P}). CRP 12, fallend. {I}",
            "Erstgespräch. Lebt mit {G} und den Zwillingen {G} und {G}. Die Großmutter {N} starb {D}. Vorbehandlerin "
            "war {N}. BDI 21.",
            "Betreff: {N}, Mitgliedsnummer {R}. {T} teilte am {D} telefonisch mit, dass {S} den Termin versäumt hat. "
            "Rückfragen {P}.",
            "Physiotherapie {D}. {X} geht zwei Etagen, {G} schaut zu. Ziel: Bus bis {D}. Gemeinsam mit {N} gesehen.",
            "Sozialdienst: {N} (Ehemann) wünscht Kurzzeitpflege ab {D}. Pflegegrad 3, Vorgang {R}. Ansprechpartnerin "
            "{S}, Durchwahl {P}. 2 Beutel täglich.",
        ),
        "zh": (
            "查房：{T}带组。{N}昨夜睡眠差，余无不适。心脏彩超约在{D}。家人{G}希望告知结果，手机{P}。CRP 12。",
            "初次访谈。与{N}同住，有双胞胎{G}和{G}。外婆{N}于{D}去世。之前的咨询师是{N}。量表21分。",
            "关于{N}，档案编号{R}。{T}{D}来电称{X}再次失约。舍曲林50毫克继续。抄送{N}。",
            "康复记录{D}。{X}可上两层楼，{G}在旁看护。目标：{D}前独立乘公交。有问题联系{P}。",
            "社工：{N}（丈夫）申请短期照护，自{D}起。受理号{R}。联系人{X}，转{P}。",
        ),
    },
}
#: Notes in which nobody and nothing is named, for false alarms.
PLAIN = {
    "en": (
        "Chief Complaint: shortness of breath. Past Medical History: Type 2 diabetes, Graves disease, Parkinson disease. "
        "Vitamin D 1000 IU, B12 injections, Tylenol as needed. HbA1c 5.6. Hb 13.2, WBC 7.4, PLT 250000, eGFR > 60, INR 2.1. "
        "Blood Pressure 138/84, SpO2 94%, GCS 15/15. Went through the Beck inventory: 23. He says Grace is what he prays "
        "for, and that March is always hard. Thanks to the new inhaler, Will power is back. CBT session 3 of 12. Plan: MRI "
        "C4-C6, ECG, repeat U&E in 2/52; come back in 10-14 days. The patient denies alcohol since 2019. Room 12, Ward 7B.",
        "So, the first week was the worst. I might have slept 4 or 5 hours. Mum and Dad don't know. My boss, honestly, is a "
        "bully, and the twins cry all night. On Sunday I took 2 x 500 mg. It costs 1200 a month, about 15000 a year. Love "
        "Island was on. My brother never calls. The sponsor program, the App, Zoom at 7.30, then back to bed at 11.45.",
    ),
    "de": (
        "Anamnese: Belastungsdyspnoe seit 3 Wochen. Vorerkrankungen: Diabetes mellitus Typ 2, Morbus Basedow, Zustand nach "
        "Hüft-TEP links 2016. Medikation: Ramipril 5 mg 1-0-0, Metformin 1000 mg, L-Thyroxin 75. Labor: HbA1c 5.6. Kreatinin "
        "1,2 mg/dl, Thrombozyten 250000. RR 140/85, Puls 72. Die Patientin klagt über Schlafstörungen und Angst. Mutter "
        "und Vater wissen nichts davon. Frau und Kinder sind gesund. Therapie: KG, MRT der LWS, Wiedervorstellung in 10 bis "
        "14 Tagen. Der Nachbar hilft. Station 7B, Zimmer 12, Bett 3. Am Montag Gruppe, mittwochs Einzel, ICD F32.1.",
        "Also die erste Woche war schlimm. Ich habe vielleicht 4 oder 5 Stunden geschlafen. Mein Chef ist ehrlich gesagt ein "
        "Problem. Die Tochter Schule, der Sohn Kita, und ich allein. Das kostet 1200 Euro im Monat. Im Mai wird es besser.",
    ),
    "zh": (
        "主诉：活动后气促三周。既往史：高血压、二型糖尿病，2016年左髋置换术。用药：二甲双胍1000毫克，维生素D。查体：血压138/84，"
        "体温37.2，白细胞7.4，血小板250000。患者情绪平静，睡眠欠佳，对治疗有信心，家属已知情。诊断：焦虑状态。处理：查核磁共振，"
        "十四天后复诊。病房12，床位3。医生建议健康饮食，保持乐观。",
        "第一个星期最难。我大概睡了四五个小时。爸爸妈妈都不知道。老板脾气不好，孩子整夜哭。一个月要花一万二，一年十五万。文化差异"
        "很大，我和同事关系一般。小时候很安静，老师说我聪明。美国的天气也不好，冬天很冷。",
    ),
}
DAYS = {
    "en": ("{d} {M} {y}", "{d}/{m}/{yy}", "{M} {d}", "{y}-{m:02}-{d:02}", "{d}{th} {M}", "{d}.{m}.{y}", "{Mon} {d}, {y}",
           "{d}-{Mon}-{yy}", "the {d}{th}", "{M} {y}"),
    "de": ("{d}. {M} {y}", "{d:02}.{m:02}.{y}", "{d}.{m}.{yy}", "{d}.{m}.", "{d}. {M}", "{y}-{m:02}-{d:02}", "{M} {y}",
           "{d}.{M}{yy}"),
    "zh": ("{y}年{m}月{d}日", "{m}月{d}日", "{y}-{m:02}-{d:02}", "{y}.{m}.{d}", "{y}/{m}/{d}", "{m}月{d}号", "{y}年{m}月",
           "{yy}年{m}月{d}日"),
}  # fmt: skip
MONTHS = {
    "en": "January February March April June July August September October November December May".split(),
    "de": "Januar Februar März April Juni Juli August September Oktober November Dezember Mai".split(),
}
#: Forms of numbers: # is a digit, ? a letter.
PHONES = {
    "en": ("07### ######", "(###) ###-####", "020 7### ####", "+1 ### ### ####", "###.###.####", "ext. ####", "01### ### ###",
           "+44 7### ### ###"),
    "de": ("0### / ######", "0151 ########", "+49 (0)### #######", "0#### ####-##", "0### ## ## ###", "-#### intern"),
    "zh": ("138########", "139-####-####", "010-########", "0571 ########", "+86 15# #### ####", "分机####"),
}  # fmt: skip
RECORDS = {
    "en": ("#######", "??######", "### ### ####", "H-####-##", "##/#####", "?#######?"),
    "de": ("?#########", "#######", "###-##-####", "??-####/##", "####.####"),
    "zh": ("########", "ZY#######", "####-####", "?########", "##########"),
}


@dataclass(frozen=True, slots=True)
class Note:
    """A note, its language and the identifiers in it."""

    name: str
    language: str
    text: str
    planted: tuple[Planted, ...]


def notes(chosen: str) -> Iterator[Note]:
    """The notes of a set: half of :data:`NUMBER` of each language, the same each time; or those written ``by hand``."""
    if chosen == "by hand":
        language = ""
        for place, line in enumerate(Path(__file__).with_name("more_notes.txt").read_text("utf-8").splitlines()):
            language = line[3:5] if line.startswith("==") else language
            if line and line[0] not in "=#":
                text, places = unmarked(line)
                yield Note(f"{language}-{place}", language, text, tuple(places))
        return
    for language, number in NUMBER.items():
        dice = random.Random(f"{chosen} {language}")
        half = number - number // 2 if chosen == "in sight" else number // 2
        for place in range(half):
            template = TEXTS[chosen][language][place % len(TEXTS[chosen][language])]
            text, places = unmarked(_Drawn(dice, language, chosen).filled(template))
            yield Note(f"{language}-{place}", language, text, tuple(places))


@dataclass(frozen=True, slots=True)
class Recall:
    """How many of the planted were seen, and what else was, of a language.

    Attributes:
        planted, seen: by group, in letters and digits covered whole.
        false: what was seen and is none, in these notes and in :data:`PLAIN`.
        words: of all of these; of Chinese, characters by 1.6.
    """

    planted: Counter[str]
    seen: Counter[str]
    false: list[str]
    words: float


def recall(recognition: Recognition, chosen: str, language: str) -> Recall:
    """What is seen in a set of a language."""
    counts = Recall(Counter(), Counter(), [], 0.0)
    plain = (Note(f"plain {place}", language, text, ()) for place, text in enumerate(PLAIN[language]))
    words = 0.0
    for note in (*(note for note in notes(chosen) if note.language == language), *plain):
        transcript = Transcript(note.name, (Turn(0, "other", "N", note.text),), language=language)
        found = [one for one in identifiers_of(transcript, recognition) if one.field == "text"]
        words += len(note.text) / 1.6 if language == "zh" else len(note.text.split())
        covered = {at for one in found for at in range(one.start, one.end)}
        for place in note.planted:
            (group,) = (group for group, kinds in GROUPS.items() if place.kind in kinds)
            counts.planted[group] += 1
            counts.seen[group] += {at for at in range(place.start, place.end) if note.text[at].isalnum()} <= covered
        for one in found:
            if not any(one.start < place.end and place.start < one.end for place in note.planted):
                counts.false.append(f"{one.kind}: {one.text}")
    return replace(counts, words=words)


class _Drawn:
    """The people of one note, and what is drawn for it."""

    def __init__(self, dice: random.Random, language: str, chosen: str) -> None:
        self._dice, self._language = dice, language
        first, last = PEOPLE[chosen][language]
        self._given, self._surnames = (
            (first.split(), last.split()) if language != "zh" else (last.split(), first.split())
        )

    def filled(self, template: str) -> str:
        draw: dict[str, Callable[[], str]] = {
            "N": self._full, "G": self._first, "S": self._formal, "T": self._doctor, "I": self._initials,
            "C": self._comma, "X": self._short, "D": self._day, "P": lambda: self._number("phone", PHONES),
            "R": lambda: self._number("record_number", RECORDS),
        }  # fmt: skip
        return re.sub(r"\{([A-Z])\}", lambda match: draw[match[1]](), template)

    def _pick(self, names: list[str]) -> str:
        return self._dice.choice(names)

    def _full(self) -> str:
        given, surname = self._pick(self._given), self._pick(self._surnames)
        if self._language == "zh":
            return f"{{name:{surname}{given}}}"
        forms = (f"{given} {surname}", f"{given} {surname}", f"{given} {given[0]}. {surname}", f"{given[0]}. {surname}")
        return f"{{name:{self._dice.choice(forms)}}}"

    def _first(self) -> str:
        return f"{{name:{self._pick(self._given)}}}"

    def _comma(self) -> str:
        surname, given = self._pick(self._surnames), self._pick(self._given)
        return f"{{name:{self._dice.choice((f'{surname}, {given}', f'{surname.upper()}, {given}'))}}}"

    def _formal(self) -> str:
        surname = self._pick(self._surnames)
        titles = {"en": ("Mr", "Mrs", "Ms", "Miss"), "de": ("Herr", "Frau", "Hr.", "Fr."), "zh": ("",)}
        return f"{self._dice.choice(titles[self._language])} {{name:{surname}}}"

    def _doctor(self) -> str:
        surname = self._pick(self._surnames)
        if self._language == "zh":
            return f"{{name:{surname}}}{self._dice.choice(('医生', '主任', '大夫', '教授'))}"
        titles = {
            "en": ("Dr", "Dr.", "Prof.", "Professor", "Sister"),
            "de": ("Dr.", "Dr. med.", "Prof. Dr.", "OÄ", "Frau Dr."),
        }
        return f"{self._dice.choice(titles[self._language])} {{name:{surname}}}"

    def _initials(self) -> str:
        given, surname = self._pick(self._given), self._pick(self._surnames)
        return f"{{name:{self._dice.choice((f'{given[0]}. {surname}', f'{given[0]}{surname[0]}', f'{given[0]} {surname}'))}}}"

    def _short(self) -> str:
        if self._language == "zh":
            return f"{{name:{self._dice.choice('小老阿')}{self._pick(self._surnames)}}}"
        given, surname = self._pick(self._given), self._pick(self._surnames)
        return f"{{name:{self._dice.choice((f'{given[0]}.{surname[0]}.', f'{given} {surname[0]}.', given))}}}"

    def _day(self) -> str:
        month, day, year = self._dice.randint(1, 12), self._dice.randint(1, 28), self._dice.randint(1948, 2025)
        name = MONTHS[self._language][month - 1] if self._language in MONTHS else ""
        th = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd"}.get(day, "th")
        form = self._dice.choice(DAYS[self._language])
        said = form.format(d=day, m=month, y=year, yy=f"{year % 100:02}", M=name, Mon=name[:3], th=th)
        return f"{{date:{said}}}"

    def _number(self, kind: str, forms: dict[str, tuple[str, ...]]) -> str:
        form = self._dice.choice(forms[self._language])
        form = re.sub("#", lambda _: str(self._dice.randint(0, 9)), form)
        said = re.sub(r"\?", lambda _: self._dice.choice("ABCDEFGHKLMNPRSTUVWXYZ"), form)
        return f"{{{kind}:{said}}}"
