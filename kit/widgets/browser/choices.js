// What the reader chose survives every frame: drop-downs, the lit thing, words to search for.

import { all } from "./picture.js";

export class Choices {
  chosen = {};

  constructor(root) {
    this.root = root;
  }

  forget() {
    this.chosen = {};
  }

  choose({ dataset, value }) {
    this.chosen[dataset.choose] = value;
    this.restore();
  }

  light(thing) {
    this.lit = this.lit === thing ? undefined : thing;
    this.restore();
  }

  restore() {
    this.restoreChosen();
    this.restoreLight();
    for (const group of all(this.root, "[data-rove]"))
      if (!group.querySelector('[tabindex="0"]'))
        group.querySelector("[data-roving]")?.setAttribute("tabindex", "0");
    all(this.root, "input[data-filter]").forEach(search);
  }

  restoreChosen() {
    for (const select of all(this.root, "select[data-choose]")) {
      const name = select.dataset.choose;
      this.chosen[name] = select.value = this.chosen[name] ?? select.value;
    }
    for (const part of all(this.root, "[data-choice]")) {
      const [name, value] = JSON.parse(part.dataset.choice);
      part.hidden = this.chosen[name] !== value;
    }
  }

  restoreLight() {
    for (const part of all(this.root, "[data-of]"))
      part.toggleAttribute("data-my-lit", part.dataset.of === this.lit);
    for (const part of all(this.root, "[data-spot]"))
      part.setAttribute("aria-pressed", String(part.dataset.spot === this.lit));
  }
}

function search(box) {
  const list = box.closest("[data-sift]").querySelector("[data-find]");
  const word = box.value.trim().toLowerCase();
  if (!word && !list.dataset.myCount) return;
  for (const item of all(list, "li"))
    item.toggleAttribute("data-my-hit", word && item.textContent.toLowerCase().includes(word));
  list.dataset.myCount = word && `${all(list, "[data-my-hit]").length} found`;
}
