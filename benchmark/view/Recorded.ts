/** Runs for the page to show: one with 100,000 rollouts, and one that is written at a fixed rate. */
import { Advantage, type RunRecord, RunStore } from "@effect-rl/core"
import type { Datum } from "@effect-rl/core/backend"
import { Key } from "@effect-rl/core/environments"
import { type GroupResult, Signal, TrainingData } from "@effect-rl/core/program"
import { GroupPayload, TrainedTokens } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import * as Workload from "../records/Workload.ts"

const opened: RunRecord.Entry = {
  _tag: "Opened",
  program: "rl",
  version: "0",
  identity: { model: "benchmark", loss: "ppo", loss_config: {} },
  settings: { max_tokens_total: null },
  capabilities: {},
  iteration: 0,
  iterations: null,
  resumedFrom: null,
  continuesAfter: -1,
  warnings: []
}

const spent = { prefilled: 0, sampled: 0, trained: 0 }

const assembled = (groups: ReadonlyArray<GroupResult.GroupResult>): ReadonlyArray<TrainingData.Assembled> =>
  Signal.informative(groups).map((group) => TrainingData.assemble(group, Advantage.centered))

const credited = (iteration: number, trained: ReadonlyArray<TrainingData.Assembled>): RunRecord.Entry => ({
  _tag: "Credited",
  iteration,
  groups: trained.map(({ advantagesG, group: { key } }) => ({
    key,
    verdict: "informative",
    advantages: Array.from(advantagesG)
  })),
  datums: trained.flatMap(({ data }) =>
    data.map(({ inputs: { mask }, origin: { group, member, turns } }) => ({
      group,
      member,
      ...Key.encodeTurns(turns),
      length: mask.length,
      trained: mask.reduce((sum, one) => sum + one, 0),
      update: 0
    }))
  )
})

/** The update's log-probability and advantage of each token, for an on-policy update. */
const trainedTokens = (iteration: number, trained: ReadonlyArray<TrainingData.Assembled>) => {
  const data = trained.flatMap(({ data }) => data)
  const logprobs = new Map<Datum.Datum<Datum.Kind>, Float32Array>(data.map((datum) => [datum, datum.inputs.logprobs]))
  return TrainedTokens.encode(data, (datum) => logprobs.get(datum), iteration)
}

const updated = (iteration: number): RunRecord.Entry => ({
  _tag: "Updated",
  iteration,
  metrics: { "optim/entropy": 0.5, "env/all/truncated": 0.01, "tokens/sampled": 51_200 },
  reward: { mean: 1 - Math.exp(-iteration / 50), standardError: 0.02 },
  updates: [],
  spent
})

/** Writes 100,000 rollouts in groups of eight. A hundred groups form an iteration. */
export const write = (run: string) =>
  Effect.gen(function*() {
    const store = yield* RunStore.RunStore
    yield* store.append(opened)
    let groups: Array<GroupResult.GroupResult> = []
    for (let index = 0; index < Workload.groups; index++) {
      const iteration = Math.floor(index / Workload.perIteration)
      if (index % Workload.perIteration === 0) {
        yield* store.append({ _tag: "Sampling", iteration, step: iteration, groups: Workload.perIteration })
      }
      const group = Workload.group(index)
      yield* store.append(Workload.record(group), GroupPayload.encode(group))
      groups.push(group)
      if (groups.length < Workload.perIteration) continue
      const trained = assembled(groups)
      yield* store.append(credited(iteration, trained))
      yield* store.append(updated(iteration), trainedTokens(iteration, trained))
      groups = []
    }
    yield* store.append({
      _tag: "Finished",
      iteration: Workload.groups / Workload.perIteration,
      reason: "completed",
      checkpoint: null
    })
  }).pipe(Effect.provide(RunDirectory.layer(run)), Effect.provide(NodeServices.layer))

/** Appends `perSecond` records each second for `seconds` seconds. The iteration's report follows every hundred groups. */
export const writeLive = (run: string, perSecond: number, seconds: number) =>
  Effect.gen(function*() {
    const store = yield* RunStore.RunStore
    yield* store.append(opened)
    const group = Workload.group(0)
    const groupOf = (iteration: number, key: string) => Workload.record({ ...group, samplerStep: iteration, key })
    const each = 20
    const records = perSecond * seconds
    const start = Date.now()
    for (let written = 0; written < records;) {
      const until = Math.min(records, Math.floor(((Date.now() - start) / 1000) * perSecond))
      for (; written < until; written++) {
        const iteration = Math.floor(written / (Workload.perIteration + 1))
        const isLast = written % (Workload.perIteration + 1) === Workload.perIteration
        yield* store.append(isLast ? updated(iteration) : groupOf(iteration, `problem/${written}`))
      }
      yield* Effect.sleep(each)
    }
  }).pipe(Effect.provide(RunDirectory.layer(run)), Effect.provide(NodeServices.layer))
