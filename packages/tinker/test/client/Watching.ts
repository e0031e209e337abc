/** Records the activity of a client. */
import { Activity } from "@effect-rl/tinker"
import { Effect, Stream } from "effect"

/** The events that occurred while `use` ran. */
export const watching = <A, E, R>(use: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const { events } = yield* Activity.Activity
    const seen: Array<Activity.Event> = []
    yield* events.pipe(Stream.runForEach((event) => Effect.sync(() => seen.push(event))), Effect.forkScoped)
    yield* Effect.yieldNow
    const exit = yield* Effect.exit(use)
    yield* Effect.sleep("1 second")
    return { exit, seen }
  })

export const tagged = <T extends Activity.Event["_tag"]>(seen: ReadonlyArray<Activity.Event>, tag: T) =>
  seen.filter(({ _tag }) => _tag === tag)
