import * as Style from "@effect-rl/cli/terminal/Style"
import * as Progress from "@effect-rl/cli/train/Progress"
import * as ProgressText from "@effect-rl/cli/train/ProgressText"
import type { RunRecord } from "@effect-rl/core"
import { Usage } from "@effect-rl/core/backend"
import { assert, describe, it } from "@effect/vitest"

const stamp = { at: 0, segment: 1, sequence: 0 }
const spent = Usage.zero

const opened = (iteration: number, iterations: number): RunRecord.Opened => ({
  ...stamp,
  _tag: "Opened",
  program: "rl",
  version: "0.0.0",
  identity: {},
  settings: {},
  capabilities: {},
  iteration,
  iterations,
  resumedFrom: null,
  continuesAfter: -1,
  warnings: []
})

const sampling = (iteration: number, groups: number): RunRecord.Sampling => ({
  ...stamp,
  _tag: "Sampling",
  iteration,
  step: 0,
  groups
})

const groups = (count: number): ReadonlyArray<RunRecord.GroupRolledOut> =>
  Array.from({ length: count }, (_, key) => ({
    ...stamp,
    _tag: "GroupRolledOut",
    iteration: 0,
    step: 0,
    key: String(key),
    tags: [],
    outcome: "Completed",
    rewards: [],
    members: [],
    failures: [],
    retries: 0,
    milliseconds: 1,
    spent
  }))

const updated = (iteration: number, metrics: Record<string, number> = {}): RunRecord.Updated => ({
  ...stamp,
  _tag: "Updated",
  iteration,
  reward: { mean: 0.5364, standardError: 0.031 },
  updates: [{ learningRate: 1e-3, passes: [], metrics: {}, seconds: 1 }],
  metrics: {
    "env/all/truncated": 0,
    "groups/total": 32,
    "groups/informative": 24,
    "tokens/sampled": 5000,
    "time/sampling": 2,
    "time/training": 1,
    ...metrics
  },
  spent
})

const evaluating: RunRecord.Evaluating = { ...stamp, _tag: "Evaluating", iteration: 0, step: 0, evaluator: "held_out" }

const evaluated = (iteration = 0): RunRecord.Evaluated => ({
  ...stamp,
  _tag: "Evaluated",
  iteration,
  step: 0,
  evaluator: "held_out",
  score: { value: 0.5, low: 0.4, high: 0.6 },
  metrics: { "held_out/episodes": 8 },
  seconds: 1,
  spent
})

const fold = (records: ReadonlyArray<RunRecord.RunRecord>) => records.reduce(Progress.update, Progress.begin(1000))

const live = (records: ReadonlyArray<RunRecord.RunRecord>) => ProgressText.live(fold(records), 13_000)

describe("the live line", () => {
  it("counts an iteration's problems as they finish", () => {
    assert.strictEqual(
      live([opened(0, 4), sampling(0, 32), ...groups(12)]),
      "iteration 1/4 sampling █████████░░░░░░░░░░░░░░░ 12/32 problems · 12 s elapsed"
    )
  })

  it("continues the count when an iteration adds the groups of a proposal", () => {
    const proposal = { parentDigest: "a", instruction: "Add.", refusals: [], usage: spent }
    assert.include(
      live([opened(0, 4), sampling(0, 3), ...groups(3), { ...sampling(0, 6), proposal }, ...groups(2)]),
      "iteration 1/4 sampling ████████████████████░░░░ 5/6 problems"
    )
    assert.include(live([opened(0, 4), sampling(0, 3), ...groups(3), sampling(1, 3)]), "0/3 problems")
  })

  it("shows training when all problems are answered, with an estimate from the latest iterations", () => {
    assert.strictEqual(
      live([opened(0, 4), updated(0), sampling(1, 32), ...groups(32)]),
      "iteration 2/4 training · 12 s elapsed, 9.0 s left"
    )
  })

  it("estimates the remaining time from the forecast, which includes evaluations", () => {
    const forecast = { ...spent, seconds: 100 }
    assert.include(
      live([opened(0, 4), { ...updated(0), spent: { ...spent, seconds: 40 }, forecast }, sampling(1, 32)]),
      "12 s elapsed, 1 min 0 s left"
    )
  })

  it("names the current evaluator and counts its problems", () => {
    assert.include(live([opened(0, 3), evaluating, ...groups(5)]), "evaluating held_out (5 problems done)")
  })

  it("shows sampling after an evaluation, and saving after the last", () => {
    const phases = (records: ReadonlyArray<RunRecord.RunRecord>) => fold(records).phase
    assert.strictEqual(phases([opened(0, 3), evaluating]), "evaluating")
    assert.strictEqual(phases([opened(0, 3), evaluating, evaluated()]), "sampling")
    assert.strictEqual(phases([opened(0, 3), updated(0)]), "sampling")
    assert.strictEqual(phases([opened(0, 3), updated(2)]), "saving")
    assert.strictEqual(phases([opened(0, 3), updated(2), evaluated(3)]), "saving")
  })

  it("continues when a run is resumed, and is empty at the end", () => {
    assert.include(live([opened(3, 4), sampling(3, 2)]), "iteration 4/4 sampling")
    const finished: RunRecord.Finished = {
      ...stamp,
      _tag: "Finished",
      iteration: 4,
      checkpoint: null,
      reason: "completed"
    }
    assert.strictEqual(live([opened(4, 4), finished]), "")
  })
})

