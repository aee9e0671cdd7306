// What a Player calls its model where no notebook is around it: `send` carries what it says to a
// session that has a line to this page (kit/playing/session.py), and `hear` takes what comes from
// there: a pack, traits or an update.

export function linked(traits, send) {
  const heard = {};
  const call = (name, given) => (heard[name] ?? []).forEach((hear) => hear(given));
  const model = {
    get: (name) => traits[name],
    set: (name, value) => (traits[name] = value),
    on: (name, hear) => (heard[name] = [...(heard[name] ?? []), hear]),
    off: (name, hear) => (heard[name] = (heard[name] ?? []).filter((one) => one !== hear)),
    send,
  };
  const hear = (told) => {
    if (ArrayBuffer.isView(told)) {
      traits.pack = told;
      call("change:pack");
    } else if (told.traits) {
      Object.assign(traits, told.traits);
      for (const name in told.traits) call(`change:${name}`);
    } else call("msg:custom", told);
  };
  return { model, hear };
}
