// What the reader chose survives every frame: tabs, drop-downs, the lit thing, words searched for.

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

  turnTo(name) {
    this.tab = name;
    this.restoreTabs();
  }

  restore() {
    this.restoreTabs();
    this.restoreChosen();
    this.restoreLight();
    for (const group of all(this.root, "[data-rove]"))
      if (!group.querySelector('[tabindex="0"]'))
        group.querySelector("[data-roving]")?.setAttribute("tabindex", "0");
    all(this.root, "input[data-filter]").forEach(search);
  }

  // One panel of the pane is seen: the chosen one, or the first where that has nothing to show.
  restoreTabs() {
    for (const pane of all(this.root, ".kp-pane")) {
      const tabs = all(pane, "[data-tab]");
      const shown = tabs.find((tab) => tab.dataset.tab === this.tab) || tabs[0];
      const key = `panel:${shown.dataset.tab}`;
      for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab === shown));
      for (const page of all(pane, ".kp-page")) page.hidden = page.dataset.k !== key;
    }
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
