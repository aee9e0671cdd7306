// On a page of its own the keys work wherever one is, but for what has keys of its own: the player,
// what one gets to by Tab. Those that the player does not take, Tab above all, are the browser's.

export function hearKeys(player) {
  addEventListener("keydown", (event) => {
    if (event.target.tabIndex >= 0 || player.root.contains(event.target)) return;
    const passed = player.root.dispatchEvent(new KeyboardEvent("keydown", event));
    if (!passed) event.preventDefault();
  });
}
