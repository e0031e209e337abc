import { RunStore } from "@effect-rl/core"
import type { OpenAi } from "@effect-rl/core/renderers"
import { ChatJsonLines, Cookbook, Inspect, ParquetRollouts, Verifiers } from "@effect-rl/export"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Path } from "effect"
import { parquetReadObjects } from "hyparquet"
import { inflateRawSync } from "node:zlib"
import * as Files from "../Files.ts"
import * as Recorded from "../Recorded.ts"

const live = Layer.merge(Files.layer, RunStore.RunStore.layerMemory)

/** The files of an archive by name, read from its local headers. */
const unzip = (bytes: Uint8Array) => {
  const files = new Map<string, string>()
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let offset = 0; view.getUint32(offset, true) === 0x04034b50;) {
    const [packed, name] = [view.getUint32(offset + 18, true), view.getUint16(offset + 26, true)]
    const start = offset + 30 + name
    const content = inflateRawSync(bytes.subarray(start, start + packed))
    files.set(new TextDecoder().decode(bytes.subarray(offset + 30, start)), content.toString())
    offset = start + packed
  }
  return files
}

interface Chat {
  readonly messages: ReadonlyArray<OpenAi.ChatMessage>
  readonly group: string
  readonly advantage: number | null
  readonly evaluator: string | null
}

describe("ChatJsonLines", () => {
  it.effect("writes each rollout with its advantage, groups in the order of their credit", () =>
    Effect.gen(function*() {
      const file = yield* Files.place("chat.jsonl")
      yield* Recorded.record
      yield* ChatJsonLines.write(yield* RunStore.RunStore, file)
      const lines = yield* Files.lines<Chat>(file)
      assert.deepStrictEqual(
        lines.slice(0, 4).map(({ advantage, evaluator, group }) => [group, advantage, evaluator]),
        [
          ["held/0", null, "held_out"],
          ["0/mixed", 0.5, null],
          ["0/mixed", -0.5, null],
          ["0/lost", null, null]
        ]
      )
      assert.deepStrictEqual(lines[0]?.messages, [
        { role: "user", content: "What is 2 + 3?" },
        {
          role: "assistant",
          content: "<tool>",
          tool_calls: [{
            id: "call_0",
            type: "function",
            function: { name: "calculator", arguments: "{\"expression\":\"2+3\"}" }
          }]
        },
        { role: "tool", content: "5", name: "calculator", tool_call_id: "call_0" },
        { role: "assistant", content: "5" }
      ])
    }).pipe(Effect.provide(live)))

  it.effect("decodes tokens that no environment logged as text", () =>
    Effect.gen(function*() {
      const file = yield* Files.place("chat.jsonl")
      yield* Recorded.record
      const decode = (tokens: ArrayLike<number>) => Array.from(tokens).join(" ")
      yield* ChatJsonLines.write(yield* RunStore.RunStore, file, { language: { decode } })
      const [first] = yield* Files.lines<Chat>(file)
      assert.deepStrictEqual(first?.messages[3], { role: "user", content: "4" })
    }).pipe(Effect.provide(live)))
})

