// The conversation as it is shown: turns numbered from 0, speakers told apart by name, sign, line and place.

import { button, el, written } from "./elements.js";
import { say } from "./words.js";

/** What speakers are called, by role, and the signs of their turns. */
const ROLES = { [say("clinician")]: "clinician", [say("patient")]: "patient" };
const SIGNS = { clinician: "■", patient: "●", other: "▲" };

/** The turns of a conversation. `below(number)` makes what stands under a turn, and `rated` is the number of the turn
 * that is rated. */
export function turnList(turns, { prefix = "turn", rated = null, below = () => null } = {}) {
  return el(
    "ol",
    { class: "turns", start: 0 },
    turns.map((turn, number) => {
      const kind = ROLES[turn.speaker] ?? "other";
      const isRated = rated === String(number);
      return el(
        "li",
        { class: `turn ${kind}${isRated ? " rated" : ""}`, id: `${prefix}-${number}`, tabindex: "-1", value: number },
        el(
          "div",
          { class: "who" },
          el("span", { class: "number" }, `[${number}]`),
          el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[kind]),
          el("span", { class: "speaker" }, turn.speaker),
          isRated ? el("span", { class: "badge" }, say("rate_this")) : null,
          el("span", { class: "marks" }),
        ),
        written("p", turn.text, { class: "said" }),
        below(number),
      );
    }),
  );
}

/** What is known beside the conversation, such as its goal; `titles` by name. */
export function knownTexts(task, titles) {
  const known = Object.entries(titles);
  if (!known.length) return null;
  return el(
    "section",
    { class: "known", tabindex: "0", "aria-label": say("known_of_case") },
    known.map(([name, title]) => [written("h2", title), written("p", task[`input_${name}`], { class: "said" })]),
  );
}

/** Two conversations side by side; on a narrow screen one at a time. */
export function twoConversations(first, second) {
  const sides = [
    [say("first_conversation"), turnList(first, { prefix: "first" })],
    [say("second_conversation"), turnList(second, { prefix: "second" })],
  ].map(([title, list]) => el("section", { class: "side", "aria-label": title }, el("h2", {}, title), list));
  const switches = [say("first_conversation"), say("second_conversation")].map((title, place) =>
    button(title, () => show(place), { "aria-pressed": "false" }),
  );
  function show(place) {
    sides.forEach((side, number) => side.classList.toggle("behind", number !== place));
    switches.forEach((one, number) => one.setAttribute("aria-pressed", String(number === place)));
  }
  show(0);
  return el("div", { class: "pair" }, el("div", { class: "switch" }, switches), el("div", { class: "sides" }, sides));
}

/** Bring a turn into sight. */
export function goToTurn(number) {
  const turn = document.getElementById(`turn-${number}`);
  turn?.scrollIntoView({ block: "center" });
  turn?.focus({ preventScroll: true });
}
