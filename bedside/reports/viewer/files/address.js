// What is looked at stands in the address after the #: a link to each view, and the browser's own way back.

/** What an address asks for: which view, and of what. */
export function readAddress() {
  const text = location.hash.replace(/^#\/?/, "");
  const [view, query = ""] = text.split(/\?(.*)/s);
  return { view: view || "list", wanted: new URLSearchParams(query) };
}

export function addressOf(view, wanted) {
  const query = wanted.toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

/** A copy of what is wanted with some of it changed; null or nothing takes it out, and so does a list without entries. */
export function changed(wanted, changes) {
  const copy = new URLSearchParams(wanted);
  for (const [name, value] of Object.entries(changes)) {
    copy.delete(name);
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== false) copy.append(name, one);
    }
  }
  return copy;
}

/** What is wanted of the list, without what says which conversation is open and which page of the list. */
export function listPart(wanted) {
  return changed(wanted, { id: null, other: null, start: null });
}

export function goTo(view, wanted) {
  location.hash = addressOf(view, wanted);
}
