/** Loss expressions that must not compile. */
import { PolicyLoss } from "@effect-rl/core"
import type { Datum } from "@effect-rl/core/backend"
import { LossExpression, LossTerm } from "@effect-rl/core/losses"

const { add, and, exp, gt, mean, mul, sub, sum, where } = LossTerm

export const fine = LossExpression.make(
  "fine",
  { parameters: { delta: 0.2 }, extras: { score: "sequence", proximalLogprobs: "token" } },
  ({ advantages, logprobs, proximalLogprobs, score }, { delta }) =>
    where(gt(score, delta), mul(exp(sub(logprobs, proximalLogprobs)), advantages), 0)
)

// @ts-expect-error a condition is not a number
export const condition = LossExpression.make("condition", {}, ({ logprobs }) => gt(logprobs, 0))

// @ts-expect-error numbers are not combined with "and"
export const conjunction = LossExpression.make("and", {}, ({ logprobs, mask }) => where(and(logprobs, mask), 1, 0))

// @ts-expect-error a condition cannot be multiplied
export const product = LossExpression.make("product", {}, ({ logprobs }) => mul(logprobs, gt(logprobs, 0)))

// @ts-expect-error the mean of a sequence is one number, which has no sum
export const twice = LossExpression.make("twice", {}, ({ logprobs }) => sum(mean(logprobs)))

// @ts-expect-error weights are per token
export const weights = LossExpression.make("weights", {}, ({ logprobs }) => sum(logprobs, mean(logprobs)))

// @ts-expect-error an input that was not declared
export const undeclared = LossExpression.make("undeclared", {}, ({ teacher }) => teacher)

// @ts-expect-error a parameter that was not declared
export const parameter = LossExpression.make("parameter", {}, ({ logprobs }, { beta }) => add(logprobs, beta))

declare const datum: Datum.Datum<"PolicyTokens">

export const plain = LossExpression.values(PolicyLoss.ppo())(datum)

// @ts-expect-error the datum has no log-probabilities of the proximal policy
export const incomplete = LossExpression.values(PolicyLoss.truncated())(datum)

export const wrongShape = LossExpression.values(PolicyLoss.truncated())({
  ...datum,
  // @ts-expect-error the extra is per token
  extras: { proximalLogprobs: 1 }
})

// @ts-expect-error a function of all data is a custom loss, not an expression of one datum
export const acrossDatums: LossExpression.LossExpression = (data: ReadonlyArray<Datum.Datum<"WeightedTokens">>) => data
