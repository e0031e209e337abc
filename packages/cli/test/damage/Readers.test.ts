/** Every command that reads a run reports damaged files, and shows no number from damaged data. */
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit, FileSystem, Layer, Logger, Runtime, Stream } from "effect"
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../CommandLine.ts"
import * as Subjects from "./Subjects.ts"

const { backend, run: recorded } = Subjects.scripted

const change = (file: string, from: string | RegExp, to: string) => {
  const text = readFileSync(file, "utf8")
  assert.notStrictEqual(text.replace(from, to), text)
  writeFileSync(file, text.replace(from, to))
}

it.live(
  "commands refuse a run with changed records, and name and skip groups with changed payloads",
  () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const root = yield* fs.makeTempDirectoryScoped({ prefix: "effect-rl-damage-" })
      const [whole, records, payloads] = [join(root, "whole"), join(root, "records"), join(root, "payloads")]
      mkdirSync(join(root, "checkpoints"))
      yield* Stream.runDrain(recorded(1)).pipe(
        Effect.provide(Layer.merge(RunDirectory.layer(whole), backend(join(root, "checkpoints")))),
        Effect.provide(Logger.layer([]))
      )
      for (const copy of [records, payloads]) cpSync(whole, copy, { recursive: true })
      change(join(records, "records.jsonl"), `"iteration":3`, `"iteration":4`)
      change(join(payloads, "payloads.jsonl"), /"rewards":\[[01]/, `"rewards":[7`)

      const page = join(root, "page.html")
      const regrade = ["regrade", "--credit", "centered"]
      const ofRecords = [["show"], ["show", "--rollouts"], ["audit"], regrade, ["compare", whole], ["export", page]]
      for (const [command = "", ...others] of ofRecords) {
        const { errors, exit, out } = yield* run(command, records, ...others)
        assert.isTrue(Exit.isFailure(exit), command)
        assert.match(errors.join("\n"), /records\.jsonl, line \d+ was changed, moved or repeated after/, command)
        assert.deepStrictEqual(out, [], command)
      }
      const listed = yield* run("runs", records)
      assert.match(
        [...listed.out, ...listed.errors].join("\n"),
        /cannot be read: .*records\.jsonl, line \d+ was changed/
      )
      assert.isFalse(yield* fs.exists(page))
      const damage = /payloads\.jsonl was changed at bytes \d+ to \d+ after it was written/
      const chat = join(root, "chat.jsonl")
      for (const [command = "", ...others] of [regrade, ["export", page], ["export", chat, "--format", "chat"]]) {
        const { errors, exit, out } = yield* run(command, payloads, ...others)
        assert.strictEqual(Exit.isFailure(exit) ? Runtime.getErrorExitCode(Cause.squash(exit.cause)) : 0, 3, command)
        assert.match(
          [...errors, ...out].join("\n"),
          new RegExp(`group .+ of iteration 1 is left out: .*${damage.source}`),
          command
        )
        assert.match(errors.at(-1) ?? "", /^error: 1 damaged group is left out: \S+ of iteration 1$/, command)
      }
      const audited = yield* run("audit", payloads)
      assert.isTrue(Exit.isFailure(audited.exit))
      assert.match(audited.out.join("\n"), new RegExp(`unreadable: .*${damage.source}`))
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
  60_000
)
