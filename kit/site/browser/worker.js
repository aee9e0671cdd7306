// A Python in a worker, for which nothing on the page waits: the engine of a story, or one that
// searches. The page hands over all files of it, so that nothing is fetched here. What comes before
// Python is there waits its turn.

const NOWHERE = "https://localhost/";
// No package comes from elsewhere.
const INFO = { abi_version: "2026_0", arch: "wasm32", python: "3.14.2" };
const LOCK = JSON.stringify({ packages: {}, info: INFO });
let engine = null;
let parts = null;

// A tape of files: each has a head of 512 bytes, and is filled up to as many.
function unpack(FS, tape, folder) {
  const text = new TextDecoder();
  const said = (at, most) => text.decode(tape.subarray(at, at + most)).split("\0")[0];
  for (let at = 0; tape[at]; ) {
    const path = [folder, said(at + 345, 155), said(at, 100)].filter(Boolean).join("/");
    const begin = at + 512;
    const end = begin + parseInt(said(at + 124, 12), 8);
    FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    FS.writeFile(path, tape.subarray(begin, end), { canOwn: true });
    at = begin + Math.ceil((end - begin) / 512) * 512;
  }
}

// Only a worker of the older kind can be made of what a page from a disk holds. What is to be loaded
// would not begin in one, and this is how it tells.
self.importScripts = undefined;

async function begin({ core, files }) {
  self.fetch = async (address) => new Response(files[String(address).replace(NOWHERE, "")]);
  WebAssembly.instantiateStreaming = async (_, imports) =>
    ({ module: core, instance: await WebAssembly.instantiate(core, imports) });
  // Addresses that such a page makes lead nowhere from here.
  const type = "text/javascript";
  const script = (name) => import(URL.createObjectURL(new Blob([files[name]], { type })));
  const [{ loadPyodide }, { default: createPyodideModule }] =
    await Promise.all(["pyodide.mjs", "pyodide.asm.mjs"].map(script));
  const given = { indexURL: NOWHERE, packageBaseUrl: NOWHERE, lockFileContents: LOCK };
  const python = await loadPyodide({ ...given, createPyodideModule });
  python.unpackArchive(files["msgspec.whl"], "whl");
  unpack(python.FS, new Uint8Array(files["kit.tar"]), "/kit");
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
  search: ({ kit }, { trace, most, program }) => kit.search(trace, most, tell, program ?? ""),
  inquire: ({ kit }, given) => kit.inquire(JSON.stringify(given), tell),
  said: (_, text) => engine.said(text),
};

// One after the other, in the order in which they came.
let queue = Promise.resolve();
self.onmessage = ({ data: [[name, given]] }) => {
  queue = queue.then(async (there) => (await ACTS[name](there, given)) ?? there);
  queue.catch((error) => self.postMessage({ failed: String(error) }));
};
