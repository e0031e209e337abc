import { create, type DescMessage, isFieldSet, type Message, toBinary } from "@bufbuild/protobuf"
import * as Gen from "@effect-rl/tinker/wire/gen/TinkerPublic.gen"
import * as PassData from "@effect-rl/tinker/wire/PassData"
import * as PassResult from "@effect-rl/tinker/wire/PassResult"
import * as Sample from "@effect-rl/tinker/wire/Sample"
import * as SampleResult from "@effect-rl/tinker/wire/SampleResult"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { isDeepStrictEqual } from "node:util"
import * as Descriptor from "./Descriptor.ts"
import * as Messages from "./DescriptorMessages.ts"
import { sent } from "./DescriptorSent.ts"

const { dense, floats, image, ints, longs, run, text } = Messages

type Content = Record<string, unknown>

const bytesOf = (schema: DescMessage, content: Content) => toBinary(schema, create(schema, content))

type Outcome = Effect.Effect<unknown, { readonly message: string }>

/** Reads a message of this kind on the receiving side. */
interface Receiver {
  readonly base: Content
  readonly read: (changed: Content) => Outcome
}

const received = (base: Content): Receiver => ({
  base,
  read: (changed) => PassData.toPass(create(Gen.ForwardBackwardRequestSchema, changed))
})

const decodeParams = Schema.decodeUnknownEffect(Sample.SampleRequest)

const receivers = {
  pass: received(Messages.pass),
  image: received(Messages.ofImage),
  candidates: received(Messages.ofCandidates),
  sampled: {
    base: Messages.sampled,
    read: (changed) => Effect.suspend(() => SampleResult.decode(bytesOf(Gen.SampleResponseSchema, changed)))
  },
  output: {
    base: Messages.output,
    read: (changed) => Effect.suspend(() => PassResult.decode(bytesOf(Gen.ForwardBackwardOutputSchema, changed)))
  },
  params: {
    base: Messages.params,
    read: (changed) => Effect.flatMap(decodeParams(changed), (body) => Sample.toRequest(body, 100))
  }
} satisfies Record<string, Receiver>

/** A change to one field, which the receiver must notice. */
type Change = readonly [in_: keyof typeof receivers, path: string, value: unknown]

const datum = "data.0"
const target = `${datum}.lossFnInputs.target_tokens`
const span = `${datum}.modelInputSpans`
const weights = `${datum}.lossFnInputs.weights`
const csr = `${weights}.encoding.value`
const picture = `${datum}.modelInput.0.chunk.value`
const record = "lossFnOutputs.0"
const column = `${record}.fields.logprobs`
const sequence = "sequences.0"

const size = { width: 1, height: 1 }

