/** The settings that a published algorithm implies, taken from `Algorithm` in core. */
import { Algorithm, Setting } from "@effect-rl/core"
import { NamedLoss } from "@effect-rl/core/losses"
import { NamedCredit } from "@effect-rl/core/program"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"

/** The run settings that an algorithm's settings depend on. */
interface Size {
  readonly groupsPerBatch: number
  readonly maxTokens: number
}

/** Algorithms by the value of the `algorithm` setting. */
const algorithms = {
  grpo: () => Algorithm.grpo(),
  dr_grpo: () => Algorithm.drGrpo(),
  rloo: () => Algorithm.rloo(),
  dapo: ({ groupsPerBatch: minInformative }: Size) => Algorithm.dapo({ minInformative }),
  gspo: () => Algorithm.gspo(),
  cispo: () => Algorithm.cispo(),
  reinforce_plus_plus: () => Algorithm.reinforcePlusPlus(),
  max_rl: () => Algorithm.maxRl()
}

type Name = keyof typeof algorithms

/** For DAPO, an overlong buffer of a fifth of `maxTokens`, as in its paper. Empty for all other algorithms. */
const overlongBuffer = (name: Name, { maxTokens }: Size) =>
  name === "dapo" ? { overlongBuffer: Math.max(1, Math.floor(maxTokens / 5)) } : {}

/** The settings that an algorithm implies. The loss options apply only if the run uses the algorithm's loss. */
const settingsOf = (name: Name, size: Size, given: object) => {
  const { rollout: { dynamic } = {}, update: { credit, loss } } = algorithms[name](size)
  const isOwnLoss = !("loss" in given) || given.loss === loss.name
  return {
    credit: NamedCredit.nameOf(credit),
    loss: loss.name,
    ...(isOwnLoss && NamedLoss.given(loss)),
    ...dynamic,
    ...overlongBuffer(name, size)
  }
}

export const fields = {
  /** Sets credit, loss, clipping and filters as in an algorithm's paper, unless they are given; docs/algorithms.md has a table. */
  algorithm: Setting.choice({
    choices: Struct.keys(algorithms),
    help:
      "Sets credit, loss, clipping and filters as in an algorithm's paper, unless they are given; docs/algorithms.md has a table"
  })
}

const Sized = Schema.Struct({ groupsPerBatch: Schema.Number, maxTokens: Schema.Number })
const Named = Schema.Struct({ algorithm: Schema.Literals(Struct.keys(algorithms)) })

const sized = Schema.decodeUnknownOption(Sized)
const named = Schema.decodeUnknownOption(Named)

/**
 * The given settings, completed with those that their `algorithm` implies. Given values win. Without a known `algorithm`, the settings are
 * returned unchanged.
 *
 * @example
 * const given = AlgorithmSettings.applied({ algorithm: "dapo", clipHigh: 1.4 }, TrainingSettings.TrainingSettings)
 */
export const applied = (given: unknown, settings: Setting.Struct): unknown => {
  if (!Predicate.isObject(given)) return given
  const defaults = Object.fromEntries(
    Object.entries(settings.fields).map(([name, field]) => [name, Setting.of(field)?.default])
  )
  return Option.match(Option.all([named(given), sized({ ...defaults, ...given })]), {
    onNone: () => given,
    onSome: ([{ algorithm }, size]) => ({ ...settingsOf(algorithm, size, given), ...given })
  })
}
