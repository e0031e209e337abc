/**
 * Pi, an existing coding agent from npm. Each task runs Pi in a separate process; it must read a file with Pi's own tool and answer with
 * the number in the file. The environment variable `PI` names Pi's program.
 */
import { AgentGateway, Launcher } from "@effect-rl/agent"
import { type ChatModel, Score } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Context, Effect, FileSystem, Layer, Path, Semaphore } from "effect"

/** A file and the number that it contains. */
interface Note {
  readonly file: string
  readonly question: string
  readonly answer: string
}

const prefixes = ["AB", "CK", "DR", "FT", "GL", "HX", "JM", "KP", "LW", "NB", "PC", "QS", "RV", "SD", "TZ", "WH"]

/** Name prefixes that are used only for measurement, not for training. */
const heldOutPrefixes = ["BX", "MT", "VR", "ZL"]

const note = (of: ReadonlyArray<string>, index: number): Note => {
  const file = `${of[index % of.length] ?? ""}-${100 + Math.floor(index / of.length)}`
  return {
    file,
    question: `Read the contents of the file with path ${file}. Answer with the number alone.`,
    answer: String(100 + Seed.derive(0, "note", file) % 900)
  }
}

const trained = Array.from({ length: prefixes.length * 60 }, (_, index) => note(prefixes, index))

/** At most `count` training notes without repetition, chosen and ordered by the seed. */
export const train = (count: number, seed: number): ReadonlyArray<Note> =>
  Array.from(Seed.permutation(trained.length, Seed.derive(seed, "notes")).subarray(0, count))
    .flatMap((index) => trained[index] ?? [])

export const heldOut = Array.from({ length: 64 }, (_, index) => note(heldOutPrefixes, index))

/** The path of Pi's program, such as that of `which pi`, from the environment variable `PI`; undefined if it is not set. */
export const program = process.env["PI"]

/** Runs Pi without user configuration and with a single tool, because its own instructions do not fit into a preset's context. */
const options = [
  "--no-session",
  "--no-extensions",
  "--no-skills",
  "--no-context-files",
  "--no-mcp",
  "--tools",
  "read",
  "--system-prompt",
  "You read files."
]

/** Pi's configuration of a custom model provider. */
const providers = (baseUrl: string, apiKey: string, id: string) => ({
  providers: { policy: { baseUrl, apiKey, api: "openai-completions", models: [{ id }] } }
})

/** Maximum number of concurrent Pi processes. */
const processes = 4

interface Place {
  readonly baseUrl: string
  readonly apiKey: string
}

const make = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { run } = yield* Launcher.Launcher
  const folder = yield* fs.makeTempDirectoryScoped({ prefix: "notes-" })
  for (const { answer, file } of [...trained, ...heldOut]) {
    yield* fs.writeFileString(path.join(folder, file), `${answer}\n`)
  }
  const turns = Semaphore.makeUnsafe(processes)
  return Effect.fnUntraced(function*(pi: string, model: string, question: string, { apiKey, baseUrl }: Place) {
    const home = yield* fs.makeTempDirectoryScoped()
    const settings = path.join(home, ".pi", "agent")
    yield* fs.makeDirectory(settings, { recursive: true })
    yield* fs.writeFileString(
      path.join(settings, "models.json"),
      JSON.stringify(providers(baseUrl, apiKey, model))
    )
    const { stdout } = yield* run({
      argv: [process.execPath, pi, "-p", ...options, "--provider", "policy", "--model", model, question],
      cwd: folder,
      env: { HOME: home, PI_OFFLINE: "1" }
    })
    return stdout
  }, (effect) => turns.withPermit(Effect.orDie(Effect.scoped(effect))))
})

/** Asks Pi questions about files in a temporary folder, which is removed when the scope closes. */
export class Pi extends Context.Service<Pi, Effect.Success<typeof make>>()("Pi") {
  static readonly layer = Layer.effect(Pi, make).pipe(
    Layer.provide(Launcher.Launcher.unsafeHost),
    Layer.provide(NodeServices.layer)
  )
}

/** An episode in which Pi is asked for the number in one file. */
export const env = (ask: Pi["Service"], pi: string) =>
(
  model: ChatModel.ChatModel,
  { answer, question }: Pick<Note, "question" | "answer">
) =>
  AgentGateway.env({
    model,
    run: (place) =>
      Effect.map(
        ask(pi, model.name, question, place),
        (said) => Score.correct(said.match(/\d+/g)?.at(-1) === answer)
      )
  })
