// What an engine is made of, fetched once; and a worker in which one runs.

const SCRIPTS = ["pyodide.mjs", "pyodide.asm.mjs", "worker.js"];
const FILES = ["python_stdlib.zip", "msgspec.whl", "kit.tar"];
let made;

// All of it is stored compressed: a plain server does not compress what it sends.
const unpacked = async (response) => {
  const { body } = await response;
  return new Response(body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
};

// `fetched` gives the response for a file's name. What was compiled serves every worker.
async function make(fetched) {
  const bytes = (name) => unpacked(fetched(`${name}.gz`));
  const type = "text/javascript";
  const script = async (name) => URL.createObjectURL(new Blob([await bytes(name)], { type }));
  const file = async (name) => [name, await bytes(name)];
  const [core, scripts, files] = await Promise.all([
    bytes("pyodide.asm.wasm").then((code) => WebAssembly.compile(code)),
    Promise.all(SCRIPTS.map(script)),
    Promise.all(FILES.map(file)),
  ]);
  const worker = scripts.pop();
  return { given: { core, scripts, files: Object.fromEntries(files) }, worker };
}

export class Engine {
  // `heard` is called with what the engine says, `failed` with why there is none.
  constructor(fetched, heard, failed) {
    made ??= make(fetched);
    this.worker = made.then(({ given, worker }) => {
      const one = new Worker(worker, { type: "module" });
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
