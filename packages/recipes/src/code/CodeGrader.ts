/**
 * Runs a program against hidden tests in a separate sandbox.
 *
 * The program never shares a process with an expected value. Each case runs in a new process that receives only the case's input; what it
 * printed or returned is compared here. Assertions run in another sandbox, which treats the program's answers as data. A program can
 * therefore only change what it answers and, as in Python, the arguments with which assertions call it.
 */
import type { Score } from "@effect-rl/core"
import { PythonJson } from "@effect-rl/core/renderers"
import { Outcome, Sandbox, SandboxError, SandboxFiles } from "@effect-rl/sandbox"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as CodeTask from "./CodeTask.ts"
import * as PrintedOutput from "./PrintedOutput.ts"
import * as PythonPrograms from "./PythonPrograms.ts"
import * as ReturnedValue from "./ReturnedValue.ts"

/** Why a program failed a case. The cookbook's names are used for the failures that it distinguishes. */
export type Failure =
  | "Wrong Answer"
  | "Time Limit Exceeded"
  | "Runtime Error"
  | "Memory Limit Exceeded"
  | "Output Limit Exceeded"

/** One case that was run. */
export interface Ran {
  /** The case's number as text, counted from 1. */
  readonly name: string
  readonly failure?: Failure
  /** The case's input, the program's output and the expected output, shortened. */
  readonly detail?: string
}

/** The verdict on a program. Judging stops at the first case that fails. */
export interface Judgement {
  readonly passed: boolean
  readonly failure?: Failure
  readonly ran: ReadonlyArray<Ran>
  readonly verdict: Score.Verdict
}

/** The task's tests cannot be run, because of a fault in the dataset rather than the program. */
export class TestsUnusable extends Schema.TaggedError<TestsUnusable>()("TestsUnusable", { detail: Schema.String }) {
  override get message() {
    return `the tests cannot be run: ${this.detail}`
  }
}

export type Error = SandboxError.SandboxError | TestsUnusable

export interface Options {
  /** Time limit of each process on a machine that runs Python at full speed. Slower providers get more time. Default: 6 seconds. */
  readonly timeout?: Duration.Input
  /** Memory limit of each process in bytes. Default: 512 MiB. */
  readonly memory?: number
}

export const defaultTimeout = Duration.seconds(6)

const defaultMemory = 512 * 1024 * 1024

/** Limit on standard output and standard error, in bytes each. The longest published outputs have a few million bytes. */
const mostOutput = 16 * 1024 * 1024

/**
 * The most characters of an answer that are read, because reading a longer one would hold up this process. A right answer may be longer than
 * the expected one, mainly because `ReturnedValue.Returned` writes tuples and dictionaries as objects.
 */
const mostOf = (expected: string) => 256 * 1024 + 8 * expected.length

/** The most characters of the calls that assertions make after the first round, which may contain the program's answers. */
const mostCalls = 4 * 1024 * 1024

/** The most rounds of calls. Each round answers the calls that the assertions made with the answers of the previous round. */
const mostRounds = 64

/** The text, shortened to fit into a record. */
const short = (text: string, length = 200) => text.length <= length ? text : `${text.slice(0, length)}…`

/** Opens a sandbox for grading that contains these files. */
const open = Effect.fnUntraced(function*(
  contents: Readonly<Record<string, string>>,
  options: Options,
  environment: Readonly<Record<string, string>> = {}
) {
  const sandbox = yield* Sandbox.Sandbox
  const { timeScale } = sandbox.capabilities
  return yield* sandbox.open({
    runtime: "python",
    role: "grader",
    files: SandboxFiles.make(contents),
    environment,
    limits: {
      wall: Duration.times(Duration.fromInputUnsafe(options.timeout ?? defaultTimeout), timeScale),
      memory: options.memory ?? defaultMemory,
      output: mostOutput
    }
  })
})

