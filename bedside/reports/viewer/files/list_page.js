// The list of transcripts: what to choose by, a page of rows, and ways to the other pages.

import { addressOf, changed, goTo, listPart } from "./address.js";
import { counted, el, written } from "./elements.js";
import { setKeys } from "./keys.js";
import { inWords, raterName, shownNumber, shownValue } from "./numbers.js";

/** The conversation that was open last: the list comes back to it. */
let lastOpened = null;

export function opened(id) {
  lastOpened = id;
}

export async function listPage(source, wanted) {
  const start = Number(wanted.get("start") ?? 0);
  const query = listPart(wanted);
  const [run, page] = await Promise.all([source.run(), source.list(query, start)]);
  const metric = run.metrics.find((entry) => entry.name === query.get("metric")) ?? null;
  const table = rowTable(run, page, query, metric);
  setKeys({
    j: ["next row", () => step(table, 1)],
    k: ["row before", () => step(table, -1)],
    "/": ["search", () => search()],
    n: ["next page of the list", () => turnPage(page, run, wanted, 1)],
    p: ["page before", () => turnPage(page, run, wanted, -1)],
  });
  return {
    title: run.name,
    content: [
      el("h1", { tabindex: "-1" }, "Conversations"),
      ...([...query.keys()].length ? [] : [findings(source), lookFirst(source, run)]),
      filters(run, query, metric),
      chosenChips(run, query, metric),
      pager(page, run, wanted),
      page.total
        ? el("div", { class: "scrolling", role: "region", "aria-label": "List of conversations", tabindex: "0" }, table)
        : el("p", {}, "No conversation is like that. Take a filter away."),
      page.total > run.rows ? pager(page, run, wanted) : null,
    ],
    shown: () => {
      const row = table.querySelector(`tr[data-id="${CSS.escape(lastOpened ?? "")}"]`);
      row?.querySelector("a").focus();
      return row !== null;
    },
  };
}

/** Whether a rubric of the run says at which level a conversation fails. */
const flags = (run) => run.metrics.some((metric) => metric.fails_at !== null);

// -- what to look at first ---------------------------------------------------------------------------------

/** What the run comes to, as its report begins. The sentences come once the list stands. */
function findings(source) {
  const block = el("section", { "aria-label": "What the run comes to" });
  source.findings().then((said) => block.append(...said.map((sentence) => el("p", {}, sentence))), () => block.remove());
  return block;
}

/** What is worth a look, with the conversations that have most of it. They are counted once the list stands. */
function lookFirst(source, run) {
  const items = [
    flags(run) && ["flagged", "Flagged", "a rating reaches the level at which a conversation fails"],
    ["differ", "Raters differ", "most often in"],
    ["missing", "No rating came", "of a judge or a person"],
  ].filter(Boolean);
  const list = el("ul", { class: "plain first", "aria-label": "Look at these first" });
  Promise.all(items.map(async ([name, title, why]) => {
    const query = new URLSearchParams({ [name]: "1", sort: `-${name}` });
    const { total, rows } = await source.list(query, 0);
    return total && el("li", {},
      el("a", { href: addressOf("list", query) }, `${title}: ${total.toLocaleString("en")} of ${run.transcripts.toLocaleString("en")}`),
      ` – ${why}: `,
      rows.slice(0, 3).flatMap((row, at) => [at ? ", " : "", conversationLink(row, query), ` (${row[name]})`]),
      total > 3 ? " …" : "");
  })).then((found) => list.append(...found.filter(Boolean)), (error) => list.append(el("li", {}, error.message)));
  return list;
}

// -- choosing ------------------------------------------------------------------------------------------

function search() {
  const box = document.getElementById("search");
  box.closest("details").open = true;
  box.focus();
  box.select();
}

