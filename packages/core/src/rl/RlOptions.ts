/** Options of a reinforcement learning run. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import type { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { RLDataset } from "../data/RLDataset.ts"
import * as Limits from "../env/Limits.ts"
import * as TerminationReward from "../env/message/TerminationReward.ts"
import * as Advantage from "../learn/Advantage.ts"
import * as Credit from "../learn/Credit.ts"
import * as LearningRate from "../learn/LearningRate.ts"
import type * as LossExpression from "../losses/LossExpression.ts"
import * as AdamParams from "../model/AdamParams.ts"
import * as Loss from "../model/Loss.ts"
import * as SamplingSettings from "../policy/SamplingSettings.ts"
import type { JsonObject } from "../records/Json.ts"
import * as Group from "../rollout/Group.ts"
import * as Rollout from "../rollout/Rollout.ts"
import * as RunOptions from "../run/RunOptions.ts"
import * as Check from "../settings/Check.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"
import * as Setting from "../settings/Setting.ts"
import * as Aggregation from "./Aggregation.ts"
import type * as Algorithm from "./Algorithm.ts"
import * as DynamicSampling from "./DynamicSampling.ts"
import * as HealthWatch from "./HealthWatch.ts"
import * as KlPenalty from "./KlPenalty.ts"
import * as Objective from "./Objective.ts"
import * as Pace from "./Pace.ts"

/** How groups are rolled out. */
export const RolloutSettings = Schema.Struct({
  /** Problems rolled out at the same time. */
  concurrency: Setting.int({
    default: Rollout.defaultConcurrency,
    least: 1,
    unit: "problems",
    help: "Problems rolled out at the same time"
  }),
  ...Struct.pick(Group.BoundSettings.fields, ["memberTimeout"]),
  ...Group.DeadlineSettings.fields,
  /** An iteration that loses more than this share of its members stops the run. Default: 0.2. */
  maxDroppedShare: Setting.number({
    least: 0,
    most: 1,
    default: 0.2,
    help: "An iteration that loses more than this share of its members stops the run"
  }),
  dynamic: Setting.group(DynamicSampling.DynamicSettings)
}).annotate({ title: "Rollouts" })

/** How the weights are updated, apart from the learning rate, the loss and the credit. A KL penalty is added to the credit. */
export const UpdateSettings = Schema.Struct({
  adam: Setting.group(AdamParams.AdamSettings),
  kl: Setting.group(KlPenalty.KlSettings, {
    coefficient: "klCoefficient",
    discount: "klDiscount",
    reference: "klReference",
    postUpdate: "klPostUpdate"
  }),
  /** Optimizer steps per iteration, each on its share of the problems. Default: 1. */
  substeps: Setting.int({
    least: 1,
    default: 1,
    help: "Optimizer steps per iteration, each on its share of the problems",
    identity: true
  }),
  /**
   * How the tokens of an update are weighed: the sum of their losses, or a mean over tokens or sequences, by verl's names. Default:
   * token-sum.
   */
  aggregation: Setting.choice({
    choices: Aggregation.names,
    default: "token-sum",
    help:
      "How the tokens of an update are weighed: the sum of their losses, or a mean over tokens or sequences, by verl's names"
  }),
  /** The constant by which seq-mean-token-sum-norm divides (maxTokens unless given). */
  aggregationLength: Setting.int({
    least: 1,
    unit: "tokens",
    help: "The constant by which seq-mean-token-sum-norm divides (maxTokens unless given)"
  })
}).annotate({ title: "Update" })

/**
 * All settings of a reinforcement learning run, grouped like its options. Defaults, checks, the run's identity, flags and configuration
 * files are derived from this schema.
 */
export const Settings = Schema.Struct({
  sampling: Setting.group(SamplingSettings.SamplingSettings),
  ...RunOptions.Settings.fields,
  update: Setting.group(UpdateSettings),
  pace: Setting.group(Pace.PaceSettings, { name: "pace" }),
  rollout: Setting.group(RolloutSettings),
  health: Setting.group(HealthWatch.HealthSettings)
})

/** The rollout settings plus episode limits, which a dataset's author sets and which have no flags. */
const Bounded = Schema.Struct({
  ...RolloutSettings.fields,
  ...Struct.pick(Group.BoundSettings.fields, ["limits", "termination", "graderTimeout", "releaseTimeout"])
})

const Program = Schema.Struct({
  sampling: Settings.fields.sampling,
  update: Settings.fields.update,
  rollout: Setting.group(Bounded)
})

type Decoded = typeof Program.Type

/** How groups are rolled out, including the failure policy and hooks. Hooks cannot be sent to another process. */
export interface RolloutOptions<in E, HE, HR>
  extends
    Omit<Rollout.StreamOptions<E, TinkerError, HE, HR>, "unordered" | "iteration" | "samplerStep">,
    Schema.Codec.Encoded<typeof RolloutSettings>
{}

/** The default of `rollout.limits.maxTurns`. It is far above what tasks need, so it stops only episodes that would never end. */
export const defaultMaxTurns = 1000

