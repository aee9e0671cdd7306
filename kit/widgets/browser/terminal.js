// A terminal: a line to type into with history and completion, what came of it, buttons. What is
// typed goes to the kernel and to nothing else.

const MOST_SHOWN = 400; // entries; older ones leave the page, the kernel has them all
const MOST_OPTIONS = 24;

import { NOTEBOOK, Room } from "./room.js";

class Terminal {
  constructor(model, el) {
    this.model = model;
    this.root = el;
    el.innerHTML = model.get("shell");
    const part = (name) => el.querySelector(`[data-part=${name}]`);
    Object.assign(this, { output: part("output"), line: part("line"), options: part("options") });
    this.line.disabled = false;
    this.parts = {};
    for (const name of ["prompt", "banner", "buttons", "side"]) this.parts[name] = part(name);
    this.shown = -1;
    this.at = 0;
    this.listen();
    for (const name of Object.keys(this.parts)) this.fill(name);
    this.follow();
  }

  listen() {
    const { model, root } = this;
    root.addEventListener("keydown", (event) => this.key(event));
    root.addEventListener("click", (event) => this.press(event));
    root.addEventListener("toggle", (event) => this.alone(event.target), true);
    this.heard = [
      ["change:entries", () => this.follow()],
      ["msg:custom", (said) => this.hear(said)],
    ];
    for (const name of Object.keys(this.parts))
      this.heard.push([`change:${name}`, () => this.fill(name)]);
    for (const [name, hear] of this.heard) model.on(name, hear);
  }

  close() {
    for (const [name, hear] of this.heard) this.model.off(name, hear);
  }

  fill(name) {
    const part = this.parts[name];
    const { activeElement } = document;
    const again = part.contains(activeElement) ? activeElement.textContent : null;
    part.innerHTML = this.model.get(name);
    if (again === null) return;
    const same = [...part.querySelectorAll("button")].find((one) => one.textContent === again);
    (same ?? part).focus();
  }

  // Only what is new is added, so that a reader who listens hears that and no more.
  follow() {
    for (const [number, html] of this.model.get("entries")) {
      if (number <= this.shown) continue;
      this.output.insertAdjacentHTML("beforeend", html);
      if (this.output.lastChild.dataset.clear !== undefined) this.output.replaceChildren();
      this.shown = number;
    }
    while (this.output.children.length > MOST_SHOWN) this.output.firstElementChild.remove();
    this.toEnd();
  }

  toEnd() {
    this.output.scrollTop = this.output.scrollHeight;
  }

  key(event) {
    const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey) return;
    if (key !== "Tab" && key !== "Escape") event.stopPropagation(); // letters act in JupyterLab
    if (event.target !== this.line) return;
    const acts = {
      Enter: () => this.enter(this.line.value),
      ArrowUp: () => this.recall(-1),
      ArrowDown: () => this.recall(1),
      Tab: () => this.model.send({ complete: this.line.value }),
    };
    if (key === "Escape") this.leaves = true;
    if (!acts[key]) return;
    // An empty line, or one that was escaped from, keeps nobody in the field.
    if (key === "Tab" && (shiftKey || this.leaves || !this.line.value)) {
      this.leaves = false;
      return;
    }
    this.leaves = false;
    event.preventDefault();
    acts[key]();
  }

  press(event) {
    const button = event.target.closest("button");
    if (button?.dataset.line !== undefined) this.enter(button.dataset.line);
    if (button?.dataset.begin === undefined) return;
    this.line.value = button.dataset.begin;
    this.line.focus();
    this.model.send({ complete: this.line.value });
  }

  alone(details) {
    if (details.open)
      for (const other of this.root.querySelectorAll("details"))
        if (other !== details) other.open = false;
    this.toEnd();
  }

  enter(text) {
    this.options.textContent = "";
    if (!text.trim()) return;
    this.model.send({ enter: text });
    this.line.value = "";
    this.at = 0;
  }

  // Lines that were typed, the newest first; 0 is the line that is being typed.
  recall(step) {
    const typed = this.model.get("typed");
    if (!this.at) this.draft = this.line.value;
    this.at = Math.max(0, Math.min(typed.length, this.at - step));
    this.line.value = this.at ? typed[typed.length - this.at] : this.draft;
    this.line.setSelectionRange(this.line.value.length, this.line.value.length);
  }

  hear({ complete, lines }) {
    if (complete !== this.line.value) return;
    const [first, ...others] = lines;
    this.options.textContent = first === undefined ? "no command continues this" : "";
    if (first === undefined) return;
    const alike = others.length ? shared(lines) : `${first} `;
    if (alike.length > complete.length) this.line.value = alike;
    if (others.length) this.tell(lines);
  }

  tell(lines) {
    const from = shared(lines).search(/[^\s=,;]*$/);
    const n = lines.length - MOST_OPTIONS;
    const more = n > 0 ? ` and ${n} more` : "";
    const words = lines.slice(0, MOST_OPTIONS).map((line) => line.slice(from));
    this.options.textContent = words.join("   ") + more;
    this.toEnd();
  }
}

// What all lines begin with.
function shared(lines) {
  let length = 0;
  while (lines.every((line) => length < line.length && line[length] === lines[0][length]))
    length += 1;
  return lines[0].slice(0, length);
}

export function openTerminal({ model, el }) {
  const terminal = new Terminal(model, el);
  const room = new Room();
  const around = requestAnimationFrame(() => {
    const drill = el.closest(".kit-drill");
    if (drill) room.give(drill, drill.closest(NOTEBOOK));
  });
  return () => {
    cancelAnimationFrame(around);
    room.close();
    terminal.close();
  };
}

export default { render: openTerminal };