describe("Cookbook", () => {
  it.effect("writes summaries, logtrees and times of each iteration and evaluation", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* Files.place("run")
      yield* Recorded.record
      yield* Cookbook.write(yield* RunStore.RunStore, folder)
      assert.deepStrictEqual((yield* fs.readDirectory(path.join(folder, "iteration_000000"))).toSorted(), [
        "eval_held_out_logtree.json",
        "eval_held_out_rollout_summaries.jsonl",
        "train_logtree.json",
        "train_rollout_summaries.jsonl"
      ])
      const file = (name: string) => path.join(folder, "iteration_000001", name)
      const [first, ...others] = yield* Files.lines<Readonly<Record<string, unknown>>>(
        file("train_rollout_summaries.jsonl")
      )
      assert.strictEqual(others.length, 2)
      assert.deepInclude(first, {
        split: "train",
        iteration: 1,
        group_idx: 0,
        traj_idx: 0,
        total_reward: 1,
        final_reward: 0
      })
      const tree = yield* Files.read(file("train_logtree.json"))
      assert.strictEqual(tree.split("\"type\":\"conversation\"").length - 1, 3)
      assert.include(tree, "Group 0: 1/mixed")
      const spans = yield* Files.lines<{ step: number; spans: ReadonlyArray<{ name: string; duration: number }> }>(
        path.join(folder, "timing_spans.jsonl")
      )
      assert.deepStrictEqual(spans.map(({ spans, step }) => [step, ...spans.map(({ name }) => name)]), [
        [0, "rl.evaluate"],
        [0, "rl.sample", "rl.train"],
        [1, "rl.sample", "rl.train"]
      ])
      assert.strictEqual(spans[1]?.spans[0]?.duration, 3)
    }).pipe(Effect.provide(live)))
})

describe("Inspect", () => {
  it.effect("writes a log per batch: groups are samples, members are epochs", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* Files.place("logs")
      yield* Recorded.record
      yield* Inspect.write(yield* RunStore.RunStore, folder)
      const names = (yield* fs.readDirectory(folder)).toSorted()
      assert.strictEqual(names.length, 3)
      const files = unzip(yield* fs.readFile(path.join(folder, names[1] ?? "")))
      assert.deepStrictEqual([...files.keys()], [
        "_journal/start.json",
        "samples/0/mixed_epoch_1.json",
        "samples/0/mixed_epoch_2.json",
        "samples/0/lost_epoch_1.json",
        "summaries.json",
        "header.json"
      ])
      const sample = JSON.parse(files.get("samples/0/mixed_epoch_2.json") ?? "")
      assert.deepInclude(sample, { id: "0/mixed", epoch: 2, input: "What is 2 + 3?", target: "5" })
      assert.strictEqual(sample.scores.reward.value, 0)
      const header = JSON.parse(files.get("header.json") ?? "")
      assert.deepInclude(header.results, { total_samples: 4, completed_samples: 3 })
      assert.deepStrictEqual(header.stats.model_usage["a model"], {
        input_tokens: 27,
        output_tokens: 9,
        total_tokens: 36
      })
    }).pipe(Effect.provide(live)))
})

interface Trace {
  readonly nodes: ReadonlyArray<
    {
      readonly parent: number | null
      readonly token_ids: ReadonlyArray<number>
      readonly advantages?: ReadonlyArray<number>
    }
  >
}

describe("Verifiers", () => {
  it.effect("writes message graphs whose paths have the exact tokens", () =>
    Effect.gen(function*() {
      const file = yield* Files.place("traces.jsonl")
      yield* Recorded.record
      yield* Verifiers.write(yield* RunStore.RunStore, file)
      const traces = yield* Files.lines<Trace>(file)
      assert.strictEqual(traces.length, Recorded.rollouts)
      for (const { nodes } of traces) {
        assert.deepStrictEqual(nodes.map(({ parent }) => parent), [null, 0, 1, 2])
        assert.deepStrictEqual(nodes.flatMap(({ token_ids }) => token_ids), [1, 2, 3, 7, 8, 4, 9])
      }
      assert.deepStrictEqual(traces[1]?.nodes[1]?.advantages, [0.5, 0.5])
    }).pipe(Effect.provide(live)))
})

