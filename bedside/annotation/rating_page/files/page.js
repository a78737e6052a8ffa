// The rating page: a rater's share, one item after the other.

import { button, el, visible, written } from "./elements.js";
import { knownTexts, turnList, twoConversations } from "./conversation.js";
import { enrol, helpText, showStage, stopButton, timeLeft } from "./enrolment.js";
import {
  EvidenceMarks, Stops, choiceGroup, codeDefinitions, codedCount, caseGroups, entryLists, followFlows, showWanting, textField,
} from "./questions.js";
import { Keeper, Refused, Unreachable, ask, drawer, hasSecret } from "./server.js";
import { article, bar, notice, notices, opened, show, top, view } from "./views.js";
import { counting, say } from "./words.js";

let share = null;
let keeper = null;
/** What is shown of items, as it came last, and those whose answers are still to be sent, by item. */
const contents = new Map();
const waiting = new Map();
let stops = new Stops();
let shown = -1;
let trained = 0;
let started = performance.now();
let active = performance.now();
const LOOK_AGAIN = 60000;
let lookAgain = null;

// -- what is said ---------------------------------------------------------------------------------

function status(kind) {
  const line = document.getElementById("status");
  if (!line) return;
  line.textContent = say(kind);
  line.classList.toggle("trouble", kind === "unreachable" || kind === "unkept");
}

function wrong(error) {
  if (error instanceof Unreachable) {
    notice(say("server_away"), button(say("try_again"), () => (share ? showList() : location.reload())), fileButton() ?? "");
  } else if (error instanceof Refused && error.status === 401) {
    notice(say("bad_link"));
  } else {
    notice(error.message, button(say("load_again"), () => location.reload()));
    if (share && [403, 404].includes(error.status)) moved();
  }
}

// -- a study's person -----------------------------------------------------------------------------

/** Where a study's person has come to another stage meanwhile, the page goes there. */
async function moved() {
  const before = share.stage;
  await refresh();
  if (share.stage !== before) await takeOn(share);
}

/** Go on with another share; nothing more is sent of an item. */
async function takeOn(next) {
  share = next;
  if (keeper) close(keeper);
  keeper = null;
  shown = -1;
  notices.replaceChildren();
  await start();
}

// -- a rater's share ------------------------------------------------------------------------------

const isDone = (item) => item.handed_in !== null || Boolean(waiting.get(item.item)?.leaving);
const isOpen = (item) => !isDone(item) && !item.closed;
const drawerOf = (item) => `bedside ${share.plan} ${share.rater} ${item}`;

function stateOf(item) {
  if (waiting.has(item.item)) return say("state_waiting");
  if (item.closed && item.handed_in === null) return say("state_closed");
  if (item.handed_in !== null && item.state === "draft") return say("state_changed");
  return say(`state_${item.handed_in ?? item.state}`);
}

function titleOf(item) {
  const group = share.items.filter((one) => one.training === item.training);
  const kind = item.training ? "training" : share.kind;
  return say(`title_${kind}`, { number: group.findIndex((one) => one.item === item.item) + 1, all: group.length });
}

function showTop(title) {
  const done = share.items.filter(isDone).length;
  document.title = visible(title);
  top.replaceChildren(
    el("h1", {}, title),
    el("div", { class: "progress" },
      el("progress", { value: done, max: Math.max(share.items.length, 1), "aria-label": say("handed_in") }),
      el("span", {}, say("progress", { done, all: share.items.length })),
      timeLeft(share.study?.until, moved)),
    el("nav", { "aria-label": say("pages") },
      button(say("instructions"), () => showInstructions()),
      button(say("all_items"), () => showList()),
      button(say("keys"), () => showKeys()),
      stopButton(share, takeOn)),
    helpText(share.study?.help) ?? "",
  );
}

/** Leave an item, once all of it is kept; where the server is away, it is sent later. */
async function leave() {
  notices.replaceChildren();
  const leaving = keeper;
  if (leaving) {
    leaving.seconds += seconds();
    if (leaving.unsent) await Promise.race([leaving.save(), leaving.away()]);
    keeper = null;
    if (leaving.unsent) sendLater(leaving);
    else close(leaving);
  }
  await refresh();
  shown = -1;
  bar.replaceChildren();
}

