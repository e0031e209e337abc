/** 10,000 episodes of four turns, all at the same time, on a sampler that only waits. */
import { Seed } from "@effect-rl/core"

export const groups = 1250
export const groupSize = 8
export const turns = 4
export const episodes = groups * groupSize

export const prompt = Int32Array.from({ length: 64 }, (_, index) => index)
export const reply = Int32Array.from({ length: 16 }, (_, index) => index)
const action = Int32Array.from({ length: 32 }, (_, index) => index)
const logprobs = new Float32Array(action.length).fill(-1)

/** Length of the prompt of an episode's last turn. */
export const lastPrompt = prompt.length + (turns - 1) * (action.length + reply.length)

/** Bytes of the tokens and log-probabilities of an episode in its last turn, each held once. */
export const tokenBytes = 4 * (lastPrompt + (turns - 1) * action.length)

/** What was sampled, in arrays of its own. */
export const sampled = () => ({ tokens: action.slice(), logprobs: logprobs.slice(), stopReason: "stop" }) as const

/** Milliseconds that a sampler takes, 5 to 50, always the same sequence. */
export const waits = () => {
  const uniform = Seed.uniform(7)
  return () => 5 + Math.floor(uniform() * 46)
}

export interface Measured {
  readonly wallMillis: number
  readonly cpuMillis: number
}

/** Wall and CPU time of the second of two runs, as a program that trains has run before. */
export const measure = async (run: () => Promise<unknown>): Promise<Measured> => {
  await run()
  const cpu = process.cpuUsage()
  const start = performance.now()
  await run()
  const wallMillis = performance.now() - start
  const { system, user } = process.cpuUsage(cpu)
  return { wallMillis, cpuMillis: (system + user) / 1000 }
}

const usedBytes = () => {
  globalThis.gc?.()
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
}

/** Holds every episode at its last turn, and says how many bytes one holds beyond its tokens. Needs `--expose-gc`. */
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
