import { Outcome, Sandbox, SandboxFiles } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { promisify } from "node:util"
import type * as Daemon from "./Daemon.ts"
import { image, lacks, ScriptedDaemon, setVariable } from "./ScriptedDaemon.ts"

const withDaemon = <A, E>(use: (daemon: Daemon.Daemon) => Effect.Effect<A, E, Sandbox.Sandbox>) =>
  Effect.flatMap(ScriptedDaemon, (daemon) => Effect.provide(use(daemon), Sandbox.Sandbox.layerDocker())).pipe(
    Effect.provide(ScriptedDaemon.layer)
  )

const opened = (spec: { readonly role: "agent" | "grader"; readonly files?: SandboxFiles.SandboxFiles }) =>
  Effect.flatMap(Sandbox.Sandbox, ({ open }) => open({ runtime: "python", ...spec }))

/** The restrictions that a container was requested with. */
const asked = (created: Daemon.Created | undefined) => {
  if (created === undefined) return undefined
  const { HostConfig, User } = created
  const { AutoRemove, CapDrop, LogConfig, Memory, MemorySwap, NanoCpus, NetworkMode, PidsLimit } = HostConfig
  const { ReadonlyRootfs, SecurityOpt } = HostConfig
  const limits = { Memory, MemorySwap, NanoCpus, PidsLimit }
  return { AutoRemove, CapDrop, LogConfig, NetworkMode, ReadonlyRootfs, SecurityOpt, User, ...limits }
}

const confined = {
  AutoRemove: true,
  CapDrop: ["ALL"],
  LogConfig: { Type: "none", Config: {} },
  NanoCpus: 1_000_000_000,
  NetworkMode: "none",
  ReadonlyRootfs: true,
  SecurityOpt: ["no-new-privileges"],
  User: "65534:65534"
}

