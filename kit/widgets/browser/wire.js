// The page's end of the wire; kit/views/wire.py describes what passes.

export class Wire {
  session = "";
  told = null; // where the kernel has put the reader; no place any more once they have gone on

  constructor(model, store, player) {
    Object.assign(this, { model, store, player });
    this.queue = this.load(); // updates wait until what came before them has been unpacked
    this.packed = () => model.get("pack").isKept || this.then(() => this.load());
    this.heard = (update) => this.then(() => this.receive(update));
    model.on("change:pack", this.packed);
    model.on("msg:custom", this.heard);
  }

  // What the page knows is another: for who wants to keep it.
  changed() {}

  close() {
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
    this.told = pack.position;
    this.player.begin(this.told);
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
    const { position } = update;
    const isMoved = this.isAt(this.told) && !this.isAt(position);
    if (position && (position.sequence > this.told.sequence || isMoved)) {
      this.told = position;
      this.player.moveTo(position);
    } else if (update.moments.length) this.player.frames.came();
    if (update.progress !== undefined) this.player.breaks.told(update.progress);
    if (update.copied) this.player.breaks.copied(update.copied);
    if (update.error) this.player.refused(update.error);
    this.changed();
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

  isAt({ at, tip } = {}) {
    return at === this.player.at && tip === this.player.tip;
  }

  // The reader has come to rest.
  look() {
    const { at, tip } = this.player;
    const { sequence } = this.told;
    this.changed();
    if (!this.isAt(this.told)) this.told = { sequence };
    this.say("look", { position: { at, tip, sequence } });
  }

  // JupyterLab marks what its kernel has left: restarted, or none since the notebook was opened.
  get isCut() {
    return this.player.root.closest(".jupyter-widgets-disconnected") !== null;
  }

  say(message, fields) {
    if (!this.isCut) this.model.send({ message, ...fields });
  }
}
