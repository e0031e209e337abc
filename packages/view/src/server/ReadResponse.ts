/** The response of a turn as the policy's renderer reads it: reasoning, text and tool calls. */
import type { Message } from "@effect-rl/core"
import { type Renderer, Renderers, type ResponseStream, type Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import type * as Entry from "../story/Entry.ts"

/** A response part by part, and as a message. */
export interface Read {
  readonly parts: ReadonlyArray<Entry.SaidPart>
  readonly message: Message.Message
}

/** Reads a response; null where the model's tokenizer or its renderer is not here. */
export type Reading = (tokens: Int32Array) => Effect.Effect<Read | null>

export const unread: Reading = () => Effect.succeed(null)

const partOf = (delta: ResponseStream.Delta): Entry.SaidPart => {
  switch (delta._tag) {
    case "Text":
      return { kind: "text", text: delta.text }
    case "Thinking":
      return { kind: "thinking", text: delta.thinking }
    case "ToolCall":
      return { kind: "call", text: `${delta.toolCall.function.name}(${delta.toolCall.function.arguments})` }
    case "UnparsedToolCall":
      return { kind: "unread_call", text: delta.unparsedToolCall.rawText }
  }
}

/** Text and reasoning come piece by piece; each call is whole. */
const joined = (deltas: ReadonlyArray<ResponseStream.Delta>): ReadonlyArray<Entry.SaidPart> => {
  const parts: Array<Entry.SaidPart> = []
  for (const { kind, text } of deltas.map(partOf)) {
    const last = parts.at(-1)
    const goesOn = last?.kind === kind && (kind === "text" || kind === "thinking")
    if (goesOn) parts[parts.length - 1] = { kind, text: last.text + text }
    else parts.push({ kind, text })
  }
  return parts.map(({ kind, text }) => ({ kind, text: text.trim() })).filter(({ text }) => text !== "")
}

/** What a renderer reads, and how it renders prompts. */
export interface Rendering {
  readonly reading: Reading
  /** Undefined where the renderer is not here. */
  readonly render: Renderer.Renderer["generationPrompt"] | undefined
}

export const unknown: Rendering = { reading: unread, render: undefined }

const readingOf = (renderer: Renderer.Renderer): Reading => (tokens) =>
  Effect.gen(function*() {
    const response = renderer.stream([])
    const first = response.push(tokens)
    const { deltas, parsed } = yield* response.end
    const read: Read = { parts: joined([...first, ...deltas]), message: parsed.message }
    return read
  }).pipe(Effect.orElseSucceed(() => null))

/** Reads responses as the renderer of that name writes them with the tokenizer. */
export const make = (renderer: string, tokenizer: Tokenizer.Tokenizer): Effect.Effect<Rendering> =>
  Effect.match(Renderers.byName(renderer, tokenizer), {
    onFailure: () => unknown,
    onSuccess: (found): Rendering => ({ reading: readingOf(found), render: found.generationPrompt })
  })
