import { RunStore } from "@effect-rl/core"
import { JsonLines, Otlp, Perfetto, Sink } from "@effect-rl/export"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Files from "../Files.ts"
import * as Recorded from "../Recorded.ts"

const live = Layer.merge(Files.layer, RunStore.RunStore.layerMemory)

interface Line {
  readonly _tag: string
  readonly sequence: number
  readonly metrics?: Readonly<Record<string, unknown>>
}

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly ts: number
  readonly dur: number
  readonly args: Readonly<Record<string, unknown>>
}

describe("JsonLines", () => {
  it.effect("writes one line per record, with NaN as text", () =>
    Effect.gen(function*() {
      const file = yield* Files.place("records.jsonl")
      yield* Recorded.record
      yield* Sink.write(JsonLines.make(file), yield* RunStore.RunStore)
      const lines = yield* Files.lines<Line>(file)
      assert.deepStrictEqual(lines.map(({ sequence }) => sequence), lines.map((_, index) => index))
      assert.strictEqual(lines.find(({ _tag }) => _tag === "Updated")?.metrics?.["optim/lr"], "NaN")
    }).pipe(Effect.provide(live)))
})

describe("Perfetto", () => {
  it.effect("writes tracks of nested or consecutive spans, with the reward as a counter", () =>
    Effect.gen(function*() {
      const file = yield* Files.place("trace.json")
      yield* Recorded.record
      yield* Sink.write(Perfetto.make(file), yield* RunStore.RunStore)
      const text = yield* Files.read(file)
      const events: ReadonlyArray<TraceEvent> = JSON.parse(`${text.trimEnd().replace(/,$/, "")}]`)
      const spans = events.filter(({ ph }) => ph === "X").toSorted((left, right) => left.ts - right.ts)
      for (const [index, span] of spans.entries()) {
        const end = span.ts + span.dur
        for (const next of spans.slice(index + 1)) {
          if (next.pid !== span.pid || next.tid !== span.tid || next.ts >= end) continue
          assert.isAtMost(next.ts + next.dur, end, `${next.name} in ${span.name}`)
        }
      }
      const turns = spans.filter(({ pid, tid }) => pid === 10 && tid === 2).slice(0, 5)
      assert.deepStrictEqual(turns.map(({ dur, name }) => [name, dur / 1000]), [
        ["member 0", 350],
        ["chat a model", 200],
        ["execute_tool calculator", 50],
        ["chat a model", 100],
        ["rl.reward", 100]
      ])
      const training = spans.find(({ name }) => name === "rl.train 1")
      assert.strictEqual(training?.dur, 1_000_000)
      assert.deepStrictEqual(events.filter(({ ph }) => ph === "C").map(({ args }) => args["mean"]), [0.25, 0.5])
      assert.isTrue(events.some(({ name }) => name === "warning: the disk is nearly full"))
    }).pipe(Effect.provide(live)))
})

interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: Readonly<Record<string, unknown>> }>
  readonly status: { readonly code: number; readonly message?: string }
}

interface Request {
  readonly resourceSpans: ReadonlyArray<
    { readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<OtlpSpan> }> }
  >
}

const spansOf = (requests: ReadonlyArray<Request>) =>
  requests.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  )

const attribute = (span: OtlpSpan | undefined, key: string) =>
  Object.values(span?.attributes.find((one) => one.key === key)?.value ?? {})[0]

describe("Otlp", () => {
  it.effect("writes a trace for each iteration and evaluation, from the loop to the tool call", () =>
    Effect.gen(function*() {
      const file = yield* Files.place("spans.jsonl")
      yield* Recorded.record
      yield* Sink.write(Otlp.file(file), yield* RunStore.RunStore)
      const spans = spansOf(yield* Files.lines<Request>(file))
      const byId = new Map(spans.map((span) => [span.spanId, span]))
      assert.strictEqual(byId.size, spans.length)
      assert.strictEqual(new Set(spans.map(({ traceId }) => traceId)).size, 3)
      for (const { name, parentSpanId, traceId } of spans) {
        if (parentSpanId !== undefined) assert.strictEqual(byId.get(parentSpanId)?.traceId, traceId, name)
      }
      const above = (span: OtlpSpan | undefined): ReadonlyArray<string> =>
        span === undefined ? [] : [span.name, ...above(byId.get(span.parentSpanId ?? ""))]
      const tool = spans.findLast(({ name }) => name.startsWith("execute_tool"))
      assert.deepStrictEqual(above(tool), [
        "execute_tool calculator",
        "chat a model",
        "invoke_agent",
        "rl.group",
        "rl.sample",
        "rl.loop"
      ])
      assert.strictEqual(attribute(tool, "gen_ai.tool.call.result"), "5")
      assert.strictEqual(spans.filter(({ name }) => name === "invoke_agent").length, Recorded.rollouts)
      const chat = spans.find(({ name }) => name === "chat a model")
      assert.strictEqual(attribute(chat, "gen_ai.usage.input_tokens"), 3)
      assert.strictEqual(Number(chat?.endTimeUnixNano) - Number(chat?.startTimeUnixNano), 200e6)
      assert.strictEqual(attribute(chat, "gen_ai.usage.output_tokens"), 2)
    }).pipe(Effect.provide(live)))

  it.effect("gives a span the same id each time it is written", () =>
    Effect.gen(function*() {
      const [first, second] = [yield* Files.place("first"), yield* Files.place("second")]
      yield* Recorded.record
      const run = yield* RunStore.RunStore
      yield* Sink.write(Otlp.file(first), run)
      yield* Sink.write(Otlp.file(second), run)
      assert.strictEqual(yield* Files.read(second), yield* Files.read(first))
    }).pipe(Effect.provide(live)))

  it.effect("names a file that cannot be written", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Sink.write(Otlp.file("/dev/null/spans"), yield* RunStore.RunStore))
      assert.match(error.message, /^otlp: .*\/dev\/null/)
    }).pipe(Effect.provide(live)))
})
