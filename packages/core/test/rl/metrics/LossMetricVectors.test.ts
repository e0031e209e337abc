/** Metrics that other projects' losses report, compared with a run's metrics. */
import { Loss } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { Objective } from "@effect-rl/core/losses"
import * as StepMetrics from "@effect-rl/core/rl/metrics/StepMetrics"
import * as Nll from "@effect-rl/core/supervised/Nll"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Samples from "../../learn/Samples.ts"
import * as TrainingVectors from "../../model/TrainingVectors.ts"
import * as RecordedLines from "../../RecordedLines.ts"

const Numbers = Schema.Array(Schema.Number)

const Row = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  input: Schema.Struct({
    peer: Schema.String,
    params: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
    sequences: Schema.optionalKey(Schema.Array(Schema.Struct({
      logprobs: Numbers,
      old_logprobs: Schema.optionalKey(Numbers),
      advantages: Schema.optionalKey(Numbers),
      weights: Schema.optionalKey(Numbers),
      mask: Schema.optionalKey(Numbers)
    })))
  }),
  output: Schema.Struct({
    metrics: Schema.optionalKey(Schema.Record(Schema.String, Schema.Union([Schema.Number, Numbers])))
  })
})
type Row = typeof Row.Type

const rows = TrainingVectors.lines("losses.jsonl").map((line) => Schema.decodeUnknownSync(Row)(line))

/** One metric of one row. */
const reports = rows.flatMap((row) =>
  Object.entries(row.output.metrics ?? {}).map(([metric, expected]) => ({ id: row.id, row, metric, expected }))
)
type Report = typeof reports[number]

const numberOf = (parameters: Row["input"]["params"], ...names: ReadonlyArray<string>) =>
  names.flatMap((name) => {
    const value = parameters?.[name]
    return typeof value === "number" ? [value] : []
  })[0]

/** This library's loss that clips like a row's loss. */
const clipping = ({ input: { params, peer }, kind }: Row): Loss.Loss<"PolicyTokens"> => {
  const low = numberOf(params, "eps_clip_low", "cispo_eps_clip_low", "clip_ratio_low", "epsilon_low", "eps_clip") ?? 1
  const high = numberOf(
    params,
    "eps_clip_higher",
    "eps_clip_high",
    "cispo_eps_clip_high",
    "clip_ratio_high",
    "epsilon_high",
    "eps_clip"
  ) ?? NaN
  if (kind !== "cispo") return Loss.ppo({ clipLow: 1 - low, clipHigh: 1 + high })
  return Loss.cispo({ clipLow: 1 - low, clipHigh: peer === "TRL" ? high : 1 + high })
}

/** A run's metrics for a row's sequences. */
const learningOf = (row: Row) => {
  const { sequences = [] } = row.input
  const data = sequences.map((
    { advantages, logprobs, mask = logprobs.map(() => 1), old_logprobs: sampler = logprobs }
  ) =>
    Samples.datum({
      logprobs: sampler,
      advantages: advantages ?? mask.map(() => 0),
      mask
    })
  )
  return StepMetrics.learning(
    data,
    Samples.answers(data, sequences.map(({ logprobs }) => Float32Array.from(logprobs))),
    Objective.from(clipping(row))
  )
}

type Learning = ReturnType<typeof learningOf>

const of = (name: string) => (numbers: Learning) => numbers[name] ?? NaN
const clippedShare = of("optim/clipped_share")
const squaredRatio = (numbers: Learning) =>
  of("optim/ratio_mean")(numbers) ** 2 / of("optim/effective_sample_size")(numbers)

/** Each peer's metric as a function of ours, for all kinds of loss unless `kinds` is given. */
const counterparts: ReadonlyArray<{
  readonly metric: string
  readonly kinds?: ReadonlyArray<string>
  readonly from: (numbers: Learning) => number
}> = [
  { metric: "actor/ppo_kl", from: of("optim/kl_sample_train_v1") },
  { metric: "rollout_corr/kl", from: of("optim/kl_sample_train_v1") },
  { metric: "rollout_corr/k3_kl", from: of("optim/kl_sample_train_k3") },
  { metric: "rollout_corr/chi2_token", from: (numbers) => squaredRatio(numbers) - 1 },
  { metric: "importance_ratio", from: of("optim/ratio_mean") },
  { metric: "actor/pg_clipfrac", kinds: ["cispo"], from: clippedShare },
  { metric: "clip_ratio", kinds: ["ppo", "cispo"], from: clippedShare },
  { metric: "clip_fraction", kinds: ["ppo", "cispo"], from: clippedShare },
  { metric: "clip_ratio/region_mean", kinds: ["ppo"], from: clippedShare },
  {
    metric: "clipped_tokens",
    kinds: ["ppo"],
    from: (numbers) => clippedShare(numbers) * of("optim/action_tokens")(numbers)
  }
]

