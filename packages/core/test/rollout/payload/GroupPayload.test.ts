import { EnvMetric, Message, Score } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Branch, type Trajectory } from "@effect-rl/core/environments"
import { GroupResult } from "@effect-rl/core/program"
import { GroupPayload } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"

/** Encodes and decodes a group, as between two processes. */
const readBack = (result: GroupResult.GroupResult) => GroupPayload.decode(GroupPayload.encode(result))

/** Numbers that JSON cannot represent. */
const odd = [NaN, Infinity, -Infinity, -0]

const Token = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))

const Turn = Schema.Struct({
  /** Tokens that continue the sequence; with `rewrites`, all tokens of a new prompt. */
  added: Schema.Array(Token),
  rewrites: Schema.Boolean,
  chunks: Schema.Literals([1, 2, 3]),
  hasImage: Schema.Boolean,
  sampled: Schema.Array(Token),
  number: Schema.Number,
  text: Schema.String
})
type Turn = typeof Turn.Type

const Member = Schema.Struct({ turns: Schema.Array(Turn), stop: Schema.Option(Schema.String), dropped: Schema.Boolean })

const picture: Message.ImagePart = { type: "image", data: Uint8Array.of(1, 2, 255), format: "png" }

const image: ModelInput.Image = { _tag: "Image", data: Uint8Array.of(1, 2, 255), format: "png", expectedTokens: 4 }

/** The tokens in this number of chunks, with an image after the first if requested. */
const inputOf = (tokens: ReadonlyArray<number>, { chunks, hasImage }: Turn): ModelInput.ModelInput => {
  const length = Math.max(1, Math.ceil(tokens.length / chunks))
  const texts = Array.from({ length: chunks }, (_, index) => tokens.slice(index * length, (index + 1) * length))
    .map((part): ModelInput.Chunk => ({ _tag: "EncodedText", tokens: Int32Array.from(part) }))
  return ModelInput.fromChunks(hasImage ? texts.toSpliced(1, 0, image) : texts)
}

const trajectory = ({ stop, turns }: typeof Member.Type): Trajectory.Trajectory => {
  let history: ReadonlyArray<number> = []
  const transitions = turns.map((turn): Trajectory.Transition => {
    const prompt = turn.rewrites ? turn.added : [...history, ...turn.added]
    history = [...prompt, ...turn.sampled]
    const transition: Trajectory.Transition = {
      observation: inputOf(prompt, turn),
      action: {
        tokens: Int32Array.from(turn.sampled),
        logprobs: Float32Array.from([turn.number, ...odd]),
        stopReason: turn.rewrites ? "stop" : "length",
        ...(turn.rewrites && { samplerStep: turn.chunks }),
        ...(turn.hasImage && { sequenceId: `s${turn.chunks}`, maskedLogprobs: Float32Array.of(turn.number, -0) })
      },
      reward: turn.number,
      trainable: turn.hasImage,
      metrics: {
        [`mean ${turn.text}`]: { kind: "mean", value: turn.number },
        correct: { kind: "rate", hit: turn.rewrites }
      },
      logs: { [turn.text]: turn.text, number: turn.number }
    }
    const times = { began: 1000 * turn.chunks, sampling: turn.added.length, environment: turn.sampled.length }
    const score: Score.Score = {
      value: turn.number,
      success: turn.rewrites,
      answer: turn.text,
      parts: { [turn.text]: turn.number },
      verdict: {
        provider: "wasi",
        outcome: turn.text,
        digest: turn.text,
        tests: [{ name: turn.text, passed: turn.rewrites }]
      }
    }
    const said: Message.Message = {
      role: "assistant",
      content: [{ type: "thinking", thinking: turn.text }],
      toolCalls: [{ id: turn.text, function: { name: "f", arguments: turn.text } }]
    }
    const messages: ReadonlyArray<Message.Message> = [
      Message.user(turn.text),
      { role: "user", content: [{ type: "text", text: turn.text }, { ...picture, expectedTokens: turn.chunks }] },
      said
    ]
    const offered = {
      tools: [{ name: turn.text, description: turn.text, parameters: { type: "object" } }],
      messages: turn.chunks,
      ...(turn.hasImage && { systemPrompt: turn.text })
    }
    const shown = {
      messages: messages.slice(0, turn.chunks),
      ...(turn.rewrites && { kept: turn.chunks }),
      ...(turn.chunks > 1 && { offered })
    }
    const branch = { after: turn.chunks, reason: "parallel" as const }
    const timed = turn.hasImage ? { ...transition, times, score, said, shown, branch } : { ...transition, shown }
    return turn.rewrites ? { ...timed, branch: Branch.anew("edit") } : timed
  })
  const [first] = turns
  return {
    transitions,
    stepReward: turns.length / 3,
    stopReason: stop,
    truncations: turns.length,
    ...(first !== undefined && { task: first.hasImage ? { reference: first.text } : { question: first.text } })
  }
}

