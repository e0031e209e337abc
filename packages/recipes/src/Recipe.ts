/** Recipes: tasks with everything that is needed to train on them. They name no backend. */
import {
  Advantage,
  type ChatModel,
  Credit,
  EnvGroupBuilder,
  type Evaluator,
  InvalidOption,
  Rl,
  RLDataset,
  type RunRecord,
  type RunStore,
  Setting,
  type Tinker
} from "@effect-rl/core"
import type { Datum } from "@effect-rl/core/backend"
import { RlOptions, RunOptions, SamplingSettings } from "@effect-rl/core/program"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Function from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as AlgorithmSettings from "./AlgorithmSettings.ts"
import * as TrainingSettings from "./TrainingSettings.ts"

/** The training data of a task that rolls nothing out. */
export interface Examples<out E = never, out R = never> {
  readonly length: number
  readonly batch: (
    index: number,
    seed: number
  ) => Effect.Effect<ReadonlyArray<Datum.Datum<"WeightedTokens">>, E, R>
}

/** How much further an iteration samples where groups without a signal are replaced. */
export interface Replacing {
  /** Most batches that it samples. */
  readonly batches: number
  /** Groups that it trains on at most. */
  readonly trained: number
}

/** A recipe's task, put together for one model. */
export interface Task<out E = never, out R = never> {
  readonly model: ChatModel.ChatModel
  /** Trains to the end, or resumes the run in the store. */
  readonly run: Stream.Stream<RunRecord.RunRecord, E, R | Tinker.Tinker | RunStore.RunStore>
  /** Fails with the first invalid option. */
  readonly check: Effect.Effect<void, InvalidOption.InvalidOption>
  /** The groups that are rolled out, for plans and for playing; with `examples`, for playing alone. */
  readonly dataset: RLDataset.RLDataset<E, R>
  /** The groups that training rolls out, where they are others than those of `dataset`. */
  readonly trained?: Effect.Effect<RLDataset.RLDataset<E, R>, E, R | Tinker.Tinker | Scope.Scope>
  readonly examples?: Examples<E, R>
  /** Undefined where every iteration samples one batch. */
  readonly replacing?: Effect.Effect<Replacing | undefined, InvalidOption.InvalidOption>
  /** The number of other models, such as a reference or a teacher, that score the training data; default 0. */
  readonly readers?: number
  readonly evaluators: ReadonlyArray<Evaluator.Evaluator<E, R>>
  readonly maxTokens: number
  readonly settings: typeof RunOptions.RunSettings.Type
  /** Most turns of an episode. */
  readonly turns: number
  /** The answer to the problem in a prompt's text, for scripted policies. */
  readonly answerTo: (prompt: string) => Option.Option<string>
  /**
   * The reward that every answer of `answerTo` reaches, where it need not be right: 0 in a game that no player can be made to lose. Unless
   * given, every such answer is right, and earns 1.
   */
  readonly referenceReward?: number
  /** An answer that does nothing, in the form that the task asks for; the empty text unless given. */
  readonly emptyAnswer?: string
}

export interface TaskOptions<E, R> {
  readonly options:
    & Rl.Options<E, R, E, R, never, never, E | InvalidOption.InvalidOption>
    & Required<Pick<Rl.Options, "sampling">>
  /** Default 1. */
  readonly turns?: number
  readonly answerTo?: Task["answerTo"]
  readonly referenceReward?: number
  readonly emptyAnswer?: string
}

const replacing = <E, R>(options: TaskOptions<E, R>["options"]) =>
  Effect.map(
    RlOptions.resolve(options),
    ({ rollout: { dynamic: { maxBatches, minInformative } } }): Replacing | undefined =>
      minInformative > 0 ? { batches: maxBatches, trained: minInformative } : undefined
  )

/** A credit made of that which a recipe's settings chose. */
export type CreditChange = <E>(chosen: Credit.Credit<E>) => Credit.Credit<E | InvalidOption.InvalidOption>

const Change = Context.Reference<CreditChange>("@effect-rl/recipes/Recipe/CreditChange", {
  defaultValue: () => Function.identity
})

const changed = <E, R>({ update, ...options }: TaskOptions<E, R>["options"], change: CreditChange) => ({
  ...options,
  update: { ...update, credit: change(update?.credit ?? Credit.groupRelative(Advantage.centered)) }
})

