/** Remembers which thread last computed each prompt prefix and so has its keys and values in the cache. */
import * as PrefixKeys from "./PrefixKeys.ts"
import type { SampleOrder } from "./Protocol.ts"

/** The number of prefixes to remember, more than the caches of a few threads hold. */
const capacity = 8192

type Prompt = Pick<SampleOrder, "model" | "weights" | "prompt">

export class PromptHomes<Thread> {
  /** Threads by prefix key, least recently used first. */
  private readonly homes = new Map<number, Thread>()

  /**
   * Chooses the thread for an order: the thread with the longest known prefix of the prompt, unless waiting for that thread takes longer
   * than recomputing the prefix. Then shorter prefixes are tried, and `leastBusy` is the last choice. `wait` counts rows.
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
