/** The shell script that starts a program: it sets limits, says that it is ready, and becomes the program. */
import type { Runtime } from "../SandboxCapabilities.ts"
import type * as SandboxLimits from "../SandboxLimits.ts"
import * as ForwardScript from "./ForwardScript.ts"

export interface Options {
  readonly limits: SandboxLimits.Resolved
  readonly runtime: Runtime
  /** Processes of the place itself, besides the program's. */
  readonly others: number
  /** Whether the number of processes is limited; the limit counts all processes of a user who is not confined. */
  readonly limitsProcesses: boolean
  /** The program is a line that comes at descriptor 3, as `line` writes it, in place of arguments. */
  readonly isTold?: boolean
  /** A folder whose files are copied to the working folder first. */
  readonly given?: string
  /** Ports of the loopback that lead out of the sandbox. */
  readonly ports?: ReadonlyArray<number>
  /** Steps that say that the program is about to start, and start it; a byte at descriptor 3, and the program in place of the script. */
  readonly start?: ReadonlyArray<string>
}

const throughDescriptor = ["printf . >&3", "exec 3>&-", "exec \"$@\""]

const seconds = (millis: number) => Math.max(1, Math.ceil(millis / 1000))

/** The address space of a process, or its data where the runtime reserves much more than it uses. */
const memory = ({ limits, runtime }: Options) => {
  const kibibytes = Math.floor(limits.memory / 1024)
  return runtime === "node" ? `ulimit -d ${kibibytes}` : `ulimit -v ${kibibytes}`
}

/** A shell counts processes under one of two letters. */
const processes = ({ limits, others, ports = [] }: Options) => {
  const most = limits.processes + others + (ports.length > 0 ? ForwardScript.processes : 0)
  return `{ ulimit -u ${most} 2>/dev/null || ulimit -p ${most}; }`
}

/** Words as one line, as a script that `isTold` reads it. */
export const line = (words: ReadonlyArray<string>): string =>
  words.map((word) => `'${word.replaceAll("'", `'\\''`).replaceAll("\n", `'"$effect_rl_end"'`)}'`).join(" ")

/** Arguments for `sh`, before those of the program. A limit that cannot be set ends the script before it says that it is ready. */
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
