import { Kept } from "@effect-rl/agent"
import { assert, describe, it } from "@effect/vitest"

const thread = (content: string): Kept.Thread => ({ messages: [{ role: "user", content }] })

const characters = JSON.stringify(thread("?")).length

describe("a store for the newest conversations", () => {
  it("keeps entries up to a number of characters and forgets the oldest", () => {
    const { items, threads } = Kept.newest(3 * characters)
    for (const id of ["a", "b", "c", "d"]) threads.set(id, thread(id))
    assert.deepStrictEqual(["a", "b", "c", "d"].map(threads.get), [undefined, ...["b", "c", "d"].map(thread)])
    items.set("e", { type: "message", role: "user", content: "?".repeat(20) })
    assert.deepStrictEqual(["b", "c", "d"].map(threads.get), [undefined, undefined, thread("d")])
    assert.isDefined(items.get("e"))
  })

  it("does not keep an entry that exceeds the limit on its own", () => {
    const { threads } = Kept.newest(characters)
    threads.set("long", thread("??"))
    assert.isUndefined(threads.get("long"))
    threads.set("short", thread("!"))
    assert.deepStrictEqual(threads.get("short"), thread("!"))
  })
})
