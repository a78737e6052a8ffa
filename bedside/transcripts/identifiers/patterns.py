"""How identifiers are written and spoken: patterns in English, German and Chinese, with the words beside them.

All are tried on every text, whatever its language. Expressions are those of the library ``regex``, without regard to
case unless ``(?-i:…)`` says so; what stands before ``\\K`` is asked for and isn't part of the identifier.
"""

# Expressions are kept on lines of their own, however long.
# ruff: noqa: E501
from __future__ import annotations

from dataclasses import dataclass

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
    "crazy monday tuesday wednesday thursday friday saturday sunday january february march april june july august "
    "september october november december "
    # of German: what follows a title or an introduction and is none
    "aber als auch auf aus bei bin da das dass dem den der die doch ein eine med rer frau herr prof er es für gerade gut hat heute hier ich "
    "im ist ja kein kommt mein mich mir mit nach nein nicht noch nur oder schon sehr sein sie sind so und uns von vor "
    "war wann was wegen weil wenn wer wie wieder will wir wo zu zum zur"
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
#: Given names that many people have: beside what looks like a name they make one of it. Words that are more often
#: something else (Will, Grace, Mark, Rose, Hope) are left out.
_GIVEN = _any(
    "Aaron Abigail Adam Ahmed Aisha Alan Albert Alejandro Alex Alexander Alexandra Alfred Ali Alice Alison Amanda Amber Amir Amy Ana Andre Andrea Andreas Andrew Angela Anita Anja Anke Ann Anna Anne Annegret Annette Anthony Antonio Arthur Astrid Ayşe Barbara Beate "
    "Ben Benjamin Bernd Bernhard Beth Bettina Betty Birgit Brandon Brian Brigitte Bruno Carl Carla Carlos Carmen Carol Caroline Catherine Charles Charlotte Chloe Chris Christa Christian Christina Christine Christopher Claire Clara Claudia Claus Craig Cristina "
    "Daniel Daniela David Dawn Deborah Denise Dennis Derek Detlef Diana Diego Dieter Dirk Dmitri Donald Donna Doris Dorothea Dorothy Douglas Edith Edward Eileen Elena Elisabeth Elizabeth Elke Ella Ellen Emily Emma Emre Erich Erika Erin Ernst Esther Ethan Eva Evelyn "
    "Fatima Fatma Felix Fiona Florian Frances Francesca Francis Frank Franz Frieda Friedrich Fritz Gabriel Gabriele Gareth Gary Geoffrey George Georg Gerald Gerda Gerhard Gillian Gisela Gloria Gordon Graham Greta Günter Günther Hannah Hannelore Hans Harald Harold "
    "Hasan Hassan Heather Heidi Heike Heinrich Heinz Helen Helena Helga Helmut Henry Herbert Hildegard Holger Horst Howard Hugo Ian Ibrahim Ilse Ines Ingeborg Ingrid Irene Irina Irmgard Isabel Isabella Ivan Jack Jacob Jacqueline Jakob James Jamal Jan Jane Janet "
    "Janine Jason Javier Jean Jennifer Jens Jeremy Jessica Joachim Joan Joanna Johann Johannes John Jonas Jonathan Jorge Jörg Josef José Joseph Joshua Joyce Juan Judith Julia Julian Julie Jürgen Jutta Karen Karin Karl Katharina Katherine Kathleen Katja Katrin Kelly "
    "Kenneth Kevin Kimberly Klaus Kofi Kristin Kurt Lars Laura Lauren Lea Leah Lena Leon Leonard Lieselotte Linda Lisa Liselotte Louise Lucas Lucy Luis Lukas Lydia Manfred Manuel Marco Margaret Margarete Margot Maria Marie Marion Markus Martha Martin Martina Mary "
    "Matthew Matthias Maureen Max Maximilian Mehmet Melanie Melissa Mia Michael Michaela Michelle Miguel Mohamed Mohammed Monika Muhammad Mustafa Nancy Natalie Natasha Nathan Neil Nicholas Nicole Nigel Nina Noah Nora Norbert Oliver Olga Olivia Omar Oscar Otto "
    "Patricia Patrick Paul Paula Pauline Pedro Peter Petra Philip Pierre Priya Rachel Rainer Ralf Ralph Rebecca Regina Renate Ricardo Richard Rita Robert Roberta Roger Roland Rolf Ronald Rosa Rosemarie Rosemary Rosalind Roswitha Ruth Ryan Sabine Samantha Samuel "
    "Sandra Sara Sarah Sebastian Sharon Sheila Shirley Siegfried Sigrid Silke Silvia Simon Siobhan Sofia Sonja Sophia Sophie Stefan Stefanie Stephan Stephanie Stephen Steven Stuart Susan Susanne Suzanne Svetlana Sylvia Tanja Tatjana Teresa Theodor Theresa Thomas "
    "Thorsten Tim Timothy Tina Tobias Torsten Tracy Ulrich Ulrike Ursula Ute Uwe Vera Veronika Victor Victoria Vincent Virginia Volker Waltraud Walter Werner Wilhelm William Wolfgang Xavier Yasmin Yusuf Yvonne"
)
_SURNAMES_ZH = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔"
    "钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤欧"
)
_HAN = r"\p{Han}"
_COMPOUND_ZH = "欧阳|司马|诸葛|上官|司徒|东方|夏侯|皇甫|尉迟|公孙|慕容|令狐"
_SURNAME_ZH = rf"(?:{_COMPOUND_ZH}|[{_SURNAMES_ZH}])"
#: Signs that given names are made of, each or both; of words that are often in notes few are.
_GIVEN_ZH = (
    "秀英伟芳娜敏静丽强磊军洋勇艳杰娟涛超霞刚桂兰玉萍红玲芬燕彩春菊凤洁梅琳雪荣爱妹香月莺媛瑞凡佳嘉琼勤珍贞莉娣璧璐娅琦晶妍茜秋珊莎锦黛"
    "倩婷姣婉娴瑾颖露瑶怡婵雁蓓纨仪荷丹蓉眉君琴蕊薇菁梦岚苑婕馨瑗琰韵融园艺咏卿聪澜纯毓悦昭冰爽琬茗羽希宁欣飘育滢馥筠柔竹霭凝晓欢霄枫芸菲寒"
    "伊亚宜可姬舒影荔枝思豪浩然宇轩博文昊天子涵梓睿俊德国栋志建华海峰鹏飞龙斌辉浩宁康乐雨桐诗涵美云健世广义兴良山仁波贵福生元全胜学祥才武新利清彬富顺信杰"
)

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
    "feet foot times time people kids or and is was one way am pm percent mg ml doors blocks"
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
        rf"uncle|aunt|auntie|aunty|grandma|grandpa|nana|cousin|officer|judge|coach|sir|dame)(?=[ \t]+(?-i:\p{{Lu}})))"
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
        r"(?-i:\b(?:\p{Lu}\.[ \t]?){1,2}\p{Lu}[\p{L}’'-]*\p{Ll}\b"
        r"|\b\p{Lu}[\p{L}'’-]+[ \t]+(?:\p{Lu}\.?[ \t]+)?\p{Lu}[\p{L}'’-]+"
        r"(?=,[ \t]*(?:MD|M\.D\.|RN|NP|PA-C|PhD|Ph\.D\.|LCSW|LMFT|DO|PsyD|MSW|FRCP|MRCGP)\b))",
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
        r"\b(?:(?:mein|ihr|sein|der|voller) (?:voller )?(?:name|vorname|nachname|mädchenname|spitzname) ist|"
        r"ich hei(?:ß|ss)e|er heißt|sie heißt|heißt|nennt mich|nennen mich(?: alle)?|ich bin (?:die|der))[ \t]+"
        rf"(?:übrigens[ \t]+)?\K{_WORD}(?:[ \t]+{_PARTICLES}{_CAPITAL}){{0,2}}",
    ),
    IdentifierPattern(
        "name",
        "German title",
        rf"\b(?-i:Herrn?|Frau|Doktor|Schwester|Pfleger|Onkel|Tante|Oma|Opa)[ \t]+(?:(?:Prof|Dr|med)\.?[ \t]+|"
        rf"Doktor[ \t]+|Professor[ \t]+){{0,3}}\K{_CAPITALS}",
    ),
    IdentifierPattern(
        "name",
        "German relative",
        rf"\b(?:mein|dein|sein|ihr|unser)(?:e[mnrs]?)?(?:[ \t]+(?:beste|ältere|jüngere|kleine|große|alte|neue)[mnrs]?)*"
        rf"[ \t]+(?:{_VERWANDTE}),?[ \t]+\K{_CAPITALS}",
    ),
    IdentifierPattern(
        "name",
        "Chinese introduction",
        rf"(?:我叫|我是|他叫|她叫|名叫|名字是|名字叫|叫做|姓名[:：]?\s*|患者[:：]\s*|联系人[:：]?\s*|朋友|同事|同学|儿子|女儿|老公|老婆|丈夫|妻子|"
        rf"哥哥|弟弟|姐姐|妹妹|男友|女友|孩子)\K[{_SURNAMES_ZH}]{_HAN}{{1,2}}",
    ),
    IdentifierPattern(
        "name",
        "Chinese title",
        rf"(?:[{_SURNAMES_ZH}]{_HAN}{{0,2}}?(?=医生|大夫|先生|女士|小姐|老师|护士|主任|教授|阿姨|叔叔|经理|总\b)|(?<!{_HAN})(?:小|老|阿)(?:欧阳|司马|诸葛|上官)|(?:(?<!{_HAN})|(?<=同事|朋友|邻居|同学|叫|找|和|跟))(?:小|老|阿)[{_SURNAMES_ZH}]"
        rf"(?!{_HAN}?[时候])|我姓\K[{_SURNAMES_ZH}])",
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
        rf"[ \t]*[:,(]?\s+\K(?-i:\p{{Lu}}\.?[ \t]?){{0,2}}{_CAPITALS}(?!\p{{L}})(?=[ \t]*(?:[,.;()]|\n|$)|[ \t]+(?-i:\p{{Ll}}))",
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
        rf"{_SURNAME_ZH}[{_GIVEN_ZH}]{{2}}"
        rf"|(?:家属|患者|病人|记录|此致|签名|抄送|联系人|咨询师|医师|护士|外婆|奶奶|爷爷|现将|关于|老师|经办|陪同人?)(?:是|为|[:：，,])?\s?\K{_SURNAME_ZH}{_HAN}{{1,2}}(?![{_SURNAMES_ZH}]?医)"
        rf"|(?<![{_SURNAMES_ZH}]|欧阳|司马)[{_GIVEN_ZH}]{{2}}(?=[迟来说又也在陪和，])(?<!文化|健康|清爽|情|新冠|全天|春天|天然)"
        rf"|(?:和|与|双胞胎|女儿|儿子|家人|孩子)\K[{_GIVEN_ZH}]{{2}}",
    ),
    IdentifierPattern(
        "name",
        "Chinese, familiar",
        rf"(?:(?<!{_HAN})|(?<=[和跟给叫找与对让问称床人]))[小老阿]{_SURNAME_ZH}(?![时候年])",
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
        r"\b(?:ext|extn|extension|pager|bleep|Durchwahl|App|Apparat)\b\.?:?[ \t]*\d{3,6}(?!\w)|(?<!\w)-?\d{3,5}[ \t]+intern\b|(?:分机|内线|转)号?[:：]?\s?\d{3,6}",
    ),
    IdentifierPattern(
        "phone",
        "in groups",
        r"(?<![\p{Latin}\d_.,/-])(?:\+[ ]?\d{1,3}[ .-]?(?:\(0\)[ ]?)?\d{1,5}(?:[ ./-]{0,3}\d{2,9}){1,4}|0\d{2,5}(?:[ ]?[/-][ ]?|[ ])\d{3,9}(?:[ -]\d{2,6}){0,3}|\d{3}\.\d{3}\.\d{4}|\(0?\d{2,5}\)[ ]?\d{3,4}[ -]?\d{3,5})(?![\p{Latin}\d_]|[.,]\d)",
    ),
    IdentifierPattern(
        "record_number",
        "by its form",
        r"(?-i:(?<![\p{Latin}\d_.,/-])(?:\p{Lu}{1,3}-?\d{4,10}(?:[-/]\d{1,4})?\p{Lu}?|\p{Lu}{2}-\d{3,6}/\d{2,4}|\d{2}/\d{5,6}|\d{3}[- ]\d{2,3}[- ]\d{4}|(?!(?:19|20)\d\d[.-](?:19|20)\d\d)\d{4}[.-]\d{4}|\d{7,12})(?![\p{Latin}\d_]|[.,/-]\d))",
    ),
    IdentifierPattern(
        "date",
        "numbers",
        rf"(?<![\d./-])(?:{_DAY}([/.-]){_MONTH}\1(?:(?:19|20)?\d\d)|{_MONTH}([/-]){_DAY}\2(?:(?:19|20)?\d\d)|"
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
        rf"\b(?:{_DAY}\.[ \t]?{_MONAT}\b(?:[ \t]+(?:19|20)?\d\d\b)?|\p{{L}}+(?:ten|ste[nr]?|ter)[ \t]+{_MONAT}\b"
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
        rf"(?<![\d./])(?:(?:9\d|1[01]\d)(?=[- ]?(?:years?[- ]old|years? of age|yo\b|y/o|y\.o\.|Jahre?(?:[ \t]+alt|\b)|-?jährig|岁))"
        rf"|\b(?:ninety(?:[- ]{_ONES})?|(?:a|one)[ \t]hundred(?:[ \t](?:and[ \t])?{_BELOW_100})?)"
        rf"(?=[- ]years?(?:[- ]old|[ \t]of[ \t]age))"
        rf"|\b(?:\p{{L}}+und)?neunzig(?=[ \t]+Jahre)|九十[一二三四五六七八九]?(?=岁))",
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
        r"(?:病历|住院|门诊|就诊|就诊卡|医保|医保卡|社保|身份证|病案|登记|床位|护照)(?:卡)?(?:号码|号|编号)\s?(?:是|为|[:：])?\s?"
        r"\K[A-Za-z]{0,3}-?\d[\dA-Za-z-]{3,20}",
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
    IdentifierPattern("record_number", "German health insurance", r"\b(?-i:[A-Z])\d{9}\b"),
    IdentifierPattern(
        "record_number", "Chinese identity card", r"(?<!\d)[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])\d{5}[\dXx](?!\d)"
    ),
    IdentifierPattern(
        "address",
        "English",
        rf"\b(?:\d{{1,5}}[a-z]?|(?:number[ \t]+)?(?:{_TENS}|{_BELOW_100})(?:[- ]{_BELOW_100})?),?[ \t]+"
        rf"(?:(?:north|south|east|west|[nsew]\.?)[ \t]+)?"
        rf"(?:(?!(?:{_NO_STREET})\b)(?:\p{{L}}[\p{{L}}'’.-]*|\d{{1,3}}(?:st|nd|rd|th))[ \t]+){{1,3}}(?:{_STREETS})\b\.?"
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
