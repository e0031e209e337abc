/** A small supervised run: a toy model in ChatML format learns worked sums. */
import { Message, RunRecord, Supervised, SupervisedDataset } from "@effect-rl/core"
import { Call } from "@effect-rl/core/testing"
import { Effect, Stream } from "effect"
import * as Task from "../rl/Task.ts"

export const rows = Array.from({ length: 7 }, (_, a) => [
  Message.user(`${a} + 1`),
  Message.assistant(String(a + 1))
])

type Overrides = Pick<Supervised.Options, "run" | "update" | "loadCheckpointPath">

/** Options for eight iterations: two epochs of seven shuffled conversations in batches of two. */
export const options = (overrides: Overrides = {}) =>
  Effect.map(Task.model, (model) => ({
    model,
    dataset: SupervisedDataset.conversations(rows, { model, batchSize: 2, epochs: 2, shuffle: true }),
    update: { learningRate: 0.1 },
    ...overrides,
    run: { evalEvery: 0, ...overrides.run }
  }))

export const run = (overrides: Overrides = {}) =>
  Stream.unwrap(Effect.map(options(overrides), (options) => Supervised.run(options)))

/** The number, `nll` and `loss:sum` of each iteration that was not abandoned, in order. */
export const updates = Effect.map(
  Task.current(RunRecord.guards.Updated),
  (updates) => updates.map(({ iteration, metrics }) => ({ iteration, nll: metrics["nll"], loss: metrics["loss:sum"] }))
)

/** The data of each pass, in order of submission. */
export const trained = Effect.map(
  Call.CallLog.use(({ calls }) => calls),
  (calls) => calls.filter((call) => call._tag === "ForwardBackward").map(({ data }) => data)
)
