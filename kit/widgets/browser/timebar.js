// The time bar: a dash for each step, by chapters, and a sign where a promise broke.

import { marksOf } from "./branches.js";

// Of its height a letter is wide at most, so that no name is measured; nor is the bar at each step:
// it changes only with its width.
const LETTER = 0.65;
const APART = 14; // pixels between two chapters, and at most 3 between two dashes
const BETWEEN = 3;

export class TimeBar {
  // `drawn` is told when its places are others.
  constructor(part, range, drawn) {
    Object.assign(this, { box: part("ticks"), range, drawn });
    this.watch = new ResizeObserver(([{ contentRect }]) => {
      this.width = contentRect.width;
      this.letter = LETTER * parseFloat(getComputedStyle(this.box).fontSize);
      this.draw();
    });
    this.watch.observe(this.box);
    const press = (event) => this.press(event);
    for (const kind of ["pointerdown", "pointermove"]) this.box.addEventListener(kind, press);
  }

  close() {
    this.watch.disconnect();
  }

  // A press, or a drag, goes to the step that is nearest.
  press({ clientX, buttons }) {
    if (!buttons || !this.ends) return;
    const x = clientX - this.box.getBoundingClientRect().left;
    const step = this.ends.findIndex((end) => x < end);
    this.range.value = step < 0 ? this.ends.length : step + 1;
    this.range.dispatchEvent(new Event("input", { bubbles: true }));
    this.range.focus({ preventScroll: true });
  }

  show(path, moments, step) {
    const { max } = this.range;
    const same = path === this.path && moments.length === this.known && max === this.last;
    Object.assign(this, { path, moments, known: moments.length, last: max, step });
    if (same) this.fill();
    else this.draw();
  }

  // The steps of a cause, and where a loop begins: the sign of each by its moment.
  mark(signs) {
    this.signs = signs;
    this.draw();
  }

  // Each chapter with its name and its first step; what comes before the first has no name.
  chapters() {
    const names = marksOf(this.path, this.moments, "milestone");
    const begun = names.flatMap((name, step) => (name && step ? [{ name, step }] : []));
    return begun[0]?.step === 1 ? begun : [{ name: "", step: 1 }, ...begun];
  }

  // No chapter is narrower than its name; where there is no room for all, exact names are left out
  // first, then all names are cut alike.
  widths(parts, steps) {
    const room = this.width - APART * (parts.length - 1);
    const long = (name) => Math.max(...name.split("\n").map((line, at) => line.length + 2 * !at));
    const needed = parts.map(({ name }) => this.letter * long(name));
    const sum = (some) => some.reduce((all, one) => all + one, 0);
    const wide = new Set();
    for (;;) {
      const rest = room - sum([...wide].map((at) => needed[at]));
      const left = sum(steps.filter((_, at) => !wide.has(at)));
      if (rest < 0 && parts.filter((one) => one.name !== (one.name = one.name.split("\n")[0]))[0])
        return this.widths(parts, steps);
      if (rest < 0 || !left) return needed.map((n) => (n * room) / sum(needed));
      const share = rest / left;
      const more = steps.findIndex((n, at) => !wide.has(at) && n * share < needed[at]);
      if (more < 0) return steps.map((n, at) => (wide.has(at) ? needed[at] : n * share));
      wide.add(more);
    }
  }

  draw() {
    if (!this.path || !this.width) return;
    const { path, moments, signs = {} } = this;
    const last = Number(this.last);
    const parts = this.chapters().filter(({ step }) => step <= Math.max(last, 1));
    const steps = parts.map(({ step }, at) => (parts[at + 1]?.step ?? last + 1) - step);
    const widths = this.widths(parts, steps);
    this.box.replaceChildren();
    this.ends = [];
    const put = (tag, left, width, text, kind) => {
      const mark = document.createElement(tag);
      mark.textContent = text;
      mark.className = kind;
      mark.style.cssText = `left:${left}px;width:${width}px`;
      this.box.append(mark);
      return mark;
    };
    let left = 0;
    this.middles = [];
    this.names = parts.map(({ name, step }, at) => {
      const one = widths[at] / Math.max(steps[at], 1);
      for (let i = 0; i < steps[at]; i += 1) {
        put("i", left + i * one, one - Math.min(BETWEEN, one / 3), "", "");
        this.ends.push(left + (i + 1) * one);
        this.middles.push(left + (i + 0.5) * one - 1);
      }
      const shown = put("b", left, widths[at], name && `${at + 1} ${name}`, "");
      shown.dataset.first = step;
      left += widths[at] + APART;
      return shown;
    });
    const middle = (step) => this.middles[step - 1] ?? 0;
    path.forEach((id, step) => signs[id] && put("i", middle(step), 14, signs[id], "cause"));
    marksOf(path, moments, "broken").forEach((on, step) =>
      on && put("i", middle(step) - 8, 15, "!", "bad"));
    this.fill();
    this.drawn();
  }

  // What was gone through is ink, and the step that one is at stands out.
  fill() {
    if (!this.ends) return;
    const dashes = this.box.querySelectorAll("i:not(.cause,.bad)");
    dashes.forEach((dash, at) => {
      dash.className = at + 1 === this.step ? "now" : at < this.step ? "past" : "";
    });
    const now = this.names.findLast(({ dataset }) => dataset.first <= this.step);
    for (const name of this.names) name.className = name === now ? "now" : "";
  }
}
