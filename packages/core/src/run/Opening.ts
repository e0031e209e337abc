/** Opening a run: a new one, or an old one at its newest checkpoint. */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as RcRef from "effect/RcRef"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AdaptiveLimiter from "../backend/AdaptiveLimiter.ts"
import { Tinker } from "../backend/Tinker.ts"
import type { TrainingClient } from "../backend/TrainingClient.ts"
import type { Sampler } from "../backend/Weights.ts"
import type { Json, JsonObject } from "../record/Json.ts"
import * as RunRecord from "../record/RunRecord.ts"
import { type RunError, RunStore } from "../record/RunStore.ts"
import * as Setting from "../record/Setting.ts"
import * as Usage from "../record/Usage.ts"
import { version } from "../record/Version.ts"
import * as Executor from "../rollout/Executor.ts"
import * as Checkpoints from "./Checkpoints.ts"
import * as EvaluationsBeside from "./EvaluationsBeside.ts"
import * as Forecast from "./Forecast.ts"
import * as GroupRecords from "./GroupRecords.ts"
import * as Ledger from "./Ledger.ts"
import type { Program } from "./Program.ts"
import { CheckpointUnreadable, ResumeError, ResumeMismatch } from "./ResumeError.ts"
import * as RunOptions from "./RunOptions.ts"
import type { RunState, Status } from "./RunState.ts"
import * as Spending from "./Spending.ts"

const show = (value: Json | undefined) => JSON.stringify(value) ?? "absent"

/** Before its first iteration is done, a run may begin anew with other options. */
const hasBegun = RunRecord.isAnyOf(["Updated", "Saved"])

/** Whether the stored run has the same identity; fails where it has another and has begun. */
const hasSameIdentity = Effect.fnUntraced(function*(story: ReadonlyArray<RunRecord.RunRecord>, given: JsonObject) {
  const { name: run } = yield* RunStore
  const stored = story.findLast(RunRecord.guards.Opened)?.identity
  if (stored === undefined) return true
  const names = new Set([...Object.keys(given), ...Object.keys(stored)])
  const field = [...names].find((name) => show(given[name]) !== show(stored[name]))
  if (field === undefined) return true
  if (!story.some(hasBegun)) return false
  const mismatch = { run, field, stored: show(stored[field]), given: show(given[field]) }
  return yield* new ResumeError({ reason: new ResumeMismatch(mismatch) })
})

const newClient = Effect.fnUntraced(function*<EE, ER>(
  { loadCheckpointPath, model }: RunOptions.RunOptions<EE, ER>,
  { lora: { rank, ...parts }, run: { seed } }: RunOptions.Resolved
) {
  const tinker = yield* Tinker
  const client = yield* tinker.createLoraTrainingClient({ baseModel: model.name, loraRank: rank, seed, ...parts })
  if (loadCheckpointPath !== undefined) {
    const loaded = yield* client.loadState(loadCheckpointPath, { optimizer: false })
    yield* loaded.await
  }
  return client
})

const warnings = <EE, ER>({ model: { capabilities } }: RunOptions.RunOptions<EE, ER>) =>
  capabilities.lossReduction === "token-sum"
    ? []
    : [`the backend's losses are reduced as "${capabilities.lossReduction}", learning rates are for sums over tokens`]

/** Longer than the groups of one iteration take. */
const workerWeightsTtl = "1 day"

/** Workers load weights by their path: where groups are rolled out elsewhere, every sampler's weights are saved. */
const savedSampler = Effect.fnUntraced(function*(client: TrainingClient, steps: number) {
  const tinker = yield* Tinker
  const name = `workers-${String(steps).padStart(6, "0")}`
  const saved = yield* client.saveWeightsForSampler(name, { ttl: workerWeightsTtl })
  const { path } = yield* saved.await
  return yield* tinker.createSamplingClient({ modelPath: path })
})

/** A program's identity comes after the run's own, so that it may name what it trains more exactly. */
const identityOf = <Cursor, E, R, EE, ER>(
  program: Program<Cursor, E, R>,
  options: RunOptions.RunOptions<EE, ER>,
  resolved: RunOptions.Resolved
) => ({ program: program.name, ...RunOptions.identity(options, resolved), ...program.identity })

/** Fails where the program does not read the cursor of the checkpoint from which the run goes on. */
const checkCursor = <Cursor, E, R>(
  program: Program<Cursor, E, R>,
  { cursor, iteration }: Checkpoints.Position,
  run: string
) =>
  Effect.mapError(
    Schema.decodeEffect(program.cursor)(cursor),
    ({ message }) => new ResumeError({ reason: new CheckpointUnreadable({ run, iteration, detail: message }) })
  )

