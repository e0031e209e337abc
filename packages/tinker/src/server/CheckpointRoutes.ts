/** Routes that list, link, publish, expire and delete training runs' checkpoints. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Administration from "../wire/Administration.ts"
import * as Wire from "../wire/SavedWeights.ts"
import type { Event } from "./Audit.ts"
import * as Body from "./Body.ts"
import type { Place } from "./ClientPaths.ts"
import { badRequest, HttpRefusal, notFound } from "./HttpRefusal.ts"
import * as Page from "./Page.ts"
import type { RouteServices } from "./RouteServices.ts"
import * as Saving from "./Saving.ts"
import type * as SignedLinks from "./SignedLinks.ts"
import { Strictness } from "./Strictness.ts"

type TrainingRun = typeof Administration.TrainingRun.Encoded

/** A run, described by its model while that is in use and by its checkpoints afterwards; undefined if it has neither. */
const describeRun = Effect.fnUntraced(function*({ checkpoints, sessions }: RouteServices, folder: string) {
  const model = (yield* sessions.models).find(({ client }) => client.info.modelId === folder)
  const all = yield* checkpoints.list(folder)
  const [latest] = all
  const stored = latest === undefined ? undefined : yield* checkpoints.weights({ folder, id: latest.checkpoint_id })
  const base_model = model?.client.info.baseModel ?? stored?.base_model
  if (base_model === undefined) return undefined
  const { id, tenant, userMetadata } = checkpoints.runs.inFolder(folder)
  const last_checkpoint = all.find(({ checkpoint_type }) => checkpoint_type === "training")
  const last_sampler_checkpoint = all.find(({ checkpoint_type }) => checkpoint_type === "sampler")
  return {
    training_run_id: id,
    base_model,
    model_owner: tenant ?? "local",
    is_lora: true,
    corrupted: false,
    lora_rank: model?.client.info.loraRank ?? stored?.lora_rank ?? null,
    last_request_time: model === undefined ? latest?.time ?? "" : new Date(model.lastRequestAt).toISOString(),
    ...(userMetadata === undefined ? {} : { user_metadata: userMetadata }),
    ...(last_checkpoint === undefined ? {} : { last_checkpoint }),
    ...(last_sampler_checkpoint === undefined ? {} : { last_sampler_checkpoint })
  } satisfies TrainingRun
})

const listRuns = (services: RouteServices) =>
  Effect.gen(function*() {
    const live = (yield* services.sessions.models).map(({ client }) => client.info.modelId)
    const folders = new Set([...live, ...(yield* services.checkpoints.folders)])
    const runs = yield* Effect.forEach(folders, (folder) => describeRun(services, folder))
    const known = runs.filter((run) => run !== undefined)
    known.sort((left, right) => right.last_request_time.localeCompare(left.last_request_time))
    const { cursor, items } = yield* Page.of(known, 20)
    return HttpServerResponse.jsonUnsafe(
      { training_runs: items, cursor } satisfies typeof Administration.TrainingRuns.Encoded
    )
  })

const gone = (id: string) =>
  new HttpRefusal({ status: 404, detail: `training run "${id}" has ended, and its checkpoints are gone` })

/** The run. Fails if it does not exist or the caller may not see it. */
const findRun = Effect.fnUntraced(function*(services: RouteServices, id: string) {
  const { checkpoints } = services
  const folder = checkpoints.runs.folderOf(id)
  if (!(yield* checkpoints.isVisible(folder))) return yield* notFound("training run", id)
  const found = yield* describeRun(services, folder)
  return found ?? (yield* checkpoints.runs.isKept(folder) ? gone(id) : notFound("training run", id))
})

const getRun = (services: RouteServices) =>
  Effect.gen(function*() {
    const { run = "" } = yield* HttpRouter.params
    return HttpServerResponse.jsonUnsafe(yield* findRun(services, run))
  })

/** The checkpoints of a run; empty for an ended run whose checkpoints are deleted. */
const listOfRun = (services: RouteServices, run: string) =>
  Effect.gen(function*() {
    const { isVisible, list, runs } = services.checkpoints
    const folder = runs.folderOf(run)
    if (!(runs.isKept(folder) && (yield* isVisible(folder)))) yield* findRun(services, run)
    const checkpoints = yield* list(folder)
    return HttpServerResponse.jsonUnsafe({ checkpoints } satisfies typeof Administration.Checkpoints.Encoded)
  })

const listAll = ({ checkpoints }: RouteServices) =>
  Effect.gen(function*() {
    const all = (yield* Effect.forEach(yield* checkpoints.folders, checkpoints.list)).flat()
    all.sort((left, right) => right.time.localeCompare(left.time))
    const { cursor, items } = yield* Page.of(all, 100)
    return HttpServerResponse.jsonUnsafe(
      { checkpoints: items, cursor } satisfies typeof Administration.Checkpoints.Encoded
    )
  })

/** Parses a route's wildcard. A checkpoint id contains an unescaped slash, and the action follows after another slash. */
const target = (action: string) =>
  Effect.flatMap(HttpRouter.params, ({ "*": rest = "", run = "" }) =>
    rest.endsWith(action)
      ? Effect.succeed(`tinker://${run}/${rest.slice(0, rest.length - action.length)}`)
      : Effect.fail(notFound("page", rest)))

