import { type EnvGroupBuilder, type InvalidOption, Rl, RunRecord } from "@effect-rl/core"
import { RunOptions } from "@effect-rl/core/program"
import { FailedMember, type Launch, Story } from "@effect-rl/core/records"
import type { Renderer } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "../rl/Task.ts"
import * as Scripted from "../rollout/Scripted.ts"

type Builder = EnvGroupBuilder.EnvGroupBuilder<Renderer.RendererError | InvalidOption.InvalidOption | Scripted.Broken>

/** Makes the third member of the second iteration's first group fail, or the opening of that group. */
const failing = (part: "member" | "group") => (builder: Builder): Builder => {
  if (builder.key !== "sum/2") return builder
  const broken = new Scripted.Broken({ what: "the judge" })
  return part === "group" ? { ...builder, open: Effect.fail(broken) } : {
    ...builder,
    open: Effect.map(builder.open, (group) => ({
      ...group,
      makeEnv: (member, attempt) => member === 2 ? Effect.fail(broken) : group.makeEnv(member, attempt)
    }))
  }
}

const run = (part: "member" | "group") =>
  Stream.unwrap(Effect.map(Task.options(), ({ dataset, ...options }) => {
    const batch = (
      index: number,
      seed: number
    ): Effect.Effect<ReadonlyArray<Builder>, Renderer.RendererError | InvalidOption.InvalidOption> =>
      Effect.map(dataset.batch(index, seed), (builders) => builders.map(failing(part)))
    return Rl.run({ ...options, dataset: { ...dataset, batch } })
  }))

const answersHalf = Effect.provide(Task.layer({ sample: Task.answersHalf }))

describe("a failed run's record", () => {
  it.effect("names the iteration, group and member whose failure ended the run", () =>
    Effect.gen(function*() {
      const cause = yield* Effect.flip(Effect.sandbox(Stream.runDrain(run("member"))))
      assert.deepStrictEqual(FailedMember.of(cause), { iteration: 1, group: "sum/2", member: 2 })
      const [failed] = yield* Task.current(RunRecord.guards.Failed)
      assert.deepInclude(failed, { error: "Broken", where: { iteration: 1, group: "sum/2", member: 2 } })
      assert.strictEqual(
        failed === undefined ? "" : Story.failure(failed),
        `Broken in iteration 2, group "sum/2", member 2: ${failed?.message}`
      )
    }).pipe(answersHalf))

  it.effect("names only the group if it could not be opened", () =>
    Effect.gen(function*() {
      yield* Effect.flip(Stream.runDrain(run("group")))
      const [failed] = yield* Task.current(RunRecord.guards.Failed)
      assert.deepStrictEqual(failed?.where, { iteration: 1, group: "sum/2" })
    }).pipe(answersHalf))
})

describe("a run's first record", () => {
  it.effect("contains how the run was launched, if known", () =>
    Effect.gen(function*() {
      const launch: Launch.Launch = {
        recipe: "sums",
        command: "effect-rl train sums --digits 3",
        directory: "/home/ada",
        machine: { system: "Linux", processor: "A fast one", cores: 8, memory: 2 ** 34 },
        versions: { "effect-rl": "0.0.0" },
        settings: [{ name: "digits", value: 3, default: 2 }, { name: "seed", value: 0, default: 0 }]
      }
      const options = yield* Task.options()
      yield* Effect.provideService(Stream.runDrain(Rl.run(options)), RunOptions.Launched, launch)
      const [opened] = yield* Task.current(RunRecord.guards.Opened)
      assert.deepStrictEqual(opened?.launch, launch)
      assert.deepStrictEqual(launch.settings.filter(Story.isChanged).map(({ name }) => name), ["digits"])
    }).pipe(answersHalf))
})
