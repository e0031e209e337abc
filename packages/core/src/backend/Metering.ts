/** How a run counts the tokens that reference policies and teachers read. */
import * as Context from "effect/Context"
import type { SamplingClient } from "./SamplingClient.ts"

/** Applied to every client that is asked beside the weights being trained; a run provides its token budget's. */
export const Metering = Context.Reference<(client: SamplingClient) => SamplingClient>(
  "@effect-rl/core/backend/Metering",
  { defaultValue: () => (client) => client }
)
