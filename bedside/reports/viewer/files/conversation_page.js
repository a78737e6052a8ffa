// One conversation: what was said, what raters said of each turn beside it, and of the whole beside all.

import { addressOf, changed, goTo, listPart } from "./address.js";
import { button, counted, el, written } from "./elements.js";
import { judgementList, judgementOf, showJudgement } from "./judgement.js";
import { setKeys } from "./keys.js";
import { opened } from "./list_page.js";
import { inWords, raterName, shownNumber, shownRating } from "./numbers.js";

const SIGNS = { clinician: "■", patient: "●", other: "▲" };
const LONGEST_SUMMARY = 90;

export async function conversationPage(source, wanted) {
  const id = wanted.get("id") ?? "";
  const query = listPart(wanted);
  const [run, talk, near] = await Promise.all([source.run(), source.conversation(id), source.neighbours(query, id)]);
  opened(id);
  const metrics = new Map(run.metrics.map((metric) => [metric.name, metric]));
  const shown = { run, talk, metrics, source };
  const turns = talk.turns === null ? null : turnList(shown);
  const whole = el("aside", { class: "ratings", "aria-label": "Ratings of the whole conversation" }, wholeRatings(shown));
  const later = el("div", {});
  const open = (other) => other && goTo("conversation", changed(query, { id: other }));
  const back = () => goTo("list", backTo(query, near, run));
  setKeys({
    j: ["next turn", () => stepTurn(1)],
    k: ["turn before", () => stepTurn(-1)],
    n: ["next conversation of the list", () => open(near.after)],
    p: ["conversation before", () => open(near.before)],
    u: ["back to the list", back],
    "/": ["search in the list", () => { back(); searchSoon(); }],
  });
  return {
    title: id,
    content: [
      ways(talk, near, query, run),
      el("h1", { tabindex: "-1", dir: "auto" }, id),
      aboutTalk(talk),
      knownTexts(talk),
      el("div", { class: "columns" },
        el("section", { class: "said-column", "aria-label": "What was said" }, turns ?? el("p", {}, "This run keeps no text."), later),
        whole),
    ],
    shown: () => {
      addJudgements(shown, whole);
      if (talk.simulated) addStates(shown, later);
      return false;
    },
  };
}

/** The list that the conversation was opened from, on the page that it stands on. */
function backTo(query, near, run) {
  const start = near.place === null ? 0 : Math.floor(near.place / run.rows) * run.rows;
  return changed(query, { start: start || null });
}

function searchSoon() {
  addEventListener("viewshown", () => {
    const box = document.getElementById("search");
    box.closest("details").open = true;
    box.focus();
  }, { once: true });
}

function ways(talk, near, query, run) {
  const way = (words, id, key) => id === null
    ? el("a", { class: "off", "aria-disabled": "true" }, words)
    : el("a", { href: addressOf("conversation", changed(query, { id })), title: `Key ${key}` }, words);
  const others = talk.same.filter((other) => other.id !== talk.id);
  return el("nav", { class: "ways", "aria-label": "Other conversations" },
    el("a", { href: addressOf("list", backTo(query, near, run)), title: "Key u" }, "List"),
    way("Before", near.before, "p"),
    way("Next", near.after, "n"),
    el("span", { class: "soft" }, near.place === null ? "not in this list"
      : `${(near.place + 1).toLocaleString("en")} of ${near.total.toLocaleString("en")}`),
    others.length && others.length <= 12
      ? el("span", { class: "same" }, "Side by side with ", others.map((other) =>
        el("a", { href: addressOf("pair", changed(query, { id: talk.id, other: other.id })) },
          written("span", sideName(other, others)))))
      : null,
    others.length > 12
      ? el("label", {}, "Side by side with ", el("select", {
        onchange: (event) => event.target.value && goTo("pair", changed(query, { id: talk.id, other: event.target.value })),
      }, el("option", { value: "" }, "…"), others.map((other) => el("option", { value: other.id }, `${other.system ?? "–"}: ${other.id}`))))
      : null);
}

