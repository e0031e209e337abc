import { HarborTask } from "@effect-rl/recipes"
import { Outcome } from "@effect-rl/sandbox"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"

const fixtures = new URL("../fixtures/harbor", import.meta.url).pathname

/** A task folder with these files added to or replacing the usual ones. */
const folder = Effect.fnUntraced(function*(files: Readonly<Record<string, string>>) {
  const fs = yield* FileSystem.FileSystem
  const { dirname, join } = yield* Path.Path
  const root = join(yield* fs.makeTempDirectoryScoped(), "task")
  const usual = { "task.toml": "", "instruction.md": "Do it.", "tests/test.sh": "exit 0" }
  for (const [path, text] of Object.entries({ ...usual, ...files })) {
    yield* fs.makeDirectory(dirname(join(root, path)), { recursive: true })
    yield* fs.writeFileString(join(root, path), text)
  }
  return root
})

const read = (files: Readonly<Record<string, string>>, images: ReadonlyArray<string> = []) =>
  Effect.flatMap(folder(files), (path) => HarborTask.read(path, { images })).pipe(Effect.scoped)

/** The message of an error, without the path of the folder. */
const refusal = (files: Readonly<Record<string, string>>, images: ReadonlyArray<string> = []) =>
  Effect.map(Effect.flip(read(files, images)), ({ _tag, message }) => `${_tag}${message.replace(/^.*?\/task:/, ":")}`)

const debian = ["debian:12-slim"]

