/**
 * Ids of the tool calls of a reply, new in its conversation. A model's own id is kept if it is new. Other ids are made from the prompt and the
 * seed, so that a repeated request gets the same ids; without a seed, from a name that no other reply has.
 */
import type { Message } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import type { Renderer, ResponseStream } from "@effect-rl/core/renderers"
import { createHash } from "node:crypto"

/** Gives the calls of one reply their ids: the same in deltas and in the whole message. */
export interface CallNames {
  readonly deltas: (deltas: ReadonlyArray<ResponseStream.Delta>) => ReadonlyArray<ResponseStream.Delta>
  readonly parsed: (parsed: Renderer.Parsed) => Renderer.Parsed
}

const known = (conversation: ReadonlyArray<Message.Message>) =>
  conversation.flatMap(({ toolCallId, toolCalls = [] }) => [
    ...(toolCallId === undefined ? [] : [toolCallId]),
    ...toolCalls.flatMap(({ id }) => id === undefined ? [] : [id])
  ])

/** The number of characters of OpenAI's own names. */
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

/** Names of calls in the replies to a request, by the number of the reply; `unique` is a name that no other request has. */
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