/** A conversation on the same case by its system, where that tells it from the others. */
function sideName(other, others) {
  const alone = others.filter((one) => one.system === other.system).length === 1;
  return alone && other.system !== null ? other.system : other.id;
}

export function aboutTalk(talk) {
  const facts = [
    ["System", talk.system], ["Case", talk.case],
    ...Object.entries(talk.factors).map(([name, level]) => [inWords(name), level]),
    ["Turns", talk.count], ["Language", talk.language], ["Source", talk.source],
  ].filter(([, value]) => value !== null && value !== "");
  return el("dl", { class: "about" }, facts.map(([name, value]) =>
    el("div", {}, el("dt", {}, name), written("dd", String(value)))));
}

/** What is known beside what was said, such as the goal. */
export function knownTexts(talk) {
  const known = Object.entries(talk.reference ?? {});
  if (!known.length) return null;
  return el("details", { class: "part known" },
    el("summary", {}, `What is known of the case: ${known.map(([name]) => name.replaceAll("_", " ")).join(", ").slice(0, LONGEST_SUMMARY)}`),
    el("dl", {}, known.map(([name, value]) => [
      written("dt", inWords(name)),
      written("dd", typeof value === "string" ? value : JSON.stringify(value, null, 2), { class: "said" }),
    ])));
}

// -- turns -------------------------------------------------------------------------------------------------

/** The turns with what raters said of each beside it. `prefix` tells two conversations' turns apart. */
export function turnList(shown, prefix = "turn") {
  const { talk } = shown;
  const byTurn = new Map();
  for (const rating of talk.ratings) {
    if (rating.turn === null) continue;
    if (!byTurn.has(rating.turn)) byTurn.set(rating.turn, []);
    byTurn.get(rating.turn).push(rating);
  }
  return el("ol", { class: "turns", start: 0 }, talk.turns.flatMap((turn, number) => [...provenanceBefore(talk, number), el("li",
    { class: `turn ${SIGNS[turn.role] ? turn.role : "other"}`, id: `${prefix}-${number}`, tabindex: "-1", value: number },
    el("div", { class: "words" },
      el("p", { class: "who" },
        el("span", { class: "number" }, `[${number}]`),
        el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[turn.role] ?? SIGNS.other),
        written("span", turn.speaker, { class: "speaker" }),
        turn.speaker.toLowerCase() === turn.role ? null : el("span", { class: "soft" }, turn.role),
        turnFacts(turn, byTurn.get(number) ?? [])),
      written("p", turn.text, { class: "said" })),
    turnMarks(shown, turn, byTurn.get(number) ?? []))]), provenanceBefore(talk, talk.turns.length));
}

/** System messages and calls of tools that stand before a turn, folded: no rater reads them, and they have no number. */
function provenanceBefore(talk, number) {
  return talk.provenance.filter((item) => item.before === number).map((item) =>
    el("li", { class: "provenance" }, el("details", {},
      el("summary", {}, item.kind === "tools" ? "A tool" : "System message", item.speaker === item.kind ? null : [" (", written("span", item.speaker), ")"]),
      written("p", item.text, { class: "said" }))));
}

/** The stage and time of a turn, but for what stands among its ratings. */
function turnFacts(turn, ratings) {
  return ["stage", "time"].map((name) => [name, turn.meta[name]])
    .filter(([name, value]) => value !== undefined && value !== null && !ratings.some((rating) => rating.metric === name && rating.label === value))
    .map(([name, value]) => written("span", String(value), { class: "soft", title: name }));
}

function turnMarks(shown, turn, ratings) {
  const rated = new Set(ratings.map((rating) => `${raterName(rating.rater)} ${rating.metric}`));
  // Codes that stand in the source are most often ratings, too.
  const codes = Object.entries(turn.meta.codes ?? {}).flatMap(([coder, given]) => Object.entries(given)
    .filter(([code]) => !rated.has(`${coder} ${code}`)).map(([code, label]) => ({ coder, code, label })));
  return el("div", { class: "marks" },
    el("dl", {},
      [...byMetric(ratings)].map(([name, own]) => el("div", {},
        el("dt", {}, titleOf(shown, name), ":", differs(own) ? [" ", el("span", { class: "differs" }, "differ")] : null),
        " ", answers(shown, name, own))),
      codes.map(({ coder, code, label }) => el("div", {},
        el("dt", {}, written("span", inWords(code)), ":"),
        el("dd", {}, written("strong", String(label)), " ", written("span", `${coder}, in the source`, { class: "rater" }))))),
    el("div", { class: "states" }));
}

