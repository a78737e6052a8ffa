"""What the toy actors say: invented sentences by strategy, pivot and action."""

from __future__ import annotations

from collections.abc import Mapping

#: What a therapist says by strategy; ``{heard}`` is the client's last sentence, said of "you".
STRATEGY_LINES: Mapping[str, tuple[str, ...]] = {
    "normalizing": (
        "Many people who come here feel pulled both ways like this.",
        "You are far from the only one who goes through this.",
        "It would be odd if this did not weigh on you.",
    ),
    "change planning": (
        "If you took one small step this week, what would it look like?",
        "What would be the first thing that you would do, and when?",
        "Who could be on your side when you begin?",
    ),
    "elucidating question": (
        "When you say that, what do you mean for your own days?",
        "What was it about that which stayed with you?",
        "Could you help me see what that looks like?",
    ),
    "open question": (
        "What worries you most about it?",
        "How has this been for you lately?",
        "What is a usual day like for you now?",
        "What else is going round in your head?",
        "How did it come to be like this?",
    ),
    "building rapport": (
        "I am glad that you came today.",
        "Before we go on, how are you doing right now?",
        "Take your time, nothing here is in a hurry.",
    ),
    "simple reflection": ("{heard}", "I see. {heard}", "Right. {heard}"),
    "complex reflection": (
        "{heard} And it has become heavy to carry that alone.",
        "{heard} Under that I hear how much it matters to you.",
        "{heard} It is as if there were no room left for yourself.",
    ),
    "double-sided reflection": (
        "Part of you likes things as they are, and part of you wants something else.",
        "On one side it helps you through the day, and on the other it costs you.",
        "It is hard to let go of, and you came here all the same.",
    ),
    "decisional balance": (
        "What speaks for leaving it as it is, and what speaks against?",
        "What would you lose, and what would you win?",
    ),
    "Columbo": (
        "I am a bit puzzled: you say that it is no trouble, and it keeps you awake. How does that go together?",
        "Help me out: you want it to stop, and it is also what helps you. How is that?",
    ),
    "supporting self-efficacy": (
        "You have managed hard things before, and you did it your own way.",
        "You found out by yourself what helps, and that is a strength.",
        "What you did last time shows that you can do this.",
    ),
    "assessing readiness": (
        "From nought to ten, how ready are you to try something else?",
        "If ten is very sure and nought not at all, how sure are you that you could?",
    ),
    "affirmation": (
        "It takes strength to talk about this.",
        "You care a great deal about the people around you.",
        "You kept going when it would have been easier to give up, and I respect that.",
    ),
    "eliciting change talk": (
        "If things went well, what would be different in a year?",
        "What would be good about it, if you did change something?",
        "Why would you want this for yourself?",
    ),
    "summary": (
        "Let me gather what I heard so far. {heard}",
        "To put it together: it has been hard, and there are things that matter to you. {heard}",
        "So here is what I take with me from today. {heard}",
    ),
    "therapeutic paradox": (
        "Maybe this is not the time to change anything at all.",
        "Perhaps it is best to leave it just as it is for now.",
    ),
    "advice by elicit-provide-elicit": (
        "What do you know about it already? Some people find that small steps last longer. What do you make of that?",
        "May I tell you what has helped others? They wrote it down for a week. How would that be for you?",
    ),
}
#: What may follow, where there is room for it.
STRATEGY_TAILS: Mapping[str, tuple[str, ...]] = {
    "normalizing": (
        "It makes sense that it is hard.",
        "There is no shame in it.",
        "No wonder that you are tired.",
    ),
    "open question": (
        "Take your time.",
        "I would like to hear it in your own words.",
        "There is no wrong answer.",
    ),
    "building rapport": ("I would like to get to know you a little.", "It is good to have you here."),
    "simple reflection": ("That is a lot for one day.", "That stays with you.", "I hear you."),
    "affirmation": ("That is not nothing.", "Not everybody does that."),
    "supporting self-efficacy": ("That matters to you.", "You can build on that."),
    "summary": ("Did I get that right?", "Tell me if I left something out."),
    "double-sided reflection": ("Both of that is there.", "Both sides have their reasons."),
}
#: How a therapist changes course by pivot.
PIVOT_LINES: Mapping[str, tuple[str, ...]] = {
    "evoke values and strengths": ("Let us leave that for a moment and look at what you live for.",),
    "normalise and reframe": (
        "It is common to get stuck just here, and it can be a sign that something is moving.",
    ),
    "name the stuckness and change course with permission": (
        "I have the feeling that we go in circles. Would it be all right to try another road?",
    ),
    "strategic summary and refocus": ("Let me put it together and pick one thread.",),
    "metaphor": ("It is a bit like standing at a ford and looking for the first stone.",),
}
#: Strategies that a therapist takes in turn who isn't told any.
FREE_STRATEGIES: tuple[str, ...] = (
    "open question", "complex reflection", "affirmation", "eliciting change talk", "simple reflection",
    "double-sided reflection", "normalizing",
)  # fmt: skip
#: What a client says by action.
ACTION_LINES: Mapping[str, tuple[str, ...]] = {
    "deny": (
        "There is nothing wrong with me, really.",
        "No, I don't have a problem there.",
        "That's not me at all.",
    ),
    "downplay": (
        "It's not that bad, you know.",
        "Well, it could be a lot worse.",
        "Everybody has a bit of that.",
    ),
    "blame": (
        "It's all the stress they put on me.",
        "If they left me alone it would be fine.",
        "It's the work.",
    ),
    "hesitate": (
        "I don't know. One day yes, one day no.",
        "Part of me would like to, and then again not.",
        "Well, maybe. I can't say yet.",
    ),
    "doubt": (
        "I doubt that it would work.",
        "I tried once and it came to nothing.",
        "What for? I never keep it up.",
    ),
    "engage": ("Yeah, we can talk about that.", "That's a good question, that.", "Hm, go on then."),
    "inform": ("Well, it's like this.", "I can tell you how it goes.", "So, what happens is this."),
    "acknowledge": (
        "Yeah, you have a point there.",
        "I suppose it is a problem.",
        "True, it does bother me.",
    ),
    "accept": ("All right, that sounds fair.", "Okay, I can live with that.", "Fine, let's do it like that."),
    "reject": ("No, that's not for me.", "I won't do that, sorry.", "That plan, no."),
    "plan": (
        "I could start on Monday, with the evenings.",
        "First I will write it down for a week.",
        "I will ask for help with it on Sunday.",
    ),
    "terminate": ("I have to go now, sorry.", "I need to catch my bus."),
    "desire": ("I wish it was different.", "I want to feel better, I do.", "I'd like my mornings back."),
    "commitment": ("I will do it, I promise myself that.", "I am ready now.", "This time I will keep to it."),
}
#: What a client says towards the end.
CLOSING_LINES: Mapping[str, tuple[str, ...]] = {
    "acknowledge": (
        "It was good to say it aloud.",
        "Yeah, it did help to talk.",
        "You gave me something to think of.",
    ),
    "engage": ("I will think about it on the way home.", "Good talk, that."),
    "inform": ("I didn't think that I would tell so much.", "Well, that's about it."),
    "commitment": ("I will try it this week.", "I mean it this time."),
    "hesitate": ("I am not sure yet, but I will think about it.", "We will see."),
}
