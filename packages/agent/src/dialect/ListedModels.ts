/** Requests for the model list, or for one model. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import type { Answerer } from "./Answerer.ts"
import { notFound } from "./Refusal.ts"

/** All models, or the model that the rest of the path names; the slash in its name may be escaped. */
export const asked = Effect.fnUntraced(function*({ models }: Answerer) {
  const { "*": rest = "" } = yield* HttpRouter.params
  const all = yield* models
  if (rest === "") return { all }
  const one = all.find(({ id }) => id === rest || encodeURIComponent(id) === rest)
  return one === undefined ? yield* notFound("model", rest) : { one }
})
