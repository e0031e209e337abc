import { Loss, Tinker } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { RestClient } from "../../client/RestClient.ts"
import * as ArchiveFiles from "../ArchiveFiles.ts"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

/** A run with one sampler checkpoint. */
const saved = Effect.fnUntraced(function*(name: string) {
  const { model: baseModel } = yield* RawRequests
  const tinker = yield* Tinker.Tinker
  const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8 })
  const { path } = yield* Effect.flatMap(client.saveWeightsForSampler(name), (pending) => pending.await)
  return { run: client.info.modelId, path, rest: yield* RestClient }
})

const paths = ({ listCheckpoints }: RestClient["Service"], run: string) =>
  Effect.map(listCheckpoints(run), ({ checkpoints }) => checkpoints.map(({ path }) => path))

export const listed: Check.Check = {
  theme: "archive",
  name: "the list of runs has each run's rank and checkpoints",
  why: "A killed run finds its newest checkpoint in this list.",
  run: Effect.gen(function*() {
    const { path, rest, run } = yield* saved("certify-listed")
    const { isLora, loraRank } = yield* rest.getTrainingRun(run)
    yield* Check.expect(isLora && loraRank === 8, "a LoRA run of rank 8", `rank ${loraRank}`)
    const found = yield* paths(rest, run)
    yield* Check.expect(found.join() === path, `the checkpoint ${path} alone`, found.join(", "))
  })
}

export const downloaded: Check.Check = {
  theme: "archive",
  name: "a checkpoint downloads as a complete tar with an adapter of its rank",
  why: "Users export weights this way. A truncated tar loads as random numbers or not at all.",
  run: Effect.gen(function*() {
    const { path, rest } = yield* saved("certify-archived")
    const parts = yield* Stream.runCollect(rest.downloadCheckpoint(path))
    const bytes = parts.reduce((total, part) => total + part.length, 0)
    yield* Check.expect(bytes > 1024 && bytes % 512 === 0, "blocks of 512 bytes", `${bytes} bytes`)
    const text = parts.map((part) => new TextDecoder("latin1").decode(part)).join("")
    const missing = ["adapter_config.json", "adapter_model"].find((name) => !text.includes(name))
    yield* Check.expect(missing === undefined, "adapter_config.json and adapter_model in it", `no ${missing}`)
    const rank = /"r"\s*:\s*(\d+)/.exec(text)?.[1]
    yield* Check.expect(rank === "8", "an adapter_config.json of rank 8", rank)
  })
}

/** The header text of an adapter file, and the tensor bytes that follow it. */
const archived = Effect.fnUntraced(function*(path: string) {
  const files = ArchiveFiles.filesOf(yield* ArchiveFiles.downloaded(path))
  const [, file] = files.find(([name]) => name.includes("adapter_model")) ?? []
  if (file === undefined || file.length < 8) return { names: "", values: "" }
  const header = Number(new DataView(file.buffer, file.byteOffset, 8).getBigUint64(0, true))
  return { names: new TextDecoder().decode(file.subarray(8, 8 + header)), values: file.subarray(8 + header).join() }
})

export const ownWeights: Check.Check = {
  theme: "archive",
  name: "every download has the weights of its checkpoint",
  why: "The downloaded weights could be the run's last ones instead of its best, and nobody could tell.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8 })
    const save = (name: string) => StateTwins.run(client.saveWeightsForSampler(name))
    const learn = Effect.andThen(
      StateTwins.run(client.forwardBackward([Examples.weighted()], Loss.crossEntropy)),
      StateTwins.run(client.optimStep({ learningRate: Examples.learningRate }))
    )
    const first = yield* save("certify-before")
    const before = yield* archived(first.path)
    yield* learn
    const after = yield* archived((yield* save("certify-after")).path)
    const again = yield* archived(first.path)
    if (before.values === "") return yield* Check.absent("the archive has no adapter_model.safetensors")
    yield* Check.expect(before.values !== after.values, "different weights after a step", "the same")
    yield* Check.expect(before.values === again.values, "the same weights as in the first download", "others")
  })
}

/** Common name patterns for the parts of models. */
const parts = { mlp: /mlp|gate_proj|up_proj|down_proj|expert/, attn: /attn|attention|[qkvo]_proj/ }

export const ownModules: Check.Check = {
  theme: "archive",
  name: "a download has exactly the modules that were trained",
  why: "Programs that merge an adapter change every module that it names.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const namesOf = Effect.fnUntraced(function*(train: { readonly trainMlp?: boolean; readonly trainAttn?: boolean }) {
      const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 4, ...train })
      const { path } = yield* StateTwins.run(client.saveWeightsForSampler("certify-modules"))
      return (yield* archived(path)).names
    })
    const whole = yield* namesOf({})
    if (!parts.mlp.test(whole) || !parts.attn.test(whole)) {
      return yield* Check.absent("the adapter's tensor names do not tell MLP and attention apart")
    }
    for (
      const [train, here, gone] of [[{ trainAttn: false }, "mlp", "attn"], [
        { trainMlp: false },
        "attn",
        "mlp"
      ]] as const
    ) {
      const names = yield* namesOf(train)
      yield* Check.expect(
        parts[here].test(names) && !parts[gone].test(names),
        `tensors of ${here} and none of ${gone}`,
        names.slice(0, 200)
      )
    }
  })
}

export const deleted: Check.Check = {
  theme: "archive",
  name: "a deleted checkpoint is no longer listed",
  why: "Undeletable checkpoints fill the disk or cost money.",
  run: Effect.gen(function*() {
    const { path, rest, run } = yield* saved("certify-deleted")
    yield* rest.deleteCheckpoint(path)
    const found = yield* paths(rest, run)
    yield* Check.expect(!found.includes(path), "no checkpoint", found.join(", "))
  })
}

