/** The shell script that starts a program: it sets limits, reports that it is ready, and replaces itself with the program. */
import type { Runtime } from "../SandboxCapabilities.ts"
import type * as SandboxLimits from "../SandboxLimits.ts"
import * as ForwardScript from "./ForwardScript.ts"

export interface Options {
  readonly limits: SandboxLimits.Resolved
  readonly runtime: Runtime
  /** Processes of the sandbox itself, in addition to the program's. */
  readonly others: number
  /** Whether to limit the number of processes. For a user outside namespaces, the limit counts all of the user's processes. */
  readonly limitsProcesses: boolean
  /** Whether the program is read from descriptor 3, as a line in the format of `line`, instead of from the arguments. */
  readonly isTold?: boolean
  /** A folder whose files are first copied to the working folder. */
  readonly given?: string
  /** Loopback ports that lead out of the sandbox. */
  readonly ports?: ReadonlyArray<number>
  /**
   * Steps that report that the program is about to start, and start it. Default: write a byte to descriptor 3 and replace the script with
   * the program.
   */
  readonly start?: ReadonlyArray<string>
}

const throughDescriptor = ["printf . >&3", "exec 3>&-", "exec \"$@\""]

const seconds = (millis: number) => Math.max(1, Math.ceil(millis / 1000))

/** Limits the address space of a process. For Node, which reserves far more than it uses, limits its data instead. */
const memory = ({ limits, runtime }: Options) => {
  const kibibytes = Math.floor(limits.memory / 1024)
  return runtime === "node" ? `ulimit -d ${kibibytes}` : `ulimit -v ${kibibytes}`
}

/** The command that limits processes. Shells name this limit `-u` or `-p`. */
const processes = ({ limits, others, ports = [] }: Options) => {
  const most = limits.processes + others + (ports.length > 0 ? ForwardScript.processes : 0)
  return `{ ulimit -u ${most} 2>/dev/null || ulimit -p ${most}; }`
}

/** Words as one line, in the format that a script with `isTold` reads. */
export const line = (words: ReadonlyArray<string>): string =>
  words.map((word) => `'${word.replaceAll("'", `'\\''`).replaceAll("\n", `'"$effect_rl_end"'`)}'`).join(" ")

/** Arguments for `sh` that precede those of the program. If a limit cannot be set, the script exits before it reports that it is ready. */
export const args = (options: Options): ReadonlyArray<string> => {
  const { given, isTold = false, limits, limitsProcesses, ports = [], start = throughDescriptor } = options
  const cpu = seconds(limits.cpuMillis)
  const steps = [
    "set -e",
    ...(isTold ? ["IFS= read -r effect_rl_line <&3", `effect_rl_end='\n'`, "eval \"set -- $effect_rl_line\""] : []),
    ...(given === undefined ? [] : [`cp -R ${given}/. .`]),
    ...ForwardScript.steps(ports),
    `ulimit -f ${Math.ceil(limits.disk / 512)}`,
    "ulimit -c 0",
    "ulimit -n 256",
    `ulimit -S -t ${cpu}`,
    `ulimit -H -t ${cpu + 1}`,
    ...(limitsProcesses ? [processes(options)] : []),
    memory(options),
    ...start
  ]
  return ["-c", steps.join("; "), "sh"]
}
