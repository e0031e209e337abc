/** Trains an agent that is a separate program, started by a command for each episode. */
import { type AgentEnv, AgentGateway, Launcher } from "@effect-rl/agent"
import { type ChatModel, InvalidOption, type Score, Setting } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Recipe from "../Recipe.ts"
import * as AgentCommand from "./AgentCommand.ts"
import * as AgentFrozen from "./AgentFrozen.ts"
import * as AgentScorer from "./AgentScorer.ts"
import * as AgentSettings from "./AgentSettings.ts"
import * as AgentTasks from "./AgentTasks.ts"
import * as AgentTraining from "./AgentTraining.ts"

const settings = Schema.Struct({
  /**
   * Command that starts the agent, such as "node my-agent.js {task}"; no shell reads it. Without {task} or {file}, the task is sent to its
   * standard input.
   */
  agent: Setting.text({
    default: "",
    identity: true,
    help: "Command that starts the agent, such as \"node my-agent.js {task}\"; no shell reads it. " +
      "Without {task} or {file}, the task is sent to its standard input"
  }),
  /** Tasks as .jsonl, .parquet or .csv with a field task, question or prompt; or a folder with such files named train and test. */
  tasks: Setting.text({
    default: "",
    unit: "file",
    help:
      "Tasks as .jsonl, .parquet or .csv with a field task, question or prompt; or a folder with such files named train and test"
  }),
  /** Number of tasks to hold out of a file; a fifth, at most 128, unless given. */
  heldOut: Setting.int({
    least: 0,
    unit: "tasks",
    help: "Number of tasks to hold out of a file; a fifth, at most 128, unless given"
  }),
  /** Module whose default export maps what the agent did ({ task, stdout, stderr, exitCode }) to its reward. */
  score: Setting.text({
    default: "",
    unit: "module",
    identity: true,
    help: "Module whose default export maps what the agent did ({ task, stdout, stderr, exitCode }) to its reward"
  }),
  /** Rubric by which the base model judges what the agent printed, from 0 to 1. */
  judge: Setting.text({
    default: "",
    identity: true,
    help: "Rubric by which the base model judges what the agent printed, from 0 to 1"
  }),
  /** Folder in which the agent starts; a sandbox gets a copy of it, and no other file of this machine. */
  folder: Setting.text({
    default: "",
    unit: "folder",
    identity: true,
    help: "Folder in which the agent starts; a sandbox gets a copy of it, and no other file of this machine"
  }),
  /** Environment variables to pass on to the agent, such as HOME; without them it gets only PATH and those of its model. */
  variables: Setting.texts({
    default: [],
    unit: "names",
    help:
      "Environment variables to pass on to the agent, such as HOME; without them it gets only PATH and those of its model"
  }),
  ...AgentSettings.fields()
})

type Settings = typeof settings.Type

/** How to run and score the agent, the same for all tasks. */
interface Program {
  readonly model: ChatModel.ChatModel
  readonly settings: Settings
  readonly command: AgentCommand.AgentCommand
  readonly frozen: AgentFrozen.Open
  /** Scores the outcome; undefined if the agent writes its verdict to a file. */
  readonly scorer: AgentScorer.Scorer | undefined
}

const invalid = (field: string, found: string, expected: string) =>
  Effect.fail(new InvalidOption.InvalidOption({ field, found, expected }))

const ways = "scorer: --score with a module, --judge with a rubric, or {verdict} in the command, the file for a verdict"

/** Fails unless exactly one scorer is named. */
const scorerOf = Effect.fnUntraced(function*(
  model: ChatModel.ChatModel,
  { judge, score }: Settings,
  command: AgentCommand.AgentCommand
) {
  const named = [score !== "", judge !== "", command.has("verdict")].filter(Boolean).length
  if (named !== 1) return yield* invalid("score", named === 0 ? "not given" : "one of several", `exactly one ${ways}`)
  if (score !== "") return yield* AgentScorer.fromModule(score)
  if (judge === "") return undefined
  return yield* AgentScorer.fromJudge({
    rubric: judge,
    model,
    textOf: AgentTasks.textOf
  })
})

const isFolder = (folder: string) =>
  FileSystem.FileSystem.use(({ stat }) => stat(folder)).pipe(
    Effect.map(({ type }) => type === "Directory"),
    Effect.orElseSucceed(() => false)
  )

/**
 * Fails if `folder` is given but is not a folder. If the launcher gives the agent no other files of this machine, also fails if `folder` is
 * not given or the command contains `{file}` or `{verdict}`.
 */
