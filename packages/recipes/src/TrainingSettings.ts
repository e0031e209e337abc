/** The settings that all reinforcement learning recipes share. Each recipe has its own defaults. */
import { type ChatModel, InvalidOption, LearningRate, Setting } from "@effect-rl/core"
import { BatchSettings, RlOptions, SamplingSettings } from "@effect-rl/core/program"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import * as AlgorithmSettings from "./AlgorithmSettings.ts"
import * as CommonSettings from "./CommonSettings.ts"
import * as CreditSettings from "./CreditSettings.ts"
import * as LossSettings from "./LossSettings.ts"

export interface Defaults extends CommonSettings.Defaults, BatchSettings.BatchSettings {}

const { groupSize, groupsPerBatch } = BatchSettings.BatchSettings.fields

/** The most frequently changed settings. */
const first = (defaults: Defaults) => ({
  ...CommonSettings.own(defaults),
  groupsPerBatch: Setting.withDefault(groupsPerBatch, defaults.groupsPerBatch),
  groupSize: Setting.withDefault(groupSize, defaults.groupSize),
  ...CommonSettings.first(defaults),
  temperature: SamplingSettings.SamplingSettings.fields.temperature,
  ...AlgorithmSettings.fields,
  ...Struct.pick(LossSettings.fields, ["loss"]),
  ...Struct.pick(CreditSettings.fields, ["credit"])
})

/**
 * Setting fields for a recipe's `Schema.Struct`: the reinforcement learning settings, with the recipe's own defaults.
 *
 * @example
 * const Settings = Schema.Struct({
 *   ...TrainingSettings.fields({
 *     model: "effect-rl/tiny-128",
 *     groupsPerBatch: 16,
 *     groupSize: 8,
 *     learningRate: 1e-3,
 *     maxTokens: 16,
 *     iterations: 20,
 *     evalEvery: 5
 *   }),
 *   digits: Setting.int({ default: 2, least: 1, help: "Digits of each number" })
 * })
 */
export const fields = (defaults: Defaults) => ({
  ...first(defaults),
  ...Setting.flat(RlOptions.Settings),
  ...Setting.flat(Schema.Struct(LossSettings.fields).annotate({ title: "Loss" })),
  ...Setting.flat(Schema.Struct(CreditSettings.fields).annotate({ title: "Credit" })),
  // The most frequently changed settings come first in the help, outside any section.
  ...first(defaults)
})

/** The settings that all reinforcement learning recipes share, with placeholders for the recipes' own defaults. */
export const TrainingSettings = Schema.Struct(fields({
  model: "",
  iterations: 0,
  groupsPerBatch: 1,
  groupSize: 1,
  learningRate: 1,
  maxTokens: 1,
  evalEvery: 0
}))

export type TrainingSettings = typeof TrainingSettings.Type

/** Names of the training settings. A recipe's other settings belong to its task. */
export const names: ReadonlySet<string> = new Set(Object.keys(TrainingSettings.fields))

/** Names under which the training settings are part of a run's identity. */
export const identityNames: ReadonlySet<string> = new Set(
  Object.keys(Setting.identity(TrainingSettings, Setting.defaults(TrainingSettings)))
)

/** What a changed default or help text leaves as it is. */
const meaningOf = ({ expected, kind, section, unit }: Setting.Setting) =>
  JSON.stringify([expected, kind, section, unit])

/** Whether a recipe's setting is another setting than the training setting of its name. */
const isOther = (own: Setting.Setting | undefined, shared: Setting.Setting | undefined) =>
  own !== undefined && shared !== undefined && own.help !== shared.help && meaningOf(own) !== meaningOf(shared)

/**
 * Fails with the first setting that replaces a training setting by another of the same name. Such a setting would have two meanings,
 * because the run options that training settings determine read it too. Succeeds for recipes that lack some of the training settings.
 */
export const checkNames = ({ fields }: Setting.Struct): Effect.Effect<void, InvalidOption.InvalidOption> => {
  const shared = Object.entries(TrainingSettings.fields).map(([name, field]) =>
    [name, fields[name], Setting.of(field)] as const
  )
  if (shared.some(([, own]) => own === undefined)) return Effect.void
  const taken = shared.find(([, own, setting]) => own !== undefined && isOther(Setting.of(own), setting))
  if (taken === undefined) return Effect.void
  const [field, , setting] = taken
  return Effect.fail(
    new InvalidOption.InvalidOption({
      field,
      found: "a setting of the recipe's own",
      expected: `a setting with another name: every recipe with training settings has ${field} (${setting?.help})`
    })
  )
}

type Settings = Omit<TrainingSettings, "groupSize">

const Checked = Schema.Struct({
  maxTokens: Schema.Finite,
  ...LossSettings.fields,
  ...CreditSettings.fields
})

/** Fails with the first setting that contradicts another. Succeeds for recipes without training settings. */
export const check = (settings: unknown): Effect.Effect<void, InvalidOption.InvalidOption> =>
  Option.match(Schema.decodeUnknownOption(Checked)(settings), {
    onNone: () => Effect.void,
    onSome: (settings) => Effect.andThen(LossSettings.check(settings), CreditSettings.check(settings))
  })

/** The run options that these settings determine. */
export const options = (model: ChatModel.ChatModel, settings: Settings) => {
  const { update, ...program } = Setting.nest(RlOptions.Settings, settings)
  return {
    model,
    ...program,
    update: {
      ...update,
      learningRate: LearningRate.fromSettings(settings),
      ...LossSettings.of(settings),
      credit: CreditSettings.of(settings)
    }
  }
}