const origin = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  `${headers["x-forwarded-proto"] === "https" ? "https" : "http"}://${headers["host"] ?? "localhost"}`

/** The files of a checkpoint that the caller may read, and the base address for links to them. */
const downloadable = Effect.fnUntraced(function*({ audit, checkpoints }: RouteServices, action: string) {
  const path = yield* target(action)
  const place = yield* checkpoints.readable(path)
  const files = yield* checkpoints.files(place)
  if (files.length === 0) return yield* badRequest(`${path} has no files to download`)
  const request = yield* HttpServerRequest.HttpServerRequest
  yield* audit.note("checkpoint_downloaded", { tinker_path: path })
  return { files, path: `${place.folder}/${place.id}`, base: `${origin(request)}/api/v1` }
})

const archiveAction = "/archive"
const filesAction = "/external_weights_urls"

const archive = (services: RouteServices, links: SignedLinks.SignedLinks) =>
  Effect.gen(function*() {
    const { base, path } = yield* downloadable(services, archiveAction)
    const link = yield* links.make(path)
    return HttpServerResponse.redirect(`${base}/archives/${link.path}`, {
      headers: { expires: link.expires.toUTCString() }
    })
  })

const fileLinks = (services: RouteServices, links: SignedLinks.SignedLinks) =>
  Effect.gen(function*() {
    const { base, files, path } = yield* downloadable(services, filesAction)
    const made = yield* Effect.forEach(files, ({ name }) =>
      Effect.map(links.make(`${path}/${name}`), (link) => ({ name, url: `${base}/files/${link.path}`, ...link })))
    return HttpServerResponse.jsonUnsafe({
      urls: Object.fromEntries(made.map(({ name, url }) => [name, url])),
      expires: made[0]?.expires.toISOString()
    })
  })

/** Handles requests for one run. The wildcard also matches an empty path. */
const ofRun = (services: RouteServices, links: SignedLinks.SignedLinks) =>
  Effect.flatMap(HttpRouter.params, ({ "*": rest = "", run = "" }) =>
    rest === ""
      ? listOfRun(services, run)
      : rest.endsWith(filesAction)
      ? fileLinks(services, links)
      : archive(services, links))

/** Changes one of the caller's own checkpoints and records the change in the audit log. */
const administer = Effect.fnUntraced(function*(
  { audit, checkpoints }: RouteServices,
  action: string,
  event: Event,
  change: (place: Place) => ReturnType<RouteServices["checkpoints"]["remove"]>
) {
  const path = yield* target(action)
  yield* change(yield* checkpoints.own(path))
  yield* audit.note(event, { tinker_path: path })
})

const remove = (services: RouteServices) =>
  Effect.gen(function*() {
    const { "*": id = "" } = yield* HttpRouter.params
    if (!id.includes("/")) {
      return yield* badRequest(`checkpoint is "${id}", expected weights/…, sampler_weights/… or external_weights/…`)
    }
    yield* administer(services, "", "checkpoint_deleted", services.checkpoints.remove)
    return HttpServerResponse.empty()
  })

const setPublic = (services: RouteServices, isPublic: boolean) =>
  Effect.as(
    administer(
      services,
      "/publish",
      isPublic ? "checkpoint_published" : "checkpoint_unpublished",
      (place) => services.checkpoints.setPublic(place, isPublic)
    ),
    HttpServerResponse.jsonUnsafe({})
  )

const removeOrUnpublish = (services: RouteServices) =>
  Effect.flatMap(
    HttpRouter.params,
    ({ "*": rest = "" }) => rest.endsWith("/publish") ? setPublic(services, false) : remove(services)
  )

const setTtl = (services: RouteServices) =>
  Effect.gen(function*() {
    const { value: { ttl_seconds } } = yield* Body.json(Wire.TtlRequest)
    yield* Effect.mapError(Saving.isLifetime(yield* Strictness, { ttl_seconds }), ({ detail }) => badRequest(detail))
    yield* administer(services, "/ttl", "checkpoint_ttl_changed", (place) =>
      services.checkpoints.setTtl(place, ttl_seconds))
    return HttpServerResponse.jsonUnsafe({})
  })

export const routes = (services: RouteServices, links: SignedLinks.SignedLinks) => [
  HttpRouter.route("GET", "/training_runs", listRuns(services)),
  HttpRouter.route("GET", "/training_runs/:run", getRun(services)),
  HttpRouter.route("GET", "/training_runs/:run/checkpoints/*", ofRun(services, links)),
  HttpRouter.route("HEAD", "/training_runs/:run/checkpoints/*", ofRun(services, links)),
  HttpRouter.route("DELETE", "/training_runs/:run/checkpoints/*", removeOrUnpublish(services)),
  HttpRouter.route("POST", "/training_runs/:run/checkpoints/*", setPublic(services, true)),
  HttpRouter.route("PUT", "/training_runs/:run/checkpoints/*", setTtl(services)),
  HttpRouter.route("GET", "/checkpoints", listAll(services))
]
