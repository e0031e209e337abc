import { EventLog, LeakAudit, Simulation } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Option, Queue } from "effect"

const write = (lane: string, what: string) => EventLog.EventLog.use((log) => log.write(lane, what))

const during = (lane: string, what: string) => <A, E, R>(self: Effect.Effect<A, E, R>) =>
  EventLog.EventLog.use((log) => log.during(lane, what)(self))

/** Five fibers that take turns and record each step. */
const walkers = Effect.forEach(
  [0, 1, 2, 3, 4],
  (walker) =>
    Effect.gen(function*() {
      for (let step = 0; step < 4; step++) {
        yield* write(`walker ${walker}`, `step ${step}`)
        yield* Effect.sleep(walker % 2 === 0 ? 10 : 0)
      }
    }),
  { concurrency: "unbounded", discard: true }
)

const order = ({ events }: Simulation.Simulation<unknown, unknown>) =>
  events.map(({ lane, what }) => lane + what).join()

describe("the time of a simulation", () => {
  it.effect("advances automatically to the next due fiber", () =>
    Effect.gen(function*() {
      const woken = Effect.gen(function*() {
        yield* Effect.sleep("10 minutes")
        const first = yield* Clock.currentTimeMillis
        yield* Effect.sleep("1 second")
        return [first, yield* Clock.currentTimeMillis]
      })
      const { exit, millis } = yield* Simulation.run(1, woken)
      assert.deepStrictEqual(exit, Option.some(Exit.succeed([600_000, 601_000])))
      assert.strictEqual(millis, 601_000)
    }))

  it.effect("waits until nothing else can happen, including promises", () =>
    Effect.gen(function*() {
      const program = Effect.gen(function*() {
        const slow = yield* Effect.forkChild(Effect.sleep(1))
        for (let turn = 0; turn < 100; turn++) yield* Effect.yieldNow
        yield* Effect.promise(() => Promise.resolve())
        assert.isUndefined(slow.pollUnsafe())
        yield* Fiber.join(slow)
        return yield* Clock.currentTimeMillis
      })
      const { exit } = yield* Simulation.run(1, program)
      assert.deepStrictEqual(exit, Option.some(Exit.succeed(1)))
    }))

  it.effect("does not affect the clock of outside programs", () =>
    Effect.gen(function*() {
      yield* Simulation.run(1, Effect.sleep("1 minute"))
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
    }))
})

describe("the seed of a simulation", () => {
  it.effect("determines the order of turns: equal seeds give equal events", () =>
    Effect.gen(function*() {
      for (let seed = 0; seed < 20; seed++) {
        const [first, second] = [yield* Simulation.run(seed, walkers), yield* Simulation.run(seed, walkers)]
        assert.deepStrictEqual(first.events, second.events)
        assert.strictEqual(first.tasks, second.tasks)
      }
    }))

  it.effect("yields many different orders, all with the same hash", () =>
    Effect.gen(function*() {
      const runs = yield* Effect.forEach(Array.from({ length: 20 }, (_, seed) => seed), (seed) =>
        Simulation.run(seed, walkers))
      assert.isAbove(new Set(runs.map(order)).size, 15)
      assert.strictEqual(
        new Set(runs.map(({ hash }) =>
          hash
        )).size,
        1
      )
    }))

  it.effect("reveals results that depend on the order of turns", () =>
    Effect.gen(function*() {
      const race = Effect.gen(function*() {
        const queue = yield* Queue.unbounded<string>()
        const offer = (name: string) => Effect.andThen(Effect.yieldNow, Queue.offer(queue, name))
        yield* Effect.forEach(["left", "right"], offer, { concurrency: "unbounded" })
        yield* write("race", yield* Queue.take(queue))
      })
      const runs = yield* Effect.forEach(Array.from({ length: 20 }, (_, seed) => seed), (seed) =>
        Simulation.run(seed, race))
      assert.strictEqual(
        new Set(runs.map(({ hash }) =>
          hash
        )).size,
        2
      )
    }))
})

