// A part of the page with a form: what is typed goes to the server, and what comes back is shown below it.
export class Panel {
  // `send(signal)` asks the server; `show(answer, list)` fills the emptied list and returns a line that says
  // what came.
  constructor(id, send, show) {
    this.section = document.getElementById(id);
    this.send = send;
    this.show = show;
    const form = this.section.querySelector("form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    // In a text of several lines Enter is a line's end.
    for (const text of form.querySelectorAll("textarea")) {
      text.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
      });
      text.setAttribute("aria-keyshortcuts", "Control+Enter");
    }
    const note = make("span", "note", "or Ctrl+Enter in a text");
    form.querySelector(".actions").append(" ", note);
  }

  offer(offered) {
    this.section.hidden = !offered;
  }

  say(what, error = "") {
    this.section.querySelector(".said").textContent = what;
    this.section.querySelector(".error").textContent = error;
  }

  async run() {
    // Only what was asked last counts.
    this.asking?.abort();
    const asking = this.asking = new AbortController();
    const list = this.section.querySelector(".answer");
    list.setAttribute("aria-busy", "true");
    try {
      const answer = await this.send(asking.signal);
      list.replaceChildren();
      this.say(this.show(answer, list));
    } catch (error) {
      if (asking.signal.aborted) return;
      list.replaceChildren();
      this.say("", error.message);
    }
    list.removeAttribute("aria-busy");
  }
}

export function valueOf(id) {
  return document.getElementById(id).value;
}

export function make(name, className = "", text = "") {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.textContent = text;
  return element;
}

// A number from 0 to 1 as a bar; the number itself stands beside it.
export function bar(value, label) {
  const meter = make("meter");
  meter.min = 0;
  meter.max = 1;
  meter.value = value;
  meter.setAttribute("aria-label", label);
  return meter;
}
