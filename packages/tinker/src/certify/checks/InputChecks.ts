/** Training data in every form: target tokens, tensor encodings and varying data. */
import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput, type TrainingClient } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as PassResult from "../../wire/PassResult.ts"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Draws from "../Draws.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

/** Rounding tolerance between two ways to compute the same log-probability. */
const tolerance = 0.03

const descent = 0.3

/** Target tokens that differ from the next input tokens; some are 0. */
const others = Int32Array.of(7, 0, 7, 2, 0, 5, 8)

const withTargets = (weight: (token: number) => number = () => 1) =>
  Datum.weightedTokens(Examples.input, { targetTokens: others, weights: Float32Array.from(others, weight) })

export const targets: Check.Check = {
  theme: "training",
  name: "the targets of a pass are the given tokens, whatever the next input tokens are",
  why: "Distillation and corrections train on tokens other than the text's own.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const sampler = yield* tinker.createSamplingClient({ baseModel })
    const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8 })
    const { logprobs: [found = []] } = yield* StateTwins.run(client.forward([withTargets()], Loss.crossEntropy))
    const expected = yield* Effect.forEach(others, (token, at) =>
      Effect.map(
        sampler.computeLogprobs(ModelInput.fromTokens([...Examples.tokens.subarray(0, at + 1), token])),
        (logprobs) => logprobs.at(-1) ?? NaN
      ))
    yield* Check.expectClose("logprobs of other targets", found, expected, tolerance)
  })
}

/** Expects the gradient descent step of a pass to lower its loss by the amount that the gradient norm predicts. */
const falls = Effect.fnUntraced(function*(
  twins: StateTwins.StateTwins,
  what: string,
  datum: Datum.Datum<"WeightedTokens">
) {
  const submit: StateTwins.Submit = (client) => client.forwardBackward([datum], Loss.crossEntropy)
  const gradNorm = yield* twins.gradNorm(submit)
  if (gradNorm === undefined) return yield* Check.absent("optim_step does not report grad_norm")
  yield* Check.expect(gradNorm > 0, `a gradient of ${what}`, gradNorm)
  const loss: StateTwins.Submit = (client) => client.forward([datum], Loss.crossEntropy)
  const fall = yield* twins.fall(submit, descent / (gradNorm * gradNorm), loss)
  yield* Check.expectClose(`the fall of the loss of ${what}`, [fall], [descent], descent / 2)
})

export const zeroTarget: Check.Check = {
  theme: "gradients",
  name: "targets that differ from the text have a gradient, and so does token 0",
  why: "A target that is mistaken for padding is never learned.",
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    yield* falls(twins, "other targets", withTargets())
    yield* falls(twins, "targets of token 0", withTargets((token) => token === 0 ? 1 : 0))
  })
}

export const vocabulary: Check.Check = {
  theme: "logprobs",
  name: "trainer and sampler agree on tokens from the whole vocabulary",
  why: "Token ids truncated to fewer bits become other tokens, and only rare text shows it.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const sampler = yield* tinker.createSamplingClient({ baseModel })
    const drawn = yield* Draws.first(sampler, Examples.input, 128, { temperature: 20 })
    const ids = Arr.dedupe(drawn.map(({ token }) => token)).toSorted((left, right) => right - left)
    const text = [...ids.slice(0, 24), ...ids.slice(-8)]
    const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8 })
    const { logprobs: [found = []] } = yield* StateTwins.run(
      client.forward([Examples.ofText(text)], Loss.crossEntropy)
    )
    const scored = yield* sampler.computeLogprobs(ModelInput.fromTokens(text))
    yield* Check.expectClose("the trainer's", found, scored.subarray(1), tolerance)
    const apart = new Set(drawn.map(({ logprob, token }) => `${token} ${logprob.toFixed(1)}`)).size
    yield* Check.expect(apart >= Math.min(ids.length, 8), "log-probabilities of many tokens", apart)
  })
}

const mixedLengths = [2, 7, 4, 1, 6]

const mixedWeights = [1, -0.5, 2, 3, 0.25]

const datumOf = (length: number, at: number) => ({
  ...Examples.ofLength(length),
  inputs: {
    targetTokens: Examples.targetTokens.subarray(0, length),
    weights: new Float32Array(length).fill(mixedWeights[at] ?? 1)
  }
})

export const mixed: Check.Check = {
  theme: "gradients",
  name: "a pass over data of several lengths and weights equals the sum of passes over each datum",
  why: "Servers sort, pack and pad batches. A weight applied to the neighbouring datum teaches the wrong answer.",
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const [first = Examples.weighted(), ...rest] = mixedLengths.map(datumOf)
    const together: StateTwins.Submit = (client) => client.forwardBackward([first, ...rest], Loss.crossEntropy)
    const apart: StateTwins.Submit = (client) =>
      rest.toReversed().reduce(
        (before, datum) => Effect.andThen(before, client.forwardBackward([datum], Loss.crossEntropy)),
        client.forwardBackward([first], Loss.crossEntropy)
      )
    const gradNorm = yield* twins.gradNorm(together)
    if (gradNorm === undefined) return yield* Check.absent("optim_step does not report grad_norm")
    const learningRate = descent / (gradNorm * gradNorm)
    const found = yield* twins.moved(together, learningRate)
    const lengths = found.output.logprobs.map(({ length }) => length).join()
    yield* Check.expect(lengths === mixedLengths.join(), `outputs of ${mixedLengths.join()} tokens`, lengths)
    yield* StateTwins.expectSameStep("the step of all", found, yield* twins.moved(apart, learningRate))
  })
}

