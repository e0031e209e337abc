/** The checkpoints of a run: written with their record, found again on resume. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Tinker } from "../backend/Tinker.ts"
import type { Checkpoint, TrainingClient } from "../backend/TrainingClient.ts"
import { RunError, RunStore } from "../record/RunStore.ts"
import * as TokenBudget from "./TokenBudget.ts"

/**
 * One line of `checkpoints.jsonl`. `batch` is the number of finished iterations and so the next one's index.
 *
 * @see tinker-cookbook `CheckpointRecord`
 */
export const Record = Schema.Struct({
  name: Schema.String,
  batch: Schema.Int,
  state_path: Schema.String,
  sampler_path: Schema.String,
  optimizer_steps: Schema.Int,
  tokens: Schema.Struct({ prefilled: Schema.Finite, sampled: Schema.Finite, trained: Schema.Finite })
})
export type Record = typeof Record.Type

/** Where a run stands between two iterations. */
export interface Position {
  readonly iteration: number
  readonly optimizerSteps: number
  readonly usage: TokenBudget.Usage
}

export const start: Position = { iteration: 0, optimizerSteps: 0, usage: TokenBudget.noUsage }

/** Name of the checkpoint that ends a run. */
export const final = "final"

export const name = (iteration: number) => String(iteration).padStart(6, "0")

/** State and sampler weights are both submitted before either is awaited; the record follows when both are there. */
export const save = Effect.fn("Checkpoints.save")(function*(client: TrainingClient, position: Position, name: string) {
  const store = yield* RunStore
  const pendingState = yield* client.saveState(name)
  const pendingWeights = yield* client.saveWeightsForSampler(name)
  const state = yield* pendingState.await
  const weights = yield* pendingWeights.await
  yield* store.append("checkpoints", {
    name,
    batch: position.iteration,
    state_path: state.path,
    sampler_path: weights.path,
    optimizer_steps: position.optimizerSteps,
    tokens: { ...position.usage }
  })
  return state
})

/** A training client at the newest checkpoint that still exists, and where the run stood there. */
export interface Resumed {
  readonly client: TrainingClient
  readonly checkpoint: Checkpoint
  readonly position: Position
  /** The run had come to its end. */
  readonly isFinal: boolean
}

const decode = Schema.decodeUnknownEffect(Record)

const records = Effect.gen(function*() {
  const store = yield* RunStore
  const lines = yield* store.read("checkpoints")
  return yield* Effect.forEach(
    lines,
    (line, index) =>
      Effect.mapError(
        decode(line),
        (error) => new RunError({ run: store.name, detail: `checkpoints record ${index + 1}: ${error.message}` })
      )
  )
})

/** None in a new run. A checkpoint that is gone is passed over with a warning; one that is broken is an error. */
export const resume = Effect.gen(function*() {
  const tinker = yield* Tinker
  const { name: run } = yield* RunStore
  for (const record of (yield* records).toReversed()) {
    const client = yield* tinker.createTrainingClientFromState(record.state_path).pipe(
      Effect.map(Option.some),
      Effect.catchReason("TinkerError", "NotFound", (reason) =>
        Effect.as(
          Effect.logWarning(`checkpoint ${record.name} cannot be resumed from: ${reason.message}`),
          Option.none()
        )),
      Effect.catchReason("TinkerError", "Rejected", (reason) => {
        const detail = `checkpoint ${record.name} cannot be resumed from: ${reason.message}; ` +
          "remove its record to go on from the one before"
        return Effect.fail(new RunError({ run, detail }))
      })
    )
    if (Option.isSome(client)) {
      return Option.some<Resumed>({
        client: client.value,
        checkpoint: { path: record.state_path },
        isFinal: record.name === final,
        position: { iteration: record.batch, optimizerSteps: record.optimizer_steps, usage: record.tokens }
      })
    }
  }
  return Option.none<Resumed>()
})
