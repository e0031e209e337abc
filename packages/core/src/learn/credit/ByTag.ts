/** Credit that depends on where a group is from. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import type { GroupResult } from "../../rollout/GroupResult.ts"
import { InvalidOption } from "../../settings/InvalidOption.ts"
import { type Assigned, type Credit, type GroupCredit, identityOf } from "./Assigned.ts"

const Memories = Schema.Record(Schema.String, Schema.Json)

/**
 * Each group has the credit of the first of its tags that is named here: several teachers, each for a dataset of its own, or a teacher for
 * some problems and rewards for others. Metrics are named after their tag, as `teacher_kl/code`. Fails with `InvalidOption` where
 * a group has none of the tags.
 *
 * @example
 * const credit = Credit.byTag({ code: Credit.distill({ teacher: client }), math: Credit.groupRelative(Advantage.centered) })
 *
 * @see tinker-cookbook `recipes/distillation/on_policy_multi_teacher.py`
 */
export const byTag = <E, R>(credits: Readonly<Record<string, Credit<E, R>>>): Credit<E | InvalidOption, R> => {
  const tags = Object.keys(credits)
  return {
    name: "by_tag",
    config: Record.map(credits, identityOf),
    ...(Object.values(credits).every(({ isByGroup }) => isByGroup === true) && { isByGroup: true }),
    // Components are not passed on: the first iteration may lack the tag whose groups report them.
    checks: Object.values(credits).flatMap(({ checks = [] }) => checks),
    readers: Object.values(credits).flatMap(({ readers = [] }) => readers),
    assign: Effect.fnUntraced(function*(results, memory, weights) {
      const byTag = yield* sorted(results, tags)
      const before = Option.getOrElse(Schema.decodeUnknownOption(Memories)(memory), (): typeof Memories.Type => ({}))
      const assigned = yield* Effect.forEach(Object.entries(credits), ([tag, credit]) =>
        Effect.map(
          credit.assign(byTag.get(tag) ?? [], before[tag] ?? null, weights),
          (assigned) => [tag, assigned] as const
        ))
      return together(results, assigned)
    })
  }
}

const sorted = Effect.fnUntraced(function*(results: ReadonlyArray<GroupResult>, tags: ReadonlyArray<string>) {
  const byTag = new Map<string, Array<GroupResult>>()
  for (const result of results) {
    const tag = result.tags.find((tag) => tags.includes(tag))
    if (tag === undefined) {
      const expected = `one of the tags ${tags.join(", ")}, for which there is a credit`
      return yield* new InvalidOption({
        field: `tags of "${result.key}"`,
        found: result.tags.join(", ") || "none",
        expected
      })
    }
    byTag.set(tag, [...byTag.get(tag) ?? [], result])
  }
  return byTag
})

/** The credits of all parts together, in the order of the results. */
const together = (
  results: ReadonlyArray<GroupResult>,
  assigned: ReadonlyArray<readonly [tag: string, assigned: Assigned]>
): Assigned => {
  const byResult = new Map<GroupResult, GroupCredit>(
    assigned.flatMap(([, { groups }]) => groups.map((group) => [group.result, group] as const))
  )
  const replayed = assigned.flatMap(([, { replayed = [] }]) => replayed)
  return {
    groups: results.flatMap((result) => byResult.get(result) ?? []),
    ...(replayed.length > 0 && { replayed }),
    metrics: Object.fromEntries(
      assigned.flatMap(([tag, { metrics }]) =>
        Object.entries(metrics).map(([name, value]) => [`${name}/${tag}`, value])
      )
    ),
    memory: Object.fromEntries(assigned.map(([tag, { memory }]) => [tag, memory]))
  }
}
