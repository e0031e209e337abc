/**
 * What an update minimises over the tokens that credit was given for.
 *
 * @example
 * Rl.run({ model, dataset, update: { loss: Objective.withObservations({ weight: 0.1 }) } })
 */
export type { IsClipped } from "./objective/Clipping.ts"
export * from "./objective/Decoupled.ts"
export { custom, from, type Objective, reading } from "./objective/Definition.ts"
export * from "./objective/Observations.ts"
export * from "./objective/Proximal.ts"
