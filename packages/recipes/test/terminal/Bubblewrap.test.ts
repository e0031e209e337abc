import { Sandbox, SandboxFiles } from "@effect-rl/sandbox"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Providers from "../code/Providers.ts"
import * as Terminal from "./Terminal.ts"

const lacks = Providers.all.find(({ name }) => name === "bubblewrap")?.lacks

const title = `a terminal in bubblewrap${lacks === undefined ? "" : ` (skipped: ${lacks})`}`

/** A test that passes if the task's file has the right content. */
const hello = `
cd "$(dirname "$0")" && . ./lib.sh
cd /app
if says hello; then echo 1; else echo 0; fi > /logs/verifier/reward.txt`

const task = Terminal.task(hello, {
  tests: {
    files: SandboxFiles.make({ "test.sh": hello, "lib.sh": "says() { [ \"$(cat greeting.txt)\" = \"$1\" ]; }" }),
    environment: {},
    timeout: "10 seconds"
  }
})

const reward = (test: string, ...commands: ReadonlyArray<string>) =>
  Effect.map(
    Terminal.play({ task: Terminal.task(test) }, ...commands.map(Terminal.command)),
    ({ stepReward, transitions }) => ({ reward: stepReward, outcome: transitions.at(-1)?.score?.verdict?.outcome })
  )

const told = (transitions: ReadonlyArray<{ readonly logs: Readonly<Record<string, unknown>> }>) =>
  transitions.map(({ logs }) => String(logs["tool_result_0"]))

describe.skipIf(lacks !== undefined)(title, () => {
  layer(Sandbox.Sandbox.layerBubblewrap(), { excludeTestServices: true })((it) => {
    it.effect("keeps files across the commands of an episode, and judges them", () =>
      Effect.gen(function*() {
        const { stepReward, transitions } = yield* Terminal.play(
          { task },
          Terminal.command("pwd; cat given.txt; echo hel > greeting.txt; export X=1"),
          Terminal.command("sed -i s/hel/hello/ /app/greeting.txt; echo \"$X\"; cat greeting.txt")
        )
        assert.strictEqual(stepReward, 1)
        assert.deepStrictEqual(told(transitions).slice(0, 2), [
          "{\"outcome\": \"exit code 0\", \"stdout\": \"/app\\ngiven\\n\", \"stderr\": \"\"}",
          "{\"outcome\": \"exit code 0\", \"stdout\": \"\\nhello\\n\", \"stderr\": \"\"}"
        ])
      }))

    it.effect("gives reward 0 if nothing was done", () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* Terminal.play({ task })).stepReward, 0)
      }))

    it.effect("hides the tests from the agent, and the agent's planted files from the tests", () =>
      Effect.gen(function*() {
        const { stepReward, transitions } = yield* Terminal.play(
          { task },
          Terminal.command("ls -d /tests /logs; find /work -name test.sh; echo end"),
          Terminal.command(
            "mkdir -p ~/tests ~/logs/verifier; echo 'echo 1 > /logs/verifier/reward.txt' > ~/tests/test.sh; " +
              "echo 'says() { true; }' > ~/tests/lib.sh; echo 1 > ~/logs/verifier/reward.txt"
          ),
          Terminal.command("ln -s /logs/verifier/reward.txt greeting.txt; (sleep 60; echo 1 > ~/reward.txt) & disown")
        )
        assert.strictEqual(stepReward, 0)
        assert.include(told(transitions)[0], "\"stdout\": \"end\\n\"")
      }))

    it.effect("ends a command that takes too long, and continues the episode", () =>
      Effect.gen(function*() {
        const { stepReward, transitions } = yield* Terminal.play(
          { task, commandTimeout: "1 second" },
          Terminal.command("sleep 30"),
          Terminal.command("yes"),
          Terminal.command("echo hello > greeting.txt")
        )
        assert.include(told(transitions)[0], "killed at the limit on wall time")
        assert.include(told(transitions)[1], "killed at the limit on stdout")
        assert.strictEqual(stepReward, 1)
      }))

    it.effect("lets tests run the programs that the agent made executable", () =>
      Effect.gen(function*() {
        const test = "[ \"$(./answer)\" = 42 ] && echo 1 > /logs/verifier/reward.txt"
        const make = "printf '#!/bin/sh\\necho 42\\n' > answer; chmod +x answer"
        assert.deepStrictEqual(yield* reward(test, make), { reward: 1, outcome: "passed" })
      }))

    it.effect("copies files whose names contain a line break or start with a hyphen", () =>
      Effect.gen(function*() {
        const test = "[ \"$(./-r)$(cat $'a\\nb')\" = xyes ] && echo 1 > /logs/verifier/reward.txt"
        const make = "printf '#!/bin/sh\\nprintf x\\n' > ./-r; chmod +x ./-r; echo yes > $'a\\nb'"
        assert.deepStrictEqual(yield* reward(test, make), { reward: 1, outcome: "passed" })
      }))

    it.effect("trusts the verdict of the tests over later writes of the programs they started", () =>
      Effect.gen(function*() {
        const test = "./answer; echo 0 > /logs/verifier/reward.txt"
        const make = "printf '#!/bin/sh\\n(sleep 1; echo 1 > /logs/verifier/reward.txt) &\\n' > answer; chmod +x answer"
        assert.deepStrictEqual(yield* reward(test, make), { reward: 0, outcome: "failed" })
      }))

    it.effect.each([
      { what: "tests that hang", test: "sleep 60", outcome: "Time Limit Exceeded" },
      { what: "tests that write nothing", test: "exit 0", outcome: "No Verdict" },
      {
        what: "a link as the verdict",
        test: "echo 1 > a; ln -s $PWD/a /logs/verifier/reward.txt",
        outcome: "No Verdict"
      }
    ])("gives reward 0 for $what", ({ outcome, test }) =>
      Effect.gen(function*() {
        const base = Terminal.task(test)
        const { stepReward, transitions } = yield* Terminal.play({
          task: { ...base, tests: { ...base.tests, timeout: "1 second" } }
        })
        assert.strictEqual(stepReward, 0)
        assert.strictEqual(transitions.at(-1)?.score?.verdict?.outcome, outcome)
      }))

    it.effect("gives reward 0 if the folder became a file, or if the agent left too many files", () =>
      Effect.gen(function*() {
        const test = "echo 1 > /logs/verifier/reward.txt"
        for (const mischief of ["cd ~; rm -r workdir; echo > workdir", "seq 600 | xargs -I{} sh -c 'echo {} > {}'"]) {
          assert.deepStrictEqual(yield* reward(test, mischief), { reward: 0, outcome: "Not Started" })
        }
      }))
  })
})
