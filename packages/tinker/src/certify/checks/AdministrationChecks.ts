/** Storage reports, events, weights in other programs' formats, and results that are fetched together. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { sdk_version } from "../../client/ClientConfig.ts"
import { RestClient } from "../../client/RestClient.ts"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Dialect from "../Dialect.ts"
import * as Examples from "../Examples.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests, type Reply } from "../RawRequests.ts"

const { listAt, numberAt, textAt } = Dialect

const isAbsent = ({ status }: Reply) => status === 404 || status === 405 || status === 501

const save = (model: NumberedModel.NumberedModel, path: string) =>
  Effect.map(
    model.ask("/save_weights", { path, overwrite: false, type: "save_weights" }),
    ({ body }) => textAt(body, "path")
  )

export const storage: Check.Check = {
  theme: "archive",
  name: "the storage report has the number of checkpoints and their size in bytes",
  why: "Storage is billed by these numbers.",
  run: Effect.gen(function*() {
    const { get } = yield* RawRequests
    const rest = yield* RestClient
    const told = Effect.gen(function*() {
      const reply = yield* get("/billing/usage/checkpoints/current")
      if (isAbsent(reply)) return yield* Check.absent("the server does not report the storage of checkpoints")
      const rows = listAt(reply.body, "data")
      const sum = (field: string) => rows.reduce((total: number, row) => total + numberAt(row, field), 0)
      return { count: sum("checkpoint_count"), bytes: sum("size_bytes"), gigabytes: sum("size_gigabytes") }
    })
    const model = yield* NumberedModel.make
    const kept = yield* save(model, "certify-stored")
    const before = yield* told
    const path = yield* save(model, "certify-more")
    const after = yield* told
    const { checkpoints } = yield* rest.listCheckpoints(model.id)
    const size = checkpoints.find((one) => one.path === path)?.sizeBytes ?? 0
    // Other clients may save and delete checkpoints in the meantime.
    const isMore = after.count === before.count + 1 && after.bytes === before.bytes + size
    yield* Check.expect(
      isMore || after.count !== before.count + 1,
      `a checkpoint of ${size} bytes more than ${JSON.stringify(before)}`,
      JSON.stringify(after)
    )
    yield* Check.expect(after.count !== before.count, "a different number of checkpoints", after.count)
    const factor = after.bytes / after.gigabytes
    yield* Check.expect(factor > 0.9e9 && factor < 1.1e9, "gigabytes of 2³⁰ or 10⁹ bytes", factor)
    yield* rest.deleteCheckpoint(path)
    const left = yield* told
    yield* Check.expect(left.count !== after.count, "one checkpoint fewer after the deletion", left.count)
    yield* rest.deleteCheckpoint(kept)
  })
}

export const audit: Check.Check = {
  theme: "archive",
  name: "the audit log has every publication, change of lifetime and deletion, including the latest",
  why: "Only the audit log shows who shared or deleted weights.",
  run: Effect.gen(function*() {
    const { get } = yield* RawRequests
    const rest = yield* RestClient
    const entriesOf = (query: string) =>
      Effect.map(get(`/audit${query}`), (reply) => ({ reply, entries: listAt(reply.body, "entries") }))
    const first = yield* entriesOf("")
    if (isAbsent(first.reply)) return yield* Check.absent("the server has no audit log")
    const model = yield* NumberedModel.make
    const path = yield* save(model, "certify-audited")
    const quiet = yield* save(model, "certify-quiet")
    yield* rest.publishCheckpoint(path)
    yield* rest.unpublishCheckpoint(path)
    yield* rest.setCheckpointTtl(path, "1 hour")
    yield* rest.deleteCheckpoint(path)
    const { entries } = yield* entriesOf("?event_type=checkpoints")
    const about = (one: string) => entries.filter((entry) => JSON.stringify(entry).includes(JSON.stringify(one)))
    const events = about(path).map((entry) => textAt(entry, "event"))
    yield* Check.expect(new Set(events).size === 4, "4 different events", events.join(", "))
    yield* Check.expect(about(quiet).length === 0, "no event of another checkpoint", about(quiet).length)
    const [day = ""] = textAt(about(path).at(-1), "timestamp").split("T")
    const today = yield* entriesOf(`?day=${day}`)
    const isToday = JSON.stringify(today.entries).includes(path)
    yield* Check.expect(isToday, `the events of ${day}`, today.entries.length)
    const other = yield* entriesOf("?day=2001-01-01")
    yield* Check.expect(other.entries.length === 0, "no events of 2001", other.entries.length)
  })
}

export const external: Check.Check = {
  theme: "archive",
  name: "weights exported for other programs have their own path, and files of the reported total size",
  why: "Users export weights this way. Missing or truncated files load as random numbers or not at all.",
  run: Effect.gen(function*() {
    const rest = yield* RestClient
    const model = yield* NumberedModel.make
    yield* model.learn()
    const promise = yield* model.send("/save_weights_external", {
      path: "certify-external",
      type: "save_weights_external"
    })
    if (isAbsent(promise) || promise.status === 400) {
      return yield* Check.absent("the server does not export weights for other programs")
    }
    const { body } = yield* Blame.expectDone(promise)
    const path = textAt(body, "path")
    yield* Check.expect(path.endsWith("/external_weights/certify-external"), "a path with /external_weights/", path)
    const { checkpoints } = yield* rest.listCheckpoints(model.id)
    const listed = checkpoints.find((one) => one.path === path)
    yield* Check.expect(
      listed?.checkpointType === "external",
      "an external checkpoint in the list",
      listed?.checkpointType
    )
    const { urls } = yield* rest.getExternalWeightsUrls(path)
    const sizes = yield* Effect.forEach(
      Object.keys(urls),
      (name) =>
        Effect.map(
          Stream.runCollect(rest.downloadExternalFile(path, name)),
          (parts) => parts.reduce((total, part) => total + part.length, 0)
        )
    )
    const bytes = sizes.reduce((total, size) => total + size, 0)
    yield* Check.expect(sizes.length > 0 && sizes.every((size) => size > 0), "files", sizes.join(", "))
    const told = numberAt(body, "size_bytes")
    if (!Number.isNaN(told)) yield* Check.expect(told === bytes, `size_bytes ${bytes}`, told)
    yield* rest.deleteCheckpoint(path)
  })
}

export const cursors: Check.Check = {
  theme: "futures",
  name: "retrieve_futures reports each finished or failed request once, and only to its own sampler",
  why: "A client waits forever for a result that is not reported, and handles a result twice that is reported twice.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const config = yield* post("/client/config", { sdk_version })
    if (config.body["sample_use_retrieve_futures"] !== true) {
      return yield* Check.absent("the server's config tells clients to request each result separately")
    }
    const { sampler } = yield* session
    const [one, other] = [yield* sampler, yield* sampler]
    const send = (id: string, seq_id: number, more: object = {}) => post("/asample", Examples.sample(id, seq_id, more))
    const told = (id: string, prev_cursor: number) =>
      Effect.map(
        post("/retrieve_futures", {
          target: { type: "sampling_session", sampling_session_id: id, cloned_sampler_id: 0 },
          prev_cursor,
          timeout: 5,
          retrieved_request_ids: []
        }),
        ({ body }) => ({
          states: new Map(
            listAt(body, "completions").map((completion) => [
              textAt(completion, "request_id"),
              textAt(completion, "state")
            ])
          ),
          cursor: numberAt(body, "cursor")
        })
      )
    const foreign = yield* send(other, 1)
    const promises = yield* Effect.forEach(
      [{}, { prompt: Examples.prompt([1, 2 ** 31 - 2]) }, {}, {
        sampling_params: { ...Examples.sampling, temperature: -1 }
      }],
      (more, at) => send(one, at + 1, more)
    )
    yield* Effect.forEach([foreign, ...promises], result, { discard: true })
    const first = yield* told(one, 0)
    const expected = new Map(
      promises.flatMap(({ body }, at) => {
        const id = textAt(body, "request_id")
        return id === "" ? [] : [[id, at % 2 === 1 ? "failed" : "finished"] as const]
      })
    )
    for (const [id, state] of expected) {
      const found = first.states.get(id)
      yield* Check.expect(found === state, `${id} ${state}`, found)
    }
    const strange = textAt(foreign.body, "request_id")
    yield* Check.expect(!first.states.has(strange), "no request from another sampler", strange)
    const later = yield* send(one, 9)
    yield* result(later)
    const second = yield* told(one, first.cursor)
    const ids = [...second.states.keys()].join()
    const id = textAt(later.body, "request_id")
    yield* Check.expect(ids === id, `${id} alone after the first cursor`, ids)
    yield* Check.expect(second.cursor > first.cursor, `a cursor beyond ${first.cursor}`, second.cursor)
  })
}

export const all = [storage, audit, external, cursors]
