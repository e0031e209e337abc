/**
 * Connects a sandbox without a network to the addresses that its spec names. Each address has a socket in a folder, and this process
 * forwards the socket's connections to that address only.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { chmodSync, mkdirSync, rmSync } from "node:fs"
import { connect, createServer, type Server, type Socket } from "node:net"
import { join } from "node:path"
import { Denied, Provision, type Reason, Unsupported } from "../SandboxError.ts"

export interface Address {
  readonly host: string
  readonly port: number
}

/** Lower ports are reserved for the superuser. */
const leastPort = 1024

const loopback = new Set(["127.0.0.1", "localhost"])

/**
 * Parses an address of this machine. Fails for other hosts and for ports below 1024. Programs find the port on their sandbox's loopback
 * interface.
 */
export const parse = (address: string): Effect.Effect<Address, Reason> => {
  const [, host, digits] = /^([^\s:]+):(\d{1,5})$/.exec(address) ?? []
  const port = Number(digits)
  if (host === undefined || port < 1 || port > 65_535) {
    return Effect.fail(
      new Denied({
        field: "network",
        found: JSON.stringify(address),
        expected: "\"host:port\", such as \"127.0.0.1:8080\""
      })
    )
  }
  return loopback.has(host) && port >= leastPort
    ? Effect.succeed({ host: "127.0.0.1", port })
    : Effect.fail(
      new Unsupported({
        capability: "network",
        detail:
          `${address}; programs can be let out to ports of 127.0.0.1 from ${leastPort} on, such as that of a server which asks others`
      })
    )
}

/** The most connections to an address at the same time. Further ones are closed, so that a program cannot use up this process's descriptors. */
const mostConnections = 256

/** Forwards bytes in both directions until either side ends. */
const carry = (inside: Socket, outside: Socket) => {
  for (const [from, to] of [[inside, outside], [outside, inside]] as const) {
    from.pipe(to)
    from.on("error", () => to.destroy())
    from.on("close", () => to.destroy())
  }
}

const listening = (path: string, { host, port }: Address) =>
  Effect.callback<{ readonly server: Server; readonly sockets: Set<Socket> }, Provision>((resume) => {
    const sockets = new Set<Socket>()
    const keep = (socket: Socket) => {
      sockets.add(socket)
      socket.on("close", () => sockets.delete(socket))
      return socket
    }
    const server = createServer(
      { allowHalfOpen: true },
      (inside) => carry(keep(inside), keep(connect({ host, port, allowHalfOpen: true })))
    )
    server.maxConnections = mostConnections
    server.once(
      "error",
      ({ message }) => resume(Effect.fail(new Provision({ detail: `the socket ${path}: ${message}` })))
    )
    server.listen(path, () => {
      chmodSync(path, 0o666)
      resume(Effect.succeed({ server, sockets }))
    })
  })

/** Opens the sockets in a new folder, named by their ports. They and their connections end when the scope closes. */
export const open = Effect.fnUntraced(function*(
  folder: string,
  addresses: ReadonlyArray<Address>
): Effect.fn.Return<void, Provision, Scope.Scope> {
  yield* Effect.acquireRelease(
    Effect.try({
      try: () => mkdirSync(folder, { mode: 0o711 }),
      catch: (cause) => new Provision({ detail: String(cause) })
    }),
    () => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
  for (const address of addresses) {
    yield* Effect.acquireRelease(
      listening(join(folder, String(address.port)), address),
      ({ server, sockets }) =>
        Effect.callback<void>((done) => {
          server.close(() => done(Effect.void))
          for (const socket of sockets) socket.destroy()
        })
    )
  }
})
