/** Converts `@effect-rl/core` messages to AI SDK prompts and back. */
import {
  type LanguageModelV4Content,
  type LanguageModelV4Message,
  type LanguageModelV4Prompt,
  type LanguageModelV4ToolResultOutput,
  UnsupportedFunctionalityError
} from "@ai-sdk/provider"
import { Message } from "@effect-rl/core"
import type * as Prompt from "effect/ai/Prompt"
import * as AiMessages from "./AiMessages.ts"

type UserPart = Extract<LanguageModelV4Message, { readonly role: "user" }>["content"][number]
type AssistantPart = Extract<LanguageModelV4Message, { readonly role: "assistant" }>["content"][number]
type ToolPart = Extract<LanguageModelV4Message, { readonly role: "tool" }>["content"][number]

const userPart = (part: Prompt.UserMessagePartEncoded): UserPart =>
  part.type === "text"
    ? { type: "text", text: part.text }
    : {
      type: "file",
      mediaType: part.mediaType,
      data: typeof part.data === "string" || part.data instanceof Uint8Array
        ? { type: "data", data: part.data }
        : { type: "url", url: part.data }
    }

const assistantPart = (part: Prompt.AssistantMessagePartEncoded): ReadonlyArray<AssistantPart> => {
  if (part.type === "text" || part.type === "reasoning") return [{ type: part.type, text: part.text }]
  return part.type === "tool-call"
    ? [{ type: "tool-call", toolCallId: part.id, toolName: part.name, input: part.params }]
    : []
}

const toolPart = (part: Prompt.ToolMessagePartEncoded): ReadonlyArray<ToolPart> =>
  part.type === "tool-result"
    ? [{
      type: "tool-result",
      toolCallId: part.id,
      toolName: part.name,
      output: { type: "text", value: AiMessages.toText(part.result) }
    }]
    : []

const textPart = (text: string) => ({ type: "text" as const, text })

const toMessage = (message: Prompt.MessageEncoded): LanguageModelV4Message => {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content }
    case "user": {
      const { content } = message
      return { role: "user", content: typeof content === "string" ? [textPart(content)] : content.map(userPart) }
    }
    case "assistant": {
      const { content } = message
      return {
        role: "assistant",
        content: typeof content === "string" ? [textPart(content)] : content.flatMap(assistantPart)
      }
    }
    case "tool":
      return { role: "tool", content: message.content.flatMap(toolPart) }
  }
}

/** The messages as a prompt. Roles other than system, assistant and tool become user. */
export const toPrompt = (messages: ReadonlyArray<Message.Message>): LanguageModelV4Prompt =>
  AiMessages.toPrompt(Message.withToolNames(messages)).map(toMessage)

const refused = (type: string) =>
  new UnsupportedFunctionalityError({
    functionality: type,
    message: `a prompt has a part of type "${type}", expected text, reasoning, tool calls and their results`
  })

const outputText = (output: LanguageModelV4ToolResultOutput): string => {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value
    case "json":
    case "error-json":
      return AiMessages.toText(output.value)
    case "execution-denied":
      return output.reason ?? "the call was denied"
    case "content":
      return output.value.map((part) => {
        if (part.type !== "text") throw refused(part.type)
        return part.text
      }).join("\n")
  }
}

const userText = (part: UserPart) => {
  if (part.type !== "text") throw refused(part.type)
  return part.text
}

const assistant = (parts: ReadonlyArray<AssistantPart>): Message.Message => {
  const content: Array<Message.ContentPart> = []
  const toolCalls: Array<Message.ToolCall> = []
  for (const part of parts) {
    if (part.type === "text") content.push(textPart(part.text))
    else if (part.type === "reasoning") content.push({ type: "thinking", thinking: part.text })
    else if (part.type !== "tool-call") throw refused(part.type)
    else {
      toolCalls.push({
        id: part.toolCallId,
        function: { name: part.toolName, arguments: AiMessages.toText(part.input) }
      })
    }
  }
  return { role: "assistant", content, ...(toolCalls.length > 0 && { toolCalls }) }
}

const toolMessage = (part: ToolPart): Message.Message => {
  if (part.type !== "tool-result") throw refused(part.type)
  return { role: "tool", name: part.toolName, toolCallId: part.toolCallId, content: outputText(part.output) }
}

const fromMessage = (message: LanguageModelV4Message): ReadonlyArray<Message.Message> => {
  switch (message.role) {
    case "system":
      return [Message.system(message.content)]
    case "user":
      return [Message.user(message.content.map(userText).join(""))]
    case "assistant":
      return [assistant(message.content)]
    case "tool":
      return message.content.map(toolMessage)
  }
}

/** The messages of a prompt. Throws `UnsupportedFunctionalityError` for parts that messages cannot hold, such as files. */
export const fromPrompt = (prompt: LanguageModelV4Prompt): ReadonlyArray<Message.Message> => prompt.flatMap(fromMessage)

/** A model's answer as a message. Parts that messages cannot hold, such as sources, are dropped. */
export const fromContent = (content: ReadonlyArray<LanguageModelV4Content>): Message.Message =>
  assistant(
    content.filter((part) => part.type === "text" || part.type === "reasoning" || part.type === "tool-call")
  )
