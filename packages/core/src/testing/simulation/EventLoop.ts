/** Runs fibers task by task in an order drawn from a seed. Its clock advances only when no task is ready. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Scheduler from "effect/Scheduler"
import * as Draw from "../Draw.ts"

type Task = () => void

interface Sleeper {
  readonly due: number
  readonly wake: Task
}

export interface EventLoop {
  /** Adds this loop's scheduler, clock and fiber counter to a context. */
  readonly context: <R>(context: Context.Context<R>) => Context.Context<R>
  /** The virtual time in milliseconds. */
  readonly now: () => number
  /** Runs one ready task; false if none is ready. */
  readonly turn: () => boolean
  readonly isIdle: () => boolean
  /** The time at which the next sleeping fiber is due; `Infinity` if none sleeps. */
  readonly nextDue: () => number
  /** Sets the clock to the time at which the next sleeping fibers are due, and makes them ready. */
  readonly advance: () => void
  /** The number of fibers that started on this loop and have not ended. */
  readonly fibers: () => number
}

/** A queue of ready tasks: lower priorities run first, and equal priorities in random order, because fibers have no guaranteed order. */
const makeReady = (draw: Draw.Draw) => {
  const byPriority = new Map<number, Array<Task>>()
  let size = 0
  const first = () => {
    const waiting = Array.from(byPriority).filter(([, tasks]) => tasks.length > 0)
    return waiting.toSorted(([left], [right]) => left - right)[0]?.[1] ?? []
  }
  return {
    isEmpty: () => size === 0,
    add: (task: Task, priority: number) => {
      const tasks = byPriority.get(priority) ?? []
      byPriority.set(priority, tasks)
      tasks.push(task)
      size++
    },
    take: (): Task | undefined => {
      if (size === 0) return undefined
      const tasks = byPriority.size === 1 ? byPriority.values().next().value ?? [] : first()
      const at = draw.integer(0, tasks.length - 1)
      const task = tasks[at]
      const last = tasks.pop()
      if (last !== undefined && at < tasks.length) tasks[at] = last
      size--
      return task
    }
  }
}

const makeClock = (ready: (task: Task) => void) => {
  const sleepers: Array<Sleeper> = []
  let now = 0
  const insert = (sleeper: Sleeper) => {
    const at = sleepers.findLastIndex(({ due }) => due <= sleeper.due)
    sleepers.splice(at + 1, 0, sleeper)
  }
  const remove = (sleeper: Sleeper) => {
    const at = sleepers.indexOf(sleeper)
    if (at !== -1) sleepers.splice(at, 1)
  }
  const nanos = () => BigInt(Math.round(now * 1e6))
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => now,
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.callback<void>((resume) => {
        const sleeper = { due: now + Math.max(0, Duration.toMillis(duration)), wake: () => resume(Effect.void) }
        insert(sleeper)
        return Effect.sync(() => remove(sleeper))
      })
  }
  return {
    clock,
    nextDue: () => sleepers[0]?.due ?? Infinity,
    advance: () => {
      now = Math.max(now, sleepers[0]?.due ?? now)
      while (sleepers[0] !== undefined && sleepers[0].due <= now) ready(sleepers.shift()?.wake ?? (() => {}))
    }
  }
}

/** Makes an event loop. A fiber yields after `yieldEvery` operations; by default, the number is drawn from the seed. */
export const make = (seed: number, yieldEvery?: number): EventLoop => {
  const draw = Draw.make(seed, "event loop")
  const ready = makeReady(draw)
  const { advance, clock, nextDue } = makeClock((task) => ready.add(task, 0))
  const operations = yieldEvery ?? draw.oneOf([16, 64, 2048])
  let fibers = 0
  const metrics: Metric.FiberRuntimeMetricsService = {
    recordFiberStart: () => void fibers++,
    recordFiberEnd: () => void fibers--
  }
  const turn = () => {
    const task = ready.take()
    task?.()
    return task !== undefined
  }
  const flush = () => {
    while (turn());
  }
  const scheduler: Scheduler.Scheduler = {
    executionMode: "async",
    shouldYield: (fiber) => fiber.currentOpCount >= operations,
    makeDispatcher: () => ({ scheduleTask: ready.add, flush })
  }
  return {
    context: (context) =>
      context.pipe(
        Context.add(Clock.Clock, clock),
        Context.add(Scheduler.Scheduler, scheduler),
        Context.add(Metric.FiberRuntimeMetrics, metrics)
      ),
    now: clock.currentTimeMillisUnsafe,
    turn,
    isIdle: ready.isEmpty,
    nextDue,
    advance,
    fibers: () => fibers
  }
}
