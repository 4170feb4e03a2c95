// A line or two over the last minutes, as SVG. Lines differ by their dashes, not only by their colour.
import { make } from "./panel.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 300, HEIGHT = 80, MARGIN = 2;

function svg(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// Where a value is missing the line has a gap; one alone between gaps is a short stroke.
function path(values, most, places) {
  const step = WIDTH / (places - 1);
  let drawn = "", open = false;
  values.forEach((value, i) => {
    const x = (places - values.length + i) * step, y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (value ?? 0) / most;
    if (value !== undefined) drawn += `${open ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}${open ? "" : "h2"}`;
    open = value !== undefined;
  });
  return drawn;
}

export class Chart {
  // `lines`: names in the legend. `say(value)` writes a number with its unit.
  constructor(title, lines, places, say) {
    this.title = title;
    this.places = places;
    this.say = say;
    this.values = lines.map(() => []);
    this.element = make("figure");
    const caption = make("figcaption", "", title);
    this.scale = make("span", "note");
    this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
    this.picture.append(...[MARGIN, HEIGHT / 2, HEIGHT - MARGIN].map((y) => svg("path", { class: "grid", d: `M0 ${y}H${WIDTH}` })));
    this.lines = lines.map((_, i) => svg("path", { class: `line line-${i}` }));
    this.picture.append(...this.lines);
    const legend = make("p", "legend");
    for (const [i, name] of lines.entries()) {
      const sample = svg("svg", { viewBox: "0 0 24 8", class: "sample", "aria-hidden": "true" });
      sample.append(svg("path", { class: `line line-${i}`, d: "M0 4H24" }));
      const entry = make("span", "", name);
      entry.prepend(sample, " ");
      legend.append(entry);
    }
    caption.append(" ", this.scale);
    this.element.append(caption, this.picture, legend);
  }

  // One value for each line; undefined: none.
  add(...added) {
    added.forEach((value, i) => {
      this.values[i].push(value);
      if (this.values[i].length > this.places) this.values[i].shift();
    });
    const known = this.values.flat().filter((value) => value !== undefined);
    const most = Math.max(...known, 0) || 1;
    this.scale.textContent = known.length === 0 ? "nothing yet" : `top of the scale: ${this.say(most)}`;
    this.lines.forEach((line, i) => line.setAttribute("d", path(this.values[i], most, this.places)));
    const last = added.map((value) => value === undefined ? "none" : this.say(value)).join(", ");
    this.picture.setAttribute("aria-label", `${this.title}, last: ${last}`);
  }
}
