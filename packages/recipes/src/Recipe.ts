/** Recipes: tasks with everything needed to train on them. A recipe does not depend on a backend. */
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
import { CreditText, type Json } from "@effect-rl/core/records"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Function from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import * as AlgorithmSettings from "./AlgorithmSettings.ts"
import * as CreditSettings from "./CreditSettings.ts"
import * as OwnOptions from "./OwnOptions.ts"
import * as TrainingSettings from "./TrainingSettings.ts"

/** The training data of a task without rollouts. */
export interface Examples<out E = never, out R = never> {
  readonly length: number
  readonly batch: (
    index: number,
    seed: number
  ) => Effect.Effect<ReadonlyArray<Datum.Datum<"WeightedTokens">>, E, R>
}

/** Limits of an iteration that samples more batches to replace groups without a training signal. */
export interface Replacing {
  /** The most batches that the iteration samples. */
  readonly batches: number
  /** The most groups that the iteration trains on. */
  readonly trained: number
}

/** A recipe's task, built for one model. */
export interface Task<out E = never, out R = never> {
  readonly model: ChatModel.ChatModel
  /** Trains to the end and emits the run's records. Resumes the run if the store already contains one. */
  readonly run: Stream.Stream<RunRecord.RunRecord, E, R | Tinker.Tinker | RunStore.RunStore>
  /** Fails with the first invalid option. */
  readonly check: Effect.Effect<void, InvalidOption.InvalidOption>
  /** The groups to roll out, for training, plans and play. If the task has `examples`, the groups are only for play. */
  readonly dataset: RLDataset.RLDataset<E, R>
  /** The groups that training rolls out, if they differ from those of `dataset`. */
  readonly trained?: Effect.Effect<RLDataset.RLDataset<E, R>, E, R | Tinker.Tinker | Scope.Scope>
  readonly examples?: Examples<E, R>
  /** Limits for iterations that sample more batches; absent or undefined if every iteration samples exactly one batch. */
  readonly replacing?: Effect.Effect<Replacing | undefined, InvalidOption.InvalidOption>
  /** The number of other models that score the training data, such as a reference or a teacher. Default: 0. */
  readonly readers?: number
  /** The identity of the credit; absent if the task is not trained on rewards. */
  readonly credit?: Json.JsonObject
  readonly evaluators: ReadonlyArray<Evaluator.Evaluator<E, R>>
  readonly maxTokens: number
  readonly settings: typeof RunOptions.RunSettings.Type
  /** Most turns of an episode. */
  readonly turns: number
  /** The answer to the problem in a prompt. Scripted policies use it. */
  readonly answerTo: (prompt: string) => Option.Option<string>
  /**
   * The reward that every answer of `answerTo` reaches. Default: 1, because the answers are right. Set it if right
   * answers can earn less, for example to 0 in a game that ends in a draw when both sides play well.
   */
  readonly referenceReward?: number
  /** An answer that does nothing, in the format that the task asks for. Default: the empty text. */
  readonly emptyAnswer?: string
  /** Whether there are no problems to train on, so loading a batch of the dataset fails. Default: false. */
  readonly evaluationOnly?: boolean
}

export interface TaskOptions<E, R> {
  readonly options:
    & Rl.Options<E, R, E, R, never, never, E | InvalidOption.InvalidOption>
    & Required<Pick<Rl.Options, "sampling">>
  /** The groups that training rolls out, if they differ from those of the options' dataset. */
  readonly trained?: Task<E, R>["trained"]
  /** Most turns of an episode. Default: 1. */
  readonly turns?: number
  readonly answerTo?: Task["answerTo"]
  readonly referenceReward?: number
  readonly emptyAnswer?: string
  readonly evaluationOnly?: boolean
}

const replacing = <E, R>(options: TaskOptions<E, R>["options"]) =>
  Effect.map(
    RlOptions.resolve(options),
    ({ rollout: { dynamic: { maxBatches, minInformative } } }): Replacing | undefined =>
      minInformative > 0 ? { batches: maxBatches, trained: minInformative } : undefined
  )

/**
 * Makes a credit from the credit that the recipe's settings chose. A credit that wraps the chosen one has its identity in its
 * configuration.
 */
export type CreditChange = <E>(chosen: Credit.Credit<E>) => Credit.Credit<E | InvalidOption.InvalidOption>

