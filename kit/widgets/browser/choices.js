// What the reader chose survives every frame: tabs, drop-downs, the lit thing, words searched for.

import { Ghosts } from "./ghosts.js";
import { all, partsOf, unmark, withKey } from "./picture.js";

export class Choices {
  chosen = {};
  blamed = []; // the culprits of a promise that breaks

  // `settle` brings pages that nobody sees up to the shown frame.
  constructor(root, settle) {
    Object.assign(this, { root, settle, ghosts: new Ghosts(root) });
  }

  choose({ dataset, value }) {
    this.chosen[dataset.choose] = value;
    this.restore();
  }

  // A press lights a thing wherever it is shown, until it is pressed again or something else is.
  // It answers a question that is open: it ticks one choice on the thing more, or then none.
  // Returns whether it did.
  light(thing) {
    const boxes = this.asked(`[data-thing="${CSS.escape(thing)}"]`);
    const open = boxes.findLast((box) => !box.checked);
    for (const box of open ? [open] : boxes) box.checked = open;
    if (boxes.length) this.restoreLight();
    else if (this.lit === thing) this.dark();
    else {
      this.lit = thing;
      this.restoreLight();
      this.bring(partsOf(thing));
    }
    return boxes.length > 0;
  }

  // The lit row comes into sight, now where its page is shown, else once it is.
  bring(thing) {
    this.settle();
    const rowIn = (page) => page.querySelector(`tr${thing}`) || page.querySelector(thing);
    const pages = all(this.root, ".kp-stage .kp-page").filter(rowIn);
    const page = pages.find((one) => !one.hidden);
    if (!page) return;
    const part = rowIn(page);
    for (let around = part; around !== page; around = around.parentNode)
      if (around.matches("details")) around.open = true;
    part.scrollIntoView({ block: "nearest" });
  }

  // What is pointed at, has the focus or is walked to is lit meanwhile.
  point(thing) {
    if (this.pointed === thing) return;
    this.pointed = thing;
    this.restoreLight();
  }

  asked(kind) {
    return all(this.root, `.kp-ask:not([hidden]) ${kind}`);
  }

  dark() {
    this.lit = this.pointed = undefined;
    this.restoreLight();
  }

  // A thing and what it names: a broken promise names nodes, ranges, messages.
  named(thing) {
    const part = this.root.querySelector(`${partsOf(thing)}[data-names]`);
    return [thing, ...JSON.parse(part?.dataset.names || "[]")];
  }

  turnTo(name) {
    this.settle();
    this.tab = name;
    this.restoreTabs();
    if (this.lit) this.bring(partsOf(this.lit));
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
      const { tab } = (tabs.find(({ dataset }) => dataset.tab === this.tab) || tabs[0]).dataset;
      for (const one of tabs) one.ariaPressed = one.dataset.tab === tab;
      for (const page of all(pane, ".kp-page")) page.hidden = page.dataset.k !== `panel:${tab}`;
    }
  }

  restoreChosen() {
    for (const select of all(this.root, "select[data-choose]")) {
      const name = select.dataset.choose;
      const value = (select.value = this.chosen[name] ??= select.value);
      if (select.selectedIndex < 0) // not there at this step; kit/views/logs.py tags with bars
        select.add(new Option(value.replaceAll("|", ""), value, 1, 1));
    }
    for (const part of all(this.root, "[data-choice]")) {
      const [name, value] = JSON.parse(part.dataset.choice);
      part.hidden = this.chosen[name] !== value;
    }
  }

  restoreLight() {
    unmark(this.root, "data-my-lit");
    const ticked = this.asked("[data-thing]:checked").map(({ dataset }) => dataset.thing);
    if (this.asked("input").length) this.ghosts.put(ticked.map((thing) => [thing, "?"]));
    const chosen = [this.lit, this.pointed, ...ticked].filter(Boolean);
    for (const thing of [...this.blamed, ...chosen.flatMap((one) => this.named(one))])
      for (const part of all(this.root, `${partsOf(thing)},svg ${withKey(thing)}`))
        part.setAttribute("data-my-lit", "");
    for (const part of all(this.root, "[data-spot]"))
      part.ariaPressed = part.dataset.spot === this.lit;
  }
}

// What a part is about; many parts may be about one thing.
export function thingAt(target) {
  return target?.closest?.("[data-of]")?.dataset.of;
}

// The part that a press is for: what is about something, or what says what it is. A label and a
// wire are for what they belong to.
export function partAt(target) {
  const part = target.closest("[data-of]") ?? target.closest("svg [data-k]");
  const [, key] = /^(?:label|wire):(.*)/.exec(part?.dataset.k) ?? [];
  const own = key && part.ownerSVGElement.querySelector(withKey(key));
  return (own || part)?.closest("[data-of],[data-k]:has(>title)");
}

// Items that hold what is typed and what the drop-downs beside it say, in their words or tags.
// Returns how many there are, in words.
export function search(box) {
  const sift = box.closest("[data-sift]");
  const list = sift.querySelector("[data-find]");
  const words = all(sift, "input,select")
    .map(({ value }) => value.trim().toLowerCase())
    .filter(Boolean);
  const any = words.length;
  if (!any && !list.dataset.myCount) return;
  let found = 0;
  for (const item of all(list, "li")) {
    const text = [item.textContent, item.dataset.tags].join().toLowerCase();
    found += item.toggleAttribute("data-my-hit", any && words.every((word) => text.includes(word)));
  }
  if (any) return (list.dataset.myCount = `${found} found`);
  delete list.dataset.myCount;
}
