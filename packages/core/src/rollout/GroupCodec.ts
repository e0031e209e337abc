/** Groups as they are sent and stored: token ids and numbers as bytes, so that NaN and every bit survive. */
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import type { Trajectory } from "../env/Trajectory.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type * as Metric from "../record/Metric.ts"
import type * as GroupResult from "./GroupResult.ts"

type Numbers = Int32Array | Float32Array | Float64Array

/** A typed array as its bytes, little-endian as on every machine this runs on. */
const bytesOf = <A extends Numbers>(constructor: {
  new(bytes: ArrayBuffer): A
  readonly BYTES_PER_ELEMENT: number
}) => {
  const isWhole = Schema.makeFilter((bytes: Uint8Array) => bytes.length % constructor.BYTES_PER_ELEMENT === 0, {
    expected: `whole numbers of ${constructor.BYTES_PER_ELEMENT} bytes`
  })
  return Schema.Uint8Array.check(isWhole).pipe(
    Schema.decodeTo(
      Schema.instanceOf(constructor),
      SchemaTransformation.transform({
        decode: (bytes: Uint8Array) => new constructor(new Uint8Array(bytes).buffer),
        encode: (numbers: A) => new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
      })
    )
  )
}

const Metrics: Schema.Codec<Metric.Metrics, unknown> = Schema.Record(
  Schema.String,
  Schema.Union([
    Schema.Struct({ kind: Schema.Literal("rate"), hit: Schema.Boolean }),
    Schema.Struct({ kind: Schema.Literal("mean"), value: Schema.Number }),
    Schema.Struct({ kind: Schema.Literal("sum"), value: Schema.Number }),
    Schema.Struct({ kind: Schema.Literal("max"), value: Schema.Number })
  ])
)

const Logs = Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Number]))

const Input: Schema.Codec<ModelInput.ModelInput, unknown> = Schema.Struct({
  length: Schema.Int,
  chunks: Schema.Array(Schema.Union([
    Schema.Struct({ _tag: Schema.Literal("EncodedText"), tokens: bytesOf(Int32Array) }),
    Schema.Struct({
      _tag: Schema.Literal("Image"),
      data: Schema.Uint8Array,
      format: Schema.Literals(["png", "jpeg"]),
      expectedTokens: Schema.Int
    })
  ]))
})

const Sampled: Schema.Codec<Sampling.SampledTokens, unknown> = Schema.Struct({
  tokens: bytesOf(Int32Array),
  logprobs: bytesOf(Float32Array),
  stopReason: Schema.Literals(["stop", "length"])
})

/** One episode. */
export const trajectory: Schema.Codec<Trajectory, unknown> = Schema.Struct({
  transitions: Schema.Array(Schema.Struct({
    observation: Input,
    action: Sampled,
    reward: Schema.Number,
    trainable: Schema.Boolean,
    metrics: Metrics,
    logs: Logs,
    fork: Schema.optionalKey(Schema.Literals(["renderer", "history", "response"]))
  })),
  stepReward: Schema.Number,
  stopReason: Schema.Option(Schema.String),
  truncations: Schema.Int,
  logs: Schema.optionalKey(Logs)
})

/** Why a member failed. */
export const report: Schema.Codec<GroupResult.FailureReport, unknown> = Schema.Struct({
  member: Schema.Int,
  attempt: Schema.Int,
  failure: Schema.Literals([
    "AcquireFailed",
    "StepFailed",
    "GraderFailed",
    "PolicyFailed",
    "HookFailed",
    "TimedOut",
    "Died"
  ]),
  message: Schema.String
})

/** Why too few members were left. */
export const belowFloor: Schema.Codec<GroupResult.BelowFloor, unknown> = Schema.Struct({
  failure: Schema.Literal("BelowFloor"),
  finished: Schema.Int,
  floor: Schema.Int,
  message: Schema.String
})

const fields = {
  key: Schema.String,
  tags: Schema.Array(Schema.String),
  samplerStep: Schema.Int,
  members: Schema.Array(Schema.Option(trajectory)),
  rewardsG: bytesOf(Float64Array),
  metricsG: Schema.Array(Metrics),
  retried: Schema.Array(report)
}

/** What became of a group. */
export const group: Schema.Codec<GroupResult.GroupResult, unknown> = Schema.Union([
  Schema.Struct({ _tag: Schema.Literal("Completed"), ...fields }),
  Schema.Struct({ _tag: Schema.Literal("Partial"), ...fields, dropped: Schema.Array(report) }),
  Schema.Struct({
    _tag: Schema.Literal("Skipped"),
    key: Schema.String,
    tags: Schema.Array(Schema.String),
    size: Schema.Int,
    reason: Schema.Union([report, belowFloor]),
    dropped: Schema.Array(report)
  })
])
