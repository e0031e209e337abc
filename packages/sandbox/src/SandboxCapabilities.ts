/** The capabilities of a sandbox provider: what it runs, what it enforces, and whether it holds against hostile code. */
import type { SandboxLimits } from "./SandboxLimits.ts"

/** The language that programs are written in: `python3`, `node` or `sh` is the first word of their command. */
export type Runtime = "python" | "node" | "shell"

/**
 * The boundary around a program.
 *
 * - `namespaces`: its own view of the kernel, as in bubblewrap
 * - `container`: namespaces set up by a daemon
 * - `wasm`: a WebAssembly module that has nothing but what it is given
 * - `remote`: another machine
 * - `none`: no boundary
 */
export type Isolation = "namespaces" | "container" | "wasm" | "remote" | "none"

/**
 * What a provider can do, as a value.
 *
 * @example
 * const patience = ({ timeScale }: SandboxCapabilities.SandboxCapabilities): Partial<SandboxLimits.SandboxLimits> => ({ wall: 6000 * timeScale })
 */
export interface SandboxCapabilities {
  readonly isolation: Isolation
  /** Whether code that a model wrote may run here. Where it is false, only commands that a test wrote are accepted. */
  readonly sampledCode: boolean
  readonly runtimes: ReadonlyArray<Runtime>
  /**
   * `none`: programs reach no network. `named`: those that the spec names. `open`: whatever the machine reaches, which the provider cannot
   * prevent.
   */
  readonly network: "none" | "named" | "open"
  /** Whether programs can find folders of their sandbox at absolute paths; not unless given. */
  readonly folders?: true
  /** Whether programs of a grader can be kept from changing folders; not unless given. */
  readonly readOnly?: true
  /** Whether `start` starts processes that go on beside the programs of a sandbox; not unless given. */
  readonly start?: true
  /** The limits that are enforced; the others are accepted without effect. */
  readonly enforced: ReadonlyArray<keyof SandboxLimits>
  /** How many times longer loops of a program take than on the bare machine, by which callers scale their limits on time. */
  readonly timeScale: number
}
