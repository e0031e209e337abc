/** Records a short run: one evaluation and two iterations of a task with a tool, including a group that lost a member. */
import { Message, type RunRecord, RunStore, Score } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import type { Trajectory } from "@effect-rl/core/environments"
import type { GroupResult, Prices } from "@effect-rl/core/program"
import { GroupPayload } from "@effect-rl/core/records"
import type { ToolSpec } from "@effect-rl/core/renderers"
import { Clock, Effect, Option } from "effect"
import { TestClock } from "effect/testing"

const spent = { prefilled: 10, sampled: 20, trained: 30 }

const turn = (
  prompt: ReadonlyArray<number>,
  tokens: ReadonlyArray<number>,
  reward: number,
  answer: string,
  logs: Record<string, string | number> = {}
): Trajectory.Transition => ({
  observation: ModelInput.fromTokens(prompt),
  action: { tokens: Int32Array.from(tokens), logprobs: Float32Array.from(tokens, () => -0.5), stopReason: "stop" },
  reward,
  score: Score.correct(reward === 1, { answer }),
  trainable: true,
  metrics: { correct: { kind: "rate", hit: reward === 1 } },
  logs
})

/** A member that calls a calculator, then answers. */
const member = (answer: string, reward: number): Trajectory.Trajectory => ({
  transitions: [
    turn([1, 2, 3], [7, 8], 0, "<tool>", {
      tool_call_0: "calculator({\"expression\":\"2+3\"})",
      tool_result_0: "5"
    }),
    turn([1, 2, 3, 7, 8, 4], [9], reward, answer)
  ],
  stepReward: reward,
  stopReason: Option.some("completed"),
  truncations: 0,
  task: { question: "What is 2 + 3?", reference: "5" }
})

const completed = (key: string, rewards: ReadonlyArray<number>): GroupResult.Completed => ({
  _tag: "Completed",
  iteration: 0,
  key,
  tags: ["sums"],
  samplerStep: 0,
  members: rewards.map((reward) => Option.some(member(reward === 1 ? "5" : "<b>6</b>", reward))),
  rewardsG: Float64Array.from(rewards),
  metricsG: rewards.map(() => ({})),
  retried: []
})

const died = { member: 1, attempt: 0, failure: "Died", message: "the tool broke" } as const

const partial = (key: string): GroupResult.Partial => ({
  ...completed(key, [1]),
  _tag: "Partial",
  members: [Option.some(member("5", 1)), Option.none()],
  rewardsG: Float64Array.of(1, NaN),
  metricsG: [{}, {}],
  dropped: [died]
})

const rolledOut = (
  result: GroupResult.Completed | GroupResult.Partial,
  iteration: number,
  evaluator?: string
): RunRecord.Entry => ({
  _tag: "GroupRolledOut",
  ...(evaluator === undefined ? {} : { evaluator }),
  iteration,
  step: iteration,
  key: result.key,
  tags: result.tags,
  outcome: result._tag,
  rewards: Array.from(result.rewardsG),
  members: result.members.map((member) =>
    Option.isNone(member) ? null : { turns: 2, sampled: 3, observed: 9, stopReason: "completed", truncated: false }
  ),
  failures: result._tag === "Partial" ? [died] : [],
  retries: 0,
  milliseconds: 500,
  times: { sampling: 600, environment: 100, grading: 100 },
  spent
})

export const opened = (
  iteration: number,
  continuesAfter: number,
  prices?: Readonly<Record<string, Prices.Price>>
): RunRecord.Entry => ({
  _tag: "Opened",
  program: "rl",
  version: "0.0.0",
  identity: { model: "a model", loss: "importance_sampling" },
  settings: { seed: 0, ...(prices !== undefined && { prices }) },
  capabilities: {},
  iteration,
  iterations: 2,
  resumedFrom: continuesAfter < 0 ? null : "first",
  continuesAfter,
  warnings: []
})

export const updated = (iteration: number, mean: number): RunRecord.Entry => ({
  _tag: "Updated",
  iteration,
  metrics: { "optim/entropy": 0.5, "optim/lr": NaN },
  reward: { mean, standardError: 0.125 },
  updates: [{ learningRate: 0.001, passes: [], metrics: {}, seconds: 1 }],
  spent
})

/**
 * Adds times to a group of half a second: 200 and 100 ms for the policy, 50 ms for the tool between them, and 100 ms for the rewards at the
 * end.
 */
