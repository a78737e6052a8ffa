// The questions: choices with their descriptors and keys, reasons, marked turns and lists. What is filled in is
// `answer`, {choices: {field: [value]}, texts: {field: [text]}}; every change of it calls `changed`.

import { button, el, keyCap, written } from "./elements.js";
import { goToTurn } from "./conversation.js";
import { notice, notices } from "./views.js";
import { counting, say } from "./words.js";

/** Everything that can be chosen by keys: groups of choices, in the order of the page. */
export class Stops {
  constructor() {
    this.groups = [];
    this.current = 0;
  }

  add(element, inputs, keys, done) {
    const place = this.groups.push({ element, inputs, keys, done }) - 1;
    element.addEventListener("focusin", () => this.mark(place));
    return place;
  }

  mark(place) {
    this.groups[this.current]?.element.classList.remove("current");
    this.current = place;
    this.groups[place]?.element.classList.add("current");
  }

  go(place) {
    const group = this.groups[place];
    if (!group) return;
    const input = group.inputs.find((one) => one.checked) || group.inputs[0];
    input.focus({ preventScroll: true });
    group.element.scrollIntoView({ block: "nearest" });
    this.mark(place);
  }

  /** To the next group in sight, or the one before. */
  move(by) {
    let place = this.current + by;
    while (this.groups[place]?.element.hidden) place += by;
    this.go(this.groups[place] ? place : this.current);
  }

  /** The choice that a key makes; then on to the next group that is open. */
  press(key) {
    const group = this.groups[this.current];
    const input = group?.inputs[group.keys.indexOf(key)];
    if (!input || input.closest("[inert]")) return false;
    input.click();
    const open = (one) => !one.done() && !one.element.hidden;
    const next = this.groups.findIndex((one, place) => place > this.current && open(one));
    if (input.type === "radio" && next > 0) this.go(next);
    else this.go(this.current);
    return true;
  }
}

/** A group of choices under a heading. `about` stands between them. */
export function choiceGroup({ question, field, legend, about = [], answer, changed, stops, compact = false, judge = null }) {
  const values = () => answer.choices[field] || [];
  const inputs = question.choices.map((choice) =>
    el("input", {
      type: question.several ? "checkbox" : "radio", name: field, value: choice.value,
      checked: values().includes(choice.value), onchange: choose,
    }),
  );
  function choose() {
    const chosen = inputs.filter((input) => input.checked).map((input) => input.value);
    if (chosen.length) answer.choices[field] = chosen;
    else delete answer.choices[field];
    element.classList.remove("wanting");
    element.querySelector(".wanted").textContent = "";
    changed();
  }
  const rows = question.choices.map((choice, place) =>
    el(
      "label",
      { class: "choice", title: compact ? choice.descriptor : null },
      inputs[place],
      keyCap(choice.key),
      el(
        "span",
        { class: "words" },
        written("strong", choice.shown),
        judge?.split("; ").includes(choice.value) ? el("span", { class: "badge" }, say("judge_says_this")) : null,
        compact || choice.descriptor === choice.value ? null : written("span", choice.descriptor, { class: "descriptor" }),
      ),
    ),
  );
  const element = el(
    "fieldset",
    { class: `question${compact ? " compact" : ""}`, "data-field": field },
    el("legend", {}, legend),
    about,
    el("div", { class: "choices" }, rows),
    el("p", { class: "wanted", role: "alert" }),
  );
  stops.add(element, inputs, question.choices.map((choice) => choice.key), () => values().length > 0);
  return element;
}

/** What is still to do, by field, and the first of it. */
export function showWanting(wanting, stops) {
  const entries = Object.entries(wanting);
  for (const [field, words] of entries) {
    const group = document.querySelector(`fieldset[data-field="${CSS.escape(field)}"]`);
    group?.classList.add("wanting");
    const line = group?.querySelector(".wanted");
    if (line) line.textContent = words;
  }
  const first = stops.groups.findIndex((group) => group.element.dataset.field in wanting);
  notice(entries.length > 1 ? say("incomplete", { count: entries.length }) : say("incomplete_one", { what: entries[0][1] }));
  notices.firstElementChild.classList.add("incomplete");
  stops.go(first);
}

