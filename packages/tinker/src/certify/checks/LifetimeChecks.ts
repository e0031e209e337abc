/** Lifetimes from minutes to years, in every request that accepts one. */
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Dialect from "../Dialect.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests, type Reply } from "../RawRequests.ts"

const { at, listAt, textAt } = Dialect

/** Lifetimes in seconds. None equals another in minutes or hours, and some exceed typical server limits. */
const lifetimes = [45, 61, 3599, 5400, 86_399, 604_801, 2_678_400, 31_536_000]

/** Maximum seconds between the start of a lifetime and the checkpoint's listed time. */
const apart = 20

const listed = Effect.fnUntraced(function*(run: string, name: string, kind: string) {
  const { get } = yield* RawRequests
  const { body } = yield* get(`/training_runs/${run}/checkpoints`)
  return listAt(body, "checkpoints").find((one) => textAt(one, "checkpoint_id") === `${kind}/${name}`)
})

/** The lifetime of a listed checkpoint in seconds, from its creation or from `from`. */
const lifetimeOf = (checkpoint: unknown, from = Date.parse(textAt(checkpoint, "time"))) =>
  (Date.parse(textAt(checkpoint, "expires_at")) - from) / 1000

const expectLifetime = (what: string, found: number, expected: number) =>
  Check.expect(Math.abs(found - expected) < apart, `${expected} seconds of ${what}`, found)

export const every: Check.Check = {
  theme: "checkpoints",
  name: "a checkpoint keeps a lifetime of any length to the second, and other checkpoints are unaffected",
  why: "A lifetime that the server rounds or caps deletes a checkpoint too early or keeps it forever.",
  run: Effect.gen(function*() {
    const model = yield* NumberedModel.make
    for (const ttl_seconds of lifetimes) {
      const path = `certify-${ttl_seconds}`
      yield* model.ask("/save_weights", { path, ttl_seconds, overwrite: false, type: "save_weights" })
      const type = "save_weights_for_sampler"
      yield* model.ask("/save_weights_for_sampler", { path, ttl_seconds, kind: "snapshot", type })
    }
    yield* model.ask("/save_weights", { path: "certify-ever", overwrite: false, type: "save_weights" })
    for (const ttl_seconds of lifetimes) {
      for (const kind of ["weights", "sampler_weights"]) {
        const found = yield* listed(model.id, `certify-${ttl_seconds}`, kind)
        yield* expectLifetime(`${kind}/certify-${ttl_seconds}`, lifetimeOf(found), ttl_seconds)
      }
    }
    const ever = yield* listed(model.id, "certify-ever", "weights")
    const none = at(ever, "expires_at") ?? undefined
    yield* Check.expect(none === undefined, "no expires_at without a lifetime", none)
  })
}

const isAbsent = ({ status }: Reply) => status !== 200

export const copied: Check.Check = {
  theme: "archive",
  name: "a copy has the requested lifetime, or none, whatever the original's lifetime",
  why: "Users copy a run's best weights to keep them.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { id: session_id } = yield* session
    const model = yield* NumberedModel.make
    const save = { path: "certify-brief", ttl_seconds: 7200, overwrite: false, type: "save_weights" }
    const source_path = textAt((yield* model.ask("/save_weights", save)).body, "path")
    for (const [model_seq_id, ttl_seconds] of [[31, undefined], [32, 100], [33, 900_000]] as const) {
      const more = ttl_seconds === undefined ? {} : { ttl_seconds }
      const copy = yield* post("/copy_weights", { source_path, session_id, model_seq_id, ...more })
      if (isAbsent(copy)) return yield* Check.absent("weights are not copied into sessions")
      const [, run = ""] = /^tinker:\/\/([^/]+)\//.exec(textAt(copy.body, "tinker_path")) ?? []
      const found = yield* listed(run, "certify-brief", "weights")
      const expires = at(found, "expires_at") ?? undefined
      if (ttl_seconds === undefined) yield* Check.expect(expires === undefined, "a copy without a lifetime", expires)
      else yield* expectLifetime("a copy", lifetimeOf(found), ttl_seconds)
    }
    const original = yield* listed(model.id, "certify-brief", "weights")
    yield* expectLifetime("the original", lifetimeOf(original), 7200)
  })
}

export const all = [every, copied]