const Change = Context.Reference<CreditChange>("@effect-rl/recipes/Recipe/CreditChange", {
  defaultValue: () => Function.identity
})

const changed = <E, R>({ update, ...options }: TaskOptions<E, R>["options"], change: CreditChange) => ({
  ...options,
  update: { ...update, credit: change(update?.credit ?? Credit.groupRelative(Advantage.centered)) }
})

/** The task of a reinforcement learning run. Without `answerTo`, the task has no known answers. Fails if an option is invalid. */
export const task = Effect.fnUntraced(
  function*<E, R>(
    { answerTo, emptyAnswer, evaluationOnly, options: given, referenceReward, trained, turns = 1 }: TaskOptions<E, R>
  ) {
    const options = changed(given, yield* Change)
    const { run } = yield* RunOptions.resolve(options)
    const { maxTokens } = yield* Setting.decode(SamplingSettings.SamplingSettings, options.sampling, "sampling")
    const task: Task<E | Rl.Error, R> = {
      model: options.model,
      run: trained === undefined
        ? Rl.run(options)
        : Stream.unwrap(Effect.map(trained, (dataset) => Rl.run({ ...options, dataset }))),
      check: Rl.validate(options),
      dataset: options.dataset,
      ...(trained !== undefined && { trained }),
      replacing: replacing(options),
      credit: Credit.identityOf(options.update.credit),
      evaluators: options.run?.evaluators ?? [],
      maxTokens,
      settings: run,
      turns,
      answerTo: answerTo ?? (() => Option.none()),
      ...(referenceReward !== undefined && { referenceReward }),
      ...(emptyAnswer !== undefined && { emptyAnswer }),
      ...(evaluationOnly !== undefined && { evaluationOnly })
    }
    return task
  }
)

/** The settings that every recipe has: the model to train and the seed. */
export interface BaseSettings {
  readonly model: string
  readonly seed: number
}

/** A recipe with its settings decoded. */
export interface Configured<out E, out R> extends BaseSettings {
  readonly build: (model: ChatModel.ChatModel) => Effect.Effect<Task<E, R>, E, R>
}

/** A run of a few minutes on a model of the embedded engine. */
export interface ShortRun {
  /** The results to expect, as text for the user. */
  readonly says: string
  /** Settings that replace the recipe's defaults if no model is named. The settings of `sample` apply too. */
  readonly settings: Readonly<Record<string, unknown>>
}

/** The short run of a recipe whose default model is not in the embedded engine. */
export interface OnEngine extends ShortRun {
  /**
   * The run on machines that have SmolLM2. Its settings override those of the run without SmolLM2. Absent if SmolLM2
   * would learn less.
   */
  readonly withSmolLm2?: ShortRun
}

/** A task with its settings, typed by its own errors and requirements. */
export interface Recipe<out E = never, out R = never> {
  readonly name: string
  readonly description: string
  /** The short run on the embedded engine. Absent if the engine can train the recipe with its defaults. */
  readonly onEngine?: OnEngine
  /** Settings that replace downloaded problems with generated problems. Absent if the recipe downloads nothing. */
  readonly sample?: Readonly<Record<string, unknown>>
  /** Whether the recipe runs code that a model wrote. Commands provide a sandbox only if it does. */
  readonly runsCode?: true
  /** Whether the recipe starts programs through a `Launcher`. Commands provide a launcher only if it does. */
  readonly startsPrograms?: true
  /** The change of credit given to `withCredit`. */
  readonly credit?: CreditChange
  /** The recipe's settings. Each has a default or is optional. Command-line flags and configuration files are derived from them. */
  readonly settings: Setting.Struct
  /** Decodes settings from flags or a configuration file. */
  readonly configure: (given: unknown) => Effect.Effect<Configured<E, R>, InvalidOption.InvalidOption>
}

/** The recipe's own settings that are marked as `identity`. Training settings enter a run's identity through its options. */
const ownIdentity = <S extends Setting.Struct>(settings: S, decoded: S["Type"]) => {
  const own = Object.entries(Setting.identity(settings, decoded)).filter(([name]) =>
    !TrainingSettings.identityNames.has(name)
  )
  return own.length === 0 ? {} : { settings: Object.fromEntries(own) }
}

const creditNames = Struct.keys(CreditSettings.fields)

