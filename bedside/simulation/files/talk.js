// A person's side of a conversation: what is shown, and lines that count as sent once the server has them on its disk.

import { button, written } from "./elements.js";

const SECRET = location.hash.slice(1);
const AGAIN = 700;
const PATIENCE = 25000;
const SHORT = 120;
const COMMANDS = { clinician: [["Chart", "/chart"], ["Plan", "/plan"], ["End", "/end"], ["Help", "/help"]] };
const OTHERS = [["What you know", "/chart"], ["Help", "/help"]];
const part = (id) => document.getElementById(id);
const state = { session: "", shown: 0, taken: 0, busy: false, refused: "" };

async function ask(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: { Authorization: `Bearer ${SECRET}`, ...(body ? { "Content-Type": "application/json" } : {}) },
    body: body ? JSON.stringify(body) : undefined,
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    signal: AbortSignal.timeout(PATIENCE),
  });
  const data = await response.json();
  if (!response.ok) throw Object.assign(new Error(data.error), { status: response.status });
  return data;
}

function tell(words, trouble = false) {
  if (part("state").textContent !== words) part("state").textContent = words;
  part("state").classList.toggle("trouble", trouble);
}

function troubleWords(error) {
  if (error.status === 401) return "This link isn't one of this study's. Ask who gave it to you.";
  if (error.status) return `${error.message}.`;
  return "The server can't be reached. What you sent before is kept; this page goes on when it is back.";
}

function show(news) {
  if (news.session !== state.session) {
    part("ways").replaceChildren(...(COMMANDS[news.role] ?? OTHERS).map(([name, line]) => button(name, () => send(line))));
    part("side").textContent = `You are the ${news.role}`;
    state.session = news.session;
    state.shown = 0;
  }
  const log = part("talk");
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  for (const { kind, text } of news.shown.slice(state.shown - news.from)) {
    if (kind === "start") {
      log.replaceChildren();
      part("brief").replaceChildren();
      part("told").hidden = true;
    } else if (kind === "brief") {
      part("told").hidden = false;
      part("brief").append(written("p", text));
    } else log.append(written("p", text, { class: kind }));
  }
  if (news.shown.length && atEnd) log.scrollTop = log.scrollHeight;
  state.shown = Math.max(state.shown, news.from + news.shown.length);
  state.taken = news.taken;
  const waits = news.prompt !== null;
  part("form").hidden = !waits && !state.busy;
  if (waits) part("asked").textContent = news.prompt === "You: " ? "Your message" : news.prompt;
  showTime(news.left);
  const turn = waits ? "It is your turn." : "Please wait for the other side …";
  if (news.done) tell("That was the last conversation. Thank you: you can close this page.");
  else if (!state.busy) tell(`${state.refused} ${turn}`.trim(), state.refused !== "");
  return news.done;
}

function showTime(left) {
  const minutes = left === null ? "" : `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")} left`;
  part("left").textContent = minutes;
  part("left").classList.toggle("short", left !== null && left <= SHORT);
}

async function send(text) {
  if (state.busy) return;
  state.busy = true;
  part("send").disabled = true;
  const sent = { session: state.session, number: state.taken, text };
  tell("It is being sent …");
  for (;;) {
    try {
      await ask("PUT", "line", sent);
      state.refused = "";
      if (text === part("line").value) part("line").value = "";
      break;
    } catch (error) {
      state.refused = troubleWords(error);
      tell(state.refused, true);
      if (error.status && error.status < 500) break;
      await new Promise((done) => setTimeout(done, AGAIN));
    }
  }
  state.busy = false;
  part("send").disabled = false;
  part("line").focus();
}

async function look() {
  try {
    const done = show(await ask("GET", `news?session=${encodeURIComponent(state.session)}&since=${state.shown}`));
    if (done) return;
  } catch (error) {
    if (!state.busy) tell(troubleWords(error), true);
  }
  setTimeout(look, AGAIN);
}

part("form").addEventListener("submit", (event) => {
  event.preventDefault();
  send(part("line").value);
});
part("line").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (part("line").value.trim()) send(part("line").value);
});
addEventListener("hashchange", () => location.reload());
look();
