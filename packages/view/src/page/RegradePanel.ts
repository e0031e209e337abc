/** The iteration under another credit rule: which groups' and members' advantages would change. */
import type * as NamedCredit from "@effect-rl/core/learn/NamedCredit"
import * as Story from "@effect-rl/core/story/Story"
import type * as Entry from "../story/Entry.ts"
import { type Child, empty, h, panel, table } from "./Dom.ts"
import type * as Route from "./Route.ts"
import { type Data, go, link } from "./Screen.ts"
import * as Text from "./Text.ts"

/** Credit rules that need no options, by their standard names. */
const rules: Readonly<Record<NamedCredit.Complete, string>> = {
  centered: "reward − mean (Dr. GRPO)",
  leave_one_out: "leave one out (RLOO)",
  normalized: "divided by the deviation (GRPO)",
  max_rl: "divided by the mean (MaxRL)",
  length_weighted: "length-weighted baseline (OPO)",
  pass_at_k: "best of the group (pass@k)",
  shared_prefix: "baseline of each shared prefix",
  reinforce_plus_plus: "relative to the batch (REINFORCE++)",
  reinforce_plus_plus_baseline: "reward − mean, relative to the batch (REINFORCE++ baseline)",
  shrinkage: "baseline between group and batch (shrinkage)",
  role_relative: "baseline of each role's past"
}

const chooser = (route: Route.Route) =>
  h(
    "label",
    {},
    "advantages by ",
    h(
      "select",
      {
        onChange: ({ target }) => {
          if (target instanceof HTMLSelectElement) {
            go({ ...route, rule: target.value === "" ? undefined : target.value })
          }
        }
      },
      h("option", { value: "", selected: route.rule === undefined }, "the run's own rule"),
      ...Object.entries(rules).map(([rule, name]) => h("option", { value: rule, selected: rule === route.rule }, name))
    )
  )

interface Change {
  readonly key: string
  readonly before: ReadonlyArray<number | null>
  readonly after: ReadonlyArray<number | null>
}

const size = (values: ReadonlyArray<number | null>) => Math.max(0, ...values.map((value) => Math.abs(value ?? 0)))

const isDifferent = ({ after, before }: Change) =>
  Math.max(after.length, before.length) > 0 &&
  Array.from({ length: Math.max(after.length, before.length) }, (_, at) => (after[at] ?? 0) - (before[at] ?? 0))
    .some((difference) => Math.abs(difference) > 1e-4)

const listed = (advantages: ReadonlyArray<number | null>) =>
  advantages.length === 0 ? "not trained on" : advantages.map(Text.signed).join("  ")

const mostRows = 20

const changes = (groups: ReadonlyArray<Entry.Group>, regraded: Entry.Regraded, { route }: Data, credited: Changes) => {
  const different = regraded.groups.map(({ advantages, key }) => ({
    key,
    before: credited.get(key) ?? [],
    after: advantages
  }))
    .filter(isDifferent)
    .toSorted((left, right) => size(right.after) - size(left.after))
  const trained = regraded.groups.filter(({ advantages }) => advantages.length > 0).length
  const before = [...credited.values()].filter((advantages) => advantages.length > 0).length
  return [
    h(
      "p",
      { class: "verdict" },
      `${trained} of ${regraded.groups.length} groups would be trained on, ${before} were; the advantages of ${different.length} would change.`
    ),
    different.length === 0 ? undefined : table(
      ["group", "advantages of the run", "advantages by this rule"],
      different.slice(0, mostRows).map(({ after, before, key }) => {
        const group = groups.find((group) => group.key === key)
        return h(
          "tr",
          { key },
          h(
            "td",
            {},
            group === undefined
              ? Text.foreign(key)
              : link({ ...route, at: "group", group: group.sequence }, Text.foreign(key))
          ),
          h("td", { class: "listed" }, listed(before)),
          h("td", { class: "listed" }, listed(after))
        )
      }),
      "changed advantages"
    )
  ]
}

type Changes = ReadonlyMap<string, ReadonlyArray<number | null>>

export const panelOf = (data: Data, story: Story.Story<null>): Child => {
  const { isLive, regraded, route: { evaluator, iteration = 0, rule } } = data
  const { credited, groups } = Story.iteration(story, iteration)
  if (evaluator !== undefined || credited === undefined) return undefined
  if (!isLive) return panel("Re-grade", empty("An exported page cannot re-grade: open the run with effect-rl view."))
  const before = new Map(credited.groups.map(({ advantages, key }) => [key, advantages]))
  const shown = rule === undefined
    ? [empty("Choose another rule to see what it would change, without sampling again.")]
    : regraded === undefined
    ? [empty("Re-grading …")]
    : changes(groups, regraded, data, before)
  return panel("Re-grade", chooser(data.route), ...shown)
}
