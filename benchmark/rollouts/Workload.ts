/** Concurrent episodes of four turns with a sampler that only waits. 10,000 episodes, or as many as `episodes=` says. */
import { Seed } from "@effect-rl/core/environments"
import { Schema } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"

const asked = process.argv.find((argument) => argument.startsWith("episodes="))

export const groupSize = 8
export const groups = Number(asked?.slice("episodes=".length) ?? 10_000) / groupSize
export const turns = 4
export const episodes = groups * groupSize

export const prompt = Int32Array.from({ length: 64 }, (_, index) => index)
export const reply = Int32Array.from({ length: 16 }, (_, index) => index)
const action = Int32Array.from({ length: 32 }, (_, index) => index)
const logprobs = new Float32Array(action.length).fill(-1)

/** Prompt length of an episode's last turn. */
export const lastPrompt = prompt.length + (turns - 1) * (action.length + reply.length)

/** Bytes of an episode's tokens and log-probabilities in its last turn, each stored once. */
export const tokenBytes = 4 * (lastPrompt + (turns - 1) * action.length)

/** A sampled sequence in newly allocated arrays. */
export const sampled = () => ({ tokens: action.slice(), logprobs: logprobs.slice(), stopReason: "stop" }) as const

const isScale = process.argv.includes("scale")

/**
 * The sampler's waiting times in milliseconds, always in the same sequence: 5 to 50, or 1,000 to 10,000 for measurements at the machine's
 * capacity.
 */
export const waits = () => {
  const uniform = Seed.uniform(7)
  return () => isScale ? 1000 + Math.floor(uniform() * 9001) : 5 + Math.floor(uniform() * 46)
}

export const Measured = Schema.Struct({ wallMillis: Schema.Finite, cpuMillis: Schema.Finite })
export type Measured = typeof Measured.Type

/** Runs once, and returns the wall and processor time in milliseconds. */
export const timed = async (run: () => Promise<unknown>): Promise<Measured> => {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await run()
  const wallMillis = performance.now() - start
  const { system, user } = process.cpuUsage(cpu)
  return { wallMillis, cpuMillis: (system + user) / 1000 }
}

/** Measures the second of two runs, because a training program is already warm. */
export const measure = async (run: () => Promise<unknown>): Promise<Measured> => {
  await run()
  return timed(run)
}

export const Scaled = Schema.Struct({
  ...Measured.fields,
  /** Peak memory of the process. */
  peakBytes: Schema.Finite,
  /** Timer lag: the 99th percentile and the maximum. */
  lagP99Millis: Schema.Finite,
  lagMaxMillis: Schema.Finite
})
export type Scaled = typeof Scaled.Type

const resolution = 10

/** Measures one run, with a timer that measures how well the event loop responds. */
export const measureScale = async (run: () => Promise<unknown>): Promise<Scaled> => {
  const delay = monitorEventLoopDelay({ resolution })
  delay.enable()
  const measured = await timed(run)
  delay.disable()
  return {
    ...measured,
    peakBytes: process.resourceUsage().maxRSS * 1024,
    lagP99Millis: Math.max(0, delay.percentile(99) / 1e6 - resolution),
    lagMaxMillis: Math.max(0, delay.max / 1e6 - resolution)
  }
}

const usedBytes = () => {
  globalThis.gc?.()
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
}

/** Holds every episode at its last turn, and returns the bytes per episode in addition to its tokens. Needs `--expose-gc`. */
export const measureMemory = async (run: (hold: () => Promise<void>) => Promise<unknown>): Promise<number> => {
  await run(() => Promise.resolve())
  const before = usedBytes()
  let bytes = NaN
  let held = 0
  let release = () => {}
  const last = new Promise<void>((resolve) => {
    release = resolve
  })
  const settled = () =>
    setTimeout(() => {
      bytes = (usedBytes() - before) / episodes - tokenBytes
      release()
    }, 100)
  await run(() => {
    if (++held === episodes) settled()
    return last
  })
  return bytes
}
