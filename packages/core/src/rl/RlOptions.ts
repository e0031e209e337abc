/** Options of a reinforcement learning run. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { RLDataset } from "../data/RLDataset.ts"
import * as Limits from "../env/Limits.ts"
import * as TerminationReward from "../env/message/TerminationReward.ts"
import * as Adam from "../learn/Adam.ts"
import * as Advantage from "../learn/Advantage.ts"
import * as Credit from "../learn/Credit.ts"
import * as LearningRate from "../learn/LearningRate.ts"
import type * as LossExpression from "../losses/LossExpression.ts"
import * as Loss from "../model/Loss.ts"
import type * as Policy from "../policy/Policy.ts"
import * as SamplingSettings from "../policy/SamplingSettings.ts"
import type { JsonObject } from "../records/Json.ts"
import type * as GroupOptions from "../rollout/GroupOptions.ts"
import type * as Rollout from "../rollout/Rollout.ts"
import * as RunOptions from "../run/RunOptions.ts"
import * as Check from "../settings/Check.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"
import * as Setting from "../settings/Setting.ts"
import * as DynamicSampling from "./DynamicSampling.ts"
import * as HealthWatch from "./HealthWatch.ts"
import * as KlPenalty from "./KlPenalty.ts"
import * as Objective from "./Objective.ts"
import * as Pace from "./Pace.ts"

/** How many members an iteration may lose. */
export const LossesSettings = Schema.Struct({
  maxDroppedShare: Setting.number({
    least: 0,
    most: 1,
    default: 0.2,
    help: "An iteration that loses more than this share of its members stops the run"
  })
})

/** How groups are rolled out. */
export interface RolloutOptions<in E, HE, HR>
  extends
    Omit<Rollout.StreamOptions<E, TinkerError, HE, HR>, "unordered" | "iteration" | "samplerStep">,
    Schema.Codec.Encoded<typeof LossesSettings>
{
  /** More groups until enough are informative; one batch unless given. */
  readonly dynamic?: DynamicSampling.DynamicSettings
}

/** The learning rate unless another is given. */
export const defaultLearningRate = 1e-4

/**
 * Most turns of an episode unless `rollout.limits.maxTurns` is given: more than tasks need, so that it stops only episodes that would
 * never end.
 */
export const defaultMaxTurns = 1000

/** How the weights are updated. */
export interface UpdateOptions<out CE, out CR> {
  /** A constant rate or a schedule; default 1e-4. */
  readonly learningRate?: number | LearningRate.LearningRate
  readonly adam?: Adam.AdamSettings
  /** A loss of the backend's, an expression, or an `Objective` for what needs more; default `Loss.importanceSampling`. */
  readonly loss?: Loss.Loss<"PolicyTokens"> | LossExpression.LossExpression | Objective.Objective
  /** Default `Credit.groupRelative(Advantage.centered)`. */
  readonly credit?: Credit.Credit<CE, CR>
  /** A KL penalty against a base model or a checkpoint, added to the credit; none unless given. */
  readonly kl?: KlPenalty.KlSettings
  /** Optimizer steps of an iteration, each on its share of the groups; default 1. */
  readonly substeps?: number
}

/**
 * Each part is the options of the layer it is for. Errors and requirements come from the dataset's environments (E, R), the
 * evaluators (EE, ER), the hooks (HE, HR) and the credit (CE, CR).
 *
 * @example
 * const run = Rl.run({
 *   model,
 *   dataset,
 *   sampling: { maxTokens: 256, temperature: 1 },
 *   update: { learningRate: 4e-5, substeps: 2 },
 *   run: { iterations: 100 }
 * })
 *
 * @see tinker-cookbook `rl.train.Config`
 */
export interface RlOptions<
  E = never,
  out R = never,
  out EE = never,
  out ER = never,
  HE = never,
  HR = never,
  out CE = never,
  out CR = never
> extends RunOptions.RunOptions<EE, ER> {
  readonly dataset: RLDataset<E, R>
  readonly sampling?: SamplingSettings.SamplingSettings
  readonly rollout?: RolloutOptions<NoInfer<E>, HE, HR>
  readonly update?: UpdateOptions<CE, CR>
  /** How sampling and training take turns; default `Pace.synchronous`. */
  readonly pace?: Pace.Pace
  /** Ends the run where its health is bad; off unless given. */
  readonly health?: HealthWatch.HealthSettings
}

/**
 * A run's options as its program reads them, with every default filled in. The errors and requirements of hooks are joined to those of
 * the environments.
 */
