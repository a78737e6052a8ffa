// Elements of the page. Texts become text nodes: nothing that somebody wrote is ever read as HTML.

/** An element with attributes; those that begin with "on" are called at events. Empty children are left out. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** An element whose text runs in the direction of its own language. */
export function written(tag, words, attributes = {}) {
  return el(tag, { dir: "auto", ...attributes }, words);
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
