// On paper: the milestones of the branch as captioned pictures, six a sheet, without controls.

import { marksOf } from "./branches.js";

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
    const { player } = this;
    this.sheets?.remove();
    this.sheets = document.createElement("div");
    this.sheets.className = "kp-paper";
    chosen(player).forEach(([id, name], at) => {
      if (!(at % ON_A_SHEET)) this.sheets.append(document.createElement("section"));
      this.sheets.lastChild.append(captioned(player, id, player.full.indexOf(id), name));
    });
    player.root.append(this.sheets);
  }
}

// The moments that reached a milestone or broke a promise, and their names; of a run without one,
// six from its start to its end. A `whole` run has its start and its end, too.
export function chosen({ path, store }, whole = false) {
  const [reached, broken] = ["milestone", "broken"].map((mark) =>
    marksOf(path, store.moments, mark));
  const name = (i) =>
    [reached[i], broken[i] && "! a promise broke"].filter(Boolean).join(", ");
  const far = (i) => Math.round((i * (path.length - 1)) / (ON_A_SHEET - 1));
  const isNamed = path.some((_, i) => name(i));
  const spread = new Set([...Array(ON_A_SHEET).keys()].map(far));
  const isEnd = (i) => whole && (!i || i === path.length - 1);
  return path
    .map((id, i) => [id, name(i), i])
    .filter(([, , i]) => isEnd(i) || (isNamed ? name(i) : spread.has(i)));
}

// The picture of a moment, and below it its step and what happened. One that nobody has drawn yet
// is asked for.
export function captioned({ store, wire }, id, step, name = "") {
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  figure.className = "kp-small";
  const { root, verb } = store.moments[id];
  let said = verb;
  if (root === null) wire.need(id);
  else {
    const frame = document.createElement("template");
    frame.innerHTML = store.html(root);
    said = frame.content.firstChild.dataset.say;
    const picture = frame.content.querySelector(".kp-picture .panel,.kp-page");
    picture.inert = true;
    figure.append(picture);
  }
  const place = [`Step ${step}`, name].filter(Boolean).join(", ").replace("\n", ", ");
  caption.textContent = `${place}. ${said}`;
  figure.append(caption);
  return figure;
}