/** A turn to be picked from a list that opens, under a heading. */
function pickGroup({ question, field, legend, about, answer, changed, stops }) {
  const values = () => answer.choices[field] || [];
  const option = ({ value, shown, descriptor }) =>
    el("option", { value, selected: values().includes(value) }, /^\d+$/.test(value) ? `${shown} · ${descriptor}` : shown);
  const select = el("select", { name: field, "aria-label": legend, onchange: choose },
    el("option", { value: "" }, "–"), question.choices.map(option));
  function choose() {
    if (select.value) answer.choices[field] = [select.value];
    else delete answer.choices[field];
    element.classList.remove("wanting");
    element.querySelector(".wanted").textContent = "";
    changed();
  }
  const element = el("fieldset", { class: "question compact", "data-field": field },
    el("legend", {}, legend), about, select, el("p", { class: "wanted", role: "alert" }));
  stops.add(element, [select], [], () => values().length > 0);
  return element;
}

/** What is asked of the item's own case: whether criteria are met, or what entries are linked to. */
export function caseGroups({ question, number, asked, answer, changed, stops, marks, said, judge }) {
  const points = !question.linked;
  const shown = asked.map(() => null);
  const follow = () => {
    asked.forEach((one, place) => {
      const link = (answer.choices[one.of] || [])[0];
      if (one.of) shown[place].hidden = !/^\d+$/.test(link);
    });
  };
  let entry = 0;
  asked.forEach((one, place) => {
    if (one.reason) entry += 1;
    const group = (question.pick && one.reason ? pickGroup : choiceGroup)({
      question: { ...question, choices: one.choices }, field: one.field,
      legend: one.reason ? say(points ? "title_criterion" : "title_entry", { number: `${number}.${entry}` }) : one.asked,
      about: [one.reason && one.asked !== question.definition ? written("p", one.asked) : null, ...said(one)],
      judge: judge(one),
      answer, changed: () => { follow(); changed(); }, stops, compact: points || !one.reason,
    });
    const answered = () => {
      group.classList.remove("wanting");
      group.querySelector(".wanted").textContent = "";
    };
    if (one.evidence) group.append(marks.control({ title: one.asked, evidence: one.evidence, answered }, `${number}.${entry}`));
    if (one.reason) group.append(textField({ field: one.reason, label: say(question.entries ? "better_words" : "reason"), answer, changed, rows: 1 }));
    shown[place] = group;
  });
  follow();
  return shown;
}

/** Shows of flows the questions that the answers lead to, and drops what was said by others. `groups` by name. */
export function followFlows(questions, groups, answer) {
  const walks = questions.filter((question) => question.leads);
  const reached = new Map();
  for (const start of walks.filter((question) => question.starts)) {
    let before = null;
    for (let at = start; at && !reached.has(at.name); ) {
      reached.set(at.name, before);
      const said = (answer.choices[at.name] || [])[0];
      before = at;
      const next = said === undefined ? null : at.leads[said];
      at = walks.find((question) => question.name === next);
    }
  }
  for (const { name, reason, evidence } of walks) {
    groups[name].hidden = !reached.has(name);
    if (reached.has(name)) continue;
    delete answer.choices[name];
    delete answer.texts[reason];
    delete answer.texts[evidence];
    for (const input of groups[name].querySelectorAll("input")) input.checked = false;
    for (const area of groups[name].querySelectorAll("textarea")) area.value = "";
  }
  return reached;
}

