/** The sandbox of recipes that run code which a model wrote. */
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

/** No sandbox is looked for where a recipe does not say that it runs code. */
const none = Layer.succeed(
  Sandbox.Sandbox,
  Sandbox.Sandbox.of({
    provider: "none",
    capabilities: { isolation: "none", sampledCode: false, runtimes: [], network: "none", enforced: [], timeScale: 1 },
    open: () => Effect.fail(refusal)
  })
)

/** The sandbox of this machine, for a recipe that runs code; fails where there is none. */
export const layer = ({ runsCode }: { readonly runsCode?: true }) => runsCode === true ? Sandbox.Sandbox.layer : none
