/** What this machine lacks to run each provider, in words, or undefined if nothing is missing. */
import { Sandbox, type SandboxError } from "@effect-rl/sandbox"
import { Effect, Layer } from "effect"
import { spawnSync } from "node:child_process"

const probe = (layer: Layer.Layer<Sandbox.Sandbox, SandboxError.SandboxError>): Promise<string | undefined> =>
  Effect.runPromise(
    Layer.build(layer).pipe(
      Effect.scoped,
      Effect.match({ onFailure: ({ message }) => message, onSuccess: () => undefined })
    )
  )

export const lacksBubblewrap = await probe(Sandbox.Sandbox.layerBubblewrap())

export const lacksWasi = await probe(Sandbox.Sandbox.layerWasi({ concurrency: 1 }))

export const lacksPython = spawnSync("python3", ["--version"]).status === 0 ? undefined : "no python3"

export const lacksDocker = await probe(Sandbox.Sandbox.layerDocker())

/** What is missing, by provider. */
export const lacks = { bubblewrap: lacksBubblewrap, WASI: lacksWasi, unsafeHost: lacksPython }
