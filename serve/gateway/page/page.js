// What is served decides what is offered; the key is asked for when the server wants one.
import { rerankPanel, similarityPanel } from "./compare.js";
import { watchLoad } from "./load.js";
import { ask, useKey } from "./server.js";
import { tokensPanel } from "./tokens.js";

const AGAIN_MS = 2000;
let served = {};
const panels = { tokens: tokensPanel(() => served), similarity: similarityPanel(), rerank: rerankPanel() };

function say(what) {
  const line = document.getElementById("served");
  if (line.textContent !== what) line.textContent = what;
}

// By the key of /info's model_type.
const KINDS = {
  embedding: "An embedding model",
  reranker: "A reranker",
  classifier: "A classifier, for which there is no form here: POST /predict",
};

function offer() {
  const kind = Object.keys(served.model_type)[0];
  panels.tokens.offer(true);
  panels.similarity.offer(kind === "embedding");
  panels.rerank.offer(kind === "reranker");
  document.getElementById("title").textContent = served.model_id;
  document.title = `${served.model_id} · trellis-gateway`;
  say(`${KINDS[kind] ?? kind}. A text may have ${served.max_input_length} tokens. Precision: ${served.model_dtype}. ` +
      `Served by trellis-gateway ${served.version}.`);
}

// Again and again while it starts or is away; a key that is missing is waited for instead.
async function start() {
  try {
    served = await ask("info");
    document.getElementById("key").hidden = true;
    offer();
    return true;
  } catch (error) {
    say(error.status === 401 ? "Waiting for an API key." : error.message);
    if (error.status !== 401) setTimeout(start, AGAIN_MS);
    return false;
  }
}

addEventListener("keyneeded", ({ detail }) => {
  document.getElementById("key").hidden = false;
  document.getElementById("key-why").textContent = detail;
  document.getElementById("key-value").focus();
});

document.querySelector("#key form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = document.getElementById("key-value");
  useKey(field.value);
  field.value = "";
  if (await start()) document.getElementById("tokens-text").focus();
});

start();
watchLoad();
