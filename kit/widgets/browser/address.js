// What an address says of where one is: `#run=1&step=4&tab=log&lit=A&ask=1`. Runs are counted as in
// the list of branches, and all steps count.

import { leavesOf } from "./branches.js";
import { all } from "./picture.js";
import { say } from "./words.js";

const FIELDS = ["run", "step", "tab", "lit", "ask"];

// Go where it leads, each part where it is wanted; what leads nowhere is told.
export function follow(player, named) {
  const { choices, tip } = player;
  const wrong = [];
  const refuse = (field, allowed) => {
    const value = named.get(field);
    wrong.push(say("{field}: got '{value}', allowed: {allowed}.", { field, value, allowed }));
  };
  const number = (field, least, most, usual) => {
    const value = named.get(field) ?? usual;
    if (/^\d+$/.test(value) && value >= least && value <= most) return Number(value);
    refuse(field, say("a number from {least} to {most}", { least, most }));
    return value > most ? most : usual;
  };
  for (const field of named.keys())
    if (!FIELDS.includes(field) && !/^step-/.test(field)) refuse(field, FIELDS.join(", "));
  if (named.has("run") || named.has("step")) {
    const leaves = leavesOf(player.store.moments, tip);
    const leaf = leaves[number("run", 1, leaves.length, leaves.indexOf(tip) + 1) - 1];
    const path = player.fullPath(leaf);
    const id = path[number("step", 0, path.length - 1, 0)];
    player.follow(leaf, id);
    player.jump(id);
  }
  if (named.has("lit") && choices.lit !== named.get("lit")) choices.light(named.get("lit"));
  const tab = named.get("tab");
  if (tab !== null) {
    const tabs = all(player.root, "[data-tab]").map(({ dataset }) => dataset.tab);
    if (tabs.includes(tab)) choices.turnTo(tab);
    else refuse("tab", [...new Set(tabs)].join(", "));
  }
  if (named.has("ask")) player.press("predict", true);
  if (wrong.length) player.voice.tell(wrong.join(" "));
}

export function placeOf(player) {
  const { tip, full, at, choices } = player;
  const run = leavesOf(player.store.moments, tip).indexOf(tip) + 1;
  const ask = player.isPressed("predict") ? 1 : null;
  const values = [run, full.indexOf(at), choices.tab, choices.lit, ask];
  const said = FIELDS.map((field, i) => [field, values[i]]).filter((pair) => pair[1] != null);
  return new URLSearchParams(said);
}