const changes: Readonly<Record<string, Change>> = {
  "ForwardBackwardRequest.model_id": ["pass", "modelId", "n"],
  "ForwardBackwardRequest.seq_id": ["pass", "seqId", 2],
  "ForwardBackwardRequest.data": ["pass", "data", []],
  "ForwardBackwardRequest.loss_fn": ["pass", "lossFn", "cispo"],
  "ForwardBackwardRequest.loss_fn_config": ["pass", "lossFnConfig", { clip_low_threshold: 0.6 }],
  "ForwardBackwardRequest.forward_only": ["pass", "forwardOnly", true],
  "ForwardBackwardRequest.loss_fn_config_v2": ["pass", "lossFnConfigV2", {}],
  "LossConfigValue.number": ["pass", "lossFnConfigV2.clip_high_threshold.value", { case: "number", value: 2 }],
  "LossConfigValue.text": ["pass", "lossFnConfigV2.clip_high_threshold.value", { case: "text", value: "2" }],
  "Datum.model_input": ["pass", `${datum}.modelInput`, [image]],
  "Datum.loss_fn_inputs": ["pass", `${datum}.lossFnInputs.clip_low_threshold`, dense(floats(1, 1), 1, 2n)],
  "Datum.model_input_spans": ["pass", span, []],
  "Datum.loss_fn_input_spans": ["pass", `${datum}.lossFnInputSpans`, []],
  "ProvenanceSpan.prompt_tokens": ["pass", `${span}.0`, run("sampledTokens", 1n)],
  "ProvenanceSpan.sampled_tokens": ["pass", `${span}.1`, run("promptTokens", 1n)],
  "PromptProvenanceSpan.sequence_id": ["pass", `${span}.0.span.value.sequenceId`, "t:1"],
  "PromptProvenanceSpan.offset": ["pass", `${span}.0.span.value.offset`, 4n],
  "PromptProvenanceSpan.length": ["pass", `${span}.0.span.value.length`, 4n],
  "SampledProvenanceSpan.sequence_id": ["pass", `${span}.1.span.value.sequenceId`, ""],
  "SampledProvenanceSpan.offset": ["pass", `${span}.1.span.value.offset`, -1n],
  "SampledProvenanceSpan.length": ["pass", `${span}.1.span.value.length`, 0n],
  "Chunk.encoded_text": ["image", `${datum}.modelInput.0`, text],
  "Chunk.image": ["pass", `${datum}.modelInput.0`, image],
  "Chunk.dmel": ["pass", `${datum}.modelInput.0.chunk`, { case: "dmel", value: { dmel: ints(1) } }],
  "EncodedTextChunk.tokens": ["pass", `${picture}.tokens`, ints(1, 3)],
  "ImageChunk.data": ["image", `${picture}.data`, ints(8)],
  "ImageChunk.format": ["image", `${picture}.format`, "jpeg"],
  "ImageChunk.expected_tokens": ["image", `${picture}.expectedTokens`, 3],
  "ImageChunk.override_dimensions": ["image", `${picture}.overrideDimensions`, size],
  "ImageDimensions.width": ["image", `${picture}.overrideDimensions`, { width: 1 }],
  "ImageDimensions.height": ["image", `${picture}.overrideDimensions`, { height: 1 }],
  "DmelChunk.dmel": ["image", `${datum}.modelInput.0.chunk`, { case: "dmel", value: { dmel: ints(1) } }],
  "Tensor.dense": ["pass", `${target}.encoding`, { case: "dense", value: longs(2, 4) }],
  "Tensor.sparse_csr": ["candidates", weights, dense(floats(1, 1, 1, 1), 1, 2n, 2n)],
  "Tensor.dtype": ["pass", `${target}.dtype`, Gen.DType.FLOAT32],
  "Tensor.shape": ["pass", `${target}.shape`, [3n]],
  "SparseCsr.values": ["candidates", `${csr}.values`, floats(1, 3)],
  "SparseCsr.crow_indices": ["candidates", `${csr}.crowIndices`, longs(0, 2, 2)],
  "SparseCsr.col_indices": ["candidates", `${csr}.colIndices`, longs(1, 1)],
  "SampleResponse.sequences": ["sampled", "sequences", []],
  "SampleResponse.prompt_logprobs": ["sampled", "promptLogprobs", floats(NaN, -2)],
  "SampleResponse.topk_prompt_logprobs": ["sampled", "topkPromptLogprobs", undefined],
  "SampleResponse.prompt_cache_hit_tokens": ["sampled", "promptCacheHitTokens", 4],
  "SampleResponse.target_prompt_logprobs": ["sampled", "targetPromptLogprobs", undefined],
  "SampleResponse.prompt_alt_tokens": ["sampled", "promptAltTokens", undefined],
  "PromptAltTokens.tokens": ["sampled", "promptAltTokens.tokens", dense(longs(7, 9), 2, 1n, 2n)],
  "PromptAltTokens.logprobs": ["sampled", "promptAltTokens.logprobs", dense(floats(-1, -3), 1, 1n, 2n)],
  "SampledSequence.stop_reason": ["sampled", `${sequence}.stopReason`, Gen.StopReason.LENGTH],
  "SampledSequence.tokens": ["sampled", `${sequence}.tokens`, ints(5, 7)],
  "SampledSequence.logprobs": ["sampled", `${sequence}.logprobs`, undefined],
  "SampledSequence.topk_sampled_logprobs": ["sampled", `${sequence}.topkSampledLogprobs`, undefined],
  "TopkLogprobs.token_ids": ["sampled", "topkPromptLogprobs.tokenIds", ints(1, 3)],
  "TopkLogprobs.logprobs": ["sampled", "topkPromptLogprobs.logprobs", floats(-1, -3)],
  "TopkLogprobs.k": ["sampled", "topkPromptLogprobs.k", 2],
  "TopkLogprobs.length": ["sampled", "topkPromptLogprobs.length", 1],
  "ForwardBackwardOutput.loss_fn_output_type": ["output", "lossFnOutputType", "Other"],
  "ForwardBackwardOutput.loss_fn_outputs": ["output", "lossFnOutputs", []],
  "ForwardBackwardOutput.metrics": ["output", "metrics", {}],
  "ArrayRecord.fields": ["output", `${record}.fields`, {}],
  "ArrayRecord.num_datums": ["output", `${record}.numDatums`, 2n],
  "BatchedTensor.data": ["output", `${column}.data`, floats(-1, -3)],
  "BatchedTensor.offsets": ["output", `${column}.offsets`, longs(0, 4)],
  "BatchedTensor.dtype": ["output", `${column}.dtype`, Gen.DType.BFLOAT16],
  "BatchedTensor.trailing_shape": ["output", `${column}.trailingShape`, [2n]],
  "SamplingParams.max_tokens": ["params", "sampling_params.max_tokens", 5],
  "SamplingParams.seed": ["params", "sampling_params.seed", 2],
  "SamplingParams.temperature": ["params", "sampling_params.temperature", 0.5],
  "SamplingParams.top_k": ["params", "sampling_params.top_k", 3],
  "SamplingParams.top_p": ["params", "sampling_params.top_p", 0.5],
  "SamplingParams.stop_strs": ["params", "sampling_params.stop", []],
  "SamplingParams.stop_tokens": ["params", "sampling_params.stop", [2]],
  "StopStrings.values": ["params", "sampling_params.stop", ["a"]],
  "StopTokens.values": ["params", "sampling_params.stop", [3]]
}

