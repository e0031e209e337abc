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

  it("keeps what each request adds, so a conversation takes space in proportion to its length", () => {
    const { threads } = Kept.newest(100 * characters)
    for (let turn = 0; turn < 50; turn++) {
      threads.set(`${turn}`, { ...thread("?"), ...(turn > 0 && { previous: `${turn - 1}` }) })
    }
    assert.lengthOf(Kept.upTo(threads, "49") ?? [], 50)
  })

  it("forgets the conversations that were used longest ago, whose later parts then lead nowhere", () => {
    const { threads } = Kept.newest(4 * characters + 30)
    threads.set("old", thread("?"))
    threads.set("older part", thread("?"))
    threads.set("later part", { ...thread("?"), previous: "older part" })
    assert.lengthOf(Kept.upTo(threads, "old") ?? [], 1)
    for (const id of ["a", "b"]) threads.set(id, thread("?"))
    assert.isUndefined(Kept.upTo(threads, "later part"))
    assert.isDefined(threads.get("later part"))
    assert.isDefined(threads.get("old"))
  })

  it("does not keep an entry that exceeds the limit on its own", () => {
    const { threads } = Kept.newest(characters)
    threads.set("long", thread("??"))
    assert.isUndefined(threads.get("long"))
    threads.set("short", thread("!"))
    assert.deepStrictEqual(threads.get("short"), thread("!"))
  })
})
