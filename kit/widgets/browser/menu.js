// The menu of a thing in the picture: what is known of it, and what may be done with it.

import { bounds } from "./motion.js";
import { all, partsOf, QUIET } from "./picture.js";
import { PICTURES } from "./spots.js";

const FACTS = 3;
const NEARBY = 6; // pixels between a thing and its menu

export class Menu {
  constructor(player) {
    this.player = player;
    this.box = player.part("menu");
  }

  // Close; tell whether it was open. The focus goes back where it was.
  close() {
    const { box } = this;
    const isOpen = !box.hidden;
    const within = box.contains(document.activeElement);
    box.hidden = true;
    this.thing = undefined;
    if (within) (this.from?.isConnected ? this.from : this.player.range).focus();
    return isOpen;
  }

  // A press on a part of the picture opens the menu of its thing, and another one closes it.
  press(part, thing) {
    const again = this.thing === thing;
    this.close();
    if (again || !part.closest(PICTURES)) return;
    const actions = this.actions(thing);
    const [name, ...facts] = this.facts(part, thing);
    if (!actions.length && !facts.length) return;
    this.thing = thing;
    this.open(part, name, facts, actions);
  }

  // Facts, then the same buttons as among all actions; a refused one says why.
  open(part, name, facts, actions) {
    this.from = document.activeElement;
    const list = line("ul", "");
    list.append(...facts.map((fact) => line("li", fact)));
    this.box.replaceChildren(line("strong", name), list, ...actions.flatMap(copied));
    this.box.ariaLabel = `${name}: what you can do`;
    this.box.hidden = false;
    this.place(part);
    this.box.querySelector("button,[tabindex]")?.focus(QUIET);
  }

  // What it is called, then facts: what the part says of itself, the cells of its row in a table,
  // and what else is written there.
  facts(part, thing) {
    const around = part.closest("g:has(>title)")?.querySelector("title");
    const titles = new Set([around, ...all(part, "title")].filter(Boolean));
    const words = [...titles].map(({ textContent }) => textContent);
    const [, name, first] = /^((?:\(.*?]|[^;.:,])+): (.*)/s.exec(words[0] ?? part.ariaLabel) ?? [];
    if (name) words[0] = first;
    const said = (words.length ? words : [part.ariaLabel ?? ""]).flatMap((one) =>
      one.split(/[;.]\s+/));
    const row = this.player.main.box.querySelector(`tr${partsOf(thing)}`);
    const heads = row ? all(row.closest("table"), "thead th") : [];
    const cells = row ? [...row.cells] : [];
    cells.forEach((cell, i) => i && said.push(`${heads[i]?.textContent}: ${cell.textContent}`));
    const known = [name ?? thing.replace(/^\w+:/, ""), ...said];
    const texts = [part, ...all(part, "text:not(.letter-of)")];
    const written = texts.flatMap(({ localName, textContent }) =>
      (localName === "text" ? textContent : []));
    known.push(...written.filter((text) => !known.some((one) => one.includes(text))));
    const facts = known.map((fact) => fact.replaceAll("\u200b", "").trim());
    return [...new Set(facts)].filter(Boolean).slice(0, FACTS + 1);
  }

  // The actions that name the thing; who leads offers those that name nothing in the picture, too.
  actions(thing) {
    const { main } = this.player;
    const offered = all(main.box, ".actions [data-names]");
    const within = (parts) => all(main.box, `${PICTURES} ${parts}`);
    const home = within("[data-of]:has(.crown)")[0] ?? within(".aside")[0];
    const mine = offered.filter(isFor(thing));
    if (thing !== home?.dataset.of) return mine;
    const things = new Set(within("[data-of]").map(({ dataset }) => dataset.of));
    const others = [...things].map(isFor);
    return [...mine, ...offered.filter((action) => !others.some((of) => of(action)))];
  }

  // Beside the thing, within the board.
  place(part) {
    const { box, player } = this;
    const outer = bounds(player.root);
    const board = bounds(player.part("board"));
    const { left, right, top } = bounds(part);
    const { offsetWidth: wide, offsetHeight: high } = box;
    const x = right + NEARBY + wide > board.right ? left - NEARBY - wide : right + NEARBY;
    const y = Math.min(top, board.bottom - high - NEARBY);
    box.style.left = `${Math.max(board.left, x) - outer.left}px`;
    box.style.top = `${Math.max(board.top, y) - outer.top}px`;
  }
}

// Whether an action names a thing: by its fields, or by what it is called.
function isFor(thing) {
  const names = thing.split(/[\s:|]+/);
  const said = [thing, names.slice(1).join(" "), names.join(" ")].filter(isNaN); // no mere number
  return ({ dataset, textContent }) =>
    [...JSON.parse(dataset.names), ...textContent.split(/[\s:,()>]+/)].some((word) =>
      said.includes(word));
}

function copied(action) {
  const button = action.cloneNode(true);
  const { refused } = button.dataset;
  button.dataset.roving = "";
  for (const name of ["k", "key"]) delete button.dataset[name];
  return refused ? [button, line("small", refused)] : [button];
}

function line(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}
