/**
 * The metrics of one iteration. Undefined metrics, such as the mean of no values, are absent.
 *
 * @example
 * const metrics = StepMetrics.rollouts([group])
 */
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Trajectory from "../../env/Trajectory.ts"
import type { GroupCredit } from "../../learn/Credit.ts"
import * as Signal from "../../learn/Signal.ts"
import * as TrainingData from "../../learn/TrainingData.ts"
import type * as Datum from "../../model/Datum.ts"
import * as EnvMetric from "../../records/EnvMetric.ts"
import * as Key from "../../records/Key.ts"
import type * as RunRecord from "../../records/RunRecord.ts"
import * as Statistics from "../../records/Statistics.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"
import type { LogprobsOf, UpdateOutput } from "../../run/Program.ts"
import type { IsClipped, Objective } from "../Objective.ts"

/** Metrics of an iteration by name. */
export type Numbers = Record<string, number>

interface Episode {
  readonly trajectory: Trajectory.Trajectory
  readonly reward: number
  readonly metrics: ReadonlyArray<EnvMetric.Metrics>
}

const prefixed = (prefix: string, numbers: Readonly<Record<string, number | undefined>>): Numbers => {
  const result: Numbers = {}
  for (const [name, value] of Object.entries(numbers)) if (value !== undefined) result[prefix + name] = value
  return result
}

const episodesOf = (group: GroupResult.Group): ReadonlyArray<Episode> =>
  GroupResult.survivors(group).map(([member, trajectory]) => ({
    trajectory,
    reward: group.rewardsG[member] ?? NaN,
    metrics: [...trajectory.transitions.map(({ metrics }) => metrics), group.metricsG[member] ?? {}]
  }))

const rewardsOf = (group: GroupResult.Group) => episodesOf(group).map(({ reward }) => reward)

type Verdict = "mixed" | "all_good" | "all_bad"

const verdictOf = (group: GroupResult.Group): Verdict => {
  if (Signal.isInformative(group)) return "mixed"
  const [first] = rewardsOf(group)
  return first !== undefined && first >= 0.5 ? "all_good" : "all_bad"
}

const countBy = (values: Iterable<string>): Numbers => {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return Object.fromEntries(counts)
}

const stopRates = (episodes: ReadonlyArray<Episode>) => {
  const reasons = episodes.flatMap(({ trajectory }) => Option.toArray(trajectory.stopReason))
  const counts = Object.entries(countBy(reasons))
  return Object.fromEntries(counts.map(([reason, count]) => [`stop/${reason}`, count / episodes.length]))
}

/** Counts the turns whose prompt does not extend the previous turn, by the reason that the environment gives. */
const branchCounts = (episodes: ReadonlyArray<Episode>) =>
  prefixed(
    "branches/",
    countBy(episodes.flatMap(({ trajectory }) => trajectory.transitions.flatMap(({ branch }) => branch?.reason ?? [])))
  )

const tokenNumbers = (episodes: ReadonlyArray<Episode>) => {
  const turns = Statistics.sum(episodes.map(({ trajectory }) => trajectory.transitions.length))
  const actionTokens = episodes.map(({ trajectory }) => Trajectory.actionTokens(trajectory))
  const sampled = Statistics.sum(actionTokens)
  const observed = Statistics.sum(episodes.map(({ trajectory }) => Trajectory.observationTokens(trajectory)))
  return {
    ac_tokens_per_turn: Statistics.ratio(sampled, turns),
    ob_tokens_per_turn: Statistics.ratio(observed, turns),
    turns_per_episode: Statistics.ratio(turns, episodes.length),
    truncations_per_episode: Statistics.ratio(
      Statistics.sum(episodes.map(({ trajectory }) => trajectory.truncations)),
      episodes.length
    ),
    total_episodes: episodes.length,
    total_turns: turns,
    total_ac_tokens: sampled,
    total_ob_tokens: observed,
    "response_tokens/p50": Statistics.quantile(actionTokens, 0.5),
    "response_tokens/p95": Statistics.quantile(actionTokens, 0.95),
    "response_tokens/max": Statistics.quantile(actionTokens, 1)
  }
}

