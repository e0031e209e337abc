/** The limits of a sandbox on a program's time, memory, processes, output and disk space. */
import * as Duration from "effect/Duration"

/**
 * Limits as a caller gives them. Missing limits are taken from `defaults`.
 *
 * @example
 * const limits: Partial<SandboxLimits.SandboxLimits> = { wall: "2 seconds", memory: 64 * 1024 * 1024 }
 */
export interface SandboxLimits {
  /** Time from the start of the program to its end. */
  readonly wall: Duration.Input
  /** Processor time of the program, summed over its threads. Default: 1 second more than `wall`. */
  readonly cpu?: Duration.Input
  /** Bytes of memory. */
  readonly memory: number
  /** The most concurrent processes and threads. */
  readonly processes: number
  /** Limit on standard output and on standard error, in bytes each. */
  readonly output: number
  /** Limit on the bytes that the program has written to files. */
  readonly disk: number
}

const mebibyte = 1024 * 1024

/** The default limits, which suffice for a typical programming-contest solution. */
export const defaults = {
  wall: "10 seconds",
  memory: 256 * mebibyte,
  processes: 16,
  output: mebibyte,
  disk: 64 * mebibyte
} as const satisfies SandboxLimits

/** Complete limits, in milliseconds and bytes. */
export interface Resolved {
  readonly wallMillis: number
  readonly cpuMillis: number
  readonly memory: number
  readonly processes: number
  readonly output: number
  readonly disk: number
}

/** The lowest allowed value of each limit. Below it, no runtime starts. */
export const least: Resolved = {
  wallMillis: 1,
  cpuMillis: 1,
  memory: 32 * mebibyte,
  processes: 1,
  output: 0,
  disk: 0
}

/** The limits completed with the defaults. */
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
