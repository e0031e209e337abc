/** Where a run is written down. Holds encoded records and knows no later stage. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"

/** The run cannot be read or written, or is in use by another process. */
export class RunError extends Schema.TaggedError<RunError>()("RunError", {
  run: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.run}: ${this.detail}`
  }
}

export type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** One append-only series of records each. */
export type Series = "metrics" | "checkpoints" | "events"

/** One writer at a time; what was appended survives a crash, except a record cut in the middle. */
export class RunStore extends Context.Service<RunStore, {
  /** Name for messages, such as the run directory. */
  readonly name: string
  /** The configuration this run was started with; none in a new run. */
  readonly config: Effect.Effect<Option.Option<JsonObject>, RunError>
  readonly writeConfig: (config: JsonObject) => Effect.Effect<void, RunError>
  readonly append: (series: Series, record: JsonObject) => Effect.Effect<void, RunError>
  readonly read: (series: Series) => Effect.Effect<ReadonlyArray<JsonObject>, RunError>
}>()("@effect-rl/core/record/RunStore") {
  /** Keeps the run in memory: for tests and for runs nobody resumes. */
  static readonly layerMemory = Layer.effect(
    RunStore,
    Effect.gen(function*() {
      const config = yield* Ref.make(Option.none<JsonObject>())
      const series = yield* Ref.make<Record<Series, ReadonlyArray<JsonObject>>>({
        metrics: [],
        checkpoints: [],
        events: []
      })
      return RunStore.of({
        name: "memory",
        config: Ref.get(config),
        writeConfig: (value) => Ref.set(config, Option.some(value)),
        append: (name, record) => Ref.update(series, (all) => ({ ...all, [name]: [...all[name], record] })),
        read: (name) => Effect.map(Ref.get(series), (all) => all[name])
      })
    })
  )
}

/** A number as JSON: what JSON cannot say is written as a string. */
export const jsonNumber = (value: number): Json => Number.isFinite(value) ? value : String(value)
