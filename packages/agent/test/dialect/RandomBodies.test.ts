/** Bodies that no real client would send: the answer always has the dialect's format, and the server never fails. */
import { Draw } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Predicate } from "effect"
import * as Service from "./Service.ts"

const { chat, messages, responses } = Service

const parameters = { type: "object", properties: { a: { type: "number" } } }

/** Requests that exercise every part of a dialect. */
const whole = {
  "/chat/completions": {
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "Hi" }] },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "1", type: "function", function: { name: "add", arguments: "{}" } }]
      },
      { role: "tool", tool_call_id: "1", content: "2" }
    ],
    tools: [chat.tool("add", parameters, { strict: true })],
    tool_choice: { type: "function", function: { name: "add" } },
    response_format: { type: "json_schema", json_schema: { name: "any", schema: parameters } },
    stop: ["x"],
    n: 1,
    logprobs: true,
    top_logprobs: 1,
    stream_options: { include_usage: true }
  },
  "/completions": { prompt: ["Hi", "Ho"], echo: true, logprobs: 1, max_tokens: 5 },
  "/responses": {
    instructions: "Be brief.",
    input: [
      { role: "user", content: [{ type: "input_text", text: "Hi" }] },
      { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "Why?" }] },
      { type: "function_call", call_id: "1", name: "add", namespace: "sums", arguments: "{}" },
      { type: "function_call_output", call_id: "1", output: "2" },
      { type: "custom_tool_call", call_id: "2", name: "patch", input: "x" },
      { type: "custom_tool_call_output", call_id: "2", output: [{ type: "input_text", text: "y" }] }
    ],
    tools: [
      { type: "custom", name: "patch", format: { type: "grammar", syntax: "lark", definition: "start: x" } },
      { type: "namespace", name: "sums", tools: [responses.tool("add", parameters, { strict: true })] }
    ],
    text: { format: { type: "json_schema", name: "any", schema: parameters } },
    reasoning: { effort: "low" },
    include: ["message.output_text.logprobs"]
  },
  "/messages": {
    max_tokens: 20,
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
    messages: [
      { role: "user", content: [{ type: "text", text: "Hi" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Why?", signature: "" },
          { type: "tool_use", id: "1", name: "add", input: { a: 1 } }
        ]
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "1", content: [{ type: "tool_reference", tool_name: "add" }] }]
      }
    ],
    tools: [messages.tool("add", parameters, { strict: true })],
    tool_choice: { type: "auto" },
    thinking: { type: "enabled", budget_tokens: 10 },
    thread: { type: "create" },
    output_config: { effort: "low", format: { type: "json_schema", schema: parameters } }
  },
  "/messages/count_tokens": { messages: [{ role: "user", content: "Hi" }], tools: [messages.tool("add", parameters)] }
}

const values = [
  null,
  true,
  0,
  -1,
  1e308,
  0.5,
  "",
  "x",
  "\u0000",
  "\ud800",
  "<|im_end|>",
  "x".repeat(3000),
  [],
  {},
  [[]],
  [null],
  { type: "text" },
  { type: "image", source: { type: "base64", media_type: "image/png", data: "!" } },
  { type: "image_url", image_url: { url: "file:///etc/passwd" } },
  { __proto__: null, constructor: { prototype: {} } },
  JSON.parse(`{"__proto__": {"role": "user"}}`),
  { $ref: "#" }
] as const

const value = (draw: Draw.Draw): unknown => draw.oneOf<unknown>(values)

/** The value with random changes in one or more places. */
const mutated = (draw: Draw.Draw, given: unknown): unknown => {
  if (draw.chance(0.015)) return value(draw)
  if (Array.isArray(given)) {
    const all = given.map((one: unknown) => mutated(draw, one))
    if (draw.chance(0.02)) return [...all, value(draw)]
    return draw.chance(0.02) ? all.toReversed() : all
  }
  if (!Predicate.isObject(given)) return given
  const fields = Object.entries(given).flatMap(([name, one]) =>
    draw.chance(0.02) ? [] : [[name, mutated(draw, one)] as const]
  )
  return Object.fromEntries(draw.chance(0.03) ? [...fields, ["odd", value(draw)]] : fields)
}

/** Invalid or almost valid JSON texts. */
const broken = (draw: Draw.Draw, text: string) =>
  draw.oneOf([
    text.slice(0, draw.integer(0, text.length - 1)),
    "[".repeat(100_000),
    `${text}${text}`,
    "",
    "null",
    `{"model": "policy", "messages": ${"[".repeat(50)}`
  ])

const body = (draw: Draw.Draw, least: object) => {
  const text = JSON.stringify(mutated(draw, { model: Service.model, ...least, stream: draw.chance(0.3) })) ??
    "undefined"
  return draw.chance(0.1) ? broken(draw, text) : text
}

const isText = (given: unknown) => typeof given === "string" && given !== ""

/** A message about an error answer that does not have its dialect's format; undefined if it has. */
const problem = (path: string, answer: Service.Body) => {
  const { error } = answer
  const isOwn = path.startsWith("/messages")
    ? answer.type === "error" && isText(error?.type) && isText(error.message)
    : isText(error?.type) && isText(error.message) && "code" in error && "param" in error
  return isOwn ? undefined : `the error has another form: ${JSON.stringify(answer)}`
}

const statuses = [200, 400, 404, 413, 422]

/** Whether a stream event reports a failure; it is the last event. */
const isFailed = (event: Service.Body) => event?.type === "response.failed" || event?.error?.type === "server_error"

describe("random bodies", () => {
  for (const isLenient of [false, true]) {
    for (const [path, least] of Object.entries(whole)) {
      it.effect(
        `of ${path} get an answer in the endpoint's form, for a ${isLenient ? "lenient" : "strict"} caller`,
        () =>
          Effect.gen(function*() {
            const { send } = yield* Service.make({
              isLenient,
              contextLength: 2048,
              sample: Service.saying("Hello<|im_end|>")
            })
            const seen = new Map<number, number>()
            for (let seed = 0; seed < 100; seed++) {
              const text = body(Draw.make(seed, path), least)
              const response = yield* send(path, text)
              const about = `seed ${seed}: ${text.slice(0, 2000)}: ${response.text}`
              assert.include(statuses, response.status, about)
              if (response.status !== 200) assert.isUndefined(problem(path, response.body), about)
              assert.isFalse(Service.events(response).some(isFailed), about)
              seen.set(response.status, (seen.get(response.status) ?? 0) + 1)
            }
            assert.isAbove(seen.get(422) ?? 0, 15)
            if (isLenient) assert.isAbove(seen.get(200) ?? 0, 5)
          }),
        30_000
      )
    }
  }
})
