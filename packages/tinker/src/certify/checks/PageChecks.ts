/** Listings, page by page. */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { RestClient } from "../../client/RestClient.ts"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests, type Reply } from "../RawRequests.ts"

/** Offset and limit pairs that give other results if offsets counted pages. */
const pages = [[2, 2], [1, 2], [1, 3], [3, 1], [2, 1], [0, 2]] as const

const whole = 4

/** Maximum clock difference in milliseconds. */
const skewMillis = 10 * 60_000

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
  /** Creates as many items as the largest page holds. */
  readonly fill: Effect.Effect<unknown, Check.Failure, Check.Needs>
}

const offsets = ({ fill, ids, path, what }: Listing): Check.Check => ({
  theme: "archive",
  name: `pages of ${what} start at their offset and have as many items as their limit`,
  why: "A client that reads a long list page by page would miss items or read them twice.",
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
  name: "the checkpoints of all runs are listed from newest to oldest",
  why: "Tools show and clean up the first page, which would otherwise lack the newest checkpoint.",
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

/** More than the default page size of servers. */
const many = 23

/** The items of a list, read in at most `most` pages of `limit` items. Each page begins where the cursor of the previous page ends. */
const walked = Effect.fnUntraced(function*({ ids, path }: Pick<Listing, "ids" | "path">, limit: number, most: number) {
  const { get } = yield* RawRequests
  const found: Array<unknown> = []
  let offset = 0
  for (let page = 0; page < most; page++) {
    const { body } = yield* get(`${path}?limit=${limit}&offset=${offset}`)
    const items = ids(body)
    found.push(...items)
    const cursor = body["cursor"]
    const [at, size] = [fieldOf(cursor, "offset"), fieldOf(cursor, "limit")]
    if (items.length === 0 || typeof at !== "number" || typeof size !== "number") break
    offset = at + size
  }
  return found
})

export const longPages: Check.Check = {
  theme: "archive",
  name: "the cursors of checkpoint pages lead through all checkpoints without a gap",
  why: "A page that is shorter than its cursor says hides checkpoints.",
  run: Effect.gen(function*() {
    const { get } = yield* RawRequests
    const model = yield* NumberedModel.make
    const paths = yield* Effect.forEach(Arr.range(1, many), (at) =>
      Effect.map(
        model.ask("/save_weights_for_sampler", {
          path: `certify-many-${at}`,
          kind: "snapshot",
          type: "save_weights_for_sampler"
        }),
        ({ body }) => String(body["path"])
      ))
    const own = yield* get(`/training_runs/${model.id}/checkpoints`)
    if (own.status === 404 || own.status === 405) return yield* Check.absent("the server does not list checkpoints")
    const ids = (body: Body) => listOf(body, "checkpoints").map((one) => fieldOf(one, "tinker_path"))
    yield* Check.expect(ids(own.body).length === many, `${many} checkpoints of the run`, ids(own.body).length)
    const isOwn = (path: unknown) => paths.some((one) => one === path)
    for (const limit of [many - 1, 12, 5]) {
      // If other clients add items between two pages, items of one page recur on the next.
      const found = yield* walked({ path: "/checkpoints", ids }, limit, Math.ceil(many / limit) + 8)
      const seen = new Set(found.filter(isOwn))
      yield* Check.expect(seen.size === many, `all ${many} checkpoints in pages of ${limit}`, seen.size)
    }
    const { body } = yield* get("/checkpoints?limit=100000")
    const total = fieldOf(body["cursor"], "total_count")
    const limit = fieldOf(body["cursor"], "limit")
    if (typeof total !== "number" || typeof limit !== "number") return
    const whole = Math.min(limit, total)
    yield* Check.expect(Math.abs(ids(body).length - whole) <= 1, `${whole} checkpoints on one page`, ids(body).length)
  })
}

/** A check that a list contains each item once, read in pages of seven items up to its end or its twelfth page. */
const wholeLists = (path: string, name: string, id: string): Check.Check => ({
  theme: "archive",
  name: `${name} are each listed once, on as many pages as the total implies`,
  why: "A client that reads a list page by page would miss items or count them twice.",
  run: Effect.gen(function*() {
    const { get, session } = yield* RawRequests
    yield* Effect.flatMap(session, ({ model }) => model)
    const ids = (body: Body) => listOf(body, name).map((one) => fieldOf(one, id))
    const first = yield* get(`${path}?limit=2`)
    if (first.status === 404 || first.status === 405) return yield* Check.absent(`the server does not list ${path}`)
    const compared = Effect.gen(function*() {
      const total = Number(fieldOf((yield* get(`${path}?limit=2`)).body["cursor"], "total_count"))
      const found = yield* walked({ path, ids }, 7, 12)
      const distinct = new Set(found).size
      return { isRight: distinct === found.length && found.length === Math.min(total, 7 * 12), found, distinct, total }
    })
    const { distinct, found, isRight, total } = yield* Effect.repeat(compared, {
      until: ({ isRight }) => isRight,
      times: 3
    })
    yield* Check.expect(isRight, `${total} in all, or 84 on 12 pages`, `${found.length}, ${distinct} of them different`)
  })
})

const runsOnce = wholeLists("/training_runs", "training_runs", "training_run_id")

/** Names in an order that is neither alphabetical nor numerical, in either direction. */
const names = ["step-9", "step-10", "final", "step-2", "a"]

export const lastSaved: Check.Check = {
  theme: "archive",
  name: "a run names its latest checkpoint of each kind, whatever its name, and the previous one after a deletion",
  why: "A killed run resumes from the state that the server names.",
  run: Effect.gen(function*() {
    const { get } = yield* RawRequests
    const rest = yield* RestClient
    const model = yield* NumberedModel.make
    const save = (path: string) => model.ask("/save_weights", { path, overwrite: false, type: "save_weights" })
    const expectLast = Effect.fnUntraced(function*(kind: string, name: string) {
      const { body } = yield* get(`/training_runs/${model.id}`)
      const field = kind === "weights" ? "last_checkpoint" : "last_sampler_checkpoint"
      const found = fieldOf(body[field], "checkpoint_id")
      if (found === undefined && name === names[0]) return yield* Check.absent(`runs do not name their ${field}`)
      yield* Check.expect(found === `${kind}/${name}`, `${field} ${kind}/${name}`, found)
    })
    let path = ""
    for (const name of names) {
      path = String((yield* save(name)).body["path"])
      yield* expectLast("weights", name)
    }
    for (const name of names.toReversed()) {
      yield* model.ask("/save_weights_for_sampler", { path: name, kind: "snapshot", type: "save_weights_for_sampler" })
      yield* expectLast("sampler_weights", name)
    }
    yield* expectLast("weights", "a")
    const { body } = yield* get(`/training_runs/${model.id}/checkpoints`)
    const listed = listOf(body, "checkpoints").map((one) => fieldOf(one, "checkpoint_id"))
    const expected = [
      ...names.map((name) => `sampler_weights/${name}`),
      ...names.toReversed().map((name) => `weights/${name}`)
    ]
    yield* Check.expect(
      listed.toSorted().join() === expected.toSorted().join(),
      `the checkpoints ${expected.join(", ")}`,
      listed.join(", ")
    )
    yield* rest.deleteCheckpoint(path)
    yield* expectLast("weights", "step-2")
  })
}

/** The session ids in a search result. */
const idsIn = (body: Body) => listOf(body, "sessions").map((one) => fieldOf(one, "session_id"))

export const searched: Check.Check = {
  theme: "sessions",
  name: "a session search by id, metadata or state returns pages from newest to oldest",
  why: "Projects have thousands of sessions, and one that a search misses counts as lost.",
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
      return yield* Effect.andThen(end, Check.absent("the server cannot search sessions"))
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

export const described: Check.Check = {
  theme: "sessions",
  name: "a session search returns start times, names, ends and numbers of checkpoints",
  why: "Cleanup programs select sessions by these fields.",
  run: Effect.gen(function*() {
    const { model: base_model, post, session } = yield* RawRequests
    const { id: mark } = yield* session
    const display_name = `certify ${mark.slice(0, 8)} name`
    const user_metadata = { certify: mark }
    const made = yield* post("/create_session", { ...Examples.session, user_metadata, display_name })
    const session_id = String(made.body["session_id"])
    const model = yield* Effect.flatMap(
      post("/create_model", Examples.adapter(session_id, base_model)),
      Blame.expectDone
    )
    const numbered = yield* NumberedModel.of(String(model.body["model_id"]))
    for (const path of ["certify-1", "certify-2"]) {
      yield* numbered.ask("/save_weights", { path, overwrite: false, type: "save_weights" })
    }
    const search = (query: object) =>
      Effect.map(post("/sessions/search", { limit: 10, ...query }), (reply) => ({
        reply,
        found: listOf(reply.body, "sessions").filter((one) => fieldOf(one, "session_id") === session_id)
      }))
    const { found: [one], reply } = yield* search({ user_metadata })
    const finish = (body: object) => post(`/sessions/${session_id}/finish`, body)
    if (reply.status === 404 || reply.status === 405) {
      yield* finish({})
      return yield* Check.absent("the server cannot search sessions")
    }
    const age = (yield* Clock.currentTimeMillis) - Date.parse(String(fieldOf(one, "created_at")))
    yield* Check.expect(Math.abs(age) < skewMillis, "created_at of now", fieldOf(one, "created_at"))
    yield* Check.expect(fieldOf(one, "checkpoints_count") === 2, "2 checkpoints", fieldOf(one, "checkpoints_count"))
    yield* Check.expect(
      fieldOf(one, "display_name") === display_name,
      display_name,
      fieldOf(one, "display_name")
    )
    yield* Check.expect(
      fieldOf(fieldOf(one, "status"), "type") !== "client_finished",
      "an active session",
      "an end"
    )
    const ended = yield* finish({ reason: { type: "errored" }, detail: "certify" })
    if (ended.status === 404) return "sessions end only by a timeout"
    const statuses = (...reasons: ReadonlyArray<string>) => ({
      user_metadata,
      statuses: [{ type: "client_finished", reasons }]
    })
    const count = (query: object) => Effect.map(search(query), ({ found }) => found.length)
    for (
      const [what, query, expected] of [
        ["that ended in an error", statuses("errored"), 1],
        ["that ended well", statuses("success"), 0],
        ["that ended in one of two ways", statuses("success", "errored"), 1],
        ["that are active", { user_metadata, statuses: [{ type: "active" }] }, 0],
        ["of this name", { user_metadata, display_name }, 1],
        ["of another name", { user_metadata, display_name: "certify-no-such-name" }, 0],
        ["of other metadata", { user_metadata: { certify: `${mark}-other` } }, 0],
        ["of its and other metadata", { user_metadata: { ...user_metadata, other: "1" } }, 0]
      ] as const
    ) yield* Check.expect((yield* count(query)) === expected, `${expected} sessions ${what}`, yield* count(query))
  })
}

export const consistent: Check.Check = {
  theme: "archive",
  name: "a run and its checkpoints have the same description in lists and alone",
  why: "Tools read lists instead of each item, and act on what the lists say.",
  run: Effect.gen(function*() {
    const { get } = yield* RawRequests
    const rest = yield* RestClient
    const model = yield* NumberedModel.make
    yield* model.learn()
    const state = yield* model.ask("/save_weights", {
      path: "certify-listed",
      overwrite: false,
      ttl_seconds: 3600,
      user_metadata: { kept: "Best" },
      type: "save_weights"
    })
    yield* model.ask("/save_weights_for_sampler", {
      path: "certify-listed",
      kind: "snapshot",
      type: "save_weights_for_sampler"
    })
    yield* rest.publishCheckpoint(String(state.body["path"]))
    const alone = (yield* get(`/training_runs/${model.id}`)).body
    const runs = yield* get("/training_runs?limit=50")
    if (runs.status === 404 || runs.status === 405) return yield* Check.absent("the server does not list runs")
    const run = listOf(runs.body, "training_runs").find((one) => fieldOf(one, "training_run_id") === model.id)
    const own = listOf((yield* get(`/training_runs/${model.id}/checkpoints`)).body, "checkpoints")
    const all = listOf((yield* get("/checkpoints?limit=100")).body, "checkpoints")
    const shown = (value: unknown) =>
      JSON.stringify(
        typeof value === "object" && value !== null
          ? Object.entries(value).filter(([, field]) => field !== null).toSorted(([one], [other]) =>
            one < other ? -1 : 1
          )
          : value
      )
    yield* Check.expect(shown(run) === shown(alone), shown(alone), shown(run))
    yield* Check.expect(own.length === 2, "2 checkpoints of the run", own.length)
    for (const one of own) {
      const same = all.find((other) => fieldOf(other, "tinker_path") === fieldOf(one, "tinker_path"))
      yield* Check.expect(shown(same) === shown(one), shown(one), shown(same))
      const field = fieldOf(one, "checkpoint_type") === "training" ? "last_checkpoint" : "last_sampler_checkpoint"
      const last = alone[field] ?? one
      yield* Check.expect(shown(last) === shown(one), `${field} ${shown(one)}`, shown(last))
    }
    yield* rest.unpublishCheckpoint(String(state.body["path"]))
  })
}

export const namedSession: Check.Check = {
  theme: "sessions",
  name: "a session has its client's name, and sessions are listed from newest to oldest",
  why: "Users look for recent sessions at the beginning of the list.",
  run: Effect.gen(function*() {
    const { get, post } = yield* RawRequests
    const display_name = "Certify ü 7"
    const made = yield* Effect.forEach(
      [1, 2, 3],
      () =>
        Effect.map(
          post("/create_session", { ...Examples.session, display_name }),
          ({ body }) => String(body["session_id"])
        )
    )
    const { body, status } = yield* get(`/sessions/${made[0]}`)
    const listed = listOf((yield* get("/sessions?limit=50&offset=0")).body, "sessions")
    yield* Effect.forEach(made, (one) => post(`/sessions/${one}/finish`, {}), { discard: true })
    if (status === 404 || status === 405) return yield* Check.absent("the server does not describe sessions")
    if (body["display_name"] !== undefined) {
      yield* Check.expect(body["display_name"] === display_name, display_name, body["display_name"])
    }
    const order = listed.filter((one) => made.some((id) => id === one)).join()
    yield* Check.expect(order === made.toReversed().join(), made.toReversed().join(", "), order)
  })
}

export const all = [
  sessions,
  namedSession,
  consistent,
  runs,
  checkpoints,
  longPages,
  runsOnce,
  newestFirst,
  lastSaved,
  searched,
  described
]
