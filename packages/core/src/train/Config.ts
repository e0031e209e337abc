/** What a reinforcement learning run is made of. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { ChatModel } from "../chat/ChatModel.ts"
import type { RLDataset } from "../data/RLDataset.ts"
import * as Limits from "../env/Limits.ts"
import * as TerminationReward from "../env/TerminationReward.ts"
import type * as Evaluator from "../evaluate/Evaluator.ts"
import * as Advantage from "../learn/Advantage.ts"
import * as Loss from "../model/Loss.ts"
import * as Check from "../record/Check.ts"
import { type Json, type JsonObject, RunStore } from "../record/RunStore.ts"
import type * as FailurePolicy from "../rollout/FailurePolicy.ts"
import type { Hooks } from "../rollout/Hooks.ts"
import * as Rollout from "../rollout/Rollout.ts"
import { InvalidConfig, ResumeMismatch, TrainError } from "./TrainError.ts"

interface Common<EE, ER> extends Pick<Rollout.GroupOptions, "termination" | "graderTimeout" | "releaseTimeout"> {
  readonly model: ChatModel
  /** Constant over the run. */
  readonly learningRate: number
  /** Tokens per policy call. */
  readonly maxTokens: number
  /** Default `Loss.importanceSampling`. */
  readonly loss?: Loss.Loss<"PolicyTokens">
  /** Default `Advantage.centered`. */
  readonly advantage?: Advantage.Estimator
  /** Default 32. */
  readonly loraRank?: number
  /** Decides the adapter's start, the data's order and every sample; default 0. */
  readonly seed?: number
  /** Iterations; all of the dataset unless given. */
  readonly maxSteps?: number
  /** Optimizer steps per iteration, each on its share of the groups; default 1. */
  readonly numSubsteps?: number
  /** Default 1. Any other value biases the log-probabilities, and needs `allowBiasedSampling`. */
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  /** Train although temperature, topP or topK make the sampler's log-probabilities differ from what was sampled. */
  readonly allowBiasedSampling?: boolean
  /** Groups rolled out at the same time; default 64. */
  readonly concurrency?: number
  /** See `Policy.SamplingOptions`. */
  readonly coalesceFirstTurns?: boolean
  /** Longest time for one member of a group. */
  readonly memberTimeout?: Duration.Input
  /** How far an episode may go; of these and its environment's own the tighter hold. */
  readonly limits?: Limits.Limits
  /** An iteration that loses more than this share of its members stops the run; default 0.2. */
  readonly maxDroppedShare?: number
  /** How long an interruption waits for an update, or for saving, that is under way; default 5 minutes. */
  readonly interruptTimeout?: Duration.Input
  /** Iterations between checkpoints; 0 saves at the end alone. Default 20. */
  readonly saveEvery?: number
  /** Iterations between evaluations; the first is before training, the last after. 0 for never. Default 20. */
  readonly evalEvery?: number
  readonly evaluators?: ReadonlyArray<Evaluator.Evaluator<EE, ER>>
  /**
   * Hard stop: no request is sent that could exceed this many tokens, prefilled, sampled and trained together. The iteration it
   * belongs to is given up, and the run ends with a checkpoint of those before.
   */
  readonly maxTokensTotal?: number
  /** Start from these weights, with a fresh optimizer. */
  readonly loadCheckpointPath?: string
  /** Train on the first group when all are constant, as upstream does. */
  readonly constantFallbackSingleton?: boolean
}

/**
 * Errors and requirements come from the dataset's environments (E, R), the evaluators (EE, ER) and the hooks (HE, HR).
 *
 * @see tinker-cookbook `rl.train.Config`
 */
export interface Config<E = never, R = never, EE = never, ER = never, HE = never, HR = never> extends Common<EE, ER> {
  readonly dataset: RLDataset<E, R>
  /** Default fails fast. */
  readonly onFailure?: FailurePolicy.FailurePolicy<NoInfer<E | HE>, TinkerError>
  readonly hooks?: Hooks<HE, HR>
}

