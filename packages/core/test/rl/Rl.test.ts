import { Rl, RunRecord, RunStore, TinkerError } from "@effect-rl/core"
import { AdaptiveLimiter, Usage } from "@effect-rl/core/backend"
import { Seed } from "@effect-rl/core/environments"
import type { Hooks } from "@effect-rl/core/program"
import { Call, Fault, Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option, Stream } from "effect"
import * as Scripted from "../rollout/Scripted.ts"
import * as Task from "./Task.ts"

const run = (overrides?: Task.Overrides) =>
  Stream.unwrap(Effect.map(Task.options(overrides), (options) => Rl.run(options)))

const updates = (records: ReadonlyArray<RunRecord.RunRecord>) => records.filter(RunRecord.guards.Updated)

const isUpdated = (iteration: number) => (record: RunRecord.RunRecord) =>
  record._tag === "Updated" && record.iteration === iteration

describe("Rl.run", () => {
  it.effect("samples, trains and saves in protocol order", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(run({ run: { saveEvery: 1 } }))
      assert.deepStrictEqual(yield* Task.trace, [
        "create_training_client(effect-rl/scripted, 32)",
        "snapshot",
        "forward_backward(8, importance_sampling)",
        "optim_step(0.01)",
        "save_state(000001)",
        "save_weights_for_sampler(000001)",
        "snapshot",
        "forward_backward(8, importance_sampling)",
        "optim_step(0.01)",
        "save_state(final)",
        "save_weights_for_sampler(final)"
      ])
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
        "Opened",
        "Sampling",
        "GroupRolledOut",
        "GroupRolledOut",
        "Credited",
        "Updated",
        "Saved",
        "Sampling",
        "GroupRolledOut",
        "GroupRolledOut",
        "Credited",
        "Updated",
        "Saved",
        "Finished"
      ])
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("reports exactly the reward of a policy that answers half of the problems", () =>
    Effect.gen(function*() {
      const [first] = updates(yield* Stream.runCollect(run()))
      assert.isDefined(first)
      assert.deepStrictEqual(first.reward, { mean: 0.5, standardError: 0 })
      assert.deepStrictEqual(first.updates.map(({ passes }) => passes.map(({ datums }) => datums)), [[8]])
      assert.deepInclude(first.metrics, {
        "env/all/correct": 0.5,
        "env/all/format": 1,
        "env/all/truncated": 0,
        "env/all/reward/total": 0.5,
        "groups/informative": 2,
        "optim/ratio_mean": 1,
        "optim/lr": 1e-2
      })
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("has the same numbers if a limiter's requests are rejected and repeated", () =>
    Effect.gen(function*() {
      const turnsAway = Fault.fail(new TinkerError.RateLimited({ retryAfterMillis: 1000 }))
      const faults = [Fault.call("Sample", 1, turnsAway)]
      const limiter = yield* AdaptiveLimiter.make
      const direct = yield* Stream.runCollect(run()).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf })))
      const limited = yield* Stream.runCollect(run()).pipe(
        Effect.provideService(AdaptiveLimiter.AdaptiveLimiter, limiter),
        Effect.provide(Task.layer({ sample: Task.answersHalf, faults })),
        Scripted.inTime
      )
      const numbers = (records: ReadonlyArray<RunRecord.RunRecord>) =>
        updates(records).map(({ metrics, reward }) => [reward, metrics["tokens/total_sampled"]])
      assert.deepStrictEqual(numbers(limited), numbers(direct))
      const { inUse, lastRateLimited, permits } = yield* limiter.state
      assert.deepStrictEqual([inUse, permits < 8, Option.isSome(lastRateLimited)], [0, true, true])
    }))

  it.effect("takes no optimizer step if all groups have equal rewards", () =>
    Effect.gen(function*() {
      const events = updates(yield* Stream.runCollect(run()))
      assert.deepStrictEqual(events.map(({ updates }) => updates), [[], []])
      assert.isFalse(
        (yield* Task.trace).some((call) => call.startsWith("forward_backward") || call.startsWith("optim_step"))
      )
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersNone }))))

  it.effect("queues each substep before it awaits the previous one", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ update: { substeps: 2 }, run: { iterations: 1 } }))
      assert.deepStrictEqual((yield* Task.trace).slice(2, 6), [
        "forward_backward(4, importance_sampling)",
        "optim_step(0.01)",
        "forward_backward(4, importance_sampling)",
        "optim_step(0.01)"
      ])
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("an episode of a run", () => {
  const cut = Script.reply(
    Task.tokenizer,
    () => ({ ...Task.say("2"), stopReason: "length" })
  )

  it.effect("gets at most reward 0 if it ended at a limit and zeroRewardOnLimit is set", () =>
    Effect.gen(function*() {
      const [plain] = updates(yield* Stream.runCollect(run({ run: { iterations: 1 } })))
      assert.isAbove(plain?.reward?.mean ?? NaN, 0)
      const clamped = run({ rollout: { termination: { zeroRewardOnLimit: true } }, run: { iterations: 1 } })
      const [first] = updates(
        yield* Stream.runCollect(clamped).pipe(Effect.provide(RunStore.RunStore.layerMemory, { local: true }))
      )
      assert.isAtMost(first?.reward?.mean ?? NaN, 0)
      assert.deepInclude(first?.metrics, { "env/all/stop/max_tokens": 1, "env/all/zero_reward_on_limit": 0.5 })
    }).pipe(Effect.provide(Task.layer({ sample: cut }))))

  it.effect("fits into the model's context: its turn may sample fewer tokens, or it ends", () =>
    Effect.gen(function*() {
      const asked = (contextLength: number) =>
        Effect.gen(function*() {
          const [iteration] = updates(yield* Stream.runCollect(run({ run: { iterations: 1 } })))
          const calls = yield* Call.CallLog.use(({ calls }) => calls)
          const requests = calls.flatMap((call) => call._tag === "Sample" ? [call.request] : [])
          return { iteration, requests }
        }).pipe(Effect.provide(
          Task.layer({ sample: Task.answersHalf, models: { [Script.defaultModel]: { contextLength } } }),
          { local: true }
        ))
      const prompt = (yield* asked(1000)).requests[0]?.prompt.length ?? NaN
      const caps = (yield* asked(prompt + 4)).requests.map(({ params }) => params.maxTokens)
      assert.deepStrictEqual(new Set(caps), new Set([4]))
      const { iteration, requests } = yield* asked(prompt + 1)
      assert.deepStrictEqual(requests, [])
      assert.deepInclude(iteration?.metrics, { "env/all/stop/max_tokens": 1 })
    }))

  it.effect("obeys the configured turn limit and calls the configured hook", () =>
    Effect.gen(function*() {
      const options = yield* Task.options({ rollout: { limits: { maxTurnTokens: 3 } }, run: { iterations: 1 } })
      const ended: Array<string> = []
      const hooks = { onGrade: ({ key }: Hooks.State) => Effect.sync(() => void ended.push(key.group)) }
      yield* Stream.runDrain(Rl.run({ ...options, rollout: { ...options.rollout, hooks } }))
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      const most = calls.flatMap((call) => call._tag === "Sample" ? [call.request.params.maxTokens] : [])
      assert.deepStrictEqual(new Set(most), new Set([3]))
      assert.lengthOf(ended, 8)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("a run that ends early", () => {
  it.effect("saves finished work before the stream ends", () =>
    Effect.gen(function*() {
      yield* run({ epochs: 4 }).pipe(
        Stream.takeUntil(isUpdated(2)),
        Stream.runDrain
      )
      const [saved] = yield* Task.current(RunRecord.guards.Saved)
      assert.deepInclude(saved, { name: "000003", kind: "interrupted", iteration: 3, optimizerSteps: 3 })
      const last = (yield* Task.records).at(-1)
      assert.deepInclude(last, { _tag: "Finished", reason: "interrupted", iteration: 3 })
      assert.deepStrictEqual(yield* Task.live, {})
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("does not save a partially failed update", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(run()))
      assert.strictEqual(error._tag, "TinkerError")
      assert.deepStrictEqual(yield* Task.current(RunRecord.guards.Saved), [])
      assert.deepInclude((yield* Task.records).at(-1), { _tag: "Failed", iteration: 0, error: "TinkerError" })
      assert.deepStrictEqual(yield* Task.live, {})
    }).pipe(Effect.provide(Task.layer({
      sample: Task.answersHalf,
      faults: [Fault.call("OptimStep", 0, Fault.fail(new TinkerError.Unavailable({ detail: "gone" })))]
    }))))
})

describe("an interruption of a run", () => {
  it.effect(
    "at any of 200 points leaks nothing, saves finished work, and loses nothing on resuming",
    () =>
      Effect.gen(function*() {
        const next = Seed.uniform(7)
        let partial = 0
        for (let attempt = 0; attempt < 200; attempt++) {
          yield* Effect.gen(function*() {
            const fiber = yield* Effect.forkChild(Stream.runDrain(run({ epochs: 2, groupSize: 2 })))
            const pauses = Math.floor(next() * 40)
            for (let pause = 0; pause < pauses; pause++) yield* Effect.yieldNow
            yield* Fiber.interrupt(fiber)
            assert.deepStrictEqual(yield* Task.live, {})
            const saved = (yield* Task.current(RunRecord.guards.Saved)).at(-1)?.iteration ?? 0
            assert.lengthOf(yield* Task.current(RunRecord.guards.Updated), saved)
            if (saved > 0 && saved < 4) partial++
            const [opened] = yield* Stream.runCollect(Stream.take(run({ epochs: 2, groupSize: 2 }), 1))
            assert.deepInclude(opened, { _tag: "Opened", iteration: saved })
          }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }), { local: true }))
        }
        assert.isAbove(partial, 50, "most interruptions fall inside the run")
      })
  )
})

describe("resuming a run", () => {
  it.effect("yields the numbers of an uninterrupted run", () =>
    Effect.gen(function*() {
      const withoutTime = ({ metrics }: RunRecord.Updated) =>
        Object.entries(metrics).filter(([name]) => !name.startsWith("time/"))
      const whole = yield* Stream.runCollect(run({ epochs: 3 })).pipe(Effect.provide(Task.layer()))
      const pieces = yield* Effect.gen(function*() {
        const first = yield* run({ epochs: 3 }).pipe(
          Stream.takeUntil(isUpdated(3)),
          Stream.runCollect
        )
        const second = yield* Stream.runCollect(run({ epochs: 3 }))
        assert.deepInclude(second[0], { _tag: "Opened", iteration: 4 })
        return [...first, ...second]
      }).pipe(Effect.provide(Task.layer()))
      assert.deepStrictEqual(updates(pieces).map(withoutTime), updates(whole).map(withoutTime))
    }))

  it.effect("neither samples nor trains if the run is finished", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run())
      const before = yield* Task.trace
      const events = yield* Stream.runCollect(run())
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["Opened", "Finished"])
      assert.lengthOf(yield* Task.trace, before.length + 1)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("falls back to the previous checkpoint if the latest is gone, and names the broken one", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ epochs: 2, run: { iterations: 2, saveEvery: 1 } }))
      const error = yield* Effect.flip(Stream.runDrain(run({ epochs: 2 })))
      assert.strictEqual(error._tag, "ResumeError")
      assert.include(error.message, "memory: checkpoint final cannot be resumed from: it is cut off; delete ")
      const [opened] = yield* Stream.runCollect(Stream.take(run({ epochs: 2 }), 1))
      assert.deepInclude(opened, { _tag: "Opened", iteration: 1 })
    }).pipe(Effect.provide(Task.layer({
      sample: Task.answersHalf,
      faults: [
        Fault.call(
          "CreateTrainingClientFromState",
          0,
          Fault.fail(new TinkerError.Rejected({ detail: "it is cut off" }))
        ),
        Fault.call(
          "CreateTrainingClientFromState",
          1,
          Fault.fail(new TinkerError.NotFound({ kind: "checkpoint", name: "final", available: [] }))
        )
      ]
    }))))

  it.effect("refuses another configuration and names the field", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ run: { iterations: 1 } }))
      const error = yield* Effect.flip(Stream.runDrain(run({ update: { learningRate: 0.5 } })))
      assert.include(error.message, "learning_rate 0.01, now it is 0.5")
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("refuses a backend with another loss reduction, which changes the meaning of the learning rate", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ run: { iterations: 1 } }))
      const { model, ...options } = yield* Task.options()
      const elsewhere = { ...model, capabilities: { ...model.capabilities, lossReduction: "sequence-mean" } as const }
      const error = yield* Effect.flip(Stream.runDrain(Rl.run({ ...options, model: elsewhere })))
      assert.strictEqual(error._tag === "ResumeError" ? error.reason._tag : error._tag, "ResumeMismatch")
      assert.include(error.message, `loss_reduction "token-sum", now it is "sequence-mean"`)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("an option of the rollouts", () => {
  it.effect.each(
    [
      [{ rollout: { limits: { maxTurns: 3 } } }, "started with limits"],
      [{ rollout: { limits: { rolloutTimeout: "1 minute" } } }, "started with limits"],
      [{ rollout: { termination: { zeroRewardOnLimit: true } } }, "started with termination"]
    ] as const
  )("must not change on resuming if it determines the data: %j", ([overrides, message]) =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ run: { iterations: 1 } }))
      const error = yield* Effect.flip(Stream.runDrain(run(overrides)))
      assert.include(error.message, message)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("may change on resuming if it is a timeout that only decides which attempts fail", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(
        run({ rollout: { limits: { maxTurns: 3, turnTimeout: "1 minute" } }, run: { iterations: 1 } })
      )
      const events = yield* Stream.runCollect(
        run({
          rollout: {
            limits: { maxTurns: 3, stepTimeout: "1 hour" },
            memberTimeout: "1 hour",
            graderTimeout: "1 hour"
          }
        })
      )
      assert.deepInclude(events[0], { _tag: "Opened", iteration: 1 })
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("a token budget", () => {
  it.effect("is never exceeded, and ends the run with a checkpoint", () =>
    Effect.gen(function*() {
      const maxTokensTotal = 1500
      const events = yield* Stream.runCollect(run({ epochs: 10, run: { maxTokensTotal } }))
      const last = events.at(-1)
      assert.deepInclude(last, { _tag: "Finished", reason: "max_tokens_total" })
      const spent = updates(events).at(-1)?.spent
      assert.isDefined(spent)
      assert.isAtMost(Usage.total(spent), maxTokensTotal)
      assert.isAbove(updates(events).length, 0)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("a configuration", () => {
  it.effect.each(
    [
      ["update.learningRate is NaN", { update: { learningRate: NaN } }],
      ["update.substeps is 1.5", { update: { substeps: 1.5 } }],
      ["update.adam.beta1 is 2", { update: { adam: { beta1: 2 } } }],
      ["sampling.maxTokens is 0", { sampling: { maxTokens: 0 } }],
      ["sampling.maxTokens is 512, expected less than the context of 512", { sampling: { maxTokens: 512 } }],
      ["sampling.temperature is 0.7", { sampling: { temperature: 0.7 } }],
      ["sampling.topK is 5", { sampling: { topK: 5 } }],
      ["lora.rank is 500, expected a whole number from 1 to 128", { lora: { rank: 500 } }],
      ["run.saveEvery is -1", { run: { saveEvery: -1 } }],
      ["run.maxTokensTotal is 0", { run: { maxTokensTotal: 0 } }],
      ["run.interruptTimeout is 0, expected a time above 0", { run: { interruptTimeout: 0 } }],
      ["rollout.maxDroppedShare is 1.1, expected a number from 0 up to 1", { rollout: { maxDroppedShare: 1.1 } }],
      ["rollout.limits.maxTurns is 0, expected a whole number of at least 1", { rollout: { limits: { maxTurns: 0 } } }],
      ["rollout.limits.rolloutTimeout is 0, expected a time above 0", { rollout: { limits: { rolloutTimeout: 0 } } }],
      ["rollout.graderTimeout is -1, expected a time above 0", { rollout: { graderTimeout: -1 } }],
      ["rollout.memberTimeout is \"0 seconds\", expected a time above 0", { rollout: { memberTimeout: "0 seconds" } }]
    ] as const
  )("that is invalid is refused: %s", ([message, overrides]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(run(overrides)))
      assert.strictEqual(error._tag, "InvalidOption")
      assert.include(error.message, message)
    }).pipe(Effect.provide(Task.layer())))

  it.effect("with a duplicate group key is refused before sampling", () =>
    Effect.gen(function*() {
      const options = yield* Task.options()
      const dataset = {
        ...options.dataset,
        batch: () => Effect.map(options.dataset.batch(0, 0), (batch) => [...batch, ...batch])
      }
      const error = yield* Effect.flip(Stream.runDrain(Rl.run({ ...options, dataset })))
      assert.strictEqual(
        error.message,
        "key is \"sum/0\" twice, expected a key of its own for each group of a batch, such as one with the index of its row"
      )
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})
