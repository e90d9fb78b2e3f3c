// The playground: one chat request, streamed, with what the server says about it. Plain DOM; text is only ever set as text.
"use strict";

const $ = (id) => document.getElementById(id);

const WEATHER = [{
  type: "function",
  function: {
    name: "get_weather",
    strict: true,
    parameters: {
      type: "object",
      properties: { city: { type: "string", maxLength: 40 }, unit: { enum: ["celsius", "fahrenheit"] } },
      required: ["city", "unit"],
      additionalProperties: false,
    },
  },
}];
const PERSON = {
  type: "object",
  properties: { name: { type: "string", maxLength: 30 }, born: { type: "integer", minimum: 1800, maximum: 2100 } },
  required: ["name", "born"],
  additionalProperties: false,
};
const TAG = {
  type: "sequence",
  elements: [
    { type: "const_string", value: "The answer is " },
    { type: "tag", begin: "<answer>", end: "</answer>", capture: "answer",
      content: { type: "json_schema", json_schema: { type: "integer" } } },
  ],
};
const EXAMPLES = {
  "a strict tool": { message: "What is the weather in Paris?", kind: "tools", spec: WEATHER, choice: "required" },
  "a JSON Schema": { message: "Who was Ada Lovelace?", kind: "schema", spec: PERSON },
  "a structural tag": { message: "What is 6 times 7?", kind: "tag", spec: TAG },
  "a regular expression": { message: "Give me an order number.", kind: "regex", spec: "[A-Z]{3}-[0-9]{4}" },
  "a grammar": { message: "Yes or no?", kind: "grammar", spec: 'root ::= ("yes" | "no") "."' },
  "free text": { message: "Say hello.", kind: "none", spec: "" },
};

function show(example) {
  $("message").value = example.message;
  $("kind").value = example.kind;
  $("spec").value = typeof example.spec === "string" ? example.spec : JSON.stringify(example.spec, null, 2);
  $("tool_choice").value = example.choice ?? "auto";
}

// The constraint's fields of the request; throws where its text is no JSON.
function constraint(kind, spec) {
  switch (kind) {
    case "tools": return { tools: JSON.parse(spec), tool_choice: $("tool_choice").value };
    case "schema": return { response_format: { type: "json_schema", json_schema: { name: "answer", schema: JSON.parse(spec) } } };
    case "tag": return { response_format: { type: "structural_tag", format: JSON.parse(spec) } };
    case "regex": return { structured_outputs: { regex: spec } };
    case "grammar": return { structured_outputs: { grammar: spec } };
    default: return {};
  }
}

function request() {
  return {
    messages: [{ role: "user", content: $("message").value }],
    max_tokens: Number($("max_tokens").value),
    temperature: Number($("temperature").value),
    ...($("whole").checked ? { complete_within_budget: true } : {}),
    ...constraint($("kind").value, $("spec").value),
  };
}

function headers() {
  const key = $("key").value;
  return { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) };
}

function fail(message) {
  $("error").hidden = false;
  $("error").textContent = message;
}

// Message and place of an error body.
function told(error) {
  const place = ["param", "code", "pointer", "line", "column", "offset"].filter((name) => error[name] != null)
    .map((name) => `${name}: ${error[name]}`).join("   ");
  return place ? `${error.message}\n${place}` : error.message;
}

function clear() {
  for (const id of ["reasoning", "text", "calls", "captures", "figures"]) $(id).replaceChildren();
  $("error").hidden = true;
}

function figure(name, value) {
  const term = document.createElement("dt"), text = document.createElement("dd");
  term.textContent = name;
  text.textContent = value;
  $("figures").append(term, text);
}

function append(parent, text, held) {
  let last = parent.lastChild;
  if (!last || (last.nodeName === "MARK") !== held) {
    last = held ? document.createElement("mark") : document.createTextNode("");
    parent.append(last);
  }
  last.textContent += text;
}

function call(index) {
  const calls = $("calls");
  while (calls.children.length <= index) {
    const one = document.createElement("div");
    one.className = "call";
    calls.append(one);
  }
  return calls.children[index];
}