export interface Resolved<E, R, CE, CR> {
  readonly dataset: RLDataset<E, R>
  readonly rollout: Rollout.StreamOptions<E, TinkerError, E, R>
  readonly seed: number
  readonly sampling: Policy.SamplingOptions
  readonly learningRate: LearningRate.LearningRate
  readonly adam: typeof Adam.AdamSettings.Type
  readonly loss: Objective.Objective
  readonly credit: Credit.Credit<CE, CR>
  readonly kl: typeof KlPenalty.KlSettings.Type
  readonly substeps: number
  readonly maxDroppedShare: number
  readonly dynamic: DynamicSampling.Resolved
  /** Undefined for the synchronous pace. */
  readonly pace: Pace.Resolved | undefined
  /** Metrics that end the run where they leave their healthy range. */
  readonly stopOn: ReadonlyArray<string>
  /** The options that must be equal for a run to be resumed. */
  readonly identity: JsonObject
}

type Shape =
  & Pick<
    RlOptions<unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown>,
    "dataset" | "model" | "update"
  >
  & {
    readonly rollout?: Pick<Rollout.StreamOptions, "limits" | typeof times[number]> & {
      readonly concurrency?: number
      readonly dynamic?: DynamicSampling.DynamicSettings
    }
  }

const times = ["groupTimeout", "memberTimeout", "graderTimeout", "releaseTimeout"] as const

const checks = (
  { dataset, model, rollout = {}, update = {} }: Shape,
  learningRate: LearningRate.LearningRate,
  { maxTokens }: typeof SamplingSettings.SamplingSettings.Type
): ReadonlyArray<Check.Check> => {
  const { contextLength } = model.capabilities
  const rate = learningRate.at({ iteration: 0, iterations: dataset.length })
  return [
    Check.option("sampling.maxTokens", maxTokens, {
      expected: `less than the context of ${contextLength} tokens`,
      accepts: (tokens: number) => tokens < contextLength
    }),
    Check.option("update.learningRate", rate, Check.number({ least: 0 })),
    Check.option("update.substeps", update.substeps, Check.whole(1)),
    Check.option("rollout.dynamic.minInformative", rollout.dynamic?.minInformative, {
      expected: "0 for a dataset whose batches depend on how earlier ones went",
      accepts: (groups: number) => groups === 0 || dataset.readsHistory !== true
    }),
    Check.option("rollout.concurrency", rollout.concurrency, Check.whole(1)),
    ...Limits.checks(rollout.limits ?? Limits.unlimited, "rollout.limits."),
    ...times.map((field) => Check.option(`rollout.${field}`, rollout[field], Check.time))
  ]
}

const checkBias = (sampling: typeof SamplingSettings.SamplingSettings.Type) => {
  const biased = SamplingSettings.bias(sampling)
  if (biased === undefined || sampling.allowBiased) return Effect.void
  const [field, found] = biased
  const neutral = Setting.defaults(SamplingSettings.SamplingSettings)[field]
  const expected = `${neutral}, or sampling.allowBiased: the log-probabilities trained on would be biased`
  return Effect.fail(new InvalidOption({ field: `sampling.${field}`, found: String(found), expected }))
}

/** Limits that decide what is sampled; timeouts that only decide what fails may change. */
const limitsIdentity = ({ rolloutTimeout, ...limits }: Limits.Limits): JsonObject => ({
  max_turns: limits.maxTurns ?? null,
  max_trajectory_tokens: limits.maxTrajectoryTokens ?? null,
  max_sampled_tokens: limits.maxSampledTokens ?? null,
  max_turn_tokens: limits.maxTurnTokens ?? null,
  max_tool_calls: limits.maxToolCalls ?? null,
  rollout_timeout: rolloutTimeout === undefined ? null : Duration.toSeconds(Duration.fromInputUnsafe(rolloutTimeout))
})

const terminationIdentity = (termination: TerminationReward.TerminationReward): JsonObject => ({
  zero_reward_on_limit: termination.zeroRewardOnLimit ?? false,
  limit_stop_reasons: termination.limitStopReasons ?? TerminationReward.limitStopReasons,
  skip_grading_on_timeout: termination.skipGradingOnTimeout ?? false
})

const resolveUpdate = Effect.fnUntraced(function*<CE, CR>(update: UpdateOptions<CE, CR>) {
  return {
    learningRate: LearningRate.from(update.learningRate ?? defaultLearningRate),
    adam: yield* Setting.decode(Adam.AdamSettings, update.adam ?? {}, "update.adam"),
    loss: Objective.from(update.loss ?? Loss.importanceSampling),
    credit: update.credit ?? Credit.groupRelative(Advantage.centered),
    kl: yield* KlPenalty.decode(update.kl ?? {}),
    substeps: update.substeps ?? 1
  }
})

