// JupyterLab saves what the widget's model holds. So that a saved notebook can be walked through
// without a kernel, the model holds the history as it stands; the kernel hears nothing of it.

const REST = 300; // milliseconds after which what has come is packed again
const SHARE = 20; // a long history is packed after so many times what its packing takes
const MOST_KEPT = 4_000_000; // characters of texts

export class Keeper {
  cost = 0; // milliseconds that writing the last pack took

  constructor(player, model) {
    Object.assign(this, { player, model });
    player.wire.changed = () => this.soon();
  }

  close() {
    clearTimeout(this.rest);
  }

  soon() {
    clearTimeout(this.rest);
    const rest = Math.max(REST, SHARE * this.cost);
    this.rest = setTimeout(() => this.player.wire.then(() => this.keep()), rest);
  }

  async keep() {
    const { at, tip, store, wire } = this.player;
    const { texts } = store;
    const known = this.model.get("pack");
    if (texts.reduce((size, text) => size + text.length, 0) > MOST_KEPT) return;
    const began = performance.now();
    const moments = store.moments.map((moment) => Object.values(moment));
    const position = { at, tip, sequence: wire.told.sequence };
    const pack = JSON.stringify({ session: wire.session, texts, moments, position });
    this.cost = performance.now() - began;
    const packed = new Blob([pack]).stream().pipeThrough(new CompressionStream("gzip"));
    const bytes = new DataView(await new Response(packed).arrayBuffer());
    bytes.isKept = true;
    // What the kernel sent meanwhile is newer, and waits to be unpacked.
    if (this.model.get("pack") === known) this.model.set("pack", bytes);
  }
}
