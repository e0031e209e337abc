import { Loss, Tinker } from "@effect-rl/core"
import type { TrainingClient } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { RestClient } from "../../client/RestClient.ts"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

/** The difference up to which two log-probabilities count as equal. */
const same = 0.01

/** Maximum clock difference in milliseconds. */
const skewMillis = 10 * 60_000

const learn = Effect.fnUntraced(function*(client: TrainingClient.TrainingClient) {
  yield* StateTwins.run(client.forwardBackward([Examples.weighted()], Loss.crossEntropy))
  yield* StateTwins.run(client.optimStep({ learningRate: Examples.learningRate }))
})

const trainer = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  const tinker = yield* Tinker.Tinker
  return { tinker, rest: yield* RestClient, client: yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8 }) }
})

const save = (model: NumberedModel.NumberedModel, overwrite: boolean) =>
  model.send("/save_weights", { path: "certify-name", overwrite, type: "save_weights" })

const loadedFrom = Effect.fnUntraced(function*(path: string) {
  const tinker = yield* Tinker.Tinker
  return yield* Effect.scoped(Effect.flatMap(tinker.createTrainingClientFromState(path), StateTwins.logprobsOf))
})

const savedTwice = Effect.fnUntraced(function*(overwrite: boolean) {
  const model = yield* NumberedModel.make
  yield* model.learn()
  const first = yield* model.logprobs
  const { body } = yield* Blame.expectDone(yield* save(model, false))
  yield* model.learn()
  const second = yield* model.logprobs
  yield* Check.expect(Check.distance(first, second) > same, "a step that changes the model", "none")
  const again = yield* save(model, overwrite)
  return { again, first, second, path: String(body["path"]) }
})

export const kept: Check.Check = {
  theme: "checkpoints",
  name: "a state is not replaced by another with its name unless overwrite is set",
  why: "Two saves with the same name would destroy each other's work.",
  run: Effect.gen(function*() {
    const { again, first, path } = yield* savedTwice(false)
    yield* Blame.expectRefused(again)
    yield* Check.expectClose("logprobs of the state", yield* loadedFrom(path), first, same)
  })
}

export const overwritten: Check.Check = {
  theme: "checkpoints",
  name: "a state is replaced by another with its name if overwrite is set",
  why: "A run with one rolling checkpoint would resume from its oldest state.",
  run: Effect.gen(function*() {
    const { again, path, second } = yield* savedTwice(true)
    const { body } = yield* Blame.expectDone(again)
    yield* Check.expect(body["path"] === path, path, body["path"])
    yield* Check.expectClose("logprobs of the state", yield* loadedFrom(path), second, same)
  })
}

export const ofRuns: Check.Check = {
  theme: "checkpoints",
  name: "states with the same name in two runs are separate",
  why: "The runs of a sweep use the same checkpoint names.",
  run: Effect.gen(function*() {
    const [one, other] = [yield* trainer, yield* trainer]
    yield* learn(one.client)
    const trained = yield* StateTwins.logprobsOf(one.client)
    const { path } = yield* StateTwins.run(one.client.saveState("certify-run"))
    const untrained = yield* StateTwins.run(other.client.saveState("certify-run"))
    yield* Check.expect(path !== untrained.path, "two paths", path)
    yield* Check.expectClose("logprobs of the first state", yield* loadedFrom(path), trained, same)
  })
}

/** Names that are equal if only their beginning or their letters, without case, are compared. */
const likeNames = ["certify-a", "certify-A", `certify-${"long-".repeat(20)}1`, `certify-${"long-".repeat(20)}2`]

export const ownNames: Check.Check = {
  theme: "checkpoints",
  name: "names that differ only in case or after 100 letters are separate",
  why: "States whose names are confused overwrite each other.",
  run: Effect.gen(function*() {
    const { client } = yield* trainer
    const saved: Array<readonly [path: string, logprobs: Float32Array]> = []
    for (const [at, name] of likeNames.entries()) {
      yield* StateTwins.run(
        client.forwardBackward([Examples.weighted(Examples.full(at % 2 === 0 ? 1 : -2))], Loss.crossEntropy)
      )
      yield* StateTwins.run(client.optimStep({ learningRate: Examples.learningRate, beta1: 0 }))
      const logprobs = yield* StateTwins.logprobsOf(client)
      const { path } = yield* StateTwins.run(client.saveState(name))
      saved.push([path, logprobs])
    }
    for (const [path, logprobs] of saved.filter((_, at) => at % 2 === 0)) {
      const tolerance = same + 0.006 * Math.max(...logprobs.map(Math.abs))
      yield* Check.expectClose(`logprobs of ${path}`, yield* loadedFrom(path), logprobs, tolerance)
    }
  })
}

