/** An engine with checkpoints in a temporary folder, and data for its smallest model. */
import { Datum, ModelInput, type Sampling } from "@effect-rl/core/backend"
import * as Engine from "@effect-rl/engine/Engine"
import { Host } from "@effect-rl/engine/runtime/Host"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Array, Context, Effect, FileSystem, Layer } from "effect"

export const model = "effect-rl/tiny-64"

/** The root folder of the engine's checkpoints. */
export class Root extends Context.Service<Root, string>()("@effect-rl/engine/test/Root") {
  static readonly layer = Layer.effect(
    Root,
    Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
  )
}

/** An engine with a visible `Host`, so tests can check which resources are held. */
export const layer = (workers: number) =>
  Layer.unwrap(Effect.map(Root, (checkpoints) => Engine.layerNoDeps({ checkpoints }))).pipe(
    Layer.provideMerge([Root.layer, Host.layer({ workers })]),
    Layer.provideMerge(NodeServices.layer)
  )

/** A prompt of arbitrary token ids. */
export const prompt = (index: number, length = 9) =>
  ModelInput.fromTokens(Array.makeBy(length, (position) => 40 + (index * 7 + position * 13 + index * position) % 300))

export const tokensOf = ({ chunks }: ModelInput.ModelInput) =>
  chunks.flatMap((chunk) => chunk._tag === "EncodedText" ? Array.fromIterable(chunk.tokens) : [])

/** A datum for a policy loss, from one sample after the prompt `from`. */
export const policyDatum = (from: ModelInput.ModelInput, sample: Sampling.SampledTokens, advantage: number) => {
  const tokens = [...tokensOf(from), ...sample.tokens]
  const start = from.length - 1
  const inputs = {
    targetTokens: Int32Array.from(tokens.slice(1)),
    logprobs: new Float32Array(tokens.length - 1).fill(NaN),
    advantages: new Float32Array(tokens.length - 1),
    mask: new Float32Array(tokens.length - 1)
  }
  inputs.logprobs.set(sample.logprobs, start)
  inputs.advantages.fill(advantage, start)
  inputs.mask.fill(1, start)
  return Datum.policyTokens(ModelInput.fromTokens(tokens.slice(0, -1)), inputs)
}

/** A datum for next-token prediction on a whole text. */
export const textDatum = (text: ModelInput.ModelInput, weight = 1) => {
  const tokens = tokensOf(text)
  return Datum.weightedTokens(ModelInput.fromTokens(tokens.slice(0, -1)), {
    targetTokens: Int32Array.from(tokens.slice(1)),
    weights: new Float32Array(tokens.length - 1).fill(weight)
  })
}
