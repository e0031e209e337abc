/** A terminal task: an instruction, the initial files, and the tests that judge the final files. */
import { SandboxFiles } from "@effect-rl/sandbox"
import type * as Duration from "effect/Duration"

/** The tests of a task. They run in a separate sandbox that the agent never sees. */
export interface ShellTests {
  /**
   * The files placed in `/tests`. `test.sh` runs in the task's folder and writes the reward to `/logs/verifier/reward.txt` or
   * `reward.json`.
   */
  readonly files: SandboxFiles.SandboxFiles
  /** Environment variables in addition to those of the task. */
  readonly environment: Readonly<Record<string, string>>
  /** Time limit of all tests together, on a machine that runs programs at full speed. */
  readonly timeout: Duration.Input
}

/** A tool server for the model. It speaks MCP over stdin and stdout, and runs in the sandbox of the model's commands. */
export interface ShellServer {
  /** Names the server in errors. */
  readonly name: string
  /** The command that starts the server in the task's folder. */
  readonly command: readonly [string, ...ReadonlyArray<string>]
}

/** A task in a terminal. */
export interface ShellTask {
  /** The task's id, unique within its dataset. */
  readonly id: string
  /** The instruction as shown to the model. */
  readonly instruction: string
  /** The absolute path of the folder where commands start, such as `/app`. */
  readonly workdir: string
  /** The initial files of `workdir`. */
  readonly files: SandboxFiles.SandboxFiles
  /** Environment variables of every command. */
  readonly environment: Readonly<Record<string, string>>
  /** Servers whose tools the model has in addition to `bash`. Default: none. */
  readonly servers?: ReadonlyArray<ShellServer>
  readonly tests: ShellTests
  /** The reference solution. Its files are placed in `/solution`, where `solve.sh` is run. */
  readonly solution?: SandboxFiles.SandboxFiles
  /** Time limit of an episode, including sampling. Default: unlimited. */
  readonly timeout?: Duration.Input
  /** Memory limit of each process, in bytes. */
  readonly memory: number
}

/** The sandbox folder that programs see at the task's `workdir`. */
export const workFolder = "workdir"

/** The files moved below a folder: each path is prefixed with the folder. */
export const within = (folder: string, files: SandboxFiles.SandboxFiles): SandboxFiles.SandboxFiles =>
  files.map((file) => ({ ...file, path: `${folder}/${file.path}` }))

/**
 * The SHA-256 of the tests in hexadecimal. It depends on every test file and variable, but not on the timeout.
 *
 * @example
 * const files = SandboxFiles.make({ "test.sh": "echo 1 > /logs/verifier/reward.txt" })
 * const digest = ShellTask.digest({ files, environment: {}, timeout: "1 minute" })
 */
export const digest = ({ environment, files }: ShellTests): string =>
  SandboxFiles.digest([
    ...within("tests", files),
    ...SandboxFiles.make({ environment: JSON.stringify(Object.entries(environment).sort()) })
  ])