/** The share of attempts whose tokens equal those of an earlier attempt in their group. */
const duplicates = (groups: ReadonlyArray<GroupResult.Group>, episodes: number) => {
  const repeated = groups.map((group) => {
    const written = GroupResult.survivors(group).map(([, { transitions }]) =>
      transitions.map(({ action }) => action.tokens.join(" ")).join("/")
    )
    return written.length - new Set(written).size
  })
  return Statistics.ratio(Statistics.sum(repeated), episodes)
}

/**
 * The metrics that environments report, and those computed from episodes. A computed metric replaces an environment metric of the same
 * name.
 */
const environmentNumbers = (groups: ReadonlyArray<GroupResult.Group>) => {
  const episodes = groups.flatMap(episodesOf)
  const verdicts = groups.map(verdictOf)
  const share = (verdict: Verdict) =>
    Statistics.ratio(verdicts.filter((other) => other === verdict).length, groups.length)
  const truncated = episodes.filter(({ trajectory }) => Trajectory.isTruncated(trajectory)).length
  return {
    ...EnvMetric.aggregate(episodes.map(({ metrics }) => metrics)),
    ...stopRates(episodes),
    ...tokenNumbers(episodes),
    ...branchCounts(episodes),
    truncated: Statistics.ratio(truncated, episodes.length),
    duplicates: duplicates(groups, episodes.length),
    "reward/total": Statistics.ratio(Statistics.sum(episodes.map(({ reward }) => reward)), episodes.length),
    "reward/standard_error": Statistics.clusteredStandardError(groups.map(rewardsOf)),
    "by_group/frac_mixed": share("mixed"),
    "by_group/frac_all_good": share("all_good"),
    "by_group/frac_all_bad": share("all_bad")
  }
}

/** Metrics per tag; empty if every tag covers all groups. */
const tagNumbers = (groups: ReadonlyArray<GroupResult.Group>): Numbers => {
  const tagged = [...new Set(groups.flatMap(({ tags }) => tags))].map((tag) => ({
    tag,
    members: groups.filter(({ tags }) => tags.includes(tag))
  }))
  if (tagged.every(({ members }) => members.length === groups.length)) return {}
  return Object.fromEntries(
    tagged.flatMap(({ members, tag }) => Object.entries(prefixed(`env/${tag}/`, environmentNumbers(members))))
  )
}

const failureNumbers = (
  groups: ReadonlyArray<GroupResult.Completed | GroupResult.Partial>,
  skipped: ReadonlyArray<GroupResult.Skipped>
): Numbers => {
  const dropped = groups.flatMap((group) => group._tag === "Partial" ? group.dropped : [])
  const retried = groups.flatMap((group) => group.retried)
  const failures = [...dropped, ...retried].map(({ failure }) => failure)
  const errors = {
    ...countBy(failures),
    total: failures.length,
    groups_skipped: skipped.length
  }
  return {
    ...(failures.length + skipped.length > 0 ? prefixed("rollout_errors/", errors) : {}),
    "members/dropped": dropped.length,
    ...prefixed("members/dropped/", countBy(dropped.map(({ failure }) => failure))),
    "groups/skipped": skipped.length,
    ...prefixed("groups/skipped/", countBy(skipped.map(({ reason }) => reason.failure)))
  }
}

/**
 * Metrics of everything sampled, before any filter. Episodes are aggregated under `env/all/…` and, if tags distinguish groups,
 * `env/<tag>/…`. Groups are counted by outcome, lost members and groups by reason, and failed attempts in surviving groups under
 * `rollout_errors/…`. `reward/total` is the mean over finished members, with a standard error clustered by group; `reward/lost_as_zero`
 * counts every dropped or skipped member as 0.
 *
 * @see tinker-cookbook `compute_trajectory_metrics`, `RolloutErrorCounter`
 */
