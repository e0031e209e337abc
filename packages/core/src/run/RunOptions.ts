/**
 * Options common to all runs, whatever their program.
 *
 * @example
 * Rl.run({ model, dataset, lora: { rank: 8 }, run: { iterations: 50, saveEvery: 10, seed: 1 } })
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ChatModel } from "../catalog/ChatModel.ts"
import type { Evaluator } from "../evaluate/Evaluator.ts"
import type { JsonObject } from "../records/Json.ts"
import type { Launch } from "../records/Launch.ts"
import type { ProcessUse } from "../records/RunRecord.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Setting from "../settings/Setting.ts"
import * as Caps from "./spending/Caps.ts"

/** The LoRA adapter to train. */
export const LoraSettings = Schema.Struct({
  /** Rank of the adapter. Default: 32 dimensions. */
  rank: Setting.int({ least: 1, default: 32, unit: "dimensions", help: "Rank of the adapter", identity: true }),
  /** Adapt the feed-forward layers. Default: true. */
  trainMlp: Setting.toggle({ default: true, help: "Adapt the feed-forward layers", identity: true }),
  /** Adapt the attention layers. Default: true. */
  trainAttn: Setting.toggle({ default: true, help: "Adapt the attention layers", identity: true }),
  /** Adapt the output layer. Default: true. */
  trainUnembed: Setting.toggle({ default: true, help: "Adapt the output layer", identity: true })
}).annotate({ title: "Adapter" })
export interface LoraSettings extends Schema.Codec.Encoded<typeof LoraSettings> {}

/** The run's length, when it saves and evaluates, and its spending limits. */
export const RunSettings = Schema.Struct({
  /** Determines the adapter's initial weights, the order of the data and every sample. Default: 0. */
  seed: Setting.int({
    least: 0,
    default: 0,
    help: "Determines the adapter's initial weights, the order of the data and every sample",
    identity: true
  }),
  /** Number of iterations; 0 only evaluates. Unless given, as many as the data allow. */
  iterations: Setting.int({
    least: 0,
    unit: "iterations",
    help: "Number of iterations; 0 only evaluates. Unless given, as many as the data allow"
  }),
  /** Iterations between checkpoints; 0 saves only at the end. Default: 20 iterations. */
  saveEvery: Setting.int({
    least: 0,
    default: 20,
    unit: "iterations",
    help: "Iterations between checkpoints; 0 saves only at the end"
  }),
  /** How long the backend keeps checkpoints; forever unless given. */
  saveTtl: Setting.duration({ help: "How long the backend keeps checkpoints; forever unless given" }),
  /** Iterations between rolling checkpoints, which hold only the resumable state and expire soon; 0 for none. Default: 0 iterations. */
  rollingSaveEvery: Setting.int({
    least: 0,
    default: 0,
    unit: "iterations",
    help: "Iterations between rolling checkpoints, which hold only the resumable state and expire soon; 0 for none"
  }),
  /** How long the backend keeps rolling checkpoints. Default: 2 hours. */
  rollingSaveTtl: Setting.duration({ default: "2 hours", help: "How long the backend keeps rolling checkpoints" }),
  /** Iterations between evaluations, the first before training and the last after; 0 for none. Default: 20 iterations. */
  evalEvery: Setting.int({
    least: 0,
    default: 20,
    unit: "iterations",
    help: "Iterations between evaluations, the first before training and the last after; 0 for none"
  }),
  /** Number of evaluations in a row without improvement after which the run ends; 0 for no such end. Default: 0 evaluations. */
  patience: Setting.int({
    least: 0,
    default: 0,
    unit: "evaluations",
    help: "Number of evaluations in a row without improvement after which the run ends; 0 for no such end"
  }),
  ...Caps.CapSettings.fields,
  /** How long an interruption waits for an update or a checkpoint in progress. Default: 5 minutes. */
  interruptTimeout: Setting.duration({
    default: "5 minutes",
    help: "How long an interruption waits for an update or a checkpoint in progress"
  })
}).annotate({ title: "Checkpoints and limits" })
export interface RunSettings extends Schema.Codec.Encoded<typeof RunSettings> {}

