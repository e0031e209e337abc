/**
 * Runs the tests of a task in a separate sandbox, on the files that an agent left.
 *
 * No process of the agent reaches the tests, and no file except those that were copied. The reward is the number that the tests wrote to
 * their verdict file. It is 0 if there is no verdict file, or if the tests were killed.
 */
import type { Score } from "@effect-rl/core"
import { Outcome, Sandbox, type SandboxCapabilities, SandboxError } from "@effect-rl/sandbox"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { LeftFiles } from "./LeftFiles.ts"
import * as ShellTask from "./ShellTask.ts"

/** The verdict on the files that an agent left. */
export interface Judgement {
  readonly reward: number
  /** Named rewards, if the tests wrote several. */
  readonly parts?: Readonly<Record<string, number>>
  /** The last lines that the tests printed, or why the tests gave no verdict. */
  readonly detail: string
  readonly verdict: Score.Verdict
}

/** Limit on the size of a sandbox's files, in bytes. */
export const disk = 256 * 1024 * 1024

/** Limit on concurrent processes in a sandbox. */
export const processes = 64

/** The name of the total among several named rewards. */
const whole = "reward"

/** The command that ends every process in the sandbox. Without isolation it does nothing, because the processes would be this machine's. */
const sweep = ({ isolation }: SandboxCapabilities.SandboxCapabilities) =>
  isolation === "none" ? ":" : "kill -KILL -1 2> /dev/null"

/** The script's exit code if a signal ended the tests. */
const testsKilled = 71

/**
 * Restores executable flags, runs the tests, ends the processes they left running, and prints each verdict file after its name. The tests'
 * own output goes to a file, so only the verdict is printed. A verdict does not count if a signal ended the tests or if the tests could not
 * have written the verdict file.
 */
const script = (capabilities: SandboxCapabilities.SandboxCapabilities) => `
mkdir -p ${ShellTask.workFolder} logs/verifier && xargs -0 -r chmod u+x && chmod u+x tests/test.sh && cd "$1" || exit 70
bash /tests/test.sh > /logs/verifier/test-stdout.txt 2>&1 < /dev/null
status=$?
${sweep(capabilities)}
tail -c 1000 /logs/verifier/test-stdout.txt >&2
[ $status -lt 128 ] || exit ${testsKilled}
for name in reward.json reward.txt; do
  file=/logs/verifier/$name
  if [ -f $file ] && [ ! -L $file ] && [ -w $file ]; then echo $name; head -c 4096 $file; printf '\\0'; fi
done`

/** The home folder contains the agent's files. This keeps Python tests from loading modules that the agent put there. */
const ownModules = { PYTHONNOUSERSITE: "1" }

const Parts = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Finite)))

const Numeric = Schema.decodeUnknownOption(Schema.FiniteFromString)

type Given = Pick<Judgement, "reward" | "parts">

/** The reward in `reward.json`: the reward named `reward`, or the only one. None if there are several and none has this name. */
const fromParts = (text: string): Option.Option<Given> =>
  Option.flatMap(Parts(text), (parts) => {
    const values = Object.values(parts)
    const reward = parts[whole] ?? (values.length === 1 ? values[0] : undefined)
    return reward === undefined ? Option.none() : Option.some({ reward, parts })
  })

const fromNumber = (text: string): Option.Option<Given> => Option.map(Numeric(text.trim()), (reward) => ({ reward }))

const fromFile = (file: string): Option.Option<Given> => {
  const end = file.indexOf("\n")
  const text = file.slice(end + 1)
  return file.slice(0, end) === "reward.json" ? fromParts(text) : fromNumber(text)
}

/**
 * The lowest reward in the verdict files, if all of them can be read. The lowest counts because a program of the agent may have written the
 * other file.
 */
const verdictIn = (output: string): Option.Option<Given> =>
  Option.flatMap(
    Option.all(output.split("\0").filter((file) => file !== "").map(fromFile)),
    (given) => Option.fromNullishOr(given.toSorted((a, b) => a.reward - b.reward)[0])
  )

const none = (outcome: string, stderr: Uint8Array) => ({ reward: 0, outcome, detail: Outcome.text(stderr).trim() })

const judged = (outcome: Outcome.Outcome, provider: string) =>
  Outcome.match(outcome, {
    Exited: ({ code, stderr, stdout }) => {
      if (code === testsKilled) return Effect.succeed(none("Tests Killed", stderr))
      if (code !== 0) return Effect.succeed(none("Not Started", stderr))
      if (stdout.length === 0) return Effect.succeed(none("No Verdict", stderr))
      return Effect.succeed(Option.match(verdictIn(Outcome.text(stdout)), {
        onNone: () => none("Unreadable Verdict", stderr),
        onSome: (given) => ({ ...none(given.reward >= 1 ? "passed" : "failed", stderr), ...given })
      }))
    },
    Signalled: ({ signal, stderr }) => Effect.succeed(none(signal, stderr)),
    TimedOut: ({ stderr }) => Effect.succeed(none("Time Limit Exceeded", stderr)),
    OutOfMemory: ({ stderr }) => Effect.succeed(none("Memory Limit Exceeded", stderr)),
    OutputLimit: ({ stderr }) => Effect.succeed(none("Output Limit Exceeded", stderr)),
    Killed: () => Effect.fail(lost(provider))
  })

const lost = (provider: string) =>
  new SandboxError.SandboxError({
    provider,
    operation: "exec",
    reason: new SandboxError.Lost({ detail: "the program was killed from outside" })
  })

/** The judgement, with reward 0, of an agent whose files cannot be judged. */
export const unjudged = (tests: ShellTask.ShellTests, provider: string, detail: string): Judgement => ({
  reward: 0,
  detail,
  verdict: { provider, outcome: "Not Started", digest: ShellTask.digest(tests) }
})

const run = Effect.fnUntraced(function*(task: ShellTask.ShellTask, { executable, files }: LeftFiles) {
  const sandbox = yield* Sandbox.Sandbox
  const { tests, workdir } = task
  const place = yield* sandbox.open({
    runtime: "shell",
    role: "grader",
    files: [...files, ...ShellTask.within("tests", tests.files)],
    folders: { [workdir]: ShellTask.workFolder, "/tests": "tests", "/logs": "logs" },
    ...(sandbox.capabilities.readOnly === true && { readOnly: ["/tests"] }),
    environment: { ...ownModules, ...task.environment, ...tests.environment },
    limits: {
      wall: Duration.times(Duration.fromInputUnsafe(tests.timeout), sandbox.capabilities.timeScale),
      memory: task.memory,
      processes,
      disk
    }
  })
  const stdin = executable.map((path) => `./${path}`).join("\0")
  const outcome = yield* place.exec({ argv: ["bash", "-c", script(sandbox.capabilities), "bash", workdir], stdin })
  const { detail, outcome: name, ...given } = yield* judged(outcome, place.provider)
  const judgement: Judgement = {
    ...given,
    detail,
    verdict: { provider: place.provider, outcome: name, digest: ShellTask.digest(tests) }
  }
  return judgement
}, Effect.scoped)

/**
 * Judges the files that an agent left. If the sandbox fails with a retryable error, judging is repeated once in a new sandbox. A sandbox
 * failure is never a verdict on the agent.
 *
 * @example
 * const judged = (task: ShellTask.ShellTask) => ShellGrader.judge(task, { files: [], executable: [] })
 */
export const judge = Effect.fn("ShellGrader.judge")((task: ShellTask.ShellTask, left: LeftFiles) =>
  Effect.retry(run(task, left), { times: 1, while: (error) => error.isRetryable })
)
