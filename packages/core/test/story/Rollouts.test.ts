import { RunStore } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import type { GroupResult } from "@effect-rl/core/program"
import { GroupPayload, Rollouts } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Stream } from "effect"

const group = (key: string): GroupResult.Completed => ({
  _tag: "Completed",
  iteration: 0,
  key,
  tags: [],
  samplerStep: 0,
  members: [Option.some({
    transitions: [{
      observation: ModelInput.fromTokens([1]),
      action: { tokens: Int32Array.of(2), logprobs: Float32Array.of(-1), stopReason: "stop" },
      reward: 1,
      trainable: true,
      metrics: {},
      score: { value: 1, answer: `answer to ${key}` },
      logs: {}
    }],
    task: { question: key },
    stepReward: 1,
    stopReason: Option.none(),
    truncations: 0
  })],
  rewardsG: Float64Array.of(1),
  metricsG: [{}],
  retried: []
})

const append = Effect.fnUntraced(function*(iteration: number, key: string, payload?: string) {
  const store = yield* RunStore.RunStore
  yield* store.append({
    _tag: "GroupRolledOut",
    iteration,
    step: 0,
    key,
    tags: [],
    outcome: "Completed",
    rewards: [1],
    members: [],
    failures: [],
    retries: 0,
    milliseconds: 1,
    spent: { prefilled: 0, sampled: 0, trained: 0 }
  }, payload)
})

const credited = Effect.gen(function*() {
  const store = yield* RunStore.RunStore
  yield* store.append({
    _tag: "Credited",
    iteration: 1,
    groups: [{ key: "a", iteration: 0, verdict: "informative", advantages: [0.5] }],
    datums: []
  })
})

describe("Rollouts", () => {
  it.effect("joins groups with their credit from updates of other iterations, batch by batch", () =>
    Effect.gen(function*() {
      yield* append(0, "a", GroupPayload.encode(group("a")))
      yield* append(1, "a", GroupPayload.encode(group("a")))
      yield* credited
      const loaded = yield* Stream.runCollect(Rollouts.stream(yield* RunStore.RunStore))
      const members = loaded.map(({ groups }) => groups.flatMap(Rollouts.members))
      assert.deepStrictEqual(members.map((all) => all.map(({ advantage }) => advantage)), [[0.5], [undefined]])
      const [told] = yield* Rollouts.told(loaded[0]?.groups[0] ?? assert.fail("no group"))
      assert.strictEqual(told?.turns[0]?.said.content, "answer to a")
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))

  it.effect("continues after a damaged payload, which becomes one of the values", () =>
    Effect.gen(function*() {
      yield* append(0, "a", GroupPayload.encode(group("a")).slice(0, 40))
      yield* append(0, "b", GroupPayload.encode(group("b")))
      yield* append(0, "c")
      const [batch] = yield* Stream.runCollect(Rollouts.stream(yield* RunStore.RunStore))
      if (batch === undefined) return assert.fail("no batch")
      assert.deepStrictEqual(batch.groups.map(({ record }) => record.key), ["b"])
      assert.deepStrictEqual(batch.damaged.map(({ record }) => record.key), ["a"])
      assert.match(batch.damaged[0]?.damage.message ?? "", /not a recorded group/)
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))
})
