/** The three stages of the recipe rlhf, on seeds that were not used to choose its settings. */
import { ChatModel, RunRecord, RunStore, Tinker } from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import type { Proportion } from "@effect-rl/core/evaluation"
import { type Pipeline, Recipes } from "@effect-rl/recipes"
import { Effect, Layer, Stream } from "effect"
import * as Report from "../../Report.ts"
import type * as Kept from "../Kept.ts"

const seeds = [3, 4, 5]

interface Trained {
  readonly scores: ReadonlyArray<Proportion.Proportion>
  readonly checkpoint: Pipeline.Checkpoint
}

type Of = (stage: string) => Pipeline.Checkpoint

/** The approximate number of evaluations in a stage after its first iteration. They do not affect training. */
const evaluations = 4

const train = Effect.fnUntraced(
  function*<E, R>({ name, recipe, settings }: Pipeline.Stage<E, R>, of: Of, changed: object = {}) {
    const given: Readonly<Record<string, unknown>> = settings(of)
    const evalEvery = Math.max(1, Math.round(Number(given["iterations"]) / evaluations))
    const { build, model } = yield* recipe.configure({ ...given, evalEvery, ...changed })
    const task = yield* build(yield* ChatModel.resolve(model))
    const records = yield* Stream.runCollect(task.run)
    const scores = records.filter(RunRecord.guards.Evaluated).flatMap(({ score }) => score ?? [])
    const saved = records.findLast(RunRecord.guards.Saved)
    if (saved === undefined || saved.samplerPath === null) return yield* Effect.die(`the stage ${name} was not saved`)
    const trained: Trained = { scores, checkpoint: { statePath: saved.statePath, samplerPath: saved.samplerPath } }
    Report.progress(`${name}: ${scores.map(({ value }) => value.toFixed(3)).join(" ")}`)
    return trained
  },
  Effect.provide(RunStore.RunStore.layerMemory, { local: true })
)

/** A judge that answers B instead of A, and A instead of B. */
const contrary = (client: SamplingClient.SamplingClient, swap: ReadonlyMap<number, number>) => ({
  ...client,
  sample: (request: Parameters<typeof client.sample>[0]) =>
    Effect.map(client.sample(request), ({ sequences, ...response }) => ({
      ...response,
      sequences: sequences.map((sequence) => ({
        ...sequence,
        tokens: sequence.tokens.map((token) => swap.get(token) ?? token)
      }))
    }))
})

/** A backend that reverses the verdicts of this checkpoint. */
const withContraryJudge = (judge: string, model: ChatModel.ChatModel) =>
  Layer.effect(
    Tinker.Tinker,
    Effect.map(Tinker.Tinker, (tinker) => {
      const [[a = 0], [b = 0]] = [model.tokenizer.encode("A"), model.tokenizer.encode("B")]
      const swap = new Map([[a, b], [b, a]])
      return Tinker.Tinker.of({
        ...tinker,
        createSamplingClient: (from) =>
          Effect.map(
            tinker.createSamplingClient(from),
            (client) => "modelPath" in from && from.modelPath === judge ? contrary(client, swap) : client
          )
      })
    })
  )

interface Stages {
  readonly measured: ReadonlyMap<string, Trained>
  readonly control: ReadonlyMap<string, Trained>
}

const still = { learningRate: 1e-12 }

/** All stages with one seed. The controls of the first two have a learning rate close to 0; that of the third has a reversed judge. */
const trainAll = Effect.fnUntraced(function*(seed: number) {
  const { model, stages } = yield* Recipes.rlhf.configure({ seed })
  const measured = new Map<string, Trained>()
  const control = new Map<string, Trained>()
  const of: Of = (stage) => measured.get(stage)?.checkpoint ?? { statePath: stage, samplerPath: stage }
  const chat = yield* ChatModel.resolve(model)
  for (const stage of stages) {
    measured.set(stage.name, yield* train(stage, of))
    const controlled = stage.name === "preference-rl"
      ? train(stage, of).pipe(
        Effect.provide(withContraryJudge(of("preference-model").samplerPath, chat), { local: true })
      )
      : train(stage, of, still)
    control.set(stage.name, yield* controlled)
  }
  const all: Stages = { measured, control }
  return all
})

/** The share of correct answers to 512 sums, or of correct verdicts on 256 comparisons. */
const outcomeOf = (stage: string, trained: ReadonlyMap<string, Trained>): Kept.Outcome => {
  const shares = (trained.get(stage)?.scores ?? []).map(({ value }) => value)
  const trials = stage === "preference-model" ? 256 : 512
  return {
    curve: shares,
    before: { value: shares.at(0) ?? NaN, trials },
    after: { value: shares.at(-1) ?? NaN, trials },
    besides: {}
  }
}

export const figure = Effect.map(
  Effect.forEach(seeds, (seed) => Effect.map(Effect.cached(trainAll(seed)), (stages) => [seed, stages] as const)),
  (all) => {
    const stages = new Map(all)
    const of = (seed: number) => stages.get(seed) ?? Effect.die(`seed ${seed}`)
    return {
      name: "rlhf",
      title: "Reinforcement learning from preferences in three stages",
      seeds,
      value: "share that is right, by evaluation",
      score: "right answers; of the second stage, right verdicts",
      control: "learning rate 10⁻¹²; third: judge turned around",
      rows: ["supervised", "preference-model", "preference-rl"].map((title) => ({
        title,
        measure: (seed: number) => Effect.map(of(seed), ({ measured }) => outcomeOf(title, measured)),
        control: (seed: number) => Effect.map(of(seed), ({ control }) => outcomeOf(title, control))
      }))
    }
  }
)
