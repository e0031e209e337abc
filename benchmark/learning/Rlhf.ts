/** Whether each stage of the recipe rlhf improves on the last, on three seeds, and what becomes of it when the judge is wrong. */
import { ChatModel, type Proportion, RunRecord, RunStore, type SamplingClient, Tinker } from "@effect-rl/core"
import { type Pipeline, Recipes } from "@effect-rl/recipes"
import { Effect, Layer, Stream } from "effect"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"

const seeds = [0, 1, 2]

/** The first and the last evaluation of a stage, and what it saved. */
interface Trained {
  readonly before: Proportion.Proportion
  readonly after: Proportion.Proportion
  readonly checkpoint: Pipeline.Checkpoint
}

type Of = (stage: string) => Pipeline.Checkpoint

const train = Effect.fnUntraced(function*<E, R>({ name, recipe, settings }: Pipeline.Stage<E, R>, of: Of) {
  const { build, model } = yield* recipe.configure(settings(of))
  const task = yield* build(yield* ChatModel.resolve(model))
  const records = yield* Stream.runCollect(task.run)
  const scores = records.filter(RunRecord.guards.Evaluated).flatMap(({ score }) => score ?? [])
  const [before, after] = [scores.at(0), scores.at(-1)]
  const saved = records.findLast(RunRecord.guards.Saved)
  if (before === undefined || after === undefined || saved === undefined || saved.samplerPath === null) {
    return yield* Effect.die(`the stage ${name} was not measured or not saved`)
  }
  const trained: Trained = { before, after, checkpoint: { statePath: saved.statePath, samplerPath: saved.samplerPath } }
  return trained
}, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))

/** Says B where the judge said A, and A where it said B. */
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

/** A backend whose clients of this checkpoint are contrary. */
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

const row = (title: string, seed: number, { after, before }: Trained) => [
  `${title}, seed ${seed}`,
  Report.interval(before),
  Report.interval(after)
]

const run = Effect.fnUntraced(function*(seed: number) {
  const { model, stages } = yield* Recipes.rlhf.configure({ seed })
  const done = new Map<string, Trained>()
  const of: Of = (stage) => done.get(stage)?.checkpoint ?? { statePath: stage, samplerPath: stage }
  for (const stage of stages) {
    const trained = yield* train(stage, of)
    Report.progress(
      `seed ${seed}, ${stage.name}: ${Report.interval(trained.before)} to ${Report.interval(trained.after)}`
    )
    done.set(stage.name, trained)
  }
  const last = stages.at(-1) ?? (yield* Effect.die("there are no stages"))
  const judge = withContraryJudge(of("preference-model").samplerPath, yield* ChatModel.resolve(model))
  const control = yield* train(last, of).pipe(Effect.provide(judge, { local: true }))
  Report.progress(
    `seed ${seed}, contrary judge: ${Report.interval(control.before)} to ${Report.interval(control.after)}`
  )
  return { seed, done, control }
})

const program = Effect.gen(function*() {
  const outcomes = yield* Effect.forEach(seeds, run)
  const finals = outcomes.map(({ done }) => done.get("preference-rl"))
  const improves = finals.every((final) => final !== undefined && final.after.low > final.before.high)
  Report.publish("rlhf", "Does each stage of RLHF improve on the last?", [
    `The recipe rlhf on tiny-64 with its defaults: five iterations imitate worked sums, a preference model learns from right and wrong
answers, and eight iterations learn from its comparisons, held near the first stage by a KL penalty. Held-out scores with Wilson's
interval: of the first and the third stage, right answers to 512 sums at temperature 1; of the second, right verdicts on 256
comparisons. The control is the third stage with a judge whose verdicts are turned around.`,
    Report.table(
      ["", "before [95 %]", "after [95 %]"],
      outcomes.flatMap(({ control, done, seed }) => [
        ...[...done].map(([stage, trained]) => row(stage, seed, trained)),
        row("preference-rl, contrary judge", seed, control)
      ])
    ),
    [
      `- the third stage's interval lies above the first's on every seed: **${improves ? "yes" : "no"}**`,
      `- a contrary judge makes answers worse on every seed: **${
        outcomes.every(({ control: { after, before } }) => after.value < before.value) ? "yes" : "no"
      }**`
    ].join("\n")
  ])
})

OnEngine.runMain(program)
