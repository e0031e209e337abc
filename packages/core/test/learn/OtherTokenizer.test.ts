/** Distillation from a teacher with another tokenizer. */
import { Advantage, Credit, Message } from "@effect-rl/core"
import { ModelInput, type Sampling, Weights } from "@effect-rl/core/backend"
import type { Trajectory } from "@effect-rl/core/environments"
import { Renderers } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import * as Samples from "./Samples.ts"

const words = TestTokenizer.words(["hel", "lo", " wor", "ld", "What", " is", "é"])
const letters = TestTokenizer.make({
  name: "letters",
  specialTokens: TestTokenizer.specialTokens,
  pieces: [...TestTokenizer.characterPieces, "lo w", "é"]
})

const model = (tokenizer: TestTokenizer.TestTokenizer, renderer = "qwen3_instruct") =>
  Effect.map(Renderers.byName(renderer, tokenizer), (renderer) => ({ renderer, tokenizer }))

type Model = Effect.Success<ReturnType<typeof model>>

/** The log-probability that the teacher gives to a token at position `at`. */
const logprob = (token: number, at: number) => -((token * 7 + at * 13) % 29) / 10

const reader = () => {
  const read: Array<ReadonlyArray<number>> = []
  const { client } = Samples.scorer((tokens) => {
    read.push(tokens)
    return tokens.map(logprob)
  })
  return { client, read }
}

const question = [Message.user("What is é?")]

/** A turn that answers a question. Its log-probabilities are −0.1, −0.2 and so on. */
const turn = Effect.fnUntraced(function*(
  { renderer }: Model,
  messages: ReadonlyArray<Message.Message>,
  tokens: ArrayLike<number>,
  extra: Partial<Trajectory.Transition> = {}
) {
  const observation = yield* renderer.generationPrompt(messages)
  const logprobs = Array.from(tokens, (_, index) => -(index + 1) / 10)
  return Samples.turn(observation, Array.from(tokens), logprobs, { shown: { messages }, ...extra })
})

const ending = (transition: Trajectory.Transition, stopReason: Sampling.SampleStopReason): Trajectory.Transition => ({
  ...transition,
  action: { ...transition.action, stopReason }
})

const groupOf = (...turns: ReadonlyArray<Trajectory.Transition>) =>
  Samples.group([1], { members: [Option.some(Samples.trajectory(...turns))] })

const advantagesOf = ({ groups }: Credit.Assigned) =>
  groups.flatMap(({ data }) => data.map(({ inputs }) => Array.from(inputs.advantages)))

/** The advantages of the tokens of a group's only response. */
const responseOf = Effect.fnUntraced(function*(
  options: Credit.DistillOptions,
  student: Model,
  tokens: ArrayLike<number>,
  stopReason: Sampling.SampleStopReason = "stop"
) {
  const group = groupOf(ending(yield* turn(student, question, tokens), stopReason))
  const assigned = yield* Credit.distill(options).assign([group], null, Weights.absent)
  return { metrics: assigned.metrics, advantages: advantagesOf(assigned)[0]?.slice(-tokens.length) ?? [] }
})

const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)

const Tokens = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: words.vocabulary - 1 }))).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(20)
)