describe("An episode with a tool", () => {
  const call = {
    id: "call_0",
    type: "function",
    function: { name: "calculator", arguments: "{\"expression\":\"2+3\"}" }
  }
  const [question, calling, result, answer] = [
    { role: "user", content: "What is 2 + 3?" },
    { role: "assistant", content: "<tool>", tool_calls: [call] },
    { role: "tool", content: "5", name: "calculator", tool_call_id: "call_0" },
    { role: "assistant", content: "5" }
  ]

  it.effect("has its tool call and result in verifiers traces, message by message", () =>
    Effect.gen(function*() {
      const file = yield* Files.place("traces.jsonl")
      yield* Recorded.record
      yield* Verifiers.write(yield* RunStore.RunStore, file)
      const [first] = yield* Files.lines<{ readonly nodes: ReadonlyArray<{ readonly message: object }> }>(file)
      const named = { id: "call_0", name: "calculator", arguments: "{\"expression\":\"2+3\"}" }
      assert.deepStrictEqual(first?.nodes.map(({ message }) => message), [
        question,
        { ...calling, tool_calls: [named] },
        result,
        answer
      ])
    }).pipe(Effect.provide(live)))

  it.effect("has its tool call and result in the cookbook's logtrees", () =>
    Effect.gen(function*() {
      const path = yield* Path.Path
      const folder = yield* Files.place("run")
      yield* Recorded.record
      yield* Cookbook.write(yield* RunStore.RunStore, folder)
      const tree = yield* Files.read(path.join(folder, "iteration_000000", "eval_held_out_logtree.json"))
      const conversations: Array<object> = []
      JSON.parse(tree, (name, value) => {
        if (name === "messages") conversations.push(value)
        return value
      })
      assert.deepStrictEqual(conversations, [[question, calling, result, answer]])
    }).pipe(Effect.provide(live)))

  it.effect("has its tool call in Inspect logs, with decoded arguments and the function's name", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* Files.place("logs")
      yield* Recorded.record
      yield* Inspect.write(yield* RunStore.RunStore, folder)
      const [name = ""] = (yield* fs.readDirectory(folder)).toSorted()
      const files = unzip(yield* fs.readFile(path.join(folder, name)))
      const { messages, output } = JSON.parse(files.get("samples/held/0_epoch_1.json") ?? "")
      const from = { source: "generate", model: "a model" }
      assert.deepStrictEqual(messages, [
        { ...question, id: "0-0", source: "input" },
        {
          ...calling,
          tool_calls: [{ id: "call_0", function: "calculator", arguments: { expression: "2+3" }, type: "function" }],
          id: "0-1",
          ...from
        },
        { ...result, function: "calculator", id: "0-2", source: "input" },
        { ...answer, id: "0-3", ...from }
      ])
      assert.deepStrictEqual([output.choices[0].message.content, output.completion], ["5", "5"])
    }).pipe(Effect.provide(live)))
})

describe("The tools that an episode could call", () => {
  it.effect("are defined in chat lines, verifiers traces, Inspect logs and logtrees", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* Files.place("offered")
      const file = (...names: ReadonlyArray<string>) => path.join(folder, ...names)
      yield* Recorded.recordOffered
      const run = yield* RunStore.RunStore
      yield* ChatJsonLines.write(run, file("chat.jsonl"))
      yield* Verifiers.write(run, file("traces.jsonl"))
      yield* Inspect.write(run, file("logs"))
      yield* Cookbook.write(run, file("cookbook"))
      const [chat] = yield* Files.lines<object>(file("chat.jsonl"))
      assert.deepInclude(chat, { tools: [{ type: "function", function: Recorded.calculator }] })
      const [trace] = yield* Files.lines<object>(file("traces.jsonl"))
      assert.deepInclude(trace, { tools: [{ type: "function", ...Recorded.calculator }] })
      const [log = assert.fail("there is no log")] = yield* fs.readDirectory(file("logs"))
      const sample = unzip(yield* fs.readFile(file("logs", log))).get("samples/0/offered_epoch_1.json") ?? ""
      assert.deepStrictEqual(JSON.parse(sample).metadata.tools, [Recorded.calculator])
      const tree = yield* Files.read(file("cookbook", "iteration_000000", "train_logtree.json"))
      const texts: Array<string> = []
      JSON.parse(tree, (_, value) => {
        if (typeof value === "string" && value.startsWith("Tool: ")) texts.push(value.replaceAll("&quot;", "\""))
        return value
      })
      assert.deepStrictEqual(texts, [`Tool: ${JSON.stringify(Recorded.calculator)}`])
    }).pipe(Effect.provide(live)))

  it.effect("are not part of the messages", () =>
    Effect.gen(function*() {
      const file = yield* Files.place("chat.jsonl")
      yield* Recorded.recordOffered
      yield* ChatJsonLines.write(yield* RunStore.RunStore, file)
      const [chat] = yield* Files.lines<Chat>(file)
      assert.deepStrictEqual(chat?.messages.map(({ role }) => role), ["user", "assistant", "tool", "assistant"])
    }).pipe(Effect.provide(live)))
})

