// A custom algorithm: GiGPO (Feng et al., 2025, arXiv:2505.10978), group-in-group policy optimisation. A turn's advantage compares its
// episode with the group's other episodes, plus its return with those of the other turns in the same state.
import { Advantage, ChatModel, Credit, EnvGroupBuilder, Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import { GuessNumberEnv } from "@effect-rl/recipes"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Array, Console, Effect, Option, Stream } from "effect"

/** Differences from the mean in standard deviations; zeros if all values are equal. */
const normalized = (values: ReadonlyArray<number>) => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length)
  return values.map((value) => deviation === 0 ? 0 : (value - mean) / deviation)
}

/**
 * A = A(episode) + weight·A(turn). A turn's return is Σₖ γᵏ·r[t+k], compared among the group's turns with the same `state`. Defaults:
 * γ 0.95, weight 1.
 */
export const gigpo = ({ gamma = 0.95, weight = 1 } = {}) =>
  Advantage.perToken("gigpo", ({ group: { members, rewardsG } }) => {
    const finished = members.flatMap((member, index) => Option.isSome(member) ? [{ index, ...member.value }] : [])
    const ofEpisode = normalized(finished.map(({ index }) => rewardsG[index] ?? 0))
    const turns = finished.flatMap(({ transitions }, at) =>
      transitions.map(({ state = null }, turn) => ({
        at,
        turn,
        state: JSON.stringify(state),
        return: transitions.slice(turn).reduceRight((sum, { reward }) => reward + gamma * sum, 0)
      }))
    )
    const advantages = new Map<string, number>()
    for (const same of Object.values(Array.groupBy(turns, ({ state }) => state))) {
      const ofTurn = normalized(same.map((turn) => turn.return))
      same.forEach(({ at, turn }, i) => {
        advantages.set(`${finished[at]?.index}/${turn}`, (ofEpisode[at] ?? 0) + weight * (ofTurn[i] ?? 0))
      })
    }
    return (member, turn) => advantages.get(`${member}/${turn}`) ?? 0
  }, { gamma, weight })

/** Trains with eight attempts at each of eight numbers per iteration. */
export const train = Effect.fnUntraced(function*(iterations: number) {
  const model = yield* ChatModel.resolve("effect-rl/tiny-tasks")
  const env = (answer: number) => Effect.sync(() => GuessNumberEnv.make(model, answer, { range: 16, maxTurns: 5 }))
  const dataset = RLDataset.fromArray(Array.makeBy(8 * iterations, (index) => (7 * index) % 16), {
    groupsPerBatch: 8,
    group: (answer, index) => EnvGroupBuilder.make({ key: String(index), size: 8, makeEnv: () => env(answer) })
  })
  const update = { learningRate: 1e-3, credit: Credit.groupRelative(gigpo()) }
  yield* Rl.run({ model, dataset, sampling: { maxTokens: 12 }, update }).pipe(
    Stream.filter(RunRecord.guards.Updated),
    Stream.runForEach(({ reward }) => Console.log(reward?.mean.toFixed(3)))
  )
}, Effect.provide([Engine.layer, RunStore.RunStore.layerMemory]))

if (import.meta.main) train(10).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
