// The engine: a Python in a worker, which nothing on the page waits for. What comes before it is
// there waits its turn.

import { loadPyodide } from "./pyodide.mjs";

// No package comes from elsewhere.
const LOCK = JSON.stringify({ packages: {}, info: { abi_version: "2026_0", arch: "wasm32", python: "3.14.2" } });
const PLACE = new URL("./", import.meta.url).href;
const waiting = [];
let desk = null;

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

async function begin({ name, pack }) {
  const [python, msgspec, kit] = await Promise.all([
    loadPyodide({ indexURL: PLACE, lockFileContents: LOCK, packageBaseUrl: PLACE }),
    bytes("msgspec.whl"),
    bytes("kit.zip"),
  ]);
  python.unpackArchive(msgspec, "whl");
  python.unpackArchive(kit, "zip", { extractDir: "/kit" });
  python.runPython("import sys; sys.path.insert(0, '/kit')");
  const { Worker } = python.pyimport("kit.site.worker");
  const tell = (said) => self.postMessage(said?.toJs?.() ?? said);
  desk = Worker(name, python.toPy(pack), tell);
  self.postMessage("live");
  waiting.splice(0).forEach((said) => desk.hear(said));
}

self.onmessage = ({ data }) => {
  if (typeof data === "object") begin(data).catch((error) => self.postMessage({ failed: String(error) }));
  else if (desk) desk.hear(data);
  else waiting.push(data);
};
