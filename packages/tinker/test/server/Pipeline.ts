/** Many requests of a client that does not wait for answers before it sends the next. */
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

/** The statuses of the answers to one request, sent `count` times over one connection. */
export const post = Effect.fnUntraced(
  function*(count: number, path: string, body: Api.Body, headers: Readonly<Record<string, string>> = {}) {
    const { address } = yield* HttpServer.HttpServer
    const { port } = new URL(HttpServer.formatAddress(address))
    const answers = yield* Effect.callback<string>((resume) => {
      let received = ""
      const socket = connect(Number(port), "127.0.0.1", () => {
        socket.write(requestOf(path, body, headers).repeat(count - 1))
        socket.write(requestOf(path, body, { ...headers, "Connection": "close" }))
      })
      socket.setEncoding("latin1").on("data", (more) => {
        received += more
      })
      socket.once("close", () => resume(Effect.succeed(received)))
      return Effect.sync(() => socket.destroy())
    })
    return Array.from(answers.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status))
  }
)
