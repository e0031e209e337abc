/** Raw requests on a connection: many at once, or malformed ones. */
import { Effect } from "effect"
import { HttpServer } from "effect/http"
import { connect } from "node:net"
import type * as Api from "./Api.ts"

const requestOf = (path: string, body: Api.Body, headers: Readonly<Record<string, string>>) => {
  const text = JSON.stringify(body)
  const all = { ...headers, "Host": "localhost", "Content-Length": String(text.length) }
  return `POST /api/v1${path} HTTP/1.1\r\n${
    Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`).join("")
  }\r\n${text}`
}

/** Everything that the server sends on a connection in answer to these texts, until it closes the connection. */
export const exchange = Effect.fnUntraced(function*(...texts: ReadonlyArray<string>) {
  const { address } = yield* HttpServer.HttpServer
  const { port } = new URL(HttpServer.formatAddress(address))
  return yield* Effect.callback<string>((resume) => {
    let received = ""
    const socket = connect(Number(port), "127.0.0.1", () => {
      for (const text of texts) socket.write(text)
    })
    socket.setEncoding("latin1").on("data", (more) => {
      received += more
    })
    socket.once("close", () => resume(Effect.succeed(received)))
    return Effect.sync(() => socket.destroy())
  })
})

/** The statuses of all answers on a connection. */
export const statuses = (answers: string) =>
  Array.from(answers.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status))

/** The statuses of the answers to one request, sent `count` times over one connection without waiting for answers. */
export const post = (count: number, path: string, body: Api.Body, headers: Readonly<Record<string, string>> = {}) =>
  Effect.map(
    exchange(
      requestOf(path, body, headers).repeat(count - 1),
      requestOf(path, body, { ...headers, "Connection": "close" })
    ),
    statuses
  )