/** Fails with the first given credit setting. */
const refuseCredit = (given: unknown, credit: string) =>
  OwnOptions.check(`the recipe's own credit ${credit}`, Predicate.isObject(given) ? given : {}, {
    options: creditNames,
    own: []
  })

/** Fails if a credit setting is given, but the task is trained with a credit that does not contain the credit of the settings. */
const checkCredit = (given: unknown, decoded: unknown, { credit }: Pick<Task, "credit">) =>
  Option.match(Option.all([CreditSettings.decode(decoded), Option.fromUndefinedOr(credit)]), {
    onNone: () => Effect.void,
    onSome: ([settings, used]) => {
      const chosen = JSON.stringify(Credit.identityOf(CreditSettings.of(settings)))
      return JSON.stringify(used).includes(chosen) ? Effect.void : refuseCredit(given, CreditText.name(used))
    }
  })

/**
 * Makes a recipe from its settings and a function that builds its task. A run resumes only if all settings marked as `identity` have the
 * same values. `configure` fails if one of the recipe's own settings has the name of a training setting, and the built task if a credit
 * setting is given that its credit does not use.
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
): Recipe<E | BE | InvalidOption.InvalidOption, R | BR> => ({
  ...described,
  settings,
  configure: (given) =>
    Effect.map(
      Effect.tap(
        Effect.andThen(
          TrainingSettings.checkNames(settings),
          Setting.decode(settings, AlgorithmSettings.applied(given, settings))
        ),
        TrainingSettings.check
      ),
      (decoded) => ({
        model: decoded.model,
        seed: decoded.seed,
        build: (model) =>
          Effect.map(Effect.tap(build(model, decoded), (task) => checkCredit(given, decoded, task)), (task) => ({
            ...task,
            run: Stream.provideService(task.run, RunOptions.Identity, ownIdentity(settings, decoded))
          }))
      })
    )
})

/** Stands for the credit that the settings choose. */
const chosen: Credit.Credit = { ...Credit.everyGroup, name: "the chosen credit" }

const identityWith = (change: CreditChange, credit: Credit.Credit) => Credit.identityOf(change(credit))

/** Whether the identity of the changed credit depends on the chosen credit. */
const usesChosen = (change: CreditChange) =>
  JSON.stringify(identityWith(change, chosen)) !== JSON.stringify(identityWith(change, Credit.everyGroup))

/** The end of the description of a recipe whose credit is changed. */
const creditNote = (change: CreditChange) => `. Credit: ${CreditText.name(identityWith(change, chosen))}`

/**
 * The recipe with its credit changed: `change` gets the credit that the settings chose and returns the credit to train with. If that
 * credit's identity does not depend on the chosen credit, the recipe has no credit settings, and `configure` fails if one is given.
 * `configure` also fails if the given recipe has no setting `credit`.
 *
 * @example
 * const fading = Advantage.perToken("fading", ({ group }) => (member, turn) => (group.rewardsG[member] ?? 0) * 0.9 ** turn)
 * export default Recipe.withCredit(Recipes.guessNumber, () => Credit.groupRelative(fading))
 */
export const withCredit = <E, R>(recipe: Recipe<E, R>, change: CreditChange): Recipe<E, R> => {
  const { description, settings: { fields } } = recipe
  const credit = recipe.credit === undefined ? change : Function.flow(recipe.credit, change)
  const isOpen = usesChosen(credit)
  return {
    ...recipe,
    description: (recipe.credit === undefined ? description : description.replace(creditNote(recipe.credit), "")) +
      creditNote(credit),
    settings: isOpen ? recipe.settings : Schema.Struct(Struct.omit(fields, creditNames)),
    credit,
    configure: Effect.fnUntraced(function*(given) {
      if (recipe.credit === undefined && !Object.hasOwn(fields, "credit")) {
        return yield* new InvalidOption.InvalidOption({
          field: "recipe",
          found: recipe.name,
          expected: "one that has the setting credit, as it is trained on rewards"
        })
      }
      if (!isOpen) yield* refuseCredit(given, CreditText.name(identityWith(credit, chosen)))
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
  }
}

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
 * Provides a recipe with services that commands do not provide, such as a database or a simulator. The layer is built
 * once per task and released when the scope of `build` closes; for a command, this is when the command ends.
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