/**
 * Begins a run, or goes on after its newest checkpoint. Nothing is recorded before the backend has the training client, so that
 * a run that could not begin pins nothing.
 */
export const open = Effect.fn("Run.open")(function*<Cursor, E, R, EE, ER>(
  program: Program<Cursor, E, R>,
  options: RunOptions.RunOptions<EE, ER>
) {
  const resolved = yield* RunOptions.resolve(options)
  const settings = resolved.run
  const store = yield* RunStore
  const records = yield* Stream.runCollect(store.read)
  yield* Spending.check(settings, options.model.name, records)
  const story = RunRecord.current(records)
  const identity = identityOf(program, options, resolved)
  const isSame = yield* hasSameIdentity(story, identity)
  const resumed = yield* Checkpoints.resume(story)
  const saved = Option.map(resumed, ({ saved }) => saved)
  const client = Option.isSome(resumed) ? resumed.value.client : yield* newClient(options, resolved)
  const start = yield* Option.match(saved, {
    onSome: (saved) => Effect.succeed(Checkpoints.position(saved)),
    onNone: () =>
      Effect.map(Effect.orDie(Schema.encodeEffect(program.cursor)(program.start)), (cursor): Checkpoints.Position => ({
        iteration: 0,
        optimizerSteps: 0,
        usage: Usage.zero,
        cursor
      }))
  })
  yield* checkCursor(program, start, store.name)
  const continuesAfter = Option.match(saved, { onNone: () => -1, onSome: ({ sequence }) => sequence })
  const status = yield* Ref.make<Status>({
    position: start,
    steps: start.optimizerSteps,
    isWhole: true,
    saved: { iteration: start.iteration, path: Option.getOrNull(Option.map(saved, ({ statePath }) => statePath)) },
    isOver: false
  })
  const { model } = options
  const budget = yield* Spending.budget({ settings, model: model.name, records, usage: start.usage })
  const ledger = Spending.warn(budget, yield* Ledger.make)
  const failure = yield* Deferred.make<never, RunError>()
  const unfinished = EvaluationsBeside.unfinished(
    isSame ? story.filter(({ sequence }) => sequence <= continuesAfter) : []
  )
  const groups = yield* GroupRecords.make({
    records: isSame ? records : [],
    unfinished,
    after: continuesAfter,
    append: ledger.append,
    budget,
    failure
  })
  const executor = yield* Executor.Executor
  const sampler = yield* RcRef.make({
    acquire: Effect.gen(function*() {
      const { steps: step } = yield* Ref.get(status)
      const weights = executor === undefined ? client.saveWeightsAndGetSamplingClient : savedSampler(client, step)
      return { client: yield* weights, step }
    }),
    idleTimeToLive: Duration.infinity
  })
  // Metered around the limiter: a request that waits for tokens may wait for ever, and must not hold a permit meanwhile.
  const limited = ({ client, step }: Sampler, lane: AdaptiveLimiter.Lane) =>
    Effect.map(AdaptiveLimiter.limit(client, lane), (limited) => ({ client: budget.meter(limited, model.name), step }))
  const iterations = Math.min(settings.iterations ?? Infinity, program.length)
  yield* ledger.append({
    entry: {
      _tag: "Opened",
      program: program.name,
      version,
      identity,
      settings: { ...Setting.record(RunOptions.RunSettings, settings), ...(yield* Spending.settings) },
      capabilities: { ...model.capabilities },
      iteration: start.iteration,
      iterations: Number.isFinite(iterations) ? iterations : null,
      resumedFrom: Option.getOrNull(Option.map(saved, ({ statePath }) => statePath)),
      continuesAfter,
      warnings: warnings(options)
    }
  })
  const run: RunState<EE, ER> = {
    settings,
    evaluators: options.run?.evaluators ?? [],
    iterations,
    start,
    opened: Spending.before(records),
    evaluated: yield* Ref.make(Forecast.nothing),
    isComplete: Option.exists(saved, ({ kind }) => kind === "final") && start.iteration >= iterations,
    client,
    sampler,
    weights: (lane) => ({
      sampler: Effect.flatMap(RcRef.get(sampler), (sampler) => limited(sampler, lane)),
      training: { info: client.info, forward: budget.meterForward(client.forward) }
    }),
    limited,
    budget,
    ledger,
    unfinished,
    groups,
    executor,
    halted: Effect.raceFirst(budget.exhausted, Deferred.await(failure)),
    status
  }
  return run
})
