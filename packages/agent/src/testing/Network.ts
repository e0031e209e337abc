/** Records the HTTP requests that this process sends, through Node's diagnostics channels. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { subscribe, unsubscribe } from "node:diagnostics_channel"

/** The diagnostic messages of Node's two HTTP clients when a request starts. */
const ofFetch = Schema.decodeUnknownOption(Schema.Struct({ request: Schema.Struct({ origin: Schema.String }) }))
const ofHttp = Schema.decodeUnknownOption(
  Schema.Struct({ request: Schema.Struct({ protocol: Schema.String, host: Schema.String }) })
)

const origin = (message: unknown) =>
  Option.orElse(
    Option.map(ofFetch(message), ({ request: { origin } }) => origin),
    () => Option.map(ofHttp(message), ({ request: { host, protocol } }) => `${protocol}//${host}`)
  )

const channels = ["undici:request:create", "http.client.request.start"]

/** Records the origins of requests that start while the scope is open. */
export const requests = Effect.acquireRelease(
  Effect.sync(() => {
    const origins: Array<string> = []
    const listen = (message: unknown) => {
      origins.push(...Option.toArray(origin(message)))
    }
    for (const channel of channels) subscribe(channel, listen)
    return { listen, origins: (): ReadonlyArray<string> => origins }
  }),
  ({ listen }) =>
    Effect.sync(() => {
      for (const channel of channels) unsubscribe(channel, listen)
    })
).pipe(Effect.map(({ origins }) => origins))
