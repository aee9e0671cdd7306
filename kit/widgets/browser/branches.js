// The branches of the history: which there are, and how two of them differ.

import { all } from "./picture.js";

// The moments that a person steps through, from the start to a leaf.
export function pathTo(leaf, moments, isStep) {
  const path = [];
  for (let id = leaf; id >= 0; id = moments[id].parent)
    if (id === leaf || isStep(moments[id])) path.push(id);
  return path.reverse();
}

// One entry a branch, named by its number and its last step.
export function branches(moments, tip) {
  const parents = new Set(moments.map((moment) => moment.parent));
  const leaves = moments.map((_, id) => id).filter((id) => id === tip || !parents.has(id));
  return leaves.map((leaf, i) => [leaf, `branch ${i + 1}: ${moments[leaf].verb || "start"}`]);
}

// Fill a drop-down; the options stay the same elements while their texts do.
export function offer(select, entries, chosen) {
  const text = JSON.stringify(entries);
  if (select.offered !== text) {
    select.offered = text;
    select.replaceChildren(...entries.map(([value, name]) => new Option(name, value)));
  }
  select.value = entries.some(([value]) => value === chosen) ? chosen : entries[0][0];
}

// Say where two paths part, and what each does there.
export function parting(path, other, moments) {
  const first = path.findIndex((id, i) => id !== other[i]);
  const verb = (ids) => moments[ids[first]]?.verb || "nothing more";
  if (first < 0) return "";
  return `The branches part at step ${first}. Here: ${verb(path)}. There: ${verb(other)}.`;
}

// Mark in both pictures the smallest parts that the other has not, or has otherwise.
export function markDifferences(one, two) {
  for (const [picture, other] of [[one, two], [two, one]])
    for (const [key, part] of picture.live) {
      const same = other.live.get(key)?.keyed.id === part.keyed.id;
      if (!same && !part.querySelector("[data-k]") && !part.closest("[data-quiet]"))
        part.setAttribute("data-my-diff", "");
    }
}

export function unmark(root) {
  for (const part of all(root, "[data-my-diff]")) part.removeAttribute("data-my-diff");
}
