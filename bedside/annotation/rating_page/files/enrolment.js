// Open recruitment: what stands before a study's items, around them and after them.

import { button, el, visible, written } from "./elements.js";
import { Stops, choiceGroup, showWanting } from "./questions.js";
import { Unreachable, ask, drawer, goBy, insist, newMark, parameters, serverTime } from "./server.js";
import { article, bar, notice, notices, opened, show, top, view } from "./views.js";
import { say } from "./words.js";

/** Under what this browser keeps the mark by which a person without parameters is known again. */
const KEPT = `bedside enrolment ${location.hash.slice(1).split("?")[0]}`;

function head(title, ...more) {
  document.title = visible(title || say("page_title"));
  bar.replaceChildren();
  top.replaceChildren(written("h1", document.title), ...more.filter((part) => part));
}

function nav(share, takeOn) {
  const stop = stopButton(share, takeOn);
  return stop && el("nav", { "aria-label": say("pages") }, stop);
}

const contactLine = (contact) => (contact ? el("p", { class: "soft" }, say("contact"), written("span", contact)) : null);

// -- enrolment ------------------------------------------------------------------------------------

/** By a link that enrols, up to where the page goes on by the person's own; where it ends here, this never ends. */
export async function enrol(refused) {
  if (history.state?.ending) return ended(history.state);
  if (refused.status !== 404) throw refused;
  const ownMark = newMark();
  let decision = null;
  let study = {};
  let changed = "";
  for (;;) {
    const mark = drawer.read(KEPT) ?? ownMark;
    const reply = await sent({ mark, decision, version: study.version ?? "" }, refused).catch((error) => {
      if (error.status !== 409) throw error;
      // What was agreed to isn't what is asked now.
      changed = error.message;
      return sent({ mark, decision: null, version: "" }, refused);
    });
    if (reply.secret) return goBy(reply.secret);
    study = reply.welcome ?? study;
    const ending = reply.ending ?? study.ending;
    if (ending) return ended({ title: study.title, contact: study.contact, ending });
    if (changed) notice(changed);
    decision = await askConsent(study);
    changed = "";
  }
}

/** Where a study ends without a share. Who declined, or withdrew, is shown the same after a reload. */
function ended(study) {
  if (!["full", "closed"].includes(study.ending.kind)) history.replaceState(study, "");
  showEnding(study);
  return new Promise(() => {});
}

/** What the server says to a decision, or to none yet, which is sent until it is there. */
async function sent(decided, refused) {
  if (decided.decision) drawer.write(KEPT, decided.mark);
  view.inert = true;
  try {
    const reply = await insist("PUT", "enrolment", { parameters, ...decided }, () => notice(say("unreachable")));
    notices.replaceChildren();
    if (!reply.secret) drawer.write(KEPT, null);
    return reply;
  } catch (error) {
    throw [404, 405].includes(error.status) ? refused : error;
  } finally {
    view.inert = false;
  }
}

/** The information and what is consented to, up to a decision. */
function askConsent({ title, information, statements, contact }) {
  return new Promise((resolve) => {
    const boxes = statements.map(() => el("input", { type: "checkbox", onchange: () => (wanted.textContent = "") }));
    const wanted = el("p", { class: "wanted", role: "alert" });
    const decide = (decision) => () => {
      const open = decision === "agreed" && boxes.find((box) => !box.checked);
      if (!open) return resolve(decision);
      wanted.textContent = say("tick_all");
      open.focus();
    };
    head(title);
    show(article(information), el("section", { class: "study" }, contactLine(contact),
      el("fieldset", {}, el("legend", {}, say("consent")),
        el("div", { class: "choices" }, statements.map((words, place) =>
          el("label", { class: "choice" }, boxes[place], written("span", words, { class: "words" })))),
        wanted),
      el("div", { class: "actions" },
        button(say("agree"), decide("agreed"), { class: "main" }), button(say("decline"), decide("declined")))));
  });
}

// -- the stages before and after the items ----------------------------------------------------------

/**
 * What stands in the place of a study's items; false where it is their turn. `takeOn` is given the next share, and
 * `moved` asks for it.
 */
export function showStage(share, takeOn, moved) {
  if (share.stage === "questionnaire") showQuestionnaire(share, takeOn, moved);
  else if (share.stage === "ended") showEnding(share.study, nav(share, takeOn), helpText(share.study.help));
  else return false;
  return true;
}

function showQuestionnaire(share, takeOn, moved) {
  const { title, contact, questions, until } = share.study;
  const name = `bedside ${share.plan} ${share.rater} questionnaire`;
  const answer = drawer.read(name) ?? { choices: {}, texts: {}, mark: newMark() };
  const changed = () => drawer.write(name, answer);
  const stops = new Stops();
  const fields = questions.map((question, place) => {
    const group = (question.choices?.length ? choiceQuestion : textQuestion)(question, { answer, changed, stops });
    group.querySelector("legend").replaceWith(el("legend", { dir: "auto" }, `${place + 1}. ${question.question}`,
      question.required ? null : el("span", { class: "soft" }, say("optional"))));
    return group;
  });
  async function send() {
    view.inert = true;
    try {
      const answers = { ...answer.choices, ...answer.texts };
      const next = await insist("PUT", "questionnaire", { answers, mark: answer.mark }, () => notice(say("unreachable")));
      view.inert = false;
      notices.replaceChildren();
      drawer.write(name, null);
      await takeOn(next);
    } catch (error) {
      view.inert = false;
      if (!Object.keys(error.wanting ?? {}).length) throw error;
      answer.mark = newMark();
      showWanting(error.wanting, stops);
    }
  }
  head(title, timeLeft(until, moved), nav(share, takeOn));
  show(el("form", { class: "study", onsubmit: (event) => event.preventDefault() },
    el("h2", {}, say("questionnaire")), fields, contactLine(contact),
    el("div", { class: "actions" }, button(say("go_on"), send, { class: "main" }))));
}

