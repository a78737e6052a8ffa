// Numbers and names as they are read.

/** A number with the digits of its metric, rounded as tables are; whole ones without any. */
export function shownNumber(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return (value || 0).toLocaleString("en");
  const text = roundedToEven(value, digits);
  return Number(text) === 0 ? text.replace("-", "") : text;
}

/** What lies exactly between two is rounded to the even one, where `toFixed` takes the greater. */
function roundedToEven(value, digits) {
  const text = value.toFixed(digits);
  const rest = Math.abs(value).toFixed(Math.min(100, digits + 60)).split(".")[1].slice(digits);
  if (!/^50*$/.test(rest) || Number(text.at(-1)) % 2 === 0) return text;
  return (value - Math.sign(value) * 0.5 * 10 ** -digits).toFixed(digits);
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
