/** Supervised learning written out by hand: a batch, a pass of cross entropy, an optimizer step. `Supervised.run` does the same. */
import { Loss, SupervisedDataset } from "@effect-rl/core"
import type { Datum } from "@effect-rl/core/backend"
import { Adam, Answers, Nll, Pass, Program, Run, RunOptions } from "@effect-rl/core/program"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as SumsToAnswer from "../arithmetic/SumsToAnswer.ts"
import * as WorkedSum from "../arithmetic/WorkedSum.ts"
import * as CommonSettings from "../CommonSettings.ts"
import * as ExampleSettings from "../ExampleSettings.ts"
import * as Recipe from "../Recipe.ts"

const settings = Schema.Struct(ExampleSettings.fields({
  model: "effect-rl/tiny-64",
  iterations: 20,
  batchSize: 32,
  learningRate: 1e-3,
  maxTokens: 40,
  evalEvery: 20
}))

/** The learning rate falls along a line to 0. */
const iterate = (
  { adam, iterations, learningRate }: Pick<typeof settings.Type, "iterations" | "learningRate"> & {
    readonly adam: typeof Adam.AdamSettings.Type
  },
  data: ReadonlyArray<Datum.Datum<"WeightedTokens">>,
  iteration: number
): Program.Iteration<number> => {
  const rate = learningRate * Math.max(0, 1 - iteration / iterations)
  return {
    _tag: "Iteration",
    updates: Pass.ofArray(data, Loss.crossEntropy).map((pass) => Program.update([pass], Adam.params(adam, rate))),
    cursor: iteration + 1,
    report: (outputs) => {
      const logprobsOf = Answers.logprobs(outputs)
      const logprobs = data.map((datum) => logprobsOf(datum) ?? new Float32Array())
      return { metrics: { "optim/lr": rate, ...Nll.mean(Nll.sums(data, logprobs)) } }
    }
  }
}

/** @see tinker-cookbook `recipes/sl_loop.py` */
export const slLoop = Recipe.make({
  name: "sl-loop",
  description: "The loop of supervised learning written out by hand, on worked sums",
  settings,
  build: (model, settings) => {
    const { iterations, learningRate, maxTokens, seed } = settings
    const examples = WorkedSum.examples()
    const dataset = SupervisedDataset.conversations(examples, { model, ...ExampleSettings.batches(examples, settings) })
    const { run, update: { adam }, ...options } = CommonSettings.options(model, settings)
    const given = { ...options, run: { ...run, evaluators: [SumsToAnswer.evaluator(model, maxTokens)] } }
    const program = {
      name: "sl-loop",
      identity: { dataset: dataset.fingerprint, learning_rate: learningRate },
      cursor: Schema.Int,
      start: 0,
      length: iterations,
      ahead: 1,
      iterations: (from: number) =>
        Stream.range(from, iterations - 1).pipe(
          Stream.mapEffect((iteration) =>
            Effect.map(
              dataset.batch(iteration, seed),
              (data) => iterate({ adam, iterations, learningRate }, data, iteration)
            )
          )
        )
    }
    return SumsToAnswer.task(given, {
      run: Run.stream(program, given),
      check: Effect.asVoid(RunOptions.resolve(given)),
      examples: dataset,
      maxTokens
    })
  }
})
