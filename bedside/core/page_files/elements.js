// Elements of the page. Texts become text nodes: nothing that somebody wrote is ever read as HTML, and in names nothing hides.

const RIGHT_TO_LEFT = "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefe\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}";
// As in core/words.py.
const UNSEEN = new RegExp(
  "[\\x00-\\x1f\\x7f-\\x9f\\xad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164" +
    "\\ud800-\\uf8ff\\ufdd0-\\ufdef\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{10ffff}]" +
    "|(?<=[A-Za-z\\u00c0-\\u0fff\\ufe00-\\ufe0f])[\\ufe00-\\ufe0f]|(?<![^\\x00-\\x7f])[\\u200c\\u200d]|[\\u200c\\u200d](?![^\\x00-\\x7f])" +
    `|(?<![${RIGHT_TO_LEFT}])[\\u061c\\u200e\\u200f](?![${RIGHT_TO_LEFT}])`,
  "gu",
);
const WRITTEN_OUT = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };
const TOLD = ["title", "aria-label", "placeholder"];
const RUNNING = ["p", "pre", "textarea"];

/** A text in which nothing hides, as `visible_line` of Python writes it. */
export function visible(text) {
  return String(text).replace(UNSEEN, (letter) => {
    const code = letter.codePointAt(0);
    const [sign, length] = code < 256 ? ["x", 2] : code < 65536 ? ["u", 4] : ["U", 8];
    return WRITTEN_OUT[letter] ?? `\\${sign}${code.toString(16).padStart(length, "0")}`;
  });
}

/** An element with attributes; those that begin with "on" are called at events. Empty children are left out. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : TOLD.includes(name) ? visible(value) : String(value));
  }
  const shown = children.flat(Infinity).filter((child) => child !== null && child !== undefined);
  element.append(...shown.map((child) => (child instanceof Node ? child : visible(child))));
  return element;
}

/** An element whose text runs in the direction of its own language. What was said or typed stands in a block of its own,
 * as it is. */
export function written(tag, words, attributes = {}) {
  const isRunning = RUNNING.includes(tag) || attributes.class === "said";
  const asItIs = isRunning && words !== null && words !== undefined && !Array.isArray(words) && !(words instanceof Node);
  return el(tag, { dir: "auto", ...attributes }, asItIs ? document.createTextNode(words) : words);
}

export function button(words, action, attributes = {}) {
  return el("button", { type: "button", onclick: action, ...attributes }, words);
}

/** What a key is called on a button. */
export function keyCap(key) {
  return key ? el("kbd", { "aria-hidden": "true" }, key.toUpperCase()) : null;
}

export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
