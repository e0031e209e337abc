/** Policy losses of the literature as expressions, each a few lines with its formula and its source. */
export * from "./loss/DecoupledLosses.ts"
export * from "./loss/Mixture.ts"
export * from "./loss/SequenceLosses.ts"
export * from "./loss/TokenLosses.ts"
