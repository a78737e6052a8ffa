// The keys of each view, and the help that lists them.

import { el } from "./elements.js";

let keys = new Map();

/** The keys that count from now on: key → [what it does, in words; the action]. */
export function setKeys(entries) {
  keys = new Map(Object.entries(entries));
}

function typing(target) {
  return target instanceof Element && target.closest("input:not([type=checkbox]), select, textarea") !== null;
}

export function listenToKeys(everywhere) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (document.getElementById("dialog").open) return;
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const entry = keys.get(event.key) ?? everywhere[event.key];
    if (!entry) return;
    event.preventDefault();
    entry[1]();
  });
}

export function keyList(everywhere) {
  const rows = [...keys, ...Object.entries(everywhere)].filter(([, [words]]) => words);
  return el("dl", { class: "keys" },
    rows.map(([key, [words]]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, words)]));
}