/** The settings of every run. */
export const Settings = Schema.Struct({
  run: Setting.group(RunSettings),
  /** Checkpoint whose weights training starts from, with a new optimizer; the base model unless given. */
  loadCheckpointPath: Setting.checkpoint({
    weights: "state",
    help: "Checkpoint whose weights training starts from, with a new optimizer; the base model unless given"
  }),
  lora: Setting.group(LoraSettings, { rank: "loraRank" })
})

/** The options of a run: its model, adapter, length and limits. */
export interface RunOptions<out EE = never, out ER = never> {
  /** The base model with its tokenizer and renderer, as returned by `ChatModel.resolve`. */
  readonly model: ChatModel
  /** The adapter's rank, default 32, and the layers it adapts, default all. */
  readonly lora?: LoraSettings
  /**
   * The path of initial weights, such as `Finished.checkpoint` of another run; the optimizer's state starts fresh. Default: the base model.
   */
  readonly loadCheckpointPath?: string
  /** The seed, the number of iterations, intervals for saving and evaluating, spending limits, and evaluators. */
  readonly run?: RunSettings & { readonly evaluators?: ReadonlyArray<Evaluator<EE, ER>> }
}

/** The options with every default filled in. */
export interface Resolved {
  readonly lora: typeof LoraSettings.Type
  readonly run: typeof RunSettings.Type
}

/** Requires unique evaluator names, because evaluations are recorded and resumed by name. */
const differentNames: Check.Requirement<ReadonlyArray<string>> = {
  expected: "evaluators of different names",
  accepts: (names) => new Set(names).size === names.length
}

/** Fills in the defaults. Fails with the first invalid option. */
export const resolve = Effect.fnUntraced(function*<EE, ER>(
  { lora = {}, model, run = {} }: RunOptions<EE, ER>
): Effect.fn.Return<Resolved, InvalidOption> {
  const { evaluators = [], ...settings } = run
  const resolved: Resolved = {
    lora: yield* Setting.decode(LoraSettings, lora, "lora"),
    run: yield* Setting.decode(RunSettings, settings, "run")
  }
  const [least, most] = model.capabilities.loraRank
  yield* Check.all(
    Check.option("lora.rank", resolved.lora.rank, Check.whole(least, most)),
    Check.option("run.evaluators", evaluators.map(({ name }) => name), differentNames)
  )
  return resolved
})

/**
 * Additional values that must be equal for a run to resume; none by default. A recipe provides those of its settings that are marked as
 * `identity`.
 */
export const Identity = Context.Reference<JsonObject>("@effect-rl/core/run/RunOptions/Identity", {
  defaultValue: () => ({})
})

/** How the run was started, for its record; undefined by default. It does not affect the run. */
export const Launched = Context.Reference<Launch | undefined>("@effect-rl/core/run/RunOptions/Launched", {
  defaultValue: () => undefined
})

/** Measures what the process used since the last measurement, for the records of iterations; by default nothing is measured. */
export const ProcessMeter = Context.Reference<Effect.Effect<ProcessUse | undefined>>(
  "@effect-rl/core/run/RunOptions/ProcessMeter",
  { defaultValue: () => Effect.undefined }
)

/** A hash of the module that defines the task; undefined by default. A resumed run warns if the hash has changed. */
export const Code = Context.Reference<string | undefined>("@effect-rl/core/run/RunOptions/Code", {
  defaultValue: () => undefined
})

/** The options of every program that must be equal for a run to resume. */
export const identity = <EE, ER>(
  { loadCheckpointPath, model }: RunOptions<EE, ER>,
  { lora, run }: Resolved
): JsonObject => ({
  model: model.name,
  renderer: model.renderer.name,
  tokenizer: model.tokenizer.fingerprint,
  loss_reduction: model.capabilities.lossReduction,
  lora: Setting.identity(LoraSettings, lora),
  load_checkpoint_path: loadCheckpointPath ?? null,
  ...Setting.identity(RunSettings, run)
})
