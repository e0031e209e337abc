/** Compares the deltas of recorded responses with the message parsed from all tokens, and with upstream's deltas. */
import { Message } from "@effect-rl/core"
import { Renderers, ResponseStream } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as RecordedLines from "../RecordedLines.ts"
import * as CharTokenizer from "./CharTokenizer.ts"
import * as Differences from "./Differences.ts"
import * as Vectors from "./Vectors.ts"

interface Said {
  readonly kind: "Text" | "Thinking"
  readonly text: string
}

/** The message that the deltas add up to, without empty parts. */
const added = (events: ReadonlyArray<ResponseStream.Event>) => {
  const parts = new Map<number, Said>()
  for (const event of events) {
    if (event._tag !== "Text" && event._tag !== "Thinking") continue
    const text = event._tag === "Text" ? event.text : event.thinking
    parts.set(event.part, { kind: event._tag, text: (parts.get(event.part)?.text ?? "") + text })
  }
  return {
    parts: [...parts.values()],
    calls: events.flatMap((event) => event._tag === "ToolCall" ? [event.toolCall] : []),
    unparsed: events.flatMap((event) => event._tag === "UnparsedToolCall" ? [event.unparsedToolCall.rawText] : [])
  }
}

const partsOf = (message: Message.Message): ReadonlyArray<Said> =>
  Message.parts(message).flatMap((part): ReadonlyArray<Said> => {
    if (part.type === "image") return []
    const said: Said = part.type === "text"
      ? { kind: "Text", text: part.text }
      : { kind: "Thinking", text: part.thinking }
    return said.text === "" ? [] : [said]
  })

const streamed = Effect.fnUntraced(function*({ input }: Vectors.Parse) {
  if (input.currentDate !== undefined) yield* TestClock.setTime(Date.parse(input.currentDate))
  const tokenizer = CharTokenizer.of(Vectors.familyOf(input.tokenizer))
  const renderer = yield* Renderers.byName(input.renderer, tokenizer)
  const tokens = Array.from(tokenizer.encode(input.text ?? ""), (token) => [token])
  const events = yield* Stream.runCollect(
    ResponseStream.events(renderer, [Message.user("q")], Stream.fromIterable(tokens))
  )
  const done = events.flatMap((event) => event._tag === "Done" ? [event.parsed] : [])[0]
  if (done === undefined) return yield* Effect.die(new Error("a response without an end"))
  return { ...added(events), done }
})

const opensThinking = (renderer: string) =>
  /^(qwen3_[58]|nemotron3|deepseekv4_1|glm5_3|deepseekv3_thinking|kimi_k2[56])/.test(renderer)
  && !renderer.endsWith("_disable_thinking")

const calls = /<\|tool_calls?_section_begin\|>|<｜tool▁calls▁begin｜>|<｜DSML｜ calls>/

/** Why deltas may differ from the message; see `ResponseStream.events`. */
const reasonOf = ({ expect, input }: Vectors.Parse): string | undefined => {
  if (!("error" in expect) && expect.termination !== "stop_sequence") return "the response was cut"
  const text = input.text ?? ""
  const [said = ""] = text.split(calls)
  const begun = opensThinking(input.renderer) ? `<think>${said}` : said
  if (begun.lastIndexOf("<think>") > begun.lastIndexOf("</think>")) return "a thinking block was left open"
  const isClosedAgain = input.renderer.endsWith("_disable_thinking") && /^\s*(?!\s|<\/?think>)[^]*<\/think>/.test(said)
  return isClosedAgain ? "text came before the end of a thinking block that the prompt had closed" : undefined
}

const read = Vectors.parses.filter(({ expect, input }) => input.text !== null && !("error" in expect))

describe("a recorded response's deltas", () => {
  it("differ from its message only for the listed reasons", () => {
    assert.deepStrictEqual(
      RecordedLines.counted(read, reasonOf),
      RecordedLines.accountOf("core/chat/parse.jsonl, 0.6.1 and tml-renderers-0.2.1: deltas")
    )
  })

  it.effect.each(read.filter((vector) => reasonOf(vector) === undefined))(
    "add up to its message: $id",
    (vector) =>
      Effect.gen(function*() {
        const { calls, done, parts, unparsed } = yield* streamed(vector)
        assert.deepStrictEqual(parts, partsOf(done.message))
        assert.deepStrictEqual(calls, done.message.toolCalls ?? [])
        assert.deepStrictEqual(unparsed, (done.message.unparsedToolCalls ?? []).map(({ rawText }) => rawText))
      })
  )
})

const written = (renderer: string, tokenizer: Vectors.TokenizerName, text: string): Vectors.Parse => ({
  id: text,
  input: { renderer, tokenizer, text },
  expect: { error: "none", rendererError: false }
})

