/** Single steps of a schedule: the commands that follow one event. */
import * as Dispatch from "@effect-rl/core/rl/schedule/Dispatch"
import { assert, describe, it } from "@effect/vitest"

const synchronous: Dispatch.Settings = {
  length: 3,
  until: 3,
  lead: 0,
  onStale: "wait",
  isStreaming: false,
  dynamic: { minInformative: 0, maxBatches: 1 },
  concurrency: 64
}

const streaming = { ...synchronous, isStreaming: true }

const keysOf = (batch: number) => [`${batch}a`, `${batch}b`]

const ended = (batch: number, position: number): Dispatch.Event => ({
  _tag: "Ended",
  group: { batch, position },
  ended: batch,
  isInformative: true
})

/** The commands that follow each event, as short texts. */
const play = (settings: Dispatch.Settings, ...events: ReadonlyArray<Dispatch.Event>) => {
  const { step } = Dispatch.make(settings)
  let state = Dispatch.start
  return events.map((event) => {
    const [next, commands] = step(state, event)
    state = next
    return commands.map((command) => {
      if (command._tag === "Load") return `load ${command.batch}`
      const groups = command._tag === "End" ? [] : command.groups.map(({ key }) => key)
      const last = command._tag === "Train" && command.isLast ? ["last"] : []
      return [command._tag.toLowerCase(), ...groups, ...last].join(" ")
    })
  })
}

const loaded = (batch: number): Dispatch.Event => ({ _tag: "Loaded", batch, keys: keysOf(batch) })

const published = (iteration: number): Dispatch.Event => ({ _tag: "Published", iteration })

describe("a schedule", () => {
  it("loads a batch only when its groups may start, and trains on it when all of them have ended", () => {
    assert.deepStrictEqual(
      play(synchronous, published(0), loaded(0), ended(0, 1), ended(0, 0), published(1), loaded(1)),
      [["load 0"], ["begin 0a 0b"], [], ["train 0a 0b last"], ["load 1"], ["begin 1a 1b"]]
    )
  })

  it("loads batches ahead only within its allowed lead", () => {
    assert.deepStrictEqual(
      play({ ...synchronous, lead: 1 }, published(0), loaded(0), loaded(1), ended(0, 0)),
      [["load 0"], ["load 1"], ["begin 0a 0b 1a 1b"], []]
    )
  })

  it("streams groups individually in dataset order, and marks the last one", () => {
    assert.deepStrictEqual(
      play(streaming, published(0), loaded(0), ended(0, 1), ended(0, 0)),
      [["load 0"], ["begin 0a 0b"], [], ["train 0a", "train 0b", "train last"]]
    )
  })

  it("starts no more concurrent groups than allowed", () => {
    assert.deepStrictEqual(
      play({ ...synchronous, concurrency: 1 }, published(0), loaded(0), ended(0, 0), ended(0, 1)),
      [["load 0"], ["begin 0a"], ["begin 0b"], ["train 0a 0b last"]]
    )
  })

  it("replaces a group without a signal with the dataset's next group", () => {
    const filtering = { ...synchronous, dynamic: { minInformative: 2, maxBatches: 2 } }
    const constant: Dispatch.Event = {
      _tag: "Ended",
      group: { batch: 0, position: 0 },
      ended: 0,
      isInformative: false
    }
    assert.deepStrictEqual(
      play(filtering, published(0), loaded(0), constant, loaded(1), ended(0, 1), ended(1, 0)),
      [["load 0"], ["begin 0a 0b"], ["load 1"], ["begin 1a"], [], ["train 0b 1a last"]]
    )
  })

  it("ends with its dataset", () => {
    const empty: Dispatch.Event = { _tag: "Loaded", batch: 0, keys: keysOf(0) }
    const short = { ...synchronous, length: 1, until: 2 }
    assert.deepStrictEqual(
      play(short, published(0), empty, ended(0, 0), ended(0, 1), published(1), { _tag: "Loaded", batch: 1, keys: [] }),
      [["load 0"], ["begin 0a 0b"], [], ["train 0a 0b last"], ["load 1"], ["train last"]]
    )
  })

  it("counts the groups of an update only once its batch is loaded", () => {
    const { isSampling, step, whole } = Dispatch.make(synchronous)
    assert.strictEqual(whole(Dispatch.start), 0)
    const [state] = step(Dispatch.start, loaded(0))
    assert.strictEqual(whole(state), 2)
    assert.isTrue(isSampling(state))
  })
})
