/**
 * Slows down or ends a run whose health is bad: by a lower learning rate, or by stopping. Off unless its settings are given.
 *
 * @example
 * Rl.run({ model, dataset, update: { governor: { essBase: 0.8, stopOn: "optim/effective_sample_size" } } })
 */
export * from "./governor/GovernorSettings.ts"
export * from "./governor/HealthWatch.ts"
export * from "./governor/RateScale.ts"
