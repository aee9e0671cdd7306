// Full screen and large type. Where there is no full screen, the window is filled.

export class Projector {
  isOn = false;

  constructor(player) {
    this.player = player;
    this.left = () => {
      if (this.isOn && this.isFull && !document.fullscreenElement) this.toggle();
    };
    document.addEventListener("fullscreenchange", this.left);
  }

  close() {
    document.removeEventListener("fullscreenchange", this.left);
  }

  async toggle() {
    const { root } = this.player;
    this.isOn = !this.isOn;
    this.player.press("projector", this.isOn);
    root.toggleAttribute("data-my-large", this.isOn);
    if (!document.activeElement.checkVisibility()) this.player.range.focus(); // keys go on
    try {
      if (this.isOn) await root.requestFullscreen(); // perhaps switched off meanwhile
      if (!this.isOn && document.fullscreenElement) await document.exitFullscreen();
      this.isFull = this.isOn;
    } catch {
      this.isFull = false;
    }
  }
}
