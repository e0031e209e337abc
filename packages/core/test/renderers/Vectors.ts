/** Decodes the recorded vectors in `test/fixtures/chat`. */
import type { Message } from "@effect-rl/core"
import type { Tokenizer } from "@effect-rl/core/renderers"
import { Schema } from "effect"
import { join } from "node:path"
import * as RecordedLines from "../RecordedLines.ts"

const Part = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("thinking"), thinking: Schema.String })
])
const Content = Schema.Union([Schema.String, Schema.Array(Part)])
const InputCall = Schema.Struct({
  id: Schema.NullOr(Schema.String),
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})
const InputMessage = Schema.Struct({
  role: Schema.String,
  content: Content,
  tool_calls: Schema.optional(Schema.Array(InputCall)),
  tool_call_id: Schema.optional(Schema.String),
  name: Schema.optional(Schema.String)
})
const TokenizerName = Schema.Literals([
  "qwen3",
  "llama3",
  "char:qwen",
  "char:ds",
  "char:ds4",
  "char:glm",
  "char:oss",
  "char:kimi",
  "char:tml"
])
/** The family whose special tokens a recorded tokenizer has. */
export const familyOf = (name: typeof TokenizerName.Type) =>
  name === "qwen3" ? "qwen" : name === "llama3" ? "llama" : name.slice("char:".length)

const Failed = Schema.Struct({ error: Schema.String, rendererError: Schema.Boolean })
export type Failed = typeof Failed.Type
const Tokens = {
  ids: Schema.optional(Schema.Array(Schema.Int)),
  chunks: Schema.optional(Schema.Array(Schema.String)),
  chunkLengths: Schema.optional(Schema.Array(Schema.Int))
}
const currentDate = Schema.optional(Schema.String)
const WeightRuns = Schema.Array(Schema.Tuple([Schema.Number, Schema.Int]))
export const modes = [
  "last_assistant_message",
  "last_assistant_turn",
  "all_assistant_messages",
  "all_messages",
  "all_tokens",
  "all_user_and_system_messages",
  "customized"
] as const

const Example = Schema.Struct({ sameAs: Schema.optional(Schema.String), weights: WeightRuns, ...Tokens })

const Prompt = Schema.Struct({
  id: Schema.String,
  input: Schema.Struct({
    renderer: Schema.String,
    tokenizer: TokenizerName,
    currentDate,
    messages: Schema.Array(InputMessage),
    role: Schema.optional(Schema.String),
    prefill: Schema.optional(Schema.String)
  }),
  expect: Schema.Union([
    Failed,
    Schema.Struct({
      ...Tokens,
      chunks: Schema.Array(Schema.String),
      stop: Schema.Union([Schema.Array(Schema.String), Schema.Array(Schema.Int)])
    })
  ])
})

const Supervised = Schema.Struct({
  id: Schema.String,
  input: Schema.Struct({
    renderer: Schema.String,
    tokenizer: TokenizerName,
    currentDate,
    messages: Schema.Array(InputMessage),
    trainable: Schema.Array(Schema.Boolean)
  }),
  expect: Schema.Struct({
    modes: Schema.Record(Schema.String, Schema.Union([Failed, Schema.Struct({ weights: WeightRuns, ...Tokens })])),
    examples: Schema.Record(Schema.String, Schema.Union([Failed, Schema.Array(Example)])),
    ...Tokens
  })
})

const Parse = Schema.Struct({
  id: Schema.String,
  input: Schema.Struct({
    renderer: Schema.String,
    tokenizer: TokenizerName,
    currentDate,
    text: Schema.NullOr(Schema.String),
    ids: Schema.optional(Schema.Array(Schema.Int))
  }),
  expect: Schema.Union([
    Failed,
    Schema.Struct({
      message: Schema.Struct({
        role: Schema.String,
        content: Content,
        tool_calls: Schema.optional(Schema.Array(Schema.Struct({
          id: Schema.NullOr(Schema.String),
          name: Schema.String,
          arguments: Schema.String
        }))),
        unparsed_tool_calls: Schema.optional(Schema.Array(Schema.Struct({
          raw_text: Schema.String,
          error_head: Schema.String
        })))
      }),
      termination: Schema.Literals(["stop_sequence", "eos", "malformed"]),
      failure: Schema.NullOr(Schema.Literals(["structural", "content"])),
      openai: Schema.Record(Schema.String, Schema.Json)
    })
  ])
})

