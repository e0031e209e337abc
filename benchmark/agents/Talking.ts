/** Agents that talk to a model, and measure how long they wait for its answers. This module is also the entry point of a worker thread. */
import { parentPort } from "node:worker_threads"

export const answer = "The room is 512, on the second floor, beside the stairs."

/** The parts of a conversation: instructions, a tool, and one question per request. */
const system = { role: "system", content: "You answer questions about a building. Use the tool where it helps." }
const tools = [{
  type: "function",
  function: {
    name: "search",
    description: "Finds people and rooms.",
    parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] }
  }
}]
const question = (turn: number) => ({ role: "user", content: `Which room is number ${turn} of the list in?` })

/** The duration of each request in milliseconds. */
export type Times = Array<number>

export const timed = (times: Times) => <A>(ask: () => Promise<A>) => {
  const began = performance.now()
  return ask().then((answered) => {
    times.push(performance.now() - began)
    return answered
  })
}

/** The address and the name of the model. */
export interface Model {
  readonly baseUrl: string
  readonly model: string
}

interface Connection extends Model {
  readonly fetch: typeof globalThis.fetch
}

const chat = async ({ baseUrl, fetch, model }: Connection, messages: ReadonlyArray<object>) => {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, messages, tools })
  })
  const text = await response.text()
  if (!text.includes(answer)) throw new Error(`status ${response.status}: ${text}`)
  return { role: "assistant", content: answer }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** A conversation of `requests` requests. Each is sent after the previous answer and the given pause in milliseconds. */
export const talk = async (connection: Connection, requests: number, pauses: ReadonlyArray<number> = []) => {
  const times: Times = []
  const messages: Array<object> = [system]
  const time = timed(times)
  for (let turn = 0; turn < requests; turn++) {
    const before = pauses[turn]
    if (before !== undefined) await pause(before)
    messages.push(question(turn))
    messages.push(await time(() => chat(connection, messages)))
  }
  return times
}

/** A message to the worker thread, whose answer has the same `id`. */
export interface Asked extends Model {
  readonly id: number
  readonly requests: number
  readonly pauses: ReadonlyArray<number>
}

export interface Told {
  readonly id: number
  readonly times: Times
  readonly failed: string | undefined
}

parentPort?.on("message", ({ id, pauses, requests, ...model }: Asked) => {
  const tell = (told: Told) => parentPort?.postMessage(told)
  talk({ ...model, fetch: globalThis.fetch }, requests, pauses).then(
    (times) => tell({ id, times, failed: undefined }),
    (cause: unknown) => tell({ id, times: [], failed: String(cause) })
  )
})