/** What raters said of a turn by one metric: those who said the same stand together. */
function answers(shown, name, ratings) {
  const groups = gathered([...byRater(ratings)], ([, said]) =>
    JSON.stringify(inPasses(said).map((rating) => [rating.value, rating.label, rating.error])));
  return [...groups.values()].map((same, place) => [
    place ? " " : null,
    el("dd", {}, saidBy(shown, name, same[0][1]), " ",
      written("span", same.map(([rater]) => raterName(rater)).join(", "), { class: "rater" })),
    same.filter(([, said]) => said.some((rating) => rating.reason)).map(([rater, said]) =>
      el("dd", { class: "whole" }, reasonsOf(said, same.length > 1 ? raterName(rater) : null))),
  ]);
}

function byMetric(ratings) {
  return gathered(ratings, (rating) => rating.metric);
}

function byRater(ratings) {
  return gathered(ratings, (rating) => rating.rater);
}

function gathered(entries, keyOf) {
  const groups = new Map();
  for (const entry of entries) {
    const key = keyOf(entry);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(entry);
  }
  return groups;
}

function titleOf(shown, name) {
  return written("span", shown.metrics.get(name)?.title ?? name, { title: name });
}

/** Whether raters don't say the same. A rater's passes count as their mean, or the label given most often; a jury, which
 * only joins others' ratings, isn't counted. */
export function differs(ratings) {
  const said = [...byRater(ratings.filter((rating) => rating.error === null && rating.kind !== "jury")).values()].map((own) => {
    const values = own.filter((rating) => rating.value !== null).map((rating) => rating.value);
    const labels = gathered(own.filter((rating) => rating.label !== null), (rating) => rating.label);
    const label = [...labels].sort(([a, many], [b, few]) => few.length - many.length || (a < b ? -1 : 1))[0]?.[0];
    return { value: values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null, label };
  });
  const values = said.filter((one) => one.value !== null).map((one) => one.value);
  const labels = new Set(said.filter((one) => one.label !== undefined).map((one) => one.label));
  return labels.size > 1 || (values.length > 1 && Math.max(...values) - Math.min(...values) > 1e-9);
}

/** What one rater said by one metric, pass after pass. */
export function saidBy(shown, name, ratings) {
  const digits = shown.metrics.get(name)?.digits;
  return inPasses(ratings).map((rating, place) => [
    place ? ", " : null,
    rating.error === null
      ? written("strong", shownRating(rating, digits), { title: passWords(rating, ratings) })
      : written("span", `missing: ${rating.error}`, { class: "missing" }),
  ]);
}

function inPasses(ratings) {
  return [...ratings].sort((a, b) => (a.round < b.round ? -1 : a.round > b.round ? 1 : a.replicate - b.replicate));
}

function passWords(rating, ratings) {
  const words = [];
  if (ratings.some((other) => other.replicate !== rating.replicate)) words.push(`pass ${rating.replicate + 1}`);
  if (rating.round) words.push(`round ${rating.round}`);
  return words.join(", ") || null;
}

export function reasonsOf(ratings, rater = null) {
  return ratings.filter((rating) => rating.reason).map((rating) => el("p", { class: "reason" },
    rater ? [written("span", rater, { class: "rater" }), ": "] : null, written("span", rating.reason)));
}

function stepTurn(by) {
  const turns = [...document.querySelectorAll(".turns > .turn")];
  const at = turns.indexOf(document.activeElement?.closest(".turn"));
  const to = turns[at < 0 ? (by > 0 ? 0 : turns.length - 1) : Math.min(Math.max(at + by, 0), turns.length - 1)];
  to?.focus({ preventScroll: true });
  to?.scrollIntoView({ block: "nearest" });
}

