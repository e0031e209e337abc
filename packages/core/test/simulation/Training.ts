/** Whole training runs in virtual time: interrupted and crashed at random, and resumed until they are over. */
import {
  FailurePolicy,
  Rl,
  RunRecord,
  type Sampling,
  type SamplingClient,
  Tinker,
  TinkerError,
  type TrainingClient
} from "@effect-rl/core"
import { Draw, Fault, Faulty, LeakAudit, Simulation } from "@effect-rl/core/testing"
import { Duration, Effect, Exit, Layer, Logger, Option, Stream } from "effect"
import * as Task from "../rl/Task.ts"

export interface Scenario {
  readonly seed: number
  readonly severity: number
  readonly epochs: number
  readonly size: number
  readonly numSubsteps: number
  readonly saveEvery: number
  readonly concurrency: number
}

export const make = (seed: number): Scenario => {
  const draw = Draw.make(seed, "training")
  return {
    seed,
    severity: draw.oneOf([0, 0.02, 0.05]),
    epochs: draw.integer(1, 3),
    size: draw.integer(2, 4),
    numSubsteps: draw.integer(1, 2),
    saveEvery: draw.integer(0, 3),
    concurrency: draw.integer(1, 2)
  }
}

type Answer = Sampling.SampleResponse
type SampleFault = Fault.Fault<Answer, TinkerError.TinkerError>

const failing = (reason: TinkerError.Reason): SampleFault =>
  Fault.fail(new TinkerError.TinkerError({ operation: "sample", reason }))

const faults: ReadonlyArray<readonly [number, SampleFault]> = [
  [2, failing(new TinkerError.RateLimited({ retryAfterMillis: 1000 }))],
  [2, failing(new TinkerError.Unavailable({ detail: "HTTP 503" }))],
  [1, Fault.die(new Error("sampler crashed"))],
  [1, Fault.hang],
  [1, Fault.slow("30 seconds")]
]

/** What goes wrong with a request depends on its seed, and so not on when it comes. */
const faultySampler = ({ seed, severity }: Scenario) => (client: SamplingClient.SamplingClient) =>
  Faulty.sampler(client, ({ params }) => {
    const draw = Draw.make(seed, "sample", params.seed ?? 0)
    const slow = Fault.slow(Duration.millis(1 + draw.uniform() * 1000))
    return draw.chance(severity) ? Fault.all<Answer, TinkerError.TinkerError>(Fault.oneOf(draw, faults), slow) : slow
  })

/** What a backend does with a training client that it makes of a checkpoint, besides. */
export type Resume = (
  client: TrainingClient.TrainingClient,
  path: string
) => Effect.Effect<unknown, TinkerError.TinkerError>

const backend = (scenario: Scenario, resume: Resume) => {
  const faulty = faultySampler(scenario)
  const training = (client: TrainingClient.TrainingClient) => ({
    ...client,
    saveWeightsAndGetSamplingClient: Effect.map(client.saveWeightsAndGetSamplingClient, faulty)
  })
  const tinker = Effect.map(Tinker.Tinker, (tinker) =>
    Tinker.Tinker.of({
      ...tinker,
      createLoraTrainingClient: (options) => Effect.map(tinker.createLoraTrainingClient(options), training),
      createTrainingClientFromState: (path) =>
        tinker.createTrainingClientFromState(path).pipe(
          Effect.tap((client) => resume(client, path)),
          Effect.map(training)
        )
    }))
  return Layer.provideMerge(Layer.effect(Tinker.Tinker, tinker), Layer.merge(Task.layer(), Logger.layer([])))
}

const training = Effect.fnUntraced(function*({ concurrency, epochs, numSubsteps, saveEvery, seed, size }: Scenario) {
  const options = yield* Task.options({
    epochs,
    groupSize: size,
    update: { substeps: numSubsteps },
    run: { saveEvery, seed }
  })
  const onFailure = FailurePolicy.retryOnFailure()
  const rollout = { concurrency, maxDroppedShare: 1, memberTimeout: "1 minute", onFailure } as const
  return yield* Stream.runDrain(Rl.run({ ...options, rollout }))
})

