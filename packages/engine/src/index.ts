export * as Engine from "./Engine.ts"
export * as Preset from "./Preset.ts"
export * as SmolLm2 from "./SmolLm2.ts"
