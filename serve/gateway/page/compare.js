// Two texts and their similarity; a query and its documents, best first.
import { bar, make, Panel, valueOf } from "./panel.js";
import { ask } from "./server.js";

export function similarityPanel() {
  return new Panel("similarity",
    (signal) => ask("similarity", {
      body: { inputs: { source_sentence: valueOf("similarity-one"), sentences: [valueOf("similarity-other")] } }, signal,
    }),
    ([cosine], answer) => {
      answer.append(bar(cosine, "Similarity"));
      return `Cosine similarity: ${cosine.toFixed(4)}`;
    });
}

export function rerankPanel() {
  let texts = [];
  return new Panel("rerank",
    (signal) => {
      texts = valueOf("rerank-texts").split("\n").filter((line) => line.trim() !== "");
      return ask("rerank", { body: { query: valueOf("rerank-query"), texts }, signal });
    },
    (ranks, list) => {
      for (const { index, score } of ranks) {
        const item = make("li", "rank");
        item.append(make("bdi", "text", texts[index]), bar(score, "Score"), make("span", "number", score.toFixed(4)));
        list.append(item);
      }
      return `Best first; scores from 0 to 1. Best: ${texts[ranks[0].index]}`;
    });
}
