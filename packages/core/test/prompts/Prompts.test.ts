import { Message, type MessagePolicy, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { Prompts, ResumeError } from "@effect-rl/core/program"
import { Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Data, Effect, Ref, Stream } from "effect"
import * as Task from "../rl/Task.ts"
import * as Planted from "./Planted.ts"

const drain = (overrides: Parameters<typeof Planted.run>[0]) => Stream.runDrain(Planted.run(overrides))

const isolated = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, Planted.layer, { local: true })

/** A reflector that gives these answers in turn and repeats the last one, and the prompts that it received. */
const scripted = (...answers: ReadonlyArray<string>) =>
  Effect.map(Ref.make<ReadonlyArray<string>>([]), (prompts) => {
    const reflector: MessagePolicy.MessagePolicy = {
      respond: ({ messages }) =>
        Effect.map(
          Ref.getAndUpdate(prompts, (prompts) => [...prompts, messages.map(Message.text).join("\n")]),
          ({ length }) => Message.assistant(answers[length] ?? answers.at(-1) ?? "")
        )
    }
    return { reflector, prompts }
  })

const written = (instruction: string) => `<instruction>${instruction}</instruction>`

describe("a run that optimises an instruction", () => {
  it.effect("finds the planted best instruction with every seed", () =>
    Effect.gen(function*() {
      for (let seed = 0; seed < 3; seed++) {
        const best = yield* isolated(Effect.andThen(drain({ run: { seed } }), Planted.best))
        for (const word of Planted.words) assert.include(best?.instruction, word, `seed ${seed}`)
        assert.deepStrictEqual(best?.scores, [1, 1, 1, 1, 1, 1])
      }
    }))

  it.effect("never lowers its best validation score, and always has a leading candidate", () =>
    Effect.gen(function*() {
      for (let seed = 0; seed < 3; seed++) {
        const updates = yield* isolated(Effect.andThen(drain({ epochs: 6, run: { seed } }), Planted.updates))
        const bests = updates.map((metrics) => metrics["prompts/best_validation"] ?? NaN)
        assert.deepStrictEqual(bests, bests.toSorted((left, right) => left - right))
        for (const metrics of updates) assert.isAtLeast(metrics["prompts/leading"] ?? 0, 1)
      }
    }))

  it.effect("takes no optimizer step", () =>
    Effect.gen(function*() {
      yield* drain({ run: { iterations: 3 } })
      assert.deepStrictEqual(yield* Task.trace, [
        "create_training_client(effect-rl/scripted, 32)",
        "snapshot",
        "save_state(final)",
        "save_weights_for_sampler(final)"
      ])
    }).pipe(Effect.provide(Planted.layer)))

  it.effect("records both minibatches of an iteration, and the validation of an accepted child", () =>
    Effect.gen(function*() {
      const { reflector } = yield* scripted(written("Mind: digits"), written("Mind: colours"))
      yield* drain({ reflector, run: { iterations: 2 } })
      const groups = yield* Task.current(RunRecord.guards.GroupRolledOut)
      const counts = new Map<string, number>()
      for (const { evaluator = "", iteration, key } of groups) {
        const name = `${iteration} ${evaluator}${key.replace(/\d+$/, "")}`
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
      assert.deepStrictEqual([...counts], [
        ["0 validation", 6],
        ["0 parent/", 3],
        ["0 child/", 3],
        ["1 validation", 6],
        ["1 parent/", 3],
        ["1 child/", 3]
      ])
      const [first, second] = yield* Planted.updates
      assert.deepInclude(first, { "prompts/accepted": 1, "prompts/child_validation": 1 / 3, "prompts/rollouts": 18 })
      assert.deepInclude(second, { "prompts/accepted": 0, "prompts/candidates": 2, "prompts/rollouts": 24 })
    }).pipe(Effect.provide(Planted.layer)))

  it.effect("rejects a child that is not better than its parent on their minibatch", () =>
    Effect.gen(function*() {
      const { reflector } = yield* scripted(written("Mind: rhymes"), written("Mind: colours"))
      yield* drain({ reflector, run: { iterations: 2 } })
      assert.deepStrictEqual(yield* Planted.cursor, {
        iteration: 2,
        rollouts: 18,
        pool: [{ instruction: Planted.initial, parent: null, scores: [0, 0, 0, 0, 0, 0] }]
      })
    }).pipe(Effect.provide(Planted.layer)))

  it.effect("does not take a rounding error for an improvement", () =>
    Effect.gen(function*() {
      const { reflector } = yield* scripted(written("Ascend."))
      const { model, ...options } = yield* Planted.options({ reflector, run: { iterations: 1 } })
      const dataset = (instruction: string) =>
        RLDataset.problems([0, 1, 2], {
          model,
          prefix: [Message.system(instruction)],
          groupsPerBatch: 3,
          groupSize: 1,
          problem: (row) => ({ question: `Number ${row}?`, answer: "", reward: { name: "its value", of: Number } })
        })
      const validation = (instruction: string) => Effect.runSync(dataset(instruction).batch(0, 0))
      yield* Stream.runDrain(Prompts.run({ ...options, model, dataset, validation, evaluators: () => [] }))
      const [update] = yield* Planted.updates
      assert.deepInclude(update, {
        "prompts/parent_reward": (0.3 + 0.2 + 0.1) / 3,
        "prompts/child_reward": (0.1 + 0.2 + 0.3) / 3,
        "prompts/accepted": 0
      })
    }).pipe(Effect.provide(Task.layer({
      ...Planted.script,
      sample: Script.reply(Task.tokenizer, (prompt) => {
        const row = Number(/Number (\d)/.exec(prompt)?.[1])
        return Task.say(prompt.includes("Ascend") ? `0.${row + 1}` : `0.${3 - row}`)
      })
    }))))

  it.effect("gives its evaluators the best instruction so far, also when it resumes", () =>
    Effect.gen(function*() {
      const { reflector } = yield* scripted(written("Mind: digits, units, signs"))
      yield* drain({ reflector, run: { iterations: 1, evalEvery: 1 } })
      yield* drain({ reflector, run: { iterations: 2, evalEvery: 1 } })
      const evaluated = yield* Task.current(RunRecord.guards.Evaluated)
      assert.deepStrictEqual(
        evaluated.map(({ evaluator, iteration, metrics }) => [evaluator, iteration, metrics["held_out/correct"]]),
        [["held_out", 0, 0], ["held_out", 1, 1], ["held_out", 2, 1]]
      )
    }).pipe(Effect.provide(Planted.layer)))
})

describe("the reflector", () => {
  it.effect("reads the instruction once, and each episode with its reward and feedback", () =>
    Effect.gen(function*() {
      const { prompts, reflector } = yield* scripted(written("Mind: digits"))
      yield* drain({ reflector, run: { iterations: 1 } })
      const [prompt = ""] = yield* Ref.get(prompts)
      assert.lengthOf(prompt.split(Planted.initial), 2)
      assert.lengthOf(prompt.match(/\[user\]\nQuestion \d about \w+\?\n\n\[assistant\]\nno\n\nreward: 0\n/g) ?? [], 3)
      assert.lengthOf(prompt.match(/feedback: expected: yes/g) ?? [], 3)
    }).pipe(Effect.provide(Planted.layer)))

  it.effect("is asked again if its answer has no new instruction", () =>
    Effect.gen(function*() {
      const { prompts, reflector } = yield* scripted(
        "No idea.",
        written("x".repeat(20_001)),
        written(` ${Planted.initial} `),
        written("Mind: digits")
      )
      yield* drain({ reflector, reflectorAnswers: 4, run: { iterations: 1 } })
      assert.lengthOf(yield* Ref.get(prompts), 4)
      assert.deepInclude((yield* Planted.updates)[0], { "prompts/refused_answers": 3, "prompts/accepted": 1 })
    }).pipe(Effect.provide(Planted.layer)))

  it.effect("may not repeat the initial instruction, even if that was given with white space around it", () =>
    Effect.gen(function*() {
      const { reflector } = yield* scripted(written(Planted.initial))
      yield* drain({ instruction: ` ${Planted.initial}\n`, reflector, run: { iterations: 1 } })
      assert.deepInclude((yield* Planted.updates)[0], { "prompts/refused_answers": 3 })
      assert.strictEqual((yield* Planted.best)?.instruction, Planted.initial)
    }).pipe(Effect.provide(Planted.layer)))

  it.effect("is given up for an iteration after the allowed number of answers, with a warning", () =>
    Effect.gen(function*() {
      const { prompts, reflector } = yield* scripted("", written(Planted.initial))
      yield* drain({ reflector, run: { iterations: 2 } })
      assert.lengthOf(yield* Ref.get(prompts), 6)
      assert.deepStrictEqual((yield* Task.current(RunRecord.guards.Warning)).map(({ message }) => message), [
        "iteration 1: the reflector wrote no new instruction in 3 answers: 1 had none, 2 had one that was tried before",
        "iteration 2: the reflector wrote no new instruction in 3 answers: 3 had one that was tried before"
      ])
      assert.lengthOf(yield* Planted.updates, 2)
    }).pipe(Effect.provide(Planted.layer)))

  it.effect("fails the run with its own error if it fails", () =>
    Effect.gen(function*() {
      class Unreachable extends Data.TaggedError("Unreachable") {}
      const options = yield* Planted.options()
      const reflector = { respond: () => Effect.fail(new Unreachable()) }
      const error = yield* Effect.flip(Stream.runDrain(Prompts.run({ ...options, reflector })))
      assert.instanceOf(error, Unreachable)
      const [failed] = yield* Task.current(RunRecord.guards.Failed)
      assert.strictEqual(failed?.error, "Unreachable")
    }).pipe(Effect.provide(Planted.layer)))
})

describe("an interrupted run", () => {
  const story = Effect.all([Planted.updates, Planted.cursor])

  const isProposal = (iteration: number) => (record: RunRecord.RunRecord) =>
    record._tag === "Sampling" && record.proposal !== undefined && record.iteration === iteration

  it.effect("resumes to the same result, wherever it was interrupted", () =>
    Effect.gen(function*() {
      const run = { iterations: 4, saveEvery: 2 }
      const [expected, count] = yield* isolated(Effect.gen(function*() {
        const records = yield* Stream.runCollect(Planted.run({ run }))
        return [yield* story, records.length] as const
      }))
      for (let stop = 1; stop < count; stop += 4) {
        const resumed = yield* isolated(Effect.gen(function*() {
          yield* Stream.runDrain(Stream.take(Planted.run({ run }), stop))
          yield* drain({ run })
          return yield* story
        }))
        assert.deepStrictEqual(resumed, expected, `stopped after ${stop} records`)
      }
    }))

  it.effect("does not ask the reflector again for an instruction that it has recorded", () =>
    Effect.gen(function*() {
      const { prompts, reflector } = yield* scripted(...Planted.words.map((word) => written(`Mind: ${word}`)))
      const run = { iterations: 3 }
      yield* Stream.runDrain(Stream.takeUntil(Planted.run({ reflector, run }), isProposal(1)))
      assert.lengthOf(yield* Ref.get(prompts), 2)
      yield* drain({ reflector, run })
      assert.lengthOf(yield* Ref.get(prompts), 3)
      const proposals = (yield* Task.current(RunRecord.guards.Sampling)).flatMap(({ proposal }) => proposal ?? [])
      assert.deepStrictEqual(
        [...new Set(proposals.map(({ instruction }) => instruction))],
        Planted.words.map((word) => `Mind: ${word}`)
      )
    }).pipe(Effect.provide(Planted.layer)))

  /** Starts a run, and stores the records that a kill after the proposal of its second iteration would leave, if `isKept` keeps them. */
  const kill = (overrides: Parameters<typeof Planted.run>[0], isKept: (record: RunRecord.RunRecord) => boolean) =>
    Effect.gen(function*() {
      const { append } = yield* RunStore.RunStore
      const left = yield* isolated(Effect.gen(function*() {
        const run = Stream.takeUntil(Planted.run(overrides), isProposal(1))
        const records = yield* Stream.runCollect(run)
        const store = yield* RunStore.RunStore
        return yield* Effect.forEach(records.filter(isKept), (record) => {
          const payload = record.payload === undefined ? Effect.undefined : store.payload(record.payload)
          return Effect.map(payload, (payload) => ({ record, payload }))
        })
      }))
      yield* Effect.forEach(left, ({ payload, record }) => append(record, payload))
    })

  it.effect("does not ask the reflector again after answers that were all refused", () =>
    Effect.gen(function*() {
      const answers = ["", "", "", ...Planted.words.map((word) => written(`Mind: ${word}`))]
      const run = { iterations: 4, saveEvery: 4 }
      const expected = yield* isolated(Effect.gen(function*() {
        const { reflector } = yield* scripted(...answers)
        yield* drain({ reflector, run })
        return yield* story
      }))
      const { prompts, reflector } = yield* scripted(...answers)
      yield* kill({ reflector, run }, () => true)
      assert.lengthOf(yield* Ref.get(prompts), 4)
      yield* drain({ reflector, run })
      assert.lengthOf(yield* Ref.get(prompts), answers.length)
      assert.deepStrictEqual(yield* story, expected)
    }).pipe(Effect.provide(Planted.layer)))

  it.effect("reuses groups and proposals only for the instructions that they were recorded for", () =>
    Effect.gen(function*() {
      const run = { iterations: 2, saveEvery: 2 }
      const before = yield* scripted(written("Mind: digits"), written("Mind: digits, units"))
      yield* kill({ reflector: before.reflector, run }, (record) => !isProposal(0)(record))
      // The killed run lost its first proposal, so the resumed run asks the reflector again, which now answers differently.
      const { prompts, reflector } = yield* scripted(written("Mind: colours"), written("Mind: rhymes"))
      yield* drain({ reflector, run })
      assert.lengthOf(yield* Ref.get(prompts), 2)
      assert.deepStrictEqual(yield* Planted.cursor, {
        iteration: 2,
        rollouts: 18,
        pool: [{ instruction: Planted.initial, parent: null, scores: [0, 0, 0, 0, 0, 0] }]
      })
    }).pipe(Effect.provide(Planted.layer)))

  it.effect("is not resumed with another instruction to begin with", () =>
    Effect.gen(function*() {
      yield* drain({ run: { iterations: 1 } })
      const error = yield* Effect.flip(drain({ instruction: "Answer.", run: { iterations: 2 } }))
      assert.instanceOf(error, ResumeError.ResumeError)
      assert.include(error.message, "instruction")
    }).pipe(Effect.provide(Planted.layer)))
})

describe("the budget of episodes", () => {
  it.effect("is never exceeded, and an iteration that may not fit does not begin", () =>
    Effect.gen(function*() {
      for (const maxRollouts of [18, 23, 24, 36, 60]) {
        yield* isolated(Effect.gen(function*() {
          yield* drain({ maxRollouts })
          const groups = yield* Task.current(RunRecord.guards.GroupRolledOut)
          const used = groups.reduce((sum, { members }) => sum + members.length, 0)
          assert.isAtMost(used, maxRollouts)
          // After the first, an iteration uses at most 12 episodes: two minibatches of 3, and 6 to validate one instruction.
          assert.isAbove(used + 12, maxRollouts)
          assert.strictEqual((yield* Planted.updates).at(-1)?.["prompts/rollouts"], used)
          assert.strictEqual((yield* Task.current(RunRecord.guards.Finished))[0]?.reason, "completed")
        }))
      }
    }))

  it.effect("is refused if the first iteration may not fit", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(drain({ maxRollouts: 17 }))
      assert.strictEqual(
        error.message,
        "maxRollouts is 17, expected at least 18: the first iteration samples 2 minibatches of 3 episodes and may validate 2 "
          + "instructions on 6 episodes"
      )
    }).pipe(Effect.provide(Planted.layer)))

  it.effect("can be replaced by a budget of tokens, which includes those of the reflector", () =>
    Effect.gen(function*() {
      yield* drain({ run: { maxTokensTotal: 2000 } })
      const [finished] = yield* Task.current(RunRecord.guards.Finished)
      assert.strictEqual(finished?.reason, "max_tokens_total")
      assert.isAtMost((finished?.spent?.prefilled ?? NaN) + (finished?.spent?.sampled ?? NaN), 2000)
    }).pipe(Effect.provide(Planted.layer)))
})
