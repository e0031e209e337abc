/** An iteration's early-warning metrics on one line. */
import { Quantity } from "@effect-rl/core/records"

type Metrics = Readonly<Record<string, number | null>>

const signs = [
  ["truncated", "env/all/truncated", (value: number) => Quantity.percent(value, 0)],
  ["entropy", "optim/entropy", (value: number) => Quantity.fixed(value, 3)],
  ["KL sampler to trainer", "optim/kl_sample_train_v1", (value: number) => Quantity.fixed(value, 4)],
  ["gradient norm", "grad_norm", (value: number) => Quantity.fixed(value, 2)]
] as const

/**
 * The share of groups whose attempts earned different rewards and, if credit without such differences trained more groups, the share of
 * groups that were trained on.
 */
export const groups = (metrics: Metrics): ReadonlyArray<string> => {
  const share = (metric: string) => (metrics[metric] ?? NaN) / (metrics["groups/total"] ?? NaN)
  const informative = share("groups/informative")
  const trained = share("train/groups")
  return [
    ...(Number.isFinite(informative) ? [`informative ${Quantity.percent(informative, 0)}`] : []),
    ...(trained > informative ? [`trained on ${Quantity.percent(trained, 0)}`] : [])
  ]
}

/** The health metrics that are present, each with its label. */
export const parts = (metrics: Metrics): ReadonlyArray<string> => {
  const others = signs.flatMap(([name, metric, show]) => {
    const value = metrics[metric]
    return value === undefined || value === null ? [] : [`${name} ${show(value)}`]
  })
  const quarantined = metrics["audit/quarantined"] ?? 0
  return [
    ...groups(metrics),
    ...(quarantined > 0 ? [`quarantined ${quarantined}`] : []),
    ...others
  ]
}

/** The metrics as text; empty if the program reports none of them. */
export const of = (metrics: Metrics): string => parts(metrics).join(", ")
