/** Session searches with several conditions: every result satisfies all of them, and no match is missing. */
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Dialect from "../Dialect.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

const { at, listAt, textAt } = Dialect

/** Names, colours and numbers of sessions; most sessions differ from another session in only one of them. */
const described = [
  ["Alpha run", "red", "1"],
  ["alpha run 10", "red", "10"],
  ["Beta run", "red", "1"],
  ["Beta run", "Red", "1"],
  ["Beta run", "blue", "1"],
  ["Gamma", "blue", "10"],
  ["Gamma", "blue", ""]
] as const

type Description = typeof described[number]

interface Query {
  readonly what: string
  readonly fields: (mark: string) => object
  readonly finds: (session: Description) => boolean
}

const by = (what: string, metadata: object, finds: Query["finds"], more: object = {}): Query => ({
  what,
  fields: (mark) => ({ user_metadata: { mark, ...metadata }, ...more }),
  finds
})

const queries: ReadonlyArray<Query> = [
  by("all", {}, () => true),
  by("red ones", { colour: "red" }, ([, colour]) => colour === "red"),
  by(
    "red ones of number 1",
    { colour: "red", number: "1" },
    ([, colour, number]) => colour === "red" && number === "1"
  ),
  by(
    "blue ones of number 10",
    { colour: "blue", number: "10" },
    ([, colour, number]) => colour === "blue" && number === "10"
  ),
  by("those of an empty number", { number: "" }, ([, , number]) => number === ""),
  by("green ones", { colour: "green" }, () => false),
  by("those with a key that no session has", { other: "1" }, () => false)
]

export const conditions: Check.Check = {
  theme: "sessions",
  name: "a search with several conditions finds exactly the sessions that satisfy all of them, on pages of any size",
  why: "Programs that end the sessions they find would end other users' sessions.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { id: mark } = yield* session
    const made = yield* Effect.forEach(described, ([display_name, colour, number]) =>
      Effect.map(
        post("/create_session", { ...Examples.session, display_name, user_metadata: { mark, colour, number } }),
        ({ body }) => textAt(body, "session_id")
      ))
    const finish = Effect.forEach(made, (one) => post(`/sessions/${one}/finish`, {}), { discard: true })
    const probe = yield* post("/sessions/search", { user_metadata: { mark }, limit: 50 })
    if (probe.status === 404 || probe.status === 405) {
      return yield* Effect.andThen(finish, Check.absent("the server cannot search sessions"))
    }
    const walk = Effect.fnUntraced(function*(fields: object, limit: number) {
      const found: Array<string> = []
      let cursor: unknown
      for (let page = 0; page <= described.length; page++) {
        const { body } = yield* post("/sessions/search", { ...fields, limit, ...(page === 0 ? {} : { cursor }) })
        found.push(...listAt(body, "sessions").map((one) => textAt(one, "session_id")))
        cursor = at(body, "next_cursor") ?? undefined
        if (cursor === undefined) break
      }
      return found
    })
    for (const { fields, finds, what } of queries) {
      const expected = made.filter((_, index) => {
        const one = described[index]
        return one !== undefined && finds(one)
      }).toReversed()
      for (const limit of [1, 2, 3, described.length, 50]) {
        const found = yield* walk(fields(mark), limit)
        yield* Check.expect(
          found.join() === expected.join(),
          `${what}, ${limit} on a page: ${expected.join(", ")}`,
          found.join(", ")
        )
      }
    }
    yield* finish
  })
}

export const all = [conditions]
