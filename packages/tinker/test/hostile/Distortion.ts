/** Corrupts valid bodies with impossible numbers. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { DType, ForwardBackwardOutputSchema, SampleResponseSchema } from "@effect-rl/tinker/wire/gen/TinkerPublic.gen"
import * as HonestService from "./HonestService.ts"
import type { Distortion } from "./Mischief.ts"

const notANumber = new Uint8Array(Float32Array.of(NaN, NaN, NaN).buffer)

const sample = (way: Distortion, body: Uint8Array) => {
  const message = fromBinary(SampleResponseSchema, body)
  const [first] = message.sequences
  switch (way) {
    case "nan":
      if (first !== undefined) first.logprobs = notANumber
      break
    case "fewer":
      message.sequences.pop()
      break
    case "more":
      if (first !== undefined) message.sequences.push(first)
      break
    case "short arrays":
      if (first !== undefined) first.tokens = first.tokens.subarray(4)
      break
    default:
      message.topkPromptLogprobs = create(SampleResponseSchema, {
        topkPromptLogprobs: { k: 2 ** 31, length: 2 ** 31 }
      }).topkPromptLogprobs
  }
  return toBinary(SampleResponseSchema, message)
}

const pass = (way: Distortion, body: Uint8Array) => {
  const message = fromBinary(ForwardBackwardOutputSchema, body)
  const [record] = message.lossFnOutputs
  const logprobs = record?.fields["logprobs"]
  if (record === undefined || logprobs === undefined) return body
  switch (way) {
    case "nan":
      logprobs.dtype = DType.INT64
      break
    case "fewer":
      record.numDatums -= 1n
      logprobs.offsets = logprobs.offsets.subarray(8)
      break
    case "more":
      record.numDatums += 1n
      break
    case "short arrays":
      logprobs.data = logprobs.data.subarray(4)
      break
    default:
      record.numDatums = 2n ** 62n
  }
  return toBinary(ForwardBackwardOutputSchema, message)
}

const json = (way: Distortion, body: Uint8Array) => {
  const text = new TextDecoder().decode(body)
  if (way === "huge id") return text.replace(/"request_id":"/, `$&${HonestService.longId}`)
  return text.replace(/(?<=[:[])-?\d+(\.\d+)?/g, way === "nan" ? "NaN" : "1e999")
}

/** The distorted reply. A reply without numbers is unchanged. */
export const apply = (way: Distortion, reply: HonestService.Reply): HonestService.Reply => {
  if (reply.protobuf === "sample") return { ...reply, body: sample(way, reply.body) }
  if (reply.protobuf === "pass") return { ...reply, body: pass(way, reply.body) }
  return { ...reply, body: new TextEncoder().encode(json(way, reply.body)) }
}
