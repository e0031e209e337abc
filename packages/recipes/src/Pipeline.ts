/** Pipelines: recipes trained one after another, each from checkpoints of earlier stages. */
import type { InvalidOption } from "@effect-rl/core"
import { Setting } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { BaseSettings, Recipe } from "./Recipe.ts"

/** Paths of a stage's final weights: `statePath` to continue training from, and a path to sample from. */
export interface Checkpoint {
  readonly statePath: string
  readonly samplerPath: string
}

/** One recipe's run. */
export interface Stage<out E = never, out R = never> {
  /** Name of the stage, and of its run's folder inside the pipeline's folder. */
  readonly name: string
  readonly recipe: Recipe<E, R>
  /** The recipe's settings. `of` returns the checkpoint of an earlier stage. */
  readonly settings: (of: (stage: string) => Checkpoint) => Readonly<Record<string, unknown>>
}

/** A pipeline with its settings decoded. */
export interface Configured<out E, out R> extends BaseSettings {
  readonly stages: ReadonlyArray<Stage<E, R>>
}

export interface Pipeline<out E = never, out R = never> {
  readonly _tag: "Pipeline"
  readonly name: string
  readonly description: string
  /** Whether any of the pipeline's recipes runs code that a model wrote. */
  readonly runsCode?: true
  /** The pipeline's settings. Each has a default or is optional. Command-line flags and configuration files are derived from them. */
  readonly settings: Setting.Struct
  /** Decodes settings from flags or a configuration file. */
  readonly configure: (given: unknown) => Effect.Effect<Configured<E, R>, InvalidOption.InvalidOption>
}

/** The setting for the number of iterations of a stage. */
export const iterations = (count: number, help: string) =>
  Setting.int({ default: count, least: 1, unit: "iterations", help })

/**
 * Makes a pipeline from its settings and its stages.
 *
 * @example
 * Pipeline.make({
 *   name: "imitate-then-prefer",
 *   description: "Supervised training, then preferences",
 *   settings: Schema.Struct({
 *     model: Setting.text({ default: "effect-rl/tiny-64", help: "The model" }),
 *     seed: Setting.int({ default: 0, least: 0, help: "The seed" })
 *   }),
 *   stages: ({ model, seed }) => [
 *     { name: "supervised", recipe: Recipes.supervised, settings: () => ({ model, seed }) },
 *     { name: "dpo", recipe: Recipes.dpo, settings: (of) => ({ model, seed, loadCheckpointPath: of("supervised").statePath }) }
 *   ]
 * })
 */
export const make = <S extends Schema.Decoder<BaseSettings> & Setting.Struct, E, R>(
  { settings, stages, ...described }: {
    readonly name: string
    readonly description: string
    readonly runsCode?: true
    readonly settings: S
    readonly stages: (settings: S["Type"]) => ReadonlyArray<Stage<E, R>>
  }
): Pipeline<E, R> => ({
  _tag: "Pipeline",
  ...described,
  settings,
  configure: (given) =>
    Effect.map(Setting.decode(settings, given), (decoded) => ({
      model: decoded.model,
      seed: decoded.seed,
      stages: stages(decoded)
    }))
})
