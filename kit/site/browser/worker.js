// A Python in a worker, for which nothing on the page waits: the engine of a story, or one that
// searches. The page hands over all files of it, so that nothing is fetched here. What comes before
// Python is there waits its turn.

const NOWHERE = "https://localhost/";
// No package comes from elsewhere.
const INFO = { abi_version: "2026_0", arch: "wasm32", python: "3.14.2" };
const LOCK = JSON.stringify({ packages: {}, info: INFO });
let engine = null;
let parts = null;

async function begin({ core, files, scripts }) {
  self.fetch = async (address) => new Response(files[String(address).replace(NOWHERE, "")]);
  WebAssembly.instantiateStreaming = async (_, imports) =>
    ({ module: core, instance: await WebAssembly.instantiate(core, imports) });
  const [{ loadPyodide }, { default: createPyodideModule }] =
    await Promise.all(scripts.map((script) => import(script)));
  const given = { indexURL: NOWHERE, packageBaseUrl: NOWHERE, lockFileContents: LOCK };
  const python = await loadPyodide({ ...given, createPyodideModule });
  python.unpackArchive(files["msgspec.whl"], "whl");
  python.unpackArchive(files["kit.zip"], "zip", { extractDir: "/kit" });
  python.runPython("import sys; sys.path.insert(0, '/kit')");
  return { python, kit: python.pyimport("kit.site.worker") };
}

const tell = (said) => self.postMessage(said?.toJs?.() ?? said);
const ACTS = {
  begin: async (_, given) => begin(given),
  open({ kit, python }, { name, pack }) {
    engine = kit.Engine(name, python.toPy(pack), tell);
    self.postMessage("live");
  },
  part({ python }, { number, about, pack }) {
    parts ??= python.pyimport("kit.site.parts").Parts(tell);
    parts.open(number, about, python.toPy(pack));
  },
  heard: (_, { number, text }) => parts.said(number, text),
  judge: ({ python }, { program }) => python.pyimport("kit.site.answers").judge(program, tell),
  search: ({ kit }, { trace, most }) => kit.search(trace, most, tell),
  said: (_, text) => engine.said(text),
};

// One after the other, in the order in which they came.
let queue = Promise.resolve();
self.onmessage = ({ data: [[name, given]] }) => {
  queue = queue.then(async (there) => (await ACTS[name](there, given)) ?? there);
  queue.catch((error) => self.postMessage({ failed: String(error) }));
};