/** The same with hooks and environments as one. */
export interface Settings<E, R, EE, ER> extends Common<EE, ER> {
  readonly dataset: RLDataset<E, R>
  readonly onFailure?: FailurePolicy.FailurePolicy<E, TinkerError>
  readonly hooks?: Hooks<E, R>
}

/** A configuration with every default filled in. */
export interface Resolved {
  readonly loss: Loss.Loss<"PolicyTokens">
  readonly loraRank: number
  readonly seed: number
  readonly numSubsteps: number
  readonly temperature: number
  readonly saveEvery: number
  readonly evalEvery: number
  readonly iterations: number
  readonly maxTokensTotal: number
  readonly maxDroppedShare: number
  readonly interruptTimeout: Duration.Input
}

type Shape = Omit<Config<unknown, unknown, unknown, unknown, unknown, unknown>, "onFailure">

export const resolve = (config: Shape): Resolved => ({
  loss: config.loss ?? Loss.importanceSampling,
  loraRank: config.loraRank ?? 32,
  seed: config.seed ?? 0,
  numSubsteps: config.numSubsteps ?? 1,
  temperature: config.temperature ?? 1,
  saveEvery: config.saveEvery ?? 20,
  evalEvery: config.evalEvery ?? 20,
  iterations: Math.min(config.maxSteps ?? Infinity, config.dataset.length),
  maxTokensTotal: config.maxTokensTotal ?? Infinity,
  maxDroppedShare: config.maxDroppedShare ?? 0.2,
  interruptTimeout: config.interruptTimeout ?? "5 minutes"
})

const isCount = (least: number) => (value: number) => Number.isInteger(value) && value >= least

const fields = (config: Shape, resolved: Resolved) => {
  const { contextLength, loraRank: [minRank, maxRank] } = config.model.capabilities
  const positive = (value: number) => Number.isFinite(value) && value > 0
  return [
    ["learningRate", config.learningRate, (value) => Number.isFinite(value) && value >= 0, "a number from 0 on"],
    ["maxTokens", config.maxTokens, isCount(1), "a whole number from 1 on"],
    [
      "maxTokens",
      config.maxTokens,
      (value) => value < contextLength,
      `less than the context of ${contextLength} tokens`
    ],
    ["loraRank", resolved.loraRank, isCount(1), "a whole number from 1 on"],
    ["loraRank", resolved.loraRank, (rank) => rank >= minRank && rank <= maxRank, `from ${minRank} to ${maxRank}`],
    ["seed", resolved.seed, Number.isSafeInteger, "a whole number"],
    ["maxSteps", resolved.iterations, isCount(0), "a whole number from 0 on"],
    ["numSubsteps", resolved.numSubsteps, isCount(1), "a whole number from 1 on"],
    ["temperature", resolved.temperature, positive, "a number above 0"],
    ["topP", config.topP ?? 1, (value) => value > 0 && value <= 1, "a number above 0 up to 1"],
    ["topK", config.topK ?? 0, isCount(0), "a whole number from 0 on"],
    ["concurrency", config.concurrency ?? Rollout.defaultConcurrency, isCount(1), "a whole number from 1 on"],
    ["saveEvery", resolved.saveEvery, isCount(0), "a whole number from 0 on"],
    ["evalEvery", resolved.evalEvery, isCount(0), "a whole number from 0 on"],
    ["maxTokensTotal", resolved.maxTokensTotal, (value) => value > 0, "a number above 0"],
    ["maxDroppedShare", resolved.maxDroppedShare, (share) => share >= 0 && share <= 1, "a number from 0 to 1"]
  ] satisfies ReadonlyArray<readonly [string, number, (value: number) => boolean, string]>
}

/** The first invalid limit or timeout. */
const wrongTime = (config: Shape) =>
  Check.broken([
    ...Limits.checks(config.limits ?? Limits.unlimited, "limits."),
    ...(["memberTimeout", "graderTimeout", "releaseTimeout", "interruptTimeout"] as const).map((field) =>
      Check.option(field, config[field], Check.time)
    )
  ])