/** Clocks, and tokens that were spent in vain, differ from those of a run without kills. */
const isOwn = (name: string) => !name.startsWith("time/") && !name.startsWith("tokens/")

/** What a run recorded of its iterations and groups, field by field. */
const journal = Effect.map(Task.records, (records) => {
  const fields = new Map<string, string>()
  const note = (place: string, values: object) => {
    for (const [name, value] of Object.entries(values)) {
      if (isOwn(name)) fields.set(`${place} ${name}`, JSON.stringify(value))
    }
  }
  for (const record of RunRecord.current(records)) {
    if (record._tag === "Updated") note(`${record.iteration}`, record.metrics)
    if (record._tag === "GroupRolledOut") {
      const { failures, members, outcome, retries, rewards } = record
      note(`${record.iteration} ${record.key}`, { failures, members, outcome, retries, rewards })
    }
  }
  return fields
})

const live = Effect.flatMap(LeakAudit.LeakAudit, ({ counts }) => Effect.map(counts, LeakAudit.live))

const kills = 6

/** How a process ends that does not end by itself. */
const killing = (draw: Draw.Draw, tasks: number): Simulation.Options => {
  const after = draw.integer(1, tasks)
  return draw.chance(0.5) ? { crashAfter: after } : { interruptAfter: after }
}

/** What is wrong with a process that ended. */
const complaints = (
  { exit, hang, leakedFibers }: Simulation.Simulation<void, unknown>,
  isCrashed: boolean,
  held: Readonly<Record<string, number>>
) => [
  ...(Option.isSome(hang) ? ["it hangs"] : []),
  ...(!isCrashed && Option.isNone(exit) ? ["it cannot be interrupted"] : []),
  ...(!isCrashed && leakedFibers > 0 ? [`it leaves ${leakedFibers} fibers`] : []),
  ...(!isCrashed && Object.keys(held).length > 0 ? [`it holds ${JSON.stringify(held)}`] : []),
  ...(Option.isSome(exit) && Exit.isFailure(exit.value) && !Exit.hasInterrupts(exit.value)
    ? [`it fails: ${String(exit.value)}`]
    : [])
]

/** Differences between what the two runs wrote down. */
const differences = (whole: ReadonlyMap<string, string>, pieces: ReadonlyMap<string, string>) =>
  [...new Set([...whole.keys(), ...pieces.keys()])]
    .filter((key) => whole.get(key) !== pieces.get(key))
    .map((key) => `${key} is ${pieces.get(key)}, and ${whole.get(key)} without kills`)

export const run = Effect.fnUntraced(function*(scenario: Scenario, resume: Resume = () => Effect.void) {
  const { seed } = scenario
  const draw = Draw.make(seed, "kills")
  const reference = yield* Effect.gen(function*() {
    const simulation = yield* Simulation.run(seed, training(scenario), { deadline: "100 days" })
    return { simulation, held: yield* live, journal: yield* journal }
  }).pipe(Effect.provide(backend(scenario, resume), { local: true }))
  const { simulation: { tasks } } = reference
  const found = [...complaints(reference.simulation, false, reference.held)]
  let interruptions = 0
  const pieces = yield* Effect.gen(function*() {
    let left: Readonly<Record<string, number>> = {}
    for (let piece = 0; piece <= kills; piece++) {
      const how = piece === kills ? {} : killing(draw, tasks)
      const simulation = yield* Simulation.run(seed + piece, training(scenario), { deadline: "100 days", ...how })
      const isCrashed = simulation.tasks === how.crashAfter
      const held = yield* live
      const isAsBefore = JSON.stringify(held) === JSON.stringify(left)
      found.push(...complaints(simulation, isCrashed, isAsBefore ? {} : held))
      left = held
      if (Option.isSome(simulation.exit) && Exit.isSuccess(simulation.exit.value)) break
      interruptions++
    }
    return yield* journal
  }).pipe(Effect.provide(backend(scenario, resume), { local: true }))
  return { broken: [...found, ...differences(reference.journal, pieces)], interruptions }
})
