/** Routes for losses that clients send as graphs. Passes refer to them by id. */
import { TinkerError } from "@effect-rl/core"
import type { LossGraph } from "@effect-rl/core/losses"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Wire from "../wire/CustomLoss.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import type { ClientSession } from "./ClientSession.ts"
import * as Interpreter from "./graph/Interpreter.ts"
import { invalid } from "./HttpRefusal.ts"
import type { LossThread } from "./LossThread.ts"
import type { RouteServices } from "./RouteServices.ts"
import * as Submission from "./Submission.ts"

/** Maximum number of losses per session. */
const mostLosses = 1000

/** Maximum characters of one loss, and of all losses in a tenant's sessions. */
const mostCharacters = 262_144
const mostCharactersOfTenant = 64 * mostCharacters

const rejected = (detail: string) => new TinkerError.Rejected({ detail })

/** Graphs with at most this many nodes are checked on the main thread. */
const fewNodes = 256

/** Checks everything about a loss that does not depend on data. */
const check = ({ compute }: LossThread, caller: string, graph: LossGraph.LossGraph) => {
  if (graph.graph.nodes.length > fewNodes) return compute(caller, { graph, data: [], mostCost: 0 })
  const compiled = Interpreter.compile(graph)
  return Result.isSuccess(compiled)
    ? Effect.void
    : Effect.fail(rejected(`loss graph, ${compiled.failure.message}`))
}

/** Returns a function that stores a loss of `characters` characters for its session, and fails if the loss is invalid or has no room. */
const keeper = (thread: LossThread) => {
  const heldBy = new Map<string | undefined, number>()
  const hold = (tenant: string | undefined, characters: number) =>
    Effect.sync(() => heldBy.set(tenant, (heldBy.get(tenant) ?? 0) + characters))

  return Effect.fnUntraced(
    function*(session: ClientSession, id: string, graph: LossGraph.LossGraph, characters: number) {
      const { losses, scope, tenant } = session
      yield* check(thread, tenant ?? "", graph)
      if (losses.size >= mostLosses) {
        return yield* rejected(`the session has ${mostLosses} custom losses: begin another`)
      }
      if ((heldBy.get(tenant) ?? 0) + characters > mostCharactersOfTenant) {
        return yield* rejected(`your sessions have losses of ${mostCharactersOfTenant} characters: finish some`)
      }
      losses.set(id, graph)
      yield* hold(tenant, characters)
      yield* Scope.addFinalizer(scope, hold(tenant, -characters))
      return Answer.Plain({ body: { type: "create_custom_loss", loss_id: id } })
    }
  )
}

const parse = Body.parse(Wire.CreateCustomLossRequest)

const create = (services: RouteServices, keep: ReturnType<typeof keeper>) =>
  Effect.gen(function*() {
    const text = yield* Body.textWithin(Body.mostBytes)
    if (text.length > mostCharacters) {
      return yield* invalid(`the loss has ${text.length} characters, expected at most ${mostCharacters}`)
    }
    const value = yield* parse(text)
    const { custom_loss_seq_id, graph, inputs, name, session_id } = value
    const session = yield* services.sessions.touch(session_id)
    const id = `${session.id}:loss:${custom_loss_seq_id}`
    const request_id = yield* services.futures.begin({
      work: Submission.named("createCustomLoss")(keep(session, id, { name, inputs, graph }, text.length)),
      session: session.id,
      once: { key: `custom loss ${id}`, content: Submission.digest(text) }
    })
    return Submission.promised({ request_id })
  })

export const routes = (services: RouteServices) => [
  HttpRouter.route("POST", "/create_custom_loss", create(services, keeper(services.lossThread)))
]