const report: GroupResult.FailureReport = { member: 1, attempt: 0, failure: "StepFailed", message: "broke" }

const completed = (members: ReadonlyArray<typeof Member.Type>): GroupResult.Completed => ({
  _tag: "Completed",
  iteration: 7,
  key: "group",
  tags: ["tag"],
  samplerStep: 3,
  members: members.map((member) => member.dropped ? Option.none() : Option.some(trajectory(member))),
  rewardsG: Float64Array.from(members, (_, index) => odd[index] ?? index / 3),
  metricsG: members.map((_, index) => ({ judged: { kind: "sum", value: odd[index] ?? index } })),
  retried: [report],
  ...(members.length > 2 && { scoresG: members.map(({ dropped }) => dropped ? undefined : { value: -0 }) }),
  ...(members.length > 1 && { grading: { began: 5000, milliseconds: members.length } })
})

const member = (...transitions: ReadonlyArray<Trajectory.Transition>): Trajectory.Trajectory => ({
  transitions,
  stepReward: 0,
  stopReason: Option.none(),
  truncations: 0
})

const turnOf = (prompt: Int32Array, tokens: Int32Array): Trajectory.Transition => ({
  observation: ModelInput.fromTokens(prompt),
  action: { tokens, logprobs: new Float32Array(tokens.length), stopReason: "stop" },
  reward: 0,
  trainable: true,
  metrics: {},
  logs: {}
})

const groupOf = (...members: ReadonlyArray<Trajectory.Trajectory>): GroupResult.Completed => ({
  _tag: "Completed",
  iteration: 7,
  key: "group",
  tags: [],
  samplerStep: 0,
  members: members.map(Option.some),
  rewardsG: new Float64Array(members.length),
  metricsG: members.map(() => ({})),
  retried: []
})

