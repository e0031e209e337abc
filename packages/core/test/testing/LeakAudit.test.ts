import { LeakAudit } from "@effect-rl/core/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"

const live = Effect.flatMap(LeakAudit.LeakAudit, ({ counts }) => Effect.map(counts, LeakAudit.live))

it.effect("LeakAudit counts held resources by kind", () =>
  Effect.gen(function*() {
    const { counts, track } = yield* LeakAudit.LeakAudit
    yield* Effect.scoped(Effect.gen(function*() {
      yield* track("sandbox", Effect.void)
      yield* track("sandbox", Effect.void)
      yield* Effect.scoped(track("judge", Effect.void))
      assert.deepStrictEqual(yield* live, { sandbox: 2 })
    }))
    assert.deepStrictEqual(yield* counts, {
      sandbox: { acquired: 2, released: 2 },
      judge: { acquired: 1, released: 1 }
    })
  }).pipe(Effect.provide(LeakAudit.LeakAudit.layer)))

it.effect("LeakAudit has no live resources after failures and interruption", () =>
  Effect.gen(function*() {
    const { track } = yield* LeakAudit.LeakAudit
    yield* Effect.ignore(Effect.scoped(track("sandbox", Effect.fail("no room"))))
    const opening = yield* Effect.forkChild(Effect.scoped(track("sandbox", Effect.never)), { startImmediately: true })
    assert.deepStrictEqual(yield* live, { sandbox: 1 })
    yield* Fiber.interrupt(opening)
    assert.deepStrictEqual(yield* live, {})
  }).pipe(Effect.provide(LeakAudit.LeakAudit.layer)))

it.effect("LeakAudit counts a resource as held until the resource's own finalizers have run", () =>
  Effect.gen(function*() {
    const { track } = yield* LeakAudit.LeakAudit
    yield* Effect.scoped(track(
      "sandbox",
      Effect.addFinalizer(() => Effect.map(live, (held) => assert.deepStrictEqual(held, { sandbox: 1 })))
    ))
    assert.deepStrictEqual(yield* live, {})
  }).pipe(Effect.provide(LeakAudit.LeakAudit.layer)))

it.effect("LeakAudit counts a second release of a resource as one too many", () =>
  Effect.gen(function*() {
    const { hold } = yield* LeakAudit.LeakAudit
    const release = yield* hold("sandbox")
    assert.deepStrictEqual(yield* live, { sandbox: 1 })
    yield* release
    assert.deepStrictEqual(yield* live, {})
    yield* release
    assert.deepStrictEqual(yield* live, { sandbox: -1 })
  }).pipe(Effect.provide(LeakAudit.LeakAudit.layer)))

it.effect("LeakAudit counts running fibers", () =>
  Effect.gen(function*() {
    const { fibers } = yield* LeakAudit.LeakAudit
    const inScope = yield* Effect.scoped(fibers(Effect.andThen(Effect.forkScoped(Effect.never), live)))
    assert.deepStrictEqual(inScope, { fiber: 1 })
    assert.deepStrictEqual(yield* live, {})
    const beyond = yield* fibers(Effect.forkDetach(Effect.never))
    assert.deepStrictEqual(yield* live, { fiber: 1 })
    yield* Fiber.interrupt(beyond)
    assert.deepStrictEqual(yield* live, {})
  }).pipe(Effect.provide(LeakAudit.LeakAudit.layer)))
