/** Metrics of the newest iteration with their meanings. */
import * as Story from "../story/Story.ts"
import { h, panel, table } from "./Dom.ts"
import * as Text from "./Text.ts"

/** What a metric says, and which values are usual. */
const meanings: Readonly<Record<string, readonly [meaning: string, usual: string]>> = {
  "optim/entropy": ["uncertainty of the sampled tokens; near 0 the model has stopped exploring", "falls slowly"],
  "optim/kl_sample_train_v1": ["distance between the weights that sampled and those that train", "below 0.01"],
  "optim/kl_sample_train_v2": ["the same distance, estimated so that it is never negative", "below 0.01"],
  "optim/effective_sample_size": ["share of the batch that importance weights leave in use", "near 1"],
  "optim/ratio_max": ["largest importance ratio of a token", "below 10"],
  "grad_norm": ["length of the gradient; spikes announce collapse", "steady"],
  "update_norm": ["length of the change of the weights", "steady"],
  "optim/lr": ["learning rate", "as configured"],
  "env/all/truncated": ["share of episodes cut at the token limit", "below 0.1"],
  "env/all/response_tokens/p50": ["median length of a response in tokens", "no sudden change"],
  "env/all/response_tokens/p95": ["length that 95 % of the responses stay below", "under the token limit"],
  "members/dropped": ["members that failed and were left out", "0"],
  "time/sampling": ["seconds of sampling", "–"],
  "time/total": ["seconds of the iteration", "–"]
}

export const panelOf = (story: Story.Story): HTMLElement => {
  const updated = Story.lastUpdated(story)
  if (updated === undefined) return panel("Health", h("p", { class: "empty" }, "No iteration is done yet."))
  const known = Object.entries(meanings).filter(([name]) => updated.metrics[name] !== undefined)
  const rows = known.map(([name, [meaning, usual]]) =>
    h(
      "tr",
      {},
      h("td", {}, h("code", {}, name)),
      h("td", { class: "number" }, Text.short(updated.metrics[name])),
      h("td", {}, usual),
      h("td", {}, meaning)
    )
  )
  return panel(
    `Health, iteration ${updated.iteration}`,
    table(["metric", "value", "usual", "meaning"], rows, "health"),
    allMetrics(updated.metrics)
  )
}

/** Every metric of an iteration, folded away. */
export const allMetrics = (metrics: Readonly<Record<string, number | null>>) =>
  h(
    "details",
    {},
    h("summary", {}, "All metrics"),
    table(
      ["metric", "value"],
      Object.entries(metrics).map(([name, value]) =>
        h("tr", {}, h("td", {}, h("code", {}, name)), h("td", { class: "number" }, Text.short(value)))
      ),
      "all metrics"
    )
  )
