/**
 * Grammars that constrain whole responses of a chat model, or the reason why none can.
 *
 * @example
 * const schema = { type: "object", properties: { answer: { type: "integer" } }, required: ["answer"] }
 * const grammar = HeldResponse.value(model, [Message.user("What is 2 + 2?")], schema)
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Grammar from "../model/Grammar.ts"
import * as CallForm from "./CallForm.ts"
import * as Message from "./Message.ts"
import type { Renderer } from "./Renderer.ts"
import type { Tokenizer } from "./Tokenizer.ts"

/** The parts of a chat model that decide which grammars can constrain it. */
export interface Model {
  readonly name: string
  readonly tokenizer: Tokenizer
  readonly renderer: Renderer
  readonly capabilities: { readonly sampling?: ReadonlyArray<string> }
}

type Messages = ReadonlyArray<Message.Message>

/** The tokens of the renderer's first stop; empty if it has none. */
export const closing = ({ renderer: { stop }, tokenizer }: Pick<Model, "renderer" | "tokenizer">): Int32Array => {
  const [first] = stop
  if (first === undefined) return new Int32Array(0)
  return typeof first === "string" ? tokenizer.encode(first) : Int32Array.of(first)
}

/**
 * The message and the deltas that the renderer parses from a response that consists of `text` and the stop; `None` if the renderer cannot
 * parse it.
 */
const reading = ({ renderer, tokenizer }: Model, messages: Messages, text: string) => {
  const reader = renderer.stream(messages)
  const first = reader.push([...tokenizer.encode(text), ...closing({ renderer, tokenizer })])
  return Effect.map(
    Effect.option(reader.end),
    Option.map(({ deltas, parsed: { message } }) => ({ message, deltas: [...first, ...deltas] }))
  )
}

/** Whether the renderer parses JSON at the beginning of a response as text. */
const readsText = (model: Model, messages: Messages) =>
  Effect.map(
    reading(model, messages, "{}"),
    Option.exists(({ deltas, message }) =>
      Message.text(message).trim() === "{}" && deltas.every(({ _tag }) => _tag === "Text")
    )
  )

/** Whether the renderer parses a call at the beginning of a response as a call. */
const readsCalls = (model: Model, messages: Messages, { argumentsKey, close, open }: CallForm.CallForm) =>
  Effect.map(
    reading(model, messages, `${open}{"name": "call", "${argumentsKey}": {}}${close}`),
    Option.exists(({ message: { toolCalls = [] } }) => toolCalls.length === 1)
  )

/** Why the model's responses to these messages cannot be constrained by any grammar; undefined if they can. */
const obstacle = ({ capabilities: { sampling = [] }, name }: Model, messages: Messages): string | undefined => {
  if (!sampling.includes("grammar")) return `the backend has no grammars for ${name}`
  return messages.at(-1)?.role === "assistant"
    ? "a reply that a grammar constrains cannot be prefilled: leave out its beginning"
    : undefined
}

const reasons = ({ renderer: { name } }: Model) =>
  `the renderer ${name} treats the beginning of a reply as reasoning: turn reasoning off`

/**
 * A grammar for responses that are one JSON value of the schema. The result is a failure with the reason if the model cannot be constrained
 * or the schema cannot be enforced.
 */
export const value = Effect.fnUntraced(function*(
  model: Model,
  messages: Messages,
  jsonSchema: Schema.Json
): Effect.fn.Return<Result.Result<Grammar.Grammar, string>> {
  const because = obstacle(model, messages)
  if (because !== undefined) return Result.fail(because)
  if (!(yield* readsText(model, messages))) return Result.fail(reasons(model))
  const problem = Grammar.problem(jsonSchema)
  return problem === undefined
    ? Result.succeed({ jsonSchema })
    : Result.fail(`its schema has a part that no grammar can enforce: ${problem}`)
})

/**
 * A grammar for responses whose tool calls satisfy the constraints. The result is a failure with the reason if the model cannot be
 * constrained or a strict tool's schema cannot be enforced.
 */
export const calls = Effect.fnUntraced(function*(
  model: Model,
  messages: Messages,
  asked: CallForm.Asked
): Effect.fn.Return<Result.Result<Grammar.Grammar, string>> {
  const { calls: form, name } = model.renderer
  const because = obstacle(model, messages)
  if (because !== undefined) return Result.fail(because)
  if (form === undefined) return Result.fail(`the renderer ${name} writes calls in a form that no grammar can enforce`)
  if (!asked.isForced && form.marks.length === 0) {
    return Result.fail(`calls of the renderer ${name} begin like other text: force a call, or send no strict tool`)
  }
  if (!(yield* readsCalls(model, messages, form))) return Result.fail(reasons(model))
  return Result.mapError(
    CallForm.grammar(form, asked),
    (problem) => `a tool has a part that no grammar can enforce: ${problem}`
  )
})
