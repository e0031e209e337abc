import { RunStore } from "@effect-rl/core"
import { Sink, Trackio } from "@effect-rl/export"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Path } from "effect"
import { DatabaseSync } from "node:sqlite"
import * as Files from "../Files.ts"
import * as Recorded from "../Recorded.ts"

const rows = (file: string, query: string) => {
  const db = new DatabaseSync(file)
  const found = db.prepare(query).all()
  db.close()
  return found
}

describe("Trackio", () => {
  it.effect("writes metrics, configuration, traces and alerts, and retracts what a resume abandons", () =>
    Effect.gen(function*() {
      const folder = yield* Files.place("trackio")
      const file = (yield* Path.Path).join(folder, "myproject.db")
      const sink = Trackio.make({ folder, project: "my.project", run: "sums" })
      const run = yield* RunStore.RunStore
      yield* Recorded.record
      yield* Sink.write(sink, run)
      const metrics = rows(file, "SELECT step, metrics FROM metrics WHERE run_name = 'sums' ORDER BY id")
      assert.deepStrictEqual(metrics.map(({ step }) => step), [0, 0, 1])
      assert.deepInclude(JSON.parse(String(metrics[1]?.["metrics"])), { "reward/mean": 0.25, "optim/lr": "NaN" })
      const [config] = rows(file, "SELECT config FROM configs")
      assert.deepInclude(JSON.parse(String(config?.["config"])), { model: "a model", seed: 0 })
      const traces = rows(file, "SELECT id, messages, metadata, spans, search_text FROM traces")
      assert.strictEqual(traces.length, Recorded.rollouts)
      const call = {
        id: "call_0",
        type: "function",
        function: { name: "calculator", arguments: "{\"expression\":\"2+3\"}" }
      }
      assert.deepStrictEqual(JSON.parse(String(traces[0]?.["messages"])), [
        { role: "user", content: "What is 2 + 3?" },
        { role: "assistant", content: "<tool>", tool_calls: [call] },
        { role: "tool", content: "5", name: "calculator", tool_call_id: "call_0" },
        { role: "assistant", content: "5" }
      ])
      const spans: ReadonlyArray<Record<string, unknown>> = JSON.parse(String(traces[0]?.["spans"]))
      assert.deepStrictEqual(spans.map(({ id, kind, name }) => ({ id, kind, name })), [
        { id: "turn-1", kind: "generation", name: "turn 1" },
        { id: "turn-1-1", kind: "tool", name: "calculator" },
        { id: "turn-2", kind: "generation", name: "turn 2" }
      ])
      assert.deepInclude(spans[1], { parent_id: "turn-1", input: "{\"expression\":\"2+3\"}", output: "5" })
      assert.deepInclude(JSON.parse(String(traces[0]?.["metadata"])), { status: "completed", duration_ms: 350 })
      const begins = traces.map(({ id }) => String(id).split(":")[0])
      assert.strictEqual(new Set(begins).size, Recorded.rollouts)
      assert.include(String(traces[0]?.["search_text"]), "what is 2 + 3?")
      assert.deepStrictEqual(rows(file, "SELECT text FROM alerts").map(({ text }) => text), ["the disk is nearly full"])

      yield* run.append(Recorded.opened(1, 9))
      yield* Sink.write(sink, run)
      assert.deepStrictEqual(rows(file, "SELECT step FROM metrics WHERE step >= 1"), [])
    }).pipe(Effect.provide([Files.layer, RunStore.RunStore.layerMemory])))

  it.effect("writes the tools of a trace, and the cost of each turn in a run with prices", () =>
    Effect.gen(function*() {
      const folder = yield* Files.place("trackio")
      yield* Recorded.recordOffered
      yield* Sink.write(Trackio.make({ folder, project: "offered", run: "sums" }), yield* RunStore.RunStore)
      const [trace] = rows((yield* Path.Path).join(folder, "offered.db"), "SELECT metadata, spans FROM traces")
      const { tools } = JSON.parse(String(trace?.["metadata"]))
      assert.deepStrictEqual(tools, [{ type: "function", function: Recorded.calculator }])
      const spans: ReadonlyArray<Record<string, unknown>> = JSON.parse(String(trace?.["spans"]))
      // 3 prompt tokens and 2 sampled tokens; then 6 and 1.
      assert.deepStrictEqual(spans.map(({ cost_usd: cost }) => cost), [1.75, undefined, 2])
    }).pipe(Effect.provide([Files.layer, RunStore.RunStore.layerMemory])))

  it.effect("decodes turns that no environment logged as text", () =>
    Effect.gen(function*() {
      const folder = yield* Files.place("trackio")
      const run = yield* RunStore.RunStore
      yield* Recorded.record
      const language = () => Effect.succeed({ decode: (tokens: ArrayLike<number>) => `read ${tokens.length}` })
      yield* Sink.write(Trackio.make({ folder, project: "texts", run: "sums", language }), run)
      const found = rows((yield* Path.Path).join(folder, "texts.db"), "SELECT messages FROM traces")
      const texts = found.map(({ messages }) => String(messages)).join()
      assert.include(texts, "\"read ")
      assert.notMatch(texts, /\(\d+ tokens\)/)
    }).pipe(Effect.provide([Files.layer, RunStore.RunStore.layerMemory])))
})
