// Checks the backend contract on a device: node --conditions=@effect-rl/source packages/torch/scripts/contract.ts FOLDER DEVICE DTYPE
import { Contract } from "@effect-rl/core/testing"
import { TorchBackend } from "@effect-rl/torch"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, FileSystem, Layer } from "effect"

const [folder = "", device = "cuda", dtype = "float32"] = process.argv.slice(2)
const name = "model"

const backend = Layer.unwrap(Effect.map(
  FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped()),
  (checkpoints) =>
    TorchBackend.layer({
      model: folder,
      name,
      device,
      checkpoints,
      dtype: dtype === "bfloat16" ? dtype : "float32",
      python: process.env["EFFECT_RL_PYTHON"] ?? "python3"
    })
))

const check = Effect.gen(function*() {
  const outcomes = yield* Effect.forEach(Contract.contract({ baseModel: name }), ({ check, name }) =>
    check.pipe(
      Effect.catch((error) => Effect.as(Console.log(error.message), "broken")),
      Effect.tap((outcome) => Console.log(`${outcome}: ${name}`))
    ))
  const count = (outcome: string) => outcomes.filter((one) => one === outcome).length
  yield* Console.log(
    `${dtype}: ${count("kept")} kept, ${count("broken")} broken, ${count("inapplicable")} inapplicable`
  )
})

NodeRuntime.runMain(Effect.scoped(check.pipe(Effect.provide(backend), Effect.provide(NodeServices.layer))))
