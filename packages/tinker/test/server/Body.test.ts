import { Draw } from "@effect-rl/core/testing"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { HttpClientRequest, HttpServer } from "effect/http"
import { TestClock } from "effect/testing"
import { connect } from "node:net"
import { zstdCompressSync } from "node:zlib"
import * as Api from "./Api.ts"

/** A request whose body never arrives after the server has read its head; it is abandoned with the scope. */
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
    it.effect("share their room: a caller who sends slowly delays only itself", () =>
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
    it.effect("reserve only the room of their declared length", () =>
      Effect.gen(function*() {
        for (let count = 0; count < 5; count++) yield* slow("tml-alice", 100)
        assert.strictEqual((yield* create("tml-alice")).status, 200)
      }))
  })

  layer(Api.server({ maxBodySize: 1000 }))((it) => {
    it.effect("have a minute to arrive, after which the server answers with an error and closes the connection", () =>
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

/** JSON texts with this number of values, arrays or names. */
const texts = {
  "values": (count: number) => `[0${",0".repeat(count)}]`,
  "arrays and objects": (count: number) => `[[]${",[]".repeat(count - 2)}]`,
  "names within objects": (count: number) => `{"a":0${",\"a\":0".repeat(count - 1)}}`
} as const

const kinds = ["values", "arrays and objects", "names within objects"] as const

/** The limits of each route on bytes, values, arrays and objects, and names. */
const limits = [
  ["/create_session", 2 ** 20, { "values": 300_000, "arrays and objects": 30_000, "names within objects": 30_000 }],
  ["/asample", 2 ** 24, { "values": 2 ** 19, "arrays and objects": 10_000, "names within objects": 20_000 }]
] as const

describe("JSON bodies", () => {
  layer(Api.server())((it) => {
    it.effect.each(limits)(
      "of %s hold as much as the route may need, and no more",
      ([path, bytes, most]) =>
        Effect.gen(function*() {
          for (const kind of kinds) {
            const detail = Effect.fnUntraced(function*(count: number) {
              const { body } = yield* Api.postText(path, texts[kind](count))
              return String(body["detail"])
            })
            assert.notInclude(yield* detail(most[kind]), "more than")
            assert.include(yield* detail(most[kind] + 1), `more than ${most[kind]} ${kind}`)
          }
          const { status } = yield* Api.postText(path, " ".repeat(bytes))
          assert.strictEqual(status, 422)
          const { body } = yield* Api.postText(path, " ".repeat(bytes + 1))
          assert.strictEqual(
            body["detail"],
            `the request body is too large, expected at most ${bytes} bytes, or was cut off`
          )
        })
    )
  })
})

describe("compressed bodies", () => {
  const most = 16 * 1024 * 1024

  layer(Api.server({ maxBodySize: most }))((it) => {
    const sent = Effect.fnUntraced(function*(packed: Uint8Array) {
      const { body } = yield* Api.send(HttpClientRequest.bodyUint8Array(
        Api.request("POST", "/forward_backward", { "content-encoding": "zstd" }),
        packed,
        "application/json"
      ))
      return String(body["detail"])
    })

    /** Bytes that do not shrink. */
    const noiseOf = (length: number) => {
      const draw = Draw.make(0, "noise")
      return Uint8Array.from({ length }, () => draw.integer(0, 255))
    }

    const tooLarge = (bytes: number) => `the request body is too large, expected at most ${bytes} bytes, or was cut off`

    it.effect("may decompress to 4 MiB, however small they are", () =>
      Effect.gen(function*() {
        const blanks = (bytes: number) => zstdCompressSync(" ".repeat(bytes))
        assert.notInclude(yield* sent(blanks(4 * 1024 * 1024)), "too large")
        assert.strictEqual(yield* sent(blanks(4 * 1024 * 1024 + 1)), tooLarge(4 * 1024 * 1024))
      }))

    it.effect("may decompress to 250 times their size if that is more, up to the server's limit", () =>
      Effect.gen(function*() {
        const noise = noiseOf(30_000)
        const padded = (bytes: number) => Buffer.concat([noise, Buffer.alloc(bytes - noise.length, " ")])
        const size = zstdCompressSync(padded(7_000_000)).length
        assert.notInclude(yield* sent(zstdCompressSync(padded(249 * size))), "too large")
        assert.include(yield* sent(zstdCompressSync(padded(252 * size))), "too large")
        const large = Buffer.concat([noiseOf(100_000), Buffer.alloc(most - 100_000, " ")])
        assert.notInclude(yield* sent(zstdCompressSync(large)), "too large")
        assert.strictEqual(yield* sent(zstdCompressSync(Buffer.concat([large, Buffer.of(32)]))), tooLarge(most))
      }))
  })
})
