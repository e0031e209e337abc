/** Whole training runs in virtual time. They are interrupted or crashed at random and resumed until they finish. */
import {
  Credit,
  Dpo,
  Evaluator,
  FailurePolicy,
  type InvalidOption,
  LearningRate,
  Message,
  Pace,
  Preferences,
  Rl,
  RunRecord,
  type RunStore,
  Supervised,
  SupervisedDataset,
  Tinker,
  TinkerError
} from "@effect-rl/core"
import { ModelInput, type Sampling, type SamplingClient, type TrainingClient } from "@effect-rl/core/backend"
import type { DynamicSampling, RlOptions } from "@effect-rl/core/program"
import { Draw, Fault, Faulty, LeakAudit, Script, Simulation } from "@effect-rl/core/testing"
import { Duration, Effect, Exit, Layer, Logger, Option, type Scope, Stream } from "effect"
import * as Task from "../rl/Task.ts"

/** Programs whose results do not depend on the order in which concurrent work ends. */
export const programs = [
  "synchronous",
  "KL penalty",
  "dynamic sampling",
  "distillation",
  "asynchronous, none begun ahead",
  "streaming",
  "supervised",
  "DPO"
] as const

export interface Scenario {
  readonly seed: number
  readonly program: typeof programs[number]
  readonly severity: number
  readonly epochs: number
  readonly size: number
  readonly groupsPerBatch: number
  readonly numSubsteps: number
  readonly saveEvery: number
  /** The evaluation interval. Scenarios with evaluations have no faults, since evaluations have no time limits. */
  readonly evalEvery: number
  readonly concurrency: number
}

export const make = (seed: number): Scenario => {
  const draw = Draw.make(seed, "training")
  const severity = draw.oneOf([0, 0.02, 0.05])
  return {
    seed,
    program: programs[seed % programs.length] ?? "synchronous",
    severity,
    epochs: draw.integer(2, 3),
    size: draw.integer(2, 4),
    groupsPerBatch: draw.oneOf([2, 4]),
    numSubsteps: draw.integer(1, 2),
    saveEvery: draw.integer(0, 3),
    evalEvery: severity > 0 ? 0 : draw.integer(0, 2),
    concurrency: draw.integer(1, 4)
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

/** A request's fault depends on its seed and not on its time. Its duration differs between processes. */
const faultySampler = ({ seed, severity }: Scenario, process: number) => (client: SamplingClient.SamplingClient) =>
  Faulty.sampler(client, ({ params }) => {
    const draw = Draw.make(seed, "sample", params.seed ?? 0)
    const time = Draw.make(seed, "time", params.seed ?? 0, process).uniform()
    const slow = Fault.slow(Duration.millis(1 + time * 1000))
    return draw.chance(severity) ? Fault.all<Answer, TinkerError.TinkerError>(Fault.oneOf(draw, faults), slow) : slow
  })

/** An additional action of the backend when it creates a training client from a checkpoint. */
export type Resume = (
  client: TrainingClient.TrainingClient,
  path: string
) => Effect.Effect<unknown, TinkerError.TinkerError>

const backend = (scenario: Scenario, resume: Resume) => {
  let processes = 0
  const training = (client: TrainingClient.TrainingClient) => {
    const faulty = faultySampler(scenario, processes++)
    return {
      ...client,
      saveWeightsAndGetSamplingClient: Effect.map(client.saveWeightsAndGetSamplingClient, faulty)
    }
  }
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

interface Own {
  readonly pace?: Pace.Pace
  readonly dynamic?: DynamicSampling.DynamicSettings
  readonly update?: RlOptions.UpdateOptions<InvalidOption.InvalidOption | TinkerError.TinkerError, never>
}

const teacher = Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: Script.defaultModel }))