export const rollouts = (results: ReadonlyArray<GroupResult.GroupResult>): Numbers => {
  const groups = results.filter((result) => !GroupResult.isSkipped(result))
  const skipped = results.filter(GroupResult.isSkipped)
  const all = environmentNumbers(groups)
  const started = Statistics.sum(results.map(GroupResult.sizeOf))
  const lost = results.flatMap(GroupResult.lost)
  const verdicts = groups.map(verdictOf)
  const count = (verdict: Verdict) => verdicts.filter((other) => other === verdict).length
  return {
    ...tagNumbers(groups),
    ...prefixed("env/all/", {
      ...all,
      "reward/lost_as_zero": Statistics.ratio(Statistics.sum(groups.flatMap(rewardsOf)), started)
    }),
    "groups/total": results.length,
    "groups/informative": count("mixed"),
    "groups/all_good": count("all_good"),
    "groups/all_bad": count("all_bad"),
    "groups/partial": groups.filter(({ _tag }) => _tag === "Partial").length,
    "members/started": started,
    "members/lost": lost.length,
    ...prefixed("members/lost/", countBy(lost.map(({ failure }) => failure))),
    ...failureNumbers(groups, skipped),
    "tokens/prefilled": all.total_ob_tokens,
    "tokens/sampled": all.total_ac_tokens
  }
}

/** The number of tokens that a group's surviving members sampled. */
const sampledTokens = (group: GroupResult.Group) =>
  Statistics.sum(GroupResult.survivors(group).map(([, trajectory]) => Trajectory.actionTokens(trajectory)))

/**
 * Metrics after filtering: groups, episodes and rewards that are trained on under `train/…`, and what was sampled but not trained on, the
 * groups `aside` included, in `train/discarded_groups` and `train/discarded_tokens`.
 */
export const trained = (
  credits: ReadonlyArray<GroupCredit>,
  aside: ReadonlyArray<GroupResult.GroupResult> = []
): Numbers => {
  const groups = credits.flatMap(({ data, result }) =>
    data.length === 0 || GroupResult.isSkipped(result) ? [] : [result]
  )
  const untrained = credits.flatMap(({ data, result }) => data.length > 0 ? [] : [result])
  const discarded = [...untrained, ...aside].filter((result) => !GroupResult.isSkipped(result))
  const rewardsG = groups.map(rewardsOf)
  const episodes = rewardsG.flat()
  return prefixed("train/", {
    groups: groups.length,
    discarded_groups: discarded.length,
    discarded_tokens: Statistics.sum(discarded.map(sampledTokens)),
    episodes: episodes.length,
    "reward/total": Statistics.ratio(Statistics.sum(episodes), episodes.length),
    "reward/standard_error": Statistics.clusteredStandardError(rewardsG)
  })
}

const memberOf = ({ origin: { group: key, iteration, member } }: TrainingData.TrainingDatum) =>
  `${Key.ofGroup({ iteration, key })}/${member}`

/**
 * The number of datums after a member's first, which exist because a prompt did not extend the previous turn, and the share of members that
 * have such datums.
 */
const branchNumbers = (data: ReadonlyArray<TrainingData.TrainingDatum>) => {
  const branches = data.filter(TrainingData.isBranch)
  const members = new Set(data.map(memberOf)).size
  return {
    branched_datums: branches.length,
    branched_members: Statistics.ratio(new Set(branches.map(memberOf)).size, members)
  }
}

/**
 * Metrics of the updates' data, and of the policy's shift since sampling; see `policyShift`. `trainedLogprobsOf` returns the backend's
 * log-probabilities of a datum. `tokens/trained` counts all positions of the datums, `optim/action_tokens` those whose target is in the
 * mask. `optim/branched_datums` counts datums that exist because a prompt did not extend the previous turn; `optim/branched_members` is the
 * share of members that have such datums.
 *
 * @see tinker-cookbook `compute_kl_sample_train`
 */
export const learning = (
  data: ReadonlyArray<TrainingData.TrainingDatum>,
  trainedLogprobsOf: LogprobsOf,
  loss: Pick<Objective, "isClipped">
): Numbers => ({
  ...prefixed("optim/", {
    datums: data.length,
    ...branchNumbers(data),
    ...policyShift(data, trainedLogprobsOf, loss)
  }),
  "tokens/trained": Statistics.sum(data.map(({ modelInput }) => modelInput.length))
})

/** The metric names that the port defines, see `OptimStepOutput`. */
const ported: ReadonlyArray<string> = ["grad_norm", "update_norm"]