const checkFiles = Effect.fnUntraced(function*(command: AgentCommand.AgentCommand, { folder }: Settings) {
  const { files, name } = yield* Launcher.Launcher
  if (folder !== "" && !(yield* isFolder(folder))) {
    return yield* invalid("folder", JSON.stringify(folder), "a folder with the files of the agent")
  }
  if (files === "machine") return
  const instead = `--unsafe-host, because the launcher "${name}" gives the agent no other files of this machine`
  if (folder === "") {
    return yield* invalid("folder", "not given", `the folder with the files of the agent, or ${instead}`)
  }
  const place = (["file", "verdict"] as const).find(command.has)
  if (place !== undefined) {
    return yield* invalid("agent", `a command with {${place}}`, `one without this name of a file, or ${instead}`)
  }
})

/**
 * The requested variables of this process, the session's variables, and the model's name as `OPENAI_MODEL` and `ANTHROPIC_MODEL`. Later
 * values win.
 */
const variablesOf = (model: string, { variables }: Settings, { env }: AgentEnv.Session) => ({
  ...Object.fromEntries(variables.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  })),
  ...env,
  OPENAI_MODEL: model,
  ANTHROPIC_MODEL: model
})

/** Characters kept from the end of a failed program's error output, for readers of transcripts. */
const longestExplanation = 1000

const explained = (
  score: Score.Score,
  provider: string,
  { exitCode, stderr, stdout }: Launcher.Ended
): Score.Score => ({
  answer: stdout.trim(),
  ...(exitCode !== 0 && { explanation: stderr.slice(-longestExplanation) }),
  ...score,
  verdict: { provider, outcome: `exit code ${exitCode}` }
})

/** Runs the program for one episode and scores the outcome. */
const run = Effect.fnUntraced(
  function*(
    { command, model, scorer, settings }: Program,
    { row, text }: AgentTasks.AgentTask,
    key: string,
    session: AgentEnv.Session
  ) {
    const fs = yield* FileSystem.FileSystem
    const { join } = yield* Path.Path
    const launcher = yield* Launcher.Launcher
    const folder = yield* fs.makeTempDirectoryScoped({ prefix: "effect-rl-agent-" })
    const [file, verdict] = [join(folder, "task.txt"), join(folder, "verdict.json")]
    yield* fs.writeFileString(file, text)
    const launched = yield* launcher.run({
      argv: AgentCommand.filled(command, { task: text, file, model: model.name, verdict }),
      env: variablesOf(model.name, settings, session),
      ...(!command.has("task") && !command.has("file") && { stdin: text }),
      ...(settings.folder !== "" && { cwd: settings.folder })
    })
    const ended: Launcher.Ended = {
      ...launched,
      stdout: session.redact(launched.stdout),
      stderr: session.redact(launched.stderr)
    }
    const score = scorer === undefined
      ? yield* AgentScorer.fromFile(verdict, session.redact)
      : yield* scorer({ ...ended, task: row }, key)
    return explained(score, launcher.name, ended)
  },
  Effect.scoped
)

type Running = ReturnType<typeof run>

const env = (program: Program) => (task: AgentTasks.AgentTask, key: string) => {
  const { answer } = task.row
  return Effect.flatMap(
    program.frozen,
    (weights) =>
      AgentGateway.env<Effect.Error<Running> | InvalidOption.InvalidOption, Effect.Services<Running>>({
        model: program.model,
        ...weights,
        ...AgentTraining.episode(program.settings),
        task: { question: task.text, ...(typeof answer === "string" && { reference: answer }) },
        run: (session) => run(program, task, key, session)
      })
  )
}

/**
 * The recipe of `effect-rl train --agent`.
 *
 * @example
 * const configured = AgentProgram.program.configure({
 *   agent: "node my-agent.js {task}",
 *   tasks: "tasks.jsonl",
 *   score: "./score.ts"
 * })
 */
export const program = Recipe.make({
  name: "agent",
  description: "An agent of your own, a program that is started for each episode",
  startsPrograms: true,
  settings,
  build: Effect.fnUntraced(function*(model, settings) {
    const command = yield* AgentCommand.parse(settings.agent)
    const scorer = yield* scorerOf(model, settings, command)
    if (settings.tasks === "") return yield* invalid("tasks", "not given", "a file or a folder of tasks")
    yield* checkFiles(command, settings)
    const { name } = yield* Launcher.Launcher
    return yield* AgentTraining.task(model, settings, {
      name: "agent",
      split: yield* AgentTasks.load(settings.tasks, settings.heldOut),
      env: env({ model, settings, command, scorer, frozen: yield* AgentFrozen.make(model, settings) }),
      form: `${settings.agent} by the launcher "${name}"`
    })
  })
})