/** The part of a run in which the programs differ. */
const own = Effect.fnUntraced(function*({ program }: Scenario): Effect.fn.Return<
  Own,
  TinkerError.TinkerError,
  Tinker.Tinker | Scope.Scope
> {
  switch (program) {
    case "KL penalty":
      return {
        update: { kl: { coefficient: 0.1, postUpdate: true }, learningRate: LearningRate.cosine({ peak: 0.05 }) }
      }
    case "dynamic sampling":
      return { dynamic: { minInformative: 2, maxBatches: 2 } }
    case "distillation":
      return { update: { credit: Credit.distill({ teacher: yield* teacher }) } }
    case "asynchronous, none begun ahead":
      return { pace: Pace.async({ maxStepsOffPolicy: 0 }), dynamic: { minInformative: 2, maxBatches: 100 } }
    case "streaming":
      return { pace: Pace.streaming({ minibatches: 3 }) }
    default:
      return {}
  }
})

const ofGroups = Effect.fnUntraced(function*(scenario: Scenario) {
  const { concurrency, epochs, evalEvery, groupsPerBatch, numSubsteps: substeps, saveEvery, seed, size } = scenario
  const { dynamic = {}, pace = Pace.synchronous, update } = yield* own(scenario)
  const options = yield* Task.options({
    epochs,
    groupSize: size,
    groupsPerBatch
  })
  const groups = yield* options.dataset.batch(0, seed)
  const evaluators = [Evaluator.testSet({ name: "first batch", groups, maxTokens: 8 })]
  const onFailure = FailurePolicy.retryOnFailure()
  const rollout = { concurrency, dynamic, maxDroppedShare: 1, memberTimeout: "1 minute", onFailure } as const
  const run = { saveEvery, seed, evalEvery, evaluators }
  const all = { ...options, run, rollout, pace, update: { learningRate: 0.05, substeps, ...update } }
  return Rl.run(all)
})

const examples = Array.from({ length: 6 }, (_, a) => ({
  chosen: [Message.user(`${a} + 1`), Message.assistant(String(a + 1))],
  rejected: [Message.user(`${a} + 1`), Message.assistant("0")]
}))

type Run = Stream.Stream<RunRecord.RunRecord, unknown, Tinker.Tinker | RunStore.RunStore>

const program = Effect.fnUntraced(function*(
  scenario: Scenario
): Effect.fn.Return<Run, unknown, Scope.Scope | Layer.Success<ReturnType<typeof Task.layer>>> {
  const { epochs, program, saveEvery, seed } = scenario
  const model = yield* Task.model
  const batches = { model, batchSize: 2, epochs, shuffle: true }
  const others = { model, update: { learningRate: 0.1 }, run: { saveEvery, seed, evalEvery: 0 } }
  switch (program) {
    case "supervised": {
      const dataset = SupervisedDataset.conversations(examples.map(({ chosen }) => chosen), batches)
      return Supervised.run({ ...others, dataset })
    }
    case "DPO":
      return Dpo.run({ ...others, dataset: Preferences.pairs(examples, batches) })
    default:
      return yield* ofGroups(scenario)
  }
})

const records = (scenario: Scenario) => Stream.unwrap(program(scenario))

const training = (scenario: Scenario) => Stream.runDrain(records(scenario))

/** Excludes timing metrics, which differ from those of an uninterrupted run. */
const isOwn = (name: string) => !name.startsWith("time/")

/** The result of the last checkpoint's weights on a text. */
const learned = Effect.fnUntraced(function*(records: ReadonlyArray<RunRecord.RunRecord>) {
  const modelPath = records.findLast(RunRecord.guards.Saved)?.samplerPath ?? ""
  const sampler = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ modelPath }))
  return yield* sampler.computeLogprobs(ModelInput.fromTokens(Task.tokenizer.encode("1 + 1 is 2")))
}, Effect.scoped)

