/** A network of real sockets, with bytes that stop, trickle or declare a false length. */
import { Effect, FiberSet, Option } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { zstdDecompressSync } from "node:zlib"
import type * as Encounter from "./Encounter.ts"

export interface SocketNetwork {
  readonly baseUrl: string
  /** The number of open but unused connections, after waiting for those that are closing. */
  readonly left: Effect.Effect<number>
}

const read = (request: IncomingMessage) =>
  Effect.callback<Uint8Array>((resume) => {
    const chunks: Array<Uint8Array> = []
    request.on("data", (chunk) => chunks.push(chunk))
    request.on("end", () => resume(Effect.succeed(Buffer.concat(chunks))))
  })

/** Sends a few bytes at a time while somebody reads. */
const trickle = Effect.fnUntraced(function*(response: ServerResponse, body: Uint8Array, millis: number) {
  const pieces = 8
  const size = Math.ceil(body.length / pieces)
  for (let at = 0; at < body.length && !response.destroyed; at += size) {
    yield* Effect.sleep(millis / pieces)
    response.write(body.subarray(at, at + size))
  }
  response.end()
})

const write = (response: ServerResponse, { body, cut, headers, millis, status }: Encounter.Sent) =>
  Effect.suspend(() => {
    const length = cut?.lies === true ? Math.ceil(body.length / 2) : body.length
    response.writeHead(status, { ...headers, "content-length": length })
    if (millis !== undefined) return trickle(response, body, millis)
    if (cut === undefined) response.end(body)
    else if (cut.lies) response.socket?.end(body)
    else response.write(body.subarray(0, cut.at), () => response.destroy())
    return Effect.void
  })

export const make = Effect.fnUntraced(function*({ meet }: Encounter.Encounter) {
  const scope = yield* Effect.scope
  const run = yield* FiberSet.makeRuntime()

  const handle = Effect.fnUntraced(function*(request: IncomingMessage, response: ServerResponse) {
    const body = yield* read(request)
    const isCompressed = request.headers["content-encoding"] === "zstd"
    const kind = request.headers["x-tinker-request-type"]
    const sent = yield* meet({
      method: request.method ?? "GET",
      kind: typeof kind === "string" ? kind : undefined,
      path: (request.url ?? "").replace("/api/v1", ""),
      isProtobuf: request.headers["content-type"] === "application/x-protobuf",
      body: isCompressed ? zstdDecompressSync(body) : body
    }, scope)
    yield* Option.match(sent, {
      onNone: () => Effect.sync(() => request.socket.resetAndDestroy()),
      onSome: (sent) => write(response, sent)
    })
  })

  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const fiber = run(handle(request, response))
    response.on("close", () => fiber.interruptUnsafe())
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () => Effect.sync(() => server.closeAllConnections())
  )
  const address = server.address()
  const port = typeof address === "object" ? address?.port : undefined

  const count = Effect.callback<number>((resume) => {
    server.getConnections((_, count) => resume(Effect.succeed(count)))
  })

  const closed = Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
  })

  /** Closes idle connections. A connection that is still sending its last answer becomes idle later. */
  const dropIdle = Effect.sync(() => server.closeIdleConnections())

  const network: SocketNetwork = {
    baseUrl: `http://127.0.0.1:${port}`,
    left: closed.pipe(
      Effect.raceFirst(Effect.forever(Effect.delay(dropIdle, 50))),
      Effect.timeoutOption("2 minutes"),
      Effect.andThen(count)
    )
  }
  return network
})