/**
 * The metrics that a backend reports for an optimizer step. Names that the port does not define get the prefix `service/`, so a backend's
 * `reward` is not mistaken for the run's. NaN and infinite values are left out.
 */
export const ofService = (metrics: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Record.mapKeys(Record.filter(metrics, Number.isFinite), (name) => ported.includes(name) ? name : `service/${name}`)

/** The sum of the losses of all passes; undefined if the backend reported none for one of them. */
const lossOf = (outputs: ReadonlyArray<UpdateOutput>) => {
  const losses = outputs.flatMap(({ passes }) => passes.map(({ metrics }) => metrics["loss:sum"]))
  return losses.every((loss) => loss !== undefined) ? Statistics.sum(losses) : undefined
}

/** The sum of the losses of all passes, and the metrics that the optimizer reported for its last step; empty if no step was taken. */
export const updates = (outputs: ReadonlyArray<UpdateOutput>): Numbers => {
  const last = outputs.at(-1)
  if (last === undefined) return {}
  const loss = lossOf(outputs)
  return { ...(loss !== undefined && { "loss:sum": loss }), ...ofService(last.optimizer.metrics) }
}

/** The mean reward over everything sampled, as measured by `rollouts`, and its standard error. The mean is NaN if no member finished. */
export const reward = (numbers: Numbers): RunRecord.Reward => {
  const standardError = numbers["env/all/reward/standard_error"]
  return {
    mean: numbers["env/all/reward/total"] ?? NaN,
    ...(standardError === undefined ? {} : { standardError })
  }
}

/** Lower bounds of the ratio and context-depth buckets; each bucket ends where the next begins. */
const ratioEdges = [0, 0.5, 0.8, 0.95, 1.05, 1.25, 2]
const depthEdges = [0, 1024, 4096, 16_384, 65_536]

/** Index of the last edge that is not above the value; −1 if there is none. */
const edgeOf = (edges: ReadonlyArray<number>, value: number) => edges.findLastIndex((edge) => value >= edge)

/** Sums over the action tokens for which both log-probabilities are known. */
class Sums {
  /** The number of action tokens, including those without both log-probabilities. */
  tokens = 0
  known = 0
  clipped = 0
  difference = 0
  squaredDifference = 0
  surprise = 0
  ratio = 0
  squaredRatio = 0
  largestRatio = -Infinity
  readonly ratios = ratioEdges.map(() => 0)
  /** The sums per context depth, in the order of `depthEdges`. */
  readonly depths = depthEdges.map(() => ({ tokens: 0, differences: 0, squares: 0, ratios: 0 }))
  /** The log-ratio of each sequence: the sum over its tokens with both log-probabilities. */
  readonly sequences: Array<number> = []

  add(
    { advantages, logprobs, mask }: Datum.Inputs["PolicyTokens"],
    trainedT: Float32Array,
    isClipped: IsClipped | undefined
  ) {
    let logRatio = 0
    for (let t = 0; t < mask.length; t++) {
      if (mask[t] === 0) continue
      this.tokens++
      const sampled = logprobs[t] ?? NaN
      const difference = sampled - (trainedT[t] ?? NaN)
      if (Number.isNaN(difference)) continue
      const ratio = Math.exp(-difference)
      logRatio -= difference
      this.known++
      this.difference += difference
      this.squaredDifference += difference * difference
      this.surprise -= sampled
      this.ratio += ratio
      this.squaredRatio += ratio * ratio
      if (ratio > this.largestRatio) this.largestRatio = ratio
      if (isClipped?.(ratio, advantages[t] ?? 0) === true) this.clipped++
      this.count(t, ratio, difference)
    }
    this.sequences.push(logRatio)
  }

  private count(position: number, ratio: number, difference: number) {
    const range = edgeOf(ratioEdges, ratio)
    this.ratios[range] = (this.ratios[range] ?? 0) + 1
    const depth = this.depths[edgeOf(depthEdges, position)]
    if (depth === undefined) return
    depth.tokens++
    depth.differences += difference
    depth.squares += difference * difference
    depth.ratios += ratio
  }
}

const none = new Float32Array(0)

/**
 * The effective sample size as a fraction of the number of values, (Σ w)² / (n·Σ w²), with w = exp(value − largest value). Undefined if the
 * largest value is not finite.
 */
const effectiveSize = (logWeights: ReadonlyArray<number>) => {
  const largest = logWeights.reduce((most, value) => Math.max(most, value), -Infinity)
  if (!Number.isFinite(largest)) return undefined
  const weights = logWeights.map((value) => Math.exp(value - largest))
  const squares = Statistics.sum(weights.map((weight) => weight * weight))
  return Statistics.ratio(Statistics.sum(weights) ** 2, weights.length * squares)
}

/**
 * The histograms of the ratios and of the shift by context depth. Only buckets that have tokens are reported, and depth buckets only if
 * there are several.
 */
const histograms = ({ depths, known, ratios }: Sums): Record<string, number | undefined> => {
  const reached = depths.map((sums, index) => ({ ...sums, edge: depthEdges[index] })).filter(({ tokens }) => tokens > 0)
  const byDepth = reached.flatMap(({ differences, edge, ratios, squares, tokens }) => [
    [`kl_by_depth/${edge}`, squares / (2 * tokens)] as const,
    [`kl_v1_by_depth/${edge}`, differences / tokens] as const,
    [`kl_k3_by_depth/${edge}`, (ratios - tokens + differences) / tokens] as const
  ])
  return {
    ...Object.fromEntries(
      ratios.flatMap((count, index) => count === 0 ? [] : [[`ratio_share/${ratioEdges[index]}`, count / known]])
    ),
    ...(reached.length > 1 ? Object.fromEntries(byDepth) : {})
  }
}

/**
 * Metrics over action tokens, where q is the sampler's and p the trainer's log-probability, and ratio = exp(p − q):
 * - `kl_sample_train_v1`: mean of q − p; `kl_sample_train_v2`: half the mean of (q − p)²; `kl_sample_train_k3`: mean of ratio − 1 − (p −
 *   q); `entropy`: mean of −q
 * - `ratio_mean`, `ratio_max`
 * - `effective_sample_size`: (Σ ratio)² / (n·Σ ratio²), which is 1 if no ratio changed; `effective_sample_size_sequences`: the same over
 *   datums, with the product of each datum's ratios
 * - `ratio_share/a`: share of tokens with a ratio between a and the next edge
 * - `kl_v1_by_depth/a`, `kl_by_depth/a`, `kl_k3_by_depth/a`: the estimates v1, v2 and k3 for tokens between position a of their datum and
 *   the next edge
 * - `clipped_share`: share of tokens whose ratio the loss clips, for losses that clip
 * - `action_tokens`: number of tokens; `missing_logprobs`: number of tokens left out because they lack a log-probability, if any
 */
const policyShift = (
  data: ReadonlyArray<Datum.Datum<"PolicyTokens">>,
  trainedLogprobsOf: LogprobsOf,
  { isClipped }: Pick<Objective, "isClipped">
): Record<string, number | undefined> => {
  const sums = new Sums()
  for (const datum of data) sums.add(datum.inputs, trainedLogprobsOf(datum) ?? none, isClipped)
  const { difference, known, ratio, squaredRatio, tokens } = sums
  const spread = Number.isFinite(squaredRatio) ? known * squaredRatio : 0
  return {
    action_tokens: tokens,
    missing_logprobs: tokens > known ? tokens - known : undefined,
    kl_sample_train_v1: Statistics.ratio(difference, known),
    kl_sample_train_v2: Statistics.ratio(sums.squaredDifference, 2 * known),
    kl_sample_train_k3: Statistics.ratio(ratio - known + difference, known),
    entropy: Statistics.ratio(sums.surprise, known),
    ratio_mean: Statistics.ratio(ratio, known),
    ratio_max: known > 0 ? sums.largestRatio : undefined,
    effective_sample_size: Statistics.ratio(ratio ** 2, spread),
    effective_sample_size_sequences: known === 0 ? undefined : effectiveSize(sums.sequences),
    clipped_share: isClipped && Statistics.ratio(sums.clipped, known),
    ...histograms(sums)
  }
}