describe("a hang of a simulated program", () => {
  it.effect("is detected at the deadline, with the pending work", () =>
    Effect.gen(function*() {
      const program = Effect.all([
        during("member 0", "play")(Effect.sleep("1 minute")),
        during("member 1", "play")(Effect.sleep("2 hours"))
      ], { concurrency: "unbounded" })
      const { events, exit, hang } = yield* Simulation.run(1, program, { deadline: "30 minutes" })
      assert.deepStrictEqual(Option.getOrUndefined(hang), {
        millis: 60_000,
        pending: [{ lane: "member 1", what: "play", millis: 0 }]
      })
      assert.isTrue(Option.isSome(exit) && Exit.hasInterrupts(exit.value))
      assert.deepStrictEqual([...EventLog.lanes(events)], [
        ["member 0", ["play", "play: done"]],
        ["member 1", ["play", "play: interrupted"]]
      ])
    }))

  it.effect("is detected immediately if no fiber can ever wake up", () =>
    Effect.gen(function*() {
      const { exit, hang } = yield* Simulation.run(1, Effect.flatMap(Deferred.make<void>(), Deferred.await))
      assert.isTrue(Option.isSome(hang))
      assert.isTrue(Option.isSome(exit))
    }))

  it.effect("is detected even if interruption has no effect", () =>
    Effect.gen(function*() {
      const { exit, leakedFibers } = yield* Simulation.run(1, Effect.uninterruptible(Effect.never))
      assert.isTrue(Option.isNone(exit))
      assert.strictEqual(leakedFibers, 1)
    }))

  it.effect("is detected if a program loops forever", () =>
    Effect.gen(function*() {
      const { hang } = yield* Simulation.run(1, Effect.forever(Effect.yieldNow))
      assert.isTrue(Option.isSome(hang))
    }))
})

describe("the fibers of a simulated program", () => {
  it.effect("are counted if they outlive the program", () =>
    Effect.gen(function*() {
      const { leakedFibers } = yield* Simulation.run(1, Effect.forkDetach(Effect.never))
      assert.strictEqual(leakedFibers, 1)
      const sound = yield* Simulation.run(1, Effect.forkChild(Effect.never))
      assert.strictEqual(sound.leakedFibers, 0)
    }))
})

describe("an interruption of a simulated program", () => {
  it.effect("can occur after any number of tasks, and repeats at the same point", () =>
    Effect.gen(function*() {
      const { tasks } = yield* Simulation.run(3, walkers)
      const ends = new Set<string>()
      for (let interruptAfter = 1; interruptAfter < tasks; interruptAfter++) {
        const [first, second] = [
          yield* Simulation.run(3, walkers, { interruptAfter }),
          yield* Simulation.run(3, walkers, { interruptAfter })
        ]
        assert.isTrue(Option.isSome(first.exit) && Exit.hasInterrupts(first.exit.value))
        assert.strictEqual(order(first), order(second))
        ends.add(order(first))
      }
      assert.isAbove(ends.size, tasks / 4)
    }))
})

it.effect("a simulated crash releases nothing and has no exit", () =>
  Effect.gen(function*() {
    const audit = yield* LeakAudit.LeakAudit.make
    const program = Effect.scoped(Effect.andThen(audit.track("sandbox", Effect.void), walkers))
    const { tasks } = yield* Simulation.run(3, program)
    assert.deepStrictEqual(LeakAudit.live(yield* audit.counts), {})
    const crashed = yield* Simulation.run(3, program, { crashAfter: tasks - 1 })
    assert.isTrue(Option.isNone(crashed.exit) && Option.isNone(crashed.hang))
    assert.strictEqual(crashed.tasks, tasks - 1)
    assert.deepStrictEqual(LeakAudit.live(yield* audit.counts), { sandbox: 1 })
  }))
