"""Scales: what a rater may answer, and how people write that."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from bedside.support.errors import DataError

#: An end of a scale as typed.
_LEVEL = re.compile("[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class Scale:
    """What a rater may answer.

    Attributes:
        levels: the levels, numbers in ascending order or labels; ordered labels stand from the lowest to the highest.
        ordered: whether the levels have an order: numbers always, labels where it is said.
    """

    levels: tuple[float, ...] | tuple[str, ...]
    ordered: bool

    @property
    def numeric(self) -> bool:
        """Whether the levels are numbers, not labels."""
        return not isinstance(self.levels[0], str)

    def level_texts(self) -> list[str]:
        """The levels as they are shown, in their order."""
        return [f"{level:g}" if isinstance(level, float) else str(level) for level in self.levels]

    def to_json(self) -> list[float] | list[str]:
        """The levels as a list, for a manifest; ordered labels as one text with their order, ``low<middle<high``."""
        labels = [level for level in self.levels if isinstance(level, str)]
        return ["<".join(labels)] if self.ordered and labels else list(self.levels)  # type: ignore[return-value]

    @staticmethod
    def from_json(levels: Sequence[Any]) -> Scale:
        """The scale of :meth:`to_json`."""
        if len(levels) == 1 and isinstance(levels[0], str):
            return Scale(tuple(levels[0].split("<")), True)
        return Scale(tuple(levels), all(isinstance(level, int | float) for level in levels))


def scale_from(first: int, last: int) -> Scale:
    """The scale of whole numbers between two, both included."""
    return Scale(tuple(float(level) for level in range(first, last + 1)), True)


def parse_scale(text: str) -> Scale:
    """A scale as typed: ``1-5`` (whole numbers), ``0,0.5,1`` (these numbers), ``none/open/closed`` (labels), or
    ``mild<moderate<severe`` (labels that have this order).

    Three labels or more that are words of a known order, and stand in it, have that order however they are parted:
    ``never/rarely/often`` is ``never<rarely<often``.

    Raises:
        DataError: it is none of these.
    """
    low, dash, high = text.strip().partition("-")
    if dash and _LEVEL.fullmatch(low.strip()) and _LEVEL.fullmatch(high.strip()):
        first, last = int(low), int(high)
        if first < last <= first + 1000:
            return scale_from(first, last)
    ranked = [part.strip() for part in text.split("<")]
    if len(ranked) >= 2 and all(ranked) and len(set(ranked)) == len(ranked):
        return Scale(tuple(ranked), True)
    parts = [part.strip() for part in text.replace("/", ",").split(",")]
    if len(parts) >= 2 and all(parts) and len(set(parts)) == len(parts):
        numbers = [number_in(part) for part in parts]
        if all(number is not None for number in numbers):
            return Scale(tuple(sorted(number for number in numbers if number is not None)), True)
        order = standing_order(parts) if len(parts) > 2 else None
        return Scale(tuple(parts) if order is None else order, order is not None)
    raise DataError(
        f"{text!r:.60} is not a scale",
        where="`scales`",
        todo="write 1-5, or 0,0.5,1, or none/open/closed, or mild<moderate<severe",
    )


def parse_scales(texts: Sequence[str]) -> dict[str | None, Scale]:
    """Scales as typed, by metric; one without ``metric=`` holds for all and has the key None."""
    scales: dict[str | None, Scale] = {}
    for text in texts:
        metric, equals, rest = text.partition("=")
        scales[metric.strip() if equals else None] = parse_scale(rest if equals else text)
    return scales


def number_in(cell: str) -> float | None:
    """The finite number that a cell holds; None where it holds none."""
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


#: A line a set, from its lowest level; ``|`` parts words for one level. A level in parentheses may be lacking: the set
#: is known with it and without it.
_SETS = """
strongly disagree|completely disagree|totally disagree<disagree<(neutral|neither agree nor disagree|neither|undecided|not sure)<agree<strongly agree|completely agree|totally agree
strongly disagree<disagree<somewhat disagree|slightly disagree<(neutral|neither agree nor disagree|undecided)<somewhat agree|slightly agree<agree<strongly agree
strongly disagree<moderately disagree<slightly disagree<(neutral|neither agree nor disagree)<slightly agree<moderately agree<strongly agree
strongly disagree<somewhat disagree|slightly disagree<(neutral|neither agree nor disagree|undecided)<somewhat agree|slightly agree<strongly agree
disagree<(neutral|neither agree nor disagree|undecided|not sure)<agree
never<rarely|seldom<(sometimes|occasionally)<often|frequently<always
never<sometimes|occasionally<often|frequently<always
never<sometimes|occasionally<always
never<rarely|seldom<sometimes|occasionally<often|frequently
never<very rarely<rarely|seldom<(sometimes|occasionally)<often|frequently<very often|very frequently|usually<always
never<rarely|seldom<occasionally<sometimes<often|frequently<very often|usually<always
never<almost never<(sometimes|occasionally)<fairly often|often|almost always<very often|always
never<almost never<rarely|seldom<sometimes<often|frequently<almost always<always
never<rarely|seldom<sometimes<usually<always
seldom|rarely<sometimes<fairly often<very often<always
not at all<several days<more than half the days<nearly every day
very dissatisfied|very unsatisfied<dissatisfied|unsatisfied<(neutral|neither satisfied nor dissatisfied)<satisfied<very satisfied
very dissatisfied<somewhat dissatisfied<(neutral|neither satisfied nor dissatisfied)<somewhat satisfied<very satisfied
quite dissatisfied<indifferent or mildly dissatisfied<mostly satisfied<very satisfied
dissatisfied|unsatisfied<(neutral)<satisfied
very poor<poor<(fair|average|acceptable|neutral)<good<very good
very poor<poor<fair|average|acceptable<good<excellent
poor<fair|average<good<very good<excellent
terrible|poor<fair|average|adequate<good<excellent
inadequate<adequate<good<excellent
terrible<poor<average<good<excellent
very bad|terrible<bad<(neutral|average|okay|ok|neither good nor bad)<good<very good|excellent
poor<(fair|average|acceptable)<good
bad<(neutral|average|okay|ok)<good
not at all<slightly|a little|a little bit<(moderately|somewhat)<very|very much|quite a bit|considerably<extremely
not at all<slightly|a little|a little bit<(moderately|somewhat)<quite a bit<very much
not at all<somewhat|a little<very|very much
none|absent<(minimal|slight)<mild<moderate<severe
none|absent<mild<moderate<severe<extreme|very severe
very low<low<(medium|moderate|average|neutral)<high<very high
low<(medium|moderate|average)<high
very unlikely|extremely unlikely<unlikely|somewhat unlikely<(neutral|neither likely nor unlikely)<likely|somewhat likely<very likely|extremely likely
unlikely<(neutral)<likely
much worse<worse|somewhat worse<(same|the same|about the same|no change)<better|somewhat better<much better
worse<(same|the same|about the same|no change)<better
absent<(partial)<present
stimme überhaupt nicht zu|stimme gar nicht zu<stimme nicht zu|stimme eher nicht zu<(teils teils|weder noch|neutral|unentschieden)<stimme zu|stimme eher zu<stimme voll zu|stimme voll und ganz zu|stimme völlig zu
stimme nicht zu<stimme eher nicht zu<(teils teils|weder noch|neutral|unentschieden)<stimme eher zu<stimme zu
stimme nicht zu<(teils teils|weder noch|neutral|unentschieden)<stimme zu
trifft überhaupt nicht zu|trifft gar nicht zu<trifft nicht zu|trifft eher nicht zu<(teils teils|weder noch|neutral)<trifft zu|trifft eher zu<trifft voll zu|trifft voll und ganz zu|trifft völlig zu|trifft genau zu
trifft nicht zu<trifft eher nicht zu<(teils teils|weder noch|neutral)<trifft eher zu<trifft zu
trifft nicht zu<(teils teils|weder noch|neutral)<trifft zu
nie|niemals<selten<(manchmal|gelegentlich)<oft|häufig<immer
nie|niemals<selten<(manchmal|gelegentlich)<oft|häufig<sehr oft|sehr häufig
nie|niemals<manchmal|gelegentlich<oft|häufig<immer
sehr schlecht<schlecht<(mittel|mittelmäßig|neutral|teils teils)<gut<sehr gut
schlecht<(mittel|mittelmäßig|neutral)<gut
ungenügend<mangelhaft<ausreichend<befriedigend<gut<sehr gut
sehr unzufrieden<unzufrieden|eher unzufrieden<(neutral|teils teils|weder noch)<zufrieden|eher zufrieden<sehr zufrieden
unzufrieden<(neutral|teils teils|weder noch)<zufrieden
gar nicht|überhaupt nicht<ein wenig|wenig|etwas|kaum<(mittelmäßig|mäßig|mittel)<ziemlich|stark|überwiegend<sehr|sehr stark|äußerst|extrem|außerordentlich
totalmente en desacuerdo|muy en desacuerdo|completamente en desacuerdo<en desacuerdo<(neutral|ni de acuerdo ni en desacuerdo|indeciso|indecisa)<de acuerdo<totalmente de acuerdo|muy de acuerdo|completamente de acuerdo
en desacuerdo<(neutral|ni de acuerdo ni en desacuerdo)<de acuerdo
nunca<raramente|rara vez|casi nunca|pocas veces<(a veces|algunas veces|ocasionalmente)<a menudo|frecuentemente|con frecuencia|muchas veces|casi siempre<siempre
nunca<a veces|algunas veces<a menudo|frecuentemente|con frecuencia|muchas veces<siempre
muy malo|muy mala|muy mal<malo|mala|mal<(regular|neutral|aceptable)<bueno|buena|bien<muy bueno|muy buena|muy bien|excelente
malo|mala|mal<(regular|aceptable)<bueno|buena|bien
muy insatisfecho|muy insatisfecha<insatisfecho|insatisfecha<(neutral|ni satisfecho ni insatisfecho|ni satisfecha ni insatisfecha)<satisfecho|satisfecha<muy satisfecho|muy satisfecha
nada|en absoluto<poco|un poco<(algo|moderadamente)<bastante|mucho<mucho|muchísimo|extremadamente
pas du tout d'accord|tout à fait en désaccord|fortement en désaccord<pas d'accord|plutôt pas d'accord|en désaccord<(neutre|ni d'accord ni pas d'accord|ni d'accord ni en désaccord|sans opinion)<d'accord|plutôt d'accord<tout à fait d'accord|fortement d'accord
pas d'accord|en désaccord<(neutre|ni d'accord ni pas d'accord|ni d'accord ni en désaccord)<d'accord
jamais<rarement<(parfois|quelquefois|de temps en temps)<souvent<toujours|très souvent
jamais<parfois|quelquefois<souvent<toujours
très mauvais|très mauvaise<mauvais|mauvaise<(moyen|moyenne|passable|neutre)<bon|bonne<très bon|très bonne|excellent|excellente
mauvais|mauvaise<(moyen|moyenne|passable)<bon|bonne
très insatisfait|très insatisfaite<insatisfait|insatisfaite<(neutre|ni satisfait ni insatisfait|ni satisfaite ni insatisfaite)<satisfait|satisfaite<très satisfait|très satisfaite
pas du tout<un peu|légèrement<(modérément|moyennement)<beaucoup<extrêmement|énormément
fortemente in disaccordo|completamente in disaccordo|totalmente in disaccordo|molto in disaccordo<in disaccordo<(neutrale|né d'accordo né in disaccordo|indifferente|incerto|incerta)<d'accordo<fortemente d'accordo|completamente d'accordo|totalmente d'accordo|molto d'accordo
in disaccordo<(neutrale|né d'accordo né in disaccordo)<d'accordo
mai<raramente<(a volte|qualche volta|talvolta)<spesso<sempre
mai<a volte|qualche volta|talvolta<spesso<sempre
pessimo|molto scarso|molto scarsa<scarso|scarsa<(sufficiente|discreto|discreta)<buono|buona<ottimo|ottima|molto buono|molto buona|eccellente
molto insoddisfatto|molto insoddisfatta<insoddisfatto|insoddisfatta<(neutrale|né soddisfatto né insoddisfatto|né soddisfatta né insoddisfatta)<soddisfatto|soddisfatta<molto soddisfatto|molto soddisfatta
per niente|per nulla|affatto<poco|un po'<(abbastanza|moderatamente)<molto<moltissimo|estremamente
discordo totalmente|discordo fortemente|discordo completamente<discordo|discordo parcialmente<(neutro|não concordo nem discordo|nem concordo nem discordo|indiferente)<concordo|concordo parcialmente<concordo totalmente|concordo fortemente|concordo completamente
discordo<(neutro|não concordo nem discordo|nem concordo nem discordo|indiferente)<concordo
nunca<raramente<(às vezes|algumas vezes|ocasionalmente)<frequentemente|muitas vezes|com frequência<sempre
nunca<às vezes|algumas vezes<frequentemente|muitas vezes|com frequência<sempre
muito ruim|muito mau|péssimo|péssima<ruim|mau|má<(regular|razoável)<bom|boa<muito bom|muito boa|ótimo|ótima|excelente
muito insatisfeito|muito insatisfeita<insatisfeito|insatisfeita<(neutro|nem satisfeito nem insatisfeito|nem satisfeita nem insatisfeita)<satisfeito|satisfeita<muito satisfeito|muito satisfeita
nada|de modo nenhum|de forma alguma<pouco|um pouco<(moderadamente|mais ou menos)<muito|bastante<extremamente|muitíssimo
非常不同意|强烈不同意|強烈不同意|完全不同意|很不同意<不同意<(中立|一般|不确定|不確定|既不同意也不反对|普通)<同意<非常同意|强烈同意|強烈同意|完全同意|很同意
不同意<(中立|一般|不确定|不確定|普通)<同意
从不|從不|从来没有|從來沒有<很少|極少|极少<(有时|有時|偶尔|偶爾)<经常|經常|常常<总是|總是|一直
从不|從不<有时|有時|偶尔|偶爾<经常|經常|常常<总是|總是
很差|非常差<差|较差|較差<(一般|普通|中等)<好|较好|較好|良好<很好|非常好
差<(一般|普通|中等)<好
非常不满意|非常不滿意|很不满意|很不滿意<不满意|不滿意<(一般|中立|普通)<满意|滿意<非常满意|非常滿意|很满意|很滿意
完全不|一点也不|一點也不|完全没有|完全沒有|毫不<有点|有點|稍微|略微|有一点|有一點<(中等|一般|适度|適度|中等程度)<很|相当|相當|比较|比較<非常|极其|極其|极度|極度
まったく同意しない|全く同意しない|強く反対<同意しない|あまり同意しない|反対<(どちらともいえない|どちらとも言えない|どちらでもない)<同意する|やや同意する|賛成<強く同意する|非常に同意する|とても同意する|強く賛成
まったくそう思わない|全くそう思わない<そう思わない|あまりそう思わない<(どちらともいえない|どちらとも言えない|どちらでもない)<そう思う|ややそう思う<強くそう思う|とてもそう思う|非常にそう思う
まったく当てはまらない|全く当てはまらない<当てはまらない|あまり当てはまらない<(どちらともいえない|どちらとも言えない)<当てはまる|やや当てはまる<とても当てはまる|非常に当てはまる
まったくない|全くない|決してない|一度もない<めったにない|ほとんどない|まれに<(時々|ときどき|たまに)<よくある|しばしば|頻繁に<いつも|常に
とても悪い|非常に悪い<悪い<(普通|ふつう)<良い|よい<とても良い|とてもよい|非常に良い|非常によい
非常に不満|とても不満<不満|やや不満<(どちらともいえない|どちらとも言えない|普通|ふつう)<満足|やや満足<非常に満足|とても満足
まったくない|全くない|全然ない<少し|わずかに<(中程度|ある程度|まあまあ)<かなり<非常に|とても|極めて
전혀 동의하지 않음|매우 동의하지 않음|전혀 동의하지 않는다<동의하지 않음|동의하지 않는다<(보통|보통이다|중립)<동의함|동의한다|동의<매우 동의함|매우 동의한다|매우 동의|전적으로 동의함
전혀 그렇지 않다<그렇지 않다|별로 그렇지 않다<(보통|보통이다)<그렇다|대체로 그렇다<매우 그렇다
전혀 없음|전혀 아님|전혀<드물게|거의 없음<(가끔|때때로)<자주<항상|늘
매우 나쁨<나쁨<(보통)<좋음<매우 좋음
매우 불만족|매우 불만<불만족|불만<(보통)<만족<매우 만족
전혀|전혀 없음<약간|조금<(보통|중간|어느 정도)<상당히|꽤<매우|극도로|극히
لا أوافق بشدة|أعارض بشدة|غير موافق بشدة<لا أوافق|أعارض|غير موافق<(محايد|لا أوافق ولا أعارض)<أوافق|موافق<أوافق بشدة|موافق بشدة
لا أوافق|غير موافق<(محايد)<أوافق|موافق
أبدا|مطلقا<نادرا<(أحيانا)<غالبا|كثيرا<دائما
سيئ جدا|سيء جدا<سيئ|سيء<(متوسط|مقبول)<جيد<جيد جدا|ممتاز
غير راض جدا|غير راض إطلاقا|غير راض على الإطلاق<غير راض<(محايد)<راض<راض جدا
إطلاقا|على الإطلاق|لا على الإطلاق<قليلا<(بدرجة متوسطة|إلى حد ما|متوسط)<كثيرا|جدا<للغاية|بشدة
"""  # noqa: E501
#: What parts words of a level, or stands around them.
_BETWEEN = re.compile(r"[\s_/,;.!…،。、\-‐‑–—]+")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘`´ʼ", "'"))
#: Fewest words that prove an order: one word is of many sets. From this many on, words that are the whole of a set are
#: that set, though a longer one may have them too.
_FEWEST, _PROVE = 2, 5

#: Words for each level of a set, by their key.
_Levels = tuple[dict[str, str], ...]


def word_key(text: str) -> str:
    """What spellings of one word have in common: no case, accents, marks and doubled blanks.

    >>> word_key("Tout à fait d’accord"), word_key("teils/teils "), word_key("Häufig")
    ("tout a fait d'accord", 'teils teils', 'haufig')
    """
    # Marks that are letters of their own in Devanagari and the like are no part of any set.
    bare = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", text.translate(_APOSTROPHES).casefold())
        if unicodedata.category(letter) != "Mn"
    )
    return _BETWEEN.sub(" ", bare).strip()


@cache
def _sets() -> tuple[tuple[_Levels, ...], dict[str, frozenset[int]]]:
    """All sets, and which of them each word is of."""
    sets: list[_Levels] = []
    for line in _SETS.strip().splitlines():
        texts = line.split("<")
        levels = [{word_key(word): word for word in text.strip("()").split("|")} for text in texts]
        optional = [at for at, text in enumerate(texts) if text.startswith("(")]
        sets.append(tuple(levels))
        sets += [tuple(level for at, level in enumerate(levels) if at != left) for left in optional]
    places: dict[str, set[int]] = defaultdict(set)
    for number, of_set in enumerate(sets):
        for level in of_set:
            for word in level:
                places[word].add(number)
    return tuple(sets), {word: frozenset(numbers) for word, numbers in places.items()}


def set_keys(words: Iterable[str]) -> dict[str, str]:
    """Those of some words that are of a set, by their key."""
    return {key: word for word in words if (key := word_key(word)) in _sets()[1]}


def word_scales(words: Iterable[str]) -> list[tuple[str, ...]]:
    """The levels of each set that has all of some words, each as another level; none for a word alone.

    >>> word_scales(["Never", "seldom", "often", "always", "sometimes"])[0]
    ('never', 'seldom', 'sometimes', 'often', 'always')
    >>> word_scales(["open", "closed"])
    []
    """
    return list(_word_scales(frozenset(map(word_key, words))))


@lru_cache(maxsize=256)
def _word_scales(keys: frozenset[str]) -> tuple[tuple[str, ...], ...]:
    sets, places = _sets()
    if len(keys) < _FEWEST or not keys <= places.keys():
        return ()
    scales: dict[tuple[str, ...], None] = {}
    for number in sorted(frozenset.intersection(*(places[key] for key in keys))):
        taken = [keys & level.keys() for level in sets[number]]
        if sum(map(bool, taken)) == len(keys):
            names = (
                level[min(own)] if own else next(iter(level.values()))
                for own, level in zip(taken, sets[number], strict=True)
            )
            scales[tuple(names)] = None
    return tuple(scales)


def decided_scale(words: Iterable[str], decided: Iterable[tuple[str, ...]] = ()) -> tuple[str, ...] | None:
    """The levels of the set that words are of, from the lowest, where it is decided which one; None else.

    It is where no other set has them, or where they are the whole of a set of five levels or more and no set has only
    one level besides: four levels may be five of which nobody used the middle.

    Args:
        words: the words.
        decided: the sets that other words of the same form are of: these are of such a one, if it has them.
    """
    distinct = {word_key(word) for word in words}
    scales = word_scales(distinct)
    if len(scales) > 1:
        scales = [scale for scale in decided if scale in scales] or [
            scale
            for scale in scales
            if len(scale) == len(distinct) >= _PROVE
            and not any(len(other) == len(scale) + 1 for other in scales)
        ]
    return scales[0] if len(set(scales)) == 1 else None


def are_opposites(words: Iterable[str]) -> bool:
    """Whether words are the two levels of a set that has no others, so that no number depends on their order.

    >>> are_opposites(["agree", "disagree"]), are_opposites(["agree", "strongly agree"])
    (True, False)
    """
    distinct = set(map(word_key, words))
    return len(distinct) == 2 and any(len(scale) == 2 for scale in word_scales(distinct))


def strange_words(words: Iterable[str]) -> tuple[list[str], list[str]]:
    """Words of which most are of one set, parted into those and the others; nothing where most are of none.

    >>> strange_words(["agree", "disagree", "dunno"]), strange_words(["change", "neutral", "sustain"])
    ((['agree', 'disagree'], ['dunno']), ([], []))
    """
    by_key = {word_key(word): word for word in words}
    sets, places = _sets()
    numbers = {number for key in by_key for number in places.get(key, ())}
    known = max(
        (
            sorted(by_key.keys() & {word for level in sets[number] for word in level})
            for number in sorted(numbers)
        ),
        key=len,
        default=[],
    )
    if len(known) < _FEWEST or 2 * len(known) <= len(by_key) or len(known) == len(by_key):
        known = [key for key in by_key if key in places]
        # Words of several sets, none of which has most of them, are a mixture all the same.
        if len(known) < _FEWEST or len(known) < len(by_key):
            return [], []
        known = known[:1]
    return [by_key[key] for key in known], [word for key, word in by_key.items() if key not in known]


def standing_order(labels: Sequence[str]) -> tuple[str, ...] | None:
    """Labels from the lowest, where they stand in the order of a set that all of them are of, up or down.

    >>> standing_order(["Often", "rarely", "never"]), standing_order(["often", "never", "rarely"])
    (('never', 'rarely', 'Often'), None)
    """
    sets, places = _sets()
    keys = [word_key(label) for label in labels]
    if len(set(keys)) < len(keys) or not all(key in places for key in keys) or len(keys) < _FEWEST:
        return None
    for number in sorted(frozenset.intersection(*(places[key] for key in keys))):
        order = [next(at for at, level in enumerate(sets[number]) if key in level) for key in keys]
        if len(set(order)) == len(order) and order in (sorted(order), sorted(order, reverse=True)):
            return tuple(labels) if order == sorted(order) else tuple(labels[::-1])
    return None
