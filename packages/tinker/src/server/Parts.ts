/** What the routes work with. */
import type { Tinker } from "@effect-rl/core"
import type { Checkpoints } from "./Checkpoints.ts"
import type { Futures } from "./Futures.ts"
import type { RateLimit } from "./RateLimit.ts"
import type { Sessions } from "./Sessions.ts"

export interface Parts {
  readonly tinker: Tinker.Tinker["Service"]
  readonly sessions: Sessions
  readonly futures: Futures
  readonly checkpoints: Checkpoints
  /** Of requests to sample. */
  readonly rateLimit: RateLimit
  /** Whether clients are asked to compress their training passes. */
  readonly compressPasses: boolean
  /** A name nothing else on this server has. */
  readonly uniqueId: () => string
}