/** The task of a reinforcement learning run. */
export const task = Effect.fnUntraced(
  function*<E, R>({ answerTo, emptyAnswer, options: given, referenceReward, turns = 1 }: TaskOptions<E, R>) {
    const options = changed(given, yield* Change)
    const { run } = yield* RunOptions.resolve(options)
    const { maxTokens } = yield* Setting.decode(SamplingSettings.SamplingSettings, options.sampling, "sampling")
    const task: Task<E | Rl.Error, R> = {
      model: options.model,
      run: Rl.run(options),
      check: Rl.validate(options),
      dataset: options.dataset,
      replacing: replacing(options),
      evaluators: options.run?.evaluators ?? [],
      maxTokens,
      settings: run,
      turns,
      answerTo: answerTo ?? (() => Option.none()),
      ...(referenceReward !== undefined && { referenceReward }),
      ...(emptyAnswer !== undefined && { emptyAnswer })
    }
    return task
  }
)

/** Includes the name of the model to train. */
export interface BaseSettings {
  readonly model: string
  readonly seed: number
}

/** A recipe with its settings decoded. */
export interface Configured<out E, out R> extends BaseSettings {
  readonly build: (model: ChatModel.ChatModel) => Effect.Effect<Task<E, R>, E, R>
}

/** A run of a few minutes at most, with a model of the embedded engine. */
export interface ShortRun {
  /** The expected results of the run, for the reader. */
  readonly says: string
  /** Settings that, with those of `sample`, replace the recipe's defaults where no model is named. */
  readonly settings: Readonly<Record<string, unknown>>
}

/** The short run of a recipe whose default model the embedded engine does not have. */
export interface OnEngine extends ShortRun {
  /** The run for machines that have SmolLM2; its settings override the others. Absent where SmolLM2 would learn less. */
  readonly withSmolLm2?: ShortRun
}

/** A task with its settings. Its errors and requirements are its own. */
export interface Recipe<out E = never, out R = never> {
  readonly name: string
  readonly description: string
  /** Absent where the engine trains the recipe with its defaults. */
  readonly onEngine?: OnEngine
  /** Settings that take made-up problems in place of downloaded ones; absent where nothing is downloaded. */
  readonly sample?: Readonly<Record<string, unknown>>
  /** Whether it runs code that a model wrote: the command has a sandbox for such recipes alone. */
  readonly runsCode?: true
  /** Whether it starts programs by a `Launcher`: the command has one for such recipes alone. */
  readonly startsPrograms?: true
  /** The credit of one's own that it is trained by, as `withCredit` was given it. */
  readonly credit?: CreditChange
  /** `Setting`s, each with a default or optional, from which flags and configuration files follow. */
  readonly settings: Setting.Struct
  /** Decodes settings that flags or a file gave. */
  readonly configure: (given: unknown) => Effect.Effect<Configured<E, R>, InvalidOption.InvalidOption>
}

/** The recipe's own settings that are marked as `identity`; those of training belong to a run's identity by its options. */
const ownIdentity = <S extends Setting.Struct>(settings: S, decoded: S["Type"]) => {
  const own = Object.entries(Setting.identity(settings, decoded)).filter(([name]) =>
    !TrainingSettings.identityNames.has(name)
  )
  return own.length === 0 ? {} : { settings: Object.fromEntries(own) }
}

/**
 * A recipe. A run of it is resumed only with equal values of its settings that are marked as `identity`.
 *
 * @example
 * export default Recipe.make({
 *   name: "sums",
 *   description: "Sums of two digits",
 *   settings: Schema.Struct(TrainingSettings.fields({
 *     model: "effect-rl/tiny-128",
 *     groupsPerBatch: 16,
 *     groupSize: 8,
 *     learningRate: 1e-3,
 *     maxTokens: 16,
 *     iterations: 20,
 *     evalEvery: 5
 *   })),
 *   build: (model, settings) => Recipe.task({ options: { ...TrainingSettings.options(model, settings), dataset } })
 * })
 */
