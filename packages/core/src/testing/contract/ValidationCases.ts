import * as Effect from "effect/Effect"
import type { AdamParams } from "../../model/AdamParams.ts"
import * as Datum from "../../model/Datum.ts"
import * as Loss from "../../model/Loss.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import type * as Sampling from "../../model/Sampling.ts"
import * as Case from "./Case.ts"
import * as Fixture from "./Fixture.ts"

const short = Float32Array.of(1)

const at = (index: number, value: number, rest: number) => Fixture.full(rest).fill(value, index, index + 1)

const outside = 2 ** 30

const targets = (first: number) => Int32Array.from(Fixture.targetTokens, (token, t) => t === 0 ? first : token)

type Bad = readonly [title: string, field: string, datum: Datum.Datum<"PolicyTokens">]

const policyData: ReadonlyArray<Bad> = [
  ["too few target tokens", "targetTokens", Fixture.policy({ targetTokens: Int32Array.of(1) })],
  ["too few log-probabilities", "logprobs", Fixture.policy({ logprobs: short })],
  ["too few advantages", "advantages", Fixture.policy({ advantages: short })],
  ["too short a mask", "mask", Fixture.policy({ mask: short })],
  ["an advantage that is not a number", "advantages", Fixture.policy({ advantages: at(2, NaN, 1) })],
  ["an infinite advantage", "advantages", Fixture.policy({ advantages: at(2, Infinity, 1) })],
  ["an advantage off the mask", "advantages", Fixture.policy({ mask: at(3, 0, 1) })],
  ["a missing log-probability on the mask", "logprobs", Fixture.policy({ logprobs: at(1, NaN, -2) })],
  ["a target token beyond the vocabulary", "targetTokens", Fixture.policy({ targetTokens: targets(outside) })],
  ["a negative target token", "targetTokens", Fixture.policy({ targetTokens: targets(-1) })],
  [
    "an input token beyond the vocabulary",
    "modelInput",
    { ...Fixture.policy(), modelInput: ModelInput.fromTokens([outside, 1, 4, 1, 5, 9, 2]) }
  ],
  [
    "an empty input",
    "modelInput",
    Datum.policyTokens(ModelInput.empty, {
      targetTokens: new Int32Array(),
      logprobs: new Float32Array(),
      advantages: new Float32Array(),
      mask: new Float32Array()
    })
  ]
]

const params: ReadonlyArray<readonly [title: string, field: string, params: Sampling.SamplingParams]> = [
  ["maxTokens 0", "maxTokens", { maxTokens: 0 }],
  ["a negative temperature", "temperature", { maxTokens: 1, temperature: -1 }],
  ["topP 0", "topP", { maxTokens: 1, topP: 0 }]
]

const adams: ReadonlyArray<readonly [title: string, field: string, adam: AdamParams]> = [
  ["a negative learning rate", "learningRate", { learningRate: -1 }],
  ["a learning rate that is not a number", "learningRate", { learningRate: NaN }],
  ["beta1 of 1", "beta1", { learningRate: 1e-3, beta1: 1 }]
]

const prompts: ReadonlyArray<readonly [title: string, prompt: ModelInput.ModelInput]> = [
  ["an empty prompt", ModelInput.empty],
  ["a prompt token beyond the vocabulary", ModelInput.fromTokens([3, outside])]
]

const pixel: ModelInput.Image = { _tag: "Image", data: new Uint8Array(8), format: "png", expectedTokens: 2 }

/** Cases about invalid requests. Each request must fail as `Rejected` with a message that names the field. */
export const cases = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  ...policyData.map(([title, field, datum]) =>
    Case.make(
      `validation: ${title} is Rejected`,
      Effect.gen(function*() {
        const client = yield* Fixture.training(options)
        const pass = client.forwardBackward([Fixture.policy(), datum], Loss.importanceSampling)
        yield* Case.expectFailure(Fixture.run(pass), "Rejected", field)
      })
    )
  ),
  Case.make(
    "validation: too few weights are Rejected",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const pass = client.forwardBackward([Fixture.weighted(short)], Loss.crossEntropy)
      yield* Case.expectFailure(Fixture.run(pass), "Rejected", "weights")
    })
  ),
  ...params.map(([title, field, params]) =>
    Case.make(
      `validation: ${title} is Rejected`,
      Effect.gen(function*() {
        const client = yield* Fixture.sampling(options)
        yield* Case.expectFailure(client.sample({ prompt: Fixture.input, params }), "Rejected", field)
      })
    )
  ),
  Case.make(
    "validation: numSamples 0 is Rejected",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      const ask = client.sample({ prompt: Fixture.input, numSamples: 0, params: { maxTokens: 1 } })
      yield* Case.expectFailure(ask, "Rejected", "numSamples")
    })
  ),
  ...prompts.map(([title, prompt]) =>
    Case.make(
      `validation: ${title} is Rejected`,
      Effect.gen(function*() {
        const client = yield* Fixture.sampling(options)
        yield* Case.expectFailure(client.sample({ prompt, params: { maxTokens: 1 } }), "Rejected", "prompt")
      })
    )
  ),
  Case.make(
    "validation: an image is an error or an answer, not a defect",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      const prompt = ModelInput.fromChunks([pixel, ...Fixture.input.chunks])
      yield* client.sample({ prompt, params: { maxTokens: 1 } }).pipe(
        Effect.ignore,
        Effect.catchDefect((defect) =>
          Effect.fail(
            new Case.Mismatch({ expected: "samples or a TinkerError", found: `the defect ${String(defect)}` })
          )
        )
      )
    })
  ),
  ...adams.map(([title, field, adam]) =>
    Case.make(
      `validation: ${title} is Rejected`,
      Effect.gen(function*() {
        const client = yield* Fixture.training(options)
        yield* Case.expectFailure(Fixture.run(client.optimStep(adam)), "Rejected", field)
      })
    )
  )
]
