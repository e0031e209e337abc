/** The settings that an algorithm of the literature stands for, as `Algorithm` in core has them for programs. */
import { Setting } from "@effect-rl/core"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"

/** The settings of a run on which an algorithm depends. */
interface Size {
  readonly groupsPerBatch: number
  readonly maxTokens: number
}

const grpo = { credit: "normalized", loss: "ppo", clipLow: 0.8, clipHigh: 1.2 }

/** Settings by the name of the algorithm. The tokens over which DAPO lowers the reward of long responses are a fifth, as in its paper. */
const algorithms = {
  grpo: () => grpo,
  dr_grpo: () => ({ ...grpo, credit: "centered" }),
  rloo: () => ({ credit: "leave_one_out", loss: "importance_sampling" }),
  dapo: ({ groupsPerBatch, maxTokens }: Size) => ({
    ...grpo,
    clipHigh: 1.28,
    minInformative: groupsPerBatch,
    overlongBuffer: Math.max(1, Math.floor(maxTokens / 5))
  }),
  gspo: () => ({ credit: "normalized", loss: "gspo" }),
  cispo: () => ({ credit: "normalized", loss: "cispo" }),
  reinforce_plus_plus: () => ({ ...grpo, credit: "reinforce_plus_plus" }),
  max_rl: () => ({ credit: "max_rl", loss: "importance_sampling" })
}

export const fields = {
  algorithm: Setting.choice({
    choices: Struct.keys(algorithms),
    help:
      "Sets credit, loss, clip and filters as an algorithm's paper does, where they are not given; docs/algorithms.md has a table"
  })
}

const Sized = Schema.Struct({ groupsPerBatch: Schema.Number, maxTokens: Schema.Number })
const Named = Schema.Struct({ algorithm: Schema.Literals(Struct.keys(algorithms)) })

const sized = Schema.decodeUnknownOption(Sized)
const named = Schema.decodeUnknownOption(Named)

/**
 * The given settings of a recipe over those of the algorithm that they name.
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
    onSome: ([{ algorithm }, size]) => ({ ...algorithms[algorithm](size), ...given })
  })
}