/** How a refusal names a field, if not by its own name. */
const refusals: Readonly<Record<string, string>> = {
  "ForwardBackwardRequest.loss_fn_config_v2": "loss_fn_config",
  "LossConfigValue.text": "loss_fn_config.clip_high_threshold is text",
  "Datum.loss_fn_inputs": "loss_fn_inputs.clip_low_threshold is not read",
  "PromptProvenanceSpan.length": "model_input_spans covers 5",
  "SampledProvenanceSpan.offset": "model_input_spans.1. is at -1",
  "SampledProvenanceSpan.length": "model_input_spans covers 1",
  "ImageChunk.expected_tokens": "covers 2 positions, expected 3",
  "ImageDimensions.width": "override_dimensions",
  "ImageDimensions.height": "override_dimensions",
  "TopkLogprobs.k": "topk_prompt_logprobs",
  "ArrayRecord.num_datums": "1 arrays, expected 2"
}

/** Fields that are not read, and why no information is lost. */
const unread: Readonly<Record<string, string>> = {
  "ArrayRecord.type_tag": "the type of the whole output says the same"
}

const json = "parameters of samples travel as JSON"
const denseOnly = "tensors of this project are dense"
const noSound = "inputs of this project are text and images"
const ownSize = "images of this project say how many positions they take"

/** Fields that neither our client nor our server sets, and why they cannot be requested. */
const unwritten: Readonly<Record<string, string>> = {
  "LossConfigValue.number": "numbers go as loss_fn_config, which every server reads",
  "Chunk.dmel": noSound,
  "DmelChunk.dmel": noSound,
  "ImageChunk.override_dimensions": ownSize,
  "ImageDimensions.width": ownSize,
  "ImageDimensions.height": ownSize,
  "Tensor.sparse_csr": denseOnly,
  "SparseCsr.values": denseOnly,
  "SparseCsr.crow_indices": denseOnly,
  "SparseCsr.col_indices": denseOnly,
  ...Object.fromEntries(
    Descriptor.fields.filter(({ message }) => ["SamplingParams", "StopStrings", "StopTokens"].includes(message))
      .map((field) => [Descriptor.nameOf(field), json])
  )
}

const descriptors = new Map(Gen.file_tinker_public.messages.map((message) => [message.typeName, message]))

const isMessage = (value: unknown): value is Message =>
  typeof value === "object" && value !== null && "$typeName" in value

/** The names of the fields that are set in a message and its submessages. */
const setFields = (value: unknown): ReadonlyArray<string> => {
  if (value instanceof Uint8Array || typeof value !== "object" || value === null) return []
  const within = Object.values(value).flatMap(setFields)
  const descriptor = isMessage(value) ? descriptors.get(value.$typeName) : undefined
  if (descriptor === undefined || !isMessage(value)) return within
  const own = descriptor.fields.filter((field) => isFieldSet(value, field))
  return [...own.map(({ name }) => `${descriptor.name}.${name}`), ...within]
}

/** A copy with the value at a path replaced. */
const changed = (base: unknown, [key, ...rest]: ReadonlyArray<string>, value: unknown): Content => {
  const copy: Content = Array.isArray(base) ? Object.assign([], base) : Object.assign({}, base)
  if (key !== undefined) copy[key] = rest.length === 0 ? value : changed(copy[key], rest, value)
  return copy
}

const words = (name: string) => name.slice(name.indexOf(".") + 1)

describe("the fields of SDK 0.38", () => {
  it("are exactly the 74 fields of our messages, with the same numbers", () => {
    const expected = Descriptor.fields.map((field) => `${Descriptor.nameOf(field)} = ${field.number}`)
    assert.strictEqual(expected.length, 74)
    const ours = Gen.file_tinker_public.messages.flatMap(({ fields, name: message }) =>
      fields.map(({ name, number }) => `${message}.${name} = ${number}`)
    )
    assert.deepStrictEqual(ours.sort(), [...expected].sort())
  })

  it("are all read, refused or listed as unread where they are received", () => {
    const accounted = [...Object.keys(changes), ...Object.keys(unread)]
    assert.deepStrictEqual(accounted.sort(), Descriptor.fields.map(Descriptor.nameOf).sort())
  })

  for (const [name, [kind, path, value]] of Object.entries(changes)) {
    it.effect(`${name} is read, or refused by name`, () =>
      Effect.gen(function*() {
        const { base, read } = receivers[kind]
        const before = yield* read(base)
        const after = yield* Effect.result(read(changed(base, path.split("."), value)))
        if (Result.isSuccess(after)) assert.isFalse(isDeepStrictEqual(after.success, before), "it makes no difference")
        else assert.match(after.failure.message, new RegExp(refusals[name] ?? words(name)))
      }))
  }

  it("are all written by our client or server, except those that cannot be requested", () => {
    const written = new Set(sent().flatMap(setFields))
    const missing = Descriptor.fields.map(Descriptor.nameOf).filter((name) => !written.has(name))
    assert.deepStrictEqual(missing.sort(), Object.keys(unwritten).sort())
  })
})