const listed = Effect.fnUntraced(function*(rest: RestClient["Service"], run: string, path: string) {
  const { checkpoints } = yield* rest.listCheckpoints(run)
  return checkpoints.find((one) => one.path === path)
})

const hour = 3_600_000

const expectExpiry = Effect.fnUntraced(function*(
  expiresAt: DateTime.Utc | null | undefined,
  lifetime: number
) {
  const now = yield* Clock.currentTimeMillis
  const left = expiresAt === null || expiresAt === undefined ? NaN : DateTime.toEpochMillis(expiresAt) - now
  yield* Check.expect(
    Math.abs(left - lifetime) < skewMillis,
    `expires_at in ${lifetime / hour} hours`,
    Number.isNaN(left) ? "none" : `${(left / hour).toFixed(2)} hours`
  )
})

export const ttl: Check.Check = {
  theme: "checkpoints",
  name: "ttl_seconds sets when a checkpoint expires, and a checkpoint without it never expires",
  why: "Checkpoints that never expire cost money forever, and those that expire unexpectedly are lost.",
  run: Effect.gen(function*() {
    const { client, rest } = yield* trainer
    const run = client.info.modelId
    const state = yield* StateTwins.run(client.saveState("certify-hours", { ttl: "2 hours" }))
    yield* expectExpiry((yield* listed(rest, run, state.path))?.expiresAt, 2 * hour)
    const weights = yield* StateTwins.run(client.saveWeightsForSampler("certify-hours", { ttl: "3 hours" }))
    yield* expectExpiry((yield* listed(rest, run, weights.path))?.expiresAt, 3 * hour)
    const forever = yield* StateTwins.run(client.saveState("certify-forever"))
    const { expiresAt } = (yield* listed(rest, run, forever.path)) ?? {}
    yield* Check.expect(expiresAt === undefined || expiresAt === null, "no expires_at without a ttl", expiresAt)
  })
}

export const overwrittenTtl: Check.Check = {
  theme: "checkpoints",
  name: "a state that overwrites another has its own lifetime and metadata",
  why: "A rolling checkpoint that inherits the first one's lifetime is lost during the run.",
  run: Effect.gen(function*() {
    const rest = yield* RestClient
    const model = yield* NumberedModel.make
    const save = (more: object) =>
      model.ask("/save_weights", { path: "certify-again", overwrite: true, type: "save_weights", ...more })
    yield* save({ ttl_seconds: 7200, user_metadata: { round: "1" } })
    const { body } = yield* save({ user_metadata: { round: "2" } })
    const found = yield* listed(rest, model.id, String(body["path"]))
    const { expiresAt, userMetadata } = found ?? {}
    yield* Check.expect(expiresAt === undefined || expiresAt === null, "no expires_at", expiresAt)
    const round = userMetadata?.["round"]
    yield* Check.expect(round === undefined || round === "2", "the metadata of the second", round)
    yield* save({ ttl_seconds: 10_800 })
    yield* expectExpiry((yield* listed(rest, model.id, String(body["path"])))?.expiresAt, 3 * hour)
    const { checkpoints } = yield* rest.listCheckpoints(model.id)
    yield* Check.expect(checkpoints.length === 1, "1 checkpoint", checkpoints.length)
  })
}

export const activity: Check.Check = {
  theme: "archive",
  name: "a run is listed with the time of its last request",
  why: "Users find stopped runs and the newest run by this time.",
  run: Effect.gen(function*() {
    const { client, rest } = yield* trainer
    yield* learn(client)
    const time = Effect.map(rest.getTrainingRun(client.info.modelId), (run) => run.lastRequestTime)
    const lastRequestTime = yield* time
    const age = (yield* Clock.currentTimeMillis) - DateTime.toEpochMillis(lastRequestTime)
    yield* Check.expect(Math.abs(age) < skewMillis, "the current time", `${age / 1000} seconds ago`)
    yield* Effect.sleep("1100 millis")
    yield* learn(client)
    const later = DateTime.toEpochMillis(yield* time) - DateTime.toEpochMillis(lastRequestTime)
    yield* Check.expect(later > 0, "a later time after another request", `${later / 1000} seconds later`)
  })
}

