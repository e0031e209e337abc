/** Messages from our client and server with as many fields set as they ever set. */
import { fromBinary, type Message } from "@bufbuild/protobuf"
import { Loss } from "@effect-rl/core"
import { Datum, type Sampling } from "@effect-rl/core/backend"
import * as Gen from "@effect-rl/tinker/wire/gen/TinkerPublic.gen"
import * as PassRequest from "@effect-rl/tinker/wire/PassRequest"
import * as PassResult from "@effect-rl/tinker/wire/PassResult"
import * as SampleResult from "@effect-rl/tinker/wire/SampleResult"

const logprobs = Float32Array.of(-1, -2)
const provenance: Datum.Provenance = {
  modelInput: [{ of: "prompt", sequenceId: "s:0", offset: 1, length: 1 }, {
    of: "sampled",
    sequenceId: "s:0",
    offset: 1,
    length: 2
  }],
  targets: [{ of: "sampled", sequenceId: "s:0", offset: 0, length: 3 }]
}

const response: Required<Sampling.SampleResponse> = {
  sequences: [{
    tokens: Int32Array.of(1, 2),
    logprobs,
    stopReason: "length",
    topkLogprobs: [[{ token: 1, logprob: -1 }], [{ token: 2, logprob: -2 }]]
  }],
  promptLogprobs: Float32Array.of(NaN, -1),
  topkPromptLogprobs: [[], [{ token: 1, logprob: -1 }]],
  targetPromptLogprobs: { logprobs, candidates: 2 },
  promptAltTokens: { tokens: Int32Array.of(1, 2), logprobs, candidates: 2 },
  promptCacheHitTokens: 1
}

export const sent = (): ReadonlyArray<Message> => {
  const modelInput = {
    length: 3,
    chunks: [{ _tag: "EncodedText" as const, tokens: Int32Array.of(1) }, {
      _tag: "Image" as const,
      data: Uint8Array.of(1, 0, 0, 0),
      format: "png" as const,
      expectedTokens: 2
    }]
  }
  const three = Float32Array.of(1, 1, 1)
  const targetTokens = Int32Array.of(1, 2, 3)
  const policy = Datum.policyTokens(modelInput, { targetTokens, logprobs: three, advantages: three, mask: three })
  const data = [{ ...policy, provenance }]
  return [
    PassRequest.fromPass({ modelId: "m", seqId: 1, data, loss: Loss.ppo(), forwardOnly: true }),
    PassRequest.fromGraphPass([{ modelInput, targetTokens, inputs: {} }], "loss", "m"),
    fromBinary(Gen.SampleResponseSchema, SampleResult.encode(response)),
    fromBinary(
      Gen.ForwardBackwardOutputSchema,
      PassResult.encode({ outputs: [{ logprobs, candidates: 2 }], metrics: { "loss:sum": 1 } })
    )
  ]
}
