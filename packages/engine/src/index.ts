export * as Engine from "./Engine.ts"
export * as Merge from "./Merge.ts"
export * as Preset from "./Preset.ts"
export * as SmolLm2 from "./SmolLm2.ts"
