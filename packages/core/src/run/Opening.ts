/** Opens a run: a new run at the program's start with a new adapter, or a stored run at its newest checkpoint. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AnswerRules from "../backend/AnswerRules.ts"
import type { Capabilities } from "../backend/Capabilities.ts"
import { Tinker } from "../backend/Tinker.ts"
import type { TrainingClient } from "../backend/TrainingClient.ts"
import type { JsonObject } from "../records/Json.ts"
import * as RunRecord from "../records/RunRecord.ts"
import { type RunError, RunStore } from "../records/RunStore.ts"
import * as Usage from "../records/Usage.ts"
import * as Setting from "../settings/Setting.ts"
import * as Checkpoints from "./Checkpoints.ts"
import * as Evaluations from "./Evaluations.ts"
import * as GroupRecords from "./GroupRecords.ts"
import * as Patience from "./Patience.ts"
import type { Program } from "./Program.ts"
import { CheckpointUnreadable, ResumeError, ResumeMismatch } from "./ResumeError.ts"
import * as RunOptions from "./RunOptions.ts"
import * as RunState from "./RunState.ts"
import * as Segments from "./Segments.ts"
import * as Budget from "./spending/Budget.ts"

/** The facts from which the warnings at a run's opening are made. */
interface Opened {
  readonly capabilities: Pick<Capabilities, "lossReduction">
  readonly settings: Pick<RunOptions.Resolved["run"], "iterations">
  readonly program: Pick<Program<never>, "length" | "shortBatch">
  /** The hash of the source of environments and graders. */
  readonly code: string | undefined
  /** The run's records so far. */
  readonly story: ReadonlyArray<RunRecord.RunRecord>
}

const ofReduction = ({ capabilities: { lossReduction } }: Opened) =>
  lossReduction === "token-sum"
    ? undefined
    : `the backend's losses are reduced as "${lossReduction}", but learning rates are meant for sums over tokens`

const ofLength = ({ program: { length }, settings: { iterations = 0 } }: Opened) =>
  iterations <= length
    ? undefined
    : `run.iterations is ${iterations}, but the data end after ${length}, and so does the run: more epochs repeat the data`

const ofShortBatch = ({ program: { shortBatch }, settings: { iterations = Infinity } }: Opened) =>
  shortBatch === undefined || shortBatch.batch >= iterations
    ? undefined
    : `the last batch of each epoch has ${shortBatch.rows} of ${shortBatch.batchSize} rows: dropRemainder leaves it out`

const ofCode = ({ code, story }: Opened) => {
  const before = story.findLast(RunRecord.guards.Opened)?.code
  return before === undefined || code === undefined || before === code
    ? undefined
    : "the source of the environments, graders or credit has changed since this run began: earlier and later iterations may "
      + "not be comparable; start another run to keep them apart"
}

/** The warnings to show when the run opens. */
const warnings = (opening: Opened): ReadonlyArray<string> =>
  [ofReduction, ofLength, ofShortBatch, ofCode].flatMap((warning) => warning(opening) ?? [])

interface Start<out Cursor> {
  readonly client: TrainingClient
  readonly position: Checkpoints.Position
  /** The decoded cursor of the position. */
  readonly cursor: Cursor
  /** The checkpoint's record; undefined for a new run. */
  readonly saved: RunRecord.Saved | undefined
}

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

const begin = Effect.fnUntraced(function*<Cursor, E, R, EE, ER>(
  program: Program<Cursor, E, R>,
  options: RunOptions.RunOptions<EE, ER>,
  resolved: RunOptions.Resolved
) {
  const client = yield* newClient(options, resolved)
  const cursor = yield* Effect.orDie(Schema.encodeEffect(program.cursor)(program.start))
  const position: Checkpoints.Position = { iteration: 0, optimizerSteps: 0, usage: Usage.zero, cursor }
  const start: Start<Cursor> = { client, position, cursor: program.start, saved: undefined }
  return start
})

const continueFrom = Effect.fnUntraced(function*<Cursor, E, R>(
  program: Program<Cursor, E, R>,
  { client, saved }: Checkpoints.Resumed
) {
  const { name: run } = yield* RunStore
  const { iteration } = saved
  const cursor = yield* Effect.mapError(
    Schema.decodeEffect(program.cursor)(saved.cursor),
    ({ message }) => new ResumeError({ reason: new CheckpointUnreadable({ run, iteration, detail: message }) })
  )
  const start: Start<Cursor> = { client, position: Checkpoints.position(saved), cursor, saved }
  return start
})

/** Loads the start of a run from the records that were not abandoned. Fails if the program cannot read the checkpoint's cursor. */
const startOf = Effect.fnUntraced(function*<Cursor, E, R, EE, ER>(
  program: Program<Cursor, E, R>,
  options: RunOptions.RunOptions<EE, ER>,
  resolved: RunOptions.Resolved,
  story: ReadonlyArray<RunRecord.RunRecord>
) {
  const resumed = yield* Checkpoints.resume(story)
  return Option.isSome(resumed) ? yield* continueFrom(program, resumed.value) : yield* begin(program, options, resolved)
})

