// What is shown is as high as what is visible of the notebook, or else of the window.

export const NOTEBOOK = ".jp-WindowedPanel-outer,.jp-Notebook";

export class Room {
  give(root, around) {
    if (!around) return;
    this.watch = new ResizeObserver(() =>
      root.style.setProperty("--room", `${around.clientHeight}px`));
    this.watch.observe(around);
  }

  close() {
    this.watch?.disconnect();
  }
}