/** A text of several lines. */
export function textField({ field, label, answer, changed, rows = 2, attributes = {} }) {
  const area = written("textarea", (answer.texts[field] || []).join("\n"), {
    rows, maxlength: 20000, "data-field": field, oninput: write, ...attributes,
  });
  function write() {
    if (area.value.trim()) answer.texts[field] = [area.value];
    else delete answer.texts[field];
    changed();
  }
  return el("label", { class: "text" }, el("span", {}, label), area);
}

/** The turns, or words of them, that are marked as evidence for a question: "3", or "3: the words". */
export class EvidenceMarks {
  constructor(turns, answer, changed) {
    this.turns = turns;
    this.answer = answer;
    this.changed = changed;
    this.questions = [];
    this.active = null;
  }

  marked(question) {
    return this.answer.texts[question.evidence] || [];
  }

  keep(question, marks) {
    const sorted = [...new Set(marks)].sort((one, other) => parseInt(one, 10) - parseInt(other, 10));
    if (sorted.length) this.answer.texts[question.evidence] = sorted;
    else delete this.answer.texts[question.evidence];
    question.answered?.();
    this.changed();
    this.show();
  }

  /** Mark a turn, or the words of it that are selected; where it is marked, take its marks away. */
  toggle(question, turn) {
    const before = this.marked(question);
    const words = selectedWords(turn);
    const rest = before.filter((mark) => turnOf(mark) !== turn);
    if (words) this.keep(question, [...before.filter((mark) => mark !== String(turn)), `${turn}: ${words}`]);
    else this.keep(question, rest.length < before.length ? rest : [...before, String(turn)]);
  }

  /** What stands under a question: what is marked, and the button that lets one mark turns. */
  control(question, number) {
    const chips = el("span", { class: "chips" });
    const mark = button(say("mark_turns"), () => this.mark(this.active === question ? null : question), {
      "aria-pressed": "false",
    });
    this.questions.push({ question, number, chips, mark });
    return el("div", { class: "evidence" }, el("span", {}, say("evidence")), chips, mark);
  }

  mark(question) {
    this.active = question;
    this.show();
    if (question !== null) document.getElementById("conversation").scrollIntoView({ block: "start" });
  }

  /** What stands in the head of every turn: for which questions it is evidence, and while turns are marked, a button. */
  show() {
    for (const { question, chips, mark } of this.questions) {
      mark.setAttribute("aria-pressed", String(this.active === question));
      mark.textContent = this.active === question ? say("done_marking") : say("mark_turns");
      const marks = this.marked(question);
      chips.replaceChildren(
        ...(marks.length ? marks.map((one) => this.chip(question, one)) : [el("span", { class: "soft" }, say("no_turn"))]),
      );
    }
    const active = this.questions.find(({ question }) => question === this.active);
    for (let turn = 0; turn < this.turns; turn += 1) {
      const has = ({ question }) => this.marked(question).some((mark) => turnOf(mark) === turn);
      const numbers = this.questions.filter(has).map(({ number }) => number);
      const parts = numbers.length ? [el("span", { class: "badge" }, say("evidence_for", { questions: numbers.join(", ") }))] : [];
      if (active) {
        const isMarked = has(active);
        parts.push(
          button(isMarked ? say("unmark") : say("mark"), () => {
            this.toggle(active.question, turn);
            document.querySelector(`#turn-${turn} .marks button`)?.focus();
          }, {
            "aria-pressed": String(isMarked),
            "aria-label": say("turn_is_evidence", { turn, question: active.number }),
            // The selection of words stays.
            onpointerdown: (event) => event.preventDefault(),
          }),
        );
      }
      document.querySelector(`#turn-${turn} .marks`).replaceChildren(...parts);
    }
    document.querySelector(".marking-hint")?.remove();
    if (active) {
      document.getElementById("conversation").prepend(
        el("div", { class: "marking-hint", role: "status" },
          el("span", {}, say("marking_before", { question: active.number }), written("strong", active.question.title),
            say("marking_after")),
          button(say("done_marking"), () => {
            this.mark(null);
            active.mark.focus();
          })),
      );
    }
  }

