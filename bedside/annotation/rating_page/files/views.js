// What stands around every view: the head, the bar, what is said above, and texts that were written for a study.

import { el } from "./elements.js";

export const top = document.getElementById("top");
export const view = document.getElementById("view");
export const bar = document.getElementById("bar");
export const notices = document.getElementById("notices");

export function notice(words, ...actions) {
  notices.replaceChildren(el("div", { class: "notice", role: "alert" }, el("p", {}, words), ...actions));
  notices.scrollIntoView({ block: "nearest" });
}

/** Show a view from its beginning. */
export function show(...parts) {
  view.replaceChildren(...parts.filter((part) => part));
  view.focus();
  scrollTo(0, 0);
}

/** A dialog that is open now, and gone once it is closed. */
export function opened(title, ...parts) {
  const dialog = el("dialog", { "aria-label": title }, el("h2", {}, title), ...parts);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** A text that the server made of Markdown; its headings stand below the page's own. */
export function article(html, attributes = {}) {
  const text = new DOMParser().parseFromString(html, "text/html");
  for (const link of text.querySelectorAll("a")) {
    link.rel = "noreferrer noopener";
    link.target = "_blank";
  }
  let level = 1;
  for (const heading of text.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    heading.ariaLevel = level = Math.min(level, Number(heading.tagName[1])) + 1;
  }
  return el("article", { class: "instructions", dir: "auto", ...attributes }, ...text.body.childNodes);
}