/** Settings under which the sampler's log-probabilities are not those of what it sampled from. */
const bias = ({ temperature, topK, topP }: Shape): readonly [field: string, value: number] | undefined => {
  if (temperature !== undefined && temperature !== 1) return ["temperature", temperature]
  if (topP !== undefined && topP < 1) return ["topP", topP]
  return topK !== undefined && topK > 0 ? ["topK", topK] : undefined
}

const invalid = (field: string, value: number | string, expected: string) =>
  new TrainError({ reason: new InvalidConfig({ field, value: String(value), expected }) })

/** Fails with the first field that no run can be made of. */
export const validate = (config: Shape, resolved: Resolved): Effect.Effect<void, TrainError> => {
  for (const [field, value, isValid, expected] of fields(config, resolved)) {
    if (!isValid(value)) return Effect.fail(invalid(field, value, expected))
  }
  const wrong = wrongTime(config)
  if (wrong !== undefined) return Effect.fail(invalid(wrong.field, wrong.found, wrong.expected))
  const biased = bias(config)
  return biased === undefined || config.allowBiasedSampling === true
    ? Effect.void
    : Effect.fail(
      invalid(...biased, "its default, or allowBiasedSampling: the log-probabilities trained on would be biased")
    )
}

/** Limits that decide what is sampled; the times that only decide what fails may change. */
const limitsRecord = ({ rolloutTimeout, ...limits }: Limits.Limits): JsonObject => ({
  max_turns: limits.maxTurns ?? null,
  max_trajectory_tokens: limits.maxTrajectoryTokens ?? null,
  max_sampled_tokens: limits.maxSampledTokens ?? null,
  max_turn_tokens: limits.maxTurnTokens ?? null,
  max_tool_calls: limits.maxToolCalls ?? null,
  rollout_timeout: rolloutTimeout === undefined ? null : Duration.toSeconds(Duration.fromInputUnsafe(rolloutTimeout))
})

const terminationRecord = (termination: TerminationReward.TerminationReward): JsonObject => ({
  zero_reward_on_limit: termination.zeroRewardOnLimit ?? false,
  limit_stop_reasons: termination.limitStopReasons ?? TerminationReward.limitStopReasons,
  skip_grading_on_timeout: termination.skipGradingOnTimeout ?? false
})

/** What must be the same for a run to be resumed. */
const identity = (config: Shape, resolved: Resolved): JsonObject => ({
  model: config.model.name,
  renderer: config.model.renderer.name,
  dataset: config.dataset.fingerprint,
  learning_rate: config.learningRate,
  lora_rank: resolved.loraRank,
  max_tokens: config.maxTokens,
  loss: resolved.loss.name,
  loss_config: resolved.loss.config,
  loss_reduction: config.model.capabilities.lossReduction,
  num_substeps: resolved.numSubsteps,
  temperature: resolved.temperature,
  top_p: config.topP ?? 1,
  top_k: config.topK ?? 0,
  advantage: (config.advantage ?? Advantage.centered).name,
  constant_fallback_singleton: config.constantFallbackSingleton ?? false,
  limits: limitsRecord(config.limits ?? Limits.unlimited),
  termination: terminationRecord(config.termination ?? {}),
  load_checkpoint_path: config.loadCheckpointPath ?? null,
  seed: resolved.seed
})

const show = (value: Json | undefined) => JSON.stringify(value) ?? "absent"

/** Stores the configuration of a new run; compares it with that of an old one. */
export const record = Effect.fnUntraced(function*(config: Shape, resolved: Resolved) {
  const store = yield* RunStore
  const given = identity(config, resolved)
  const stored = yield* store.config
  if (Option.isSome(stored)) {
    const field = Object.keys(given).find((name) => show(given[name]) !== show(stored.value[name]))
    if (field === undefined) return
    const mismatch = { run: store.name, field, stored: show(stored.value[field]), given: show(given[field]) }
    return yield* new TrainError({ reason: new ResumeMismatch(mismatch) })
  }
  return yield* store.writeConfig({
    ...given,
    iterations: resolved.iterations,
    save_every: resolved.saveEvery,
    eval_every: resolved.evalEvery,
    context_length: config.model.capabilities.contextLength
  })
})
