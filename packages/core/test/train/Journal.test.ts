import { Env, type EnvGroupBuilder, type Metric, ModelInput, RLDataset, RunStore, Train } from "@effect-rl/core"
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "./Task.ts"

/** Members earn the first of each pair at their step and the second with the group. */
const group = (...rewards: ReadonlyArray<readonly [step: number, group: number]>): EnvGroupBuilder.EnvGroupBuilder => ({
  key: "group",
  size: rewards.length,
  tags: [],
  open: Effect.succeed({
    makeEnv: (member) => {
      const metrics: Metric.Metrics = {}
      const reward = rewards[member]?.[0] ?? NaN
      return Effect.succeed({
        initialObservation: Effect.succeed(Env.prompt(ModelInput.fromTokens([40]), [])),
        step: () => Effect.succeed({ _tag: "Done", reward, metrics, stopReason: "completed" })
      })
    },
    groupRewards: () => Effect.succeed(rewards.map(([, reward]) => ({ reward })))
  })
})

it.effect("J1: what is written of a group is plain JSON, rewards of steps and group together", () =>
  Effect.gen(function*() {
    const { dataset: _, ...config } = yield* Task.config()
    const dataset = RLDataset.fromArray([0], { groupsPerBatch: 1, group: () => group([0.25, 0.75], [0.5, -1]) })
    yield* Stream.runDrain(Train.run({ ...config, dataset }))
    const [record] = yield* RunStore.RunStore.use((store) => store.read("events"))
    assert.deepStrictEqual(JSON.parse(JSON.stringify(record)), record)
    assert.deepInclude(record, { type: "group", step: 0, key: "group", rewards: [1, -0.5] })
  }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
