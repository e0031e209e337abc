/**
 * A training request with 128 datums of 2,048 positions, and a sampling request with a prompt of that length. The Python side uses the same
 * numbers.
 */
import { Loss } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { Schema } from "effect"

export const datums = 128
export const positions = 2048
export const vocabulary = 151_936

/** A token from a fixed sequence of varied numbers. */
const token = (index: number) => (index * 7919 + 13) % vocabulary

export const tokens = (datum: number) =>
  Int32Array.from({ length: positions }, (_, at) => token(datum * positions + at))

const logprobs = Float32Array.from({ length: positions }, (_, at) => -((at % 97) / 16))
const advantages = Float32Array.from({ length: positions }, (_, at) => at < positions / 2 ? 0 : 0.5)
const mask = advantages.map((advantage) => advantage === 0 ? 0 : 1)

export const loss = Loss.importanceSampling

export const data = () =>
  Array.from({ length: datums }, (_, index) =>
    Datum.policyTokens(ModelInput.fromTokens(tokens(index)), {
      targetTokens: tokens(index + 1),
      logprobs,
      advantages,
      mask
    }))

/** The result of a training pass over `data`. */
export const output = () => ({
  outputs: Array.from({ length: datums }, () => ({ logprobs })),
  metrics: { "loss:sum": 1 }
})

export const prompt = () => ModelInput.fromTokens(tokens(0))
export const maxTokens = 32

/** Bytes and seconds of one repeated operation. */
export const Rate = Schema.Struct({ bytes: Schema.Finite, seconds: Schema.Finite })
export type Rate = typeof Rate.Type

/** Concurrent samples: the number that failed, the total time, and the cost. */
export const InFlight = Schema.Struct({
  failures: Schema.Finite,
  seconds: Schema.Finite,
  cpuMicros: Schema.Finite,
  rssMegabytes: Schema.Finite
})
export type InFlight = typeof InFlight.Type
