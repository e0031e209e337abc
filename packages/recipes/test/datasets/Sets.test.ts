import { Message } from "@effect-rl/core"
import { Hub, HubError } from "@effect-rl/files"
import { ChatSets, CodeSets, Decontamination, MathSets, Source, TaskSets } from "@effect-rl/recipes"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option, Schema, Stream } from "effect"

const noHub = Layer.succeed(
  Hub.Hub,
  Hub.Hub.of({ commit: () => Effect.die("asks the hub"), file: () => Effect.die("asks the hub") })
)
const files = Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, noHub)

const firstRow = Effect.fnUntraced(function*<Row>(source: Source.Source<Row>, row: unknown) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* fs.writeFileString(`${folder}/train.jsonl`, JSON.stringify(row))
  const rows = yield* Stream.runCollect(Source.rows(source, "train", { folder }))
  return yield* Effect.fromNullishOr(rows[0])
})

const problem = <Row>({ problem, source }: MathSets.MathSet<Row>, row: unknown) =>
  Effect.map(firstRow(source, row), (row) => Option.getOrUndefined(problem(row)))

const texts = (messages: ReadonlyArray<Message.Message>) =>
  messages.map((message) => [message.role, Message.text(message)])

layer(files)("datasets", (it) => {
  it.effect("read problems with their answers", () =>
    Effect.gen(function*() {
      const expected = { question: "q", answer: "5" }
      assert.deepStrictEqual(yield* problem(MathSets.gsm8k, { question: "q", answer: "#### 5" }), expected)
      assert.deepStrictEqual(
        yield* problem(MathSets.math, { problem: "q", solution: "\\boxed{5}", level: "1" }),
        expected
      )
      assert.deepStrictEqual(yield* problem(MathSets.deepMath, { question: "q", final_answer: "5" }), expected)
      assert.deepStrictEqual(yield* problem(MathSets.polaris, { problem: "q", answer: "5" }), expected)
      const dapo = { prompt: [{ role: "user", content: "q" }], reward_model: { ground_truth: "5", style: "rule" } }
      assert.deepStrictEqual(yield* problem(MathSets.dapo, dapo), expected)
      assert.isUndefined(yield* problem(MathSets.polaris, { problem: "q", answer: "" }))
      assert.isUndefined(yield* problem(MathSets.math, { problem: "q", solution: "no box" }))
    }))

  it.effect("read conversations", () =>
    Effect.gen(function*() {
      const messages = [{ role: "user", content: "a" }, { role: "assistant", content: "b" }]
      const expected = [["user", "a"], ["assistant", "b"]]
      for (const set of [ChatSets.noRobots, ChatSets.tulu3]) {
        assert.deepStrictEqual(texts(set.messages(yield* firstRow(set.source, { messages }))), expected)
      }
      const shared = { conversations: [{ from: "human", value: "a" }, { from: "gpt", value: "b" }] }
      const row = yield* firstRow(ChatSets.openThoughts.source, shared)
      assert.deepStrictEqual(texts(ChatSets.openThoughts.messages(row)), expected)
    }))

  const comparison = <Row>({ comparison, source }: ChatSets.PreferenceSet<Row>, row: unknown) =>
    Effect.map(
      firstRow(source, row),
      (row) =>
        Option.getOrUndefined(
          Option.map(comparison(row), ({ chosen, prompt, rejected }) => [texts(prompt), chosen, rejected])
        )
    )

  it.effect("read preferences", () =>
    Effect.gen(function*() {
      const expected = [[["user", "q"]], "good", "bad"]
      const hh = { chosen: "\n\nHuman: q\n\nAssistant: good", rejected: "\n\nHuman: q\n\nAssistant: bad" }
      assert.deepStrictEqual(yield* comparison(ChatSets.hh, hh), expected)
      assert.isUndefined(yield* comparison(ChatSets.hh, { ...hh, rejected: "\n\nHuman: other\n\nAssistant: bad" }))
      assert.isUndefined(yield* comparison(ChatSets.hh, { ...hh, chosen: "good" }))
      const rated = { context: [{ role: "user", content: "q" }], response1: "good", response2: "bad" }
      assert.deepStrictEqual(yield* comparison(ChatSets.helpSteer3, { ...rated, overall_preference: -2 }), expected)
      assert.isUndefined(yield* comparison(ChatSets.helpSteer3, { ...rated, overall_preference: 0 }))
      const binarized = { instruction: "q", chosen_response: "good", rejected_response: "bad" }
      assert.deepStrictEqual(yield* comparison(ChatSets.ultraFeedback, binarized), expected)
    }))

  it.effect("read searches and tool calls", () =>
    Effect.gen(function*() {
      const search = yield* firstRow(TaskSets.searchQa, { question: "q", golden_answers: ["a"], data_source: "nq" })
      assert.deepStrictEqual(search.golden_answers, ["a"])
      const tools = JSON.stringify([{ name: "f", description: "d", parameters: {} }])
      const answers = JSON.stringify([{ name: "f", arguments: { x: 1 } }])
      const call = yield* firstRow(TaskSets.toolUse, { query: "q", tools, answers })
      assert.deepStrictEqual(call.answers, [{ name: "f", arguments: { x: 1 } }])
    }))

  it.effect("fail with the name of a missing split or file", () =>
    Effect.gen(function*() {
      const noSplit = yield* Effect.flip(Stream.runDrain(Source.rows(MathSets.polaris.source, "test")))
      assert.include(noSplit.message, `has no split "test", expected one of train`)
      const noFile = yield* Effect.flip(
        Stream.runDrain(Source.rows(MathSets.polaris.source, "train", { folder: "/nowhere" }))
      )
      assert.include(noFile.message, "/nowhere: has no file train.jsonl, train.parquet or train.csv")
    }))

  it.effect("read the hub's shards in order, up to the first that is missing", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const parquet = new URL("../../../files/test/fixtures/parquet/snappy.parquet", import.meta.url).pathname
      const hub = Hub.Hub.of({
        commit: () => Effect.die("not asked"),
        file: ({ name, revision }, file) => {
          asked.push(`${name}@${revision} ${file}`)
          const isThere = /0000|0001/.test(file)
          const missing = new HubError.HubError({
            resource: file,
            reason: new HubError.NotFound({ detail: "no such file" })
          })
          return isThere ? Effect.succeed(parquet) : Effect.fail(missing)
        }
      })
      const source = Source.make({ ...CodeSets.deepCoder.source, configs: ["one"], row: Schema.Unknown })
      const rows = yield* Stream.runCollect(Source.rows(source, "train")).pipe(Effect.provideService(Hub.Hub, hub))
      assert.strictEqual(rows.length, 10)
      assert.deepStrictEqual(
        asked,
        ["0000", "0001", "0002"].map((shard) =>
          `agentica-org/DeepCoder-Preview-Dataset@refs/convert/parquet one/train/${shard}.parquet`
        )
      )
    }))

  it.effect("leave out held-out rows, ignoring white space and case", () =>
    Effect.sync(() => {
      const rows = ["What is 1+1?", "What is  2+2?", "Why?"]
      assert.deepStrictEqual(Decontamination.without(rows, ["what is 2+2?"], (row) => row), ["What is 1+1?", "Why?"])
    }))

  it.effect("find held-out texts within longer texts, unless they have fewer than five words", () =>
    Effect.sync(() => {
      const long = Array.from({ length: 20 }, (_, index) => `word${index}`)
      const repeats = Decontamination.repeating(["What is the capital of Peru?", "Why not?", long.join(" ")])
      assert.isTrue(repeats("Be brief.  What is the\ncapital of peru? Thanks."))
      assert.isFalse(repeats("What is the capital of Chile?"))
      assert.isTrue(repeats("why  NOT?"))
      assert.isFalse(repeats("Say why not? Please."))
      assert.isTrue(repeats(["So", ...long.slice(4, 17), "end"].join(" ")))
      assert.isFalse(repeats(["So", ...long.slice(4, 16), "end"].join(" ")))
    }))
})