describe("an iteration's line", () => {
  const line = (record: RunRecord.Updated) =>
    ProgressText.iteration(record, fold([opened(0, 12), record]), Style.plain, 13_000)

  it("shows reward, signal, speed and time", () => {
    assert.strictEqual(
      line(updated(0)),
      "iteration  1/12  reward 0.536 ± 0.031  informative 75 %  2500 tokens/s  12 s elapsed, 33 s left"
    )
  })

  it("shows the share of groups that were trained on, if equal rewards did not keep groups from it", () => {
    const perToken = updated(0, { "groups/informative": 0, "train/groups": 32 })
    assert.include(line(perToken), "informative 0 %  trained on 100 %  2500")
    assert.notInclude(line(updated(0, { "train/groups": 24 })), "trained on")
  })

  it("shows the share of truncated responses, if there are any", () => {
    assert.include(line(updated(0, { "env/all/truncated": 0.25 })), "informative 75 %  truncated 25 %  2500")
  })

  it("leaves out speed and time if a live screen shows them, and fits 80 columns", () => {
    const record = updated(99, { "groups/informative": 32, "env/all/truncated": 0.25 })
    const text = ProgressText.iteration(record, fold([opened(0, 1200), record]), Style.plain, undefined)
    assert.strictEqual(text, "iteration  100/1200  reward 0.536 ± 0.031  informative 100 %  truncated 25 %")
    assert.isBelow(text.length, 80)
  })

  it("says that there was no training signal", () => {
    assert.include(line({ ...updated(0), updates: [] }), "no signal, nothing trained")
  })

  it("shows NaN as a dash", () => {
    assert.include(line({ ...updated(0), reward: { mean: NaN } }), "reward –  informative")
  })
})

describe("the advice on truncation", () => {
  const advice = (truncated: number) =>
    ProgressText.truncationAdvice(updated(0, { "env/all/truncated": truncated }), 40)

  it("is given if at least half of the responses are truncated", () => {
    assert.isUndefined(advice(0.49))
    assert.include(advice(0.5), "50 % of the responses were cut at 40 tokens")
    assert.include(advice(1), "raise --max-tokens")
  })
})

describe("an evaluation's line", () => {
  it("shows the share and its interval", () => {
    assert.deepStrictEqual(
      ProgressText.evaluated(evaluated(), Style.plain),
      ["held_out after 0 iterations: 50.0 % of 8 correct (40.0 to 60.0 %)"]
    )
  })

  it("wraps at a terminal's 80 columns, without counting colour codes", () => {
    const name = "held_out_preferences"
    const metrics = { [`${name}/pairs`]: 256, [`${name}/margin`]: 0.125 }
    const record = { ...evaluated(120), evaluator: name, metrics }
    assert.deepStrictEqual(ProgressText.evaluated(record, Style.plain), [
      "held_out_preferences after 120 iterations: margin 0.125 nats",
      "  50.0 % of 256 preferred (40.0 to 60.0 %)"
    ])
    assert.deepStrictEqual(
      ProgressText.evaluated(record, Style.colored).map(Style.strip),
      ProgressText.evaluated(record, Style.plain)
    )
  })

  it("shows the mean reward and its 95 % interval if answers are not graded as right or wrong", () => {
    const { score: _, ...ungraded } = evaluated()
    assert.deepStrictEqual(
      ProgressText.evaluated({ ...ungraded, reward: { mean: -0.25 } }, Style.plain),
      ["held_out after 0 iterations: reward -0.250 over 8 episodes"]
    )
    assert.deepStrictEqual(
      ProgressText.evaluated({ ...ungraded, reward: { mean: -0.25, standardError: 0.1 } }, Style.plain),
      ["held_out after 0 iterations: reward -0.250 (-0.446 to -0.054) over 8 episodes"]
    )
  })
})
