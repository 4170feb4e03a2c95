// What this page asks of the gateway that it came from. The key is in this module's memory and nowhere else.
let key = "";

export function useKey(value) {
  key = value;
}

// `message` is what the server said, with the status before it.
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;  // 0: there was no answer
  }
}

// Errors have one of two forms, by the route: {"error":{"message","type"}} and {"error","error_type"}.
function refusal(status, statusText, body) {
  let kind = statusText, said = "";
  try {
    const { error, error_type } = JSON.parse(body);
    kind = error?.type ?? error_type ?? kind;
    said = error?.message ?? error ?? "";
  } catch {
    said = body.slice(0, 300);  // not of this server: a proxy's
  }
  return new Refused(status, [[status, kind].filter(Boolean).join(" "), said].filter(Boolean).join(": "));
}

// The body of the answer, as text. `path` is below wherever the page is; with a `body` it is a POST.
async function fetched(path, { body, signal } = {}) {
  const headers = {};
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer, text;
  try {
    answer = await fetch(path, {
      method: body === undefined ? "GET" : "POST", headers, signal, cache: "no-store", credentials: "omit",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    text = await answer.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, `No answer from the server: ${error.message}`);
  }
  if (answer.ok) return text;
  const refused = refusal(answer.status, answer.statusText, text);
  if (answer.status === 401) dispatchEvent(new CustomEvent("keyneeded", { detail: refused.message }));
  throw refused;
}

export async function ask(path, options) {
  return JSON.parse(await fetched(path, options));
}

export const askForText = fetched;
