/**
 * An environment for a terminal task. The model runs commands in its own sandbox, and tests in another sandbox judge the files that it
 * left.
 */
import { type ChatModel, EnvMetric, FunctionTool, Message, ToolEnv } from "@effect-rl/core"
import { PythonJson } from "@effect-rl/core/renderers"
import { Outcome, Sandbox, SandboxError, SandboxSpawner } from "@effect-rl/sandbox"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ChildProcess from "effect/process/ChildProcess"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Schema from "effect/Schema"
import * as Ungraded from "../grading/Ungraded.ts"
import * as LeftFiles from "./LeftFiles.ts"
import * as ShellGrader from "./ShellGrader.ts"
import * as ShellTask from "./ShellTask.ts"

export interface Options {
  readonly model: Pick<ChatModel.ChatModel, "renderer">
  readonly task: ShellTask.ShellTask
  /** The most turns of an episode. Default: 20. */
  readonly maxTurns?: number
  /** Time limit of each command on a machine that runs programs at full speed. Default: 30 seconds. */
  readonly commandTimeout?: Duration.Input
}

/** The default number of turns in an episode. */
export const maxTurns = 20

/** The number of characters from the start and from the end of each output that the model sees. */
const shown = 2000

const cut = (bytes: Uint8Array) => {
  const text = Outcome.text(bytes)
  if (text.length <= 2 * shown) return text
  return `${text.slice(0, shown)}\n... (${text.length - 2 * shown} characters left out) ...\n${text.slice(-shown)}`
}

/** How a command ended, as text for the model. None if the sandbox ended before the command. */
const ending = (outcome: Outcome.Outcome): Option.Option<string> =>
  Outcome.match(outcome, {
    Exited: ({ code }) => Option.some(`exit code ${code}`),
    Signalled: ({ signal }) => Option.some(`ended by ${signal}`),
    TimedOut: ({ limit, wallMillis }) =>
      Option.some(`killed at the limit on ${limit} time, after ${Math.round(wallMillis / 100) / 10} seconds`),
    OutOfMemory: () => Option.some("killed at the limit on memory"),
    OutputLimit: ({ of }) => Option.some(`killed at the limit on ${of}`),
    Killed: () => Option.none()
  })

const told = (outcome: Outcome.Outcome, provider: string) =>
  Option.match(ending(outcome), {
    onNone: () => {
      const reason = new SandboxError.Lost({ detail: "the command was killed from outside" })
      return Effect.fail(new SandboxError.SandboxError({ provider, operation: "exec", reason }))
    },
    onSome: (ended) =>
      Effect.succeed(PythonJson.stringify(
        new Map([["outcome", ended], ["stdout", cut(outcome.stdout)], ["stderr", cut(outcome.stderr)]])
      ))
  })

const start = `mkdir -p ${ShellTask.workFolder} && cd "$1" && exec bash -c "$2"`

const startServer = `mkdir -p ${ShellTask.workFolder} && cd "$1" && shift && exec "$@"`

const timeIsOver: FunctionTool.Answer = { content: "The time of the task is over.", stop: true }

/**
 * The tool, limited to the time before the deadline. When the time runs out, the tool answers that the time is over and
 * stops the episode.
 */
const until = (deadline: number) => <E>(tool: FunctionTool.FunctionTool<E>): FunctionTool.FunctionTool<E> => ({
  ...tool,
  call: Effect.fnUntraced(function*(args) {
    const left = deadline - (yield* Clock.currentTimeMillis)
    const answer = left > 0 ? yield* Effect.timeoutOption(tool.call(args), left) : Option.none()
    return Option.getOrElse(answer, () => timeIsOver)
  })
})

/** The tool that runs a command in the task's folder. */
const bash = (place: Sandbox.Handle, { workdir }: ShellTask.ShellTask) =>
  FunctionTool.make({
    name: "bash",
    description:
      `Run a command in ${workdir} and see what it prints. Each command has a new shell: files stay, variables do not.`,
    parameters: Schema.Struct({ command: Schema.String.annotate({ description: "The command, read by bash." }) }),
    handler: ({ command }) =>
      Effect.flatMap(
        place.exec({ argv: ["bash", "-c", start, "bash", workdir, command] }),
        (outcome) => told(outcome, place.provider)
      ),
    isFatal: (error): error is SandboxError.SandboxError => error !== undefined
  })