/** How the weights are updated. */
export interface UpdateOptions<out CE, out CR>
  extends LearningRate.RateOptions, Schema.Codec.Encoded<typeof UpdateSettings>
{
  /** A loss of the backend, an expression, or an `Objective` if neither suffices; default: `Loss.importanceSampling`. */
  readonly loss?: Loss.Loss<"PolicyTokens"> | LossExpression.LossExpression | Objective.Objective<CE, CR>
  /** The credit rule; default: `Credit.groupRelative(Advantage.centered)`. */
  readonly credit?: Credit.Credit<CE, CR>
}

/**
 * Options of `Rl.run`, in addition to those of every run. Errors and requirements come from the dataset's environments (E, R), the
 * evaluators (EE, ER), the hooks (HE, HR), and the credit and the loss (CE, CR).
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
  /** The dataset of groups; each iteration rolls out a batch. */
  readonly dataset: RLDataset<E, R>
  /** The token limit of a response, the temperature and other sampling parameters. */
  readonly sampling?: SamplingSettings.SamplingSettings
  /** The number of groups rolled out at once, limits and timeouts of episodes, the failure policy, and hooks. */
  readonly rollout?: RolloutOptions<NoInfer<E>, HE, HR>
  /** A named algorithm: sets credit, loss, KL penalty and filters unless `update` or `rollout` sets them. */
  readonly algorithm?: Algorithm.Algorithm<CE, CR>
  /** Learning rate, optimizer, loss, credit, KL penalty, and the number of optimizer steps per iteration. */
  readonly update?: UpdateOptions<CE, CR>
  /** How sampling and training alternate or overlap; default: `Pace.synchronous`. */
  readonly pace?: Pace.Pace
  /** Stops the run if a health metric leaves its healthy range; off by default. */
  readonly health?: HealthWatch.HealthSettings
}

/**
 * A run's options as its program reads them: the decoded settings in their groups, plus the values that are not settings. The errors and
 * requirements of hooks are merged with those of the environments.
 */
export interface Resolved<E, R, CE, CR> extends Pick<RunOptions.Resolved["run"], "seed"> {
  readonly dataset: RLDataset<E, R>
  readonly sampling: Decoded["sampling"]
  readonly update: Decoded["update"] & Required<Pick<Decoded["update"], "aggregationLength">> & {
    readonly learningRate: LearningRate.LearningRate
    readonly loss: Objective.Objective<CE, CR>
    readonly credit: Credit.Credit<CE, CR>
  }
  readonly rollout: Decoded["rollout"] & Rollout.StreamOptions<E, TinkerError, E, R> & {
    readonly dynamic: DynamicSampling.Resolved
  }
  readonly pace: Pace.Resolved
  /** Metrics that stop the run if they leave their healthy range. */
  readonly stopOn: ReadonlyArray<string>
  /** The options that must be equal for a run to resume. */
  readonly identity: JsonObject
}

const checks = <E, R, EE, ER, HE, HR, CE, CR>(
  { dataset, model }: RlOptions<E, R, EE, ER, HE, HR, CE, CR>,
  learningRate: LearningRate.LearningRate,
  { rollout, sampling }: Decoded
): ReadonlyArray<Check.Check> => {
  const { contextLength } = model.capabilities
  return [
    Check.option("sampling.maxTokens", sampling.maxTokens, {
      expected: `less than the context of ${contextLength} tokens`,
      accepts: (tokens) => tokens < contextLength
    }),
    LearningRate.check(learningRate, dataset.length),
    Check.option("rollout.dynamic.minInformative", rollout.dynamic.minInformative, {
      expected: "0 for a dataset whose batches depend on how earlier ones went",
      accepts: (groups) => groups === 0 || dataset.readsHistory !== true
    })
  ]
}

const checkAggregation = (
  { aggregation, aggregationLength }: Decoded["update"],
  loss: string
): ReadonlyArray<Check.Check> => [
  Aggregation.check(aggregation, loss),
  Check.option("update.aggregationLength", aggregationLength, {
    expected: "left out unless update.aggregation is seq-mean-token-sum-norm",
    accepts: () => aggregation === "seq-mean-token-sum-norm"
  })
]

const checkBias = (sampling: typeof SamplingSettings.SamplingSettings.Type) => {
  const biased = SamplingSettings.bias(sampling)
  if (biased === undefined || sampling.allowBiased) return Effect.void
  const [field, found] = biased
  const neutral = Setting.defaults(SamplingSettings.SamplingSettings)[field]
  const expected = `${neutral}, or sampling.allowBiased: the log-probabilities trained on would be biased`
  return Effect.fail(new InvalidOption({ field: `sampling.${field}`, found: String(found), expected }))
}

/**
 * Rejects options that do not work with the pace. For example, asynchronous training needs an explicit loss, because without clipping it
 * may diverge on older groups.
 */
