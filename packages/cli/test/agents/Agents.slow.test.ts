/** Tests agents that users name on the command line. */
import { Sandbox } from "@effect-rl/sandbox"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, FileSystem, Layer, Path } from "effect"
import { fileURLToPath } from "node:url"
import * as CommandLine from "../CommandLine.ts"

const place = (name: string) => fileURLToPath(new URL(name, import.meta.url))

const tasks = Array.from({ length: 5 }, (_, index) => ({ task: `What is ${index} + 1?`, answer: String(index + 1) }))

/** A folder with tasks, deleted with the scope. */
const folder = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const made = yield* fs.makeTempDirectoryScoped()
  yield* fs.writeFileString(join(made, "tasks.jsonl"), tasks.map((task) => `${JSON.stringify(task)}\n`).join(""))
  return { run: join(made, "run"), tasks: join(made, "tasks.jsonl") }
}).pipe(Effect.provide(NodeServices.layer))

const agent = (...more: ReadonlyArray<string>) => [process.execPath, place("program.ts"), ...more].join(" ")

const scored = ["--score", place("score.ts"), "--unsafe-host"]

const small = ["--groups-per-batch", "2", "--group-size", "2", "--max-tokens", "8", "--model", "effect-rl/tiny-64"]

/** All texts in a run's folder. */
const everything = Effect.fnUntraced(function*(run: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const names = yield* fs.readDirectory(run, { recursive: true })
  const texts = yield* Effect.forEach(
    names,
    (name) => Effect.orElseSucceed(fs.readFileString(join(run, name)), () => "")
  )
  return texts.join("\n")
}, Effect.provide(NodeServices.layer))

const text = ({ errors, out }: CommandLine.Ran) => [...out, ...errors].join("\n")

describe("an agent program", () => {
  it.live(
    "is trained, evaluated on held-out tasks before and after training, and evaluated again from its checkpoint",
    () =>
      Effect.gen(function*() {
        const { run, tasks } = yield* folder
        const named = ["--agent", agent("{task}"), "--tasks", tasks, ...scored]
        const trained = yield* CommandLine.run("train", ...named, ...small, "--iterations", "1", "--log-path", run)
        assert.strictEqual(trained.exit._tag, "Success", text(trained))
        assert.match(text(trained), /the agent runs on this machine, with all of your permissions/)
        assert.match(text(trained), /held_out after 0 iterations: .* of 1 correct/)
        assert.match(text(trained), /held_out after 1 iteration: .* of 1 correct/)
        const measured = yield* CommandLine.run("eval", ...named, "--checkpoint", run)
        assert.strictEqual(measured.exit._tag, "Success", text(measured))
        assert.match(text(measured), /questions +1, 1 answers/)
      }).pipe(Effect.scoped),
    120_000
  )

  it.live(
    "is played by a person, who gives the model's answers, and is planned with its number of problems and responses",
    () =>
      Effect.gen(function*() {
        const { run, tasks } = yield* folder
        const named = ["--agent", agent(), "--tasks", tasks, ...scored]
        const played = yield* CommandLine.runWithInput("5\n5\n5\n5\n", "play", ...named, "--episodes", "4")
        assert.strictEqual(played.exit._tag, "Success", text(played))
        assert.match(text(played), /What is \d \+ 1\?/)
        const plan = yield* CommandLine.run("train", ...named, ...small, "--plan", "--log-path", run)
        assert.match(text(plan), /20 iterations of 2 problems, 4 responses each, at most 8 tokens long/)
      }).pipe(Effect.scoped),
    120_000
  )

  it.live(
    "is refused without a scorer and without tasks",
    () =>
      Effect.gen(function*() {
        const { tasks } = yield* folder
        const trained = (...args: ReadonlyArray<string>) =>
          Effect.map(CommandLine.run("train", "--agent", agent("{task}"), "--backend", "mock", ...args), text)
        assert.match(
          yield* trained("--tasks", tasks, "--unsafe-host"),
          /score is not given, expected exactly one scorer: --score with a module/
        )
        assert.match(yield* trained(...scored), /tasks is not given, expected a file or a folder of tasks/)
      }).pipe(Effect.scoped),
    60_000
  )
})

const lacks = await Effect.runPromise(
  Layer.build(Sandbox.Sandbox.layerBubblewrap()).pipe(
    Effect.scoped,
    Effect.match({ onFailure: ({ message }) => message, onSuccess: () => undefined })
  )
)

