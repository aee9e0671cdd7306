// The marks of the time bar: a tick and a name for a milestone, a red sign where a promise broke.

import { marksOf } from "./branches.js";

// Of its height a letter is wide at most, so that no name is measured; nor is the height at each
// step: it changes only with the width of the bar.
const LETTER = 0.62;
const GAP = 8; // pixels between two names, and by which one may stand out

export class TimeBar {
  constructor(part, range) {
    Object.assign(this, { box: part("ticks"), future: part("ahead"), where: part("where"), range });
    this.watch = new ResizeObserver(([{ contentRect }]) => {
      this.width = contentRect.width - 2 * GAP;
      this.letter = LETTER * parseFloat(getComputedStyle(this.box).fontSize);
      this.draw();
    });
    this.watch.observe(range);
  }

  close() {
    this.watch.disconnect();
  }

  show(path, moments, step) {
    const { max } = this.range;
    this.ahead(step / Math.max(max, 1));
    if (path === this.path && moments.length === this.known && max === this.last) return;
    Object.assign(this, { path, moments, known: moments.length, last: max });
    this.draw();
  }

  // The steps of a cause, and where a loop begins: the sign of each by its moment.
  mark(signs) {
    this.signs = signs;
    this.draw();
  }

  // The steps to come are hatched.
  ahead(part) {
    this.future.style.width = `calc((100% - 16px)*${1 - part})`;
  }

  draw() {
    if (!this.path || !this.width) return;
    const { path, moments, signs = {} } = this;
    const last = Math.max(this.last, 1);
    this.box.replaceChildren();
    const put = (tag, step, text, kind) => {
      const mark = document.createElement(tag);
      mark.textContent = text;
      mark.className = kind;
      mark.style.left = `${(100 * step) / last}%`;
      this.box.append(mark);
      return mark;
    };
    this.names(marksOf(path, moments, "milestone"), last, put);
    path.forEach((id, step) => signs[id] && put("i", step, signs[id], "cause"));
    marksOf(path, moments, "broken").forEach((on, step) => on && put("i", step, "!", "bad"));
  }

  // Names stand where there is room, from the right, so that the latest is always named.
  names(milestones, last, put) {
    const width = this.width / last;
    let free = this.width + GAP;
    for (let step = milestones.length - 1; step >= 0; step -= 1) {
      if (!milestones[step]) continue;
      put("i", step, "", "");
      const name = put("b", step, milestones[step], "");
      const size = this.letter * milestones[step].length;
      const left = Math.max(-GAP, Math.min(step * width - size / 2, free - size));
      const fits = Math.abs(left + size / 2 - step * width) <= size / 2 && left + size <= free;
      if (!fits) name.remove();
      else {
        name.style.left = `${left + size / 2}px`;
        free = left - GAP;
      }
    }
  }
}
