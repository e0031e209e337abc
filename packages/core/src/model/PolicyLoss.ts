/**
 * Policy losses of the literature as expressions, each a few lines with its formula and its source.
 *
 * @example
 * Rl.run({ model, dataset, sampling: { maxTokens: 64 }, update: { learningRate: 1e-4, loss: PolicyLoss.dppo() } })
 */
export * from "./loss/DecoupledLosses.ts"
export * from "./loss/Mixture.ts"
export * from "./loss/SequenceLosses.ts"
export * from "./loss/TokenLosses.ts"