/** The error for a program whose sandbox ended first, so there is no verdict on the program. */
const killed = (provider: string) =>
  new SandboxError.SandboxError({
    provider,
    operation: "exec",
    reason: new SandboxError.Lost({ detail: "the program was killed from outside" })
  })

interface Failed {
  readonly failure: Failure
  readonly detail: string
}

/** The last line of a program's errors, of which only the end is read. */
const lastLine = (bytes: Uint8Array) => short(Outcome.text(bytes.subarray(-4096)).trimEnd().split("\n").at(-1) ?? "")

/** The answer, unless it is longer than `most` characters. */
const within = (answer: string, most: number): Effect.Effect<string, Failed> =>
  answer.length <= most
    ? Effect.succeed(answer)
    : Effect.fail({ failure: "Output Limit Exceeded", detail: `${answer.length} characters, at most ${most} are read` })

/** Standard output of a program that exited successfully. */
const outputOf = (
  outcome: Outcome.Outcome,
  provider: string
): Effect.Effect<string, Failed | SandboxError.SandboxError> =>
  Outcome.match(outcome, {
    Exited: ({ code, stderr, stdout }) =>
      code === 0
        ? Effect.succeed(Outcome.text(stdout))
        : Effect.fail<Failed>({ failure: "Runtime Error", detail: lastLine(stderr) || `exit code ${code}` }),
    Signalled: ({ signal }) => Effect.fail<Failed>({ failure: "Runtime Error", detail: signal }),
    TimedOut: ({ limit }) => Effect.fail<Failed>({ failure: "Time Limit Exceeded", detail: `${limit} time` }),
    OutOfMemory: () => Effect.fail<Failed>({ failure: "Memory Limit Exceeded", detail: "" }),
    OutputLimit: ({ of }) => Effect.fail<Failed>({ failure: "Output Limit Exceeded", detail: of }),
    Killed: () => Effect.fail(killed(provider))
  })

const runs = (place: Sandbox.Handle, script: ReadonlyArray<string>, stdin: string) =>
  Effect.flatMap(
    place.exec({ argv: ["python3", ...script], stdin }),
    (outcome) => outputOf(outcome, place.provider)
  )

/** `-I` isolates Python, so neither the environment nor the working directory changes which modules it loads. */
const runProgram = ["-I", "run.py"]

const callFunction = ["-I", "call.py"]

/** Not isolated, because the environment gives the seed of hashes. The sandbox contains nothing but this script. */
const judgeAsserts = ["judge.py"]

/** Sets of texts have the same order in each round, so that the assertions make the same calls. */
const sameHashes = { PYTHONHASHSEED: "0" }

const nonceOf = Effect.map(
  Effect.all([Random.nextInt, Random.nextInt, Random.nextInt]),
  (words) => words.map((word) => Math.abs(word).toString(36)).join("")
)

const noReply: Failed = { failure: "Runtime Error", detail: "the program ended before the function returned" }

/** The text on the line that starts with the nonce. Fails unless there is exactly one such line. */
const replyIn = (output: string, nonce: string): Effect.Effect<string, Failed> => {
  const [lines, mark] = [`\n${output}`, `\n${nonce} `]
  const at = lines.indexOf(mark)
  const start = at + mark.length
  if (at < 0 || lines.includes(mark, start)) return Effect.fail(noReply)
  const end = lines.indexOf("\n", start)
  return Effect.succeed(lines.slice(start, end < 0 ? lines.length : end))
}

const parsed = (reply: string): Effect.Effect<PythonJson.Value, Failed> =>
  Result.match(PythonJson.parse(reply), {
    onFailure: () => Effect.fail(noReply),
    onSuccess: (value) => Effect.succeed(value)
  })

/** Sends a request to one of the scripts in `PythonPrograms` and returns its reply, of at most `most` characters, as JSON. */
const ask = Effect.fnUntraced(function*(
  place: Sandbox.Handle,
  script: ReadonlyArray<string>,
  request: Readonly<Record<string, PythonJson.Value>>,
  most: number
) {
  const nonce = yield* nonceOf
  const text = PythonJson.stringify(new Map(Object.entries({ nonce, ...request })))
  return yield* within(yield* replyIn(yield* runs(place, script, `${text}\n`), nonce), most)
})

