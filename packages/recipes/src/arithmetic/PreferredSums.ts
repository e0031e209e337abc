/** Recipes in which a small model learns which of two answers to a sum is better, and to give better answers. */
import {
  type ChatModel,
  Dpo,
  type Evaluator,
  Message,
  MessagePolicy,
  PairwisePreferenceGroupBuilder,
  Preferences,
  Setting,
  SupervisedDataset,
  Tinker,
  type TinkerError
} from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import { type Judge, PreferenceModel, Seed } from "@effect-rl/core/environments"
import { PreferenceEvaluator, Proportion } from "@effect-rl/core/evaluation"
import { BatchSettings, PairLoss, RunOptions } from "@effect-rl/core/program"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as CommonSettings from "../CommonSettings.ts"
import * as ExampleSettings from "../ExampleSettings.ts"
import * as MathEnv from "../math/MathEnv.ts"
import * as Pipeline from "../Pipeline.ts"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as Sums from "./Sums.ts"
import * as SupervisedSums from "./SupervisedSums.ts"
import * as WorkedSums from "./WorkedSums.ts"

/**
 * Direct preference optimization on right and wrong answers. Evaluates held-out preferences, and how often the model's own answers are
 * right.
 */
export const dpo = Recipe.make({
  name: "dpo",
  description:
    "Learns to prefer right answers; evaluated on 256 held-out preferences and on its own answers to 512 held-out problems",
  settings: Schema.Struct({
    ...ExampleSettings.fields({
      model: "effect-rl/tiny-64",
      iterations: 40,
      batchSize: 32,
      learningRate: 3e-4,
      maxTokens: 40,
      evalEvery: 10
    }),
    /** The loss of a pair: DPO's sigmoid or a variant; orpo and simpo need no reference model. Default: sigmoid. */
    loss: Setting.choice({
      choices: PairLoss.names,
      default: "sigmoid",
      help: "The loss of a pair: DPO's sigmoid or a variant; orpo and simpo need no reference model"
    }),
    /** The loss's beta: the larger it is, the closer the model stays to the reference (0.1 unless given, 2 for simpo). */
    dpoBeta: Setting.number({
      above: 0,
      help:
        "The loss's beta: the larger it is, the closer the model stays to the reference (0.1 unless given, 2 for simpo)"
    }),
    /** SimPO's target margin between the answers, after scaling by beta (0.5 unless given). */
    simpoGamma: Setting.number({
      least: 0,
      help: "SimPO's target margin between the answers, after scaling by beta (0.5 unless given)"
    })
  }),
  build: (model, settings) => {
    const { dpoBeta: beta, loss, maxTokens, simpoGamma: gamma } = settings
    const preferences = WorkedSums.preferences()
    const dataset = Preferences.pairs(preferences, { model, ...ExampleSettings.batches(preferences, settings) })
    const heldOut = Preferences.pairs(WorkedSums.heldOutPreferences(), { model, batchSize: 64 })
    const evaluators: ReadonlyArray<Evaluator.Evaluator<SupervisedSums.Error>> = [
      PreferenceEvaluator.make({ name: "held_out_preferences", dataset: heldOut }),
      Sums.evaluator(model, maxTokens)
    ]
    const options = CommonSettings.options(model, settings)
    const given = {
      ...options,
      dataset,
      loss,
      ...(beta === undefined ? {} : { beta }),
      ...(gamma === undefined ? {} : { gamma }),
      run: { ...options.run, evaluators }
    }
    return SupervisedSums.task(given, {
      run: Dpo.run(given),
      check: Dpo.validate(given),
      examples: {
        length: dataset.length,
        batch: (index, seed) => Effect.map(dataset.batch(index, seed), Preferences.interleaved)
      },
      readers: PairLoss.byName(loss).reference ? 1 : 0,
      maxTokens
    })
  }
})

/** A comparison and which of its completions is right. */
interface Compared {
  readonly comparison: PreferenceModel.Comparison
  readonly verdict: "A" | "B"
}

/** Puts the right answer first or second at random. The order depends only on the index. */
const compared = ({ chosen, rejected }: WorkedSums.Preferred, index: number): Compared => {
  const prompt = chosen.slice(0, -1)
  const [right, wrong] = [chosen.slice(-1), rejected.slice(-1)]
  return Seed.derive(0, "ComparedSums", index) % 2 === 0
    ? { comparison: { prompt, completionA: right, completionB: wrong }, verdict: "A" }
    : { comparison: { prompt, completionA: wrong, completionB: right }, verdict: "B" }
}

type Compare = PreferenceModel.PreferenceModel<TinkerError.TinkerError | Renderer.RendererError>

