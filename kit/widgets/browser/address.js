// What an address says of where one is: `#run=1&step=4&tab=log&lit=A&ask=1`.

// Go where it leads, each part where it is wanted.
export function follow(player, named) {
  const { choices } = player;
  if (named.has("step")) {
    const step = Number(named.get("step")) || 0;
    player.jump(player.locate({ run: Number(named.get("run")) || 1, step }));
  }
  if (named.has("lit") && choices.lit !== named.get("lit")) choices.light(named.get("lit"));
  if (named.has("tab")) choices.turnTo(named.get("tab"));
  if (named.has("ask")) player.press("predict", true);
}

export function placeOf(player) {
  const { run, step } = player.place;
  const { tab, lit } = player.choices;
  const ask = player.isPressed("predict") ? 1 : null;
  const said = Object.entries({ run, step, tab, lit, ask }).filter((pair) => pair[1] != null);
  return new URLSearchParams(said);
}