const timed = (result: GroupResult.Completed | GroupResult.Partial, ended: number) => {
  const times = [
    { began: ended - 500, sampling: 200, environment: 50 },
    { began: ended - 250, sampling: 100, environment: 0 }
  ]
  const members = result.members.map(Option.map(({ transitions, ...member }) => ({
    ...member,
    transitions: transitions.map((turn, index) => {
      const own = times[index]
      return own === undefined ? turn : { ...turn, times: own }
    })
  })))
  return { ...result, members, grading: { began: ended - 100, milliseconds: 100 } }
}

/** Appends a record one second after the previous record. */
const append = Effect.fnUntraced(function*(
  entry: RunRecord.Entry,
  result?: GroupResult.Completed | GroupResult.Partial
) {
  const run = yield* RunStore.RunStore
  yield* TestClock.adjust("1 second")
  const now = yield* Clock.currentTimeMillis
  yield* run.append(entry, result === undefined ? undefined : GroupPayload.encode(timed(result, now)))
})

const iteration = Effect.fnUntraced(function*(index: number, mean: number) {
  yield* append({ _tag: "Sampling", iteration: index, step: index, groups: 2 })
  const [mixed, lost] = [completed(`${index}/mixed`, [1, 0]), partial(`${index}/lost`)]
  // The batch's later group finishes first.
  yield* append(rolledOut(lost, index), lost)
  yield* append(rolledOut(mixed, index), mixed)
  yield* append({
    _tag: "Credited",
    iteration: index,
    groups: [
      { key: mixed.key, verdict: "informative", advantages: [0.5, -0.5] },
      { key: lost.key, verdict: "constant", advantages: [] }
    ],
    datums: []
  })
  yield* append(updated(index, mean))
})

/** Number of rollouts that finished: one in the evaluation, and three in each iteration. */
export const rollouts = 7

/** Records the run in the store. */
export const record = Effect.gen(function*() {
  const held = completed("held/0", [1])
  yield* append(opened(0, -1))
  yield* append({ _tag: "Evaluating", iteration: 0, step: 0, evaluator: "held_out" })
  yield* append(rolledOut(held, 0, "held_out"), held)
  yield* append({
    _tag: "Evaluated",
    iteration: 0,
    step: 0,
    evaluator: "held_out",
    metrics: { "held_out/episodes": 1 },
    score: { value: 0.75, low: 0.5, high: 1 },
    seconds: 1,
    spent
  })
  yield* iteration(0, 0.25)
  yield* append({ _tag: "Warning", message: "the disk is nearly full" })
  yield* iteration(1, 0.5)
  yield* append({ _tag: "Finished", iteration: 2, reason: "completed", checkpoint: null })
})

/** Records iterations in which every answer earns a reward although none matches the reference. */
export const recordPaid = Effect.gen(function*() {
  yield* append(opened(0, -1))
  for (const index of [0, 1, 2]) {
    const said = Option.some({ ...member("not sure", 1), task: { question: "What is 70 + 7?", reference: "77" } })
    const paid = {
      ...completed(`${index}/paid`, Array.from({ length: 8 }, () => 1)),
      members: Array.from({ length: 8 }, () => said)
    }
    yield* append(rolledOut(paid, index), paid)
    yield* append(updated(index, 0.2 + 0.2 * index))
  }
})

/** Records a group whose second turn was sampled with newer weights than its first. */
export const recordNewest = Effect.gen(function*() {
  const { transitions, ...rest } = member("5", 1)
  const steps = [3, 5]
  const hopped = {
    ...rest,
    transitions: transitions.map((turn, index) => {
      const samplerStep = steps[index]
      return samplerStep === undefined ? turn : { ...turn, action: { ...turn.action, samplerStep } }
    })
  }
  const group = { ...completed("3/newest", [1, 1]), members: [Option.some(hopped), Option.some(member("5", 1))] }
  yield* append(opened(0, -1))
  yield* append(rolledOut(group, 3), group)
  yield* append(updated(3, 1))
})

/** The tool that the policy of `recordOffered` may call. */
export const calculator: ToolSpec.ToolSpec = {
  name: "calculator",
  description: "Evaluates an expression",
  parameters: { type: "object", properties: { expression: { type: "string" } }, required: ["expression"] }
}

/** Records a group whose prompts describe a tool, in a run that was given prices. */
export const recordOffered = Effect.gen(function*() {
  const { transitions: [first, ...others], ...rest } = member("5", 1)
  if (first === undefined) return
  const messages = [Message.user("What is 2 + 3?")]
  const described = { ...first, shown: { messages, offered: { tools: [calculator], messages: 0 } } }
  const group = {
    ...completed("0/offered", [1]),
    members: [Option.some({ ...rest, transitions: [described, ...others] })]
  }
  yield* append(opened(0, -1, { "a model": { prefill: 250_000, sample: 500_000 } }))
  yield* append(rolledOut(group, 0), group)
  yield* append(updated(0, 1))
})
