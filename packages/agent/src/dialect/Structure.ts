/** Replies that are asked to have a structure, which no sampler here enforces: each is checked and reported. */
import { Message } from "@effect-rl/core"
import type { ToolSpec } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as GivenSchema from "../wire/GivenSchema.ts"
import type { Check, Notes } from "./Notes.ts"

const parse = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

const noGrammar = "no sampler here takes a grammar"

/** Fails, or warns that the answer is not held to the schema, and checks it. Calls of tools take the place of an answer. */
export const format = Effect.fnUntraced(function*(
  notes: Notes,
  field: string,
  type: string,
  schema: JsonSchema.JsonSchema = { type: "object" }
) {
  yield* notes.notGiven(field, `${field} has the type "${type}", expected "text": ${noGrammar}`)
  const problem = GivenSchema.problem(schema)
  notes.expect(field, (reply) => {
    if ((reply.toolCalls ?? []).length > 0) return undefined
    const value = parse(Message.text(reply))
    return Option.isNone(value) ? "the answer is not JSON" : problem(value.value)
  })
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