/** What the server says now; where it is away, what it said before. */
async function nowOrBefore(path, before) {
  return ask("GET", path).catch((error) => {
    if (!before || !(error instanceof Unreachable)) throw error;
    return before;
  });
}

const refresh = async () => (share = share?.stage === "ended" ? share : await nowOrBefore("share", share));

/** Nothing more is sent of an item; what was fetched of it is brought up to date. */
function close(sheet) {
  sheet.close();
  const { choices, texts, seconds, version } = sheet;
  Object.assign(contents.get(sheet.item)?.entry ?? {}, { choices, texts, seconds, version });
}

function sendLater(sheet) {
  if (waiting.get(sheet.item) === sheet) return;
  waiting.set(sheet.item, sheet);
  sheet.save().catch(wrong).finally(async () => {
    waiting.delete(sheet.item);
    if (sheet !== keeper) close(sheet);
    await refresh();
    offerFile();
    if (!keeper && !waiting.size && document.querySelector(".items")) await showList();
  });
}

/** Saves what was handed in and isn't sent, for who never reaches the server again; null where that is nothing. */
function fileButton() {
  const sheets = [...waiting.values()].filter((sheet) => sheet.leaving);
  if (!sheets.length || share.queue) return null;
  const { plan, rater } = share;
  return button(say("save_file"), () => {
    const file = JSON.stringify({ form: "bedside answers", plan, rater, answers: sheets.map((sheet) => sheet.answer) });
    const href = URL.createObjectURL(new Blob([file], { type: "application/json" }));
    el("a", { href, download: `answers-${rater}.json` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60000);
  }, { id: "save-file" });
}

function offerFile() {
  const save = fileButton();
  if (save) notice(say("unsent"), save);
  else document.getElementById("save-file")?.closest(".notice").remove();
}

/** A view that Back leads to again: the list, the instructions, or an item by its id. */
function visit(view) {
  if (view !== history.state) history.pushState(view, "");
}

async function showInstructions() {
  await leave();
  if (showStage(share, takeOn, moved)) return;
  visit("instructions");
  showTop(say("instructions"));
  const first = share.items.findIndex(isOpen);
  show(
    article(share.instructions),
    button(share.items.some((item) => item.state !== "open") ? say("go_on") : say("begin"),
      () => (first < 0 ? showList() : showItem(first)), { class: "main" }),
  );
}

async function showList() {
  await leave();
  if (showStage(share, takeOn, moved)) return;
  visit("list");
  showTop(say("all_items"));
  const rest = share.items.filter((item) => !isDone(item)).length;
  show(
    el("p", { class: "plain" },
      share.queue && !rest ? say("nothing_to_settle_now")
        : !share.items.length && !share.supply ? say("nothing_to_rate")
        : rest ? counting("to_go", rest)
          : share.supply === "enough" || share.supply === "later" ? say(`supply_${share.supply}`)
            : say("all_handed_in")),
    el("p", { class: "plain", hidden: share.supply !== "more" }, say("supply_more")),
    el("p", { class: "plain", hidden: !trainingWords() }, trainingWords()),
    el("ol", { class: "items" }, share.items.map((item, place) =>
      el("li", {}, button(say("item_and_state", { title: titleOf(item), state: stateOf(item) }), () => showItem(place), { disabled: item.closed })))),
  );
  offerFile();
  clearTimeout(lookAgain);
  if (share.supply === "later") lookAgain = setTimeout(lookForMore, LOOK_AGAIN);
}

/** Whether others left something meanwhile, where the rater still sees that there is nothing. */
async function lookForMore() {
  if (keeper || !document.querySelector(".items")) return;
  await refresh();
  await showList();
}

/** How the training went, where something depends on it. */
function trainingWords() {
  const { done, passed, kappa, wanted, link_f1 } = share.training;
  if (wanted === null || !done) return "";
  const figures = { kappa: kappa === null ? say("kappa_unknown") : kappa.toFixed(2), wanted };
  const links = link_f1 === undefined ? "" : ` ${say("training_links", { f1: link_f1.toFixed(2) })}`;
  return say(passed ? "training_passed" : "training_not_passed", figures) + links;
}

function showKeys() {
  const rows = ["choice", "moves", "notes", "hand_in", "others"].map((one) => [say(`key_${one}`), say(`key_${one}_does`)]);
  const dialog = opened(say("keys"),
    el("dl", {}, rows.map(([key, words]) => [el("dt", {}, key), el("dd", {}, words)])),
    button(say("close"), () => dialog.close()));
}

// -- one item -------------------------------------------------------------------------------------

async function showItem(place) {
  try {
    const wanted = share.items[place].item;
    await leave();
    if (showStage(share, takeOn, moved)) return;
    // What others took over isn't in the share any more.
    place = share.items.findIndex((one) => one.item === wanted);
    if (place < 0) return showList();
    const item = share.items[place];
    const name = drawerOf(item.item);
    const later = waiting.get(item.item);
    const before = contents.get(item.item);
    let content = await nowOrBefore(`items/${item.item}`, before);
    const fresh = content !== before;
    contents.set(item.item, content);
    const kept = later ? null : drawer.read(name);
    if (kept !== null && fresh) content = await sendKept(name, item.item, content, kept);
    keeper = later ?? new Keeper(name, item.item, content.entry, status);
    if (kept !== null && !fresh) keeper.takeUp(kept);
    shown = place;
    started = active = performance.now();
    visit(item.item);
    drawItem(item, content);
    offerFile();
    if (fresh) fetchAhead(place).catch(() => {});
  } catch (error) {
    if (error instanceof Unreachable) await showList();
    wrong(error);
  }
}

/** The next items are fetched beforehand, so that they can be rated where the server is away. */
async function fetchAhead(place) {
  const next = share.items.slice(place + 1).filter((item) => isOpen(item) && !contents.has(item.item)).slice(0, 10);
  for (const { item } of next) contents.set(item, await ask("GET", `items/${item}`));
}

/** What this browser kept and the server never got goes there now; where both have changed, the rater says which. */
async function sendKept(name, item, content, kept) {
  const sender = new Keeper(name, item, content.entry, () => {});
  sender.takeUp(kept);
  try {
    await sender.save();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (content.feedback === null && error.status === 409 && (await wantsOwn())) {
      const again = new Keeper(name, item, content.entry, () => {});
      again.takeUp({ ...kept, attempt: null, version: content.entry.version });
      await again.save();
    } else {
      drawer.write(name, null);
    }
  }
  return ask("GET", `items/${item}`);
}

function wantsOwn() {
  return new Promise((resolve) => {
    const decide = (own) => () => {
      notices.replaceChildren();
      resolve(own);
    };
    notice(say("changed_twice"), button(say("keep_here"), decide(true)), button(say("keep_elsewhere"), decide(false)));
  });
}

/** What was said of an incomplete item goes once the rater goes on with it. */
function changed() {
  if (notices.querySelector(".incomplete") && !document.querySelector("fieldset.wanting")) notices.replaceChildren();
  keeper.seconds += seconds();
  keeper.change();
}

function drawItem(item, { task, entry, feedback, opinions, of_case }) {
  const title = titleOf(item);
  stops = new Stops();
  const final = feedback !== null;
  const parts = share.mode === "codes" ? codingParts(task) : ratingParts(task, opinions, of_case);
  showTop(title);
  view.replaceChildren(
    el("div", { class: `columns ${share.mode}` },
      el("section", { id: "conversation", "aria-label": say("conversation"), tabindex: "-1" }, parts.left),
      el("form", { id: "questions", "aria-label": say("questions"), onsubmit: (event) => event.preventDefault() },
        el("div", { id: "feedback", tabindex: "-1" }),
        el("div", { id: "fields" }, parts.right,
          textField({ field: share.notes, label: say("notes"), answer: keeper, changed,
            attributes: { id: "notes" } })))));
  parts.after?.();
  bar.replaceChildren(
    el("span", { id: "status", role: "status" }, ""),
    el("span", { class: "jumps" },
      button(say("text"), () => document.getElementById("conversation").scrollIntoView(), { "aria-label": say("to_conversation") }),
      button(share.mode === "codes" ? say("codes") : say("questions"), () => document.getElementById("questions").scrollIntoView(), { "aria-label": say("to_questions") })),
    el("span", { class: "actions" },
      item.training ? null : button(say("skip"), () => handIn("skipped"), { id: "skip" }),
      button(say(final ? "next" : entry.handed_in === "submitted" ? "hand_in_again" : "hand_in"),
        () => (final ? goOn() : handIn("submitted")), { class: "main", id: "hand-in" })));
  if (final) showFeedback(feedback);
  if (entry.version) status("kept");
  stops.mark(Math.max(stops.groups.findIndex((group) => !group.done() && !group.element.hidden), 0));
  view.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function ratingParts(task, opinions, of_case) {
  const marks = new EvidenceMarks(task.dialogue.length, keeper, changed);
  const left = [knownTexts(task, share.inputs)];
  if (share.mode === "pairs") left.push(twoConversations(task.dialogue, task.dialogue_second));
  else left.push(el("h2", {}, say("conversation")), turnList(task.dialogue, { rated: task.rated_turn ?? null }));
  const right = task.rated_turn === undefined ? [] : [el("p", { class: "task" }, say("rate_turn", { turn: task.rated_turn }))];
  const asked = share.questions.filter((question) => share.mode !== "adjudicate" || question.name in opinions || of_case[question.name]?.length);
  const groups = {};
  let walked = new Map();
  const walk = () => {
    walked = followFlows(asked, groups, keeper);
    marks.show();
  };
  asked.forEach((question, place) => {
    if (question.of_case) {
      right.push(el("section", { class: "criteria", "aria-label": question.title },
        el("h2", {}, `${place + 1}. ${question.title}`), written("p", question.definition),
        question.entries ? el("p", { class: "task" }, say("correct_list")) : null,
        caseGroups({ question, number: place + 1, asked: of_case[question.name], answer: keeper, changed, stops, marks,
          judge: (one) => task[`judge_${one.field}`] || null,
          said: (one) => [
            one.reason && task[`judge_${one.field}`] ? judged({ ...one, name: one.field }, task[`judge_${one.field}`], task) : null,
            said(one, opinions[one.field]),
          ] }),
        question.entries ? entryLists({ question, lists: share.lists, answer: keeper, changed, stops, lacks: true }) : null));
      return;
    }
    if (share.mode === "findings") {
      right.push(...entryLists({ question, lists: share.lists, answer: keeper, changed, stops }));
      return;
    }
    const judge = task[`judge_${question.name}`] ?? null;
    const group = choiceGroup({
      question, field: question.name, legend: `${place + 1}. ${question.title}`, answer: keeper, stops, judge,
      changed: question.leads ? () => { walk(); changed(); } : changed,
      about: [written("p", question.definition), judge === null ? null : judged(question, judge, task), said(question, opinions[question.name]), levels(question)],
    });
    if (question.reason) {
      group.append(textField({ field: question.reason, label: say("reason"), answer: keeper, changed, rows: 1 }));
    }
    if (question.evidence) group.append(marks.control(question, place + 1));
    if (question.leads && !question.starts) {
      group.append(button(say("back"), () => stops.go(stops.groups.findIndex((one) => one.element === groups[walked.get(question.name)?.name]))));
    }
    groups[question.name] = group;
    right.push(group);
  });
  return { left, right, after: () => marks.questions.length && walk() };
}

const choiceOf = (question, value) => question.choices.find((one) => one.value === value);
/** What is shown of an answer, which may name several labels. */
const shownOf = (question, answer) => answer.split("; ").map((one) => choiceOf(question, one)?.shown ?? one).join("; ");

function judged(question, judge, task) {
  const choice = choiceOf(question, judge);
  return el("div", { class: "judged" },
    el("p", {}, el("strong", {}, say("judge_says")), written("strong", shownOf(question, judge)), choice ? [": ", written("span", choice.descriptor)] : null),
    written("p", task[`judge_reason_${question.name}`] ?? "", { class: "said" }),
    el("p", { class: "soft" }, say("choose_right")));
}

/** What raters said, where their disagreement is settled. */
function said(question, opinions) {
  if (!opinions?.length) return null;
  return el("div", { class: "judged" }, el("p", {}, el("strong", {}, say("raters_said"))),
    el("ul", {}, opinions.map((opinion) =>
      el("li", {}, written("strong", shownOf(question, opinion.answer)), opinion.reason ? written("p", opinion.reason, { class: "said" }) : null))));
}

function levels(question) {
  if (!question.levels) return null;
  return el("details", {}, el("summary", {}, say("levels")),
    el("ul", {}, question.levels.map((line) => written("li", line))));
}

function codingParts(task) {
  const count = el("p", { class: "task", role: "status" });
  const positions = {};
  let codes = 0;
  for (const role of new Set(share.questions.map((question) => question.role))) {
    task[`${role}_turns`].forEach((turn, position) => {
      positions[turn.turn] = { role, position };
    });
  }
  const counting = () => {
    count.textContent = codedCount(Object.keys(keeper.choices).length, codes);
    changed();
  };
  const below = (number) => {
    const turn = positions[number];
    if (!turn) return null;
    return share.questions.filter((question) => question.role === turn.role).map((question) => {
      codes += 1;
      return choiceGroup({
        question, field: `${question.name}__${turn.position}`, legend: say("turn_question", { turn: number, title: question.title }), answer: keeper,
        changed: counting, stops, compact: true,
      });
    });
  };
  const left = [knownTexts(task, share.inputs), el("h2", {}, say("conversation")), turnList(task.dialogue, { below })];
  count.textContent = codedCount(Object.keys(keeper.choices).length, codes);
  return { left, right: [count, ...codeDefinitions(share.questions)] };
}

function showFeedback(lines) {
  document.getElementById("fields").inert = true;
  document.getElementById("questions").tabIndex = 0;
  document.querySelectorAll("#conversation fieldset").forEach((group) => (group.inert = true));
  const right = lines.filter((line) => line.right).length;
  const compared = lines.filter((line) => line.right !== null).length;
  const place = document.getElementById("feedback");
  place.replaceChildren(
    el("h2", {}, compared ? say("as_known_count", { right, all: compared }) : say("compare")),
    el("ul", {}, lines.map((line) => el("li", { class: line.right === false ? "off" : "same" },
      written("strong", line.title), line.right === true ? say("as_known") : line.right === false ? say("otherwise") : "",
      el("br"), say("known"), written("span", line.known), el("br"), say("you"), written("span", line.own)))));
  place.focus();
}

// -- handing in -----------------------------------------------------------------------------------

function seconds() {
  const now = performance.now();
  const passed = document.visibilityState === "visible" ? Math.max(0, Math.min(now, active + 120000) - started) / 1000 : 0;
  started = now;
  return passed;
}

async function handIn(state) {
  const sheet = keeper;
  if (!sheet || sheet.handing) return;
  sheet.handing = true;
  sheet.seconds += seconds();
  notices.replaceChildren();
  view.inert = true;
  try {
    const sent = sheet.handIn(state);
    let reply = await Promise.race([sent, sheet.away()]);
    if (!reply && share.items[shown].training) reply = await sent;
    if (!reply && state === "submitted") checkAnswered(sheet);
    view.inert = false;
    if (reply?.feedback) {
      // Seen before what follows from it, which may be the end of a study.
      const item = share.items[shown];
      item.state = item.handed_in = reply.handed_in;
      const content = contents.get(item.item);
      Object.assign(content.entry, { version: reply.version, handed_in: reply.handed_in });
      drawItem(item, Object.assign(content, { feedback: reply.feedback }));
      document.getElementById("feedback").scrollIntoView({ block: "nearest" });
    } else {
      await goOn();
    }
  } catch (error) {
    view.inert = false;
    if (error instanceof Refused && error.status === 422 && Object.keys(error.wanting).length) {
      showWanting(error.wanting, stops);
      // Not waited for: the rater may hand in again before the draft is kept.
      sheet.save().catch(wrong);
    } else {
      wrong(error);
    }
  } finally {
    view.inert = false;
    sheet.handing = false;
  }
}

/** Where the server is away, questions without an answer are told from here. */
function checkAnswered(sheet) {
  const open = stops.groups.filter((group) => !group.done() && !group.element.hidden);
  if (!open.length) return;
  sheet.takeBack();
  throw new Refused(422, { wanting: Object.fromEntries(open.map(({ element }) =>
    [element.dataset.field, say("please_answer", { title: element.querySelector("legend").textContent })])) });
}

/** On to the next open item, after this one first. */
async function goOn() {
  const place = shown;
  await leave();
  const open = [...share.items.keys()].filter((number) => isOpen(share.items[number]));
  const next = open.find((number) => number > place) ?? open[0];
  await (next === undefined ? showList() : showItem(next));
  const training = share.items.filter((item) => item.training).length;
  if (training > trained) notice(say("training_again"));
  trained = training;
}

// -- keys, time, leaving --------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  if (keeper === null || document.querySelector("dialog[open]")) return;
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
    event.preventDefault();
    document.getElementById("hand-in").click();
    return;
  }
  const typing = event.target.closest("textarea, select");
  if (event.key === "Escape" && typing) typing.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const key = event.key.toLowerCase();
  if (key === "j" || key === "k") stops.move(key === "j" ? 1 : -1);
  else if (key === "n") document.getElementById("notes").focus();
  else if (!stops.press(key)) return;
  event.preventDefault();
});

