/** The local sandbox providers that are safe for hostile code, and what this machine lacks to run the others. */
import { Sandbox } from "@effect-rl/sandbox"
import { Effect, Layer } from "effect"

const layers = { bubblewrap: Sandbox.Sandbox.layerBubblewrap(), wasi: Sandbox.Sandbox.layerWasi() }

export const all = await Promise.all(
  Object.entries(layers).map(async ([name, layer]) => ({
    name,
    layer,
    lacks: await Effect.runPromise(
      Layer.build(layer).pipe(
        Effect.scoped,
        Effect.match({ onFailure: ({ message }) => message, onSuccess: () => undefined })
      )
    )
  }))
)
