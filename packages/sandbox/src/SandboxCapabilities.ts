/** The capabilities of a sandbox provider: what it runs, what it enforces, and whether it is safe for hostile code. */
import type { SandboxLimits } from "./SandboxLimits.ts"

/** The runtime of programs. The first word of their commands is `python3`, `node` or `sh`. */
export type Runtime = "python" | "node" | "shell"

/**
 * The isolation of a program.
 *
 * - `namespaces`: kernel namespaces, as in bubblewrap
 * - `container`: namespaces set up by a daemon
 * - `wasm`: a WebAssembly module that can only access what it is given
 * - `remote`: another machine
 * - `none`: no isolation
 */
export type Isolation = "namespaces" | "container" | "wasm" | "remote" | "none"

/**
 * What a provider can run and enforce.
 *
 * @example
 * const patience = ({ timeScale }: SandboxCapabilities.SandboxCapabilities): Partial<SandboxLimits.SandboxLimits> => ({ wall: 6000 * timeScale })
 */
export interface SandboxCapabilities {
  readonly isolation: Isolation
  /** Whether code that a model wrote may run here. If false, only commands that the caller vouches for are accepted. */
  readonly sampledCode: boolean
  readonly runtimes: ReadonlyArray<Runtime>
  /**
   * `none`: programs reach no network. `named`: programs reach the addresses that the spec names. `open`: programs reach whatever the
   * machine reaches, and the provider cannot prevent it.
   */
  readonly network: "none" | "named" | "open"
  /** Whether programs can find folders of their sandbox at absolute paths. Default: false. */
  readonly folders?: true
  /** Whether folders can be made read-only for a grader's programs. Default: false. */
  readonly readOnly?: true
  /** Whether `start` can start processes that run beside the programs of a sandbox. Default: false. */
  readonly start?: true
  /** The limits that are enforced. The others are accepted but have no effect. */
  readonly enforced: ReadonlyArray<keyof SandboxLimits>
  /** How many times slower a program's loops run than on the bare machine. Callers multiply their time limits by it. */
  readonly timeScale: number
}