export const make = <S extends Schema.Decoder<BaseSettings> & Setting.Struct, E, R, BE, BR>(
  { build, settings, ...described }: {
    readonly name: string
    readonly description: string
    readonly onEngine?: OnEngine
    readonly sample?: Readonly<Record<string, unknown>>
    readonly runsCode?: true
    readonly startsPrograms?: true
    readonly settings: S
    readonly build: (model: ChatModel.ChatModel, settings: S["Type"]) => Effect.Effect<Task<E, R>, BE, BR>
  }
): Recipe<E | BE, R | BR> => ({
  ...described,
  settings,
  configure: (given) =>
    Effect.map(
      Effect.tap(
        Setting.decode(settings, AlgorithmSettings.applied(given, settings)),
        TrainingSettings.check
      ),
      (decoded) => ({
        model: decoded.model,
        seed: decoded.seed,
        build: (model) =>
          Effect.map(build(model, decoded), (task) => ({
            ...task,
            run: Stream.provideService(task.run, RunOptions.Identity, ownIdentity(settings, decoded))
          }))
      })
    )
})

/**
 * The recipe with a credit of your own in place of the one that its settings chose, or made of that one. Fails for a recipe that is not
 * trained on rewards.
 *
 * @example
 * const fading = Advantage.perToken("fading", ({ group }) => (member, turn) => (group.rewardsG[member] ?? 0) * 0.9 ** turn)
 * export default Recipe.withCredit(Recipes.guessNumber, () => Credit.groupRelative(fading))
 */
export const withCredit = <E, R>(recipe: Recipe<E, R>, change: CreditChange): Recipe<E, R> => ({
  ...recipe,
  credit: recipe.credit === undefined ? change : Function.flow(recipe.credit, change),
  configure: Effect.fnUntraced(function*(given) {
    if (!Object.hasOwn(recipe.settings.fields, "credit")) {
      return yield* new InvalidOption.InvalidOption({
        field: "recipe",
        found: recipe.name,
        expected: "one that has the setting credit, as it is trained on rewards"
      })
    }
    const configured = yield* recipe.configure(given)
    return {
      ...configured,
      build: (model) =>
        Effect.flatMap(
          Change,
          (outer) => Effect.provideService(configured.build(model), Change, Function.flow(change, outer))
        )
    }
  })
})

const examplesWith = <E, R, S>(
  { batch, length }: Examples<E, R>,
  services: Context.Context<S>
): Examples<E, Exclude<R, S>> => ({
  length,
  batch: (index, seed) => Effect.provideContext(batch(index, seed), services)
})

const taskWith = <E, R, S>(
  { dataset, evaluators, examples, run, trained, ...task }: Task<E, R>,
  services: Context.Context<S>
): Task<E, Exclude<R, S>> => ({
  ...task,
  run: Stream.provideContext(run, services),
  dataset: RLDataset.provideContext(dataset, services),
  ...(examples !== undefined && { examples: examplesWith(examples, services) }),
  ...(trained !== undefined && {
    trained: Effect.map(
      Effect.provideContext(trained, services),
      (dataset) => RLDataset.provideContext(dataset, services)
    )
  }),
  evaluators: evaluators.map(({ evaluate, groups, name }) => ({
    name,
    evaluate: (weights) => Effect.provideContext(evaluate(weights), services),
    ...(groups !== undefined && { groups: groups.map((group) => EnvGroupBuilder.provideContext(group, services)) })
  }))
})

/**
 * The recipe with services that it needs, such as a database or a simulator, as commands give a recipe only those of their own. The layer
 * is built once for each task, and what it acquired is released when the scope of `build` closes: on the command line, when the command ends.
 *
 * @example
 * const gsm8k = Recipe.provide(Recipes.gsm8k, Hub.Hub.layer)
 */
export const provide = <E, R, S, LE, LR>(
  recipe: Recipe<E, R>,
  layer: Layer.Layer<S, LE, LR>
): Recipe<E | LE, Exclude<R, S> | LR | Scope.Scope> => ({
  ...recipe,
  configure: (given) =>
    Effect.map(recipe.configure(given), (configured) => ({
      ...configured,
      build: (model) =>
        Effect.flatMap(
          Layer.build(layer),
          (services) =>
            Effect.map(Effect.provideContext(configured.build(model), services), (task) => taskWith(task, services))
        )
    }))
})
