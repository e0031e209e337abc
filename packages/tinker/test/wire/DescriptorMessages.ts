/** Received messages of each kind with every field set. */
import * as Bytes from "@effect-rl/tinker/wire/Bytes"
import * as Gen from "@effect-rl/tinker/wire/gen/TinkerPublic.gen"

export const ints = (...values: ReadonlyArray<number>) => Bytes.of(Int32Array.from(values))
export const floats = (...values: ReadonlyArray<number>) => Bytes.of(Float32Array.from(values))
export const longs = (...values: ReadonlyArray<number>) => Bytes.int64(Int32Array.from(values))

export const dense = (value: Uint8Array, dtype: Gen.DType, ...shape: ReadonlyArray<bigint>) => ({
  encoding: { case: "dense", value },
  dtype,
  shape
})

export const text = { chunk: { case: "encodedText", value: { tokens: ints(1, 2) } } }

export const image = {
  chunk: {
    case: "image",
    value: { data: ints(9), format: "png", expectedTokens: 2, overrideDimensions: undefined as object | undefined }
  }
}

export const run = (of: "promptTokens" | "sampledTokens", length: bigint) => ({
  span: { case: of, value: { sequenceId: "s:0", offset: 0n, length } }
})

export const pass = {
  modelId: "m",
  seqId: 1,
  lossFn: "ppo",
  lossFnConfig: { clip_low_threshold: 0.7 },
  lossFnConfigV2: { clip_high_threshold: { value: { case: "number", value: 1.3 } } },
  forwardOnly: false,
  data: [{
    modelInput: [text],
    lossFnInputs: {
      target_tokens: dense(longs(2, 3), Gen.DType.INT64, 2n),
      logprobs: dense(floats(0, -1), Gen.DType.FLOAT32, 2n),
      advantages: dense(floats(0, 1), Gen.DType.FLOAT32, 2n)
    },
    modelInputSpans: [run("promptTokens", 1n), run("sampledTokens", 1n)],
    lossFnInputSpans: [run("sampledTokens", 2n)]
  }]
}

export const ofImage = { ...pass, data: [{ ...pass.data[0], modelInput: [image] }] }

const sparse = {
  encoding: {
    case: "sparseCsr",
    value: { values: floats(1, 2), crowIndices: longs(0, 1, 2), colIndices: longs(0, 1) }
  },
  dtype: Gen.DType.FLOAT32,
  shape: [2n, 2n]
}

export const ofCandidates = {
  ...pass,
  lossFn: "cross_entropy",
  lossFnConfig: {},
  lossFnConfigV2: {},
  data: [{
    modelInput: [text],
    lossFnInputs: { target_tokens: dense(longs(1, 2, 3, 4), Gen.DType.INT64, 2n, 2n), weights: sparse }
  }]
}

const candidates = { tokenIds: ints(1, 2), logprobs: floats(-1, -2), k: 1, length: 2 }

export const sampled = {
  sequences: [{
    stopReason: Gen.StopReason.STOP,
    tokens: ints(5, 6),
    logprobs: floats(-1, -2),
    topkSampledLogprobs: candidates
  }],
  promptLogprobs: floats(NaN, -1),
  topkPromptLogprobs: candidates,
  promptCacheHitTokens: 3,
  targetPromptLogprobs: dense(floats(-1, -2), Gen.DType.FLOAT32, 1n, 2n),
  promptAltTokens: {
    tokens: dense(longs(7, 8), Gen.DType.INT64, 1n, 2n),
    logprobs: dense(floats(-1, -2), Gen.DType.FLOAT32, 1n, 2n)
  }
}

export const output = {
  lossFnOutputType: "a:TorchLossReturn",
  lossFnOutputs: [{
    typeTag: "TorchLossReturn",
    fields: {
      logprobs: {
        data: floats(-1, -2),
        offsets: longs(0, 8),
        dtype: Gen.DType.FLOAT32,
        trailingShape: [] as Array<bigint>
      }
    },
    numDatums: 1n
  }],
  metrics: { "loss:sum": 1 }
}

export const params = {
  num_samples: 1,
  prompt: { chunks: [{ tokens: [1, 2] }] },
  sampling_params: { max_tokens: 4, seed: 1, temperature: 1, top_k: -1, top_p: 1, stop: null as unknown }
}
