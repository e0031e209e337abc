/** The query parameters of requests. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Schema from "effect/Schema"
import * as Body from "./Body.ts"
import { badRequest } from "./HttpRefusal.ts"

/**
 * Parameters of every listing. Both values of `access_scope` return the same list, because a listing never includes
 * objects that the caller may not see.
 */
export const common = {
  access_scope: Schema.optionalKey(Schema.Literals(["owned", "accessible"])),
  project_id: Schema.optionalKey(Schema.String)
}

/** Returns a decoder for query parameters, which refuses filters by project; see `Strictness` for unknown parameters. */
export const reading = <S extends Schema.Decoder<{ readonly project_id?: string }>>(schema: S) => {
  const decode = Body.decode(schema)
  return Effect.gen(function*() {
    const params = yield* decode(yield* HttpServerRequest.ParsedSearchParams)
    if (params.project_id !== undefined) return yield* badRequest("project_id is given: this server has no projects")
    return params
  })
}