function take(chunk, held) {
  if (chunk.error) throw new Error(told(chunk.error));
  for (const choice of chunk.choices) {
    const delta = choice.delta;
    if (delta.reasoning_content ?? delta.reasoning) append($("reasoning"), delta.reasoning_content ?? delta.reasoning, false);
    if (delta.content) append($("text"), delta.content, held);
    for (const one of delta.tool_calls ?? []) {
      if (one.function?.name) append(call(one.index), `${one.function.name} `, false);
      if (one.function?.arguments) append(call(one.index), one.function.arguments, true);
    }
    for (const one of choice.captures ?? []) {
      append($("captures"), `${one.name}: `, false);
      append($("captures"), one.text, true);
      append($("captures"), "\n", false);
    }
    if (choice.finish_reason) figure("finish_reason", choice.finish_reason);
  }
  if (chunk.usage) figure("tokens", `${chunk.usage.prompt_tokens} + ${chunk.usage.completion_tokens}`);
}

// Compile time, size and cache hits of the request, or its error; the model does not run.
async function check(body, signal) {
  const answer = await fetch("/v1/structured/validate", { method: "POST", headers: headers(), body: JSON.stringify(body), signal });
  const said = await answer.json();
  if (!answer.ok) throw new Error(told(said.error));
  const ms = (seconds) => `${(seconds * 1e3).toFixed(2)} ms`;
  figure("check", `${ms(said.seconds)}, of it compiling ${ms(said.cache.compile_seconds)}`);
  const levels = Object.entries(said.cache.levels).filter(([, counts]) => counts.hits + counts.misses > 0);
  figure("cache hits", levels.map(([level, counts]) => `${level} ${counts.hits} of ${counts.hits + counts.misses}`).join(", ") || "none asked");
  if (said.valid) {
    figure("grammar", said.constrained ? `${said.memory_bytes} bytes, at least ${said.least_tokens ?? "?"} tokens` : "none");
    for (const note of said.notes ?? []) figure("note", note);
  } else {
    throw new Error(told(said.error));
  }
}

async function maskTime() {
  const answer = await fetch("/metrics", { headers: headers() });
  const text = answer.ok ? await answer.text() : "";
  const sum = (name) => [...text.matchAll(new RegExp(`^strictserve_mask_fill_seconds_${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))]
    .reduce((total, found) => total + Number(found[1]), 0);
  return { seconds: sum("sum"), steps: sum("count") };
}

async function stream(body, signal) {
  // A structural tag may have free text beside what it holds, and the stream does not tell them apart; its captures do.
  const held = ["schema", "regex", "grammar"].includes($("kind").value);
  const began = performance.now();
  const answer = await fetch("/v1/chat/completions", {
    method: "POST", headers: headers(), signal,
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
  });
  if (!answer.ok) throw new Error(told((await answer.json()).error));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", first = null;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    first ??= performance.now();
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.replace(/^data: /, "");
      if (event.startsWith("data: ") && data !== "[DONE]") take(JSON.parse(data), held);
    }
  }
  figure("time", `${(first - began).toFixed(0)} ms to the first piece, ${(performance.now() - began).toFixed(0)} ms in all`);
}

let running = null;

async function run(whole) {
  clear();
  running = new AbortController();
  $("send").disabled = $("check").disabled = true;
  $("stop").disabled = false;
  try {
    const body = request();
    await check(body, running.signal);
    if (whole) {
      const before = await maskTime();
      await stream(body, running.signal);
      const after = await maskTime(), steps = after.steps - before.steps;
      if (steps > 0) figure("masks", `${((after.seconds - before.seconds) / steps * 1e6).toFixed(1)} us a step, all requests`);
    }
    document.body.dataset.state = "done";
  } catch (error) {
    fail(error.name === "AbortError" ? "stopped" : error.message);
    document.body.dataset.state = "failed";
  } finally {
    $("send").disabled = $("check").disabled = false;
    $("stop").disabled = true;
  }
}

async function greet() {
  try {
    const answer = await fetch("/v1/models", { headers: headers() });
    const said = await answer.json();
    $("model").textContent = answer.ok ? said.data.map((one) => one.id).join(", ") : said.error.message;
  } catch (error) {
    $("model").textContent = error.message;
  }
}

for (const name of Object.keys(EXAMPLES)) $("example").append(new Option(name));
$("example").addEventListener("change", () => show(EXAMPLES[$("example").value]));
$("form").addEventListener("submit", (event) => { event.preventDefault(); run(true); });
$("check").addEventListener("click", () => run(false));
$("stop").addEventListener("click", () => running?.abort());
$("key").addEventListener("change", greet);
show(EXAMPLES["a strict tool"]);
greet();
