/** Routes that save model weights as training states, for samplers, for one sampling session, or for other programs. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Wire from "../wire/SavedWeights.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import * as CheckpointFiles from "./CheckpointFiles.ts"
import type * as ClientPaths from "./ClientPaths.ts"
import { type Model, weightsOf } from "./ClientSession.ts"
import * as Inflight from "./Inflight.ts"
import type { RouteServices } from "./RouteServices.ts"
import * as Saving from "./Saving.ts"
import { Strictness } from "./Strictness.ts"
import * as Submission from "./Submission.ts"

/** Fails if a state exists at the place, unless the client asked to overwrite it. */
const isFree = ({ checkpoints }: RouteServices, place: ClientPaths.Place, overwrite: boolean) =>
  Effect.flatMap(Effect.orElseSucceed(checkpoints.exists(place), () => false), (exists) =>
    Saving.check(
      !exists || overwrite,
      `the checkpoint "${place.id}" already exists: choose another name or set overwrite`
    ))

const readSave = Body.parse(Wire.SaveWeightsRequest)

const saveWeights = (services: RouteServices) =>
  Effect.gen(function*() {
    const { content, value } = yield* Submission.body(services, readSave)
    const model = yield* services.sessions.model(value.model_id)
    const operation = "saveState"
    const strictness = yield* Strictness
    const place = { folder: model.client.info.modelId, id: `weights/${value.path}` }
    return yield* Submission.training(services, {
      operation,
      model,
      sequence: value.seq_id,
      content,
      submit: Saving.isName(value.path).pipe(
        Effect.andThen(Saving.isLifetime(strictness, value)),
        Effect.andThen(isFree(services, place, value.overwrite ?? false)),
        Submission.named(operation),
        Effect.andThen(Saving.keepRun(services, model, operation)),
        Effect.andThen(model.client.saveState(value.path, Saving.ttl(value))),
        Effect.map(Saving.saved(services, model, { operation, type: "save_weights" }, value))
      )
    })
  })

const type = "save_weights_for_sampler"

const operation = "saveWeightsForSampler"

const saveNamed = (
  services: RouteServices,
  strictness: Strictness["Service"],
  model: Model,
  name: string,
  options: Saving.Options
) =>
  Saving.isName(name).pipe(
    Effect.andThen(Saving.isLifetime(strictness, options)),
    Submission.named(operation),
    Effect.andThen(Saving.keepRun(services, model, operation)),
    Effect.andThen(model.client.saveWeightsForSampler(name, Saving.ttl(options))),
    Effect.map(Saving.saved(services, model, { operation, type }, options))
  )

/** The quota request for the next inflight weights, which need as much memory as the previous ones. */
const inflightAsked = ({ inflight }: Model) => ({
  operation: "createSamplingClient" as const,
  bytes: inflight?.client.memoryBytes ?? 0
})

/** Saves within the request's turn, because later requests change the weights. */
const saveUnnamed = ({ sessions, uniqueId }: RouteServices, model: Model, kind: "snapshot" | "inflight") => {
  const { client, session } = model
  const sampler = { id: uniqueId(), baseModel: client.info.baseModel, modelPath: undefined }
  const make = kind === "snapshot"
    ? sessions.addSampler(session, { ...sampler, snapshotOf: model.id }, client.saveWeightsAndGetSamplingClient)
    : Effect.flatMap(
      Effect.andThen(sessions.hasRoom(session, inflightAsked(model)), Inflight.publish(model)),
      (inflight) => sessions.addSampler(session, { ...sampler, snapshotOf: undefined }, Effect.succeed(inflight))
    )
  return Effect.map(make, ({ id }) => Effect.succeed(Answer.Plain({ body: { type, sampling_session_id: id } })))
}

const inflightHasNoName = Submission.named(operation)(
  Saving.check(false, "path is given, expected none for weights of kind inflight, which are not kept")
)

const submitSaveForSampler = (
  services: RouteServices,
  strictness: Strictness["Service"],
  model: Model,
  value: typeof Wire.SaveWeightsForSamplerRequest.Type
) => {
  const { kind = "snapshot", path } = value
  if (typeof path !== "string") return saveUnnamed(services, model, kind)
  return kind === "inflight"
    ? Effect.as(inflightHasNoName, Effect.never)
    : saveNamed(services, strictness, model, path, value)
}

const readSaveForSampler = Body.parse(Wire.SaveWeightsForSamplerRequest)

const saveForSampler = (services: RouteServices) =>
  Effect.gen(function*() {
    const { value } = yield* Submission.body(services, readSaveForSampler)
    const model = yield* services.sessions.model(value.model_id)
    return yield* Submission.training(services, {
      operation,
      model,
      sequence: value.seq_id,
      // Excludes `sampling_session_seq_id`, which a client increments when it retries.
      content: `${type} ${value.kind ?? "snapshot"} ${value.path ?? ""}`,
      submit: submitSaveForSampler(services, yield* Strictness, model, value)
    })
  })

const readSaveExternal = Body.parse(Wire.SaveWeightsExternalRequest)

/** Saves external weights. Sampler weights already have a portable format, so they are saved as such and then moved to their place. */
const exported = (services: RouteServices, model: Model, name: string, options: Saving.Options) =>
  Effect.map(
    model.client.saveWeightsForSampler(`external-${services.uniqueId()}`),
    (pending) =>
      Effect.gen(function*() {
        const { checkpoints } = services
        const { path: made } = yield* pending.await
        const place = { folder: model.client.info.modelId, id: `external_weights/${name}` }
        yield* Saving.asFailure(operation)(Effect.gen(function*() {
          const from = yield* checkpoints.paths.parse(checkpoints.paths.toClient(made))
          yield* checkpoints.move(from, place)
          yield* checkpoints.saved(place, weightsOf(model), Saving.savedOptions(options))
        }))
        const size_bytes = CheckpointFiles.size(yield* Saving.asFailure(operation)(checkpoints.files(place)))
        return Answer.Plain({
          body: {
            type: "save_weights_external",
            path: checkpoints.paths.format(place),
            size_bytes
          } satisfies typeof Wire.SaveWeightsResult.Type
        })
      })
  )

const saveExternal = (services: RouteServices) =>
  Effect.gen(function*() {
    const { content, value } = yield* Submission.body(services, readSaveExternal)
    const model = yield* services.sessions.model(value.model_id)
    const strictness = yield* Strictness
    const isPlain = (value.age_encryption_recipients ?? []).length === 0
    return yield* Submission.training(services, {
      operation,
      model,
      sequence: value.seq_id,
      content,
      submit: Saving.isName(value.path).pipe(
        Effect.andThen(Saving.isLifetime(strictness, value)),
        Effect.andThen(
          Saving.check(isPlain, "age_encryption_recipients has names, expected none: files are not encrypted here")
        ),
        Submission.named(operation),
        Effect.andThen(Saving.keepRun(services, model, operation)),
        Effect.andThen(exported(services, model, value.path, value))
      )
    })
  })

export const routes = (services: RouteServices) => [
  HttpRouter.route("POST", "/save_weights", saveWeights(services)),
  HttpRouter.route("POST", "/save_weights_for_sampler", saveForSampler(services)),
  HttpRouter.route("POST", "/save_weights_external", saveExternal(services))
]