describe("a group as text", () => {
  it.effect.prop(
    "is decoded unchanged, with branches, chunks, images, texts, times, masked log-probabilities, NaN and the sign of zero",
    [Schema.Array(Member)],
    ([members]) =>
      Effect.gen(function*() {
        const group = completed(members)
        assert.deepStrictEqual(yield* readBack(group), group)
        const partial: GroupResult.Partial = { ...group, _tag: "Partial", dropped: [report] }
        assert.deepStrictEqual(yield* readBack(partial), partial)
      }),
    { arbitrary: { runs: 200 } }
  )

  it.effect("keeps the bits of every log-probability", () =>
    Effect.gen(function*() {
      const bits = Uint32Array.of(0x7fc00001, 0xffc00000, 0x80000000, 0x00000001, 0x7f800000)
      const turn = turnOf(Int32Array.of(1), Int32Array.of(2))
      const action = { ...turn.action, logprobs: new Float32Array(bits.buffer) }
      const read = yield* readBack(groupOf(member({ ...turn, action })))
      assert.strictEqual(read._tag, "Completed")
      if (read._tag !== "Completed") return
      const logprobs = read.members.flatMap(Option.toArray).flatMap(({ transitions }) => transitions)[0]?.action
        .logprobs
      assert.deepStrictEqual(new Uint32Array(logprobs?.buffer ?? new ArrayBuffer(0)), bits)
    }))

  it.effect("keeps names such as those of Object.prototype, and the logs of an episode without turns", () =>
    Effect.gen(function*() {
      const names = Object.fromEntries([["__proto__", "text"], ["constructor", "NaN"], ["toString", "-0"]])
      const turn: Trajectory.Transition = {
        ...turnOf(Int32Array.of(1), Int32Array.of(2)),
        logs: names,
        metrics: Object.fromEntries([["__proto__", { kind: "max", value: -Infinity }]])
      }
      const group = groupOf(member(turn), { ...member(), logs: names })
      assert.deepStrictEqual(yield* readBack(group), group)
    }))

  it("takes four bytes per token and per log-probability, plus a third for base64", () => {
    const tokens = new Int32Array(30_000)
    const text = GroupPayload.encode(groupOf(member(turnOf(Int32Array.of(1), tokens))))
    assert.isBelow(text.length, 2 * 4 * tokens.length * 4 / 3 + 500)
  })

  it.effect("is the encoded form of a schema, usable in messages between processes", () =>
    Effect.gen(function*() {
      const Message = Schema.toCodecJson(Schema.Struct({ group: GroupPayload.codec }))
      const group = groupOf(member(turnOf(Int32Array.of(1), Int32Array.of(2))))
      const sent = yield* Schema.encodeEffect(Message)({ group })
      assert.deepStrictEqual(yield* Schema.decodeUnknownEffect(Message)(JSON.parse(JSON.stringify(sent))), { group })
      const error = yield* Effect.flip(Schema.decodeUnknownEffect(Message)({ group: "{}" }))
      assert.include(error.message, "not a recorded group")
    }))

  it.effect("may be a skipped group", () =>
    Effect.gen(function*() {
      const skipped: GroupResult.Skipped = {
        _tag: "Skipped",
        iteration: 7,
        key: "group",
        tags: [],
        size: 4,
        reason: report,
        dropped: []
      }
      assert.deepStrictEqual(yield* readBack(skipped), skipped)
      const below: GroupResult.Skipped = {
        ...skipped,
        reason: { failure: "BelowFloor", finished: 1, floor: 3, message: "1 of 3" },
        dropped: [report]
      }
      assert.deepStrictEqual(yield* readBack(below), below)
    }))

  it("stores a shared prompt and the history of each turn once", () => {
    const prompt = new Int32Array(3000).fill(7)
    const sampled = new Int32Array(300)
    const later = Int32Array.of(...prompt, ...sampled, 1)
    const one = member(turnOf(prompt, sampled), turnOf(later, sampled))
    const text = GroupPayload.encode(groupOf(one, one))
    const bytes = 4 * (prompt.length + 4 * 2 * sampled.length)
    assert.isBelow(text.length, bytes * 4 / 3 + 1500)
  })

  it("stores a task and first messages shared by members once", () => {
    const task = { question: "What is 2 + 2?", reference: "4" }
    const messages = [Message.system("Answer with one number."), Message.user("And that twice?")]
    const turn = { ...turnOf(Int32Array.of(1), Int32Array.of(2)), shown: { messages } }
    const asked = { ...member(turn), task }
    assert.lengthOf(GroupPayload.encode(groupOf(asked, asked, asked)).split("And that twice?"), 2)
    assert.lengthOf(GroupPayload.encode(groupOf(asked, asked, asked)).split(task.question), 2)
  })

  it.effect("stores tools shared by members once", () =>
    Effect.gen(function*() {
      const tools = [{ name: "clock", description: "Tells the time.", parameters: {} }]
      const shown = { messages: [Message.system("# Tools")], offered: { tools, messages: 1 } }
      const group = groupOf(...[0, 1, 2].map(() => member({ ...turnOf(Int32Array.of(1), Int32Array.of(2)), shown })))
      assert.lengthOf(GroupPayload.encode(group).split("Tells the time."), 2)
      assert.deepStrictEqual(yield* readBack(group), group)
    }))

  it("stores the prompts of alternating branches once", () => {
    const side = (first: number) => Int32Array.from({ length: 3000 }, (_, at) => at === 0 ? first : 7)
    const [left, right] = [side(1), side(2)]
    const root = turnOf(Int32Array.of(1), Int32Array.of(2))
    const goesOn = (after: number, prompt: Int32Array): Trajectory.Transition => ({
      ...turnOf(prompt, Int32Array.of(3)),
      branch: { after, reason: "parallel" }
    })
    const base = [1, 2]
    const turns = [root, goesOn(0, Int32Array.of(...base, ...left)), goesOn(0, Int32Array.of(...base, ...right))]
    const again = [
      goesOn(1, Int32Array.of(...base, ...left, 3, 4)),
      goesOn(2, Int32Array.of(...base, ...right, 3, 4))
    ]
    const added = GroupPayload.encode(groupOf(member(...turns, ...again))).length
      - GroupPayload.encode(groupOf(member(...turns))).length
    assert.isBelow(added, 1000)
  })

  it.effect("of an earlier version has a branch without a parent turn for each prompt marked as a fork", () =>
    Effect.gen(function*() {
      const turn = turnOf(Int32Array.of(1), Int32Array.of(2))
      const text = GroupPayload.encode(groupOf(member({ ...turn, branch: Branch.anew("edit") })))
      const earlier = text.replace("\"branch\":{\"after\":-1,\"reason\":\"edit\"}", "\"fork\":\"history\"")
      assert.include(earlier, "fork")
      assert.deepStrictEqual(yield* GroupPayload.decode(earlier), yield* GroupPayload.decode(text))
    }))

  it.effect("derives a turn's rate of correct answers from its score", () =>
    Effect.gen(function*() {
      const turn = turnOf(Int32Array.of(1), Int32Array.of(2))
      const score = Score.correct(true)
      const told = { ...turn, score, metrics: Score.withCorrect(score, {}) }
      const text = GroupPayload.encode(groupOf(member(told)))
      assert.notInclude(text, "metrics\":{")
      assert.deepStrictEqual(yield* GroupPayload.decode(text), groupOf(member(told)))
    }))

  it.effect("of an earlier format has the task, the answer and its score in separate fields", () =>
    Effect.gen(function*() {
      const turn = {
        ...turnOf(Int32Array.of(1), Int32Array.of(2)),
        reward: 0.9,
        metrics: { correct: EnvMetric.rate(true) },
        logs: { question: "2 + 2?", response: "4", reference: "four", took: 3 }
      }
      const { iteration: _, ...earlier } = JSON.parse(GroupPayload.encode(groupOf(member(turn))))
      const read = yield* GroupPayload.decode(JSON.stringify(earlier))
      const [found] = GroupResult.isSkipped(read) ? [] : GroupResult.survivors(read).map(([, trajectory]) => trajectory)
      assert.deepStrictEqual(found?.task, { question: "2 + 2?", reference: "four" })
      assert.deepStrictEqual(found?.transitions.map(({ logs, score }) => ({ logs, score })), [
        { logs: { took: 3 }, score: { value: 0.9, success: true, answer: "4" } }
      ])
      assert.strictEqual(read.iteration, 0)
    }))

  it("is one line", () => {
    const turn = { ...turnOf(Int32Array.of(1), Int32Array.of(2)), logs: { answer: "a\nb\r\u2028\ud800" } }
    assert.notMatch(GroupPayload.encode(groupOf(member(turn))), /[\n\r]/)
  })

  it.effect("is refused if it is truncated anywhere", () =>
    Effect.gen(function*() {
      const turn = turnOf(Int32Array.of(1, 2, 3), Int32Array.of(2))
      const text = GroupPayload.encode(groupOf(member(turn, turn)))
      for (let length = 0; length < text.length; length++) {
        const error = yield* Effect.flip(GroupPayload.decode(text.slice(0, length)))
        assert.strictEqual(error._tag, "GroupPayloadError")
      }
    }))

  it.effect.each(
    [
      ["a prompt that keeps what is not there", `"keep":0`, `"keep":1`, "member 0, turn 0"],
      ["a prompt that keeps a negative number of tokens", `"keep":0`, `"keep":-1`, "keep"],
      ["an image that is not there", `{"keep":0,"tokens":"AQAAAA=="}`, `{"keepImage":true}`, "member 0, turn 0"],
      ["tokens of half a number", `"tokens":"AgAAAA=="`, `"tokens":"AgA="`, "whole numbers of 4 bytes"],
      ["tokens that are not base64", `"tokens":"AgAAAA=="`, `"tokens":"A?AAAA=="`, "tokens"],
      ["tokens as numbers", `"tokens":"AgAAAA=="`, `"tokens":[2]`, "tokens"],
      ["another stop reason", `"stopReason":"stop"`, `"stopReason":"tired"`, "stopReason"],
      ["a reward that is text", `"reward":0`, `"reward":"zero"`, "reward"],
      ["fewer rewards than members", `"rewards":[0]`, `"rewards":[]`, "1 members with 0 rewards"],
      ["another tag", `"_tag":"Completed"`, `"_tag":"Lost"`, "_tag"]
    ] as const
  )("is refused with %s", ([, whole, broken, named]) =>
    Effect.gen(function*() {
      const text = GroupPayload.encode(groupOf(member(turnOf(Int32Array.of(1), Int32Array.of(2)))))
      assert.include(text, whole)
      const error = yield* Effect.flip(GroupPayload.decode(text.replace(whole, broken)))
      assert.strictEqual(error._tag, "GroupPayloadError")
      assert.include(error.message, named)
    }))
})
