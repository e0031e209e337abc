import * as RolloutReport from "@effect-rl/cli/rollouts/RolloutReport"
import { Output } from "@effect-rl/cli/terminal/Output"
import * as Style from "@effect-rl/cli/terminal/Style"
import { RunStore } from "@effect-rl/core"
import { Usage } from "@effect-rl/core/backend"
import { Branch } from "@effect-rl/core/environments"
import { GroupPayload } from "@effect-rl/core/records"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { groupOf } from "../MadeGroup.ts"

/** The lines that are shown of a recorded rollout. */
const shown = Effect.fnUntraced(function*(group: ReturnType<typeof groupOf>) {
  const store = yield* RunStore.RunStore
  yield* store.append({
    _tag: "GroupRolledOut",
    evaluator: "held_out",
    iteration: 0,
    step: 0,
    key: group.key,
    tags: [],
    outcome: group._tag,
    rewards: [1],
    members: [],
    failures: [],
    retries: 0,
    milliseconds: 1,
    spent: Usage.zero
  }, GroupPayload.encode(group))
  const printed: Array<string> = []
  const lines = (more: ReadonlyArray<string>) => Effect.sync(() => void printed.push(...more))
  yield* RolloutReport.one(store, { sequence: 0, member: 0 }).pipe(Effect.provideService(Output, {
    mode: "plain",
    style: Style.plain,
    columns: Effect.succeed(80),
    lines,
    record: () => Effect.void,
    live: () => Effect.void
  }))
  return printed
})

describe("RolloutReport.one", () => {
  it.effect("says of each prompt that does not continue the previous turn which turn it continues, and why", () =>
    Effect.gen(function*() {
      const printed = yield* shown(groupOf(
        "7",
        undefined,
        { logs: { guess: "5" } },
        { logs: { guess: "6" } },
        { logs: { guess: "7" }, branch: { after: 0, reason: "parallel" } },
        { logs: { guess: "8" }, branch: Branch.anew("compaction") }
      ))
      const turns = printed.join("\n").split("\n\n").slice(1)
      assert.deepStrictEqual(turns.map((turn) => /the prompt .+/.exec(turn)?.[0]), [
        undefined,
        undefined,
        "the prompt continues after turn 0 (parallel)",
        "the prompt begins from the start (compaction)"
      ])
    }).pipe(Effect.provide([RunStore.RunStore.layerMemory, NodeServices.layer])))
})
