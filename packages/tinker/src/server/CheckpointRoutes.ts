/** Training runs and their checkpoints: listed, linked to, published, expired, deleted. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Wire from "../wire/Checkpoints.ts"
import { TtlRequest } from "../wire/Checkpoints.ts"
import * as Body from "./Body.ts"
import * as CheckpointPath from "./CheckpointPath.ts"
import type * as Links from "./Links.ts"
import * as Page from "./Page.ts"
import type { Parts } from "./Parts.ts"
import { badRequest, notFound } from "./Refusal.ts"

type TrainingRun = typeof Wire.TrainingRun.Type

const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === "string"

/** What is known of a run: from its model while it is in use, from its checkpoints afterwards; none without either. */
const describeRun = Effect.fnUntraced(function*({ checkpoints, sessions }: Parts, run: string) {
  const model = (yield* sessions.models).find(({ client }) => client.info.modelId === run)
  const all = yield* checkpoints.list(run)
  const [latest] = all
  const stored = latest === undefined ? undefined : yield* checkpoints.weights({ run, id: latest.checkpoint_id })
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
    ...(model === undefined
      ? {}
      : { user_metadata: Object.fromEntries(Object.entries(model.userMetadata).filter(isText)) }),
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
    const { cursor, items } = yield* Page.of(known, 20)
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
    const { cursor, items } = yield* Page.of(all, 100)
    return HttpServerResponse.jsonUnsafe({ checkpoints: items, cursor } satisfies typeof Wire.CheckpointList.Type)
  })

/** Ids have a slash, which is not escaped; what is done with the checkpoint comes after another. */
const target = (action: string) =>
  Effect.flatMap(HttpRouter.params, ({ "*": rest = "", run = "" }) =>
    rest.endsWith(action)
      ? Effect.succeed({ run, id: rest.slice(0, rest.length - action.length) })
      : Effect.fail(notFound("page", rest)))

const origin = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  `${headers["x-forwarded-proto"] === "https" ? "https" : "http"}://${headers["host"] ?? "localhost"}`

/** The checkpoint, where it has files, and what links to them begin with. */
const downloadable = Effect.fnUntraced(function*({ checkpoints }: Parts, action: string) {
  const place = yield* target(action)
  const files = yield* checkpoints.files(place)
  if (files.length === 0) return yield* badRequest(`${CheckpointPath.format(place)} has no files to download`)
  const request = yield* HttpServerRequest.HttpServerRequest
  return { files, path: `${place.run}/${place.id}`, base: `${origin(request)}/api/v1` }
})

const archiveAction = "/archive"
const filesAction = "/external_weights_urls"

const archive = (parts: Parts, links: Links.Links) =>
  Effect.gen(function*() {
    const { base, path } = yield* downloadable(parts, archiveAction)
    const link = yield* links.make(path)
    return HttpServerResponse.redirect(`${base}/archives/${link.path}`, {
      headers: { expires: link.expires.toUTCString() }
    })
  })

const fileLinks = (parts: Parts, links: Links.Links) =>
  Effect.gen(function*() {
    const { base, files, path } = yield* downloadable(parts, filesAction)
    const made = yield* Effect.forEach(files, ({ name }) =>
      Effect.map(links.make(`${path}/${name}`), (link) => ({ name, url: `${base}/files/${link.path}`, ...link })))
    return HttpServerResponse.jsonUnsafe({
      urls: Object.fromEntries(made.map(({ name, url }) => [name, url])),
      expires: made[0]?.expires.toISOString()
    })
  })

/** A wildcard matches nothing as well. */
const ofRun = (parts: Parts, links: Links.Links) =>
  Effect.flatMap(HttpRouter.params, ({ "*": rest = "", run = "" }) =>
    rest === ""
      ? listOfRun(parts, run)
      : rest.endsWith(filesAction)
      ? fileLinks(parts, links)
      : archive(parts, links))

const remove = ({ checkpoints }: Parts) =>
  Effect.gen(function*() {
    const place = yield* target("")
    if (!place.id.includes("/")) {
      return yield* badRequest(
        `checkpoint is "${place.id}", expected weights/…, sampler_weights/… or external_weights/…`
      )
    }
    yield* checkpoints.remove(place)
    return HttpServerResponse.empty()
  })

const setPublic = ({ checkpoints }: Parts, isPublic: boolean) =>
  Effect.gen(function*() {
    yield* checkpoints.setPublic(yield* target("/publish"), isPublic)
    return HttpServerResponse.jsonUnsafe({})
  })

const removeOrUnpublish = (parts: Parts) =>
  Effect.flatMap(
    HttpRouter.params,
    ({ "*": rest = "" }) => rest.endsWith("/publish") ? setPublic(parts, false) : remove(parts)
  )

const setTtl = ({ checkpoints }: Parts) =>
  Effect.gen(function*() {
    const place = yield* target("/ttl")
    const { value: { ttl_seconds } } = yield* Body.json(TtlRequest)
    if (ttl_seconds !== null && ttl_seconds <= 0) {
      return yield* badRequest(`ttl_seconds is ${ttl_seconds}, expected a number above 0 or null`)
    }
    yield* checkpoints.setTtl(place, ttl_seconds)
    return HttpServerResponse.jsonUnsafe({})
  })

export const routes = (parts: Parts, links: Links.Links) => [
  HttpRouter.route("GET", "/training_runs", listRuns(parts)),
  HttpRouter.route("GET", "/training_runs/:run", getRun(parts)),
  HttpRouter.route("GET", "/training_runs/:run/checkpoints/*", ofRun(parts, links)),
  HttpRouter.route("DELETE", "/training_runs/:run/checkpoints/*", removeOrUnpublish(parts)),
  HttpRouter.route("POST", "/training_runs/:run/checkpoints/*", setPublic(parts, true)),
  HttpRouter.route("PUT", "/training_runs/:run/checkpoints/*", setTtl(parts)),
  HttpRouter.route("GET", "/checkpoints", listAll(parts))
]