function filters(run, query, metric) {
  const set = (changes) => goTo("list", changed(query, changes));
  const choose = (name, title, options, { empty = "any", without = {} } = {}) =>
    field(title, el("select", { name, onchange: (event) => set({ ...without, [name]: event.target.value === "\u0000" ? null : event.target.value }) },
      el("option", { value: "\u0000" }, empty), options(query.get(name))));
  const option = (chosen, name, words = name) => el("option", { value: name, selected: chosen === name }, words);
  const typed = (name, title, attributes) =>
    field(title, el("input", {
      name, value: query.get(name) ?? "", onchange: (event) => set({ [name]: event.target.value.trim() || null }), ...attributes,
    }));
  const tick = (name, words) => el("label", { class: "tick" },
    el("input", { type: "checkbox", name, checked: query.has(name), onchange: (event) => set({ [name]: event.target.checked ? "1" : null }) }),
    words);
  const groups = grouped(run.metrics, (entry) => entry.group);
  const raters = metric ? run.raters.filter((rater) => metric.raters.includes(rater.name)) : run.raters;
  return el("details", { class: "filters", open: matchMedia("(min-width: 800px)").matches },
    el("summary", {}, "Filter and search"),
    el("form", { onsubmit: (event) => event.preventDefault(), role: "search" },
      typed("q", "Search", { id: "search", type: "search", placeholder: "id, system or case" }),
      run.systems.length > 1 || query.has("system") ? choose("system", "System", (chosen) => run.systems.map((system) =>
        option(chosen, system.name, `${system.name || "none"} (${system.count.toLocaleString("en")})`))) : null,
      run.factors.map((factor) => factor.levels
        ? choose(`factor.${factor.name}`, inWords(factor.name), (chosen) => factor.levels.map((level) =>
          option(chosen, level.name, `${level.name || "none"} (${level.count.toLocaleString("en")})`)))
        : typed(`factor.${factor.name}`, inWords(factor.name), { type: "text" })),
      choose("metric", "Metric", (chosen) => [...groups].map(([group, metrics]) =>
        el("optgroup", { label: group }, metrics.map((entry) => option(chosen, entry.name, entry.title)))),
      // Bounds and labels are of the metric that they were chosen for.
      { empty: "none", without: { from: null, to: null, label: null } }),
      choose("rater", "Rater", (chosen) => raters.map((rater) => option(chosen, rater.name))),
      metric && metric.labels.length
        ? choose("label", "Label", (chosen) => metric.labels.map((label) => option(chosen, label))) : null,
      metric && !metric.labels.length ? [
        typed("from", "From", { type: "number", step: "any", class: "short" }),
        typed("to", "To", { type: "number", step: "any", class: "short" }),
      ] : null,
      el("div", { class: "ticks" },
        flags(run) ? tick("flagged", "Flagged") : null,
        tick("missing", "With missing ratings"),
        tick("differ", "On which raters differ"))));
}

function grouped(entries, keyOf) {
  const groups = new Map();
  for (const entry of entries) groups.set(keyOf(entry), [...(groups.get(keyOf(entry)) ?? []), entry]);
  return groups;
}

function field(title, control) {
  return el("label", { class: "field" }, el("span", {}, title), control);
}

/** What is filtered by, each with a way to take it away: a case, say, is chosen in the list and not above it. */
function chosenChips(run, query, metric) {
  const words = {
    q: (value) => `“${value}”`,
    system: (value) => `system ${value || "none"}`,
    case: (value) => `case ${value || "none"}`,
    rater: (value) => `rated by ${value}`,
    from: (value) => `${metric?.title ?? "value"} from ${value}`,
    to: (value) => `${metric?.title ?? "value"} up to ${value}`,
    label: (value) => `${metric?.title ?? "label"}: ${value}`,
    flagged: () => "flagged",
    missing: () => "with missing ratings",
    differ: () => "on which raters differ",
  };
  const chips = [...query].flatMap(([name, value]) => {
    const said = name.startsWith("factor.") ? `${name.slice(7)} ${value || "none"}` : words[name]?.(value);
    if (!said) return [];
    const left = new URLSearchParams();
    for (const [other, kept] of query) if (other !== name || kept !== value) left.append(other, kept);
    return [el("li", {}, el("a", { href: addressOf("list", left), "aria-label": `Take away: ${said}` },
      written("span", said), el("span", { "aria-hidden": "true" }, " ×")))];
  });
  if (!chips.length) return null;
  return el("ul", { class: "chips", "aria-label": "Filters" }, chips,
    el("li", {}, el("a", { href: addressOf("list", new URLSearchParams()) }, "Take all away")));
}

// -- the rows --------------------------------------------------------------------------------------------