// -- the whole conversation ------------------------------------------------------------------------------

/** Ratings of the whole conversation: raters side by side; what algorithms computed below, in one column. */
function wholeRatings(shown) {
  const whole = shown.talk.ratings.filter((rating) => rating.turn === null && rating.second === null);
  const said = whole.filter((rating) => rating.kind !== "algorithm");
  const asked = new Set(said.map((rating) => rating.metric));
  // What an algorithm and somebody else rated stands beside each other.
  const rated = whole.filter((rating) => asked.has(rating.metric));
  const computed = whole.filter((rating) => !asked.has(rating.metric));
  return [
    el("h2", {}, "Ratings"),
    rated.length ? raterTable(shown, rated) : el("p", { class: "soft" }, "No person or judge rated the whole conversation."),
    comparisons(shown),
    el("div", { class: "judgements" }),
    computed.length ? computedTable(shown, computed) : null,
  ];
}

function inOrder(shown, names) {
  const order = [...shown.metrics.keys()];
  return [...names].sort((a, b) => order.indexOf(a) - order.indexOf(b));
}

function raterTable(shown, ratings) {
  const raters = [...new Set(shown.run.raters.map((rater) => rater.name))].filter((name) => ratings.some((rating) => rating.rater === name));
  const metrics = byMetric(ratings);
  return scrolling("Ratings of the whole conversation", el("table", { class: "rated" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Metric"), raters.map((rater) =>
      el("th", { scope: "col", title: rater }, written("span", raterName(rater)), el("span", { class: "kind" }, kindOf(shown, rater)))))),
    el("tbody", {}, inOrder(shown, metrics.keys()).flatMap((name) => {
      const own = metrics.get(name);
      const reasons = own.filter((rating) => rating.reason);
      return [
        el("tr", { class: differs(own) ? "differing" : null },
          el("th", { scope: "row" }, titleOf(shown, name), differs(own) ? [" ", el("span", { class: "differs" }, "differ")] : null),
          raters.map((rater) => {
            const said = own.filter((rating) => rating.rater === rater);
            return el("td", {}, said.length ? saidBy(shown, name, said) : "–",
              inPasses(said.filter((rating) => rating.kind === "judge")).map((rating, _, all) =>
                askedSlot(rating, all.length > 1 ? `asked ${rating.replicate + 1}` : "asked")));
          })),
        reasons.length ? el("tr", { class: "reasons" }, el("td", { colspan: raters.length + 1 },
          reasons.map((rating) => el("p", { class: "reason" },
            written("span", [raterName(rating.rater), passWords(rating, own.filter((other) => other.rater === rating.rater))].filter(Boolean).join(", "),
              { class: "rater" }), ": ", written("span", rating.reason))))) : null,
      ];
    }))));
}

function kindOf(shown, rater) {
  return shown.run.raters.find((entry) => entry.name === rater)?.kind ?? "";
}

/** Where a way to the judgement will stand, once it is looked up. */
function askedSlot(rating, words) {
  const slot = el("span", { class: "asked" });
  slot.rating = rating;
  slot.words = words;
  return slot;
}

function computedTable(shown, ratings) {
  const metrics = byMetric(ratings);
  const groups = gathered(inOrder(shown, metrics.keys()), (name) => shown.metrics.get(name)?.group ?? "Ratings");
  return el("details", { class: "part", open: matchMedia("(min-width: 1000px)").matches },
    el("summary", {}, `Computed: ${counted(metrics.size, "metric")}`),
    [...groups].map(([group, names]) => [
      el("h3", {}, group),
      el("dl", { class: "computed" }, names.map((name) => el("div", {},
        el("dt", {}, titleOf(shown, name)),
        el("dd", {}, [...byRater(metrics.get(name))].map(([rater, said], place) => [
          place ? " · " : null, el("span", { title: rater }, saidBy(shown, name, said)), reasonsOf(said),
        ]))))),
    ]));
}

