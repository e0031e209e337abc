/** What metrics mean, and which values are healthy. */

export interface Meaning {
  readonly name: string
  readonly meaning: string
  /** The healthy range in words. */
  readonly usual: string
  /** Absent where no range is healthy for every run. */
  readonly isHealthy?: (value: number) => boolean
}

export const all: ReadonlyArray<Meaning> = [
  {
    name: "optim/entropy",
    meaning: "uncertainty of the sampled tokens; near 0 the model has stopped exploring",
    usual: "falls slowly, stays above 0.01",
    isHealthy: (value) => value > 0.01
  },
  {
    name: "optim/kl_sample_train_v1",
    meaning: "distance between the weights that sampled and those that train",
    usual: "below 0.01",
    isHealthy: (value) => Math.abs(value) < 0.01
  },
  {
    name: "optim/kl_sample_train_v2",
    meaning: "the same distance, estimated so that it is never negative",
    usual: "below 0.01",
    isHealthy: (value) => value < 0.01
  },
  {
    name: "optim/effective_sample_size",
    meaning: "share of the batch that importance weights leave in use",
    usual: "above 0.5",
    isHealthy: (value) => value > 0.5
  },
  {
    name: "optim/ratio_max",
    meaning: "largest importance ratio of a token",
    usual: "below 10",
    isHealthy: (value) => value < 10
  },
  {
    name: "optim/clipped_share",
    meaning: "share of tokens whose ratio the loss clips",
    usual: "below 0.2",
    isHealthy: (value) => value < 0.2
  },
  { name: "grad_norm", meaning: "length of the gradient; spikes announce collapse", usual: "steady" },
  { name: "update_norm", meaning: "length of the change of the weights", usual: "steady" },
  { name: "optim/lr", meaning: "learning rate", usual: "as configured" },
  {
    name: "env/all/truncated",
    meaning: "share of episodes cut at a limit",
    usual: "below 0.1",
    isHealthy: (value) => value < 0.1
  },
  {
    name: "env/all/by_group/frac_mixed",
    meaning: "share of groups whose rewards differ: only they teach something",
    usual: "above 0.1",
    isHealthy: (value) => value > 0.1
  },
  {
    name: "env/all/response_tokens/p50",
    meaning: "median length of a response in tokens",
    usual: "no sudden change"
  },
  {
    name: "env/all/response_tokens/p95",
    meaning: "length that 95 % of the responses stay below",
    usual: "under the token limit"
  },
  {
    name: "members/dropped",
    meaning: "members that failed and were left out",
    usual: "0",
    isHealthy: (value) => value === 0
  },
  { name: "time/sampling", meaning: "seconds of sampling", usual: "–" },
  { name: "time/training", meaning: "seconds of training", usual: "–" }
]

/** The metrics that are out of their healthy range. */
export const unhealthy = (metrics: Readonly<Record<string, number | null>>): ReadonlyArray<Meaning> =>
  all.filter(({ isHealthy, name }) => {
    const value = metrics[name]
    return value !== undefined && value !== null && isHealthy?.(value) === false
  })