/** The verdict of a trained preference model at temperature 0. Any answer other than the two letters is a tie. */
const trained = (model: ChatModel.ChatModel, client: SamplingClient.SamplingClient): Compare => {
  const policy = MessagePolicy.fromSamplingClient(client, { model, maxTokens: 2, temperature: 0, seed: 0 })
  const { compare } = PreferenceModel.fromMessagePolicy(policy)
  return {
    compare: (comparison, key) => Effect.catchTag(compare(comparison, key), "JudgeError", () => Effect.succeed(0))
  }
}

/** An evaluator that measures how often the verdict on held-out comparisons is right. */
const comparisonsEvaluator = (model: ChatModel.ChatModel): Evaluator.Evaluator<SupervisedSums.Error> => {
  const name = "held_out_comparisons"
  const comparisons = WorkedSums.heldOutPreferences().map(compared)
  return {
    name,
    evaluate: Effect.fnUntraced(function*(weights) {
      const { client } = yield* weights.sampler
      const { compare } = trained(model, client)
      const verdicts = yield* Effect.forEach(
        comparisons,
        ({ comparison, verdict }, index) =>
          Effect.map(compare(comparison, String(index)), (score) => score === (verdict === "A" ? -1 : 1)),
        { concurrency: "unbounded" }
      )
      const score = Proportion.wilson(verdicts.filter(Boolean).length, verdicts.length)
      return {
        name,
        metrics: { [`${name}/episodes`]: verdicts.length, [`${name}/accuracy`]: score.value },
        score,
        groups: []
      }
    }, Effect.scoped)
  }
}

/**
 * Trains a preference model that says which of two answers to a sum is better.
 *
 * @see tinker-cookbook `recipes/preference/rlhf/rlhf_pipeline.py: train_rm`
 */
export const preferenceModel = Recipe.make({
  name: "preference-model",
  description: "Learns to say which of two answers to a sum is right; evaluated on 256 held-out comparisons",
  settings: Schema.Struct(ExampleSettings.fields({
    model: "effect-rl/tiny-64",
    iterations: 120,
    batchSize: 32,
    learningRate: 2e-3,
    // At a constant rate, some runs only learn to always answer the same letter.
    schedule: "linear",
    maxTokens: 40,
    evalEvery: 30
  })),
  build: (model, settings) => {
    const examples = WorkedSums.preferences().map(compared).map(({ comparison, verdict }) => [
      ...PreferenceModel.conversation(comparison),
      Message.assistant(verdict)
    ])
    const batches = ExampleSettings.batches(examples, settings)
    const dataset = SupervisedDataset.conversations(examples, { model, trainOn: "last_assistant_message", ...batches })
    return SupervisedSums.imitating(model, settings, dataset, [comparisonsEvaluator(model)])
  }
})

const isRight = ({ prompt }: PreferenceModel.Comparison, completion: ReadonlyArray<Message.Message>) => {
  const [asked, said] = [prompt, completion].map((messages) => messages.map(Message.text).join("\n"))
  return Option.match(Sums.answerTo(asked ?? ""), {
    onNone: () => Effect.succeed(false),
    onSome: (sum) => MathEnv.checkAnswer(sum)(said ?? "")
  })
}

/** Prefers a right answer to a wrong answer. All other pairs are ties. */
const perfect: Compare = {
  compare: (comparison) =>
    Effect.zipWith(
      isRight(comparison, comparison.completionA),
      isRight(comparison, comparison.completionB),
      (isRightA, isRightB) => Number(isRightB) - Number(isRightA)
    )
}

/** The preference model of a checkpoint, or the perfect model if none is given. */
const preferenceModelOf = Effect.fnUntraced(function*(model: ChatModel.ChatModel, modelPath: string | undefined) {
  if (modelPath === undefined) return perfect
  return trained(model, yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ modelPath })))
})

/**
 * Reinforcement learning with rewards from a preference model that compares a group's answers in pairs.
 *
 * @see tinker-cookbook `recipes/preference/rlhf/rlhf_pipeline.py: train_rl`
 */
