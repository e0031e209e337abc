/** Recorded runs for tests of the viewer, and single records. The transcripts of `write` contain markup and control characters. */
import { type RunRecord, RunStore, Score } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Branch, type Trajectory } from "@effect-rl/core/environments"
import type { GroupResult } from "@effect-rl/core/program"
import { GroupPayload } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import { Effect, Option } from "effect"

/** An entry of one kind. */
type EntryOf<Tag extends RunRecord.Entry["_tag"]> = Extract<RunRecord.Entry, { readonly _tag: Tag }>

/** Markup, terminal colours, right-to-left overrides, half a surrogate pair, and the name of a special token. */
export const hostile =
  "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>\u001b[31m\u202Eesrever\uD800<|im_end|>"

const spent = { prefilled: 10, sampled: 20, trained: 30 }

interface Said {
  readonly response: string
  readonly reward: number
  readonly tokens?: ReadonlyArray<number>
  readonly times?: Trajectory.TurnTimes
  readonly samplerStep?: number
}

const turn = ({ response, reward, samplerStep, times, tokens = [7, 8] }: Said): Trajectory.Transition => ({
  observation: ModelInput.fromTokens([1, 2, 3]),
  action: {
    tokens: Int32Array.from(tokens),
    logprobs: Float32Array.from(tokens, (_, at) => -0.25 - 2.25 * (at % 4)),
    stopReason: "stop",
    ...(samplerStep === undefined ? {} : { samplerStep })
  },
  reward,
  score: Score.correct(reward === 1, { answer: response }),
  trainable: true,
  metrics: { correct: { kind: "rate", hit: reward === 1 } },
  logs: {},
  ...(times === undefined ? {} : { times })
})

const member = (...turns: ReadonlyArray<Said>): Trajectory.Trajectory => ({
  transitions: turns.map((said, index) => index === 0 ? turn(said) : { ...turn(said), branch: Branch.anew("edit") }),
  stepReward: turns.at(-1)?.reward ?? 0,
  stopReason: Option.some(turns.length > 1 ? "max_turns" : "completed"),
  truncations: 0,
  task: { question: "What is 2 + 3?", reference: "5" }
})

const group = (
  key: string,
  tags: ReadonlyArray<string>,
  members: ReadonlyArray<Trajectory.Trajectory>
): GroupResult.Completed => ({
  _tag: "Completed",
  iteration: 0,
  key,
  tags,
  samplerStep: 0,
  members: members.map(Option.some),
  rewardsG: Float64Array.from(members, ({ stepReward }) => stepReward),
  metricsG: members.map(({ stepReward }) => ({ judge_score: { kind: "mean", value: stepReward * 10 } })),
  retried: []
})

const answer = (reward: number) => member({ response: reward === 1 ? "5" : hostile, reward })

const timedOut = { member: 2, attempt: 0, failure: "TimedOut", message: "no answer after 5 s" } as const

/** A group with a member of two turns, the second of which branches, and a dropped member. */
const partial = (key: string): GroupResult.Partial => {
  const long = member(
    {
      response: "let me think",
      reward: 0,
      tokens: [7, 8, 9, 7],
      times: { began: 1000, sampling: 400, environment: 1200 }
    },
    {
      response: "it is 4",
      reward: 0.25,
      tokens: [8, 9, 7, 8],
      times: { began: 2600, sampling: 200, environment: 0 },
      samplerStep: 1
    }
  )
  const { _tag, ...played } = group(key, ["carry"], [answer(1), long])
  return {
    _tag: "Partial",
    ...played,
    members: [...played.members, Option.none()],
    rewardsG: Float64Array.of(1, 0.25, NaN),
    metricsG: [...played.metricsG, {}],
    dropped: [timedOut],
    grading: { began: 2800, milliseconds: 600 }
  }
}

const summary = (trajectory: Trajectory.Trajectory): RunRecord.MemberSummary => ({
  turns: trajectory.transitions.length,
  sampled: trajectory.transitions.reduce((sum, { action }) => sum + action.tokens.length, 0),
  observed: 3,
  stopReason: Option.getOrNull(trajectory.stopReason),
  truncated: false
})

export const rolledOut = (
  result: GroupResult.Completed | GroupResult.Partial,
  iteration: number,
  evaluator?: string
): EntryOf<"GroupRolledOut"> => ({
  _tag: "GroupRolledOut",
  ...(evaluator === undefined ? {} : { evaluator }),
  iteration,
  step: iteration,
  key: result.key,
  tags: result.tags,
  outcome: result._tag,
  rewards: Array.from(result.rewardsG),
  members: result.members.map((trajectory) => Option.getOrNull(Option.map(trajectory, summary))),
  failures: result._tag === "Partial" ? result.dropped : [],
  retries: 1,
  milliseconds: 5,
  times: { sampling: 4, environment: 2, grading: 1 },
  spent
})

