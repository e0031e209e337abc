import { Rl, RunRecord, RunStore } from "@effect-rl/core"
import type { TrainingData } from "@effect-rl/core/program"
import { TrainedTokens } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Samples from "../../learn/Samples.ts"
import * as Task from "../Task.ts"

describe("TrainedTokens", () => {
  it.effect("are stored with an iteration's record, with the trainer's log-probabilities and the advantages", () =>
    Effect.gen(function*() {
      const options = yield* Task.options()
      const records = yield* Stream.runCollect(Rl.run(options))
      const updated = records.find(RunRecord.guards.Updated)
      assert.isDefined(updated?.payload)
      const store = yield* RunStore.RunStore
      const { datums } = yield* Effect.flatMap(store.payload(updated.payload), TrainedTokens.decode)
      const credited = records.find(RunRecord.guards.Credited)
      assert.deepStrictEqual(
        datums.map(({ firstTurn, group, logprobs, member, turns }) => ({
          firstTurn,
          group,
          member,
          trained: logprobs.length,
          turns
        })),
        credited?.datums.map(({ firstTurn, group, member, trained, turns }) => ({
          firstTurn,
          group,
          member,
          trained,
          turns
        }))
      )
      for (const datum of credited?.datums ?? []) assert.notProperty(datum, "segment")
      const advantagesOf = new Map(credited?.groups.map(({ advantages, key }) => [key, advantages]))
      for (const { advantages, group, logprobs, member } of datums) {
        assert.isTrue(advantages.every((advantage) => advantage === advantagesOf.get(group)?.[member]))
        assert.isTrue(logprobs.every((logprob) => logprob <= 0))
      }
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it("are stored if the trainer returned log-probabilities for some datums, and omitted if for none", () => {
    const [known, unknown] = [Samples.datum({ logprobs: [-1, -2] }), Samples.datum({ logprobs: [-1, -2] })]
    const encoded = (data: ReadonlyArray<TrainingData.TrainingDatum>) =>
      TrainedTokens.encode(data, (datum) => datum === known ? Float32Array.of(-3, -4) : undefined, 0)
    assert.isString(encoded([known, unknown]))
    assert.isUndefined(encoded([unknown]))
  })
})
