// On paper: the milestones of the branch as captioned pictures, six a sheet, without controls.

import { marksOf } from "./branches.js";
import { say } from "./words.js";

const ON_A_SHEET = 6;

export class Paper {
  constructor(player) {
    this.player = player;
    this.heard = { beforeprint: () => this.lay(), afterprint: () => this.sheets?.remove() };
    for (const name in this.heard) addEventListener(name, this.heard[name]);
  }

  close() {
    for (const name in this.heard) removeEventListener(name, this.heard[name]);
  }

  lay() {
    const { path, root, store } = this.player;
    this.sheets?.remove();
    this.sheets = document.createElement("div");
    this.sheets.className = "kp-paper";
    this.chosen().forEach(([step, name], at) => {
      const frame = document.createElement("template");
      frame.innerHTML = store.html(store.moments[path[step]].root);
      const figure = document.createElement("figure");
      const caption = document.createElement("figcaption");
      const said = frame.content.firstChild.dataset.say;
      const place = [say("Step {step}", { step }), name].filter(Boolean).join(", ");
      caption.textContent = `${place}. ${said}`;
      figure.append(frame.content.querySelector(".kp-picture .panel,.kp-page"), caption);
      if (!(at % ON_A_SHEET)) this.sheets.append(document.createElement("section"));
      this.sheets.lastChild.append(figure);
    });
    root.append(this.sheets);
  }

  // The steps that reached a milestone; of a run without one, six from its start to its end.
  chosen() {
    const { path, store } = this.player;
    const marks = marksOf(path, store.moments, "milestone").map((name, step) => [step, name]);
    const named = marks.filter(([, name]) => name);
    const far = (i) => Math.round((i * (path.length - 1)) / (ON_A_SHEET - 1));
    const spread = [...new Set([...Array(ON_A_SHEET).keys()].map(far))].map((step) => [step, ""]);
    return (named.length ? named : spread)
      .filter(([step]) => store.moments[path[step]].root !== null);
  }
}