const isList = (value: PythonJson.Value | undefined): value is ReadonlyArray<PythonJson.Value> => Array.isArray(value)

const field = (value: PythonJson.Value | undefined, name: string) => value instanceof Map ? value.get(name) : undefined

const wrong = (input: string, found: string, expected: string): Failed => ({
  failure: "Wrong Answer",
  detail: `input ${JSON.stringify(short(input))}, output ${JSON.stringify(short(found))}, ` +
    `expected ${JSON.stringify(short(expected))}`
})

const programCase = Effect.fnUntraced(function*(place: Sandbox.Handle, { input, output }: CodeTask.Case) {
  const found = yield* within(yield* runs(place, runProgram, input), mostOf(output))
  if (!PrintedOutput.matches(found, output)) return yield* Effect.fail(wrong(input, found, output))
})

const jsonLines = (input: string) => {
  const values = Result.all(input.split("\n").map((line) => PythonJson.parse(line)))
  return Result.match(values, {
    onFailure: (detail) =>
      Effect.fail(new TestsUnusable({ detail: `the input ${short(input)} is not JSON: ${detail}` })),
    onSuccess: (values) => Effect.succeed(values)
  })
}

const functionCase = Effect.fnUntraced(
  function*(place: Sandbox.Handle, { input, output }: CodeTask.Case, functionName: string) {
    const calls = [yield* jsonLines(input)]
    const request = { function: functionName, form: "plain", calls }
    const reply = yield* parsed(yield* ask(place, callFunction, request, mostOf(output)))
    const value = field(isList(reply) ? reply[0] : undefined, "value")
    if (value === undefined) return yield* Effect.fail(noReply)
    if (!ReturnedValue.matches(value, output)) {
      return yield* Effect.fail(wrong(input, PythonJson.stringify(value), output))
    }
  }
)

/**
 * Runs the assertions against a stand-in, lets the program answer the calls that they make, and repeats until they make just the calls that
 * were answered. Each round is a new process of the program that answers all calls in order, because a call may depend on earlier ones.
 */
const assertsCase = Effect.fnUntraced(
  function*(place: Sandbox.Handle, judge: Sandbox.Handle, { code, functionName, setup }: CodeTask.AssertTests) {
    let answers: ReadonlyArray<PythonJson.Value> = []
    let most = mostOf(code)
    let known = -1
    let isRepeatable = true
    for (let round = 0; round < mostRounds; round++) {
      const request = { function: functionName, code: `${setup}\n${code}`, answers }
      const said = yield* parsed(yield* ask(judge, judgeAsserts, request, round === 0 ? mostOutput : mostCalls))
      const calls = field(said, "calls")
      const answered = Number(field(said, "answered"))
      const detail = String(field(said, "detail"))
      if (field(said, "unspeakable") === true) {
        return yield* new TestsUnusable({
          detail: `they pass ${functionName} values that cannot be sent as data: ${detail}`
        })
      }
      if (!isList(calls) || calls.length === 0) {
        if (field(said, "passed") === true) return
        return yield* Effect.fail<Failed>({ failure: "Wrong Answer", detail })
      }
      // The first call without an answer depends only on answers that are kept, so the next round answers it if it is made again.
      isRepeatable &&= answered > known
      known = answered
      // The program may change the arguments that the tests made, and answers with them.
      if (round === 0) most += PythonJson.stringify(calls).length
      const reply = yield* parsed(
        yield* ask(place, callFunction, { function: functionName, form: "encoded", calls }, most)
      )
      if (!isList(reply) || reply.length !== calls.length) return yield* Effect.fail(noReply)
      // Kept answers let a program that draws at random answer calls which depend on them.
      answers = [
        ...answers.slice(0, answered),
        ...calls.slice(answered).map((call, index) => [call, reply[answered + index] ?? null])
      ]
    }
    const detail = `the calls differ after ${mostRounds} rounds of answers`
    return yield* isRepeatable
      ? Effect.fail<Failed>({ failure: "Wrong Answer", detail })
      : new TestsUnusable({ detail: `${detail}, though the answers to earlier calls were the same` })
  }
)