export const changedTtl: Check.Check = {
  theme: "checkpoints",
  name: "a checkpoint's lifetime can be changed and removed",
  why: "Users know a run's best checkpoint only afterwards.",
  run: Effect.gen(function*() {
    const { client, rest } = yield* trainer
    const run = client.info.modelId
    const { path } = yield* StateTwins.run(client.saveState("certify-ttl"))
    yield* rest.setCheckpointTtl(path, "4 hours")
    yield* expectExpiry((yield* listed(rest, run, path))?.expiresAt, 4 * hour)
    yield* rest.setCheckpointTtl(path)
    const { expiresAt } = (yield* listed(rest, run, path)) ?? {}
    yield* Check.expect(expiresAt === undefined || expiresAt === null, "no expires_at", expiresAt)
  })
}

/** Maximum seconds until an expired checkpoint is gone. */
const patience = 20

export const expired: Check.Check = {
  theme: "checkpoints",
  name: "an expired checkpoint is deleted, however its lifetime was set, and no other checkpoint is",
  why: "Checkpoints that are not deleted fill the disk or cost money, and one that is deleted by mistake is lost.",
  run: Effect.gen(function*() {
    const { client, rest, tinker } = yield* trainer
    const saved = yield* Effect.result(
      Effect.flatMap(client.saveState("certify-brief", { ttl: "1 second" }), (pending) => pending.await)
    )
    if (Result.isFailure(saved)) {
      return yield* Check.absent(`checkpoints are not kept for a second alone: ${saved.failure.message}`)
    }
    const { path } = saved.success
    const weights = yield* StateTwins.run(client.saveWeightsForSampler("certify-brief", { ttl: "1 second" }))
    const shortened = yield* StateTwins.run(client.saveState("certify-shortened"))
    const kept = yield* StateTwins.run(client.saveState("certify-kept", { ttl: "1 hour" }))
    yield* rest.setCheckpointTtl(shortened.path, "1 second")
    const prolonged = yield* StateTwins.run(client.saveState("certify-prolonged", { ttl: "1 second" }))
    yield* rest.setCheckpointTtl(prolonged.path, "1 hour")
    const freed = yield* StateTwins.run(client.saveWeightsForSampler("certify-freed", { ttl: "1 second" }))
    yield* rest.setCheckpointTtl(freed.path)
    const snapshot = yield* client.saveWeightsAndGetSamplingClient
    const gone = [path, weights.path, shortened.path]
    const left = Effect.map(
      rest.listCheckpoints(client.info.modelId),
      ({ checkpoints }) => checkpoints.filter((one) => gone.includes(one.path)).map((one) => one.path).join(", ")
    )
    for (let second = 0; second < patience && (yield* left) !== ""; second++) yield* Effect.sleep("500 millis")
    yield* Check.expect((yield* left) === "", `none of them ${patience / 2} seconds later`, yield* left)
    for (const state of [path, shortened.path]) {
      const loaded = yield* Effect.result(Effect.scoped(tinker.createTrainingClientFromState(state)))
      yield* Check.expect(Result.isFailure(loaded), `that ${state} cannot be loaded`, "a model")
    }
    const sampled = yield* Effect.result(
      Effect.scoped(Effect.flatMap(
        tinker.createSamplingClient({ modelPath: weights.path }),
        (sampler) => sampler.sample({ prompt: Examples.input, params: { maxTokens: 1 } })
      ))
    )
    yield* Check.expect(Result.isFailure(sampled), "that its weights cannot be sampled from", "a sample")
    yield* loadedFrom(kept.path)
    yield* loadedFrom(prolonged.path)
    yield* Effect.scoped(tinker.createSamplingClient({ modelPath: freed.path }))
    yield* snapshot.sample({ prompt: Examples.input, params: { maxTokens: 1 } })
    yield* learn(client)
  })
}

export const unloadable: Check.Check = {
  theme: "checkpoints",
  name: "a deleted checkpoint cannot be loaded or sampled from",
  why: "Weights that should be erased would remain available.",
  run: Effect.gen(function*() {
    const { client, rest, tinker } = yield* trainer
    const state = yield* StateTwins.run(client.saveState("certify-erased"))
    const weights = yield* StateTwins.run(client.saveWeightsForSampler("certify-erased"))
    yield* rest.deleteCheckpoint(state.path)
    yield* rest.deleteCheckpoint(weights.path)
    const loaded = yield* Effect.result(Effect.scoped(tinker.createTrainingClientFromState(state.path)))
    yield* Check.expect(Result.isFailure(loaded), "that the state cannot be loaded", "a model")
    const sampled = yield* Effect.result(
      Effect.scoped(Effect.flatMap(
        tinker.createSamplingClient({ modelPath: weights.path }),
        (sampler) => sampler.sample({ prompt: Examples.input, params: { maxTokens: 1 } })
      ))
    )
    yield* Check.expect(Result.isFailure(sampled), "that its weights cannot be sampled from", "a sample")
  })
}

