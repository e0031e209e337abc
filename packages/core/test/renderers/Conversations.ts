/** Random conversations that a renderer can write and parse without loss. */
import { Message } from "@effect-rl/core"
import { PythonJson } from "@effect-rl/core/renderers"
import { Schema } from "effect"
import * as Families from "./Families.ts"

const Words = Schema.NonEmptyArray(
  Schema.Literals(["4", "two", "naïve", "a\nb", "{x}", "😀", "Because:", "日本", "</b>", "hm"])
)
const Value = Schema.Union([
  Schema.Literals(["SF", "two words", "naïve", "a\nb"]),
  Schema.Int,
  Schema.Array(Schema.Int)
])
const Call = Schema.Struct({
  name: Schema.Literals(["get", "search_web", "f2"]),
  values: Schema.Array(Schema.Tuple([Schema.Literals(["city", "n", "k_1"]), Value]))
})

export const Turn = Schema.Struct({
  asks: Words,
  thinks: Schema.optional(Words),
  /** Tool calls before the answer, each with a tool's answer. */
  steps: Schema.Array(Schema.Struct({ calls: Schema.NonEmptyArray(Call), says: Schema.optional(Words) })),
  answers: Words
})
export const Turns = Schema.NonEmptyArray(Turn)
export type Turn = typeof Turn.Type

export const say = (words: ReadonlyArray<string>): string => words.join(" ")

const plainJson = (value: typeof Value.Type): PythonJson.Value =>
  typeof value === "string" ? value : typeof value === "number" ? BigInt(value) : value.map((each) => BigInt(each))

const inOrder = <A>(renderer: string, values: ReadonlyArray<readonly [string, A]>) =>
  Families.sortsArguments(renderer)
    ? values.toSorted(([left], [right]) => left < right ? -1 : Number(left > right))
    : values

const toCall = (renderer: string) => (call: typeof Call.Type, index: number): Message.ToolCall => ({
  id: `functions.${call.name}:${index}`,
  function: {
    name: call.name,
    arguments: PythonJson.stringify(
      new Map(inOrder(renderer, call.values).map(([key, value]) => [key, plainJson(value)]))
    )
  }
})

const content = (thinks: ReadonlyArray<string> | undefined, text: string): ReadonlyArray<Message.ContentPart> => [
  ...(thinks === undefined ? [] : [{ type: "thinking" as const, thinking: say(thinks) }]),
  ...(text === "" ? [] : [{ type: "text" as const, text }])
]

const stepMessages = (renderer: string, turn: Turn): ReadonlyArray<Message.Message> => {
  if (Families.maxCalls(renderer) === 0) return []
  return turn.steps.slice(0, 2).flatMap(({ calls, says }) => {
    const alone = Families.callsAlone(renderer)
    const thinks = alone || !Families.thinks(renderer) ? undefined : turn.thinks
    const text = alone ? "" : says === undefined ? Families.mayCallAlone(renderer) ? "" : "ok" : say(says)
    const toolCalls = calls.slice(0, Families.maxCalls(renderer)).map(toCall(renderer))
    return [
      { role: "assistant", content: alone ? "" : content(thinks, text), toolCalls },
      ...toolCalls.map((call, index): Message.Message => ({
        role: "tool",
        content: `answer ${index}`,
        name: call.function.name,
        ...(call.id === undefined ? {} : { toolCallId: call.id })
      }))
    ]
  })
}

/** The same turns, all with reasoning. */
export const thinking = (turns: ReadonlyArray<Turn>): ReadonlyArray<Turn> =>
  turns.map((turn) => ({ ...turn, thinks: turn.thinks ?? ["hm"] }))

/** The messages of turns, limited to what the renderer's family supports. */
export const messages = (renderer: string, turns: ReadonlyArray<Turn>): ReadonlyArray<Message.Message> =>
  turns.slice(0, 3).flatMap((turn) => [
    Message.user(say(turn.asks)),
    ...stepMessages(renderer, turn),
    Families.thinks(renderer)
      ? { role: "assistant", content: content(turn.thinks, say(turn.answers)) }
      : Message.assistant(say(turn.answers))
  ])

/** The prefixes of a conversation that end with an assistant message. */
export const endingWithAssistant = (
  conversation: ReadonlyArray<Message.Message>
): ReadonlyArray<ReadonlyArray<Message.Message>> =>
  conversation.flatMap((message, index) => message.role === "assistant" ? [conversation.slice(0, index + 1)] : [])

/** A message's parts and calls, without the white space that some families write between text and calls. */
export const comparable = (message: Message.Message) => ({
  thinking: Message.thinking(message),
  text: message.toolCalls === undefined ? Message.text(message) : Message.text(message).trimEnd(),
  calls: (message.toolCalls ?? []).map((call) => call.function)
})
