// The drawer of a page whose engine is in a worker: its controls, and the worker that searches. It
// is begun when the drawer is opened, and ended when a search is stopped: the next one has another.

import { Engine } from "./engine.js";

export class Desk {
  states = 0;

  constructor(sheet, fetched, place, say) {
    Object.assign(this, { sheet, fetched, place, say });
    sheet.addEventListener("click", ({ target }) => this.press(target.dataset.setup));
    sheet.addEventListener("change", ({ target }) => this.change(target));
    sheet.addEventListener("keydown", (event) => event.key !== "Escape" && event.stopPropagation());
  }

  // The engine has drawn it again; who is in a control stays there.
  show(html) {
    const { sheet } = this;
    const named = ({ dataset }) => JSON.stringify({ ...dataset });
    const before = sheet.contains(document.activeElement) && named(document.activeElement);
    sheet.innerHTML = html;
    const same = [...sheet.querySelectorAll("input,select,button")];
    if (before) same.find((one) => named(one) === before)?.focus();
  }

  press(name) {
    if (name === "reset" || name === "link") this.say({ setup: name });
    if (name === "search" && !this.isBusy) {
      const most = Number(this.sheet.querySelector("[type=number]:not([data-change])").value);
      this.say({ setup: "search", most });
    }
    if (name === "stop") {
      this.halt();
      this.stopped();
    }
  }

  halt() {
    this.engine?.end();
    this.engine = undefined;
  }

  stopped() {
    this.busy(false);
    this.say({ setup: "stopped", states: this.states });
  }

  change({ dataset, checked, value, type }) {
    if (dataset.switch) this.say({ setup: "switch", name: dataset.switch, on: checked });
    if (!dataset.change) return;
    const kinds = { switch: checked, number: Number(value), text: value };
    const plain = dataset.kind === "choice" ? JSON.parse(value) : kinds[dataset.kind];
    this.say({ setup: "change", name: dataset.change, value: plain });
  }

  // A Python of its own, so that the engine goes on answering.
  begin() {
    const failed = (why) => this.hear({ failed: why });
    this.engine ??= new Engine(this.fetched, (said) => this.hear(JSON.parse(said)), failed);
  }

  search(given) {
    this.begin();
    this.states = 0;
    this.busy(true);
    this.engine.ask("search", given);
  }

  // What is asked of a broken promise: the engine hears what is said of it.
  inquire(given) {
    this.begin();
    this.engine.ask("inquire", given);
  }

  hear(told) {
    const { states, count, verdict, failed, inquiry } = told;
    if (states) this.states = states;
    if (count) this.count(count);
    if (inquiry) this.say(told);
    if (verdict) {
      this.busy(false);
      this.say(verdict);
    }
    if (!failed) return;
    this.halt();
    this.say({ inquiry: "found", why: String(failed) });
    if (!this.isBusy) return;
    this.stopped();
    this.count(String(failed));
  }

  count(words) {
    this.sheet.querySelector(".kit-count").textContent = words;
  }

  busy(on) {
    this.isBusy = on;
    this.sheet.toggleAttribute("data-my-busy", on);
    this.count(on ? this.place.searching : "");
  }
}
