/** Walks rolled out in this process and in other processes, for comparison. */
import { type InvalidOption, Policy, Rollout, Tinker, type TinkerError } from "@effect-rl/core"
import { Executor, GroupResult, type RolloutError } from "@effect-rl/core/program"
import { Script, ScriptedTinker } from "@effect-rl/core/testing"
import { Effect, Fiber, Logger, References, Schedule, Stream } from "effect"
import { readFileSync } from "node:fs"
import * as Walk from "./workers/Walk.ts"

const policy = Effect.map(
  Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createSamplingClient({ baseModel: Script.defaultModel })),
  (client) => Policy.fromSamplingClient(client, { maxTokens: 4, seed: 1 })
)

type Failure = Walk.Stumbled | TinkerError.TinkerError | RolloutError.RolloutError | InvalidOption.InvalidOption

export const groups = (
  payloads: ReadonlyArray<Walk.Payload>,
  options: Rollout.StreamOptions = {}
): Stream.Stream<GroupResult.GroupResult, Failure> =>
  Stream.unwrap(Effect.gen(function*() {
    return Rollout.stream(payloads.map(Walk.task.builder), yield* policy, {
      concurrency: 30,
      unordered: true,
      ...options
    })
  })).pipe(Stream.provide(ScriptedTinker.layer()))

export const payloads = (count: number, first = 0): ReadonlyArray<Walk.Payload> =>
  Array.from({ length: count }, (_, index) => ({ index: first + index, turns: 3, millis: 60 }))

/** The results in order, without times. */
export const inOrder = (results: ReadonlyArray<GroupResult.GroupResult>) =>
  results.map(GroupResult.untimed).toSorted((left, right) => left.key < right.key ? -1 : 1)

/** The results of the walks when they are rolled out in this process, without waiting. */
export const here = (
  walks: ReadonlyArray<Walk.Payload>
): Effect.Effect<ReadonlyArray<GroupResult.GroupResult>, Failure> =>
  Stream.runCollect(groups(walks.map((walk) => ({ ...walk, millis: 0 })), { concurrency: 100 })).pipe(
    Effect.provideService(Executor.Executor, undefined)
  )

const groupsAtOnce = 40

/** The results of walks that are rolled out until `kills` processes have been killed. */
export const whileKilled = <E, R>(kill: Effect.Effect<unknown, E, R>, kills: number) =>
  Effect.gen(function*() {
    const killing = yield* Effect.forkChild(Effect.repeat(kill, { times: kills - 1 }))
    const results: Array<GroupResult.GroupResult> = []
    while (killing.pollUnsafe() === undefined || results.length === 0) {
      results.push(...yield* Stream.runCollect(groups(payloads(groupsAtOnce, results.length))))
    }
    yield* Fiber.join(killing)
    return results
  })

/** The log lines of an effect's workers, with the workers' names. */
export const logged = <A, E, R>(effect: Effect.Effect<A, E, R>) => {
  const lines: Array<{ readonly message: string; readonly worker: unknown }> = []
  const logger = Logger.make(({ fiber, message }) => {
    const { worker } = fiber.getRef(References.CurrentLogAnnotations)
    lines.push({ message: String(message), worker })
  })
  return Effect.map(Effect.provide(effect, Logger.layer([logger])), (value) => ({ value, lines }))
}

/** How many resources were acquired and how many released, according to a trace file. */
export const held = (trace: string) => {
  const lines = readFileSync(trace, { encoding: "utf8", flag: "a+" }).split("\n")
  const count = (what: string) => lines.filter((line) => line.startsWith(what)).length
  return { acquired: count("acquired"), released: count("released") }
}

/** Waits in real time until a condition holds, because other processes do not use the test clock. */
export const until = (holds: () => boolean) =>
  Effect.suspend(() => holds() ? Effect.void : Effect.fail("not yet" as const)).pipe(
    Effect.retry({ schedule: Schedule.spaced("50 millis"), times: 2400 })
  )
