/** Records of a small run, with helpers to write and read them. */
import { type RunRecord, RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import { Effect, Layer, Stream } from "effect"

const spent = { prefilled: 10, sampled: 20, trained: 30 }

/** The record of opening a run. Records after `continuesAfter` are abandoned. */
export const opened = (continuesAfter = -1, changes: Partial<RunRecord.Opened> = {}): RunRecord.Entry => ({
  _tag: "Opened",
  program: "rl",
  version: "0.1.0",
  identity: { model: "tiny", seed: 7 },
  settings: { maxSteps: 4 },
  capabilities: {},
  iteration: 0,
  iterations: 4,
  resumedFrom: null,
  continuesAfter,
  warnings: [],
  ...changes
})

export const rolledOut = (iteration: number, key: string): RunRecord.Entry => ({
  _tag: "GroupRolledOut",
  iteration,
  step: iteration,
  key,
  tags: [],
  outcome: "Partial",
  rewards: [0.5, NaN],
  members: [{ turns: 1, sampled: 3, observed: 2, stopReason: "completed", truncated: false }, null],
  failures: [{ member: 1, attempt: 0, failure: "StepFailed", message: "broke\non two lines" }],
  retries: 0,
  milliseconds: 1.5,
  spent
})

export const updated = (
  iteration: number,
  metrics: Readonly<Record<string, number>> = { reward: iteration / 4, loss: NaN }
): RunRecord.Entry => ({ _tag: "Updated", iteration, metrics, updates: [], spent })

export const evaluated = (iteration: number): RunRecord.Entry => ({
  _tag: "Evaluated",
  iteration,
  step: iteration,
  evaluator: "held_out",
  metrics: { "held_out/correct": 0.25 },
  seconds: 2,
  spent
})

export const saved = (iteration: number, changes: Partial<RunRecord.Saved> = {}): RunRecord.Entry => ({
  _tag: "Saved",
  iteration,
  name: String(iteration).padStart(6, "0"),
  kind: "periodic",
  statePath: `tinker://run/weights/${iteration}`,
  samplerPath: `tinker://run/sampler_weights/${iteration}`,
  optimizerSteps: iteration,
  usage: spent,
  cursor: { iteration },
  expiresAt: null,
  ...changes
})

export const finished: RunRecord.Entry = { _tag: "Finished", iteration: 4, reason: "completed", checkpoint: null }

/** Opens the run and closes it when `use` ends. */
export const withStore = <A, E, R>(
  run: string,
  use: (store: RunStore.RunStore["Service"]) => Effect.Effect<A, E, R>
) => Effect.provide(RunStore.RunStore.use(use), Layer.fresh(RunDirectory.layer(run)))

/** Opens the run and appends the records. */
export const write = (run: string, ...entries: ReadonlyArray<RunRecord.Entry>) =>
  withStore(run, (store) => Effect.forEach(entries, (entry) => store.append(entry)))

/** All records of the run, as another process reads them. */
export const read = (run: string) => Effect.flatMap(RunDirectory.open(run), (reader) => Stream.runCollect(reader.read))
