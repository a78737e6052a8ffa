// Two conversations side by side: those of two systems on one case, say.

import { addressOf, changed, goTo, listPart } from "./address.js";
import { button, el, written } from "./elements.js";
import { setKeys } from "./keys.js";
import { aboutTalk, knownTexts, preferred, reasonsOf, saidBy, scrolling, turnList } from "./conversation_page.js";
import { raterName } from "./numbers.js";

export async function pairPage(source, wanted) {
  const ids = [wanted.get("id") ?? "", wanted.get("other") ?? ""];
  const query = listPart(wanted);
  const [run, ...talks] = await Promise.all([source.run(), ...ids.map((id) => source.conversation(id))]);
  const metrics = new Map(run.metrics.map((metric) => [metric.name, metric]));
  const shown = talks.map((talk) => ({ run, talk, metrics, source }));
  const names = sideNames(talks);
  const list = () => goTo("list", query);
  setKeys({
    x: ["change sides", () => goTo("pair", changed(wanted, { id: ids[1], other: ids[0] }))],
    u: ["back to the list", list],
    1: ["open the first conversation", () => goTo("conversation", changed(query, { id: ids[0] }))],
    2: ["open the second conversation", () => goTo("conversation", changed(query, { id: ids[1] }))],
  });
  return {
    title: names.join(" and "),
    content: [
      el("nav", { class: "ways", "aria-label": "Other conversations" },
        el("a", { href: addressOf("list", query) }, "List"),
        el("a", { href: addressOf("pair", changed(wanted, { id: ids[1], other: ids[0] })) }, "Change sides"),
        others(talks, query)),
      el("h1", { tabindex: "-1" }, "Side by side"),
      ratingsBeside(shown, names),
      sides(shown, names, query),
    ],
    shown: () => false,
  };
}

/** Systems, where they tell the two apart; else their ids. */
function sideNames(talks) {
  const systems = talks.map((talk) => talk.system);
  return systems[0] !== systems[1] && !systems.includes(null) ? systems : talks.map((talk) => talk.id);
}

function others(talks, query) {
  const [first, second] = talks;
  const more = first.same.filter((other) => other.id !== first.id && other.id !== second.id).slice(0, 12);
  if (!more.length) return null;
  return el("span", { class: "same" }, "Instead of the second: ", more.map((other) =>
    el("a", { href: addressOf("pair", changed(query, { id: first.id, other: other.id })) }, written("span", other.system ?? other.id))));
}

/** Ratings of both, rater by rater. */
function ratingsBeside(shown, names) {
  const [first, second] = shown;
  const rows = new Map();
  shown.forEach(({ talk }, side) => {
    for (const rating of talk.ratings) {
      if (rating.turn !== null || rating.second !== null) continue;
      const key = JSON.stringify([rating.metric, rating.rater]);
      if (!rows.has(key)) rows.set(key, { metric: rating.metric, rater: rating.rater, kind: rating.kind, said: [[], []] });
      rows.get(key).said[side].push(rating);
    }
  });
  const order = [...first.metrics.keys()];
  const sorted = [...rows.values()].sort((a, b) =>
    (a.kind === "algorithm") - (b.kind === "algorithm") || order.indexOf(a.metric) - order.indexOf(b.metric)
    || (a.rater < b.rater ? -1 : 1));
  const pairs = first.talk.ratings.filter((rating) => rating.second !== null
    && [rating.first, rating.second].includes(second.talk.id));
  const part = (words, entries, open) => entries.length
    ? el("details", { class: "part", open }, el("summary", {}, words), scrolling(words, table(first, entries, names))) : null;
  return [
    pairs.length ? el("ul", { class: "plain", "aria-label": "Which is better" }, pairs.map((rating) => el("li", {},
      written("span", first.metrics.get(rating.metric)?.title ?? rating.metric), ", ",
      written("span", raterName(rating.rater), { class: "rater" }), ": ",
      written("strong", preferredSide(rating, first.talk.id, names)),
      rating.reason ? written("p", rating.reason, { class: "reason" }) : null))) : null,
    part("Ratings by people and judges", sorted.filter((row) => row.kind !== "algorithm"), true),
    part("Computed", sorted.filter((row) => row.kind === "algorithm"), false),
  ];
}

function preferredSide(rating, id, names) {
  const words = preferred(rating, id);
  return words === "this one" ? names[0] : words === "the other one" ? names[1] : words;
}

function table(shown, rows, names) {
  const { metrics } = shown;
  const cell = (row, ratings) => el("td", {}, ratings.length ? [saidBy(shown, row.metric, ratings), reasonsOf(ratings)] : "–");
  return el("table", { class: "rated" },
    el("thead", {}, el("tr", {}, ["Metric", "Rater"].map((title) => el("th", { scope: "col" }, title)),
      names.map((name) => written("th", name, { scope: "col" })))),
    el("tbody", {}, rows.map((row) => el("tr", {},
      el("th", { scope: "row" }, written("span", metrics.get(row.metric)?.title ?? row.metric)),
      written("td", raterName(row.rater), { class: "rater" }),
      row.said.map((ratings) => cell(row, ratings))))));
}

function sides(shown, names, query) {
  const parts = shown.map((one, side) => el("section", { class: "side", "aria-label": names[side] },
    el("h2", {}, el("a", { href: addressOf("conversation", changed(query, { id: one.talk.id })) }, written("span", names[side]))),
    aboutTalk(one.talk),
    knownTexts(one.talk),
    one.talk.turns === null ? el("p", {}, "This run keeps no text.") : turnList(one, ["first", "second"][side])));
  const switches = names.map((name, side) => button(name, () => show(side), { "aria-pressed": "false" }));
  function show(side) {
    parts.forEach((part, number) => part.classList.toggle("behind", number !== side));
    switches.forEach((one, number) => one.setAttribute("aria-pressed", String(number === side)));
  }
  show(0);
  return [el("div", { class: "switch", role: "group", "aria-label": "Which one is shown" }, switches), el("div", { class: "sides" }, parts)];
}
