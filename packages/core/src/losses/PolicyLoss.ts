/**
 * Policy losses of the literature as expressions, each a few lines with its formula and its source.
 *
 * @example
 * Rl.run({ model, dataset, sampling: { maxTokens: 64 }, update: { learningRate: 1e-4, loss: PolicyLoss.dppo() } })
 */
export * from "./DecoupledLosses.ts"
export * from "./Mixture.ts"
export * from "./SequenceLosses.ts"
export * from "./TokenLosses.ts"