export const stillSampled: Check.Check = {
  theme: "checkpoints",
  name: "a sampler is unaffected if its checkpoint is deleted or replaced",
  why: "Runs delete old checkpoints while their evaluations still sample from them.",
  run: Effect.gen(function*() {
    const { client, rest, tinker } = yield* trainer
    yield* learn(client)
    const first = yield* StateTwins.run(client.saveWeightsForSampler("certify-sampled"))
    const second = yield* StateTwins.run(client.saveWeightsForSampler("certify-other"))
    const samplers = [
      yield* tinker.createSamplingClient({ modelPath: first.path }),
      yield* tinker.createSamplingClient({ modelPath: second.path })
    ]
    const scores = Effect.forEach(samplers, ({ computeLogprobs }) => computeLogprobs(Examples.input))
    const before = yield* scores
    yield* rest.deleteCheckpoint(first.path)
    const expectSame = (what: string) =>
      Effect.flatMap(
        scores,
        (after) =>
          Effect.forEach(after, (values, at) =>
            Check.expectClose(what, values.subarray(1), before[at]?.subarray(1) ?? [], same), { discard: true })
      )
    yield* expectSame("logprobs of a sampler after a deletion")
    yield* StateTwins.run(client.forwardBackward([Examples.weighted(Examples.full(-1))], Loss.crossEntropy))
    yield* StateTwins.run(client.optimStep({ learningRate: Examples.learningRate }))
    const again = yield* Effect.result(StateTwins.run(client.saveWeightsForSampler("certify-other")))
    yield* expectSame(`logprobs of a sampler after its name was ${Result.isSuccess(again) ? "saved again" : "refused"}`)
  })
}

export const unreachable: Check.Check = {
  theme: "archive",
  name: "a deleted checkpoint cannot be described, downloaded or published",
  why: "Weights that should be erased would remain available.",
  run: Effect.gen(function*() {
    const { get, post } = yield* RawRequests
    const { client, rest } = yield* trainer
    const weights = yield* StateTwins.run(client.saveWeightsForSampler("certify-gone"))
    const place = weights.path.replace("tinker://", "").replace("/sampler_weights/", "/checkpoints/sampler_weights/")
    yield* rest.getWeightsInfo(weights.path)
    yield* rest.deleteCheckpoint(weights.path)
    yield* Blame.expectRefused(yield* post("/weights_info", { tinker_path: weights.path }))
    yield* Blame.expectRefused(yield* get(`/training_runs/${place}/archive`))
    yield* Blame.expectRefused(yield* post(`/training_runs/${place}/publish`, {}))
    const { lastSamplerCheckpoint } = yield* rest.getTrainingRun(client.info.modelId)
    const last = lastSamplerCheckpoint?.path
    yield* Check.expect(last !== weights.path, "a run that does not name it", last)
  })
}

export const ended: Check.Check = {
  theme: "archive",
  name: "a run whose session has ended is still described, with its checkpoints",
  why: "Users look up runs after they have ended.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const rest = yield* RestClient
    const tinker = yield* Tinker.Tinker
    const given = { purpose: "certify" }
    const { before, run } = yield* Effect.scoped(Effect.gen(function*() {
      const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 4, userMetadata: given })
      yield* StateTwins.run(client.saveState("certify-ended"))
      const run = client.info.modelId
      return { run, before: yield* rest.getTrainingRun(run) }
    }))
    const shown = ({ baseModel, isLora, lastCheckpoint, loraRank, trainingRunId, userMetadata }: typeof before) =>
      JSON.stringify([trainingRunId, baseModel, isLora, loraRank, lastCheckpoint?.path, userMetadata?.["purpose"]])
    const after = yield* rest.getTrainingRun(run)
    yield* Check.expect(shown(after) === shown(before), shown(before), shown(after))
    const { checkpoints } = yield* rest.listCheckpoints(run)
    yield* Check.expect(checkpoints.length === 1, "1 checkpoint", checkpoints.length)
  })
}

