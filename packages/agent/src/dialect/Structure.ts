/**
 * Structured replies. If the backend supports grammars, a grammar constrains answers to their schema and calls to their tools. Otherwise
 * the request is refused, or the reply is checked and violations are reported.
 */
import { Message } from "@effect-rl/core"
import type { Grammar } from "@effect-rl/core/backend"
import { HeldResponse, type ToolSpec } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as GivenSchema from "../wire/GivenSchema.ts"
import * as SchemaLimits from "../wire/SchemaLimits.ts"
import type { Answerer, Asked } from "./Answerer.ts"
import type { Check, Notes } from "./Notes.ts"
import * as PromptedChat from "./PromptedChat.ts"
import type { Refusal } from "./Refusal.ts"

const parse = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

/** A conversation with a structured reply, and the name of the requested model. */
export interface Conversation {
  readonly answerer: Answerer
  readonly notes: Notes
  readonly model: string
  readonly asked: Asked
}

/** A field that requests an answer with a schema. */
export interface Format {
  readonly field: string
  readonly type: string
  /** The schema of the answer. Default: any object. */
  readonly schema?: JsonSchema.JsonSchema | undefined
}

/** A tool choice that forces a call: to the named tool, or to any. */
export interface Forced {
  readonly value: unknown
  readonly name?: string | undefined
}

/** The structure that a request asks of its reply. */
export interface Wanted {
  readonly format?: Format | undefined
  readonly forced?: Forced | undefined
  /** Whether the reply may have at most one call. */
  readonly isOneCall: boolean
  /** The tool field that requests strict calls, and the names of the tools that set it. */
  readonly strict: { readonly field: string; readonly names: ReadonlyArray<string> }
}

type Held = Result.Result<Grammar.Grammar, string>

const isObject = Schema.is(Schema.Record(Schema.String, Schema.Json))

/** The model with the requested renderer, or the reason why that renderer cannot be made. */
const modelOf = ({ answerer, asked, model }: Conversation) =>
  Effect.flatMap(answerer.chatModel(model), (own) => Effect.result(PromptedChat.inMode(own, asked)))

/** The grammar of an answer, or the reason why there is none. */
const heldFormat = Effect.fnUntraced(function*(
  conversation: Conversation,
  schema: JsonSchema.JsonSchema
): Effect.fn.Return<Held, Refusal> {
  const model = yield* modelOf(conversation)
  if (Result.isFailure(model)) return Result.fail(model.failure.message)
  const { messages, tools } = conversation.asked
  if (!isObject(schema)) return Result.fail("its schema is no JSON")
  const problem = SchemaLimits.problem(schema)
  if (problem !== undefined) return Result.fail(`its schema has a part that no grammar can enforce: ${problem}`)
  const held = yield* HeldResponse.value(model.success, messages, schema)
  return Result.isSuccess(held) && tools.length > 0
    ? Result.fail("a grammar leaves no way to call a tool: send no tools with it")
    : held
})

/** The grammar of the answer. If there is none, fails, or warns that the answer is not constrained and checks it instead. */
const format = Effect.fnUntraced(
  function*(conversation: Conversation, { field, schema = { type: "object" }, type }: Format) {
    const { notes } = conversation
    const held = yield* heldFormat(conversation, schema)
    if (Result.isSuccess(held)) return held.success
    yield* notes.notGiven(field, `${field} has the type "${type}", expected "text": ${held.failure}`)
    const problem = GivenSchema.problem(schema)
    notes.expect(field, (reply) => {
      if ((reply.toolCalls ?? []).length > 0) return undefined
      const value = parse(Message.text(reply))
      return Option.isNone(value) ? "the answer is not JSON" : problem(value.value)
    })
    return undefined
  }
)

const callProblem = (name: string | undefined): Check => ({ toolCalls = [] }) => {
  if (toolCalls.length === 0) return "the answer calls no tool"
  const other = toolCalls.find(({ function: called }) => name !== undefined && called.name !== name)
  return other === undefined ? undefined : `the answer calls ${other.function.name}, expected ${name}`
}

const argumentsProblem = ({ name, parameters }: ToolSpec.ToolSpec): Check => {
  const problem = GivenSchema.problem(parameters)
  return ({ toolCalls = [] }) =>
    toolCalls
      .filter(({ function: called }) => called.name === name)
      .map(({ function: called }) =>
        Option.match(parse(called.arguments), { onNone: () => "the arguments are not JSON", onSome: problem })
      )
      .find((found) => found !== undefined)
}

/** The grammar of calls, or the reason why there is none. If a call is forced by name, it is the only one. */
const heldCalls = Effect.fnUntraced(function*(
  conversation: Conversation,
  { forced, isOneCall, strict }: Wanted
): Effect.fn.Return<Held, Refusal> {
  const { answerer, asked: { messages, tools }, model: name } = conversation
  const model = yield* modelOf(conversation)
  if (Result.isFailure(model)) return Result.fail(model.failure.message)
  if (forced === undefined && answerer.checksStrict?.(name) === true) {
    return Result.fail("calls are checked, so that the turn can be trained on")
  }
  const callable = tools.filter((tool) => forced?.name === undefined || tool.name === forced.name)
  if (callable.length === 0) return Result.fail(`the tools are ${tools.map((tool) => tool.name).join(", ") || "none"}`)
  const tooLarge = callable.map(({ parameters }) => SchemaLimits.problem(parameters)).find((found) =>
    found !== undefined
  )
  if (tooLarge !== undefined) return Result.fail(tooLarge)
  return yield* HeldResponse.calls(model.success, messages, {
    tools: callable.map((spec) => ({ spec, isStrict: strict.names.includes(spec.name) })),
    isForced: forced !== undefined,
    isOne: isOneCall || forced?.name !== undefined
  })
})

/** The grammar of calls. If there is none, fails, or warns that calls are not constrained and checks them instead. */
const calls = Effect.fnUntraced(function*(conversation: Conversation, wanted: Wanted) {
  const { asked: { tools }, notes } = conversation
  const { forced, strict } = wanted
  const strictTools = tools.filter(({ name }) => strict.names.includes(name))
  if (forced === undefined && strictTools.length === 0) return undefined
  const held = yield* heldCalls(conversation, wanted)
  if (Result.isSuccess(held)) return held.success
  if (forced !== undefined) {
    const value = JSON.stringify(forced.value)
    yield* notes.notGiven("tool_choice", `tool_choice is ${value}, expected "auto" or "none": ${held.failure}`)
    notes.expect("tool_choice", callProblem(forced.name))
  }
  if (strictTools.length > 0) {
    yield* notes.notGiven(strict.field, `${strict.field} is true, expected false: ${held.failure}`)
    for (const tool of strictTools) notes.expect(`${strict.field} of ${tool.name}`, argumentsProblem(tool))
  }
  return undefined
})

/**
 * The grammar that constrains the reply; undefined if no structure is requested. If a requested structure cannot be enforced, a lenient
 * caller gets undefined and a warning; for other callers the effect fails.
 */
export const grammar = Effect.fnUntraced(function*(conversation: Conversation, wanted: Wanted) {
  if (wanted.format === undefined && wanted.forced === undefined && wanted.strict.names.length === 0) return undefined
  const answer = wanted.format === undefined ? undefined : yield* format(conversation, wanted.format)
  return answer ?? (yield* calls(conversation, wanted))
})

/** Fails, or warns that a client's own grammar for call input is ignored, because such grammars are not supported. */
export const inputGrammar = (notes: Notes, field: string) =>
  notes.notGiven(
    field,
    `${field} has the type "grammar", expected "text": no call is constrained by a client's grammar here`
  )
