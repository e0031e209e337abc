/** Failures of a process that joins a cluster. */
import * as Schema from "effect/Schema"

/** The database does not answer, or refuses its user. */
export class Unreachable extends Schema.TaggedError<Unreachable>()("Unreachable", { detail: Schema.String }) {
  override get message() {
    return `cannot reach it: ${this.detail}`
  }
}

/** Another secret than that of the process that joined the cluster first. */
export class WrongSecret extends Schema.TaggedError<WrongSecret>()("WrongSecret", {}) {
  override get message() {
    return "its cluster has another secret: give each process of it the same one, or use another database"
  }
}

/** An address that names no PostgreSQL database. */
export class InvalidAddress extends Schema.TaggedError<InvalidAddress>()("InvalidAddress", { detail: Schema.String }) {
  override get message() {
    return `${this.detail}, expected postgres://user:password@host:5432/database`
  }
}

/**
 * A process cannot join a cluster. `database` is its address without the password.
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
  reason: Schema.Union([Unreachable, WrongSecret, InvalidAddress])
}) {
  override get message() {
    return `${this.database}: ${this.reason.message}`
  }
}
