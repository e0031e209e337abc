/** Features that this server adds to any backend. */
import type { Capabilities, Sampling } from "@effect-rl/core/backend"

const sampling = ({ promptLogprobs, topkPromptLogprobs }: Capabilities.Capabilities): ReadonlyArray<Sampling.Extra> => [
  ...(promptLogprobs ? ["promptLogprobsLastN" as const] : []),
  ...(topkPromptLogprobs > 0 ? ["topkSampleLogprobs" as const] : [])
]

/** The capabilities that the server reports to clients. */
export const capabilities = (found: Capabilities.Capabilities): Capabilities.Capabilities => ({
  ...found,
  sampling: [...new Set([...sampling(found), ...found.sampling ?? []])]
})
