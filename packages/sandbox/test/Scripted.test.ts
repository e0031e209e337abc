import { Outcome, Sandbox, SandboxError, SandboxFiles, type SandboxSpec, Scripted } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"

const spec: SandboxSpec.SandboxSpec = { runtime: "python", role: "grader" }

const echo = Sandbox.Sandbox.layerScripted({
  run: ({ command }) => Effect.succeed(Scripted.printed(String(command.stdin)))
})

const open = (given: Partial<SandboxSpec.SandboxSpec> = {}) =>
  Effect.flatMap(Sandbox.Sandbox, (sandbox) => sandbox.open({ ...spec, ...given }))

const refusal = (given: Partial<SandboxSpec.SandboxSpec>) =>
  open(given).pipe(Effect.scoped, Effect.provide(echo), Effect.flip, Effect.map(({ message }) => message))

describe("a scripted sandbox", () => {
  it.effect("answers each program with the script's outcome", () =>
    Effect.gen(function*() {
      const place = yield* open()
      const outcome = yield* place.exec({ argv: ["python3", "main.py"], stdin: "2 3" })
      assert.deepStrictEqual(outcome, Scripted.printed("2 3"))
      assert.strictEqual(place.provider, "scripted")
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("keeps files that a program writes for an agent, but not for a grader", () => {
    const counter = Sandbox.Sandbox.layerScripted({
      run: ({ files }) =>
        Effect.sync(() => {
          files.set(`file${files.size}`, new Uint8Array(1))
          return Scripted.printed(String(files.size))
        })
    })
    const twice = (role: SandboxSpec.Role) =>
      Effect.gen(function*() {
        const place = yield* open({ role, files: SandboxFiles.make({ "given.txt": "" }) })
        yield* place.exec({ argv: ["python3"] })
        return Outcome.text((yield* place.exec({ argv: ["python3"] })).stdout)
      }).pipe(Effect.scoped, Effect.provide(counter))
    return Effect.gen(function*() {
      assert.strictEqual(yield* twice("agent"), "3")
      assert.strictEqual(yield* twice("grader"), "2")
    })
  })

  it.effect("answers a started process with the output that its script makes from the input", () => {
    const started = Sandbox.Sandbox.layerScripted({
      run: () => Effect.succeed(Scripted.printed("")),
      start: ({ command: { argv }, stdin }) =>
        Stream.map(stdin, (bytes) => new TextEncoder().encode(`${argv[0]}: ${Outcome.text(bytes)}`))
    })
    return Effect.gen(function*() {
      const place = yield* open({ role: "agent" })
      const { outcome, stdin, stdout } = yield* place.start(["echo"])
      yield* Stream.run(Stream.encodeText(Stream.make("a", "b")), stdin)
      assert.strictEqual(yield* Stream.mkString(Stream.decodeText(stdout)), "echo: aecho: b")
      assert.deepStrictEqual(yield* outcome, Scripted.printed(""))
      const ended = yield* Effect.scoped(Effect.map(place.start(["echo"]), ({ outcome }) => outcome))
      assert.strictEqual((yield* ended)._tag, "Killed")
    }).pipe(Effect.scoped, Effect.provide(started))
  })

  it.effect("starts no process unless its script supports it", () =>
    Effect.gen(function*() {
      const place = yield* open({ role: "agent" })
      const error = yield* Effect.flip(place.start(["echo"]))
      assert.strictEqual(
        error.message,
        "scripted: start: start is not supported: this provider runs programs to their end"
      )
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("fails as Lost once its scope has closed", () =>
    Effect.gen(function*() {
      const place = yield* Effect.scoped(open())
      const error = yield* Effect.flip(place.exec({ argv: ["python3"] }))
      assert.strictEqual(error.reason._tag, "Lost")
      assert.isTrue(error.isRetryable)
    }).pipe(Effect.provide(echo)))

  it.effect("fails to open if the script refuses", () => {
    const reason = new SandboxError.Unavailable({ detail: "no room" })
    const error = new SandboxError.SandboxError({ provider: "scripted", operation: "open", reason })
    const full = Sandbox.Sandbox.layerScripted({ run: () => Effect.fail(error), open: () => Effect.fail(error) })
    return Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(Effect.scoped(open()))).message, "scripted: open: no room")
    }).pipe(Effect.provide(full))
  })

  it.effect("refuses an invalid spec and names the field, the value and the expectation", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* refusal({ limits: { memory: -1 } }),
        "scripted: open: limits.memory is -1, expected a whole number of at least 33554432"
      )
      assert.strictEqual(
        yield* refusal({ files: SandboxFiles.make({ "../x": "" }) }),
        "scripted: open: files is \"../x\", expected paths below the root, such as \"tests/data.txt\""
      )
      assert.strictEqual(
        yield* refusal({ environment: { "A=B": "" } }),
        "scripted: open: environment is \"A=B\", expected names of letters, digits and underscores"
      )
      assert.strictEqual(
        yield* refusal({ folders: { "/usr/app": "app" } }),
        "scripted: open: folders is \"/usr/app\", expected absolute paths apart from those of the system, such as \"/app\""
      )
      assert.strictEqual(
        yield* refusal({ folders: { "/app": ".." } }),
        "scripted: open: folders./app is \"..\", expected a folder below the root, such as \"app\""
      )
      assert.strictEqual(
        yield* refusal({ folders: { "/app": "app" }, readOnly: ["/app"] }),
        "scripted: open: readOnly is \"/app\", expected one of folders, with a file in it"
      )
      assert.strictEqual(
        yield* refusal({ network: ["127.0.0.1:80"] }),
        "scripted: open: network is [\"127.0.0.1:80\"], expected no address in the sandbox of a grader"
      )
    }))

  it.effect.each(["/etc/passwd", "../secret", "a/../../b", "", "a//b", "a\0b", "./a"])(
    "refuses to read and write %j",
    (path) =>
      Effect.gen(function*() {
        const place = yield* open()
        for (const operation of [place.read(path), place.write(path, "")]) {
          assert.strictEqual((yield* Effect.flip(operation)).reason._tag, "Denied")
        }
      }).pipe(Effect.scoped, Effect.provide(echo))
  )
})

describe("sandbox files", () => {
  it("have a digest that depends on every path and content but not on their order", () => {
    const digest = (contents: Record<string, string>) => SandboxFiles.digest(SandboxFiles.make(contents))
    assert.strictEqual(digest({ a: "1", b: "2" }), digest({ b: "2", a: "1" }))
    assert.notStrictEqual(digest({ a: "1", b: "2" }), digest({ a: "2", b: "1" }))
    assert.notStrictEqual(digest({ a: "1" }), digest({ a: "1", b: "" }))
  })

  it("are identified by the SHA-256 of their bytes", () => {
    const [file] = SandboxFiles.make({ empty: "" })
    assert.strictEqual(file?.hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  })
})
