/**
 * The secret that the processes of a cluster share. When a process joins, the secret is checked against a salted hash in the database;
 * every request carries a hash of it.
 */
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { SqlClient } from "effect/sql/SqlClient"
import { createHash, randomBytes, scryptSync, timingSafeEqual } from "node:crypto"

/** The lock that serializes table creation when processes join a new database at the same time. */
const tableLock = 7_311_870

const digestOf = (secret: Redacted.Redacted, salt: string) => scryptSync(Redacted.value(secret), salt, 32)

const isEqual = (left: string, right: string) => {
  const [one, other] = [Buffer.from(left), Buffer.from(right)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** Whether the secret is that of the cluster in this database. The first process that joins sets it. The database stores a salted hash. */
export const isShared = (sql: SqlClient, secret: Redacted.Redacted) =>
  sql.withTransaction(Effect.gen(function*() {
    yield* sql`SELECT pg_advisory_xact_lock(${tableLock}::bigint)`
    yield* sql`CREATE TABLE IF NOT EXISTS effect_rl_secret (
      id INTEGER PRIMARY KEY CHECK (id = 1), salt TEXT NOT NULL, digest TEXT NOT NULL
    )`
    const salt = randomBytes(16).toString("hex")
    const digest = digestOf(secret, salt).toString("hex")
    yield* sql`INSERT INTO effect_rl_secret (id, salt, digest) VALUES (1, ${salt}, ${digest}) ON CONFLICT (id) DO NOTHING`
    const [row] = yield* sql<
      { readonly salt: string; readonly digest: string }
    >`SELECT salt, digest FROM effect_rl_secret`
    return row !== undefined && isEqual(digestOf(secret, row.salt).toString("hex"), row.digest)
  }))

/** A hash of the secret, because a header cannot hold every character, nor spaces at its ends. */
const headerOf = (secret: Redacted.Redacted) =>
  `Bearer ${createHash("sha256").update(Redacted.value(secret)).digest("hex")}`

/** Sends a hash of the secret with every request that the layer makes. */
export const sent = (secret: Redacted.Redacted) =>
  Layer.updateService(
    HttpClient.HttpClient,
    HttpClient.mapRequest(HttpClientRequest.setHeader("authorization", headerOf(secret)))
  )

/** Answers requests without the secret with status 401. */
export const guard =
  (secret: Redacted.Redacted) => <E, R>(answer: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
    Effect.flatMap(HttpServerRequest, ({ headers }) =>
      isEqual(headers["authorization"] ?? "", headerOf(secret))
        ? answer
        : Effect.succeed(HttpServerResponse.text("this runner's cluster has another secret\n", { status: 401 })))
