/** Converts `@effect-rl/core` messages to `effect/ai` prompts and back. */
import { Message } from "@effect-rl/core"
import { PythonJson } from "@effect-rl/core/renderers"
import * as AiError from "effect/ai/AiError"
import * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

const isJson = Schema.is(Schema.Json)

/** A value as text: strings unchanged, any other value as JSON. */
export const toText = (value: unknown): string => {
  if (typeof value === "string") return value
  return isJson(value) ? PythonJson.stringify(PythonJson.fromJson(value)) : String(value)
}

/** The parsed arguments, or the text itself if it is not JSON. */
const toParams = (text: string): unknown =>
  Result.match(PythonJson.parse(text), { onFailure: () => text, onSuccess: PythonJson.toJson })

const imagePart = ({ data, format }: Message.ImagePart): Prompt.FilePartEncoded => ({
  type: "file",
  mediaType: `image/${format}`,
  data
})

const contentPart = (
  part: Message.ContentPart
): Prompt.TextPartEncoded | Prompt.ReasoningPartEncoded | Prompt.FilePartEncoded => {
  if (part.type === "image") return imagePart(part)
  return part.type === "text" ? part : { type: "reasoning", text: part.thinking }
}

/** A single text, or a list of texts and images in their order. */
const userContent = (message: Message.Message) => {
  const parts = Message.parts(message)
  if (!parts.some((part) => part.type === "image")) return Message.text(message)
  return parts.flatMap((part): ReadonlyArray<Prompt.TextPartEncoded | Prompt.FilePartEncoded> => {
    if (part.type === "image") return [imagePart(part)]
    return part.type === "text" ? [part] : []
  })
}

/** The given id, or an id derived from the call's position. A tool's result derives the same id. */
const idOf = (id: string | undefined, turn: number, index: number) => id ?? `call_${turn}_${index}`

const encode = (
  message: Message.Message,
  turn: number,
  answers: number
): Prompt.MessageEncoded => {
  if (message.role === "system") return { role: "system", content: Message.text(message) }
  if (message.role === "tool") {
    const { name = "", toolCallId } = message
    const id = idOf(toolCallId, turn, answers)
    return {
      role: "tool",
      content: [{ type: "tool-result", id, name, isFailure: false, result: Message.text(message) }]
    }
  }
  if (message.role !== "assistant") return { role: "user", content: userContent(message) }
  const calls = (message.toolCalls ?? []).map(({ function: { arguments: args, name }, id }, index) => ({
    type: "tool-call" as const,
    id: idOf(id, turn, index),
    name,
    params: toParams(args)
  }))
  return { role: "assistant", content: [...Message.parts(message).map(contentPart), ...calls] }
}

/** The messages as a prompt. Roles other than system, assistant and tool become user. */
export const toPrompt = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<Prompt.MessageEncoded> => {
  let turn = -1
  let answers = 0
  return messages.map((message, index) => {
    if (message.role === "assistant") {
      turn = index
      answers = 0
    }
    return encode(message, turn, message.role === "tool" ? answers++ : 0)
  })
}

const unsupported = (part: string) =>
  AiError.make({
    module: "AiPolicy",
    method: "toLanguageModel",
    reason: new AiError.InvalidRequestError({
      parameter: "prompt",
      description: `it has a part of type "${part}", expected text, reasoning, tool calls and their results`
    })
  })

const decodeAssistant = Effect.fnUntraced(function*({ content }: Prompt.AssistantMessage) {
  const parts: Array<Message.ContentPart> = []
  const toolCalls: Array<Message.ToolCall> = []
  for (const part of content) {
    if (part.type === "text") parts.push({ type: "text", text: part.text })
    else if (part.type === "reasoning") parts.push({ type: "thinking", thinking: part.text })
    else if (part.type !== "tool-call") return yield* unsupported(part.type)
    else toolCalls.push({ id: part.id, function: { name: part.name, arguments: toText(part.params) } })
  }
  return [{ role: "assistant", content: parts, ...(toolCalls.length > 0 && { toolCalls }) }]
})

const decode = (message: Prompt.Message): Effect.Effect<ReadonlyArray<Message.Message>, AiError.AiError> => {
  switch (message.role) {
    case "system":
      return Effect.succeed([Message.system(message.content)])
    case "assistant":
      return decodeAssistant(message)
    case "user":
      return Effect.forEach(
        message.content,
        (part) => part.type === "text" ? Effect.succeed(part.text) : Effect.fail(unsupported(part.type))
      ).pipe(
        Effect.map((texts) => [Message.user(texts.join(""))])
      )
    case "tool":
      return Effect.forEach(
        message.content,
        (part) =>
          part.type !== "tool-result" ? Effect.fail(unsupported(part.type)) : Effect.succeed({
            role: "tool",
            name: part.name,
            toolCallId: part.id,
            content: part.modelOutput === undefined
              ? toText(part.result)
              : Prompt.toolModelOutputToText(part.modelOutput)
          })
      )
  }
}

/** The messages of a prompt. Fails for parts that messages cannot hold, such as files. */
export const fromPrompt = (
  { content }: Prompt.Prompt
): Effect.Effect<ReadonlyArray<Message.Message>, AiError.AiError> =>
  Effect.map(Effect.forEach(content, decode), (messages) => messages.flat())
