/** A short run that was recorded, with transcripts that try to be more than text. */
import { GroupPayload, type GroupResult, ModelInput, type RunRecord, RunStore, type Trajectory } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import { Effect, Option } from "effect"

/** Markup, terminal colours, text that runs backwards, half a character, and the name of a special token. */
export const hostile =
  "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>\u001b[31m\u202Eesrever\uD800<|im_end|>"

const spent = { prefilled: 10, sampled: 20, trained: 30 }

const member = (response: string, reward: number): Trajectory.Trajectory => ({
  transitions: [{
    observation: ModelInput.fromTokens([1, 2, 3]),
    action: {
      tokens: Int32Array.of(7, 8),
      logprobs: Float32Array.of(-0.25, -2.5),
      stopReason: "stop"
    },
    reward,
    trainable: true,
    metrics: { correct: { kind: "rate", hit: reward === 1 } },
    logs: { question: "What is 2 + 3?", response, reference: "5" }
  }],
  stepReward: reward,
  stopReason: Option.some("completed"),
  truncations: 0
})

const group = (key: string, rewards: ReadonlyArray<number>): GroupResult.Completed => ({
  _tag: "Completed",
  key,
  tags: ["sums"],
  samplerStep: 0,
  members: rewards.map((reward) => Option.some(member(reward === 1 ? "5" : hostile, reward))),
  rewardsG: Float64Array.from(rewards),
  metricsG: rewards.map(() => ({})),
  retried: []
})

const rolledOut = (
  { key, rewardsG, tags }: GroupResult.Completed,
  iteration: number,
  evaluator?: string
): RunRecord.Entry => ({
  _tag: "GroupRolledOut",
  ...(evaluator === undefined ? {} : { evaluator }),
  iteration,
  step: iteration,
  key,
  tags,
  outcome: "Completed",
  rewards: Array.from(rewardsG),
  members: Array.from(
    rewardsG,
    () => ({ turns: 1, sampled: 2, observed: 3, stopReason: "completed", truncated: false })
  ),
  failures: [],
  retries: 1,
  milliseconds: 5,
  spent
})

export const opened = (continuesAfter: number): RunRecord.Entry => ({
  _tag: "Opened",
  program: "rl",
  version: "0.0.0",
  identity: { model: "effect-rl/tiny-64" },
  settings: {},
  capabilities: {},
  iteration: 0,
  iterations: 2,
  resumedFrom: continuesAfter < 0 ? null : "first",
  continuesAfter,
  warnings: []
})

export const updated = (iteration: number, mean: number): RunRecord.Entry => ({
  _tag: "Updated",
  iteration,
  metrics: { "optim/entropy": 0.5, "optim/lr": NaN },
  reward: { mean, standardError: 0.1 },
  updates: [],
  spent
})

const append = Effect.fnUntraced(function*(entry: RunRecord.Entry, payload?: GroupResult.GroupResult) {
  const run = yield* RunStore.RunStore
  yield* run.append(entry, payload === undefined ? undefined : GroupPayload.encode(payload))
})

const iteration = Effect.fnUntraced(function*(index: number, mean: number) {
  yield* append({ _tag: "Sampling", iteration: index, step: index, groups: 2 })
  const groups = [group(`${index}/mixed`, [1, 0]), group(`${index}/good`, [1, 1])]
  for (const result of groups) yield* append(rolledOut(result, index), result)
  yield* append({
    _tag: "Credited",
    iteration: index,
    groups: [
      { key: `${index}/mixed`, verdict: "informative", advantages: [0.5, -0.5] },
      { key: `${index}/good`, verdict: "constant", advantages: [] }
    ],
    datums: [{ group: `${index}/mixed`, member: 0, firstTurn: 0, turns: 1, length: 4, trained: 2, update: 0 }]
  })
  yield* append(updated(index, mean))
})

/** Writes the run into the directory: an evaluation, two iterations, a warning, the end. */
export const write = (run: string) =>
  Effect.gen(function*() {
    yield* append(opened(-1))
    const evaluated = group("held/0", [1])
    yield* append({ _tag: "Evaluating", iteration: 0, step: 0, evaluator: "held_out" })
    yield* append(rolledOut(evaluated, 0, "held_out"), evaluated)
    yield* append({
      _tag: "Evaluated",
      iteration: 0,
      step: 0,
      evaluator: "held_out",
      metrics: {},
      score: { value: 0.6, low: 0.5, high: 0.7 },
      reward: { mean: 0.6 },
      seconds: 1,
      spent
    })
    yield* iteration(0, 0.75)
    yield* append({ _tag: "Warning", message: "the disk is nearly full" })
    yield* iteration(1, 0.875)
    yield* append({ _tag: "Finished", iteration: 2, reason: "completed", checkpoint: null })
  }).pipe(Effect.provide(RunDirectory.layer(run)))

/** Sequence number of the record of the first training group. */
export const firstGroup = 5
