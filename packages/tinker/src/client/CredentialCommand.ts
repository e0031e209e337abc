/**
 * Runs the command that prints a credential (`TINKER_CREDENTIAL_CMD`).
 *
 * @example
 * const client = TinkerHttp.layerOptions({ credentialCommand: Redacted.make("my-login --print") }).pipe(
 *   Layer.provide(CredentialCommand.layer)
 * )
 */
import { TinkerError } from "@effect-rl/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ChildProcess from "effect/process/ChildProcess"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Redacted from "effect/Redacted"

/**
 * Runs the shell command and returns its output without surrounding whitespace. Fails if the command cannot be run, prints nothing, or
 * takes longer than one minute.
 */
export type Run = (command: Redacted.Redacted) => Effect.Effect<Redacted.Redacted, TinkerError.Reason>

const failed = (detail: string) => new TinkerError.Rejected({ detail: `TINKER_CREDENTIAL_CMD ${detail}` })

const none: Run = () =>
  Effect.fail(
    new TinkerError.Unsupported({
      capability: "TINKER_CREDENTIAL_CMD",
      detail: "provide CredentialCommand.layer, which runs commands"
    })
  )

/** Timeout for the command. */
const limit = "1 minute"

const run = (spawner: ChildProcessSpawner.ChildProcessSpawner["Service"]): Run => (command) =>
  spawner.string(ChildProcess.make(Redacted.value(command), { shell: true, stderr: "inherit" })).pipe(
    Effect.mapError(() => failed("cannot be run")),
    Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.fail(failed(`printed nothing within ${limit}`)) }),
    Effect.map((text) => text.trim()),
    Effect.filterOrFail((text) => text !== "", () => failed("printed nothing, expected a credential")),
    Effect.map((text) => Redacted.make(text))
  )

/** Runs credential commands. Without `layer`, every credential command fails as `Unsupported`. */
export const CredentialCommand = Context.Reference<Run>("@effect-rl/tinker/client/CredentialCommand", {
  defaultValue: () => none
})

export const layer: Layer.Layer<never, never, ChildProcessSpawner.ChildProcessSpawner> = Layer.effect(
  CredentialCommand,
  Effect.map(ChildProcessSpawner.ChildProcessSpawner, run)
)
