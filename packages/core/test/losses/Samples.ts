/** Random data for each policy loss. */
import { PolicyLoss } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { LossExpression } from "@effect-rl/core/losses"

/** The extras of all losses of the library. */
export const extras = {
  proximalLogprobs: "token",
  alpha: "token",
  observationMask: "token",
  actionTokens: "sequence",
  observationTokens: "sequence"
} as const

export type Expression = LossExpression.LossExpression<typeof extras>

export interface Sample {
  readonly expression: Expression
  readonly example: LossExpression.Example<typeof extras>
  readonly logprobs: ReadonlyArray<number>
  readonly seed: number
}

const withExtras = <X extends LossExpression.Extras>(self: LossExpression.LossExpression<X>): Expression =>
  LossExpression.make(self.name, { extras, equivalent: self.equivalent }, () => self.body)

/** The losses of the library with their defaults, and with bounds that random data reach. */
export const expressions: ReadonlyArray<Expression> = [
  withExtras(PolicyLoss.importanceSampling),
  withExtras(PolicyLoss.ppo()),
  withExtras(PolicyLoss.ppo({ clipHigh: 1.28, dualClip: 3 })),
  withExtras(PolicyLoss.cispo()),
  withExtras(PolicyLoss.dro()),
  withExtras(PolicyLoss.gspo({ clipLow: 0.8, clipHigh: 1.3 })),
  withExtras(PolicyLoss.dppo({ deltaHigh: 0.05, deltaLow: 0.05, tau: 0.1 })),
  withExtras(PolicyLoss.icePop()),
  withExtras(PolicyLoss.truncated()),
  withExtras(PolicyLoss.truncated({ level: "sequence" })),
  withExtras(PolicyLoss.masked()),
  withExtras(PolicyLoss.masked({ level: "token", low: 0.5, high: 2 })),
  withExtras(PolicyLoss.opsm()),
  withExtras(PolicyLoss.sapo()),
  withExtras(PolicyLoss.vespo()),
  withExtras(PolicyLoss.decoupled()),
  withExtras(PolicyLoss.topr),
  withExtras(PolicyLoss.toprToken),
  withExtras(PolicyLoss.gmpo()),
  withExtras(PolicyLoss.withObservations())
]

const generator = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** One datum whose current log-probabilities vary around the sampler's. */
export const sample = (expression: Expression, seed: number, drift = 0.4): Sample => {
  const random = generator(seed * 7919 + 17)
  const length = 4 + Math.floor(random() * 5)
  const between = (low: number, high: number) => low + (high - low) * random()
  const vector = (f: (at: number) => number) => Float32Array.from({ length }, (_, at) => f(at))
  const mask = vector((at) => at === 1 || random() < 0.7 ? 1 : 0)
  const sampler = vector((at) => mask[at] === 0 ? NaN : -between(0.1, 3))
  const around = (at: number) => {
    const center = sampler[at] ?? 0
    return Math.min(-0.01, (Number.isNaN(center) ? -1 : center) + between(-drift, drift))
  }
  const logprobs = Array.from({ length }, (_, at) => Math.fround(around(at)))
  const advantage = between(-2, 2)
  return {
    expression,
    seed,
    logprobs,
    example: {
      ...Datum.policyTokens(ModelInput.fromTokens(new Int32Array(length)), {
        targetTokens: new Int32Array(length),
        logprobs: sampler,
        advantages: vector((at) => mask[at] === 0 ? 0 : advantage),
        mask
      }),
      extras: {
        proximalLogprobs: vector(around),
        alpha: vector(() => between(0, 1)),
        observationMask: vector((at) => mask[at] === 0 ? 1 : 0),
        actionTokens: 10,
        observationTokens: 5
      }
    }
  }
}

/** Losses that deliberately stop gradients, so their gradient is not that of their value. */
const stopsGradients = new Set(["cispo", "gspo", "icepop", "vespo", "decoupled_ppo", "topr", "topr_token"])

export const all: ReadonlyArray<Sample> = expressions.flatMap((expression) =>
  [1, 2, 3].map((seed) => sample(expression, seed))
)

/** Losses whose gradient equals finite differences. */
export const smooth = all.filter(({ expression }) => !stopsGradients.has(expression.name))
