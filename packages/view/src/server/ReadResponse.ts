/** Parses a turn's response with the policy's renderer into reasoning, text and tool calls. */
import type { Message } from "@effect-rl/core"
import { type Renderer, Renderers, type ResponseStream, type Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import type * as Entry from "../story/Entry.ts"

/** A response as parts, and as a message. */
export interface Read {
  readonly parts: ReadonlyArray<Entry.SaidPart>
  readonly message: Message.Message
}

/** Parses a response; null if the model's tokenizer or renderer is not available. */
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

/** Joins consecutive pieces of text and of reasoning; each tool call is already complete. */
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

/** Parses responses and renders prompts. */
export interface Rendering {
  readonly reading: Reading
  /** Renders prompts; undefined if it is not available. */
  readonly renderer: Renderer.Renderer | undefined
}

export const unknown: Rendering = { reading: unread, renderer: undefined }

const readingOf = (renderer: Renderer.Renderer): Reading => (tokens) =>
  Effect.gen(function*() {
    const response = renderer.stream([])
    const first = response.push(tokens)
    const { deltas, parsed } = yield* response.end
    const read: Read = { parts: joined([...first, ...deltas]), message: parsed.message }
    return read
  }).pipe(Effect.orElseSucceed(() => null))

/** Parses responses with the named renderer and the tokenizer. */
export const make = (renderer: string, tokenizer: Tokenizer.Tokenizer): Effect.Effect<Rendering> =>
  Effect.match(Renderers.byName(renderer, tokenizer), {
    onFailure: () => unknown,
    onSuccess: (found): Rendering => ({ reading: readingOf(found), renderer: found })
  })