  chip(question, mark) {
    const turn = turnOf(mark);
    return el(
      "span",
      { class: "chip" },
      button(say("turn", { turn: mark }), () => goToTurn(turn), { "aria-label": say("go_to_turn", { turn }), dir: "auto" }),
      button("×", () => this.keep(question, this.marked(question).filter((one) => one !== mark)), {
        "aria-label": say("take_mark", { turn }),
      }),
    );
  }
}

const turnOf = (mark) => parseInt(mark, 10);

/** The words of a turn that are selected, where they are not all of it. */
function selectedWords(turn) {
  const selection = getSelection();
  const said = document.querySelector(`#turn-${turn} .said`);
  if (!selection.rangeCount || !said.contains(selection.anchorNode) || !said.contains(selection.focusNode)) return "";
  const words = selection.toString().split(/\s+/).join(" ").trim();
  selection.removeAllRanges();
  return words === said.textContent.split(/\s+/).join(" ").trim() ? "" : words;
}

/** A list to which any number of entries is added, under each of its titles. */
export function entryLists({ question, lists, answer, changed, stops, lacks = false }) {
  const field = question.name;
  const body = el("div", { class: "lists" });
  const asked = {
    ...question,
    choices: [
      { value: lists.listed, shown: lists.listed_shown, descriptor: say("something_listed"), key: "1" },
      { value: lists.nothing, shown: lists.nothing_shown, descriptor: say("nothing_listed"), key: "2" },
    ],
  };
  function follow() {
    body.hidden = (answer.choices[field] || [])[0] !== lists.listed;
    changed();
  }
  const group = choiceGroup({
    question: asked, field, legend: lacks ? say("list_lacks") : `1. ${question.title}`,
    about: lacks ? [] : [written("p", question.definition)], answer,
    changed: follow, stops,
  });
  body.hidden = (answer.choices[field] || [])[0] !== lists.listed;
  body.append(
    written("p", question.about_entries),
    ...question.entries.map((list) => entryList(list, answer, changed)),
  );
  return [group, body];
}

function entryList(list, answer, changed) {
  const rows = el("div", { class: "entries" });
  const fields = () => [...rows.querySelectorAll("textarea")];
  function write() {
    const texts = fields().map((area) => area.value).filter((text) => text.trim());
    if (texts.length) answer.texts[list.field] = texts;
    else delete answer.texts[list.field];
    changed();
  }
  function add(text) {
    const area = written("textarea", text, {
      rows: 1, maxlength: 20000, oninput: write, placeholder: say("enter_adds"),
      "aria-label": say("entry_of", { title: list.title, number: fields().length + 1 }),
      onkeydown: (event) => {
        if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || event.isComposing) return;
        event.preventDefault();
        if (area.value.trim()) add("").focus();
      },
    });
    const row = el("div", { class: "entry" }, area, button(say("remove"), () => {
      row.remove();
      if (!fields().length) add("");
      write();
    }, { "aria-label": say("remove_entry") }));
    rows.append(row);
    return area;
  }
  const texts = answer.texts[list.field] || [];
  (texts.length ? texts : [""]).forEach(add);
  return el(
    "section",
    { class: "list", "aria-label": list.title, "data-field": list.field },
    el("h3", {}, list.title[0].toUpperCase() + list.title.slice(1)),
    written("p", list.descriptor, { class: "soft" }),
    rows,
    button(say("add_entry"), () => add("").focus()),
  );
}

/** What each code means, beside the turns. */
export function codeDefinitions(questions) {
  return questions.map((question) =>
    el(
      "section",
      { class: "codebook" },
      el("h3", {}, question.title),
      written("p", question.definition),
      el(
        "dl",
        {},
        question.choices.map((choice) => [
          el("dt", {}, keyCap(choice.key), " ", choice.shown),
          written("dd", choice.descriptor),
        ]),
      ),
    ),
  );
}

export function codedCount(coded, all) {
  return counting("coded", all, { coded });
}
