import * as SignalMeaning from "@effect-rl/cli/SignalMeaning"
import { assert, describe, it } from "@effect/vitest"

interface Sent {
  readonly at: number
  /** Ctrl-C unless given. */
  readonly signal?: SignalMeaning.Signal
  readonly isAwaited?: boolean
}

/** What each of the signals means. */
const meanings = (sent: ReadonlyArray<Sent>) => {
  let last: SignalMeaning.Understood | undefined
  return sent.map(({ at, isAwaited = false, signal = "SIGINT" }) => {
    const meaning = SignalMeaning.of(last, { signal, at, isAwaited })
    if (meaning !== undefined) last = { meaning, at }
    return meaning
  })
}

describe("A Ctrl-C", () => {
  it("lets the program finish, and the next ends it at once", () =>
    assert.deepStrictEqual(meanings([{ at: 0 }, { at: 500 }]), ["finish", "end at once"]))

  it("that npm sends a second time within half a second is the same", () =>
    assert.deepStrictEqual(meanings([{ at: 0 }, { at: 1 }, { at: 499 }, { at: 1500 }]), [
      "finish",
      undefined,
      undefined,
      "end at once"
    ]))

  it("that a part waits for ends only that part, and the next one the program", () =>
    assert.deepStrictEqual(meanings([{ at: 0, isAwaited: true }, { at: 500 }]), ["awaited", "finish"]))

  it("that is waited for and sent a second time by npm is the same, also where the next is waited for already", () =>
    assert.deepStrictEqual(
      meanings([{ at: 0, isAwaited: true }, { at: 1 }, { at: 2, isAwaited: true }, { at: 500, isAwaited: true }]),
      ["awaited", undefined, undefined, "awaited"]
    ))

  it("ends a program at once that finishes for another signal", () =>
    assert.deepStrictEqual(meanings([{ at: 0, signal: "SIGTERM" }, { at: 1000, isAwaited: true }]), [
      "finish",
      "end at once"
    ]))
})

describe("Another signal", () => {
  it("lets the program finish even where a Ctrl-C is waited for, or came just before", () =>
    assert.deepStrictEqual(
      meanings([{ at: 0, isAwaited: true }, { at: 1, signal: "SIGTERM", isAwaited: true }]),
      ["awaited", "finish"]
    ))
})
