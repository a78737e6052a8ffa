"""Phrases that show what is wrong with a message: narrow ones, in English and Chinese, kinds by kinds.

A person who is ill says many things that look like these: "I'm sorry, but I can't help it", "My wife said you should
see a doctor", "thanks for the prompt reply". None of them may match; the tests hold such sentences.
"""

from __future__ import annotations

import re

from bedside.core.words import HAN

HAN_CHARACTER = re.compile(f"[{HAN}]")
WORD = re.compile(rf"[^\W_{HAN}]+(?:['’.][^\W_]+)*")
#: Points that end no sentence.
ABBREVIATION = re.compile(
    r"\b(?:Drs?|Mrs?|Ms|St|Prof|vs|etc|e\.g|i\.e|a\.m|p\.m|approx)\.(?=\s)", re.IGNORECASE
)
SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)]*(?=\s|$)|[。！？]+[”’」』）]*|\n+")

#: Frequent words of German, Dutch, French, Spanish, Portuguese and Italian that are none of English.
ABROAD = frozenset(
    """
    ich und der das ist nicht mit auch ein eine habe mir mich sehr wenn aber seit wir sie es zu
    het een niet ik ook maar heb zijn mijn
    je j'ai et le la les des une est pas que qui dans pour avec suis mon ma depuis vous c'est
    el los las una es por con para pero mi muy tengo desde estoy y
    o os uma não eu meu minha mais estou muito e
    il gli un di che non sono ho mio mia da molto perché
    """.split()
)

_START = r"(?:^|[.!?。！？]\s*)"
_AI = r"(?:ai\b|artificial intelligence|(?:large )?language model|virtual assistant|chatbot)"
_AI_ZH = "(?:AI|人工智能|(?:大型?)?(?:语言)?模型|虚拟助手|聊天机器人)"
_PROFESSIONAL = (
    r"(?:doctor|physician|gp|therapist|psychiatrist|psychologist|specialist"
    r"|(?:medical |healthcare |health care |mental health )?professional|(?:healthcare|health care) provider)\b"
)
#: What whoever was asked for a text offers.
_OFFERED = (
    r"(?:what (?:i think|i(?:'d|’d| would) say|the (?:patient|client)|a (?:patient|client)|you asked)"
    r"|how (?:the|a) (?:patient|client)"
    r"|(?:an?|the|my|your|one|some) (?:[\w-]+ ){0,3}?"
    r"(?:responses?|repl(?:y|ies)|answers?|messages?|versions?|drafts?|summary|explanation|overview|suggestions?|tips|steps))\b"
)
_MARK, _MARK_END = r"^\s*[\[*_(【（]*", r"[\])】）*_]*\s*[:：]"


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases), re.IGNORECASE | re.MULTILINE)


