export * as Engine from "./Engine.ts"
export * as Preset from "./Preset.ts"