const checkPace = <E, R, EE, ER, HE, HR, CE, CR>(
  { dataset, update }: RlOptions<E, R, EE, ER, HE, HR, CE, CR>,
  credit: Pick<Credit.Credit, "isByGroup" | "name">,
  pace: Pace.Resolved
) => {
  if (pace.name === "synchronous") return Effect.void
  return Check.all(
    Check.option("update.loss", update?.loss?.name ?? "importance_sampling, the default", {
      expected:
        "a loss that is given explicitly, such as ppo, which clips, or importance_sampling itself: pace.maxStepsOffPolicy is above 0",
      accepts: () => pace.maxStepsOffPolicy === 0 || update?.loss !== undefined
    }),
    Check.option("pace.minibatches", pace.minibatches, {
      expected: `left out: the credit "${credit.name}" compares the groups of a whole batch`,
      accepts: () => credit.isByGroup === true
    }),
    Check.option("pace.minibatches", pace.minibatches, {
      expected: "left out: update.aggregation counts the tokens of a whole update",
      accepts: () => (update?.aggregation ?? "token-sum") === "token-sum"
    }),
    Check.option("pace", "asynchronous", {
      expected: "Pace.synchronous for a dataset whose batches depend on how earlier ones went",
      accepts: () => dataset.readsHistory !== true
    })
  )
}

/** The default time limit of a group unless the pace is synchronous, so that a hanging group does not keep its place forever. */
export const defaultGroupTimeout = "1 hour"

/** The time limits of groups and members. A member's default time limit is that of its group. */
const deadlines = ({ groupTimeout = defaultGroupTimeout }: Group.Deadline) => ({
  groupTimeout,
  memberTimeout: groupTimeout
})

/** The options, with the algorithm's values for those that the run does not set. */
const withAlgorithm = <E, R, EE, ER, HE, HR, CE, CR>(
  { algorithm, rollout, update, ...options }: RlOptions<E, R, EE, ER, HE, HR, CE, CR>
): RlOptions<E, R, EE, ER, HE, HR, CE, CR> => ({
  ...options,
  rollout: { ...algorithm?.rollout, ...rollout },
  update: { ...algorithm?.update, ...update }
})

/** Fills in the defaults. Fails with the first invalid option. */
export const resolve = Effect.fnUntraced(function*<E, R, EE, ER, HE, HR, CE, CR>(
  given: RlOptions<E, R, EE, ER, HE, HR, CE, CR>
): Effect.fn.Return<Resolved<E | HE, R | HR, CE | TinkerError | InvalidOption, CR | Tinker>, InvalidOption> {
  const options = withAlgorithm(given)
  const { dataset, model, rollout: givenRollout = {}, update: givenUpdate = {} } = options
  const { run: { seed } } = yield* RunOptions.resolve(options)
  const settings = yield* Setting.decode(Program, {
    sampling: options.sampling ?? {},
    update: Setting.pick(UpdateSettings, givenUpdate),
    rollout: Setting.pick(Bounded, givenRollout)
  })
  const { rollout, sampling, update } = settings
  const { aggregation, aggregationLength = sampling.maxTokens, kl } = update
  const dynamic = yield* DynamicSampling.resolve(rollout.dynamic)
  yield* KlPenalty.checkSettings(kl)
  const learningRate = LearningRate.from(givenUpdate.learningRate ?? LearningRate.defaultRate)
  const loss = Objective.from(givenUpdate.loss ?? Loss.importanceSampling)
  const own = givenUpdate.credit ?? Credit.groupRelative(Advantage.centered)
  yield* Check.all(...checks(options, learningRate, settings), ...checkAggregation(update, loss.name))
  yield* checkBias(sampling)
  const pace = yield* Pace.resolve(options.pace ?? Pace.synchronous)
  const credit = KlPenalty.penalize(own, kl, model)
  yield* Check.all(...credit.checks ?? [])
  yield* checkPace(options, credit, pace)
  return {
    dataset,
    seed,
    sampling,
    update: { ...update, aggregationLength, learningRate, loss, credit },
    rollout: {
      ...(pace.name === "synchronous" ? {} : deadlines(rollout)),
      ...givenRollout,
      ...rollout,
      dynamic,
      // An episode ends when it fills the model's context. If its prompts do not grow, the turn limit ends it.
      limits: Limits.tighter({ maxTurns: defaultMaxTurns, ...rollout.limits }, {
        maxTrajectoryTokens: model.capabilities.contextLength
      })
    },
    pace,
    stopOn: yield* HealthWatch.resolve(options.health ?? {}),
    identity: {
      dataset: dataset.fingerprint,
      ...Setting.identity(SamplingSettings.SamplingSettings, sampling),
      learning_rate: LearningRate.identity(learningRate),
      ...Setting.identity(UpdateSettings, update),
      loss: loss.name,
      loss_config: loss.config,
      credit: { name: own.name, ...own.config },
      ...(aggregation === "token-sum" ? {} : { aggregation }),
      ...(aggregation === "seq-mean-token-sum-norm" ? { aggregation_length: aggregationLength } : {}),
      ...KlPenalty.identity(kl, model),
      ...(dynamic.minInformative === 0
        ? {}
        : { dynamic: Setting.identity(DynamicSampling.DynamicSettings, dynamic) }),
      limits: Setting.identity(Limits.LimitSettings, rollout.limits),
      termination: Setting.identity(TerminationReward.TerminationSettings, rollout.termination),
      ...Pace.identity(pace)
    }
  }
})
