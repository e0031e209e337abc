/** The compute threads, and the assignment of work to them. */
import { TinkerError } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { Region } from "../numerics/Memory.ts"
import { PromptHomes } from "./PromptHomes.ts"
import type { LoadedModel, SampleOrder, SampleResult, Start, Task, TaskOutput, ThreadStats } from "./Protocol.ts"
import { Requests } from "./Requests.ts"
import type { Spawn, Thread } from "./Thread.ts"

type Unavailable = TinkerError.Unavailable

export interface Threads {
  readonly count: number
  /** Sends a model to the first threads, one element to each, before any command that uses it. */
  readonly load: (modelT: ReadonlyArray<LoadedModel>) => Effect.Effect<void>
  /** Replaces the scratch space of a thread; returns when the thread no longer uses the old one. */
  readonly moveArena: (thread: number, region: Region) => Effect.Effect<void, Unavailable>
  /** Interruption frees the order's places in its thread. */
  readonly sample: (
    order: Omit<SampleOrder, "id">
  ) => Effect.Effect<Sampling.SampleResponse, Unavailable | TinkerError.Rejected>
  /** Once a thread has begun, interruption waits for it: it writes to memory that must not be freed before. */
  readonly run: (task: Task) => Effect.Effect<TaskOutput, Unavailable>
  readonly stats: Effect.Effect<Stats, Unavailable>
  /** Fails once a thread has crashed. */
  readonly health: Effect.Effect<void, Unavailable>
}

export interface Stats {
  /** Requests and tasks not yet answered. */
  readonly unanswered: number
  readonly threads: ReadonlyArray<ThreadStats>
}

interface Member {
  readonly thread: Thread
  /** Samples under way. */
  samples: number
  /** Tasks under way. */
  tasks: number
}

/** The threads, and what is known of their work. */
interface Crew {
  readonly members: ReadonlyArray<Member>
  readonly requests: Requests
  readonly homes: PromptHomes<Member>
  /** How many threads work with a model. */
  readonly threadsOf: Map<number, number>
}

/** A second task per thread waits in its mailbox, so that no thread idles for a turn of the host's event loop. */
const tasksPerThread = 2

/** The least busy thread of those with the model, or of all for work that needs no model. */
const leastBusy = ({ members, threadsOf }: Crew, model: number | undefined, load: (member: Member) => number) =>
  members.slice(0, model === undefined ? members.length : threadsOf.get(model))
    .reduce((best, member) => load(member) < load(best) ? member : best)

const load = ({ members, threadsOf }: Crew, modelT: ReadonlyArray<LoadedModel>) => {
  for (const [index, model] of modelT.entries()) {
    threadsOf.set(model.model, modelT.length)
    members[index]?.thread.post({ _tag: "Load", model })
  }
}

/** The thread that is to sample an order. */
const claim = (crew: Crew, order: Omit<SampleOrder, "id">) => {
  const least = leastBusy(crew, order.model, ({ samples }) => samples)
  const member = crew.homes.choose(order, least, ({ samples }) => (samples - least.samples) * order.maxTokens)
  member.samples += order.seeds.length
  return member
}

const answerOf = (result: SampleResult) =>
  "response" in result
    ? Effect.succeed(result.response)
    : Effect.fail(new TinkerError.Rejected({ detail: result.refusal }))

const sample = (crew: Crew, order: Omit<SampleOrder, "id">) =>
  Effect.acquireUseRelease(
    Effect.sync(() => claim(crew, order)),
    ({ thread }) =>
      crew.requests.ask(thread, {
        command: (id) => ({ _tag: "Sample", order: { ...order, id } }),
        read: (reply, id) => reply._tag === "Sampled" ? reply.results.find((result) => result.id === id) : undefined,
        cancel: (id) => thread.post({ _tag: "Cancel", id })
      }).pipe(Effect.flatMap(answerOf)),
    (member) =>
      Effect.sync(() => {
        member.samples -= order.seeds.length
      })
  )

const run = (crew: Crew, task: Task) =>
  Effect.suspend(() => {
    const member = leastBusy(crew, task._tag === "Pass" ? task.model : undefined, ({ tasks }) => tasks)
    member.tasks++
    const answer = crew.requests.ask(member.thread, {
      command: (id) => ({ _tag: "Run", id, task }),
      read: (reply) => reply._tag === "Ran" ? reply.output : undefined
    })
    return Effect.ensuring(answer, Effect.sync(() => member.tasks--))
  })

const moveArena = ({ members, requests }: Crew, index: number, region: Region) => {
  const member = members[index]
  return member === undefined
    ? Effect.die(new RangeError(`there are ${members.length} threads and no thread ${index}`))
    : Effect.asVoid(requests.ask(member.thread, {
      command: (id) => ({ _tag: "MoveArena", id, region }),
      read: (reply) => reply._tag === "MovedArena" ? true : undefined
    }))
}

const report = ({ requests }: Crew, { thread }: Member) =>
  requests.ask(thread, {
    command: (id) => ({ _tag: "Report", id }),
    read: (reply) => reply._tag === "Reported" ? reply.stats : undefined
  })

/** Starts `count` threads that end with the scope. */
export const make = Effect.fnUntraced(function*(count: number, spawn: Spawn, start: Start) {
  const requests = new Requests()
  const permits = yield* Semaphore.make(count * tasksPerThread)
  const members = yield* Effect.forEach(
    Array.from({ length: count }),
    () => Effect.map(spawn(start, requests), (thread): Member => ({ thread, samples: 0, tasks: 0 }))
  )
  const crew: Crew = { members, requests, homes: new PromptHomes<Member>(), threadsOf: new Map() }
  const threads: Threads = {
    count,
    load: (modelT) => Effect.sync(() => load(crew, modelT)),
    moveArena: (index, region) => moveArena(crew, index, region),
    sample: (order) => sample(crew, order),
    health: requests.health,
    run: (task) => permits.withPermit(Effect.uninterruptible(run(crew, task))),
    stats: Effect.suspend(() => {
      const unanswered = requests.count
      return Effect.map(Effect.forEach(members, (member) => report(crew, member)), (threads) => ({
        unanswered,
        threads
      }))
    })
  }
  return threads
})
