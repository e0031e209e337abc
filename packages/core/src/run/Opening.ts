/** Opening a run: a new one, or an old one at its newest checkpoint. */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as RcRef from "effect/RcRef"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as AdaptiveLimiter from "../backend/limiter/AdaptiveLimiter.ts"
import { Tinker } from "../backend/Tinker.ts"
import type { TrainingClient } from "../backend/TrainingClient.ts"
import type { Sampler } from "../backend/Weights.ts"
import type { JsonObject } from "../records/Json.ts"
import * as RunRecord from "../records/RunRecord.ts"
import { type RunError, RunStore } from "../records/RunStore.ts"
import { version } from "../records/Version.ts"
import * as Executor from "../rollout/Executor.ts"
import * as Setting from "../settings/Setting.ts"
import * as Evaluations from "./Evaluations.ts"
import * as EvaluationsBeside from "./EvaluationsBeside.ts"
import * as GroupRecords from "./GroupRecords.ts"
import * as Ledger from "./Ledger.ts"
import type { Program } from "./Program.ts"
import { ResumeError, ResumeMismatch } from "./ResumeError.ts"
import * as RunOptions from "./RunOptions.ts"
import type { RunState, Status } from "./RunState.ts"
import * as Segments from "./Segments.ts"
import * as Forecast from "./spending/Forecast.ts"
import * as Spending from "./spending/Spending.ts"
import * as Start from "./Start.ts"
import * as Warnings from "./Warnings.ts"

/** Whether a record says that an iteration is done; until then, a run may begin anew with other options. */
const hasBegun = RunRecord.isAnyOf(["Updated", "Saved"])

/** Whether the stored run has the same identity; fails if it differs and the run has begun. */
const hasSameIdentity = Effect.fnUntraced(function*(story: ReadonlyArray<RunRecord.RunRecord>, given: JsonObject) {
  const { name: run } = yield* RunStore
  const stored = story.findLast(RunRecord.guards.Opened)?.identity
  if (stored === undefined) return true
  const field = Segments.difference(given, stored)
  if (field === undefined) return true
  if (!story.some(hasBegun)) return false
  const mismatch = { run, field, stored: Segments.show(stored[field]), given: Segments.show(given[field]) }
  return yield* new ResumeError({ reason: new ResumeMismatch(mismatch) })
})

/** The hash of the sources of environments and graders; undefined where none is known. */
const codeOf = Effect.fnUntraced(function*({ code }: Pick<Program<unknown>, "code">) {
  const parts = [code, yield* RunOptions.Code].filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : parts.join("-")
})

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

/** The weights that are sampled from: those of the newest optimizer step, made when they are first asked for. */
const samplerOf = Effect.fnUntraced(function*(client: TrainingClient, status: Ref.Ref<Status>) {
  const executor = yield* Executor.Executor
  return yield* RcRef.make({
    acquire: Effect.gen(function*() {
      const { steps: step } = yield* Ref.get(status)
      const weights = executor === undefined ? client.saveWeightsAndGetSamplingClient : savedSampler(client, step)
      return { client: yield* weights, step }
    }),
    idleTimeToLive: Duration.infinity
  })
})

const statusAt = ({ position, saved }: Start.Start<unknown>): Status => ({
  position,
  steps: position.optimizerSteps,
  isWhole: true,
  saved: { iteration: position.iteration, path: saved?.statePath ?? null },
  isOver: false
})

/** The run's first record. */
const opened = Effect.fnUntraced(function*<Cursor, E, R, EE, ER>(
  program: Program<Cursor, E, R>,
  options: RunOptions.RunOptions<EE, ER>,
  settings: RunOptions.Resolved["run"],
  given: Pick<RunRecord.Opened, "identity" | "code" | "iterations" | "warnings">,
  { position: { iteration }, saved }: Start.Start<Cursor>
) {
  const entry: RunRecord.Entry = {
    _tag: "Opened",
    program: program.name,
    version,
    ...given,
    settings: { ...Setting.record(RunOptions.RunSettings, settings), ...(yield* Spending.settings) },
    capabilities: { ...options.model.capabilities },
    iteration,
    resumedFrom: saved?.statePath ?? null,
    continuesAfter: continuesAfter(saved)
  }
  return entry
})

/** The sequence number of the last record that still counts; −1 for a run that begins. */
const continuesAfter = (saved: RunRecord.Saved | undefined) => saved?.sequence ?? -1

/**
 * Begins a run, or resumes it from its newest checkpoint. Nothing is recorded before the backend has the training client, so that
 * a run that could not begin pins nothing.
 */
export const open = Effect.fn("Run.open")(function*<Cursor, E, R, EE, ER>(
  program: Program<Cursor, E, R>,
  options: RunOptions.RunOptions<EE, ER>
) {
  const { model } = options
  const resolved = yield* RunOptions.resolve(options)
  const settings = resolved.run
  const { read } = yield* RunStore
  const records = yield* Stream.runCollect(read)
  yield* Spending.check(settings, model.name, records)
  const story = RunRecord.current(records)
  const identity = { ...identityOf(program, options, resolved), ...(yield* RunOptions.Identity) }
  const isSame = yield* hasSameIdentity(story, identity)
  const start = yield* Start.find(program, options, resolved, story)
  const { client, cursor, position, saved } = start
  const after = continuesAfter(saved)
  const budget = yield* Spending.budget({ settings, model: model.name, records })
  const ledger = Spending.warn(budget, yield* Ledger.make)
  const failure = yield* Deferred.make<never, RunError>()
  const kept = isSame ? story.filter(({ sequence }) => sequence <= after) : []
  const unfinished = EvaluationsBeside.unfinished(kept)
  const groups = yield* GroupRecords.make({
    records: Segments.of(records, identity),
    unfinished,
    after,
    append: ledger.append,
    budget,
    failure
  })
  const status = yield* Ref.make(statusAt(start))
  const sampler = yield* samplerOf(client, status)
  // Metered around the limiter: a request that waits for tokens may wait for ever, and must not hold a permit meanwhile.
  const limited = ({ client, step }: Sampler, lane: AdaptiveLimiter.Lane) =>
    Effect.map(AdaptiveLimiter.limit(client, lane), (limited) => ({ client: budget.meter(limited, model.name), step }))
  const iterations = Math.min(settings.iterations ?? Infinity, program.length)
  const known = Number.isFinite(iterations) ? iterations : null
  const code = yield* codeOf(program)
  const warnings = Warnings.of({ capabilities: model.capabilities, settings, program, code, story })
  yield* Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true })
  const described = { identity, iterations: known, warnings, ...(code === undefined ? {} : { code }) }
  yield* ledger.append({ entry: yield* opened(program, options, settings, described, start) })
  const run: RunState<EE, ER> = {
    settings,
    evaluators: options.run?.evaluators ?? [],
    iterations,
    start: position,
    opened: Spending.before(records),
    evaluated: yield* Ref.make(Forecast.nothing),
    isComplete: saved?.kind === "final" && position.iteration >= iterations,
    client,
    sampler,
    weights: (lane) => ({
      sampler: Effect.flatMap(RcRef.get(sampler), (sampler) => limited(sampler, lane)),
      training: { info: client.info, forward: budget.meterForward(client.forward) }
    }),
    limited,
    budget,
    ledger,
    measured: Evaluations.measuredIn(kept),
    unfinished: EvaluationsBeside.saved(unfinished),
    groups,
    halted: Effect.raceFirst(budget.exhausted, Deferred.await(failure)),
    status
  }
  return { run, cursor }
})
