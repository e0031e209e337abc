/** Messages between this process, the process that hosts Python, and the thread that runs it. */

/** A program to run. */
export interface Run {
  readonly argv: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  readonly stdin: Uint8Array
  /** Contents by path. */
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly wallMillis: number
  readonly cpuMillis: number
  readonly memory: number
  readonly output: number
  readonly disk: number
  /** Whether to return the files as the program left them. */
  readonly keepsFiles: boolean
}

export type Order = { readonly _tag: "Run"; readonly run: Run } | { readonly _tag: "Kill" }

/** How the instance ended. */
export type Ending =
  | { readonly _tag: "Exited"; readonly code: number }
  | { readonly _tag: "Signalled"; readonly signal: string }
  | { readonly _tag: "TimedOut"; readonly limit: "wall" | "cpu" }
  | { readonly _tag: "OutOfMemory" }
  | { readonly _tag: "OutputLimit"; readonly of: "stdout" | "stderr" }
  | { readonly _tag: "Killed" }

/** The answer to a `Run`. */
export interface Report {
  readonly ending: Ending
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
  readonly wallMillis: number
  /** The files as the program left them. Absent if they were not requested or the program was killed. */
  readonly files?: ReadonlyMap<string, Uint8Array>
}

/** The process's first message reports that it is ready. Each later message answers one program. */
export type Reply = { readonly _tag: "Ready" } | { readonly _tag: "Report"; readonly report: Report } | {
  readonly _tag: "Failed"
  readonly detail: string
}

/** A task for the thread. The outputs are shared memory, so the output of a killed program is not lost. */
export interface Task extends Run {
  readonly outputs: SharedArrayBuffer
}

export interface Done {
  readonly ending: Ending
  readonly files?: ReadonlyMap<string, Uint8Array>
}
