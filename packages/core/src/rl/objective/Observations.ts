/** Reinforcement learning with cross entropy on observations. */
import * as Arr from "effect/Array"
import * as Observations from "../../learn/Observations.ts"
import * as PolicyLoss from "../../losses/PolicyLoss.ts"
import { type Data, type Objective, reading } from "./Definition.ts"

/** The data of an update with the extras of `PolicyLoss.withObservations`. */
export const observed = (data: Data) =>
  PolicyLoss.countTokens(Arr.map(data, (datum) => [datum, Observations.mask(datum)]))

/**
 * RL on the action tokens and cross entropy on what tools and environments answered, each divided by the number of its tokens in
 * the update.
 *
 * @see `PolicyLoss.withObservations`
 */
export const withObservations = (options: PolicyLoss.ObservationOptions = {}): Objective =>
  reading(PolicyLoss.withObservations(options), observed)
