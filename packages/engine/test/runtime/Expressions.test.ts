import { Loss, PolicyLoss, Tinker } from "@effect-rl/core"
import { Datum, LossGraphPass } from "@effect-rl/core/backend"
import type { TrainingClient } from "@effect-rl/core/backend"
import { LossExpression, LossTerm } from "@effect-rl/core/losses"
import { Pass } from "@effect-rl/core/program"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as TestEngine from "./TestEngine.ts"

const extras = {
  proximalLogprobs: "token",
  alpha: "token",
  observationMask: "token",
  actionTokens: "sequence",
  observationTokens: "sequence"
} as const

type Expression = LossExpression.LossExpression<typeof extras>
type Example = LossExpression.Example<typeof extras>

const withExtras = <X extends LossExpression.Extras>(self: LossExpression.LossExpression<X>): Expression =>
  LossExpression.make(self.name, { extras, equivalent: self.equivalent }, () => self.body)

/** Every loss of the library, by its name in the table of docs/losses.md. */
const losses: ReadonlyArray<readonly [name: string, expression: Expression]> = [
  ["importanceSampling", withExtras(PolicyLoss.importanceSampling)],
  ["ppo", withExtras(PolicyLoss.ppo())],
  ["ppo, dualClip", withExtras(PolicyLoss.ppo({ clipHigh: 1.28, dualClip: 3 }))],
  ["cispo", withExtras(PolicyLoss.cispo())],
  ["dro", withExtras(PolicyLoss.dro())],
  ["gspo", withExtras(PolicyLoss.gspo({ clipLow: 0.8, clipHigh: 1.3 }))],
  ["dppo", withExtras(PolicyLoss.dppo({ deltaHigh: 0.05, deltaLow: 0.05, tau: 0.1 }))],
  ["icePop", withExtras(PolicyLoss.icePop())],
  ["truncated", withExtras(PolicyLoss.truncated({ level: "sequence" }))],
  ["masked", withExtras(PolicyLoss.masked({ level: "token", low: 0.5, high: 2 }))],
  ["opsm", withExtras(PolicyLoss.opsm())],
  ["sapo", withExtras(PolicyLoss.sapo())],
  ["vespo", withExtras(PolicyLoss.vespo())],
  ["decoupled", withExtras(PolicyLoss.decoupled())],
  ["topr", withExtras(PolicyLoss.topr)],
  ["toprToken", withExtras(PolicyLoss.toprToken)],
  ["gmpo", withExtras(PolicyLoss.gmpo())],
  ["withObservations", withExtras(PolicyLoss.withObservations())]
]

const run = <A, E>(pass: Effect.Effect<{ readonly await: Effect.Effect<A, E> }, E>) =>
  Effect.flatMap(pass, (pending) => pending.await)

const drift = (at: number, scale: number) => scale * Math.sin(3 * at + 1)

/** Two texts whose sampling and proximal policies differ from the current policy. */
const examples = Effect.fnUntraced(function*(client: TrainingClient.TrainingClient) {
  const texts = [TestEngine.textDatum(TestEngine.prompt(1, 9)), TestEngine.textDatum(TestEngine.prompt(2, 12))] as const
  const { logprobs } = yield* run(LossGraphPass.twoPass(client, [
    { modelInput: texts[0].modelInput, targetTokens: texts[0].inputs.targetTokens, inputs: {} },
    { modelInput: texts[1].modelInput, targetTokens: texts[1].inputs.targetTokens, inputs: {} }
  ], LossExpression.make("logprobs", {}, ({ logprobs }) => LossTerm.sum(logprobs, LossTerm.exp(logprobs))).graph))
  yield* run(client.optimStep({ learningRate: 0 }))
  const exampleOf = (index: 0 | 1): Example => {
    const { inputs: { targetTokens }, modelInput } = texts[index]
    const current = logprobs[index] ?? new Float32Array()
    const mask = current.map((_, at) => at < 3 ? 0 : 1)
    return {
      ...Datum.policyTokens(modelInput, {
        targetTokens,
        logprobs: current.map((value, at) => mask[at] === 0 ? NaN : value - drift(at, 0.3)),
        advantages: mask.map((value) => value * (index === 0 ? 0.8 : -1.1)),
        mask
      }),
      extras: {
        proximalLogprobs: current.map((value, at) => value - drift(at + 2, 0.2)),
        alpha: mask.map((value) => 0.5 * value),
        observationMask: mask.map((value) => 1 - value),
        actionTokens: 15,
        observationTokens: 6
      }
    }
  }
  return [exampleOf(0), exampleOf(1)] as const
})

const graphData = (data: readonly [Example, Example], expression: Expression) => {
  const one = (example: Example) => ({
    modelInput: example.modelInput,
    targetTokens: example.inputs.targetTokens,
    inputs: LossExpression.values(expression)(example)
  })
  return [one(data[0]), one(data[1])] as const
}

const negated = ({ body, name }: Expression) => LossExpression.make(name, { extras }, () => LossTerm.neg(body))