/** Writes a run of one group whose members sampled these tokens, for a model with the given renderer. Every other member is right. */
export const writeSaid = (run: string, renderer: string, ...said: ReadonlyArray<ReadonlyArray<number>>) =>
  Effect.gen(function*() {
    yield* append(opened(-1, { renderer }))
    const result = group(
      "0/said",
      [],
      said.map((tokens, index) => member({ response: "as logged", reward: 1 - index % 2, tokens }))
    )
    yield* append(rolledOut(result, 0), result)
  }).pipe(Effect.provide(RunDirectory.layer(run)))

/**
 * Writes a run of one group whose only member logged a verdict and, for its two turns, these texts. All other text exists only as tokens.
 */
export const writeUnlogged = (run: string, logs: Trajectory.Transition["logs"] = { reference: "5" }) =>
  Effect.gen(function*() {
    yield* append(opened(-1))
    const said = [{ response: "", reward: 0, tokens: [8, 9] }, { response: "", reward: 1, tokens: [7] }]
    const [first, second] = [[9, 8, 8], [9, 8, 8, 8, 9, 1, 2]]
    const silent: Trajectory.Trajectory = {
      ...member(...said),
      logs: { verdict: "a good answer" },
      transitions: said.map((one, index) => ({
        ...turn(one),
        observation: ModelInput.fromTokens(index === 0 ? first : second),
        logs
      }))
    }
    const result = group("0/silent", [], [silent])
    yield* append(rolledOut(result, 0), result)
  }).pipe(Effect.provide(RunDirectory.layer(run)))

/** A group of two members, one of which is right. */
export const simple = (iteration: number, key: string, evaluator?: string): EntryOf<"GroupRolledOut"> =>
  rolledOut(group(key, ["sums"], [answer(1), answer(0)]), iteration, evaluator)

const launch = {
  recipe: "arithmetic",
  command: `effect-rl train arithmetic --digits 3 --note '${hostile}'`,
  directory: "/home/ada",
  machine: { system: "Linux 6.1 x64", processor: "A fast one", cores: 8, memory: 2 ** 34 },
  versions: { "effect-rl": "0.0.0", node: "24.0.0" },
  settings: [
    { name: "digits", value: 3, default: 2, unit: "digits" },
    { name: "groupSize", value: 8, default: 8 },
    { name: "note", value: hostile }
  ]
}

export const opened = (
  continuesAfter: number,
  identity: Readonly<Record<string, string | number>> = {},
  iteration = 0
): EntryOf<"Opened"> => ({
  _tag: "Opened",
  program: "rl",
  version: "0.0.0",
  identity: {
    model: "test/words",
    loss: "ppo",
    loss_config: { clip_low_threshold: 0.8, clip_high_threshold: 1.2 },
    ...identity
  },
  settings: { max_tokens_total: 100 },
  capabilities: {},
  launch,
  iteration,
  iterations: 3,
  resumedFrom: continuesAfter < 0 ? null : "first",
  continuesAfter,
  warnings: []
})

export const updated = (
  iteration: number,
  mean: number,
  metrics: Readonly<Record<string, number>> = {},
  dollars: { readonly spent?: number; readonly expected?: number } = {}
): EntryOf<"Updated"> => ({
  _tag: "Updated",
  iteration,
  metrics: { "optim/entropy": 0.005, "optim/lr": NaN, "env/all/truncated": 0, ...metrics },
  reward: { mean, standardError: 0.1 },
  updates: [],
  spent: { ...spent, ...(dollars.spent === undefined ? {} : { dollars: dollars.spent }) },
  ...(dollars.expected === undefined ? {} : { forecast: { ...spent, dollars: dollars.expected } })
})

/**
 * Writes a run whose held-out problems were evaluated several times; `problems` has the reward of each problem's only attempt at each
 * evaluation. An attempt with reward 0 has a failed tool call.
 */
export const writeProblems = (run: string, problems: Readonly<Record<string, ReadonlyArray<number>>>) =>
  Effect.gen(function*() {
    yield* append(opened(-1))
    const times = Math.max(...Object.values(problems).map(({ length }) => length))
    for (let time = 0; time < times; time++) {
      yield* append({ _tag: "Evaluating", iteration: time, step: time, evaluator: "held_out" })
      for (const [question, rewards] of Object.entries(problems)) {
        const reward = rewards[time] ?? 0
        const { transitions: [said], ...answered } = answer(reward)
        if (said === undefined) continue
        const metrics: Trajectory.Transition["metrics"] = { tool_errors: { kind: "sum", value: reward === 0 ? 1 : 0 } }
        const one = { ...answered, task: { question, reference: "" }, transitions: [{ ...said, metrics }] }
        const result = group(`held/${question}`, [], [one])
        yield* append(rolledOut(result, time, "held_out"), result)
      }
    }
  }).pipe(Effect.provide(RunDirectory.layer(run)))

/**
 * Writes a run that rewards every answer although none matches the reference. Its reward grows, so its records look good without
 * transcripts.
 */