const counterpartOf = ({ metric, row }: Report) =>
  counterparts.find((one) => one.metric === metric && (one.kinds === undefined || one.kinds.includes(row.kind)))

/** The largest difference in nats between trained and sampled log-probabilities of a counted token. */
const driftOf = ({ input: { sequences = [] } }: Row) =>
  Math.max(
    0,
    ...sequences.flatMap(({ logprobs, mask, old_logprobs: sampler = logprobs }) =>
      logprobs.map((logprob, t) => mask?.[t] === 0 ? 0 : Math.abs(logprob - (sampler[t] ?? 0)))
    )
  )

/** Why a metric is excluded from the comparison, by its name; the first match applies. */
const reasons: ReadonlyArray<readonly [name: RegExp, reason: string]> = [
  [/^rollout_corr\/rollout_(is|rs)_/, "weights and rejections of verl's rollout correction have no counterpart"],
  [/^rollout_corr\//, "perplexities of sequences are not reported"],
  [/^(is_ratio|tis_|token_mask|geo_|product_|outlier_)/, "SkyRL's off-policy corrections have no counterpart"],
  [/^filtered_fraction$/, "AReaL's rejection of tokens is not reported"],
  [/mismatch_kl|is_masked|^masked_|^ref_kl$/, "prime-rl's numbers of masked and other tokens are not reported"],
  [/^(iw_opd|vespo)\//, "weights within a loss are not reported"],
  [/lower$|^dual_|low_mean$|high_mean$/, "clipped tokens are not told apart by side"],
  [/^cispo_clip_ratio$/, "TRL counts clipped tokens of positive advantage alone"],
  [/clip/, "clipped tokens are counted for losses by name that clip a token's ratio"]
]

const reasonOf = (report: Report): string | undefined => {
  const { metric, row } = report
  if (metric === "nll") return undefined
  if (counterpartOf(report) === undefined) return reasons.find(([name]) => name.test(metric))?.[1] ?? `? ${metric}`
  return metric === "actor/ppo_kl" && driftOf(row) > 20 ? "verl counts a difference as at most 20 nats" : undefined
}

const compared = reports.filter((report) => reasonOf(report) === undefined)

const same = (found: number, expected: number | undefined) =>
  assert.isTrue(TrainingVectors.isClose(found, expected ?? NaN, 2e-6), `${found}, expected ${expected}`)

describe("metrics recorded from other projects' losses", () => {
  it("match those of a run, or are left out for a reason that VECTORS.md lists", () => {
    assert.deepStrictEqual(
      RecordedLines.counted(reports, reasonOf),
      RecordedLines.accountOf("core/training/losses.jsonl.gz: metrics")
    )
  })

  it.each(compared)("$metric of $row.kind in $row.input.peer ($id)", (report) => {
    const { expected, row } = report
    const counterpart = counterpartOf(report)
    if (typeof expected === "number" && counterpart !== undefined) {
      return same(counterpart.from(learningOf(row)), expected)
    }
    const { sequences = [] } = row.input
    assert.lengthOf(sequences, Schema.decodeUnknownSync(Numbers)(expected).length)
    sequences.forEach(({ logprobs, mask }, index) => {
      const datum = Datum.weightedTokens(ModelInput.fromTokens(new Int32Array(logprobs.length)), {
        targetTokens: new Int32Array(logprobs.length),
        weights: Float32Array.from(mask ?? logprobs.map(() => 1))
      })
      const { nll = NaN } = Nll.mean(Nll.sums([datum], [Float32Array.from(logprobs)]))
      same(nll, Schema.decodeUnknownSync(Numbers)(expected)[index])
    })
  })
})