/** A run's records of iterations, groups and checkpoints, field by field, and what it learned. */
const journal = Effect.gen(function*() {
  const records = yield* Task.records
  const fields = new Map<string, string>()
  const note = (place: string, values: object) => {
    for (const [name, value] of Object.entries(values)) {
      if (isOwn(name)) fields.set(`${place} ${name}`, JSON.stringify(value))
    }
  }
  const story = RunRecord.current(records)
  for (const { iteration } of story.filter(RunRecord.guards.Evaluated)) {
    const measured = story.filter((record) => record._tag === "Evaluated" && record.iteration === iteration)
    note(`evaluated ${iteration}`, { times: measured.length })
  }
  for (const record of story) {
    if (record._tag === "Evaluated") note(`evaluated ${record.iteration}`, record.metrics)
    if (record._tag === "Updated") note(`${record.iteration}`, { ...record.metrics, reward: record.reward })
    if (record._tag === "GroupRolledOut") {
      const { failures, members, outcome, retries, rewards, usage } = record
      note(`${record.iteration} ${record.key}`, { failures, members, outcome, retries, rewards, usage })
    }
    if (record._tag === "Saved" && record.kind === "final") note("final", record.usage)
  }
  note("final", { logprobs: Array.from(yield* learned(records)) })
  return fields
})

/** Checkpoints whose token counts differ from those of their last iteration's metrics. */
const miscounted = Effect.map(
  Task.records,
  (records) =>
    RunRecord.current(records).filter(RunRecord.guards.Saved).flatMap(({ iteration, name, usage }) => {
      const before = records.findLast((record) => record._tag === "Updated" && record.iteration === iteration - 1)
      const metrics = before?._tag === "Updated" ? before.metrics : {}
      const totals = Object.entries(usage).map(([kind, count]) => [count, metrics[`tokens/total_${kind}`] ?? 0])
      return totals.every(([counted, total]) => counted === total)
        ? []
        : [`checkpoint ${name} says ${JSON.stringify(totals)}, and so not what the metrics say`]
    })
)

const live = Effect.flatMap(LeakAudit.LeakAudit, ({ counts }) => Effect.map(counts, LeakAudit.live))

const kills = 6

/** How a process is ended before it finishes. */
const killing = (draw: Draw.Draw, tasks: number): Simulation.Options => {
  const after = draw.integer(1, tasks)
  return draw.chance(0.5) ? { crashAfter: after } : { interruptAfter: after }
}

/** The violations of a process that has ended. */
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

/** The differences between two runs' records. */
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
    found.push(...yield* miscounted)
    return yield* journal
  }).pipe(Effect.provide(backend(scenario, resume), { local: true }))
  return { broken: [...found, ...differences(reference.journal, pieces)], interruptions }
})

/** Stops a run after this number of records, then resumes it to its end. */
const stopped = Effect.fnUntraced(function*(scenario: Scenario, after: number) {
  yield* Simulation.run(scenario.seed, Stream.runDrain(Stream.take(records(scenario), after)), { deadline: "100 days" })
  yield* Simulation.run(scenario.seed, training(scenario), { deadline: "100 days" })
  return { miscounted: yield* miscounted, journal: yield* journal }
})

/** Stops a run at every `every`-th record, each time in a new run, and resumes it. Returns the differences from the uninterrupted run. */
export const stop = Effect.fnUntraced(function*(scenario: Scenario, every: number) {
  const alone = <A, E>(run: Effect.Effect<A, E, Layer.Success<ReturnType<typeof backend>>>) =>
    Effect.provide(run, backend(scenario, () => Effect.void), { local: true })
  const whole = yield* alone(Effect.gen(function*() {
    yield* Simulation.run(scenario.seed, training(scenario), { deadline: "100 days" })
    return { count: (yield* Task.records).length, journal: yield* journal }
  }))
  const broken: Array<string> = []
  for (let after = 1; after < whole.count; after += every) {
    const found = yield* alone(stopped(scenario, after))
    const different = [...found.miscounted, ...differences(whole.journal, found.journal)]
    broken.push(...different.map((difference) => `stopped after ${after} records: ${difference}`))
  }
  return broken
})