describe("ParquetRollouts", () => {
  it.effect("writes a row for each rollout, with its tokens as lists", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const file = yield* Files.place("rollouts.parquet")
      yield* Recorded.record
      yield* ParquetRollouts.write(yield* RunStore.RunStore, file)
      const bytes = yield* fs.readFile(file)
      const rows = yield* Effect.promise(() => parquetReadObjects({ file: Uint8Array.from(bytes).buffer }))
      assert.strictEqual(rows.length, Recorded.rollouts)
      assert.deepInclude(rows[1], {
        iteration: 0,
        evaluator: null,
        group: "0/mixed",
        tags: ["sums"],
        reward: 1,
        advantage: 0.5,
        turns: 2,
        sampled_tokens: [7, 8, 9],
        logprobs: [-0.5, -0.5, -0.5],
        responses: ["<tool>\ncalculator({\"expression\":\"2+3\"})", "5"]
      })
    }).pipe(Effect.provide(live)))
})

describe("A turn that newer weights sampled", () => {
  it.effect("records its weights' optimizer step, beside turns with the group's weights", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      yield* Recorded.recordNewest
      const run = yield* RunStore.RunStore
      const folder = yield* Files.place("newest")
      const file = (name: string) => path.join(folder, name)
      yield* ChatJsonLines.write(run, file("chat.jsonl"))
      yield* Verifiers.write(run, file("traces.jsonl"))
      yield* ParquetRollouts.write(run, file("rollouts.parquet"))
      yield* Inspect.write(run, file("logs"))
      yield* Cookbook.write(run, file("cookbook"))
      const expected = [[3, 5], [3, 3]]
      type Steps = { readonly turn_sampler_steps: ReadonlyArray<number> }
      const chats = yield* Files.lines<Steps>(file("chat.jsonl"))
      assert.deepStrictEqual(chats.map((chat) => chat.turn_sampler_steps), expected)
      const traces = yield* Files.lines<{ readonly info: Steps }>(file("traces.jsonl"))
      assert.deepStrictEqual(traces.map(({ info }) => info.turn_sampler_steps), expected)
      const bytes = yield* fs.readFile(file("rollouts.parquet"))
      const rows = yield* Effect.promise(() => parquetReadObjects({ file: Uint8Array.from(bytes).buffer }))
      assert.deepStrictEqual(rows.map((row) => Array.from(row["turn_sampler_steps"])), expected)
      const [log = assert.fail("there is no log")] = yield* fs.readDirectory(file("logs"))
      const files = unzip(yield* fs.readFile(path.join(folder, "logs", log)))
      const sample = JSON.parse(files.get("samples/3/newest_epoch_1.json") ?? "")
      assert.deepStrictEqual(sample.metadata.turn_sampler_steps, expected[0])
      const summaries = yield* Files.lines<{ steps: ReadonlyArray<{ readonly sampling_client_step: number }> }>(
        path.join(folder, "cookbook", "iteration_000003", "train_rollout_summaries.jsonl")
      )
      assert.deepStrictEqual(
        summaries.map(({ steps }) => steps.map((step) => step.sampling_client_step)),
        expected
      )
    }).pipe(Effect.provide(live)))
})