export const preferenceRl = Recipe.make({
  name: "preference-rl",
  description:
    "Reinforcement learning from a preference model, on sums; evaluated on its own answers to 512 held-out problems",
  settings: Schema.Struct({
    ...TrainingSettings.fields({
      model: "effect-rl/tiny-64",
      iterations: 15,
      groupsPerBatch: 32,
      groupSize: 4,
      learningRate: 1e-3,
      maxTokens: 40,
      evalEvery: 15
    }),
    /**
     * Checkpoint of a preference model with the same base model, as `train preference-model` saves it; unless given, a perfect one, which
     * prefers right answers.
     */
    preferenceModel: Setting.checkpoint({
      weights: "sampler",
      help: "Checkpoint of a preference model with the same base model, as `train preference-model` saves it; " +
        "unless given, a perfect one, which prefers right answers"
    })
  }),
  build: Effect.fnUntraced(function*(model, settings) {
    const { groupSize: size, groupsPerBatch, iterations: length, maxTokens, preferenceModel } = settings
    const options = TrainingSettings.options(model, settings)
    const given = { ...options, run: { ...options.run, evaluators: [Sums.evaluator(model, maxTokens)] } }
    // The answers to a sum are compared with each other; the right sum is not part of the comparison.
    const judged = (preferences: Compare) => ({
      length,
      fingerprint: `judged-addition-below-100/${groupsPerBatch}x${size}/${preferenceModel ?? "perfect"}`,
      batch: (index: number, seed: number) =>
        Effect.sync(() =>
          Sums.boxed.pairs(index, groupsPerBatch, seed).map((pair, group) =>
            PairwisePreferenceGroupBuilder.make({
              key: `${group}/${pair.join("+")}`,
              size,
              model,
              messages: [WorkedSums.asked(pair)],
              preferenceModel: preferences
            })
          )
        )
    })
    const sums = Sums.dataset(Sums.boxed, { ...settings, model, batches: length })
    const task = yield* Recipe.task<Judge.JudgeError | SupervisedSums.Error, never>({
      options: { ...given, dataset: sums },
      trained: Effect.map(preferenceModelOf(model, preferenceModel), judged),
      answerTo: Sums.answerTo
    })
    // Each answer is read once in every comparison that includes it.
    return { ...task, readers: preferenceModel === undefined ? 0 : 2 * (Math.min(size, 4) - 1) }
  })
})

/**
 * Reinforcement learning from human feedback in three stages: supervised training, a preference model, and
 * reinforcement learning from its verdicts. The first stage is short, so the model learns most in the third, which
 * never sees whether an answer is right. Each stage is evaluated on held-out problems before and after.
 *
 * @see tinker-cookbook `recipes/preference/rlhf/rlhf_pipeline.py`
 */
export const rlhf = Pipeline.make({
  name: "rlhf",
  description:
    "Three stages on sums: imitates worked examples, trains a preference model on right and wrong answers, learns from its verdicts",
  settings: Schema.Struct({
    /** Base model, of the policy and of the preference model. Default: effect-rl/tiny-64. */
    model: Setting.text({
      default: "effect-rl/tiny-64",
      help: "Base model, of the policy and of the preference model"
    }),
    seed: RunOptions.RunSettings.fields.seed,
    supervisedIterations: Pipeline.iterations(5, "Length of the first stage, which imitates worked sums"),
    preferenceIterations: Pipeline.iterations(
      120,
      "Length of the second stage, which learns to tell right answers from wrong ones"
    ),
    rlIterations: Pipeline.iterations(8, "Length of the third stage, whose answers the preference model compares"),
    groupsPerBatch: Setting.withHelp(
      Setting.withDefault(BatchSettings.BatchSettings.fields.groupsPerBatch, 32),
      "Problems in each iteration of the third stage"
    ),
    /** Answers to each problem, compared in pairs. Default: 4 attempts. */
    groupSize: Setting.int({
      default: 4,
      least: 2,
      unit: "attempts",
      help: "Answers to each problem, compared in pairs"
    }),
    /**
     * Weight of the KL penalty that keeps the third stage near the first stage's policy; at 0 the policy exploits the preference model.
     * Default: 0.2.
     */
    klCoefficient: Setting.number({
      least: 0,
      default: 0.2,
      help:
        "Weight of the KL penalty that keeps the third stage near the first stage's policy; at 0 the policy exploits the preference model"
    }),
    /** Longest answer. Default: 40 tokens. */
    maxTokens: Setting.int({ default: 40, least: 1, unit: "tokens", help: "Longest answer" }),
    /** Iterations between checkpoints of a stage. Default: 5 iterations. */
    saveEvery: Setting.int({
      default: 5,
      least: 0,
      unit: "iterations",
      help: "Iterations between checkpoints of a stage"
    })
  }),
  stages: (settings): ReadonlyArray<Pipeline.Stage<SupervisedSums.Error | Judge.JudgeError>> => {
    const { groupSize, groupsPerBatch, maxTokens, model, saveEvery, seed } = settings
    const lasting = (iterations: number) => ({ model, seed, maxTokens, saveEvery, iterations, evalEvery: iterations })
    return [
      { name: "supervised", recipe: SupervisedSums.supervised, settings: () => lasting(settings.supervisedIterations) },
      { name: "preference-model", recipe: preferenceModel, settings: () => lasting(settings.preferenceIterations) },
      {
        name: "preference-rl",
        recipe: preferenceRl,
        settings: (of) => ({
          ...lasting(settings.rlIterations),
          schedule: "linear",
          groupsPerBatch,
          groupSize,
          klCoefficient: settings.klCoefficient,
          klReference: of("supervised").samplerPath,
          loadCheckpointPath: of("supervised").statePath,
          preferenceModel: of("preference-model").samplerPath
        })
      }
    ]
  }
})
