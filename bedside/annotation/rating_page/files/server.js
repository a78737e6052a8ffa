// What is asked of the server, and how what a rater typed gets there and is kept until it is.

import { say } from "./words.js";

const AGAIN = 2500;
const PATIENCE = 15000;
const TYPING = 500;

const [linked, ...behind] = location.hash.slice(1).split("?");
let secret = linked;
let ahead = 0;

export const hasSecret = /^[\w-]{20,100}$/.test(secret);

/** What a link to a study says of who opens it: in its query, or behind the #, where no log of a server has it. */
export const parameters = Object.fromEntries([location.search, behind.join("?")].flatMap((part) => [...new URLSearchParams(part)]));

/** All is asked by a person's own secret from here on, and after the page is loaded again. */
export function goBy(own) {
  secret = own;
  history.replaceState(history.state, "", `${location.pathname}#${own}`);
}

/** What the server's clock says, to the second. */
export const serverTime = () => Date.now() + ahead;

export class Unreachable extends Error {}

export class Refused extends Error {
  constructor(status, data) {
    super(data.error || say("refused"));
    this.status = status;
    this.wanting = data.wanting || {};
  }
}

export async function ask(method, path, body, patience = PATIENCE) {
  let response;
  let data;
  try {
    response = await fetch(path, {
      method,
      headers: { Authorization: `Bearer ${secret}`, ...(body ? { "Content-Type": "application/json" } : {}) },
      body: body ? JSON.stringify(body) : undefined,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(patience),
    });
    data = await response.json();
    ahead = (Date.parse(response.headers.get("Date")) || Date.now()) - Date.now();
  } catch {
    throw new Unreachable(say("server_away"));
  }
  if (response.status >= 500 || response.status === 408) throw new Unreachable(data.error);
  if (!response.ok) throw new Refused(response.status, data);
  return data;
}

const pause = () => new Promise((resolve) => setTimeout(resolve, AGAIN));

/** Ask again and again until the server answers; each time that it doesn't, `away` is called. */
export async function insist(method, path, body, away) {
  for (;;) {
    try {
      return await ask(method, path, body);
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      away();
      await pause();
    }
  }
}

export function newMark() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What this browser keeps until the server has it. A browser that keeps nothing for pages still has it in memory. */
export const drawer = {
  names(beginning) {
    try {
      return Object.keys(localStorage).filter((name) => name.startsWith(beginning));
    } catch {
      return [];
    }
  },
  read(name) {
    try {
      return JSON.parse(localStorage.getItem(name));
    } catch {
      return null;
    }
  },
  write(name, value) {
    try {
      if (value === null) localStorage.removeItem(name);
      else localStorage.setItem(name, JSON.stringify(value));
      return true;
    } catch {
      return false;
    }
  },
  /** What is kept under names that begin so goes. */
  clear(...beginnings) {
    try {
      const meant = (name) => beginnings.some((beginning) => name.startsWith(beginning));
      Object.keys(localStorage).filter(meant).forEach((name) => localStorage.removeItem(name));
    } catch {
      // Then nothing was kept.
    }
  },
};

/**
 * Keeps what stands on the page of one item: in this browser at once, on the server soon after.
 *
 * Attempts are made one after the other, each again and again until the server answers: only then is it known which
 * version it has.
 */
export class Keeper {
  constructor(name, item, entry, status) {
    this.name = name;
    this.item = item;
    this.choices = structuredClone(entry.choices);
    this.texts = structuredClone(entry.texts);
    this.seconds = entry.seconds;
    this.version = entry.version;
    this.status = status;
    this.attempt = null;
    this.wanted = null;
    this.changed = false;
    this.running = null;
    this.timer = null;
    this.closed = false;
  }

  /** Take up what was typed here earlier and never reached the server. */
  takeUp({ version, ...kept }) {
    Object.assign(this, { wanted: null, ...kept, changed: true });
    if (kept.attempt === null) this.version = version;
    return this;
  }

  get unsent() {
    return this.changed || this.attempt !== null || this.wanted !== null;
  }

  /** Whether it is on its way to be handed in, or skipped. */
  get leaving() {
    return this.wanted !== null || (this.attempt !== null && this.attempt.state !== "draft");
  }

  /** What is handed in, as a file has it; whether the draft before it came is not known. */
  get answer() {
    const { item, choices, texts, seconds, version, attempt, wanted } = this;
    if (wanted === null) return { item, ...attempt };
    return { item, state: wanted, version: version + (attempt ? 1 : 0), mark: newMark(), seconds, choices, texts };
  }

  change() {
    this.changed = true;
    this.remember();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), TYPING);
    this.status(this.running && this.failing ? "unreachable" : "typing");
  }

  remember() {
    const { choices, texts, seconds, version, attempt, wanted } = this;
    const kept = drawer.write(this.name, this.unsent ? { choices, texts, seconds, version, attempt, wanted } : null);
    if (!kept) this.status("unkept");
  }

  /** Send what isn't sent yet; ends when the server has it. */
  async save() {
    clearTimeout(this.timer);
    this.running ??= this.sendAll().finally(() => (this.running = null));
    return this.running;
  }

  async sendAll() {
    let reply = null;
    while (this.unsent && !this.closed) reply = await this.sendOnce();
    this.status("kept");
    return reply;
  }

  /** Hand the item in, or skip it: the server's reply, once it has it. */
  async handIn(state) {
    this.wanted = state;
    this.remember();
    return this.save();
  }

  /** What was to be handed in lacks something, and stays a draft. */
  takeBack() {
    this.wanted = null;
    if (this.attempt) this.attempt.state = "draft";
    this.remember();
  }

  /** Ends once the server doesn't answer. */
  async away() {
    if (!this.failing) await new Promise((resolve) => (this.failed = resolve));
  }

  async sendOnce() {
    const { choices, texts, version } = this;
    if (this.attempt === null) {
      const spent = Math.round(this.seconds * 10) / 10;
      this.attempt = structuredClone({ state: this.wanted ?? "draft", version, mark: newMark(), seconds: spent, choices, texts });
      this.wanted = null;
    }
    this.changed = JSON.stringify([choices, texts]) !== JSON.stringify([this.attempt.choices, this.attempt.texts]);
    this.remember();
    for (;;) {
      try {
        const reply = await ask("PUT", `items/${this.item}`, this.attempt);
        this.failing = false;
        this.version = reply.version;
        this.attempt = null;
        this.remember();
        return reply;
      } catch (error) {
        if (!(error instanceof Unreachable)) {
          this.attempt = this.wanted = null;
          this.changed = true;
          this.remember();
          throw error;
        }
        this.failing = true;
        this.failed?.();
        this.status("unreachable");
        await pause();
        if (this.closed) throw error;
      }
    }
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }
}
