/** Compares training data with a sampler's own log. */
import { Advantage } from "@effect-rl/core"
import type { ModelInput } from "@effect-rl/core/backend"
import type { Trajectory } from "@effect-rl/core/environments"
import { type GroupResult, Signal, TrainingData } from "@effect-rl/core/program"
import { Option } from "effect"
import type { Logged } from "./Talk.ts"

const empty: Trajectory.Trajectory = { transitions: [], stepReward: 0, stopReason: Option.none(), truncations: 0 }

/** The data of an episode with reward 1, in a group with an episode of reward 0. */
export const trained = (
  transitions: ReadonlyArray<Trajectory.Transition>
): ReadonlyArray<TrainingData.TrainingDatum> => {
  const group: GroupResult.Completed = {
    _tag: "Completed",
    iteration: 0,
    key: "agent",
    tags: [],
    samplerStep: 0,
    members: [Option.some({ ...empty, transitions }), Option.some(empty)],
    rewardsG: Float64Array.of(1, 0),
    metricsG: [{}, {}],
    retried: []
  }
  return Signal.informative([group]).flatMap((group) => TrainingData.assemble(group, Advantage.centered).data)
}

export const tokensOf = ({ chunks }: ModelInput.ModelInput): ReadonlyArray<number> =>
  chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : [...chunk.tokens])

/** Finds a trained token in the log by its log-probability, which is unique. */
const placeOf = (logprob: number) => {
  const entry = Math.ceil(-logprob) === -logprob ? -logprob - 1 : Math.floor(-logprob) - 1
  return { entry, t: Math.round((-logprob - (entry + 1)) * tokensPerUnit) }
}

/**
 * How many tokens have log-probabilities between two integers. The log-probability of token `t` of entry `entry` is exact in 32 bits and
 * unique.
 */
export const tokensPerUnit = 256
export const logprobOf = (entry: number, t: number) => -(entry + 1) - t / tokensPerUnit

const startsWith = (tokens: ReadonlyArray<number>, prefix: ReadonlyArray<number>) =>
  prefix.every((token, at) => tokens[at] === token)

/**
 * Differences between training data and the sampler's log. Empty if every trained token was sampled at its position with its
 * log-probability, and none is trained twice. Every token of the given `entries` must be trained.
 */
export const problems = (
  data: ReadonlyArray<TrainingData.TrainingDatum>,
  log: ReadonlyArray<Logged>,
  entries: ReadonlyArray<number>
): ReadonlyArray<string> => {
  const found: Array<string> = []
  const counts = log.map(({ sampled }) => new Int32Array(sampled.tokens.length))
  for (const [index, { inputs: { logprobs, mask, targetTokens }, modelInput }] of data.entries()) {
    const tokens = [...tokensOf(modelInput), ...targetTokens.slice(-1)]
    mask.forEach((isTrained, at) => {
      if (isTrained === 0) return
      const { entry, t } = placeOf(logprobs[at] ?? NaN)
      const logged = log[entry]
      const where = `datum ${index}, position ${at}, entry ${entry}, token ${t}`
      if (logged === undefined || logged.sampled.tokens[t] !== targetTokens[at]) {
        found.push(`${where}: this token was not sampled with this log-probability`)
        return
      }
      const own = counts[entry]
      if (own !== undefined) own[t] = (own[t] ?? 0) + 1
      const before = [...tokensOf(logged.request.prompt), ...logged.sampled.tokens.subarray(0, t)]
      if (t === 0 ? before.length !== at + 1 || !startsWith(tokens, before) : before.length !== at + 1) {
        found.push(`${where}: it was sampled after something else`)
      }
      if (t > 0 && logprobs[at - 1] !== logged.sampled.logprobs[t - 1]) {
        found.push(`${where}: it does not follow its own`)
      }
    })
  }
  counts.forEach((own, entry) =>
    own.forEach((count, t) => {
      if (count > 1) found.push(`entry ${entry}, token ${t} is trained ${count} times`)
      if (count === 0 && entries.includes(entry)) found.push(`entry ${entry}, token ${t} is not trained`)
    })
  )
  return found
}
