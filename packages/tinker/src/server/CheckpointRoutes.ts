/** Training runs and their checkpoints: listed, downloaded, deleted. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import type * as Wire from "../wire/Checkpoints.ts"
import { TtlRequest } from "../wire/Checkpoints.ts"
import * as Body from "./Body.ts"
import type * as Links from "./Links.ts"
import type { Parts } from "./Parts.ts"
import { badRequest, invalid, notFound } from "./Refusal.ts"
import * as Tar from "./Tar.ts"

type TrainingRun = typeof Wire.TrainingRun.Type

const Page = Schema.Struct({
  limit: Schema.optionalKey(Schema.FiniteFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(0))),
  offset: Schema.optionalKey(Schema.FiniteFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(0)))
})

/** The asked part of a list, and where in the list it lies. */
const page = Effect.fnUntraced(function*<A>(all: ReadonlyArray<A>, usual: number) {
  const { limit = usual, offset = 0 } = yield* Effect.mapError(
    HttpServerRequest.schemaSearchParams(Page),
    ({ message }) => invalid(message)
  )
  return {
    items: all.slice(offset, offset + limit),
    cursor: { offset, limit, total_count: all.length }
  }
})

/** What is known of a run: from its model while it is in use, from its checkpoints afterwards; none without either. */
const describeRun = Effect.fnUntraced(function*({ checkpoints, sessions }: Parts, run: string) {
  const model = (yield* sessions.models).find(({ client }) => client.info.modelId === run)
  const all = yield* checkpoints.list(run)
  const [latest] = all
  const stored = latest === undefined ? undefined : yield* checkpoints.info(run, latest.checkpoint_id)
  const base_model = model?.client.info.baseModel ?? stored?.base_model
  if (base_model === undefined) return undefined
  const last_checkpoint = all.find(({ checkpoint_type }) => checkpoint_type === "training")
  const last_sampler_checkpoint = all.find(({ checkpoint_type }) => checkpoint_type === "sampler")
  return {
    training_run_id: run,
    base_model,
    model_owner: "local",
    is_lora: true,
    corrupted: false,
    lora_rank: model?.client.info.loraRank ?? stored?.lora_rank ?? null,
    last_request_time: model === undefined ? latest?.time ?? "" : new Date(model.lastRequestAt).toISOString(),
    ...(last_checkpoint === undefined ? {} : { last_checkpoint }),
    ...(last_sampler_checkpoint === undefined ? {} : { last_sampler_checkpoint })
  } satisfies TrainingRun
})

const listRuns = (parts: Parts) =>
  Effect.gen(function*() {
    const live = (yield* parts.sessions.models).map(({ client }) => client.info.modelId)
    const names = new Set([...live, ...(yield* parts.checkpoints.runs)])
    const runs = yield* Effect.forEach(names, (run) => describeRun(parts, run))
    const known = runs.filter((run) => run !== undefined)
    known.sort((left, right) => right.last_request_time.localeCompare(left.last_request_time))
    const { cursor, items } = yield* page(known, 20)
    return HttpServerResponse.jsonUnsafe({ training_runs: items, cursor } satisfies typeof Wire.TrainingRunList.Type)
  })

const getRun = (parts: Parts) =>
  Effect.gen(function*() {
    const { run = "" } = yield* HttpRouter.params
    const found = yield* describeRun(parts, run)
    return found === undefined ? yield* notFound("training run", run) : HttpServerResponse.jsonUnsafe(found)
  })

const listOfRun = ({ checkpoints }: Parts, run: string) =>
  Effect.map(
    checkpoints.list(run),
    (all) => HttpServerResponse.jsonUnsafe({ checkpoints: all } satisfies typeof Wire.CheckpointList.Type)
  )

const listAll = ({ checkpoints }: Parts) =>
  Effect.gen(function*() {
    const all = (yield* Effect.forEach(yield* checkpoints.runs, checkpoints.list)).flat()
    all.sort((left, right) => right.time.localeCompare(left.time))
    const { cursor, items } = yield* page(all, 100)
    return HttpServerResponse.jsonUnsafe({ checkpoints: items, cursor } satisfies typeof Wire.CheckpointList.Type)
  })

const archiveSuffix = "/archive"
const ttlSuffix = "/ttl"

/** Ids have a slash, which is not escaped. */
const target = (suffix: string) =>
  Effect.flatMap(HttpRouter.params, ({ "*": rest = "", run = "" }) =>
    rest.endsWith(suffix)
      ? Effect.succeed({ run, id: rest.slice(0, rest.length - suffix.length) })
      : Effect.fail(notFound("page", rest)))

const archive = ({ checkpoints }: Parts, links: Links.Links) =>
  Effect.gen(function*() {
    const { id, run } = yield* target(archiveSuffix)
    yield* checkpoints.files(run, id)
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    const { expires, path } = yield* links.make(`${run}/${id}`)
    return HttpServerResponse.redirect(`http://${headers["host"] ?? "localhost"}/api/v1/archives/${path}`, {
      headers: { expires: expires.toUTCString() }
    })
  })

/** A wildcard matches nothing as well. */
const ofRun = (parts: Parts, links: Links.Links) =>
  Effect.flatMap(
    HttpRouter.params,
    ({ "*": rest = "", run = "" }) => rest === "" ? listOfRun(parts, run) : archive(parts, links)
  )

const download = ({ checkpoints }: Parts, links: Links.Links) =>
  Effect.gen(function*() {
    const { "*": rest = "" } = yield* HttpRouter.params
    const [run = "", ...id] = (yield* links.open(rest)).split("/")
    const files = yield* checkpoints.files(run, id.join("/"))
    return HttpServerResponse.stream(Tar.stream(files), {
      contentType: "application/x-tar",
      contentLength: Tar.size(files)
    })
  })

const remove = ({ checkpoints }: Parts) =>
  Effect.gen(function*() {
    const { id, run } = yield* target("")
    if (!id.includes("/")) return yield* badRequest(`checkpoint is "${id}", expected weights/… or sampler_weights/…`)
    yield* checkpoints.remove(run, id)
    return HttpServerResponse.empty()
  })

/** Checked and not acted upon: checkpoints here stay until they are deleted. */
const setTtl = ({ checkpoints }: Parts) =>
  Effect.gen(function*() {
    const { id, run } = yield* target(ttlSuffix)
    const { value: { ttl_seconds } } = yield* Body.json(TtlRequest)
    if (ttl_seconds !== null && ttl_seconds <= 0) {
      return yield* badRequest(`ttl_seconds is ${ttl_seconds}, expected a number above 0 or null`)
    }
    yield* checkpoints.files(run, id)
    return HttpServerResponse.jsonUnsafe({})
  })

export const routes = (parts: Parts, links: Links.Links) => [
  HttpRouter.route("GET", "/training_runs", listRuns(parts)),
  HttpRouter.route("GET", "/training_runs/:run", getRun(parts)),
  HttpRouter.route("GET", "/training_runs/:run/checkpoints/*", ofRun(parts, links)),
  HttpRouter.route("DELETE", "/training_runs/:run/checkpoints/*", remove(parts)),
  HttpRouter.route("PUT", "/training_runs/:run/checkpoints/*", setTtl(parts)),
  HttpRouter.route("GET", "/checkpoints", listAll(parts))
]

/** Open to whoever has a link. */
export const openRoutes = (parts: Parts, links: Links.Links) => [
  HttpRouter.route("GET", "/archives/*", download(parts, links))
]
