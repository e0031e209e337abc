import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { HttpServer } from "effect/http"
import { TestClock } from "effect/testing"
import { connect } from "node:net"
import * as Api from "./Api.ts"

/** A request whose body never comes, once the server has read its head; it is given up with the scope. */
const slow = Effect.fnUntraced(function*(key: string, length = 1000) {
  const { address } = yield* HttpServer.HttpServer
  const { port } = new URL(HttpServer.formatAddress(address))
  const head = `POST /api/v1/create_session HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${key}\r\n` +
    `Content-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`
  return yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof connect>>((resume) => {
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(head))
      socket.on("error", () => undefined).once("data", () => resume(Effect.succeed(socket)))
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )
})

const create = (key: string) => Api.post("/create_session", {}, { "x-api-key": key })

describe("bodies that are being received", () => {
  const apiKeys = Api.keys("alice=tml-alice,bob=tml-bob")

  layer(Api.server({ apiKeys, maxBodySize: 1000 }))((it) => {
    it.effect("share their room: a caller who sends slowly waits for its own, and others do not", () =>
      Effect.gen(function*() {
        const first = yield* slow("tml-alice")
        yield* slow("tml-alice")
        const waiting = yield* Effect.forkChild(create("tml-alice"), { startImmediately: true })
        for (let count = 0; count < 10; count++) assert.strictEqual((yield* create("tml-bob")).status, 200)
        assert.isUndefined(waiting.pollUnsafe())
        first.destroy()
        assert.strictEqual((yield* Fiber.join(waiting)).status, 200)
      }))
  })

  layer(Api.server({ apiKeys, maxBodySize: 1000 }))((it) => {
    it.effect("take as much room as they say that they have bytes", () =>
      Effect.gen(function*() {
        for (let count = 0; count < 5; count++) yield* slow("tml-alice", 100)
        assert.strictEqual((yield* create("tml-alice")).status, 200)
      }))
  })

  layer(Api.server({ maxBodySize: 1000 }))((it) => {
    it.effect("have a minute to arrive, after which the server says so and closes their connection", () =>
      Effect.gen(function*() {
        const socket = yield* slow("")
        const answer = yield* Effect.forkChild(
          Effect.callback<string>((resume) => {
            let text = ""
            socket.setEncoding("latin1").on("data", (more) => {
              text += more
            })
            socket.once("close", () => resume(Effect.succeed(text)))
          }),
          { startImmediately: true }
        )
        assert.strictEqual((yield* Api.post("/create_session", {})).status, 200)
        assert.isUndefined(answer.pollUnsafe())
        yield* TestClock.adjust("1 minute")
        const text = yield* Fiber.join(answer)
        assert.match(text, /^HTTP\/1\.1 408 /)
        assert.include(text, `{"detail":"the request body did not arrive within a minute"}`)
      }))
  })
})
