// Frames that the kernel has not drawn: asked for when they are looked at, or ahead, in idle time.


export const CUT = "The kernel is new. Run this cell again.";
const IDLE = 20; // milliseconds in which nothing happened, after which one is drawn ahead
const NEAR = 12; // steps from the shown one that are drawn ahead

export class Frames {
  wanted = null; // what is done once the frame of a moment is there

  constructor(player) {
    this.player = player;
  }

  begin() {
    this.asked = new Set(); // each is asked for ahead once: it may be that it cannot be drawn
  }

  close() {
    clearTimeout(this.rest);
    cancelAnimationFrame(this.next);
  }

  // Do what needs the frame of a moment: at once, or when it has come. What waited is given up.
  given(id, act) {
    const { player } = this;
    this.wanted = null;
    if (player.store.moments[id].root !== null) act();
    else if (player.wire.isCut) player.voice.tell(CUT);
    else {
      this.wanted = { id, act };
      player.wire.need(id);
    }
    this.soon();
  }

  // The kernel has drawn one.
  came() {
    const { player, wanted } = this;
    if (wanted && player.store.moments[wanted.id].root !== null) {
      this.wanted = null;
      wanted.act();
    } else player.compare();
    player.film.draw();
    this.soon();
  }

  // One after the other, once what is seen is painted: whatever the reader does comes first.
  soon() {
    clearTimeout(this.rest);
    cancelAnimationFrame(this.next);
    this.next = requestAnimationFrame(() => {
      this.rest = setTimeout(() => this.ahead(), IDLE);
    });
  }

  ahead() {
    this.player.settle();
    const { path, step, store, wire, isLive } = this.player;
    if (!isLive || wire.isCut || this.wanted) return;
    const after = path.slice(step, step + NEAR + 1);
    const before = path.slice(Math.max(0, step - NEAR), step).reverse();
    const isDue = (id) => store.moments[id].root === null && !this.asked.has(id);
    const next = [...after, ...before].find(isDue);
    if (next === undefined) return;
    this.asked.add(next);
    wire.need(next);
  }
}