function choiceQuestion({ name, kind, choices }, { answer, changed, stops }) {
  const shown = choices.map((choice) => ({ value: choice, shown: choice, descriptor: choice, key: "" }));
  return choiceGroup({ question: { choices: shown, several: kind === "several" }, field: name, legend: "", answer, changed, stops });
}

function textQuestion({ name, question, kind }, { answer, changed, stops }) {
  const wanted = el("p", { class: "wanted", role: "alert" });
  const field = el(kind === "number" ? "input" : "textarea", {
    "aria-label": question, dir: "auto", maxlength: 2000, inputmode: kind === "number" ? "decimal" : null, oninput: () => {
      if (field.value.trim()) answer.texts[name] = [field.value.trim()];
      else delete answer.texts[name];
      element.classList.remove("wanting");
      wanted.textContent = "";
      changed();
    },
  });
  field.value = answer.texts[name]?.[0] ?? "";
  const element = el("fieldset", { class: "question", "data-field": name }, el("legend"), field, wanted);
  stops.add(element, [field], [], () => field.value.trim() !== "");
  return element;
}

/** How taking part has ended, with what is to be copied or where to go back to. */
function showEnding({ title, contact, ending: { kind, code, link, debriefing } }, ...more) {
  const copied = el("span", { role: "status" });
  const shown = el("output", { class: "code" }, code);
  async function copy() {
    try {
      await navigator.clipboard.writeText(code);
    } catch {
      // Browsers give the clipboard to pages of https alone.
      getSelection().selectAllChildren(shown);
      document.execCommand("copy");
    }
    copied.textContent = say("copied");
  }
  head(title, ...more);
  show(
    el("section", { class: "study" },
      el("p", { class: "task" }, say(`ending_${kind}`)),
      /^https?:/.test(link) ? el("p", {}, el("a", { class: "main", href: link, rel: "noreferrer" }, say("link_back"))) : null,
      code ? el("p", { class: "copying" }, say("code"), shown, button(say("copy"), copy), copied) : null,
      contactLine(contact)),
    debriefing ? article(debriefing) : null);
}

// -- around the items -------------------------------------------------------------------------------

let helpIsOpen = true;

/** Help for who is distressed by what is read: open until it is closed. */
export function helpText(html) {
  if (!html) return null;
  const help = el("details", { class: "help", open: helpIsOpen, ontoggle: () => (helpIsOpen = help.open) },
    el("summary", {}, say("help")), article(html, { tabindex: "0" }));
  return help;
}

/** The time that is left, as it passes; `over` is called once there is none. */
export function timeLeft(until, over) {
  if (!until) return null;
  const words = el("span", { class: "soft", id: "time-left" });
  const tick = () => {
    const left = Date.parse(until) - serverTime();
    // The server tells whole seconds: of a full minute, none is begun.
    const minutes = Math.max(Math.ceil((left - 1000) / 60000), 0);
    words.textContent = say(minutes < 60 ? "time_left" : "time_left_hours", { hours: Math.floor(minutes / 60), minutes: minutes % 60 });
    if (left < 0) over();
    setTimeout(() => words.isConnected && tick(), left < 0 ? 5000 : Math.min(15000, left + 1000));
  };
  tick();
  return words;
}

/** The button by which a person stops taking part, and has all that is theirs removed. */
export function stopButton(share, takeOn) {
  const { study } = share;
  if (!study?.can_withdraw) return null;
  return button(say("stop"), () => {
    const mark = newMark();
    const trouble = el("p", { class: "wanted", role: "alert" });
    const remove = async () => {
      trouble.textContent = "";
      try {
        const { ending } = await ask("PUT", "withdrawal", { mark });
        drawer.clear(`bedside ${share.plan} ${share.rater} `, "bedside enrolment ");
        dialog.close();
        history.replaceState({ title: study.title, contact: study.contact, ending }, "");
        await takeOn({ ...share, stage: "ended", study: { ...study, ending, can_withdraw: false } });
      } catch (error) {
        trouble.textContent = error instanceof Unreachable ? say("server_away") : error.message;
      }
    };
    const dialog = opened(say("stop"),
      el("p", {}, say("stop_removes")), el("p", {}, say("stop_for_ever")), contactLine(study.contact), trouble,
      el("div", { class: "actions" },
        button(say("stop_not"), () => dialog.close(), { autofocus: true }), button(say("stop_remove"), remove)));
  });
}
