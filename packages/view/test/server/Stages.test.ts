import { RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import type { Stage } from "@effect-rl/view/story/Entry"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Recorded from "../Recorded.ts"
import * as Served from "./Served.ts"

/** Writes a run that saved one checkpoint under the given address. */
const write = (run: string, store: string, identity: Readonly<Record<string, string>> = {}, digest = "") =>
  Effect.gen(function*() {
    const records = yield* RunStore.RunStore
    yield* records.append(Recorded.opened(-1, identity))
    yield* records.append({
      ...Recorded.saved(1, "final"),
      statePath: `${store}/weights/final`,
      samplerPath: `${store}/sampler_weights/final`,
      ...(digest === "" ? {} : { stateDigest: digest })
    })
  }).pipe(Effect.provide(RunDirectory.layer(run)))

const stagesOf = Effect.fnUntraced(function*(url: string, run: string) {
  const { text } = yield* Served.get(`${url}/api/stages?${new URLSearchParams({ run })}`)
  const stages: ReadonlyArray<Stage> = JSON.parse(text)
  const name = (run: string) => run.split("/").at(-1)
  return stages.map(({ line, standsOn }) => [name(line.run), ...standsOn.map(name)])
})

describe("the stages of a pipeline", () => {
  it.effect("are the runs that use other runs' checkpoints to start from, as teachers or as references, in order", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const pipeline = `${folder}/pipeline`
      yield* write(`${pipeline}/imitate`, "engine://model-1")
      yield* write(`${pipeline}/judge`, "engine://model-2")
      const [start, judge] = ["engine://model-1/weights/final", "judged by engine://model-2/sampler_weights/final"]
      yield* write(`${pipeline}/learn`, "engine://model-3", { load_checkpoint_path: start, dataset: judge })
      const url = yield* Served.serve(folder)
      const expected = [["imitate"], ["judge"], ["learn", "imitate", "judge"]]
      assert.deepStrictEqual(yield* stagesOf(url, `${pipeline}/learn`), expected)
      assert.deepStrictEqual(yield* stagesOf(url, `${pipeline}/judge`), expected)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("are found across folders by service addresses and copied checkpoints, but not by engine addresses", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      yield* write(`${folder}/one/first`, "engine://model-1", {}, "0123456789abcdef")
      yield* write(`${folder}/two/second`, "engine://model-1", {
        load_checkpoint_path: "engine://first-1-01234567/weights/final"
      })
      yield* write(`${folder}/hosted`, "tinker://7-train-0")
      yield* write(`${folder}/two/third`, "tinker://8-train-0", {
        load_checkpoint_path: "tinker://7-train-0/weights/final"
      })
      yield* write(`${folder}/alone`, "engine://model-1", { reference: "engine://model-1/weights/final" })
      const url = yield* Served.serve(folder)
      assert.deepStrictEqual(yield* stagesOf(url, `${folder}/one/first`), [["first"], ["second", "first"]])
      assert.deepStrictEqual(yield* stagesOf(url, `${folder}/two/third`), [["hosted"], ["third", "hosted"]])
      assert.deepStrictEqual(yield* stagesOf(url, `${folder}/alone`), [])
    }).pipe(Effect.provide(NodeServices.layer)))
})
