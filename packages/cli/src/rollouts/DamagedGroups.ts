/** Groups with damaged records. A command that skips them ends with its own exit code. */
import { Key } from "@effect-rl/core/environments"
import { Rollouts } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"

/** The command succeeded, but skipped these damaged groups. */
export class DamagedGroups extends Schema.TaggedError<DamagedGroups>()("DamagedGroups", {
  groups: Schema.Array(Schema.String)
}) {
  override readonly [Runtime.errorExitCode] = 3
  override get message() {
    const { length } = this.groups
    return `${length} damaged ${length === 1 ? "group is" : "groups are"} left out: ${this.groups.join(", ")}`
  }
}

/** Runs the effect, then fails if it skipped damaged groups. */
export const failing = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, DamagedGroups | E, R> =>
  Effect.gen(function*() {
    const warn = yield* Rollouts.LeftOut
    const groups = new Set<string>()
    const leaveOut: typeof warn = (group) => {
      groups.add(Key.describeGroup(group.record))
      return warn(group)
    }
    const done = yield* Effect.provideService(effect, Rollouts.LeftOut, leaveOut)
    return groups.size === 0 ? done : yield* new DamagedGroups({ groups: [...groups] })
  })
