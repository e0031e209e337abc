/** The cluster's secret, read from the environment. A flag would be visible to everyone who lists processes. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

const variable = "EFFECT_RL_CLUSTER_SECRET"

/** The environment variable for the cluster's secret is not set. */
export class NoSecret extends Schema.TaggedError<NoSecret>()("NoSecret", {}) {
  override get message() {
    return `${variable} is not set: set it to the same secret text for the run and each of its workers`
  }
}

export const ClusterSecret: Effect.Effect<Redacted.Redacted, NoSecret> = Effect.mapError(
  Effect.filterOrFail(Config.Redacted(variable), (secret) => Redacted.value(secret) !== "", () => new NoSecret()),
  () => new NoSecret()
)
