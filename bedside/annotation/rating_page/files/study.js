// The researcher's page: the tables of `bedside annotate status`, as the server has them, again and again.
// It is in English, as they are.

import { counted, el } from "./elements.js";
import { Refused, Unreachable, ask, hasSecret } from "./server.js";

const AGAIN = 10000;
/** Computing the tables of a large study takes a while. */
const PATIENCE = 300000;
/** Answers go into the run every ten seconds: those that wait longer don't get there. */
const LATE = 60000;
const FEW_NOTES = 4;

const time = document.getElementById("time");
const notices = document.getElementById("notices");
const view = document.getElementById("view");
/** The tables in sight, by name, each with the HTML that it was made of. */
const shown = new Map();
let last = null;
/** Since when the first answer that waits does, and when this page first saw that one, by no clock that is set. */
let first = [null, 0];

const clock = (iso) => new Date(iso).toLocaleTimeString();
const ofLast = () => (last ? ` The numbers are of ${clock(last)}.` : "");

function say(words, isTrouble = false) {
  time.textContent = words;
  time.classList.toggle("trouble", isTrouble);
}

function notice(lines) {
  notices.replaceChildren(...(lines.length
    ? [el("div", { class: "notice", role: "alert" }, el("ul", {}, lines.map((line) => el("li", {}, line))))] : []));
}

/** What goes wrong now. */
function troubles({ waiting, since, lines }) {
  if (since !== first[0]) first = [since, performance.now()];
  const late = waiting && performance.now() - first[1] > LATE
    ? [`${counted(waiting, "answer")} not in the run, the first since ${clock(since)}. They are kept.`] : [];
  return [...late, ...lines.map(({ time: at, text }) => `${clock(at)}: ${text}`)];
}

/** How much of all that raters were asked is in. */
function progress(tables) {
  const shares = tables.find((table) => table.name === "status").rows.filter((share) => share.stratum === null);
  const sum = (of) => shares.reduce((total, share) => total + of(share), 0);
  const [done, all] = [sum((share) => share.done), sum((share) => share.assigned)];
  // Where items go to raters by need, how many there will be isn't known.
  const byNeed = tables.some((table) => table.name === "targets");
  document.getElementById("done").replaceChildren(...(byNeed ? [] : [
    el("progress", { value: done, max: Math.max(all, 1), "aria-label": "Answers that are in" })]),
    el("span", {}, byNeed ? `${counted(done, "answer")} in` : `${done} of ${all} answers in`));
}

/** The notes of a table, folded where they are many. */
function fold(figure, isOpen) {
  const notes = figure.querySelector("figcaption");
  if (!notes || notes.querySelectorAll("br").length < FEW_NOTES) return;
  notes.replaceChildren(el("details", { open: isOpen }, el("summary", {}, "What the numbers are"), ...notes.childNodes));
}

/** A table is drawn anew where it has changed; whoever reads it with the keys stays in it. */
function show(tables) {
  const focused = document.activeElement?.closest("figure")?.id;
  const figures = tables.map(({ name, html }) => {
    const before = shown.get(name);
    if (before?.html === html) return before.figure;
    const { body } = new DOMParser().parseFromString(html, "text/html");
    const figure = body.firstElementChild;
    fold(figure, before?.figure.querySelector("details")?.open);
    shown.set(name, { html, figure });
    return figure;
  });
  if (figures.length !== view.children.length || figures.some((figure, place) => figure !== view.children[place])) {
    view.replaceChildren(...figures);
    if (focused) document.getElementById(focused)?.querySelector("[tabindex]")?.focus({ preventScroll: true });
  }
}

let noticed = "";

async function refresh() {
  try {
    const study = await ask("GET", "../study", null, PATIENCE);
    const wrong = troubles(study);
    if (study.error) {
      say(`The run can't be read now.${ofLast()}`, true);
      wrong.unshift(study.error);
    } else {
      last = study.time;
      const waiting = study.waiting ? ` ${counted(study.waiting, "answer")} on the way into the run.` : "";
      say(`As of ${clock(last)}, looked at every ten seconds.${waiting}`);
      progress(study.tables);
      show(study.tables);
    }
    if (noticed !== wrong.join("\n")) notice(wrong);
    noticed = wrong.join("\n");
  } catch (error) {
    if (error instanceof Refused) return say("This link doesn't open the page. bedside annotate page PLAN --links prints yours.", true);
    if (!(error instanceof Unreachable)) throw error;
    say(`The server can't be reached. The same command starts it again.${ofLast()}`, true);
  }
  setTimeout(refresh, AGAIN);
}

addEventListener("hashchange", () => location.reload());
if (hasSecret) refresh();
else say("Open this page by the whole link that bedside annotate page printed.", true);
