/** A question with fixed answers, rendered as a prompt whose next token selects the answer. */
import { type ChatModel, Message } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Renderer } from "@effect-rl/core/renderers"
import type * as Decision from "effect/ai/Decision"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/** One of the answers. The model sees its description. */
export interface Choice {
  readonly label: string
  readonly description?: Decision.Description | undefined
}

export interface Question {
  /** The data that the question is about. */
  readonly state: Schema.Json
  readonly instructions: Decision.Description
  readonly choices: ReadonlyArray<Choice>
}

export interface ChoicePrompt {
  readonly prompt: ModelInput.ModelInput
  /** The token that selects each choice, in the order of the choices. */
  readonly tokens: ReadonlyArray<number>
}

type Model = Pick<ChatModel.ChatModel, "renderer" | "tokenizer">

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
const prefix = "choice#"

const refused = (detail: string) => new Renderer.RendererError({ renderer: "choices", detail })

const written = (description: Decision.Description) =>
  typeof description === "string" ? description : JSON.stringify(description)

const line = ({ description, label }: Choice, index: number) => {
  const head = `${prefix}${letters[index]}: ${label}`
  return description === undefined ? head : `${head} (${written(description)})`
}

const messages = ({ choices, instructions, state }: Question): ReadonlyArray<Message.Message> => [
  Message.system(
    `Choose one of the given answers. Write its name, in the form ${prefix}A, and nothing before or after it.`
  ),
  Message.user([
    JSON.stringify(state),
    "",
    written(instructions),
    "",
    "Answers:",
    ...choices.map(line)
  ].join("\n"))
]

/** The token of each letter after the prefix. Fails if the tokenizer does not encode each letter as one token. */
const letterTokens = Effect.fnUntraced(function*({ tokenizer }: Model, count: number) {
  const before = tokenizer.encode(prefix)
  const tokens = Array.from(letters.slice(0, count), (letter) => {
    const whole = tokenizer.encode(prefix + letter)
    const isOne = whole.length === before.length + 1 && before.every((token, index) => token === whole[index])
    return isOne ? whole[before.length] : undefined
  }).flatMap((token) => token ?? [])
  if (tokens.length === count && new Set(tokens).size === count) return { before, tokens }
  return yield* refused(`the tokenizer does not write each letter after "${prefix}" as a token of its own`)
})

/** The index of the last occurrence of `part`, or −1 if there is none. */
const lastIndexOf = (tokens: Int32Array, part: ReadonlyArray<number>) =>
  tokens.findLastIndex((_, start) => part.every((token, index) => tokens[start + index] === token))

/**
 * The prompt of a question, up to the letter that selects the answer, and the token of each letter. The prompt is cut from a complete
 * assistant message, so a reasoning model answers without thinking first.
 *
 * @example
 * const asked = ChoicePrompt.make(model, {
 *   state: 91,
 *   instructions: "Is the number prime?",
 *   choices: [{ label: "yes" }, { label: "no" }]
 * })
 *
 * @see tinker-cookbook `recipes.decisions.decision: DecisionRenderer`
 */
export const make = Effect.fnUntraced(function*(
  model: Model,
  question: Question
): Effect.fn.Return<ChoicePrompt, Renderer.RendererError> {
  const { choices } = question
  if (choices.length < 2 || choices.length > letters.length) {
    return yield* refused(`a question has ${choices.length} choices, expected 2 to ${letters.length}`)
  }
  const { before, tokens } = yield* letterTokens(model, choices.length)
  const conversation = [...messages(question), Message.assistant(`${prefix}A`)]
  const { input } = yield* model.renderer.supervisedExample(conversation, "last_assistant_message")
  const rendered = yield* Effect.mapError(ModelInput.toTokens(input), (error) => refused(error.message))
  const at = lastIndexOf(rendered, [...before, ...tokens.slice(0, 1)])
  if (at === -1) return yield* refused(`the renderer "${model.renderer.name}" writes "${prefix}A" in other tokens`)
  return { prompt: ModelInput.fromTokens(rendered.subarray(0, at + before.length)), tokens }
})