/** The tools of the task's servers, which run in the model's sandbox until the episode ends. */
const serverTools = Effect.fnUntraced(
  function*(_place: Sandbox.Handle, { servers = [], workdir }: ShellTask.ShellTask) {
    if (servers.length === 0) return []
    const McpTools = yield* Effect.promise(() => import("@effect-rl/ai/McpTools"))
    const tools = yield* Effect.forEach(servers, ({ command, name }) =>
      McpTools.stdio(
        ChildProcess.make("bash", ["-c", startServer, "bash", workdir, ...command]),
        { name, allow: "all" }
      ))
    return Arr.flatten(tools)
  },
  (tools, place) => Effect.provideService(tools, ChildProcessSpawner.ChildProcessSpawner, SandboxSpawner.make(place))
)

/** The model's sandbox, which lasts for the episode. It does not contain the tests. */
const agentPlace = Effect.fnUntraced(function*({ commandTimeout = "30 seconds", task }: Options) {
  const sandbox = yield* Sandbox.Sandbox
  return yield* sandbox.open({
    runtime: "shell",
    role: "agent",
    files: ShellTask.within(ShellTask.workFolder, task.files),
    folders: { [task.workdir]: ShellTask.workFolder, "/solution": "solution" },
    environment: task.environment,
    limits: {
      wall: Duration.times(Duration.fromInputUnsafe(commandTimeout), sandbox.capabilities.timeScale),
      memory: task.memory,
      processes: ShellGrader.processes,
      disk: ShellGrader.disk
    }
  })
})

const judge = (task: ShellTask.ShellTask, place: Sandbox.Handle) =>
  LeftFiles.read(place).pipe(
    Effect.flatMap((left) => ShellGrader.judge(task, left)),
    Effect.catchTag(
      "LeftTooMuch",
      ({ message }) => Effect.succeed(ShellGrader.unjudged(task.tests, place.provider, message))
    )
  )

const grade = (task: ShellTask.ShellTask, place: Sandbox.Handle) => (messages: ReadonlyArray<Message.Message>) =>
  Effect.map(Ungraded.orElse(judge(task, place)), ({ detail, parts, reward, verdict }) => ({
    reward,
    score: {
      value: reward,
      success: reward >= 1,
      explanation: detail === "" ? verdict.outcome : `${verdict.outcome}: ${detail}`,
      ...(parts !== undefined && { parts }),
      verdict
    },
    metrics: { used_bash: EnvMetric.rate(messages.some(({ role }) => role === "tool")) }
  }))

/**
 * An environment in which the model runs commands with the tool `bash` until it calls no tool or its time or turns run out. Then the task's
 * tests judge the remaining files in a separate sandbox and set the reward; the score's verdict records which provider ran which tests. A
 * task may have servers with further tools, which run in the model's sandbox. If a sandbox fails, or a server cannot be reached when the
 * episode begins, the group member is `Ungraded` and gets no reward.
 *
 * @example
 * const env = ShellEnv.make({
 *   model,
 *   task: {
 *     id: "greeting",
 *     instruction: "Write \"hello\" to greeting.txt.",
 *     workdir: "/app",
 *     files: [],
 *     environment: {},
 *     memory: 256 * 1024 * 1024,
 *     tests: {
 *       files: SandboxFiles.make({ "test.sh": "grep -qx hello greeting.txt && echo 1 > /logs/verifier/reward.txt" }),
 *       environment: {},
 *       timeout: "10 seconds"
 *     }
 *   }
 * })
 *
 * @see tinker-cookbook `HarborBashTool`, `HarborReward`
 */
export const make = Effect.fnUntraced(function*(options: Options) {
  const { model, task } = options
  const place = yield* Ungraded.orElse(agentPlace(options))
  const servers = yield* Ungraded.orElse(serverTools(place, task))
  const started = yield* Clock.currentTimeMillis
  const deadline = task.timeout === undefined ? Infinity : started + Duration.toMillis(task.timeout)
  const env = yield* ToolEnv.make<FunctionTool.FunctionTool<SandboxError.SandboxError>, never, Sandbox.Sandbox>({
    model,
    tools: [bash(place, task), ...servers].map(until(deadline)),
    messages: [Message.user(task.instruction)],
    maxTurns: options.maxTurns ?? maxTurns,
    execution: "sequential",
    grade: grade(task, place)
  })
  return {
    ...env,
    task: { question: task.instruction },
    step: (action: Parameters<typeof env.step>[0]) =>
      Effect.catchTag(env.step(action), "SandboxError", (error) => Ungraded.orElse(Effect.fail(error)))
  }
})
