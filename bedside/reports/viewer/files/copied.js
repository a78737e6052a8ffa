// What the page reads in a copy without a server: files that lie beside it, each of which hands its content over.

import { chosenPlaces, listRows } from "./copied_list.js";
import { startView } from "./view.js";

const waiting = new Map();
const loading = new Map();

globalThis.bedsideData = (name, value) => waiting.get(name)?.(value);

/** The content of a file of the copy. A page that lies in a folder may read others only as scripts. */
function load(name) {
  if (!loading.has(name)) {
    loading.set(name, new Promise((resolve, reject) => {
      const script = document.createElement("script");
      waiting.set(name, resolve);
      script.src = `data/${name}.js`;
      script.onerror = () => {
        loading.delete(name);
        reject(new Error(`The file data/${name}.js of this copy is missing.`));
      };
      script.onload = () => script.remove();
      document.head.append(script);
    }));
  }
  return loading.get(name);
}

async function talkOf(id) {
  const { index } = await load("run");
  const at = index.id.indexOf(id);
  if (at < 0) throw new Error(`This copy has no transcript “${id}”.`);
  return load(`talks/${index.file[at]}`);
}

async function partOf(wanted) {
  const run = await load("run");
  const place = run.metrics.findIndex((metric) => metric.name === wanted.get("metric"));
  return place < 0 ? null : load(`metrics/${String(place).padStart(4, "0")}`);
}

/** The list that was chosen last: going to its next page or conversation asks for the same one. */
let chosen = { query: null, places: [] };

async function places(wanted) {
  const query = wanted.toString();
  const [run, part] = await Promise.all([load("run"), partOf(wanted)]);
  if (chosen.query !== query) chosen = { query, places: chosenPlaces(run, wanted, part) };
  return { run, part, found: chosen.places };
}

startView({
  about: "a copy",
  run: () => load("run"),
  async list(wanted, start) {
    const { run, part, found } = await places(wanted);
    return { total: found.length, start, rows: listRows(run, found.slice(start, start + run.rows), wanted, part) };
  },
  async neighbours(wanted, id) {
    const { run, found } = await places(wanted);
    const place = found.indexOf(run.index.id.indexOf(id));
    if (place < 0) return { place: null, total: found.length, before: null, after: null };
    const idAt = (at) => (found[at] === undefined ? null : run.index.id[found[at]]);
    return { place, total: found.length, before: idAt(place - 1), after: idAt(place + 1) };
  },
  conversation: async (id) => (await talkOf(id)).conversation,
  judgements: async (id) => (await talkOf(id)).judgements,
  async judgement(id, key) {
    const { whole, pieces } = await talkOf(id);
    const judgement = whole[key];
    return judgement && { ...judgement, prompt: judgement.prompt && judgement.prompt.map((digest) => pieces[digest]).join("") };
  },
  states: async (id) => (await talkOf(id)).states,
  findings: () => load("findings"),
  watch() {},
});
