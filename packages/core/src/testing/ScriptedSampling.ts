/** The sampling client of a scripted backend. */
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as RequestRules from "../backend/RequestRules.ts"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import { Closed, type Reason } from "../backend/TinkerError.ts"
import type * as Sampling from "../model/Sampling.ts"
import * as Seed from "../records/Seed.ts"
import { Call, type Operation } from "./Call.ts"
import * as Machine from "./Machine.ts"
import * as Script from "./Script.ts"
import * as ToyModel from "./ToyModel.ts"
import * as ToySampler from "./ToySampler.ts"

/** The weights that a client samples from. */
export interface Source {
  readonly modelPath: string
  readonly model: Machine.Model
  readonly weights: ToyModel.Rows
  readonly step: number
  readonly memoryBytes?: number
}

const targetPromptLogprobs = (
  { model, weights }: Source,
  promptT: Int32Array,
  { candidates, tokens }: Sampling.PromptTargets
): Sampling.TargetLogprobs => {
  const logprobs = ToyModel.targetLogprobs(model, weights, promptT.subarray(0, -1), tokens)
  return { candidates, logprobs: logprobs.map((logprob, cell) => tokens[cell] === -1 ? 0 : logprob) }
}

const toyResponse = (
  machine: Machine.Machine,
  source: Source,
  request: Sampling.SampleRequest,
  ownSeed: number
): Sampling.SampleResponse => {
  const { model, weights } = source
  const { numSamples = 1, params, targetPromptLogprobs: targets } = request
  const promptT = ToyModel.positions(request.prompt)
  const seed = model.capabilities.seeds === "none" ? ownSeed : params.seed ?? ownSeed
  const topk = request.topkPromptLogprobs ?? 0
  return {
    sequences: Array.from(
      { length: numSamples },
      (_, index) =>
        ToySampler.sample(model, weights, promptT.at(-1) ?? 0, params, seed + index, machine.tokenizer.decode)
    ),
    ...(request.promptLogprobs === true && { promptLogprobs: ToyModel.promptLogprobs(model, weights, promptT) }),
    ...(topk > 0 && { topkPromptLogprobs: ToySampler.topkPromptLogprobs(model, weights, promptT, topk) }),
    ...(targets !== undefined && { targetPromptLogprobs: targetPromptLogprobs(source, promptT, targets) })
  }
}

/** Makes a client that samples from fixed weights until the surrounding scope closes. */
export const make = Effect.fnUntraced(function*(machine: Machine.Machine, source: Source) {
  const isClosed = yield* Ref.make(false)
  yield* Effect.addFinalizer(() => Ref.set(isClosed, true))
  const { modelPath, step } = source

  const begin = Effect.fnUntraced(function*(call: Call, operation: Operation, sequences: number) {
    const at: Script.SampleAt = {
      modelPath,
      step,
      call: yield* machine.count(operation),
      sequence: yield* machine.count("sequence", sequences)
    }
    yield* machine.record(call)
    yield* machine.disturb(operation, at.call)
    return at
  })
  const open: Effect.Effect<void, Reason> = Effect.flatMap(
    Ref.get(isClosed),
    (closed) => closed ? Effect.fail(new Closed({ detail: "the scope of the sampling client closed" })) : Effect.void
  )

  return {
    modelPath,
    capabilities: source.model.capabilities,
    memoryBytes: source.memoryBytes ?? 0,
    sample: Effect.fnUntraced(function*(request) {
      yield* open
      yield* RequestRules.sample(request, source.model)
      const at = yield* begin(Call.Sample({ modelPath, request }), "Sample", request.numSamples ?? 1)
      const { sample } = machine.script
      return sample === undefined
        ? toyResponse(machine, source, request, Seed.derive(0, modelPath, at.sequence))
        : yield* Script.answer(sample(request, at))
    }, Machine.failing("sample")),
    computeLogprobs: Effect.fnUntraced(function*(prompt) {
      yield* open
      yield* RequestRules.prompt(prompt, source.model)
      const at = yield* begin(Call.ComputeLogprobs({ modelPath, prompt }), "ComputeLogprobs", 0)
      const { computeLogprobs } = machine.script
      return computeLogprobs === undefined
        ? ToyModel.promptLogprobs(source.model, source.weights, ToyModel.positions(prompt))
        : yield* Script.answer(computeLogprobs(prompt, at))
    }, Machine.failing("computeLogprobs"))
  } satisfies SamplingClient
})
