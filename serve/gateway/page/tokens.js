// Tokens of a text, with ids and places. Places are those of /tokenize: bytes of UTF-8, a prompt in front of
// the text included.
import { make, Panel, valueOf } from "./panel.js";
import { ask } from "./server.js";

const COLOURS = 6;  // page.css has as many
const MOST_SHOWN = 2000;
const VISIBLE = { " ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥", "\u00a0": "⍽", "\u3000": "␣" };

function field(name, className, value) {
  const element = make("span", className, value);
  element.prepend(make("span", "for-ear", ` ${name} `));
  return element;
}

function tokenItem(token, index) {
  const item = make("li", token.special ? "token special" : `token colour-${index % COLOURS}`);
  const text = make("bdi", "text", token.text.replace(/[ \n\r\t\u00a0\u3000]/g, (space) => VISIBLE[space]));
  if (token.text === "") text.append(make("span", "note", "empty"));
  item.append(text, field("id", "id", token.id));
  item.append(token.special ? make("span", "place", "special") : field("bytes", "place", `${token.start}–${token.stop}`));
  return item;
}

function count(number, what) {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

export function tokensPanel(served) {
  return new Panel("tokens",
    (signal) => ask("tokenize", { body: { inputs: valueOf("tokens-text") }, signal }),
    ([tokens], list) => {
      list.append(...tokens.slice(0, MOST_SHOWN).map(tokenItem));
      const special = tokens.filter((token) => token.special).length;
      const most = served().max_input_length;
      let said = `${count(tokens.length, "token")}, ${special} of them special; places are bytes of UTF-8.`;
      if (tokens.length > most) said += ` The model takes ${most}: what is beyond is cut off when vectors are computed.`;
      if (tokens.length > MOST_SHOWN) said += ` The first ${MOST_SHOWN} are shown.`;
      return said;
    });
}
