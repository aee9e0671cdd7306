// What an engine is made of, fetched once; and a worker in which one runs.

const FILES = ["pyodide.mjs", "pyodide.asm.mjs", "python_stdlib.zip", "msgspec.whl", "kit.tar"];
let made;

// All of it is stored compressed: a plain server does not compress what it sends.
const unpacked = async (response) => {
  const { body } = await response;
  return new Response(body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
};

// `fetched` gives the response for a file's name. What was compiled serves every worker.
async function make(fetched) {
  const bytes = (name) => unpacked(fetched(`${name}.gz`));
  const [core, script, ...files] = await Promise.all([
    bytes("pyodide.asm.wasm").then((code) => WebAssembly.compile(code)),
    bytes("worker.js"),
    ...FILES.map(async (name) => [name, await bytes(name)]),
  ]);
  const worker = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  return { given: { core, files: Object.fromEntries(files) }, worker };
}

export class Engine {
  // `heard` is called with what the engine says, `failed` with why there is none.
  constructor(fetched, heard, failed) {
    made ??= make(fetched);
    this.worker = made.then(({ given, worker }) => {
      const one = new Worker(worker);
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
