/** The providers that the soak runs programs in, each with what this machine lacks for it. */
import { Sandbox } from "@effect-rl/sandbox"

/** The variable by which programs of a host are found. */
export const variable = "EFFECT_RL_SOAK_HOST"

export const all = [
  { name: "bubblewrap", layer: Sandbox.Sandbox.layerBubblewrap({ concurrency: 2 }) },
  { name: "WASI", layer: Sandbox.Sandbox.layerWasi({ concurrency: 2 }) },
  { name: "unsafeHost", layer: Sandbox.Sandbox.layerUnsafeHost({ concurrency: 2 }) }
] as const

export type Name = (typeof all)[number]["name"]

/** The provider of a name; bubblewrap unless there is such a name. */
export const named = (name: string) => all.find((provider) => provider.name === name) ?? all[0]
