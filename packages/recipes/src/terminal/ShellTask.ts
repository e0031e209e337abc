/** A task in a terminal: an instruction, the files that it starts from, and the tests that judge what was left of them. */
import { SandboxFiles } from "@effect-rl/sandbox"
import type * as Duration from "effect/Duration"

/** The tests of a task. They run in a sandbox of their own, which the agent never sees. */
export interface ShellTests {
  /** Found in `/tests`. `test.sh` is run in the task's folder, and writes the reward to `/logs/verifier/reward.txt` or `reward.json`. */
  readonly files: SandboxFiles.SandboxFiles
  /** Variables besides those of the task. */
  readonly environment: Readonly<Record<string, string>>
  /** For all tests together, on a machine that runs programs at full speed. */
  readonly timeout: Duration.Input
}

/** A server of tools for the model. It speaks MCP over its standard streams, and runs beside the model's commands in their sandbox. */
export interface ShellServer {
  /** Names the server in errors. */
  readonly name: string
  /** Run in the task's folder. */
  readonly command: readonly [string, ...ReadonlyArray<string>]
}

/** A task in a terminal. */
export interface ShellTask {
  /** Unique within its dataset. */
  readonly id: string
  /** The instruction as it is put to the model. */
  readonly instruction: string
  /** The absolute path of the folder in which commands start, such as `/app`. */
  readonly workdir: string
  /** Files of that folder. */
  readonly files: SandboxFiles.SandboxFiles
  /** Variables of every command. */
  readonly environment: Readonly<Record<string, string>>
  /** Servers whose tools the model has besides `bash`; none unless given. */
  readonly servers?: ReadonlyArray<ShellServer>
  readonly tests: ShellTests
  /** Found in `/solution` where `solve.sh` is run as the reference solution. */
  readonly solution?: SandboxFiles.SandboxFiles
  /** Time of an episode from its start, sampling included; unlimited unless given. */
  readonly timeout?: Duration.Input
  /** Bytes of memory of each process. */
  readonly memory: number
}

/** The folder of the sandbox that programs find as the task's `workdir`. */
export const workFolder = "workdir"

/** Files of one folder of a sandbox, at their paths below its root. */
export const within = (folder: string, files: SandboxFiles.SandboxFiles): SandboxFiles.SandboxFiles =>
  files.map((file) => ({ ...file, path: `${folder}/${file.path}` }))

/**
 * SHA-256 of the tests, in hexadecimal. It changes with any of their files and variables.
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
