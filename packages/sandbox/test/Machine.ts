/** What this machine lacks for a provider, in words; undefined where it has everything. */
import { Bubblewrap } from "@effect-rl/sandbox"
import { Effect, Layer } from "effect"

export const lacksBubblewrap: string | undefined = await Effect.runPromise(
  Layer.build(Bubblewrap.layer()).pipe(
    Effect.scoped,
    Effect.match({ onFailure: ({ message }) => message, onSuccess: () => undefined })
  )
)
