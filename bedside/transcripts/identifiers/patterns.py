"""How identifiers are written and spoken: patterns in English, German and Chinese, with the words beside them.

All are tried on every text, whatever its language. Expressions are those of the library ``regex``, without regard to
case unless ``(?-i:…)`` says so; what stands before ``\\K`` is asked for and isn't part of the identifier.
"""

# Expressions are kept on lines of their own, however long.
# ruff: noqa: E501
from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

#: From this score on, what a pattern fits counts as seen.
THRESHOLD = 0.4
#: Scores of what is clear by itself, and of what needs one of its words before it or in the question before it.
_CLEAR, _BESIDE = 0.6, 0.1


@dataclass(frozen=True, slots=True)
class IdentifierPattern:
    """How one kind of identifier is written.

    Attributes:
        kind: a key of :data:`~bedside.transcripts.identifiers.kinds.KINDS`.
        name: what this form of it is.
        expression: regular expression.
        beside: words one of which must stand among the five before it, or in what was said just before; empty where
            the form is clear by itself.
    """

    kind: str
    name: str
    expression: str
    beside: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """How sure the form alone makes it, from 0 to 1."""
        return _BESIDE if self.beside else _CLEAR


def _any(words: str) -> str:
    return "|".join(words.split())


def _words(words: str) -> tuple[str, ...]:
    return tuple(words.split())


def _tree(words: list[str]) -> str:
    """An expression of many words, in their order, that is tried a letter at a time."""
    parts = [
        first + _tree([word[1:] for word in group]) if first else ""
        for first, group in groupby(words, key=lambda word: word[:1])
    ]
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(sorted(parts, key=len, reverse=True))})"


# -- names ---------------------------------------------------------------------------------------------

_NO_NAME = _any(
    "a about actually afraid all also always am an and any anything are as at be because been but by can come could "
    "cause did different do does doing don't down even every everyone everything feel feeling fine for from get getting "
    "go going gonna good got great had has have having he here hey hi hello her him his how i i'm i've if in into is "
    "it it's its just kind know like maybe me mean more much my never new no nobody not nothing of off okay ok on one "
    "or our out over people please pretty probably quite really right said say says she should so some someone "
    "something sometimes sorry still stupid such sure tell than thank thanks that that's the their them then there "
    "they think this those to today tomorrow tonight too two uh um under until up us very wait want wanted was we well "
    "were what what's when where which who why will with would yeah yep yes yesterday yet you you're your names lazy mr mrs ms dr being "
    "crazy doktor professor monday tuesday wednesday thursday friday saturday sunday january february march april june july august "
    "september october november december "
    # of German: what follows a title or an introduction and is none
    "aber als auch auf aus bei bin da das dass dem den der die doch ein eine med rer frau herr prof er es für gerade gut hat heute hier ich "
    "im ist ja kein kommt mein mich mir mit nach nein nicht noch nur oder schon sehr sein sie sind so und uns von vor "
    "war wann was wegen weil wenn wer wie wieder will wir wo zu zum zur tochter enkelin ehefrau ehemann"
)
#: Words that are no names, in small letters.
NO_NAMES = frozenset(_NO_NAME.split("|"))
_WORD = rf"(?!(?:{_NO_NAME})\b)\p{{L}}[\p{{L}}\p{{M}}'’-]*"
_CAPITAL = (
    rf"(?!(?:{_NO_NAME})\b)(?-i:(?:O['’]|Mc|Mac|[dD]['’]|[aA]l-|[eE]l-)?\p{{Lu}}(?:[\p{{L}}\p{{M}}'’-]*\p{{L}}|\.)?)"
)
_PARTICLES = r"(?:(?:van|von|de|der|den|del|della|di|da|dos|bin|bint|ibn|al|el|la|le|ter|zu)\s+){0,2}"
#: One to four words, each beginning with a capital.
_CAPITALS = rf"{_CAPITAL}(?:[ \t]+{_PARTICLES}{_CAPITAL}){{0,3}}"
#: Up to three words, however they are written.
_WORDS = rf"{_WORD}(?:[ \t]+{_PARTICLES}{_WORD}){{0,2}}"