export const writePaid = (run: string) =>
  Effect.gen(function*() {
    yield* append(opened(-1))
    for (const index of [0, 1, 2, 3]) {
      const paid = group(
        `${index}/paid`,
        [],
        Array.from({ length: 8 }, () => member({ response: "not sure", reward: 1 }))
      )
      yield* append(rolledOut(paid, index), paid)
      yield* append(updated(index, 0.2 + 0.2 * index))
    }
    yield* append({ _tag: "Finished", iteration: 4, reason: "completed", checkpoint: null })
  }).pipe(Effect.provide(RunDirectory.layer(run)))

/** An evaluation with this share of right answers, before the iteration. */
export const evaluated = (
  iteration: number,
  value: number
): EntryOf<"Evaluated"> => ({
  _tag: "Evaluated",
  iteration,
  step: iteration,
  evaluator: "held_out",
  metrics: {},
  score: { value, low: value - 0.1, high: value + 0.1 },
  reward: { mean: value },
  seconds: 1,
  spent
})

/** A checkpoint saved after this number of iterations. */
export const saved = (iteration: number, name: string): EntryOf<"Saved"> => ({
  _tag: "Saved",
  iteration,
  name,
  kind: "periodic",
  statePath: `tinker://run/weights/${name}`,
  samplerPath: `tinker://run/sampler_weights/${name}`,
  optimizerSteps: iteration,
  usage: spent,
  cursor: null,
  expiresAt: null
})

const append = Effect.fnUntraced(function*(entry: RunRecord.Entry, payload?: GroupResult.GroupResult) {
  const run = yield* RunStore.RunStore
  yield* run.append(entry, payload === undefined ? undefined : GroupPayload.encode(payload))
})

const floats = (...values: ReadonlyArray<number>) => Buffer.from(Float32Array.from(values).buffer).toString("base64")

/** The trained tokens of a group. The trainer finds the second token of the second member more likely than the sampler did. */
const trainedTokens = JSON.stringify({
  datums: [{
    group: "1/mixed",
    member: 1,
    firstTurn: 0,
    turns: 1,
    logprobs: floats(-0.25, -2),
    advantages: floats(-0.5, -0.25)
  }]
})

const iteration = Effect.fnUntraced(function*(index: number, mean: number) {
  yield* append({ _tag: "Sampling", iteration: index, step: index, groups: 3 })
  const groups = [
    group(`${index}/mixed`, ["sums"], [answer(1), answer(0)]),
    group(`${index}/good`, ["sums"], [answer(1), answer(1)]),
    partial(`${index}/rough`)
  ]
  for (const result of groups) yield* append(rolledOut(result, index), result)
  yield* append({
    _tag: "Credited",
    iteration: index,
    groups: [
      { key: `${index}/mixed`, verdict: "informative", advantages: [0.5, -0.5] },
      index === 0
        ? { key: `${index}/good`, verdict: "constant", reason: "all rewards are equal", advantages: [] }
        : {
          key: `${index}/good`,
          verdict: "quarantined",
          reason: "tampering: a text asks for a score",
          advantages: []
        },
      { key: `${index}/rough`, verdict: "informative", advantages: [0.375, -0.375, 0] }
    ],
    datums: [{ group: `${index}/mixed`, member: 0, firstTurn: 0, turns: 1, length: 4, trained: 2, update: 0 }]
  })
  const run = yield* RunStore.RunStore
  yield* run.append(updated(index, mean), index === 0 ? undefined : trainedTokens)
})

const evaluation = Effect.fnUntraced(function*(before: number, rewards: ReadonlyArray<number>) {
  yield* append({ _tag: "Evaluating", iteration: before, step: before, evaluator: "held_out" })
  for (const [index, reward] of rewards.entries()) {
    const result = group(`held/${index}`, [], [answer(reward)])
    yield* append(rolledOut(result, before, "held_out"), result)
  }
  const value = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length
  yield* append(evaluated(before, value))
})

const rewards = [1, 0, 1, 1, 0]

/** Writes the run into the directory: an evaluation, two iterations, a warning, and how it ended. */
export const write = (
  run: string,
  options: {
    readonly ends?: boolean
    readonly identity?: Readonly<Record<string, string | number>>
    readonly evaluated?: ReadonlyArray<number>
  } = {}
) =>
  Effect.gen(function*() {
    yield* append(opened(-1, options.identity))
    yield* evaluation(0, options.evaluated ?? rewards)
    yield* iteration(0, 0.75)
    yield* append({ _tag: "Warning", message: "the disk is nearly full" })
    yield* iteration(1, 0.875)
    if (options.ends !== false) {
      yield* append({ _tag: "Finished", iteration: 2, reason: "completed", checkpoint: null })
    }
  }).pipe(Effect.provide(RunDirectory.layer(run)))

/** Sequence numbers of the first iteration's group records. */
export const first = { mixed: 9, good: 10, rough: 11 }

/** Sequence number of a group record in the second iteration, whose update recorded its tokens. */
export const second = { mixed: 16 }
