import * as Style from "@effect-rl/cli/terminal/Style"
import * as Progress from "@effect-rl/cli/train/Progress"
import * as ProgressText from "@effect-rl/cli/train/ProgressText"
import type { Evaluator, Train } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"

const started = (iteration: number, iterations: number): Train.Event => ({
  _tag: "Started",
  iteration,
  iterations,
  resumedFrom: undefined,
  warnings: [],
  capabilities: {
    contextLength: 512,
    lossReduction: "token-sum",
    seeds: true,
    promptLogprobs: false,
    topkPromptLogprobs: 0,
    loraRank: [1, 32]
  }
})

const group = (completed: number, total: number): Train.Event => ({
  _tag: "GroupFinished",
  iteration: 0,
  key: String(completed),
  completed,
  total
})

const iteration = (iteration: number, metrics: Record<string, number> = {}): Train.Iteration => ({
  _tag: "Iteration",
  iteration,
  meanReward: 0.5364,
  rewardStandardError: 0.031,
  groups: 32,
  informative: 24,
  datums: 192,
  optimizerSteps: 1,
  metrics: {
    "env/all/truncated": 0,
    "tokens/sampled": 5000,
    "time/sampling": 2,
    "time/training": 1,
    ...metrics
  }
})

const evaluation: Evaluator.Evaluation = {
  name: "held_out",
  groups: [],
  metrics: {
    "held_out/correct": 0.5,
    "held_out/correct_low": 0.4,
    "held_out/correct_high": 0.6,
    "held_out/episodes": 8
  }
}
const evaluated: Train.Evaluated = { _tag: "Evaluated", iteration: 0, evaluation }

const fold = (events: ReadonlyArray<Train.Event>, evaluators = 0) =>
  events.reduce(Progress.update, Progress.begin({ evalEvery: 2, evaluators, now: 1000 }))

const live = (events: ReadonlyArray<Train.Event>, evaluators = 0) => ProgressText.live(fold(events, evaluators), 13_000)

describe("the moving line", () => {
  it("counts the problems of a step as they finish", () => {
    assert.strictEqual(
      live([started(0, 4), group(12, 32)]),
      "step 1/4 sampling █████████░░░░░░░░░░░░░░░ 12/32 problems · 12 s elapsed"
    )
  })

  it("trains when all problems are answered, and estimates what is left from the latest steps", () => {
    assert.strictEqual(
      live([started(0, 4), iteration(0), group(32, 32)]),
      "step 2/4 training · 12 s elapsed, 9.0 s left"
    )
  })

  it("evaluates before the first step, when due and after the last", () => {
    const phases = (events: ReadonlyArray<Train.Event>) => fold(events, 2).phase
    assert.strictEqual(phases([started(0, 3)]), "evaluating")
    assert.strictEqual(phases([started(0, 3), evaluated]), "evaluating")
    assert.strictEqual(phases([started(0, 3), evaluated, evaluated]), "sampling")
    assert.strictEqual(phases([started(0, 3), iteration(0)]), "sampling")
    assert.strictEqual(phases([started(0, 3), iteration(1)]), "evaluating")
    assert.strictEqual(phases([started(0, 3), iteration(2)]), "evaluating")
    assert.strictEqual(phases([started(0, 3), iteration(2), evaluated, evaluated]), "saving")
    assert.include(live([started(0, 3), evaluated], 2), "evaluating on held-out problems (2 of 2)")
  })

  it("goes on where a run is resumed, and is empty at the end", () => {
    assert.include(live([started(3, 4)]), "step 4/4 sampling")
    const finished: Train.Event = { _tag: "Finished", iteration: 4, checkpoint: { path: "" }, reason: "completed" }
    assert.strictEqual(live([started(4, 4), finished]), "")
  })
})

describe("the line of a step", () => {
  const step = (event: Train.Iteration) => ProgressText.step(event, fold([started(0, 12), event]), Style.plain, 13_000)

  it("tells reward, signal, truncation, speed and time", () => {
    assert.strictEqual(
      step(iteration(0)),
      "step  1/12  reward 0.536 ± 0.031  informative 75 %  truncated 0 %  2500 tokens/s  12 s elapsed, 33 s left"
    )
  })

  it("says when there was nothing to learn from", () => {
    assert.include(step({ ...iteration(0), informative: 0, optimizerSteps: 0 }), "no signal, nothing trained")
  })

  it("shows what is not a number as a dash", () => {
    const undefinedReward = { ...iteration(0), meanReward: NaN, rewardStandardError: undefined }
    assert.include(step(undefinedReward), "reward –  informative")
  })
})

describe("the advice on truncation", () => {
  const advice = (truncated: number) =>
    ProgressText.truncationAdvice(iteration(0, { "env/all/truncated": truncated }), 40)

  it("is given from half of the responses on", () => {
    assert.isUndefined(advice(0.49))
    assert.include(advice(0.5), "50 % of the responses were cut at 40 tokens")
    assert.include(advice(1), "raise --max-tokens")
  })
})

describe("the line of an evaluation", () => {
  it("tells the share and its interval", () => {
    assert.strictEqual(
      ProgressText.evaluated(evaluated, Style.plain),
      "held_out after 0 steps: 50.0 % of 8 correct, 95 % interval 40.0 to 60.0 %"
    )
  })

  it("tells the reward where nothing is right or wrong", () => {
    const metrics = { "held_out/reward": -0.25, "held_out/episodes": 8 }
    assert.strictEqual(
      ProgressText.evaluated({ ...evaluated, evaluation: { ...evaluation, metrics } }, Style.plain),
      "held_out after 0 steps: reward -0.250 over 8 episodes"
    )
  })
})