describe.skipIf(lacks !== undefined)(
  `sandboxes of the Docker provider${lacks === undefined ? "" : ` (skipped: ${lacks})`}`,
  { concurrent: false },
  () => {
    it.live("request a container with user nobody, no network, a read-only image and all limits", () =>
      withDaemon(({ created }) =>
        Effect.gen(function*() {
          const place = yield* opened({ role: "grader", files: SandboxFiles.make({ "main.py": "print(1)" }) })
          yield* place.exec({ argv: ["python3", "main.py"] })
          const [keeper, program] = created.slice(-2)
          const memory = (256 + 3 * 64 + 16) * 2 ** 20
          assert.deepStrictEqual(asked(program), { ...confined, Memory: memory, MemorySwap: memory, PidsLimit: 17 })
          const kept = 128 * 2 ** 20
          assert.deepStrictEqual(asked(keeper), { ...confined, Memory: kept, MemorySwap: kept, PidsLimit: 16 })
          const folder = (mode: string) => `rw,exec,nosuid,nodev,size=${64 * 2 ** 20},mode=${mode},uid=65534,gid=65534`
          assert.deepStrictEqual(program?.HostConfig.Tmpfs, { "/tmp": folder("1777"), "/work": folder("0755") })
          const mounts = program?.HostConfig.Mounts?.map(({ ReadOnly, Target }) => ({ ReadOnly, Target }))
          assert.deepStrictEqual(mounts, [{ ReadOnly: true, Target: "/given" }])
          assert.deepStrictEqual(keeper?.Cmd, ["86400"])
        }).pipe(Effect.scoped)
      ))

    it.live("request a separate volume for each folder that programs find at an absolute path", () =>
      withDaemon(({ created, remaining }) =>
        Effect.gen(function*() {
          const { open } = yield* Sandbox.Sandbox
          const folders = { "/app": "app", "/logs": "logs" }
          const place = yield* open({ runtime: "shell", role: "grader", folders })
          yield* place.exec({ argv: ["sh", "-c", "echo x > /logs/x"] })
          const [program] = created.slice(-1)
          const mounts = program?.HostConfig.Mounts?.map(({ ReadOnly = false, Source, Target }) => ({
            of: Source.replace(place.id, ""),
            Target,
            ReadOnly
          }))
          const own = mounts?.[3]?.of.slice(0, -2) ?? ""
          assert.deepStrictEqual(mounts, [
            { of: "", Target: "/given", ReadOnly: true },
            { of: "-0", Target: "/given/app", ReadOnly: true },
            { of: "-1", Target: "/given/logs", ReadOnly: true },
            { of: `${own}-0`, Target: "/work/app", ReadOnly: false },
            { of: `${own}-0`, Target: "/app", ReadOnly: false },
            { of: `${own}-1`, Target: "/work/logs", ReadOnly: false },
            { of: `${own}-1`, Target: "/logs", ReadOnly: false }
          ])
          const names = remaining().filter((name) => name.startsWith(place.id)).map((name) =>
            name.replace(place.id, "")
          )
          assert.deepStrictEqual(names, ["", "", "-0", "-1"])
          assert.strictEqual(program?.HostConfig["Memory"], (256 + 5 * 64 + 16) * 2 ** 20)
        }).pipe(Effect.scoped)
      ))

    it.live("leave no container or volume when the sandbox closes, even while a program runs", () =>
      withDaemon(({ created, remaining }) =>
        Effect.gen(function*() {
          const started = yield* Deferred.make<void>()
          const fiber = yield* Effect.scoped(Effect.gen(function*() {
            const place = yield* opened({ role: "agent" })
            const fiber = yield* Effect.forkDetach(place.exec({ argv: ["python3", "-c", "while True: pass"] }))
            const before = created.length
            yield* Effect.forkChild(Effect.andThen(
              Effect.repeat(Effect.sleep("20 millis"), { until: () => created.length > before }),
              Deferred.succeed(started, undefined)
            ))
            yield* Deferred.await(started)
            return fiber
          }))
          assert.strictEqual((yield* Fiber.join(fiber))._tag, "Killed")
          assert.deepStrictEqual(remaining(), [])
        })
      ))

    it.live("fail as a sandbox error if the daemon stops answering", () =>
      withDaemon(({ drop }) =>
        Effect.gen(function*() {
          const place = yield* opened({ role: "agent" })
          const fiber = yield* Effect.forkChild(
            Effect.flip(place.exec({ argv: ["python3", "-c", "while True: pass"] }))
          )
          yield* Effect.sleep("1 second")
          drop()
          assert.strictEqual((yield* Fiber.join(fiber)).reason._tag, "Lost")
        }).pipe(Effect.scoped)
      ))

    it.live("distinguish exit code 125 of a program from a failure of the daemon", () =>
      withDaemon(() =>
        Effect.gen(function*() {
          const place = yield* opened({ role: "agent" })
          const outcome = yield* place.exec({ argv: ["sh", "-c", "echo said >&2; exit 125"] })
          assert.isTrue(Outcome.is("Exited")(outcome) && outcome.code === 125)
          assert.strictEqual(Outcome.text(outcome.stderr), "said\n")
        }).pipe(Effect.scoped)
      ))

    it.live("remove what dead hosts left, and nothing of hosts that cannot be checked from here", () =>
      Effect.gen(function*() {
        const { remaining, volumesMade } = yield* ScriptedDaemon
        const provide = Effect.provide(Sandbox.Sandbox.layerDocker())
        yield* provide(Sandbox.Sandbox.use(({ provider }) => Effect.succeed(provider)))
        const owner = volumesMade[0]?.Labels["effect-rl.sandbox.owner"] ?? ""
        const docker = (...args: ReadonlyArray<string>) => Effect.promise(() => promisify(execFile)("docker", args))
        const plant = Effect.fnUntraced(function*(name: string, owner: string) {
          const labels = [
            "--label",
            `effect-rl.sandbox.owner=${owner}`,
            "--label",
            `effect-rl.sandbox.host=${randomUUID()}`
          ]
          yield* docker("volume", "create", ...labels, name)
          yield* docker("run", "--detach", "--name", name, ...labels, "--workdir=/", "--entrypoint=sleep", image, "600")
        })
        yield* plant("dead", owner)
        yield* plant("others", "another-machine")
        yield* provide(Sandbox.Sandbox.use(({ provider }) => Effect.succeed(provider)))
        assert.deepStrictEqual(remaining(), ["others", "others"])
      }).pipe(Effect.provide(ScriptedDaemon.layer)))

    it.live("are refused if the image is missing, with advice to pull it", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(
          Effect.provide(Sandbox.Sandbox, Sandbox.Sandbox.layerDocker({ image: "absent:1" }))
        )
        assert.strictEqual(error.reason._tag, "Unavailable")
        assert.include(error.message, "No such image: absent:1")
        assert.include(error.message, "docker pull absent:1")
      }).pipe(Effect.provide(ScriptedDaemon.layer)))

    it.live("are refused if no daemon answers", () =>
      Effect.gen(function*() {
        yield* setVariable("DOCKER_HOST", "unix:///nowhere/docker.sock")
        const error = yield* Effect.flip(Effect.provide(Sandbox.Sandbox, Sandbox.Sandbox.layerDocker()))
        assert.strictEqual(error.reason._tag, "Unavailable")
        assert.include(error.message, "Cannot connect to the Docker daemon")
      }).pipe(Effect.scoped))
  }
)