for (const kind of ["pointerdown", "keydown", "scroll", "input"]) {
  document.addEventListener(kind, () => {
    if (keeper) {
      if (performance.now() - active > 120000) keeper.seconds += seconds();
      active = performance.now();
    }
  }, { capture: true, passive: true });
}

document.addEventListener("visibilitychange", () => {
  if (!keeper) return;
  if (document.visibilityState === "hidden") {
    const now = performance.now();
    keeper.seconds += Math.max(0, Math.min(now, active + 120000) - started) / 1000;
    if (keeper.unsent) keeper.save().catch(wrong);
  }
  started = active = performance.now();
});

addEventListener("beforeunload", (event) => {
  if (keeper?.unsent || waiting.size) event.preventDefault();
});
addEventListener("popstate", ({ state }) => {
  document.querySelector("dialog")?.close();
  const place = share?.items.findIndex((item) => item.item === state);
  if (state === null) history.forward();
  else if (state === "list") showList();
  else if (state === "instructions") showInstructions();
  else if (place >= 0 && place !== shown) showItem(place);
});
/** What raters differ on comes while its list is open. */
setInterval(async () => {
  if (!share?.queue || keeper || waiting.size || !document.querySelector(".items")) return;
  const before = share.items.length;
  await refresh();
  if (share.items.length !== before && !keeper && document.querySelector(".items")) await showList();
}, 10000);

addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  wrong(event.reason);
});
addEventListener("hashchange", () => location.reload());

async function begin() {
  top.replaceChildren(el("h1", {}, document.title));
  if (!hasSecret) return view.replaceChildren(el("p", { class: "plain" }, say("whole_link")));
  try {
    await refresh().catch((error) => enrol(error).then(refresh));
    await start();
  } catch (error) {
    if (!share) view.replaceChildren();
    wrong(error);
  }
}

async function start() {
  if (showStage(share, takeOn, moved)) return;
  // What was handed in here, and whose reply never came.
  for (const name of drawer.names(drawerOf(""))) {
    const item = name.slice(drawerOf("").length);
    const kept = drawer.read(name);
    const sheet = kept && new Keeper(name, item, {}, status).takeUp(kept);
    if (sheet?.leaving) sendLater(sheet);
  }
  trained = share.items.filter((item) => item.training).length;
  const first = share.items.findIndex(isOpen);
  if (!share.items.length || first < 0) await showList();
  else if (share.items.every((item) => item.state === "open" && !waiting.has(item.item))) await showInstructions();
  else await showItem(first);
}

begin();
