// What an address says of where one is: `#run=1&step=4&tab=log&lit=A&ask=1`. Runs are counted as in
// the list of branches, and all steps count.

import { leavesOf } from "./branches.js";
import { all, partsOf } from "./picture.js";

const FIELDS = ["run", "step", "tab", "lit", "ask"];

// By the event of a change, not by what stands there when it is heard: a player that comes to rest
// in between has written its own place.
export function namedIn(url = location.href) {
  return new URLSearchParams(new URL(url).hash.slice(1));
}

// Go where it leads, each part where it is wanted; what leads nowhere is told.
export function follow(player, named) {
  const { choices, tip } = player;
  const wrong = strange(named, FIELDS);
  const refuse = (field, allowed) => wrong.push(refusal(named, field, allowed));
  const number = (field, least, most, usual) => {
    const value = named.get(field) ?? usual;
    if (/^\d+$/.test(value) && value >= least && value <= most) return Number(value);
    refuse(field, `a number from ${least} to ${most}`);
    return value > most ? most : usual;
  };
  if (named.has("run") || named.has("step")) {
    const leaves = leavesOf(player.store.moments, tip);
    const leaf = leaves[number("run", 1, leaves.length, leaves.indexOf(tip) + 1) - 1];
    const path = player.fullPath(leaf);
    const id = path[number("step", 0, path.length - 1, 0)];
    player.follow(leaf, id);
    player.jump(id);
  }
  const lit = named.get("lit");
  if (lit !== null && choices.lit !== lit) {
    choices.light(lit);
    if (!isShown(player, lit)) {
      choices.dark();
      refuse("lit", "a thing in the picture");
    }
  }
  const tab = named.get("tab");
  if (tab !== null) {
    const tabs = all(player.root, "[data-tab]").map(({ dataset }) => dataset.tab);
    if (tabs.includes(tab)) choices.turnTo(tab);
    else refuse("tab", [...new Set(tabs)].join(", "));
  }
  if (named.get("ask") === "1") player.press("predict", true);
  else if (named.has("ask")) refuse("ask", 1);
  if (wrong.length) player.voice.tell(wrong.join(" "));
}

// What an address has that is not of these fields, or more than once.
export function strange(named, fields) {
  const known = (field) => fields.includes(field);
  return [...new Set(named.keys())]
    .filter((field) => !known(field) || named.getAll(field).length > 1)
    .map((field) => refusal(named, field, known(field) ? "one value" : fields.join(", ")));
}

export function refusal(named, field, allowed) {
  const value = named.getAll(field).join(", ");
  return `${field}: got '${value}', allowed: ${allowed}.`;
}

function isShown(player, thing) {
  return player.root.querySelector(partsOf(thing)) !== null;
}

export function placeOf(player) {
  const { tip, full, at, choices } = player;
  const run = leavesOf(player.store.moments, tip).indexOf(tip) + 1;
  const ask = player.isPressed("predict") ? 1 : null;
  const lit = choices.lit && isShown(player, choices.lit) ? choices.lit : null;
  const values = [run, full.indexOf(at), choices.tab, lit, ask];
  const said = FIELDS.map((field, i) => [field, values[i]]).filter((pair) => pair[1] != null);
  return new URLSearchParams(said);
}