describe("an agent program without --unsafe-host", () => {
  it.live(
    "is trained in a sandbox if there is one, and is otherwise refused with what to install",
    () =>
      Effect.gen(function*() {
        const { run, tasks } = yield* folder
        const command = ["--agent", "node program.ts {task}", "--folder", place("."), "--tasks", tasks]
        const named = [...command, "--score", place("score.ts"), ...small, "--iterations", "1", "--log-path", run]
        const trained = yield* CommandLine.run("train", ...named)
        if (lacks !== undefined) {
          yield* Console.log(`in a sandbox: skipped, ${lacks}`)
          assert.match(text(trained), /the agent cannot run in a sandbox: .*install bubblewrap.*--unsafe-host/)
          return
        }
        assert.strictEqual(trained.exit._tag, "Success", text(trained))
        assert.notInclude(text(trained), "the agent runs on this machine")
        assert.match(text(trained), /held_out after 1 iteration: .* of 1 correct/)
      }).pipe(Effect.scoped),
    120_000
  )

  it.live.skipIf(lacks !== undefined)(
    "needs the folder with its files, and refuses {file}, which names a file of the host",
    () =>
      Effect.gen(function*() {
        const { tasks } = yield* folder
        const trained = (command: string, ...args: ReadonlyArray<string>) =>
          Effect.map(
            CommandLine.run(
              "train",
              "--agent",
              command,
              "--tasks",
              tasks,
              "--score",
              place("score.ts"),
              "--backend",
              "mock",
              ...args
            ),
            text
          )
        assert.match(
          yield* trained("node program.ts {task}"),
          /folder is not given, expected the folder with the files of the agent, or --unsafe-host/
        )
        assert.match(
          yield* trained("node program.ts {file}", "--folder", place(".")),
          /agent is a command with \{file\}, expected one without this name of a file/
        )
      }).pipe(Effect.scoped),
    60_000
  )
})

describe("a run's folder", () => {
  it.live("has neither the keys nor the addresses that its agents received", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const { run, tasks } = yield* folder
      const leaked = `${run}.leaked`
      const named = ["--agent", agent("{task}", leaked), "--tasks", tasks, ...scored]
      const trained = yield* CommandLine.run("train", ...named, ...small, "--iterations", "1", "--log-path", run)
      const sessions = (yield* fs.readFileString(leaked)).trim().split("\n").map((line) => line.split(" "))
      assert.lengthOf(sessions, 6)
      const shown = [text(trained), yield* everything(run)].join("\n")
      assert.include(shown, "I am at http://agent.invalid/v1 with session")
      assert.include(shown, "asked http://agent.invalid/v1 with session")
      for (const [url = "", key = ""] of sessions) {
        assert.lengthOf(key, 32)
        for (const secret of [key, new URL(url).host]) {
          assert.notInclude(shown, secret)
        }
      }
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)), 120_000)
})

describe("a module that exports an agent", () => {
  it.live("is trained and evaluated under its own name", () =>
    Effect.gen(function*() {
      const { run } = yield* folder
      const trained = yield* CommandLine.run("train", place("own-agent.ts"), "--log-path", run)
      assert.strictEqual(trained.exit._tag, "Success", text(trained))
      const measured = yield* CommandLine.run("eval", place("own-agent.ts"), "--checkpoint", run)
      assert.match(text(measured), /questions +1, 1 answers/)
    }).pipe(Effect.scoped), 120_000)

  it.live(
    "uses another run's checkpoint as a second model in training, plans and evaluations",
    () =>
      Effect.gen(function*() {
        const { run } = yield* folder
        const [first, second] = [`${run}-first`, `${run}-second`]
        const train = (folder: string, frozen: string, ...more: ReadonlyArray<string>) =>
          CommandLine.run("train", place("two-models.ts"), "--frozen", frozen, "--log-path", folder, ...more)
        const before = yield* train(first, "summariser")
        assert.strictEqual(before.exit._tag, "Success", text(before))
        const missing = yield* train(second, `summariser=${first}@7`)
        assert.include(text(missing), `--frozen ${first}: the run has no checkpoint after iteration 7`)
        const plan = yield* train(second, `summariser=${first}@1`, "--plan")
        assert.match(text(plan), /, 96 sampled, /)
        const unplanned = yield* train(second, `summariser=${first}@7`, "--plan")
        assert.include(text(unplanned), `--frozen ${first}: the run has no checkpoint after iteration 7`)
        const after = yield* train(second, `summariser=${first}@1`)
        assert.strictEqual(after.exit._tag, "Success", text(after))
        const { path, records } = yield* Effect.all({
          path: FileSystem.FileSystem.use((fs) => fs.readDirectory(`${second}/checkpoints`)),
          records: everything(second)
        })
        const copied = path.find((name) => name.startsWith("run-first-1-"))
        assert.isDefined(copied)
        assert.include(records, `summariser=engine://${copied}/`)
        assert.include(records, "answered_by_summariser_0")
        const measure = (frozen: string) =>
          CommandLine.run("eval", place("two-models.ts"), "--checkpoint", second, "--frozen", frozen)
        const measured = yield* measure(`summariser=${first}@1`)
        assert.match(text(measured), /reward +\d\.\d+/)
        assert.include(text(yield* measure(`summariser=${first}@7`)), `--frozen ${first}: the run has no checkpoint`)
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
    120_000
  )
})
