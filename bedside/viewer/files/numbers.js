// Numbers and names as they are read.

/** A number with the digits of its metric; whole ones without any. */
export function shownNumber(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(digits);
}

/** What a metric's ratings come to in a row of the list. */
export function shownValue(entry, metric) {
  const parts = [];
  const onlyLabels = entry.labels.length && metric.labels.length;
  if (entry.value !== null && !onlyLabels) parts.push(shownNumber(entry.value, metric.digits));
  if (entry.labels.length === 1 && !metric.parts) parts.push(entry.labels[0][0]);
  else if (entry.labels.length) parts.push(entry.labels.map(([label, count]) => `${label} ${count}`).join(", "));
  return parts.join(" ");
}

/** A rating as it was given. */
export function shownRating(rating, digits) {
  return rating.label ?? shownNumber(rating.value, digits);
}

/** A rater without the word for what kind of rater it is. */
export function raterName(rater) {
  return rater.replace(/^(human|judge|jury|algorithm):/, "");
}

/** A name of the data as words. */
export function inWords(name) {
  const words = name.replaceAll("_", " ");
  return words ? words[0].toUpperCase() + words.slice(1) : words;
}