const Tools = Schema.Struct({
  id: Schema.String,
  input: Schema.Struct({
    renderer: Schema.String,
    tokenizer: TokenizerName,
    currentDate,
    systemPrompt: Schema.String,
    tools: Schema.Array(Schema.Struct({
      name: Schema.String,
      description: Schema.String,
      parameters: Schema.Record(Schema.String, Schema.Json)
    }))
  }),
  expect: Schema.Union([
    Failed,
    Schema.Struct({ messages: Schema.Array(InputMessage), promptChunks: Schema.Array(Schema.String) })
  ])
})

export type Prompt = typeof Prompt.Type
export type Supervised = typeof Supervised.Type
export type Parse = typeof Parse.Type
export type Tools = typeof Tools.Type
export type TokenizerName = typeof TokenizerName.Type
export type Weights = typeof WeightRuns.Type

const lines = (file: string) => RecordedLines.read(join("chat", file))

/** The vectors of one kind: those of the main set, and those recorded by `scripts/record-chat.py` and `scripts/record-tml.py`. */
const read = <A>(file: string, schema: Schema.Codec<A, unknown>): ReadonlyArray<A> => {
  const decode = Schema.decodeUnknownSync(Schema.fromJsonString(schema))
  return ["", "0.6.1", "tml-renderers-0.2.1"].flatMap((folder) => lines(join(folder, file))).map((line) => decode(line))
}

export const prompts = read("prompts.jsonl", Prompt)
export const supervised = read("supervised.jsonl", Supervised)
export const parses = read("parse.jsonl", Parse)
export const tools = read("tools.jsonl", Tools)

export const message = (recorded: typeof InputMessage.Type): Message.Message => ({
  role: recorded.role,
  content: recorded.content,
  ...(recorded.tool_calls === undefined ? {} : {
    toolCalls: recorded.tool_calls.map((call) => ({
      ...(call.id === null ? {} : { id: call.id }),
      function: call.function
    }))
  }),
  ...(recorded.tool_call_id === undefined ? {} : { toolCallId: recorded.tool_call_id }),
  ...(recorded.name === undefined ? {} : { name: recorded.name })
})

export const weights = (runs: Weights): Array<number> =>
  runs.flatMap(([weight, count]) => Array<number>(count).fill(weight))

interface SomeTokens {
  readonly ids?: ReadonlyArray<number> | undefined
  readonly chunks?: ReadonlyArray<string> | undefined
  readonly chunkLengths?: ReadonlyArray<number> | undefined
}

export interface RecordedTokens {
  readonly ids: ReadonlyArray<number>
  readonly chunkLengths: ReadonlyArray<number>
}

/** The tokens of `own` if it has any, otherwise those of `base`. Chunks that are text are encoded. */
export const tokensOf = (own: SomeTokens, base: SomeTokens, tokenizer: Tokenizer.Tokenizer): RecordedTokens => {
  const { chunkLengths, chunks, ids } = own.chunkLengths === undefined ? base : own
  return {
    ids: ids ?? chunks?.flatMap((chunk) => [...tokenizer.encode(chunk)]) ?? [],
    chunkLengths: (chunkLengths ?? []).filter((length) => length > 0)
  }
}

/** One of the examples into which a conversation was split, with the tokens that it shares with an earlier example. */
export const exampleAt = (
  vector: Supervised,
  mode: string,
  index: number,
  tokenizer: Tokenizer.Tokenizer
): RecordedTokens & { readonly weights: Weights } => {
  const recorded = vector.expect.examples[mode]
  const example = recorded === undefined || "error" in recorded ? undefined : recorded[index]
  if (example === undefined) throw new Error(`${vector.id} has no example ${mode}/${index}`)
  if (example.sameAs === undefined || example.sameAs === "base") {
    return { ...tokensOf(example, vector.expect, tokenizer), weights: example.weights }
  }
  const [sameMode = "", sameIndex = ""] = example.sameAs.split("/")
  return { ...exampleAt(vector, sameMode, Number(sameIndex), tokenizer), weights: example.weights }
}
