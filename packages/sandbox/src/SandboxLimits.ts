/** Limits of a sandbox: what one program may use of time, memory, processes, output and disk. */
import * as Duration from "effect/Duration"

/**
 * Limits as a caller gives them; `defaults` stand for those left out.
 *
 * @example
 * const limits: Partial<SandboxLimits.SandboxLimits> = { wall: "2 seconds", memory: 64 * 1024 * 1024 }
 */
export interface SandboxLimits {
  /** Time from the start of the program to its end. */
  readonly wall: Duration.Input
  /** Processor time of the program, all of its threads together; a little more than `wall` unless given. */
  readonly cpu?: Duration.Input
  /** Bytes of memory. */
  readonly memory: number
  /** Processes and threads at the same time. */
  readonly processes: number
  /** Bytes of standard output, and as many of standard error. */
  readonly output: number
  /** Bytes that the program may have written to files. */
  readonly disk: number
}

const mebibyte = 1024 * 1024

/** Enough for a program of a programming contest. */
export const defaults = {
  wall: "10 seconds",
  memory: 256 * mebibyte,
  processes: 16,
  output: mebibyte,
  disk: 64 * mebibyte
} as const satisfies SandboxLimits

/** Limits in milliseconds and bytes, all of them given. */
export interface Resolved {
  readonly wallMillis: number
  readonly cpuMillis: number
  readonly memory: number
  readonly processes: number
  readonly output: number
  readonly disk: number
}

/** The least value of each limit, below which no runtime starts. */
export const least: Resolved = {
  wallMillis: 1,
  cpuMillis: 1,
  memory: 32 * mebibyte,
  processes: 1,
  output: 0,
  disk: 0
}

/** Limits with the defaults for those left out. */
export const resolve = (given: Partial<SandboxLimits> = {}): Resolved => {
  const { cpu, disk, memory, output, processes, wall } = { ...defaults, ...given }
  const wallMillis = Duration.toMillis(wall)
  return {
    wallMillis,
    cpuMillis: cpu === undefined ? wallMillis + 1000 : Duration.toMillis(cpu),
    memory,
    processes,
    output,
    disk
  }
}
