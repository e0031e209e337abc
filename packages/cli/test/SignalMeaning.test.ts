import * as SignalMeaning from "@effect-rl/cli/SignalMeaning"
import { assert, describe, it } from "@effect/vitest"

interface Sent {
  readonly at: number
  /** The signal that arrives; Ctrl-C by default. */
  readonly signal?: SignalMeaning.Signal
  readonly isAwaited?: boolean
}

/** The meanings of signals that arrive in this order. */
const meanings = (sent: ReadonlyArray<Sent>) => {
  let last: SignalMeaning.Understood | undefined
  return sent.map(({ at, isAwaited = false, signal = "SIGINT" }) => {
    const meaning = SignalMeaning.of(last, { signal, at, isAwaited })
    if (meaning !== undefined) last = { meaning, at }
    return meaning
  })
}

describe("a Ctrl-C", () => {
  it("lets the program finish, and the next one ends it at once", () =>
    assert.deepStrictEqual(meanings([{ at: 0 }, { at: 500 }]), ["finish", "end at once"]))

  it("is ignored if npm repeats it within half a second", () =>
    assert.deepStrictEqual(meanings([{ at: 0 }, { at: 1 }, { at: 499 }, { at: 1500 }]), [
      "finish",
      undefined,
      undefined,
      "end at once"
    ]))

  it("ends only the part that waits for it, and the next one ends the program", () =>
    assert.deepStrictEqual(meanings([{ at: 0, isAwaited: true }, { at: 500 }]), ["awaited", "finish"]))

  it("is ignored if npm repeats it after a part of the program took it, even if another part already waits for one", () =>
    assert.deepStrictEqual(
      meanings([{ at: 0, isAwaited: true }, { at: 1 }, { at: 2, isAwaited: true }, { at: 500, isAwaited: true }]),
      ["awaited", undefined, undefined, "awaited"]
    ))

  it("ends a program at once if it is finishing because of another signal", () =>
    assert.deepStrictEqual(meanings([{ at: 0, signal: "SIGTERM" }, { at: 1000, isAwaited: true }]), [
      "finish",
      "end at once"
    ]))
})

describe("another signal", () => {
  it("lets the program finish even if a Ctrl-C is awaited or came just before", () =>
    assert.deepStrictEqual(
      meanings([{ at: 0, isAwaited: true }, { at: 1, signal: "SIGTERM", isAwaited: true }]),
      ["awaited", "finish"]
    ))
})
