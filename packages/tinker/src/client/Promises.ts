/** Checks that the service gives each promise a unique id. */
import * as Effect from "effect/Effect"
import type { Promised } from "../wire/Future.ts"
import * as WireError from "./WireError.ts"

export interface Promises {
  /** Fails as `Untrusted` if another request already had the same id. */
  readonly claim: (promised: typeof Promised.Type) => Effect.Effect<void, WireError.WireError>
}

/** How many ids are remembered, far more than the requests in progress. */
const most = 100_000

export const make = (): Promises => {
  const known = new Set<string>()
  return {
    claim: ({ request_id: id }) =>
      Effect.suspend(() => {
        if (known.has(id)) {
          const detail = `request_id "${id}", which is that of another request`
          return Effect.fail(WireError.make(new WireError.Untrusted({ detail })))
        }
        known.add(id)
        for (const oldest of known) {
          if (known.size <= most) break
          known.delete(oldest)
        }
        return Effect.void
      })
  }
}
