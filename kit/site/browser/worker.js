// A Python in a worker, for which nothing on the page waits: the engine of a story, or one that
// searches. What comes before it is there waits its turn.

import { loadPyodide } from "./pyodide.mjs";

const PLACE = new URL("./", import.meta.url).href;
// No package comes from elsewhere.
const INFO = { abi_version: "2026_0", arch: "wasm32", python: "3.14.2" };
const LOCK = JSON.stringify({ packages: {}, info: INFO });
let engine = null;

// The core is stored compressed: a plain server does not compress what it sends.
const plain = self.fetch.bind(self);
self.fetch = async (address, how) => {
  if (!String(address).endsWith(".wasm")) return plain(address, how);
  const { body, ok, status } = await plain(`${address}.gz`, how);
  if (!ok) throw new Error(`${address}.gz: ${status}`);
  const headers = { "content-type": "application/wasm" };
  return new Response(body.pipeThrough(new DecompressionStream("gzip")), { headers });
};
const bytes = async (name) => (await plain(new URL(name, PLACE))).arrayBuffer();

async function begin() {
  const [python, msgspec, kit] = await Promise.all([
    loadPyodide({ indexURL: PLACE, lockFileContents: LOCK, packageBaseUrl: PLACE }),
    bytes("msgspec.whl"),
    bytes("kit.zip"),
  ]);
  python.unpackArchive(msgspec, "whl");
  python.unpackArchive(kit, "zip", { extractDir: "/kit" });
  python.runPython("import sys; sys.path.insert(0, '/kit')");
  return { python, kit: python.pyimport("kit.site.worker") };
}

const tell = (said) => self.postMessage(said?.toJs?.() ?? said);
const ACTS = {
  open({ kit, python }, { name, pack }) {
    engine = kit.Engine(name, python.toPy(pack), tell);
    self.postMessage("live");
  },
  search: ({ kit }, { asked, most }) => kit.search(asked, most, tell),
  said: (_, text) => engine.said(text),
};

// One after the other, in the order in which they came.
let queue = begin();
self.onmessage = ({ data }) => {
  queue = queue.then((there) => {
    for (const name in data) ACTS[name](there, data[name]);
    return there;
  });
  queue.catch((error) => self.postMessage({ failed: String(error) }));
};
