/** The error of a process that cannot join a cluster, and its reasons. */
import * as Schema from "effect/Schema"

/** The database does not answer, has no connection left, or ends the connection because it stops. */
export class Unreachable extends Schema.TaggedError<Unreachable>()("Unreachable", { detail: Schema.String }) {
  override get message() {
    return `cannot reach it: ${this.detail}`
  }
}

/** The database answers with an error: for example, it rejects the user, or the user may not create tables. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", { detail: Schema.String }) {
  override get message() {
    return `it answers with an error: ${this.detail}`
  }
}

/** The secret differs from that of the first process that joined the cluster. */
export class WrongSecret extends Schema.TaggedError<WrongSecret>()("WrongSecret", {}) {
  override get message() {
    return "its cluster has another secret: give each process of it the same one, or use another database"
  }
}

/** The address does not name a PostgreSQL database. */
export class InvalidAddress extends Schema.TaggedError<InvalidAddress>()("InvalidAddress", { detail: Schema.String }) {
  override get message() {
    return `${this.detail}, expected postgres://user:password@host:5432/database`
  }
}

/**
 * A process could not join a cluster. `database` is its address without the password.
 *
 * @example
 * const cluster = PostgresCluster.client({
 *   database: Redacted.make("postgres://trainer@db.example/training"),
 *   secret: Redacted.make("of the cluster")
 * }).pipe(
 *   Layer.tapError(({ message, reason }) => Console.error(reason._tag === "WrongSecret" ? "ask for the secret" : message))
 * )
 */
export class JoinError extends Schema.TaggedError<JoinError>()("JoinError", {
  database: Schema.String,
  reason: Schema.Union([Unreachable, Refused, WrongSecret, InvalidAddress])
}) {
  override get message() {
    return `${this.database}: ${this.reason.message}`
  }
}
