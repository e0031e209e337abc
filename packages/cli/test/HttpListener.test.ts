import * as HttpListener from "@effect-rl/cli/HttpListener"
import { ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { TinkerServer } from "@effect-rl/tinker"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, FileSystem, Layer, Scope } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { connect } from "node:net"

const at = (port: number) =>
  HttpListener.layer(createServer, { host: "127.0.0.1", port, gracefulShutdownTimeout: "100 millis" })

const portOf = (services: Context.Context<HttpServer.HttpServer>) => {
  const { address } = Context.get(services, HttpServer.HttpServer)
  return Number(new URL(HttpServer.formatAddress(address)).port)
}

/** The Tinker API with a backend that becomes ready when the gate opens. */
const server = (gate: Deferred.Deferred<void>) => {
  const backend = Layer.unwrap(
    Effect.as(Deferred.await(gate), Layer.merge(ScriptedTinker.layer(), TestTokenizer.layer()))
  )
  const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
  return Layer.unwrap(
    Effect.map(folder, (folder) => TinkerServer.layer({ checkpoints: { folder, scheme: "scripted" } }))
  ).pipe(Layer.provide(backend))
}

const ask = (port: number, path: string, init?: RequestInit) =>
  Effect.promise(async () => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
    return { status: response.status, retryAfter: response.headers.get("retry-after"), text: await response.text() }
  })

describe("a server whose backend starts slowly", () => {
  it.live("answers 503 with a retry delay while the backend starts, then as its routes do", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const http = yield* Layer.build(at(0))
      const port = portOf(http)
      const loading = yield* Effect.forkScoped(Layer.build(Layer.provide(server(gate), Layer.succeedContext(http))))
      const health = ask(port, "/api/v1/healthz")
      const body = JSON.stringify({ tags: ["x".repeat(200_000)] })
      const create = ask(port, "/api/v1/create_session", { method: "POST", body })
      for (const early of [health, create]) {
        const { retryAfter, status, text } = yield* early
        assert.deepStrictEqual([status, retryAfter], [503, "1"])
        assert.include(text, "the server is starting: try again in a second")
      }
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(loading)
      assert.strictEqual((yield* health).status, 200)
      assert.strictEqual((yield* create).status, 200)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.live("fails without waiting for the backend if its port is taken", () =>
    Effect.gen(function*() {
      const port = portOf(yield* Layer.build(at(0)))
      const neverLoaded = Layer.effectDiscard(Effect.never)
      const refused = yield* Effect.flip(Layer.build(Layer.merge(neverLoaded, at(port))))
      assert.strictEqual(refused._tag, "CannotListen")
      assert.strictEqual(
        refused.message,
        `cannot listen on 127.0.0.1, port ${port}: another program listens there; choose another with --port`
      )
    }))
})

describe("a closed server cuts the connection of a client", () => {
  const clients = {
    "that says nothing": "",
    "that sent half of a head": "POST /slow HTTP/1.1\r\nHo",
    "that sent half of a body": "POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf",
    "that waits for an answer": "POST /slow HTTP/1.1\r\nHost: localhost\r\n\r\n"
  }
  const routes = HttpRouter.addAll([HttpRouter.route("POST", "/slow", Effect.never)])

  it.live.each(Object.entries(clients))("%s", ([, text]) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const served = HttpRouter.serve(routes, { disableListenLog: true, disableLogger: true })
      const port = portOf(yield* Layer.buildWithScope(Layer.provideMerge(served, at(0)), scope))
      const closed = yield* Deferred.make<void>()
      const socket = connect(port, "127.0.0.1").resume()
      socket.on("error", () => undefined).once("close", () => Deferred.doneUnsafe(closed, Exit.void))
      yield* Effect.callback<void>((resume) => {
        socket.write(text)
        socket.once("connect", () => resume(Effect.void))
      })
      // The server has accepted the first connection by the time it answers on a later one.
      yield* ask(port, "/nothing")
      yield* Scope.close(scope, Exit.void)
      yield* Deferred.await(closed)
    }))
})
