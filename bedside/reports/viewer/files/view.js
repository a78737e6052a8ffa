// The page: shows the view that the address names, again whenever the address or the run changes.

import { addressOf, readAddress } from "./address.js";
import { button, counted, el, visible, written } from "./elements.js";
import { listenToKeys } from "./keys.js";
import { conversationPage } from "./conversation_page.js";
import { showKeys } from "./judgement.js";
import { listPage } from "./list_page.js";
import { pairPage } from "./pair_page.js";

const VIEWS = { list: listPage, conversation: conversationPage, pair: pairPage };
const EVERYWHERE = { "?": ["these keys", () => showKeys(EVERYWHERE)], Escape: ["close, or leave a field", () => {}] };

/** How often a view was begun to be shown: one that is slow isn't shown once another is wanted. */
let begun = 0;

export function notice(words, ...actions) {
  document.getElementById("notices").replaceChildren(...(words ? [el("div", { class: "notice" }, el("p", {}, words), ...actions)] : []));
}

export function startView(source) {
  async function show({ keepPlace = false } = {}) {
    const turn = ++begun;
    const place = scrollY;
    const { view, wanted } = readAddress();
    const main = document.getElementById("view");
    main.setAttribute("aria-busy", "true");
    document.getElementById("dialog").close();
    let page;
    try {
      page = await (VIEWS[view] ?? listPage)(source, wanted);
    } catch (error) {
      page = failed(error, show);
    }
    if (turn !== begun) return;
    notice(null);
    const run = await source.run().catch(() => null);
    if (turn !== begun) return;
    if (run) showTop(run, source.about);
    document.title = visible(run && page.title !== run.name ? `${page.title} – ${run.name}` : page.title);
    main.replaceChildren(...page.content.flat(Infinity).filter(Boolean));
    main.removeAttribute("aria-busy");
    const focused = page.shown();
    if (keepPlace) scrollTo(0, place);
    else if (!focused) {
      scrollTo(0, 0);
      main.querySelector("h1")?.focus({ preventScroll: true });
    }
    dispatchEvent(new Event("viewshown"));
  }
  addEventListener("hashchange", () => show());
  listenToKeys(EVERYWHERE);
  source.watch({
    changed: () => show({ keepPlace: true }).then(() => notice("The run has changed; this is read anew.", button("Hide", () => notice(null)))),
    gone: (error) => notice(error.message, button("Try again", () => location.reload())),
    back: () => notice(null),
  });
  show();
}

function failed(error, show) {
  return {
    title: "bedside",
    content: [el("h1", { tabindex: "-1" }, "This can't be shown"), written("p", error.message),
      el("p", {}, button("Try again", () => show()), " ", el("a", { href: addressOf("list", new URLSearchParams()) }, "To the list"))],
    shown: () => false,
  };
}

function showTop(run, about) {
  document.getElementById("run").replaceChildren(
    el("a", { href: addressOf("list", new URLSearchParams()) }, written("strong", run.name)),
    el("span", { class: "soft" }, ` ${counted(run.transcripts, "conversation").replace(/^\d+/, (n) => Number(n).toLocaleString("en"))}, ${about}`));
  document.getElementById("ways").replaceChildren(button("Keys", () => showKeys(EVERYWHERE), { class: "link" }));
}
