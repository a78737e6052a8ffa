// The list in a copy that no server answers for: what the server's queries are, over the columns of the copy.

/** Texts in the order of their characters' numbers, as the run's tables have them. */
function inOrder(a, b) {
  const [first, second] = [Array.from(a), Array.from(b)];
  for (let at = 0; at < Math.min(first.length, second.length); at += 1) {
    if (first[at] !== second[at]) return first[at].codePointAt(0) - second[at].codePointAt(0);
  }
  return first.length - second.length;
}

function asNumbers(levels) {
  const numbers = levels.map((level) => (level === null ? null : level.trim() === "" ? NaN : Number(level)));
  return numbers.some((number) => Number.isNaN(number)) ? levels : numbers;
}

/** The places of the transcripts that are wanted, in order. `part` is what the copy has of the metric; null without one. */
export function chosenPlaces(copy, wanted, part) {
  const { index } = copy;
  const own = part && (wanted.get("rater") ? part.raters[wanted.get("rater")] : part.all);
  const rater = wanted.get("rater") || null;
  const columns = { system: index.system, case: index.case };
  for (const name of Object.keys(index.factors)) columns[`factor.${name}`] = index.factors[name];
  const missing = missingCounts(copy, part, rater);
  const differ = part ? part.differ : copy.differ;
  const tests = [];
  const text = (wanted.get("q") ?? "").trim().toLowerCase();
  if (text) {
    tests.push((at) => [index.id, index.system, index.case].some((column) => (column[at] ?? "").toLowerCase().includes(text)));
  }
  for (const name of new Set(wanted.keys())) {
    if (name !== "system" && name !== "case" && !name.startsWith("factor.")) continue;
    const values = new Set(wanted.getAll(name));
    tests.push((at) => columns[name] !== undefined && values.has(columns[name][at] ?? ""));
  }
  if (rater) {
    const rated = new Set(copy.rated[rater] ?? []);
    tests.push((at) => rated.has(at));
  }
  if (part) {
    for (const [name, fits] of [["from", (value, bound) => value >= bound], ["to", (value, bound) => value <= bound]]) {
      const bound = (wanted.get(name) ?? "").trim();
      if (bound === "") continue;
      if (Number.isNaN(Number(bound))) throw new Error(`${name}: “${bound}” is not a number.`);
      tests.push((at) => (own?.value[at] ?? null) !== null && fits(own.value[at], Number(bound)));
    }
    const labels = new Set(wanted.getAll("label"));
    if (labels.size) tests.push((at) => (own?.labels[at] ?? []).some(([label]) => labels.has(label)));
  }
  if (wanted.has("missing")) tests.push((at) => missing[at] > 0);
  if (wanted.has("differ")) tests.push((at) => differ[at] > 0);
  if (wanted.has("flagged")) tests.push((at) => copy.flagged[at] > 0);
  const places = index.id.map((_, at) => at).filter((at) => tests.every((test) => test(at)));
  const sort = wanted.get("sort") ?? "";
  const keys = sortKeys({ index, columns, missing, differ, flagged: copy.flagged, range: part?.range ?? [], own }, sort.replace(/^-/, ""));
  return keys.length ? places.sort((a, b) => compared(keys, a, b, sort.startsWith("-") ? -1 : 1)) : places;
}

function missingCounts(copy, part, rater) {
  const none = new Array(copy.index.id.length).fill(0);
  if (part) return (rater ? part.raters[rater]?.missing : part.all.missing) ?? none;
  return (rater ? copy.missing_by[rater] : copy.missing) ?? none;
}

function sortKeys({ index, columns, missing, differ, flagged, range, own }, name) {
  if (name === "id" || name === "turns") return [index[name]];
  if (name === "missing") return [missing];
  if (name === "flagged") return [flagged];
  if (name === "differ") return [range, differ];
  if (name === "value" && own) return [own.value, own.labels.map((labels) => labels[0]?.[0] ?? null)];
  if (name.startsWith("factor.") && columns[name]) return [asNumbers(columns[name])];
  return name in columns ? [columns[name]] : [];
}

/** What has nothing comes last, whichever way it is sorted; of equals, the first in the run. */
function compared(keys, a, b, direction) {
  for (const key of keys) {
    const [first, second] = [key[a] ?? null, key[b] ?? null];
    if (first === second) continue;
    if (first === null) return 1;
    if (second === null) return -1;
    const order = typeof first === "string" ? inOrder(first, second) : first - second;
    if (order) return direction * order;
  }
  return a - b;
}

export function listRows(copy, places, wanted, part) {
  const { index } = copy;
  const rater = wanted.get("rater") || null;
  const own = part && (rater ? part.raters[rater] : part.all);
  const missing = missingCounts(copy, part, rater);
  const differ = part ? part.differ : copy.differ;
  const said = (entry, at) => ({ value: entry?.value[at] ?? null, labels: entry?.labels[at] ?? [] });
  const raters = part && !rater && part.beside ? part.beside : [];
  return places.map((at) => ({
    id: index.id[at], system: index.system[at], case: index.case[at], turns: index.turns[at],
    factors: Object.fromEntries(Object.entries(index.factors).map(([name, levels]) => [name, levels[at]])),
    missing: missing[at], differ: differ[at], range: part?.range[at] ?? null, flagged: copy.flagged[at],
    ...said(own, at),
    raters: Object.fromEntries(raters.map((name) =>
      [name, { ...said(part.raters[name], at), missing: part.raters[name].missing[at] }])),
  }));
}
