/**
 * Joins the requests of a session to whole conversations. Each request repeats the conversation so far, so the traces of a session are
 * beginnings of one another. They are compared by what their messages say, because clients send messages back in another form.
 */
import type { Message } from "@effect-rl/core"
import * as Arr from "effect/Array"
import * as Crypto from "node:crypto"
import * as Spoken from "../episode/Spoken.ts"
import type { Trace } from "./Trace.ts"

/** Two answers to the same messages, one of which was preferred. */
export interface Preference {
  readonly prompt: ReadonlyArray<Message.Message>
  readonly chosen: ReadonlyArray<Message.Message>
  readonly rejected: ReadonlyArray<Message.Message>
  readonly tools: Trace["tools"]
}

export interface Joined {
  /** The conversations that no other trace continues, in the order of their ends, then those that only an incomplete answer continues. */
  readonly conversations: ReadonlyArray<Trace>
  /** The number of traces that another one repeats or continues. */
  readonly repeated: number
  /** The number of traces whose answer is incomplete, and that no other one continues. */
  readonly cut: number
  /** Answers that were requested again or edited, each with the answer from which the conversation continued. */
  readonly preferences: ReadonlyArray<Preference>
}

/** A trace with a key for each beginning of its conversation. */
interface Keyed {
  readonly trace: Trace
  readonly spoken: ReadonlyArray<Spoken.Spoken>
  /** `keys[i]` is equal for conversations that say the same up to their part `i`. */
  readonly keys: ReadonlyArray<string>
}

const chained = (key: string, { digest, role }: Spoken.Spoken) =>
  Crypto.hash("sha256", JSON.stringify([key, role, digest]), "base64url")

const keyed = (trace: Trace): Keyed => {
  const spoken = Spoken.of(trace.messages)
  return { trace, spoken, keys: Arr.scan(spoken, "", chained).slice(1) }
}

const whole = ({ keys }: Keyed) => keys.at(-1) ?? ""

/** The messages of a part. */
const part = ({ spoken, trace: { messages } }: Keyed, index: number) =>
  messages.slice(index > 0 ? spoken[index - 1]?.end : 0, spoken[index]?.end)

/** The answer with the call ids of the same answer as it was sent back, which later tool results refer to. */
const renamed = (answer: ReadonlyArray<Message.Message>, sent: ReadonlyArray<Message.Message>) => {
  const ids = sent.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id))
  let call = 0
  return answer.map(({ toolCalls, ...message }): Message.Message =>
    toolCalls === undefined ? message : {
      ...message,
      toolCalls: toolCalls.map((own) => {
        const id = ids[call++]
        return id === undefined ? own : { ...own, id }
      })
    }
  )
}

/** The conversation with each answer as it was recorded when the model gave it. */
const restored = (one: Keyed, answers: ReadonlyMap<string, ReadonlyArray<Message.Message>>): Trace => ({
  tools: one.trace.tools,
  messages: one.keys.flatMap((key, index) => {
    const sent = part(one, index)
    const answer = answers.get(key)
    return answer === undefined ? sent : renamed(answer, sent)
  })
})

/** An answer, with the place of its trace and of its part in it. */
interface Answer {
  readonly of: Keyed
  readonly index: number
}

const answerKey = ({ index, of }: Answer) => of.keys[index] ?? ""
const promptKey = ({ index, of }: Answer) => of.keys[index - 1] ?? ""

/** The answers after which a conversation continued, in the first trace that has them. */
const continued = (all: ReadonlyArray<Keyed>) => {
  const found = new Map<string, Answer>()
  for (const of of all) {
    for (const [index, { role }] of of.spoken.slice(0, -1).entries()) {
      const key = of.keys[index] ?? ""
      if (role === "assistant" && !found.has(key)) found.set(key, { of, index })
    }
  }
  return found
}

/**
 * The answers to the same messages as an answer from which a conversation continued. If several conversations continued from such answers,
 * none was preferred.
 */
const preferences = (
  given: ReadonlyMap<string, Keyed>,
  kept: ReadonlyMap<string, Answer>
): ReadonlyArray<Preference> => {
  const byPrompt = Arr.groupBy(kept.values(), promptKey)
  return Array.from(given.values()).flatMap((of): ReadonlyArray<Preference> => {
    const rejected: Answer = { of, index: of.keys.length - 1 }
    const [chosen, ...others] = byPrompt[promptKey(rejected)] ?? []
    const isAlone = chosen === undefined || others.length > 0 || kept.has(answerKey(rejected))
    if (isAlone || rejected.index === 0 || of.trace.isCut === true) return []
    const answer = given.get(answerKey(chosen)) ?? chosen.of
    return [{
      prompt: chosen.of.trace.messages.slice(0, chosen.of.spoken[chosen.index - 1]?.end),
      chosen: part(answer, chosen.index),
      rejected: part(of, rejected.index),
      tools: chosen.of.trace.tools
    }]
  })
}

/** A trace up to the answer before its incomplete one. */
const shortened = (one: Keyed): ReadonlyArray<Keyed> => {
  const index = one.spoken.slice(0, -1).findLastIndex(({ role }) => role === "assistant")
  if (index < 1) return []
  const { messages, tools } = one.trace
  return [{
    trace: { messages: messages.slice(0, one.spoken[index]?.end), tools },
    spoken: one.spoken.slice(0, index + 1),
    keys: one.keys.slice(0, index + 1)
  }]
}

/** The conversations before incomplete answers, once each, without those that a complete one has. */
const begunBy = (
  cut: ReadonlyArray<Keyed>,
  complete: ReadonlyArray<Keyed>,
  given: ReadonlyMap<string, Keyed>
): ReadonlyArray<Keyed> => {
  const rest = cut.flatMap(shortened)
  const told = new Set([...complete.flatMap(({ keys }) => keys), ...rest.flatMap(({ keys }) => keys.slice(0, -1))])
  return Array.from(new Map(rest.map((one) => [whole(one), one])).values()).filter((one) =>
    !told.has(whole(one)) && given.get(whole(one))?.trace.isCut !== true
  )
}

/** Joins the traces of one or more sources. */
export const of = (traces: ReadonlyArray<Trace>): Joined => {
  const all = traces.map(keyed)
  const given = new Map<string, Keyed>()
  for (const one of all) if (!given.has(whole(one))) given.set(whole(one), one)
  const begun = new Set(all.flatMap(({ keys }) => keys.slice(0, -1)))
  const answers = new Map(Array.from(given, ([key, one]) => [key, part(one, one.keys.length - 1)]))
  const ends = Array.from(given.values()).filter((one) => !begun.has(whole(one)))
  const complete = ends.filter(({ trace }) => trace.isCut !== true)
  const kept = begunBy(ends.filter(({ trace }) => trace.isCut === true), complete, given)
  return {
    conversations: [...complete, ...kept].map((one) => restored(one, answers)),
    repeated: all.length - ends.length - kept.filter((one) => given.has(whole(one))).length,
    cut: ends.length - complete.length,
    preferences: preferences(given, continued(all))
  }
}
