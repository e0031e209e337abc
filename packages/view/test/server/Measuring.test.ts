import { RunStore } from "@effect-rl/core"
import { GroupMeasures, Rollouts, StoryReader } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import { Measuring } from "@effect-rl/view/server/Measuring"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Struct } from "effect"
import * as Recorded from "../Recorded.ts"

const measuresOf = Effect.fnUntraced(function*(run: string) {
  const reader = yield* RunDirectory.open(run)
  const story = yield* StoryReader.read(reader)
  return yield* Measuring.use(({ of }) => of({ reader, story, isWritten: false }))
})

const stamps = ["at", "segment", "sequence"] as const

/** Writes the run again, with the measures of its groups in their records and without payloads. */
const measured = Effect.fnUntraced(function*(from: string, to: string) {
  const reader = yield* RunDirectory.open(from)
  const { records } = yield* StoryReader.read(reader)
  yield* Effect.gen(function*() {
    const { append } = yield* RunStore.RunStore
    for (const record of records) {
      if (record._tag === "Opened") yield* append(Struct.omit(record, [...stamps]))
      if (record._tag !== "GroupRolledOut") continue
      const result = yield* Rollouts.result(reader, record)
      if (result !== undefined) {
        yield* append({ ...Struct.omit(record, [...stamps, "payload"]), measures: GroupMeasures.of(result) })
      }
    }
  }).pipe(Effect.provide(RunDirectory.layer(to)))
})

describe("the measures of a run", () => {
  it.effect("are the recorded ones, and equal those computed from the payloads of a run without them", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      yield* Recorded.writeProblems(`${folder}/earlier`, { "1 + 1": [0, 1], "1 + 2": [1, 1] })
      yield* measured(`${folder}/earlier`, `${folder}/newer`)
      const newer = yield* measuresOf(`${folder}/newer`)
      const { groups, problemOf, ...others } = yield* measuresOf(`${folder}/earlier`)
      assert.deepStrictEqual(newer.problems.map(({ question }) => question), ["1 + 1", "1 + 2"])
      assert.deepStrictEqual(newer.names, ["correct", "judge_score", "surprise", "tool_errors"])
      assert.deepStrictEqual(Struct.pick(newer, ["names", "problems", "unread"]), others)
      assert.deepStrictEqual(Object.values(newer.groups), Object.values(groups))
      assert.deepStrictEqual(Object.values(newer.problemOf), Object.values(problemOf))
    }).pipe(Effect.provide([Measuring.layer, NodeServices.layer])))
})
