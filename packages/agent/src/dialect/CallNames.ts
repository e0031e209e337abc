/**
 * Ids for the tool calls of a reply, unique within its conversation. A model's own id is kept if it is new. Other ids are derived from the
 * prompt and the seed, so a repeated request gets the same ids; without a seed, they are derived from the reply's unique name.
 */
import type { Message } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import type { Renderer, ResponseStream } from "@effect-rl/core/renderers"
import { createHash } from "node:crypto"

/** Assigns ids to the calls of one reply. The streamed deltas and the whole message get the same ids. */
export interface CallNames {
  readonly deltas: (deltas: ReadonlyArray<ResponseStream.Delta>) => ReadonlyArray<ResponseStream.Delta>
  readonly parsed: (parsed: Renderer.Parsed) => Renderer.Parsed
}

const known = (conversation: ReadonlyArray<Message.Message>) =>
  conversation.flatMap(({ toolCallId, toolCalls = [] }) => [
    ...(toolCallId === undefined ? [] : [toolCallId]),
    ...toolCalls.flatMap(({ id }) => id === undefined ? [] : [id])
  ])

/** The number of characters in OpenAI's own ids. */
const length = 24

const digestOf = (seed: string, { chunks }: Sampling.SampleRequest["prompt"]) => {
  const hash = createHash("sha256").update(seed)
  for (const chunk of chunks) {
    const { buffer, byteLength, byteOffset } = chunk._tag === "Image" ? chunk.data : chunk.tokens
    hash.update(new Uint8Array(buffer, byteOffset, byteLength))
  }
  return hash.digest("hex")
}

const isNew = (taken: ReadonlySet<string>, id: string | undefined): id is string =>
  id !== undefined && id !== "" && !taken.has(id)

/** Creates the call ids for each reply to a request, given the reply's index. `unique` is a name that no other request has. */
export const make = (
  conversation: ReadonlyArray<Message.Message>,
  { params: { seed }, prompt }: Sampling.SampleRequest,
  unique: string
) =>
(reply: number): CallNames => {
  const names: Array<string> = []
  let taken: Set<string> | undefined
  let origin: string | undefined
  const fresh = (call: number) => {
    origin ??= digestOf(seed === undefined ? `${unique} ${reply}` : String(seed + reply), prompt)
    return `call_${createHash("sha256").update(`${origin} ${call}`).digest("hex").slice(0, length)}`
  }
  const named = (call: Message.ToolCall, index: number): Message.ToolCall => {
    taken ??= new Set(known(conversation))
    const id = names[index] ?? (isNew(taken, call.id) ? call.id : fresh(index))
    names[index] = id
    taken.add(id)
    return { ...call, id }
  }
  let calls = 0
  return {
    deltas: (deltas) =>
      deltas.map((delta) => delta._tag === "ToolCall" ? { ...delta, toolCall: named(delta.toolCall, calls++) } : delta),
    parsed: (parsed) => {
      const { toolCalls } = parsed.message
      return toolCalls === undefined
        ? parsed
        : { ...parsed, message: { ...parsed.message, toolCalls: toolCalls.map(named) } }
    }
  }
}
