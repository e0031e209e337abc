import { Outcome, Sandbox, type SandboxSpec } from "@effect-rl/sandbox"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { join } from "node:path"
import * as Machine from "./Machine.ts"
import * as OwnFolder from "./OwnFolder.ts"

const lacks = Machine.lacksBubblewrap

const mebibyte = 1024 * 1024

const roles = ["agent", "grader"] as const

/** The output of a Python program that exits, or how it ended otherwise. */
const run = (role: SandboxSpec.Role, code: string, network: ReadonlyArray<string> = []) =>
  Sandbox.Sandbox.use(({ open }) =>
    Effect.gen(function*() {
      const limits = { memory: 128 * mebibyte, disk: 2 * mebibyte, wall: "1 minute" } as const
      const place = yield* open({ runtime: "python", role, limits, network })
      const outcome = yield* place.exec({ argv: ["python3", "-c", code] })
      if (Outcome.is("OutputLimit")(outcome)) return `over the limit on ${outcome.of}`
      return Outcome.is("Exited")(outcome) ? Outcome.text(outcome.stdout) : outcome._tag
    })
  ).pipe(Effect.scoped)

/** A program with children that each fill `own` MiB. All of them also have `shared` MiB in common. */
const family = (children: number, own: number, shared: number) => `
import os, time
shared = b"x" * (${shared} << 20)
readers = []
for _ in range(${children}):
    reading, writing = os.pipe()
    readers.append(reading)
    if os.fork() == 0:
        own = b"y" * (${own} << 20)
        os.write(writing, b".")
        time.sleep(600)
for reading in readers:
    os.read(reading, 1)
time.sleep(1)
print("kept all")`

/** A server that accepts connections and counts those that are open at the same time. */
const counting = Effect.acquireRelease(
  Effect.callback<{ readonly server: Server; readonly port: number; readonly most: () => number }>((resume) => {
    let open = 0
    let most = 0
    const server = createServer((socket) => {
      most = Math.max(most, ++open)
      socket.on("error", () => {}).on("close", () => open--).resume()
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(Effect.succeed({ server, port, most: () => most }))
    })
  }),
  ({ server }) => Effect.callback<void>((done) => void server.close(() => done(Effect.void)))
)

const title = `a program in bubblewrap${lacks === undefined ? "" : ` (skipped: ${lacks})`}`

describe.skipIf(lacks !== undefined)(title, { concurrent: false }, () => {
  layer(Sandbox.Sandbox.layerBubblewrap(), { excludeTestServices: true })((it) => {
    it.effect.each(roles)(
      "in the role %s ends if it and its children together exceed the memory limit",
      (role) =>
        Effect.gen(function*() {
          assert.strictEqual(yield* run(role, family(8, 40, 0)), "OutOfMemory")
        })
    )

    it.effect("may share memory with its children, which counts once", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* run("grader", family(8, 0, 40)), "kept all\n")
      }))

    it.effect.each([["agent", "."], ["agent", "/tmp"], ["grader", "."], ["grader", "/dev/shm"]] as const)(
      "in the role %s ends if it makes too many empty files in %s",
      ([role, folder]) =>
        Effect.gen(function*() {
          const code = `import os, time\nfor n in range(600): os.mknod(f"${folder}/{n}")\ntime.sleep(600)`
          assert.strictEqual(yield* run(role, code), "over the limit on disk")
        })
    )

    it.effect.each([
      ["names that are not UTF-8", "names = [b'\\xff%c' % n for n in b'abc']"],
      [
        "a path that is too long",
        "names = ['a', 'b', 'c']\nfor _ in range(50): os.mkdir('deep' * 50); os.chdir('deep' * 50)"
      ]
    ])("ends if it hides large files behind %s", ([, code]) =>
      Effect.gen(function*() {
        const hiding =
          `import os, time\n${code}\nfor name in names: open(name, 'wb').write(bytes(1 << 20))\ntime.sleep(600)`
        assert.strictEqual(yield* run("agent", hiding), "over the limit on disk")
      }))

    it.effect("has at most 256 connections to an address that its spec names", () =>
      Effect.gen(function*() {
        const { most, port } = yield* counting
        const code = `
import os, socket
for _ in range(3):
    if os.fork() == 0:
        held = [socket.create_connection(("127.0.0.1", ${port})) for _ in range(150)]
        for one in held: one.setblocking(True); one.settimeout(2)
        try: held[0].recv(1)
        except OSError: pass
        os._exit(0)
for _ in range(3): os.wait()`
        assert.strictEqual(yield* run("agent", code, [`127.0.0.1:${port}`]), "")
        assert.isAtMost(most(), 256)
        assert.isAbove(most(), 0)
      }))
  })

  it.live.each([
    ["folders that it may not enter", "os.makedirs('a/b'); open('a/b/c', 'w'); os.chmod('a/b', 0); os.chmod('a', 0)"],
    ["names that are not UTF-8", "os.mkdir(b'\\xff'); open(b'\\xff/\\xfe', 'w')"],
    ["a path that is too long", "for _ in range(50): os.mkdir('deep' * 50); os.chdir('deep' * 50)"]
  ])("removes everything that is left of %s", ([, code]) =>
    Effect.gen(function*() {
      const folder = yield* OwnFolder.make
      yield* Effect.provide(run("agent", `import os\n${code}`), Sandbox.Sandbox.layerBubblewrap())
      assert.deepStrictEqual(readdirSync(folder).flatMap((root) => readdirSync(join(folder, root))), [])
    }).pipe(Effect.scoped))
})
