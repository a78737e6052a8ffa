// What a judge was asked and what it replied, in a box above the page.

import { button, counted, el, written } from "./elements.js";
import { keyList } from "./keys.js";
import { inWords } from "./numbers.js";

/** Show something in the box above the page; Escape closes it. */
export function showBox(title, ...content) {
  const dialog = document.getElementById("dialog");
  dialog.replaceChildren(
    el("div", { class: "box-head" }, el("h2", { id: "dialog-title", tabindex: "-1" }, title),
      button("Close", () => dialog.close())),
    ...content.flat(Infinity).filter(Boolean));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  document.getElementById("dialog-title").focus();
}

export function showKeys(everywhere) {
  showBox("Keys", keyList(everywhere));
}

export function judgementTitle(judgement) {
  return `${inWords(judgement.rubric)}, ${judgement.model}, pass ${judgement.pass + 1}`;
}

/** The judgement that a rating was made of. Of several, such as at two temperatures, the run says which; where it doesn't, none. */
export function judgementOf(judgements, rating) {
  const about = judgements.filter((judgement) => isOf(judgement, rating));
  const asked = about.filter((judgement) => judgement.raters.includes(rating.rater));
  const unknown = about.filter((judgement) => !judgement.raters.length);
  const chosen = asked.length ? asked : unknown;
  return chosen.length === 1 ? chosen[0] : null;
}

/** Whether a judgement is about what a rating is of, by its judge, rubric and pass. */
function isOf(judgement, rating) {
  if (rating.kind !== "judge" || judgement.pass !== rating.replicate) return false;
  if (rating.rater !== judgement.rater && !rating.rater.startsWith(`${judgement.rater}+`)) return false;
  const rubric = rating.metric.split(".")[0];
  if (judgement.rubric !== rubric && judgement.rubric !== rating.metric) return false;
  if (judgement.unit === rating.unit) return rating.second === null || judgement.transcript === rating.first;
  return rating.turn !== null && (judgement.items?.includes(rating.turn) ?? false);
}

export async function showJudgement(source, id, listed) {
  showBox(judgementTitle(listed), el("p", {}, "It is being looked up …"));
  let judgement;
  try {
    judgement = await source.judgement(id, listed.key);
  } catch (error) {
    return showBox(judgementTitle(listed), el("p", {}, error.message));
  }
  if (judgement === null) return showBox(judgementTitle(listed), el("p", {}, "It isn't in the store any more."));
  const facts = [
    ["State", judgement.state], ["Error", judgement.error], ["Faults on the way", judgement.faults.join("; ")],
    ["Unit", judgement.unit], ["Rubric", `${judgement.rubric} (${judgement.version})`],
    ["Parameters", judgement.parameters], ["Calls", judgement.calls],
    ["Tokens", judgement.input_tokens === null ? null : `${judgement.input_tokens} in, ${judgement.output_tokens} out`],
    ["Cost", judgement.cost === null ? null : `$${judgement.cost}`],
    ["Finished", judgement.finished], ["Key", judgement.key],
  ].filter(([, value]) => value);
  return showBox(
    judgementTitle(judgement),
    judgement.replies.map((reply, number) => stretch(
      judgement.replies.length > 1 ? `Reply ${number + 1} of ${judgement.replies.length}` : "Raw reply",
      reply || "It has no text here: the run keeps none, or the reply was empty.")),
    judgement.replies.length ? null : el("p", {}, "No reply was had."),
    stretch("What was made of it", judgement.answer === null ? "Nothing." : JSON.stringify(judgement.answer, null, 2)),
    judgement.prompt === null
      ? el("p", {}, "What was asked isn't kept: the run keeps no text.")
      : stretch("What was asked", judgement.prompt),
    el("dl", { class: "facts" }, facts.map(([name, value]) => [el("dt", {}, name), written("dd", String(value))])));
}

function stretch(title, text) {
  return el("section", {}, el("h3", {}, title), written("pre", text, { tabindex: "0", role: "group", "aria-label": title }));
}

/** Says of a judgement that the run's ratings aren't made of that another is. */
function asBefore(judgement, judgements) {
  const replaced = !judgement.raters.length && judgements.some((other) => other.raters.length && other.rater === judgement.rater
    && other.rubric === judgement.rubric && other.unit === judgement.unit && other.pass === judgement.pass);
  return replaced ? ", asked in another way; no rating is made of it" : "";
}

/** All judgements of a conversation, as a list of buttons. */
export function judgementList(source, id, judgements) {
  if (!judgements.length) return null;
  return el("details", { class: "part" },
    el("summary", {}, `What judges were asked: ${counted(judgements.length, "judgement")}`),
    el("ul", { class: "plain" }, judgements.map((judgement) => el("li", {},
      button(`${judgementTitle(judgement)}${judgement.unit === "transcript" ? "" : `, ${judgement.unit}`}: ${judgement.state}${asBefore(judgement, judgements)}`,
        () => showJudgement(source, id, judgement), { class: "link" })))));
}
