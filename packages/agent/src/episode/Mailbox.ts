/**
 * The requests of one episode's agent, from arrival to answer.
 *
 * Invariants:
 * - Questions are taken in the order of their arrival, each at most once, and none after the mailbox is closed.
 * - Each taken question is answered or refused. Closing refuses all open questions and all later ones.
 * - A request that repeats an earlier one adds no question; its client gets the first one's answer.
 * - A question whose clients have all disconnected before it is taken is dropped.
 */
import type { Sampling } from "@effect-rl/core/backend"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import type { Asked, Continuing, Prompted, Settings } from "../dialect/Answerer.ts"
import { Refusal } from "../dialect/Refusal.ts"

/** A client's request for one or more responses. */
export interface Request {
  readonly asked: Asked
  /** The text to continue, instead of a conversation; absent for a conversation. */
  readonly text?: Continuing
  readonly settings: Settings
  /** The client's idempotency key, or a hash of the request's content. */
  readonly key: string
  /** Whether the client marks the request as a retry. */
  readonly isRepeated: boolean
}

/** The answer to a question, which arrives later. */
export interface Answer {
  /** The prompt; available once it is the question's turn. */
  readonly prompted: Deferred.Deferred<Prompted, Refusal>
  readonly sampled: Deferred.Deferred<Sampling.SampledTokens, Refusal>
}

/** A request for one response. */
export interface Question extends Pick<Request, "asked" | "text" | "settings"> {
  readonly answer: Answer
  /** The number of finished turns when the question arrived. */
  readonly arrived: number
  /** Whether a client is waiting for the answer or has received it. */
  readonly isHeard: () => boolean
}

export interface Mailbox {
  /** Adds the questions of a request, one for each requested response. Closing the scope disconnects the client. */
  readonly ask: (request: Request) => Effect.Effect<ReadonlyArray<Answer>, Refusal, Scope.Scope>
  /** Waits for the next question; undefined when the agent has ended. No question is returned once the mailbox is closed. */
  readonly take: Effect.Effect<Question | undefined>
  /** Tells `take` that the agent has ended. */
  readonly end: Effect.Effect<void>
  /** Passes the sampled tokens to the clients of a question. */
  readonly answer: (question: Question, sampled: Sampling.SampledTokens) => Effect.Effect<void>
  /** Refuses the question, so its clients get the refusal. */
  readonly refuse: (question: Question, refusal: Refusal) => Effect.Effect<void>
  /** Refuses all open questions and all later ones. */
  readonly close: (refusal: Refusal) => Effect.Effect<void>
}

/** The answers to requests with equal content. They outlive the questions, whose conversations repeat all that was said before. */
interface Thread {
  readonly answers: ReadonlyArray<Answer>
  clients: number
  isTold: boolean
}

/** Maximum number of open questions; an agent that waits for its answers has fewer. */
const mostOpen = 256

const tooMany = new Refusal({
  status: 429,
  detail: `${mostOpen} requests of this episode wait for their turn, expected fewer`,
  headers: { "retry-after": "1" }
})

/** Creates an empty mailbox; `turns` returns the number of finished turns. */
export const make = (turns: () => number): Mailbox => {
  const arrived: Array<readonly [Thread, Question] | "ended"> = []
  let arrival = Deferred.makeUnsafe<void>()
  const threads = new Map<string, Thread>()
  const open = new Set<Question>()
  let closed: Refusal | undefined

  /** Wakes `take` once all requests that the agent sends at the same time have arrived. */
  const arrive = (one: readonly [Thread, Question] | "ended") => {
    if (arrived.push(one) === 1) queueMicrotask(() => Deferred.doneUnsafe(arrival, Effect.void))
  }

  const refuse = (question: Question, refusal: Refusal) => {
    open.delete(question)
    const { prompted, sampled } = question.answer
    return Effect.andThen(Deferred.fail(prompted, refusal), Deferred.fail(sampled, refusal))
  }

  const begin = ({ asked, key, settings, text }: Request): Thread => {
    const answers = Array.from(
      { length: settings.choices ?? 1 },
      (): Answer => ({ prompted: Deferred.makeUnsafe(), sampled: Deferred.makeUnsafe() })
    )
    const thread: Thread = { answers, clients: 0, isTold: false }
    const isHeard = () => thread.clients > 0 || thread.isTold
    threads.set(key, thread)
    for (const answer of answers) {
      const question: Question = {
        asked,
        ...(text !== undefined && { text }),
        settings,
        answer,
        arrived: turns(),
        isHeard
      }
      open.add(question)
      arrive([thread, question])
    }
    return thread
  }

  /** The thread of an equal earlier request, if this request is a retry or the earlier client disconnected before the answer. */
  const repeated = ({ isRepeated, key }: Request) => {
    const thread = threads.get(key)
    return thread !== undefined && (isRepeated || (thread.clients === 0 && !thread.isTold)) ? thread : undefined
  }

  const hangUp = (thread: Thread, exit: Exit.Exit<unknown, unknown>) =>
    Effect.sync(() => {
      thread.clients--
      if (Exit.isSuccess(exit) && thread.answers.every(({ sampled }) => Deferred.isDoneUnsafe(sampled))) {
        thread.isTold = true
      }
    })

  const enter = (request: Request) =>
    Effect.suspend(() => {
      if (closed !== undefined) return Effect.fail(closed)
      const known = repeated(request)
      if (known === undefined && open.size + (request.settings.choices ?? 1) > mostOpen) return Effect.fail(tooMany)
      const thread = known ?? begin(request)
      thread.clients++
      return Effect.succeed(thread)
    })

  const forget = (thread: Thread) => {
    for (const question of open) if (thread.answers.includes(question.answer)) open.delete(question)
    for (const [key, other] of threads) if (other === thread) threads.delete(key)
  }

  const take: Effect.Effect<Question | undefined> = Effect.suspend(() => {
    const found = arrived.shift()
    if (found === undefined) {
      arrival = Deferred.makeUnsafe()
      return Effect.andThen(Deferred.await(arrival), take)
    }
    if (found === "ended") return Effect.succeed(undefined)
    if (closed !== undefined) return Effect.never
    const [thread, question] = found
    if (thread.clients > 0) return Effect.succeed(question)
    forget(thread)
    return take
  })

  return {
    ask: (request) => Effect.map(Effect.acquireRelease(enter(request), hangUp), ({ answers }) => answers),
    take,
    end: Effect.sync(() => arrive("ended")),
    answer: (question, sampled) => {
      open.delete(question)
      return Deferred.succeed(question.answer.sampled, sampled)
    },
    refuse,
    close: (refusal) =>
      Effect.suspend(() => {
        closed ??= refusal
        return Effect.forEach([...open], (question) => refuse(question, refusal), { discard: true })
      })
  }
}
