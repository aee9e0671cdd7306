// Film: the milestones of the branch as small pictures; a press on one goes to its step.

import { captioned, chosen } from "./paper.js";
import { all } from "./picture.js";

export class Film {
  constructor(player) {
    this.player = player;
    this.box = player.part("film");
  }

  get isOpen() {
    return !this.box.hidden;
  }

  // Open or close; tell whether it was open. The focus goes where it is of use.
  toggle(on = !this.isOpen) {
    const { isOpen, player } = this;
    const within = this.box.contains(document.activeElement);
    if (on && !isOpen) player.sheets.close();
    this.box.hidden = !on;
    player.press("film", on);
    if (on) {
      this.draw();
      this.focus();
    } else if (within) player.range.focus({ preventScroll: true });
    return isOpen;
  }

  draw() {
    if (!this.isOpen) return;
    const within = this.box.contains(document.activeElement);
    this.box.replaceChildren(...chosen(this.player, true).map((one) => this.card(one)));
    if (within) this.focus();
  }

  // The last milestone up to where one is, or else the first.
  focus() {
    const { at, full } = this.player;
    const step = (one) => full.indexOf(Number(one.dataset.moment));
    const presses = all(this.box, "button");
    const passed = presses.findLast((one) => step(one) <= full.indexOf(at));
    (passed || presses[0])?.focus();
  }

  go(id) {
    this.toggle(false);
    this.player.jump(id);
  }

  card([id, name]) {
    const { player } = this;
    const figure = captioned(player, id, player.full.indexOf(id), name);
    const press = document.createElement("button");
    Object.assign(press, { type: "button", textContent: figure.lastChild.textContent });
    Object.assign(press.dataset, { do: "frame", moment: id });
    if (id === player.at) press.setAttribute("aria-current", "step");
    figure.lastChild.replaceChildren(press);
    return figure;
  }
}