export const others: Check.Check = {
  theme: "checkpoints",
  name: "deleting a checkpoint leaves other checkpoints of its run and of its name",
  why: "Deleting the oldest checkpoint would also delete the newest.",
  run: Effect.gen(function*() {
    const { client, rest, tinker } = yield* trainer
    const gone = yield* StateTwins.run(client.saveState("certify-one"))
    const weights = yield* StateTwins.run(client.saveWeightsForSampler("certify-one"))
    const state = yield* StateTwins.run(client.saveState("certify-two"))
    yield* rest.deleteCheckpoint(gone.path)
    yield* loadedFrom(state.path)
    yield* Effect.scoped(tinker.createSamplingClient({ modelPath: weights.path }))
    const { checkpoints } = yield* rest.listCheckpoints(client.info.modelId)
    yield* Check.expect(checkpoints.length === 2, "2 checkpoints", checkpoints.length)
  })
}

export const withoutOptimizer: Check.Check = {
  theme: "checkpoints",
  name: "the first step after loading a state without its optimizer is that of a new optimizer",
  why: "Leftover momentum pushes the first steps of a run in another run's direction.",
  run: Effect.gen(function*() {
    const { client } = yield* trainer
    const { path } = yield* StateTwins.run(client.saveState("certify-new"))
    yield* learn(client)
    const first = yield* StateTwins.logprobsOf(client)
    for (let step = 0; step < 3; step++) yield* learn(client)
    yield* StateTwins.run(client.loadState(path))
    yield* learn(client)
    yield* Check.expectClose("logprobs after the first step", yield* StateTwins.logprobsOf(client), first, same)
  })
}

export const details: Check.Check = {
  theme: "archive",
  name: "the checkpoint list has each checkpoint's kind, name, time and size",
  why: "Tools find a run's newest state and its storage cost with this list.",
  run: Effect.gen(function*() {
    const { client, rest } = yield* trainer
    const run = client.info.modelId
    const state = yield* StateTwins.run(client.saveState("certify-state"))
    const weights = yield* StateTwins.run(client.saveWeightsForSampler("certify-weights"))
    const now = yield* Clock.currentTimeMillis
    for (
      const [path, type, id] of [
        [state.path, "training", "weights/certify-state"],
        [weights.path, "sampler", "sampler_weights/certify-weights"]
      ] as const
    ) {
      const found = yield* listed(rest, run, path)
      const shown = `${found?.checkpointType} ${found?.checkpointId}`
      yield* Check.expect(shown === `${type} ${id}`, `${type} ${id} at ${path}`, shown)
      const age = now - (found === undefined ? NaN : DateTime.toEpochMillis(found.time))
      yield* Check.expect(Math.abs(age) < skewMillis, "the current time", `${age / 1000} seconds ago`)
      const size = found?.sizeBytes ?? 1
      yield* Check.expect(size > 0, "a size", size)
    }
  })
}

export const pages: Check.Check = {
  theme: "archive",
  name: "lists of runs and checkpoints are paged",
  why: "A client that gets the first page again never finishes.",
  run: Effect.gen(function*() {
    const { client, rest } = yield* trainer
    for (const name of ["certify-1", "certify-2", "certify-3"]) yield* StateTwins.run(client.saveState(name))
    const page = (offset: number, limit: number) =>
      Effect.map(rest.listUserCheckpoints({ limit, offset }), ({ checkpoints }) => checkpoints.map(({ path }) => path))
    const [whole, first, second] = [yield* page(0, 3), yield* page(0, 1), yield* page(1, 1)]
    yield* Check.expect(
      whole.length === 3 && first.length === 1,
      "as many as the limit",
      `${whole.length}, ${first.length}`
    )
    yield* Check.expect(
      first[0] === whole[0] && second[0] === whole[1],
      `${whole[0]}, ${whole[1]}`,
      `${first}, ${second}`
    )
    const { cursor, trainingRuns } = yield* rest.listTrainingRuns({ limit: 1 })
    yield* Check.expect(trainingRuns.length === 1, "one run", trainingRuns.length)
    yield* Check.expect(
      cursor.limit === 1 && cursor.totalCount >= 1,
      "a cursor with the limit and the total",
      JSON.stringify(cursor)
    )
  })
}

