// On a page of its own the keys work wherever one is; those that the player does not take, Tab
// above all, are the browser's.

export function hearKeys(player) {
  addEventListener("keydown", (event) => {
    if (event.target !== document.body) return;
    const passed = player.root.dispatchEvent(new KeyboardEvent("keydown", event));
    if (!passed) event.preventDefault();
  });
}