/** Whether a record shows that an iteration is done; before that, a run may be started again with different options. */
const hasBegun = RunRecord.isAnyOf(["Updated", "Saved"])

/** Whether the stored run has the same identity; true for a new run. Fails if the identity differs and an iteration is already done. */
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

/** The hash of the source of environments and graders; undefined if there is none. */
const codeOf = Effect.fnUntraced(function*({ code }: Pick<Program<unknown>, "code">) {
  const parts = [code, yield* RunOptions.Code].filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : parts.join("-")
})

/** The run's identity. The program's fields override the run's, so a program can describe more exactly what it trains. */
const identityOf = <Cursor, E, R, EE, ER>(
  program: Program<Cursor, E, R>,
  options: RunOptions.RunOptions<EE, ER>,
  resolved: RunOptions.Resolved
) => ({ program: program.name, ...RunOptions.identity(options, resolved), ...program.identity })

const statusAt = ({ position, saved }: Start<unknown>): RunState.Status => ({
  position,
  steps: position.optimizerSteps,
  isWhole: true,
  saved: { iteration: position.iteration, path: saved?.statePath ?? null },
  isOver: false
})

/** The record that opens the run: its first record, or the first record after a resume. */
const opened = Effect.fnUntraced(function*<Cursor, E, R, EE, ER>(
  program: Program<Cursor, E, R>,
  options: RunOptions.RunOptions<EE, ER>,
  settings: RunOptions.Resolved["run"],
  given: Pick<RunRecord.Opened, "identity" | "code" | "iterations" | "warnings">,
  { position: { iteration }, saved }: Start<Cursor>
) {
  const launch = yield* RunOptions.Launched
  const entry: RunRecord.Entry = {
    _tag: "Opened",
    program: program.name,
    version: RunRecord.version,
    ...given,
    settings: { ...Setting.record(RunOptions.RunSettings, settings), ...(yield* Budget.recordedPrices) },
    capabilities: { ...options.model.capabilities },
    ...(launch === undefined ? {} : { launch }),
    iteration,
    resumedFrom: saved?.statePath ?? null,
    continuesAfter: continuesAfter(saved)
  }
  return entry
})

/** The sequence number of the record of the checkpoint from which the run resumes; −1 for a new run. */
const continuesAfter = (saved: RunRecord.Saved | undefined) => saved?.sequence ?? -1

/**
 * Starts a run, or resumes it from its newest checkpoint. Nothing is recorded before the backend returns the training client, so a run that
 * fails to start fixes no identity.
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
  yield* Budget.check(settings, model.name, records)
  const story = RunRecord.current(records)
  const identity = { ...identityOf(program, options, resolved), ...(yield* RunOptions.Identity) }
  const isSame = yield* hasSameIdentity(story, identity)
  const start = yield* startOf(program, options, resolved, story)
  const { cursor, position, saved } = start
  const client = AnswerRules.trainingClient(start.client)
  const after = continuesAfter(saved)
  const budget = yield* Budget.reopen({ settings, model: model.name, records })
  const ledger = RunState.warning(budget, yield* RunState.makeLedger)
  const failure = yield* Deferred.make<never, RunError>()
  const kept = isSame ? story.filter(({ sequence }) => sequence <= after) : []
  const unfinished = Evaluations.unfinished(kept)
  const groups = yield* GroupRecords.make({
    records: Segments.of(records, identity),
    unfinished,
    after,
    append: ledger.append,
    budget,
    failure
  })
  const status = yield* Ref.make(statusAt(start))
  const patience = yield* Patience.make(settings.patience, kept)
  const iterations = Math.min(settings.iterations ?? Infinity, program.length)
  const known = Number.isFinite(iterations) ? iterations : null
  const code = yield* codeOf(program)
  const said = warnings({ capabilities: model.capabilities, settings, program, code, story })
  yield* Effect.forEach(said, (warning) => Effect.logWarning(warning), { discard: true })
  const described = { identity, iterations: known, warnings: said, ...(code === undefined ? {} : { code }) }
  yield* ledger.append({ entry: yield* opened(program, options, settings, described, start) })
  const run: RunState.RunState<EE, ER> = {
    settings,
    evaluators: options.run?.evaluators ?? [],
    iterations,
    start: position,
    opened: Budget.spentBefore(records),
    evaluated: yield* Ref.make(Budget.nothing),
    isComplete: saved?.kind === "final" && (position.iteration >= iterations || (yield* patience.isOver)),
    client,
    ...(yield* RunState.makeSamplers({ budget, client, model: model.name, status })),
    budget,
    patience,
    ledger,
    measured: Evaluations.measuredIn(kept),
    unfinished: Evaluations.savedOf(unfinished),
    groups,
    halted: Effect.raceFirst(budget.exhausted, Deferred.await(failure)),
    status
  }
  return { run, cursor }
})
