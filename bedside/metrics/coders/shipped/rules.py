"""The rule coder: finds questions in English clinician turns and tells open from closed ones.

A turn is cut into sentences; each sentence is read as a question or not, and the turn's last question decides.
The lexicon below holds function words and a few frames of counselling talk; nothing in it is fitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from bedside.metrics.coders.contract import Coder, TurnCodes
from bedside.transcripts.language import not_english
from bedside.transcripts.transcript import Transcript


def _alternatives(words: str) -> str:
    """A pattern for any of the blank-separated words; ``_`` stands for a space inside one."""
    return "(?:" + "|".join(word.replace("_", " ") for word in words.split()) + r")(?![\w'])"


# -- the lexicon -------------------------------------------------------------------------------------

#: Hesitations: taken out wherever they stand.
_HESITATE = re.compile(rf"\b{_alternatives('um+ uh+ er+ erm hm+ mm+ mmh+ mhm mm-hmm uh-huh')}[,.]?")
#: Words before a clause that say nothing of what kind it is.
_OPENER = _alternatives(
    "okay ok oh so and but or because 'cause cause well now right alright all_right yeah yes yep no sure then also "
    "just good great i_mean you_know i_guess i_think maybe again actually hi hey hello"
)
#: An utterance of these alone keeps the talk going and asks nothing: "Yeah?", "Okay?", "You know?".
_BACKCHANNEL = _alternatives(
    "okay ok yeah yes yep no right alright all_right sure really oh so ah you_know_what_i_mean know_what_i_mean "
    "you_know_what you_know you_see huh eh sorry pardon"
)
#: At the end of a statement: asks for a yes.
_TAG_WORD = _alternatives("right correct yes no yeah okay ok huh eh is_that_right is_that_correct is_that_fair")
#: After a question these add nothing: "Where would that be, do you think?"
_TRAILER = _alternatives("do_you_think would_you_say do_you_reckon if_you_don't_mind_me_asking if_i_may_ask")
_AUXILIARY = _alternatives(
    "do does did is are was were am have has had can could will would should shall may might "
    "don't doesn't didn't isn't aren't wasn't weren't haven't hasn't can't couldn't won't wouldn't shouldn't"
)
_PRONOUN = _alternatives("i you he she it we they that this there")
_SUBJECT = _alternatives(
    "i you he she it we they that this there these those your his her their our my the a an any anyone anybody "
    "anything some someone somebody something one both people"
)
_WH = r"(?:what|how|why|where|when|who|whom|whose|which)"
#: After a question word or "how": the answer is a number, a time, a name or one of a few.
_MEASURED = _alternatives(
    "many much often long old far soon tall big early late frequently "
    "time day date year month week number percentage percent age grade size dose hour"
)
_CLOSED_WH = frozenset(("when", "who", "whom", "whose", "which"))
#: Asks for an account, whatever auxiliary stands before it.
_ACCOUNT = _alternatives(
    "tell_me tell_us telling_me say_more say_a_bit_more say_a_little_more say_something_more describe explain "
    "elaborate share help_me_understand help_me_to_understand walk_me_through talk_me_through give_me_an_example "
    "give_me_a_sense give_me_an_idea"
)
#: What may stand before the account that is asked for.
_PLEASE = _alternatives(
    "can_you could_you would_you will_you would_you_mind would_you_be_able_to would_you_be_willing_to "
    "would_you_like_to are_you_able_to if_you_could if_you_can if_you_would if_you'd maybe_you_can maybe_you_could "
    "perhaps_you_could i'd_like_you_to i_want_you_to please maybe perhaps just then"
)
#: An invitation to add: "Any thoughts on that?"
_INVITES = re.compile(r"\bany(?:thing)? ?" + _alternatives("other others else thoughts ideas questions concerns"))
#: Asks for a point on a scale.
_ON_SCALE = re.compile(r"\bscale\b|\b(?:0|1|zero|one) (?:to|through|and) (?:5|10|100|five|ten|a hundred)\b")
#: Says in a statement that a question follows: "I'm wondering what …".
_WONDER = (
    r"\b(?:(?:i'm|i am|i was|i've been) (?:just )?(?:wondering|curious)|i (?:just )?(?:wonder|wondered)"
    r"|i'd (?:like|love) to (?:hear|know)|(?:can|may|could) i ask(?: you)?)(?: about)?,?"
)

# -- sentences ---------------------------------------------------------------------------------------

_NOTE = re.compile(r"\[[^\[\]]{0,80}\]|\([^()]{0,80}\)|<[^<>]{0,80}>|[*_#`]+")
_NOTE_MARK, _DASH = re.compile(r"[\[(<*_#`]"), re.compile("[-–—]")
_REPEAT = re.compile(r"\b(\w[\w' ]{0,30}+)[-–—]+ ?(?=\1)")
# Of text whose only space is a single blank: the first character is looked for, the rest tells whether it is one.
_BOUNDARY = re.compile(
    r"""[ "'.—–-](?:(?<=[.?!…] )|(?<=[.?!…]["']) |(?<= )(?:--+|—|–|\.\.\.) ?|(?<=-)-+ ?|(?<=[—–]) ?|(?<=\.)\.\. ?)"""
)


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Sentences in lower case without notes, hesitations and repeats, and whether a question mark ends each."""
    text = text.lower().replace("’", "'").replace("‘", "'")
    # Both expressions are slow where there is nothing to find.
    if _NOTE_MARK.search(text):
        text = _NOTE.sub(" ", text)
    text = _HESITATE.sub(" ", text)
    if _DASH.search(text):
        text = _REPEAT.sub("", text)
    text = " ".join(text.split())
    for piece in _BOUNDARY.split(text):
        marked = piece.rstrip(" \"'!.)-").endswith("?")
        body = piece.strip(" -\"'.?!…,;:").replace(" ,", ",").replace(" ;", ";").replace(" :", ":")
        if body:
            yield body, marked


# -- questions ---------------------------------------------------------------------------------------

_CLAUSE = r"(?:^|[,;:] |\b(?:so|and|but|or) )"
_TURNED = rf"{_AUXILIARY}(?: not)? {_SUBJECT}"
_CONTRACTED = r"(?:'s|'re|'d|'ll|'ve)(?!\w)"
#: Up to four words between the question word and its auxiliary: "how many times a week did you".
_BETWEEN = rf"(?: (?!{_PRONOUN}|{_AUXILIARY})[\w'-]+){{0,4}}"

_OPENERS = re.compile(rf"^(?:{_OPENER}[,:]? ?)+")
_ONLY_BACKCHANNEL = re.compile(rf"(?:{_BACKCHANNEL}[,.]? ?)+")
_TRAILING = re.compile(rf",? {_TRAILER}$")
_TAG = re.compile(rf", ?(?:{_TAG_WORD}|{_AUXILIARY} (?:not )?{_PRONOUN}(?: not)?)$")
_ACCOUNT_ASKED = re.compile(rf"(?:(?:^|[,;:] |\bso )(?:{_PLEASE} ){{0,4}}|\b{_PLEASE} ){_ACCOUNT}")
_ENDS_IN_WH = re.compile(rf" {_WH}$")
#: Without a question mark the words must show the question: by their order, or by saying that one follows.
_ASKS_AT_ONCE = re.compile(
    rf"{_WH}{_CONTRACTED}|{_WH} (?:would|could|should|do|does|did) |"
    rf"(?!do (?:it|that|this)\b){_AUXILIARY} (?:not )?{_PRONOUN}"
    r"|(?:how|what) about |how come |why not "
)
_ASKS = re.compile(
    rf"{_CLAUSE}{_WH}{_BETWEEN} {_TURNED}|{_WONDER} (?:{_WH}|if|whether|your)(?![\w'])|\blet me ask you\b"
)
_OF_ACCOUNT = ("tell", "say ", "describe", "explain", "elaborate", "share", "help me", "k me through", "give me")
_OF_ASKING = ("wh", "how", "wonder", "curious", "i'd l", " ask")
#: What a question is known by: a question word and a subject after its auxiliary, a question word that begins the
#: sentence, a clause or what the speaker wonders, or a clause that begins with its auxiliary.
_HEAD = re.compile(
    rf"\b(?P<turned>{_WH})(?P<turned_rest>{_CONTRACTED}|{_BETWEEN} {_TURNED})"
    rf"|(?:^(?={_WH})|{_CLAUSE}(?=what|how|why)|{_WONDER} )(?P<first>{_WH})(?P<first_rest>(?: [\w'-]+)?)"
    rf"|(?:{_CLAUSE}|\b(?:then|now|here) )(?P<auxiliary>{_AUXILIARY} (?:not )?{_SUBJECT})"
)
#: A clause that says something of what was said before it: "…, which is a good sign". With a pronoun it asks: "…, which
#: would you choose?"
_ASIDE = re.compile(rf", which {_AUXILIARY}(?! {_PRONOUN}\b)[^,;:]*")
_ASKS_MEASURE = re.compile(rf" (?:\w+ )?{_MEASURED}")


def _sentence(body: str, marked: bool) -> str | None:
    """``open`` or ``closed`` for a sentence that asks something, else None."""
    if _ONLY_BACKCHANNEL.fullmatch(body):
        return None
    body = _OPENERS.sub("", body)
    # What these look for is looked for first by parts of its words, which is far quicker.
    if any(map(body.__contains__, _OF_ACCOUNT)) and _ACCOUNT_ASKED.search(body):
        return "open"
    if marked or _ASKS_AT_ONCE.match(plain := _ASIDE.sub("", body)):
        return _type(body)
    return _type(body) if any(map(plain.__contains__, _OF_ASKING)) and _ASKS.search(plain) else None


def _type(body: str) -> str:
    """``open`` or ``closed``, by the last question in the sentence; a statement that asks for a yes is closed."""
    plain = _ASIDE.sub("", body)
    body = _TRAILING.sub("", plain if plain == body or _HEAD.search(plain) else body)
    if _TAG.search(body) or _ON_SCALE.search(body):
        return "closed"
    if _INVITES.search(body):
        return "open"
    heads = list(_HEAD.finditer(body))
    if not heads:
        return "open" if _ENDS_IN_WH.search(body) else "closed"
    head = heads[-1]
    word = head["turned"] or head["first"]
    rest = head["turned_rest"] or head["first_rest"] or ""
    if word is None or word in _CLOSED_WH or _ASKS_MEASURE.match(rest):
        return "closed"
    return "open"


@lru_cache(maxsize=4096)  # much is said again and again
def question(text: str) -> str:
    """The question code of one clinician turn: ``none``, ``open`` or ``closed``, by its last question."""
    label = "none"
    for body, marked in _sentences(text):
        label = _sentence(body, marked) or label
    return label


def question_and_type(text: str) -> tuple[str, str]:
    """What :func:`question` and :func:`question_type` say, at the cost of one of them."""
    pieces = list(_sentences(text))
    label = "none"
    for body, marked in pieces:
        label = _sentence(body, marked) or label
    if label != "none":
        return label, label
    last = pieces[-1][0] if pieces else ""
    return label, "open" if _ACCOUNT_ASKED.search(last) else _type(_OPENERS.sub("", last))


def question_type(text: str) -> str:
    """``open`` or ``closed`` for a turn known to hold a question; by its last sentence, where none is found."""
    return question_and_type(text)[1]


def _code(transcript: Transcript) -> TurnCodes:
    return {turn.index: {"question": question(turn.text)} for turn in transcript.of("clinician")}


def _refuses(transcript: Transcript) -> str | None:
    return not_english("\n".join(turn.text for turn in transcript.of("clinician")), transcript.language)


CODER = Coder(
    name="rules",
    title="rule coder for questions",
    description=(
        "Finds questions in English clinician turns and tells open from closed ones by their words: question words and "
        "auxiliaries, the order of subject and auxiliary, requests for an account, tags, scales and amounts. Works "
        "where question marks are missing. The turn's last question decides. It gives no other code."
    ),
    version="2",
    codes=("question",),
    source="Lexicon and rules of this project; question types as in MITI 4.2.1 (Moyers et al. 2014).",
    code=_code,
    refuses=_refuses,
    languages=("en",),
)
