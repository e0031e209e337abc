/** Figures of reinforcement learning on sums: the reward of each iteration, and the correct answers to held-out problems afterwards. */
import { Advantage, Credit } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import { Effect } from "effect"
import * as Report from "../../Report.ts"
import * as Controls from "../Controls.ts"
import type * as Kept from "../Kept.ts"
import * as Sums from "../Sums.ts"

/** The curve of a run, and the numbers shown beside the score. */
interface Shown {
  readonly curve: (updated: Sums.Outcome["updates"][number]) => number
  readonly besides?: (outcome: Sums.Outcome) => Readonly<Record<string, number>>
}

const rewards: Shown = { curve: ({ reward }) => reward?.mean ?? NaN }

const outcomeOf = ({ besides = () => ({}), curve }: Shown) => (outcome: Sums.Outcome): Kept.Outcome => ({
  curve: outcome.updates.map(curve),
  after: { value: outcome.correct / Sums.problems, trials: Sums.problems },
  besides: besides(outcome)
})

const same: Sums.Change = (credit) => credit

/** A run with these settings and this credit. Its control has the rewards shuffled within each group. */
export const row = (title: string, settings: object, change: Sums.Change = same, shown = rewards) => ({
  title,
  measure: (seed: number) => Effect.map(Sums.trainOne(settings, seed, change), outcomeOf(shown)),
  control: (seed: number) =>
    Effect.map(
      Sums.trainOne(settings, seed, (credit) => Controls.shuffled(seed)(change(credit, seed))),
      outcomeOf(shown)
    )
})

const figure = {
  seeds: Sums.seeds,
  value: "reward by iteration",
  score: "right answers",
  control: "rewards shuffled in each group"
}

const relative = (estimator: Advantage.Estimator): Sums.Change => () => Credit.groupRelative(estimator)

const halves = Advantage.hierarchical("halves", (member) => member < Sums.usual.groupSize / 2 ? "first" : "second")

const parts = Advantage.decoupled({ correct: 1, format: 0.1 })

/** The control of an estimator that reads reward parts instead of rewards: its advantages are shuffled. */
const shuffledParts = Advantage.make("shuffled", (informative) => {
  const advantagesG = parts.of(informative)
  const order = Seed.permutation(advantagesG.length, Seed.derive(0, informative.group.key))
  return advantagesG.map((_, member) => advantagesG[order[member] ?? member] ?? 0)
})

const decoupled = {
  ...row("decoupled", {}, relative(parts)),
  control: (seed: number) => Effect.map(Sums.trainOne({}, seed, relative(shuffledParts)), outcomeOf(rewards))
}

export const credits = {
  ...figure,
  name: "group-relative",
  title: "Credit relative to the group",
  rows: [
    row("centered", {}),
    row("normalized", { credit: "normalized" }),
    row("leaveOneOut", { credit: "leave_one_out" }),
    row("maxRl", { credit: "max_rl" }),
    row("lengthWeighted", { credit: "length_weighted" }),
    row("passAtK(4)", { credit: "pass_at_k", passK: 4 }),
    row("hierarchical, two parts", {}, relative(halves)),
    decoupled
  ]
}

export const batchCredits = {
  ...figure,
  name: "batch-relative",
  title: "Credit relative to the batch, to other groups and to roles",
  rows: [
    row("batchRelative()", { credit: "reinforce_plus_plus" }),
    row("batchRelative(centered)", { credit: "reinforce_plus_plus_baseline" }),
    row("shrinkage", { credit: "shrinkage" }),
    row("roleRelative", { credit: "role_relative" })
  ]
}

export const dynamic = {
  ...figure,
  name: "dynamic-sampling",
  title: "Dynamic sampling: 16 informative groups in each iteration",
  rows: [
    row("minInformative 16", { minInformative: 16, maxBatches: 4 }, same, {
      ...rewards,
      besides: ({ updates }) => ({
        "groups discarded per iteration": Report.mean(
          updates.map(({ metrics }) => metrics["train/discarded_groups"] ?? 0)
        )
      })
    })
  ]
}

const lossNames = [
  "importance_sampling",
  "ppo",
  "cispo",
  "dro",
  "gspo",
  "dppo",
  "icepop",
  "opsm",
  "sapo",
  "vespo",
  "topr",
  "topr_token",
  "gmpo"
]

export const losses = {
  ...figure,
  name: "losses",
  title: "Losses, four optimizer steps on each batch",
  rows: [
    ...lossNames.map((loss) => row(loss, { loss, substeps: 4 })),
    row("ppo, dual clip", { loss: "ppo", dualClip: 3, substeps: 4 })
  ]
}

const proximalLosses = ["ppo", "decoupled_ppo", "tis_token", "tis_sequence", "mis_token", "mis_sequence"]

export const proximal = {
  ...figure,
  name: "proximal-policy",
  title: "Losses with a proximal policy beside PPO, groups begun three iterations ahead",
  rows: proximalLosses.map((loss) => row(loss, { loss, pace: "async", maxStepsOffPolicy: 3 }))
}

export const ranks = {
  ...figure,
  name: "adapter-rank",
  title: "Adapters of other ranks than 32",
  rows: [4, 64].map((loraRank) => row(`rank ${loraRank}`, { loraRank }))
}

export const aggregations = {
  ...figure,
  name: "aggregation",
  title: "Aggregations of an update, and a bonus for entropy",
  rows: [
    row("token-mean", { aggregation: "token-mean" }),
    row("seq-mean-token-mean", { aggregation: "seq-mean-token-mean" }),
    row("seq-mean-token-sum-norm", { aggregation: "seq-mean-token-sum-norm" }),
    row("adaptiveEntropy, target 0.3", {}, (credit) => Credit.adaptiveEntropy({ target: 0.3 })(credit), {
      ...rewards,
      besides: ({ updates }) => ({
        entropy: Report.mean(updates.slice(-3).map(({ metrics }) => metrics["optim/entropy"] ?? NaN))
      })
    })
  ]
}

const ages: Shown = {
  ...rewards,
  besides: ({ updates }) => ({
    "mean age": Report.mean(updates.map(({ metrics }) => metrics["async/staleness_mean"] ?? 0)),
    oldest: Math.max(...updates.map(({ metrics }) => metrics["async/staleness_max"] ?? 0))
  })
}

const paceLosses = [["IS", "importance_sampling"], ["PPO", "ppo"], ["DPPO", "dppo"], ["CISPO", "cispo"]]

export const paces = {
  ...figure,
  name: "async",
  title: "Asynchronous training, groups begun K iterations ahead",
  rows: [0, 1, 3].flatMap((maxStepsOffPolicy) =>
    paceLosses.map(([name, loss]) =>
      row(`${name}, K = ${maxStepsOffPolicy}`, { loss, pace: "async", maxStepsOffPolicy }, same, ages)
    )
  )
}

export const streaming = {
  ...figure,
  name: "streaming",
  title: "Streaming minibatches",
  rows: [
    row("streaming, 4 minibatches", { pace: "streaming", minibatches: 4 }, same, ages),
    row(
      "K = 1, 4 minibatches",
      { pace: "async", maxStepsOffPolicy: 1, minibatches: 4, loss: "ppo" },
      same,
      ages
    )
  ]
}
