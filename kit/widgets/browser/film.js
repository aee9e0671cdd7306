// Film: the milestones of the branch as small pictures; a press on one goes to its step.

import { captioned, chosen } from "./paper.js";
import { all, QUIET } from "./picture.js";

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
    if (on) this.draw(true);
    else if (within) player.range.focus(QUIET);
    return isOpen;
  }

  // The focus stays: on the last milestone up to where one is (later moments have higher numbers).
  draw(within = this.box.contains(document.activeElement)) {
    if (!this.isOpen) return;
    this.box.replaceChildren(...chosen(this.player, true).map((one) => this.card(one)));
    const isPast = ({ dataset }) => dataset.moment <= this.player.at;
    if (within) all(this.box, "button").findLast(isPast).focus();
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
    if (id === player.at) press.ariaCurrent = "step";
    figure.lastChild.replaceChildren(press);
    return figure;
  }
}
