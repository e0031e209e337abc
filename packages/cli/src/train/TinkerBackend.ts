/** A Tinker service as the backend. The tokenizers of its models are loaded on this machine. */
import type { Tinker, TinkerError } from "@effect-rl/core"
import type { Tokenizer } from "@effect-rl/core/renderers"
import { CredentialCommand, TinkerHttp } from "@effect-rl/tinker"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Path from "effect/Path"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Schema from "effect/Schema"
import * as GivenFlag from "../GivenFlag.ts"
import * as ModelTokenizers from "../ModelTokenizers.ts"

/** No credentials for the service were found. */
export class NoApiKey extends Schema.TaggedError<NoApiKey>()("NoApiKey", {}) {
  override get message() {
    return "--backend tinker needs TINKER_API_KEY in the environment: the key of the service, " +
      "or anything that begins with tml- for a server without keys"
  }
}

/** Checks credentials before the run starts, because it may then continue unattended for hours. */
const options = Effect.filterOrFail(
  TinkerHttp.options,
  ({ apiKey, credentialCommand }) => (apiKey ?? credentialCommand) !== undefined,
  () => new NoApiKey()
)

/** The flags that select the service. */
export interface Given {
  readonly baseUrl: Option.Option<string>
  readonly server: Option.Option<TinkerHttp.Server>
  readonly allowUnmaskedLoss: boolean
}

/** The hosted service, or the server at `baseUrl`. A command may supply the token. */
export const layer = ({ allowUnmaskedLoss, baseUrl, server }: Given): Layer.Layer<
  Tinker.Tinker | Tokenizer.Tokenizers,
  TinkerError.TinkerError | Config.ConfigError | NoApiKey,
  ChildProcessSpawner.ChildProcessSpawner | FileSystem.FileSystem | Path.Path
> =>
  Layer.unwrap(Effect.map(options, (options) =>
    TinkerHttp.layerOptions({
      ...options,
      allowUnmaskedLoss,
      ...GivenFlag.options(baseUrl, (baseUrl) => ({ baseUrl })),
      ...GivenFlag.options(server, (server) => ({ server }))
    }))).pipe(
      Layer.provide([NodeHttpClient.layerUndici, CredentialCommand.layer]),
      Layer.merge(ModelTokenizers.layer)
    )
