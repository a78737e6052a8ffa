// What the page says, in the language of the plan's rubrics.

import { texts } from "./texts.js";

/** A text, with its words in braces filled in. */
export function say(key, filled = {}) {
  return texts[key].replace(/\{(\w+)\}/g, (_, name) => String(filled[name]));
}

/** A text that goes by a count. */
export function counting(key, count, filled = {}) {
  return say(`${key}_${count === 1 ? "one" : "many"}`, { count, ...filled });
}