export const published: Check.Check = {
  theme: "archive",
  name: "a checkpoint can be published and unpublished",
  why: "Weights are shared this way, and otherwise they would stay public.",
  run: Effect.gen(function*() {
    const { path, rest, run } = yield* saved("certify-published")
    const isPublic = Effect.map(rest.listCheckpoints(run), ({ checkpoints: [first] }) => first?.public === true)
    yield* rest.publishCheckpoint(path)
    yield* Check.expect(yield* isPublic, "a public checkpoint", "a private one")
    yield* rest.unpublishCheckpoint(path)
    yield* Check.expect(!(yield* isPublic), "a private checkpoint", "a public one")
  })
}

export const twoKinds: Check.Check = {
  theme: "archive",
  name: "a state and sampler weights may have the same name",
  why: "Runs save both under the name of the iteration.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8 })
    const state = yield* Effect.flatMap(client.saveState("certify-both"), (pending) => pending.await)
    const weights = yield* Effect.flatMap(client.saveWeightsForSampler("certify-both"), (pending) => pending.await)
    yield* Check.expect(state.path !== weights.path, "two paths", state.path)
    yield* tinker.createTrainingClientFromState(state.path)
    yield* tinker.createSamplingClient({ modelPath: weights.path })
  })
}

/** The answer to a request that copies the checkpoint at `source_path`. */
const copied = (source_path: string, destination: object) =>
  Effect.flatMap(RawRequests, ({ post }) => post("/copy_weights", { source_path, ...destination }))

export const copiedToSession: Check.Check = {
  theme: "archive",
  name: "a copy of weights into a session is a separate run and survives the deletion of the original",
  why:
    "The best weights of a run are kept this way. If the copy were only another name, they would be lost with the run.",
  run: Effect.gen(function*() {
    const { session } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const rest = yield* RestClient
    const { id: session_id } = yield* session
    const model = yield* NumberedModel.make
    yield* model.learn()
    const expected = yield* model.logprobs
    const name = { path: "certify-copied", overwrite: false, type: "save_weights" }
    const source = String((yield* model.ask("/save_weights", name)).body["path"])
    const { body, status } = yield* copied(source, { session_id, model_seq_id: 7 })
    const path = body["tinker_path"]
    if (status !== 200 || typeof path !== "string") {
      return yield* Check.absent(`weights are not copied into sessions: HTTP ${status} ${JSON.stringify(body)}`)
    }
    yield* Check.expect(path !== source && path.endsWith("/weights/certify-copied"), "a separate path", path)
    yield* rest.deleteCheckpoint(source)
    const client = yield* tinker.createTrainingClientFromState(path)
    yield* Check.expectClose("logprobs of the copy", yield* StateTwins.logprobsOf(client), expected, 0.05)
    yield* rest.deleteCheckpoint(path)
  })
}

export const copiedToProject: Check.Check = {
  theme: "archive",
  name: "a copy of weights into a project returns a path or a refusal that says projects are not supported",
  why: "The official SDK copies only into projects, so its users must be told if the server has none.",
  run: Effect.gen(function*() {
    const { path, rest } = yield* saved("certify-project")
    for (const more of [{}, { ttl_seconds: 3600 }]) {
      const reply = yield* copied(path, { destination_project_id: "certify-no-such-project", ...more })
      if (reply.status !== 200) {
        yield* Blame.expectRefused(reply)
        return yield* Check.absent(`weights are not copied into projects: ${JSON.stringify(reply.body).slice(0, 200)}`)
      }
      const copy = String(reply.body["tinker_path"])
      yield* Check.expect(copy !== path && copy.startsWith("tinker://"), "a separate path", copy)
      yield* rest.deleteCheckpoint(copy)
    }
  })
}

export const sizes: Check.Check = {
  theme: "archive",
  name: "a checkpoint's listed size is the size of its files in bytes",
  why: "Storage is billed by this number, and retention rules use it.",
  run: Effect.gen(function*() {
    const { path, rest, run } = yield* saved("certify-size")
    const { checkpoints: [found] } = yield* rest.listCheckpoints(run)
    const size = found?.sizeBytes
    if (size === undefined || size === null) return yield* Check.absent("checkpoints are listed without their size")
    const parts = yield* Stream.runCollect(rest.downloadCheckpoint(path))
    const bytes = parts.reduce((total, part) => total + part.length, 0)
    yield* Check.expect(size > bytes / 2 && size < 2 * bytes, `about ${bytes} bytes`, size)
  })
}

export const publishedAlone: Check.Check = {
  theme: "archive",
  name: "publishing a checkpoint leaves the run's other checkpoints private",
  why: "Weights that nobody meant to share would be public.",
  run: Effect.gen(function*() {
    const rest = yield* RestClient
    const model = yield* NumberedModel.make
    const save = (name: string) =>
      Effect.map(
        model.ask("/save_weights", { path: name, overwrite: false, type: "save_weights" }),
        ({ body }) => String(body["path"])
      )
    const paths = [yield* save("certify-1"), yield* save("certify-2"), yield* save("certify-11")]
    yield* rest.publishCheckpoint(paths[0] ?? "")
    const { checkpoints } = yield* rest.listCheckpoints(model.id)
    const open = checkpoints.filter((one) => one.public === true).map((one) => one.path).join(", ")
    yield* Check.expect(open === paths[0], `${paths[0]} alone`, open)
    yield* rest.unpublishCheckpoint(paths[0] ?? "")
  })
}

export const all = [
  listed,
  downloaded,
  ownWeights,
  ownModules,
  deleted,
  published,
  publishedAlone,
  twoKinds,
  sizes,
  copiedToSession,
  copiedToProject
]
