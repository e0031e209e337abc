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
  /** Sends a model to threads, element i to thread i. Must complete before any command uses the model. */
  readonly load: (modelT: ReadonlyArray<LoadedModel>) => Effect.Effect<void>
  /** Replaces a thread's scratch space. Returns once the thread no longer uses the old one. */
  readonly moveArena: (thread: number, region: Region) => Effect.Effect<void, Unavailable>
  /** Samples an order. Fails with `Rejected` if the thread refuses the order. Interruption frees the order's places in its thread. */
  readonly sample: (
    order: Omit<SampleOrder, "id">
  ) => Effect.Effect<Sampling.SampleResponse, Unavailable | TinkerError.Rejected>
  /** Runs a task. Interruption waits for a task that has begun, because it writes to memory that must not be freed earlier. */
  readonly run: (task: Task) => Effect.Effect<TaskOutput, Unavailable>
  readonly stats: Effect.Effect<Stats, Unavailable>
  /** Fails after a thread has crashed or ended. */
  readonly health: Effect.Effect<void, Unavailable>
}

export interface Stats {
  /** The number of unanswered requests and tasks. */
  readonly unanswered: number
  readonly threads: ReadonlyArray<ThreadStats>
}

interface Member {
  readonly thread: Thread
  /** The number of running samples. */
  samples: number
  /** The number of running tasks. */
  tasks: number
}

/** The threads and their current work. */
interface Crew {
  readonly members: ReadonlyArray<Member>
  readonly requests: Requests
  readonly homes: PromptHomes<Member>
  /** The number of threads that work with each model. */
  readonly threadsOf: Map<number, number>
}

/** The number of tasks that a thread is sent at a time. The second task waits in the thread, which then need not wait for the host. */
const tasksPerThread = 2

/** The least busy of the threads that have the model, or of all threads if no model is needed. */
const leastBusy = ({ members, threadsOf }: Crew, model: number | undefined, load: (member: Member) => number) =>
  members.slice(0, model === undefined ? members.length : threadsOf.get(model))
    .reduce((best, member) => load(member) < load(best) ? member : best)

const load = ({ members, threadsOf }: Crew, modelT: ReadonlyArray<LoadedModel>) => {
  for (const [index, model] of modelT.entries()) {
    threadsOf.set(model.model, modelT.length)
    members[index]?.thread.post({ _tag: "Load", model })
  }
}

/** Chooses the thread that samples an order. */
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

/** Starts `count` threads that end when the scope closes. */
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