/** The cells of the table's rows. The cell at index 1 is the loss's name. */
const table = readFileSync(join(import.meta.dirname, "../../../../docs/losses.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.split("|").map((cell) => cell.trim()))

const isYes = (cell: string | undefined) => cell === "yes"

layer(TestEngine.layer(2))((it) => {
  describe("a loss expression on the engine", () => {
    for (const [name, expression] of losses) {
      it.effect(`has the same gradient however it is computed: ${name}`, () =>
        Effect.gen(function*() {
          const tinker = yield* Tinker.Tinker
          const client = yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 4, seed: 3 })
          yield* run(
            client.forwardBackward([TestEngine.textDatum(TestEngine.prompt(5, 12))], {
              kind: "WeightedTokens",
              name: "cross_entropy",
              config: {}
            })
          )
          yield* run(client.optimStep({ learningRate: 1e-2 }))
          const data = yield* examples(client)
          const onePass = client.forwardBackwardGraph
          if (onePass === undefined) return assert.fail("the engine computes no graphs")
          const norm = Effect.map(
            run(client.optimStep({ learningRate: 0 })),
            ({ metrics }) => metrics["grad_norm"] ?? NaN
          )
          const inputs = graphData(data, expression)
          const single = yield* run(onePass(inputs, expression.graph))
          const size = yield* norm
          const twice = yield* run(LossGraphPass.twoPass(client, inputs, expression.graph))
          assert.closeTo(twice.metrics["loss:sum"] ?? NaN, single.metrics["loss:sum"] ?? NaN, 1e-5)
          yield* run(onePass(inputs, negated(expression).graph))
          assert.isAbove(size, 1e-4)
          assert.isBelow(yield* norm, 1e-5 * size)
          const counted = yield* run(onePass(LossGraphPass.fromExamples(data, expression), expression.graph))
          assert.closeTo(counted.metrics["loss:sum"] ?? NaN, single.metrics["loss:sum"] ?? NaN, 1e-5)
          yield* run(onePass(inputs, negated(expression).graph))
          assert.isBelow(yield* norm, 1e-5 * size)
          const { equivalent } = expression
          if (equivalent !== undefined) {
            const named = yield* run(client.forwardBackward([...data], equivalent))
            assert.closeTo(named.metrics["loss:sum"] ?? NaN, single.metrics["loss:sum"] ?? NaN, 1e-5)
            yield* run(onePass(inputs, negated(expression).graph))
            assert.isBelow(yield* norm, 1e-5 * size)
          }
          const { pending, route } = yield* Pass.submit(client, data, expression)
          yield* pending.await
          assert.strictEqual(route, equivalent === undefined ? "graph" : "name")
          const row = table.find(([, cell]) => cell === `\`${name}\``)
          assert.isTrue(isYes(row?.[3]) && isYes(row?.[4]) && isYes(row?.[5]), `docs/losses.md: ${name}`)
          assert.strictEqual(row?.[2], equivalent === undefined ? "" : `\`${equivalent.name}\``)
        }))
    }

    it.effect("does not stand for stable_reinforce, which the engine refuses", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const client = yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 4, seed: 3 })
        const data = yield* examples(client)
        const { reason } = yield* Effect.flip(client.forwardBackward([...data], Loss.stableReinforce()))
        assert.deepInclude(reason, { _tag: "Unsupported", capability: "loss" })
        const row = table.find(([, cell]) => cell === "`Loss.stableReinforce`")
        assert.strictEqual(row?.[5], "refused: `Unsupported`")
      }))

    it.effect("is refused if it depends on a token that its data do not count", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const client = yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 4, seed: 3 })
        const { graph } = PolicyLoss.importanceSampling
        const [example] = yield* examples(client)
        const [datum] = LossGraphPass.fromExamples([example], PolicyLoss.importanceSampling)
        const onePass = (counted: Uint8Array) =>
          client.forwardBackwardGraph === undefined
            ? Effect.die("the engine computes no graphs")
            : run(client.forwardBackwardGraph([{ ...datum, counted }], graph))
        const message = (counted: Uint8Array) => Effect.map(Effect.flip(onePass(counted)), ({ message }) => message)
        assert.match(yield* message(new Uint8Array(8)), /the loss depends on token 3, where counted is 0/)
        assert.match(yield* message(new Uint8Array(3)), /data\[0\]\.counted has 3 values, expected 8/)
      }))

    it.effect("names the data that do not fit the model", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const client = yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 4, seed: 3 })
        const [example] = yield* examples(client)
        const [datum] = LossGraphPass.fromExamples([example], PolicyLoss.importanceSampling)
        const refusal = (wrong: TrainingClient.GraphDatum) =>
          client.forwardBackwardGraph === undefined
            ? Effect.die("the engine computes no graphs")
            : Effect.flip(client.forwardBackwardGraph([datum, wrong], PolicyLoss.importanceSampling.graph))
        const unknown = datum.targetTokens.with(2, 99_999)
        assert.match(
          (yield* refusal({ ...datum, targetTokens: unknown })).message,
          /data\[1\]\.targetTokens\[2\] is 99999, expected a token id from 0 to \d+$/
        )
        assert.match(
          (yield* refusal({ ...datum, targetTokens: unknown.subarray(3) })).message,
          /data\[1\]\.targetTokens has 5 values, expected 8$/
        )
        const long = yield* refusal({
          ...datum,
          modelInput: TestEngine.prompt(1, 5000),
          targetTokens: new Int32Array(5000)
        })
        assert.strictEqual(long.reason._tag, "ContextTooLong")
      }))

    it.effect("is refused entirely if one datum's gradient is not finite", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const client = yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 4, seed: 3 })
        const data = yield* examples(client)
        const infinite = LossExpression.make(
          "infinite",
          { extras },
          ({ advantages, logprobs }) =>
            LossTerm.mul(
              advantages,
              LossTerm.log(LossTerm.add(logprobs, 100)),
              LossTerm.exp(LossTerm.mul(-1e6, logprobs))
            )
        )
        const onePass = client.forwardBackwardGraph
        if (onePass === undefined) return assert.fail("the engine computes no graphs")
        const refused = yield* Effect.flip(run(onePass(graphData(data, infinite), infinite.graph)))
        assert.strictEqual(refused.reason._tag, "Rejected")
        const { metrics } = yield* run(client.optimStep({ learningRate: 0 }))
        assert.strictEqual(metrics["grad_norm"], 0)
      }))
  })
})
