/** What a hostile service or network does to requests, drawn from a seed. */
import { Draw } from "@effect-rl/core/testing"
import { Data } from "effect"

export type Mischief = Data.TaggedEnum<{
  /** The connection is reset before the request arrives. */
  LostRequest: {}
  /** Carried out, then reset. */
  LostAnswer: {}
  /** No answer arrives, whether or not the request was carried out. */
  Silence: { readonly arrives: boolean }
  /** The request or its answer is delayed, so later ones overtake it. An abandoned request still arrives. */
  Slow: { readonly millis: number; readonly isRequest: boolean }
  /** The request arrives again later. */
  Twice: { readonly millis: number }
  /** The answer has a wrong status. */
  Status: { readonly status: number; readonly retryAfter: string | undefined; readonly arrives: boolean }
  /** The body is truncated. An honest declared length reveals this, a lying one does not. */
  Cut: { readonly share: number; readonly lies: boolean }
  /** The answer has a wrong body. */
  Wrong: { readonly body: string; readonly isProtobuf: boolean }
  /** The body is correct except for impossible numbers. */
  Distorted: { readonly way: Distortion }
}>

export const Mischief = Data.taggedEnum<Mischief>()

export const distortions = ["nan", "fewer", "more", "short arrays", "huge counts", "huge id"] as const
export type Distortion = (typeof distortions)[number]

const passing = [408, 425, 429, 500, 502, 503, 504, 529] as const
const final = [302, 400, 401, 402, 403, 404, 409, 410, 413, 422] as const

const retryAfters = [
  undefined,
  undefined,
  "0",
  "2",
  "45",
  "-3",
  "soon",
  "1e9",
  "Wed, 21 Oct 2015 07:28:00 GMT"
] as const

const bodies = [
  "",
  "null",
  "[]",
  "{}",
  "\u0000\u0001\u0002",
  "<html><body>Bad gateway</body></html>",
  "{\"request_id\":18446744073709551616}",
  "{\"request_id\":null}",
  "{\"request_id\":\"future-0\",",
  "{\"type\":\"try_again\",\"queue_state\":\"paused_nobody_knows_why\"}",
  "{\"error\":\"the dog ate it\",\"category\":\"server\"}",
  "{\"error\":{\"nested\":true}}",
  "{\"status\":\"complete_metadata\",\"response_payload_size\":-1}",
  "{\"status\":\"complete_metadata\",\"response_payload_size\":1e300}",
  "{\"metrics\":{\"grad_norm\":NaN}}",
  "{\"metrics\":{\"grad_norm\":\"much\"}}",
  "{\"path\":7}",
  "{\"sequences\":[]}",
  "{\"loss_fn_output_type\":\"\",\"loss_fn_outputs\":[],\"metrics\":{}}",
  `{"session_id":${"[".repeat(2000)}`
] as const

const some = (make: (draw: Draw.Draw) => Mischief) => make

const transient = [
  some(() => Mischief.LostRequest()),
  some(() => Mischief.LostAnswer()),
  some((draw) => Mischief.Silence({ arrives: draw.chance(0.5) })),
  some((draw) =>
    Mischief.Slow({ millis: draw.integer(1, draw.oneOf([1000, 90_000, 1_200_000])), isRequest: draw.chance(0.5) })
  ),
  some((draw) => Mischief.Twice({ millis: draw.integer(0, 120_000) })),
  some((draw) =>
    Mischief.Status({ status: draw.oneOf(passing), retryAfter: draw.oneOf(retryAfters), arrives: draw.chance(0.3) })
  ),
  some((draw) => Mischief.Cut({ share: draw.uniform(), lies: draw.chance(0.5) }))
] as const

const all = [
  ...transient,
  some((draw) => Mischief.Status({ status: draw.oneOf(final), retryAfter: undefined, arrives: draw.chance(0.3) })),
  some((draw) => Mischief.Wrong({ body: draw.oneOf(bodies), isProtobuf: draw.chance(0.2) })),
  some((draw) => Mischief.Distorted({ way: draw.oneOf(distortions) }))
] as const

/** Selects the mischief for the `index`-th request to a path, if any. */
export type Schedule = (path: string, index: number) => Mischief | undefined

/** Whether the request is part of the setup. Most schedules only delay these, because nothing else happens without them. */
const isSetup = (path: string) => /^\/(client|create|get_server)/.test(path)

/** Each seed has its own kinds of mischief and its own rate, and a burst of one kind on some paths. */
export const schedule = (seed: number): Schedule => {
  const style = Draw.make(seed, "style")
  const rate = style.oneOf([0.02, 0.1, 0.25, 0.5])
  const isCruel = style.chance(0.1)
  const favourite = style.oneOf(all)
  const chosen = all.filter((kind) => kind === favourite || style.chance(0.4))
  const pick = (draw: Draw.Draw, path: string) => {
    const from = isSetup(path) && !isCruel ? transient : chosen
    return (from[draw.integer(0, from.length - 1)] ?? favourite)(draw)
  }
  return (path, index) => {
    const storm = Draw.make(seed, "storm", path)
    const start = storm.integer(0, 30)
    const length = storm.chance(0.3) ? storm.integer(3, 25) : 0
    if (index >= start && index < start + length) return pick(storm, path)
    const draw = Draw.make(seed, path, index)
    return draw.chance(isSetup(path) ? Math.min(rate, 0.25) : rate) ? pick(draw, path) : undefined
  }
}

export const kinds = [
  "LostRequest",
  "LostAnswer",
  "Silence",
  "Slow",
  "Twice",
  "Status",
  "Cut",
  "Wrong",
  "Distorted"
] as const satisfies ReadonlyArray<Mischief["_tag"]>

/** One line for traces. */
export const describe = Mischief.$match({
  LostRequest: () => "request lost",
  LostAnswer: () => "answer lost",
  Silence: ({ arrives }) => arrives ? "answer never sent" : "request never heard",
  Slow: ({ isRequest, millis }) => `${isRequest ? "arrives" : "answer"} ${millis} ms late`,
  Twice: ({ millis }) => `arrives again ${millis} ms later`,
  Status: ({ arrives, retryAfter, status }) =>
    `HTTP ${status}${retryAfter === undefined ? "" : `, retry after ${retryAfter}`}${arrives ? ", carried out" : ""}`,
  Cut: ({ lies, share }) => `body cut at ${Math.round(100 * share)} %${lies ? ", length lies" : ""}`,
  Wrong: ({ body, isProtobuf }) => `body ${body.slice(0, 60)}${isProtobuf ? " as protobuf" : ""}`,
  Distorted: ({ way }) => `numbers distorted: ${way}`
})