#: What a model thinks, aloud.
THINKING = _any(
    r"</?(?:think|thinking|reasoning|scratchpad)>",
    r"^\s*(?:reasoning|thoughts?|thought process|analysis|chain of thought)\s*:",
    r"^\s*(?:思考(?:过程)?|推理(?:过程)?|分析)\s*[:：]",
    r"\b(?:respond|reply|answer|stay) (?:in character|as (?:the|a|this) (?:patient|client)\b)",
    r"\bthe (?:patient|client|user) (?:would|should) (?:respond|reply|answer|say)\b",
    r"\bthe (?:user|clinician) (?:wants|is asking|asked) me to\b",
    "以(?:患者|病人|来访者)的(?:身份|口吻|角度)",
    "(?:这个)?(?:患者|病人)(?:应该|可能会)(?:这样|怎么|如何)?(?:回答|回复)",
)
#: The label of the other side, or of the patient's own, before words.
CLINICIAN_LABEL = _any(
    rf"{_MARK}(?:doctor|dr\.?(?: \w+)?|clinician|physician|therapist|counsell?or){_MARK_END}",
    rf"{_MARK}(?:nurse|interviewer|assistant){_MARK_END}",
    rf"{_MARK}(?:医生|大夫|医师|咨询师|治疗师|护士|助手){_MARK_END}",
)
PATIENT_LABEL = _any(
    rf"{_MARK}(?:patient|client|user|caregiver){_MARK_END}",
    rf"{_MARK}(?:患者|病人|来访者|家属|用户){_MARK_END}",
)
#: Gestures, tones, marks and slots that nobody filled.
STAGE = _any(
    r"(?<![\w*])\*{1,2}(?=\S)[^*\n]+\*",
    r"(?<!\w)_(?=\S)[^_\n]+_(?!\w)",
    r"\((?:\w+ly |long |short |brief |deep |takes? a |a |heavy |nervous )*"
    r"(?:pause|(?:sigh|paus|laugh|chuckl|nod|shrug|smil|frown|whisper|hesitat|fidget|winc|grimac|sob)(?:e?s|ing)?)\b[^()\n]*\)",
    r"\((?:\w+ly )?(?:looks?|looking|gaz(?:es|ing)|glanc(?:es|ing)) (?:down|away|up|at|around)\b[^()\n]*\)",
    r"\((?:softly|quietly|nervously|anxiously|hesitantly|tearfully|silence|in tears|tears up|tearing up"
    r"|(?:begins|starts) to cry|clear(?:s|ing) (?:his |her |their |my )?throat|voice (?:break|crack|trembl)\w*)\)",
    r"[（(][^（）()\n]{0,4}(?:叹气|叹了口气|沉默|停顿|点头|摇头|苦笑|微笑|哽咽|犹豫|皱眉|低头|小声|轻声|流泪|深呼吸)"
    r"[^（）()\n]{0,8}[）)]",
    r"\[[^\[\]\n]+\]",
    "【[^【】\n]+】",
)
_DECLINED = (
    r"\bi(?:['’]m| am) sorry,? (?:but )?i (?:can['’]t|cannot|can not|am not able to|am unable to|won['’]t) "
    r"(?:assist|comply|role-?play|continue (?:with )?this (?:role|conversation|request)|fulfil+ (?:this|that|your))",
    r"\bi(?:['’]m| am) sorry,? (?:but )?i (?:can['’]t|cannot) help (?:you )?with (?:that|this)(?: request)?[.!]?$",
    r"\bi (?:can['’]t|cannot|can not|am unable to|am not able to|won['’]t) "
    r"(?:role-?play|continue this role|pretend to be|provide medical (?:advice|diagnos)|assist with (?:that|this)\b)",
    "我(?:无法|不能)(?:扮演|提供医疗|满足(?:您|你)的(?:请求|要求)|协助(?:您|你)完成|继续(?:这个)?角色)",
)
#: A model that declines.
DECLINED = _any(*_DECLINED)
#: A model that says what it is, or declines.
MACHINE = _any(
    rf"\bas an? {_AI}",
    rf"\bi(?:['’]m| am) (?:just |only )?an? {_AI}",
    *_DECLINED,
    f"作为一?[个名款]?{_AI_ZH}",
    f"我(?:只)?是一?[个款]?{_AI_ZH}",
)
#: An answer to whoever asked for a text, in place of words in a conversation.
ASSISTANT = _any(
    r"\A\s*(?:sure(?: thing)?|certainly|of course|absolutely|great question|no problem)\s*[!,.:]\s*"
    rf"here(?:'s|’s| is| are) {_OFFERED}",
    rf"\A\s*here(?:'s|’s| is) {_OFFERED}",
    r"\bi(?:'d|’d| would) be happy to (?:help|assist) you\b",
    r"\blet me know if (?:you(?:'d|’d| would) like me to|there(?:'s|’s| is) anything else i can)\b",
    r"\bis there anything else i can (?:help|assist)(?: you)?\b",
    r"\A\s*(?:好的|当然)(?:可以)?[，,！!。:：]\s*(?:以下|下面)(?:是|为)",
    r"\A\s*(?:以下|下面)(?:是|为)(?:我|患者|病人|来访者)?的?(?:回答|回复|答复)",
)
#: Forms that nobody speaks in: objects, tags, fences, headings, tables.
FORM = _any(
    r"\A\s*(?:null|undefined|NaN)\s*\Z",
    r"\A\s*[\[{]\s*(?:[\[{\"'\d-]|[\]}]\s*\Z|(?:true|false|null)\b)",
    r"^\s*(?:```|~~~)",
    r"\{\s*\"[^\"\n]{1,60}\"\s*:",
    r"</?[A-Za-z][\w:-]*(?:\s+[\w:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*\s*/?>",
    r"<!(?:--|DOCTYPE\b|\[CDATA\[)|<\?xml\b",
    r"^\s*#{1,6}\s+\S",
    r"^\s*\|.*\|\s*$",
    r"\A\s*[\w.-]+\s*:\s*\|?\s*\n\s+[\w.-]+\s*:",
)
#: Words that nobody in the conversation could know of.
MADE_UP = _any(
    r"\b(?:the|this|my) (?:clinical )?vignette\b",
    r"\bsystem prompt\b",
    r"\b(?:the|this|my) prompt(?: (?:says|states|mentions|doesn't|does not|didn't)\b|[.,;:!?])",
    r"\b(?:the|this|my) case (?:description|says|states|mentions)\b",
    r"\bmy (?:system )?instructions (?:say|are|tell me|don't|do not)\b",
    r"\b(?:simulated|standardi[sz]ed|virtual) patient\b",
    r"\b(?:this|the|our) role-?play\b",
    r"\b(?:the|my) (?:persona|script) (?:says|states|mentions|doesn't|does not)\b",
    "病例(?:描述|中(?:没有|未)|里(?:没有|写))",
    "提示词",
    "根据(?:病例|设定|剧本|人设)",
    "我扮演的",
    "(?:模拟|标准化|虚拟)(?:病人|患者)",
)
#: A patient who helps, questions or advises the clinician.
HELPER = _any(
    r"\bhow (?:can|may|could) i (?:help|assist|support) you\b",
    r"\bwhat brings you (?:in|here)\b",
    r"\bi(?:'m| am) here to (?:help|listen to|support|assist) you\b",
    r"\bas your (?:doctor|clinician|therapist|physician|counsell?or|nurse|healthcare provider)\b",
    rf"{_START}i(?:'d| would)? (?:strongly )?(?:recommend|advise|suggest|encourage) (?:that )?you "
    r"(?:to )?(?:see|consult|seek|speak|talk|try|consider|monitor|keep|take|get|rest|schedule|make|continue|discuss)\b",
    rf"{_START}you (?:should|need to|may want to|might want to) (?:see|consult|speak (?:to|with)|talk to|contact) "
    rf"(?:a |an |your ){_PROFESSIONAL}",
    rf"{_START}it(?:'s| is) (?:important|essential) (?:for you )?(?:to|that you) (?:consult|seek)\b",
    r"\bhow long have you (?:been (?:having|experiencing|feeling)|had (?:these|this|the))\b",
    r"\bare you (?:currently )?taking any (?:medications?|medicines?)\b",
    r"\b(?:can|could) you (?:please )?(?:describe|tell me (?:more )?about) your "
    r"(?:symptoms?|pain|medical history|condition)\b",
    "有什么(?:我)?(?:可以|能)(?:够)?(?:帮助?|为)(?:到)?(?:您|你)",
    "我(?:可以|能)(?:怎么|如何|怎样|为|帮助?)(?:帮助?|为)?(?:您|你)",
    "作为(?:您|你)的(?:医生|咨询师|治疗师|护士)",
    "我(?:会|还|也)?建议(?:您|你)",
    "请(?:您|你)(?:及时|尽快|立即)就医",
    "(?:您|你)(?:哪里|哪儿)不舒服",
    "(?:您|你)的症状(?:有|是|持续|出现|多久)",
)
#: A greeting, and why somebody came: both together begin a conversation.
GREETING = _any(
    r"\A\s*(?:hello|hi|hey|good (?:morning|afternoon|evening))\b",
    r"\A\s*(?:(?:医生|大夫)[,，]?)?(?:您|你)好",
)
ARRIVAL = _any(
    r"\bi(?:'m| am) here (?:today )?(?:because|for|about)\b",
    r"\bi(?:'ve| have)? c[ao]me (?:in |here |in here )?(?:today )?(?:because|for|about)\b",
    "我(?:今天)?(?:是)?来(?:看|咨询|是因为)",
)
