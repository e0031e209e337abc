/** Checkpoints of a run; each has a record, which a resume uses to find it. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Pending } from "../backend/Pending.ts"
import { Tinker } from "../backend/Tinker.ts"
import type { Checkpoint, TrainingClient } from "../backend/TrainingClient.ts"
import type { Json } from "../records/Json.ts"
import * as RunRecord from "../records/RunRecord.ts"
import { RunStore } from "../records/RunStore.ts"
import type { Usage } from "../records/Usage.ts"
import type { Note } from "./Program.ts"
import { CheckpointContradicted, CheckpointRefused, CheckpointsLost, ResumeError } from "./ResumeError.ts"

/** The state of a run between two iterations. */
export interface Position {
  /** The number of finished iterations, which is also the index of the next. */
  readonly iteration: number
  readonly optimizerSteps: number
  readonly usage: Usage
  /** The program's state, encoded by its codec. */
  readonly cursor: Json
}

export type Kind = RunRecord.Saved["kind"]

/** A checkpoint's name: the number of finished iterations, or `final` for the one that ends a run. */
export const name = (iteration: number, kind: Kind) => kind === "final" ? "final" : String(iteration).padStart(6, "0")

/** Saves the resumable state and, except for rolling checkpoints, the sampler's weights. Both are submitted before either is awaited. */
const submit = Effect.fnUntraced(function*(
  client: TrainingClient,
  name: string,
  kind: Kind,
  ttl: Duration.Input | undefined
) {
  const options = ttl === undefined ? {} : { ttl }
  const state = yield* client.saveState(name, options)
  const weights: Pending<Checkpoint> | undefined = kind === "rolling"
    ? undefined
    : yield* client.saveWeightsForSampler(name, options)
  return { state: yield* state.await, weights: weights === undefined ? undefined : yield* weights.await }
})

/**
 * Saves a checkpoint that expires after `ttl`, or never if `ttl` is undefined. Returns its record and the path of its state once the
 * backend has stored it.
 */
export const save = Effect.fn("Checkpoints.save")(function*(
  client: TrainingClient,
  position: Position,
  kind: Kind,
  ttl: Duration.Input | undefined
) {
  const called = name(position.iteration, kind)
  const { state, weights } = yield* submit(client, called, kind, ttl)
  const now = yield* Clock.currentTimeMillis
  const note: Note = {
    entry: {
      _tag: "Saved",
      iteration: position.iteration,
      name: called,
      kind,
      statePath: state.path,
      ...(state.digest === undefined ? {} : { stateDigest: state.digest }),
      samplerPath: weights?.path ?? null,
      optimizerSteps: position.optimizerSteps,
      usage: position.usage,
      cursor: position.cursor,
      expiresAt: ttl === undefined ? null : now + Duration.toMillis(Duration.fromInputUnsafe(ttl))
    }
  }
  return { note, path: state.path }
})

/** The record of the newest available checkpoint, and a training client that starts from it. */
export interface Resumed {
  readonly client: TrainingClient
  readonly saved: RunRecord.Saved
}

export const position = ({ cursor, iteration, optimizerSteps, usage }: RunRecord.Saved): Position => ({
  iteration,
  optimizerSteps,
  usage,
  cursor
})

/** How a checkpoint's record contradicts the run's other records; undefined if it does not. */
const contradiction = (saved: RunRecord.Saved, story: ReadonlyArray<RunRecord.RunRecord>): string | undefined => {
  const updated = story.filter(RunRecord.guards.Updated).filter(({ sequence }) => sequence < saved.sequence)
  const steps = updated.reduce((sum, { updates }) => sum + updates.length, 0)
  const contradictions = [
    ["name", saved.name, name(saved.iteration, saved.kind)],
    ["iteration", saved.iteration, updated.length],
    ["iteration", saved.iteration, (updated.at(-1)?.iteration ?? -1) + 1],
    ["optimizerSteps", saved.optimizerSteps, steps]
  ] as const
  const [found] = contradictions.filter(([, found, expected]) => found !== expected)
  return found === undefined
    ? undefined
    : `its ${found[0]} is ${found[1]}, expected ${found[2]} by the records before it`
}

const load = Effect.fnUntraced(function*({ name, stateDigest, statePath: path }: RunRecord.Saved, run: string) {
  const tinker = yield* Tinker
  const options = stateDigest === undefined ? {} : { digest: stateDigest }
  return yield* tinker.createTrainingClientFromState(path, options).pipe(
    Effect.map(Option.some),
    Effect.catchReason(
      "TinkerError",
      "NotFound",
      (reason) =>
        Effect.as(Effect.logWarning(`checkpoint ${name} cannot be resumed from: ${reason.message}`), Option.none())
    ),
    Effect.catchReason(
      "TinkerError",
      "Rejected",
      (reason) =>
        Effect.fail(new ResumeError({ reason: new CheckpointRefused({ run, name, path, detail: reason.message }) }))
    )
  )
})

/**
 * Loads the newest recorded checkpoint that still exists; `None` if the run saved none. Missing checkpoints are skipped with a warning.
 * Fails if a checkpoint's record contradicts other records, if the backend refuses the checkpoint, or if all checkpoints are missing.
 */
export const resume = Effect.fn("Checkpoints.resume")(function*(story: ReadonlyArray<RunRecord.RunRecord>) {
  const { name: run } = yield* RunStore
  const saves = story.filter(RunRecord.guards.Saved).toReversed()
  for (const saved of saves) {
    const detail = contradiction(saved, story)
    if (detail !== undefined) {
      return yield* new ResumeError({ reason: new CheckpointContradicted({ run, name: saved.name, detail }) })
    }
    const client = yield* load(saved, run)
    if (Option.isSome(client)) return Option.some<Resumed>({ client: client.value, saved })
  }
  const [newest] = saves
  if (newest === undefined) return Option.none<Resumed>()
  const lost = new CheckpointsLost({ run, newest: newest.name, path: newest.statePath })
  return yield* new ResumeError({ reason: lost })
})
