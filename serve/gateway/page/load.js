// Queue and latency as they are now, asked for again and again while the page can be seen.
import { Chart } from "./chart.js";
import { make } from "./panel.js";
import { reading } from "./metrics.js";
import { askForText } from "./server.js";

const EVERY_MS = 2000;
const PLACES = 61;  // two minutes

function seconds(value) {
  if (value === undefined) return "none";
  return value < 1 ? `${(value * 1000).toPrecision(3)} ms` : `${value.toPrecision(3)} s`;
}
const whole = (value) => value.toLocaleString("en", { maximumFractionDigits: 0 });

function figures(now) {
  const { tokens, inputs, servers } = now.queue;
  const rows = [];
  if (servers !== undefined) rows.push(["Servers that compute", `${servers.up} of ${servers.all}`]);
  if (tokens !== undefined) rows.push([servers === undefined ? "Tokens waiting" : "Tokens under way", whole(tokens)]);
  if (inputs !== undefined) rows.push(["Inputs waiting", whole(inputs)]);
  if (now.underWay !== undefined) rows.push(["Requests under way", whole(now.underWay)]);
  rows.push(["Requests a second", now.rate === undefined ? "…" : now.rate.toFixed(1)]);
  rows.push(["Refused, overloaded", now.refused === undefined ? "…" : whole(now.refused)]);
  rows.push(["Half answered within", seconds(now.half)], ["99 of 100 within", seconds(now.most)]);
  return rows.map(([name, value]) => {
    const row = make("div");
    row.append(make("dt", "", name), make("dd", "", value));
    return row;
  });
}

export function watchLoad() {
  const section = document.getElementById("load");
  const pause = document.getElementById("load-pause");
  const times = new Chart("Latency of the last 2 minutes", ["half within", "99 of 100 within"], PLACES, seconds);
  const queued = new Chart("Tokens waiting or under way", ["tokens"], PLACES, whole);
  document.getElementById("load-charts").append(times.element, queued.element);
  let before, timer, asking = false;
  async function look() {
    clearTimeout(timer);
    if (asking || pause.getAttribute("aria-pressed") === "true" || document.hidden) return;
    asking = true;
    let error = "";
    try {
      before = reading(await askForText("metrics"), before);
      document.getElementById("load-now").replaceChildren(...figures(before));
      times.add(before.half, before.most);
      queued.add(before.queue.tokens);
    } catch (failed) {
      error = failed.message;
      before = undefined;
    }
    // Said once: an alert that is set again is read again.
    const alert = section.querySelector(".error");
    if (alert.textContent !== error) alert.textContent = error;
    asking = false;
    timer = setTimeout(look, EVERY_MS);
  }
  pause.addEventListener("click", () => {
    pause.setAttribute("aria-pressed", String(pause.getAttribute("aria-pressed") !== "true"));
    before = undefined;
    look();
  });
  document.addEventListener("visibilitychange", look);
  look();
}