layer(NodeServices.layer)("a task in Harbor's format", (it) => {
  it.effect("is read with its instruction, files, tests, limits and solution", () =>
    Effect.gen(function*() {
      const tasks = yield* HarborTask.readAll(fixtures, { images: debian })
      assert.deepStrictEqual(tasks.map(({ id }) => id), ["count-errors", "greeting", "repair-script"])
      const [errors, greeting, repair] = tasks
      assert.strictEqual(greeting?.instruction, "Write the line `hello` to the file `greeting.txt`, and nothing else.")
      assert.deepStrictEqual([greeting?.workdir, greeting?.files, greeting?.timeout], ["/app", [], 60_000])
      assert.deepStrictEqual([greeting?.memory, errors?.memory], [512 * 1024 * 1024, 512 * 1024 * 1024])
      assert.deepStrictEqual(errors?.files.map(({ path }) => path), ["server.log"])
      assert.deepStrictEqual(errors?.tests.files.map(({ path }) => path), ["expected.sh", "test.sh"])
      assert.deepStrictEqual(repair?.files.map(({ path }) => path), ["sum.sh"])
      assert.strictEqual(repair?.workdir, "/workspace")
      assert.deepStrictEqual(repair?.environment, { NAME: "sum", LC_ALL: "C" })
      assert.deepStrictEqual(repair?.tests.environment, { LARGEST: "20" })
      assert.deepStrictEqual(repair?.tests.timeout, 10_000)
      assert.deepStrictEqual(repair?.solution?.map(({ path }) => path), ["repair.sed", "solve.sh"])
    }))

  it.effect("defaults to two gibibytes of memory, ten minutes for tests and no time limit", () =>
    Effect.gen(function*() {
      const task = yield* read({})
      assert.deepStrictEqual([task.memory, task.tests.timeout, task.timeout, task.solution], [
        2048 * 1024 * 1024,
        600_000,
        undefined,
        undefined
      ])
    }))

  it.effect("has the MCP servers that are started as programs", () =>
    Effect.gen(function*() {
      const task = yield* read({
        "task.toml": `[[environment.mcp_servers]]
name = "files"
transport = "stdio"
command = "files-server"
args = ["--read-only", "/app"]`
      })
      assert.deepStrictEqual(task.servers, [{ name: "files", command: ["files-server", "--read-only", "/app"] }])
    }))

  it.effect("has the files that its Dockerfile copies", () =>
    Effect.gen(function*() {
      const task = yield* read({
        "environment/Dockerfile": `FROM debian:12-slim
WORKDIR /srv
WORKDIR app
COPY a.txt b.txt
COPY a.txt sub/
COPY data /srv/app/all
COPY ./code ./`,
        "environment/a.txt": "a",
        "environment/data/deep/c.txt": "c",
        "environment/code/main.sh": "exit 0"
      }, debian)
      assert.strictEqual(task.workdir, "/srv/app")
      assert.deepStrictEqual(task.files.map(({ bytes, path }) => [path, Outcome.text(bytes)]), [
        ["all/deep/c.txt", "c"],
        ["b.txt", "a"],
        ["main.sh", "exit 0"],
        ["sub/a.txt", "a"]
      ])
    }))

  it.effect.each([
    {
      what: "an image that is not named",
      files: { "environment/Dockerfile": "FROM python:3.13-slim\nWORKDIR /app" },
      message: "ImageMissing: needs the Docker image python:3.13-slim: this machine cannot run images."
    },
    {
      what: "a prebuilt image that is not named",
      files: { "task.toml": "[environment]\ndocker_image = \"org/image:1\"" },
      message: "ImageMissing: needs the Docker image org/image:1: this machine cannot run images."
    },
    {
      what: "a verifier's image that is not named",
      files: { "task.toml": "[verifier.environment]\ndocker_image = \"org/tests:1\"" },
      message: "ImageMissing: needs the Docker image org/tests:1: this machine cannot run images."
    },
    {
      what: "a Dockerfile that runs commands",
      files: { "environment/Dockerfile": "FROM debian:12-slim\nRUN apt-get update && \\\n  apt-get install -y git" },
      message:
        "ImageMissing: needs the Docker image debian:12-slim: only Docker can execute \"RUN apt-get update &&    apt-get install -y git\""
    },
    {
      what: "a Dockerfile of several stages",
      files: { "environment/Dockerfile": "FROM debian:12-slim AS base\nFROM base" },
      message:
        "ImageMissing: needs the Docker image of its Dockerfile: only Docker can execute \"FROM debian:12-slim AS base\""
    },
    {
      what: "a COPY to a place outside of the working folder",
      files: { "environment/Dockerfile": "FROM debian:12-slim\nWORKDIR /app\nCOPY a /etc/a", "environment/a": "" },
      message: "HarborTaskError: COPY to /etc/a, expected a path below the working folder /app"
    },
    {
      what: "a COPY of a missing file",
      files: { "environment/Dockerfile": "FROM debian:12-slim\nWORKDIR /app\nCOPY a ." },
      message: "HarborTaskError: COPY a finds no file in environment"
    },
    {
      what: "a working folder of the system",
      files: { "task.toml": "[environment]\nworkdir = \"/usr/src\"" },
      message: "HarborTaskError: works in /usr/src, expected a folder outside the system's folders, such as /app"
    },
    {
      what: "steps",
      files: { "task.toml": "[[steps]]\nname = \"one\"" },
      message: "HarborTaskError: has steps, expected a task with one instruction"
    },
    {
      what: "an MCP server at an address",
      files: { "task.toml": "[[environment.mcp_servers]]\nname = \"files\"\nurl = \"http://files/mcp\"" },
      message: "HarborTaskError: has the MCP server files over sse, expected stdio: there is no network"
    },
    {
      what: "an MCP server without a command",
      files: { "task.toml": "[[environment.mcp_servers]]\nname = \"files\"\ntransport = \"stdio\"" },
      message: "HarborTaskError: has the MCP server files without a command, expected the command that starts it"
    },
    {
      what: "several containers",
      files: { "environment/docker-compose.yaml": "services: {}" },
      message: "HarborTaskError: has several containers, expected at most a Dockerfile"
    },
    {
      what: "variables of the machine",
      files: { "task.toml": "[verifier]\nenv = { KEY = \"${API_KEY}\" }" },
      message: "HarborTaskError: takes KEY from this machine's environment, expected a constant"
    },
    { what: "invalid TOML", files: { "task.toml": "[environment" }, message: "HarborTaskError: task.toml: " },
    {
      what: "an invalid value",
      files: { "task.toml": "[agent]\ntimeout_sec = -1" },
      message: "HarborTaskError: task.toml: "
    }
  ])("is refused with $what", ({ files, message }) =>
    Effect.gen(function*() {
      const found = yield* refusal(files, debian)
      assert.strictEqual(found.slice(0, message.length), message)
    }))

  it.effect("is refused without tests, and so is a folder without tasks", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const root = yield* folder({})
      yield* fs.remove(`${root}/tests/test.sh`)
      assert.include((yield* Effect.flip(HarborTask.read(root))).message, "has no tests/test.sh")
      const error = yield* Effect.flip(HarborTask.readAll(`${root}/tests`))
      assert.include(error.message, "has no task.toml, and no folder with one")
    }).pipe(Effect.scoped))
})
