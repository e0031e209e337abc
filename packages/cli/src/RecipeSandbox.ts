/** The sandbox for recipes that run model-written code. */
import { Sandbox, SandboxError } from "@effect-rl/sandbox"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const refusal = new SandboxError.SandboxError({
  provider: "none",
  operation: "open",
  reason: new SandboxError.Denied({
    field: "runsCode",
    found: "not given",
    expected: "true in Recipe.make of a recipe that runs code which a model wrote"
  })
})

/** The sandbox of recipes that do not declare that they run code. Opening it fails, and no provider is tested. */
const none = Layer.succeed(
  Sandbox.Sandbox,
  Sandbox.Sandbox.of({
    provider: "none",
    capabilities: { isolation: "none", sampledCode: false, runtimes: [], network: "none", enforced: [], timeScale: 1 },
    open: () => Effect.fail(refusal)
  })
)

/** This machine's sandbox for a recipe that runs code; fails if the machine has no sandbox. */
export const layer = ({ runsCode }: { readonly runsCode?: true }) => runsCode === true ? Sandbox.Sandbox.layer : none
