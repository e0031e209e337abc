/** Messages and answers that the cluster's storage keeps until they are deleted. */
import * as EntityAddress from "effect/cluster/EntityAddress"
import * as EntityId from "effect/cluster/EntityId"
import type * as EntityType from "effect/cluster/EntityType"
import * as MessageStorage from "effect/cluster/MessageStorage"
import * as Sharding from "effect/cluster/Sharding"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as SqlClient from "effect/sql/SqlClient"

interface Request {
  readonly entityId: string
  readonly tag: string
  /** Its primary key. */
  readonly key: string
}

/** Deletes a request to an entity of the given type, with its interrupts and answers. The entity's other requests stay. */
export const forgetRequest = Effect.fnUntraced(function*(entityType: EntityType.EntityType) {
  const storage = yield* MessageStorage.MessageStorage
  const sharding = yield* Sharding.Sharding
  const sql = yield* SqlClient.SqlClient
  return Effect.fnUntraced(
    function*({ entityId, key, tag }: Request) {
      const id = EntityId.make(entityId)
      const address = EntityAddress.make({ entityType, entityId: id, shardId: sharding.getShardId(id, "default") })
      const found = yield* storage.requestIdForPrimaryKey({ address, tag, id: key })
      if (Option.isNone(found)) return
      const request = String(found.value)
      yield* sql`DELETE FROM cluster_replies WHERE request_id = ${request}`
      yield* sql`DELETE FROM cluster_messages WHERE request_id = ${request}`
    },
    sql.withTransaction,
    (effect) => Effect.ignore(effect, { log: true })
  )
})

/** Deletes the messages of an entity of the given type, and their answers. */
export const forget = Effect.fnUntraced(function*(entityType: EntityType.EntityType) {
  const storage = yield* MessageStorage.MessageStorage
  const sharding = yield* Sharding.Sharding
  return (id: string) => {
    const entityId = EntityId.make(id)
    const shardId = sharding.getShardId(entityId, "default")
    return Effect.ignore(storage.clearAddress(EntityAddress.make({ entityType, entityId, shardId })), { log: true })
  }
})
