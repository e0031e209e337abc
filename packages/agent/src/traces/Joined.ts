/**
 * Joins the requests of a session into whole conversations. Each request repeats the conversation so far, so the
 * earlier traces of a session are beginnings of the later ones. Traces are compared by what their messages say, because
 * clients send messages back in another form.
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
  /**
   * The conversations that no other trace continues, in the order of the traces, then the conversations that only an
   * incomplete answer continues.
   */
  readonly conversations: ReadonlyArray<Trace>
  /** The number of traces that another trace repeats or continues. */
  readonly repeated: number
  /** The number of traces with an incomplete answer that no other trace continues. */
  readonly cut: number
  /**
   * Preferences between an answer after which the conversation continued and another answer, which was requested again
   * or edited.
   */
  readonly preferences: ReadonlyArray<Preference>
}

/** A trace, with a key for each beginning of its conversation. */
interface Keyed {
  readonly trace: Trace
  readonly spoken: ReadonlyArray<Spoken.Spoken>
  /** `keys[i]` is equal for conversations that say the same in their parts 0 to `i`. */
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

/**
 * The answer with the call ids that the client used when it sent the answer back, because later tool results refer to
 * them.
 */
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

/** The conversation with each answer in the form in which the model gave it, if that form was recorded. */
const restored = (one: Keyed, answers: ReadonlyMap<string, ReadonlyArray<Message.Message>>): Trace => ({
  tools: one.trace.tools,
  messages: one.keys.flatMap((key, index) => {
    const sent = part(one, index)
    const answer = answers.get(key)
    return answer === undefined ? sent : renamed(answer, sent)
  })
})

/** An answer: part `index` of the conversation in trace `of`. */
interface Answer {
  readonly of: Keyed
  readonly index: number
}

const answerKey = ({ index, of }: Answer) => of.keys[index] ?? ""
const promptKey = ({ index, of }: Answer) => of.keys[index - 1] ?? ""

/** The answers after which a conversation continued, by key, each in the first trace that contains it. */
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
 * Pairs of answers to the same messages: a conversation continued after the chosen answer, but not after the rejected
 * one. If conversations continued after several answers to the same messages, none of these answers is preferred.
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

/** The trace without its incomplete last answer, up to the answer before it. Empty if there is no earlier answer. */
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

/** The conversations before incomplete answers, each once, without those that a complete trace contains. */
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
