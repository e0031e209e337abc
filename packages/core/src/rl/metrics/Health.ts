/**
 * Health metrics of a run: what each number means, and its usual range when training goes well.
 *
 * @example
 * const concerns = Health.concerns({ "optim/entropy": 0.001 })
 */

import * as Statistics from "../../records/Statistics.ts"
import * as MetricMeaning from "./MetricMeaning.ts"

/** A range of values; a missing bound is unlimited. */
export interface Range {
  readonly least?: number
  readonly most?: number
}

/** A health metric of a run. */
export interface Sign {
  /** The name of the iteration metric. A name that ends in `/*` stands for all metrics with that prefix. */
  readonly metric: string
  readonly title: string
  readonly meaning: string
  /** The usual range of the metric when training goes well; absent if no range fits every task. */
  readonly healthy?: Range
  /** What to do if the value is outside the range. */
  readonly advice?: string
}

/** The health metrics of a run, the most useful first. */
export const signs: ReadonlyArray<Sign> = [
  {
    metric: "optim/effective_sample_size",
    title: "effective sample size",
    meaning:
      "Share of the trained tokens that still count after importance weighting: 1 if the trained policy is the one that " +
      "sampled them, near 0 if a few tokens decide the update",
    healthy: { least: 0.5 },
    advice: "Lower the learning rate, take fewer substeps or staler groups, or use a loss that clips"
  },
  {
    metric: "optim/effective_sample_size_sequences",
    title: "effective sample size of sequences",
    meaning: "The same share with the weights of whole sequences. It falls earlier, and so warns of a collapse first",
    healthy: { least: 0.1 },
    advice: "Lower the learning rate or the staleness before the reward falls"
  },
  {
    metric: "optim/kl_sample_train_v1",
    title: "divergence of trainer from sampler, first estimate",
    meaning:
      "Mean of log q − log p over the trained tokens, q the sampler and p the trainer. Unbiased but noisy: it may be negative",
    healthy: { least: -0.01, most: 0.01 },
    advice: "On-policy, it should only be rounding: compare the sampler's and the trainer's precision and prompts"
  },
  {
    metric: "optim/kl_sample_train_v2",
    title: "divergence of trainer from sampler, second estimate",
    meaning: "Half the mean of (log q − log p)²: never negative, a little biased",
    healthy: { most: 0.01 },
    advice:
      "Compare the sampler's and the trainer's precision and prompts; mixture-of-experts models are about ten times higher than dense ones"
  },
  {
    metric: "optim/kl_sample_train_k3",
    title: "divergence of trainer from sampler, third estimate",
    meaning:
      "Mean of ρ − 1 − log ρ with ρ the importance ratio: never negative and unbiased, but one outlier can dominate it",
    healthy: { most: 0.01 },
    advice: "If it is far above the second estimate, a few tokens have extreme ratios: look at the largest ratio"
  },
  {
    metric: "optim/kl_by_depth/*",
    title: "divergence by depth of context",
    meaning:
      "The second estimate for tokens at or after this position of their sequence. It grows with depth if sampler and trainer " +
      "treat long contexts differently; `optim/kl_v1_by_depth` and `optim/kl_k3_by_depth` are the other estimates",
    healthy: { most: 0.01 },
    advice: "If it grows with depth, compare the positions, the attention and the truncation of sampler and trainer"
  },
  {
    metric: "optim/ratio_max",
    title: "largest importance ratio",
    meaning: "Largest importance ratio: the factor by which the trainer finds a token likelier than the sampler did",
    healthy: { most: 10 },
    advice: "Use a loss that clips, such as ppo or cispo"
  },
  {
    metric: "optim/clipped_share",
    title: "share of clipped tokens",
    meaning: "Share of the trained tokens at which the loss uses its bound in place of the ratio",
    healthy: { most: 0.2 },
    advice: "Lower the learning rate: updates go further than the clip allows"
  },
  {
    metric: "optim/entropy",
    title: "entropy",
    meaning:
      "Mean −log p of the sampled tokens, in nats: how varied the policy is. It falls as the policy becomes certain",
    healthy: { least: 0.02 },
    advice: "Near 0, all attempts are alike and no group has a signal: raise the upper clip, or add a KL penalty"
  },
  {
    metric: "async/in_flight_max",
    title: "staleness in flight",
    meaning: "Number of iterations during which the slowest group of an update was sampled, while the weights changed",
    advice: "Shorten the longest answers, give groups a time limit, or start fewer ahead"
  },
  {
    metric: "async/in_queue_max",
    title: "staleness in queue",
    meaning:
      "Number of iterations for which a finished group waited for its update: more is sampled than is trained on",
    advice: "Start fewer groups ahead: lower maxStepsOffPolicy"
  },
  {
    metric: "async/excess",
    title: "groups that are too old",
    meaning: "Groups that were trained on although they are older than maxStepsOffPolicy",
    healthy: { most: 0 },
    advice: "Set onStale to wait or drop if the effective sample size falls with them"
  },
  {
    metric: "grad_norm",
    title: "gradient norm",
    meaning: "Norm of the gradient before clipping, if the backend reports it. Spikes often precede a collapse",
    advice: "Set gradClipNorm if spikes are many times the median"
  },
  {
    metric: "update_norm",
    title: "length of the update",
    meaning: "How far the optimizer step moved the weights, if the backend reports it. It should be steady"
  },
  {
    metric: "env/all/by_group/frac_mixed",
    title: "informative groups",
    meaning:
      "Share of the groups whose attempts earned different rewards; the others teach nothing, unless the credit judges single tokens",
    healthy: { least: 0.1 },
    advice: "Choose easier or harder problems, larger groups, or dynamic sampling"
  },
  {
    metric: "env/all/duplicates",
    title: "duplicate completions",
    meaning:
      "Share of the attempts whose tokens are the same as those of an earlier attempt of their group. It rises if answers are " +
      "short and the policy becomes certain. If it is high from the start, the backend may answer different seeds with equal samples"
  },
  {
    metric: "env/all/truncated",
    title: "truncated answers",
    meaning:
      "Share of the attempts that were cut at their token limit; their rewards reflect the limit more than the answer",
    healthy: { most: 0.1 },
    advice: "Raise maxTokens, or penalise long answers with overlongBuffer"
  },
  {
    metric: "env/all/response_tokens/p50",
    title: "length of the median answer",
    meaning:
      "Tokens of the median attempt. A steady rise or fall while the reward does not change is drift, not learning"
  },
  {
    metric: "env/all/response_tokens/p95",
    title: "length of long answers",
    meaning: "Tokens that 95 % of the attempts stay below. Near the token limit, attempts are about to be cut"
  },
  {
    metric: "drift/response_tokens",
    title: "drift of length",
    meaning: "Length of the median answer in the newest five iterations, relative to that in the first five",
    healthy: { least: 0.5, most: 2 },
    advice: "Check whether the reward pays for length itself: read long and short answers of one group"
  },
  {
    metric: "drift/truncated",
    title: "drift of truncation",
    meaning: "By how much the share of cut answers has risen from the first five iterations to the newest five",
    healthy: { most: 0.1 },
    advice: "Answers reach their limit: raise maxTokens, or penalise long answers with overlongBuffer"
  },
  {
    metric: "teacher_forbidden",
    title: "tokens that the teacher forbids",
    meaning: "Share of the trained tokens that the teacher finds less likely than e⁻⁵⁰, and that count as −50 nats",
    healthy: { most: 0 },
    advice:
      "Compare the tokenizers, and the tokens that the teacher's server masks: a few such tokens can decide an update"
  },
  {
    metric: "kl_forbidden",
    title: "tokens that the reference forbids",
    meaning: "Share of the trained tokens that the reference finds less likely than e⁻⁵⁰, and that count as −50 nats",
    healthy: { most: 0 },
    advice:
      "Compare the tokenizers, and the tokens that the reference's server masks: a few such tokens can decide an update"
  },
  {
    metric: "members/lost",
    title: "lost attempts",
    meaning: "Attempts that failed and were left out",
    healthy: { most: 0 },
    advice: "Their failures are in the records: fix the environment or the grader"
  }
]

