/** Rotary embedding scaling for extended contexts, from `rope_scaling` in `config.json`. */
import * as Schema from "effect/Schema"

/** The fields of `rope_scaling`, or of `rope_parameters` in newer files. */
export const Parameters = Schema.Struct({
  rope_type: Schema.optionalKey(Schema.String),
  type: Schema.optionalKey(Schema.String),
  rope_theta: Schema.optionalKey(Schema.Finite),
  partial_rotary_factor: Schema.optionalKey(Schema.Finite),
  factor: Schema.optionalKey(Schema.Finite),
  low_freq_factor: Schema.optionalKey(Schema.Finite),
  high_freq_factor: Schema.optionalKey(Schema.Finite),
  original_max_position_embeddings: Schema.optionalKey(Schema.Finite)
})
export interface Parameters extends Schema.Schema.Type<typeof Parameters> {}

/** The scaling types that the engine supports. */
export const types = ["default", "linear", "llama3"] as const

export const typeOf = ({ rope_type, type }: Parameters): string => rope_type ?? type ?? "default"

const fieldsOf: Readonly<Record<string, ReadonlyArray<"factor" | "low_freq_factor" | "high_freq_factor">>> = {
  linear: ["factor"],
  llama3: ["factor", "low_freq_factor", "high_freq_factor"]
}

/** The first field that the scaling type requires but that is missing or not above 0; undefined if there is none. */
export const missing = (parameters: Parameters): string | undefined =>
  fieldsOf[typeOf(parameters)]?.find((field) => !((parameters[field] ?? 0) > 0))

interface Unscaled {
  readonly ropeTheta: number
  readonly headSize: number
  readonly contextLength: number
}

/**
 * The divisors of Llama 3.1, which keeps short wavelengths, divides long ones by the factor, and blends the wavelengths
 * in between.
 */
const llama3 = (parameters: Parameters, { contextLength, headSize, ropeTheta }: Unscaled): ReadonlyArray<number> => {
  const { factor = 8, high_freq_factor: high = 4, low_freq_factor: low = 1 } = parameters
  const context = parameters.original_max_position_embeddings ?? contextLength
  return Array.from({ length: headSize / 2 }, (_, i) => {
    const wavelength = 2 * Math.PI * Math.pow(ropeTheta, 2 * i / headSize)
    if (wavelength < context / high) return 1
    if (wavelength > context / low) return factor
    const share = (context / wavelength - low) / (high - low)
    return 1 / ((1 - share) / factor + share)
  })
}

/** One divisor for each of the `headSize / 2` frequencies; undefined without scaling. */
export const divisors = (parameters: Parameters, unscaled: Unscaled): ReadonlyArray<number> | undefined => {
  switch (typeOf(parameters)) {
    case "linear":
      return Array.from({ length: unscaled.headSize / 2 }, () => parameters.factor ?? 1)
    case "llama3":
      return llama3(parameters, unscaled)
    default:
      return undefined
  }
}

/** The published parameters of Llama 3.1 and 3.2, except the factor. */
const published = {
  rope_type: "llama3",
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192
}

const isNear = (one: ReadonlyArray<number>, other: ReadonlyArray<number>) =>
  one.every((value, i) => Math.abs(value - (other[i] ?? NaN)) <= 1e-5 * value)

/**
 * The scaling parameters that yield a model's divisors: linear scaling, or Llama 3 scaling with the published parameters and any factor.
 * Undefined if neither yields them.
 */
export const fromDivisors = (
  { ropeDivisors, ...unscaled }: Unscaled & { readonly ropeDivisors?: ReadonlyArray<number> }
): Parameters | undefined => {
  if (ropeDivisors === undefined) return { rope_type: "default" }
  const factor = Math.max(...ropeDivisors)
  const candidates: ReadonlyArray<Parameters> = [{ rope_type: "linear", factor }, { ...published, factor }]
  return candidates.find((parameters) => isNear(divisors(parameters, unscaled) ?? [], ropeDivisors))
}
