/** What a server should tell of runs and checkpoints. */
import type { Tinker, TinkerError, TrainingClient } from "@effect-rl/core"
import { RestClient } from "@effect-rl/tinker"
import { Effect, type Scope, Stream } from "effect"
import { type Check, check, expect, orRefused } from "./Check.ts"

type Create = Effect.Effect<TrainingClient.TrainingClient, TinkerError.TinkerError, Tinker.Tinker | Scope.Scope>

/** A run with one checkpoint to sample from. */
const saved = Effect.fnUntraced(function*(create: Create, name: string) {
  const client = yield* create
  const { path } = yield* Effect.flatMap(client.saveWeightsForSampler(name), (pending) => pending.await)
  const rest = yield* RestClient.RestClient
  return { run: client.info.modelId, path, rest }
})

const count = (run: string) =>
  Effect.map(
    RestClient.RestClient.use(({ listCheckpoints }) => listCheckpoints(run)),
    ({ checkpoints }) => checkpoints.length
  )

export const checks = (create: Create): ReadonlyArray<Check> => [
  check(
    "a run is listed, with its rank and its checkpoints",
    Effect.gen(function*() {
      const { rest, run } = yield* saved(create, "listed")
      const { cursor } = yield* rest.listTrainingRuns({ limit: 1 })
      yield* expect(cursor.totalCount >= 1, `${cursor.totalCount} runs`)
      const found = yield* rest.getTrainingRun(run)
      yield* expect(found.loraRank === 8 && found.isLora && found.corrupted !== true, JSON.stringify(found))
      yield* expect((yield* count(run)) === 1, `${yield* count(run)} checkpoints`)
    })
  ),
  check(
    "an archive is downloaded",
    Effect.gen(function*() {
      const { path, rest } = yield* saved(create, "archived")
      const bytes = yield* Stream.runFold(rest.downloadCheckpoint(path), () => 0, (total, part) => total + part.length)
      yield* expect(bytes > 1000, `${bytes} bytes`)
    })
  ),
  check(
    "a checkpoint is deleted",
    Effect.gen(function*() {
      const { path, rest, run } = yield* saved(create, "deleted")
      yield* rest.deleteCheckpoint(path)
      yield* expect((yield* count(run)) === 0, `${yield* count(run)} checkpoints are left`)
    })
  ),
  check(
    "a checkpoint is published, or a refusal that names it",
    Effect.flatMap(
      saved(create, "published"),
      ({ path, rest }) => orRefused(rest.publishCheckpoint(path), "Unsupported")
    )
  )
]