function rowTable(run, page, query, metric) {
  const raters = page.rows.length ? Object.keys(page.rows[0].raters) : [];
  const columns = [
    { title: "Conversation", sort: "id", cell: (row) => el("th", { scope: "row" }, conversationLink(row, query)) },
    { title: "System", sort: "system", cell: (row) => written("td", row.system ?? "–") },
    { title: "Case", sort: "case", cell: (row) => el("td", {}, row.case === null ? "–"
      : el("a", { href: addressOf("list", changed(query, { case: row.case })), "aria-label": `Only case ${row.case}` },
        written("span", row.case))) },
    ...run.factors.map((factor) => ({
      title: inWords(factor.name), sort: `factor.${factor.name}`, cell: (row) => written("td", row.factors[factor.name] ?? "–"),
    })),
    { title: "Turns", sort: "turns", number: true, cell: (row) => numberCell(row.turns) },
    metric && { title: metric.title, sort: "value", number: !metric.labels.length, cell: (row) => valueCell(row, metric) },
    ...raters.map((rater) => ({
      title: raterName(rater), cell: (row) => valueCell(row.raters[rater], metric), number: !metric.labels.length, soft: true,
    })),
    flags(run) && { title: "Flagged", sort: "flagged", number: true, cell: (row) => numberCell(row.flagged) },
    { title: "Differ", sort: "differ", number: true, cell: (row) => el("td", { class: "number" }, difference(row, metric)) },
    { title: "No rating", sort: "missing", number: true, cell: (row) => numberCell(row.missing) },
  ].filter(Boolean);
  return el("table", { class: "list" },
    el("caption", { class: "hidden" }, "Conversations; a heading that is a link sorts by it"),
    el("thead", {}, el("tr", {}, columns.map((column) => headCell(column, query)))),
    el("tbody", {}, page.rows.map((row) => el("tr", { "data-id": row.id }, columns.map((column) => column.cell(row))))));
}

function conversationLink(row, query) {
  return el("a", { href: addressOf("conversation", changed(query, { id: row.id })) }, written("span", row.id));
}

function headCell(column, query) {
  const attributes = { scope: "col", class: `${column.number ? "number" : ""}${column.soft ? " byrater" : ""}` };
  if (!column.sort) return written("th", column.title, attributes);
  const now = query.get("sort");
  const direction = now === column.sort ? "ascending" : now === `-${column.sort}` ? "descending" : null;
  // Of numbers the greatest are looked for first; a third time goes back to the run's order.
  const order = column.number ? [`-${column.sort}`, column.sort, null] : [column.sort, `-${column.sort}`, null];
  const next = order[(order.indexOf(now) + 1) % 3];
  return el("th", { ...attributes, "aria-sort": direction },
    el("a", { href: addressOf("list", changed(query, { sort: next })) },
      written("span", column.title), el("span", { "aria-hidden": "true" }, direction === "ascending" ? " ▲" : direction ? " ▼" : "")));
}

function numberCell(value) {
  return el("td", { class: "number" }, shownNumber(value));
}

function valueCell(entry, metric) {
  const words = shownValue(entry, metric);
  const isMissing = !words && entry.missing > 0;
  return written("td", words || (isMissing ? "missing" : "–"), { class: `${metric.labels.length ? "" : "number"}${words ? "" : " soft"}` });
}

function difference(row, metric) {
  if (metric && row.range !== null) return row.differ ? `by ${shownNumber(row.range, metric.digits)}` : "0";
  return shownNumber(row.differ);
}

// -- pages -------------------------------------------------------------------------------------------------

function pager(page, run, wanted) {
  const last = Math.min(page.start + run.rows, page.total);
  const of = page.total === run.transcripts ? "" : ` (of ${counted(run.transcripts, "conversation")})`;
  const way = (words, by) => {
    const to = startAfter(page, run, by);
    const attributes = to === null ? { class: "off", "aria-disabled": "true" } : { href: addressOf("list", changed(wanted, { start: to || null })) };
    return el("a", attributes, words);
  };
  return el("nav", { class: "pager", "aria-label": "Pages of the list" },
    el("span", {}, page.total
      ? `${(page.start + 1).toLocaleString("en")}–${last.toLocaleString("en")} of ${page.total.toLocaleString("en")}${of}`
      : `0${of}`),
    page.total > run.rows ? [way("Before", -1), way("Next", 1)] : null);
}

function startAfter(page, run, by) {
  const start = page.start + by * run.rows;
  return start < 0 || start >= page.total ? null : start;
}

function turnPage(page, run, wanted, by) {
  const start = startAfter(page, run, by);
  if (start !== null) goTo("list", changed(wanted, { start: start || null }));
}

function step(table, by) {
  const links = [...table.querySelectorAll("tbody th a")];
  const at = links.indexOf(document.activeElement?.closest("tr")?.querySelector("th a"));
  const to = at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1);
  links[to]?.focus();
  links[to]?.scrollIntoView({ block: "nearest" });
}
