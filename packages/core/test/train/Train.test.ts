import { AdaptiveLimiter, type Hooks, RunStore, Seed, TinkerError, Train } from "@effect-rl/core"
import { Call, Fault, LeakAudit, Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option, Stream } from "effect"
import * as Scripted from "../rollout/Scripted.ts"
import * as Task from "./Task.ts"

const run = (overrides?: Parameters<typeof Task.config>[0]) =>
  Stream.unwrap(Effect.map(Task.config(overrides), (config) => Train.run(config)))

const iterations = (events: ReadonlyArray<Train.Event>) => events.filter((event) => event._tag === "Iteration")

const trace = Call.CallLog.use(({ calls }) => calls).pipe(
  Effect.map((calls) => calls.filter(({ _tag }) => _tag !== "Sample").map(Call.describe))
)

const live = Effect.map(LeakAudit.LeakAudit.use(({ counts }) => counts), LeakAudit.live)

const stored = (series: RunStore.Series) => RunStore.RunStore.use((store) => store.read(series))

describe("Train.run", () => {
  it.effect("samples, trains and saves in the order of the protocol", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(run({ saveEvery: 1 }))
      assert.deepStrictEqual(yield* trace, [
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
        "Started",
        "GroupFinished",
        "GroupFinished",
        "Iteration",
        "Saved",
        "GroupFinished",
        "GroupFinished",
        "Iteration",
        "Finished"
      ])
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("reports exactly what a policy that answers half of them earns", () =>
    Effect.gen(function*() {
      const [first] = iterations(yield* Stream.runCollect(run()))
      assert.isDefined(first)
      assert.strictEqual(first.meanReward, 0.5)
      assert.strictEqual(first.rewardStandardError, 0)
      assert.strictEqual(first.informative, 2)
      assert.strictEqual(first.datums, 8)
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

  it.effect("gives the same numbers through a limiter that the backend turns away, and with first turns together", () =>
    Effect.gen(function*() {
      const turnsAway = Fault.fail(new TinkerError.RateLimited({ retryAfterMillis: 1000 }))
      const faults = [Fault.call("Sample", 1, turnsAway)]
      const limiter = yield* AdaptiveLimiter.make
      const direct = yield* Stream.runCollect(run()).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf })))
      const limited = yield* Stream.runCollect(run({ coalesceFirstTurns: true })).pipe(
        Effect.provideService(AdaptiveLimiter.AdaptiveLimiter, limiter),
        Effect.provide(Task.layer({ sample: Task.answersHalf, faults })),
        Scripted.inTime
      )
      const numbers = (events: ReadonlyArray<Train.Event>) =>
        iterations(events).map(({ meanReward, metrics }) => [meanReward, metrics["tokens/total_sampled"]])
      assert.deepStrictEqual(numbers(limited), numbers(direct))
      const { inUse, lastRateLimited, permits } = yield* limiter.state
      assert.deepStrictEqual([inUse, permits < 8, Option.isSome(lastRateLimited)], [0, true, true])
    }))

  it.effect("takes no step without a signal", () =>
    Effect.gen(function*() {
      const events = iterations(yield* Stream.runCollect(run()))
      assert.deepStrictEqual(events.map(({ datums, optimizerSteps }) => [datums, optimizerSteps]), [[0, 0], [0, 0]])
      assert.isFalse(
        (yield* trace).some((call) => call.startsWith("forward_backward") || call.startsWith("optim_step"))
      )
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersNone }))))

  it.effect("queues each substep before it awaits the one before", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ numSubsteps: 2, maxSteps: 1 }))
      assert.deepStrictEqual((yield* trace).slice(2, 6), [
        "forward_backward(4, importance_sampling)",
        "optim_step(0.01)",
        "forward_backward(4, importance_sampling)",
        "optim_step(0.01)"
      ])
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("What an episode may do and is worth", () => {
  const cut = Script.reply(
    Task.tokenizer,
    () => ({ ...Task.say("2"), stopReason: "length" })
  )

  it.effect("G25: is said by the configuration: what ends at a limit can be worth nothing", () =>
    Effect.gen(function*() {
      const [plain] = iterations(yield* Stream.runCollect(run({ maxSteps: 1 })))
      assert.isAbove(plain?.meanReward ?? NaN, 0)
      const clamped = run({ maxSteps: 1, termination: { zeroRewardOnLimit: true } })
      const [first] = iterations(
        yield* Stream.runCollect(clamped).pipe(Effect.provide(RunStore.RunStore.layerMemory, { local: true }))
      )
      assert.isAtMost(first?.meanReward ?? NaN, 0)
      assert.deepInclude(first?.metrics, { "env/all/stop/max_tokens": 1, "env/all/zero_reward_on_limit": 0.5 })
    }).pipe(Effect.provide(Task.layer({ sample: cut }))))

  it.effect("C1: is no longer than the model's context, where a turn is cut and an episode ends", () =>
    Effect.gen(function*() {
      const asked = (contextLength: number) =>
        Effect.gen(function*() {
          const [iteration] = iterations(yield* Stream.runCollect(run({ maxSteps: 1 })))
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

  it.effect("is limited and listened to as it says", () =>
    Effect.gen(function*() {
      const config = yield* Task.config({ maxSteps: 1, limits: { maxTurnTokens: 3 } })
      const ended: Array<string> = []
      const hooks = { onGrade: ({ key }: Hooks.State) => Effect.sync(() => void ended.push(key.group)) }
      yield* Stream.runDrain(Train.run({ ...config, hooks }))
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      const most = calls.flatMap((call) => call._tag === "Sample" ? [call.request.params.maxTokens] : [])
      assert.deepStrictEqual(new Set(most), new Set([3]))
      assert.lengthOf(ended, 8)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("Ending early", () => {
  it.effect("saves what is done before the stream ends", () =>
    Effect.gen(function*() {
      yield* run({ epochs: 4 }).pipe(
        Stream.takeUntil((event) => event._tag === "Iteration" && event.iteration === 2),
        Stream.runDrain
      )
      const [record] = yield* stored("checkpoints")
      assert.deepInclude(record, { name: "000003", batch: 3, optimizer_steps: 3 })
      assert.deepStrictEqual(yield* live, {})
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("does not save an update that failed half-way", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(run()))
      assert.strictEqual(error._tag, "TinkerError")
      assert.deepStrictEqual(yield* stored("checkpoints"), [])
      assert.deepStrictEqual(yield* live, {})
    }).pipe(Effect.provide(Task.layer({
      sample: Task.answersHalf,
      faults: [Fault.call("OptimStep", 0, Fault.fail(new TinkerError.Unavailable({ detail: "gone" })))]
    }))))
})

describe("Interruption", () => {
  it.effect(
    "at any of 200 points leaks nothing, saves what is done, and loses nothing on resuming",
    () =>
      Effect.gen(function*() {
        const next = Seed.uniform(7)
        let partial = 0
        for (let attempt = 0; attempt < 200; attempt++) {
          yield* Effect.gen(function*() {
            const fiber = yield* Effect.forkChild(Stream.runDrain(run({ epochs: 2, size: 2 })))
            const pauses = Math.floor(next() * 40)
            for (let pause = 0; pause < pauses; pause++) yield* Effect.yieldNow
            yield* Fiber.interrupt(fiber)
            assert.deepStrictEqual(yield* live, {})
            const saved = Number((yield* stored("checkpoints")).at(-1)?.["batch"] ?? 0)
            assert.strictEqual(saved, (yield* stored("metrics")).length)
            if (saved > 0 && saved < 4) partial++
            const [started] = yield* Stream.runCollect(Stream.take(run({ epochs: 2, size: 2 }), 1))
            assert.deepInclude(started, { _tag: "Started", iteration: saved })
          }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }), { local: true }))
        }
        assert.isAbove(partial, 50, "most interruptions fall inside the run")
      }),
    60_000
  )
})

describe("Resuming", () => {
  it.effect("gives the numbers of a run that was never interrupted", () =>
    Effect.gen(function*() {
      const withoutTime = (event: Train.Iteration) =>
        Object.entries(event.metrics).filter(([name]) => !name.startsWith("time/"))
      const whole = yield* Stream.runCollect(run({ epochs: 3 })).pipe(Effect.provide(Task.layer()))
      const pieces = yield* Effect.gen(function*() {
        const first = yield* run({ epochs: 3 }).pipe(
          Stream.takeUntil((event) => event._tag === "Iteration" && event.iteration === 3),
          Stream.runCollect
        )
        const second = yield* Stream.runCollect(run({ epochs: 3 }))
        assert.deepInclude(second[0], { _tag: "Started", iteration: 4 })
        return [...first, ...second]
      }).pipe(Effect.provide(Task.layer()))
      assert.deepStrictEqual(iterations(pieces).map(withoutTime), iterations(whole).map(withoutTime))
    }))

  it.effect("of a finished run does nothing again", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run())
      const before = yield* trace
      const events = yield* Stream.runCollect(run())
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["Started", "Finished"])
      assert.lengthOf(yield* trace, before.length + 1)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("goes on from the checkpoint before one that is gone, and says which one is broken", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ epochs: 2, maxSteps: 2, saveEvery: 1 }))
      const error = yield* Effect.flip(Stream.runDrain(run({ epochs: 2 })))
      assert.strictEqual(error._tag, "RunError")
      assert.strictEqual(
        error.message,
        "memory: checkpoint final cannot be resumed from: it is cut off; remove its record to go on from the one before"
      )
      const [started] = yield* Stream.runCollect(Stream.take(run({ epochs: 2 }), 1))
      assert.deepInclude(started, { _tag: "Started", iteration: 1 })
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
      yield* Stream.runDrain(run({ maxSteps: 1 }))
      const error = yield* Effect.flip(Stream.runDrain(run({ learningRate: 0.5 })))
      assert.include(error.message, "learning_rate 0.01, now it is 0.5")
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("refuses a backend whose losses are reduced otherwise, as the same learning rate is another one there", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ maxSteps: 1 }))
      const { dataset, model, ...config } = yield* Task.config()
      const elsewhere = { ...model, capabilities: { ...model.capabilities, lossReduction: "sequence-mean" } as const }
      const error = yield* Effect.flip(Stream.runDrain(Train.run({ ...config, dataset, model: elsewhere })))
      assert.strictEqual(error._tag === "TrainError" ? error.reason._tag : error._tag, "ResumeMismatch")
      assert.include(error.message, `loss_reduction "token-sum", now it is "sequence-mean"`)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("What decides the data", () => {
  it.effect.each(
    [
      [{ limits: { maxTurns: 3 } }, "started with limits"],
      [{ limits: { rolloutTimeout: "1 minute" } }, "started with limits"],
      [{ termination: { zeroRewardOnLimit: true } }, "started with termination"]
    ] as const
  )("must be as it was on resuming: %s", ([overrides, message]) =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ maxSteps: 1 }))
      const error = yield* Effect.flip(Stream.runDrain(run(overrides)))
      assert.include(error.message, message)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("and what only decides what fails may change", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ maxSteps: 1, limits: { maxTurns: 3, turnTimeout: "1 minute" } }))
      const events = yield* Stream.runCollect(
        run({ limits: { maxTurns: 3, stepTimeout: "1 hour" }, memberTimeout: "1 hour", graderTimeout: "1 hour" })
      )
      assert.deepInclude(events[0], { _tag: "Started", iteration: 1 })
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("A token budget", () => {
  it.effect("is never exceeded, and ends the run with a checkpoint", () =>
    Effect.gen(function*() {
      const maxTokensTotal = 1500
      const events = yield* Stream.runCollect(run({ epochs: 10, maxTokensTotal }))
      const last = events.at(-1)
      assert.deepInclude(last, { _tag: "Finished", reason: "max_tokens_total" })
      const [record] = (yield* stored("checkpoints")).slice(-1)
      const used = Option.getOrThrow(Option.fromNullishOr(record))["tokens"]
      assert.isObject(used)
      const total = Object.values(used ?? {}).reduce((sum: number, tokens) => sum + Number(tokens), 0)
      assert.isAtMost(total, maxTokensTotal)
      assert.isAbove(iterations(events).length, 0)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("A configuration", () => {
  it.effect.each(
    [
      [{ learningRate: NaN }, "learningRate is NaN"],
      [{ maxTokens: 0 }, "maxTokens is 0"],
      [{ maxTokens: 512 }, "less than the context of 512"],
      [{ loraRank: 500 }, "loraRank is 500, expected from 1 to 128"],
      [{ numSubsteps: 1.5 }, "numSubsteps is 1.5"],
      [{ temperature: 0.7 }, "temperature is 0.7"],
      [{ topK: 5 }, "topK is 5"],
      [{ saveEvery: -1 }, "saveEvery is -1"],
      [{ maxTokensTotal: 0 }, "maxTokensTotal is 0"],
      [{ maxDroppedShare: 1.1 }, "maxDroppedShare is 1.1, expected a number from 0 to 1"],
      [{ limits: { maxTurns: 0 } }, "limits.maxTurns is 0, expected a whole number from 1 on"],
      [{ limits: { rolloutTimeout: 0 } }, "limits.rolloutTimeout is 0, expected a time above 0"],
      [{ graderTimeout: -1 }, "graderTimeout is -1, expected a time above 0"],
      [{ memberTimeout: "0 seconds" }, "memberTimeout is 0 seconds, expected a time above 0"]
    ] as const
  )("no run can be made of is refused: %s", ([overrides, message]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(run(overrides)))
      assert.strictEqual(error._tag, "TrainError")
      assert.include(error.message, message)
    }).pipe(Effect.provide(Task.layer())))

  it.effect("whose groups share a key is refused before anything is sampled", () =>
    Effect.gen(function*() {
      const config = yield* Task.config()
      const dataset = {
        ...config.dataset,
        batch: () => Effect.map(config.dataset.batch(0, 0), (batch) => [...batch, ...batch])
      }
      const error = yield* Effect.flip(Stream.runDrain(Train.run({ ...config, dataset })))
      assert.strictEqual(
        error.message,
        "key is \"sum/0\" twice, expected a key of its own for each group"
      )
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})
