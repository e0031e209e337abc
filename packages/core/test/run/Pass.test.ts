import { PolicyLoss, Tinker, TinkerError } from "@effect-rl/core"
import { Datum, LossGraphPass, ModelInput, type TrainingClient } from "@effect-rl/core/backend"
import { LossExpression, LossGraph } from "@effect-rl/core/losses"
import { Pass } from "@effect-rl/core/program"
import { Call, Script, ScriptedTinker } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"

const datum = (advantage = 1) =>
  Datum.policyTokens(ModelInput.fromTokens([1, 2, 3]), {
    targetTokens: Int32Array.of(2, 3, 4),
    logprobs: Float32Array.of(NaN, -1, -2),
    advantages: Float32Array.of(0, advantage, advantage),
    mask: Float32Array.of(0, 1, 1)
  })

const training = Effect.flatMap(
  Tinker.Tinker,
  (tinker) => tinker.createLoraTrainingClient({ baseModel: Script.defaultModel })
)

const unsupported = Effect.fail(
  new TinkerError.TinkerError({
    operation: "forwardBackward",
    reason: new TinkerError.Unsupported({ capability: "loss", detail: "not here" })
  })
)

const submitted = <X extends LossExpression.Extras>(
  change: (client: TrainingClient.TrainingClient) => Partial<TrainingClient.TrainingClient>,
  example: LossExpression.Example<X>,
  expression: LossExpression.LossExpression<X>
) =>
  Effect.gen(function*() {
    const client = yield* training
    const { pending, route } = yield* Pass.submit({ ...client, ...change(client) }, [example], expression)
    return { route, output: yield* pending.await }
  }).pipe(Effect.scoped, Effect.provide(ScriptedTinker.layer()))

describe("a loss expression is submitted", () => {
  it.effect("by name if the backend supports the loss", () =>
    Effect.gen(function*() {
      const { route } = yield* submitted(() => ({}), datum(), PolicyLoss.ppo())
      assert.strictEqual(route, "name")
    }))

  it.effect("in two passes with the same loss if the backend supports neither its name nor graphs", () =>
    Effect.gen(function*() {
      const named = yield* submitted(() => ({}), datum(), PolicyLoss.ppo())
      const bare = () => ({ forwardBackward: () => unsupported })
      const { output, route } = yield* submitted(bare, datum(), PolicyLoss.ppo())
      assert.strictEqual(route, "two-pass")
      assert.closeTo(output.metrics["loss:sum"] ?? NaN, named.output.metrics["loss:sum"] ?? NaN, 1e-5)
    }))

  it.effect("in one pass if the backend supports graphs", () =>
    Effect.gen(function*() {
      const graphs: Array<string> = []
      const { route } = yield* submitted(
        (client) => ({
          forwardBackwardGraph: (data, graph) => {
            graphs.push(graph.name)
            return LossGraphPass.twoPass(client, data, graph)
          }
        }),
        datum(),
        PolicyLoss.dppo()
      )
      assert.deepStrictEqual([route, graphs], ["graph", ["dppo"]])
    }))

  it.effect("without waiting for the pass", () =>
    Effect.gen(function*() {
      const log = yield* Call.CallLog
      const client = yield* training
      yield* Pass.submit(client, [datum()], PolicyLoss.dppo())
      const step = yield* client.optimStep({ learningRate: 1e-3 })
      yield* step.await
      const calls = (yield* log.calls).map(({ _tag }) => _tag)
      assert.deepStrictEqual(calls.slice(1), ["ForwardBackwardCustom", "OptimStep"])
    }).pipe(Effect.scoped, Effect.provide(ScriptedTinker.layer())))
})

describe("invalid data are refused with the field's name", () => {
  const refusal = <X extends LossExpression.Extras>(
    example: LossExpression.Example<X>,
    expression: LossExpression.LossExpression<X>
  ) => Effect.map(Effect.flip(submitted(() => ({}), example, expression)), ({ message }) => message)

  it.effect("if an advantage is NaN", () =>
    Effect.gen(function*() {
      assert.include(
        yield* refusal(datum(NaN), PolicyLoss.dppo()),
        "data[0].inputs.advantages[1] is NaN, expected a finite number"
      )
    }))

  it.effect("if an extra has no value for an action token", () =>
    Effect.gen(function*() {
      const extras = { proximalLogprobs: Float32Array.of(NaN, NaN, -1) }
      assert.include(
        yield* refusal({ ...datum(), extras }, PolicyLoss.truncated()),
        "data[0].extras.proximalLogprobs[1] is NaN, expected a number where the mask is not 0"
      )
    }))

  it.effect("if an extra has the wrong length", () =>
    Effect.gen(function*() {
      const extras = { proximalLogprobs: Float32Array.of(-1) }
      assert.include(
        yield* refusal({ ...datum(), extras }, PolicyLoss.truncated()),
        "data[0].extras.proximalLogprobs has 1 values, expected 3"
      )
    }))

  it.effect("if the loss has no gradient", () =>
    Effect.gen(function*() {
      const constant = LossExpression.make("constant", {}, ({ advantages }) => advantages)
      assert.include(yield* refusal(datum(), constant), "the loss constant does not depend on logprobs")
    }))
})

it.effect("a graph of loss-expression operations trains on any backend, whichever program recorded it", () =>
  Effect.gen(function*() {
    const node = (op: LossGraph.Node["op"], name: string, target: string, args: LossGraph.Node["args"]) =>
      ({ op, name, target, args, kwargs: {} }) satisfies LossGraph.Node
    const graph: LossGraph.LossGraph = {
      name: "nll",
      inputs: [{ name: "logprobs", rank: 1 }, { name: "weights", rank: 1 }],
      graph: {
        format: 1,
        nodes: [
          node("placeholder", "logprobs", "logprobs", []),
          node("placeholder", "weights", "weights", []),
          node("call_function", "mul", "operator.mul", [{ ref: "logprobs" }, { ref: "weights" }]),
          node("call_method", "sum_1", "sum", [{ ref: "mul" }]),
          node("call_function", "neg", "operator.neg", [{ ref: "sum_1" }]),
          node("output", "output", "output", [{
            tuple: [{ ref: "neg" }, { dict: { "custom/weighted:sum": { ref: "sum_1" } } }]
          }])
        ]
      }
    }
    assert.isTrue(Result.isSuccess(LossGraph.compile(graph)))
    const client = yield* training
    const data = {
      modelInput: ModelInput.fromTokens([1, 2, 3]),
      targetTokens: Int32Array.of(2, 3, 4),
      inputs: { weights: { data: [0, 1, 2], shape: [3] } }
    }
    const pending = yield* LossGraphPass.submit(client, [data, data], graph)
    const { logprobs, metrics } = yield* pending.await
    const expected = logprobs.reduce((sum, logprobsT) => sum - (logprobsT[1] ?? 0) - 2 * (logprobsT[2] ?? 0), 0)
    assert.closeTo(metrics["loss:sum"] ?? NaN, expected, 1e-5)
    assert.closeTo(metrics["custom/weighted:sum"] ?? NaN, -expected, 1e-5)
  }).pipe(Effect.scoped, Effect.provide(ScriptedTinker.layer())))