/** Two targets per position; the second counts only at some positions. */
const pairs = [...Examples.targetTokens].map((token, at) => [token, at % 3 === 0 ? 7 : 0])

const shares = pairs.map(([, other]) => other === 0 ? [1, 0] : [0.75, 0.25])

const dense = (rows: ReadonlyArray<ReadonlyArray<number>>, dtype: string) => ({
  data: rows.flat(),
  dtype,
  shape: [rows.length, 2]
})

/** Rows in compressed sparse row form, without their zeros. */
const sparse = (rows: ReadonlyArray<ReadonlyArray<number>>, dtype: string) => {
  const cells = rows.map((row) => row.flatMap((value, column) => value === 0 ? [] : [{ column, value }]))
  const crow = cells.reduce<Array<number>>((ends, row) => [...ends, (ends.at(-1) ?? 0) + row.length], [0])
  return {
    data: cells.flat().map(({ value }) => value),
    dtype,
    shape: [rows.length, 2],
    sparse_crow_indices: crow,
    sparse_col_indices: cells.flat().map(({ column }) => column)
  }
}

export const sparseTensors: Check.Check = {
  theme: "training",
  name: "sparse tensors give the same results as dense ones",
  why: "The official SDK sends distillation candidates in this form if it is shorter.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { model } = yield* session
    const model_id = yield* model
    const { model_input } = Examples.datum()
    const ask = (seq_id: number, write: typeof dense) =>
      Effect.flatMap(
        post(
          "/forward_backward",
          Examples.pass(model_id, seq_id, [{
            model_input,
            loss_fn_inputs: { target_tokens: write(pairs, "int64"), weights: write(shares, "float32") }
          }])
        ),
        result
      )
    const whole = yield* ask(1, dense)
    if (whole.status !== 200 || "error" in whole.body) {
      yield* Blame.expectRefused(whole)
      return yield* Check.absent("the server refuses several targets per position")
    }
    const written = yield* Effect.flatMap(ask(2, sparse), Blame.expectDone)
    const [one, other] = [yield* Examples.outputOf(whole), yield* Examples.outputOf(written)]
    const loss = ({ metrics }: PassResult.PassResult) => [metrics["loss:sum"] ?? NaN]
    yield* Check.expectClose("loss:sum of sparse tensors", loss(other), loss(one), tolerance)
  })
}

export const formats: Check.Check = {
  theme: "futures",
  name: "the result of a pass is the same in protobuf and in JSON",
  why: "The official SDK reads passes only in protobuf; tools and older clients read JSON.",
  run: Effect.gen(function*() {
    const { post, resultBytes, session } = yield* RawRequests
    const { model } = yield* session
    const short = Examples.datum({ tokens: [2, 7], targets: [7, 1], weights: [1, 2] })
    const data = [Examples.datum(), short, Examples.datum({ targets: [...others] })]
    const promise = yield* post("/forward_backward", Examples.pass(yield* model, 1, data))
    const json = yield* Effect.flatMap(Blame.expectDone(promise), Examples.outputOf)
    const bytes = yield* Effect.flatMap(resultBytes(promise), ({ bytes }) => PassResult.decode(bytes))
    const numbers = ({ outputs }: PassResult.PassResult, name: string) =>
      outputs.map((output) => Array.from(output[name]?.data ?? [], Number))
    for (const name of ["logprobs", "elementwise_loss"]) {
      const [found, expected] = [numbers(bytes, name), numbers(json, name)]
      for (const [at, row] of expected.entries()) {
        yield* Check.expectClose(`${name} of datum ${at}`, found[at] ?? [], row, 1e-4)
      }
    }
    const loss = ({ metrics }: PassResult.PassResult) => [metrics["loss:sum"] ?? NaN]
    yield* Check.expectClose("loss:sum", loss(bytes), loss(json), 1e-3)
  })
}

const pass = (client: TrainingClient.TrainingClient, weight: number) =>
  client.forwardBackward([Examples.weighted(Examples.full(weight))], Loss.crossEntropy)

export const onTheirWay: Check.Check = {
  theme: "order",
  name: "a save submitted between unfinished steps has the weights at its place in the order",
  why:
    "Clients submit an iteration without waiting, so an early or late snapshot would have another iteration's weights.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8 })
    const adam = { learningRate: Examples.learningRate, beta1: 0 }
    const scoring = client.forward([Examples.weighted()], Loss.crossEntropy)
    yield* pass(client, 1)
    yield* client.optimStep(adam)
    const first = yield* scoring
    const state = yield* client.saveState("certify-way")
    const weights = yield* client.saveWeightsForSampler("certify-way")
    yield* pass(client, -2)
    yield* client.optimStep(adam)
    const second = yield* scoring
    const [before = new Float32Array()] = (yield* first.await).logprobs
    const [after = new Float32Array()] = (yield* second.await).logprobs
    const close = 0.01 + 0.006 * Math.max(...before.map(Math.abs))
    yield* Check.expect(Check.distance(before, after) > 2 * close, "a second step that changes the model", "none")
    const made = yield* tinker.createTrainingClientFromState((yield* state.await).path)
    yield* Check.expectClose("logprobs of the state", yield* StateTwins.logprobsOf(made), before, close)
    const sampler = yield* tinker.createSamplingClient({ modelPath: (yield* weights.await).path })
    const text = ModelInput.append(Examples.input, Examples.targetTokens.subarray(-1))
    const scored = yield* sampler.computeLogprobs(text)
    yield* Check.expectClose("logprobs of the saved weights", scored.subarray(1), before, close)
  })
}

export const all = [targets, zeroTarget, vocabulary, mixed, sparseTensors, formats, onTheirWay]
