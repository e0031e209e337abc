/** Reads training passes from request bodies, on the main thread or, for large bodies, on a separate one. */
import * as Json from "@effect-rl/agent/wire/Json"
import * as TinkerError from "@effect-rl/core/backend/TinkerError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import * as PassData from "../wire/PassData.ts"
import * as PassRequest from "../wire/PassRequest.ts"
import * as PassRequestJson from "../wire/PassRequestJson.ts"
import * as Unknown from "../wire/Unknown.ts"
import * as Blocks from "./Blocks.ts"

/** The SHA-256 of a content in hexadecimal; equal only for equal contents. */
export const digest = (content: string | Blocks.Blocks): string => {
  const hash = createHash("sha256")
  for (const part of typeof content === "string" ? [content] : content) hash.update(part)
  return hash.digest("hex")
}

/** A body and its format. */
export interface Order {
  readonly blocks: Blocks.Blocks
  readonly format: "protobuf" | "forward_backward" | "forward"
}

/** The model and sequence number of a request. */
export const Turn = Schema.Struct({ model_id: Schema.String, seq_id: Json.SequenceId })
export type Turn = typeof Turn.Type

/** The requested pass: a built-in loss, a loss of the session, or a refusal. */
export type Work =
  | { readonly _tag: "Pass"; readonly pass: PassRequest.Pass }
  | { readonly _tag: "Graph"; readonly request: PassRequest.PassRequest }
  | { readonly _tag: "Refused"; readonly reason: typeof TinkerError.Reason.Encoded }

/** A body that was read. */
export interface Read {
  readonly _tag: "Read"
  readonly modelId: string
  readonly seqId: number
  readonly forwardOnly: boolean
  /** The digest of the body. */
  readonly content: string
  /** The size of the body in bytes. */
  readonly bytes: number
  /** The error message about fields that are not read; undefined if all fields are read. */
  readonly unread: string | undefined
  readonly work: Work
}

/** A body that cannot be read, with its turn if that could be read. */
export interface Malformed {
  readonly _tag: "Malformed"
  readonly detail: string
  readonly turn: Turn | undefined
}

export type Reply = Read | Malformed

const encodeReason = Schema.encodeSync(TinkerError.Reason)

const workOf = (request: PassRequest.PassRequest): Effect.Effect<Work> =>
  request.lossFn === "custom"
    ? Effect.succeed({ _tag: "Graph", request })
    : Effect.match(PassData.toPass(request), {
      onSuccess: (pass) => ({ _tag: "Pass", pass }),
      onFailure: (reason) => ({ _tag: "Refused", reason: encodeReason(reason) })
    })

const read = ({ blocks }: Order, request: PassRequest.PassRequest, unread: string | undefined) =>
  Effect.map(workOf(request), (work): Read => ({
    _tag: "Read",
    modelId: request.modelId,
    seqId: request.seqId,
    forwardOnly: request.forwardOnly,
    content: digest(blocks),
    bytes: Blocks.size(blocks),
    unread,
    work
  }))

const fromProtobuf = (order: Order) =>
  Effect.flatMap(
    PassRequest.decode(Blocks.join(order.blocks)),
    (request) => read(order, request, Unknown.find(request))
  )

const decodeBody = Json.decodeRequest(PassRequestJson.ForwardBackwardBody)
const decodeForwardBody = Json.decodeRequest(PassRequestJson.ForwardBody)

const requestOf = (format: Order["format"]) => (body: unknown) =>
  format === "forward"
    ? Effect.flatMap(decodeForwardBody(body), ({ unread, value }) =>
      Effect.map(PassRequestJson.toRequest(value, value.forward_input, true), (request) => ({ request, unread })))
    : Effect.flatMap(decodeBody(body), ({ unread, value }) =>
      Effect.map(
        PassRequestJson.toRequest(value, value.forward_backward_input, false),
        (request) => ({ request, unread })
      ))

const malformed = ({ message }: Json.MalformedBody, turn?: Turn): Malformed => ({
  _tag: "Malformed",
  detail: message,
  turn
})

const decodeTurn = Json.decode(Turn)

const turnOf = (body: unknown) => Effect.orElseSucceed(decodeTurn(body), () => undefined)

/**
 * Limits for a JSON pass. A datum has about 25 names and 10 arrays and objects. The limits matter because V8 ends the process, not just the
 * thread, if a parsed text exceeds the thread's memory.
 */
const limits: Json.Limits = { nested: 500_000, values: 2 ** 24, names: 500_000 }

const fromJson = (order: Order) =>
  Effect.flatMap(
    Json.parse(new TextDecoder().decode(Blocks.join(order.blocks)), limits),
    (body) =>
      requestOf(order.format)(body).pipe(
        Effect.flatMap(({ request, unread }) => read(order, request, unread)),
        Effect.catchTag("MalformedBody", (error) => Effect.map(turnOf(body), (turn) => malformed(error, turn)))
      )
  )

/** Reads a body. Never fails; an unreadable body yields `Malformed`. */
export const compute = (order: Order): Effect.Effect<Reply> =>
  Effect.catchTag(
    order.format === "protobuf" ? fromProtobuf(order) : fromJson(order),
    "MalformedBody",
    (error) => Effect.succeed(malformed(error))
  )

const addBuffers = (value: unknown, found: Set<ArrayBuffer>): void => {
  if (typeof value !== "object" || value === null) return
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer)
  } else for (const child of Object.values(value)) addBuffers(child, found)
}

/** The buffers of all arrays in a reply, for transfer. */
export const buffers = (reply: Reply): ReadonlyArray<ArrayBuffer> => {
  const found = new Set<ArrayBuffer>()
  addBuffers(reply, found)
  return [...found]
}
