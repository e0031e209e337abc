/** Turns request bodies into ordered work on a model, and answers them. */
import * as Json from "@effect-rl/agent/wire/Json"
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Future from "../wire/Future.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import type { Model } from "./ClientSession.ts"
import { fromTinkerError, type HttpRefusal } from "./HttpRefusal.ts"
import * as PassWork from "./PassWork.ts"
import type { RouteServices } from "./RouteServices.ts"

export const promised = (request: typeof Future.Promised.Type) => HttpServerResponse.jsonUnsafe(request)

export const digest = PassWork.digest

/** Work on a model, as its client's request number `sequence`. */
export interface Submission {
  readonly operation: string
  readonly model: Model
  readonly sequence: Json.SequenceId | null | undefined
  /** Identifies the request's content; equal for a repeated request. */
  readonly content: string
  /** Tokens that the request holds while it waits. */
  readonly tokens?: number
  /** Runs in the request's turn. Returns an effect that awaits the result while the next request is submitted. */
  readonly submit: Effect.Effect<Effect.Effect<Answer.Answer, TinkerError.TinkerError>, TinkerError.TinkerError>
}

const toNumber = (sequence: Json.SequenceId | null | undefined) =>
  sequence === null || sequence === undefined || sequence === 0 ? undefined : Number(sequence)

/** Takes the turn of a refused request, so later requests do not wait for it. Does nothing for an unknown model. */
export const passTurn = ({ sessions }: RouteServices, { model_id, seq_id }: PassWork.Turn) =>
  Effect.gen(function*() {
    const { scope, turns } = yield* sessions.model(model_id)
    yield* Effect.forkIn(Effect.ignore(turns.take("refused", toNumber(seq_id), Effect.void)), scope)
  }).pipe(Effect.ignore)

const decodeTurn = Json.decodeText(PassWork.Turn)

/** Reads the body of a training request with `decode`. A request that cannot be decoded still takes its turn. */
export const body = <A, R>(services: RouteServices, decode: (text: string) => Effect.Effect<A, HttpRefusal, R>) =>
  Effect.flatMap(Body.textWithin(Body.mostBytes), (text) =>
    decode(text).pipe(
      Effect.tapError(() => Effect.ignore(Effect.flatMap(decodeTurn(text), (turn) => passTurn(services, turn)))),
      Effect.map((value) => ({ value, content: digest(text) }))
    ))

/** Starts the work in its turn, and responds with its promise. A repeated request gets the promise of the first. */
export const training = (
  { futures }: RouteServices,
  { content, model, operation, sequence, submit, tokens = 0 }: Submission
) => {
  const number = toNumber(sequence)
  const work = Effect.flatten(model.turns.take(operation, number, submit))
  const once = number === undefined ? {} : { once: { key: `seq_id ${number} of model ${model.id}`, content } }
  return futures.begin({ work, tokens, session: model.session.id, ...once }).pipe(
    // If the request cannot be started now, the client repeats it, and the request keeps its turn.
    Effect.map((request_id) => promised({ request_id, model_id: model.id }))
  )
}

/** Converts a backend refusal, with client paths instead of backend paths. */
export const refused = ({ checkpoints }: RouteServices, error: TinkerError.TinkerError) =>
  fromTinkerError(checkpoints.paths.clientError(error))

/** Does the work once, and answers with `body` when it is done. */
export const awaited = Effect.fnUntraced(function*(
  services: RouteServices,
  work: Effect.Effect<unknown, TinkerError.TinkerError>,
  body: Readonly<Record<string, unknown>>,
  session: string,
  once: { readonly key: string; readonly content: string }
) {
  const id = yield* services.futures.begin({ work: Effect.as(work, Answer.Plain({ body })), session, once })
  yield* Effect.mapError(yield* services.futures.result(id), (error) => refused(services, error))
  return HttpServerResponse.jsonUnsafe(body)
})

/** Adds the operation to a reason found before the backend was called. */
export const named = (operation: string) => <A>(effect: Effect.Effect<A, TinkerError.Reason>) =>
  Effect.mapError(effect, (reason) => new TinkerError.TinkerError({ operation, reason }))
