// What the page asks of the server, with the secret that came in the link.

import { startView } from "./view.js";

const PATIENCE = 300000;
const AGAIN = 4000;
const KEPT = "bedside-view";

/** The secret comes once, in the link; it leaves the address at once, so that no link to a view holds it. */
function takeSecret() {
  const match = /^#secret=([\w-]{20,100})$/.exec(location.hash);
  if (match) {
    try {
      localStorage.setItem(KEPT, match[1]);
    } catch {
      // A browser that keeps nothing for pages: this window has it.
    }
    history.replaceState(null, "", "#/list");
    return match[1];
  }
  try {
    return localStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}

const secret = takeSecret();
// The link of another start, opened in a window that is there already.
addEventListener("hashchange", () => location.hash.startsWith("#secret=") && location.reload());
let version = null;
let overview = null;
let events = null;

async function ask(path, wanted = new URLSearchParams()) {
  let response;
  let reply;
  try {
    response = await fetch(`${path}?${wanted}`, {
      headers: { Authorization: `Bearer ${secret}` },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(PATIENCE),
    });
    reply = await response.json();
  } catch {
    throw new Error("bedside view can't be reached any more: it has ended, or is busy. The command starts it again.");
  }
  if (response.status === 401) throw new Error("This link is of an earlier start of bedside view. Open the one that it printed last.");
  if (!response.ok) throw new Error(reply.error);
  if (reply.version && reply.version !== version) {
    const isNew = version !== null;
    version = reply.version;
    overview = null;
    if (isNew) events?.changed();
  }
  return reply.data;
}

function withEntries(wanted, entries) {
  const copy = new URLSearchParams(wanted);
  for (const [name, value] of Object.entries(entries)) copy.set(name, value);
  return copy;
}

startView({
  about: "read only",
  run: () => (overview ??= ask("run").catch((error) => {
    overview = null;
    throw error;
  })),
  list: (wanted, start) => ask("list", withEntries(wanted, { start })),
  neighbours: (wanted, id) => ask("neighbours", withEntries(wanted, { id })),
  conversation: (id) => ask("conversation", new URLSearchParams({ id })),
  judgements: (id) => ask("judgements", new URLSearchParams({ id })),
  judgement: (id, key) => ask("judgement", new URLSearchParams({ key })).then((judgement) =>
    judgement && { ...judgement, prompt: judgement.prompt && judgement.prompt.map(([, text]) => text).join("") }),
  states: (id) => ask("states", new URLSearchParams({ id })),
  findings: () => ask("findings"),
  watch(listeners) {
    events = listeners;
    let gone = false;
    setInterval(async () => {
      if (document.hidden) return;
      try {
        await ask("version");
        if (gone) listeners.back();
        gone = false;
      } catch (error) {
        if (!gone) listeners.gone(error);
        gone = true;
      }
    }, AGAIN);
  },
});
