/** The thread that last computed a prompt, or a prefix of it, and has its keys and values in the cache. */
import * as PrefixKeys from "./PrefixKeys.ts"
import type { SampleOrder } from "./Protocol.ts"

/** The most prefixes that are remembered: more than the caches of a few threads hold. */
const capacity = 8192

type Prompt = Pick<SampleOrder, "model" | "weights" | "prompt">

export class PromptHomes<Thread> {
  /** Longest unused first. */
  private readonly homes = new Map<number, Thread>()

  /**
   * The thread for an order: the one that has the longest prefix of its prompt, unless the order would wait there for longer than
   * computing that prefix again takes. `wait` is in rows.
   */
  choose({ model, prompt, weights }: Prompt, leastBusy: Thread, wait: (home: Thread) => number): Thread {
    const beginnings = PrefixKeys.beginnings(PrefixKeys.root(model, weights), prompt, prompt.length)
    const chosen = this.find(beginnings, wait) ?? leastBusy
    for (const { key } of beginnings) {
      this.homes.delete(key)
      this.homes.set(key, chosen)
    }
    for (const key of this.homes.keys()) {
      if (this.homes.size <= capacity) break
      this.homes.delete(key)
    }
    return chosen
  }

  private find(beginnings: ReadonlyArray<PrefixKeys.Beginning>, wait: (home: Thread) => number): Thread | undefined {
    for (const { key, length } of beginnings) {
      const home = this.homes.get(key)
      if (home !== undefined && wait(home) <= length) return home
    }
    return undefined
  }
}