/** Groups that were sampled ahead are trained on after the weights have moved: without a clip, training may diverge. */
const checkPace = <E, R, EE, ER, HE, HR, CE, CR>(
  { dataset, update }: RlOptions<E, R, EE, ER, HE, HR, CE, CR>,
  credit: Pick<Credit.Credit, "isByGroup" | "name">,
  pace: Pace.Resolved | undefined
) => {
  if (pace === undefined) return Effect.void
  return Check.all(
    Check.option("update.loss", update?.loss?.name ?? "importance_sampling, the default", {
      expected:
        "one that is named, such as ppo, which clips, or importance_sampling itself: pace.maxStepsOffPolicy is above 0",
      accepts: () => pace.maxStepsOffPolicy === 0 || update?.loss !== undefined
    }),
    Check.option("pace.minibatches", pace.minibatches, {
      expected: `left out: the credit "${credit.name}" compares the groups of a whole batch`,
      accepts: () => credit.isByGroup === true
    }),
    Check.option("pace", "asynchronous", {
      expected: "Pace.synchronous for a dataset whose batches depend on how earlier ones went",
      accepts: () => dataset.readsHistory !== true
    })
  )
}

/** Longest time for a group that is sampled ahead, so that one that hangs does not keep its place for ever. */
export const defaultGroupTimeout = "1 hour"

/** A member may take as long as its group, which does not wait for it any longer. */
const deadlines = ({ groupTimeout = defaultGroupTimeout }: GroupOptions.Deadline) => ({
  groupTimeout,
  memberTimeout: groupTimeout
})

/** Fills in the defaults; fails with the first invalid option. */
export const resolve = Effect.fnUntraced(function*<E, R, EE, ER, HE, HR, CE, CR>(
  options: RlOptions<E, R, EE, ER, HE, HR, CE, CR>
): Effect.fn.Return<Resolved<E | HE, R | HR, CE | TinkerError | InvalidOption, CR | Tinker>, InvalidOption> {
  const { dataset, model, rollout: { dynamic: drawn = {}, maxDroppedShare: share, ...rollout } = {} } = options
  const { run: { seed } } = yield* RunOptions.resolve(options)
  const sampling = yield* Setting.decode(SamplingSettings.SamplingSettings, options.sampling ?? {}, "sampling")
  const losses = share === undefined ? {} : { maxDroppedShare: share }
  const { maxDroppedShare } = yield* Setting.decode(LossesSettings, losses, "rollout")
  const dynamic = yield* DynamicSampling.resolve(drawn)
  const update = yield* resolveUpdate<CE, CR>(options.update ?? {})
  yield* Check.all(...checks(options, update.learningRate, sampling))
  yield* checkBias(sampling)
  const pace = yield* Pace.resolve(options.pace ?? Pace.synchronous)
  const credit = KlPenalty.penalize(update.credit, update.kl, model)
  yield* Check.all(...credit.checks ?? [])
  yield* checkPace(options, credit, pace)
  const stopOn = yield* HealthWatch.resolve(options.health ?? {})
  return {
    dataset,
    rollout: {
      ...(pace === undefined ? {} : deadlines(rollout)),
      ...rollout,
      // An episode that fills the model's context ends there, as at any limit; where prompts do not grow, turns end it.
      limits: Limits.tighter({ maxTurns: defaultMaxTurns, ...rollout.limits }, {
        maxTrajectoryTokens: model.capabilities.contextLength
      })
    },
    seed,
    sampling: SamplingSettings.options(sampling, seed),
    maxDroppedShare,
    dynamic,
    pace,
    stopOn,
    ...update,
    credit,
    identity: {
      dataset: dataset.fingerprint,
      ...Setting.identity(SamplingSettings.SamplingSettings, sampling),
      learning_rate: LearningRate.identity(update.learningRate),
      adam: Setting.identity(Adam.AdamSettings, update.adam),
      loss: update.loss.name,
      loss_config: update.loss.config,
      credit: { name: update.credit.name, ...update.credit.config },
      ...KlPenalty.identity(update.kl, model),
      substeps: update.substeps,
      ...(dynamic.minInformative === 0
        ? {}
        : { dynamic: Setting.identity(DynamicSampling.DynamicSettings, dynamic) }),
      limits: limitsIdentity(rollout.limits ?? Limits.unlimited),
      termination: terminationIdentity(rollout.termination ?? {}),
      ...Pace.identity(pace)
    }
  }
})
