/** A forecast of what a run will have used at its end, as text. */
import { Usage } from "@effect-rl/core/backend"
import { Quantity } from "@effect-rl/core/records"

/** A forecast as it is recorded, or decoded from JSON. */
interface Forecast {
  readonly prefilled: number | null
  readonly sampled: number | null
  readonly trained: number | null
  readonly dollars?: number | null
  readonly seconds?: number | null
}

/** Formats a forecast, for example as `1.2 M tokens, $3.40, 2 h 5 min`. */
export const of = ({ dollars, prefilled, sampled, seconds, trained }: Forecast): string => {
  const tokens = Usage.total({ prefilled: prefilled ?? NaN, sampled: sampled ?? NaN, trained: trained ?? NaN })
  return [
    `${Quantity.count(tokens)} tokens`,
    ...(typeof dollars === "number" ? [Quantity.dollars(dollars)] : []),
    ...(typeof seconds === "number" ? [Quantity.duration(1000 * seconds)] : [])
  ].join(", ")
}
