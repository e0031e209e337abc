/** The providers that the soak test uses, each with what this machine lacks to run it. */
import { Sandbox } from "@effect-rl/sandbox"

/** The environment variable that identifies the programs of a host. */
export const variable = "EFFECT_RL_SOAK_HOST"

/** With more permits than there are programs at the same time, bubblewrap sets up sandboxes in advance. */
export const all = [
  { name: "bubblewrap", layer: Sandbox.Sandbox.layerBubblewrap({ concurrency: 6 }) },
  { name: "WASI", layer: Sandbox.Sandbox.layerWasi({ concurrency: 2 }) },
  { name: "unsafeHost", layer: Sandbox.Sandbox.layerUnsafeHost({ concurrency: 2 }) }
] as const

export type Name = (typeof all)[number]["name"]

/** The provider with this name. Default: bubblewrap. */
export const named = (name: string) => all.find((provider) => provider.name === name) ?? all[0]
