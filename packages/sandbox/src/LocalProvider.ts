/** The sandbox providers that are tried in order on this machine, and what each of them lacks. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Bubblewrap from "./Bubblewrap.ts"
import * as Docker from "./Docker.ts"
import type { Sandbox } from "./Sandbox.ts"
import { SandboxError, Unavailable } from "./SandboxError.ts"
import * as Wasi from "./Wasi.ts"

/** Whether a provider works on this machine. If not, `lacks` says why and what to install. */
export interface Finding {
  readonly provider: string
  readonly lacks?: string
  /** The provider is used only if a program names it. `Sandbox.layer` never selects it. */
  readonly onlyNamed?: true
}

interface Candidate extends Pick<Finding, "provider" | "onlyNamed"> {
  readonly make: Effect.Effect<Sandbox["Service"], SandboxError, Scope.Scope>
}

const candidates: ReadonlyArray<Candidate> = [
  { provider: Bubblewrap.provider, make: Bubblewrap.make() },
  { provider: Wasi.provider, make: Wasi.make() }
]

const named: ReadonlyArray<Candidate> = [{ provider: Docker.provider, onlyNamed: true, make: Docker.make() }]

/** Starts a provider in the current scope. If starting fails, its resources are released. */
const attempt = (make: Effect.Effect<Sandbox["Service"], SandboxError, Scope.Scope>) =>
  Effect.gen(function*() {
    const scope = yield* Scope.fork(yield* Effect.scope)
    return yield* make.pipe(Scope.provide(scope), Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))))
  })

/** Makes the service of the first provider that works. Fails as `Unavailable` if none does. */
export const make: Effect.Effect<Sandbox["Service"], SandboxError, Scope.Scope> = Effect.gen(function*() {
  const lacking: Array<string> = []
  for (const { make, provider } of candidates) {
    const found = yield* Effect.result(attempt(make))
    if (Result.isSuccess(found)) return found.success
    lacking.push(`${provider} (${found.failure.reason.message})`)
  }
  return yield* new SandboxError({
    provider: "local",
    operation: "probe",
    reason: new Unavailable({
      detail: `no sandbox works on this machine: ${lacking.join("; ")}. Code of a model does not run without one`
    })
  })
})

/**
 * Tests all providers on this machine: first those that `Sandbox.layer` tries, in order, then those that are used only by name.
 *
 * @example
 * const report = Effect.flatMap(LocalProvider.examine, Effect.forEach(({ lacks, provider }) =>
 *   Console.log(`${provider}: ${lacks ?? "holds"}`)
 * ))
 */
export const examine: Effect.Effect<ReadonlyArray<Finding>> = Effect.forEach(
  [...candidates, ...named],
  ({ make, ...found }) =>
    Effect.scoped(make).pipe(
      Effect.match({
        onSuccess: (): Finding => found,
        onFailure: ({ reason }): Finding => ({ ...found, lacks: reason.message })
      })
    )
)
