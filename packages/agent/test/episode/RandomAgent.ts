/**
 * Agents with random behaviour: they talk, serialize messages differently, edit, summarize, ask in parallel, repeat requests, and use
 * subagents.
 */
import type { AgentEnv } from "@effect-rl/agent"
import type { Policy } from "@effect-rl/core"
import { Draw } from "@effect-rl/core/testing"
import { Effect } from "effect"
import type * as Dialect from "./Dialect.ts"
import * as Ledger from "./Ledger.ts"
import * as Talk from "./Talk.ts"

const said: readonly [string, ...ReadonlyArray<string>] = ["a", "b", "ab", " ab", "abab", " ", "\n", "x", "{", "so"]

const calls: readonly [string, ...ReadonlyArray<string>] = [
  `<tool_call>\n{"name": "look", "arguments": {"at": "ab", "far": 2}}\n</tool_call>`,
  `<tool_call>{"arguments":{"far":2,"at":"ab"},"name":"look"}</tool_call>`,
  `<tool_call>\n{"name": "wait", "arguments": {}}\n</tool_call>`,
  `<tool_call>\n{"name": look}\n</tool_call>`
]

/** A random response as tokens, split differently than the tokenizer would. */
const response = (draw: Draw.Draw, thinks: boolean): ReadonlyArray<number> => {
  const pieces = Array.from({ length: draw.integer(0, 8) }, () => draw.oneOf(said))
  const called = draw.chance(0.4) ? Array.from({ length: draw.integer(1, 2) }, () => draw.oneOf(calls)) : []
  const thought = thinks && draw.chance(0.3) ? ["<think>", "hm", "</think>", "\n\n"] : []
  const ended = draw.chance(0.9) ? [Talk.end] : []
  return [...thought, ...pieces, ...called, ...ended].flatMap((piece) => [...Talk.tokenizer.encode(piece)])
}

/** A policy with random responses, and a log of them. */
export const sampler = (seed: number, thinks: boolean) => {
  const log: Array<Talk.Logged> = []
  const policy: Policy.Policy = {
    act: (request) =>
      Effect.sync(() => {
        const entry = log.length
        const all = response(Draw.make(seed, "sampler", entry), thinks)
        const tokens = Int32Array.from(all.slice(0, request.maxTokens))
        const isEnded = tokens.length === all.length && all.at(-1) === Talk.tokenizer.specialToken(Talk.end)
        const sampled = {
          tokens,
          logprobs: Float32Array.from(tokens, (_, t) => Ledger.logprobOf(entry, t)),
          stopReason: isEnded ? "stop" : "length"
        } as const
        log.push({ request, sampled })
        return sampled
      })
  }
  return { policy, log }
}

type Conversation = ReadonlyArray<Talk.Message>

const tools = ["look", "wait"].map((name) => ({
  type: "function",
  function: { name, description: name, parameters: { type: "object", properties: {} } }
}))

const spaced = (text: string) => text.startsWith("{") ? JSON.stringify(JSON.parse(text), null, 2) : text

/** The conversation as another program might serialize it, with other spacing, for example. */
const reserialised = (draw: Draw.Draw, conversation: Conversation): Conversation => {
  const ids = new Map<string, string>()
  const rename = draw.chance(0.3)
  const idOf = (id: string) => {
    const known = ids.get(id) ?? (rename ? `other_${ids.size}` : id)
    ids.set(id, known)
    return known
  }
  return conversation.map(({ tool_call_id, tool_calls, ...message }) => ({
    ...message,
    ...(message.role === "assistant" && draw.chance(0.4) && {
      content: message.content === "" || message.content === null || message.content === undefined
        ? draw.oneOf([null, ""])
        : draw.chance(0.5)
        ? message.content.trim()
        : ` ${message.content}\n`
    }),
    ...(tool_call_id !== undefined && { tool_call_id: idOf(tool_call_id) }),
    ...(tool_calls !== undefined && {
      tool_calls: tool_calls.map((call) => ({
        ...call,
        id: idOf(call.id),
        function: {
          ...call.function,
          arguments: draw.chance(0.5) ? spaced(call.function.arguments) : call.function.arguments
        }
      }))
    })
  }))
}

/** The next message of the user or the tools. */
const answered = (draw: Draw.Draw, conversation: Conversation): Conversation => {
  const called = conversation.at(-1)?.tool_calls ?? []
  return called.length > 0
    ? [
      ...conversation,
      ...called.map(({ id }) => ({ role: "tool", tool_call_id: id, content: `seen ${draw.integer(0, 9)}` }))
    ]
    : [...conversation, Talk.user(`go on ${draw.integer(0, 99)}`)]
}

