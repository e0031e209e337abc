/**
 * Runs the tests of a task in a sandbox of their own, over the files that an agent left.
 *
 * Nothing that the agent started, and no file outside of those that were taken over, reaches the tests. The reward is what the tests wrote
 * to their verdict file; where they wrote none, or did not end by themselves, it is 0.
 */
import type { Score } from "@effect-rl/core"
import { Outcome, Sandbox, type SandboxCapabilities, SandboxError } from "@effect-rl/sandbox"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { LeftFiles } from "./LeftFiles.ts"
import * as ShellTask from "./ShellTask.ts"

/** The judgement of what an agent left. */
export interface Judgement {
  readonly reward: number
  /** Rewards by name, where the tests gave several. */
  readonly parts?: Readonly<Record<string, number>>
  /** The last lines that the tests printed, or why there is no verdict of theirs. */
  readonly detail: string
  readonly verdict: Score.Verdict
}

/** Bytes that the files of a sandbox may have. */
export const disk = 256 * 1024 * 1024

/** Processes of a sandbox at the same time. */
export const processes = 64

/** The name of a reward among several that stands for the whole. */
const whole = "reward"

/** Ends every process of the sandbox; where there is no boundary, those would be of this machine. */
const sweep = ({ isolation }: SandboxCapabilities.SandboxCapabilities) =>
  isolation === "none" ? ":" : "kill -KILL -1 2> /dev/null"

/** The exit code of the script where a signal ended the tests. */
const testsKilled = 71

/**
 * Makes files executable again, runs the tests, ends what they left running, and prints each verdict file after its name. What the tests
 * print goes to a file, so that the output is the verdict alone. Tests that a signal ended have judged nothing, and a verdict file that
 * they could not have written is not theirs.
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

/** The home is the agent's: without this, tests in Python would begin with modules that it put there. */
const ownModules = { PYTHONNOUSERSITE: "1" }

const Parts = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Finite)))

const Numeric = Schema.decodeUnknownOption(Schema.FiniteFromString)

type Given = Pick<Judgement, "reward" | "parts">

/** The reward in `reward.json`: that of the name `reward`, or the only one. */
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

/** What the verdict files say, if all of them can be read: the lowest, since a program of the agent may have written the other. */
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

/** The judgement of an agent whose files are not judged. */
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
 * Judges the files that an agent left. A sandbox that fails is tried once more in a fresh one, and then is an error, never a judgement.
 *
 * @example
 * const judged = (task: ShellTask.ShellTask) => ShellGrader.judge(task, { files: [], executable: [] })
 */
export const judge = Effect.fn("ShellGrader.judge")((task: ShellTask.ShellTask, left: LeftFiles) =>
  Effect.retry(run(task, left), { times: 1, while: (error) => error.isRetryable })
)