export const newest: Check.Check = {
  theme: "archive",
  name: "a run names its newest state and its newest sampler weights, and its checkpoint list is paged",
  why: "A killed run resumes from the state that the server names.",
  run: Effect.gen(function*() {
    const { client, rest } = yield* trainer
    const run = client.info.modelId
    const names = Arr.makeBy(4, (at) => `certify-${at}`)
    const states = yield* Effect.forEach(names, (name) => StateTwins.run(client.saveState(name)))
    const weights = yield* Effect.forEach(names, (name) => StateTwins.run(client.saveWeightsForSampler(name)))
    const { checkpoints } = yield* rest.listCheckpoints(run)
    yield* Check.expect(checkpoints.length === 8, "8 checkpoints of the run", checkpoints.length)
    const { lastCheckpoint, lastSamplerCheckpoint } = yield* rest.getTrainingRun(run)
    for (
      const [found, all] of [[lastCheckpoint, [...states, ...weights]], [lastSamplerCheckpoint, weights]] as const
    ) {
      if (found === undefined || found === null) continue
      const isNewest = [states.at(-1)?.path, all.at(-1)?.path].includes(found.path)
      yield* Check.expect(isNewest, `${all.at(-1)?.path}, the newest`, found.path)
    }
    const page = (offset: number, limit: number) =>
      Effect.map(
        rest.listTrainingRuns({ limit, offset }),
        ({ trainingRuns }) => trainingRuns.map(({ trainingRunId }) => trainingRunId)
      )
    yield* trainer
    // Runs of other clients may appear and disappear between two pages.
    const pair = Effect.map(Effect.all([page(0, 2), page(1, 1)]), ([both, second]) => ({ both, second }))
    const isConsecutive = ({ both, second }: Effect.Success<typeof pair>) =>
      both.length === 2 && second.length === 1 && second[0] === both[1]
    const found = yield* Effect.repeat(pair, { until: isConsecutive, times: 4 })
    yield* Check.expect(isConsecutive(found), `${found.both[1]} as the second run`, found.second.join())
  })
}

export const missing: Check.Check = {
  theme: "archive",
  name: "a missing checkpoint cannot be deleted, published or given a lifetime",
  why: "An operation on a misspelled name would otherwise seem to succeed.",
  run: Effect.gen(function*() {
    const { client, rest } = yield* trainer
    const { path } = yield* StateTwins.run(client.saveState("certify-there"))
    const other = path.replace("certify-there", "certify-not-there")
    for (
      const [what, ask] of [
        ["deleted", rest.deleteCheckpoint(other)],
        ["published", rest.publishCheckpoint(other)],
        ["given a lifetime", rest.setCheckpointTtl(other, "1 hour")]
      ] as const
    ) {
      const done = yield* Effect.result(ask)
      yield* Check.expect(Result.isFailure(done), `that ${other} cannot be ${what}`, "success")
    }
    yield* loadedFrom(path)
  })
}

/** Metadata values that servers may misinterpret. */
const odd = { "Mixed-Case_Key": "Mixed Value", number: "007", empty: "", "dotted.key": "a=b;c", truth: "true" }

export const metadata: Check.Check = {
  theme: "archive",
  name: "a run and its checkpoints are listed with their client's metadata",
  why: "Users distinguish the runs of a sweep by their metadata.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const rest = yield* RestClient
    const userMetadata = { purpose: "certify", note: "ü", long: "metadata ".repeat(20), ...odd }
    const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, userMetadata })
    const { path } = yield* StateTwins.run(
      client.saveState("certify-metadata", { userMetadata: { kept: "best", ...odd } })
    )
    const weights = yield* StateTwins.run(
      client.saveWeightsForSampler("certify-metadata", { userMetadata: { kept: "best", ...odd } })
    )
    const found = yield* rest.getTrainingRun(client.info.modelId)
    yield* Check.expect(found.baseModel === baseModel, baseModel, found.baseModel)
    const shown = Object.entries(userMetadata).filter(([name, value]) => found.userMetadata?.[name] !== value)
    yield* Check.expect(shown.length === 0, "user_metadata as it was given", JSON.stringify(found.userMetadata))
    for (const one of [path, weights.path]) {
      const checkpoint = yield* listed(rest, client.info.modelId, one)
      const lost = Object.entries({ kept: "best", ...odd }).filter(([name, value]) =>
        checkpoint?.userMetadata?.[name] !== value
      )
      yield* Check.expect(
        lost.length === 0,
        `user_metadata of ${one} as it was given`,
        JSON.stringify(checkpoint?.userMetadata)
      )
    }
  })
}

export const all = [
  kept,
  overwritten,
  ownNames,
  ofRuns,
  ttl,
  overwrittenTtl,
  changedTtl,
  expired,
  unloadable,
  stillSampled,
  unreachable,
  ended,
  others,
  withoutOptimizer,
  details,
  pages,
  newest,
  missing,
  metadata,
  activity
]