/** Ways in which an agent may change or leave a conversation. With "none" it only continues, or repeats a request. */
export type Habits = "all" | "none"

/** The number of abandoned requests, whose responses need not be trained on. */
export interface Did {
  givenUp: number
}

const edited = (draw: Draw.Draw, conversation: Conversation): Conversation => {
  const at = draw.integer(0, conversation.length - 1)
  return conversation.map((message, index) =>
    index === at && message.role !== "tool" ? { ...message, content: `${message.content ?? ""} edited` } : message
  )
}

const system = { role: "system", content: "You work with tools." }

const fresh = (draw: Draw.Draw, habits: Habits): Conversation =>
  habits === "all" && draw.chance(0.3)
    ? [{ role: "system", content: `You are helper ${draw.integer(0, 3)}.` }, Talk.user("help")]
    : [system, Talk.user(`task ${draw.integer(0, 9)}`)]

/** How one agent behaves. */
export interface Options {
  readonly seed: number
  readonly habits: Habits
  readonly dialect: Dialect.Name
  readonly did: Did
}

/** An agent that makes up to ten requests, or more if it asks several at once. */
export const make = ({ dialect, did, habits, seed }: Options) => async (session: AgentEnv.Session): Promise<number> => {
  const draw = Draw.make(seed, "agent")
  const own = draw.chance(0.5) ? { tools } : {}
  const fields = (more: object = {}) => ({
    ...own,
    dialect,
    ...(draw.chance(0.2) && { max_tokens: draw.integer(1, 6) }),
    ...(draw.chance(0.2) && { temperature: 0.2 }),
    ...more
  })
  const say = async (conversation: Conversation, more: object = {}): Promise<Conversation> => {
    const written = reserialised(draw, conversation)
    const { error, message, status } = await Talk.ask(session, written, fields(more))
    if (status !== 200) throw new Error(`status ${status}: ${error}`)
    return [...written, message]
  }
  const conversations: Array<Conversation> = [await say(fresh(draw, "none"))]
  for (let step = draw.integer(1, 9); step > 0; step--) {
    const at = habits === "none" ? 0 : draw.integer(0, conversations.length - 1)
    const conversation = conversations[at] ?? []
    const act = habits === "none" ? draw.oneOf(["go on", "repeat"]) : draw.oneOf(acts)
    const next = answered(draw, conversation)
    switch (act) {
      case "go on":
        conversations[at] = await say(next)
        break
      case "repeat": {
        const written = reserialised(draw, next)
        const more = fields()
        const first = await Talk.ask(session, written, more)
        const again = await Talk.ask(session, written, { ...more, headers: { "x-stainless-retry-count": "1" } })
        if (JSON.stringify(first.message) !== JSON.stringify(again.message)) {
          throw new Error("a repeated request differs")
        }
        conversations[at] = [...written, first.message]
        break
      }
      case "ask again":
        conversations.push(await say(conversation.slice(0, -1)))
        break
      case "edit":
        conversations.push(await say(answered(draw, edited(draw, conversation))))
        break
      case "compact":
        conversations.push(await say([system, Talk.user(`So far: ${conversation.at(-1)?.content ?? ""}. Go on.`)]))
        break
      case "drop":
        conversations.push(
          await say(
            [...next.slice(0, 1), Talk.user("shorter"), ...next.slice(-1)].filter(({ role }) => role !== "tool")
          )
        )
        break
      case "helper":
        conversations.push(await say(fresh(draw, habits)))
        break
      case "parallel": {
        const asked = Array.from(
          { length: draw.integer(2, 3) },
          (_, index) => draw.chance(0.5) ? next : [...next, Talk.user(`way ${index}`)]
        )
        conversations.push(...await Promise.all(asked.map((one) => say(one))))
        break
      }
      case "several": {
        await Talk.ask(session, reserialised(draw, next), fields(dialect === "chat" ? { n: draw.integer(2, 3) } : {}))
        break
      }
      case "give up": {
        did.givenUp++
        const controller = new AbortController()
        const given = Talk.ask({ ...session, signal: controller.signal }, next, fields()).catch(() => undefined)
        controller.abort()
        await given
        break
      }
    }
  }
  return draw.chance(0.5) ? 1 : 0
}

const acts = [
  "go on",
  "go on",
  "repeat",
  "ask again",
  "edit",
  "compact",
  "drop",
  "helper",
  "parallel",
  "several",
  "give up"
] as const
