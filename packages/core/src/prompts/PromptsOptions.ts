/** Options of a run that optimises instructions. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import type { RLDataset } from "../data/RLDataset.ts"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import * as Limits from "../env/Limits.ts"
import * as TerminationReward from "../env/message/TerminationReward.ts"
import type { Evaluator } from "../evaluate/Evaluator.ts"
import type { MessagePolicy } from "../policy/MessagePolicy.ts"
import * as SamplingSettings from "../policy/SamplingSettings.ts"
import type { JsonObject } from "../records/Json.ts"
import { defaultMaxTurns } from "../rl/RlOptions.ts"
import * as Group from "../rollout/Group.ts"
import * as Rollout from "../rollout/Rollout.ts"
import * as RunOptions from "../run/RunOptions.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Setting from "../settings/Setting.ts"

const bounds = ["limits", "termination", "memberTimeout", "graderTimeout", "releaseTimeout"] as const

/** The limits of episodes and their graders. */
const Bounds = Schema.Struct(Struct.pick(Group.BoundSettings.fields, bounds))

/** How groups are rolled out. A failure ends the run, because candidates are compared on complete results. */
export type RolloutOptions = Pick<Rollout.StreamOptions, "concurrency" | typeof bounds[number]>

/**
 * The options of `Prompts.run`, in addition to those of every run. Errors and requirements come from the environments (E, R), the reflector
 * (RE, RR) and the evaluators (EE, ER).
 *
 * @example
 * const run = Prompts.run({
 *   model,
 *   instruction: "Answer.",
 *   dataset: () => dataset,
 *   validation: () => [builder],
 *   reflector: judge,
 *   maxRollouts: 500
 * })
 */
export interface PromptsOptions<
  out E = never,
  out R = never,
  out RE = never,
  out RR = never,
  out EE = never,
  out ER = never
> extends Omit<RunOptions.RunOptions, "run"> {
  /** The instruction to begin with. White space around it is left out. */
  readonly instruction: string
  /**
   * Makes the minibatches for an instruction, which is usually the system message of `prefix`. They must have the same problems in the same
   * order for every instruction. Each iteration tries a parent and its child on one batch.
   */
  readonly dataset: (instruction: string) => RLDataset<E, R>
  /**
   * Makes the groups of the validation problems, on which all candidates are compared. They must have the same problems in the same order
   * for every instruction.
   */
  readonly validation: (instruction: string) => ReadonlyArray<EnvGroupBuilder<E, R>>
  /** The model that reads episodes and writes instructions. */
  readonly reflector: MessagePolicy<RE, RR>
  /** The most answers that the reflector is asked for in an iteration, until one has a new instruction. Default: 3. */
  readonly reflectorAnswers?: number
  /**
   * The most episodes that the run may sample for minibatches and validation; retries are not counted. An iteration that might need more
   * does not begin. Default: no limit.
   */
  readonly maxRollouts?: number
  /** The token limit of a response, the temperature and other sampling parameters. */
  readonly sampling?: Omit<SamplingSettings.SamplingSettings, "allowBiased">
  /** The number of groups rolled out at once, and limits and timeouts of episodes. */
  readonly rollout?: RolloutOptions
  /** The seed, the number of iterations, intervals for saving and evaluating, and spending limits. */
  readonly run?: RunOptions.RunSettings
  /** Evaluators for an instruction. They measure the best candidate so far; their names must be the same for every instruction. */
  readonly evaluators?: (instruction: string) => ReadonlyArray<Evaluator<EE, ER>>
}

/** The options that the program reads, with defaults filled in. */
export interface Resolved {
  /** The instruction to begin with, without surrounding white space, like those that the reflector writes. */
  readonly instruction: string
  readonly seed: number
  readonly sampling: typeof SamplingSettings.SamplingSettings.Type
  readonly rollout: RolloutOptions
  readonly reflectorAnswers: number
  readonly maxRollouts: number
  /** The options that must be equal for a run to resume. */
  readonly identity: JsonObject
}

/** The name under which the validation groups are recorded. */
export const validation = "validation"

/** Fills in the defaults. Fails with the first invalid option. */
export const resolve = Effect.fnUntraced(function*<E, R, RE, RR, EE, ER>(
  options: PromptsOptions<E, R, RE, RR, EE, ER>
): Effect.fn.Return<Resolved, InvalidOption> {
  const { evaluators = () => [], maxRollouts, model, reflectorAnswers = 3, rollout = {} } = options
  const instruction = options.instruction.trim()
  const named = evaluators(instruction)
  const { run: { seed } } = yield* RunOptions.resolve({ ...options, run: { ...options.run, evaluators: named } })
  const dataset = options.dataset(instruction)
  const groups = options.validation(instruction)
  const sampling = yield* Setting.decode(SamplingSettings.SamplingSettings, options.sampling ?? {}, "sampling")
  const bounds = yield* Setting.decode(Bounds, Setting.pick(Bounds, rollout), "rollout")
  const limits = Limits.tighter({ maxTurns: defaultMaxTurns, ...bounds.limits }, {
    maxTrajectoryTokens: model.capabilities.contextLength
  })
  yield* Check.all(
    Check.option("instruction", instruction, {
      expected: "a text to begin with, such as “Answer the question.”",
      accepts: (text) => text !== ""
    }),
    Check.option("dataset", "groups that depend on earlier results", {
      expected: "a dataset whose batches do not depend on earlier results",
      accepts: () => dataset.readsHistory !== true
    }),
    Check.option("validation", groups.length, {
      expected: "at least one group",
      accepts: (count) => count > 0
    }),
    Check.option("evaluators", validation, {
      expected: "names other than that of the validation groups",
      accepts: (name) => !named.some((evaluator) => evaluator.name === name)
    }),
    Check.option("reflectorAnswers", reflectorAnswers, Check.whole(1)),
    Check.option("maxRollouts", maxRollouts, Check.whole(1))
  )
  const repeated = Rollout.repeatedKey(groups)
  if (repeated !== undefined) return yield* repeated
  return {
    instruction,
    seed,
    sampling,
    rollout: { ...rollout, limits },
    reflectorAnswers,
    maxRollouts: maxRollouts ?? Infinity,
    identity: {
      instruction,
      dataset: dataset.fingerprint,
      validation: groups.map(({ key, size }) => `${key} ×${size}`),
      ...Setting.identity(SamplingSettings.SamplingSettings, sampling),
      reflector_answers: reflectorAnswers,
      limits: Setting.identity(Limits.LimitSettings, limits),
      termination: Setting.identity(TerminationReward.TerminationSettings, bounds.termination)
    }
  }
})
