/** What the routes work with. */
import type { Tinker } from "@effect-rl/core"
import type { CheckpointFolder } from "./CheckpointFolder.ts"
import type { Futures } from "./Futures.ts"
import type { Sessions } from "./Sessions.ts"

export interface Parts {
  readonly tinker: Tinker.Tinker["Service"]
  readonly sessions: Sessions
  readonly futures: Futures
  readonly checkpoints: CheckpointFolder
  /** A name nothing else on this server has. */
  readonly uniqueId: () => string
}