describe("a response's deltas", () => {
  const kimi = "<|tool_calls_section_begin|>"
  const kimiEnd = "<|tool_calls_section_end|>"
  const json = "<tool_call>\n{\"name\": \"json\", \"arguments\": {}}\n</tool_call>"
  const xml = "<tool_call>\n<function=xml>\n</function>\n</tool_call>"
  const call = "<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>{}"
  const cases: ReadonlyArray<readonly [title: string, response: Vectors.Parse]> = [
    ["that consists of calls in Harmony's format", written("gpt_oss_no_sysprompt", "char:oss", `${call}<|call|>`)],
    ["with an empty section of calls", written("kimi_k2", "char:kimi", `hi${kimi}${kimiEnd}after<|im_end|>`)],
    [
      "with a broken section of calls",
      written("kimi_k2", "char:kimi", `hi${kimi}<|tool_call_begin|>f<|tool_call_end|>${kimiEnd}after<|im_end|>`)
    ],
    [
      "with a call in XML before a call in JSON",
      written("nemotron3_disable_thinking", "char:qwen", `4${xml}${json}<|im_end|>`)
    ],
    [
      "that closes a closed block before any text",
      written("qwen3_5_disable_thinking", "char:qwen", "\n</think>\n\n4<|im_end|>")
    ],
    [
      "with white space after its calls",
      written(
        "deepseekv3",
        "char:ds",
        "4<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>\n<｜end▁of▁sentence｜>"
      )
    ]
  ]
  it.effect.each(cases)("add up to the message %s", ([, response]) =>
    Effect.gen(function*() {
      const { calls, done, parts, unparsed } = yield* streamed(response)
      assert.strictEqual(done.termination, "stop_sequence")
      assert.deepStrictEqual(parts, partsOf(done.message))
      assert.deepStrictEqual(calls, done.message.toolCalls ?? [])
      assert.deepStrictEqual(unparsed, (done.message.unparsedToolCalls ?? []).map(({ rawText }) => rawText))
    }))
})

const Part = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String, index: Schema.Int }),
  Schema.Struct({ type: Schema.Literal("thinking"), thinking: Schema.String, index: Schema.Int })
])
const Recorded = Schema.Union([
  Schema.Struct({ id: Schema.String, error: Schema.String, before: Schema.Array(Schema.Json) }),
  Schema.Struct({
    id: Schema.String,
    events: Schema.Array(Schema.Union([
      Part,
      Schema.Struct({ type: Schema.Literal("header"), role: Schema.String, name: Schema.NullOr(Schema.String) }),
      Schema.Struct({ type: Schema.Literal("message"), message: Schema.Struct({ role: Schema.String }) })
    ]))
  })
])

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Recorded))

const recorded = RecordedLines.read("chat/streams.jsonl.gz").map((line) => decode(line))

/** Upstream's parts, without the white space around them that it keeps. */
const saidUpstream = (stream: typeof Recorded.Type): ReadonlyArray<Said> =>
  "error" in stream ? [] : stream.events.flatMap((event): ReadonlyArray<Said> => {
    if (event.type === "header" || event.type === "message") return []
    const said: Said = event.type === "text"
      ? { kind: "Text", text: event.text.trim() }
      : { kind: "Thinking", text: event.thinking.trim() }
    return said.text === "" ? [] : [said]
  })

const vectorOf = new Map(Vectors.parses.map((vector) => [vector.id, vector]))

const writesCalls = /<tool_call>[^]*<\/tool_call>|<\|tool_calls?_section_begin\|>|<｜tool▁calls▁begin｜>/

/** Why upstream's deltas differ from this library's. */
const upstreamReasonOf = (stream: typeof Recorded.Type, { expect, input }: Vectors.Parse): string | undefined => {
  const text = input.text ?? ""
  if (input.text === null) return "the response was cut inside a character"
  if ("error" in stream) return "upstream does not stream this family"
  if ("error" in expect) return "upstream cannot read the response"
  if (
    expect.message.tool_calls !== undefined || expect.message.unparsed_tool_calls !== undefined ||
    writesCalls.test(text)
  ) {
    return "upstream streams calls as text"
  }
  if (input.renderer.endsWith("_disable_thinking") && input.renderer !== "qwen3_disable_thinking") {
    return "upstream streams an answer as reasoning where the prompt has closed it"
  }
  if (opensThinking(input.renderer) && !text.includes("</think>")) {
    return "upstream waits for the end of a block that the prompt opened, to see whether it is reasoning"
  }
  if (opensThinking(input.renderer) && Differences.opensOtherwise(input)) {
    return "upstream opens the block a second time"
  }
  return undefined
}

const streams = recorded.flatMap((stream) => {
  const vector = vectorOf.get(stream.id)
  return vector === undefined ? [] : [{ id: stream.id, stream, vector }]
})

describe("upstream's recorded deltas", () => {
  it("differ from this library's only for the listed reasons", () => {
    assert.strictEqual(streams.length, recorded.length)
    const found = RecordedLines.counted(streams, ({ stream, vector }) => upstreamReasonOf(stream, vector))
    assert.deepStrictEqual(found, RecordedLines.accountOf("core/chat/streams.jsonl.gz"))
  })

  const comparable = streams.filter(({ stream, vector }) => upstreamReasonOf(stream, vector) === undefined)
  it.effect.each(comparable)("match ours: $id", ({ stream, vector }) =>
    Effect.gen(function*() {
      const { parts } = yield* streamed(vector)
      const trimmed = parts.map(({ kind, text }) => ({ kind, text: text.trim() })).filter(({ text }) => text !== "")
      assert.deepStrictEqual(trimmed, saidUpstream(stream))
    }))
})