/** Preferences: which of this and another conversation a rater found better. */
function comparisons(shown) {
  const { talk } = shown;
  const pairs = talk.ratings.filter((rating) => rating.second !== null);
  if (!pairs.length) return null;
  const query = listPart(new URLSearchParams(location.hash.split("?")[1] ?? ""));
  return el("details", { class: "part", open: true },
    el("summary", {}, `Compared two by two: ${counted(pairs.length, "preference")}`),
    el("ul", { class: "plain" }, pairs.map((rating) => {
      const other = rating.first === talk.id ? rating.second : rating.first;
      return el("li", {}, titleOf(shown, rating.metric), ", ", written("span", raterName(rating.rater), { class: "rater" }),
        `: ${preferred(rating, talk.id)}, `,
        "compared with ", rating.there
          ? el("a", { href: addressOf("pair", changed(query, { id: talk.id, other })) }, written("span", other))
          : written("span", other),
        rating.reason ? written("p", rating.reason, { class: "reason" }) : null);
    })));
}

export function preferred(rating, id) {
  if (rating.error !== null) return `missing: ${rating.error}`;
  if (rating.label === "tie") return "a tie";
  return (rating.label === "first") === (rating.first === id) ? "this one" : "the other one";
}

export function scrolling(label, table) {
  return el("div", { class: "scrolling", role: "region", "aria-label": label, tabindex: "0" }, table);
}

// -- what takes longer to look up ------------------------------------------------------------------------

async function addJudgements(shown, whole) {
  const { source, talk } = shown;
  if (!talk.ratings.some((rating) => rating.kind === "judge")) return;
  const place = whole.querySelector(".judgements");
  let judgements;
  try {
    judgements = await source.judgements(talk.id);
  } catch (error) {
    place.replaceChildren(el("p", { class: "missing" }, error.message));
    return;
  }
  for (const slot of whole.querySelectorAll(".asked")) {
    const judgement = judgementOf(judgements, slot.rating);
    if (!judgement) continue;
    slot.replaceChildren(button(slot.words, () => showJudgement(source, talk.id, judgement), {
      class: "link", title: "What the judge was asked, and its raw reply",
      "aria-label": `${slot.words}: ${shown.metrics.get(slot.rating.metric)?.title ?? slot.rating.metric}, ${raterName(slot.rating.rater)}`,
    }));
  }
  const list = judgementList(source, talk.id, judgements);
  if (list) place.replaceChildren(list);
  else place.replaceChildren(el("p", { class: "soft" },
    "No judgement of this conversation is kept: the run has no store of them, or the same words were asked about under another name."));
}

async function addStates(shown, later) {
  const { source, talk } = shown;
  later.replaceChildren(el("p", { class: "soft", role: "status" }, "Hidden states are being looked up …"));
  let found;
  try {
    found = await source.states(talk.id);
  } catch (error) {
    later.replaceChildren(el("p", { class: "missing" }, error.message));
    return;
  }
  const rest = [];
  for (const state of found.states) {
    const turn = Number.isInteger(state.turn) ? document.getElementById(`turn-${state.turn}`) : null;
    if (turn) turn.querySelector(".states").append(stateBox(state));
    else rest.push(stateBox(state));
  }
  later.replaceChildren(
    ...(rest.length ? [el("h2", {}, "Hidden states of no turn"), ...rest] : []),
    ...found.gone.map((file) => el("p", { class: "soft" }, `The hidden states stood in ${file}, which isn't there any more.`)));
}

function stateBox(state) {
  const entries = Object.entries(state).filter(([name]) => !["id", "turn", "purpose"].includes(name));
  return el("details", { class: "state" },
    el("summary", {}, "Hidden state", state.purpose ? [": ", written("span", String(state.purpose).replaceAll("_", " "))] : null),
    el("dl", {}, entries.map(([name, value]) => [
      written("dt", inWords(name)),
      written("dd", stateWords(value), { class: "said" }),
    ])));
}

function stateWords(value) {
  if (typeof value === "number") return shownNumber(value, 3);
  if (value === null || value === "") return "–";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
