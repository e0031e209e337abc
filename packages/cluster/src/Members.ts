/** Logs the runners of a cluster, for a process that waits for them. */
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"

const runners = Effect.gen(function*() {
  const all = yield* RunnerStorage.RunnerStorage.use(({ getRunners }) => getRunners)
  const healthy = all.flatMap(([{ address }, isHealthy]) => isHealthy ? [`${address.host}:${address.port}`] : [])
  return healthy.toSorted().join(", ")
})

/** Logs the healthy runners at the start and after each change. They are looked up once per second. */
export const logged = Layer.effectDiscard(Effect.suspend(() => {
  let last: string | undefined
  const look = Effect.flatMap(runners, (now) => {
    if (now === last) return Effect.void
    last = now
    return now === ""
      ? Effect.logWarning("no worker has joined: groups wait for one")
      : Effect.logInfo(`workers: ${now}`)
  })
  return Effect.forkScoped(Effect.repeat(Effect.ignore(look), Schedule.spaced("1 second")))
}))