type Verdict = Pick<Judgement, "ran"> & { readonly provider: string }

/** Runs cases in order and stops at the first that fails. */
const untilFailure = Effect.fnUntraced(function*<A>(
  cases: ReadonlyArray<A>,
  run: (one: A) => Effect.Effect<void, Failed | Error>
) {
  const ran: Array<Ran> = []
  for (const [index, one] of cases.entries()) {
    const name = String(index + 1)
    const failed = yield* run(one).pipe(
      Effect.as(undefined),
      Effect.catchIf((error) => "failure" in error, (failed) => Effect.succeed(failed))
    )
    if (failed !== undefined) return [...ran, { name, ...failed }]
    ran.push({ name })
  }
  return ran
})

const runAll = Effect.fnUntraced(function*(tests: CodeTask.Tests, code: string, options: Options) {
  switch (tests._tag) {
    case "Stdin": {
      const place = yield* open({ "solution.py": code, "run.py": PythonPrograms.runProgram }, options)
      const ran = yield* untilFailure(tests.cases, (one) => programCase(place, one))
      return { provider: place.provider, ran }
    }
    case "Function": {
      const place = yield* open({ "solution.py": code, "call.py": PythonPrograms.callFunction }, options)
      const ran = yield* untilFailure(tests.cases, (one) => functionCase(place, one, tests.functionName))
      return { provider: place.provider, ran }
    }
    case "Asserts": {
      const solution = `${tests.setup}\n${code}`
      const place = yield* open({ "solution.py": solution, "call.py": PythonPrograms.callFunction }, options)
      const judge = yield* open({ "judge.py": PythonPrograms.judgeAsserts }, options, sameHashes)
      const ran = yield* untilFailure([tests], (tests) => assertsCase(place, judge, tests))
      return { provider: place.provider, ran }
    }
  }
})

const judgementOf = (tests: CodeTask.Tests, { provider, ran }: Verdict): Judgement => {
  const failure = ran.at(-1)?.failure
  return {
    passed: failure === undefined,
    ...(failure !== undefined && { failure }),
    ran,
    verdict: {
      provider,
      outcome: failure ?? "passed",
      digest: CodeTask.digest(tests),
      tests: ran.map(({ detail, failure, name }) => ({
        name,
        passed: failure === undefined,
        ...(failure !== undefined &&
          { detail: detail === "" || detail === undefined ? failure : `${failure}: ${detail}` })
      }))
    }
  }
}

/**
 * Judges a program by its tests. If the sandbox fails with a retryable error, judging is repeated once in a new sandbox. A sandbox failure
 * is never a verdict on the program. Fails with `TestsUnusable` if there are no tests or they cannot be run.
 *
 * @example
 * const judged = CodeGrader.judge({ _tag: "Stdin", cases: [{ input: "2 3", output: "5" }] }, "print(sum(map(int, input().split())))")
 * const reward = Effect.map(judged, ({ passed }) => Number(passed))
 *
 * @see tinker-cookbook `sandbox_check_correctness`
 */
export const judge = Effect.fn("CodeGrader.judge")(
  function*(tests: CodeTask.Tests, code: string, options: Options = {}) {
    if (!CodeTask.hasTests(tests)) return yield* new TestsUnusable({ detail: "there are none" })
    const ran = yield* Effect.scoped(runAll(tests, code, options)).pipe(
      Effect.retry({ times: 1, while: (error) => error._tag === "SandboxError" && error.isRetryable })
    )
    return judgementOf(tests, ran)
  }
)