_RELATIVES = _any(
    "husband wife son daughter brother sister mother father mum mom mam dad stepdad stepmum stepmom stepfather "
    "stepmother stepson stepdaughter friend mate boyfriend girlfriend partner boss supervisor cousin nephew niece aunt "
    "auntie uncle neighbour neighbor therapist counsellor counselor psychiatrist sponsor manager teacher roommate "
    "housemate flatmate colleague coworker co-worker ex ex-husband ex-wife fiancé fiancée fiance fiancee grandma "
    "grandmother grandfather grandpa granddaughter grandson nan gran baby kid boy girl twin midwife caseworker"
)
_VERWANDTE = _any(
    "Mann Frau Sohn Tochter Bruder Schwester Mutter Vater Mama Papa Freund Freundin Chef Chefin Kollege Kollegin "
    "Kollegen Nachbar Nachbarin Nachbarn Therapeut Therapeutin Cousin Cousine Neffe Nichte Onkel Tante Oma Opa "
    "Enkel Enkelin Partner Partnerin Ex Hausarzt Hausärztin Betreuer Betreuerin Schwager Schwägerin Kleine Kleiner"
)
#: Given names that many people have: they are seen alone, and with what looks like a surname behind them. Words that
#: are more often something else (Will, Grace, Mark, Rose, Peer) are left out.
_GIVEN = _tree((Path(__file__).parent / "given_names.txt").read_text("utf-8").split())
#: Who people are to a patient or a clinic: a name may follow.
_ROLES = _any(
    "patient consultant registrar physiotherapist physio midwife carer caregiver interpreter driver pharmacist surgeon dietitian dietician keyworker coordinator paramedic "
    "secretary student matron receptionist solicitor lawyer landlord chaplain psychologist dentist optician radiographer"
)
_ROLLEN = (
    r"(?:Patient|Klient|Dolmetscher|Betreuer|Therapeut|\p{L}+therapeut|Psycholog|Sozialarbeiter|Apotheker|Professor|Student|Praktikant|Lehrer|Fahrer|Bewohner|Zeug|Verfasser|Kolleg|Nachbar|Gutachter|Anw[aä]lt|Rechtsanw[aä]lt|Notar|Logopäd|Zahn[aä]rzt|Pfarrer)(?:in|en?|s)?"
    r"|\p{L}{0,12}(?:arzt|ärztin)|Arzthelferin|Pflegekraft|Schreibkraft|\p{L}*(?:pfleger|leiter|helfer|berater|assistent|sekretär)(?:in)?|Hebamme|Famul(?:us|a)|Familie|Eheleuten?|Ehepaar|Fräulein|Ehemann|Ehefrau|Witwer?|Lebensgefährt(?:e|in)|Schwester"
)
#: German nouns that follow a role and are no name.
_NO_NACHNAME = r"(?!(?-i:\p{L}+(?:ung|heit|keit|schaft|tion|tät|nis|praxis|termin|gespräch|schmerz(?:en)?)|Termin|Rücksprache|Kontakt|Schmerz(?:en)?|Fieber|Zustand|Alter|Jahre|Nummer|Typ|Anfang|Ende|Mitte)\b)"
#: Endings of surnames.
_ENDUNGEN = "mann|inger|m[ae][iy]er|huber|hofer|berger|bacher|ski|sky|ska|czyk|wicz|ović|ević|oğlu|enko"
_SURNAMES_ZH = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔"
    "钟谭陆汪范金廖贾夏韦付邹孟熊秦邱尹薛闫侯陶黎贺顾郝龚邵钱覃戴莫汤欧樊葛邢齐乔伍庞颜倪庄聂鲁岳翟殷詹耿焦俞柳祝阮柯纪童凌毕裴霍涂翁冉骆"
    "靳柴鲍喻祁蒲滕屈饶牟艾尤穆司卓缪芦褚娄窦戚岑晏宗瞿佟臧闵苟邬卞姬栾隋刁寇甄仲虞敖佘阎邝池丛储柏邰蔺匡隗晁厉戎郦雍郏浦阚鄢练揭兰甘桑关辛符洪赖"
)
#: Surnames that words begin with, too: they need more beside them.
_WORDS_ZH = "贝石方白江段雷龙史毛万严武孔常温康施文牛安易章左包宁尚舒梅季苗谷盛曲蓝路游房阳农古简麦景党宫费冷席卫米桂边师商沙荣明华平车"
_HAN = r"\p{Han}"
_COMPOUND_ZH = "欧阳|司马|诸葛|上官|司徒|东方|夏侯|皇甫|尉迟|公孙|慕容|令狐"
_SURNAME_ZH = rf"(?:{_COMPOUND_ZH}|[{_SURNAMES_ZH}])"
#: A sign of a given name: none of those that sentences go on with.
_SIGN_ZH = rf"(?:(?![今明昨][天日早晨晚夜年显]|谢谢)(?![的是了说在因已来去给把将有会和与从向打于也还都就等及到要让被对为不没未可能我你您他她它们这那个位医护主先女男岁床号姐哥叔姨嫂叫请问找治疗后前时痛炎症病重度血压热糖]){_HAN})"
#: Signs that given names are made of, each or both; of words that are often in notes few are.
_GIVEN_ZH = (
    "秀英伟芳娜敏静丽强磊军洋勇艳杰娟涛超霞刚桂兰玉萍红玲芬燕彩春菊凤洁梅琳雪荣爱妹香月莺媛瑞凡佳嘉琼勤珍贞莉娣璧璐娅琦晶妍茜秋珊莎锦黛"
    "倩婷姣婉娴瑾颖露瑶怡婵雁蓓纨仪荷丹蓉眉君琴蕊薇菁梦岚苑婕馨瑗琰韵融园艺咏卿聪澜纯毓悦昭冰爽琬茗羽希宁欣飘育滢馥筠柔竹霭凝晓欢霄枫芸菲寒"
    "伊亚宜可姬舒影荔枝思豪浩然宇轩博文昊天子涵梓睿俊德国栋志建华海峰鹏飞龙斌辉浩宁康乐雨桐诗涵美云健世广义兴良山仁波贵福生元全胜学祥才武新利清彬富顺信杰"
)
#: Signs that are those of given names behind a surname, besides.
_MORE_GIVEN_ZH = "东亮兵冬凯坤岩帅帆慧旭晨楠淑瑜畅花芝莹鑫振启永家光忠诚庆树森松泽鸿翔翰哲奕祺彤钰芷若晴雅惠娥巧珠翠莲蕾素霖钧铭锋锐钢柱根敬茂友川依尔之昕晗晖朗卫民大小明成立金洪江祖贤宝远长少绍景昌定善达安加正培万泉延继承克润仲耀益凌阳星日曦楚冠铮骏卓轶翊逸岳峻岭石蓬笑萌翎霓雯琪珂珏璟瑛瑚璇"
#: A whole name that words hardly are.
_FULL_ZH = rf"(?:(?:{_COMPOUND_ZH}|[{_SURNAMES_ZH}]){_SIGN_ZH}{{1,2}}|[{_WORDS_ZH}](?:[{_GIVEN_ZH}{_MORE_GIVEN_ZH}]{_SIGN_ZH}?|{_SIGN_ZH}[{_GIVEN_ZH}{_MORE_GIVEN_ZH}]))"
#: How names of drugs go on behind 阿.
_DRUGS_ZH = "司[匹咪]|莫[西沙地]|魏酸|柏西"
_TITLES_ZH = "医生|大夫|医师|先生|女士|小姐|太太|老师|护士|主任|教授|院长|律师|师傅|护工|阿姨|叔叔|奶奶|爷爷|大爷|大妈|大娘|伯伯|同志|经理|警官|小朋友|同学"

# -- numbers and dates in words ------------------------------------------------------------------------

