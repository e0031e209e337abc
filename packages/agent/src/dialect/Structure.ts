/**
 * Replies that are asked to have a structure. A grammar holds an answer to a schema where the backend has grammars; what is not held is refused,
 * or checked and reported.
 */
import { type ChatModel, Message } from "@effect-rl/core"
import { Grammar } from "@effect-rl/core/backend"
import type { ToolSpec } from "@effect-rl/core/renderers"
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

const noGrammar = "no call is held to a grammar here"

/** A conversation whose reply is to have a structure, and the name of the model that is asked. */
export interface Conversation {
  readonly answerer: Answerer
  readonly notes: Notes
  readonly model: string
  readonly asked: Asked
}

/** A field that asks for an answer with a schema. */
export interface Format {
  readonly field: string
  readonly type: string
  /** Any object unless given. */
  readonly schema?: JsonSchema.JsonSchema | undefined
}

const isObject = Schema.is(Schema.Record(Schema.String, Schema.Json))

/** Whether the renderer reads JSON that a reply begins with as its text, in the place where its prompt ends. */
const isText = Effect.fnUntraced(function*(chatModel: ChatModel.ChatModel, { messages }: Asked) {
  const { renderer, tokenizer } = chatModel
  const reader = renderer.stream(messages)
  const first = reader.push([...tokenizer.encode("{}"), ...PromptedChat.closingOf(chatModel)])
  const read = yield* Effect.option(reader.end)
  return Option.exists(
    read,
    ({ deltas, parsed }) =>
      Message.text(parsed.message).trim() === "{}" && [...first, ...deltas].every(({ _tag }) => _tag === "Text")
  )
})

/** Why no grammar can hold the reply to the schema. */
const obstacle = Effect.fnUntraced(function*(
  { answerer, asked, model }: Conversation,
  schema: JsonSchema.JsonSchema
): Effect.fn.Return<string | undefined, Refusal> {
  const own = yield* answerer.chatModel(model)
  const found = yield* Effect.result(PromptedChat.inMode(own, asked))
  if (Result.isFailure(found)) return found.failure.message
  const chatModel = found.success
  const { capabilities: { sampling = [] }, name, renderer } = chatModel
  if (!sampling.includes("grammar")) return `the backend has no grammars for ${name}`
  if (asked.tools.length > 0) return "a grammar leaves no way to call a tool: send no tools with it"
  if (asked.messages.at(-1)?.role === "assistant") return "a grammar begins with its reply: send no beginning of it"
  if (!(yield* isText(chatModel, asked))) {
    return `the renderer ${renderer.name} reads what a reply begins with as reasoning: ask for none`
  }
  if (!isObject(schema)) return "its schema is no JSON"
  const problem = SchemaLimits.problem(schema) ?? Grammar.problem(schema)
  return problem === undefined ? undefined : `its schema has a part that is not held: ${problem}`
})

/**
 * The grammar of the answer. Where there is none it fails, or warns that the answer is not held to the schema, and checks it: calls of tools take
 * the place of an answer.
 */
export const format = Effect.fnUntraced(function*(
  conversation: Conversation,
  { field, schema = { type: "object" }, type }: Format
): Effect.fn.Return<Grammar.Grammar | undefined, Refusal> {
  const { notes } = conversation
  const because = yield* obstacle(conversation, schema)
  if (because === undefined && isObject(schema)) return { jsonSchema: schema }
  yield* notes.notGiven(field, `${field} has the type "${type}", expected "text": ${because}`)
  const problem = GivenSchema.problem(schema)
  notes.expect(field, (reply) => {
    if ((reply.toolCalls ?? []).length > 0) return undefined
    const value = parse(Message.text(reply))
    return Option.isNone(value) ? "the answer is not JSON" : problem(value.value)
  })
  return undefined
})

/** A choice of tools that needs a call: of the tool with this name, or of any. */
export interface Forced {
  readonly field: string
  readonly value: unknown
  readonly name?: string | undefined
}

const callProblem = (name: string | undefined): Check => ({ toolCalls = [] }) => {
  if (toolCalls.length === 0) return "the answer calls no tool"
  const other = toolCalls.find(({ function: called }) => name !== undefined && called.name !== name)
  return other === undefined ? undefined : `the answer calls ${other.function.name}, expected ${name}`
}

/** Fails, or warns that no call is forced, and looks for it. */
export const forcedCall = Effect.fnUntraced(function*(notes: Notes, { field, name, value }: Forced) {
  yield* notes.notGiven(field, `${field} is ${JSON.stringify(value)}, expected "auto" or "none": ${noGrammar}`)
  notes.expect(field, callProblem(name))
})

/** Fails, or warns that calls are not held to a grammar; nothing here reads one. */
export const grammar = (notes: Notes, field: string) =>
  notes.notGiven(field, `${field} has the type "grammar", expected "text": ${noGrammar}`)

/** A tool to whose schema the arguments of its calls are to be held. */
export interface StrictTool extends Pick<ToolSpec.ToolSpec, "name" | "parameters"> {
  /** The field that says so. */
  readonly field: string
}

const argumentsProblem = ({ name, parameters }: StrictTool): Check => {
  const problem = GivenSchema.problem(parameters)
  return ({ toolCalls = [] }) =>
    toolCalls
      .filter(({ function: called }) => called.name === name)
      .map(({ function: called }) =>
        Option.match(parse(called.arguments), { onNone: () => "the arguments are not JSON", onSome: problem })
      )
      .find((found) => found !== undefined)
}

/** Fails, or warns that calls are not held to the schemas, and checks their arguments. */
export const strictTools = Effect.fnUntraced(function*(notes: Notes, tools: ReadonlyArray<StrictTool>) {
  const [first] = tools
  if (first === undefined) return
  yield* notes.notGiven(first.field, `${first.field} is true, expected false: ${noGrammar}`)
  for (const tool of tools) notes.expect(`${tool.field} of ${tool.name}`, argumentsProblem(tool))
})
