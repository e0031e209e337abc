import * as LiveScreen from "@effect-rl/cli/train/LiveScreen"
import * as Progress from "@effect-rl/cli/train/Progress"
import type { RunRecord } from "@effect-rl/core"
import { Usage } from "@effect-rl/core/backend"
import { assert, describe, it } from "@effect/vitest"

const stamp = { at: 0, segment: 1, sequence: 0 }

const sampling: RunRecord.Sampling = { ...stamp, _tag: "Sampling", iteration: 0, step: 0, groups: 4 }

const updated = (iteration: number, mean: number): RunRecord.Updated => ({
  ...stamp,
  _tag: "Updated",
  iteration,
  reward: { mean, standardError: 0.03125 },
  updates: [],
  metrics: {
    "env/all/truncated": 0.125,
    "groups/total": 32,
    "groups/informative": 24,
    "optim/entropy": 0.25,
    "tokens/sampled": 5000,
    "time/sampling": 2,
    "time/training": 1
  },
  spent: { prefilled: 1_000_000, sampled: 500_000, trained: 500_000 }
})

const evaluated: RunRecord.Evaluated = {
  ...stamp,
  _tag: "Evaluated",
  iteration: 2,
  step: 2,
  evaluator: "held_out",
  metrics: {},
  seconds: 2,
  spent: Usage.zero
}

const screen = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  LiveScreen.text(records.reduce(Progress.update, Progress.begin(1000)), 13_000).split("\n")

describe("the live screen", () => {
  it("shows only the current activity before the first iteration is done", () => {
    assert.deepStrictEqual(screen([sampling]), [
      "clock     12 s elapsed",
      "iteration 1/0 sampling ░░░░░░░░░░░░░░░░░░░░░░░░ 0/4 problems"
    ])
  })

  it("shows reward, health, time and tokens above the current activity", () => {
    const records = [updated(0, 0.25), updated(1, 0.5), updated(2, 0.75), evaluated, sampling]
    assert.deepStrictEqual(screen(records).slice(0, -2), [
      "reward    ▁▅█ 0.750 ± 0.031",
      "health    informative 75 %, truncated 13 %, entropy 0.250",
      "time      sampling ███░░░ 55 %  training ██░░░░ 27 %  evaluating █░░░░░ 18 %",
      "tokens    1.0 M prefilled, 500 k sampled, 500 k trained, 2500 tokens/s"
    ])
  })

  it("fits a terminal of 80 columns, however long the run and its metrics are", () => {
    const metrics = { "optim/kl_sample_train_v1": 0.0004, grad_norm: 12.5, "audit/quarantined": 3 }
    const forecast = { prefilled: 2e9, sampled: 1e9, trained: 1e9, dollars: 1234.5, seconds: 90_000 }
    const records = Array.from({ length: 200 }, (_, iteration) => {
      const { metrics: usual, ...record } = updated(iteration, iteration / 200)
      return { ...record, metrics: { ...usual, ...metrics }, forecast }
    })
    const lines = screen([...records, evaluated, sampling])
    assert.deepStrictEqual(lines.slice(1, 3), [
      "health    informative 75 %, quarantined 3, truncated 13 %, entropy 0.250",
      "          KL sampler to trainer 0.0004, gradient norm 12.50"
    ])
    assert.isBelow(Math.max(...lines.map(({ length }) => length)), 80)
  })

  it("shows dollars if token prices are known", () => {
    const { spent, ...record } = updated(0, 0.5)
    const priced = { ...record, spent: { ...spent, dollars: 3 } }
    assert.include(screen([priced, sampling])[3], "500 k trained, $3.00")
  })

  it("shows the forecast for the whole run", () => {
    const forecast = { prefilled: 2_000_000, sampled: 1_000_000, trained: 0, dollars: 6, seconds: 90 }
    assert.strictEqual(
      screen([{ ...updated(0, 0.5), forecast }, sampling])[4],
      "forecast  about 3.0 M tokens, $6.00, 1 min 30 s in all"
    )
  })
})
