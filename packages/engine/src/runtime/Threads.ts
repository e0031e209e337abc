/** The compute threads, the assignment of work to them, and the requests that have no answer yet. */
import { type Sampling, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { Region } from "../numerics/Memory.ts"
import { PromptHomes } from "./PromptHomes.ts"
import type { Command, LoadedModel, Reply, SampleOrder, Start, Task, TaskOutput, ThreadStats } from "./Protocol.ts"
import type { Spawn, Thread } from "./Thread.ts"

type Unavailable = TinkerError.Unavailable

export interface Threads {
  readonly count: number
  /** Tells the first threads of a model before anything that uses it: one thread per element, each its own part. */
  readonly load: (modelT: ReadonlyArray<LoadedModel>) => Effect.Effect<void>
  /** Replaces the scratch space of a thread; returns when the thread no longer uses the old one. */
  readonly moveArena: (thread: number, region: Region) => Effect.Effect<void, Unavailable>
  /** Interruption frees the order's places in its thread. */
  readonly sample: (order: Omit<SampleOrder, "id">) => Effect.Effect<Sampling.SampleResponse, Unavailable>
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

interface Unanswered {
  readonly fail: (reason: Unavailable) => void
  readonly receive: (reply: Reply) => void
}

/** A second task per thread waits in its mailbox, so that no thread idles for a turn of the host's event loop. */
const tasksPerThread = 2

/** Starts `count` threads that end with the scope. */
export const make = Effect.fnUntraced(function*(count: number, spawn: Spawn, start: Start) {
  const unanswered = new Map<number, Unanswered>()
  const permits = yield* Semaphore.make(count * tasksPerThread)
  let nextId = 0
  let failure: Unavailable | undefined

  const onReply = (reply: Reply) => {
    if (reply._tag === "Sampled") { for (const { id } of reply.results) unanswered.get(id)?.receive(reply) }
    else unanswered.get(reply.id)?.receive(reply)
  }

  const onFailure = (detail: string) => {
    failure ??= new TinkerError.Unavailable({ detail: `${detail}; the engine must be started again` })
    for (const [id, request] of unanswered) {
      unanswered.delete(id)
      request.fail(failure)
    }
  }

  const members: ReadonlyArray<Member> = yield* Effect.forEach(
    Array.from({ length: count }),
    () => Effect.map(spawn(start, { onReply, onFailure }), (thread): Member => ({ thread, samples: 0, tasks: 0 }))
  )

  /** Sends a command and reads its answer from the reply; `cancel` runs if the caller is interrupted. */
  const ask = <A>(
    thread: Thread,
    command: (id: number) => Command,
    read: (reply: Reply, id: number) => A | undefined,
    cancel: (id: number) => void = () => {}
  ): Effect.Effect<A, Unavailable> =>
    Effect.callback<A, Unavailable>((resume) => {
      if (failure !== undefined) return resume(Effect.fail(failure))
      const id = nextId++
      unanswered.set(id, {
        fail: (reason) => resume(Effect.fail(reason)),
        receive: (reply) => {
          unanswered.delete(id)
          const answer = read(reply, id)
          resume(
            answer === undefined
              ? Effect.die(new Error(`a ${reply._tag} answers another call`))
              : Effect.succeed(answer)
          )
        }
      })
      thread.post(command(id))
      return Effect.sync(() => {
        unanswered.delete(id)
        cancel(id)
      })
    })

  const homes = new PromptHomes<Member>()

  /** How many threads work with a model. */
  const threadsOf = new Map<number, number>()

  /** Among the threads of a model, or among all for work that needs none. */
  const leastBusy = (model: number | undefined, load: (member: Member) => number) =>
    members.slice(0, model === undefined ? count : threadsOf.get(model))
      .reduce((best, member) => load(member) < load(best) ? member : best)

  const sample: Threads["sample"] = (order) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const least = leastBusy(order.model, ({ samples }) => samples)
        const member = homes.choose(order, least, ({ samples }) => (samples - least.samples) * order.maxTokens)
        member.samples += order.seeds.length
        return member
      }),
      ({ thread }) =>
        ask(
          thread,
          (id) => ({ _tag: "Sample", order: { ...order, id } }),
          (reply, id) =>
            reply._tag === "Sampled" ? reply.results.find((result) => result.id === id)?.response : undefined,
          (id) => thread.post({ _tag: "Cancel", id })
        ),
      (member) =>
        Effect.sync(() => {
          member.samples -= order.seeds.length
        })
    )

  const runOn = (task: Task) =>
    Effect.suspend(() => {
      const member = leastBusy(task._tag === "Pass" ? task.model : undefined, ({ tasks }) => tasks)
      member.tasks++
      return ask(
        member.thread,
        (id) => ({ _tag: "Run", id, task }),
        (reply) => reply._tag === "Ran" ? reply.output : undefined
      ).pipe(Effect.ensuring(Effect.sync(() => member.tasks--)))
    })

  const report = ({ thread }: Member) =>
    ask(thread, (id) => ({ _tag: "Report", id }), (reply) => reply._tag === "Reported" ? reply.stats : undefined)

  const threads: Threads = {
    count,
    load: (modelT) =>
      Effect.sync(() => {
        for (const [index, model] of modelT.entries()) {
          threadsOf.set(model.model, modelT.length)
          members[index]?.thread.post({ _tag: "Load", model })
        }
      }),
    moveArena: (index, region) => {
      const member = members[index]
      return member === undefined
        ? Effect.die(new RangeError(`there are ${count} threads and no thread ${index}`))
        : Effect.asVoid(ask(
          member.thread,
          (id) => ({ _tag: "MoveArena", id, region }),
          (reply) => reply._tag === "MovedArena" ? true : undefined
        ))
    },
    sample,
    health: Effect.suspend(() => failure === undefined ? Effect.void : Effect.fail(failure)),
    run: (task) => permits.withPermit(Effect.uninterruptible(runOn(task))),
    stats: Effect.suspend(() => {
      const requests = unanswered.size
      return Effect.map(Effect.forEach(members, report), (threads) => ({ unanswered: requests, threads }))
    })
  }
  return threads
})
