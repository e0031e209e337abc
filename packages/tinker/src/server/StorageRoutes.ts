/** Routes for checkpoint storage, by owner. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import type * as Administration from "../wire/Administration.ts"
import { type Checkpoint, storedBytes } from "./CheckpointStore.ts"
import type { RouteServices } from "./RouteServices.ts"
import * as SearchParams from "./SearchParams.ts"

const gigabyte = 1e9

const described = (user_name: string, checkpoints: ReadonlyArray<Checkpoint>) => {
  const size_bytes = storedBytes(checkpoints)
  return {
    user_name,
    checkpoint_count: checkpoints.length,
    size_bytes,
    size_gigabytes: size_bytes / gigabyte
  }
}

const params = SearchParams.reading(Schema.Struct(SearchParams.common))

/** The storage in use, by owner. Storage has no price on this server. */
const current = ({ checkpoints: { folders, list, runs } }: RouteServices) =>
  Effect.gen(function*() {
    yield* params
    const runsOf = Arr.groupBy(yield* folders, (folder) => runs.inFolder(folder).tenant ?? "local")
    const data = yield* Effect.forEach(
      Object.entries(runsOf),
      ([owner, folders]) => Effect.map(Effect.forEach(folders, list), (lists) => described(owner, lists.flat()))
    )
    return HttpServerResponse.jsonUnsafe(
      {
        data: data.filter(({ checkpoint_count }) => checkpoint_count > 0)
      } satisfies typeof Administration.CheckpointStorage.Encoded
    )
  })

export const routes = (
  services: RouteServices
) => [HttpRouter.route("GET", "/billing/usage/checkpoints/current", current(services))]