describe("Credit.distill with models", () => {
  it.effect.prop(
    "equals distillation without them if the tokenizers are the same",
    [Tokens],
    ([tokens]) =>
      Effect.gen(function*() {
        const student = yield* model(words)
        const [without, given] = [reader(), reader()]
        const models = { student, teacher: student }
        const expected = yield* responseOf({ teacher: without.client }, student, tokens)
        const found = yield* responseOf({ teacher: given.client, models }, student, tokens)
        assert.deepStrictEqual(given.read, without.read)
        assert.deepStrictEqual(found, expected)
      })
  )

  it.effect.prop(
    "keeps the sum over a response, whatever the tokenizers",
    [Tokens],
    ([sampled]) =>
      Effect.gen(function*() {
        const [student, teacher] = [yield* model(words), yield* model(letters, "llama3")]
        const tokens = [...sampled, ...words.encode("<|im_end|>")]
        const { client, read } = reader()
        const { advantages, metrics } = yield* responseOf(
          { teacher: client, models: { student, teacher } },
          student,
          tokens
        )
        const prompt = yield* teacher.renderer.generationPrompt(question)
        const [sequence = []] = read
        const taught = sum(sequence.map((token, at) => at < prompt.length ? 0 : logprob(token, at)))
        const own = sum(tokens.map((_, index) => -(index + 1) / 10))
        assert.strictEqual(letters.decode(sequence.slice(prompt.length)), words.decode(sampled) + "<|eot_id|>")
        assert.closeTo(sum(advantages), taught - own, 1e-4)
        assert.closeTo(metrics["teacher_kl"] ?? NaN, (own - taught) / tokens.length, 1e-4)
      })
  )

  it.effect("compares spans between common boundaries, and shares the difference among a span's tokens", () =>
    Effect.gen(function*() {
      const [student, teacher] = [yield* model(words), yield* model(letters)]
      const { client } = Samples.scorer((tokens) => tokens.map(() => -1))
      const models = { student, teacher }
      const tokens = words.encode("hello world")
      const { advantages } = yield* responseOf({ teacher: client, models }, student, tokens, "length")
      // Spans in the student's and in the teacher's tokens: "hel" and 3 letters; "lo" + " wor" and "lo w" + "o" + "r"; "ld" and 2 letters.
      const expected = [-3 + 0.1, (-3 + 0.5) / 2, (-3 + 0.5) / 2, -2 + 0.4]
      expected.forEach((value, at) => assert.closeTo(advantages[at] ?? NaN, value, 1e-6))
    }))

  it.effect("shows the teacher each turn as its own renderer writes it", () =>
    Effect.gen(function*() {
      const [student, teacher] = [yield* model(words), yield* model(letters, "llama3")]
      const next = [...question, Message.assistant("hello"), Message.user("And é?")]
      const first = yield* turn(student, question, words.encode("hello<|im_end|>"))
      const second = yield* turn(student, next, words.encode("world<|im_end|>"), {
        shown: { messages: [Message.user("And é?")] }
      })
      const { client, read } = reader()
      const credit = Credit.distill({ teacher: client, models: { student, teacher } })
      const assigned = yield* credit.assign([groupOf(first, second)], null, Weights.absent)
      const shown = yield* Effect.forEach([question, next], (messages) =>
        Effect.flatMap(teacher.renderer.generationPrompt(messages), (prompt) => ModelInput.toTokens(prompt)))
      assert.deepStrictEqual(
        read.map((tokens) =>
          letters.decode(tokens)
        ),
        [
          letters.decode(shown[0] ?? []) + "hello<|eot_id|>",
          letters.decode(shown[1] ?? []) + "world<|eot_id|>"
        ]
      )
      // Both turns are one datum, whose other positions keep advantage 0.
      const [advantages = []] = advantagesOf(assigned)
      const { inputs: { mask } } = assigned.groups[0]?.data[0] ?? assert.fail("no datum")
      assert.deepStrictEqual(advantages.map((advantage) => Number(advantage !== 0)), Array.from(mask))
    }))

  it.effect("drops the end that the teacher's tokenizer cannot encode, and reports it", () =>
    Effect.gen(function*() {
      const [student, teacher] = [yield* model(words), yield* model(TestTokenizer.characters)]
      const options = { teacher: reader().client, models: { student, teacher }, estimator: Advantage.reward }
      const { advantages, metrics } = yield* responseOf(options, student, words.encode("helélo<|im_end|>"))
      assert.deepStrictEqual(advantages.map((advantage) => advantage === 1), [false, true, true, true])
      assert.strictEqual(metrics["teacher_truncated"], 1)
    }))

  it.effect("lets the teacher read another prompt, in its own tokens", () =>
    Effect.gen(function*() {
      const [student, teacher] = [yield* model(words), yield* model(letters)]
      const told = yield* teacher.renderer.generationPrompt([Message.system("Work in columns."), ...question])
      const prompt = { name: "told", of: () => Effect.succeed(told) }
      const { client, read } = reader()
      yield* responseOf({ teacher: client, prompt, models: { student, teacher } }, student, words.encode("hello"))
      assert.include(letters.decode(read[0] ?? []), "Work in columns.")
    }))

  it.effect("is identified by both tokenizers and the teacher's renderer", () =>
    Effect.gen(function*() {
      const models = { student: yield* model(words), teacher: yield* model(letters) }
      assert.deepInclude(Credit.distill({ teacher: reader().client, models }).config, {
        models: { student: words.fingerprint, teacher: letters.fingerprint, renderer: "qwen3_instruct" }
      })
    }))

  const refusal = Effect.fnUntraced(function*(options: Partial<Credit.DistillOptions>, change: object) {
    const student = yield* model(words)
    const models = { student, teacher: yield* model(letters) }
    const credit = Credit.distill({ teacher: reader().client, models, ...options })
    const first = yield* turn(student, question, words.encode("hello"), change)
    const second = yield* turn(student, [...question, Message.assistant("hello")], words.encode("lo"), change)
    return (yield* Effect.flip(credit.assign([groupOf(first, second)], null, Weights.absent))).message
  })

  it.effect("refuses environments without messages, and tokenizers whose tokens do not stand for bytes", () =>
    Effect.gen(function*() {
      const told = { name: "told", of: () => Effect.succeed(ModelInput.fromTokens([1])) }
      const { bytesOf: _, ...opaque } = words
      const student = { ...(yield* model(words)), tokenizer: opaque }
      const models = { student, teacher: yield* model(letters) }
      assert.deepStrictEqual(
        yield* Effect.all([refusal({}, { shown: undefined }), refusal({ prompt: told }, {}), refusal({ models }, {})]),
        [
          `models is turn 0 of "g", whose messages are unknown, expected an environment that shows messages`,
          `prompt is turn 1 of "g", expected left out for environments of several turns if models are given`,
          `models.student is the tokenizer ${words.fingerprint}, expected a tokenizer whose tokens stand for bytes`
        ]
      )
    }))
})
