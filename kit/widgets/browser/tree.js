// The tree of branches, drawn like the history of a repository: a row a branch, a line from where
// it begins to where it ends, and two buttons, to go there and to put it beside this one.

import { leavesOf, marksOf } from "./branches.js";
import { say } from "./words.js";

const ROW = 34;
const WIDTH = 100;

export class Tree {
  constructor(player) {
    this.player = player;
    this.box = player.part("rows");
    this.count = player.root.querySelector(".kp-tree summary span");
  }

  show() {
    const { store, tip, at, other } = this.player;
    const state = [store.moments.length, tip, at, other].join();
    if (state === this.state) return;
    this.state = state;
    this.leaves = leavesOf(store.moments, tip);
    const { length } = this.leaves;
    this.count.textContent = say("{n} branches", { n: length });
    if (this.box.closest("details").open) this.draw();
  }

  draw() {
    const paths = this.leaves.map((leaf) => this.player.pathTo(leaf));
    const focused = document.activeElement?.dataset?.leaf;
    const action = document.activeElement?.dataset?.do;
    this.box.replaceChildren(this.lines(paths), ...paths.map((path, i) => this.row(path, i)));
    const again = `[data-leaf="${focused}"][data-do="${action}"]`;
    if (focused) this.box.querySelector(again)?.focus();
  }

  lines(paths) {
    const longest = Math.max(1, ...paths.map((path) => path.length - 1));
    const x = (step) => 6 + ((WIDTH - 12) * step) / longest;
    const y = (row) => ROW * (row + 0.5);
    let d = "";
    paths.forEach((path, row) => {
      const { from, step } = parentOf(paths, row);
      if (row) d += `M${x(step)} ${y(from)}V${y(row)}H${x(path.length - 1)}`;
      else d += `M${x(0)} ${y(0)}H${x(path.length - 1)}`;
    });
    const here = paths.findIndex((path) => path.at(-1) === this.player.tip);
    const spot = x(Math.max(0, this.player.step));
    const drawing = document.createElement("template");
    const circle = `<circle class="here" cx="${spot}" cy="${y(Math.max(0, here))}" r="6"/>`;
    const size = `width="${WIDTH}" height="${ROW * paths.length}" aria-hidden="true"`;
    drawing.innerHTML = `<svg ${size}><path d="${d}"/>${circle}</svg>`;
    return drawing.content.firstChild;
  }

  row(path, i) {
    const { store, tip, other } = this.player;
    const leaf = path.at(-1);
    const broken = marksOf(path, store.moments, "broken").findIndex(Boolean);
    const row = Object.assign(document.createElement("div"), { className: "kp-row" });
    const steps = say("{n} steps", { n: path.length - 1 });
    const verb = store.moments[leaf].verb || say("start");
    const name = Object.assign(document.createElement("span"), {
      textContent: `${i + 1}: ${verb}, ${steps}`,
    });
    if (broken >= 0) name.textContent += say(", ! broken at step {step}", { step: broken });
    row.append(name, button("show", leaf, say("show"), leaf === tip, i));
    if (leaf !== tip) row.append(button("compare", leaf, say("compare"), leaf === other, i));
    return row;
  }
}

// The row that a branch leaves, and the step at which it does.
function parentOf(paths, row) {
  let best = { from: 0, step: 0 };
  for (let from = 0; from < row; from += 1) {
    const apart = paths[row].findIndex((id, i) => id !== paths[from][i]);
    const step = apart < 0 ? paths[row].length - 1 : apart - 1;
    if (step > best.step) best = { from, step };
  }
  return best;
}

function button(name, leaf, word, pressed, i) {
  const made = document.createElement("button");
  const ariaLabel = say("{what} branch {number}", { what: word, number: i + 1 });
  Object.assign(made, { type: "button", textContent: word, ariaLabel, ariaPressed: pressed });
  Object.assign(made.dataset, { do: name, leaf });
  return made;
}
