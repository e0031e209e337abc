/** Messages and answers that the cluster's storage keeps until they are deleted. */
import * as EntityAddress from "effect/cluster/EntityAddress"
import * as EntityId from "effect/cluster/EntityId"
import type * as EntityType from "effect/cluster/EntityType"
import * as MessageStorage from "effect/cluster/MessageStorage"
import * as Sharding from "effect/cluster/Sharding"
import * as Effect from "effect/Effect"

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
