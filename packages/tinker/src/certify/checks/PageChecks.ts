/** Listings, page by page. */
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests, type Reply } from "../RawRequests.ts"

/** Offsets and limits, none of which counts the same where an offset counts pages. */
const pages = [[2, 2], [1, 2], [1, 3], [3, 1], [2, 1], [0, 2]] as const

const whole = 4

type Body = Reply["body"]

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && name in value
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined

const listOf = (body: Body, name: string): ReadonlyArray<unknown> => {
  const value = body[name]
  return Array.isArray(value) ? value : []
}

interface Listing {
  readonly path: string
  readonly what: string
  readonly ids: (body: Body) => ReadonlyArray<unknown>
  /** Makes as many items as the largest page has. */
  readonly fill: Effect.Effect<unknown, Check.Failure, Check.Needs>
}

const offsets = ({ fill, ids, path, what }: Listing): Check.Check => ({
  theme: "archive",
  name: `pages of ${what} have the items from their offset on, as many as their limit`,
  why: "A client that reads a long list page by page misses items, or meets them twice.",
  run: Effect.gen(function*() {
    const { get } = yield* RawRequests
    yield* fill
    const page = (offset: number, limit: number) => get(`${path}?limit=${limit}&offset=${offset}`)
    const first = yield* page(0, whole)
    if (first.status === 404 || first.status === 405) return yield* Check.absent(`the server does not list ${what}`)
    // Other clients may add items between two pages.
    const compared = Effect.gen(function*() {
      const all = ids((yield* page(0, whole)).body)
      const found = yield* Effect.forEach(pages, ([offset, limit]) => page(offset, limit))
      const wrong = pages.find(([offset, limit], at) => {
        const body = found[at]?.body ?? {}
        return ids(body).join() !== all.slice(offset, offset + limit).join() && offset + limit <= whole
      })
      const isShort = found.some(({ body }, at) => ids(body).length !== pages[at]?.[1])
      return { all, cursors: found.map(({ body }) => body["cursor"]), wrong, isShort }
    })
    const { all, cursors, isShort, wrong } = yield* Effect.repeat(compared, {
      until: ({ isShort, wrong }) => wrong === undefined && !isShort,
      times: 3
    })
    yield* Check.expect(new Set(all).size === whole, `${whole} different ${what}`, all.join(", "))
    yield* Check.expect(
      wrong === undefined && !isShort,
      `items ${wrong?.[0]} to ${(wrong?.[0] ?? 0) + (wrong?.[1] ?? 0) - 1} of ${all.join(", ")} at offset ${
        wrong?.[0]
      }`,
      "others"
    )
    const total = fieldOf(cursors[0], "total_count")
    if (typeof total !== "number") return
    for (const [at, [offset, limit]] of pages.entries()) {
      const shown = `${fieldOf(cursors[at], "offset")}, ${fieldOf(cursors[at], "limit")}`
      yield* Check.expect(shown === `${offset}, ${limit}`, `a cursor of offset ${offset} and limit ${limit}`, shown)
    }
    yield* Check.expect(total >= whole, `a total of ${whole} or more`, total)
    const beyond = yield* page(total + 1000, 2)
    yield* Check.expect(ids(beyond.body).length === 0, "nothing beyond the end", ids(beyond.body).join(", "))
  })
})

const sessions = offsets({
  path: "/sessions",
  what: "sessions",
  ids: (body) => listOf(body, "sessions"),
  fill: Effect.flatMap(RawRequests, ({ session }) => Effect.forEach([1, 2, 3, 4], () => session))
})

const runs = offsets({
  path: "/training_runs",
  what: "runs",
  ids: (body) => listOf(body, "training_runs").map((run) => fieldOf(run, "training_run_id")),
  fill: Effect.gen(function*() {
    const { session } = yield* RawRequests
    const { model } = yield* session
    return yield* Effect.forEach([1, 2, 3, 4], () => model)
  })
})