_DIGIT = _any(
    "zero oh o nought naught one two three four five six seven eight nine null eins zwei zwo drei vier fünf sechs "
    "sieben acht neun"
)
_ENGLISH_MONTH = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december|"
    r"(?:jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\b\.?)"
)
_MONAT = "(?:Januar|Jänner|Februar|Feber|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)"
_ORDINAL = (
    r"(?:(?:twenty|thirty)[- ])?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|"
    "thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth)"
)
_TENS = "(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
_ONES = "(?:one|two|three|four|five|six|seven|eight|nine)"
_TEENS = "(?:ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen)"
_BELOW_100 = rf"(?:{_TENS}(?:[- ]{_ONES})?|{_TEENS}|{_ONES})"
_YEAR = (
    rf"(?:(?:1[89]|20)\d\d|'\d\d|(?:nineteen|twenty)[- ](?:(?:oh|o)[- ])?{_BELOW_100}|"
    rf"two[- ]thousand(?:[- ](?:and[- ])?{_BELOW_100})?)"
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH = r"(?:0?[1-9]|1[0-2])"
#: The day that a time begins with in German.
_UNTIL = rf"{_DAY}\.(?:[ ]?{_MONTH}\.)?[ ]?(?:[-–/]|bis(?:[ ]zum)?|und)[ ]?"
_ZH_DIGITS = "[〇零一二三四五六七八九十]"

_NUMBER_WORDS = (
    r"(?:MRN|M\.R\.N\.|medical record(?:s)?|health record|record|chart|hospital|patient|client|case|file|NHS|CHI|"
    r"member|membership|policy|insurance|accession|medicare|medicaid|study|subject|participant|clinic|unit|"
    r"registration|encounter|visit|prescription|passport|licen[cs]e|national insurance|social security|SSN|NI)"
)
_NUMMER_WORTE = (
    r"(?:Versicherten|Versicherungs|Krankenversicherungs|Krankenversicherten|Patienten|Fall|Akten|Sozialversicherungs|"
    r"Rentenversicherungs|Steuer|Ausweis|Personalausweis|Mitglieds|Klienten|Aufnahme)"
)
_CODE = r"(?=[\p{L}\d./-]*\d)[A-Z]{0,4}[-/. ]?\d[\dA-Z]*(?:[-/ .]?[\dA-Z]*\d[\dA-Z]*){0,5}"
_STATES = _any(
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA "
    "RI SC SD TN TX UT VT VA WA WV WI WY DC PR"
)
_NO_STREET = _any(
    "the a an my your his her our their this that each every per to of in on at by from down up along across off out "
    "minute minutes min mins hour hours day days week weeks month months year years mile miles km metre metres meters "
    "feet foot times time people kids or and is was one way am pm percent mg ml doors blocks with under "
    "von vom bei beim durch unter mit zu zum zur im an aus nach für über seit bis und oder praxis herr herrn frau prof"
)
_STREETS = (
    "street|st|avenue|ave|road|rd|lane|ln|drive|dr|court|ct|boulevard|blvd|way|place|terrace|close|crescent|square|"
    "gardens|grove|row|mews|parkway|pkwy|highway|hwy|walk|rise|circle"
)

PATTERNS: tuple[IdentifierPattern, ...] = (
    IdentifierPattern(
        "name",
        "introduction",
        r"\b(?:(?:my|the|her|his|full|first|last|middle|given|maiden|family|legal|sur) ?names?(?:'s|’s| is| was)"
        r"|(?:i am|i'm|i’m|he's|she's|is|was|just|they|people|everyone|friends|family|you can)(?: all)? calls? me"
        r"|(?<!\bdon't )call me|i am called|i'm called|i go by|goes by|nickname(?:'s|’s| is| was)"
        r"|known as|(?:a )?k\.?a\.)"
        rf"[ \t]+(?:(?:actually|just|still|really|dr\.?|mr\.?|mrs\.?|ms\.?)[ \t]+)?\K{_WORDS}",
    ),
    IdentifierPattern(
        "name",
        "introduction with capitals",
        r"\b(?:this is|i am|i'm|i’m|it's|it’s|named|called|name is|hi|hello|hey|dear|thanks|thank you|bye|goodbye|"
        r"morning|afternoon|evening|okay|welcome|sincerely|regards|signed|love|meet|with)[,:]?[ \t]+"
        rf"\K{_CAPITALS}(?=[ \t]*(?:[,.!?;:—–-]|\n|$|from|here|again|and|speaking|calling|who|is\b|said\b))",
        beside=_words(
            "hi hello hey this named called name dear signed speaking meet bye goodbye morning thanks afternoon welcome regards evening"
        ),
    ),
    IdentifierPattern(
        "name",
        "title",
        rf"\b(?:(?:mr|mrs|ms|miss|mx|dr|prof)\b\.?|(?:doctor|professor|nurse|sister|pastor|father|rabbi|imam|reverend|"
        rf"staff nurse|uncle|aunt|auntie|aunty|grandma|grandpa|nana|cousin|officer|judge|coach|sir|dame)(?=[ \t]+(?-i:\p{{Lu}})))"
        rf"[ \t]+\K(?:{_CAPITALS}|{_WORD})",
    ),
    IdentifierPattern(
        "name",
        "relative",
        rf"\b(?:(?:my|his|her|our|their|your|the|a)(?:[ \t]+(?:own|older|younger|elder|little|big|late|best|eldest|"
        rf"oldest|youngest|new|old|good|dear|close|twin|former))*[ \t]+)(?:{_RELATIVES}),?[ \t]+\K{_CAPITALS}",
    ),
    IdentifierPattern(
        "name",
        "relative called",
        rf"\b(?:{_RELATIVES})(?:'s|’s)?[ \t]+(?:is[ \t]+|was[ \t]+)?(?:name[ \t]+is|name[ \t]+was|called|named)"
        rf"[ \t]+\K{_WORD}",
    ),
    IdentifierPattern(
        "name",
        "line of a note",
        r"(?:^|[\n;|(.])[ \t]*(?:patient|pt|client|name|full name|patient name|surname|clinician|provider|therapist|"
        r"interviewer|signed|signed by|seen by|referred by|reviewed by|dictated by|attending|consultant|gp|pcp|"
        r"next of kin|nok|emergency contact|contact|guardian|carer|caregiver|mother|father|spouse|partner|informant|"
        r"cc|re|Name|Patient|Patientin|Behandler|Hausarzt|Angehörige)\b[ \t]*(?:name)?[ \t]*[:=-][ \t]*"
        rf"(?:(?:mr|mrs|ms|dr|herr|frau)\.?[ \t]+)?\K{_CAPITAL}(?:,?[ \t]+{_PARTICLES}{_CAPITAL}){{0,3}}",
    ),
    IdentifierPattern(
        "name",
        "with initials or degree",
        r"(?-i:\b(?!M\.[ ]?(?:Parkinson|Crohn|Alzheimer|Bechterew|Basedow|Hodgkin|Menière|Scheuermann|Addison|Cushing))(?:\p{Lu}\.[ \t]?){1,2}\p{Lu}[\p{L}’'-]*\p{Ll}\b"
        r"|\b\p{Lu}[\p{L}'’-]+[ \t]+(?:\p{Lu}\.?[ \t]+)?\p{Lu}[\p{L}'’-]+"
        r"(?=,[ \t]*(?:MD|M\.D\.|RN|NP|PA-C|PhD|Ph\.D\.|LCSW|LMFT|DO|PsyD|MSW|FRCP|MRCGP)\b))",
    ),
    IdentifierPattern(
        "name",
        "beside what people do",
        rf"\b(?:(?:spoke|talked|speaking|discussed|write|typed|dictated|agreed|handover|seen|reviewed|assessed|examined|signed|written|called|rung|phoned|accompanied|brought in|referred|visited|care)[ \t]+(?:to|with|by|from|of)"
        rf"|tell|told|ask|asked|remind|informed|rang|phoned|met|visited|thank you|thanks|thank|hello|hi|dear|sorry|good (?:morning|afternoon|evening)|goodbye|bye|(?<=handover from [^.\n]{{3,40}}[ ])to"
        rf"|(?:{_ROLES}),?|name)[ \t]*,?[ \t]+\K(?-i:(?=\p{{Lu}}\p{{L}}*\p{{Ll}})){_CAPITALS}(?=[ \t]*(?:[,.!?;:()]|\n|$)|[ \t]+(?-i:\p{{Ll}}|\d))"
        rf"|(?<![\p{{L}}-]){_CAPITAL}[ ](?!(?:{_ROLES}|{_RELATIVES}|{_ROLLEN}|services|team|staff|college|[\p{{L}}]+s)\b){_CAPITAL}(?=[ ](?-i:arrived|attended|says|said|told|reported|reports|denies|called|rang|phoned|came|went|took|lives|lived|asked|wants|kam|ging|weinte|sagte?|berichtete?|erzählte?|klagte?|wünscht|möchte|ruft|rief|wohnt|lebt)\b)"
        rf"|{_CAPITALS}(?=[ \t]*\([ \t]*(?:(?:his|her|their|my|the)[ ])?(?:{_RELATIVES}|{_ROLES}|{_VERWANDTE})\b|,[ ](?:{_RELATIVES}|{_ROLES})[ \t]*(?:[.,;)]|\n|$))",
    ),
    IdentifierPattern(
        "name",
        "answer to a question",
        r"\A\W*(?:(?:it's|it’s|it is|its|i'm|i am|im|yes|yeah|sure|um|uh|er|erm|hi|hello|oh|ok|okay|of course|well|so|ja|"
        rf"ähm|also|ich bin)\b\W*)*\K{_WORD}(?:[ \t]+{_PARTICLES}{_WORD}){{0,3}}(?=[ \t]*(?:[.!,;?…-]|\n|$))",
        beside=("name", "names", "surname", "called", "nickname", "spell", "speaking", "heißen", "vorname", "nachname"),
    ),
    IdentifierPattern(
        "name",
        "German introduction",
        r"\b(?:(?:mein|ihr|sein|der|voller) (?:voller )?(?:name|vorname|nachname|mädchenname|spitzname) ist|hier (?:spricht|ist)|"
        r"ich hei(?:ß|ss)e|(?<!das |eit |ent |tte |ung )heißt|nennt mich|nennen mich(?: alle)?|ich bin (?:die|der))[ \t]+"
        rf"(?:übrigens[ \t]+)?\K{_WORD}(?:[ \t]+{_PARTICLES}{_CAPITAL}){{0,2}}",
    ),
    IdentifierPattern(
        "name",
        "German title",
        rf"\b(?-i:Herrn?|Frau|Doktor|Schwester|Pfleger|Onkel|Tante|Oma|Opa)[ \t]+(?:(?:Prof|Dr|med)\.?[ \t]+|"
        rf"Doktor[ \t]+|Professor[ \t]+){{0,3}}\K(?!Dokto|Profess|Herrn)(?:(?-i:von|van|zu|de|vom|al|di|ter)[ ]+)?{_CAPITALS}",
    ),
    IdentifierPattern(
        "name",
        "German relative",
        rf"\b(?:(?:mein|dein|sein|ihr|unser)(?:e[mnrs]?)?|die|der|dem|den)(?:[ \t]+(?:beste|ältere|jüngere|kleine|große|alte|neue)[mnrs]?)*"
        rf"[ \t]+(?:{_VERWANDTE}),?[ \t]+\K{_NO_NACHNAME}{_CAPITALS}",
    ),
    IdentifierPattern(
        "name",
        "German, beside who people are",
        rf"\b(?:(?-i:{_ROLLEN}|Pat\.)|sagen Sie|fragen Sie|(?:rücksprache|besprochen|gesprochen|telefonat|gespräch) mit(?=[ ]\S+(?:[ ]\S+)?(?:[ ](?:aus|von|vom)\b|[.,;]))|danke|guten (?:Tag|Morgen|Abend)|hallo|liebe[r]?|ich bin(?=[^.,]+,[ ]+(?:Ihre?|der|die)\b)),?[ \t]+(?:(?-i:Herrn?|Frau|Dr\.|Prof\.|med\.)[ \t]+){{0,3}}"
        rf"\K{_NO_NACHNAME}{_CAPITALS}(?=[ \t]*(?:[,.;:!?()–]|\n|$)|[ \t]+(?-i:\p{{Ll}}|\d))"
        rf"|\bmich[ \t]+\K{_CAPITAL}(?=[ \t]+nenn)|{_CAPITAL}[ \t]+(?-i:\p{{Lu}}[\p{{L}}-]+(?:{_ENDUNGEN}))\b",
    ),
    IdentifierPattern(
        "name",
        "Chinese introduction",
        rf"(?:我叫|我是|他叫|她叫|名叫|名字是|名字叫|叫做|[，母父]亲?叫|姓名[:：]?\s*|患者|病人|护士|医生|翻译|护工|司机|家属|同事|同学|邻居|朋友|儿子|女儿|孙子|孙女|老公|老婆|丈夫|妻子|哥哥|弟弟|姐姐|妹妹|母亲|父亲|男友|女友|孩子"
        rf"|告诉|联系|通知|寄给|转给|交给|打给)(?:[:：]\s*|是|叫)?\K{_FULL_ZH}|(?:叫我|叫他|叫她|小名|外号)\K{_SIGN_ZH}{{2,3}}(?=[，。、！])",
    ),
    IdentifierPattern(
        "name",
        "Chinese title",
        rf"(?:(?<![责主])(?!谢谢){_SURNAME_ZH}{_SIGN_ZH}{{0,2}}?(?={_TITLES_ZH}|总\b)|(?:(?<!{_HAN})|(?<=[找请和跟给叫见是由与识长]))[{_WORDS_ZH}]{_SIGN_ZH}{{0,2}}?(?={_TITLES_ZH})|(?<!{_HAN})(?:小|老|阿)(?:欧阳|司马|诸葛|上官)|(?:(?<!{_HAN})|(?<=同事|朋友|邻居|同学|叫|找|和|跟))(?:小|老|阿)(?!{_DRUGS_ZH})[{_SURNAMES_ZH}]"
        rf"(?!{_HAN}?[时候])|(?:[我他她您]|患者|病人|免贵)姓\K(?!名)(?:{_COMPOUND_ZH}|{_HAN}))",
    ),
    IdentifierPattern(
        "name",
        "Chinese given name",
        rf"(?:我|他|她|们)(?:的)?(?:大|小|二)?(?:儿子|女儿|孙子|孙女)(?:叫)?\K(?![又也还都不很最现今昨明已没会在上是有说去来跟和]){_HAN}{{2}}(?=[又也还都在上是有说去来跟和，。、？！])",
    ),
    IdentifierPattern(
        "name",
        "relative in small letters",
        rf"\b(?:my|his|her|our)[ \t]+(?:(?:older|younger|big|little|best|ex)[ \t]+)?(?:{_RELATIVES})[ \t]+\K{_WORD}(?:[ \t]+{_WORD})?"
        r"(?=[ \t]+(?:says|said|say|thinks|told|tells|came|comes|got|gets|has|had|keeps|wants|lives|lived|died|quit|was|is|"
        r"will|did|does|never|also|too|smokes|drinks|helps|helped|knows|went|and[ \t]+i)\b)",
    ),
    IdentifierPattern(
        "name",
        "introduction in small letters",
        rf"\b(?:it's|it’s|its|this is|im|i'm|i’m)[ \t]+\K{_WORD}(?:[ \t]+{_WORD})?(?=[ \t]+(?:again|here|speaking|calling|from[ \t]+\p{{L}}))",
        beside=("hi", "hey", "hello", "its", "it's", "this"),
    ),
    IdentifierPattern(
        "name",
        "given name with a surname",
        rf"\b(?-i:(?:{_GIVEN})(?:-\p{{Lu}}\p{{Ll}}+)?)(?:[ \t]+(?-i:\p{{Lu}}\.[ \t]*)?{_PARTICLES}{_CAPITAL}|[ \t]+(?-i:\p{{Lu}}\.))?(?!\w)"
        rf"|\b{_CAPITAL},[ \t]*(?-i:{_GIVEN})\b|(?-i:(?<=\bName[ \t])\p{{Lu}}[\p{{L}}'’-]+,[ \t]*\p{{Lu}}[\p{{L}}'’-]+|\b\p{{Lu}}{{4,}}(?:-\p{{Lu}}+)?,[ \t]*\p{{Lu}}\p{{Ll}}+(?:-\p{{Lu}}\p{{Ll}}+)?)",
    ),
    IdentifierPattern(
        "name",
        "one of a note's people",
        rf"\b(?:caller|sponsor|teacher|informant|signed|sincerely|regards|faithfully|cc|nok|next of kin|about|present|counsellor|"
        rf"{_RELATIVES}|mother-in-law|father-in-law|brother-in-law|sister-in-law|twins|gez\.|Grüßen|"
        rf"Lebensgefährte|Lebensgefährtin|Ehemann|Ehefrau|Angehörige[rn]?|Betreff|Zwillinge[n]?|{_VERWANDTE})"
        rf"[ \t]*[:,(]?\s+\K(?-i:\p{{Lu}}\.?[ \t]?){{0,2}}{_CAPITALS}(?!\p{{L}})(?=[ \t]*(?:[,.;()]|\n|$)|[ \t]+(?-i:\p{{Ll}}|\d))",
    ),
    IdentifierPattern(
        "name",
        "initials",
        r"(?-i:(?<![\p{L}.])\p{Lu}\.[ \t]?\p{Lu}\.(?!\w)|\b\p{Lu}\p{Ll}+(?:-\p{Lu}\p{Ll}+)?[ \t]\p{Lu}\.(?=[ \t]+\p{Ll})"
        r"|(?<=[.\d]\s)\p{Lu}{2}(?=\s*(?:$|,[ \t]*\p{Ll}))|(?<=[.]\s)\p{Lu}[ \t]+\p{Lu}[\p{L}'’-]*\p{Ll}(?=\s*(?:$|,)))",
    ),
    IdentifierPattern(
        "name",
        "German title in short",
        rf"\b(?-i:Hr|Fr|Dr|Prof|PD|Dipl\.-Psych|OÄ|OA|CA|CÄ|ÄiW|Sr|Pfl)\b\.?(?:[ \t]+(?:med|rer|nat|phil|dent|habil|Dr|Prof)\b\.?)*[ \t]+\K(?!med|Dr|Prof){_CAPITALS}",
    ),
    IdentifierPattern(
        "name",
        "Chinese in full",
        rf"{_SURNAME_ZH}[{_GIVEN_ZH}]{{2}}|(?<!{_HAN}){_FULL_ZH}(?=于\d|因|（|[，,][男女]|签|昨|今|会|说|来电|打电话|表示|报告|反映|同意|把)"
        rf"|(?:家属|患者|病人|记录|此致|签名|抄送|联系人|咨询师|医师|护士|外婆|奶奶|爷爷|现将|关于|老师|经办|陪同人?)(?:是|为|[:：，,])?\s?\K{_FULL_ZH}(?![{_SURNAMES_ZH}]?医)"
        rf"|(?<![{_SURNAMES_ZH}]|欧阳|司马)[{_GIVEN_ZH}]{{2}}(?=[迟来说又也在陪和，给打提承觉表告希同接送负没不讲问想])(?<!文化|健康|清爽|情|新冠|全天|春天|天然|学生|文学|天生|新生|清洁|美丽|天天|福利|胜利|安宁|医学|华美|建国前)"
        rf"|(?:和|与|双胞胎|女儿|儿子|家人|孩子|姐姐|妹妹|哥哥|弟弟|老公|丈夫|老婆|妻子|母亲|父亲|妈妈|爸爸|同事|朋友|室友|同学|邻居|跟|给|找|陪|问|对|让|由|是|叫)\K(?!学生|天天|文学|新生|健康|美国|清洁|武|全)(?:[{_GIVEN_ZH}][{_GIVEN_ZH}{_MORE_GIVEN_ZH}]|[{_MORE_GIVEN_ZH}][{_GIVEN_ZH}])",
    ),
    IdentifierPattern(
        "name",
        "Chinese, familiar",
        rf"(?:(?<!{_HAN})|(?<=[和跟给叫找与对让问称床人者事友居弟妹哥姐儿女天]))(?:[小老阿](?!{_DRUGS_ZH}){_SURNAME_ZH}(?![时候年])|{_SURNAME_ZH}[姐哥叔姨嫂](?![姐哥叔姨嫂])"
        rf"|(?:阿|小(?![雨雪学生康全大月长新山海洋江家花年正金根成广乐可爱]))[{_GIVEN_ZH}{_MORE_GIVEN_ZH}](?=\P{{L}}|$|[说来去在和跟也还又都是有会没不打给陪叫想觉告表就已今昨的吵聊电]))",
    ),
    IdentifierPattern(
        "date",
        "in short",
        rf"(?<![\w.])(?:{_DAY}[- ]?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[- ]'?(?:(?:19|20)?\d\d)\b|the[ \t]+{_DAY}(?:st|nd|rd|th)\b(?![ \t]+(?:floor|percentile|time|week|day|rib|session|centile|grade))"
        rf"|{_DAY}\.[ \t]?{_MONAT}[ \t]?(?:19|20)?\d\d\b|{_DAY}\.[ \t]?(?:Jan|Feb|Mär|Apr|Jun|Jul|Aug|Sept?|Okt|Nov|Dez)\b\.?(?:[ \t]?(?:19|20)?\d\d\b)?)",
    ),
    IdentifierPattern(
        "phone",
        "extension",
        r"\b(?:ext|extn|extension|pager|bleep|Durchwahl|App|Apparat)\b\.?:?[ \t]*\d{3,6}(?!\w)|(?<!\w)-?\d{3,5}[ \t]+intern\b|(?:分机|内线|转)号?[:：]?\s?\d{3,6}|\b(?:pager|bleep)[ ]\d-\d{3,5}\b",
    ),
    IdentifierPattern(
        "phone",
        "in groups",
        r"(?<![\p{Latin}\d_.,/-])(?:\+[ ]?\d{1,3}[ .-]?(?:\(0\)[ ]?)?\d{1,5}(?:[ ./-]{0,3}\d{2,9}){1,4}|(?=0(?:\D{0,3}\d){6})0\d{2,5}(?:[ ]?[/-][ ]?|[ ])\d{2,9}(?:[ -]\d{1,6}){0,4}|\d{3}\.\d{3}\.\d{4}|\(0?\d{2,5}\)[ ]?\d{3,4}[ -]?\d{3,5})(?![\p{Latin}\d_]|[.,]\d)",
    ),
    IdentifierPattern(
        "record_number",
        "by its form",
        r"(?-i:(?<![\p{Latin}\d_.,/-])(?:\p{Lu}{1,3}-?\d{4,10}(?:[-/]\d{1,4})?\p{Lu}?|\p{Lu}{2}-\d{3,6}/\d{2,4}|\d{2}[/-]\d{5,6}|\d{3}[- ]\d{2,3}[- ]\d{4}|(?!(?:19|20)\d\d[.-](?:19|20)\d\d)\d{4}[.-]\d{4}|\d{7,12})(?![\p{Latin}\d_]|[.,/-]\d))",
    ),
    IdentifierPattern(
        "date",
        "numbers",
        rf"(?<![\d./-])(?!(?<=\bapgar(?:[ -]?(?:score|werte?|index))?[ :(]*)(?:(?:10|\d)/){{2}}(?:10|\d)(?!\d))(?:{_DAY}([/.-]){_MONTH}\1(?:(?:19|20)?\d\d)|{_MONTH}([/-]){_DAY}\2(?:(?:19|20)?\d\d)|"
        rf"(?:19|20)\d\d([-/.]){_MONTH}\3{_DAY})(?!\d|[./-]\d)",
    ),
    IdentifierPattern(
        "date",
        "day and month in numbers",
        rf"(?<![\d./-])(?:{_DAY}[/.]{_MONTH}|{_MONTH}/{_DAY})(?![\d/%])\.?(?![ \t]*(?:mg|pain|out))",
        beside=_words(
            "date dob birthday born admitted discharged appointment on since am vom seen bis ab seit zum den dem visite aufnahme starb physiotherapie"
        ),
    ),
    IdentifierPattern(
        "date",
        "English",
        rf"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?[ \t]+)?(?:(?:the[ \t]+)?{_DAY}(?:st|nd|rd|th)?[ \t]+(?:of[ \t]+)?{_ENGLISH_MONTH}\b(?:,?[ \t]+{_YEAR}\b)?"
        rf"|{_ENGLISH_MONTH}[ \t]+(?:the[ \t]+)?{_DAY}(?:st|nd|rd|th)?\b(?![:%]|\.\d)(?:,?[ \t]+{_YEAR}\b)?"
        rf"|(?:the[ \t]+)?{_ORDINAL}[ \t]+(?:of[ \t]+)?{_ENGLISH_MONTH}\b(?:,?[ \t]+{_YEAR}\b)?"
        rf"|{_ENGLISH_MONTH}[ \t]+(?:the[ \t]+)?{_ORDINAL}\b(?:,?[ \t]+{_YEAR}\b)?"
        rf"|{_ENGLISH_MONTH}(?:,?[ \t]+|[ \t]+of[ \t]+)(?:(?:19|20)\d\d|(?:nineteen|two thousand)[- ]{_BELOW_100})\b)",
    ),
    IdentifierPattern(
        "date",
        "German",
        rf"(?<![\d.,])(?:{_UNTIL}{_DAY}\.[ ]?{_MONTH}\.(?!\d(?!\d))(?:[ ]?(?:19|20)?\d\d(?!\w|[.,:/-]\d))?|{_DAY}\.[ ]{_MONTH}\.[ ]?(?:19|20)?\d\d(?!\w|[.,:/-]\d|[ ]*(?:mg|ml|g|x|Uhr)\b))"
        rf"|\b(?:(?:{_UNTIL})?{_DAY}\.[ \t]?{_MONAT}\b(?:[ \t]+(?:19|20)?\d\d\b)?|\p{{L}}+(?:ten|ste[nr]?|ter)[ \t]+{_MONAT}\b"
        rf"(?:[ \t]+(?:(?:19|20)\d\d|neunzehnhundert\p{{L}}+|zweitausend\p{{L}}*))?|{_MONAT}[ \t]+(?:19|20)\d\d\b)",
    ),
    IdentifierPattern(
        "date",
        "Chinese",
        rf"(?:(?:19|20)?\d\d年\s?\d{{1,2}}月(?:\s?\d{{1,2}}[日号])?|\d{{1,2}}月\s?\d{{1,2}}[日号]"
        rf"|(?:{_ZH_DIGITS}{{2,4}}年)?{_ZH_DIGITS}{{1,2}}月(?:初)?{_ZH_DIGITS}{{1,3}}[日号]?"
        rf"|{_ZH_DIGITS}{{4}}年{_ZH_DIGITS}{{1,2}}月)",
    ),
    IdentifierPattern(
        "age",
        "over 89",
        rf"(?<![\d./])(?:(?:9\d|1[01]\d)(?=[- ]?(?:years?[- ]old|years? of age|yo\b|y/o|y\.o\.|Jahre?(?:[ \t]+alt|\b)|J\.(?!\w)|-?jährig|岁))"
        rf"|\b(?:ninety(?:[- ]{_ONES})?|(?:a|one)[ \t]hundred(?:[ \t](?:and[ \t])?{_BELOW_100})?)"
        rf"(?=[- ]years?(?:[- ]old|[ \t]of[ \t]age))"
        rf"|\b(?:\p{{L}}+und)?neunzig(?=[ \t]+Jahre)|九十[一二三四五六七八九]?(?=岁))"
        rf"|(?:\b(?:(?:mrs?|ms|miss|dr|prof|herrn?|frau)\b\.?[ \t]+{_CAPITALS}|(?-i:{_GIVEN})\b(?:[ \t]+{_CAPITAL})?)(?:,[ \t]+|[ \t]*\()"
        r"|\b(?:pt|patient|client|resident)[ \t]+is[ \t]+(?:now[ \t]+)?)\K(?:9\d|1[01]\d)(?=[ \t]*(?:[.,;)](?!\d)|\n|$))"
        r"|(?:^|(?<!temp)\.[ \t]+|\b(?:an?|this|pt|patient|frail|pleasant)[ \t]+)\K(?:9\d|1[01]\d)(?=[ ]?(?-i:[FM])[ ,]+(?:with|w/|c/o|who|presents|presenting|admitted|brought|found|from|complain\w+)\b)",
    ),
    IdentifierPattern(
        "age",
        "over 89, told",
        rf"\b(?:age[d:]?|age is|age was|turned|turning|turns|wird|wurde|mit|alter:?|(?:she|he|i|mum|mom|dad|gran|nan|"
        rf"grandma|mother|father|grandmother|grandfather)(?:'s|’s|'m|’m| is| was| am)(?: almost| nearly| now)?|who is|who's|who’s|lived to(?: be)?|"
        rf"\p{{L}}+(?:'ll|’ll| will) be|\p{{L}}+ was)[ \t]+"
        rf"\K(?:(?:9\d|1[01]\d)\b(?![ \t]*(?:%|percent|per cent|kg|kilos?|pounds?|lbs?|cm|minutes|days|mg|miles|[./]\d|over))"
        rf"|ninety(?:[- ]{_ONES})?\b(?![ \t-]*(?:percent|per cent|minutes|days|kilos?|pounds?|nine percent)))",
    ),
    IdentifierPattern(
        "phone",
        "digit by digit",
        rf"\b(?:(?:double|triple|treble|plus)[ \t]+)?(?:{_DIGIT})(?:[ \t,.…-]+(?:(?:double|triple|treble)[ \t]+)?"
        rf"(?:{_DIGIT}|\d{{1,3}})){{5,}}\b|[零〇一幺二三四五六七八九]{{7,}}",
    ),
    IdentifierPattern("phone", "Chinese mobile", r"(?<![\d.])1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?![\d.]\d|\d)"),
    IdentifierPattern(
        "phone",
        "digits",
        r"(?<![\w.])(?:\+\d{1,3}[ \t.-]?)?(?:\(\d{2,5}\)[ \t]?|\d{2,5}[ \t./-])\d{3,4}[ \t.-]?\d{3,4}(?:[ \t.-]?\d{1,4})?(?!\w)"
        r"|(?<!\w)\d{3}[-.]\d{4}(?!\w)|(?<!\w)(?:0|\+)\d{7,14}(?!\w)",
        beside=_words(
            "phone telephone tel number mobile cell cellphone call fax text ring reach landline pager ext contact nummer telefonnummer telefon handy handynummer mobil erreichbar anrufen erreichen whatsapp 电 话 手 机"
        ),
    ),
    IdentifierPattern(
        "email", "written", r"(?<![\w.+-])[\p{L}\d._%+-]{1,64}@[\p{L}\d-]{1,63}(?:\.[\p{L}\d-]{1,63}){1,5}(?<![.-])"
    ),
    IdentifierPattern(
        "email",
        "spoken",
        r"(?<![\p{L}\d._-])[\p{L}\d._-]{1,64}+(?:[ \t]+(?:dot|punkt|underscore|unterstrich|dash|minus|bindestrich|点)[ \t]+[\p{L}\d_-]{1,64}+){0,6}"
        r"[ \t]*(?:[ \t]at[ \t]|[ \t]ät[ \t]|\(at\)|\[at\]|[ \t]艾特[ \t])[ \t]*[\p{L}\d-]+"
        r"(?:(?:[ \t]*(?:[ \t]dot[ \t]|[ \t]punkt[ \t]|\(dot\)|\[dot\])[ \t]*|\.)\p{L}{2,12}\b){1,3}",
    ),
    IdentifierPattern("link", "address", r"\b(?:https?://|www\.)[^\s<>\"'，。）]{3,200}(?<![.,;:!?)])"),
    IdentifierPattern(
        "link",
        "domain",
        r"(?<![\w@.-])(?:[a-z0-9-]{2,63}\.){1,3}(?:com|org|net|de|co\.uk|cn|edu|gov|io)(?:/[^\s<>\"']{0,100})?(?![\w.-]\w)",
    ),
    IdentifierPattern("link", "handle", r"(?<![\w.@/])@[a-z_][\w.]{2,30}\b"),
    IdentifierPattern(
        "link",
        "handle told",
        r"(?<![\w.])(?=\w{0,30}(?:[_\d]|\.\w))[a-z][\w.]{3,30}\b",
        beside=_words("instagram insta snapchat tiktok twitter handle username skype wechat discord"),
    ),
    IdentifierPattern(
        "link", "Chinese handle", r"(?:微信|QQ|微博)(?:号|账号)?\s?(?:是|[:：])?\s?\K[A-Za-z0-9][\w-]{4,30}"
    ),
    IdentifierPattern(
        "record_number",
        "with its name",
        rf"\b{_NUMBER_WORDS}(?:[ \t]*(?:record|id|number|numbers|num|no\b\.?|nr\b\.?|card|policy|#))*(?:'s|’s)?"
        rf"[ \t]*(?:(?:is|was|of|are|:|#|=|-|,)[ \t]*){{0,3}}\K{_CODE}(?<=\d[\dA-Z./ -]{{2,30}}|\d[A-Z]\d\d)\b",
    ),
    IdentifierPattern(
        "record_number",
        "in German",
        rf"\b(?:{_NUMMER_WORTE}(?:nummer|nr\b\.?|zeichen|kennzeichen|kartennummer|[ -]?ID)|Versichertenkarte|Fallnr\.?|"
        rf"Patienten-ID)[ \t]*(?:(?:ist|lautet|die|:|=)[ \t]*){{0,2}}\K{_CODE}\b",
    ),
    IdentifierPattern(
        "record_number",
        "in Chinese",
        r"(?:病历|住院|门诊|就诊|就诊卡|医保|医保卡|社保|身份证|病案|登记|床位|护照|账|帐|银行|保单|驾照|驾驶证|尾|工|订单|发票|标本|样本)(?:卡)?(?:号码|号|编号)\s?(?:是|为|[:：])?\s?"
        r"\K[A-Za-z]{0,3}-?\d[\dA-Za-z-]{3,20}|[（(](?:19|20)\d\d[）)]\p{Han}\d{0,4}\p{Han}{1,4}\d{1,6}号",
    ),
    IdentifierPattern(
        "record_number",
        "number",
        r"(?<![\w.,/+-])[A-Z]{0,4}-?\d{4,12}(?:[ ]\d{3,6}){0,3}[A-Z]?(?<=\d{5}[A-Z]?|[ ]\d{3,6})(?![\w%]|[.,]\d)|(?<!\w)[A-Z]{1,4}[-/]\d{2,6}(?:[-/]\d{1,6})?(?!\w)",
        beside=_words(
            "mrn record records chart insurance policy member patient id reference ref hospital file passport badge licence license ssn medicare versichertennummer patientennummer fallnummer aktenzeichen 病 号"
        ),
    ),
    IdentifierPattern(
        "record_number", "US social security", r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\d-])"
    ),
    IdentifierPattern(
        "record_number", "British NHS", r"(?<![\d-])\d{3}[ -]\d{3}[ -]\d{4}(?![\d-])", beside=("nhs", "chi")
    ),
    IdentifierPattern(
        "record_number",
        "British national insurance",
        r"\b(?-i:[A-CEGHJ-PR-TW-Z]{2}[ ]?\d\d[ ]?\d\d[ ]?\d\d[ ]?[A-D])\b",
    ),
    IdentifierPattern(
        "record_number",
        "German, by its form or its name",
        r"\b(?-i:[A-Z])\d{9}\b|\b\d{2}[ ]?\d{6}[ ]?(?-i:[A-Z])[ ]?\d{3}\b|(?<![\d,.])\d{2}[ ]\d{3}[ ]\d{3}[ ]\d{3}\b(?![,.]\d)|\b\d{1,3}[ ](?-i:[A-Z][A-Za-z]{0,3})[ ]\d{1,5}/\d{2}\b"
        r"|\bKennzeichen[ :]{1,2}\K[A-ZÄÖÜ]{1,3}[- ][A-Z]{1,2}[ -]?\d{1,4}\b|\b(?!Telefon|Haus|Zimmer|Bett)\p{L}{3,30}\.?-?(?:nummer|nr\.?|-ID|zeichen)[ \t]*(?:ist|lautet|:)?[ \t]*\K(?=(?:[ ./-]?[A-Z]{0,2}\d){4})[A-Z]{0,3}\d[\dA-Z./-]{3,20}(?<!\.)",
    ),
    IdentifierPattern(
        "record_number",
        "with another name",
        r"\b(?:account|acct|policy|invoice|claim|sample|specimen|licen[cs]e|badge|order)\b[ \t]*(?:no\b\.?|number|id|\#)?[ \t]*(?::|is|ending in|ends in|had a licen[cs]e ending in)?[ \t]*"
        r"\K(?=(?:[ -]?[A-Z]{0,3}[ -]?\d){5})[A-Z]{0,3}[ -]?\d[\d -]{3,24}\d(?:[ -]?(?-i:[A-Z])\b)?",
    ),
    IdentifierPattern(
        "record_number", "Chinese identity card", r"(?<!\d)[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])\d{5}[\dXx](?!\d)"
    ),
    IdentifierPattern(
        "address",
        "English",
        rf"\b(?<!\d[./-]\d?\d[./-])(?:\d{{1,5}}[a-z]?|(?:number[ \t]+)?(?:{_TENS}|{_BELOW_100})(?:[- ]{_BELOW_100})?),?[ \t]+"
        rf"(?:(?:north|south|east|west|[nsew]\.?)[ \t]+)?"
        rf"(?:(?!(?:{_NO_STREET})\b)(?:\p{{L}}[\p{{L}}'’.-]*|\d{{1,3}}(?:st|nd|rd|th))[ \t]+){{1,3}}(?!(?-i:(?<=[ \t]\p{{Ll}}+[ \t]+)Dr\.?[ \t]+(?:med\.[ \t]*)?\p{{Lu}}))(?:{_STREETS})\b\.?"
        rf"(?:,?[ \t]*(?:apartment|apt|flat|unit|suite|\#)\.?[ \t]*\w{{1,5}})?",
    ),
    IdentifierPattern(
        "address",
        "post box, flat or room",
        r"\bP\.?[ \t]?O\.?[ \t]+box[ \t]+\d{1,6}\b|\bPostfach[ \t]+\d[\d ]{1,7}\d\b|\b(?:apartment|apt|flat)\.?[ \t]+\d{1,4}[a-z]?\b",
    ),
    IdentifierPattern(
        "address",
        "German",
        r"\b(?-i:(?:\p{Lu}[\p{L}.]{0,30}[- ]){0,2}(?:\p{Lu}\p{L}{0,30})?(?:[Ss]tra(?:ß|ss)e|[Ss]tr\.|weg|[Pp]latz|allee|Allee|gasse|damm|ufer|steig))"
        r"[ \t]+(?:Nummer[ \t]+)?\d{1,4}[ \t]?(?:[a-z]\b)?",
    ),
    IdentifierPattern(
        "address",
        "German with a preposition",
        r"\b(?-i:(?:Am|An der|An den|Im|In der|Auf dem|Auf der|Unter den|Zum|Zur|Hinter der)[ ]+(?!\p{Lu}\p{L}+(?:tag|abend|"
        r"woch)\b|Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Alter)\p{Lu}[\p{L}-]+)"
        r"[ ]+\d{1,3}[a-z]?\b(?![.,:%]\d|[ ]+(?:Uhr|Jahre|Tage|Wochen|von))",
    ),
    IdentifierPattern(
        "address",
        "Chinese",
        rf"{_HAN}{{1,8}}?(?:路|街|大道|巷|胡同|弄|小区|新村|花园)\s?[\d〇零一二三四五六七八九十百]+\s?(?:号|弄|栋|幢)(?:院)?(?:\s?[\d一二三四五六七八九十]+\s?"
        r"(?:号楼|栋|幢|单元|楼|室|层)?){0,3}",
    ),
    IdentifierPattern("postal_code", "British", r"\b[A-PR-UWYZ][A-HK-Y]?\d[\dA-HJKMNPR-Y]?[ ]\d[ABD-HJLNP-UW-Z]{2}\b"),
    IdentifierPattern("postal_code", "Canadian", r"\b[ABCEGHJ-NPRSTVXY]\d[A-Z][ -]\d[A-Z]\d\b"),
    IdentifierPattern(
        "postal_code",
        "of the USA",
        rf"\b(?-i:{_STATES}),?[ ]+\K\d{{5}}(?:-\d{{4}})?\b|(?<![\d-])\d{{5}}-\d{{4}}(?![\d-])",
    ),
    IdentifierPattern(
        "postal_code",
        "number",
        r"(?<![\w.,/+-])\d{5,6}(?![\w%]|[.,]\d)",
        beside=("zip", "zipcode", "postcode", "postal", "plz", "postleitzahl", "邮", "编"),
    ),
    IdentifierPattern("postal_code", "German spa", r"(?<![\w.,/+-])\d{5}[ ]+(?-i:(?:Bad|Sankt|St\.) \p{Lu}\p{L}+)"),
    IdentifierPattern(
        "postal_code",
        "German with its town",
        r"(?<![\w.,/+-])\d{5}(?=[ ]+(?-i:\p{Lu}\p{Ll}{2,})(?![ ]+(?:pro|am|im)\b))",
        beside=("plz", "straße", "str", "adresse", "wohne", "wohnt", "anschrift", "platz", "weg", "postleitzahl", "in"),
    ),
    IdentifierPattern("postal_code", "Chinese", r"(?:邮编|邮政编码)\s?(?:是|[:：])?\s?\K\d{6}(?!\d)"),
    IdentifierPattern(
        "place",
        "where somebody lives",
        r"\b(?:liv(?:e|es|ed|ing)|moved?|moving|born|raised|grew up|based|stay(?:s|ed|ing)?|am|i'm|i’m|originally|came|"
        r"come|comes|flew|back|down|over|up)[ \t]+(?:back[ \t]+)?(?:in|from|to|near|outside(?: of)?)[ \t]+"
        r"(?!(?:Mr|Mrs|Ms|Dr|God|English|Spanish|Christmas|Easter)\b)"
        rf"\K{_CAPITAL}(?:[ \t]+{_CAPITAL}){{0,2}}",
    ),
    IdentifierPattern(
        "place",
        "institution",
        r"(?-i:\b(?!(?:The|A|An|My|Our|This|That|Your|His|Her|Their|At|In|From|To|And|But|Which|After|Local|General)\b)"
        r"(?:St\.?[ \t]+)?\p{Lu}[\p{L}'’.-]{1,40}(?:[ \t]+(?:of[ \t]+)?(?!(?:Hospital|Clinic)\b)\p{Lu}[\p{L}'’.-]{1,40}){0,3}[ \t]+"
        r"(?:Hospital|Clinic|Medical Cent(?:er|re)|Health Cent(?:er|re)|Cent(?:er|re)|Surgery|Infirmary|Hospice|Practice|"
        r"University|College|High School|Elementary|Primary School|School|Academy|Church|Mosque|Temple|Prison)\b"
        r"|\b(?:Klinikum|Krankenhaus|Klinik|Universität|Gymnasium|Praxis|Charité)[ \t]+(?:am[ \t]+)?\p{Lu}[\p{L}-]+)",
    ),
    IdentifierPattern(
        "place",
        "German",
        r"\b(?:wohne?n?|wohnt|leben?|lebt|geboren|komme?n?|kommt|ziehe?n?|gezogen|umgezogen|aufgewachsen|arbeite|fahre|war)"
        r"\b[^.!?\n]{0,25}?[ \t](?:in|aus|nach)[ \t]+"
        r"\K(?-i:(?:Bad[ \t]+|Sankt[ \t]+|St\.[ \t]+)?(?!Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|"
        r"November|Dezember|Rente|Therapie|Behandlung|Ordnung|Haft|Elternzeit|Frieden|Angst|Hause|Ruhe|Panik|Ihne[nr]|Ihre\w?\b|Sie\b|\p{L}+(?:ung|heit|keit|schaft|tion)\b)"
        r"\p{Lu}\p{Ll}{3,}(?:-\p{Lu}\p{Ll}+)?)\b",
    ),
    IdentifierPattern(
        "place",
        "German behind its postal code",
        r"(?<![\w.,/+-])\d{5}[ ]+\K(?-i:(?:Bad[ ]+)?\p{Lu}\p{Ll}{2,}(?:-\p{Lu}\p{Ll}+)?)\b",
        beside=("plz", "straße", "str", "adresse", "wohne", "wohnt", "wohnhaft", "anschrift", "platz", "weg", "in"),
    ),
    IdentifierPattern(
        "place",
        "Chinese",
        rf"(?:住在|家在|来自|老家在|老家是|出生在|出生于|搬到|去了|在)\K{_HAN}{{2,6}}?(?:省|市|自治区|区|县|镇|村)(?:{_HAN}{{2,4}}?(?:市|区|县|镇|村|街道))?"
        rf"|(?:在|去|到|从|于)\K(?![这那一某哪]){_HAN}{{2,8}}?(?:医院|小学|中学|大学|诊所)"
        rf"|(?:北京|上海|广州|深圳|成都|杭州|武汉|南京|重庆|西安|天津|苏州|长沙|青岛|沈阳|大连|厦门|昆明|郑州|济南|哈尔滨)(?:市)?",
    ),
)