/** Whether a value is in the sign's healthy range; NaN never is. Undefined if the sign has no range. */
export const isHealthy = ({ healthy }: Sign, value: number): boolean | undefined => {
  if (healthy === undefined) return undefined
  const { least = -Infinity, most = Infinity } = healthy
  return value >= least && value <= most
}

/** Whether the sign covers a metric name. */
export const isOf = ({ metric }: Sign) => (name: string) =>
  metric.endsWith("/*") ? name.startsWith(metric.slice(0, -1)) : name === metric

const tagOf = /^env\/([^/]+)\//

/** The meaning of an iteration metric, whether a health metric or not; undefined for a metric that only its program knows. */
export const meaning = (metric: string): string | undefined => {
  const [, tag = "all"] = tagOf.exec(metric) ?? []
  const name = metric.replace(tagOf, "env/all/")
  const found = signs.find((sign) => isOf(sign)(name))?.meaning ?? MetricMeaning.of(name)
  return found === undefined || tag === "all" ? found : `${found}, on problems tagged ${tag}`
}

/** A health metric whose value is outside its healthy range. */
export interface Concern {
  readonly sign: Sign
  /** The name of the metric, which matches the sign's `metric`. */
  readonly metric: string
  readonly value: number
}

type Metrics = Readonly<Record<string, number>>

/** The health metrics outside their ranges, in the order of `signs`; absent metrics are not reported. */
export const concerns = (metrics: Metrics): ReadonlyArray<Concern> =>
  signs.flatMap((sign) =>
    Object.entries(metrics).filter(([name, value]) => isOf(sign)(name) && isHealthy(sign, value) === false).map(
      ([metric, value]) => ({ sign, metric, value })
    )
  )

/** The number of iterations averaged at each end of the history. */
const compared = 5

const ends = (history: ReadonlyArray<Metrics>, metric: string) => {
  const values = history.flatMap((metrics) => metrics[metric] ?? [])
  return values.length < 2 * compared
    ? undefined
    : [Statistics.mean(values.slice(0, compared)), Statistics.mean(values.slice(-compared))] as const
}

/**
 * How the newest five iterations differ from the first five. `drift/response_tokens` is the ratio of their mean p50 response lengths,
 * `drift/truncated` the difference of their mean truncated shares. Each is absent until ten iterations have its metric.
 */
export const drift = (history: ReadonlyArray<Metrics>): Metrics => {
  const lengths = ends(history, "env/all/response_tokens/p50")
  const truncated = ends(history, "env/all/truncated")
  return {
    ...(lengths === undefined || lengths[0] === 0 ? {} : { "drift/response_tokens": lengths[1] / lengths[0] }),
    ...(truncated === undefined ? {} : { "drift/truncated": truncated[1] - truncated[0] })
  }
}
