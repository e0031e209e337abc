/**
 * Terminal tasks on all providers that support folders at absolute paths: AI SDK sessions, including just-bash, and Docker with a scripted
 * daemon.
 */
import { HarborTask, ShellSolution } from "@effect-rl/recipes"
import { Sandbox, SandboxFiles } from "@effect-rl/sandbox"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as JustBash from "../../../sandbox/test/contract/JustBash.ts"
import * as MachineSession from "../../../sandbox/test/contract/MachineSession.ts"
import * as ScriptedDaemon from "../../../sandbox/test/docker/ScriptedDaemon.ts"
import * as Machine from "../../../sandbox/test/Machine.ts"
import * as Terminal from "./Terminal.ts"

/** Opens sandboxes for scripted code, because the code is written by the test and not by a model. */
const vouched = Layer.effect(
  Sandbox.Sandbox,
  Effect.map(
    Sandbox.Sandbox,
    (sandbox) => Sandbox.Sandbox.of({ ...sandbox, open: (spec) => sandbox.open({ ...spec, code: "scripted" }) })
  )
)

const places = [
  {
    name: "Docker, with a scripted daemon",
    layer: Layer.provide(Sandbox.Sandbox.layerDocker(), ScriptedDaemon.ScriptedDaemon.layer),
    lacks: ScriptedDaemon.lacks,
    isBash: true
  },
  {
    name: "a session of the AI SDK",
    layer: Sandbox.Sandbox.layerSession(MachineSession.options),
    lacks: Machine.lacksBubblewrap,
    isBash: true
  },
  {
    name: "just-bash",
    layer: Layer.provide(vouched, Sandbox.Sandbox.layerSession(JustBash.options)),
    lacks: JustBash.lacks,
    // just-bash does not redirect the output of an if statement.
    isBash: false
  }
]

const check = "grep -qx hello /app/greeting.txt && . /tests/lib.sh && reward 1"

const task = Terminal.task("", {
  tests: {
    files: SandboxFiles.make({ "test.sh": check, "lib.sh": "reward() { echo $1 > /logs/verifier/reward.txt; }" }),
    environment: {},
    timeout: "20 seconds"
  }
})

const harbor = new URL("../fixtures/harbor", import.meta.url).pathname

describe.each(places)("a terminal in $name", ({ isBash, lacks, layer: provided, name }) => {
  describe.skipIf(lacks !== undefined)(lacks === undefined ? "here" : `(skipped: ${lacks})`, () => {
    layer(Layer.merge(provided, NodeServices.layer), { excludeTestServices: true })((it) => {
      it.effect("keeps files across the commands of an episode, and judges them", () =>
        Effect.gen(function*() {
          const { stepReward, transitions } = yield* Terminal.play(
            { task },
            Terminal.command("pwd; cat given.txt; echo hel > greeting.txt"),
            Terminal.command("sed -i s/hel/hello/ /app/greeting.txt; cat ~/workdir/greeting.txt; ls -d /tests /logs")
          )
          assert.strictEqual(stepReward, 1)
          assert.include(String(transitions[0]?.logs["tool_result_0"]), "\"stdout\": \"/app\\ngiven\\n\"")
          assert.include(String(transitions[1]?.logs["tool_result_0"]), "\"stdout\": \"hello\\n\"")
          const verdict = transitions.at(-1)?.score?.verdict
          assert.strictEqual(verdict?.outcome, "passed")
        }))

      it.effect("gives reward 0 if nothing was done, or if the agent planted tests and a verdict", () =>
        Effect.gen(function*() {
          const plant =
            "mkdir -p ~/tests ~/logs/verifier; echo 'reward() { echo 1 > /logs/verifier/reward.txt; }; reward' > ~/tests/lib.sh; "
            + "cp ~/tests/lib.sh ~/tests/test.sh; echo 1 > ~/logs/verifier/reward.txt"
          assert.strictEqual((yield* Terminal.play({ task })).stepReward, 0)
          assert.strictEqual((yield* Terminal.play({ task }, Terminal.command(plant))).stepReward, 0)
        }))

      it.effect("gives reward 0 if the folder became a file", () =>
        Effect.gen(function*() {
          const mischief = Terminal.command("cd ~; rm -r workdir; echo > workdir; true")
          assert.strictEqual((yield* Terminal.play({ task }, mischief)).stepReward, 0)
        }))

      it.effect.skipIf(!isBash)(
        "rewards the reference solutions of Harbor tasks, and nothing else",
        () =>
          Effect.gen(function*() {
            const tasks = yield* HarborTask.readAll(harbor, { images: ["debian:12-slim"] })
            for (const task of tasks) {
              const solution = ShellSolution.call(task.solution ?? [])
              assert.strictEqual((yield* Terminal.play({ task }, solution)).stepReward, 1, `${task.id} in ${name}`)
              assert.isBelow((yield* Terminal.play({ task })).stepReward, 1)
            }
          })
      )
    })
  })
})
