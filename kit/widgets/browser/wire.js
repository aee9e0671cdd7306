// The page's end of the wire; kit/views/wire.py describes what passes.

const REST = 300; // milliseconds after which what has come is packed again
const MOST_KEPT = 4_000_000; // characters of texts
const kept = new WeakSet(); // packs that were made here

export class Wire {
  session = "";
  sequence = 0;

  constructor(model, store, player) {
    Object.assign(this, { model, store, player });
    this.queue = this.load(); // updates wait until what came before them has been unpacked
    this.packed = () => kept.has(model.get("pack")) || this.then(() => this.load());
    this.heard = (update) => this.then(() => this.receive(update));
    model.on("change:pack", this.packed);
    model.on("msg:custom", this.heard);
  }

  close() {
    clearTimeout(this.rest);
    this.model.off("change:pack", this.packed);
    this.model.off("msg:custom", this.heard);
  }

  then(next) {
    this.queue = this.queue.then(next);
  }

  async load() {
    const stream = new Blob([this.model.get("pack")]).stream();
    const unpacked = stream.pipeThrough(new DecompressionStream("gzip"));
    const pack = JSON.parse(await new Response(unpacked).text());
    this.store.begin(pack);
    this.session = pack.session;
    this.sequence = pack.position.sequence;
    this.player.begin(pack.position);
    this.sync();
  }

  receive(update) {
    const { texts, moments } = this.store;
    if (update.session !== this.session) return;
    if (update.base > texts.length || update.first > moments.length) {
      this.sync();
      return;
    }
    this.store.add(update);
    if (update.position) {
      this.sequence = update.position.sequence;
      this.player.moveTo(update.position);
    } else if (update.first <= this.player.at) this.player.show(false);
    if (update.error) this.player.refused(update.error);
    this.keepSoon();
  }

  // JupyterLab saves what the widget's model holds: so it holds the history as it stands, that the
  // saved notebook can be walked through without a kernel. The kernel hears nothing of it.
  keepSoon() {
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.then(() => this.keep()), REST);
  }

  async keep() {
    const { texts, moments } = this.store;
    if (texts.reduce((size, text) => size + text.length, 0) > MOST_KEPT) return;
    const { at, tip } = this.player;
    const pack = {
      session: this.session,
      texts,
      moments: moments.map((moment) => Object.values(moment)),
      position: { at, tip, sequence: this.sequence },
    };
    const stream = new Blob([JSON.stringify(pack)]).stream();
    const packed = stream.pipeThrough(new CompressionStream("gzip"));
    const bytes = new DataView(await new Response(packed).arrayBuffer());
    kept.add(bytes);
    this.model.set("pack", bytes);
  }

  sync() {
    const { texts, moments } = this.store;
    this.say("sync", { texts: texts.length, moments: moments.length, session: this.session });
  }

  act(control, at) {
    this.say("act", { control, at, have: this.store.texts.length });
  }

  need(moment) {
    this.say("need", { moment });
  }

  look(at, tip) {
    this.keepSoon();
    this.say("look", { position: { at, tip, sequence: this.sequence } });
  }

  // JupyterLab marks what its kernel has left: restarted, or none since the notebook was opened.
  get isCut() {
    return this.player.root.closest(".jupyter-widgets-disconnected") !== null;
  }

  say(message, fields) {
    if (!this.isCut) this.model.send({ message, ...fields });
  }
}