const saved = Effect.gen(function*() {
  const model = yield* NumberedModel.make
  return yield* Effect.forEach([1, 2, 3, 4], (at) =>
    Effect.map(
      model.ask("/save_weights", { path: `certify-page-${at}`, overwrite: false, type: "save_weights" }),
      ({ body }) => body["path"]
    ))
})

const checkpoints = offsets({
  path: "/checkpoints",
  what: "checkpoints",
  ids: (body) => listOf(body, "checkpoints").map((one) => fieldOf(one, "tinker_path")),
  fill: saved
})

export const newestFirst: Check.Check = {
  theme: "archive",
  name: "the checkpoints of all runs are listed newest first",
  why: "The first page is what tools show and clean up by; the checkpoint that was just saved is not on it otherwise.",
  run: Effect.gen(function*() {
    const { get } = yield* RawRequests
    const paths = yield* saved
    const { body, status } = yield* get("/checkpoints?limit=100&offset=0")
    if (status === 404 || status === 405) return yield* Check.absent("the server does not list checkpoints")
    const all = listOf(body, "checkpoints")
    const times = all.map((one) => Date.parse(String(fieldOf(one, "time"))))
    const isSorted = times.every((time, at) => at === 0 || time <= (times[at - 1] ?? NaN) + 1000)
    yield* Check.expect(isSorted, "times that fall", times.slice(0, 8).join(", "))
    const found = all.map((one) => fieldOf(one, "tinker_path"))
    const missing = paths.find((path) => !found.includes(path))
    yield* Check.expect(missing === undefined, `${String(missing)} on the first page`, "others")
  })
}

/** The parts of a session's description in an answer to a search. */
const idsIn = (body: Body) => listOf(body, "sessions").map((one) => fieldOf(one, "session_id"))

export const searched: Check.Check = {
  theme: "sessions",
  name: "sessions are found by their id, their metadata and their state, newest first and page by page",
  why: "The sessions of a project's members are thousands; one that a search leaves out counts as lost.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { id } = yield* session
    const user_metadata = { certify: id }
    const create = { tags: ["certify"], user_metadata, sdk_version: "0.38.0", type: "create_session" }
    const made = yield* Effect.forEach(
      [1, 2, 3],
      () => Effect.map(post("/create_session", create), ({ body }) => String(body["session_id"]))
    )
    const search = (query: object) => post("/sessions/search", { limit: 50, ...query })
    const by = { user_metadata }
    const first = yield* search(by)
    const end = Effect.forEach(made, (one) => post(`/sessions/${one}/finish`, {}), { discard: true })
    if (first.status === 404 || first.status === 405) {
      return yield* Effect.andThen(end, Check.absent("sessions are not searched"))
    }
    const newest = made.toReversed().join()
    const page = yield* search({ ...by, limit: 2 })
    const rest = yield* search({ ...by, limit: 2, cursor: page.body["next_cursor"] })
    yield* post(`/sessions/${made[0]}/finish`, {})
    const active = yield* search({ ...by, statuses: [{ type: "active" }] })
    const finished = yield* search({ ...by, statuses: [{ type: "client_finished" }] })
    const one = yield* search({ session_id: made[1], user_metadata: {} })
    yield* end
    for (
      const [what, found, expected] of [
        ["all by their metadata", idsIn(first.body), newest],
        ["the same in two pages", [...idsIn(page.body), ...idsIn(rest.body)], newest],
        ["2 on the first page", [idsIn(page.body).length], "2"],
        ["the active ones", idsIn(active.body), made.slice(1).toReversed().join()],
        ["the finished one", idsIn(finished.body), made[0]],
        ["one by its id", idsIn(one.body), made[1]]
      ] as const
    ) yield* Check.expect(found.join() === expected, `${what}: ${expected}`, found.join(", "))
  })
}

export const all = [sessions, runs, checkpoints, newestFirst, searched]
