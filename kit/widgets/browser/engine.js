// What an engine is made of, fetched once; and a worker in which one runs.

const SCRIPTS = ["pyodide.mjs", "pyodide.asm.mjs"];
const FILES = ["python_stdlib.zip", "msgspec.whl", "kit.zip"];
let made;

// The core is stored compressed: a plain server does not compress what it sends.
const unpacked = (response) =>
  new Response(response.body.pipeThrough(new DecompressionStream("gzip")));

// `fetched` gives the response for a file's name. What was compiled serves every worker.
async function make(fetched) {
  const code = fetched("pyodide.asm.wasm.gz")
    .then((response) => unpacked(response).arrayBuffer())
    .then((bytes) => WebAssembly.compile(bytes));
  const script = async (name) => {
    const response = unpacked(await fetched(`${name}.gz`));
    const type = "text/javascript";
    return URL.createObjectURL(new Blob([await response.arrayBuffer()], { type }));
  };
  const file = async (name) => [name, await (await fetched(name)).arrayBuffer()];
  const [core, scripts, files, worker] = await Promise.all([
    code,
    Promise.all(SCRIPTS.map(script)),
    Promise.all(FILES.map(file)),
    fetched("worker.js").then((response) => response.blob()),
  ]);
  return { given: { core, scripts, files: Object.fromEntries(files) }, worker };
}

export class Engine {
  // `heard` is called with what the engine says, `failed` with why there is none.
  constructor(fetched, heard, failed) {
    made ??= make(fetched);
    this.worker = made.then(({ given, worker }) => {
      const one = new Worker(URL.createObjectURL(worker), { type: "module" });
      one.onmessage = ({ data }) => (data.failed ? failed(data.failed) : heard(data));
      one.onerror = (event) => failed(event.message);
      one.postMessage([["begin", given]]);
      return one;
    });
    this.worker.catch(failed);
  }

  ask(name, given) {
    this.worker.then((one) => one.postMessage([[name, given]])).catch(() => {});
  }

  end() {
    this.worker.then((one) => one.terminate());
  }
}
